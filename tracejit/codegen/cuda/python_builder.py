"""Definitions of `vector_math` printed as Python on single numbers, the form of device functions.

    printed("expit", "f32")

What is printed has the bits of the LLVM code and of `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self, cast

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.cuda.python_lanes import literal_text
from tracejit.codegen.vector_math.builder import Value, Values, VectorBuilder
from tracejit.codegen.vector_math.define import ARITY, PARTS, build
from tracejit.codegen.vector_math.formats import F64, FORMATS, Format
from tracejit.codegen.vector_math.values import Float, Int, Mask

__all__ = ["Printed", "PythonBuilder", "printed"]

_INFIX = dict(
    word.split(":")
    for word in (
        "fadd:+ fsub:- fmul:* fdiv:/ add:+ sub:- mul:* and:& or:| xor:^ shl:<< lshr:>> "
        "eq:== ne:!= lt:< le:<= gt:> ge:>="
    ).split()
)
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}


class PythonBuilder(VectorBuilder):
    """An assignment for each operation, an `if` for each branch.

    `tables` are the names of lookup functions, by the entries and their bits.
    """

    def __init__(
        self,
        fmt: Format,
        fma: bool,
        lines: list[str] | None = None,
        tables: dict[tuple[tuple[int, ...], int], str] | None = None,
    ) -> None:
        self.format, self.fma, self.permutes = fmt, fma, False
        self.size = fmt.bits
        self.lines: list[str] = [] if lines is None else lines
        self.tables: dict[tuple[tuple[int, ...], int], str] = {} if tables is None else tables

    def doubles(self) -> Self:
        return type(self)(F64, self.fma, self.lines, self.tables)

    def put(self, expression: str) -> str:
        """A new name for the value of an expression."""
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        return name

    def constant(self, value: float) -> str:
        return literal_text(value, f"f{self.size}")

    def int_constant(self, value: int) -> str:
        return literal_text(value, f"u{self.size}")

    def float_operation(self, operation: str, *operands: str) -> str:
        if operation == "fneg":
            return self.put(f"-{operands[0]}")
        if operation in _INFIX:
            return self.put(f" {_INFIX[operation]} ".join(operands))
        return self.put(f"fn_{operation}({', '.join(operands)})")

    def int_operation(self, operation: str, left: str, right: str) -> str:
        if operation in _INFIX:
            return self.put(f"uint{self.size}({left} {_INFIX[operation]} {right})")
        condition = self.compare_ints("slt" if operation == "smin" else "sgt", left, right)
        return self.select_ints(condition, left, right)

    def mask_operation(self, operation: str, left: str, right: str) -> str:
        return self.put(f"{left} {_INFIX[operation]} {right}")

    def negated(self, mask: str) -> str:
        return self.put(f"not {mask}")

    def compare_floats(self, predicate: str, left: str, right: str) -> str:
        if predicate == "uno":
            return self.put(f"({left} != {left}) | ({right} != {right})")
        if predicate == "one":
            return self.put(f"({left} < {right}) | ({left} > {right})")
        if predicate == "ueq":
            return self.put(f"not (({left} < {right}) | ({left} > {right}))")
        if predicate[0] == "u" and predicate != "une":
            return self.put(f"not ({left} {_INFIX[_OPPOSITE[predicate[1:]]]} {right})")
        return self.put(f"{left} {_INFIX[predicate[1:]]} {right}")

    def compare_ints(self, predicate: str, left: str, right: str) -> str:
        if predicate[0] == "s":
            left, right = (f"int{self.size}({x})" for x in (left, right))
        return self.put(f"{left} {_INFIX[predicate[-2:]]} {right}")

    def select_floats(self, mask: str, true: str, false: str) -> str:
        return self.put(f"fn_select({mask}, {true}, {false})")

    def select_ints(self, mask: str, true: str, false: str) -> str:
        return self.select_floats(mask, true, false)

    def bits(self, value: str) -> str:
        return self.put(f"uint{self.size}(fn_bits({value}))")

    def from_bits(self, value: str) -> str:
        return self.put(f"fn_from_bits({value})")

    def from_int(self, value: str) -> str:
        return self.put(f"float{self.size}(int{self.size}({value}))")

    def widen(self, value: str) -> str:
        return self.put(f"float64({value})")

    def narrow(self, value: str) -> str:
        return self.put(f"float32({value})")

    def narrow_int(self, value: str) -> str:
        return self.put(f"uint32({value})")

    def where_any(self, mask: Mask, usual: Values, unusual: Callable[[], Values]) -> Values:
        names = [self.put(u.value) for u in usual]
        start = len(self.lines)
        others = unusual()
        self.lines += [f"{n} = {o.value}" for n, o in zip(names, others, strict=True)]
        branch = [f"    {line}" for line in self.lines[start:]]
        self.lines[start:] = [f"if {mask.value}:", *branch]
        merged = (type(u)(u.emitter, name) for u, name in zip(usual, names, strict=True))
        return cast("Values", tuple(merged))

    def shared(
        self, name: str, argument: Float, body: Callable[[VectorBuilder, Float], Sequence[Value]]
    ) -> list[Value]:
        return list(body(self, argument))

    def lookup(self, table: tuple[int, ...], index: Int) -> Int:
        mask = 2 * self.format.sign_mask - 1
        key = tuple(entry & mask for entry in table), self.size
        name = self.tables.setdefault(key, f"table{len(self.tables)}")
        return Int(self, self.put(f"{name}({index.value})"))


@dataclass(frozen=True)
class Printed:
    """Source of a function called `function`; `tables` as those of `PythonBuilder`."""

    source: str
    tables: dict[tuple[tuple[int, ...], int], str]


def printed(name: str, dtype: str, fma: bool = True) -> Printed:
    """A function of `define.ARITY` or `define.PARTS` over numbers of "f32" or "f64".

    Raises KeyError for others.
    """
    count = {**ARITY, **PARTS}[name]
    parameters = ["x", "y", "z", "w"][:count]
    e = PythonBuilder(FORMATS[dtype], fma)
    (result,) = build(e, name, [Float(e, parameter) for parameter in parameters])
    body = "".join(f"    {line}\n" for line in [*e.lines, f"return {result.value}"])
    return Printed(f"def function({', '.join(parameters)}):\n{body}", e.tables)

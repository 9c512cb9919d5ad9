"""A third emitter: definitions printed as Python on single numbers, the form of a CUDA kernel.

It is short, and what it prints has the bits of the other two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, cast

import numpy as np
import pytest

from tests.support.native_kernels import same_bits
from tracejit.codegen.vector_math.builder import Value, Values, VectorBuilder
from tracejit.codegen.vector_math.define import ARITY, build
from tracejit.codegen.vector_math.evaluate import evaluate
from tracejit.codegen.vector_math.formats import F64, FORMATS, Format
from tracejit.codegen.vector_math.values import Float, Int, Mask
from tracejit.ir.fma import fma

_INFIX = dict(
    word.split(":")
    for word in (
        "fadd:+ fsub:- fmul:* fdiv:/ add:+ sub:- mul:* and:& or:| xor:^ shl:<< lshr:>> "
        "eq:== ne:!= lt:< le:<= gt:> ge:>="
    ).split()
)
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}


class Printer(VectorBuilder):
    """An assignment for each operation, an `if` for each branch."""

    def __init__(self, fmt: Format, fma: bool, lines: list[str] | None = None) -> None:
        self.format, self.fma, self.permutes = fmt, fma, False
        self.size = fmt.bits
        self.lines: list[str] = [] if lines is None else lines

    def doubles(self) -> Self:
        return type(self)(F64, self.fma, self.lines)

    def put(self, expression: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        return name

    def constant(self, value: float) -> str:
        return f"f{self.size}({str(value)!r})"

    def int_constant(self, value: int) -> str:
        return f"u{self.size}({value % (2 * self.format.sign_mask)})"

    def float_operation(self, operation: str, *operands: str) -> str:
        if operation in _INFIX:
            return self.put(f" {_INFIX[operation]} ".join(operands))
        return self.put(f"{operation}({', '.join(operands)})")

    def int_operation(self, operation: str, left: str, right: str) -> str:
        if operation in _INFIX:
            return self.put(f"{left} {_INFIX[operation]} {right}")
        return self.put(f"{operation}({left}, {right})")

    def mask_operation(self, operation: str, left: str, right: str) -> str:
        return self.put(f"{left} {_INFIX[operation]} {right}")

    def negated(self, mask: str) -> str:
        return self.put(f"not {mask}")

    def compare_floats(self, predicate: str, left: str, right: str) -> str:
        if predicate == "uno":
            return self.put(f"{left} != {left} or {right} != {right}")
        if predicate == "one":
            return self.put(f"{left} < {right} or {left} > {right}")
        if predicate[0] == "u":
            return self.put(f"not {left} {_INFIX[_OPPOSITE[predicate[1:]]]} {right}")
        return self.put(f"{left} {_INFIX[predicate[1:]]} {right}")

    def compare_ints(self, predicate: str, left: str, right: str) -> str:
        if predicate[0] == "s":
            left, right = f"signed({left})", f"signed({right})"
        return self.put(f"{left} {_INFIX[predicate[-2:]]} {right}")

    def select_floats(self, mask: str, true: str, false: str) -> str:
        return self.put(f"{true} if {mask} else {false}")

    def select_ints(self, mask: str, true: str, false: str) -> str:
        return self.select_floats(mask, true, false)

    def bits(self, value: str) -> str:
        return self.put(f"{value}.view(u{self.size})")

    def from_bits(self, value: str) -> str:
        return self.put(f"{value}.view(f{self.size})")

    def from_int(self, value: str) -> str:
        return self.put(f"f{self.size}(signed({value}))")

    def widen(self, value: str) -> str:
        return self.put(f"f64({value})")

    def narrow(self, value: str) -> str:
        return self.put(f"f32({value})")

    def narrow_int(self, value: str) -> str:
        return self.put(f"u32({value} & u64({2**32 - 1}))")

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
        return Int(self, self.put(f"u{self.size}({table}[{index.value}])"))


def signed(x: Any) -> Any:
    return x.view(f"i{x.itemsize}")


#: What the print means: machine types of numbers, and functions that machines have.
MEANINGS = {
    **{f"{kind}{8 * size}": np.dtype(f"{kind}{size}").type for kind in "fu" for size in (4, 8)},
    "fneg": np.negative,
    "sqrt": np.sqrt,
    "trunc": np.trunc,
    "fma": fma,
    "signed": signed,
    "smin": lambda a, b: a if signed(a) < signed(b) else b,
    "smax": lambda a, b: a if signed(a) > signed(b) else b,
}


def printed(name: str, dtype: str, fused: bool) -> str:
    parameters = ["x", "y"][: ARITY[name]]
    e = Printer(FORMATS[dtype], fused)
    (result,) = build(e, name, [Float(e, parameter) for parameter in parameters])
    body = "".join(f"    {line}\n" for line in [*e.lines, f"return {result.value}"])
    return f"def function({', '.join(parameters)}):\n{body}"


def points(dtype: str) -> Any:
    draw = np.random.default_rng(4)
    special = [0.0, 1.0, 0.5, 6.5, 170.0, 1e4, 1e22, 1e-40, np.inf, np.nan]
    usual = [draw.uniform(-1, 1, 20), draw.uniform(-9, 9, 20), draw.uniform(-180, 180, 20)]
    kind = np.float64 if dtype == "f64" else np.float32
    return np.concatenate([*usual, special, np.negative(special)]).astype(kind)


@pytest.mark.sampled(8, kind=lambda name, **_: name)
@pytest.mark.parametrize("fused", [True, False], ids=["fused", "plain"])
@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("name", sorted(ARITY))
def test_the_print_has_the_same_bits(name: str, dtype: str, fused: bool) -> None:
    space: dict[str, Any] = dict(MEANINGS)
    exec(printed(name, dtype, fused), space)
    x = points(dtype)
    columns = (x, np.random.default_rng(5).permutation(x))[: ARITY[name]]
    with np.errstate(all="ignore"):
        got = np.array([space["function"](*row) for row in zip(*columns, strict=True)])
    assert same_bits(got, evaluate(name, *columns, fma=fused))


def test_a_print() -> None:
    text = printed("exp2", "f32", fused=True).splitlines()
    assert text[:4] == [
        "def function(x):",
        "    v0 = fma(x, f32('16.0'), f32('12582912.0'))",
        "    v1 = v0 - f32('12582912.0')",
        "    v2 = v0.view(u32)",
    ]
    start = next(k for k, line in enumerate(text) if line.startswith("    if "))
    assert text[-1].startswith("    return ") and text[start + 1].startswith("        v")

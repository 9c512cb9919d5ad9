"""Instructions over one lane as Python statements: what the emitters of scalar functions write to.

Python's operators widen and have one kind of integer each, LLVM's types have no sign: the dtype of
each name is kept, operands are cast to the sign that an instruction reads, and results to the exact
type. Half floats are f32; `half` is what they are in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from tracejit.codegen.llvm.lanes import Lanes, bits, is_float, is_integer, is_signed
from tracejit.codegen.llvm.text import FunctionBuilder

__all__ = ["PythonLanes", "literal_text", "type_name"]

_INFIX = dict(
    word.split(":")
    for word in (
        "fadd:+ fsub:- fmul:* fdiv:/ add:+ sub:- mul:* and:& or:| xor:^ shl:<< lshr:>> ashr:>> "
        "eq:== ne:!= lt:< le:<= gt:> ge:>="
    ).split()
)
_DIVISIONS = {"div": "fn_quotient", "rem": "fn_rest"}
#: Comparisons of booleans, false before true.
_OF_TRUTHS = {
    "eq": "not ({0} ^ {1})",
    "ne": "{0} ^ {1}",
    "lt": "(not {0}) & {1}",
    "le": "(not {0}) | {1}",
    "gt": "{0} & (not {1})",
    "ge": "{0} | (not {1})",
}
_OPPOSITE = {"lt": ">=", "le": ">", "gt": "<=", "ge": "<"}
_KINDS = {"f": "float", "i": "int", "u": "uint"}
_FLOATS = {"half": "half", "float": "f32", "double": "f64"}
#: Helpers with loops, which are device functions.
_FUNCTIONS = frozenset({"integer_power", "power_exceeds", "gcd", "fmod"})
#: Float literals other than NaN, and integer ones.
_NUMBER = re.compile(r"float\d+\(-?(fn_inf|[\d.e+-]+)\)")
_LITERAL = re.compile(r"u?int\d+\((-?\d+)\)")


def type_name(dtype: str) -> str:
    """The type of registers of a dtype: "i32" is int32."""
    if dtype == "b1":
        return "bool_"
    if dtype == "half":
        return "float16"
    return "float32" if dtype == "f16" else _KINDS[dtype[0]] + dtype[1:]


def literal_text(value: bool | int | float, dtype: str) -> str:
    """A number as source text, of exactly the dtype; integers wrap, a half is rounded."""
    if dtype == "b1":
        return "True" if value else "False"
    name = type_name(dtype)
    if is_float(dtype):
        number = float(value)
        if dtype != "f64":
            with np.errstate(over="ignore"):
                number = float(np.dtype(f"f{bits(dtype) // 8}").type(number))
        if np.isnan(number):
            return f"{name}(fn_nan)"
        if np.isinf(number):
            return f"{name}({'-' if number < 0 else ''}fn_inf)"
        return f"{name}({number!r})"
    size = bits(dtype)
    whole = int(value) % (1 << size)
    if is_signed(dtype) and whole >> (size - 1):
        whole -= 1 << size
    return f"{name}({whole})"


class _Statements:
    """What emitters ask of a `FunctionBuilder`, for Python; anything else is not supported."""

    def __init__(self, lanes: PythonLanes) -> None:
        self.lanes = lanes
        self.chunk = SimpleNamespace(lines=[])
        self.module = SimpleNamespace(
            # Whether what is written in terms of others is written with fused operations.
            target=SimpleNamespace(has_fma=False, permutes=False, has_f16c=True),
            declare=lambda symbol, *types: symbol,
            helper=lambda symbol, build: symbol,
        )

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError(f"{name} in Python")

    def if_then(
        self,
        condition: str,
        carried: Sequence[tuple[str, str]],
        then: Callable[[], Sequence[str]],
        *,
        unlikely: bool = False,
    ) -> list[str]:
        """See `FunctionBuilder`."""
        if condition == "true":
            return list(then())
        if condition == "false":
            return [value for _, value in carried]
        s = self.lanes
        dtypes = [_FLOATS.get(kind) or s.types.get(v, kind) for kind, v in carried]
        names = [s.put(s.operand(v, d), d) for (_, v), d in zip(carried, dtypes, strict=True)]
        start = len(s.lines)
        results = then()
        for name, result, d in zip(names, results, dtypes, strict=True):
            s.lines.append(f"{name} = {s.operand(result, d)}")
        s.lines[start:] = [f"if {condition}:", *(f"    {line}" for line in s.lines[start:])]
        return names


class PythonLanes(Lanes):
    """Writes statements to `lines`; `fresh` gives names. Integer literals are bare, as in LLVM."""

    __slots__ = ("fresh", "lines", "types")

    def __init__(self, lines: list[str], fresh: Callable[[], str]) -> None:
        super().__init__(cast(FunctionBuilder, _Statements(self)))
        self.lines = lines
        self.fresh = fresh
        self.types: dict[str, str] = {}

    def put(self, expression: str, dtype: str) -> str:
        """A new name for the value of an expression, which has that dtype."""
        name = self.fresh()
        self.lines.append(f"{name} = {expression}")
        self.types[name] = dtype
        return name

    def given(self, text: str, dtype: str) -> str:
        """The operand that source text stands for."""
        if dtype == "b1":
            return {"True": "true", "False": "false"}.get(text, text)
        found = _LITERAL.fullmatch(text) if is_integer(dtype) else None
        if found:
            # As LLVM has it: a number of 64 bits with a sign.
            number = int(found[1])
            return str(number - (1 << 64) if number >= 1 << 63 else number)
        self.types[text] = "f32" if dtype == "f16" else dtype
        return text

    def operand(self, value: str, dtype: str) -> str:
        """The source text of an operand as a value of `dtype`."""
        if value in ("true", "false"):
            return value.capitalize()
        if value.lstrip("-").isdigit():
            return literal_text(int(value), dtype)
        dtype = "f32" if dtype == "f16" else dtype
        return value if self.types.get(value, dtype) == dtype else f"{type_name(dtype)}({value})"

    def const(self, value: bool | int | float, dtype: str) -> str:
        if dtype == "b1":
            return "true" if value else "false"
        if not is_integer(dtype):
            return literal_text(value, dtype)
        number = int(value)
        return str(number - (1 << 64) if number >= 1 << 63 else number)

    def op(self, opcode: str, dtype: str, *args: str) -> str:
        if dtype == "b1":
            return self._of_truths(opcode, *args)
        if is_float(dtype):
            dtype = "f32" if dtype == "f16" else dtype
            operands = [self.operand(a, dtype) for a in args]
            text = f"-{operands[0]}" if opcode == "fneg" else f" {_INFIX[opcode]} ".join(operands)
            return self.put(text, dtype)
        if opcode in ("lshr", "ashr", "udiv", "urem", "sdiv", "srem"):
            dtype = f"{'u' if opcode[0] in 'ul' else 'i'}{bits(dtype)}"
        a, b = (self.operand(x, dtype) for x in args)
        if opcode[1:] in _DIVISIONS:
            return self.put(f"{_DIVISIONS[opcode[1:]]}({a}, {b})", dtype)
        return self.put(f"{type_name(dtype)}({a} {_INFIX[opcode]} {b})", dtype)

    def _of_truths(self, opcode: str, a: str, b: str) -> str:
        if opcode == "xor" and "true" in (a, b):
            return self.put(f"not {self.operand(b if a == 'true' else a, 'b1')}", "b1")
        text = f"{self.operand(a, 'b1')} {_INFIX[opcode]} {self.operand(b, 'b1')}"
        return self.put(text, "b1")

    def compare(self, predicate: str, dtype: str, a: str, b: str) -> str:
        if is_float(dtype):
            return self.put(self._of_floats(predicate, a, b), "b1")
        kind = predicate[-2:]
        if dtype == "b1":
            operands = (self.operand(x, "b1") for x in (a, b))
            return self.put(_OF_TRUTHS[kind].format(*operands), "b1")
        if predicate[0] in "su":
            dtype = f"{'i' if predicate[0] == 's' else 'u'}{bits(dtype)}"
        text = f"{self.operand(a, dtype)} {_INFIX[kind]} {self.operand(b, dtype)}"
        return self.put(text, "b1")

    def _of_floats(self, predicate: str, a: str, b: str) -> str:
        order, kind = predicate[0], predicate[1:]
        match predicate:
            case "uno" | "ord":
                names = [x for x in (a, b) if not _NUMBER.fullmatch(x)] or [a]
                tests = [f"{x} {'!=' if order == 'u' else '=='} {x}" for x in dict.fromkeys(names)]
                joined = (" | " if order == "u" else " & ").join(f"({t})" for t in tests)
                return tests[0] if len(tests) == 1 else joined
            case "one":
                return f"({a} < {b}) | ({a} > {b})"
            case "ueq":
                return f"not (({a} < {b}) | ({a} > {b}))"
            case "oeq" | "une":
                return f"{a} {_INFIX[kind]} {b}"
        if order == "u":
            return f"not ({a} {_OPPOSITE[kind]} {b})"
        return f"{a} {_INFIX[kind]} {b}"

    def select(self, condition: str, dtype: str, a: str, b: str) -> str:
        if condition in ("true", "false") or a == b:
            return b if condition == "false" else a
        if dtype == "b1":
            return self._select_truth(condition, a, b)
        dtype = "f32" if dtype == "f16" else dtype
        text = f"fn_select({condition}, {self.operand(a, dtype)}, {self.operand(b, dtype)})"
        return self.put(text, dtype)

    def _select_truth(self, condition: str, a: str, b: str) -> str:
        match a, b:
            case "true", "false":
                return condition
            case "true", _:
                return self.put(f"{condition} | {b}", "b1")
            case "false", _:
                return self.put(f"(not {condition}) & {self.operand(b, 'b1')}", "b1")
            case _, "true":
                return self.put(f"(not {condition}) | {a}", "b1")
            case _, "false":
                return self.put(f"{condition} & {a}", "b1")
        return self.put(f"({condition} & {a}) | ((not {condition}) & {b})", "b1")

    def convert(self, opcode: str, value: str, source: str, target: str) -> str:
        to = self._dtype(target, opcode, value)
        of = self._dtype(source, opcode, value)
        if opcode == "bitcast":
            function = "fn_bits" if source in _FLOATS else "fn_from_bits"
            return self.put(f"{function}({self.operand(value, of)})", to)
        return self.put(f"{type_name(to)}({self.operand(value, of)})", to)

    def _dtype(self, kind: str, opcode: str, value: str) -> str:
        """The dtype of an LLVM type, with the sign that an instruction gives it."""
        if kind == "i1":
            return "b1"
        if kind in _FLOATS:
            return _FLOATS[kind]
        unsigned = opcode in ("zext", "uitofp", "fptoui")
        if opcode == "trunc":
            unsigned = self.types.get(value, "i")[0] == "u"
        return f"{'u' if unsigned else 'i'}{kind[1:]}"

    def intrinsic(self, name: str, dtype: str, *args: str, tail: str = "") -> str:
        operands = [self.operand(a, dtype) for a in args]
        if is_float(dtype):
            kind = "f32" if dtype == "f16" else dtype
            return self.put(f"fn_{name}({', '.join(operands)})", kind)
        zero = self.const(0, dtype)
        match name:
            case "abs":
                below = self.compare("slt", dtype, args[0], zero)
                return self.select(below, dtype, self.op("sub", dtype, zero, args[0]), args[0])
            case "smin" | "umin" | "smax" | "umax":
                predicate = name[0] + ("lt" if name[1:] == "min" else "gt")
                return self.select(self.compare(predicate, dtype, *args), dtype, *args)
            case "ctpop" | "cttz":
                function = "fn_bit_count" if name == "ctpop" else "fn_trailing_zeros"
                return self.put(f"{function}({operands[0]})", dtype)
        raise NotImplementedError(f"llvm.{name} in Python")

    def call(self, symbol: str, result: str, dtypes: Sequence[str], args: Sequence[str]) -> str:
        own = re.fullmatch(r"tj_(\w+)_f\d+x1", symbol)
        name = own[1] if own else symbol if symbol in _FUNCTIONS else f"libm_{symbol}"
        operands = ", ".join(self.operand(a, d) for a, d in zip(args, dtypes, strict=True))
        return self.put(f"fn_{name}({operands})", "f32" if result == "f16" else result)

    def helper(
        self,
        name: str,
        result: str,
        dtypes: Sequence[str],
        args: Sequence[str],
        build: Callable[[Lanes, list[str]], str],
    ) -> str:
        function = name.partition(".")[0]
        if function in _FUNCTIONS:
            return self.call(function, result, dtypes, args)
        return build(self, list(args))

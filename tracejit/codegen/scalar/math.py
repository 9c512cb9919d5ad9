"""Transcendental functions: calls of the module's own vector code, and of libm lane by lane.

By libm, under names of their own, go the functions whose results are to be the C library's bit by
bit. A float32 goes through the double function, which leaves one rounding of a result that is good
to 29 further bits.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from tracejit.codegen.llvm.lanes import Lanes
from tracejit.codegen.scalar.integers import ScalarEmitter
from tracejit.codegen.vector_math.define import ARITY, PARTS, SHARED, define, symbol

__all__ = ["C_FUNCTIONS", "MATH", "libm"]

#: The C functions under names of their own, "libm_exp": the results are the C library's bit by bit.
C_FUNCTIONS = (
    "acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp exp2 expm1 hypot log log10 "
    "log1p log2 pow sin sinh tan tanh"
).split()


def libm(function: str) -> ScalarEmitter:
    """The C function of that name in double precision, for each lane."""

    def emit(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
        wide = tuple("f64" for _ in a)

        def one(scalar: Lanes, *operands: str) -> str:
            symbol = scalar.fb.module.declare(function, "double", ["double"] * len(operands))
            return scalar.call(symbol, "f64", wide, operands)

        def build(s: Lanes, a: list[str]) -> str:
            if r != "f64":
                a = [s.convert("fpext", x, "float", "double") for x in a]
            value = s.each_lane("f64", wide, a, one)
            return value if r == "f64" else s.convert("fptrunc", value, "double", "float")

        return s.helper(f"{function}.{r}", r, t, a, build)

    return emit


def _own(name: str) -> ScalarEmitter:
    """The module's own function over all lanes at once."""

    def emit(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
        if name in SHARED and (found := _shared(s, name, a, r)) is not None:
            return found
        return s.call(_defined(s, name, r), r, t, a)

    return emit


def _defined(s: Lanes, name: str, dtype: str) -> str:
    """The function of that name over these lanes, with its sigil."""
    module = s.fb.module
    own = symbol(name, dtype, s.width)

    def build() -> None:
        target = module.target
        definition = define(name, dtype, s.width, target.has_fma, target.permutes)
        for line in definition.all_declarations():
            module.declare_line(line)
        for key, text in definition.everything().items():
            if key == own:
                module.add_function(key, text)
            else:
                module.helper(key, functools.partial(module.add_function, key, text))

    return module.helper(own, build)


def _shared(s: Lanes, name: str, operands: Sequence[str], dtype: str) -> str | None:
    """The result beside one that this block computes of the same operands, if there is one.

    The earlier call becomes one of the function that gives both.
    """
    both, place = SHARED[name]
    kind, lines = s.type(dtype), s.fb.chunk.lines
    given = ", ".join(f"{kind} {operand}" for operand in operands)
    others = {
        f"call {kind} @{symbol(other, dtype, s.width)}({given})": index
        for other, (function, index) in SHARED.items()
        if function == both and other != name
    }
    for i in reversed(range(len(lines))):
        line = lines[i]
        if not isinstance(line, str) or line.endswith(":"):
            break  # Another block, or a place that is filled later.
        register, _, instruction = line.partition(" = ")
        if instruction in others:
            structure = f"{{ {kind}, {kind} }}"
            value = s.fb.fresh("both")
            call = f"call {structure} {_defined(s, both, dtype)}({given})"
            lines[i : i + 1] = [
                f"  {value} = {call}",
                f"{register} = extractvalue {structure} {value}, {others[instruction]}",
            ]
            s.fb.module.replaced.add(instruction.partition("@")[2].partition("(")[0])
            return s.fb.emit(f"extractvalue {structure} {value}, {place}")
    return None


def _uniform_power(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    """A power whose exponent hardly ever is one that NumPy has a function of its own for."""

    def build(s: Lanes, a: list[str]) -> str:
        x, y = a
        value = MATH["power"](s, a, (r, r), r)
        own = [s.compare("oeq", r, y, s.const(e, r)) for e in (2.0, 1.0, -1.0, 0.5)]
        any_own = own[0]
        for condition in own[1:]:
            any_own = s.op("or", "b1", any_own, condition)

        def then() -> Sequence[str]:
            # Lanes may have other exponents in code that has been batched.
            reciprocal = s.op("fdiv", r, s.const(1.0, r), x)
            values = s.op("fmul", r, x, x), x, reciprocal, s.intrinsic("sqrt", r, x)
            out = value
            for condition, result in zip(own, values, strict=True):
                out = s.select(condition, r, result, out)
            return [out]

        carried = [(s.type(r), value)]
        (out,) = s.fb.if_then(s.any(any_own), carried, then, unlikely=True)
        return out

    return s.helper(f"uniform_power.{r}", r, t, a, build)


MATH: dict[str, ScalarEmitter] = {
    "uniform_power": _uniform_power,
    **{f"libm_{function}": libm(function) for function in C_FUNCTIONS},
    **{name: _own(name) for name in (*ARITY, *PARTS)},
}

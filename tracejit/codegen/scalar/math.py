"""Transcendental functions: calls of the module's own vector code, or of libm lane by lane.

`LIBM` is the table of what goes by libm. There, a float32 goes through the double function, which
leaves one rounding of a result that is good to 29 further bits.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from tracejit.codegen.llvm.lanes import Lanes
from tracejit.codegen.scalar.integers import ScalarEmitter
from tracejit.codegen.vector_math.define import ARITY, define, symbol

__all__ = ["LIBM", "MATH", "libm"]

#: Function -> the C function that computes it, lane by lane.
LIBM: dict[str, str] = {
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "cbrt": "cbrt",
    "hypot": "hypot",
}

#: The C functions under names of their own, "libm_exp": the results are the C library's bit by bit.
_C_FUNCTIONS = (
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
        module = s.fb.module
        own = symbol(name, r, s.width)

        def build() -> None:
            definition = define(name, r, s.width, module.target.has_fma)
            for line in definition.all_declarations():
                module.declare_line(line)
            for key, text in definition.everything().items():
                if key == own:
                    module.add_function(key, text)
                else:
                    module.helper(key, functools.partial(module.add_function, key, text))

        return s.call(module.helper(own, build), r, t, a)

    return emit


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


#: The features with which NumPy has a cube root of its own for vectors, on Linux.
_OWN_CUBE_ROOT = frozenset({"avx512f", "avx512cd", "avx512vl", "avx512bw", "avx512dq"})


def _cube_root(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    """The C library's, which is NumPy's too; doubles are corrected where NumPy's has 1 ULP.

    The C library's may be off by 4. One step of Newton's method, with t * t * t to twice the
    precision: t + (x - t**3) / (3 * t**2).
    """
    c_function = libm("cbrt")
    target = s.fb.module.target
    has_own = "linux" in target.triple and target.features >= _OWN_CUBE_ROOT
    if r != "f64" or not has_own:
        return c_function(s, a, t, r)

    def build(s: Lanes, a: list[str]) -> str:
        (x,) = a
        first = c_function(s, a, t, r)
        # Powers of 2 keep the rests normal, and the cube finite.
        size = s.intrinsic("fabs", r, x)
        small = s.compare("olt", r, size, s.const(2.0**-900, r))
        large = s.compare("ogt", r, size, s.const(2.0**900, r))

        def scale(power: int) -> str:
            up, down = s.const(2.0**power, r), s.const(2.0**-power, r)
            return s.select(small, r, up, s.select(large, r, down, s.const(1.0, r)))

        x, root = s.op("fmul", r, x, scale(180)), s.op("fmul", r, first, scale(60))
        square = s.op("fmul", r, root, root)
        square_rest = s.intrinsic("fma", r, root, root, s.op("fneg", r, square))
        cube = s.op("fmul", r, square, root)
        cube_rest = s.intrinsic("fma", r, square, root, s.op("fneg", r, cube))
        cube_rest = s.intrinsic("fma", r, square_rest, root, cube_rest)
        error = s.op("fsub", r, s.op("fsub", r, x, cube), cube_rest)
        step = s.op("fdiv", r, error, s.op("fmul", r, s.const(3.0, r), square))
        better = s.op("fmul", r, s.op("fadd", r, root, step), scale(-60))
        # Of 0, the infinities and NaN there is no rest.
        valid = s.compare("ord", r, step, step)
        return s.select(valid, r, better, first)

    return s.helper("cube_root.f64", r, t, a, build)


MATH: dict[str, ScalarEmitter] = {
    "uniform_power": _uniform_power,
    **{name: libm(function) for name, function in LIBM.items()},
    "cbrt": _cube_root,
    **{f"libm_{function}": libm(function) for function in _C_FUNCTIONS},
    **{name: _own(name) for name in ARITY},
}

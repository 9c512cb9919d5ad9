"""The functions that printed source calls, by names that begin with "fn_".

Each is of one of three kinds: an instruction, a function of the GPU's library (libdevice), or
Python source, one for both worlds, for the dtypes of the arguments. `simulated_namespace` gives
them their meaning on NumPy's numbers; `numba_target` compiles them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tracejit.codegen.cuda.python_builder import Printed, printed
from tracejit.codegen.cuda.python_lanes import type_name
from tracejit.codegen.scalar.math import C_FUNCTIONS
from tracejit.codegen.vector_math.define import ARITY, PARTS

__all__ = [
    *(
        "INSTRUCTIONS",
        "LIBRARY",
        "SOURCES",
        "SOURCES_OF_DOUBLES",
        "TYPES",
        "VECTORS",
        "MANY",
        "source",
    ),
]

#: Types, by the names that source has for them: dtypes. A float16 is in memory alone.
TYPES: dict[str, str] = {
    type_name(dtype): dtype
    for dtype in "half f32 f64 i8 i16 i32 i64 u8 u16 u32 u64".split()
}  # fmt: skip

#: How many elements one instruction loads or stores: "fn_load4".
VECTORS = (2, 4, 8, 16)
#: How many vectors, each of so many elements, one call loads: "fn_loads4x8".
MANY = tuple((n, count) for n in (1, *VECTORS) for count in range(1, 32 // n + 1))

#: Functions of floats that are exact or rounded once, and the library's name for each.
INSTRUCTIONS: dict[str, str] = {
    "fabs": "fabs",
    "sqrt": "sqrt",
    "copysign": "copysign",
    "floor": "floor",
    "ceil": "ceil",
    "trunc": "trunc",
    "rint": "rint",
    "fma": "fma",
    "fmod": "fmod",
}

#: Elementary functions that the library has: within a few ULP, with the C library's special values.
LIBRARY: dict[str, str] = {
    **{
        name: name
        for name in (
            "cbrt cos cosh erf erfc erfcinv erfcx erfinv exp exp2 expm1 hypot log log10 log1p log2 "
            "sin sinh tan tanh"
        ).split()
    },
    **{f"arc{name}": f"a{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tan2", "tanh")},
    "power": "pow",
    **{f"libm_{name}": name for name in C_FUNCTIONS},
}

#: Functions whose results for float64 come from source, by the source's name: near the end of the
#: range the library's hypot is infinite where the root is not.
SOURCES_OF_DOUBLES: dict[str, str] = {"hypot": "hypot", "libm_hypot": "hypot"}

_INTEGER_POWER = """\
def function(x, exponent):
    result = T(1)
    while True:
        if exponent & T(1) != T(0):
            result = T(result * x)
        x = T(x * x)
        exponent = T(U(exponent) >> U(1))
        if exponent == T(0):
            return result
"""

_POWER_EXCEEDS = """\
def function(x, exponent):
    result = T(1)
    lost = False
    while True:
        if exponent & T(1) != T(0):
            if lost or fn_multiply_overflows(result, x):
                return True
            result = T(result * x)
        lost = lost or fn_multiply_overflows(x, x)
        x = T(x * x)
        exponent = T(U(exponent) >> U(1))
        if exponent == T(0):
            return False
"""

_GCD = """\
def function(x, y):
    a = U(fn_select(x < T(0), T(T(0) - x), x))
    b = U(fn_select(y < T(0), T(T(0) - y), y))
    while b != U(0):
        rest = fn_rest(a, b)
        a = b
        b = rest
    return T(a)
"""

#: Of integers x of type T, U being that without a sign.
_OF_INTEGERS = {"integer_power": _INTEGER_POWER, "power_exceeds": _POWER_EXCEEDS, "gcd": _GCD}

#: The functions in source.
SOURCES = frozenset({*ARITY, *PARTS} - {*LIBRARY}) | frozenset(_OF_INTEGERS)


@lru_cache(maxsize=1024)
def source(name: str, dtypes: tuple[str, ...]) -> Printed:
    """The definition of a function on arguments of these dtypes.

    Raises KeyError for one that has none.
    """
    if name in _OF_INTEGERS:
        kind = type_name(dtypes[0])
        text = _OF_INTEGERS[name].replace("T(", f"{kind}(")
        return Printed(text.replace("U(", f"u{kind.removeprefix('u')}("), {})
    return printed(name, dtypes[0])


def result_dtype(name: str, dtypes: Sequence[str]) -> str:
    """The dtype of the result of a function in source."""
    return "b1" if name == "power_exceeds" else dtypes[0]

"""The functions of Python's module math on real numbers, which give a float or a bool.

CPython computes them by the C library's functions of the same names, which the code calls, too.
Where CPython raises ValueError or OverflowError, the run bails out.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from tracejit.ir.graph import Attrs
from tracejit.ir.kernel import Const, Expr
from tracejit.ir.op import OPS, register
from tracejit.ir.terms import function
from tracejit.ops.python.arithmetic import SAMPLES, PyOp
from tracejit.ops.python.scalar_batch import UFUNCS
from tracejit.ops.python.scalar_exprs import ZERO_F, ScalarRule, all_of, any_of, as_float, b1, f64

__all__ = ["MATH_OPS", "PyMath"]

#: (operands, result) -> where CPython raises an exception; None: nowhere.
Failure: TypeAlias = Callable[[Sequence[Expr], Expr], "Expr | None"]


class PyMath(PyOp):
    """A function of real numbers, which are floats first."""

    highest: ClassVar[str] = "float"
    arity: ClassVar[int] = 1
    #: The kind of the result.
    gives: ClassVar[str] = "float"
    #: The scalar function.
    fn: ClassVar[str]
    fails: ClassVar[Failure]

    def result_kind(self, kinds: tuple[str, ...]) -> str:
        return self.gives

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        operands = [as_float(x, k) for x, k in zip(args, kinds, strict=True)]
        out = self.result(operands)
        return out, type(self).fails(operands, out)

    def result(self, operands: Sequence[Expr]) -> Expr:
        """The result of floats."""
        return (f64 if self.gives == "float" else b1)(self.fn, *operands)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        inside = [v for v in _POINTS if self._holds(v)] if self.arity == 1 else []
        outside = [v for v in _POINTS if v not in inside][: max(len(inside), 1)]
        if self.arity == 1:
            return [([v], {}) for v in (*inside, *outside)]
        return [([a, b], {}) for a, b in itertools.product(_POINTS[::2], _POINTS[1::2])]

    def _holds(self, x: Any) -> bool:
        try:
            type(self).python(x)
        except (ArithmeticError, ValueError):
            return False
        return True


_POINTS: tuple[Any, ...] = (
    *(*SAMPLES["bool"], *SAMPLES["int"], *SAMPLES["float"]),
    *(0.5, -0.5, 0.999, -0.999, 1.0000001, 20.25, -20.25, 1e-8, -1e-8, 1e16, 170.5),
    *(709.5, 710.0, 711.0, -745.5, -750.0, 1e5, 3.5, 1023.5, 1024.0),
)

# Where they fail ---------------------------------------------------------------------------------

_ONE, _MINUS_ONE = Const(1.0, "f64"), Const(-1.0, "f64")


def _never(x: Sequence[Expr], out: Expr) -> Expr | None:
    return None


def _beyond_one(fn: str) -> Failure:
    return lambda x, out: b1(fn, f64("absolute", x[0]), _ONE)


def _where(fn: str, limit: Expr) -> Failure:
    return lambda x, out: b1(fn, x[0], limit)


def _overflows(x: Sequence[Expr], out: Expr) -> Expr | None:
    return all_of(b1("isinf", out), b1("isfinite", x[0]))


def _of_infinity(x: Sequence[Expr], out: Expr) -> Expr | None:
    return b1("isinf", x[0])


def _leaves_finite(x: Sequence[Expr], out: Expr) -> Expr | None:
    finite = all_of(*(b1("isfinite", v) for v in x))
    return all_of(b1("logical_not", b1("isfinite", out)), finite)


def _makes_nan(x: Sequence[Expr], out: Expr) -> Expr | None:
    given = any_of(*(b1("isnan", v) for v in x))
    return all_of(b1("isnan", out), b1("logical_not", given))


# The functions -----------------------------------------------------------------------------------

exp, square = map(function, ("exp", "square"))
_ERF = 2.0 / math.sqrt(math.pi)

#: Function of math -> the name of its op.
MATH_OPS: dict[Any, str] = {}


def _define(
    python: Any, fn: str, fails: Failure = _never, parity: str = "ulp(1)", **more: Any
) -> None:
    name = f"py_{python.__name__}"
    if "partials" not in more:
        twin: Any = OPS[UFUNCS.get(python.__name__, python.__name__)]
        more |= {"constant": twin.constant, "partials": twin.partials}
    body = {
        "__doc__": f"Python's `math.{python.__name__}`.",
        "name": name,
        "python": staticmethod(python),
        "fn": fn,
        "fails": staticmethod(fails),
        "parity": parity,
        "raises": fails is not _never,
        **more,
    }
    MATH_OPS[python] = name
    register(type(f"PyMath{python.__name__.title()}", (PyMath,), body))


for _f in (math.exp, math.exp2, math.expm1, math.sinh, math.cosh):
    _define(_f, f"libm_{_f.__name__}", _overflows)
for _f in (math.log, math.log2, math.log10):
    _define(_f, f"libm_{_f.__name__}", _where("less_equal", ZERO_F))
for _f in (math.sin, math.cos, math.tan):
    _define(_f, f"libm_{_f.__name__}", _of_infinity)
for _f in (math.asin, math.acos):
    _define(_f, f"libm_{_f.__name__}", _beyond_one("greater"))
for _f in (math.atan, math.tanh, math.asinh, math.cbrt):
    _define(_f, f"libm_{_f.__name__}")
_define(math.erf, "libm_erf", partials=(lambda x, y: _ERF * exp(-square(x)),))
_define(math.erfc, "libm_erfc", partials=(lambda x, y: -_ERF * exp(-square(x)),))
_define(math.log1p, "libm_log1p", _where("less_equal", _MINUS_ONE))
_define(math.acosh, "libm_acosh", _where("less", _ONE))
_define(math.atanh, "libm_atanh", _beyond_one("greater_equal"))
_define(math.sqrt, "sqrt", _where("less", ZERO_F), parity="exact")
_define(math.fabs, "absolute", parity="exact")
for _f in (math.degrees, math.radians):
    _define(_f, _f.__name__)
for _f in (math.isnan, math.isinf, math.isfinite):
    _define(_f, _f.__name__, gives="bool", parity="exact")
_define(math.atan2, "libm_atan2", arity=2)
_define(math.copysign, "copysign", arity=2, parity="exact")
_define(math.nextafter, "nextafter", arity=2, parity="exact")
_define(math.fmod, "fmod", _makes_nan, arity=2, parity="exact")
_define(math.pow, "libm_pow", _leaves_finite, arity=2)
# CPython has its own sum of squares, which is as exact as the C library's.
_define(math.hypot, "libm_hypot", arity=2)

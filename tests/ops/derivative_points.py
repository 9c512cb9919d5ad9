"""Points at which the functions of elements are smooth: inside their domains, away from kinks."""

from typing import Any

import numpy as np

import tracejit.ops  # noqa: F401 - fills the registry
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.python.arithmetic import PyOp
from tracejit.ops.python.math import MATH_OPS

__all__ = ["array_points", "elementwise_names", "python_names", "python_points"]

_ANY = (0.45, -0.8, 1.7, -2.3, 0.9)
_OTHER = (-1.2, 1.9, 0.6, -0.7, 2.6)
_POSITIVE = (0.45, 0.8, 1.7, 2.3, 3.1)
_INSIDE = (0.3, -0.6, 0.1, -0.25, 0.65)
_FRACTIONS = (0.3, 0.6, 0.15, 0.25, 0.65)
_BEYOND = (1.4, 1.8, 2.2, 3.0, 5.0)
#: Quotients that stay away from whole numbers.
_QUOTIENTS = ((3.0, -0.8, 2.5, 1.1, -4.4), (2.0, 1.6, -1.7, 2.2, -3.0))

#: By the ufunc's name; all else is smooth at `_ANY` and `_OTHER`.
_POINTS: dict[str, tuple[tuple[float, ...], ...]] = {
    **dict.fromkeys(
        ("sqrt", "root_of_squares", "log", "log2", "log10", "numpy_log10"), (_POSITIVE,)
    ),
    **dict.fromkeys(("arcsin", "arccos", "arctanh", "log1p", "tan"), (_INSIDE,)),
    "arccosh": (_BEYOND,),
    "erfinv": (_INSIDE,),
    "frexp_mantissa": ((0.7, -1.5, 2.8, -0.75, 1.4),),
    **dict.fromkeys(("erfcinv", "logit", "ndtri"), (_FRACTIONS,)),
    **dict.fromkeys(("entr", "gamma", "gammaln", "psi", "y0", "y1"), (_POSITIVE,)),
    **dict.fromkeys(("xlogy", "xlog1py"), (_ANY, _POSITIVE)),
    **dict.fromkeys(("kl_div", "rel_entr"), (_POSITIVE, _POSITIVE[::-1])),
    **dict.fromkeys(
        ("power", "float_power", "uniform_power", "numpy_power"),
        (_POSITIVE, (-1.3, 2.2, 0.4, 1.0, 3.0)),
    ),
    **dict.fromkeys(("remainder", "fmod"), _QUOTIENTS),
}
#: Off the branch cuts of all holomorphic functions.
_TURN = (0.4j, -0.7j, 0.9j, 0.35j, -1.1j)

#: Python's op -> the ufunc of the same meaning.
_LIKE = {
    "py_asin": "arcsin",
    "py_acos": "arccos",
    "py_atanh": "arctanh",
    "py_acosh": "arccosh",
    "py_pow": "power",
    "py_mod": "remainder",
}


def elementwise_names() -> list[str]:
    """The elementwise ops that have derivatives, of operands that mean anything."""
    ops = [op for op in OPS.values() if isinstance(op, Elementwise) and op.name != "derived_as"]
    return sorted(op.name for op in ops if not op.constant and op.partials is not None)


def python_names() -> list[str]:
    """The ops on Python numbers that have derivatives."""
    ops = [op for op in OPS.values() if isinstance(op, PyOp)]
    return sorted(op.name for op in ops if not op.constant and op.partials is not None)


def _real(name: str, k: int) -> np.ndarray:
    points = _POINTS.get(_LIKE.get(name, name.removeprefix("py_")), (_ANY, _OTHER))
    return np.array(points[k])


def array_points(name: str, dtype: str) -> tuple[list[Any], dict[str, Any]] | None:
    """Operands and attributes of an elementwise op whose floats are of `dtype`; None: no such."""
    op, d = OPS[name], DTYPES[dtype]
    assert isinstance(op, Elementwise)
    if name == "cast":
        return None
    if name == "ldexp":
        exponents = np.array([1, -2, 0, 3, -1], np.int32)
        return None if d.kind == "c" else ([_real(name, 0).astype(d), exponents], {})
    first = [np.array([True, False, True, True, False])] if name == "select" else []
    count = op.arity - len(first)
    turn = np.array(_TURN) if d.kind == "c" else 0.0
    operands = [(_real(name, k) + turn * (1 - 0.3 * k)).astype(d) for k in range(count)]
    dtypes = tuple(x.dtype for x in (*first, *operands))
    try:
        op.result_dtype(dtypes, {})
    except Exception:
        return None
    return [*first, *operands], {}


def python_points(name: str) -> list[tuple[list[Any], dict[str, Any]]]:
    """Operands and attributes of an op on Python numbers: floats, complex ones, an int."""
    op = OPS[name]
    assert isinstance(op, PyOp)
    if name == "py_complex_power":
        return [([0.6 - 0.8j], {"exponent": n}) for n in (1, 2, 3, 7)]
    out: list[tuple[list[Any], dict[str, Any]]] = []
    for j in (0, 2):
        floats = [float(_real(name, k)[j]) for k in range(op.arity)]
        out.append((floats, {}))
        if op.highest == "complex" and name not in ("py_real", "py_imag"):
            out.append(([x + _TURN[j] for x in floats], {}))
    if op.arity == 2 and name not in MATH_OPS.values():
        out += [([2, 0.7], {}), ([0.7, 2], {})]
    if name in ("py_real", "py_imag"):
        out.append(([0.6 - 0.8j], {}))
    return out

"""Which of its loops NumPy takes for operands that lie as these do: asked of NumPy itself.

A ufunc has several loops, which round complex numbers differently, and take a root for a power of
0.5 or do not. Which one runs depends on the machine, the version, and on whether an operand is a
NumPy scalar, repeated along an axis, or runs backwards. Small examples that are laid out alike run
once a process, and their bits say what the ops of `ops/array/numpy_formulas.py` are to be in the
graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.tracing.memory.layout import axis_signs
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar, lift, user_line
from tracejit.ir.types import PyScalar, dtype_of
from tracejit.ops.array.numpy_formulas import FORMULAS, formula_value, same_bits

__all__ = [
    "OperatorUfunc",
    "complex_formula",
    "exponents_with_ufuncs",
    "keeps_equal",
    "operator_ufunc",
    "takes_root",
]


class _Operand(NamedTuple):
    """How an operand lies: its dtype, or the class of a Python number; the sign of each axis'
    stride, 1 or 0 for axes of one element and of repeated ones; its axes from the outermost.
    """

    kind: Any
    signs: tuple[str, ...] | None = None
    order: tuple[int, ...] = ()


_PYTHON = {"int": int, "float": float, "complex": complex, "bool": bool}


def _described(x: Any) -> _Operand:
    if isinstance(x, TracedArray):
        return _Operand(x.dtype, *axis_signs(x))
    if isinstance(x, TracedScalar):
        return _Operand(_PYTHON[x.type.kind] if isinstance(x.type, PyScalar) else dtype_of(x.type))
    if isinstance(x, np.generic):
        return _Operand(x.dtype)
    return _Operand(int if isinstance(x, SymInt) else type(x))


def _example(o: _Operand, value: Any, sizes: Sequence[int] = ()) -> Any:
    """An operand that lies so, of the last of these sizes, filled with a value."""
    if o.signs is None:
        if not isinstance(o.kind, np.dtype):
            return o.kind(value) if o.kind is complex else o.kind(value.real)
        return o.kind.type(value if o.kind.kind == "c" else value.real)
    pairs = list(zip(o.signs, sizes[len(sizes) - len(o.signs) :], strict=True))
    own = [1 if s in "01" else n for s, n in pairs]
    memory = np.empty([own[k] for k in o.order], o.kind)
    memory[...] = value if o.kind.kind == "c" else value.real
    x: Any = memory.transpose(np.argsort(o.order))
    if "-" in o.signs:
        x = np.flip(x, tuple(k for k, s in enumerate(o.signs) if s == "-"))
    # The stride of a single element is not 0 either.
    return np.broadcast_to(x, [1 if s == "1" else n for s, n in pairs]) if "0" in o.signs else x


#: Operands whose products and quotients differ in each part, whichever way they are rounded.
_PAIRS = ((1.1 + 1.3j, 1.7 - 1.9j), (0.7 - 2.3j, 3.1 + 0.3j), (1e-3 + 5.7j, 0.9 - 7.7j)) + tuple(
    (complex(np.sin(k), np.cos(2.3 * k)), complex(np.cos(k), np.sin(1.7 * k))) for k in range(1, 30)
)


def complex_formula(spelled: Callable[..., Any], ufunc: Any, operands: Sequence[Any]) -> str:
    """The op that means what `spelled`, the ufunc or an operator, gives for these operands.

    Raises TraceError where NumPy has a formula here that no op has.
    """
    found = _complex_formula(spelled, ufunc, tuple(map(_described, operands)))
    if found is None:
        what = f"np.{ufunc.__name__} of complex numbers, whose rounding is not known here"
        raise TraceError("TJ004", what, user_line())
    return found


@lru_cache(maxsize=4096)
def _complex_formula(
    spelled: Callable[..., Any], ufunc: Any, operands: tuple[_Operand, ...]
) -> str | None:
    left = list(FORMULAS[ufunc])
    for sizes in _sizes(operands):
        for pair in _PAIRS if max(sizes, default=0) < 100 else _PAIRS[:3]:
            examples = [_example(o, v, sizes) for o, v in zip(operands, pair, strict=False)]
            with np.errstate(all="ignore"):
                out = np.asarray(spelled(*examples))
                dtype = np.result_type(*examples)
                values = [np.array(x, dtype=dtype).reshape(-1)[:1] for x in examples]
            left = [name for name in left if _all_are(formula_value(name, values), out)]
    return left[0] if left else None


def _all_are(value: Any, out: Any) -> bool:
    """Whether each element has the bits of `value`, of one element."""
    return same_bits(np.full(out.shape, value[0]), out)


def _sizes(operands: Sequence[_Operand]) -> list[tuple[int, ...]]:
    """Sizes of the axes of examples that show all loops that such operands may run through."""
    ndim = max(len(o.signs or ()) for o in operands)
    plain = tuple(range(2, 2 + ndim))
    if ndim < 2 or not any("-" in (o.signs or ()) for o in operands):
        return [plain]
    # Small arrays that run backwards are copied into buffers, where they run forward.
    more = [(2 + ndim - k if k else 9000, *plain[1:]) for k in range(ndim)]
    return [plain, plain[::-1], (*plain[:-1], 9000), (*(4,) * (ndim - 1), 5), *more]


def takes_root(
    spelled: Callable[..., Any], x: Any, y: Any, loop: np.dtype[Any], **how: Any
) -> bool | None:
    """Whether `spelled(x, y)`, in a loop of floats, is the root of x where the exponent is 0.5.

    The other exponents of UNIFORM_POWERS go with it. None where -0.0 and -infinity may or may not
    have a root, as the sizes decide.
    """
    base, exponent = (_as_float(_described(v), loop) for v in (x, y))
    extra = tuple(how.items())
    signs = exponent.signs
    if not signs:
        return _takes_root(spelled, base, exponent, extra)
    # The iterator may repeat an exponent in its buffers, or leave it to the loop.
    shared = zip(reversed(signs), reversed(base.signs or ()), strict=False)
    missing = len(signs) < len(base.signs or ())
    repeated = missing or "0" in signs or any(e == "1" != b for e, b in shared)
    certain = all(y.trace.env.proved(d, "<", 2) is not None for d in y.type.shape)
    if certain and (not repeated or set(signs) == {"1"}):
        return _takes_root(spelled, base, exponent, extra)
    single = exponent._replace(signs=(), order=())
    never = not _takes_root(spelled, base, single, extra)
    fractions = _described(y).kind.kind == "f" and dtype_of(lift(x).type).kind == "f"
    return False if never or not fractions else None


def keeps_equal(x: Any, low: Any, high: Any) -> bool:
    """Whether `np.clip(x, low, high)` leaves a zero that is equal to a bound, not the bound.

    Raises TraceError where some loops do, and others do not.
    """
    found = _keeps_equal(*map(_described, (x, low, high)))
    if found is None:
        what = "np.clip between bounds that are repeated in some of its loops"
        raise TraceError("TJ004", what, user_line())
    return found


#: Numbers that are equal to one of their bounds.
_EQUAL = ((-0.0, 0.0, 1.0), (0.0, -0.0, 1.0), (-0.0, -1.0, 0.0), (0.0, -1.0, -0.0))


@lru_cache(maxsize=1024)
def _keeps_equal(*operands: _Operand) -> bool | None:
    ndim = max(len(o.signs or ()) for o in operands)
    # The iterator may take bounds that are repeated along an axis into buffers, or leave them.
    sizes = [tuple(range(2, 2 + ndim)), tuple(range(9, 9 - ndim, -1)), (*range(3, 2 + ndim), 9000)]
    kept: set[bool] = set()
    for each in sizes if ndim else [()]:
        for values in _EQUAL:
            given = [_example(o, complex(v), each) for o, v in zip(operands, values, strict=True)]
            first, *_, bound = (np.signbit(v).any() for v in given if not np.any(v))
            if first != bound:  # Ints have one zero.
                kept |= set((np.signbit(np.clip(*given)) == first).flat)
    return kept != {False} if len(kept) < 2 else None


def _as_float(o: _Operand, loop: np.dtype[Any]) -> _Operand:
    """The operand as one of floats: an int is no -infinity, and no 0.5."""
    kind = np.dtype(o.kind).kind
    if kind == "f":
        return o
    return o._replace(kind=loop if isinstance(o.kind, np.dtype) else float)


@lru_cache(maxsize=4096)
def _takes_root(
    spelled: Callable[..., Any],
    base: _Operand,
    exponent: _Operand,
    how: tuple[tuple[str, Any], ...],
) -> bool:
    sizes = range(2, 2 + max(len(o.signs or ()) for o in (base, exponent)))
    x, y = (_example(o, v, sizes) for o, v in ((base, complex(-np.inf)), (exponent, 0.5 + 0j)))
    with np.errstate(all="ignore"):
        roots = np.isnan(spelled(x, y, **dict(how)))
    return bool(np.all(roots))


#: The exponents for which NumPy may take another ufunc than power.
EXPONENTS = (2, 1, 0, -1, 0.5)


class OperatorUfunc(NamedTuple):
    """What computes `x ** exponent`: a ufunc, the dtype in which it is handed x, and whether the
    result is an array even without axes."""

    ufunc: Any
    dtype: np.dtype[Any]
    gives_array: bool


class _Asked(np.ndarray[Any, Any]):
    """An array that tells which ufunc it is handed to."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return OperatorUfunc(ufunc, inputs[0].dtype, "out" in kwargs)


@lru_cache(maxsize=1024)
def _asked(dtype: np.dtype[Any], kind: Any, exponent: Any) -> Any:
    return np.zeros(2, dtype).view(_Asked) ** exponent


def operator_ufunc(dtype: np.dtype[Any], exponent: Any) -> OperatorUfunc:
    """The ufunc that `x ** exponent` is for an array of that dtype, and a number that is no array.

    For some exponents NumPy takes another one than `power`.
    """
    kind: Any = type(exponent)
    found: OperatorUfunc = _asked(dtype, kind, exponent)
    return found


def exponents_with_ufuncs(dtype: np.dtype[Any], exponent: Any) -> dict[float, OperatorUfunc]:
    """The values of an exponent of this kind for which `x ** exponent` is another ufunc than power,
    for an array x of that dtype.
    """
    o = _described(exponent)
    if o.signs:
        return {}
    array: Any = np.zeros(2, dtype).view(_Asked)
    asked = {v: array ** _example(o, complex(v)) for v in EXPONENTS if _holds(o, v)}
    return {v: found for v, found in asked.items() if found.ufunc is not np.power}


def _holds(o: _Operand, value: float) -> bool:
    """Whether a number of this kind can be `value`."""
    held = {"b": (0, 1), "u": (0, 1, 2), "i": (0, 1, 2, -1)}.get(np.dtype(o.kind).kind)
    return held is None or value in held

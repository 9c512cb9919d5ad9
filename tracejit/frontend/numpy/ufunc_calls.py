"""Ufunc calls as NumPy spells them: `out=`, `where=`, `dtype=`, `casting=`, `order=`, methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, astype
from tracejit.frontend.numpy.memory_orders import in_c_order, in_order, of_unknown_order
from tracejit.frontend.numpy.outputs import into, same_shape, shares_memory, store_masked, target_of
from tracejit.frontend.numpy.registry import NONE_IS_DEFAULT, call_function, plain_options
from tracejit.frontend.numpy.ufuncs import call_ufunc, check_casting, resolve
from tracejit.frontend.tracing.dispatch import DISPATCH
from tracejit.frontend.tracing.memory.layout import axis_ranks
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    Tracer,
    broadcasts_to,
    check_dtype,
    lift,
    user_line,
)
from tracejit.ir.types import shape_of
from tracejit.ops.array.axis_orders import iterator_order
from tracejit.ops.array.elementwise import op_of

__all__ = ["array_ufunc", "laid_out_by_iterator"]


def array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `__array_ufunc__` of a tracer does. Raises TraceError for forms not known here."""
    kwargs = {k: v for k, v in kwargs.items() if v is not None or k not in NONE_IS_DEFAULT}
    kwargs |= plain_options(f"np.{ufunc.__name__}", kwargs)
    kwargs.pop("subok", None)
    if method == "__call__" and ufunc.signature is not None:
        return _gufunc(ufunc, inputs, kwargs)
    if method == "__call__":
        return _call(ufunc, inputs, **_known(ufunc, kwargs))
    if method == "at":
        return _at(ufunc, *inputs, **kwargs)
    if method in ("reduce", "accumulate", "outer"):
        return _method(ufunc, method, inputs, kwargs)
    raise TraceError("TJ004", f"np.{ufunc.__name__}.{method}", user_line())


def _known(ufunc: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(kwargs) - {"out", "where", "dtype", "casting", "order"})
    if unknown:
        raise TraceError("TJ004", f"np.{ufunc.__name__} with {unknown}", user_line())
    kwargs |= plain_options(f"np.{ufunc.__name__}", {"dtype": kwargs.get("dtype")})
    if "order" in kwargs:
        kwargs |= plain_options(f"np.{ufunc.__name__}", {"order": kwargs["order"] or "K"})
    return kwargs


def _gufunc(ufunc: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A product of matrices or vectors."""
    (out,) = kwargs.pop("out", (None,))
    if kwargs.get("casting") == "same_kind":
        del kwargs["casting"]
    if kwargs.get("order") in ("K", "A"):
        del kwargs["order"]
    result = call_function(ufunc, inputs, kwargs)
    if out is None:
        return result
    name = f"np.{ufunc.__name__}"
    have, want = shape_of(lift(result).type), target_of(out).type.shape
    stacked = len(have) != len(want) or broadcasts_to(have, want)
    if stacked and not same_shape(have, want):
        raise TraceError("TJ004", f"{name} with an out= of another shape", user_line())
    return into(out, result, name, "same_kind")


def _call(
    ufunc: Any,
    inputs: tuple[Any, ...],
    *,
    out: tuple[Any, ...] = (),
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    order: str = "K",
) -> Any:
    name = f"np.{ufunc.__name__}"
    given = [o for o in out if o is not None]
    if any(not isinstance(o, TracedArray) for o in given):
        raise TraceError("TJ005", "out= names an array from outside", user_line())
    if where is not True and len(given) < ufunc.nout:
        raise TraceError("TJ004", f"{name} with where= and no out=", user_line())
    if casting not in ("same_kind", "unsafe"):
        check_casting(ufunc, inputs, casting)
        if dtype is not None:
            raise TraceError("TJ004", f"{name} with casting={casting!r} and dtype=", user_line())
    results = call_ufunc(ufunc, inputs, dtype, casting)
    if not given:
        return _in_order(results, order, name)
    results = results if isinstance(results, tuple) else (results,)
    for k, o in enumerate(given):
        if any(shares_memory(o, other) for other in given[:k]):
            raise TraceError("TJ005", f"{name} with outputs that share memory", user_line())
    for r, o in zip(results, out, strict=True):
        if o is not None:
            store_masked(o, lift(r), where, casting, name)
    final = tuple(r if o is None else o for r, o in zip(results, out, strict=True))
    return final[0] if len(final) == 1 else final


def _in_order(results: Any, order: str, name: str) -> Any:
    """The results in the memory order that was asked for."""
    if order == "K":
        return results
    if isinstance(results, tuple) or order not in ("C", "F"):
        raise TraceError("TJ004", f"{name} with order={order!r}", user_line())
    if not isinstance(results, TracedArray) or results.ndim < 2:
        return results
    if order == "C":
        return in_c_order(results)
    from tracejit.frontend.numpy.shape import reversed_axes

    return reversed_axes(in_c_order(reversed_axes(results)))


def _at(ufunc: Any, a: Any, indices: Any, b: Any = None) -> None:
    """`ufunc.at(a, indices, b)`: an index that occurs twice is updated twice."""

    from tracejit.frontend.numpy.indexing import accumulate_item

    name = f"np.{ufunc.__name__}.at"
    if not isinstance(a, TracedArray):
        raise TraceError("TJ005", f"{name} of an array from outside", user_line())
    repeats = any(_is_sequence(k) for k in (indices if isinstance(indices, tuple) else (indices,)))
    operands = [a] if b is None else [a, asarray(b)]
    if not repeats:
        if len(operands) != ufunc.nin or ufunc.nout != 1:
            raise TraceError("TJ004", f"{name} of {len(operands)} operands", user_line())
        places = indices if isinstance(indices, tuple) else (indices,)
        # Of all axes, so that one element is an array, too.
        selected = a[places if any(k is Ellipsis for k in places) else (*places, Ellipsis)]
        new = lift(call_ufunc(ufunc, (selected, *operands[1:])))
        store_masked(selected, new, True, "unsafe", name)
        return
    op = op_of(ufunc)
    if ufunc.nin != 2 or len(operands) != 2 or op is None or ufunc is np.power:
        raise TraceError("TJ004", name, user_line())
    loop = resolve(ufunc, tuple(x.dtype for x in operands), None)
    if len(set(loop)) != 1 or (loop[0].kind == "c" and a.dtype.kind != "c"):
        raise TraceError("TJ004", f"{name} of {a.dtype} and {operands[1].dtype}", user_line())
    accumulate_item(a, indices, astype(operands[1], check_dtype(loop[0])), op.name)


def _is_sequence(k: Any) -> bool:
    return isinstance(k, (TracedArray, list, tuple, np.ndarray))


DISPATCH.ufunc = array_ufunc


def _method(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`ufunc.reduce`, `.accumulate` and `.outer`. Raises TraceError for forms not known."""

    from tracejit.frontend.numpy.reductions import ACCUMULATIONS, REDUCTIONS

    (out,) = kwargs.pop("out", (None,))
    if out is not None:
        kwargs["out"] = out
    if method == "outer" and not kwargs:
        a, b = (asarray(x) for x in inputs)
        return ufunc(a[(..., *([None] * b.ndim))], b)
    if method == "reduce" and ufunc in REDUCTIONS:
        known = ("axis", "keepdims", "dtype", "initial", "where", "out")
        allowed = {k: kwargs.pop(k) for k in known if k in kwargs}
        if not kwargs and len(inputs) == 1:
            allowed.setdefault("axis", 0)
            return call_function(REDUCTIONS[ufunc], inputs, allowed)
    if method == "accumulate" and ufunc in ACCUMULATIONS and kwargs.get("axis", 0) is not None:
        if not asarray(inputs[0]).ndim:
            raise TypeError("cannot accumulate on a scalar")
        allowed = {k: kwargs.pop(k) for k in ("axis", "dtype", "out") if k in kwargs}
        if not kwargs and len(inputs) == 1:
            allowed.setdefault("axis", 0)
            return call_function(ACCUMULATIONS[ufunc], inputs, allowed)
    raise TraceError("TJ004", f"np.{ufunc.__name__}.{method}", user_line())


def laid_out_by_iterator(made: Any, method: str, /, *operands: Any, **kwargs: Any) -> Any:
    """What a method of a ufunc has made of an array, its axes as NumPy's iterator orders them.

    The operand of the call is a copy: views that repeat elements have another say about the order.
    """
    if method not in ("reduce", "accumulate", "reduceat") or not isinstance(made, TracedArray):
        return made
    from tracejit.frontend.numpy.reductions import normalize_axes

    x, *args = operands or (None,)

    if not isinstance(x, TracedArray) or made.ndim < 2 or kwargs.get("out") is not None:
        return made
    place = int(method == "reduceat")
    axis = args[place] if len(args) > place else kwargs.get("axis", 0)
    ranks = axis_ranks(x)
    if ranks is None or isinstance(axis, Tracer):
        return of_unknown_order(made)
    axes = normalize_axes(axis, x.ndim)
    if method == "reduceat":
        ranks[axes[0]] = 0
    order = iterator_order([ranks])
    if made.ndim < x.ndim:
        left = [k for k in range(x.ndim) if k not in axes]
        order = tuple(left.index(k) for k in order if k in left)
    return in_order(made, order)

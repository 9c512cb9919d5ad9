"""np.pad on tracers: stores into a new array, or gathers where edges show more than there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, is_static_number, stored
from tracejit.frontend.numpy.creation import iota, placeholder, with_order
from tracejit.frontend.numpy.memory_orders import in_order_of, memory_order
from tracejit.frontend.numpy.registry import handles
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.symint import SymInt, as_dim, unwrap
from tracejit.frontend.tracing.tracer import TracedArray, here, user_line, wrap
from tracejit.ir.dims import Dim

__all__: list[str] = []


@handles(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """The array with edges of constants, of its border, or of its mirrored or repeated elements."""
    if not isinstance(mode, str) or mode not in _MODES:
        raise TraceError("TJ004", f"np.pad with mode={mode!r}", user_line())
    x = asarray(array)
    value = kwargs.pop("constant_values", 0) if mode == "constant" else 0
    if mode == "empty":
        mode = "constant"  # What the edges hold is not said.
    if kwargs or isinstance(value, (tuple, list, TracedArray)) or not _fits(value, x.dtype):
        raise TraceError("TJ004", f"np.pad with {sorted(kwargs) or 'constant_values'}", user_line())
    widths = _pad_widths(pad_width, x.ndim)
    if any(here().env.decide(w, "<", 0) for pair in widths for w in pair):
        raise ValueError("index can't contain negative values")
    # NumPy stores an element of an array of it, even where there is no edge.
    element = np.asarray(value) if is_static_number(value) else asarray(value)
    value = wrap(here(), stored(element[()], x.dtype))
    if mode == "constant" or memory_order(x) is not None and _reach(x, widths, mode):
        return in_order_of(_stored(x, widths, mode, value, memory_order(x) or "C"), x)
    out = x
    for axis, (before, after) in enumerate(widths):
        if before != 0 or after != 0:
            out = _pad_axis(out, axis, before, after, mode)
    return in_order_of(out, x)


#: Mode -> how many of an axis of `n` elements an edge shows at most.
_MOST: dict[str, Callable[[Dim], Dim]] = {
    "reflect": lambda n: n - 1,
    "symmetric": lambda n: n,
    "wrap": lambda n: n,
}


_MODES = {"constant", "edge", "empty", *_MOST}


def _reach(x: TracedArray, widths: Sequence[tuple[Dim, Dim]], mode: str) -> bool:
    """Whether each edge is one slice of the array, or one value."""
    env = here().env
    for n, pair in zip(x.type.shape, widths, strict=True):
        most = _MOST[mode](n) if mode in _MOST else n
        for w in pair:
            known = env.is_known(w, n)
            if mode == "edge":
                fits = env.decide(0, "<", n) if known else env.proved(0, "<", n)
            elif mode in _MOST:
                fits = env.decide(w, "<=", most) if known else env.proved(w, "<=", most)
            else:
                return False
            if not fits:
                return False
    return True


def _stored(
    x: TracedArray, widths: Sequence[tuple[Dim, Dim]], mode: str, value: Any, order: str
) -> TracedArray:
    """A new array into which the elements are stored, and then the edges, axis by axis."""
    env = here().env
    shape = tuple(b + n + a for n, (b, a) in zip(x.type.shape, widths, strict=True))
    out = with_order(shape, value if mode == "constant" else 0, x.dtype, order)
    inner = [
        slice(unwrap(b, env), unwrap(b + n, env))
        for n, (b, _) in zip(x.type.shape, widths, strict=True)
    ]
    out[tuple(inner)] = x
    if mode == "constant":
        return out
    for axis, (n, (before, after)) in enumerate(zip(x.type.shape, widths, strict=True)):
        end = before + n

        def along(first: Dim, count: Dim, step: int = 1, axis: int = axis) -> Any:
            # Backwards from `first + count - 1`, for which `first - 1` is no stop where it is -1.
            key = slice(unwrap(first, env), unwrap(first + count, env))
            part = out[(*[slice(None)] * axis, key, *inner[axis + 1 :])]
            return part[(*[slice(None)] * axis, slice(None, None, step))]

        sources: dict[str, tuple[tuple[Dim, Dim, int], tuple[Dim, Dim, int]]] = {
            "edge": ((before, 1, 1), (end - 1, 1, 1)),
            "wrap": ((end - before, before, 1), (before, after, 1)),
            "reflect": ((before + 1, before, -1), (end - 1 - after, after, -1)),
            "symmetric": ((before, before, -1), (end - after, after, -1)),
        }
        left, right = sources[mode]
        if before != 0:
            along(0, before)[...] = along(*left)
        if after != 0:
            along(end, after)[...] = along(*right)
    return out


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a number can be stored as `dtype` without a warning or an error."""
    return dtype.kind == "c" or np.asarray(placeholder(value)).dtype.kind in "biuf"


def _pad_widths(pad_width: Any, ndim: int) -> list[tuple[Dim, Dim]]:
    given = (list, tuple, int, np.integer, SymInt)
    if isinstance(pad_width, bool) or not isinstance(pad_width, given):
        raise TraceError("TJ004", f"np.pad with a {type(pad_width).__name__}", user_line())
    if not isinstance(pad_width, (list, tuple)):
        w = as_dim(pad_width)
        return [(w, w)] * ndim
    rows = pad_width if any(isinstance(w, (list, tuple)) for w in pad_width) else [pad_width]
    sizes = {len(p) if isinstance(p, (list, tuple)) else 0 for p in rows}
    if len(rows) not in (1, ndim) or sizes not in ({1}, {2}):
        raise TraceError("TJ004", f"np.pad with widths of {len(rows)} axes", user_line())
    pairs = [[as_dim(w) for w in p] for p in rows]
    pairs = pairs * ndim if len(pairs) == 1 else pairs
    return [(p[0], p[-1]) for p in pairs]


def _pad_axis(x: TracedArray, axis: int, before: Dim, after: Dim, mode: str) -> TracedArray:
    n = x.type.shape[axis]
    env = here().env
    if env.decide(n, "==", 0):
        text = f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'"
        raise ValueError(text)
    place: Any = elementwise(np.subtract, (iota(before + n + after), unwrap(before, env)))
    if mode == "edge" or mode == "reflect" and env.decide(n, "==", 1):
        place = np.clip(place, 0, unwrap(n - 1, env))
    elif mode == "wrap":
        place = elementwise(np.remainder, (place, unwrap(n, env)))
    else:
        period = 2 * n if mode == "symmetric" else 2 * n - 2
        last = unwrap(2 * n - 1 if mode == "symmetric" else period, env)
        place = elementwise(np.remainder, (place, unwrap(period, env)))
        place = elementwise(np.minimum, (place, last - place))
    return asarray(x[(*[slice(None)] * axis, place)])

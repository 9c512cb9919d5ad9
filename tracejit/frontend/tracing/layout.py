"""Memory layout of traced arrays: whether NumPy's reshape of a view is a view or a copy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np

from tracejit.errors import GraphError
from tracejit.frontend.tracing.sizes import ShapeEnv
from tracejit.frontend.tracing.tracer import TracedArray, ViewStep
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import attr_sizes
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType
from tracejit.lazy_dataclass import dataclass
from tracejit.ops.array.elementwise import k_order

__all__ = [
    "Geometry",
    "axis_signs",
    "broadcast_order",
    "byte_strides",
    "copy_order",
    "is_c_contiguous",
    "is_packed",
    "is_view_after_reshape",
    "view_geometry",
]


class _Unknown(Exception):
    """The layout depends on a size that is known only at run time."""


#: Shape and strides, counted in elements.
Layout = tuple[tuple[Dim, ...], tuple[Dim, ...]]


@dataclass(frozen=True)
class Geometry:
    """Where the elements of a view lie: strides and an offset, counted in elements of `dtype`.

    `picks` are the lengths and the strides of axes along which a number known at run time moves it.
    """

    dtype: np.dtype[Any]
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    offset: Dim
    picks: tuple[tuple[Dim, Dim], ...]

    @property
    def sizes(self) -> frozenset[str]:
        """The size symbols it is made of."""
        return attr_sizes((self.shape, self.strides, self.offset, self.picks))


def view_geometry(x: TracedArray) -> Geometry | None:
    """Where the elements of `x` lie in its storage, which has the axis order of its value.

    None where no strides say that, or where they rest on what the trace has not decided.
    """
    env, t = x.trace.env, x.storage.value.type
    assert isinstance(t, ArrayType)
    own = x.storage.strides
    layout = _packed(t.shape, t.order) if own is None else (t.shape, own)
    offset: Dim = 0
    picks: list[tuple[Dim, Dim]] = []
    guards = len(env.guards)
    for view in x.views:
        steps = layout[1]
        if view.op in ("real", "imag"):
            offset = offset * 2 + int(view.op == "imag")
            picks = [(n, step * 2) for n, step in picks]
        elif view.op == "slice" or view.corner:
            start = view.corner or view.attrs["start"]
            offset = offset + _linear(start, steps)
        elif view.op == "gather" and not view.windows:
            if isinstance(view.indices[0].type, ArrayType):
                return None
            picks += zip(layout[0], steps[: len(view.indices)], strict=False)
        try:
            found = _through(layout, view, env)
        except _Unknown:
            return None
        if found is None:
            return None
        layout = found
    if len(env.guards) > guards:
        for guard in list(env.guards)[guards:]:
            del env.guards[guard]
        return None
    return Geometry(x.type.dtype, *layout, offset, tuple(picks))


def is_view_after_reshape(x: TracedArray, shape: Sequence[Dim]) -> bool | None:
    """Whether `x.reshape(shape)` shares memory with `x`; None where that is not known.

    Decisions about sizes and strides become guards.
    """
    try:
        layout = _layout(x)
        if layout is None:
            return None
        return _reshape_strides(*layout, tuple(shape), x.trace.env) is not None
    except _Unknown:
        return None


def is_c_contiguous(x: TracedArray) -> bool | None:
    """Whether the elements of `x` lie side by side in C order; None where that is not known."""
    try:
        layout = _layout(x)
        return None if layout is None else _is_dense(*layout, x.trace.env)
    except _Unknown:
        return None


def byte_strides(x: TracedArray) -> tuple[Dim, ...] | None:
    """The strides of `x` in bytes; None where they are not known."""
    try:
        layout = _layout(x)
    except _Unknown:
        return None
    return None if layout is None else tuple(s * x.itemsize for s in layout[1])


def is_packed(x: TracedArray) -> bool:
    """Whether memory without gaps in the axis order of the type has the strides of `x`.

    So it is said of arrays whose layout is not known, too.
    """
    shape, order = x.type.shape, x.type.order
    try:
        layout = _layout(x)
        if layout is None or any(_holds(x.trace.env, d, "==", 0) for d in shape):
            return True
        pairs = zip(shape, layout[1], _packed(shape, order)[1], strict=True)
        return all(have == want for d, have, want in pairs if d != 1)
    except _Unknown:
        return False


def _is_dense(shape: tuple[Dim, ...], strides: tuple[Dim, ...], env: ShapeEnv) -> bool:
    if strides == _dense_strides(shape):
        return True
    if any(_holds(env, d, "==", 0) for d in shape):
        return True
    step: Dim = 1
    for d, stride in zip(reversed(shape), reversed(strides), strict=True):
        if _holds(env, d, "==", 1):
            continue
        if not _holds(env, stride, "==", step):
            return False
        step = step * d
    return True


def _holds(env: ShapeEnv, a: Dim, relation: str, b: Dim) -> bool:
    """What `env` decides. Raises _Unknown where only the run can."""
    if env.proved(a, relation, b) is None and not env.is_known(a, b):
        raise _Unknown
    return env.decide(a, relation, b)


def broadcast_order(
    operands: Sequence[TracedArray], ndim: int, own: Sequence[int] = ()
) -> tuple[int, ...] | None:
    """The axis order of NumPy's result of a function of elements; None where it is not known.

    An axis along which an operand is repeated has no say, nor have the last axes of each operand,
    as many as `own` says.
    """
    types = []
    for k, x in enumerate(operands):
        t = _ordered_type(x)
        if t is None:
            return None
        if own:
            count = t.ndim - own[k]
            t = ArrayType(t.dtype, t.shape[:count], tuple(a for a in t.order if a < count))
        lead = ndim - t.ndim
        order = (*range(lead), *(lead + a for a in t.order))
        types.append(ArrayType(t.dtype, (1,) * lead + t.shape, order))
    return k_order(types) if types else tuple(range(ndim))


def copy_order(x: TracedArray) -> tuple[int, ...] | None:
    """The axis order of NumPy's copy of an array; None where it is not known.

    An axis along which elements are repeated has a stride of 0: it lies inside all others.
    """
    order = broadcast_order([x], x.ndim)
    if order is None:
        return None
    pairs = enumerate(zip(x.type.shape, _strides(x), strict=True))
    repeated = {a for a, (d, stride) in pairs if d != 1 and stride == 0}
    return (*(a for a in order if a not in repeated), *sorted(repeated))


def axis_signs(x: TracedArray) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Which way each axis runs in memory, and the axes from the outermost one.

    "+" or "-" is the sign of the stride, "0" an axis of repeated elements, "1" an axis of size 1.
    Signs of the strides of arguments become guards; memory whose layout is not known runs forward.
    """
    t, env = x.type, x.trace.env
    ordered = _ordered_type(x)
    order = tuple(range(t.ndim)) if ordered is None else ordered.order
    signs = []
    for d, stride in zip(t.shape, _strides(x), strict=True):
        if d == 1:
            signs.append("1")
        elif stride == 0:
            signs.append("0")
        else:
            backwards = env.is_known(stride) and env.decide(stride, "<", 0)
            signs.append("-" if backwards else "+")
    return tuple(signs), order


def _strides(x: TracedArray) -> tuple[Dim, ...]:
    """The strides, or numbers with their signs where memory is not known: that runs forward."""
    try:
        layout = _layout(x)
    except _Unknown:
        layout = None
    return (_signs_of_views(x) if layout is None else layout)[1]


def _signs_of_views(x: TracedArray) -> Layout:
    """A layout with the signs of the strides, of memory that is taken to run forward."""
    t = x.storage.value.type
    assert isinstance(t, ArrayType)
    own = (1,) * t.ndim if x.storage.strides is None else x.storage.strides
    layout: Layout = t.shape, tuple(0 if stride == 0 else 1 for stride in own)
    for view in x.views:
        following = None if view.op == "reshape" else _through(layout, view, x.trace.env)
        if following is None:
            shape = tuple(view.attrs["shape"])
            following = shape, (1,) * len(shape)
        layout = following
    return layout


def _ordered_type(x: TracedArray) -> ArrayType | None:
    """The type of `x` in NumPy's axis order, repeated axes as of size 1."""
    t = x.type
    if t.ndim < 2:
        return t
    if x.storage.order is None:
        return None
    shape: tuple[Dim, ...] = x.storage.value.type.shape  # type: ignore[union-attr]
    if x.storage.strides is not None:
        pairs = zip(shape, x.storage.strides, strict=True)
        shape = tuple(1 if stride == 0 else d for d, stride in pairs)
    kind = ArrayType(t.dtype, shape, x.storage.order)
    for view in x.views:
        if view.op in ("real", "imag"):
            continue
        if view.op == "broadcast_to":
            # Repeated axes stay repeated in every view of the view that keeps the axes apart.
            lead = len(view.attrs["shape"]) - kind.ndim
            order = (*range(lead), *(lead + a for a in kind.order))
            kind = ArrayType(t.dtype, (1,) * lead + kind.shape, order)
        elif view.op == "slice":
            sizes = zip(kind.shape, view.attrs["size"], strict=True)
            kind = ArrayType(t.dtype, tuple(1 if d == 1 else n for d, n in sizes), kind.order)
        elif view.op == "gather":
            kind = _gathered(kind, view)
        else:
            try:
                (kind,) = OPS[view.op].infer((kind,), view.attrs, (), ())  # type: ignore[assignment]
            except GraphError:
                return None
    return kind


def _gathered(t: ArrayType, view: ViewStep) -> ArrayType:
    """The type of a view at numbers, or along a diagonal of the first axes, which steps further
    than either of them: it lies where the outer one does.
    """
    count = len(view.indices)
    index = view.indices[0].type
    if not isinstance(index, ArrayType):
        kept = tuple(a - count for a in t.order if a >= count)
        return ArrayType(t.dtype, t.shape[count:], kept)
    outer = next(a for a in t.order if a < count)
    kept = tuple(0 if a == outer else a - count + 1 for a in t.order if a == outer or a >= count)
    return ArrayType(t.dtype, (*index.shape, *t.shape[count:]), kept)


def _layout(x: TracedArray) -> Layout | None:
    storage = x.storage
    t = storage.value.type
    assert isinstance(t, ArrayType)
    layout: Layout | None
    if storage.strides is not None:
        layout = t.shape, storage.strides
    elif storage.order is not None and storage.source is None:
        layout = _packed(t.shape, storage.order)
    else:
        return None
    for view in x.views:
        if layout is not None:
            layout = _through(layout, view, x.trace.env)
    return layout


def _packed(shape: tuple[Dim, ...], order: tuple[int, ...]) -> Layout:
    strides: list[Dim] = [0] * len(shape)
    step: Dim = 1
    for axis in reversed(order):
        strides[axis] = step
        step = step * shape[axis]
    return shape, tuple(strides)


def _through(layout: Layout, view: ViewStep, env: ShapeEnv) -> Layout | None:
    """The layout of a view of memory with `layout`."""
    shape, strides = layout
    if view.op == "slice":
        steps = view.attrs["step"]
        return view.attrs["size"], tuple(s * k for s, k in zip(strides, steps, strict=True))
    if view.op == "transpose":
        axes = view.attrs["axes"]
        return tuple(shape[a] for a in axes), tuple(strides[a] for a in axes)
    if view.op == "broadcast_to":
        new = tuple(view.attrs["shape"])
        lead = len(new) - len(shape)
        kept = (s if d == n else 0 for s, d, n in zip(strides, shape, new[lead:], strict=True))
        return new, (*(0,) * lead, *kept)
    if view.op in ("real", "imag"):
        return shape, tuple(s * 2 for s in strides)
    if view.op == "gather":
        count = len(view.indices)
        index = view.indices[0].type
        if not isinstance(index, ArrayType):
            return shape[count:], strides[count:]
        if view.windows:
            seen = [(s, s) if w else (s,) for s, w in zip(strides, view.windows, strict=False)]
            return (*index.shape, *shape[count:]), (*chain(*seen), *strides[count:])
        # The index arrays of a view step along a diagonal.
        step: Dim = 0
        for s in strides[:count]:
            step = step + s
        return (*index.shape, *shape[count:]), (step, *strides[count:])
    if view.op == "reshape":
        new = tuple(view.attrs["shape"])
        found = _reshape_strides(shape, strides, new, env)
        return None if found is None else (new, found)
    return None


def _linear(index: Sequence[Dim], strides: Sequence[Dim]) -> Dim:
    """How far from the first element an element lies."""
    out: Dim = 0
    for i, step in zip(index, strides, strict=False):
        out = out + i * step
    return out


def _dense_strides(shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The element strides of an array in C order without gaps."""
    return tuple(prod(shape[k + 1 :]) for k in range(len(shape)))


def _reshape_strides(
    shape: tuple[Dim, ...], strides: tuple[Dim, ...], new: tuple[Dim, ...], env: ShapeEnv
) -> tuple[Dim, ...] | None:
    """The strides that address the same elements in C order under `new`, or None where none do.

    Runs of old and new axes with equal products are matched; each run of old axes must be evenly
    spaced as one axis.
    """
    if strides == _dense_strides(shape):
        return _dense_strides(new)
    wide = [(d, s) for d, s in zip(shape, strides, strict=True) if d != 1]
    if [d for d, _ in wide] == [d for d in new if d != 1]:
        return _with_axes(new, [s for _, s in wide])
    if any(_holds(env, d, "==", 0) for d in shape):
        return (0,) * len(new)
    old = [(d, s) for d, s in zip(shape, strides, strict=True) if not _holds(env, d, "==", 1)]
    out: list[Dim] = [0] * len(new)
    i = j = 0
    while i < len(old) and j < len(new):
        old_end, new_end = i + 1, j + 1
        old_size, new_size = old[i][0], new[j]
        while not _holds(env, old_size, "==", new_size):
            if _holds(env, new_size, "<", old_size):
                if new_end == len(new):
                    return None
                new_size = new_size * new[new_end]
                new_end += 1
            else:
                if old_end == len(old):
                    return None
                old_size = old_size * old[old_end][0]
                old_end += 1
        for k in range(i, old_end - 1):
            if not _holds(env, old[k][1], "==", old[k + 1][0] * old[k + 1][1]):
                return None
        step = old[old_end - 1][1]
        for k in reversed(range(j, new_end)):
            out[k] = step
            step = step * new[k]
        i, j = old_end, new_end
    return tuple(out)


def _with_axes(shape: tuple[Dim, ...], strides: list[Dim]) -> tuple[Dim, ...]:
    """The strides of axes, which those of one element do not have; NumPy gives them some, too."""
    out: list[Dim] = []
    step: Dim = 1
    for d in reversed(shape):
        out.append(step if d == 1 else strides.pop())
        step = out[-1] * d
    return tuple(reversed(out))

"""Memory layout of traced arrays: whether NumPy's reshape of a view is a view or a copy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain, pairwise
from operator import itemgetter

from tracejit.frontend.tracing.sizes import ShapeEnv
from tracejit.frontend.tracing.tracer import TracedArray, ViewStep
from tracejit.ir.dims import Dim, prod
from tracejit.ir.types import ArrayType, shape_of
from tracejit.ops.array.axis_orders import element_strides, iterator_order, join_order

__all__ = [
    "Layout",
    "Unknown",
    "axis_ranks",
    "axis_signs",
    "broadcast_order",
    "byte_strides",
    "dense_strides",
    "has_other_strides",
    "is_c_contiguous",
    "is_packed",
    "is_view_after_reshape",
    "joint_order",
    "packed",
    "through",
    "walks_as",
]


class Unknown(Exception):
    """The layout depends on a size that is known only at run time."""


#: Axes of an array and those of its view that step through the same elements.
_Run = tuple[Sequence[int], Sequence[int]]
#: Shape and strides, counted in elements.
Layout = tuple[tuple[Dim, ...], tuple[Dim, ...]]


def is_view_after_reshape(x: TracedArray, shape: Sequence[Dim]) -> bool | None:
    """Whether `x.reshape(shape)` shares memory with `x`; None where that is not known.

    Decisions about sizes and strides become guards.
    """
    try:
        layout = _layout(x)
        if layout is None:
            return None
        return _reshape_strides(*layout, tuple(shape), x.trace.env) is not None
    except Unknown:
        return None


def is_c_contiguous(x: TracedArray) -> bool | None:
    """Whether the elements of `x` lie side by side in C order; None where that is not known."""
    try:
        layout = _layout(x)
        return None if layout is None else _is_dense(*layout, x.trace.env)
    except Unknown:
        return None


def has_other_strides(x: TracedArray) -> bool:
    """Whether strides certainly differ from those of C order, along an axis longer than 1."""
    try:
        layout = _layout(x)
    except Unknown:
        return False
    if layout is None:
        return False
    triples = zip(*layout, dense_strides(layout[0]), strict=True)
    return any(d != 1 and x.trace.env.proved(s, "==", own) is False for d, s, own in triples)


def byte_strides(x: TracedArray) -> tuple[Dim, ...] | None:
    """The strides of `x` in bytes; None where they are not known."""
    try:
        layout = _layout(x)
    except Unknown:
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
        pairs = zip(shape, layout[1], packed(shape, order)[1], strict=True)
        return all(have == want for d, have, want in pairs if d != 1)
    except Unknown:
        return False


def _is_dense(shape: tuple[Dim, ...], strides: tuple[Dim, ...], env: ShapeEnv) -> bool:
    if walks_as(shape, strides, dense_strides(shape)):
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
    """What `env` decides. Raises Unknown where only the run can."""
    if env.proved(a, relation, b) is None and not env.is_known(a, b):
        raise Unknown
    return env.decide(a, relation, b)


def broadcast_order(
    operands: Sequence[TracedArray], ndim: int, own: Sequence[int] = ()
) -> tuple[int, ...] | None:
    """The axis order of NumPy's result of a function of elements; None where it is not known.

    An axis along which an operand is repeated has no say, nor have the last axes of each operand,
    as many as `own` says.
    """
    known = []
    for k, x in enumerate(operands):
        ranks = axis_ranks(x)
        if ranks is None:
            return None
        ranks = ranks[: len(ranks) - own[k]] if own else ranks
        known.append([0] * (ndim - len(ranks)) + ranks)
    return iterator_order(known) if known else tuple(range(ndim))


def joint_order(*arrays: TracedArray) -> tuple[int, ...] | None:
    """The axis order of NumPy's array of arrays that are joined; None where it is not known.

    An axis along which elements are repeated has a stride of 0: it lies inside all others. Axes of
    one element have no say.
    """
    known = []
    for x in arrays:
        ranks = axis_ranks(x)
        if ranks is None:
            return None
        pairs = zip(x.type.shape, ranks, strict=True)
        known.append([None if d == 1 else rank for d, rank in pairs])
    return join_order(known)


def axis_ranks(x: TracedArray) -> list[int] | None:
    """Numbers that compare as the strides of `x`: 0 for repeated axes and those of size 1.

    None where the layout is not known.
    """
    t = _ordered_type(x)
    if t is None:
        return None
    ranks = element_strides(t)
    if x.storage.strides is not None or any(view.windows for view in x.views):
        try:
            layout = _layout(x)
        except Unknown:
            return None
        # Elements overlap where two axes step equally far.
        steps = ranks if layout is None else layout[1]
        known = [s for s in steps if isinstance(s, int)]
        if len(known) == len(ranks):
            return [abs(s) if d != 1 else 0 for s, d in zip(known, x.type.shape, strict=True)]
        largest = {s: r for r, s in sorted(zip(ranks, steps, strict=True), key=itemgetter(0))}
        ranks = [largest[s] if r else 0 for r, s in zip(ranks, steps, strict=True)]
    return ranks


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
    except Unknown:
        layout = None
    return (_signs_of_views(x) if layout is None else layout)[1]


def _signs_of_views(x: TracedArray) -> Layout:
    """A layout with the signs of the strides, of memory that is taken to run forward."""
    t = x.storage.value.type
    assert isinstance(t, ArrayType)
    own = (1,) * t.ndim if x.storage.strides is None else x.storage.strides
    layout: Layout = t.shape, tuple(0 if stride == 0 else 1 for stride in own)
    for view in x.views:
        following = None if view.op == "reshape" else through(layout, view, x.trace.env)
        if following is None:
            shape = tuple(view.attrs["shape"])
            following = shape, (1,) * len(shape)
        layout = following
    return layout


def _ordered_type(x: TracedArray) -> ArrayType | None:
    """The type of `x` in NumPy's axis order, repeated axes as of size 1: the strides are 0 there.

    So are all strides of new memory of no elements.
    """
    t = x.type
    if t.ndim < 2:
        return t
    if x.storage.order is None:
        return None
    dims: tuple[Dim, ...] = x.storage.value.type.shape  # type: ignore[union-attr]
    shape = dims
    if x.storage.strides is not None:
        pairs = zip(dims, x.storage.strides, strict=True)
        shape = tuple(1 if stride == 0 else d for d, stride in pairs)
    elif 0 in dims:
        shape = (1,) * len(dims)
    kind = ArrayType(t.dtype, shape, x.storage.order)
    for view in x.views:
        if view.op in ("real", "imag"):
            continue
        if view.op == "broadcast_to":
            # Repeated axes stay repeated in every view of the view that keeps the axes apart.
            dims = tuple(view.attrs["shape"])
            lead = len(dims) - kind.ndim
            order = (*range(lead), *(lead + a for a in kind.order))
            kind = ArrayType(t.dtype, (1,) * lead + kind.shape, order)
        elif view.op == "slice":
            dims = tuple(view.attrs["size"])
            pairs = zip(kind.shape, dims, strict=True)
            kind = ArrayType(t.dtype, tuple(1 if d == 1 else n for d, n in pairs), kind.order)
        elif view.op == "gather":
            kind = _gathered(kind, view)
            dims = (*shape_of(view.indices[0].type), *dims[len(view.indices) :])
        elif view.op == "transpose":
            axes = view.attrs["axes"]
            dims = tuple(dims[a] for a in axes)
            order = tuple(axes.index(a) for a in kind.order)
            kind = ArrayType(t.dtype, tuple(kind.shape[a] for a in axes), order)
        else:
            new = tuple(view.attrs["shape"])
            try:
                found = _reshaped(kind, dims, new, x.trace.env)
            except Unknown:
                found = None
            if found is None:
                return None
            kind, dims = found, new
    return kind


def _reshaped(
    t: ArrayType, dims: tuple[Dim, ...], new: tuple[Dim, ...], env: ShapeEnv
) -> ArrayType | None:
    """The type of a view in another shape of an array of sizes `dims`; None where it has none.

    The axes that others become lie in C order where these lie.
    """
    if t.is_c and t.shape == dims:
        return ArrayType(t.dtype, new)
    wide, axes = ([a for a, d in enumerate(shape) if d != 1] for shape in (dims, new))
    runs: list[_Run] | None = [([a], [b]) for a, b in zip(wide, axes, strict=False)]
    if [dims[a] for a in wide] != [new[a] for a in axes]:
        runs = _runs(dims, new, env)
    if runs is None:
        return None
    shape: list[Dim] = [1] * len(new)
    for old, made in runs:
        if any(t.shape[a] != 1 for a in old):
            for a in made:
                shape[a] = new[a]
    runs.sort(key=lambda run: t.order.index(run[0][-1]))
    order = [*chain.from_iterable(made for _, made in runs)]
    ones = [a for a in range(len(new)) if a not in order]
    return ArrayType(t.dtype, tuple(shape), (*ones, *order))


def _gathered(t: ArrayType, view: ViewStep) -> ArrayType:
    """The type of a view at numbers, of windows that slide along the first axes, or along a
    diagonal of these, which steps further than either of them: it lies where the outer one does.
    """
    count = len(view.indices)
    index = view.indices[0].type
    if not isinstance(index, ArrayType):
        kept = tuple(a - count for a in t.order if a >= count)
        return ArrayType(t.dtype, t.shape[count:], kept)
    if view.windows:
        made = [*accumulate((2 if w else 1 for w in view.windows), initial=0)]
        parts = [range(*ends) for ends in pairwise(made)]
        parts += [range(a, a + 1) for a in range(made[-1], made[-1] + t.ndim - count)]
        sizes = [*index.shape, *t.shape[count:]]
        for d, part in zip(t.shape, parts, strict=True):
            for a in part:
                sizes[a] = 1 if d == 1 else sizes[a]
        return ArrayType(t.dtype, tuple(sizes), (*chain.from_iterable(parts[a] for a in t.order),))
    wide = [a for a in t.order if a < count and t.shape[a] != 1]
    outer = wide[0] if wide else 0
    kept = tuple(0 if a == outer else a - count + 1 for a in t.order if a == outer or a >= count)
    return ArrayType(t.dtype, (*(index.shape if wide else (1,)), *t.shape[count:]), kept)


def _layout(x: TracedArray) -> Layout | None:
    storage = x.storage
    t = storage.value.type
    assert isinstance(t, ArrayType)
    layout: Layout | None
    if storage.strides is not None:
        layout = t.shape, storage.strides
    elif storage.order is not None and storage.source is None:
        layout = packed(t.shape, storage.order)
    else:
        return None
    for view in x.views:
        if layout is not None:
            layout = through(layout, view, x.trace.env)
    return layout


def packed(shape: tuple[Dim, ...], order: tuple[int, ...]) -> Layout:
    """The layout of new memory; that of no elements has strides of 0."""
    strides: list[Dim] = [0] * len(shape)
    step: Dim = 1
    for axis in reversed(order if 0 not in shape else ()):
        strides[axis] = step
        step = step * shape[axis]
    return shape, tuple(strides)


def through(layout: Layout, view: ViewStep, env: ShapeEnv) -> Layout | None:
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
        own = (
            0 if d == 1 or d != n else s for s, d, n in zip(strides, shape, new[lead:], strict=True)
        )
        return new, (*(0,) * lead, *own)
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
    if view.kept is not None:
        new = tuple(view.attrs["shape"])
        return new, tuple(0 if k is None else strides[k] for k in view.kept)
    if view.op == "reshape":
        new = tuple(view.attrs["shape"])
        found = _reshape_strides(shape, strides, new, env)
        return None if found is None else (new, found)
    return None


def dense_strides(shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The element strides of an array in C order without gaps; no elements count as one."""
    return tuple(prod([d if d != 0 else 1 for d in shape[k + 1 :]]) for k in range(len(shape)))


def _reshape_strides(
    shape: tuple[Dim, ...], strides: tuple[Dim, ...], new: tuple[Dim, ...], env: ShapeEnv
) -> tuple[Dim, ...] | None:
    """The strides that address the same elements in C order under `new`, or None where none do.

    Runs of old and new axes with equal products are matched; each run of old axes must be evenly
    spaced as one axis.
    """
    if shape == new:
        return strides
    wide = [(d, s) for d, s in zip(shape, strides, strict=True) if d != 1]
    if not wide or walks_as(shape, strides, dense_strides(shape)):
        return dense_strides(new)
    if [d for d, _ in wide] == [d for d in new if d != 1]:
        return _with_axes(new, [s for _, s in wide])
    if any(_holds(env, d, "==", 0) for d in shape):
        return dense_strides(new)
    runs = _runs(shape, new, env)
    if runs is None:
        return None
    # Axes of size 1 behind all others step as the last of these.
    out: list[Dim] = [strides[runs[-1][0][-1]]] * len(new)
    for old, axes in runs:
        for a, b in pairwise(old):
            if not _holds(env, strides[a], "==", shape[b] * strides[b]):
                return None
        step = strides[old[-1]]
        for k in reversed(axes):
            out[k] = step
            step = step * new[k]
    return tuple(out)


def walks_as(shape: tuple[Dim, ...], a: tuple[Dim, ...], b: tuple[Dim, ...]) -> bool:
    """Whether strides are the same along all axes along which anything moves."""
    return 0 in shape or all(d == 1 or s == t for d, s, t in zip(shape, a, b, strict=True))


def _runs(shape: tuple[Dim, ...], new: tuple[Dim, ...], env: ShapeEnv) -> list[_Run] | None:
    """Runs of old and new axes of equal products, None where there are no such."""
    old = [a for a, d in enumerate(shape) if not _holds(env, d, "==", 1)]
    runs: list[_Run] = []
    i = j = 0
    while i < len(old) and j < len(new):
        old_end, new_end = i + 1, j + 1
        old_size, new_size = shape[old[i]], new[j]
        while not _holds(env, old_size, "==", new_size):
            if _holds(env, new_size, "<", old_size):
                if new_end == len(new):
                    return None
                new_size = new_size * new[new_end]
                new_end += 1
            else:
                if old_end == len(old):
                    return None
                old_size = old_size * shape[old[old_end]]
                old_end += 1
        runs.append((old[i:old_end], range(j, new_end)))
        i, j = old_end, new_end
    return runs


def _with_axes(shape: tuple[Dim, ...], strides: list[Dim]) -> tuple[Dim, ...]:
    """The strides of axes, from those of axes of other sizes than 1: the others step over what is
    behind them, or as the last of these.
    """
    out: list[Dim] = []
    step = strides[-1]
    for d in reversed(shape):
        out.append(step if d == 1 else strides.pop())
        step = out[-1] * d
    return tuple(reversed(out))

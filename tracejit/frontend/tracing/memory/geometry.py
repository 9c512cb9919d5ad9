"""Where elements of views lie: offsets, and the strides that NumPy notes of all their axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.frontend.tracing.memory.layout import (
    Layout,
    Unknown,
    dense_strides,
    is_c_contiguous,
    joint_order,
    packed,
    through,
    walks_as,
)
from tracejit.frontend.tracing.sizes import ShapeEnv
from tracejit.frontend.tracing.tracer import TracedArray, ViewStep
from tracejit.ir.dims import Dim, prod, substitute, symbol
from tracejit.ir.graph import Value, attr_sizes
from tracejit.ir.types import ArrayType, dtype_of

__all__ = [
    "Geometry",
    "base_axis",
    "runs_in_fortran_order",
    "stride_order",
    "strides_of_copy",
    "view_geometry",
]


@dataclass(frozen=True)
class Geometry:
    """Where the elements of a view lie: strides and an offset, counted in elements of `dtype`.

    Strides are those that NumPy notes, also of axes of one element or none, which may be those that
    an argument is given with: symbols that `base_stride` names. `picks` are the lengths and the
    strides of axes along which a number known at run time moves it.
    """

    dtype: np.dtype[Any]
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    offset: Dim
    picks: tuple[tuple[Dim, Dim], ...]

    @property
    def sizes(self) -> frozenset[str]:
        """The size symbols it is made of."""
        found = attr_sizes((self.shape, self.strides, self.offset, self.picks))
        return frozenset(name for name in found if base_axis(name) is None)


_BASE_STRIDE = "base_stride_"


def base_stride(axis: int) -> str:
    """Names the stride, in elements, of an axis of the array that a view is made of."""
    return f"{_BASE_STRIDE}{axis}"


def base_axis(name: str) -> int | None:
    """The axis whose stride a symbol is; None for another symbol."""
    return int(name.removeprefix(_BASE_STRIDE)) if name.startswith(_BASE_STRIDE) else None


def view_geometry(x: TracedArray) -> Geometry | None:
    """Where the elements of `x` lie in its storage, which has the axis order of its value.

    None where no strides say that, or where they rest on what the trace has not decided.
    """
    env, t = x.trace.env, x.storage.value.type
    assert isinstance(t, ArrayType)
    own = x.storage.strides
    layout = packed(t.shape, t.order) if own is None else (t.shape, own)
    noted = layout[1] if own is not None else _noted_at_first(layout, x.storage.input, env)
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
            found = through(layout, view, env)
        except Unknown:
            return None
        if found is None:
            return None
        noted = _noted(noted, layout, found, view, env)
        layout = found
    if len(env.guards) > guards:
        for guard in list(env.guards)[guards:]:
            del env.guards[guard]
        return None
    return Geometry(x.type.dtype, layout[0], noted, offset, tuple(picks))


def strides_of_copy(x: TracedArray) -> tuple[tuple[int, Dim], ...]:
    """Axes with the strides that NumPy notes of a view of new memory, counted in elements, where
    memory of its own, laid out as the type says, may have others: where no element is reached by
    them, as an axis has one element or another one none.

    Empty where these are not known as the program begins.
    """
    t, env = x.type, x.trace.env
    several = [env.proved(2, "<=", d) is True for d in t.shape]
    if not x.views or x.storage.order is None or all(several):
        return ()
    found = view_geometry(x)
    if found is None or not env.is_known(*found.strides):
        return ()
    is_new = [s != own for s, own in zip(found.strides, packed(t.shape, t.order)[1], strict=True)]
    filled = all(env.proved(1, "<=", d) for d in t.shape)
    return tuple(
        (k, s)
        for k, s in enumerate(found.strides)
        if not filled or not several[k] and (is_new[k] or t.shape[k] != 1)
    )


def _noted_at_first(layout: Layout, argument: int | None, env: ShapeEnv) -> tuple[Dim, ...]:
    """The strides that NumPy notes of packed memory: 0 for new memory of no elements. What they are
    along axes of one element or none is the caller's choice in an argument.
    """
    shape, strides = layout
    if argument is not None and argument >= 0:
        free = [0 in shape or d == 1 for d in shape]
        pairs = enumerate(zip(strides, free, strict=True))
        return tuple(symbol(base_stride(k)) if own else s for k, (s, own) in pairs)
    size = prod(shape)
    if env.proved(1, "<=", size):
        return strides
    return tuple(s * env.minimum(size, 1) for s in strides)


def _noted(
    strides: tuple[Dim, ...], layout: Layout, following: Layout, view: ViewStep, env: ShapeEnv
) -> tuple[Dim, ...]:
    """The strides that NumPy notes of a view with the layout `following` of an array for which it
    has noted `strides`: they differ where an axis turns out to have no elements.
    """
    shape, new = layout[0], following[0]
    if view.op == "slice":
        # A slice of no elements has a step of 1.
        steps = [
            k if k == 1 or env.proved(1, "<=", n) else (k - 1) * env.minimum(n, 1) + 1
            for k, n in zip(view.attrs["step"], new, strict=True)
        ]
        return tuple(s * k for s, k in zip(strides, steps, strict=True))
    if view.op == "broadcast_to":
        # An axis that turns out to have one element is repeated, too.
        strides = tuple(s * _is_several(d, env) for s, d in zip(strides, shape, strict=True))
    if view.op != "reshape" or view.kept is not None:
        found = through((shape, strides), view, env)
        assert found is not None
        return found[1]
    if shape == new:
        return strides
    if walks_as(*layout, dense_strides(shape)):
        return dense_strides(tuple(env.maximum(d, 1) for d in new))
    return following[1]


def _is_several(d: Dim, env: ShapeEnv) -> Dim:
    """0 for one element, 1 for any other number."""
    if env.proved(d, "!=", 1):
        return 1
    return 1 - env.minimum(d, 1) + env.minimum(env.maximum(d - 1, 0), 1)


def stride_order(x: TracedArray) -> tuple[int, ...] | None:
    """The axes from that of the largest stride to that of the smallest; None where these are not
    known. An argument's strides along axes of one element are taken to be those of packed memory.
    """
    order, ones = joint_order(x), [k for k, d in enumerate(x.type.shape) if d == 1]
    found = view_geometry(x) if order is not None and ones and x.ndim > 1 else None
    if order is None or found is None:
        return order
    env, kind = x.trace.env, x.storage.value.type
    assert isinstance(kind, ArrayType)
    usual = {base_stride(k): s for k, s in enumerate(packed(kind.shape, kind.order)[1])}
    strides = [substitute(s, usual) for s in found.strides]
    if not env.is_known(*strides):
        return order
    steps = [s if env.decide(0, "<=", s) else -s for s in strides]
    placed = [k for k in order if k not in ones]
    for k in ones:
        ahead = [
            env.decide(steps[k], "<", steps[a]) or (a < k and env.decide(steps[k], "<=", steps[a]))
            for a in placed
        ]
        placed.insert(ahead.index(False) if False in ahead else len(placed), k)
    return tuple(placed)


def runs_in_fortran_order(
    arrays: Sequence[TracedArray], values: Sequence[Value], shape: tuple[Dim, ...]
) -> bool:
    """Whether NumPy's ufunc runs as one loop over arrays in Fortran order, cast to nothing.

    Its result is in that order, too, while the iterator has places of its own for axes of one
    element.
    """
    kinds = [dtype_of(v.type) for v in values]
    several = [x for x in arrays if x.ndim]
    if not several or any(x.type.shape != shape or x.dtype not in kinds for x in several):
        return False
    back = tuple(reversed(range(len(shape))))
    in_c = [is_c_contiguous(x) for x in several]
    return False in in_c and all(
        c is not None and is_c_contiguous(x.view("transpose", axes=back))
        for c, x in zip(in_c, several, strict=True)
    )


def _linear(index: Sequence[Dim], strides: Sequence[Dim]) -> Dim:
    """How far from the first element an element lies."""
    out: Dim = 0
    for i, step in zip(index, strides, strict=False):
        out = out + i * step
    return out

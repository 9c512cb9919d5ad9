"""Where the elements of views lie: an offset and strides into the memory of their array.

    v1 = slice(x, start=(i, 0), size=(1, n), step=(1, 2))     x at i * stride, strides (stride, 2)

What no strides describe, a reshape of an array with gaps, is copied where it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tracejit.codegen.lowering.index_maps import dense_strides, linear
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.copies import copy_array
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType, c_order
from tracejit.ops.array.shape import Reshape, Slice, Transpose
from tracejit.passes.fusion.views import keeps_axes

__all__ = ["copied", "dense", "name_view", "strides_of"]


def _array(v: Value) -> ArrayType:
    assert isinstance(v.type, ArrayType)
    return v.type


def strides_of(e: ProgramContext, v: Value) -> tuple[Dim, ...] | None:
    """The element strides of an array; None where none describe it."""
    return None if v in e.scattered else e.strides.get(v) or dense_strides(_array(v))


def name_view(e: ProgramContext, node: Node, out: Value) -> None:
    """Note where another name of memory, a view perhaps, has its elements."""
    v, op, attrs = node.inputs[0], node.op, node.attrs
    offset, strides = e.offsets.get(v, 0), e.strides.get(v)
    if isinstance(op, Transpose):
        if v in e.scattered:
            e.scattered[out] = e.scattered[v]
        strides = None if strides is None else tuple(strides[a] for a in attrs["axes"])
    elif isinstance(op, Slice):
        steps = dense_strides(_array(v)) if strides is None else strides
        offset = offset + linear(attrs["start"], steps)
        strides = tuple(s * step for s, step in zip(steps, attrs["step"], strict=True))
    elif isinstance(op, Reshape) and strides is not None:
        if keeps_axes(node):
            strides = _with_axes(_array(v).shape, strides, _array(out).shape)
        else:
            e.scattered[out] = v
            offset = 0
            strides = None
    if isinstance(op, (Slice, Reshape)) or v in e.offsets:
        e.offsets[out] = offset
    if strides is not None and not _is_dense(_array(out), strides):
        e.strides[out] = strides


def _is_dense(t: ArrayType, strides: tuple[Dim, ...]) -> bool:
    """Whether elements lie as those of a dense array do."""
    both = zip(t.shape, strides, dense_strides(t), strict=True)
    return all(n == 1 or stride == dense for n, stride, dense in both)


def _with_axes(
    shape: tuple[Dim, ...], strides: Sequence[Dim], wanted: tuple[Dim, ...]
) -> tuple[Dim, ...]:
    """Strides after axes of one element, along which nothing moves, are added or dropped."""
    wide = iter([s for n, s in zip(shape, strides, strict=True) if n != 1])
    return tuple(1 if n == 1 else next(wide) for n in wanted)


@contextmanager
def dense(e: ProgramContext, v: Value) -> Iterator[str]:
    """An operand in C order, a copy for as long as the block where it lies otherwise."""
    if v in e.scattered or v in e.strides or not _array(v).is_c:
        with copied(e, v) as block:
            yield block
        return
    yield e.pointer[v]


@contextmanager
def copied(e: ProgramContext, v: Value) -> Iterator[str]:
    """A dense copy of a view, for as long as the block: in C order, and in its own if scattered."""
    fb, source, t = e.fb, e.scattered.get(v, v), _array(v)
    place = e.place()
    block = e.allocate(place, fb.integer("add", e.dim(t.size * t.dtype.itemsize), "1"))
    copy_array(e, source, block, c_order(_array(source).ndim))
    yield block
    e.release(place, block)

"""Copies of whole arrays in a program under emission: one, or several as if at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.analysis.buffer_plan import byte_count
from tracejit.codegen.lowering.fusion import lower_fusion
from tracejit.codegen.program.context import ProgramContext
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType

__all__ = ["Transfer", "copy_array", "copy_elements", "transfer_all"]


@dataclass(frozen=True)
class Transfer:
    """All elements of `source` to other memory. `place` stands for that memory: two transfers
    with the place of one the `origin` of the other must not be done in any order.
    """

    source: Value
    pointer: str
    strides: tuple[Dim, ...] | None
    origin: object
    place: object
    #: Where the elements go; asked once those of every transfer that it could spoil are safe.
    target: Callable[[], str]
    target_strides: tuple[Dim, ...] | None = None
    #: Whether both may be the same memory.
    perhaps_same: bool = False


def copy_elements(
    e: ProgramContext,
    v: Value,
    source: str,
    target: str,
    strides: tuple[Dim, ...] | None = None,
    target_strides: tuple[Dim, ...] | None = None,
    order: tuple[int, ...] | None = None,
) -> None:
    """Copy an array like `v`; what has no strides is dense, the target with axes in `order`."""
    t = v.type
    assert isinstance(t, ArrayType)
    order = t.order if order is None else order
    if strides is None and target_strides is None and order == t.order:
        e.copy_bytes(target, source, e.dim(byte_count(v)))
        return
    builder = GraphBuilder("copy")
    x = builder.input(t, "x")
    y = Value(ArrayType(t.dtype, t.shape, order))
    node = Node(OPS["reshape"], (x,), {"shape": t.shape}, (y,))
    region = Graph("copy", (), (x,), (node,), (y,))
    given = {k: s for k, s in ((x, strides), (y, target_strides)) if s is not None}
    e.call_kernel(lower_fusion(region, given), [source, target], (), {})


def copy_array(
    e: ProgramContext, v: Value, target: str, order: tuple[int, ...] | None = None
) -> None:
    """Copy an array, however it lies, to dense memory with its axes in `order`."""
    copy_elements(e, v, e.pointer[v], target, e.strides.get(v), None, order)


def transfer_all(e: ProgramContext, transfers: Sequence[Transfer]) -> None:
    """Make all transfers as if at once."""
    pending = list(transfers)
    temporary: list[tuple[str, str]] = []
    while pending:
        free = (x for x in pending if all(y is x or y.origin != x.place for y in pending))
        x = next(free, None)
        if x is None:
            # Each would overwrite what another needs: one of them steps aside.
            x = pending.pop(0)
            place = e.place()
            block = e.allocate(place, e.dim(byte_count(x.source)))
            temporary.append((place, block))
            copy_elements(e, x.source, x.pointer, block, x.strides)
            aside = replace(x, pointer=block, strides=None, origin=None)
            pending.append(replace(aside, perhaps_same=False))
            continue
        pending.remove(x)
        target = x.target()
        with _unless_same(e, x, target):
            copy_elements(e, x.source, x.pointer, target, x.strides, x.target_strides)
    for place, block in temporary:
        e.release(place, block)


@contextmanager
def _unless_same(e: ProgramContext, x: Transfer, target: str) -> Iterator[None]:
    fb = e.fb
    if not x.perhaps_same:
        yield
        return
    inside, after = fb.fresh_label("move"), fb.fresh_label("there")
    fb.cond_br(fb.emit(f"icmp eq ptr {x.pointer}, {target}"), after, inside)
    fb.block(inside)
    yield
    fb.br(after)
    fb.block(after)

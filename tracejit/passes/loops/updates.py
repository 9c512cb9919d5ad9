"""Updates of an element that may be made in any order: those of integers that commute exactly.

    v = read_item(h, k);  w = add(v, x);  h1 = write_item(h, w, k)

Sums wrap around, extremes and bits come to the same: whatever updates of one kind are made to an
element, its last state is that after all of them, if nothing else looks at it in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import NpScalar, dtype_name
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.items import ReadItem, WriteItem

__all__ = ["DTYPES_UPDATED", "UPDATES", "Update", "updates_of"]

#: The kind of the update that a function of an old element and another value makes.
UPDATES: dict[str, str] = {
    "add": "add",
    "subtract": "add",
    "minimum": "min",
    "maximum": "max",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "bitwise_xor": "xor",
}
#: What devices update at once: they have no such instruction for 8 and 16 bits.
DTYPES_UPDATED = frozenset({"i32", "i64", "u32", "u64"})


@dataclass(frozen=True, eq=False)
class Update:
    """Three nodes of a region: `step` applies its function to the element and `other`."""

    read: Node
    step: Node
    write: Node
    other: Value

    @property
    def kind(self) -> str:
        """Those of one kind commute with each other."""
        return UPDATES[self.step.op.name]


def updates_of(region: Graph) -> Iterator[Update]:
    """The updates that a region itself makes, those of inner regions not counted."""
    made, uses = region.producers(), region.uses()
    for write in region.nodes:
        if not isinstance(write.op, WriteItem):
            continue
        array, new, *place = write.inputs
        step = made.get(new)
        if step is None or uses[new] != 1 or not _is_exact(step) or new in place:
            continue
        for k, old in enumerate(step.inputs):
            read = made.get(old)
            if read is None or uses[old] != 1 or not isinstance(read.op, ReadItem):
                continue
            same = read.inputs == (array, *place) and read.attrs["at"] == write.attrs["at"]
            if same and not (k and step.op.arithmetic == "subtract"):
                yield Update(read, step, write, step.inputs[1 - k])
                break


def _is_exact(step: Node) -> bool:
    kinds = {v.type for v in (*step.inputs, *step.outputs)}
    if not isinstance(step.op, Elementwise) or step.op.name not in UPDATES or len(kinds) != 1:
        return False
    (kind,) = kinds
    return isinstance(kind, NpScalar) and dtype_name(kind.dtype) in DTYPES_UPDATED

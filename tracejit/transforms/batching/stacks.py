"""Stacks of batches: which entries of the records on a stack have a batch axis.

A stack that all lanes push to and pop from alike is one stack, of records of batches. A pop gives
the record that was pushed last, so of all pushes of records of one kind on one stack, an entry has
the batch axis where one of them gives it one. A stack that lanes use in ways of their own belongs
to one lane, with all nodes that use it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tracejit.ir.graph import Node, Value
from tracejit.ir.regions import nested
from tracejit.ir.types import Type, dtype_of, shape_of
from tracejit.ops.control.stack import StackNew

__all__ = ["StackFlags", "stacks_of"]

#: A stack's name and the kind of a record, whatever its sizes are called.
_Kind: TypeAlias = tuple[object, ...]


def stacks_of(node: Node) -> set[str]:
    """The stacks that a node, or one in its regions, uses and that come from outside of it."""
    if node.op.kind == "stack":
        return {str(node.attrs["stack"])}
    inner = [n for region in node.regions for n in nested(region.nodes)]
    used = {str(n.attrs["stack"]) for n in inner if n.op.kind == "stack"}
    return used - {str(n.attrs["stack"]) for n in inner if isinstance(n.op, StackNew)}


class StackFlags:
    """What is known of stacks; it grows until no plan adds to it."""

    def __init__(self) -> None:
        self._flags: dict[_Kind, list[bool]] = {}
        #: The stacks that belong to one lane.
        self.apart: set[str] = set()
        self.changed = False

    def leave(self, names: set[str]) -> None:
        """Stacks belong to one lane."""
        self.changed = self.changed or not names <= self.apart
        self.apart |= names

    def push(self, node: Node, flags: Sequence[bool]) -> None:
        """A record whose entries have batch axes as `flags` say is pushed."""
        known = self.of(node, node.inputs[1:])
        for k, flag in enumerate(flags):
            self.changed = self.changed or (flag and not known[k])
            known[k] = known[k] or flag

    def of(self, node: Node, record: Sequence[Value]) -> list[bool]:
        """Which entries of the record that a node pushes or pops have the batch axis."""
        kind = (node.attrs["stack"], *(_kind(v.type) for v in record))
        return self._flags.setdefault(kind, [False] * len(record))


def _kind(t: Type) -> tuple[object, ...]:
    return type(t).__name__, dtype_of(t), len(shape_of(t)), getattr(t, "order", None)

"""Tokens of a run of a dataflow graph: where they arrive, and how the primitives move them.

A token is a value with a tag, the iterations of the loops around it: () outside all loops, (3, 0)
in the first iteration of an inner loop in the fourth of an outer one. What `switch` sends to the
side that is not taken is dead, and so is what any node makes of a dead token; a `merge` gives the
one live token, or a dead one where all are. A dead `enter` starts a loop whose only iteration is
dead, and its exits are dead; the dead tokens that reach the exits of a running loop are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, NamedTuple, TypeAlias

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import Bailout, GraphError
from tracejit.ir.graph import Node, Value
from tracejit.ir.op import Op
from tracejit.ops.control.dataflow import Enter, Exit, LoopCond, Merge, NextIteration, Switch
from tracejit.runtime.dataflow.plan import ExecutionPlan

__all__ = ["DEAD", "Position", "Ready", "Tag", "Tokens"]

#: The iterations of the loops around a token, from the outermost in.
Tag: TypeAlias = "tuple[int, ...]"
#: Where in the program's order a firing is: places compare as firings follow.
Position: TypeAlias = "tuple[int, ...]"


class _Mark:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


DEAD: Final = _Mark("DEAD")
_NOTHING: Final = _Mark("NOTHING")


class Ready(NamedTuple):
    """A node whose tokens have arrived: its inputs or its pivot, then the sizes it reads."""

    place: Position
    node: Node
    tag: Tag
    operands: Sequence[Any]
    dead: bool


class _Waiting:
    """A node of one iteration whose tokens are arriving."""

    __slots__ = ("dead", "missing", "operands")

    def __init__(self, count: int) -> None:
        self.operands: list[Any] = [_NOTHING] * count
        self.missing = count
        self.dead = False


@dataclass
class _Loop:
    """One run of a loop, in one iteration of what is around it."""

    #: Iterations that have begun.
    begun: int = 0
    dead: bool = False
    #: What every iteration gets.
    constants: list[tuple[Value, Any]] = field(default_factory=list)
    #: By iteration: how many of what the loop carries have not arrived.
    lacking: dict[int, int] = field(default_factory=dict)
    #: Iterations before this one have all that the loop carries.
    complete: int = 0
    #: Tokens for iterations that may not begin yet.
    held: dict[int, list[tuple[Value, Any]]] = field(default_factory=dict)
    #: The last iteration, once that is known.
    last: int | None = None
    #: How many values have entered; and in a dead loop, left.
    entered: int = 0
    left: int = 0


class Tokens:
    """The tokens that are on their way; nodes that have all of theirs go to `schedule`.

    An iteration of a loop begins when all that the loop carries has arrived in the one `window`
    before it.
    """

    def __init__(self, plan: ExecutionPlan, window: int, schedule: Callable[[Ready], None]) -> None:
        self.plan, self.window, self._schedule = plan, window, schedule
        self.results: dict[Value, Any] = {}
        self._waiting: dict[tuple[Node, Tag], _Waiting] = {}
        self._sizes: dict[tuple[str, Tag], Any] = {}
        self._size_readers: dict[tuple[str, Tag], list[tuple[Node, Tag, int]]] = {}
        self._loops: dict[tuple[str, Tag], _Loop] = {}

    def start(self, given: Mapping[Value, Any]) -> None:
        """Send the inputs, and schedule what needs none."""
        for v, x in given.items():
            self._send(v, (), x)
        for node in self.plan.unprompted:
            self._wait(node, ())

    def give(self, item: Ready, values: Sequence[Any], sizes: Mapping[str, Any]) -> None:
        """Send what a node gives: its outputs, and the sizes that it binds."""
        for v, x in zip(item.node.outputs, values, strict=True):
            self._send(v, item.tag, x)
        for size in item.node.binds:
            self._send_size(size, item.tag, sizes[size])

    def give_dead(self, item: Ready) -> None:
        """Send dead outputs and sizes."""
        self.give(item, [DEAD] * len(item.node.outputs), dict.fromkeys(item.node.binds, DEAD))

    def move(self, item: Ready) -> None:
        """Fire a primitive. Raises Bailout where a negative size leaves a loop."""
        _MOVES[type(item.node.op)](self, item)

    def finish(self) -> None:
        """Raises GraphError where a node or a loop still waits for tokens though none is left."""
        for node, tag in self._waiting:
            raise GraphError(f"{node!r} waits in iteration {tag} for tokens that do not come")
        for frame, tag in self._loops:
            raise GraphError(f"the loop {frame} does not end in iteration {tag}")

    # Arriving -------------------------------------------------------------------------------------

    def _send(self, value: Value, tag: Tag, x: Any) -> None:
        if value in self.plan.wanted and x is not DEAD:
            self.results[value] = x
        for node, slot in self.plan.readers.get(value, ()):
            self._arrive(node, tag, slot, x)

    def _send_size(self, size: str, tag: Tag, x: Any) -> None:
        self._sizes[size, tag] = x
        for node, at, slot in self._size_readers.pop((size, tag), ()):
            self._arrive(node, at, slot, x)

    def _wait(self, node: Node, tag: Tag) -> _Waiting:
        """The record of a node of which something arrives; sizes may be there already."""
        slots, sizes = self.plan.slots[node], self.plan.sizes[node]
        found = self._waiting[node, tag] = _Waiting(slots + len(sizes))
        if not found.missing:
            self._complete(node, tag, found)
        for k, size in enumerate(sizes, slots):
            key = (size, tag[: self.plan.depth[size]])
            if key in self._sizes:
                self._arrive(node, tag, k, self._sizes[key])
            else:
                self._size_readers.setdefault(key, []).append((node, tag, k))
        return found

    def _arrive(self, node: Node, tag: Tag, slot: int, x: Any) -> None:
        if isinstance(node.op, Merge):
            self._arrive_at_merge(node, tag, x)
            return
        if isinstance(node.op, Exit):
            loop = self._loops.get((self.plan.left[node], tag[:-1]))
            if x is not DEAD or (loop is not None and loop.dead):
                self._ready(node, tag[:-1], (x,), x is DEAD)
            return
        found = self._waiting.get((node, tag)) or self._wait(node, tag)
        if found.operands[slot] is not _NOTHING:
            raise GraphError(f"two tokens arrive at {node!r} in iteration {tag}")
        found.operands[slot] = x
        found.missing -= 1
        found.dead = found.dead or x is DEAD
        if not found.missing:
            self._complete(node, tag, found)

    def _arrive_at_merge(self, node: Node, tag: Tag, x: Any) -> None:
        """A loop's merge takes what comes; a branch's the live one of two."""
        if self.plan.section[node].kind == "head":
            self._ready(node, tag, (x,), x is DEAD)
            return
        found = self._waiting.get((node, tag))
        if found is None:
            found = self._waiting[node, tag] = _Waiting(len(node.inputs))
            found.dead = True
        found.missing -= 1
        if x is not DEAD:
            if not found.dead:
                raise GraphError(f"both sides of a branch arrive at {node!r}")
            found.dead = False
            self._ready(node, tag, (x,), dead=False)
        if not found.missing:
            del self._waiting[node, tag]
            if found.dead:
                self._ready(node, tag, (DEAD,), dead=True)

    def _complete(self, node: Node, tag: Tag, found: _Waiting) -> None:
        del self._waiting[node, tag]
        self._ready(node, tag, found.operands, found.dead)

    def _ready(self, node: Node, tag: Tag, operands: Sequence[Any], dead: bool) -> None:
        self._schedule(Ready(self._place(node, tag), node, tag, operands, dead))

    def _place(self, node: Node, tag: Tag) -> Position:
        starts = self.plan.starts[self.plan.section[node].frame.name]
        out: list[int] = []
        for start, iteration in zip(starts, tag, strict=True):
            out += (start, iteration)
        return (*out, self.plan.order[node])

    # The primitives -------------------------------------------------------------------------------

    def _switch(self, item: Ready) -> None:
        x, predicate = item.operands
        if item.dead:
            self.give_dead(item)
        else:
            self.give(item, (DEAD, x) if predicate else (x, DEAD), {})

    def _merge(self, item: Ready) -> None:
        (x,) = item.operands
        self.give(item, (x,), dict.fromkeys(item.node.binds, x))
        section = self.plan.section[item.node]
        if section.kind == "head" and not item.dead:
            self._carried(section.frame.name, item.tag)

    def _loop_cond(self, item: Ready) -> None:
        (go,) = item.operands
        if not item.dead and not go:
            *outer, k = item.tag
            key = (self.plan.section[item.node].frame.name, tuple(outer))
            self._loops[key].last = k
            self._forget(key)
        self.give(item, (go,), {})

    def _enter(self, item: Ready) -> None:
        """Into iteration 0 of a loop, or with `constant` into each one."""
        node, tag = item.node, item.tag
        (v,), (x,) = node.outputs, item.operands
        key = (node.attrs["frame"], tag)
        loop = self._loops.setdefault(key, _Loop())
        loop.entered += 1
        if item.dead:
            loop.dead = True
            self._send(v, (*tag, 0), DEAD)
        elif node.attrs["constant"]:
            loop.constants.append((v, x))
            for k in range(loop.begun):
                self._send(v, (*tag, k), x)
        else:
            self._begin(loop, tag, 0)
            self._send(v, (*tag, 0), x)
        self._forget(key)

    def _next_iteration(self, item: Ready) -> None:
        """A dead token ends here: the last iteration has no next one."""
        if item.dead:
            return
        *outer, k = item.tag
        (v,), (x,) = item.node.outputs, item.operands
        loop = self._loops[self.plan.section[item.node].frame.name, tuple(outer)]
        if k + 1 >= loop.complete + self.window:
            loop.held.setdefault(k + 1, []).append((v, x))
            return
        self._begin(loop, tuple(outer), k + 1)
        self._send(v, (*outer, k + 1), x)

    def _exit(self, item: Ready) -> None:
        """Out of a loop: what its last iteration sends, or a dead token where it never ran."""
        (x,) = item.operands
        for size in item.node.binds:
            if not item.dead and x < 0:
                raise Bailout(f"the size {size} is negative")
        self.give(item, (x,), dict.fromkeys(item.node.binds, x))
        if item.dead:
            key = (self.plan.left[item.node], item.tag)
            self._loops[key].left += 1
            self._forget(key)

    # Iterations -----------------------------------------------------------------------------------

    def _begin(self, loop: _Loop, outer: Tag, k: int) -> None:
        """Iteration `k` gets what is the same in all of them, once."""
        if k < loop.begun:
            return
        loop.begun = k + 1
        for v, x in loop.constants:
            self._send(v, (*outer, k), x)

    def _carried(self, frame: str, tag: Tag) -> None:
        """One of what a loop carries has arrived; when all have, a later iteration may begin."""
        *outer, k = tag
        key = (frame, tuple(outer))
        loop = self._loops[key]
        loop.lacking[k] = loop.lacking.get(k, self.plan.carried[frame]) - 1
        while loop.lacking.get(loop.complete) == 0:
            del loop.lacking[loop.complete]
            loop.complete += 1
            start = loop.complete + self.window - 1
            for v, x in loop.held.pop(start, ()):
                self._begin(loop, tuple(outer), start)
                self._send(v, (*outer, start), x)
        self._forget(key)

    def _forget(self, key: tuple[str, Tag]) -> None:
        """Drop the record of a loop of which nothing more can enter or go round."""
        frame, _ = key
        loop = self._loops[key]
        if loop.dead:
            over = loop.left == self.plan.exits[frame]
        else:
            over = loop.last is not None and loop.complete > loop.last
        if over and loop.entered == self.plan.enters[frame]:
            del self._loops[key]


_MOVES: Final[Mapping[type[Op], Callable[[Tokens, Ready], None]]] = {
    Switch: Tokens._switch,
    Merge: Tokens._merge,
    Enter: Tokens._enter,
    Exit: Tokens._exit,
    NextIteration: Tokens._next_iteration,
    LoopCond: Tokens._loop_cond,
}

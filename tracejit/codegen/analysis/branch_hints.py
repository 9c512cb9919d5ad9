"""Which branches decide that a loop ends: those in whose favour the processor should guess.

A `break` is a branch in the loop's body that makes the loop's condition false, perhaps through a
flag that the loop carries. Such a branch is guessed right in all iterations but one, and what comes
after it need not wait for the condition, as it would if the branch became a select.
"""

from __future__ import annotations

from tracejit.ir.dataflow import DataflowGraph, Section
from tracejit.ir.graph import Node, Value
from tracejit.ops.array.creation import Constant
from tracejit.ops.control.dataflow import Enter, LoopCond, Merge, NextIteration, Switch
from tracejit.ops.python.conversion import ToPyScalar

__all__ = ["LoopExits"]

_SAME = (Switch, Merge, Enter, NextIteration, ToPyScalar)
#: A flag is a few steps away from the condition.
_MOST_STEPS = 40


class LoopExits:
    """The branches of one graph."""

    def __init__(self, graph: DataflowGraph) -> None:
        self.graph = graph
        self._users: dict[Value, list[Node]] = {}
        self._false: set[Value] = set()
        for _, node in graph.nodes():
            for v in dict.fromkeys(node.inputs):
                self._users.setdefault(v, []).append(node)
            if isinstance(node.op, Constant) and node.attrs["value"] is False:
                self._false.add(node.outputs[0])

    def side(self, section: Section) -> int | None:
        """The number of the successor after which a loop ends, or None."""
        if len(section.successors) != 2 or section.branch is None or not section.frame.depth:
            return None
        if section.kind == "head" and self.graph.sections[section.successors[0]].kind == "body":
            return None
        for side in (0, 1):
            if self._ends(section.branch, side == 0):
                return side
        for side, number in enumerate(section.successors):
            after = self.graph.sections[number].successors
            join = self.graph.sections[after[0]] if len(after) == 1 else None
            if join is None or number not in join.predecessors:
                continue
            for node in join.nodes:
                if not isinstance(node.op, Merge):
                    continue
                given = node.inputs[join.predecessors.index(number)]
                if given in self._false and self._ends(node.outputs[0], False):
                    return side
        return None

    def _ends(self, v: Value, truth: bool) -> bool:
        """Whether a loop's condition is false where `v` is `truth`."""
        seen = {(v, truth)}
        stack = [(v, truth)]
        while stack and len(seen) < _MOST_STEPS:
            v, truth = stack.pop()
            for node in self._users.get(v, ()):
                op = node.op
                if isinstance(op, LoopCond) and not truth:
                    return True
                if op.logic == "not":
                    following = not truth
                elif isinstance(op, _SAME) or (op.logic in ("and", "bit_and") and not truth):
                    following = truth
                else:
                    continue
                # A switch's predicate is not handed on.
                if isinstance(op, Switch) and v is not node.inputs[0]:
                    continue
                for out in node.outputs:
                    if (out, following) not in seen:
                        seen.add((out, following))
                        stack.append((out, following))
        return False

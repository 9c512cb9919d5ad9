"""Sums of floats beside each other, one in each lane of a loop around them: a form of reduction.

Of the virtual lanes of `ir/kernel.py` those at one distance from each other are held in registers,
a vector each, and go through the block together; they are folded before the next ones follow.

    for g in range(lanes / held):
        held slots: the terms at g, g + lanes / held, ..., each with every `lanes`-th after it

The folds in halves down to that distance are among the lanes of one group. What is left is one slot
a group, on the stack, and is folded in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.codegen.kernel.accumulate import Form, Parts
from tracejit.codegen.kernel.combine import Combine
from tracejit.codegen.kernel.expressions import Values
from tracejit.codegen.kernel.slots import Slots
from tracejit.codegen.kernel.vectorize import is_short
from tracejit.ir.kernel import Let, Reduce

__all__ = ["Columns", "runs_in_columns"]

#: Accumulators in registers, in all streams.
_HELD = 16


def runs_in_columns(values: Values, reduce: Reduce, combines: Sequence[Combine]) -> bool:
    """Whether a reduction inside of a loop in lanes has this form: one long sum of floats."""
    return (
        values.width > 1
        and len(combines) == 1
        and combines[0].ordered
        and reduce.lanes > _HELD
        and not is_short(reduce)
        and not reduce.quotients
        and all(isinstance(stmt, Let) for stmt in reduce.body)
    )


class Columns(Form):
    """The accumulators of the streams, a group of virtual lanes at a time."""

    def block(self, begin: str, end: str) -> list[Parts]:
        values, fb, s = self.values, self.fb, self.values.lanes
        self.held = _HELD // self.streams
        self.groups = self.reduce.lanes // self.held
        folded = [Slots(s, self.combines[0], self.groups) for _ in range(self.streams)]

        def group(number: str, _: list[str]) -> list[str]:
            for slots, parts in zip(folded, self._group(begin, end, number), strict=True):
                slots.store(s, fb.integer("mul", number, str(s.width)), parts[0])
            return []

        with values.scope():
            fb.do_while("0", str(self.groups), "1", (), group)
        out = []
        for slots in folded:
            rows = [[slots.load(s, str(k * s.width))] for k in range(self.groups)]
            out.append(self.fold(s, rows, self.groups))
        return out

    def _group(self, begin: str, end: str, number: str) -> list[Parts]:
        """What the virtual lanes number, number + groups, ... come to in a block."""
        fb, s = self.fb, self.values.lanes
        (combine,) = self.combines
        zeros = [s.const(0.0, combine.dtype)] * (self.held * self.streams)
        kinds = [s.type(combine.dtype)] * len(zeros)
        first = fb.integer("add", begin, number)
        reach = str(self.groups * (self.held - 1))
        # The first position at which the last lane that is held has no term any more.
        last = fb.integer("sub", end, reach)
        carried = [("i64", first), *zip(kinds, zeros, strict=True)]

        def whole(position: str, state: list[str]) -> list[str]:
            after = state[1:]
            for lane in range(self.held):
                after = self._step(after, lane, self._at(position, lane))
            return [fb.integer("add", position, str(self.reduce.lanes)), *after]

        def main() -> list[str]:
            return fb.do_while(first, last, str(self.reduce.lanes), carried, whole)

        position, *state = fb.if_then(fb.less(first, last), carried, main)
        state = self._rest(position, end, list(zip(kinds, state, strict=True)), 0)
        return [self._folded(state, stream) for stream in range(self.streams)]

    def _at(self, position: str, lane: int) -> str:
        return self.fb.integer("add", position, str(lane * self.groups))

    def _step(self, state: Sequence[str], lane: int, position: str) -> list[str]:
        """The accumulators after the term of one lane; they lie lane by lane, in streams."""
        values, count = self.values, self.streams
        own = slice(lane * count, (lane + 1) * count)
        # In a scope of its own nothing is taken for the value at another position.
        with values.scope():
            values.set_position(self.reduce.var, position)
            after = self._flat(self.advance([[[x]] for x in state[own]]))
        return [*state[: own.start], *after, *state[own.stop :]]

    def _rest(
        self, position: str, end: str, carried: list[tuple[str, str]], lane: int
    ) -> list[str]:
        """The last terms: a lane has one only if the lane before has."""
        state = [name for _, name in carried]
        if lane == self.held - 1:
            return state
        place = self._at(position, lane)

        def step() -> list[str]:
            after = self._step(state, lane, place)
            kinds = [kind for kind, _ in carried]
            return self._rest(position, end, list(zip(kinds, after, strict=True)), lane + 1)

        return self.fb.if_then(self.fb.less(place, end), carried, step)

    def _folded(self, state: Sequence[str], stream: int) -> Parts:
        slots: list[Parts] = [[[x]] for x in state[stream :: self.streams]]
        return self.fold(self.values.lanes, slots, self.held)

"""How a reduction runs: blocks, accumulators, and the form whose own loop is scalar.

A slot is the accumulator of one virtual lane of `ir/kernel.py`'s order: a scalar, or a vector of an
enclosing loop that runs in lanes. Few slots live in registers, many on the stack. A reduction over
a handful of positions is written out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

from tracejit.codegen.kernel.combine import Combine
from tracejit.codegen.kernel.early_exits import only_reads
from tracejit.codegen.kernel.expressions import KernelValue, Values
from tracejit.codegen.kernel.slots import Slots
from tracejit.codegen.kernel.vectorize import is_short
from tracejit.codegen.llvm.lanes import Lanes
from tracejit.ir.dims import floordiv, symbol
from tracejit.ir.kernel import Call, Expr, Let, Reduce, Stmt

__all__ = ["Form", "Nested", "Parts"]

#: One accumulator a target: its parts, each a register.
Parts = list[list[str]]


class Form:
    """What the two forms share: blocks, the sum of their results, and the empty case."""

    def __init__(
        self,
        values: Values,
        statements: Callable[[Sequence[Stmt]], None],
        reduce: Reduce,
        combines: list[Combine],
    ) -> None:
        self.values, self.fb = values, values.fb
        self.statements = statements
        self.reduce = reduce
        self.combines = combines
        self.ordered = any(c.ordered for c in combines)
        #: The lanes that a result has, and how many of them there are.
        self.result_lanes, self.streams = values.lanes, values.streams

    def block(self, begin: str, end: str) -> list[Parts]:
        """The results of one block, which is not empty, for each stream."""
        raise NotImplementedError

    def _types(self) -> list[str]:
        return [self.result_lanes.type(d) for c in self.combines for d in c.dtypes]

    def _flat(self, streams: Sequence[Parts]) -> list[str]:
        return [name for parts in streams for part in parts for name in part]

    def _nested(self, flat: Sequence[str]) -> list[Parts]:
        return self._grouped(flat, [c.dtypes for c in self.combines])

    def _between_blocks(self, flat: Sequence[str]) -> list[Parts]:
        return self._grouped(flat, [c.block_dtypes for c in self.combines])

    def _grouped(self, flat: Sequence[str], dtypes: Sequence[tuple[str, ...]]) -> list[Parts]:
        names = iter(flat)
        return [[[next(names) for _ in d] for d in dtypes] for _ in range(self.streams)]

    def emit(self) -> None:
        """Write the reduction and bind its targets."""
        values, fb, s = self.values, self.fb, self.result_lanes
        size = values.scalar(values.dim(self.reduce.size))
        empty = [
            s.const(x, d) for c in self.combines for x, d in zip(c.empty, c.dtypes, strict=True)
        ] * self.streams
        kinds = self._types() * self.streams
        names = fb.if_then(
            fb.less("0", size),
            list(zip(kinds, empty, strict=True)),
            lambda: self._flat(self._all_blocks(size)),
        )
        for k, combine in enumerate(self.combines):
            found = tuple(parts[k][-1] for parts in self._nested(names))
            dtype = combine.dtypes[-1]
            value = KernelValue(dtype, values.depth, found, varying=s.width > 1)
            if dtype != combine.target.dtype:
                value = values.call("cast", [value], combine.target.dtype)
            values.env[combine.target.name] = value

    def _all_blocks(self, size: str) -> list[Parts]:
        block = self.reduce.block
        if not self.ordered or (size[0] != "%" and int(size) <= block):
            return self.block("0", size)
        values, fb, s = self.values, self.fb, self.result_lanes
        carried = [
            (s.type(d), s.const(x, d))
            for c in self.combines
            for x, d in zip(c.block_identity, c.block_dtypes, strict=True)
        ] * self.streams

        def one_block(begin: str, state: list[str]) -> list[str]:
            left = fb.integer("sub", size, begin)
            whole = fb.less(str(block), left)
            length = fb.emit(f"select i1 {whole}, i64 {block}, i64 {left}")
            results = self.block(begin, fb.integer("add", begin, length))
            after: list[Parts] = []
            for old, new in zip(self._between_blocks(state), results, strict=True):
                paired = zip(self.combines, old, new, strict=True)
                after.append([c.add_block(s, before, result) for c, before, result in paired])
            return self._flat(after)

        with values.scope():
            state = fb.do_while("0", size, str(block), carried, one_block)
        return [
            [c.after_blocks(s, parts) for c, parts in zip(self.combines, stream, strict=True)]
            for stream in self._between_blocks(state)
        ]

    def quotients(self) -> None:
        """Bind the quotients of the current position."""
        for name, divisor in self.reduce.quotients:
            self.values.env[name] = self.values.dim(floordiv(symbol(self.reduce.var), divisor))

    def terms(self) -> list[KernelValue]:
        """Run the body at the current position; the term of each target."""
        self.quotients()
        self.statements(self.reduce.body)
        out = []
        for c in self.combines:
            term = self.values.evaluate(c.target.expr)
            if term.dtype != c.dtype:
                term = self.values.call("cast", [term], c.dtype)
            out.append(term)
        return out

    def advance(self, accumulators: Sequence[Parts]) -> list[Parts]:
        """The accumulators of each stream after the terms at the current position."""
        values, s = self.values, self.values.lanes
        terms = self.terms()
        # Only argmin and argmax read it.
        needs_position = any(c.with_position for c in self.combines)
        position = values.dim(symbol(self.reduce.var)) if needs_position else None
        after = []
        for stream, parts in enumerate(accumulators):
            place = values.operand(position, stream) if position else ""
            after.append(
                [
                    c.step(s, part, values.operand(term, stream), place)
                    for c, part, term in zip(self.combines, parts, terms, strict=True)
                ]
            )
        return after

    def masked_step(self, before: Parts) -> Parts:
        """A slot after the terms at the current position; lanes that are masked stay."""
        values = self.values
        (after,) = self.advance([before])
        if values.masks is None:
            return after
        return [
            [
                values.lanes.select(values.masks[0], d, n, o)
                for d, n, o in zip(c.dtypes, new, old, strict=True)
            ]
            for c, old, new in zip(self.combines, before, after, strict=True)
        ]

    def fold(self, s: Lanes, slots: Sequence[Parts], count: int) -> Parts:
        """Slots combined in halves: slot k with slot k + h, the former on the left.

        Of `count` slots, a power of two, those that are not given hold the identity, which changes
        nothing.
        """
        slots, half = list(slots), count // 2
        while half:
            for k in range(len(slots) - half):
                slots[k] = [
                    c.merge(s, left, right)
                    for c, left, right in zip(self.combines, slots[k], slots[k + half], strict=True)
                ]
            slots = slots[:half]
            half //= 2
        return slots[0]


class Nested(Form):
    """A reduction whose own loop is scalar; enclosing lanes each compute a reduction of theirs."""

    #: The registers of the quotients while a loop counts them.
    counted: Sequence[str] | None = None

    @property
    def _has_rows(self) -> bool:
        return any(isinstance(s, Reduce) for s in self.reduce.body)

    @property
    def _stops_when_decided(self) -> bool:
        """Whether it looks after each position if nothing later changes the result of any lane.

        Truths may decide soon, where they take longer than the test; so may the rows of which one
        is found.
        """
        (combine, *others) = self.combines
        if others or not only_reads((self.reduce,)):
            return False
        alone = self.result_lanes.width == self.streams == 1
        if combine.dtype != "b1":
            return combine.with_position and alone and self._has_rows
        computed = any(isinstance(e, Call) for e in self._expressions())
        return alone or computed or combine.with_position

    def _expressions(self) -> Iterator[Expr]:
        yield from (s.expr for s in self.reduce.body if isinstance(s, Let))
        yield from (t.expr for t in self.reduce.targets)

    def _saturated(self, state: Sequence[str]) -> str:
        """Whether no term can change an accumulator in any lane of any stream."""
        s, (combine,) = self.result_lanes, self.combines
        found = [combine.saturated(s, best) for ((best, *_),) in self._nested(state)]
        if s.width == 1 == len(found):
            return found[0]
        undecided = [s.op("xor", "b1", x, s.const(True, "b1")) for x in found]
        either = functools.reduce(functools.partial(s.op, "or", "b1"), undecided)
        return self.fb.emit(f"xor i1 {s.any(either)}, true")

    def block(self, begin: str, end: str) -> list[Parts]:
        values, fb = self.values, self.fb
        lanes = self.reduce.lanes if self.ordered else 1
        if is_short(self.reduce):
            return self._written_out(int(end), lanes)
        with values.scope():
            if lanes == 1:
                return self._chain(begin, end)
            slots = [
                [Slots(values.lanes, c, lanes) for c in self.combines] for _ in range(self.streams)
            ]
            self._fill(slots, lanes)

            def one(position: str, _: list[str]) -> list[str]:
                values.set_position(self.reduce.var, position)
                lane = fb.integer("and", fb.integer("sub", position, begin), str(lanes - 1))
                element = fb.integer("mul", lane, str(values.width))
                before = self._load(slots, element)
                self._store(slots, element, self.advance(before))
                return []

            fb.do_while(begin, end, "1", (), one)
        self._fold_slots(slots, lanes)
        return self._load(slots, "0")

    def _written_out(self, size: int, lanes: int) -> list[Parts]:
        """Each position by itself. A lane without one holds the identity, which changes nothing."""
        values, s = self.values, self.values.lanes
        identity = [
            [s.const(x, d) for x, d in zip(c.identity, c.dtypes, strict=True)]
            for c in self.combines
        ]
        slots: list[list[Parts]] = [[identity] * self.streams] * min(lanes, size)
        for position in range(size):
            # In a scope of its own nothing is taken for the value at another position.
            with values.scope():
                values.set_position(self.reduce.var, str(position))
                lane = position % lanes
                slots[lane] = self.advance(slots[lane])
        streams = zip(*slots, strict=True)
        return [self.fold(s, list(of_stream), lanes) for of_stream in streams]

    def _chain(self, begin: str, end: str) -> list[Parts]:
        values, s = self.values, self.values.lanes
        identity = [
            s.const(x, d) for c in self.combines for x, d in zip(c.identity, c.dtypes, strict=True)
        ] * self.streams
        carried = list(zip(self._types() * self.streams, identity, strict=True))
        divisors = [values.scalar(values.dim(d)) for _, d in self.reduce.quotients]
        count = len(carried)

        def one(position: str, state: list[str]) -> list[str]:
            values.set_position(self.reduce.var, position)
            self.counted = state[count::2]
            after = self._flat(self.advance(self._nested(state[:count])))
            return after + self._count(state[count:], divisors)

        carried += [("i64", start) for d in divisors for start in self._divided(begin, d)]
        until = (lambda state: self._saturated(state[:count])) if self._stops_when_decided else None
        after = self._nested(self.fb.do_while(begin, end, "1", carried, one, until=until)[:count])
        self.counted = None
        return after

    def quotients(self) -> None:
        """Bind the quotients, which the loop counts if it runs position by position."""
        if self.counted is None:
            super().quotients()
            return
        for (name, _), quotient in zip(self.reduce.quotients, self.counted, strict=True):
            self.values.env[name] = KernelValue("i64", self.values.depth, (quotient,))

    def _divided(self, begin: str, divisor: str) -> tuple[str, str]:
        """Quotient and remainder at a loop's first position."""
        if begin == "0":
            return "0", "0"
        fb = self.fb
        quotient = fb.emit(f"udiv i64 {begin}, {divisor}")
        return quotient, fb.integer("sub", begin, fb.integer("mul", quotient, divisor))

    def _count(self, state: Sequence[str], divisors: Sequence[str]) -> list[str]:
        """Quotients and remainders at the next position."""
        fb, out = self.fb, []
        for quotient, remainder, divisor in zip(state[::2], state[1::2], divisors, strict=True):
            following = fb.integer("add", remainder, "1")
            full = fb.emit(f"icmp eq i64 {following}, {divisor}")
            more = fb.emit(f"zext i1 {full} to i64")
            out.append(fb.integer("add", quotient, more))
            out.append(fb.emit(f"select i1 {full}, i64 0, i64 {following}"))
        return out

    def _load(self, slots: list[list[Slots]], element: str) -> list[Parts]:
        s = self.values.lanes
        return [[slot.load(s, element) for slot in stream] for stream in slots]

    def _store(self, slots: list[list[Slots]], element: str, parts: Sequence[Parts]) -> None:
        s = self.values.lanes
        for stream, stream_parts in zip(slots, parts, strict=True):
            for slot, part in zip(stream, stream_parts, strict=True):
                slot.store(s, element, part)

    def _fill(self, slots: list[list[Slots]], lanes: int) -> None:
        s = self.values.lanes
        identity = [
            [s.const(x, d) for x, d in zip(c.identity, c.dtypes, strict=True)]
            for c in self.combines
        ]

        def one(element: str, _: list[str]) -> list[str]:
            self._store(slots, element, [identity] * self.streams)
            return []

        self.fb.do_while("0", str(lanes * s.width), str(s.width), (), one)

    def _fold_slots(self, slots: list[list[Slots]], lanes: int) -> None:
        fb, s = self.fb, self.values.lanes
        half = lanes // 2

        def halve(_: str, state: list[str]) -> list[str]:
            count = state[0]

            def one(element: str, _: list[str]) -> list[str]:
                other = fb.integer("add", element, count)
                merged = [
                    self.fold(s, [left, right], 2)
                    for left, right in zip(
                        self._load(slots, element), self._load(slots, other), strict=True
                    )
                ]
                self._store(slots, element, merged)
                return []

            fb.do_while("0", count, str(s.width), (), one)
            return [fb.emit(f"lshr i64 {count}, 1")]

        steps = lanes.bit_length() - 1
        fb.do_while("0", str(steps), "1", [("i64", str(half * s.width))], halve)

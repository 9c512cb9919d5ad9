"""Elements of an array into a panel, as LLVM text: one vector of lanes for each term of a sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tracejit.codegen.llvm.lanes import Lanes, bits, memory_type
from tracejit.codegen.llvm.text import FunctionBuilder

__all__ = ["LaneGroup", "Panels"]


class Panels(Protocol):
    """What arrays hold, what panels do, and where elements of both are."""

    memory: str
    dtype: str
    size: int

    def in_array(self, fb: FunctionBuilder, base: str, index: str) -> str:
        """The address of an element of an array."""

    def in_panel(self, fb: FunctionBuilder, base: str, index: str) -> str:
        """The address of an element of a panel or a tile."""

    def entry(self, fb: FunctionBuilder, table: str, index: str) -> str:
        """An entry of a table of offsets."""

    def widened(self, lanes: Lanes, value: str) -> str:
        """Elements of an array as a panel holds them."""


class LaneGroup:
    """The code that packs one vector of lanes: a run in memory, two runs, or lanes anywhere."""

    def __init__(self, c: Panels, fb: FunctionBuilder, width: int, first: str, to: str) -> None:
        self.c, self.fb, self.width, self.first, self.to = c, fb, width, first, to
        self.s = Lanes(fb, width)
        self.flags = self.s.of("i1")
        self.wide = self.s.of("i64")

    def write(self) -> None:
        fb, width = self.fb, self.width
        left = fb.integer("sub", "%n", self.first)
        valid = self._less(self.s.counting("i64"), self._spread(left))
        at = fb.emit(f"getelementptr i64, ptr %lanes, i64 {self.first}")
        offsets = self._masked("i64", 8, at, valid)
        start = fb.emit(f"extractelement {self.wide} {offsets}, i64 0")
        off = self._not(self._run(offsets, start, "0"))
        beyond = self._and(off, valid)
        word = fb.emit(f"bitcast {self.flags} {beyond} to i{width}")
        at_once = fb.emit(f"icmp eq i{width} {word}, 0")
        whole = fb.emit(f"icmp sge i64 {left}, {width}")
        dense = fb.emit(f"and i1 {at_once}, {whole}")
        labels = [fb.fresh_label(x) for x in ("dense", "ragged", "runs", "anywhere", "packed")]
        is_dense, ragged, runs, anywhere, packed = labels
        fb.cond_br(dense, is_dense, ragged)
        fb.block(is_dense)
        self._each(lambda place: self._load(fb.integer("add", place, start)))
        fb.br(packed)
        fb.block(ragged)
        # The second run begins where the first ends; lanes of neither are anywhere.
        fb.module.declare(f"llvm.cttz.i{width}", f"i{width}", [f"i{width}", "i1"])
        zeros = fb.emit(f"call i{width} @llvm.cttz.i{width}(i{width} {word}, i1 false)")
        wide = "i64"
        number = fb.emit(f"zext i{width} {zeros} to {wide}") if width < 64 else zeros
        inside = fb.emit(f"call i64 @llvm.umin.i64(i64 {number}, i64 {width - 1})")
        fb.module.declare("llvm.umin.i64", "i64", ["i64", "i64"])
        again = fb.emit(f"extractelement {self.wide} {offsets}, i64 {inside}")
        second_start = fb.integer("sub", again, inside)
        in_first = self._less(self.s.counting("i64"), self._spread(number))
        in_second = self._and(self._not(in_first), valid)
        stray = self._and(in_second, self._not(self._run(offsets, second_start, "0")))
        two = fb.emit(f"icmp eq i{width} {self._word(stray)}, 0")
        in_first = self._and(in_first, valid)
        fb.cond_br(two, runs, anywhere)
        fb.block(runs)

        def both(place: str) -> str:
            kind, size = memory_type(self.c.memory), bits(self.c.memory) // 8
            ends = [
                self.c.in_array(fb, "%from", fb.integer("add", place, base))
                for base in (start, second_start)
            ]
            one = self._masked(kind, size, ends[0], in_first)
            return self._masked(kind, size, ends[1], in_second, one)

        self._each(both)
        fb.br(packed)
        fb.block(anywhere)
        self._each(lambda place: self._gather(place, offsets, valid))
        fb.br(packed)
        fb.block(packed)

    def _each(self, load: Callable[[str], str]) -> None:
        """Load and store the lanes of every term of the sum."""
        fb, kind = self.fb, self.s.type(self.c.dtype)

        def body(p: str, _: list[str]) -> list[str]:
            value = self.c.widened(self.s, load(self.c.entry(fb, "%sums", p)))
            at = self.c.in_panel(fb, self.to, fb.integer("mul", p, str(self.width)))
            fb.line(f"store {kind} {value}, ptr {at}, align {self.c.size}")
            return []

        fb.do_while("0", "%k", "1", (), body)

    def _load(self, place: str) -> str:
        at = self.c.in_array(self.fb, "%from", place)
        kind, size = self.s.type(self.c.memory), bits(self.c.memory) // 8
        return self.fb.emit(f"load {kind}, ptr {at}, align {size}")

    def _gather(self, place: str, offsets: str, valid: str) -> str:
        fb, kind, size = self.fb, memory_type(self.c.memory), bits(self.c.memory) // 8
        base = self.c.in_array(fb, "%from", place)
        pointers = fb.emit(f"getelementptr {kind}, ptr {base}, {self.wide} {offsets}")
        vector, addresses = self.s.of(kind), self.s.of("ptr")
        suffix = {"float": "f32", "double": "f64"}[kind]
        symbol = fb.module.declare(
            f"llvm.masked.gather.v{self.width}{suffix}.v{self.width}p0",
            vector,
            [addresses, self.flags, vector],
        )
        return fb.emit(
            f"call {vector} {symbol}({addresses} align {size} {pointers}, "
            f"{self.flags} {valid}, {vector} zeroinitializer)"
        )

    def _masked(
        self, kind: str, size: int, at: str, mask: str, otherwise: str = "zeroinitializer"
    ) -> str:
        vector = self.s.of(kind)
        suffix = {"float": "f32", "double": "f64"}.get(kind, kind)
        symbol = self.fb.module.declare(
            f"llvm.masked.load.v{self.width}{suffix}.p0", vector, ["ptr", self.flags, vector]
        )
        return self.fb.emit(
            f"call {vector} {symbol}(ptr align {size} {at}, {self.flags} {mask}, "
            f"{vector} {otherwise})"
        )

    def _spread(self, scalar: str) -> str:
        return self.s.splat(scalar, "i64")

    def _less(self, a: str, b: str) -> str:
        return self.fb.emit(f"icmp slt {self.wide} {a}, {b}")

    def _run(self, offsets: str, start: str, _: str) -> str:
        """Which lanes lie where a run whose lane 0 is at `start` has them."""
        place = self.fb.emit(f"add {self.wide} {self._spread(start)}, {self.s.counting('i64')}")
        return self.fb.emit(f"icmp eq {self.wide} {offsets}, {place}")

    def _not(self, mask: str) -> str:
        return self.fb.emit(f"xor {self.flags} {mask}, splat (i1 true)")

    def _and(self, a: str, b: str) -> str:
        return self.fb.emit(f"and {self.flags} {a}, {b}")

    def _word(self, mask: str) -> str:
        return self.fb.emit(f"bitcast {self.flags} {mask} to i{self.width}")

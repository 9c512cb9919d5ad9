"""What a contraction does with one tile, as LLVM text: it packs, adds up in registers, and stores.

    tile[r][v] = sum over p of a[p][r] * b[v][p]      panels of packed elements, v vectors of lanes

Elements are found by tables of offsets, which are made here, too. Arrays may hold another dtype
than panels and tiles do.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.codegen.llvm.lanes import Lanes, bits, memory_type
from tracejit.codegen.llvm.text import FunctionBuilder, Module
from tracejit.codegen.support.contraction_packing import LaneGroup

__all__ = ["Tiles"]


class Tiles:
    """The functions below the loops over blocks, in one module."""

    def __init__(self, module: Module, name: str, memory: str, dtype: str) -> None:
        target = module.target
        self.module, self.name = module, name
        #: What arrays hold, and what panels and tiles do.
        self.memory, self.dtype = memory, dtype
        self.size = bits(dtype) // 8
        self.width = target.vector_bits // 8 // self.size
        #: Rows of a tile, and vectors of its columns: with both operands they fill the registers.
        self.rows, self.vectors = (8, 3) if target.vector_bits == 512 else (4, 3)
        if target.vector_bits < 256:
            self.vectors = 2
        #: Fewer rows, for what is left of them.
        self.heights = [n for n in (1, 2, 4, 8) if n <= self.rows]
        self.fma = "fma" if target.has_fma else "fmuladd"

    # Addresses --------------------------------------------------------------------------------

    def in_panel(self, fb: FunctionBuilder, base: str, index: str) -> str:
        return fb.emit(f"getelementptr {memory_type(self.dtype)}, ptr {base}, i64 {index}")

    def in_array(self, fb: FunctionBuilder, base: str, index: str) -> str:
        """The address of an element of an array."""
        return fb.emit(f"getelementptr {memory_type(self.memory)}, ptr {base}, i64 {index}")

    def widened(self, lanes: Lanes, value: str) -> str:
        """Elements of an array as a panel holds them."""
        if self.memory == self.dtype:
            return value
        return lanes.convert("fpext", value, memory_type(self.memory), memory_type(self.dtype))

    def entry(self, fb: FunctionBuilder, table: str, index: str) -> str:
        at = fb.emit(f"getelementptr i64, ptr {table}, i64 {index}")
        return fb.emit(f"load i64, ptr {at}")

    def begin(self, name: str, params: Sequence[tuple[str, str]]) -> FunctionBuilder:
        return FunctionBuilder(self.module, f"{self.name}.{name}", list(params))

    def call(self, fb: FunctionBuilder, name: str, *arguments: str) -> None:
        fb.line(f"call void @{self.name}.{name}({', '.join(arguments)})")

    # Tables -----------------------------------------------------------------------------------

    def offsets(self) -> None:
        """The offsets of all places of a nest of loops, the last counting fastest.

        `axes` holds the size and the step of each, and then a size of 0.
        """
        params = [("ptr", "%table"), ("ptr", "%axes")]
        fb = FunctionBuilder(self.module, f"{self.name}_offsets", params, linkage="")
        fb.line("store i64 0, ptr %table")

        def axis(n: str, known: list[str]) -> list[str]:
            count, _ = known
            at = fb.integer("mul", n, "2")
            size, step = (
                self.entry(fb, "%axes", at),
                self.entry(fb, "%axes", fb.integer("add", at, "1")),
            )
            longer = fb.integer("mul", count, size)

            # From the last place on, none is overwritten before it has been read.
            def place(back: str, _: list[str]) -> list[str]:
                e = fb.integer("sub", fb.integer("sub", count, "1"), back)
                first = self.entry(fb, "%table", e)
                begin = fb.integer("mul", e, size)

                def one(q: str, _: list[str]) -> list[str]:
                    at = fb.emit(
                        f"getelementptr i64, ptr %table, i64 {fb.integer('add', begin, q)}"
                    )
                    moved = fb.integer("add", first, fb.integer("mul", q, step))
                    fb.line(f"store i64 {moved}, ptr {at}")
                    return []

                fb.do_while("0", size, "1", (), one)
                return []

            fb.do_while("0", count, "1", (), place)
            following = self.entry(fb, "%axes", fb.integer("add", at, "2"))
            return [longer, fb.emit(f"icmp eq i64 {following}, 0")]

        some = fb.emit(f"icmp ne i64 {self.entry(fb, '%axes', '0')}, 0")

        def all_axes() -> list[str]:
            begin = [("i64", "1"), ("i1", "false")]
            fb.do_while("0", str(2**62), "1", begin, axis, lambda known: known[1])
            return []

        fb.if_then(some, (), all_axes)
        fb.ret()
        fb.finish()

    # The kernel -------------------------------------------------------------------------------

    def tile_kernel(self, rows: int, vectors: int) -> None:
        """tile[r][v][j] = sum over p < k of a[p][r] * b[v][p][j]; b[1] begins at b + pitch."""
        params = (("ptr", "%a"), ("ptr", "%b"), ("i64", "%pitch"), ("i64", "%k"), ("ptr", "%tile"))
        fb = self.begin(f"tile{rows}x{vectors}", params)
        s, one = Lanes(fb, self.width), Lanes(fb)
        kind = s.type(self.dtype)
        streams = ["%b"]
        for _ in range(vectors - 1):
            streams.append(self.in_panel(fb, streams[-1], "%pitch"))

        def step(p: str, sums: Sequence[str]) -> list[str]:
            row = self.in_panel(fb, "%a", fb.integer("mul", p, str(self.rows)))
            column = fb.integer("mul", p, str(self.width))
            right = []
            for stream in streams:
                at = self.in_panel(fb, stream, column)
                right.append(fb.emit(f"load {kind}, ptr {at}, align {self.size}"))
            out = list(sums)
            for r in range(rows):
                at = self.in_panel(fb, row, str(r))
                x = fb.emit(f"load {one.type(self.dtype)}, ptr {at}, align {self.size}")
                left = s.splat(x, self.dtype)
                for v in range(vectors):
                    n = r * vectors + v
                    out[n] = s.intrinsic(self.fma, self.dtype, left, right[v], out[n])
            return out

        zeros = [s.const(0.0, self.dtype)] * (rows * vectors)
        kinds = [kind] * len(zeros)
        carried = list(zip(kinds, zeros, strict=True))
        pairs = fb.integer("and", "%k", "-2")

        def two(p: str, sums: list[str]) -> list[str]:
            return step(fb.integer("add", p, "1"), step(p, sums))

        sums = fb.if_then(
            fb.less("0", pairs), carried, lambda: fb.do_while("0", pairs, "2", carried, two)
        )
        odd = list(zip(kinds, sums, strict=True))
        sums = fb.if_then(fb.less(pairs, "%k"), odd, lambda: step(pairs, sums))
        for n, total in enumerate(sums):
            at = self.in_panel(fb, "%tile", str(n * self.width))
            fb.line(f"store {kind} {total}, ptr {at}, align {self.size}")
        fb.ret()
        fb.finish()

    # Packing ----------------------------------------------------------------------------------

    def pack(self, width: int) -> None:
        """to[g][p][lane] = from[lanes[g * width + lane] + sums[p]], `pitch` elements a group.

        Lanes from `n` on are left unread; what the panel holds for them is 0.
        """
        params = (
            ("ptr", "%to"),
            ("ptr", "%from"),
            ("ptr", "%lanes"),
            ("i64", "%n"),
            ("ptr", "%sums"),
            ("i64", "%k"),
            ("i64", "%pitch"),
        )
        fb = self.begin(f"pack{width}", params)

        def group(first: str, moved: list[str]) -> list[str]:
            (to,) = moved
            LaneGroup(self, fb, width, first, to).write()
            return [self.in_panel(fb, to, "%pitch")]

        fb.do_while("0", "%n", str(width), [("ptr", "%to")], group)
        fb.ret()
        fb.finish()

    # Results ----------------------------------------------------------------------------------

    def flush(self) -> None:
        """Store a tile of `rows` by `n`, or with `%more` add it to what is there."""
        params = (
            ("ptr", "%c"),
            ("ptr", "%rows"),
            ("i64", "%m"),
            ("ptr", "%columns"),
            ("i64", "%n"),
            ("ptr", "%tile"),
            ("i64", "%pitch"),
            ("i1", "%more"),
        )
        fb = self.begin("flush", params)
        s, one = Lanes(fb, self.width), Lanes(fb)

        def store(lanes: Lanes, to: str, value: str) -> None:
            kind, size = lanes.type(self.memory), bits(self.memory) // 8
            if self.memory != self.dtype:
                kinds = memory_type(self.dtype), memory_type(self.memory)
                value = lanes.convert("fptrunc", value, *kinds)

            def added() -> list[str]:
                old = fb.emit(f"load {kind}, ptr {to}, align {size}")
                return [lanes.op("fadd", self.memory, old, value)]

            (total,) = fb.if_then("%more", [(kind, value)], added)
            fb.line(f"store {kind} {total}, ptr {to}, align {size}")

        def vector(j: str, _: list[str]) -> list[str]:
            left = fb.integer("sub", "%n", j)
            full = fb.emit(f"icmp sge i64 {left}, {self.width}")
            first = self.entry(fb, "%columns", j)
            count = fb.emit(f"call i64 @llvm.smin.i64(i64 {left}, i64 {self.width})")
            fb.module.declare("llvm.smin.i64", "i64", ["i64", "i64"])
            last = self.entry(fb, "%columns", fb.integer("add", fb.integer("add", j, count), "-1"))
            span = fb.integer("sub", last, first)
            dense = fb.emit(f"icmp eq i64 {span}, {self.width - 1}")
            whole = fb.emit(f"and i1 {full}, {dense}")

            def row(r: str, _: list[str]) -> list[str]:
                base = self.in_array(fb, "%c", self.entry(fb, "%rows", r))
                place = fb.integer("add", fb.integer("mul", r, "%pitch"), j)
                source = self.in_panel(fb, "%tile", place)
                at_once, singly, done = (fb.fresh_label(x) for x in ("vector", "lanes", "done"))
                fb.cond_br(whole, at_once, singly)
                fb.block(at_once)
                value = fb.emit(f"load {s.type(self.dtype)}, ptr {source}, align {self.size}")
                store(s, self.in_array(fb, base, first), value)
                fb.br(done)
                fb.block(singly)

                def lane(q: str, _: list[str]) -> list[str]:
                    offset = self.entry(fb, "%columns", fb.integer("add", j, q))
                    at = self.in_panel(fb, source, q)
                    element = fb.emit(f"load {one.type(self.dtype)}, ptr {at}, align {self.size}")
                    store(one, self.in_array(fb, base, offset), element)
                    return []

                fb.do_while("0", count, "1", (), lane)
                fb.br(done)
                fb.block(done)
                return []

            fb.do_while("0", "%m", "1", (), row)
            return []

        fb.do_while("0", "%n", str(self.width), (), vector)
        fb.ret()
        fb.finish()

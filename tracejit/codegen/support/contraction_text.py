"""Products of two strided arrays summed, as LLVM text: packed panels and a kernel of tiles.

    C[rows_c[i] + columns_c[j]] = sum over p of A[rows_a[i] + sums_a[p]] B[columns_b[j] + sums_b[p]]

The tables count elements. A matrix product is the case in which they are multiples of a stride; in
a convolution the windows of an image overlap, and no copy of them is ever whole: a block of B goes
to a panel that stays in cache, lane by lane of a vector, then blocks of A, and a kernel adds up
tiles of C in registers. The arrangement is that of Goto and van de Geijn, "Anatomy of
high-performance matrix multiplication", ACM TOMS 34 (2008). `DEPTH` products at a time are added in
order, by fused multiply-adds where the machine has them, and the totals of such blocks in order.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.codegen.llvm.engine import HostTarget
from tracejit.codegen.llvm.lanes import Lanes, bits, memory_type
from tracejit.codegen.llvm.text import FunctionBuilder, Module
from tracejit.codegen.support.contraction_packing import LaneGroup
from tracejit.ir.dims import Dim

__all__ = [
    "COLUMNS",
    "DEPTH",
    "PARAMETERS",
    "ROWS",
    "SHARED",
    "SLOTS",
    "contraction_text",
    "scratch_bytes",
]

#: Terms of a sum that are added before the total goes to memory.
DEPTH = 256
#: Columns of B, and rows of A, that are packed at a time: blocks for the second level of cache.
COLUMNS, ROWS = 768, 64

PARAMETERS = (
    ("ptr", "%c"),
    ("ptr", "%a"),
    ("ptr", "%b"),
    ("ptr", "%rows_a"),
    ("ptr", "%rows_c"),
    ("i64", "%m"),
    ("ptr", "%columns_b"),
    ("ptr", "%columns_c"),
    ("i64", "%n"),
    ("ptr", "%sums_a"),
    ("ptr", "%sums_b"),
    ("i64", "%k"),
    ("ptr", "%scratch"),
)


#: Lanes of the widest vector, and by how many a panel may be longer than what it holds.
_LANES = 16
#: Products from which on several threads share a contraction, and how many at most: each packs
#: panels of its own.
SHARED, SLOTS = 1 << 23, 4


def scratch_bytes(m: Dim, n: Dim, k: Dim) -> int:
    """The memory that the packed panels of one thread need at most."""

    def most(size: Dim, block: int) -> int:
        return min(size, block) if isinstance(size, int) else block

    return most(k, DEPTH) * (most(m, ROWS) + most(n, COLUMNS) + 2 * _LANES) * 8


def contraction_text(name: str, dtype: str, target: HostTarget, wide: bool = False) -> str:
    """The module of the function `name` with `PARAMETERS`, for f32 or f64; it returns nothing.

    With `wide` blocks of f32 are added up in f64.
    """
    module = Module(target)
    _Contraction(module, name, dtype, "f64" if wide else dtype).write()
    return module.text()


class _Contraction:
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

    def write(self) -> None:
        self._offsets()
        for vectors in range(1, self.vectors + 1):
            for rows in self.heights:
                self._tile_kernel(rows, vectors)
        for width in {self.rows, self.width}:
            self._pack(width)
        self._flush()
        self._blocks()
        self._part()
        self._shared()

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

    def _begin(self, name: str, params: Sequence[tuple[str, str]]) -> FunctionBuilder:
        return FunctionBuilder(self.module, f"{self.name}.{name}", list(params))

    def _call(self, fb: FunctionBuilder, name: str, *arguments: str) -> None:
        fb.line(f"call void @{self.name}.{name}({', '.join(arguments)})")

    # Tables -----------------------------------------------------------------------------------

    def _offsets(self) -> None:
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

    def _tile_kernel(self, rows: int, vectors: int) -> None:
        """tile[r][v][j] = sum over p < k of a[p][r] * b[v][p][j]; b[1] begins at b + pitch."""
        params = (("ptr", "%a"), ("ptr", "%b"), ("i64", "%pitch"), ("i64", "%k"), ("ptr", "%tile"))
        fb = self._begin(f"tile{rows}x{vectors}", params)
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

    def _pack(self, width: int) -> None:
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
        fb = self._begin(f"pack{width}", params)

        def group(first: str, moved: list[str]) -> list[str]:
            (to,) = moved
            LaneGroup(self, fb, width, first, to).write()
            return [self.in_panel(fb, to, "%pitch")]

        fb.do_while("0", "%n", str(width), [("ptr", "%to")], group)
        fb.ret()
        fb.finish()

    # Results ----------------------------------------------------------------------------------

    def _flush(self) -> None:
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
        fb = self._begin("flush", params)
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

    # The loops around -------------------------------------------------------------------------

    def _blocks(self) -> None:
        fb = FunctionBuilder(self.module, self.name, PARAMETERS, linkage="")
        tile = fb.alloca(
            f"[{self.rows * self.vectors * self.width} x {memory_type(self.dtype)}]", 64
        )
        room, packed_a = self._panels(fb, "%scratch", ["%m", "%n", "%k"])[:2]

        def upto(begin: str, end: str, most: int) -> str:
            left = fb.integer("sub", end, begin)
            return fb.emit(f"call i64 @llvm.smin.i64(i64 {left}, i64 {most})")

        def table(name: str, at: str) -> str:
            return fb.emit(f"getelementptr i64, ptr %{name}, i64 {at}")

        def columns(j: str, _: list[str]) -> list[str]:
            n = upto(j, "%n", COLUMNS)

            def depth(p: str, _: list[str]) -> list[str]:
                k = upto(p, "%k", DEPTH)
                more = fb.less("0", p)
                self._call(
                    fb,
                    f"pack{self.width}",
                    "ptr %scratch",
                    "ptr %b",
                    f"ptr {table('columns_b', j)}",
                    f"i64 {n}",
                    f"ptr {table('sums_b', p)}",
                    f"i64 {k}",
                    f"i64 {fb.integer('mul', room, str(self.width))}",
                )

                def rows(i: str, _: list[str]) -> list[str]:
                    m = upto(i, "%m", ROWS)
                    self._call(
                        fb,
                        f"pack{self.rows}",
                        f"ptr {packed_a}",
                        "ptr %a",
                        f"ptr {table('rows_a', i)}",
                        f"i64 {m}",
                        f"ptr {table('sums_a', p)}",
                        f"i64 {k}",
                        f"i64 {fb.integer('mul', room, str(self.rows))}",
                    )
                    places = table("rows_c", i), m, table("columns_c", j), n
                    self._tiles(fb, tile, packed_a, room, *places, k, more)
                    return []

                fb.do_while("0", "%m", str(ROWS), (), rows)
                return []

            fb.do_while("0", "%k", str(DEPTH), (), depth)
            return []

        fb.do_while("0", "%n", str(COLUMNS), (), columns)
        fb.ret()
        fb.finish()

    def _panels(
        self, fb: FunctionBuilder, scratch: str, sizes: Sequence[str]
    ) -> tuple[str, str, str]:
        """The terms that a panel has room for, where that of A begins, and where both end."""
        fb.module.declare("llvm.smin.i64", "i64", ["i64", "i64"])
        m, n, k = (
            fb.emit(f"call i64 @llvm.smin.i64(i64 {size}, i64 {most})")
            for size, most in zip(sizes, (ROWS, COLUMNS, DEPTH), strict=True)
        )
        ends = [scratch]
        for size, lanes in ((n, self.width), (m, self.rows)):
            groups = fb.emit(f"udiv i64 {fb.integer('add', size, str(lanes - 1))}, {lanes}")
            held = fb.integer("mul", fb.integer("mul", groups, str(lanes)), k)
            ends.append(self.in_panel(fb, ends[-1], held))
        return k, ends[1], ends[2]

    # Several threads --------------------------------------------------------------------------

    def _context(self, fb: FunctionBuilder, context: str) -> list[str]:
        """Where the arguments are in the context of a part, and then which panels are in use."""
        kinds = [kind for kind, _ in PARAMETERS]
        self.struct = f"{{ {', '.join([*kinds, 'i64'])} }}"
        return [
            fb.emit(f"getelementptr {self.struct}, ptr {context}, i64 0, i32 {k}")
            for k in range(len(kinds) + 1)
        ]

    def _part(self) -> None:
        """The columns, or where there are more of them the rows, from `lo` to `hi`."""
        params = [("ptr", "%context"), ("i64", "%lo"), ("i64", "%hi")]
        fb = self._begin("part", params)
        *places, used = self._context(fb, "%context")
        given = {
            name[1:]: fb.emit(f"load {kind}, ptr {at}")
            for (kind, name), at in zip(PARAMETERS, places, strict=True)
        }

        def claim(_: str, __: list[str]) -> list[str]:
            old = fb.emit(f"load atomic i64, ptr {used} monotonic, align 8")
            free = fb.emit(f"xor i64 {old}, -1")
            fb.module.declare("llvm.cttz.i64", "i64", ["i64", "i1"])
            slot = fb.emit(f"call i64 @llvm.cttz.i64(i64 {free}, i1 true)")
            bit = fb.emit(f"shl i64 1, {slot}")
            new = fb.emit(f"or i64 {old}, {bit}")
            pair = fb.emit(f"cmpxchg ptr {used}, i64 {old}, i64 {new} acquire monotonic")
            return [slot, bit, fb.emit(f"extractvalue {{ i64, i1 }} {pair}, 1")]

        begin = [("i64", "0"), ("i64", "0"), ("i1", "false")]
        slot, bit, _ = fb.do_while("0", str(2**62), "1", begin, claim, lambda v: v[2])
        begin_, end = (
            fb.emit(f"ptrtoint ptr {x} to i64")
            for x in (
                given["scratch"],
                self._panels(fb, given["scratch"], [given[x] for x in "mnk"])[2],
            )
        )
        room = fb.integer("and", fb.integer("add", fb.integer("sub", end, begin_), "63"), "-64")
        count = fb.integer("sub", "%hi", "%lo")
        wide = fb.emit(f"icmp sge i64 {given['n']}, {given['m']}")
        for size, tables in (("n", ("columns_b", "columns_c")), ("m", ("rows_a", "rows_c"))):
            chosen = wide if size == "n" else fb.emit(f"xor i1 {wide}, true")
            given[size] = fb.emit(f"select i1 {chosen}, i64 {count}, i64 {given[size]}")
            for t in tables:
                moved = fb.emit(f"getelementptr i64, ptr {given[t]}, i64 %lo")
                given[t] = fb.emit(f"select i1 {chosen}, ptr {moved}, ptr {given[t]}")
        ahead = fb.integer("mul", slot, room)
        given["scratch"] = fb.emit(f"getelementptr i8, ptr {given['scratch']}, i64 {ahead}")
        args = ", ".join(f"{kind} {given[name[1:]]}" for kind, name in PARAMETERS)
        fb.line(f"call void @{self.name}({args})")
        kept = fb.emit(f"xor i64 {bit}, -1")
        fb.emit(f"atomicrmw and ptr {used}, i64 {kept} release")
        fb.ret()
        fb.finish()

    def _shared(self) -> None:
        """The whole, by the pool of threads where that pays; there is scratch for SLOTS then."""
        fb = FunctionBuilder(self.module, f"{self.name}_shared", PARAMETERS, linkage="")
        plain = ", ".join(f"{kind} {name}" for kind, name in PARAMETERS)
        alone, several, after = map(fb.fresh_label, ("alone", "several", "after"))
        self.module.declare("tj_parallel", "void", ["ptr", "ptr", "i64", "i64", "i64"])
        self.module.add_global("tj_threads", "external global i64")
        work = fb.integer("mul", fb.integer("mul", "%m", "%n"), "%k")
        threads = fb.emit("load atomic i64, ptr @tj_threads monotonic, align 8")
        long = fb.emit(f"icmp sge i64 {work}, {SHARED}")
        more = fb.emit(f"icmp sgt i64 {threads}, 1")
        fb.cond_br(fb.emit(f"and i1 {long}, {more}"), several, alone)
        fb.block(several)
        context = fb.alloca(f"{{ {', '.join([*(kind for kind, _ in PARAMETERS), 'i64'])} }}")
        *places, used = self._context(fb, context)
        for (kind, name), at in zip(PARAMETERS, places, strict=True):
            fb.line(f"store {kind} {name}, ptr {at}")
        fb.line(f"store i64 0, ptr {used}")
        fb.module.declare("llvm.smin.i64", "i64", ["i64", "i64"])
        fb.module.declare("llvm.smax.i64", "i64", ["i64", "i64"])
        most = fb.emit(f"call i64 @llvm.smin.i64(i64 {threads}, i64 {SLOTS})")
        size = fb.emit("call i64 @llvm.smax.i64(i64 %m, i64 %n)")
        align = self.rows * self.vectors * self.width
        self.module.declare("tj_parallel", "void", ["ptr", "ptr", "i64", "i64", "i64"])
        fb.line(
            f"call void @tj_parallel(ptr @{self.name}.part, ptr {context}, i64 {size}, "
            f"i64 {align}, i64 {most})"
        )
        fb.br(after)
        fb.block(alone)
        fb.line(f"call void @{self.name}({plain})")
        fb.br(after)
        fb.block(after)
        fb.ret()
        fb.finish()

    def _tiles(
        self,
        fb: FunctionBuilder,
        tile: str,
        packed: str,
        depth: str,
        rows: str,
        m: str,
        columns: str,
        n: str,
        k: str,
        more: str,
    ) -> None:
        """All tiles of a block: as wide as the columns that are left allow, four as two and two."""

        def row(i: str, _: list[str]) -> list[str]:
            left = self.in_panel(fb, packed, fb.integer("mul", i, depth))
            in_rows = fb.emit(f"getelementptr i64, ptr {rows}, i64 {i}")
            height = fb.emit(
                f"call i64 @llvm.smin.i64(i64 {fb.integer('sub', m, i)}, i64 {self.rows})"
            )
            head, after = fb.fresh_label("tiles"), fb.fresh_label("after")
            before = fb.label
            fb.br(head)
            fb.block(head)
            phi = fb.insertion_point()
            j = fb.fresh("j")
            rest = fb.integer("sub", n, j)
            have = fb.emit(f"udiv i64 {fb.integer('add', rest, str(self.width - 1))}, {self.width}")
            right = self.in_panel(fb, "%scratch", fb.integer("mul", j, depth))
            in_columns = fb.emit(f"getelementptr i64, ptr {columns}, i64 {j}")
            wide, next_label = [], fb.fresh_label("next")

            def use(vectors: int) -> None:
                width = vectors * self.width
                self._tile(fb, vectors, height, [left, right], depth, k, tile)
                count = fb.emit(f"call i64 @llvm.smin.i64(i64 {rest}, i64 {width})")
                self._call(
                    fb,
                    "flush",
                    "ptr %c",
                    f"ptr {in_rows}",
                    f"i64 {height}",
                    f"ptr {in_columns}",
                    f"i64 {count}",
                    f"ptr {tile}",
                    f"i64 {width}",
                    f"i1 {more}",
                )
                wide.append((str(width), fb.label))
                fb.br(next_label)

            labels = [fb.fresh_label("wide") for _ in range(self.vectors)]
            cases = [f"i64 1, label %{labels[0]}", f"i64 2, label %{labels[1]}"]
            if self.vectors > 2:
                cases.append(f"i64 4, label %{labels[1]}")
            fb.line(f"switch i64 {have}, label %{labels[-1]} [ {' '.join(cases)} ]")
            for k_, label in enumerate(labels):
                fb.block(label)
                use(k_ + 1)
            fb.block(next_label)
            moved = fb.phi("i64", wide)
            following = fb.integer("add", j, moved)
            more_left = fb.less(following, n)
            phi.lines.append(f"  {j} = phi i64 [ 0, %{before} ], [ {following}, %{fb.label} ]")
            fb.cond_br(more_left, head, after)
            fb.block(after)
            return []

        fb.do_while("0", m, str(self.rows), (), row)

    def _tile(
        self,
        fb: FunctionBuilder,
        vectors: int,
        height: str,
        panels: list[str],
        depth: str,
        k: str,
        tile: str,
    ) -> None:
        """Call the kernel of the fewest rows that are as many as `height`."""
        left, right = panels
        done = fb.fresh_label("done")
        for rows in self.heights:
            other = fb.fresh_label("taller")
            if rows < self.rows:
                fits, label = fb.less(height, str(rows + 1)), fb.fresh_label("fits")
                fb.cond_br(fits, label, other)
                fb.block(label)
            self._call(
                fb,
                f"tile{rows}x{vectors}",
                f"ptr {left}",
                f"ptr {right}",
                f"i64 {fb.integer('mul', depth, str(self.width))}",
                f"i64 {k}",
                f"ptr {tile}",
            )
            fb.br(done)
            fb.block(other if rows < self.rows else done)

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
from tracejit.codegen.llvm.lanes import memory_type
from tracejit.codegen.llvm.text import FunctionBuilder, Module
from tracejit.codegen.support.contraction_tiles import Tiles
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


class _Contraction(Tiles):
    def write(self) -> None:
        self.offsets()
        for vectors in range(1, self.vectors + 1):
            for rows in self.heights:
                self.tile_kernel(rows, vectors)
        for width in {self.rows, self.width}:
            self.pack(width)
        self.flush()
        self._blocks()
        self._part()
        self._shared()

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
                self.call(
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
                    self.call(
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
        fb = self.begin("part", params)
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
                self.call(
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
            self.call(
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

"""A kernel becomes launches: each loop nest of it one, or two where all threads add up together.

- Independent loops are divided among all threads, the innermost one along neighbours, by vectors
  where arrays lie so.
- Rows that a reduction runs along belong to a warp or a block each, by their length; short ones,
  and short columns, to a thread. Long columns are cut: threads add up parts of them, which are
  brought together.
- A reduction over everything, or of few long rows, is one launch of partial results, one for each
  block, and one whose blocks bring them together and go on.
- Stores in order, which data may send to one place, are sorted by their places: those to one place
  are a thread's. Where no order shows in the result they run side by side instead, as atomic
  updates. A running sum along one line is a library's.
- What else runs in order runs in one thread for each of the independent loops around it.
- Anything else is done by one block, which is right for every kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracejit.codegen.accesses import accessed
from tracejit.codegen.cuda.atomics import side_by_side
from tracejit.codegen.cuda.columns import columns_of
from tracejit.codegen.cuda.combine import Combiner, combiners
from tracejit.codegen.cuda.launches import (
    Accumulate,
    Argument,
    Launch,
    Launches,
    Limits,
    Order,
    Scratch,
    Shape,
    Step,
)
from tracejit.codegen.cuda.narrow import narrow_sums
from tracejit.codegen.cuda.rows import rows_of
from tracejit.codegen.cuda.structure import (
    SHORT,
    Part,
    by_rows,
    independent,
    is_ordered,
    name_carried,
    names_bound,
    names_in,
    needed,
    parts_of,
    sunk,
    symbols_of,
    width,
)
from tracejit.codegen.cuda.sweeps import sweep_of, vectors_of_sweeps
from tracejit.codegen.cuda.vectors import vectors_of
from tracejit.codegen.cuda.writer import Writer
from tracejit.ir.dims import Dim, prod, symbol
from tracejit.ir.kernel import (
    Call,
    Check,
    Const,
    Expr,
    For,
    If,
    Kernel,
    Let,
    Reduce,
    ScanLoop,
    Stmt,
    Store,
    Var,
    While,
)

__all__ = ["plan_launches"]

_ZERO = Const(0, "i64")
#: The first column of a block of threads, and as many as all have.
_BLOCK_X, _BLOCKS_X = "int64(cuda.blockIdx.x)*_nx", "int64(cuda.gridDim.x)*_nx"
#: A reduction over everything of no more elements is one block's.
_SMALL = 4096


def plan_launches(kernel: Kernel, limits: Limits, flagged: bool = False) -> Launches:
    """The launches that together do what the kernel does.

    Where earlier launches may have set the flag (`flagged`), what has places that data tell does
    nothing then: only checks have made these places safe.
    """
    kernel = replace(kernel, body=narrow_sums(kernel.body))
    parts = parts_of(kernel.body)
    if parts is None:
        ordered = any(isinstance(s, (ScanLoop, While, If, Check)) for s in kernel.body)
        parts = [Part("alone" if ordered else "block", (), tuple(kernel.body))]
    plan = _Plan(
        kernel, limits, flagged and bool(names_bound(kernel.body) & symbols_of(kernel.body))
    )
    for part in parts:
        plan.add(part)
    return Launches(tuple(plan.launches), tuple(plan.scratch), plan.checks)


class _Plan:
    def __init__(self, kernel: Kernel, limits: Limits, guarded: bool) -> None:
        self.kernel, self.limits, self.guarded = kernel, limits, guarded
        self.launches: list[Step] = []
        self.scratch: list[Scratch] = []
        self.checks = False

    def add(self, part: Part) -> None:
        """Write the launches of a group of statements."""
        if part.kind == "block":
            self._one_block(part)
        elif part.kind == "alone":
            self._map(part, [], part.body)
        elif part.kind == "sum":
            s = part.body[0]
            assert isinstance(s, Reduce)
            small = isinstance(s.size, int) and s.size <= _SMALL
            if small or not self._is_known(s.size):
                self._one_block(part)
            else:
                self._two_steps(part, (), part.body)
        else:
            self._nest(part)

    # Forms of launches --------------------------------------------------------------------------

    def _nest(self, part: Part) -> None:
        (nest,) = part.body
        loops: list[For] = []
        body: Sequence[Stmt] = (nest,)
        while len(body) == 1 and isinstance(body[0], (For, ScanLoop)):
            loop = independent(body[0])
            if loop is None or not self._is_known(loop.size):
                break
            loops.append(loop)
            body = sunk(loop.body)
        free = side_by_side(body, {p.name: p.dtype for p in self.kernel.params})
        if free is not None and all(self._is_known(loop.size) for loop in free[0]):
            self._map(part, [*loops, *free[0]], free[1])
        elif self._is_ordered_store(body):
            self._ordered(part, loops, body)
        elif not loops and (scan := self._scan_of(body)) is not None:
            self._scan(part, *scan)
        elif by_rows(body) and self._is_shared(loops, body):
            self._two_steps(part, loops, body)
        elif by_rows(body):
            self._rows(part, loops, body)
        elif self._by_columns(loops, body):
            self._columns(part, loops, body)
        else:
            self._map(part, loops, body)

    def _map(self, part: Part, loops: Sequence[For], body: Sequence[Stmt]) -> None:
        w = self._writer()
        outer, inner = loops[:-1], loops[-1] if loops else None
        x: Dim = 1 if inner is None else inner.size
        y, each = prod([loop.size for loop in outer]), 1
        self._before(w, part)
        if outer:
            w.line("_row = int64(cuda.blockIdx.y) * cuda.blockDim.y + cuda.threadIdx.y")
            w.line("_rows = int64(cuda.gridDim.y) * cuda.blockDim.y")
        w.line("_x = int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x")
        if inner is None:
            with w.inside("if _x == 0:"):
                w.alone(body)
        else:
            w.line("_threads = int64(cuda.gridDim.x) * cuda.blockDim.x")
            vectors = vectors_of(self.kernel, loops, body)
            with self._over_rows(w, outer):
                if vectors is None:
                    w.line(f"{inner.var} = _x")
                else:
                    vectors.write(w, "_x", "_threads")
                    each = vectors.count
                with w.below(inner.var, w.dim(x), "_threads"):
                    w.alone(body)
        self._launch(w, Shape("map", x, y, each))

    def _is_ordered_store(self, body: Sequence[Stmt]) -> bool:
        """Whether loops in order only store, of elements at places that data tell."""
        sizes: list[Dim] = []
        while len(body) == 1 and isinstance(body[0], ScanLoop) and not body[0].carries:
            sizes.append(body[0].size)
            body = body[0].body
        known = all(map(self._is_known, sizes)) and self.limits.routines
        if not sizes or not known or not all(isinstance(s, (Let, Store)) for s in body):
            return False
        stores = [s for s in body if isinstance(s, Store)]
        if len({s.buffer for s in stores}) != 1 or any(len(s.index) != 1 for s in stores):
            return False
        total = prod(sizes)
        near = all(isinstance(s.index[0] - stores[0].index[0], int) for s in stores)
        return near and not (isinstance(total, int) and total <= SHORT)

    def _ordered(self, part: Part, outer: Sequence[For], body: Sequence[Stmt]) -> None:
        """Stores in order: those to one place follow each other in a thread of their own.

        Their keys are the places; sorted, with equal ones as they are, those of one place stand
        together, in order.
        """
        loops: list[tuple[str, Dim]] = [(x.var, x.size) for x in outer]
        while len(body) == 1 and isinstance(body[0], ScanLoop):
            loops.append((body[0].var, body[0].size))
            body = body[0].body
        count = prod([size for _, size in loops])
        first = next(s for s in body if isinstance(s, Store))
        keys, positions = (self._scratch("i64", total=count) for _ in range(2))
        w = self._writer()
        self._before(w, part)
        w.line("_k = int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x")
        w.line("_threads = int64(cuda.gridDim.x) * cuda.blockDim.x")
        lets = needed([s for s in body if isinstance(s, Let)], [replace(first, expr=_ZERO)])
        with w.inside(f"while _k < {w.dim(count)}:"):
            w.decode("_k", loops)
            w.alone(lets)
            w.line(f"{keys}[_k] = int64({w.place(first.buffer, first.index)})")
            w.line("_k += _threads")
        self._launch(w, Shape("map", count), [keys])
        first_array, second_array = (int(x.removeprefix("_part")) for x in (keys, positions))
        self.launches.append(Order(first_array, second_array, count))
        w = self._writer()
        self._before(w, part)
        w.line("_k = int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x")
        w.line("_threads = int64(cuda.gridDim.x) * cuda.blockDim.x")
        with w.inside(f"while _k < {w.dim(count)}:"):
            w.line(f"_p = {positions}[_k]")
            w.line(f"_key = {keys}[_p]")
            w.line("_is_first = True")
            with w.inside("if _k > 0:"):
                w.line(f"_is_first = {keys}[{positions}[_k - 1]] != _key")
            with w.inside("if _is_first:"):
                w.line("_j = _k")
                with w.inside("while True:"):
                    w.decode("_p", loops)
                    w.alone(body)
                    w.line("_j += 1")
                    with w.inside(f"if _j >= {w.dim(count)}:"):
                        w.line("break")
                    w.line(f"_p = {positions}[_j]")
                    with w.inside(f"if {keys}[_p] != _key:"):
                        w.line("break")
            w.line("_k += _threads")
        self._launch(w, Shape("map", count), [keys, positions])

    def _scan_of(self, body: Sequence[Stmt]) -> tuple[str, ScanLoop, Expr] | None:
        """The function, the loop and the term of a running sum or product of one line."""
        if len(body) != 1 or not isinstance(body[0], ScanLoop) or not self.limits.routines:
            return None
        s = body[0]
        stores = [x for x in s.body if isinstance(x, Store)]
        lets = {x.name: x.expr for x in s.body if isinstance(x, Let)}
        if len(s.carries) != 1 or len(stores) != 1 or len(lets) + 1 != len(s.body):
            return None
        (c,), (store,) = s.carries, stores
        step = lets.get(c.next.name) if isinstance(c.next, Var) else None
        long = self._is_known(s.size) and not (isinstance(s.size, int) and s.size <= SHORT)
        if not long or not isinstance(step, Call) or step.fn not in ("add", "multiply"):
            return None
        if c.dtype == "f16" or step.args[0] != Var(c.name, c.dtype) or store.expr != c.next:
            return None
        if store.index != (symbol(s.var),) or c.name in names_in([Let("", "", step.args[1])]):
            return None
        others = [Let("", "", e) for name, e in lets.items() if e is not step]
        if {c.name, c.next.name} & names_in(others):  # type: ignore[union-attr]
            return None
        # What is added up lies in the result's memory meanwhile.
        if store.buffer in accessed(s.body)[0]:
            return None
        return step.fn, s, step.args[1]

    def _scan(self, part: Part, function: str, s: ScanLoop, term: Expr) -> None:
        """The terms where the results belong, then a library's running sum."""
        store = next(x for x in s.body if isinstance(x, Store))
        lets = [x for x in s.body if isinstance(x, Let) and x.expr is not None]
        made = needed([x for x in lets if x.name != name_carried(s)], [Let("", "", term)])
        body: tuple[Stmt, ...] = (*made, replace(store, expr=term))
        self._map(part, [For(s.var, s.size, body)], body)
        self.launches.append(Accumulate(function, store.buffer, term.dtype, s.size))

    def _by_columns(self, loops: Sequence[For], body: Sequence[Stmt]) -> bool:
        """Whether a long reduction across rows is to be shared by threads of a column."""
        found = [s for s in body if isinstance(s, Reduce)]
        if not loops or len(found) != 1 or is_ordered(found[0]):
            return False
        (s,) = found
        if not all(isinstance(x, (Let, Store, Reduce)) for x in body) or accessed(s.body)[1]:
            return False
        return not (isinstance(s.size, int) and s.size <= SHORT) and self._is_known(s.size)

    def _columns(self, part: Part, loops: Sequence[For], body: Sequence[Stmt]) -> None:
        """Partial results of each column, then the columns themselves."""
        at = next(k for k, s in enumerate(body) if isinstance(s, Reduce))
        before, s, after = body[:at], body[at], body[at + 1 :]
        assert isinstance(s, Reduce)
        columns = prod([loop.size for loop in loops])
        names = [(loop.var, loop.size) for loop in loops]
        total = self._writer().dim(columns)
        form = columns_of(self._writer(), loops, s, bool(before))
        w = self._writer(self.limits.block)
        self._begin_columns(w, part)
        form.aligned(w)
        with w.counting("_first", f"{form.count}*{_BLOCK_X}", total, f"{form.count}*{_BLOCKS_X}"):
            w.line(f"_c = _first + {form.count}*_tx")
            shares = form.shares(s)
            parts = [p for share in shares for p in share]
            for p in parts:
                p.begin(w)
            with w.inside(f"if _c < {total}:"):
                w.decode("_c", names)
                w.alone(before)
                form.accumulate(w, s, shares)
            w.join_columns(parts)
            held = [
                [(self._scratch(d, columns, form.count), d) for d in p.dtypes] for p in shares[0]
            ]
            with w.inside(f"if _ty == 0 and _c < {total}:"):
                for j, share in enumerate(shares):
                    for p, arrays in zip(share, held, strict=True):
                        for name, (array, d) in zip(p.names, arrays, strict=True):
                            place = f"cuda.blockIdx.y * ({total}) + _c + {j}"
                            w.line(f"{array}[{place}] = {_stored(name, d)}")
            w.meet()
        given = [array for arrays in held for array, _ in arrays]
        self._launch(w, Shape("columns", columns, s.size, form.count), given)
        w = self._writer(self.limits.block)
        self._begin_columns(w, part)
        parts = combiners(s)
        with w.counting("_first", _BLOCK_X, total, _BLOCKS_X):
            w.line("_c = _first + _tx")
            for p in parts:
                p.begin(w)
            with w.inside(f"if _c < {total}:"), w.counting("_k", "_ty", "_blocks", "_ny"):
                self._join_parts(w, parts, held, f"_k * ({total}) + _c")
            w.join_columns(parts)
            with w.inside(f"if _ty == 0 and _c < {total}:"):
                w.decode("_c", names)
                w.alone(before)
                w.finish(s, parts)
                w.alone(after)
            w.meet()
        self._launch(w, Shape("columns", columns), given, blocks=True)

    def _begin_columns(self, w: Writer, part: Part) -> None:
        for name in ("x", "y"):
            w.line(f"_t{name} = int64(cuda.threadIdx.{name})")
            w.line(f"_n{name} = int64(cuda.blockDim.{name})")
        w.line("_t = _ty * _nx + _tx")
        self._before(w, part)

    def _join_parts(
        self,
        w: Writer,
        parts: Sequence[Combiner],
        held: Sequence[Sequence[tuple[str, str]]],
        place: str,
    ) -> None:
        for p, arrays in zip(parts, held, strict=True):
            others = []
            for array, d in arrays:
                others.append(w.fresh())
                w.line(f"{others[-1]} = {array}[{place}]" + (" != 0" if d == "b1" else ""))
            p.join(w, others)

    def _rows(self, part: Part, loops: Sequence[For], body: Sequence[Stmt]) -> None:
        plan = rows_of(self._writer(), self.kernel, self.limits, loops, body)
        w = self._writer(plan.threads if plan is not None else 0)
        self._begin_block(w)
        self._before(w, part)
        w.line("_row = int64(cuda.blockIdx.x) * cuda.blockDim.y + cuda.threadIdx.y")
        w.line("_rows = int64(cuda.gridDim.x) * cuda.blockDim.y")
        with self._over_rows(w, loops):
            if plan is None:
                w.together(body)
            else:
                plan.write(w, body)
        width = Shape("rows", self._known_width(body), prod([loop.size for loop in loops]))
        self._launch(w, width if plan is None else plan.shape(loops))

    def _one_block(self, part: Part) -> None:
        w = self._writer()
        self._begin_block(w)
        self._before(w, part)
        w.together(part.body)
        self._launch(w, Shape("rows", self._known_width(part.body), 1))

    def _is_shared(self, loops: Sequence[For], body: Sequence[Stmt]) -> bool:
        """Whether rows are so few and long that several blocks share each."""
        rows = prod([loop.size for loop in loops])
        found = [s for s in body if isinstance(s, Reduce)]
        few = isinstance(rows, int) and 0 < rows <= max(2, self.limits.grid // 16)
        if len(found) != 1 or not few:
            return False
        (s,) = found
        if is_ordered(s) or accessed(s.body)[1] or not self._is_known(s.size):
            return False
        long = not isinstance(s.size, int) or s.size > _SMALL
        return long and all(isinstance(x, (Let, Store, Reduce)) for x in body)

    def _two_steps(self, part: Part, loops: Sequence[For], body: Sequence[Stmt]) -> None:
        """Partial results of blocks, for each row of loops, then what becomes of them."""
        at = next(k for k, s in enumerate(body) if isinstance(s, Reduce))
        before, s, after = body[:at], body[at], body[at + 1 :]
        assert isinstance(s, Reduce)
        rows = prod([loop.size for loop in loops])
        w = self._writer(self.limits.block)
        self._begin_block(w)
        self._before(w, part)
        w.line("_x = int64(cuda.blockIdx.x) * cuda.blockDim.x + _t")
        w.line("_all = int64(cuda.gridDim.x) * cuda.blockDim.x")
        w.line("_row = int64(cuda.blockIdx.y)")
        w.line("_rows = int64(cuda.gridDim.y)")
        parts, sweep = combiners(s), sweep_of(w, s)
        outer = {loop.var for loop in loops}
        vectors = None if sweep is None else vectors_of_sweeps(w, [sweep], s.size, outer)

        def add(position: str) -> None:
            for p in parts:
                p.add(w, w.expr(p.target.expr), position)

        with self._over_rows(w, loops):
            w.alone(before)
            for p in parts:
                p.begin(w)
            if sweep is None or vectors is None:
                w.accumulate(s, "_x", "_all", parts)
            else:
                vectors.aligned(w)
                vectors.over(w, sweep, "_x", "_all", vectors.most([sweep]), add)
            w.join_row(parts)
            held = [[(self._scratch(d), d) for d in p.dtypes] for p in parts]
            with w.inside("if _t == 0:"):
                for p, arrays in zip(parts, held, strict=True):
                    for name, (array, d) in zip(p.names, arrays, strict=True):
                        place = "_row * cuda.gridDim.x + cuda.blockIdx.x"
                        w.line(f"{array}[{place}] = {_stored(name, d)}")
        given = [array for arrays in held for array, _ in arrays]
        each = 1 if vectors is None else vectors.count
        self._launch(w, Shape("partial", s.size, rows, each), given)
        w = self._writer(self.limits.block)
        self._begin_block(w)
        self._before(w, part)
        w.line("_row = int64(cuda.blockIdx.x)")
        w.line("_rows = int64(cuda.gridDim.x)")
        with self._over_rows(w, loops):
            w.alone(before)
            for p in parts:
                p.begin(w)
            with w.counting("_k", "_t", "_blocks", "_threads"):
                self._join_parts(w, parts, held, "_row * _blocks + _k")
            w.combine(s, parts)
            w.together(after)
        self._launch(w, Shape("rows", self.limits.block, rows), given, blocks=True)

    def _is_known(self, d: Dim) -> bool:
        """Whether a size is known before the kernel runs."""
        return isinstance(d, int) or d.symbols <= set(self.kernel.sizes)

    def _known_width(self, body: Sequence[Stmt]) -> Dim:
        found = width(body)
        return found if self._is_known(found) else self.limits.block

    # Their parts --------------------------------------------------------------------------------

    def _writer(self, threads: int = 0) -> Writer:
        w = Writer(self.kernel, self.limits, threads)
        w.indent()
        return w

    def _begin_block(self, w: Writer) -> None:
        w.line("_t = int64(cuda.threadIdx.x)")
        w.line("_threads = " + str(w.threads or "int64(cuda.blockDim.x)"))

    def _before(self, w: Writer, part: Part) -> None:
        for s in part.before:
            w.alone([s])

    def _over_rows(self, w: Writer, loops: Sequence[For]):  # type: ignore[no-untyped-def]
        return w.over_rows([(loop.var, loop.size) for loop in loops])

    def _scratch(self, dtype: str, each: Dim = 1, wide: int = 1, total: Dim | None = None) -> str:
        self.scratch.append(Scratch(dtype, each, wide, total))
        return f"_part{len(self.scratch) - 1}"

    def _launch(
        self, w: Writer, shape: Shape, scratch: Sequence[str] = (), blocks: bool = False
    ) -> None:
        k = self.kernel
        name = f"{k.name}_{len(self.launches)}" if self.launches else k.name
        given: list[tuple[str, Argument, str]] = []
        body = "\n".join(w.lines)
        for p in k.params:
            given.append((p.name, ("buffer", p.name), f"{p.dtype}*"))
        for array in scratch:
            number = int(array.removeprefix("_part"))
            given.append((array, ("scratch", str(number)), f"{self.scratch[number].dtype}*"))
        if w.checks or self.guarded:
            given.append(("_flag", ("flag", ""), "i32*"))
        self.checks |= w.checks
        for size in k.sizes:
            given.append((size, ("size", size), "i64"))
        if blocks:
            given.append(("_blocks", ("blocks", ""), "i64"))
        for v in k.scalars:
            given.append((v.name, ("scalar", v.name), v.dtype))
        if self.guarded:
            body = f"    if _flag[0] != 0:\n        return\n{body}"
        mentioned = set(_words(body))
        given = [g for g in given if g[0] in mentioned]
        head = f"def {name}({', '.join(g[0] for g in given)}):"
        shared = ["    " + line for line in w.shared_lines()]
        source = "\n".join([head, *shared, body, ""])
        signature = tuple(g[2] for g in given)
        self.launches.append(Launch(name, source, signature, tuple(g[1] for g in given), shape))


def _stored(name: str, dtype: str) -> str:
    return f"uint8({name})" if dtype == "b1" else name


def _words(text: str) -> list[str]:
    out, word = [], ""
    for c in text:
        if c.isalnum() or c == "_":
            word += c
        elif word:
            out.append(word)
            word = ""
    return [*out, word]

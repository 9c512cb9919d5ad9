"""A row that threads share: its loops one after another, and what goes from one to the next.

    for i0:                                 each thread keeps its elements of x, and then of e,
        m = max of x[i0, i1]                in registers: x is loaded once, and e is not stored
        o[i0] = m                           before it is divided
        s = sum of (e[i0, i1] = exp(x[i0, i1] - o[i0]))
        for i1: e[i0, i1] = e[i0, i1] / s

A row of known size has as few threads as hold all of it, but where rows are few: a warp exchanges
registers without waiting, and more requests of a thread are in flight. The loops of other rows go
on by some vectors at a time. All loops have the same thread take the same elements, so that threads
need not wait for what each of them stores and loads itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.accesses import accessed
from tracejit.codegen.cuda.combine import Combiner, combiners
from tracejit.codegen.cuda.launches import Limits, Shape
from tracejit.codegen.cuda.structure import is_ordered
from tracejit.codegen.cuda.sweeps import (
    LINES,
    Access,
    Held,
    Sweep,
    Vectors,
    sweep_of,
    vectors_of_sweeps,
)
from tracejit.codegen.cuda.vectors import loads_of
from tracejit.codegen.cuda.writer import Writer
from tracejit.codegen.llvm.lanes import bits
from tracejit.ir.dims import Dim, prod
from tracejit.ir.kernel import For, Kernel, Let, Load, Reduce, Stmt, Store

__all__ = ["Rows", "rows_of"]

#: Elements of an array that a thread holds at most, and 32-bit registers of all arrays.
_ELEMENTS, _REGISTERS = 32, 64


@dataclass(frozen=True)
class Rows:
    """How threads share each row of some loops: `threads` of them, or 0 where the host decides.

    `each` is how many vectors one takes at a time. Where `threads` are known that is all of its
    part of a row, and the accesses of `held` stay in registers from loop to loop.
    """

    size: Dim
    sweeps: Mapping[int, Sweep]
    vectors: Vectors
    threads: int
    each: int
    held: frozenset[Access]

    def shape(self, loops: Sequence[For]) -> Shape:
        """The shape of the launch."""
        rows = prod([loop.size for loop in loops])
        if self.threads:
            return Shape("rows", self.threads, rows)
        return Shape("rows", self.size, rows, self.each * self.vectors.count)

    def write(self, w: Writer, body: Sequence[Stmt]) -> None:
        """The statements of one row."""
        self.vectors.aligned(w)
        row = _Row(self, w, body)
        for k, s in enumerate(body):
            row.statement(k, s)


def rows_of(
    w: Writer, kernel: Kernel, limits: Limits, loops: Sequence[For], body: Sequence[Stmt]
) -> Rows | None:
    """The plan of a row; None where its loops are not of one size, or not independent."""
    sweeps: dict[int, Sweep] = {}
    for s in body:
        if isinstance(s, (Let, Store)):
            continue
        found = sweep_of(w, s) if isinstance(s, (For, Reduce)) else None
        if found is None or isinstance(s, Reduce) and is_ordered(s):
            return None
        sweeps[id(s)] = found
    sizes = {s.loop.size for s in sweeps.values()}
    if len(sizes) != 1:
        return None
    (size,) = sizes
    if not isinstance(size, int) and not size.symbols <= set(kernel.sizes):
        return None
    every = list(sweeps.values())
    outer = {loop.var for loop in loops}
    vectors = vectors_of_sweeps(w, every, size, outer)
    lines = sum(s.lines for s in every)
    if vectors.count * lines > LINES:
        vectors = Vectors(1, frozenset(), ())
    held = _held(w, body, sweeps)
    rows = prod([loop.size for loop in loops])
    threads = _threads(limits, rows, size, vectors.count, lines)
    if threads and isinstance(size, int):
        each = -(-size // (threads * vectors.count))
        return Rows(
            size, sweeps, vectors, threads, each, _affordable(w, held, each * vectors.count)
        )
    return Rows(size, sweeps, vectors, 0, vectors.most(every), frozenset())


def _threads(limits: Limits, rows: Dim, size: Dim, count: int, lines: int) -> int:
    """As few as hold a row, more where rows are few; 0 where a block does not hold it."""
    if not isinstance(size, int):
        return 0
    most = max(count, min(_ELEMENTS, LINES // lines) // count * count)
    threads = limits.warp
    while threads < limits.block and threads * most < size:
        threads *= 2
    if threads * most < size:
        return 0
    busy = limits.grid * limits.warp
    while isinstance(rows, int) and threads < limits.block and threads * count < size:
        if 2 * rows * threads > busy:
            break
        threads *= 2
    return threads


def _held(w: Writer, body: Sequence[Stmt], sweeps: Mapping[int, Sweep]) -> list[Access]:
    """What a later loop loads again where no other access stores into the array meanwhile."""
    known: set[Access] = set()
    found: dict[Access, None] = {}
    for s in body:
        sweep = sweeps.get(id(s))
        if sweep is not None:
            found |= dict.fromkeys(a for a in sweep.loads if a in known)
            known |= {*sweep.loads}
            written = {*sweep.stores.values()}
            changed = accessed([s])[1]
            known = {a for a in known if a[0] not in changed} | written
        elif isinstance(s, Store):
            known = {a for a in known if a[0] != s.buffer}
    return list(found)


def _affordable(w: Writer, held: Sequence[Access], elements: int) -> frozenset[Access]:
    left, found = _REGISTERS, set[Access]()
    for access in held:
        left -= elements * max(1, bits(w.dtypes[access[0]]) // 32)
        if left >= 0:
            found.add(access)
    return frozenset(found)


class _Row:
    """The statements of a row under construction."""

    def __init__(self, plan: Rows, w: Writer, body: Sequence[Stmt]) -> None:
        self.plan, self.w, self.body = plan, w, body
        self.held: Held = {}
        #: The values of elements that one thread has stored, and all have.
        self.stored: dict[Access, str] = {}
        #: Arrays of which threads access only their own elements.
        self.own = self._own()

    def statement(self, k: int, s: Stmt) -> None:
        w = self.w
        self._give(s)
        self._meet_before(s)
        match s:
            case Let():
                w.alone([s])
            case Store():
                value = w.expr(s.expr)
                with w.inside("if _t == 0:"):
                    w.store(s)
                w.forget(s.buffer)
                self._changed({s.buffer}, {})
                self.stored[s.buffer, w.offset(s.buffer, s.index)] = value
            case For():
                self._sweep(k, s, self.plan.sweeps[id(s)])
            case Reduce():
                parts = combiners(s)
                for part in parts:
                    part.begin(w)
                self._sweep(k, s, self.plan.sweeps[id(s)], parts)
                w.combine(s, parts)

    def _sweep(self, k: int, s: For | Reduce, sweep: Sweep, parts: Sequence[Combiner] = ()) -> None:
        w, plan, vectors = self.w, self.plan, self.plan.vectors

        def each(position: str) -> None:
            for part in parts:
                part.add(w, w.expr(part.target.expr), position)

        found: Held = {}
        if plan.threads:
            assert isinstance(plan.size, int)
            for e in sweep.same.values():
                w.expr(e)
            places, apart = [], plan.threads * vectors.count
            for begin in range(0, plan.each * apart, apart):
                place = f"{vectors.count}*_t + {begin}"
                whole = begin + apart <= plan.size
                places.append((place, "" if whole else f"{place} < {plan.size}"))
            found = vectors.load(w, sweep, places, apart, self.held)
            found = vectors.compute(w, sweep, places, found, self._overwritten(k, sweep), each)
        else:
            vectors.over(w, sweep, "_t", "_threads", plan.each, each)
        changed = accessed([s])[1]
        for buffer in changed:
            w.forget(buffer)
        self._changed(changed, found)

    def _changed(self, buffers: set[str], found: Held) -> None:
        """What is known of arrays that were stored into, and what is held after a loop."""
        for access in [a for a in self.stored if a[0] in buffers]:
            del self.stored[access]
        self.held = {a: v for a, v in self.held.items() if a[0] not in buffers}
        self.held |= {a: v for a, v in found.items() if a in self.plan.held}

    def _give(self, s: Stmt) -> None:
        """Have names stand for what a statement loads and all threads know."""
        w = self.w
        for e in loads_of([s]):
            value = self.stored.get((e.buffer, w.offset(e.buffer, e.index)))
            if value is not None:
                w.give(e, value)

    def _overwritten(self, k: int, sweep: Sweep) -> frozenset[Access]:
        """What a loop stores that no one reads before a later loop stores it, too."""
        return frozenset(a for a in sweep.stores.values() if self._is_overwritten(k, a))

    def _is_overwritten(self, k: int, access: Access) -> bool:
        if access not in self.plan.held:
            return False
        for s in self.body[k + 1 :]:
            sweep = self.plan.sweeps.get(id(s))
            loads, stores = accessed([s])
            if sweep is None:
                if access[0] in loads | stores:
                    return False
                continue
            near = {a for a in (*sweep.loads, *sweep.stores.values()) if a[0] == access[0]}
            others = {e.buffer for e in sweep.same.values()} | sweep.moved
            if near - {access} or access[0] in others:
                return False
            if access in sweep.stores.values():
                return True
        return False

    def _own(self) -> set[str]:
        """Arrays that are accessed at one element for each position, and nowhere else."""
        places: dict[str, set[Access]] = {}
        others: set[str] = set()
        for s in self.body:
            sweep = self.plan.sweeps.get(id(s))
            if sweep is None:
                others |= set.union(*accessed([s]))
                continue
            for a in (*sweep.loads, *sweep.stores.values()):
                places.setdefault(a[0], set()).add(a)
            others |= {e.buffer for e in sweep.same.values()} | sweep.moved
        return {b for b, found in places.items() if len(found) == 1 and b not in others}

    def _meet_before(self, s: Stmt) -> None:
        """Wait where a thread loads what another one has stored, or stores over what it loads."""
        loads, stores = accessed([s])
        known = {e.buffer for e in loads_of([s]) if not self._is_known(e)}
        self.w.meet_before((loads & known) - self.own, stores - self.own)

    def _is_known(self, e: Load) -> bool:
        return (e.buffer, self.w.offset(e.buffer, e.index)) in self.stored

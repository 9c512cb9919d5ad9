"""A loop that threads share, of which each takes several vectors at a time.

    for i1 in range(1024): r3 += x_in[1024*i0 + i1]

    _1, _2, _3, _4, _5, _6, _7, _8, ... = fn_loads4x8(x_in, 1024*i0 + 4*_t, 128, _aligned)
    r3 += _1; r3 += _2; ...

All is loaded before anything is computed: memory is busy while a thread has several requests in
flight. Elements that are neighbours go by one instruction where they are aligned. Which thread
takes which element, and in which order, does not depend on addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TypeAlias

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.affine import split_linear
from tracejit.codegen.cuda.atomics import ATOMICS
from tracejit.codegen.cuda.vectors import cost, kept, parts_of_statement
from tracejit.codegen.cuda.writer import Writer
from tracejit.codegen.llvm.lanes import bits
from tracejit.ir.dims import Dim, free_symbols, substitute, symbol
from tracejit.ir.kernel import Call, For, IndexValue, Let, Load, Reduce, Store
from tracejit.ir.polynomials import terms_of

__all__ = ["LINES", "Access", "Held", "Sweep", "Vectors", "sweep_of", "vectors_of_sweeps"]

#: Bytes of a vector, lines of all elements of a thread at most, and what a branch counts as: a
#: compiler's time.
_BYTES, LINES, _BRANCH = 16, 1000, 8
#: Vectors of a thread in flight where it goes on afterwards.
_VECTORS = 4
#: What stands for the position in an access.
_POSITION = "_p"

#: A buffer, and the offset of its element at position `_p`.
Access: TypeAlias = tuple[str, Dim]
#: The values at some positions of a thread, vector by vector.
Held: TypeAlias = dict[Access, list[list[str]]]


@dataclass(frozen=True)
class Sweep:
    """A loop whose iterations do not see each other.

    `loads` are at places that do not depend on what the body binds, `same` those of one element for
    all positions, and `stores` at such places; `moved` are the buffers that are accessed elsewhere.
    `lines`: what one element takes. `counted`: the position is a value, too.
    """

    loop: For | Reduce
    loads: dict[Access, dict[int, Load]]
    same: dict[int, Load]
    stores: dict[int, Access]
    moved: frozenset[str]
    lines: int
    counted: bool


def sweep_of(w: Writer, loop: For | Reduce) -> Sweep | None:
    """What a loop accesses; None where elements could not all be loaded before any is stored.

    No iteration reads what another one stores. What one reads and stores itself of an array must be
    one element, which is read first.
    """
    if not all(isinstance(s, (Let, Store)) for s in loop.body):
        return None
    bound = {s.name for s in loop.body if isinstance(s, Let)}
    quotients = loop.quotients if isinstance(loop, Reduce) else ()
    bound |= {name for name, _ in quotients}
    counted = bool(quotients)
    loads: dict[Access, dict[int, Load]] = {}
    same: dict[int, Load] = {}
    stores: dict[int, Access] = {}
    elsewhere: set[str] = set()
    moved: set[str] = set()
    stored: set[str] = set()
    ends = [Let("", t.dtype, t.expr) for t in loop.targets] if isinstance(loop, Reduce) else []
    for s in (*loop.body, *ends):
        for e in parts_of_statement(s):
            if isinstance(e, Call) and e.fn in {"wrap_index", *ATOMICS}:
                return None
            if isinstance(e, IndexValue):
                counted |= loop.var in free_symbols(e.dim)
            if not isinstance(e, Load):
                continue
            if e.buffer in stored:
                return None
            access = _access(w, e, loop.var, bound)
            if access is None:
                elsewhere.add(e.buffer)
                counted = True
            elif _POSITION in free_symbols(access[1]):
                loads.setdefault(access, {})[id(e)] = e
            else:
                same[id(e)] = e
        if isinstance(s, Store):
            if s.buffer in stored:
                return None
            stored.add(s.buffer)
            access = _access(w, s, loop.var, bound)
            if access is None or _POSITION not in free_symbols(access[1]):
                moved.add(s.buffer)
                counted = True
            else:
                stores[id(s)] = access
    places = dict(stores.values())
    if any(b in stored and places.get(b) != o for b, o in loads):
        return None
    if stored & {*elsewhere, *(e.buffer for e in same.values())}:
        return None
    if isinstance(loop, Reduce):
        counted |= any(t.combine in ("argmin", "argmax") for t in loop.targets)
    return Sweep(loop, loads, same, stores, frozenset(moved | elsewhere), _lines(w, loop), counted)


def _access(w: Writer, e: Load | Store, var: str, bound: set[str]) -> Access | None:
    offset = w.offset(e.buffer, e.index)
    if bound & free_symbols(offset) or split_linear(offset, var) is None:
        return None
    return e.buffer, substitute(offset, {var: symbol(_POSITION)})


def _lines(w: Writer, loop: For | Reduce) -> int:
    trial = w.trial()
    if isinstance(loop, Reduce):
        trial.accumulate(loop, "0", "1")
    else:
        trial.alone(loop.body)
    branches = sum(line.lstrip().startswith(("if ", "elif ", "else:")) for line in trial.lines)
    return cost(trial.lines) + _BRANCH * branches


@dataclass(frozen=True)
class Vectors:
    """How sweeps take `count` neighbours at once: `accesses`, where all `tests` are aligned."""

    count: int
    accesses: frozenset[Access]
    tests: tuple[Access, ...]

    def most(self, sweeps: Sequence[Sweep]) -> int:
        """How many vectors of each a thread has in flight."""
        return max(1, min(_VECTORS, LINES // (self.count * sum(s.lines for s in sweeps))))

    def aligned(self, w: Writer) -> None:
        """Bind `_aligned`."""
        if self.count == 1:
            return
        found = [
            f"fn_aligned({b}, {w.dim(rest)}, {self.count * bits(w.dtypes[b]) // 8})"
            for b, rest in self.tests
        ]
        w.line(f"_aligned = {' & '.join(found)}")

    def over(
        self,
        w: Writer,
        sweep: Sweep,
        start: str,
        step: str,
        vectors: int,
        each: Callable[[str], None],
    ) -> None:
        """The vectors of a sweep from the one at `start` on, every `step`-th, some at a time.

        What is less than a vector goes one by one.
        """
        loop, n = sweep.loop, self.count
        for e in sweep.same.values():
            w.expr(e)
        size = w.dim(loop.size)
        whole, left = size, n > 1
        if isinstance(loop.size, int):
            whole, left = str(loop.size - loop.size % n), loop.size % n > 0
        elif left:
            whole = w.fresh()
            w.line(f"{whole} = int64({size}) & {-n}")
        at = w.fresh()
        with w.counting(at, f"{n}*{start}", whole, f"{vectors * n}*{step}"):
            places = [(at, "")]
            for v in range(1, vectors):
                place = w.fresh()
                w.line(f"{place} = {at} + {v * n}*{step}")
                places.append((place, f"{place} < {whole}"))
            self.compute(w, sweep, places, self.load(w, sweep, places), each=each)
        if left:
            with w.counting(loop.var, f"{whole} + {start}", size, step):
                w.quotients(loop)
                w.alone(loop.body)
                each(loop.var)

    def load(
        self,
        w: Writer,
        sweep: Sweep,
        places: Sequence[tuple[str, str]],
        apart: int = 0,
        held: Mapping[Access, list[list[str]]] | None = None,
    ) -> Held:
        """What some vectors of a sweep read: `places` are the positions of the first elements, each
        with the condition under which there is such a vector, or "": the first ones, which are
        `apart`. What is `held` is known.
        """
        known = held or {}
        return {
            access: known[access] if access in known else self._load(w, access, places, apart)
            for access in sweep.loads
        }

    def compute(
        self,
        w: Writer,
        sweep: Sweep,
        places: Sequence[tuple[str, str]],
        found: Held,
        skipped: frozenset[Access] = frozenset(),
        each: Callable[[str], None] = lambda position: None,
    ) -> Held:
        """Some vectors of a sweep, of which `found` are loaded; what is `skipped` is not stored.

        `each` is called where an element is computed, with its position. Gives the values that the
        elements accessed have afterwards.
        """
        loop = sweep.loop
        stored = dict[Access, list[list[str]]]()
        for v, (place, condition) in enumerate(places):
            texts: dict[int, list[str]] = {}
            with w.under(condition):
                for j in range(self.count):
                    with w.apart():
                        if sweep.counted:
                            w.line(f"{loop.var} = {_plus(place, j)}")
                        for access, loads in sweep.loads.items():
                            for e in loads.values():
                                w.give(e, found[access][v][j])
                        w.quotients(loop)
                        for s in loop.body:
                            if not (isinstance(s, Store) and id(s) in sweep.stores):
                                w.alone([s])
                                continue
                            access = sweep.stores[id(s)]
                            value = kept(w, w.expr(s.expr))
                            stored.setdefault(access, [[] for _ in places])[v].append(value)
                            if access not in skipped:
                                text = kept(w, w.in_memory(s.buffer, value))
                                texts.setdefault(id(s), []).append(text)
                        each(loop.var)
                for s in loop.body:
                    if id(s) in texts:
                        self._store(w, sweep.stores[id(s)], place, texts[id(s)])
        return {**found, **stored}

    def _load(
        self, w: Writer, access: Access, places: Sequence[tuple[str, str]], apart: int
    ) -> list[list[str]]:
        buffer, offset = access
        raw = [[w.fresh() for _ in range(self.count)] for _ in places]
        step = _step(offset)
        assert step is not None
        # Those without a condition at once.
        whole = sum(not condition for _, condition in places)
        near = access in self.accesses or self.count == 1
        several = [raw[:whole]] if near and whole else [[x] for x in raw[:whole]]
        groups = [*several, *([x] for x in raw[whole:])]
        at = 0
        for vectors in groups:
            place, condition = places[at]
            at += len(vectors)
            names = [name for vector in vectors for name in vector]
            given = f"{buffer}, {_at(w, offset, place)}"
            with w.under(condition):
                if access in self.accesses:
                    call = f"fn_loads{self.count}x{len(vectors)}({given}, {apart}, _aligned)"
                else:
                    steps = w.dim(step * apart if near else step)
                    call = f"fn_loads1x{len(names)}({given}, {steps}, False)"
                w.line(f"{', '.join(names)}{',' * (len(names) == 1)} = {call}")
        values = []
        for (_, condition), names in zip(places, raw, strict=True):
            with w.under(condition) if w.loaded(buffer, "x") != "x" else nullcontext():
                values.append([kept(w, w.loaded(buffer, name)) for name in names])
        return values

    def _store(self, w: Writer, access: Access, place: str, values: Sequence[str]) -> None:
        buffer, offset = access

        if access in self.accesses:
            at = _at(w, offset, place)
            w.line(f"fn_put{self.count}({buffer}, {at}, _aligned, ({', '.join(values)}))")
            return
        for j, value in enumerate(values):
            w.line(f"{buffer}[{_at(w, offset, _plus(place, j))}] = {value}")


def _plus(place: str, j: int) -> str:
    return f"{place} + {j}" if j else place


def _at(w: Writer, offset: Dim, place: str) -> str:
    """The text of an offset at a position, which is a sum of products."""
    split = split_linear(offset, _POSITION)
    assert split is not None
    step, rest = split
    steps = place if step == 1 else f"({w.dim(step)})*({place})"
    return steps if rest == 0 else f"{w.dim(rest)} + {steps}"


def vectors_of_sweeps(
    w: Writer, sweeps: Sequence[Sweep], size: Dim, outer: set[str], most: int = _BYTES
) -> Vectors:
    """The vectors of loops over the same positions, for each iteration of loops around them."""
    accesses = {a for s in sweeps for a in (*s.loads, *s.stores.values())}
    near = {a for a in accesses if _step(a[1]) == 1}
    widest = max((bits(w.dtypes[b]) for b, _ in near), default=0)
    count = min(most, _BYTES * 8 // widest) if widest else 1
    if isinstance(size, int) and (size % count if outer else size < count):
        count = 1
    near = {a for a in near if _may_be_aligned(a[1], count, outer)}
    if count == 1 or not near:
        return Vectors(1, frozenset(), ())
    tests = dict.fromkeys((b, substitute(o, {_POSITION: 0})) for b, o in sorted(near, key=str))
    return Vectors(count, frozenset(near), tuple(tests))


def _step(offset: Dim) -> Dim | None:
    split = split_linear(offset, _POSITION)
    return None if split is None else split[0]


def _may_be_aligned(offset: Dim, count: int, outer: set[str]) -> bool:
    """Returns False if rows are known to begin between vectors."""
    rest = substitute(offset, {_POSITION: 0})
    return not any(c % count and (not m or outer.issuperset(m)) for m, c in terms_of(rest))

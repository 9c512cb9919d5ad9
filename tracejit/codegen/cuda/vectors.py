"""Threads that take several neighbouring elements at once, which one instruction loads or stores.

    if fn_aligned(x_in, 0, 16) & fn_aligned(o0, 0, 16):
        _2 = 4*_x
        while _2 < 200:
            _3, _4, _5, _6 = fn_load4(x_in, _2)
            ...
            fn_store4(o0, _2, (_7, _8, _9, _10))
            _2 += 4*_threads
        i0 = 200 + _x
    while i0 < 200: ...

Memory is busiest with requests of 16 bytes for each thread. The elements of the widest type are as
many as that; arrays of narrower ones move fewer bytes at once. A vector must lie at a multiple of
its own size, which views need not, nor rows of any length: the kernel looks at the addresses. What
is left over, or lies elsewhere, goes one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.affine import split_linear
from tracejit.codegen.cuda.atomics import ATOMICS
from tracejit.codegen.cuda.device_functions import LIBRARY, SOURCES
from tracejit.codegen.cuda.launches import Limits
from tracejit.codegen.cuda.writer import Writer
from tracejit.codegen.llvm.lanes import bits
from tracejit.ir.dims import Dim, free_symbols, substitute, symbol
from tracejit.ir.kernel import (
    Call,
    Expr,
    For,
    IndexValue,
    Kernel,
    Let,
    Load,
    Stmt,
    Store,
    expressions,
    inner_bodies,
)
from tracejit.ir.polynomials import terms_of

__all__ = ["Vectors", "cost", "kept", "loads_of", "parts_of_statement", "vectors_of"]

_BYTES = 16
#: Vectors of one step at most, which registers hold at the same time, and lines of all its
#: elements, of which a call of the library has so many: where there is more to compute, memory is
#: not what is waited for, and the compiler has all of it once for each element.
_MOST, _LINES, _CALL = 8, 256, 16


@dataclass(frozen=True)
class Vectors:
    """How a loop takes `count` elements at once.

    `loads` are those of neighbours, by their places, `same` those of one place for all of them;
    `tests` the places, where the loop begins, that are to be aligned. `counted`: the number of the
    iteration is a value, too.
    """

    count: int
    loop: For
    body: Sequence[Stmt]
    loads: dict[tuple[str, Dim], dict[int, Load]]
    same: dict[int, Load]
    tests: list[tuple[str, Dim]]
    counted: bool

    def write(self, w: Writer, start: str, step: str) -> None:
        """The loop of whole vectors, as far as all of them are aligned.

        Afterwards the loop's variable is where one that goes on by `step` is to begin.
        """
        n, var = self.count, self.loop.var
        w.line(f"{var} = {start}")
        aligned = [
            f"fn_aligned({b}, {w.dim(rest)}, {n * bits(w.dtypes[b]) // 8})"
            for b, rest in self.tests
        ]
        size = self.loop.size
        with w.inside(f"if {' & '.join(aligned)}:"):
            whole = str(size - size % n) if isinstance(size, int) else w.fresh()
            if not isinstance(size, int):
                w.line(f"{whole} = int64({w.dim(size)}) & {-n}")
            first = w.fresh()
            with w.counting(first, f"{n}*{start}", whole, f"{n}*{step}"):
                self._step(w, first)
            w.line(f"{var} = {whole} + {start}")

    def _step(self, w: Writer, first: str) -> None:
        """One vector of each array: all is loaded before anything is stored."""
        n, var = self.count, self.loop.var
        held: dict[tuple[str, Dim], list[str]] = {}
        for buffer, offset in self.loads:
            names = held[buffer, offset] = [w.fresh() for _ in range(n)]
            place = w.dim(substitute(offset, {var: symbol(first)}))
            w.line(f"{', '.join(names)} = fn_load{n}({buffer}, {place})")
        for e in self.same.values():
            w.expr(e)
        stores = [s for s in self.body if isinstance(s, Store)]
        values: dict[str, list[str]] = {s.buffer: [] for s in stores}
        for k in range(n):
            with w.apart():
                if self.counted:
                    w.line(f"{var} = {first} + {k}")
                for at, names in held.items():
                    name = kept(w, w.loaded(at[0], names[k]))
                    for e in self.loads[at].values():
                        w.give(e, name)
                for s in self.body:
                    if isinstance(s, Store):
                        values[s.buffer].append(kept(w, w.element(s)))
                    else:
                        w.alone([s])
        for s in stores:
            place = w.dim(substitute(w.offset(s.buffer, s.index), {var: symbol(first)}))
            w.line(f"fn_store{n}({s.buffer}, {place}, ({', '.join(values[s.buffer])}))")


def kept(w: Writer, value: str) -> str:
    """A name for a value that the next element does not bind again."""
    if value[0] == "_" and value.isidentifier():
        return value
    name = w.fresh()
    w.line(f"{name} = {value}")
    return name


def vectors_of(kernel: Kernel, loops: Sequence[For], body: Sequence[Stmt]) -> Vectors | None:
    """How the innermost loop goes by vectors; None where that is not known to be right, or to pay.

    The loads of several iterations then come before all their stores. No iteration reads what
    another one stores, nor, which is looked at here, what it has stored itself: what is both loaded
    and stored of an array is one place. Where an array is stored into, no other name stands for its
    memory: see `Param`.
    """
    if not loops or not all(isinstance(s, (Let, Store)) for s in body):
        return None
    w = Writer(kernel, Limits())
    loop = loops[-1]
    known = {*kernel.sizes, *(x.var for x in loops)}
    loads: dict[tuple[str, Dim], dict[int, Load]] = {}
    same: dict[int, Load] = {}
    counted = False
    stored: dict[str, Dim] = {}
    for s in body:
        for e in parts_of_statement(s):
            if isinstance(e, Call) and e.fn in {"wrap_index", *ATOMICS}:
                return None
            if isinstance(e, IndexValue):
                counted |= loop.var in free_symbols(e.dim)
            if isinstance(e, Load):
                offset = w.offset(e.buffer, e.index)
                step = _step_of(offset, loop.var, known)
                if step is None or e.buffer in stored:
                    return None
                (loads.setdefault((e.buffer, offset), {}) if step else same)[id(e)] = e
        if isinstance(s, Store):
            offset = w.offset(s.buffer, s.index)
            if _step_of(offset, loop.var, known) != 1 or s.buffer in stored:
                return None
            stored[s.buffer] = offset
    read = [*loads, *((e.buffer, w.offset(e.buffer, e.index)) for e in same.values())]
    if any(stored.get(buffer, offset) != offset for buffer, offset in read):
        return None
    places = list(dict.fromkeys([*loads, *stored.items()]))
    if not stored or len(places) > _MOST:
        return None
    count = _BYTES * 8 // max(bits(w.dtypes[buffer]) for buffer, _ in places)
    tests = _tests(places, loops, count)
    if tests is None or isinstance(loop.size, int) and loop.size < count:
        return None
    w.alone(body)
    if cost(w.lines) * count > _LINES:
        return None
    return Vectors(count, loop, body, loads, same, tests, counted)


def cost(lines: Sequence[str]) -> int:
    """How many lines these are, with what they call."""
    called = [name for line in lines for name in re.findall(r"\bfn_(\w+)", line)]
    large = {*LIBRARY, "quotient", "rest"}
    sizes = (_LINES if f in SOURCES else _CALL if f in large else 0 for f in called)
    return len(lines) + sum(sizes)


def parts_of_statement(s: Stmt) -> Iterator[Expr]:
    """The expressions of a statement and all inside of them, each once."""
    stack, seen = list(expressions(s)), set[int]()
    while stack:
        e = stack.pop()
        if id(e) not in seen:
            seen.add(id(e))
            yield e
            stack += e.args if isinstance(e, Call) else ()


def loads_of(body: Sequence[Stmt]) -> Iterator[Load]:
    """The loads of statements and all inside of them."""
    for s in body:
        yield from (e for e in parts_of_statement(s) if isinstance(e, Load))
        for inner in inner_bodies(s):
            yield from loads_of(inner)


def _step_of(offset: Dim, var: str, known: set[str]) -> int | None:
    """Whether a place goes on with the loop by 1 or stays, 0; None for any other."""
    split = split_linear(offset, var)
    if split is None or not free_symbols(offset) <= known:
        return None
    return split[0] if isinstance(split[0], int) and split[0] in (0, 1) else None


def _tests(
    places: Sequence[tuple[str, Dim]], loops: Sequence[For], count: int
) -> list[tuple[str, Dim]] | None:
    """The places to be aligned where the innermost loop begins; None where they hardly all are.

    Most arrays begin aligned: a place or a row that then is not decides without a look.
    """
    outer = {loop.var for loop in loops[:-1]}
    found: list[tuple[str, Dim]] = []
    for buffer, offset in places:
        rest = substitute(offset, {loops[-1].var: 0})
        if any(c % count and outer.issuperset(m) for m, c in terms_of(rest)):
            return None
        if not any(b == buffer and isinstance(rest - other, int) for b, other in found):
            found.append((buffer, rest))
    return found

"""Columns that a reduction runs along: each thread takes some neighbours, and several rows at once.

i1 = _y                                   i1 = _y + _ys
_1, _2, _3, _4 = x[i1, _c:_c+4]           _5, _6, _7, _8 = x[i1, _c:_c+4]
r3_0 += _1 + ... r3_3 += _4               r3_0 += _5 ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.cuda.combine import Combiner, combiners
from tracejit.codegen.cuda.sweeps import Held, Sweep, Vectors, sweep_of, vectors_of_sweeps
from tracejit.codegen.cuda.writer import Writer
from tracejit.ir.dims import Dim, Poly, free_symbols, substitute
from tracejit.ir.kernel import For, Reduce
from tracejit.ir.polynomials import terms_of

__all__ = ["Columns", "columns_of"]

#: Columns of a thread at most: each has accumulators of its own.
_MOST = 4
_ALONE = Vectors(1, frozenset(), ())


@dataclass(frozen=True)
class Columns:
    """How a thread takes `vectors.count` neighbouring columns; `sweep` goes along them.

    It is None where the terms of a column cannot all be loaded first.
    """

    sweep: Sweep | None
    vectors: Vectors

    @property
    def count(self) -> int:
        """The columns of a thread."""
        return self.vectors.count

    def aligned(self, w: Writer) -> None:
        """Bind what `accumulate` looks at."""
        self.vectors.aligned(w)

    def shares(self, s: Reduce) -> list[list[Combiner]]:
        """What accumulates the targets, for each column."""
        if self.count == 1:
            return [combiners(s)]
        return [
            combiners(
                replace(s, targets=tuple(replace(t, name=f"{t.name}_{j}") for t in s.targets))
            )
            for j in range(self.count)
        ]

    def accumulate(self, w: Writer, s: Reduce, shares: Sequence[Sequence[Combiner]]) -> None:
        """Accumulate a thread's part of its columns, from the one at `_c` on."""
        w.line("_y = int64(cuda.blockIdx.y) * _ny + _ty")
        w.line("_ys = int64(cuda.gridDim.y) * _ny")
        if self.sweep is None:
            w.accumulate(s, "_y", "_ys", list(shares[0]))
            return
        sweep, places = self.sweep, [("_column", "")]
        w.line(f"_column = {sweep.loop.var}")
        rows = self.vectors.most([sweep])
        size = w.dim(s.size)
        with w.counting("_r", "_y", size, f"{rows}*_ys"):
            at = ["_r", *(f"_r{k}" for k in range(1, rows))]
            loaded: list[Held] = []
            for k, row in enumerate(at):
                if k:
                    w.line(f"{row} = _r + {k}*_ys")
                with w.under(f"{row} < {size}" if k else ""), w.apart():
                    self._begin(w, s, row)
                    loaded.append(self.vectors.load(w, sweep, places))
            for k, (row, found) in enumerate(zip(at, loaded, strict=True)):
                with w.under(f"{row} < {size}" if k else ""), w.apart():
                    self._begin(w, s, row)
                    self.vectors.compute(w, sweep, places, found, each=_adding(w, s, shares))

    def _begin(self, w: Writer, s: Reduce, row: str) -> None:
        w.line(f"{s.var} = {row}")
        w.quotients(s)


def _adding(w: Writer, s: Reduce, shares: Sequence[Sequence[Combiner]]) -> Callable[[str], None]:
    """Returns what accumulates the term of one column after the other."""
    left = iter(shares)

    def add(_: str) -> None:
        for part, t in zip(next(left), s.targets, strict=True):
            part.add(w, w.expr(t.expr), s.var)

    return add


def columns_of(w: Writer, loops: Sequence[For], s: Reduce, alone: bool) -> Columns:
    """How threads take the columns that loops go over; one by one where they are `alone`."""
    loop = loops[-1]
    sweep = sweep_of(w, replace(s, var=loop.var, size=loop.size, quotients=()))
    if sweep is None:
        return Columns(None, _ALONE)
    outer = {*(x.var for x in loops[:-1]), s.var, *(name for name, _ in s.quotients)}
    vectors = vectors_of_sweeps(w, [sweep], loop.size, outer, _MOST)
    known = isinstance(loop.size, int) and not alone
    if not known or not all(_is_alike(rest, outer, vectors.count) for _, rest in vectors.tests):
        vectors = _ALONE
    first = dict.fromkeys(outer, 0)
    tests = dict.fromkeys((b, substitute(rest, first)) for b, rest in vectors.tests)
    return Columns(sweep, replace(vectors, tests=tuple(tests)))


def _is_alike(rest: Dim, outer: set[str], count: int) -> bool:
    """Whether all rows are aligned where the first one is."""
    return not any(c % count and outer & free_symbols(Poly(((m, 1),))) for m, c in terms_of(rest))

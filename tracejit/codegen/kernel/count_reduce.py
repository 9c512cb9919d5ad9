"""How many of a loop's truths hold, in lanes: a vector of them becomes bits, which are counted."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.codegen.kernel.accumulate import Parts
from tracejit.codegen.kernel.truth_bits import TruthBits
from tracejit.codegen.kernel.vectorize import counted_truths

__all__ = ["Counting"]

#: Vectors that one iteration counts.
_STREAMS = 4


class Counting(TruthBits):
    """A sum of truths in i64, whose own loop runs in lanes."""

    def block(self, begin: str, end: str) -> list[Parts]:
        (total,) = self.over_bits(begin, end, _STREAMS, self._truths, ["0"], self._count)
        return [[[total]]]

    def _truths(self) -> Sequence[str]:
        values = self.values
        counted = counted_truths(self.reduce)
        assert counted is not None
        body, truth = counted
        self.quotients()
        self.statements(body)
        term = values.evaluate(truth)
        return [values.operand(term, stream) for stream in range(values.streams)]

    def _count(self, position: str, state: Sequence[str], bits: Sequence[str]) -> list[str]:
        fb, width = self.fb, self.values.width
        flags, (total,) = f"i{width}", state
        for holds in bits:
            count = holds
            if width > 1:
                ctpop = fb.module.declare(f"llvm.ctpop.{flags}", flags, [flags])
                count = fb.emit(f"call {flags} {ctpop}({flags} {holds})")
            count = count if width == 64 else fb.emit(f"zext {flags} {count} to i64")
            total = fb.integer("add", total, count)
        return [total]

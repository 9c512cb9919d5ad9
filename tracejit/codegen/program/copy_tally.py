"""What the loops of a program copy, counted while it runs, and what plain Python would take there.

A program whose loops copy arrays keeps two sums on its stack: the bytes that its loops have copied,
and nanoseconds that plain Python would take for their iterations, by a rough estimate. At the end
it leaves both in memory of its own, `@program.copied`, for the entry to read: zeros where little
was copied. A program without such copies has none of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tracejit.codegen.analysis.buffer_plan import copies_word
from tracejit.codegen.analysis.liveness import is_array
from tracejit.ir.dataflow import DataflowGraph, Frame
from tracejit.ir.dims import free_symbols
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType

if TYPE_CHECKING:
    from tracejit.codegen.program.timing import Emission

__all__ = ["LEAST_BYTES", "CopyTally", "knows_iterations"]

#: Bytes from which on the entry is told: some 10 ms.
LEAST_BYTES = 1 << 26
#: Nanoseconds that Python takes for what a node says of numbers, and of arrays.
_NUMBER, _ARRAY = 60, 400


class CopyTally:
    """The sums of one program under emission."""

    def __init__(self, e: Emission, graph: DataflowGraph) -> None:
        self.e = e
        self._bytes = e.fb.alloca("i64", initial="0")
        self._plain = e.fb.alloca("i64", initial="0")
        self._costs: dict[Frame, int] = {}
        for section in graph.sections:
            cost = self._costs.get(section.frame, 0)
            self._costs[section.frame] = cost + sum(map(_cost, section.nodes))

    def copied(self, values: Iterable[Value]) -> None:
        """Count arrays as copied, those whose sizes the program knows here."""
        e = self.e
        for v in values:
            if isinstance(v.type, ArrayType) and free_symbols(v.type.size) <= e.env.keys():
                self._add(self._bytes, e.dim(v.type.size * v.type.dtype.itemsize))

    def iterated(self, frame: Frame) -> None:
        """Count one iteration of a loop."""
        self._add(self._plain, str(self._costs.get(frame, 0)))

    def _add(self, place: str, amount: str) -> None:
        fb = self.e.fb
        before = fb.emit(f"load i64, ptr {place}")
        fb.line(f"store i64 {fb.emit(f'add i64 {before}, {amount}')}, ptr {place}")

    def end(self, program: str) -> None:
        """Leave the sums where the entry reads them."""
        fb, symbol = self.e.fb, copies_word(program)
        words = self.e.module.add_global(symbol, "dso_local global [2 x i64] zeroinitializer")
        copied = fb.emit(f"load i64, ptr {self._bytes}")
        much = fb.emit(f"icmp uge i64 {copied}, {LEAST_BYTES}")
        told = fb.emit(f"select i1 {much}, i64 {copied}, i64 0")
        fb.line(f"store i64 {told}, ptr {words}")
        plain = fb.emit(f"load i64, ptr {self._plain}")
        place = fb.emit(f"getelementptr i64, ptr {words}, i64 1")
        fb.line(f"store i64 {plain}, ptr {place}")


def knows_iterations(graph: DataflowGraph) -> bool:
    """Whether all loops of a program are those of its flat form: kernels have none of their own,
    and no function calls itself."""
    return not any(
        node.op.kind == "call" or node.regions and node.op.kind != "fusion"
        for _, node in graph.nodes()
    )


def _cost(node: Node) -> int:
    """What plain Python takes for a node, in ns."""
    nodes = [n for r in node.regions for n in r.nodes] if node.op.kind == "fusion" else [node]
    return sum(_ARRAY if any(map(is_array, n.outputs)) else _NUMBER for n in nodes)

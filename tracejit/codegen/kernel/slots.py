"""Accumulators that registers do not hold: arrays on the stack."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.codegen.kernel.combine import Combine
from tracejit.codegen.llvm.lanes import Lanes, bits, memory_type, register_type

__all__ = ["Slots"]


def _slot_type(dtype: str) -> str:
    # A b1 is a byte in memory; an f16 stays the float that its register is.
    return memory_type(dtype) if dtype == "b1" else register_type(dtype)


class Slots:
    """The accumulators of one target on the stack: `count` slots of `s.width` lanes each."""

    def __init__(self, s: Lanes, combine: Combine, count: int) -> None:
        self._combine = combine
        self._arrays = [
            s.fb.alloca(
                f"[{count * s.width} x {_slot_type(d)}]",
                align=max(1, s.width * bits("f32" if d == "f16" else d) // 8),
            )
            for d in combine.dtypes
        ]

    def _addresses(self, s: Lanes, element: str) -> list[tuple[str, str, str]]:
        return [
            (
                d,
                s.of(_slot_type(d)),
                s.fb.emit(f"getelementptr {_slot_type(d)}, ptr {array}, i64 {element}"),
            )
            for d, array in zip(self._combine.dtypes, self._arrays, strict=True)
        ]

    def load(self, s: Lanes, element: str) -> list[str]:
        """The parts of the slot that begins at an element."""
        out = []
        for dtype, kind, address in self._addresses(s, element):
            raw = s.fb.emit(f"load {kind}, ptr {address}")
            out.append(s.convert("trunc", raw, "i8", "i1") if dtype == "b1" else raw)
        return out

    def store(self, s: Lanes, element: str, parts: Sequence[str]) -> None:
        """Write the parts of the slot that begins at an element."""
        for (dtype, kind, address), part in zip(self._addresses(s, element), parts, strict=True):
            raw = s.convert("zext", part, "i1", "i8") if dtype == "b1" else part
            s.fb.line(f"store {kind} {raw}, ptr {address}")

"""Stacks of a program on a device: arrays in the device's memory, scalars in the host's.

Both memories of a stack have the same offsets and the same capacity.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracejit.codegen.analysis.liveness import is_array
from tracejit.codegen.device.context import DeviceContext
from tracejit.codegen.program.stacks import StackMemory, Stacks
from tracejit.ir.graph import Value

__all__ = ["DeviceStacks"]


class DeviceStacks(Stacks):
    """See `Stacks`."""

    e: DeviceContext

    def begin(self) -> None:
        super().begin()
        self._there = {name: self.e.fb.alloca("ptr", 8, "null") for name in self._memory}

    def _own_memory(self) -> int:
        return 0

    def free(self) -> None:
        fb = self.e.fb
        with self.e.hosting():
            super().free()
        for cell in self._there.values():
            self.e.release("", fb.emit(f"load ptr, ptr {cell}"))

    def _extend(self, m: StackMemory, used: str, wanted: str) -> str:
        e, fb = self.e, self.e.fb
        cell = self._there[m.name]
        with e.hosting():
            block = super()._extend(m, used, wanted)
        some = fb.emit(f"icmp ne ptr {block}, null")

        def there() -> Sequence[str]:
            # As much as there is on the host now.
            size = fb.emit(f"load i64, ptr {m.room(e)}")
            return [
                fb.emit(f"call ptr @tjd_extend(ptr {cell}, i64 {used}, i64 {size}, ptr {e.stream})")
            ]

        (found,) = fb.if_then(some, [("ptr", "null")], there)
        return found

    def _places(
        self, m: StackMemory, record: Sequence[Value], start: str, offsets: Sequence[str]
    ) -> Iterator[str]:
        fb = self.e.fb
        for v, offset in zip(record, offsets, strict=True):
            cell = self._there[m.name] if is_array(v) else m.cell
            base = fb.emit(f"load ptr, ptr {cell}")
            at = fb.emit(f"getelementptr i8, ptr {base}, i64 {start}")
            yield fb.emit(f"getelementptr i8, ptr {at}, i64 {offset}")

"""Memory of a program on a device: arrays in its pool, copies on the host for nodes that run there.

The plan is that of the host's programs. What is small takes no memory of the run's stack, since the
device cannot see that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tracejit.codegen.analysis.buffer_plan import byte_count
from tracejit.codegen.device.context import DeviceContext
from tracejit.codegen.program.memory import ProgramMemory
from tracejit.ir.graph import Value

__all__ = ["DeviceMemory"]

#: Bytes of scalars that stay on the device, and of the flag in front of them.
_CELL = 16


class DeviceMemory(ProgramMemory):
    """See `ProgramMemory`."""

    e: DeviceContext

    def __init__(self, e: DeviceContext) -> None:
        super().__init__(e)
        #: Cells { ptr, i64 } with blocks of the host, and where these come from.
        self._host: list[tuple[str, str]] = []
        self._base = ""
        self._room = 0
        self._size = ""
        #: While a node runs on the host: its results there, with where they belong.
        self.results: dict[Value, tuple[str, str]] = {}
        #: What was explicitly given for values that lie elsewhere for now.
        self._hidden: dict[Value, str | None] = {}
        e.cell = self._cell
        e.nothing_hidden = self._nothing_hidden

    def begin(self) -> None:
        e, fb = self.e, self.e.fb
        # How much that is stands at the end.
        self._size = e.fresh("cells")
        size = fb.emit(f"load i64, ptr @{self._size}")
        self._base = e.allocate("", size, "refuse")
        super().begin()
        if e.flag is not None:
            e.flag = self._cell(4)
            e.driver("cuMemsetD8Async", e.flag, "0", "4", e.stream)

    def _cell(self, size: int) -> str:
        at, self._room = self._room, self._room + _CELL
        return self.e.fb.emit(f"getelementptr i8, ptr {self._base}, i64 {at}")

    def host_block(self, size: str) -> str:
        """Memory of the host for one node: at each run of it the same, grown as needed."""
        e, fb = self.e, self.e.fb
        cell = fb.alloca("{ ptr, i64 }", 8, "zeroinitializer")
        place = e.place()
        self._host.append((place, cell))
        room = fb.emit(f"getelementptr {{ ptr, i64 }}, ptr {cell}, i32 0, i32 1")
        wanted = fb.integer("add", size, "1")

        def more() -> list[str]:
            with e.hosting():
                e.require_memory(e.grow(place, cell, wanted))
            return []

        has = fb.emit(f"load i64, ptr {room}")
        fb.if_then(fb.emit(f"icmp ugt i64 {wanted}, {has}"), (), more)
        return fb.emit(f"load ptr, ptr {cell}")

    def require(self, v: Value) -> None:
        if not self.e.on_host:
            super().require(v)
            return
        if v in self.results:
            return
        self.e.on_host = False
        super().require(v)
        there = self[v]
        self.e.on_host = True
        here = self.host_block(self.e.checked_dim(byte_count(v)))
        self.results[v] = there, here
        self.hide(v, here)

    def hide(self, v: Value, pointer: str) -> None:
        """Have a value lie elsewhere for now."""
        self._hidden[v] = self._given.get(v)
        self._given[v] = pointer

    def reveal(self, v: Value) -> None:
        """A value that was hidden, or is a result on the host, lies where it did before."""
        before = self._hidden.pop(v, None)
        if before is None:
            self._given.pop(v, None)
        else:
            self._given[v] = before

    @contextmanager
    def _nothing_hidden(self) -> Iterator[None]:
        outer = self._given
        seen = {v: p for v, p in outer.items() if v not in self._hidden}
        self._given = seen | {v: p for v, p in self._hidden.items() if p is not None}
        yield
        self._given = outer

    def of_plan(self, v: Value) -> str:
        """The register of the pointer on the device."""
        return self[v]

    def free(self) -> None:
        super().free()
        e, fb = self.e, self.e.fb
        e.release("", self._base)
        e.release_taken()
        with e.hosting():
            for place, cell in self._host:
                e.release(place, fb.emit(f"load ptr, ptr {cell}"))

    def finish(self) -> None:
        """Tell how many bytes the cells take, once that is known."""
        self.e.module.add_global(self._size, f"internal constant i64 {max(self._room, _CELL)}")

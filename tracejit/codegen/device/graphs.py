"""A CUDA graph under emission: launches and copies become its nodes instead of running at once.

    at = { ptr graph, ptr last }        each node waits for the one that was added last

A body of a conditional node is a graph of its own, with its own cell. Nodes are added by native
code each time that the program comes there, with the pointers and sizes of that moment; the graph
then runs on the stream as one launch, and is dropped. Blocks that nodes use are given back after
the launch.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.codegen.cuda.conditions import begin, branch, loop
from tracejit.codegen.cuda.launches import Launch
from tracejit.codegen.device.context import DeviceContext
from tracejit.codegen.device.driver_text import GRAPH_FUNCTIONS, GRAPHS

__all__ = ["DeviceGraph"]

# CUgraphConditionalNodeType
_IF, _WHILE = "0", "1"


class DeviceGraph:
    """One graph; `at` is the register of the cell that nodes are added at for now."""

    def __init__(self, e: DeviceContext) -> None:
        self.e, fb = e, e.fb
        for name, parameters in GRAPH_FUNCTIONS.items():
            e.module.declare(name, "i32", parameters)
            e.symbols[name] = e.device.symbols()[name]
        e.module.helper("tjd_graphs", lambda: e.module.add_function("tjd_graphs", GRAPHS))
        self.root = self.at = fb.alloca("{ ptr, ptr }", 8, "zeroinitializer")
        e.graph_roots.append(self.root)
        fb.line(f"store {{ ptr, ptr }} zeroinitializer, ptr {self.root}")
        e.succeed(fb.emit(f"call i32 @cuGraphCreate(ptr {self.root}, i32 0)"))
        self._later: list[tuple[str, str]] = []

    def node(self, handle: int, shape: Sequence[str], threads: Sequence[str], params: str) -> None:
        """Add a launch."""
        numbers = ", ".join(f"i32 {x}" for x in (*shape, *threads))
        function = f"ptr inttoptr (i64 {handle} to ptr)"
        call = f"call i32 @tjd_node(ptr {self.at}, {function}, {numbers}, ptr {params})"
        self.e.succeed(self.e.fb.emit(call))

    def copy(self, target: str, source: str, size: str) -> None:
        """Add a copy of memory."""
        call = f"call i32 @tjd_copy(ptr {self.at}, ptr {target}, ptr {source}, i64 {size})"
        self.e.succeed(self.e.fb.emit(call))

    def release_later(self, place: str, block: str) -> None:
        """Give a block back once the graph is launched."""
        self._later.append((place, block))

    # Conditional nodes --------------------------------------------------------------------------

    def loop(self) -> tuple[str, str]:
        """Add a WHILE node, whose condition holds at first: its handle, and its body."""
        again = self._handle()
        self._set(begin(), (), (again,))
        return again, self._conditional(again, _WHILE)

    def go_on(self, again: str, value: str) -> str:
        """In a loop's body: go on by a truth on the device. What runs only if so is given."""
        body = self._handle()
        flag = self.e.flag
        given = (value,) if flag is None else (value, flag)
        self._set(loop(flag is not None), given, (again, body))
        return self._conditional(body, _IF)

    def branch(self, value: str) -> tuple[str, str]:
        """Both sides of a branch on a truth on the device."""
        then, orelse = self._handle(), self._handle()
        self._set(branch(), (value,), (then, orelse))
        return self._conditional(then, _IF), self._conditional(orelse, _IF)

    def _handle(self) -> str:
        handle = self.e.fb.alloca("i64", 8)
        self.e.succeed(self.e.fb.emit(f"call i32 @tjd_handle(ptr {self.at}, ptr {handle})"))
        return handle

    def _set(self, kernel: Launch, pointers: Sequence[str], handles: Sequence[str]) -> None:
        fb = self.e.fb
        arguments = [*pointers, *(fb.emit(f"load i64, ptr {h}") for h in handles)]
        self.e.launch(kernel, arguments, {})

    def _conditional(self, handle: str, kind: str) -> str:
        fb = self.e.fb
        inner = fb.alloca("{ ptr, ptr }", 8)
        arguments = f"ptr {self.at}, ptr {handle}, i32 {kind}, ptr {inner}"
        self.e.succeed(fb.emit(f"call i32 @tjd_condition({arguments})"))
        return inner

    # The end ------------------------------------------------------------------------------------

    def run(self) -> None:
        """Launch the graph."""
        e = self.e
        e.flush()
        e.building = None
        e.count("launches")
        e.succeed(e.fb.emit(f"call i32 @tjd_run_graph(ptr {self.root}, ptr {e.stream})"))
        for place, block in self._later:
            e.release(place, block)

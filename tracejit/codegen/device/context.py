"""A program of a device under emission: memory of its pool, copies on its stream, launches.

Every call of the driver is one of C, by address; one that fails leaves the program by an exception.
Where a node runs on the host, the same context writes what programs of the host do.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from tracejit.codegen.cuda.launches import Accumulate, Launch, Order, Scratch
from tracejit.codegen.cuda.plan import plan_launches
from tracejit.codegen.device.between import Accumulation, Sort
from tracejit.codegen.device.cells import store_kernel, with_cells, with_device_sizes
from tracejit.codegen.device.driver_text import BLOCKS, DRIVER
from tracejit.codegen.device.launch_shapes import WIDE, divide
from tracejit.codegen.device.target import COUNTED, Device, Nodes, NotAGraph, Trips
from tracejit.codegen.llvm.lanes import load_element, register_type
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.exits import call_python, leave_if
from tracejit.codegen.program.pending import PendingCall, sized
from tracejit.codegen.scalar.functions import emit_dim, emit_expr
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Node, Value
from tracejit.ir.kernel import Expr, Kernel, Var
from tracejit.ir.types import DTYPES
from tracejit.ops.array.elementwise import Element

__all__ = ["DeviceContext"]


#: What the driver's functions give where there is no memory.
_OUT_OF_MEMORY = 2


class DeviceContext(ProgramContext):
    """See `ProgramContext`; `on_host` while the code of a node that runs on the host is written."""

    device: Device
    trips: Trips
    #: The register of the stream, and the flag of failed checks on the device, if there are any.
    stream: str
    flag: str | None = None
    #: The graph that launches and copies are added to for now, in place of the stream.
    building: Nodes | None = None
    #: While a node runs on the host: strides and scattered arrays as they are on the device.
    lie: tuple[dict[Value, tuple[Dim, ...]], dict[Value, Value]] | None = None

    def begin(self, device: Device) -> None:
        """What any program of a device begins with."""
        self.device, self.trips = device, Trips()
        #: The scalars that stay on the device: the register of where each lies, by its variable.
        self.cells: dict[str, str] = {}
        #: Blocks of the device: those that the program begins with; cells of those taken later.
        self._first: list[str] = []
        self._taken: dict[str, str] = {}
        #: Sizes that loops of graphs carry, which the host does not know.
        self.device_sizes: dict[str, Var] = {}
        #: What holds a graph while it is built.
        self.graph_roots: list[str] = []
        symbols = device.symbols()
        for name, parameters in DRIVER.items():
            self.module.declare(name, "i32", parameters)
            self.symbols[name] = symbols[name]
        self.module.add_function("tjd", BLOCKS)
        self._counts = self.fresh("counts")
        self.module.add_global(self._counts, "external global i64")
        self.symbols[self._counts] = ctypes.addressof(self.trips.counts)
        self.keep.append(self.trips)
        word = self.fresh("stream")
        self.module.add_global(word, "external global ptr")
        self.symbols[word] = device.stream_cell()
        self.keep.append(device)
        self.stream = self.fb.emit(f"load ptr, ptr @{word}")

    # Memory -------------------------------------------------------------------------------------

    def allocate(self, place: str, amount: str, failed: str | None = None) -> str:
        if self.on_host:
            return super().allocate(place, amount, failed)
        fb = self.fb
        block = fb.emit(f"call ptr @tjd_take(i64 {amount}, ptr {self.stream})")
        if failed is None:
            self.require_memory(block)
            cell = self._taken[block] = fb.alloca("ptr", 8, "zeroinitializer")
            fb.line(f"store ptr {block}, ptr {cell}")
            return block
        missing, after = fb.fresh_label("missing"), fb.fresh_label("allocated")
        fb.cond_br(fb.emit(f"icmp eq ptr {block}, null"), missing, after)
        fb.block(missing)
        self.call_plainly(self.device.failed, str(_OUT_OF_MEMORY))
        if failed == "refuse":
            for earlier in self._first:
                self._give(earlier)
            self._first.append(block)
        fb.br(failed)
        fb.block(after)
        return block

    def release(self, place: str, block: str) -> None:
        if self.on_host:
            super().release(place, block)
        elif self.building is not None:
            self.building.release_later(place, block)
        else:
            self.flush()
            self._give(block)
            if block in self._taken:
                self.fb.line(f"store ptr null, ptr {self._taken[block]}")

    def _give(self, block: str) -> None:
        self.fb.line(f"call void @tjd_give(ptr {block}, ptr {self.stream})")

    def release_taken(self) -> None:
        """Give back what a program has not given back that leaves in the middle."""
        for cell in self._taken.values():
            self._give(self.fb.emit(f"load ptr, ptr {cell}"))
        for root in self.graph_roots:
            self.fb.line(f"call void @tjd_drop_graph(ptr {root})")

    def grow(self, place: str, cell: str, wanted: str) -> str:
        if self.on_host:
            return super().grow(place, cell, wanted)
        self.flush()
        return self.fb.emit(f"call ptr @tjd_grow(ptr {cell}, i64 {wanted}, ptr {self.stream})")

    def small_block(self, size: int, align: int) -> str | None:
        return super().small_block(size, align) if self.on_host else None

    # Calls of the driver ------------------------------------------------------------------------

    def driver(self, name: str, *arguments: str) -> None:
        """Call the driver; the program leaves where that fails."""
        self.flush()
        if self.building is not None:
            raise NotAGraph(f"{name} is no node")
        given = [f"{t} {a}" for t, a in zip(DRIVER[name], arguments, strict=True)]
        self.succeed(self.fb.emit(f"call i32 @{name}({', '.join(given)})"))

    def succeed(self, status: str) -> None:
        """Leave the program where a call of the driver has failed."""
        bad = self.fb.emit(f"icmp ne i32 {status}, 0")

        def fail() -> Sequence[str]:
            wide = self.fb.emit(f"zext i32 {status} to i64")
            self.call_plainly(self.device.failed, wide)
            return []

        self.fb.if_then(bad, (), fail, unlikely=True)
        leave_if(self, bad)

    def count(self, what: str, amount: str = "1") -> None:
        """Count something in this run; threads may lose a count to each other."""
        at = self.fb.emit(f"getelementptr i64, ptr @{self._counts}, i64 {COUNTED.index(what)}")
        before = self.fb.emit(f"load i64, ptr {at}")
        self.fb.line(f"store i64 {self.fb.emit(f'add i64 {before}, {amount}')}, ptr {at}")

    def copy_bytes(self, target: str, source: str, size: str) -> None:
        if self.on_host:
            super().copy_bytes(target, source, size)
        else:
            self._copy("cuMemcpyDtoDAsync_v2", target, source, size)

    def to_host(self, target: str, source: str, size: str) -> None:
        """Copy to memory of the host, where it is after the next wait."""
        self.count("to host", size)
        self._copy("cuMemcpyDtoHAsync_v2", target, source, size)

    def to_device(self, target: str, source: str, size: str) -> None:
        """Copy from memory of the host, which is free at once."""
        self.count("to device", size)
        self._copy("cuMemcpyHtoDAsync_v2", target, source, size)

    def _copy(self, name: str, target: str, source: str, size: str) -> None:
        def then() -> Sequence[str]:
            if self.building is not None and name == "cuMemcpyDtoDAsync_v2":
                self.building.copy(target, source, size)
            else:
                self.driver(name, target, source, size, self.stream)
            return []

        self.flush()
        if size.lstrip("-").isdigit():
            if size != "0":
                then()
        else:
            self.fb.if_then(self.fb.emit(f"icmp ne i64 {size}, 0"), (), then)

    def wait(self, why: Node | None) -> None:
        """Wait for the device, and bail out where a check on it has failed."""
        self.trips.waits.append(why)
        self.count("waits")
        found = None
        if self.flag is not None:
            found = self.fb.alloca("i32", 4)
            self._copy("cuMemcpyDtoHAsync_v2", found, self.flag, "4")
        self.driver("cuStreamSynchronize", self.stream)
        if found is not None:
            value = self.fb.emit(f"load i32, ptr {found}")
            self.fb.check(self.fb.emit(f"icmp ne i32 {value}, 0"))

    # Scalars ------------------------------------------------------------------------------------

    def fetch(self, address: str, dtypes: Sequence[str], why: Node) -> Element:
        """A scalar of the device in registers: a copy and a wait."""
        size = DTYPES[dtypes[0]].itemsize
        room = self.fb.alloca("[2 x i64]", 8)
        self.to_host(room, address, str(size * len(dtypes)))
        self.wait(why)
        parts = []
        for k, dtype in enumerate(dtypes):
            at = self.fb.emit(f"getelementptr i8, ptr {room}, i64 {k * size}")
            parts.append(self.bind(load_element(self.fb, at, dtype), dtype))
        return (parts[0], parts[1]) if len(parts) == 2 else parts[0]

    def keep_scalar(self, address: str, dtypes: Sequence[str]) -> Element:
        """A scalar that stays on the device: a copy of its own there, loaded by who reads it."""
        size = DTYPES[dtypes[0]].itemsize
        cell = self.cell(size * len(dtypes))
        self._copy("cuMemcpyDtoDAsync_v2", cell, address, str(size * len(dtypes)))
        parts = []
        for k, dtype in enumerate(dtypes):
            v = Var(self.fresh("x"), dtype)
            at = cell
            if k:
                at = self.fb.emit(f"getelementptr i8, ptr {cell}, i64 {size}")
            self.cells[v.name] = at
            parts.append(v)
        return (parts[0], parts[1]) if len(parts) == 2 else parts[0]

    #: Gives a few bytes of the device's memory, for as long as the run.
    cell: Callable[[int], str]

    #: What is written inside sees no array where it is copied to on the host.
    nothing_hidden: Callable[[], AbstractContextManager[None]]

    # Kernels ------------------------------------------------------------------------------------

    def call_kernel(
        self,
        kernel: Kernel,
        pointers: Sequence[str],
        scalars: Sequence[Element],
        sizes: Mapping[str, Dim],
        values: Sequence[Value] = (),
        node: Node | None = None,
    ) -> None:
        if self.on_host:
            super().call_now(self.kernel_call(kernel, pointers, scalars, sizes))
            return
        given = [p for x in scalars for p in (x if isinstance(x, tuple) else (x,))]
        kernel, cells, numbers = with_cells(sized(kernel, sizes), given, self.cells)
        if self.building is not None:
            kernel, more = with_device_sizes(kernel, self.device_sizes, self.cells)
            cells += more
        self.wait_or_call(self.kernel_call(kernel, [*pointers, *cells], numbers, {}), values, node)

    def may_wait(self, kernel: Kernel) -> bool:
        return True

    def joined(self, first: PendingCall, second: PendingCall) -> PendingCall | None:
        return first.joined(second)

    def call_now(self, call: PendingCall) -> None:
        """Write the launches of a kernel."""
        kernel = replace(call.kernel, name=f"{call.kernel.name}_{len(self.trips.launches)}")
        self.kernels.append(kernel)
        plan = plan_launches(kernel, self.device.limits, self.flag is not None)
        known = {s: self.dim(symbol(s)) for s in kernel.sizes}
        numbers = {name: emit_expr(self.fb, x, self.env) for name, x in call.scalars.items()}
        scratch = [self.allocate("", self._scratch_bytes(room, known)) for room in plan.scratch]
        blocks = "1"
        for launch in plan.launches:
            if isinstance(launch, Order):
                given = (scratch[launch.keys], scratch[launch.positions])
                self._library(Sort(self.device), *given, launch.count, known)
                continue
            if isinstance(launch, Accumulate):
                running = Accumulation(self.device, launch.function, launch.dtype)
                self._library(running, call.buffers[launch.buffer], "null", launch.count, known)
                continue
            values_of = {
                "buffer": call.buffers,
                "size": known,
                "scalar": numbers,
                "scratch": dict(enumerate_names(scratch)),
                "flag": {"": self.flag or "null"},
                "blocks": {"": blocks},
            }
            arguments = [values_of[kind][name] for kind, name in launch.arguments]
            blocks = self.launch(launch, arguments, known)
        for block in scratch:
            self.release("", block)

    def _library(self, function: Any, a: str, b: str, count: Dim, known: Mapping[str, str]) -> None:
        """Call a library between launches."""
        if self.building is not None:
            raise NotAGraph("a call of a library")
        given = [self.fb.emit(f"ptrtoint ptr {p} to i64") for p in (a, b)]
        call_python(self, function, *given, emit_dim(self.fb, count, known))

    def _scratch_bytes(self, room: Scratch, known: Mapping[str, str]) -> str:
        """Room for what launches hand on."""
        grid, each = self.device.limits.grid, room.each
        if room.total is not None:
            return self.fb.integer("mul", emit_dim(self.fb, room.total, known), "8")
        if each == 1:
            return str(8 * grid)
        # Blocks beside each other take so many columns; where one row of blocks is not enough for
        # all columns, there is no second one.
        columns = emit_dim(self.fb, each, known)
        more = str(WIDE * room.wide * grid)
        return self.fb.integer("mul", self.fb.integer("add", columns, more), "8")

    def store_element(self, element: Element, dtypes: Sequence[str], address: str) -> None:
        """Write a scalar to the memory of the device."""
        self.store_elements([(element, dtypes, address)])

    def store_elements(
        self, stores: Sequence[tuple[Element, Sequence[str], str]], checks: Sequence[Expr] = ()
    ) -> None:
        """Write scalars to the memory of the device, as if at once; a check that holds fails."""
        kernel = store_kernel([dtypes for _, dtypes, _ in stores], len(checks))
        elements = [element for element, _, _ in stores]
        self.call_kernel(kernel, [address for _, _, address in stores], [*elements, *checks], {})

    def launch(self, launch: Launch, arguments: Sequence[str], sizes: Mapping[str, str]) -> str:
        """Write a launch; the register of the number of its blocks."""
        fb = self.fb
        self.trips.launches.append(launch)
        handle, limits = self.device.define(launch), self.device.limits
        grid_x, grid_y, block_x, block_y = divide(self.module, fb, limits, launch.shape, sizes)
        count = len(arguments)
        room = fb.alloca(f"[{max(count, 1)} x i64]", 8)
        params = fb.alloca(f"[{max(count, 1)} x ptr]", 8)
        for k, (kind, value) in enumerate(zip(launch.signature, arguments, strict=True)):
            at = fb.emit(f"getelementptr i64, ptr {room}, i64 {k}")
            if kind.endswith("*"):
                fb.line(f"store ptr {value}, ptr {at}")
            elif kind == "b1":
                fb.line(f"store i64 {fb.emit(f'zext i1 {value} to i64')}, ptr {at}")
            else:
                fb.line(f"store {register_type(kind)} {value}, ptr {at}")
            entry = fb.emit(f"getelementptr ptr, ptr {params}, i64 {k}")
            fb.line(f"store ptr {at}, ptr {entry}")
        shape = [self._narrow(x) for x in (grid_x, grid_y)]
        threads = [self._narrow(x) for x in (block_x, block_y)]
        if self.building is not None:
            self.building.node(handle, shape, threads, params)
        else:
            self.count("launches")
            self.driver(
                "cuLaunchKernel", f"inttoptr (i64 {handle} to ptr)", *shape, "1", *threads, "1",
                "0", self.stream, params, "null",
            )  # fmt: skip
        return grid_y if launch.shape.kind == "columns" else grid_x

    def _narrow(self, value: str) -> str:
        return value if value[0] != "%" else self.fb.emit(f"trunc i64 {value} to i32")

    @contextmanager
    def hosting(self) -> Iterator[None]:
        """What is written inside is code of the host."""
        outer, self.on_host = self.on_host, True
        yield
        self.on_host = outer

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """Arguments lie on the device, where a node that runs on the host raises, too."""
        outer = self.on_host, self.strides, self.scattered
        self.on_host = False
        if self.lie is not None:
            self.strides, self.scattered = self.lie
        with self.nothing_hidden():
            yield
        self.on_host, self.strides, self.scattered = outer


def enumerate_names(values: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each value under its number."""
    return ((str(k), v) for k, v in enumerate(values))

"""A GPU in Python: the driver's functions, on memory that the host cannot reach by accident.

Programs call the same C functions as on a real device, by address. An address of device memory is
that of host memory with one bit more, which no machine follows: a program that reads it as its own
ends there and then. Kernels are the printed source, executed thread by thread: threads of a block
take turns from one `cuda.syncthreads()` to the next, those of a warp also from one exchange of
registers to the next, and every access is checked against the allocation that its pointer came
from. Launches run at once, in order.
"""

from __future__ import annotations

import bisect
import ctypes
import itertools
import re
from collections.abc import Callable, Generator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from tracejit.base.locks import once, short_lock
from tracejit.codegen.cuda.simulated_graphs import SimulatedGraphs
from tracejit.ir.types import DTYPES

__all__ = ["SimulatedMemoryError", "Simulator", "simulator"]

#: The bit that marks addresses of the device.
_TAG = 1 << 60
#: What fresh memory is filled with: a NaN, and no sensible number.
_FRESH = 0xFB
_OK, _INVALID_VALUE, _OUT_OF_MEMORY, _ILLEGAL_ADDRESS = 0, 1, 2, 700
_ALIGN = 256

_p, _z, _u, _i = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int


#: Where a thread waits for others, and what its generator yields there: nothing for the block, for
#: its warp what it shows to the others and how many lanes further the one is that it looks at.
_STOPS = (
    (re.compile(r"cuda\.syncthreads\(\)"), "yield"),
    (re.compile(r"cuda\.syncwarp\(\)"), "yield (None, 0)"),
    (re.compile(r"fn_lane_down\((\w+), (\w+)\)"), r"(yield (\1, \2))"),
    (re.compile(r"fn_lane_first\((\w+)\)"), r"(yield (\1, None))"),
)


class SimulatedMemoryError(Exception):
    """An access outside of an allocation of the simulated device."""


class _Block:
    """One allocation."""

    def __init__(self, size: int) -> None:
        self.memory = np.empty(max(size, 1) + _ALIGN, np.uint8)
        start = -self.memory.ctypes.data % _ALIGN
        self.bytes = self.memory[start : start + size]
        self.bytes.fill(_FRESH)
        self.address = (self.memory.ctypes.data + start) | _TAG
        self.size = size


class _Buffer:
    """Memory from a pointer on, as a kernel indexes it."""

    __slots__ = ("_address", "_elements", "_first", "_name")

    def __init__(self, block: _Block, address: int, dtype: np.dtype[Any], name: str) -> None:
        offset = address - block.address
        shift = offset % dtype.itemsize
        if block.address % _ALIGN or shift:
            raise SimulatedMemoryError(f"{name} is not aligned to {dtype}")
        whole = block.size // dtype.itemsize * dtype.itemsize
        self._elements = block.bytes[:whole].view(dtype)
        self._first = offset // dtype.itemsize
        self._address = address
        self._name = name

    def _place(self, index: int) -> int:
        place = self._first + int(index)
        if not 0 <= place < len(self._elements):
            raise SimulatedMemoryError(f"{self._name}[{index}] is outside of its allocation")
        return place

    def __getitem__(self, index: int) -> Any:
        return self._elements[self._place(index)]

    def __setitem__(self, index: int, value: Any) -> None:
        self._elements[self._place(index)] = value

    def address(self, index: int) -> int:
        """Where an element lies, or would."""
        return self._address + int(index) * self._elements.itemsize

    def load(self, index: int, count: int) -> tuple[Any, ...]:
        """So many elements at once."""
        return tuple(self._elements[self._vector(index, count)])

    def store(self, index: int, values: Sequence[Any]) -> None:
        """Overwrite so many elements at once."""
        self._elements[self._vector(index, len(values))] = values

    def _vector(self, index: int, count: int) -> slice:
        first = self._place(index)
        self._place(index + count - 1)
        if self.address(index) % (count * self._elements.itemsize):
            raise SimulatedMemoryError(f"{count} elements at {self._name}[{index}] are not aligned")
        return slice(first, first + count)


class _Kernel:
    """A printed kernel: its function, and what each of its parameters is."""

    def __init__(
        self, source: str, name: str, signature: Sequence[str], namespace: dict[str, Any]
    ) -> None:
        self.name, self.signature = name, tuple(signature)
        names = {**namespace, "cuda": _Cuda()}
        text = source
        for pattern, stop in _STOPS:
            text = pattern.sub(stop, text)
        self.meets = text != source
        exec(compile(text, f"<simulated {name}>", "exec"), names)
        self.function: Callable[..., Any] = names[name]
        self.cuda: _Cuda = names["cuda"]
        code = self.function.__code__
        self.parameters = code.co_varnames[: code.co_argcount]


class _Cuda:
    """What a kernel asks of `cuda`, one thread at a time."""

    def __init__(self) -> None:
        self.threadIdx, self.blockIdx = SimpleNamespace(), SimpleNamespace()
        self.blockDim, self.gridDim = SimpleNamespace(), SimpleNamespace()
        self.shared = SimpleNamespace(array=self._shared)
        self.arrays: list[Any] = []
        self._turn = 0

    def begin_thread(self, thread: tuple[int, int]) -> None:
        """Give the coming thread its place; its shared arrays are those of its block, in order."""
        self.threadIdx.x, self.threadIdx.y = thread
        self._turn = 0

    def _shared(self, size: int, dtype: Any) -> Any:
        self._turn += 1
        if len(self.arrays) < self._turn:
            fresh = np.empty(size, dtype)
            fresh.view(np.uint8).fill(_FRESH)
            self.arrays.append(fresh)
        return self.arrays[self._turn - 1]


class Simulator:
    """A device: `symbols` are what programs call, `define` makes a kernel, and memory is here."""

    name = "cuda-sim"
    #: Threads that read each other's registers.
    warp = 2

    def __init__(self) -> None:
        self._blocks: dict[int, _Block] = {}
        self._addresses: list[int] = []
        self._kernels: dict[int, _Kernel] = {}
        self._numbers = itertools.count(1)
        self._lock = short_lock()
        #: What went wrong last inside of a call by native code.
        self.error: BaseException | None = None
        #: How many kernels were launched, bytes copied to and from the host, and waits.
        self.launches = self.copied = self.waits = 0
        #: Bytes that may be allocated at all.
        self.capacity = 1 << 40
        self.graphs = SimulatedGraphs(
            self._launch, self._copy_on_device, lambda f: len(self._kernels[f].signature)
        )
        self._made = self._make()

    def symbols(self) -> dict[str, int]:
        """The addresses of the driver's functions."""
        return {name: ctypes.cast(f, _p).value or 0 for name, f in self._made.items()}

    def _make(self) -> dict[str, Any]:
        forms: dict[str, tuple[Callable[..., int], tuple[Any, ...]]] = {
            "cuLaunchKernel": (self._launch, (_p, _u, _u, _u, _u, _u, _u, _u, _p, _p, _p)),
            "cuMemAllocAsync": (self._allocate, (_p, _z, _p)),
            "cuMemFreeAsync": (self._free, (_p, _p)),
            "cuMemcpyDtoDAsync_v2": (self._copy_on_device, (_p, _p, _z, _p)),
            "cuMemcpyDtoHAsync_v2": (self._copy_to_host, (_p, _p, _z, _p)),
            "cuMemcpyHtoDAsync_v2": (self._copy_to_device, (_p, _p, _z, _p)),
            "cuMemsetD8Async": (self._fill, (_p, _u, _z, _p)),
            "cuStreamSynchronize": (self._wait, (_p,)),
            **self.graphs.functions(),
        }
        return {
            name: ctypes.CFUNCTYPE(_i, *types)(self._guarded(f))
            for name, (f, types) in forms.items()
        }

    def _guarded(self, f: Callable[..., int]) -> Callable[..., int]:
        def call(*args: Any) -> int:
            try:
                with self._lock:
                    return f(*[0 if a is None else a for a in args])
            except MemoryError:
                return _OUT_OF_MEMORY
            except BaseException as e:
                self.error = e
                return _ILLEGAL_ADDRESS

        return call

    # Memory -------------------------------------------------------------------------------------

    def alloc(self, size: int, stream: int = 0) -> int:
        """The address of fresh memory, filled with what no program expects. Raises MemoryError."""
        with self._lock:
            if size + sum(b.size for b in self._blocks.values()) > self.capacity:
                raise MemoryError(f"{size} bytes on the simulated device")
            block = _Block(size)
            self._blocks[block.address] = block
            bisect.insort(self._addresses, block.address)
            return block.address

    def free(self, address: int, stream: int = 0) -> None:
        """Give memory back; it must not be touched any more."""
        with self._lock:
            if address not in self._blocks:
                raise SimulatedMemoryError(f"{address:#x} is no allocation")
            del self._blocks[address]
            self._addresses.remove(address)

    @property
    def allocated(self) -> int:
        """How many allocations there are."""
        return len(self._blocks)

    def _block(self, address: int, what: str) -> _Block:
        k = bisect.bisect_right(self._addresses, address) - 1
        block = self._blocks[self._addresses[k]] if k >= 0 else None
        if block is None or not address <= block.address + block.size:
            raise SimulatedMemoryError(f"{what} is at {address:#x}, which is no device memory")
        return block

    def bytes_at(self, address: int, size: int) -> np.ndarray[Any, Any]:
        """Memory of the device as the host sees it. Raises SimulatedMemoryError."""
        if size == 0:
            return np.empty(0, np.uint8)
        block = self._block(address, "memory")
        start = address - block.address
        if start + size > block.size:
            raise SimulatedMemoryError(f"{size} bytes at {address:#x} are more than there are")
        return block.bytes[start : start + size]

    def to_host(self, address: int, size: int) -> np.ndarray[Any, Any]:
        """A copy of bytes of the device."""
        return self.bytes_at(address, size).copy()

    def to_device(self, address: int, data: np.ndarray[Any, Any]) -> None:
        """Overwrite bytes of the device."""
        self.bytes_at(address, data.nbytes)[:] = data.view(np.uint8).reshape(-1)

    def _allocate(self, result: int, size: int, stream: int) -> int:
        if size == 0:
            return _INVALID_VALUE
        ctypes.c_uint64.from_address(result).value = self.alloc(size)
        return _OK

    def _free(self, address: int, stream: int) -> int:
        self.free(address)
        return _OK

    def _copy_on_device(self, target: int, source: int, size: int, stream: int) -> int:
        self.bytes_at(target, size)[:] = self.bytes_at(source, size).copy()
        return _OK

    def _copy_to_host(self, target: int, source: int, size: int, stream: int) -> int:
        ctypes.memmove(target, self.bytes_at(source, size).ctypes.data, size)
        self.copied += size
        return _OK

    def _copy_to_device(self, target: int, source: int, size: int, stream: int) -> int:
        ctypes.memmove(self.bytes_at(target, size).ctypes.data, source, size)
        self.copied += size
        return _OK

    def _fill(self, target: int, value: int, size: int, stream: int) -> int:
        self.bytes_at(target, size)[:] = value
        return _OK

    def _wait(self, stream: int) -> int:
        self.waits += 1
        return _OK

    # Kernels ------------------------------------------------------------------------------------

    def define(
        self, source: str, name: str, signature: Sequence[str], namespace: dict[str, Any]
    ) -> int:
        """A kernel; its handle."""
        known = {**namespace, "fn_set_condition": self.graphs.set_condition}
        kernel = _Kernel(source, name, signature, known)
        with self._lock:
            number = next(self._numbers)
            self._kernels[number] = kernel
        return number

    def _launch(
        self, f: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int,
        stream: int, params: int, extra: int,
    ) -> int:  # fmt: skip
        kernel = self._kernels[f]
        self.launches += 1
        if not (0 < gx < 2**31 and 0 < gy < 2**16 and gz == bz == 1 and 0 < bx * by <= 1024):
            return _INVALID_VALUE
        pointers = (ctypes.c_uint64 * len(kernel.signature)).from_address(params)
        args = [
            self._argument(kind, name, at)
            for kind, name, at in zip(kernel.signature, kernel.parameters, pointers, strict=True)
        ]
        with np.errstate(all="ignore"):
            self._run(kernel, args, (gx, gy), (bx, by), self.warp)
        return _OK

    def _argument(self, kind: str, name: str, at: int) -> Any:
        if kind.endswith("*"):
            address = ctypes.c_uint64.from_address(at).value
            dtype = np.dtype(np.uint8) if kind == "b1*" else DTYPES[kind[:-1]]
            # Memory that nothing has grown yet holds no element.
            block = self._block(address, name) if address else _Block(0)
            return _Buffer(block, address or block.address, dtype, name)
        if kind == "i64":
            return np.int64(ctypes.c_int64.from_address(at).value)
        if kind == "b1":
            return bool(ctypes.c_uint8.from_address(at).value)
        dtype = DTYPES["f32" if kind == "f16" else kind]
        raw = (ctypes.c_char * dtype.itemsize).from_address(at)
        return np.frombuffer(bytes(raw), dtype)[0]

    @staticmethod
    def _run(
        kernel: _Kernel,
        args: Sequence[Any],
        grid: tuple[int, int],
        block: tuple[int, int],
        warp: int,
    ) -> None:
        cuda = kernel.cuda
        cuda.gridDim.x, cuda.gridDim.y = grid
        cuda.blockDim.x, cuda.blockDim.y = block
        threads = [(x, y) for y in range(block[1]) for x in range(block[0])]
        for by, bx in itertools.product(range(grid[1]), range(grid[0])):
            cuda.blockIdx.x, cuda.blockIdx.y = bx, by
            cuda.arrays = []
            if not kernel.meets:
                for thread in threads:
                    cuda.begin_thread(thread)
                    kernel.function(*args)
                continue
            made = [_Thread(cuda, thread, kernel.function(*args)) for thread in threads]
            warps = [made[k : k + warp] for k in range(0, len(made), warp)]
            while sum(map(_to_barrier, warps)):
                pass


class _Thread:
    """A thread of a block and where it has stopped: `shown` is what it yielded."""

    def __init__(self, cuda: _Cuda, place: tuple[int, int], steps: Generator[Any, Any]) -> None:
        self.cuda, self.place, self.steps = cuda, place, steps
        self.ended = False
        self.shown: Any = None

    def go_on(self, value: Any) -> None:
        """Run to the next stop; `value` is what an exchange gives."""
        self.cuda.begin_thread(self.place)
        try:
            self.shown = self.steps.send(value)
        except StopIteration:
            self.ended, self.shown = True, None


def _to_barrier(warp: Sequence[_Thread]) -> bool:
    """Run the threads of a warp until they wait for the block; whether one of them does.

    Raises AssertionError where some wait for their warp and others for the block.
    """
    values: list[Any] = [None] * len(warp)
    while True:
        for thread, value in zip(warp, values, strict=True):
            if not thread.ended:
                thread.go_on(value)
        shown = [thread.shown for thread in warp]
        waiting = [x for x, thread in zip(shown, warp, strict=True) if not thread.ended]
        if not any(waiting):
            return bool(waiting)
        assert all(waiting), "threads of a warp wait for different things"
        values = []
        for lane, stop in enumerate(shown):
            distance = 0 if stop is None else stop[1]
            other = 0 if distance is None else lane + int(distance)
            # A lane beyond the last one, or of a thread that has ended, shows nothing.
            seen = shown[other] if other < len(warp) else None
            values.append(stop if stop is None else (stop if seen is None else seen)[0])


@once
def simulator() -> Simulator:
    """The one of this process."""
    return Simulator()

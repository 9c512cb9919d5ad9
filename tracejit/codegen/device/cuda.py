"""A GPU as a target: the driver's functions, kernels by Numba-CUDA, library routines by CuPy."""

from __future__ import annotations

import copy
import ctypes
import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from tracejit.base.locks import once, short_lock
from tracejit.codegen.cuda.compile import compile_kernel
from tracejit.codegen.cuda.driver import CudaDriver, driver
from tracejit.codegen.cuda.launches import Launch, Limits
from tracejit.codegen.cuda.numba_target import numba_namespace

__all__ = ["CudaDevice", "cuda_device"]

_KERNEL = "kernel"
#: Blocks of a launch for each multiprocessor: enough to hide latencies, few enough to add up.
_WAVES = 16


class _Stream:
    """A stream of somebody else's, by the protocol that CuPy takes streams by."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


class _Constant:
    """A copy of an array on the device, there for as long as this lives."""

    def __init__(self, device: CudaDevice, array: np.ndarray[Any, Any]) -> None:
        self._device = device
        self.address = device.alloc(array.nbytes)
        device.driver.to_device(self.address, array)

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._device.free(self.address)


class CudaDevice:
    """See `target.Device`. Raises DeviceError where there is no driver or no such device."""

    name = "cuda"

    def __init__(self, library: CudaDriver, ordinal: int = 0) -> None:
        self.driver, self.ordinal = library, ordinal
        self.capability = library.compute_capability(ordinal)
        blocks = library.multiprocessors(ordinal) * _WAVES
        self.has_routines = importlib.util.find_spec("cupy") is not None
        self.has_graphs = library.has_graphs
        self.limits = Limits(256, min(blocks, 65535), self.has_routines)
        self._stream = ctypes.c_uint64(0)
        self._lock = short_lock()
        self._functions: dict[bytes, int] = {}
        #: CuPy's objects for streams, by their handles. They stay: one that is collected may
        #: destroy its stream, which is not ours, and a handle that comes back means the same.
        self._cupy_streams: dict[int, Any] = {}

    def enter(self) -> int | None:
        """Have this thread work on the device; what `leave` is to be given."""
        return self.driver.ensure_context(self.ordinal)

    def leave(self, before: int | None) -> None:
        """Have this thread work on what it did before."""
        if before is not None:
            self.driver.set_context(before)

    def symbols(self) -> Mapping[str, int]:
        return self.driver.symbols()

    def define(self, launch: Launch) -> int:
        # Names differ from program to program; what is compiled is kept by its content.
        source = launch.source.replace(f"def {launch.name}(", f"def {_KERNEL}(", 1)
        image = compile_kernel(source, _KERNEL, launch.signature, self.capability, numba_namespace)
        with self._lock:
            if image not in self._functions:
                module = self.driver.load(image)
                self._functions[image] = self.driver.function(module, _KERNEL)
            return self._functions[image]

    def constant(self, array: np.ndarray[Any, Any]) -> tuple[int, Any]:
        kept = _Constant(self, array)
        return kept.address, kept

    @property
    def stream(self) -> int:
        """The stream of the present call."""
        return self._stream.value

    @stream.setter
    def stream(self, stream: int) -> None:
        self._stream.value = stream

    def for_calls(self) -> CudaDevice:
        """The same device with a stream of its own."""
        made = copy.copy(self)
        made._stream = ctypes.c_uint64(0)
        return made

    def stream_cell(self) -> int:
        return ctypes.addressof(self._stream)

    # Memory -------------------------------------------------------------------------------------

    def alloc(self, size: int) -> int:
        """The address of fresh memory, for work on the stream. Raises MemoryError."""
        return self.driver.alloc(size, self.stream)

    def free(self, address: int) -> None:
        """Give memory back that no work in flight uses."""
        self.driver.free(address)

    def wait(self) -> None:
        """Wait until the stream has done its work."""
        self.driver.wait(self.stream)

    def to_host(self, address: int, size: int) -> np.ndarray[Any, Any]:
        """A copy of bytes of the device."""
        out = np.empty(size, np.uint8)
        self.driver.to_host(out, address, self.stream)
        return out

    def to_device(self, address: int, data: np.ndarray[Any, Any]) -> None:
        """Overwrite bytes of the device."""
        self.driver.to_device(address, data, self.stream)

    # Routines -----------------------------------------------------------------------------------

    @contextmanager
    def working(self) -> Iterator[Any]:
        """CuPy, on the stream of the call; a singular matrix is an error."""
        import cupy
        import cupyx

        stream = cupy.cuda.get_current_stream()
        if stream.ptr != self.stream:
            stream = self._cupy_stream(cupy.cuda)
        with stream, cupyx.errstate(linalg="raise"):
            yield cupy

    def _cupy_stream(self, cuda: Any) -> Any:
        """CuPy's object for the stream of the call."""
        handle = self.stream
        with self._lock:
            if handle not in self._cupy_streams:
                # CuPy 14 deprecates the other one.
                made = getattr(cuda.Stream, "from_external", None)
                external = cuda.ExternalStream(handle) if made is None else made(_Stream(handle))
                self._cupy_streams[handle] = external
            return self._cupy_streams[handle]

    def array(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any
    ) -> Any:
        """Memory of the device as an array of CuPy."""
        import cupy

        spans = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
        if 0 in shape:
            return cupy.empty(shape, dtype)
        low = sum(min(0, s) for s in spans)
        size = sum(max(0, s) for s in spans) - low + dtype.itemsize
        memory = cupy.cuda.UnownedMemory(address + low, size, self, self.ordinal)
        pointer = cupy.cuda.MemoryPointer(memory, -low)
        return cupy.ndarray(shape, dtype, pointer, strides)

    def failed(self, status: int, b: int = 0, c: int = 0) -> int:
        self.driver.check(status, "a compiled function")
        return 0


@once
def _devices() -> dict[int, CudaDevice]:
    return {}


def cuda_device(ordinal: int = 0) -> CudaDevice:
    """The one of this process for a GPU. Raises DeviceError where there is none."""
    known = _devices()
    found = known.get(ordinal)
    if found is None:
        # Threads that make one at once agree on the first.
        found = known.setdefault(ordinal, CudaDevice(driver(), ordinal))
    return found

"""The CUDA driver's C functions: what programs call by address, and what Python asks of a device.

The library is loaded when it is first needed, and nothing else is. Contexts are the primary ones
of the devices, as those of CuPy, PyTorch and Numba are: their memory and streams are valid here.
Functions are the plain ones, in which stream 0 waits for other streams, not those with a default
stream for each thread.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tracejit.base.locks import once, short_lock
from tracejit.errors import DeviceError

__all__ = ["GRAPH_SYMBOLS", "SYMBOLS", "CudaDriver", "CudaError", "Driver", "driver"]

#: The functions that compiled programs call.
SYMBOLS = (
    "cuLaunchKernel",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemsetD8Async",
    "cuStreamSynchronize",
)
#: Those for graphs with conditional nodes, which drivers for CUDA 12.4 have.
GRAPH_SYMBOLS = (
    "cuCtxGetCurrent",
    "cuGraphAddKernelNode_v2",
    "cuGraphAddNode_v2",
    "cuGraphConditionalHandleCreate",
    "cuGraphCreate",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
)
_i, _u, _z, _p = ctypes.c_int, ctypes.c_uint, ctypes.c_size_t, ctypes.c_void_p
_d = ctypes.c_uint64
#: Each function with the types of its parameters. Handles are void pointers, addresses 64 bits.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cuLaunchKernel": (_p, _u, _u, _u, _u, _u, _u, _u, _p, _p, _p),
    "cuMemAllocAsync": (_p, _z, _p),
    "cuMemFreeAsync": (_d, _p),
    "cuMemcpyDtoDAsync_v2": (_d, _d, _z, _p),
    "cuMemcpyDtoHAsync_v2": (_p, _d, _z, _p),
    "cuMemcpyHtoDAsync_v2": (_d, _p, _z, _p),
    "cuMemsetD8Async": (_d, ctypes.c_ubyte, _z, _p),
    "cuStreamSynchronize": (_p,),
    "cuInit": (_u,),
    "cuGetErrorName": (_i, _p),
    "cuGetErrorString": (_i, _p),
    "cuDeviceGetCount": (_p,),
    "cuDeviceGet": (_p, _i),
    "cuDeviceGetAttribute": (_p, _i, _i),
    "cuDeviceGetDefaultMemPool": (_p, _i),
    "cuMemPoolSetAttribute": (_p, _i, _p),
    "cuMemPoolTrimTo": (_p, _z),
    "cuDevicePrimaryCtxRetain": (_p, _i),
    "cuCtxGetCurrent": (_p,),
    "cuCtxSetCurrent": (_p,),
    "cuPointerGetAttribute": (_p, _i, _d),
    "cuModuleLoadDataEx": (_p, _p, _u, _p, _p),
    "cuModuleGetFunction": (_p, _p, ctypes.c_char_p),
}
_INVALID_VALUE, _OUT_OF_MEMORY, _STUB_LIBRARY, _NO_DEVICE = 1, 2, 34, 100
# CUdevice_attribute
_MULTIPROCESSORS, _MAJOR, _MINOR, _POOLS = 16, 75, 76, 115
#: CUpointer_attribute: the device that memory was allocated on.
_ORDINAL = 9
#: CUmemPool_attribute: what a pool keeps at most when it is synchronised with.
_RELEASE_THRESHOLD = 4
# CUjit_option: where a compiler of PTX writes its errors, and how many bytes it may.
_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6
_LOG_SIZE = 8192
_ADVICE = (
    "TRACEJIT_DEVICE=cuda-sim runs such programs without one, slowly; a machine with one also "
    "needs Numba-CUDA: pip install 'tracejit[cuda]'"
)


class CudaError(RuntimeError):
    """A function of the driver has failed: `status`, the driver's `name` for it and its text."""

    def __init__(self, status: int, name: str, text: str, doing: str = "") -> None:
        super().__init__(f"{doing}: {name}: {text}" if doing else f"{name}: {text}")
        self.status, self.name = status, name


class Driver(Protocol):
    """What programs and the runtime need of a driver."""

    def symbols(self) -> dict[str, int]:
        """The addresses of the functions that programs call, by their names."""
        ...

    def load(self, image: bytes) -> int:
        """The handle of a module from a cubin, or from PTX, in the current context."""
        ...

    def function(self, module: int, name: str) -> int:
        """The handle of a kernel, as `cuLaunchKernel` takes it."""
        ...

    def ensure_context(self, ordinal: int) -> int | None:
        """Have this thread work on a device; see `CudaDriver`."""
        ...

    def device_of_pointer(self, address: int) -> int | None:
        """The number of the device that memory is on; None for memory of the host."""
        ...

    def alloc(self, size: int, stream: int = 0) -> int:
        """The address of fresh memory. Raises MemoryError."""
        ...

    def free(self, address: int, stream: int = 0) -> None:
        """Give memory back when the stream comes to it."""
        ...

    def to_device(self, address: int, array: np.ndarray[Any, Any], stream: int = 0) -> None:
        """Overwrite memory of the device with the elements of a dense array."""
        ...

    def to_host(self, array: np.ndarray[Any, Any], address: int, stream: int = 0) -> None:
        """Overwrite a dense array with memory of the device."""
        ...

    def wait(self, stream: int = 0) -> None:
        """Wait until a stream has done its work."""
        ...


class CudaDriver:
    """The functions of one loaded library: a `ctypes.CDLL`, or what has functions by these names.

    Raises DeviceError where the library is too old, or has no device.
    """

    def __init__(self, library: Any) -> None:
        self._library = library
        for name, types in _FUNCTIONS.items():
            f = getattr(library, name, None)
            if f is None:
                raise DeviceError(f"the NVIDIA driver is too old: it has no {name}; {_ADVICE}")
            f.argtypes, f.restype = types, _i
        self._lock = short_lock()
        #: The retained primary context of each device.
        self._contexts: dict[int, int] = {}
        status = library.cuInit(0)
        count = _i(0)
        status = status or library.cuDeviceGetCount(ctypes.byref(count))
        if status == _STUB_LIBRARY:
            raise _missing("no NVIDIA driver was found: libcuda is a stub")
        if status == _NO_DEVICE or (status == 0 and count.value == 0):
            raise _missing("no NVIDIA GPU was found")
        if status:
            name, text = self._described(status)
            raise _missing(f"the NVIDIA driver does not start: {name}: {text}")
        #: Whether there are graphs with conditional nodes.
        self.has_graphs = all(hasattr(library, name) for name in GRAPH_SYMBOLS)
        #: How many devices there are.
        self.devices: int = count.value

    def symbols(self) -> dict[str, int]:
        """The addresses of the functions that programs call, by their names."""
        f, names = self._library, SYMBOLS + GRAPH_SYMBOLS * self.has_graphs
        return {name: ctypes.cast(getattr(f, name), _p).value or 0 for name in names}

    # Errors -------------------------------------------------------------------------------------

    def _described(self, status: int) -> tuple[str, str]:
        """The driver's name for a status, and its text."""
        out = []
        for f in (self._library.cuGetErrorName, self._library.cuGetErrorString):
            text = ctypes.c_char_p()
            failed = f(status, ctypes.byref(text))
            out.append("" if failed or text.value is None else text.value.decode(errors="replace"))
        return out[0] or f"CUDA error {status}", out[1] or "an error that the driver does not know"

    def check(self, status: int, doing: str = "") -> None:
        """Raise CudaError for what is no success, MemoryError where device memory is short."""
        if status == 0:
            return
        name, text = self._described(status)
        if status == _OUT_OF_MEMORY:
            raise MemoryError(f"{doing}: {name}: {text}" if doing else f"{name}: {text}")
        raise CudaError(status, name, text, doing)

    # Devices ------------------------------------------------------------------------------------

    def ensure_context(self, ordinal: int) -> int | None:
        """Have this thread work on a device, in its primary context.

        It gives the context that was current before, for `set_context`, or None where nothing was
        to be changed back: the same one was current, or none was. Other libraries take the current
        context for their current device. Raises CudaError, DeviceError without stream-ordered
        memory.
        """
        current = _p()
        self.check(self._library.cuCtxGetCurrent(ctypes.byref(current)), "asking for the context")
        context = self._contexts.get(ordinal)
        if context is None:
            context = self._retained(ordinal)
        if current.value == context:
            return None
        self.set_context(context)
        return current.value

    def has_context(self) -> bool:
        """Whether this thread works on a device."""
        current = _p()
        self.check(self._library.cuCtxGetCurrent(ctypes.byref(current)), "asking for the context")
        return bool(current.value)

    def set_context(self, context: int) -> None:
        """Make a context current in this thread. Raises CudaError."""
        self.check(self._library.cuCtxSetCurrent(context), "setting the context")

    def _retained(self, ordinal: int) -> int:
        """The primary context of a device; its pool keeps memory from now on."""
        with self._lock:
            if ordinal not in self._contexts:
                device = self._device(ordinal)
                if not self._attribute(_POOLS, ordinal):
                    raise DeviceError(
                        f"GPU {ordinal} has no stream-ordered memory (cuMemAllocAsync); {_ADVICE}"
                    )
                context = _p()
                status = self._library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
                self.check(status, f"opening GPU {ordinal}")
                threshold = ctypes.c_uint64(2**64 - 1)
                status = self._library.cuMemPoolSetAttribute(
                    self._pool(ordinal), _RELEASE_THRESHOLD, ctypes.byref(threshold)
                )
                self.check(status, "setting up the memory pool")
                self._contexts[ordinal] = context.value or 0
            return self._contexts[ordinal]

    def _device(self, ordinal: int) -> int:
        device = _i()
        self.check(self._library.cuDeviceGet(ctypes.byref(device), ordinal), f"GPU {ordinal}")
        return device.value

    def _attribute(self, which: int, ordinal: int) -> int:
        value = _i()
        status = self._library.cuDeviceGetAttribute(
            ctypes.byref(value), which, self._device(ordinal)
        )
        self.check(status, f"asking about GPU {ordinal}")
        return value.value

    def _pool(self, ordinal: int) -> int | None:
        pool = _p()
        device = self._device(ordinal)
        status = self._library.cuDeviceGetDefaultMemPool(ctypes.byref(pool), device)
        self.check(status, "asking for the memory pool")
        return pool.value

    def compute_capability(self, ordinal: int = 0) -> tuple[int, int]:
        """(major, minor) of a device, as in `sm_80`. Raises CudaError."""
        return self._attribute(_MAJOR, ordinal), self._attribute(_MINOR, ordinal)

    def multiprocessors(self, ordinal: int = 0) -> int:
        """How many multiprocessors a device has. Raises CudaError."""
        return self._attribute(_MULTIPROCESSORS, ordinal)

    def device_of_pointer(self, address: int) -> int | None:
        """The number of the device that memory is on; None for memory that is unknown to CUDA."""
        ordinal = _i(-1)
        f = self._library.cuPointerGetAttribute
        status = f(ctypes.byref(ordinal), _ORDINAL, address)
        if status == _INVALID_VALUE:
            return None
        self.check(status, "asking for a pointer's device")
        return None if ordinal.value < 0 else ordinal.value

    # Modules ------------------------------------------------------------------------------------

    def load(self, image: bytes) -> int:
        """The handle of a module from a cubin, or from PTX, in the current context.

        It is never unloaded. Raises CudaError, with what a compiler of PTX had to say.
        """
        log = ctypes.create_string_buffer(_LOG_SIZE)
        options = (_i * 2)(_ERROR_LOG, _ERROR_LOG_SIZE)
        values = (_p * 2)(ctypes.addressof(log), _LOG_SIZE)
        module = _p()
        # The zero at its end, which PTX needs, is there in every bytes object.
        status = self._library.cuModuleLoadDataEx(ctypes.byref(module), image, 2, options, values)
        said = log.value.decode(errors="replace").strip()
        self.check(status, "loading kernels" + (f" ({said})" if said else ""))
        return module.value or 0

    def function(self, module: int, name: str) -> int:
        """The handle of a kernel, as `cuLaunchKernel` takes it. Raises CudaError."""
        f = _p()
        status = self._library.cuModuleGetFunction(ctypes.byref(f), module, name.encode())
        self.check(status, f"finding kernel {name!r}")
        return f.value or 0

    # Memory -------------------------------------------------------------------------------------

    def alloc(self, size: int, stream: int = 0) -> int:
        """The address of fresh memory of the current device, from its pool. Raises MemoryError."""
        address = _d()
        status = self._library.cuMemAllocAsync(ctypes.byref(address), max(size, 1), stream)
        self.check(status, f"allocating {size} bytes on the GPU")
        return address.value

    def free(self, address: int, stream: int = 0) -> None:
        """Give memory back when the stream comes to it. Raises CudaError."""
        self.check(self._library.cuMemFreeAsync(address, stream), "freeing memory of the GPU")

    def to_device(self, address: int, array: np.ndarray[Any, Any], stream: int = 0) -> None:
        """Overwrite memory of the device with the elements of a dense array, in memory's order.

        The array may be changed at once. Raises CudaError.
        """
        if array.nbytes:
            f = self._library.cuMemcpyHtoDAsync_v2
            status = f(address, _dense(array), array.nbytes, stream)
            self.check(status, "copying to the GPU")
            self.wait(stream)

    def to_host(self, array: np.ndarray[Any, Any], address: int, stream: int = 0) -> None:
        """Overwrite a dense array with memory of the device. Raises CudaError."""
        if array.nbytes:
            f = self._library.cuMemcpyDtoHAsync_v2
            status = f(_dense(array), address, array.nbytes, stream)
            self.check(status, "copying from the GPU")
            self.wait(stream)

    def wait(self, stream: int = 0) -> None:
        """Wait until a stream has done its work. Raises CudaError, also for what failed there."""
        self.check(self._library.cuStreamSynchronize(stream), "waiting for the GPU")

    def trim(self, ordinal: int = 0) -> None:
        """Give the unused memory of a device's pool back to the device. Raises CudaError."""
        self.check(self._library.cuMemPoolTrimTo(self._pool(ordinal), 0), "trimming the pool")


def _dense(array: np.ndarray[Any, Any]) -> int:
    """The address of an array whose elements lie side by side, in any order of axes."""
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        axes = sorted(range(array.ndim), key=lambda k: -abs(array.strides[k]))
        if not array.transpose(axes).flags.c_contiguous:
            raise ValueError("an array with gaps between its elements")
    return array.ctypes.data


def _missing(what: str) -> DeviceError:
    return DeviceError(f"{what}; {_ADVICE}")


def _names() -> Sequence[str]:
    """Where the library may be."""
    if sys.platform == "win32":
        return ("nvcuda.dll",)
    # The last is that of Windows' subsystem for Linux, which loaders may not look into.
    return ("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1")


def _load() -> Any:
    for name in _names():
        try:
            return ctypes.CDLL(name)
        except OSError as e:
            if os.path.isabs(name) and os.path.exists(name):
                raise _missing(f"the NVIDIA driver cannot be loaded: {e}") from None
    raise _missing("no NVIDIA driver was found")


@once
def driver() -> CudaDriver:
    """The one of this process. Raises DeviceError where there is no driver or no device."""
    return CudaDriver(_load())

"""Libraries whose arrays lie on a GPU: how arrays of CuPy and Numba are read and made.

None of them is imported here: whoever passes an array of a library has imported it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from functools import cache
from typing import Any

import numpy as np

from tracejit.base.late import imported
from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.cuda.driver import CudaDriver, driver
from tracejit.errors import DeviceError

__all__ = [
    "CupyLibrary",
    "cupy_library",
    "DeviceArray",
    "ArrayLibrary",
    "NumbaLibrary",
    "numba_library",
    "dense_strides",
    "interface_array",
    "on_device",
    "order_of",
    "ordinal_of",
]


@dataclass(slots=True)
class DeviceArray:
    """An array on a device: where it is, and whose. Strides are in bytes.

    `ordinal` is the number of its device, None where nobody says; `stream` that of an array that
    names one, on which its elements are ready.
    """

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    read_only: bool
    ordinal: int | None
    owner: Any
    library: ArrayLibrary
    stream: int | None = None
    #: What keeps the memory besides the owner.
    kept: Any = field(default=None, repr=False)


class ArrayLibrary:
    """How arrays of one library on one device are read and made."""

    name = ""

    def __init__(self, ordinal: int | None) -> None:
        self.ordinal = ordinal

    def read(self, x: Any) -> DeviceArray | None:
        """What an array is; None for an array of the library on the host. Raises TypeError."""
        raise NotImplementedError

    def describe(self, x: Any) -> tuple[int, tuple[int, ...], tuple[int, ...] | None, Any, bool]:
        """(address, shape, strides in bytes, dtype, whether it is read-only)."""
        a = self._read(x)
        return a.pointer, a.shape, a.strides, a.dtype, a.read_only

    def _read(self, x: Any) -> DeviceArray:
        found = self.read(x)
        assert found is not None
        return found

    def empty(self, shape: tuple[int, ...], dtype: Any, order: tuple[int, ...]) -> Any:
        """A new array, dense with its axes in this order. Raises TypeError, MemoryError."""
        raise NotImplementedError

    def view(self, owner: Any, address: int, shape: Any, strides: Any, dtype: Any) -> Any:
        """A view of the memory of an array."""
        raise NotImplementedError

    def stream(self) -> int:
        """The stream that the library works on now."""
        return 0

    def ready_on(self, a: DeviceArray) -> int | None:
        """The stream on which the elements of an array are ready; None for any."""
        return self.stream()

    def from_host(self, array: np.ndarray[Any, Any]) -> Any:
        """A copy of an array on the device, dense with its axes in the same order."""
        made = self.empty(array.shape, array.dtype, order_of(array))
        self.put(made, array)
        return made

    def to_host(self, x: Any) -> np.ndarray[Any, Any]:
        """A copy of an array on the host."""
        return self.get(x)

    def check_dtype(self, dtype: np.dtype[Any]) -> None:
        """Raise TypeError for a dtype that the library has not."""
        if dtype.kind not in "biufc" or dtype.itemsize > 8 * (1 + (dtype.kind == "c")):
            raise TypeError(f"{self.name} has no arrays of dtype {dtype}")

    # What needs nothing of a library but the memory of its arrays --------------------------------

    def get(self, x: Any) -> np.ndarray[Any, Any]:
        """A copy on the host, with the axes in the same order."""
        a = self._read(x)
        if 0 in a.shape:
            return np.empty(a.shape, a.dtype)
        with on_device(a.ordinal) as cuda:
            return np.copy(self._fetched(cuda, a)[2], order="K")

    def put(self, target: Any, x: np.ndarray[Any, Any]) -> None:
        """Overwrite an array with one of the host. Raises ValueError if it is read-only."""
        a = self._read(target)
        if a.read_only:
            raise ValueError(f"an array of {self.name} is read-only")
        if 0 in a.shape:
            return
        with on_device(a.ordinal) as cuda:
            # What lies between the elements is written back as it was.
            at, memory, elements = self._fetched(cuda, a)
            elements[...] = x
            cuda.to_device(at, memory, self.stream())

    def _fetched(
        self, cuda: CudaDriver, a: DeviceArray
    ) -> tuple[int, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """An address, a copy of the memory from there on, and the elements in it."""
        spans = [(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)]
        low = sum(min(0, s) for s in spans)
        memory = np.empty(sum(max(0, s) for s in spans) - low + a.dtype.itemsize, np.uint8)
        ready = self.ready_on(a)
        cuda.to_host(memory, a.pointer + low, self.stream() if ready is None else ready)
        elements: np.ndarray[Any, Any] = np.ndarray(a.shape, a.dtype, memory, -low, a.strides)
        return a.pointer + low, memory, elements


class CupyLibrary(ArrayLibrary):
    """Arrays of CuPy on one device."""

    name = "CuPy"

    def __init__(self, ordinal: int | None) -> None:
        super().__init__(ordinal)
        self._cupy = imported("cupy")

    def read(self, x: Any) -> DeviceArray:
        """What an array is."""
        at = x.device.id
        library = self if at == self.ordinal else cupy_library(at)
        return DeviceArray(x.data.ptr, x.shape, x.strides, x.dtype, False, at, x, library)

    def empty(self, shape: tuple[int, ...], dtype: Any, order: tuple[int, ...]) -> Any:
        """A new array, dense with its axes in this order."""
        self.check_dtype(np.dtype(dtype))
        axes = range(len(shape))
        with self._device():
            if order == tuple(axes):
                return self._cupy.empty(shape, dtype)
            if order == tuple(reversed(axes)):
                return self._cupy.empty(shape, dtype, order="F")
            made = self._cupy.empty(tuple(shape[k] for k in order), dtype)
            return made.transpose([order.index(k) for k in axes])

    def view(self, owner: Any, address: int, shape: Any, strides: Any, dtype: Any) -> Any:
        """A view of the memory of an array."""
        if 0 in shape:
            return self.empty(tuple(shape), dtype, tuple(range(len(shape))))
        memory = owner.data + (address - owner.data.ptr)
        with self._device():
            return self._cupy.ndarray(shape, dtype, memory, strides)

    def stream(self) -> int:
        """The stream that CuPy works on now."""
        with self._device():
            return int(self._cupy.cuda.get_current_stream().ptr)

    def get(self, x: Any) -> np.ndarray[Any, Any]:
        """A copy on the host."""
        with self._device():
            copy: np.ndarray[Any, Any] = self._cupy.asnumpy(x)
            return copy

    def put(self, target: Any, x: np.ndarray[Any, Any]) -> None:
        """Overwrite an array with one of the host."""
        with self._device():
            target[...] = self._cupy.asarray(x)

    def _device(self) -> Any:
        return self._cupy.cuda.Device(self.ordinal)


cupy_library = cache(CupyLibrary)


class NumbaLibrary(ArrayLibrary):
    """Device arrays of Numba on one device."""

    name = "Numba"

    def __init__(self, ordinal: int | None) -> None:
        super().__init__(ordinal)
        self._cuda = imported("numba.cuda")

    def read(self, x: Any) -> DeviceArray:
        """What an array is. Raises TypeError for a dtype that is none of numbers."""
        context = getattr(x.gpu_data, "context", None)
        at = None if context is None else context.device.id
        library = self if at == self.ordinal else numba_library(at)
        return interface_array(x, x.__cuda_array_interface__, library, at)

    def ready_on(self, a: DeviceArray) -> int | None:
        """The stream that an array is bound to, or Numba's."""
        return self.stream() if a.stream is None else a.stream

    def empty(self, shape: tuple[int, ...], dtype: Any, order: tuple[int, ...]) -> Any:
        """A new array, dense with its axes in this order."""
        dtype = np.dtype(dtype)
        self.check_dtype(dtype)
        with self._device():
            strides = dense_strides(shape, order, dtype.itemsize)
            return self._cuda.device_array(shape, dtype, strides)

    def view(self, owner: Any, address: int, shape: Any, strides: Any, dtype: Any) -> Any:
        """A view of the memory of an array."""
        if 0 in shape:
            return self.empty(tuple(shape), dtype, tuple(range(len(shape))))
        described = {
            "version": 3,
            "shape": tuple(shape),
            "strides": tuple(strides),
            "typestr": np.dtype(dtype).str,
            "data": (address, False),
        }
        with self._device():
            return self._cuda.from_cuda_array_interface(described, owner, sync=False)

    @contextmanager
    def _device(self) -> Iterator[None]:
        if self.ordinal is None:
            yield
        else:
            with self._cuda.gpus[self.ordinal]:
                yield


numba_library = cache(NumbaLibrary)


def interface_array(
    x: Any, described: Any, library: ArrayLibrary, ordinal: int | None, read_only: bool = False
) -> DeviceArray:
    """What `__cuda_array_interface__` says of an array.

    Raises TypeError for what is no array of numbers, ValueError for a stream that the interface
    forbids.
    """
    pointer, told_read_only = described["data"]
    dtype = np.dtype(described["typestr"])
    if described.get("mask") is not None:
        raise TypeError(f"a {type(x).__name__} with a mask")
    if dtype.kind not in "biufc":
        raise TypeError(
            f"a {type(x).__name__} of dtype {described['typestr']!r}: no dtype of NumPy"
        )
    shape = tuple(described["shape"])
    strides = described.get("strides")
    if strides is None:
        strides = dense_strides(shape, range(len(shape)), dtype.itemsize)
    stream = described.get("stream")
    if stream == 0:
        raise ValueError(f"a {type(x).__name__} is on stream 0, which the interface forbids")
    # 1 is the default stream, and 2 the handle of each thread's own.
    stream = 0 if stream == 1 else stream
    return DeviceArray(
        pointer or 0, shape, tuple(strides), dtype, bool(told_read_only) or read_only,
        ordinal, x, library, None if stream is None else int(stream),
    )  # fmt: skip


def dense_strides(shape: Sequence[int], order: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Strides without gaps, the axes in this order, the first with the largest."""
    strides, step = [0] * len(shape), itemsize
    for axis in reversed(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


def order_of(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """The axes of an array, the one with the largest stride first."""
    return tuple(sorted(range(array.ndim), key=lambda k: (-abs(array.strides[k]), k)))


@contextmanager
def on_device(ordinal: int | None) -> Iterator[CudaDriver]:
    """The driver, with a device current inside; None stands for the current one, or the first."""
    cuda = driver()
    before = None
    if ordinal is not None or not cuda.has_context():
        before = cuda.ensure_context(ordinal or 0)
    try:
        yield cuda
    finally:
        if before is not None:
            cuda.set_context(before)


def ordinal_of(pointer: int) -> int | None:
    """The device that memory is on, as far as the driver knows."""
    try:
        return driver().device_of_pointer(pointer) if pointer else None
    except DeviceError:
        return None

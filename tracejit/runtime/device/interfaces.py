"""Arrays of any library that tells where they are: by `__cuda_array_interface__`, or by DLPack.

Such a library is not asked for memory: what is made beside its arrays is a `DeviceBuffer`.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from tracejit.codegen.cuda.driver import CudaError
from tracejit.runtime.device.libraries import (
    ArrayLibrary,
    DeviceArray,
    dense_strides,
    interface_array,
    on_device,
    ordinal_of,
)

__all__ = ["DeviceBuffer", "InterfaceLibrary", "read_interface", "read_dlpack"]

#: Modules whose arrays are never written, whatever their interfaces say.
_READ_ONLY = ("jax", "jaxlib")
# DLDeviceType, DLDataTypeCode
_CUDA, _MANAGED = 2, 13
_CODES = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}
_DLPACK_READ_ONLY = 1


class _Memory:
    """Memory of a device, for as long as this lives."""

    def __init__(self, size: int, ordinal: int | None, stream: int) -> None:
        self.ordinal, self.stream, self.address = ordinal, stream, 0
        with on_device(ordinal) as cuda:
            self.address = cuda.alloc(size, stream)

    def __del__(self) -> None:
        # Where the process ends, the driver may have ended before.
        if self.address:
            with suppress(CudaError), on_device(self.ordinal) as cuda:
                cuda.free(self.address, self.stream)


class DeviceBuffer:
    """An array on a device with no methods but `copy_to_host()`: other libraries take it.

    It has `__cuda_array_interface__`, shape, strides in bytes, and dtype.
    """

    def __init__(
        self, owner: Any, address: int, shape: tuple[int, ...], strides: tuple[int, ...],
        dtype: np.dtype[Any], stream: int, read_only: bool = False,
    ) -> None:  # fmt: skip
        self._owner, self._address, self._stream = owner, address, stream
        self.shape, self.strides, self.dtype = shape, strides, dtype
        self.read_only = read_only

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "strides": self.strides,
            "typestr": self.dtype.str,
            "data": (0 if 0 in self.shape else self._address, self.read_only),
            "stream": self._stream or 1,
        }

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def copy_to_host(self) -> np.ndarray[Any, Any]:
        """A copy on the host, with the axes in the same order."""
        found = read_interface(self)
        assert found is not None
        return found.library.to_host(self)

    def __repr__(self) -> str:
        return f"DeviceBuffer({self.copy_to_host()!r})"


class InterfaceLibrary(ArrayLibrary):
    """Arrays with one of the interfaces, on one device, whose elements are ready on one stream."""

    name = "DeviceBuffer"

    def __init__(self, ordinal: int | None, stream: int | None) -> None:
        super().__init__(ordinal)
        self._stream = stream

    def read(self, x: Any) -> DeviceArray | None:
        """What an array is; see `read_interface` and `read_dlpack`."""
        return read_interface(x) or read_dlpack(x)

    def ready_on(self, a: DeviceArray) -> int | None:
        """The stream that an array names."""
        return a.stream

    def stream(self) -> int:
        """The stream that the arrays name, or the default one."""
        return self._stream or 0

    def empty(self, shape: tuple[int, ...], dtype: Any, order: tuple[int, ...]) -> DeviceBuffer:
        """A new array, dense with its axes in this order. Raises MemoryError."""
        dtype = np.dtype(dtype)
        self.check_dtype(dtype)
        strides = dense_strides(shape, order, dtype.itemsize)
        size = int(np.prod(shape, dtype=object)) * dtype.itemsize
        memory = _Memory(size, self.ordinal, self.stream())
        return DeviceBuffer(memory, memory.address, tuple(shape), strides, dtype, self.stream())

    def view(self, owner: Any, address: int, shape: Any, strides: Any, dtype: Any) -> DeviceBuffer:
        """A view of the memory of an array; it keeps that one."""
        a = self._read(owner)
        return DeviceBuffer(
            (owner, a.kept), address, tuple(shape), tuple(strides), np.dtype(dtype),
            self.stream(), a.read_only,
        )  # fmt: skip


_library = cache(InterfaceLibrary)


def _is_read_only(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] in _READ_ONLY


def read_interface(x: Any) -> DeviceArray | None:
    """What `__cuda_array_interface__` says of an array; None where it has none, as on the host.

    Raises TypeError for what is no array of numbers.
    """
    described = getattr(x, "__cuda_array_interface__", None)
    if described is None:
        return None
    ordinal = ordinal_of(described["data"][0])
    a = interface_array(x, described, _library(ordinal, None), ordinal, _is_read_only(x))
    if a.stream is not None:
        a.library = _library(ordinal, a.stream)
    return a


# DLPack -----------------------------------------------------------------------------------------


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_get_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)


def read_dlpack(x: Any) -> DeviceArray | None:
    """What DLPack says of an array; None for one that is not on a GPU of NVIDIA's.

    Its library makes the elements ready for the default stream. Raises TypeError for what is no
    array of numbers.
    """
    try:
        kind, at = x.__dlpack_device__()
    except Exception:
        # Arrays that are spread over devices, or not there yet, have none.
        return None
    if kind not in (_CUDA, _MANAGED):
        return None
    try:
        capsule = x.__dlpack__(stream=1, max_version=(1, 0), copy=False)
    except TypeError:
        capsule = x.__dlpack__(stream=1)
    flags = 0
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_get_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise TypeError(f"a {type(x).__name__} with version {versioned.major} of DLPack")
        tensor, flags = versioned.tensor, versioned.flags
    else:
        tensor = _Tensor.from_address(_get_pointer(capsule, b"dltensor"))
    code = _CODES.get(tensor.code)
    try:
        if code is None or tensor.lanes != 1 or tensor.bits % 8:
            raise TypeError
        dtype = np.dtype(bool if code == "b" else f"{code}{tensor.bits // 8}")
    except TypeError:
        raise TypeError(
            f"a {type(x).__name__} of a dtype that NumPy has not (DLPack's code {tensor.code}, "
            f"{tensor.bits} bits, {tensor.lanes} lanes)"
        ) from None
    shape = tuple(tensor.shape[: tensor.ndim])
    if tensor.strides:
        strides = tuple([s * dtype.itemsize for s in tensor.strides[: tensor.ndim]])
    else:
        strides = dense_strides(shape, range(len(shape)), dtype.itemsize)
    read_only = bool(flags & _DLPACK_READ_ONLY) or _is_read_only(x)
    pointer = (tensor.data or 0) + tensor.byte_offset
    # The capsule is not taken over: it gives the tensor back when it goes.
    return DeviceArray(
        pointer, shape, strides, dtype, read_only, int(at), x, _library(int(at), None), kept=capsule
    )

"""CuPy and PyTorch without a device: as much of them as is asked for, on memory of the host."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

#: The devices that are current, the last one now, and the streams of devices.
CURRENT = [0]
STREAMS: dict[int, int] = {}


class _Device:
    def __init__(self, ordinal: int) -> None:
        self.id = ordinal

    def __enter__(self) -> None:
        CURRENT.append(self.id)

    def __exit__(self, *error: object) -> None:
        CURRENT.pop()


class _Pointer:
    """Memory from a place on."""

    def __init__(self, memory: np.ndarray[Any, Any], ptr: int) -> None:
        self.memory, self.ptr = memory, ptr

    def __add__(self, offset: int) -> _Pointer:
        return _Pointer(self.memory, self.ptr + offset)


def _at(pointer: _Pointer, shape: Any, dtype: Any, strides: Any) -> np.ndarray[Any, Any]:
    offset = pointer.ptr - pointer.memory.ctypes.data
    return np.ndarray(shape, dtype, pointer.memory.view(np.uint8), offset, strides)


class CupyArray:
    """`cupy.ndarray`."""

    def __init__(self, shape: Any, dtype: Any, memptr: Any = None, strides: Any = None) -> None:
        self.x = np.zeros(shape, dtype) if memptr is None else _at(memptr, shape, dtype, strides)
        self.device = _Device(CURRENT[-1])

    @classmethod
    def of(cls, x: np.ndarray[Any, Any]) -> CupyArray:
        made = cls((), np.int8)
        made.x = x
        return made

    @property
    def data(self) -> _Pointer:
        whole: Any = self.x
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        return _Pointer(whole.reshape(-1, order="A"), self.x.ctypes.data)

    shape = property(lambda self: self.x.shape)
    strides = property(lambda self: self.x.strides)
    dtype = property(lambda self: self.x.dtype)

    def transpose(self, axes: Any) -> CupyArray:
        return self.of(self.x.transpose(axes))

    def __setitem__(self, key: Any, value: CupyArray) -> None:
        assert self.device.id == CURRENT[-1] == value.device.id
        self.x[key] = value.x


CupyArray.__name__, CupyArray.__module__ = "ndarray", "cupy"


def cupy() -> ModuleType:
    module: Any = ModuleType("cupy")
    module.ndarray = CupyArray
    module.empty = lambda shape, dtype, order="C": CupyArray.of(np.empty(shape, dtype, order))
    module.asarray = lambda x: CupyArray.of(np.array(x))
    module.asnumpy = lambda x: x.x.copy()
    module.cuda = SimpleNamespace(
        Device=_Device,
        get_current_stream=lambda: SimpleNamespace(ptr=STREAMS.get(CURRENT[-1], 0)),
        runtime=SimpleNamespace(is_hip=False),
    )
    return module


class TorchType(str):
    """`torch.dtype`."""


class Tensor:
    """`torch.Tensor`, as a part of a storage: an array of bytes."""

    requires_grad = conj = neg = False
    layout = "strided"
    is_cuda = True

    def __init__(
        self, storage: np.ndarray[Any, Any], dtype: TorchType, shape: Any, stride: Any, at: int = 0,
        ordinal: int = 0,
    ) -> None:  # fmt: skip
        self.storage, self.dtype, self.shape, self._stride = storage, dtype, tuple(shape), stride
        self.at, self.ordinal = at, ordinal

    @property
    def x(self) -> np.ndarray[Any, Any]:
        dtype = np.dtype(self.dtype.split(".")[1])
        strides = [s * dtype.itemsize for s in self._stride]
        return np.ndarray(self.shape, dtype, self.storage, self.at * dtype.itemsize, strides)

    def set_(self, storage: Any, at: int, shape: Any, stride: Any) -> None:
        assert min(stride, default=0) >= 0 and at >= 0
        self.storage, self.at, self.shape, self._stride = storage.bytes, at, shape, stride

    def flip(self, axes: Any) -> Tensor:
        copy = np.flip(self.x, axes).copy()
        return _tensor(copy, self.ordinal)

    def untyped_storage(self) -> Any:
        at = self.storage.ctypes.data
        return SimpleNamespace(bytes=self.storage, data_ptr=lambda: at)

    def copy_(self, other: Tensor) -> None:
        self.x[...] = other.x

    def stride(self) -> Any:
        return self._stride

    def data_ptr(self) -> int:
        return self.x.ctypes.data

    def get_device(self) -> int:
        return self.ordinal

    def is_conj(self) -> bool:
        return self.conj

    def is_neg(self) -> bool:
        return self.neg

    def cpu(self) -> Any:
        return SimpleNamespace(numpy=self.x.copy)


Tensor.__module__ = "torch"


def _tensor(x: np.ndarray[Any, Any], ordinal: int = 0) -> Tensor:
    assert x.flags.writeable and x.flags.c_contiguous
    storage = np.frombuffer(bytearray(x.tobytes()), np.uint8)
    stride = tuple(s // x.itemsize for s in x.strides)
    return Tensor(storage, TorchType(f"torch.{x.dtype.name}"), x.shape, stride, 0, ordinal)


def torch() -> ModuleType:
    module: Any = ModuleType("torch")

    def empty_strided(shape: Any, stride: Any, dtype: Any, device: Any) -> Tensor:
        size = 16 * (1 + sum((n - 1) * s for n, s in zip(shape, stride, strict=True)))
        return Tensor(np.zeros(size, np.uint8), dtype, shape, stride, 0, device[1])

    def empty(shape: Any, dtype: Any, device: Any) -> Tensor:
        x = np.empty(shape, np.dtype(dtype.split(".")[1]))
        stride = [s // x.itemsize for s in x.strides]
        return Tensor(np.zeros(x.nbytes, np.uint8), dtype, x.shape, stride, 0, device[1])

    for name in ("float64", "float32", "float16", "int64", "uint8", "bool", "complex64"):
        setattr(module, name, TorchType(f"torch.{name}"))
    module.strided, module.Tensor = "strided", Tensor
    module.empty, module.empty_strided, module.from_numpy = empty, empty_strided, _tensor
    module.device = lambda kind, ordinal: (kind, ordinal)
    module.version = SimpleNamespace(hip=None)

    def current_stream(device: Any) -> Any:
        return SimpleNamespace(cuda_stream=STREAMS.get(device[1], 0))

    module.cuda = SimpleNamespace(current_stream=current_stream)
    return module


def tensor(x: Any, ordinal: int = 0) -> Tensor:
    """A tensor with these elements."""
    return _tensor(np.array(x, order="C"), ordinal)


def cupy_array(x: Any, ordinal: int = 0) -> CupyArray:
    """An array of CuPy with these elements, in their order."""
    made = CupyArray.of(np.array(x, order="K"))
    made.device = _Device(ordinal)
    return made


def installed() -> dict[str, Any]:
    """The modules, in `sys.modules`."""
    made = {"cupy": cupy(), "torch": torch()}
    sys.modules.update(made)
    return made

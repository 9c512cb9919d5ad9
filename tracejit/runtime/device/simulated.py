"""Arrays on the simulated device, for those who have no GPU: `SimulatedArray`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.codegen.cuda.simulator import Simulator, simulator
from tracejit.runtime.device.library import Description, Library

__all__ = ["SimulatedArray", "SimulatedLibrary", "to_simulated"]


class _Memory:
    """Memory of the simulated device, for as long as this lives."""

    def __init__(self, driver: Simulator, size: int) -> None:
        self.driver = driver
        self.address = driver.alloc(max(size, 1))

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self.driver.free(self.address)


class SimulatedArray:
    """An array on the simulated device: shape, dtype, strides (bytes), and `get()`, a copy of it.

    It has the interface of CUDA arrays, `__cuda_array_interface__`, and can be indexed by slices
    and integers, which gives views.
    """

    def __init__(
        self,
        memory: _Memory,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: np.dtype[Any],
        read_only: bool = False,
    ) -> None:
        self._memory, self._address = memory, address
        self.shape, self.strides, self.dtype = shape, strides, dtype
        self.read_only = read_only

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "version": 3,
            "data": (self._address, self.read_only),
            "shape": self.shape,
            "strides": self.strides,
            "typestr": self.dtype.str,
            "stream": None,
        }

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __repr__(self) -> str:
        return f"SimulatedArray({self.get()!r})"

    def _whole(self) -> np.ndarray[Any, Any]:
        """The memory as the host may look at it, from the lowest address of an element on."""
        low = sum(min(0, (n - 1) * s) for n, s in zip(self.shape, self.strides, strict=True))
        high = sum(max(0, (n - 1) * s) for n, s in zip(self.shape, self.strides, strict=True))
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        size = high - low + self.dtype.itemsize
        raw = self._memory.driver.bytes_at(self._address + low, size)
        return np.ndarray(self.shape, self.dtype, raw, -low, self.strides)

    def get(self) -> np.ndarray[Any, Any]:
        """A copy of the elements on the host, in the same order of axes."""
        return np.copy(self._whole(), order="K")

    def set(self, x: np.ndarray[Any, Any]) -> None:
        """Overwrite the elements."""
        self._whole()[...] = x

    def __getitem__(self, key: Any) -> SimulatedArray:
        whole = self._whole()
        part = whole[key]
        if not isinstance(part, np.ndarray) or not np.may_share_memory(part, whole):
            part = whole[(*key, ...)] if isinstance(key, tuple) else whole[key, ...]
        offset = part.ctypes.data - whole.ctypes.data
        return SimulatedArray(
            self._memory, self._address + offset, part.shape, part.strides, part.dtype,
            self.read_only,
        )  # fmt: skip


def _empty(shape: tuple[int, ...], dtype: np.dtype[Any], order: tuple[int, ...]) -> SimulatedArray:
    """Fresh memory for a dense array whose axes lie in `order`, the outermost first."""
    strides, step = [0] * len(shape), dtype.itemsize
    for axis in reversed(order):
        strides[axis] = step
        step *= max(shape[axis], 1)
    memory = _Memory(simulator(), step)
    return SimulatedArray(memory, memory.address, shape, tuple(strides), dtype)


def to_simulated(x: np.ndarray[Any, Any]) -> SimulatedArray:
    """A copy of an array on the simulated device, in the same order of axes."""
    strides = [(-abs(s), axis) for axis, s in enumerate(x.strides)]
    order = tuple(axis for _, axis in sorted(strides))
    there = _empty(x.shape, x.dtype, order)
    there.set(x)
    return there


class SimulatedLibrary(Library):
    """See `Library`."""

    def owns(self, x: Any) -> bool:
        return type(x) is SimulatedArray

    def describe(self, x: Any) -> Description:
        return x._address, x.shape, x.strides, x.dtype, x.read_only

    def empty(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], order: tuple[int, ...], scalar: bool
    ) -> SimulatedArray:
        return _empty(shape, dtype, order)

    def result(self, owner: Any, view: np.ndarray[Any, Any] | None) -> Any:
        if view is None:
            return owner
        return SimulatedArray(
            owner._memory, view.ctypes.data, view.shape, view.strides, view.dtype,
            not view.flags.writeable,
        )  # fmt: skip

    def read(self, owner: Any, address: int, size: int) -> np.ndarray[Any, Any]:
        return simulator().to_host(address, size)

    def write(self, owner: Any, address: int, data: np.ndarray[Any, Any]) -> None:
        simulator().to_device(address, data)

"""How the arrays of one library are read, made and moved, for one call.

`Moved` is NumPy's own: its arrays are copied to the device for a call, and what was stored and what
is given are copied back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.runtime.device.ghosts import Holder, ghost, holder_of

__all__ = ["Description", "Library", "Moved", "span"]

#: Address, shape, strides in bytes (None: C order), dtype, and whether it is read-only.
Description = tuple[int, tuple[int, ...], tuple[int, ...] | None, np.dtype[Any], bool]
_ALIGN = 64


def span(x: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The addresses of the first byte of an array and of the one after its last."""
    if 0 in x.shape:
        return x.ctypes.data, x.ctypes.data
    spans = [(n - 1) * s for n, s in zip(x.shape, x.strides, strict=True)]
    start = x.ctypes.data
    low, high = (sum(f(0, s) for s in spans) for f in (min, max))
    return start + low, start + high + x.itemsize


class Library(ABC):
    """What one call asks of the library of its arrays."""

    #: Whether they lie on the device, so that a run on the host needs copies.
    is_away = True

    @abstractmethod
    def owns(self, x: Any) -> bool:
        """Whether a value is one of its arrays."""

    @abstractmethod
    def describe(self, x: Any) -> Description:
        """Where an array lies. Arrays of the host are moved."""

    @abstractmethod
    def empty(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], order: tuple[int, ...], scalar: bool
    ) -> Any:
        """A new array, dense with its axes in this order; or what a scalar is there."""

    @abstractmethod
    def result(self, owner: Any, view: np.ndarray[Any, Any] | None) -> Any:
        """What the user gets: an array that `empty` gave, or a view of one, or of an argument."""

    @abstractmethod
    def read(self, owner: Any, address: int, size: int) -> np.ndarray[Any, Any]:
        """Bytes of the memory of an array, copied to the host."""

    @abstractmethod
    def write(self, owner: Any, address: int, data: np.ndarray[Any, Any]) -> None:
        """Overwrite bytes of the memory of an array."""

    def stream(self) -> int:
        """The stream that the library works on now."""
        return 0

    def ran_on_host(self) -> None:  # noqa: B027 - most have nothing to do
        """The call ran on the host."""

    def fetch(
        self, ghosts: Sequence[tuple[np.ndarray[Any, Any], Any]]
    ) -> list[np.ndarray[Any, Any]]:
        """Arrays of the host like ghosts of arrays: same strides, same overlaps, same elements."""
        groups: list[list[int]] = []
        end = 0
        spans = [span(x) for x, _ in ghosts]
        for k in sorted(range(len(ghosts)), key=spans.__getitem__):
            low, high = spans[k]
            if groups and low < end:
                groups[-1].append(k)
            else:
                groups.append([k])
            end = max(end, high)
        out: dict[int, np.ndarray[Any, Any]] = {}
        for group in groups:
            low, high = min(spans[k][0] for k in group), max(spans[k][1] for k in group)
            room = np.empty(high - low + 2 * _ALIGN, np.uint8)
            start = (low - room.ctypes.data) % _ALIGN
            if high > low:
                room[start : start + high - low] = self.read(ghosts[group[0]][1], low, high - low)
            for k in group:
                x = ghosts[k][0]
                offset = start + x.ctypes.data - low
                out[k] = np.ndarray(x.shape, x.dtype, room, offset, x.strides)
                out[k].flags.writeable = x.flags.writeable
        return [out[k] for k in range(len(ghosts))]

    def put(self, owner: Any, x: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> None:
        """Overwrite the array of a ghost with the elements of one of the host."""
        low, high = span(x)
        if high == low:
            return
        data = self.read(owner, low, high - low)
        view: np.ndarray[Any, Any] = np.ndarray(
            x.shape, x.dtype, data, x.ctypes.data - low, x.strides
        )
        view[...] = values
        self.write(owner, low, data)

    def given(self, calls: Any, x: Any) -> Any:
        """What stands for a result of the host: the ghost of a copy on the device."""
        if isinstance(x, np.generic):
            return x
        order = tuple(sorted(range(x.ndim), key=lambda axis: -abs(x.strides[axis])))
        made: np.ndarray[Any, Any]
        made, _ = calls.make(x.dtype, x.shape, order, False)
        holder = holder_of(made)
        assert holder is not None
        self.put(holder.owner, made, x)
        return made


class _Room:
    """Memory of a device, for as long as this lives."""

    def __init__(self, device: Any, size: int) -> None:
        self._device, self.size = device, size
        self.address: int = device.alloc(max(size, 1))

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._device.free(self.address)


class _Made:
    """A result on the device, and its copy on the host once there is one."""

    def __init__(self, room: _Room, description: Description, scalar: bool) -> None:
        self.room, self.description, self.scalar = room, description, scalar
        self.here: np.ndarray[Any, Any] | None = None


class Moved(Library):
    """NumPy's arrays, for one call of a function that is moved to a device."""

    is_away = False

    def __init__(self, device: Any) -> None:
        self._device = device
        #: id of an array -> the array, its address there, and the memory that it lies in.
        self._there: dict[int, tuple[np.ndarray[Any, Any], int, _Room, int]] = {}
        self._is_done = False

    def move(self, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Copy arrays of a call to the device, those that share memory together."""
        spans = {id(x): (*span(x), x) for x in arrays}
        end = 0
        group: list[np.ndarray[Any, Any]] = []
        for low, high, x in sorted(spans.values(), key=lambda s: s[:2]):
            if group and low >= end:
                self._move(group)
                group = []
            group.append(x)
            end = max(end, high)
        if group:
            self._move(group)

    def _move(self, group: Sequence[np.ndarray[Any, Any]]) -> None:
        low, high = min(span(x)[0] for x in group), max(span(x)[1] for x in group)
        room = _Room(self._device, high - low + _ALIGN)
        start = room.address + (low - room.address) % _ALIGN
        if high > low:
            memory = {"version": 3, "data": (low, True), "shape": (high - low,), "typestr": "|u1"}
            holder = Holder(group, low, (high - low,), None, np.dtype(np.uint8), True)
            holder.__array_interface__ = memory
            self._device.to_device(start, np.asarray(holder))
        for x in group:
            self._there[id(x)] = x, start + x.ctypes.data - low, room, x.ctypes.data

    def owns(self, x: Any) -> bool:
        return type(x) is np.ndarray

    def describe(self, x: Any) -> Description:
        if isinstance(x, _Made):
            return x.description
        if id(x) not in self._there:
            self.move([x])
        return self._there[id(x)][1], x.shape, x.strides, x.dtype, not x.flags.writeable

    def empty(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], order: tuple[int, ...], scalar: bool
    ) -> Any:
        strides, step = [0] * len(shape), dtype.itemsize
        for axis in reversed(order):
            strides[axis] = step
            step *= max(shape[axis], 1)
        room = _Room(self._device, step)
        return _Made(room, (room.address, shape, tuple(strides), dtype, False), scalar)

    def result(self, owner: Any, view: np.ndarray[Any, Any] | None) -> Any:
        if isinstance(owner, _Made):
            base = self._here(owner)
            there = owner.description[0]
            if view is None:
                return base[()] if owner.scalar else base
        else:
            base, there = owner, self._there[id(owner)][1]
            assert view is not None
        start = base.ctypes.data + view.ctypes.data - there
        out = ghost(base, start, view.shape, view.strides, view.dtype, not view.flags.writeable)
        return out

    def _here(self, made: _Made) -> np.ndarray[Any, Any]:
        if made.here is None:
            _, shape, strides, dtype, _ = made.description
            room = self._device.to_host(made.room.address, made.room.size)
            made.here = np.ndarray(shape, dtype, room, 0, strides)
        return made.here

    def read(self, owner: Any, address: int, size: int) -> np.ndarray[Any, Any]:
        data: np.ndarray[Any, Any] = self._device.to_host(address, size)
        return data

    def write(self, owner: Any, address: int, data: np.ndarray[Any, Any]) -> None:
        self._device.to_device(address, data)

    def ran_on_host(self) -> None:
        self._is_done = True

    def end(self, stores: bool) -> None:
        """The call has ended; programs may have stored into its arguments."""
        if self._device.stream:
            # Memory is given back on the default stream, which does not wait for others.
            self._device.wait()
        if not stores or self._is_done:
            return
        for x, address, _, _ in self._there.values():
            if x.flags.writeable and x.size:
                low, high = span(x)
                data = self._device.to_host(address + low - x.ctypes.data, high - low)
                x[...] = np.ndarray(x.shape, x.dtype, data, x.ctypes.data - low, x.strides)

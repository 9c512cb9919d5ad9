"""Arrays that lie on a GPU already, of any library, for one call"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.runtime.device.arrays import common_library, find, wait_for_others
from tracejit.runtime.device.libraries import DeviceArray, on_device
from tracejit.runtime.device.library import Description, Library

__all__ = ["Given"]


class Given(Library):
    """See `Library`; results are of the library of the first of `arrays`.

    Raises DeviceError for arrays on several devices.
    """

    def __init__(self, arrays: Sequence[Any]) -> None:
        #: What arrays are, by their ids, for as long as the call: they are asked for once.
        self._known = {id(x): (x, find(x)) for x in arrays}
        found = [a for _, a in self._known.values() if a is not None]
        self._library = common_library(found)
        #: The number of the device.
        self.ordinal = self._library.ordinal or 0
        #: The stream of the call, and of all arrays of the library that name no other.
        self._stream = now = self._library.stream()
        others = [a for a in found if a.library is not self._library or a.stream is not None]
        if others:
            wait_for_others(others, now)

    def owns(self, x: Any) -> bool:
        known = self._known.get(id(x))
        return (find(x) if known is None else known[1]) is not None

    def _find(self, x: Any) -> DeviceArray:
        if id(x) not in self._known:
            self._known[id(x)] = x, find(x)
        found = self._known[id(x)][1]
        assert found is not None
        return found

    def describe(self, x: Any) -> Description:
        a = self._find(x)
        return a.pointer, a.shape, a.strides, a.dtype, a.read_only

    def empty(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], order: tuple[int, ...], scalar: bool
    ) -> Any:
        return self._library.empty(shape, dtype, order)

    def result(self, owner: Any, view: np.ndarray[Any, Any] | None) -> Any:
        if view is None:
            return owner
        library = self._find(owner).library
        return library.view(owner, view.ctypes.data, view.shape, view.strides, view.dtype)

    def stream(self) -> int:
        return self._stream

    def read(self, owner: Any, address: int, size: int) -> np.ndarray[Any, Any]:
        out = np.empty(size, np.uint8)
        with on_device(self.ordinal) as cuda:
            cuda.to_host(out, address, self.stream())
        return out

    def write(self, owner: Any, address: int, data: np.ndarray[Any, Any]) -> None:
        with on_device(self.ordinal) as cuda:
            cuda.to_device(address, data, self.stream())

"""The simulated device as a target: see `codegen/cuda/simulator.py`."""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from tracejit.base.locks import once
from tracejit.codegen.cuda.launches import Launch, Limits
from tracejit.codegen.cuda.simulated_functions import simulated_namespace
from tracejit.codegen.cuda.simulator import Simulator, simulator

__all__ = ["SimulatedDevice", "simulated_device"]


class _Constant:
    """A copy of an array on the device, there for as long as this lives."""

    def __init__(self, driver: Simulator, array: np.ndarray[Any, Any]) -> None:
        self._driver = driver
        self.address = driver.alloc(array.nbytes)
        there = driver.bytes_at(self.address, array.nbytes)
        there[:] = np.frombuffer(array.tobytes("A"), np.uint8)

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._driver.free(self.address)


class SimulatedDevice:
    """See `target.Device`."""

    name = "cuda-sim"
    # Few threads, since each of them is simulated; more than one of everything.
    limits = Limits(block=4, grid=2, warp=Simulator.warp)

    def __init__(self, driver: Simulator) -> None:
        self.driver = driver
        self.alloc, self.free = driver.alloc, driver.free
        self.to_host, self.to_device = driver.to_host, driver.to_device
        self._namespace = simulated_namespace()
        self._stream = ctypes.c_uint64(0)

    def enter(self) -> int | None:
        """Every thread works on it."""
        return None

    def leave(self, before: int | None) -> None:
        """Every thread works on it."""

    def symbols(self) -> Mapping[str, int]:
        return self.driver.symbols()

    def define(self, launch: Launch) -> int:
        return self.driver.define(launch.source, launch.name, launch.signature, self._namespace)

    def constant(self, array: np.ndarray[Any, Any]) -> tuple[int, Any]:
        kept = _Constant(self.driver, array)
        return kept.address, kept

    @property
    def stream(self) -> int:
        """The stream of the present call."""
        return self._stream.value

    @stream.setter
    def stream(self, stream: int) -> None:
        self._stream.value = stream

    def for_calls(self) -> SimulatedDevice:
        """The same device with a stream of its own."""
        made = copy.copy(self)
        made._stream = ctypes.c_uint64(0)
        return made

    def wait(self) -> None:
        """All work is done when it is asked for."""

    def stream_cell(self) -> int:
        return ctypes.addressof(self._stream)

    has_routines = has_graphs = True
    #: What PTX is made for, to be looked at.
    capability = (9, 0)

    @contextmanager
    def working(self) -> Iterator[Any]:
        """NumPy, on the simulated memory."""
        with np.errstate(all="ignore"):
            yield np

    def array(
        self, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any
    ) -> np.ndarray[Any, Any]:
        """Memory of the device as an array of NumPy."""
        spans = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
        if 0 in shape:
            return np.empty(shape, dtype)
        low = sum(min(0, s) for s in spans)
        size = sum(max(0, s) for s in spans) - low + dtype.itemsize
        memory = self.driver.bytes_at(address + low, size)
        return np.ndarray(shape, dtype, memory, -low, strides)

    def failed(self, status: int, b: int = 0, c: int = 0) -> int:
        error, self.driver.error = self.driver.error, None
        if status == 2:
            raise MemoryError("the simulated device has no more memory")
        raise error or RuntimeError(f"the simulated driver gives {status}")


@once
def simulated_device() -> SimulatedDevice:
    """The one of this process."""
    return SimulatedDevice(simulator())

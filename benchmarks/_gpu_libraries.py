"""The libraries of arrays on a GPU: how arrays are put there, waited for and timed."""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np

from .harness import peer

PEERS = ("cupy", "torch", "jax")


class Arrays:
    """Arrays of one library. Containers keep their form, other values stay as they are."""

    name = ""

    def put(self, x: Any) -> Any:
        """A copy on the device."""
        if isinstance(x, tuple):
            return tuple(self.put(part) for part in x)
        return self._put(x) if isinstance(x, np.ndarray) else x

    def get(self, x: Any) -> Any:
        """A copy on the host."""
        if isinstance(x, (tuple, list)):
            return tuple(self.get(part) for part in x)
        return x if isinstance(x, (int, float, np.generic, np.ndarray)) else self._get(x)

    def _put(self, x: np.ndarray[Any, Any]) -> Any:
        raise NotImplementedError

    def _get(self, x: Any) -> np.ndarray[Any, Any]:
        raise NotImplementedError

    def wait(self, result: Any) -> None:
        """Until the device has done what it was told, `result` at the least."""

    def event(self) -> Any:
        """A mark in the stream, or None."""

    def elapsed(self, before: Any, after: Any) -> float | None:
        """Seconds between two marks that have been reached."""
        return None

    def copy(self, target: Any, source: Any) -> None:
        """Overwrite an array by another."""
        raise NotImplementedError

    def release(self) -> None:
        """Give memory that is kept for later arrays back to the device."""


class _Simulated(Arrays):
    name = "the simulated device"

    def _put(self, x: np.ndarray[Any, Any]) -> Any:
        from tracejit.runtime.device.simulated import to_simulated

        return to_simulated(x)

    def _get(self, x: Any) -> np.ndarray[Any, Any]:
        return np.asarray(x.get())


class _CuPy(Arrays):
    name = "cupy"

    def __init__(self) -> None:
        import cupy

        self._cupy = cupy
        cupy.zeros(1)

    def _put(self, x: np.ndarray[Any, Any]) -> Any:
        return self._cupy.asarray(x)

    def _get(self, x: Any) -> np.ndarray[Any, Any]:
        return np.asarray(self._cupy.asnumpy(x))

    def wait(self, result: Any) -> None:
        self._cupy.cuda.Device().synchronize()

    def event(self) -> Any:
        found = self._cupy.cuda.Event()
        found.record()
        return found

    def elapsed(self, before: Any, after: Any) -> float | None:
        return float(self._cupy.cuda.get_elapsed_time(before, after)) / 1e3

    def copy(self, target: Any, source: Any) -> None:
        self._cupy.copyto(target, source)

    def release(self) -> None:
        self._cupy.get_default_memory_pool().free_all_blocks()


class _Torch(Arrays):
    name = "torch"

    def __init__(self) -> None:
        import torch

        self._torch = torch
        torch.zeros(1, device="cuda")

    def _put(self, x: np.ndarray[Any, Any]) -> Any:
        return self._torch.as_tensor(x, device="cuda")

    def _get(self, x: Any) -> np.ndarray[Any, Any]:
        return np.asarray(x.detach().cpu().numpy())

    def wait(self, result: Any) -> None:
        self._torch.cuda.synchronize()

    def event(self) -> Any:
        found = self._torch.cuda.Event(enable_timing=True)
        found.record()
        return found

    def elapsed(self, before: Any, after: Any) -> float | None:
        return float(before.elapsed_time(after)) / 1e3

    def copy(self, target: Any, source: Any) -> None:
        target.copy_(source)

    def release(self) -> None:
        self._torch.cuda.empty_cache()


class _JAX(Arrays):
    """It has streams of its own, and no events: what it gives is waited for."""

    name = "jax"

    def __init__(self) -> None:
        import jax

        self._jax = jax
        # float64 stays what it is where it is given.
        jax.config.update("jax_enable_x64", True)
        # Products in float32, as the others form them by default.
        jax.config.update("jax_default_matmul_precision", "highest")
        if jax.default_backend() not in ("gpu", "cuda"):
            raise RuntimeError(f"JAX runs on {jax.default_backend()}")

    def _put(self, x: np.ndarray[Any, Any]) -> Any:
        return self._jax.block_until_ready(self._jax.device_put(x))

    def _get(self, x: Any) -> np.ndarray[Any, Any]:
        return np.asarray(x)

    def wait(self, result: Any) -> None:
        if result is not None:
            self._jax.block_until_ready(result)


class _Numba(Arrays):
    """For machines with no other library."""

    name = "numba.cuda"

    def _put(self, x: np.ndarray[Any, Any]) -> Any:
        from numba import cuda

        return cuda.to_device(x)

    def _get(self, x: Any) -> np.ndarray[Any, Any]:
        return np.asarray(x.copy_to_host())

    def wait(self, result: Any) -> None:
        from numba import cuda

        cuda.synchronize()


@functools.cache
def of_library(name: str) -> Arrays | None:
    """The arrays of a peer, or None where it is not installed or finds no GPU."""
    # JAX must not take the others' memory; it reads this when it starts.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    if peer(name) is None:
        return None
    kinds: dict[str, type[Arrays]] = {"cupy": _CuPy, "torch": _Torch, "jax": _JAX}
    try:
        return kinds[name]()
    except Exception:
        return None


def missing() -> list[str]:
    """A note for each peer that does not take part."""
    return [
        f"{name}: {'finds no GPU' if peer(name) else 'is not installed'}: left out"
        for name in PEERS
        if of_library(name) is None
    ]


def release() -> None:
    """Give all libraries' spare memory back to the device."""
    for name in PEERS:
        arrays = of_library(name)
        if arrays is not None:
            arrays.release()


@functools.cache
def arrays_here(device: str) -> Arrays:
    """The arrays that tracejit is given: CuPy's, or else PyTorch's or Numba's."""
    if device == "cuda-sim":
        return _Simulated()
    return of_library("cupy") or of_library("torch") or _Numba()

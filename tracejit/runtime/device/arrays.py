"""Which objects are arrays on a GPU, and the library that each of them is one of.

What a class is, is asked once: by the names of its module and itself, or of those that it derives
from, and by the interfaces that it defines. A class of NumPy's arrays is always the host's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tracejit.base.late import imported
from tracejit.errors import DeviceError
from tracejit.runtime.device.interfaces import read_dlpack, read_interface
from tracejit.runtime.device.libraries import (
    ArrayLibrary,
    DeviceArray,
    cupy_library,
    numba_library,
    on_device,
)
from tracejit.runtime.device.torch_arrays import torch_library

__all__ = ["DeviceArray", "ArrayLibrary", "common_library", "find", "wait_for_others"]

_Reader: TypeAlias = Callable[[Any], DeviceArray | None]

#: How the objects of a class are read; None for classes without arrays on a device.
_READERS: dict[type, _Reader | None] = {}
#: Classes are made while programs run; of those that are gone nothing is kept for long.
_MOST_READERS = 4096


def find(x: Any) -> DeviceArray | None:
    """What an array on a GPU is; None for anything else.

    Raises TypeError for an array that has elements, or a state, that NumPy's have not.
    """
    try:
        reader = _READERS[type(x)]
    except KeyError:
        reader = _remembered(type(x))
    return None if reader is None else reader(x)


def _remembered(cls: type) -> _Reader | None:
    if len(_READERS) >= _MOST_READERS:
        _READERS.clear()
    reader = _READERS[cls] = _reader(cls)
    return reader


def _reader(cls: type) -> _Reader | None:
    """How objects of a class are read."""
    if issubclass(cls, (np.ndarray, np.generic, type)):
        return None
    defined: set[str] = set()
    for base in cls.__mro__:
        library = str(base.__module__).partition(".")[0]
        match library, base.__name__:
            case "cupy", "ndarray":
                return None if _is_for_amd("cupy") else cupy_library(0).read
            case "torch", "Tensor":
                return None if _is_for_amd("torch") else torch_library(0).read
            case (("numba" | "numba_cuda"), "DeviceNDArrayBase"):
                return numba_library(0).read
        defined.update(vars(base))
    packs = {"__dlpack__", "__dlpack_device__"} <= defined
    if "__cuda_array_interface__" in defined:
        return _read_either if packs else read_interface
    return read_dlpack if packs else None


def _read_either(x: Any) -> DeviceArray | None:
    return read_interface(x) or read_dlpack(x)


def _is_for_amd(name: str) -> bool:
    """Whether a library was built for AMD's GPUs, which it also calls CUDA."""
    module: Any = imported(name)
    if name == "torch":
        return getattr(getattr(module, "version", None), "hip", None) is not None
    runtime = getattr(module.cuda, "runtime", None)
    return bool(getattr(runtime, "is_hip", False))


def common_library(arrays: Sequence[DeviceArray]) -> ArrayLibrary:
    """The library of results: the first array's. Raises DeviceError for arrays on two devices."""
    ordinals = sorted({a.ordinal for a in arrays if a.ordinal is not None})
    if len(ordinals) > 1:
        raise DeviceError(f"arrays on GPUs {ordinals[0]} and {ordinals[1]}: move them to one")
    return arrays[0].library


def wait_for_others(arrays: Sequence[DeviceArray], stream: int) -> None:
    """Wait for the streams, other than this one, on which arrays are made ready.

    Raises CudaError for what failed on them.
    """
    ready = {(a.library, a.stream): a.library.ready_on(a) for a in arrays}
    others = {s for s in ready.values() if s is not None and s != stream}
    if others:
        # A thread that has not worked on the device yet has no context.
        with on_device(arrays[0].ordinal) as cuda:
            for other in others:
                cuda.wait(other)

"""Which values are arrays of other libraries, on a device or on the host, by their types alone.

Nothing is imported for it.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tracejit.frontend.tracing.instances import is_instance_class

__all__ = ["find_array", "first_array", "host_library", "is_on_device", "is_torch_module"]

_PLAIN = frozenset({np.ndarray, int, float, complex, str, bool, type(None), bytes, slice, range})
#: What values of a type may be.
_TYPES: dict[type, str] = {}
_ARRAY, _DICT, _SEQUENCE, _OTHER = "array", "dict", "sequence", "other"
_INSTANCE, _OPAQUE = "instance", "opaque"
#: How deep containers are looked into, and how many of their elements are.
_DEPTH, _WIDTH = 6, 64


def first_array(values: Sequence[Any]) -> Any:
    """The first array of another library among values, in containers too; None where there is none.

    Of a container the first elements are looked at, and containers in containers to a depth.
    """
    for x in values:
        # What most arguments are is told at once.
        if type(x) not in _PLAIN:
            found = find_array(x, _is_foreign)
            if found is not None:
                return found
    return None


def is_on_device(x: Any) -> bool:
    """Whether an array, which may be on the host, is on a CUDA device."""
    cls = type(x)
    if not hasattr(cls, "__dlpack_device__"):
        return hasattr(cls, "__cuda_array_interface__")
    is_tensor = host_library(cls) == "torch"
    if is_tensor and not x.is_cuda:
        return False
    # Asking by DLPack takes long. A library that has arrays on GPUs alone is for one kind of them.
    known = _ON_CUDA.get(cls)
    if known is None:
        try:
            kind, _ = x.__dlpack_device__()
        except Exception:
            return False
        known = int(kind) in _CUDA
        if is_tensor or _is_of_cupy(cls):
            _ON_CUDA[cls] = known
    return known


def _is_of_cupy(cls: type) -> bool:
    names = {(str(x.__module__).partition(".")[0], x.__name__) for x in cls.__mro__}
    return ("cupy", "ndarray") in names


def find_array(x: Any, is_one: Callable[[Any], bool] = is_on_device, depth: int = 0) -> Any:
    """The first array in a value that is one; None where there is none.

    In objects of classes that are not the program's, it is an array of a device.
    """
    cls = type(x)
    if cls in _PLAIN:
        return None
    known = _TYPES.get(cls)
    if known is None:
        known = _TYPES[cls] = _kind(cls)
    if known == _ARRAY:
        return x if is_one(x) else None
    if known == _OTHER or depth == _DEPTH:
        return None
    if known == _OPAQUE:
        is_one = is_on_device
    parts: Iterator[Any]
    if known == _DICT:
        parts = islice(x.values(), _WIDTH)
    elif known == _SEQUENCE:
        parts = islice(x if cls is list else tuple.__iter__(x), _WIDTH)
    else:
        # Asking for its dict would make one, with which Python is slower, and asking for an
        # attribute may run code of the program.
        parts = islice(gc.get_referents(x), _WIDTH)
    for part in parts:
        found = find_array(part, is_one, depth + 1)
        if found is not None:
            return found
    return None


def _kind(cls: type) -> str:
    if cls is dict:
        return _DICT
    if cls is list or issubclass(cls, tuple):
        return _SEQUENCE
    if _may_be(cls):
        return _ARRAY
    if is_torch_module(cls):
        return _OTHER  # It computes by PyTorch alone.
    if "__dataclass_fields__" in cls.__dict__ and is_instance_class(cls):
        return _INSTANCE  # Its fields may be in slots.
    # Instances of classes of Python's own, which have attributes.
    if not cls.__dictoffset__ or issubclass(cls, (type, ModuleType, FunctionType)):
        return _OTHER
    return _INSTANCE if is_instance_class(cls) else _OPAQUE


def is_torch_module(cls: type) -> bool:
    """Whether a class is of modules of PyTorch."""
    return any(
        x.__name__ == "Module" and x.__module__ == "torch.nn.modules.module" for x in cls.__mro__
    )


def _may_be(cls: type) -> bool:
    if issubclass(cls, np.ndarray):
        return False
    interfaces = "__cuda_array_interface__", "__dlpack_device__"
    return any(hasattr(cls, name) for name in interfaces) or host_library(cls) is not None


def _is_foreign(x: Any) -> bool:
    return is_on_device(x) or host_library(type(x)) is not None


def host_library(cls: type) -> str | None:
    """The library whose arrays a class is of, if they may lie on the host; None for all else.

    "standard" is any library that follows the array API standard, with DLPack.
    """
    try:
        return _HOST[cls]
    except KeyError:
        found = _HOST[cls] = _host_library(cls)
        return found


def _host_library(cls: type) -> str | None:
    for base in cls.__mro__:
        match str(base.__module__).partition(".")[0], base.__name__:
            case "torch", "Tensor":
                return "torch"
            case (("jax" | "jaxlib"), ("Array" | "Tracer")):
                return "jax"
    needs = "__array_namespace__", "__dlpack__", "__dlpack_device__"
    is_numpy = issubclass(cls, (np.ndarray, np.generic, type))
    return None if is_numpy or not all(hasattr(cls, name) for name in needs) else "standard"


#: Whether what lies on a GPU of a class is on one of CUDA's.
_ON_CUDA: dict[type, bool] = {}
#: Their libraries.
_HOST: dict[type, str | None] = {}
#: DLPack's numbers of CUDA devices, and of memory that the host shares with them.
_CUDA = (2, 13)

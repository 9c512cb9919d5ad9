"""Arrays of other libraries on the host become NumPy's views of them, and NumPy's become theirs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.base.late import imported
from tracejit.base.locks import once
from tracejit.runtime.device.detect import host_library, is_on_device
from tracejit.runtime.device.torch_arrays import numpy_dtypes, require_like_numpy

__all__ = ["Jax", "Library", "Standard", "Torch", "library_of"]


class Library(ABC):
    """The arrays of one library on the host."""

    name = key = ""
    #: Whether it has to be told what was stored into its arrays.
    counts_stores = False

    def owns(self, x: Any) -> bool:
        """Whether a value is one of its arrays."""
        return host_library(type(x)) == self.key

    @abstractmethod
    def view(self, x: Any) -> np.ndarray[Any, Any]:
        """NumPy's view of one of its arrays. Raises TypeError where NumPy can have none."""

    @abstractmethod
    def array(self, x: Any) -> Any:
        """One of its arrays with the memory of NumPy's, or of a scalar of NumPy's.

        A copy where it cannot have that memory; NumPy's array itself where it has no such dtype.
        """

    def stored(self, arrays: Sequence[Any]) -> None:  # noqa: B027 - most need not know
        """A call has stored into the memory of these arrays."""


class Torch(Library):
    """PyTorch's tensors."""

    name, key = "PyTorch", "torch"
    counts_stores = True

    def __init__(self, first: Any) -> None:
        torch: Any = imported("torch")
        self._torch, self._dtypes = torch, frozenset(numpy_dtypes(torch).values())

    def view(self, x: Any) -> np.ndarray[Any, Any]:
        if x.requires_grad and self._torch.is_grad_enabled():
            raise TypeError(
                "a tensor that requires grad: derivatives of PyTorch do not reach in here; let "
                "tracejit.interop.torch.function(f) compute them, or pass x.detach()"
            )
        require_like_numpy(self._torch, x)
        if x.device.type != "cpu":
            raise TypeError(f"a tensor on the device {x.device}: pass x.cpu()")
        view: np.ndarray[Any, Any] = x.detach().numpy()
        if 0 in view.strides and view.size > 1:
            # One place for several elements: PyTorch stores into none of them, too.
            view.flags.writeable = False
        return view

    def array(self, x: Any) -> Any:
        x = np.asarray(x)
        if x.dtype not in self._dtypes:
            return x
        flags = x.flags
        plain = flags.writeable and x.dtype.isnative
        if not plain or not flags.c_contiguous and any(s < 0 or s % x.itemsize for s in x.strides):
            x = x.astype(x.dtype.newbyteorder("="), order="K")
            x = x if min(x.strides, default=0) >= 0 else x.copy(order="C")
        return self._torch.from_numpy(x)

    def stored(self, arrays: Sequence[Any]) -> None:
        # Whoever has kept one for a derivative must be told, as by PyTorch's own stores.
        self._torch.autograd.graph.increment_version([x for x in arrays if not x.is_inference()])


class Jax(Library):
    """JAX's arrays, which nothing is stored into: the views are read-only, and results copies."""

    name, key = "JAX", "jax"

    def __init__(self, first: Any) -> None:
        self._jax: Any = imported("jax")
        self._device = None if self._is_tracer(first) else min(first.devices(), key=str)

    def _is_tracer(self, x: Any) -> bool:
        return isinstance(x, self._jax.core.Tracer)

    def view(self, x: Any) -> np.ndarray[Any, Any]:
        if self._is_tracer(x):
            raise TypeError(
                "a value that JAX traces: call tracejit.interop.jax.function(f) in its place"
            )
        view: np.ndarray[Any, Any] = np.asarray(x)
        view.flags.writeable = False
        return view

    def array(self, x: Any) -> Any:
        x = np.asarray(x)
        if x.dtype.kind not in "biufcV":
            return x
        with self._jax.default_device(self._device):
            return self._jax.numpy.array(x, copy=True)


class Standard(Library):
    """Arrays of a library that follows the array API standard, by DLPack."""

    key = "standard"

    def __init__(self, first: Any) -> None:
        self._namespace = first.__array_namespace__()
        self.name = self._namespace.__name__

    def owns(self, x: Any) -> bool:
        return super().owns(x) and x.__array_namespace__() is self._namespace

    def view(self, x: Any) -> np.ndarray[Any, Any]:
        return np.from_dlpack(x)

    def array(self, x: Any) -> Any:
        x = np.asarray(x)
        if x.dtype.kind not in "biufc":
            return x
        return self._namespace.from_dlpack(x if x.flags.writeable else x.copy())


_CLASSES: dict[str, Callable[[Any], Library]] = {"torch": Torch, "jax": Jax, "standard": Standard}


def library_of(x: Any) -> Library | None:
    """The library of an array of the host; None for anything else."""
    name = host_library(type(x))
    if name is None or is_on_device(x):
        return None
    return _torch() if name == "torch" else _CLASSES[name](x)


@once
def _torch() -> Torch:
    return Torch(None)

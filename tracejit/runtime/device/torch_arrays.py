"""PyTorch's tensors on a GPU: how they are read and made."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tracejit.base.late import imported
from tracejit.base.locks import once
from tracejit.runtime.device.libraries import ArrayLibrary, DeviceArray, dense_strides

__all__ = ["TorchLibrary", "numpy_dtypes", "require_like_numpy", "torch_library"]

#: dtypes that PyTorch, from some version on, and NumPy both have, under the same names.
_SHARED = (
    "float64", "float32", "float16", "complex128", "complex64", "bool",
    "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8",
)  # fmt: skip


@once
def numpy_dtypes(torch: Any) -> dict[Any, np.dtype[Any]]:
    """NumPy's dtypes of PyTorch's."""
    return {getattr(torch, name): np.dtype(name) for name in _SHARED if hasattr(torch, name)}


def require_like_numpy(torch: Any, x: Any) -> None:
    """Raise TypeError for a tensor whose elements are not all in its memory as NumPy has them."""
    if x.layout is not torch.strided:
        raise TypeError(f"a tensor of layout {x.layout}: pass x.to_dense()")
    if x.is_conj():
        raise TypeError("a tensor to be conjugated yet: pass x.resolve_conj()")
    if x.is_neg():
        raise TypeError("a tensor to be negated yet: pass x.resolve_neg()")
    if x.dtype not in numpy_dtypes(torch):
        raise TypeError(f"a tensor of dtype {x.dtype}, which NumPy has not")


class TorchLibrary(ArrayLibrary):
    """Tensors on one device."""

    name = "PyTorch"

    def __init__(self, ordinal: int | None) -> None:
        super().__init__(ordinal)
        torch = self._torch = imported("torch")
        self._to_numpy = numpy_dtypes(torch)
        self._from_numpy = {known: dtype for dtype, known in self._to_numpy.items()}

    def read(self, x: Any) -> DeviceArray | None:
        """What a tensor is; None for one on the host, or on no GPU of NVIDIA's.

        Raises TypeError for a tensor whose elements are not all in its memory as NumPy has them,
        and for one that takes part in derivatives, which would end here.
        """
        if not x.is_cuda:
            return None
        if x.requires_grad:
            raise TypeError(
                "a tensor that requires grad: derivatives of PyTorch do not reach in here; "
                "pass x.detach()"
            )
        require_like_numpy(self._torch, x)
        dtype = self._to_numpy[x.dtype]
        at = x.get_device()
        strides = tuple([s * dtype.itemsize for s in x.stride()])
        library = self if at == self.ordinal else torch_library(at)
        return DeviceArray(x.data_ptr(), tuple(x.shape), strides, dtype, False, at, x, library)

    def _dtype(self, dtype: np.dtype[Any]) -> Any:
        found = self._from_numpy.get(dtype)
        if found is None:
            raise TypeError(f"{self.name} has no tensors of dtype {dtype}")
        return found

    def _device(self) -> Any:
        return self._torch.device("cuda", self.ordinal)

    def empty(self, shape: tuple[int, ...], dtype: Any, order: tuple[int, ...]) -> Any:
        """A new tensor, dense with its axes in this order. Raises TypeError for a dtype."""
        kind, device = self._dtype(np.dtype(dtype)), self._device()
        if order == tuple(range(len(shape))):
            return self._torch.empty(shape, dtype=kind, device=device)
        strides = dense_strides(shape, order, 1)
        return self._torch.empty_strided(shape, strides, dtype=kind, device=device)

    def view(self, owner: Any, address: int, shape: Any, strides: Any, dtype: Any) -> Any:
        """A view of the memory of a tensor; a copy where a stride is negative: it has none."""
        dtype = np.dtype(dtype)
        if 0 in shape:
            return self.empty(tuple(shape), dtype, tuple(range(len(shape))))
        back = [k for k, s in enumerate(strides) if s < 0]
        address += sum((shape[k] - 1) * strides[k] for k in back)
        storage = owner.untyped_storage()
        start, rest = divmod(address - storage.data_ptr(), dtype.itemsize)
        steps = [divmod(abs(s), dtype.itemsize) for s in strides]
        if rest or any(r for _, r in steps):
            raise TypeError("a view whose elements are not at multiples of their size")
        made = self._torch.empty(0, dtype=self._dtype(dtype), device=self._device())
        made.set_(storage, start, tuple(shape), tuple(s for s, _ in steps))
        return made.flip(back) if back else made

    def stream(self) -> int:
        """The stream that PyTorch works on now."""
        return int(self._torch.cuda.current_stream(self._device()).cuda_stream)

    def get(self, x: Any) -> np.ndarray[Any, Any]:
        """A copy on the host."""
        copy: np.ndarray[Any, Any] = x.cpu().numpy()
        return copy

    def put(self, target: Any, x: np.ndarray[Any, Any]) -> None:
        """Overwrite a tensor with an array of the host."""
        # PyTorch wants it writeable, and without negative strides.
        target.copy_(self._torch.from_numpy(np.array(x, order="C")))


torch_library = cache(TorchLibrary)

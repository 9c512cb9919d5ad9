"""Batches of host calls: one call where the function maps over leading axes.

    svd(x) of x f64[b, n, m]           ->  one call of f64[b, n, m]
    scipy.special.gammaln(x, y)        ->  one call, the operands' axes aligned from the right
    fft(x, axis=0) of x f64[b, n, m]   ->  fft(x, axis=-2)

Those are decompositions of matrices, Fourier transforms along one axis, and ufuncs. NumPy gives
each matrix, row or element what it gives it alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.ir.graph import Attrs, Value
from tracejit.ir.types import PyScalar, Type, shape_of

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__ = ["OF_MATRICES", "batched_call", "maps_over_lanes"]

#: Functions of matrices, and of stacks of them.
OF_MATRICES: set[Any] = {
    *(np.linalg.svd, np.linalg.svdvals, np.linalg.qr, np.linalg.pinv, np.linalg.matrix_rank),
    *(np.linalg.eigh, np.linalg.eigvalsh, np.linalg.eig, np.linalg.eigvals),
    *(np.linalg.det, np.linalg.slogdet, np.linalg.inv, np.linalg.cholesky),
}
_ALONG_AXIS = "fft ifft rfft irfft hfft ihfft".split()
#: Where `axis` stands among the arguments of a Fourier transform.
_AXIS_PLACE = 2


def _is_along_axis(function: Any) -> bool:
    """Whether it is a Fourier transform along one axis."""
    fft = sys.modules.get("numpy.fft")
    return fft is not None and any(function is getattr(fft, name) for name in _ALONG_AXIS)


def maps_over_lanes(
    function: Any, attrs: Attrs, inputs: Sequence[Type], batched: Sequence[bool]
) -> bool:
    """Whether a call of `function` maps over leading axes that these operands get.

    A vector of Python numbers has a dtype that takes part in NumPy's promotion; they have none.
    """
    arguments, keywords = attrs["arguments"], attrs["keywords"]
    python = any(f and isinstance(t, PyScalar) for t, f in zip(inputs, batched, strict=True))
    if python or not all(_is_fixed(t) for t in attrs["types"]):
        return False
    if isinstance(function, np.ufunc):
        operands = tuple(("operand", k) for k in range(len(inputs)))
        fits = function.signature is None and len(inputs) == function.nin and not keywords
        return fits and arguments == operands
    rest = (*arguments[1:], *(a for _, a in keywords))
    if arguments[:1] != (("operand", 0),) or any(a[0] != "constant" for a in rest):
        return False
    ndim = len(shape_of(inputs[0]))
    if function in OF_MATRICES:
        return ndim >= 2
    return _is_along_axis(function) and ndim >= 1 and type(_axis(attrs)) is int


def _is_fixed(described: Any) -> bool:
    """Whether a leaf is an array or a NumPy scalar whose sizes are known."""
    if described[0] != "array":
        return bool(described[0] == "numpy")
    return not any(d is None or type(d) is tuple for d in described[2])


def _axis(attrs: Attrs) -> Any:
    """The axis of a Fourier transform."""
    named = dict(attrs["keywords"])
    if "axis" in named:
        return named["axis"][1]
    given = attrs["arguments"]
    return given[_AXIS_PLACE][1] if len(given) > _AXIS_PLACE else -1


def batched_call(c: DerivativeBuilder, at: BatchAdaptor, function: Any) -> Sequence[Value]:
    """The results of one call for all lanes."""
    attrs = dict(at.attrs)
    attrs["types"] = tuple(_batch_of(t, at) for t in attrs["types"])
    if not isinstance(function, np.ufunc):
        if _is_along_axis(function):
            attrs |= _from_the_end(attrs, len(at.shape(0)))
        return c.ops("host_call", at.values, **attrs)
    ndim = max(len(at.shape(k)) for k in range(len(at.values)))
    operands = [_aligned(c, at, k, ndim) for k in range(len(at.values))]
    return c.ops("host_call", operands, **attrs)


def _batch_of(described: Any, at: BatchAdaptor) -> Any:
    """The description of a batch of leaves, which may lie in any order."""
    shape = described[2] if described[0] == "array" else ()
    return "array", described[1], (at.size, *shape), ()


def _from_the_end(attrs: Attrs, ndim: int) -> dict[str, Any]:
    """The arguments of a Fourier transform, its axis counted from the end."""
    axis = _axis(attrs)
    counted = ("constant", axis if axis < 0 else axis - ndim)
    given = attrs["arguments"]
    if len(given) > _AXIS_PLACE:
        return {"arguments": (*given[:_AXIS_PLACE], counted, *given[_AXIS_PLACE + 1 :])}
    rest = tuple(item for item in attrs["keywords"] if item[0] != "axis")
    return {"keywords": (*rest, ("axis", counted))}


def _aligned(c: DerivativeBuilder, at: BatchAdaptor, k: int, ndim: int) -> Value:
    """Operand k so that its axes broadcast with those of the others, lane by lane."""
    x, shape = at.values[k], at.shape(k)
    if not at.batched[k]:
        return x
    return c.reshape(x, (at.size, *(1 for _ in range(ndim - len(shape))), *shape))

"""Operands of NumPy's loops get the dtypes that these take, and results those that NumPy gives.

NumPy casts in front of its loops: LAPACK's are those of double precision, transforms are of complex
numbers, and of single precision only where they are multiplied by a number of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.frontend.tracing.tracer import TracedArray
from tracejit.ops.host.loops import DECOMPOSITIONS, TRANSFORMS, bound

__all__ = ["as_loops_take"]

_Back = Callable[[Any], Any]


def as_loops_take(
    path: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Any], dict[str, Any], _Back]:
    """The arguments of a call with the operand cast, and a function that casts a result back."""
    kwargs = dict(kwargs)
    names = DECOMPOSITIONS.get(path) or TRANSFORMS.get(path)
    given = None if names is None else bound(names, args, kwargs)
    a = None if given is None or names is None else given[names[0]]
    if given is None or not isinstance(a, TracedArray) or a.dtype.char == "e":
        return args, kwargs, lambda x: x
    if path in TRANSFORMS:
        wanted, narrow = _of_transform(path.partition(":")[2], a.dtype, given.get("norm"))
    else:
        wanted, narrow = _of_decomposition(a.dtype)
    if wanted == a.dtype:
        return args, kwargs, lambda x: x
    cast = a.astype(wanted)
    args = [cast if x is a else x for x in args]
    kwargs = {k: cast if x is a else x for k, x in kwargs.items()}
    return args, kwargs, _narrowed if narrow else lambda x: x


def _of_decomposition(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], bool]:
    """What a decomposition is computed in, and whether its results are of single precision."""
    wide = np.dtype(np.complex128 if dtype.kind == "c" else np.float64)
    return wide, dtype.char in "fF"


def _of_transform(name: str, dtype: np.dtype[Any], norm: Any) -> tuple[np.dtype[Any], bool]:
    real = np.result_type(dtype.type(0).real.dtype, 1.0)
    plain = norm in (None, "backward") if name in ("fft", "rfft") else norm == "forward"
    factor: Any = int if plain else real
    out = real if name == "irfft" else np.result_type(dtype, 1j)
    if dtype.kind == "c" and name == "rfft":
        # Which NumPy refuses.
        return dtype, False
    from numpy.fft import _pocketfft_umath as loops  # type: ignore[attr-defined]

    ufunc = getattr(loops, "rfft_n_even" if name == "rfft" else name)
    wanted, _, made = ufunc.resolve_dtypes((dtype, factor, out), casting="same_kind")
    if made != out and not plain:
        # A factor of single precision in a loop of double precision.
        return dtype, False
    return wanted, made != out


def _narrowed(x: Any) -> Any:
    if isinstance(x, tuple):
        parts = [_narrowed(part) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    return x.astype(np.complex64 if x.dtype.kind == "c" else np.float32)

"""Derivatives of Fourier transforms: they are linear, and their transposes are transforms again.

Without conjugation the matrix w**(j k) of a transform is its own transpose. A real transform gives
half of the frequencies: its transpose fills the other half with zeros. The inverse of that counts
each frequency twice, but those that are their own opposites.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import Dim, floordiv
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, Type, dtype_of, shape_of
from tracejit.ops.host.derivatives.registry import HostAdaptor, host, rule
from tracejit.ops.rules.shape import slice_of

__all__ = ["fitted"]

_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def fitted(c: DerivativeBuilder, v: Value, axis: int, size: Dim, before: Dim = 0) -> Value:
    """An axis cut, or filled with zeros, to a size, with as many more zeros `before`."""
    t = v.type
    assert isinstance(t, ArrayType)
    have = t.shape[axis]
    if have == size and before == 0:
        return v
    cut = isinstance(have, int) and isinstance(size, int) and before == 0 and size < have
    if not cut:
        more = size - have - before
        if not isinstance(more, int):
            more = size
        more = more if not isinstance(more, int) else max(more, 0)
        parts = [_zeros(c, t, axis, before), v, _zeros(c, t, axis, more)]
        sizes = (before, 1, more)
        v = c.op("concatenate", *(p for p, d in zip(parts, sizes, strict=True) if d), axis=axis)
    shape = tuple(size if k == axis else d for k, d in enumerate(t.shape))
    return v if shape_of(v.type) == shape else slice_of(c, v, (0,) * t.ndim, shape)


def _zeros(c: DerivativeBuilder, t: ArrayType, axis: int, size: Dim) -> Value:
    shape = tuple(size if k == axis else d for k, d in enumerate(t.shape))
    return c.full(ArrayType(t.dtype, shape), 0)


def _complex(t: Type) -> np.dtype[Any]:
    return np.result_type(dtype_of(t), np.complex64)


def _operand(at: HostAdaptor) -> str:
    """What the transformed parameter is called: by NumPy "a", by SciPy "x"."""
    return "a" if "a" in at.given else "x"


def _type(at: HostAdaptor) -> Type:
    return at.type(_operand(at))


def _axes(at: HostAdaptor) -> tuple[int, ...]:
    """The axes transformed, counted from 0, the real one last. Raises Underivable."""
    name = at.path.partition(":")[2]
    ndim = len(shape_of(_type(at)))
    if name[-1] not in "n2":
        return (at.axis(_type(at)),)
    axes = at.constant("axes", (-2, -1) if name[-1] == "2" else None)
    if axes is None:
        sizes = at.given.get("s", ("constant", None))
        count = ndim if sizes == ("constant", None) else len(sizes) - 1
        axes = tuple(range(ndim - count, ndim))
    axes = tuple(k % ndim for k in (axes if isinstance(axes, tuple) else (axes,)))
    if len(set(axes)) < len(axes):
        raise at.underivable("along an axis twice has no derivative rule")
    return axes


def _transform(at: HostAdaptor, name: str, v: Value, axes: Sequence[int], norm: Any) -> Value:
    """A transform by NumPy, of the same number of axes, without changing their sizes."""
    shape, last = list(shape_of(v.type)), axes[-1]
    if name.startswith("r"):
        shape[last] = floordiv(shape[last], 2) + 1
    where: dict[str, Any] = {"axis": last}
    if at.path[-1] in "n2":
        name, where = name + "n", {"axes": tuple(axes)}
    module = at.path.partition(":")[0]
    t = ArrayType(_complex(v.type), tuple(shape))
    return host(at.c, f"{module}:{name}", [v], t, **where, norm=norm)[0]


def _back(at: HostAdaptor, v: Value, axes: Sequence[int]) -> dict[str, Value]:
    """Cut or filled to the operand's sizes, in its dtype."""
    t = _type(at)
    for axis in axes:
        v = fitted(at.c, v, axis, shape_of(t)[axis])
    return {_operand(at): at.c.cast(at.c.reshape(v, shape_of(t)), dtype_of(t))}


def _again(at: HostAdaptor, tangents: Mapping[str, Value]) -> Sequence[Value | None]:
    return at.again(**tangents)


def _complex_vjp(at: HostAdaptor, cotangents: Sequence[Value | None]) -> Mapping[str, Value | None]:
    """Of fft and ifft: the transform itself."""
    (g, *_), axes = cotangents, _axes(at)
    assert g is not None
    name = "ifft" if at.path.partition(":")[2].startswith("i") else "fft"
    return _back(at, _transform(at, name, g, axes, at.constant("norm")), axes)


def _real_size(at: HostAdaptor, axes: Sequence[int]) -> Dim:
    """The number of real samples that a real transform reads."""
    given = at.constant("s")
    size = given[-1] if given is not None else at.constant("n")
    whole = shape_of(_type(at))[axes[-1]]
    return whole if size in (None, -1) else size


def _real_vjp(at: HostAdaptor, cotangents: Sequence[Value | None]) -> Mapping[str, Value | None]:
    """Of rfft and ihfft: the real part of a transform of the half, the rest filled with zeros."""
    (g, *_), axes = cotangents, _axes(at)
    assert g is not None
    norm = at.constant("norm")
    if at.path.endswith("ihfft"):
        g, norm = at.c.conj(g), _SWAPPED[norm]
    g = fitted(at.c, g, axes[-1], _real_size(at, axes))
    return _back(at, at.c.op("real", _transform(at, "fft", g, axes, norm)), axes)


def _half_vjp(at: HostAdaptor, cotangents: Sequence[Value | None]) -> Mapping[str, Value | None]:
    """Of irfft and hfft: the conjugate of a real transform, frequencies counted twice."""
    (g, *_), axes, c = cotangents, _axes(at), at.c
    assert g is not None
    norm, hermitian = at.constant("norm"), at.path.endswith("hfft")
    out = _transform(at, "rfft", g, axes, norm if hermitian else _SWAPPED[norm])
    t = out.type
    assert isinstance(t, ArrayType)
    number = c.op("iota", size=t.shape[axes[-1]], dtype="i64")
    size = c.size(shape_of(g.type)[axes[-1]], dtype_of(number.type))
    own = c.op(
        "logical_or", c.compare("equal", number, 0), c.compare("equal", c.scale(number, 2), size)
    )
    unit = c.full(ArrayType(t.dtype, shape_of(number.type)), 1)
    count = c.where(own, unit, c.scale(unit, 2))
    count = c.reshape(count, tuple(d if k == axes[-1] else 1 for k, d in enumerate(t.shape)))
    out = out if hermitian else c.conj(out)
    return _back(at, c.mul(out, c.shaped(count, t)), axes)


def _shift_vjp(at: HostAdaptor, cotangents: Sequence[Value | None]) -> Mapping[str, Value | None]:
    (g, *_), axes = cotangents, at.constant("axes")
    assert g is not None
    other = "numpy.fft:fftshift" if at.path.endswith("ifftshift") else "numpy.fft:ifftshift"
    return {"x": host(at.c, other, [g], g.type, axes=axes)[0]}


def _paths(names: str, *modules: str) -> list[str]:
    return [f"{module}:{name}" for module in modules for name in names.split()]


def _rules(one: str, others: str, vjp: Any) -> None:
    """The rules of transforms; NumPy's others are traced as transforms along one axis."""
    paths = [*_paths(one, "numpy.fft"), *_paths(f"{one} {others}", "scipy.fft._basic")]
    rule(paths, "a", "x", jvp=_again, vjp=vjp)


_rules("fft ifft", "fft2 ifft2 fftn ifftn", _complex_vjp)
_rules("rfft", "rfft2 rfftn ihfft", _real_vjp)
_rules("irfft", "irfft2 irfftn hfft", _half_vjp)
rule(
    _paths("fftshift ifftshift", "numpy.fft", "scipy.fft._helper"),
    "x",
    jvp=_again,
    vjp=_shift_vjp,
)

"""Derivatives of discrete cosine and sine transforms: linear, with transforms for transposes.

Normalised to be orthogonal they are the transposes of their inverses. Otherwise, by the definitions
of `scipy.fft.dct` and `dst`: the matrices of types 1 and 4 are symmetric and those of types 2 and 3
each other's transposes, but for elements at the ends that some of them count once and others twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, dtype_of, shape_of
from tracejit.ops.host.derivatives.fft import fitted
from tracejit.ops.host.derivatives.registry import HostAdaptor, host, linear

__all__: list[str] = []

_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _axes(at: HostAdaptor) -> tuple[int, ...]:
    ndim = len(shape_of(at.type("x")))
    if not at.path.endswith("n"):
        return (at.axis(at.type("x")),)
    axes = at.constant("axes")
    if axes is None:
        sizes = at.constant("s")
        count = ndim if sizes is None else len(sizes) if isinstance(sizes, tuple) else 1
        axes = tuple(range(ndim - count, ndim))
    axes = tuple(k % ndim for k in (axes if isinstance(axes, tuple) else (axes,)))
    if len(set(axes)) < len(axes):
        raise at.underivable("along an axis twice has no derivative rule")
    return axes


def _weighed(
    c: DerivativeBuilder, v: Value, axes: Sequence[int], ends: Sequence[int], by: float
) -> Value:
    """The first (0) or last (-1) elements along the axes times a factor."""
    t = v.type
    assert isinstance(t, ArrayType)
    for axis in axes:
        n = t.shape[axis]
        number = c.op("iota", size=n, dtype="i64")
        row = c.full(ArrayType(t.dtype, (n,)), 1)
        for end in ends:
            last = c.size(0 if end == 0 else n - 1, dtype_of(number.type))
            place = c.compare("equal", number, last)
            row = c.where(place, c.full(row.type, by), row)
        shape = tuple(n if k == axis else 1 for k in range(t.ndim))
        v = c.mul(v, c.shaped(c.reshape(row, shape), t))
    return v


def _transposed(at: HostAdaptor, g: Value) -> Value:
    c, axes = at.c, _axes(at)
    module, _, name = at.path.partition(":")
    kind, norm = at.constant("type", 2), at.constant("norm")
    scaled = at.constant("orthogonalize")
    scaled = norm == "ortho" if scaled is None else scaled
    inverse = name.startswith("i")
    given = {"axes": axes} if name.endswith("n") else {"axis": axes[0]}
    t = at.type("x")

    def transform(name: str, kind: int, v: Value) -> Value:
        same = ArrayType(dtype_of(v.type), shape_of(v.type))
        named = {**given, "type": kind, "norm": norm, "orthogonalize": scaled}
        return host(c, f"{module}:{name}", [v], same, **named)[0]

    if scaled:
        if norm != "ortho":
            raise at.underivable("with orthogonalize= and no norm='ortho' has no derivative rule")
        out = transform(name[1:] if inverse else f"i{name}", kind, g)
    else:
        direct = _INVERSE[kind] if inverse else kind
        ends: tuple[int, ...] = ()
        if direct < 4:
            of_cosine: dict[int, tuple[int, ...]] = {1: (0, -1), 2: (0,), 3: (0,)}
            of_sine: dict[int, tuple[int, ...]] = {1: (), 2: (-1,), 3: (-1,)}
            ends = (of_cosine if "dct" in name else of_sine)[direct]
        if direct < 3:
            g = _weighed(c, g, axes, ends, 2.0)
        out = transform(name, _INVERSE[kind], g)
        if direct in (1, 3):
            out = _weighed(c, out, axes, ends, 0.5)
    for axis in axes:
        out = fitted(c, out, axis, shape_of(t)[axis])
    return out


_NAMES = "dct dst dctn dstn idct idst idctn idstn"
linear([f"scipy.fft._realtransforms:{name}" for name in _NAMES.split()], "x", _transposed)

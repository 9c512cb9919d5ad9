"""Derivatives of convolutions, interpolation and the like, called through NumPy.

The derivatives of `interp` at its points are those of the interval on the right, at the last one
those of that on the left.
"""

from __future__ import annotations

from collections.abc import Mapping

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.types import DTYPES, ArrayType, NpScalar, dtype_of, shape_of
from tracejit.ops.host.derivatives.decompositions import Results, Tangents
from tracejit.ops.host.derivatives.fft import fitted
from tracejit.ops.host.derivatives.registry import (
    HostAdaptor,
    as_array,
    flat,
    host,
    matched,
    rule,
    sum_of,
)
from tracejit.ops.rules.reduction import flipped

__all__: list[str] = []


# Convolutions ------------------------------------------------------------------------------------


def _bilinear_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    return (sum_of(at.c, *(at.again(**{name: t})[0] for name, t in tangents.items())),)


def _whole(at: HostAdaptor, g: Value) -> Value:
    """The cotangent of a convolution of mode "full" for that of the call's."""
    ours, (m,), (n,) = at.path.endswith("correlate"), *_lengths(at)
    mode = at.constant("mode", "valid" if ours else "full")
    if mode == "full":
        return g
    if mode == "valid":
        less = n if shape_of(g.type)[0] == m - n + 1 else m
        if shape_of(g.type)[0] == m + n - 2 * less + 1:
            return fitted(at.c, g, 0, m + n - 1, less - 1)
    if not isinstance(m, int) or not isinstance(n, int) or mode != "same":
        raise at.underivable(f"with mode={mode!r} and sizes known at run time has no rule")
    less = min(m, n)
    before = less // 2 if ours and m < n else less - 1 - less // 2
    return fitted(at.c, g, 0, m + n - 1, before)


def _lengths(at: HostAdaptor) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
    a, v = (shape_of(at.x(name).type) or (1,) for name in "av")
    return a, v


def _convolve_vjp(at: HostAdaptor, cotangents: Results) -> Mapping[str, Value | None]:
    """Correlations of the cotangent, in full, with the other operand."""
    c, g = at.c, cotangents[0]
    assert g is not None
    whole, backwards = _whole(at, g), at.path.endswith("correlate")
    dtype = dtype_of(whole.type)
    a, v = (
        c.cast(c.reshape(as_array(c, at.x(k)), n), dtype)
        for k, n in zip("av", _lengths(at), strict=True)
    )
    if backwards:
        v = c.conj(flipped(c, v, 0))
    of_a, of_v = (
        host(c, "numpy:correlate", [whole, c.conj(other)], ArrayType(dtype, shape), mode="valid")[0]
        for other, shape in zip((v, a), _lengths(at), strict=True)
    )
    if backwards:
        of_v = c.conj(flipped(c, of_v, 0))
    found = zip("av", (of_a, of_v), strict=True)
    return {k: matched(c, w, at.type(k)) for k, w in found if at.wanted(k)}


# Interpolation -----------------------------------------------------------------------------------


class _Interval:
    """Where the points of `interp` lie: all values have one axis, that of the points."""

    def __init__(self, at: HostAdaptor) -> None:
        c = self.c = at.c
        at.only(period=None)
        xp, fp = at.x("xp"), at.x("fp")
        wide = DTYPES["f64"]
        self.x = flat(c, c.cast(at.x("x"), wide))
        (count,) = shape_of(xp.type)
        if isinstance(count, int) and count < 2:
            raise at.underivable("of one point has no derivative rule")
        i64 = DTYPES["i64"]
        places = ArrayType(i64, shape_of(self.x.type))
        xp = c.cast(xp, wide)
        (after,) = host(c, "numpy:searchsorted", [xp, self.x], places, side="right")
        last = c.shaped(c.sub(c.size(count, i64), c.full(NpScalar(i64), 2)), places)
        left = c.op("minimum", c.sub(after, c.full(places, 1)), last)
        self.left = c.op("maximum", left, c.full(places, 0))
        self.right = c.add(self.left, c.full(places, 1))
        ends = c.op("gather", xp, self.left), c.op("gather", xp, self.right)
        self.width = c.sub(ends[1], ends[0])
        self.values = c.op("gather", fp, self.left), c.op("gather", fp, self.right)
        below = c.compare("equal", after, 0)
        final = c.op("gather", xp, c.full(ArrayType(i64, ()), -1))
        above = c.compare("greater", self.x, c.shaped(final, self.x.type))
        self.inside = c.op("logical_not", c.op("logical_or", below, above))
        w = c.div(c.sub(self.x, ends[0]), self.width)
        first, second = c.sub(c.ones(w.type), w), w
        low = _held(at, "left"), below
        high = _held(at, "right"), above
        one, nil = c.ones(w.type), c.full(w.type, 0)
        first = c.where(low[1], one if low[0] else nil, c.where(above, nil, first))
        second = c.where(high[1], one if high[0] else nil, c.where(below, nil, second))
        #: The weights of the values on both sides.
        self.weights = first, second
        rise = c.sub(self.values[1], self.values[0])
        self.slope = c.where(self.inside, c.div(rise, self.width), 0)

    def inner_weights(self) -> tuple[Value, Value]:
        """The weights, and 0 outside."""
        first, second = (self.c.where(self.inside, w, 0) for w in self.weights)
        return first, second


def _held(at: HostAdaptor, name: str) -> bool:
    """Whether the outermost value goes on beyond the points."""
    if at.wanted(name):
        raise at.underivable(f"has no derivative by {name}")
    return name not in at.given or at.given[name] == ("constant", None)


def _interp_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    c, interval = at.c, _Interval(at)
    parts: list[Value] = []
    if "x" in tangents:
        parts.append(c.mul_no_nan(flat(c, tangents["x"]), interval.slope))
    if "fp" in tangents:
        t = tangents["fp"]
        for place, w in zip((interval.left, interval.right), interval.weights, strict=True):
            parts.append(c.mul(c.op("gather", t, place), w))
    if "xp" in tangents:
        t = tangents["xp"]
        for place, w in zip((interval.left, interval.right), interval.inner_weights(), strict=True):
            parts.append(c.neg(c.mul(c.mul(c.op("gather", t, place), w), interval.slope)))
    out = sum_of(c, *parts)
    assert out is not None
    return (matched(c, out, at.call.outputs[0]),)


rule(["numpy:convolve", "numpy:correlate"], "a", "v", jvp=_bilinear_jvp, vjp=_convolve_vjp)
rule(["numpy:interp"], "x", "xp", "fp", jvp=_interp_jvp)

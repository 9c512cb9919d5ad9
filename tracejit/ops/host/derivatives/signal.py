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
    HostSite,
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


def _bilinear_jvp(site: HostSite, tangents: Tangents) -> Results:
    return (sum_of(site.c, *(site.again(**{name: t})[0] for name, t in tangents.items())),)


def _whole(site: HostSite, g: Value) -> Value:
    """The cotangent of a convolution of mode "full" for that of the call's."""
    ours, (m,), (n,) = site.path.endswith("correlate"), *_lengths(site)
    mode = site.constant("mode", "valid" if ours else "full")
    if mode == "full":
        return g
    if mode == "valid":
        less = n if shape_of(g.type)[0] == m - n + 1 else m
        if shape_of(g.type)[0] == m + n - 2 * less + 1:
            return fitted(site.c, g, 0, m + n - 1, less - 1)
    if not isinstance(m, int) or not isinstance(n, int) or mode != "same":
        raise site.underivable(f"with mode={mode!r} and sizes known at run time has no rule")
    less = min(m, n)
    before = less // 2 if ours and m < n else less - 1 - less // 2
    return fitted(site.c, g, 0, m + n - 1, before)


def _lengths(site: HostSite) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
    a, v = (shape_of(site.x(name).type) or (1,) for name in "av")
    return a, v


def _convolve_vjp(site: HostSite, cotangents: Results) -> Mapping[str, Value | None]:
    """Correlations of the cotangent, in full, with the other operand."""
    c, g = site.c, cotangents[0]
    assert g is not None
    whole, backwards = _whole(site, g), site.path.endswith("correlate")
    dtype = dtype_of(whole.type)
    a, v = (
        c.cast(c.reshape(as_array(c, site.x(k)), n), dtype)
        for k, n in zip("av", _lengths(site), strict=True)
    )
    if backwards:
        v = c.conj(flipped(c, v, 0))
    of_a, of_v = (
        host(c, "numpy:correlate", [whole, c.conj(other)], ArrayType(dtype, shape), mode="valid")[0]
        for other, shape in zip((v, a), _lengths(site), strict=True)
    )
    if backwards:
        of_v = c.conj(flipped(c, of_v, 0))
    found = zip("av", (of_a, of_v), strict=True)
    return {k: matched(c, w, site.type(k)) for k, w in found if site.wanted(k)}


# Interpolation -----------------------------------------------------------------------------------


class _Interval:
    """Where the points of `interp` lie: all values have one axis, that of the points."""

    def __init__(self, site: HostSite) -> None:
        c = self.c = site.c
        site.only(period=None)
        xp, fp = site.x("xp"), site.x("fp")
        wide = DTYPES["f64"]
        self.x = flat(c, c.cast(site.x("x"), wide))
        (count,) = shape_of(xp.type)
        if isinstance(count, int) and count < 2:
            raise site.underivable("of one point has no derivative rule")
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
        low = _held(site, "left"), below
        high = _held(site, "right"), above
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


def _held(site: HostSite, name: str) -> bool:
    """Whether the outermost value goes on beyond the points."""
    if site.wanted(name):
        raise site.underivable(f"has no derivative by {name}")
    return name not in site.given or site.given[name] == ("constant", None)


def _interp_jvp(site: HostSite, tangents: Tangents) -> Results:
    c, at = site.c, _Interval(site)
    parts: list[Value] = []
    if "x" in tangents:
        parts.append(c.strong_mul(flat(c, tangents["x"]), at.slope))
    if "fp" in tangents:
        t = tangents["fp"]
        for place, w in zip((at.left, at.right), at.weights, strict=True):
            parts.append(c.mul(c.op("gather", t, place), w))
    if "xp" in tangents:
        t = tangents["xp"]
        for place, w in zip((at.left, at.right), at.inner_weights(), strict=True):
            parts.append(c.neg(c.mul(c.mul(c.op("gather", t, place), w), at.slope)))
    out = sum_of(c, *parts)
    assert out is not None
    return (matched(c, out, site.s.outputs[0]),)


def _interp_vjp(site: HostSite, cotangents: Results) -> Mapping[str, Value | None]:
    c, at, given = site.c, _Interval(site), cotangents[0]
    assert given is not None
    g = flat(c, given)
    of_x = c.mul(g, at.slope)

    def spread(name: str, weights: tuple[Value, Value], v: Value) -> Value:
        whole = c.zeros(site.type(name))
        dtype = dtype_of(whole.type)
        for place, w in zip((at.left, at.right), weights, strict=True):
            part = c.cast(c.mul(v, w), dtype)
            whole = c.op("scatter_apply", whole, part, place, function="add")
        return whole

    out: dict[str, Value | None] = {}
    if site.wanted("x"):
        out["x"] = matched(c, of_x, site.type("x"))
    if site.wanted("fp"):
        out["fp"] = spread("fp", at.weights, g)
    if site.wanted("xp"):
        out["xp"] = spread("xp", at.inner_weights(), c.neg(of_x))
    return out


rule(["numpy:convolve", "numpy:correlate"], "a", "v", jvp=_bilinear_jvp, vjp=_convolve_vjp)
rule(["numpy:interp"], "x", "xp", "fp", jvp=_interp_jvp, vjp=_interp_vjp)

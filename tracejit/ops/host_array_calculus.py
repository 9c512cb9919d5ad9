"""Derivatives of convolutions, interpolation, order statistics and others, called through NumPy.

Elements that move (`partition`, `percentile`) take their derivatives along; of equal ones those
that a stable sort takes. The derivatives of `interp` at its points are those of the interval on the
right, at the last one of that on the left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tracejit.ir.calculus import Calculus
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Value
from tracejit.ir.types import DTYPES, ArrayType, NpScalar, dtype_of, shape_of
from tracejit.ops.host_calculus import HostSite, host, rule
from tracejit.ops.host_fft_calculus import fitted
from tracejit.ops.host_linalg_calculus import Results, Tangents, total_of
from tracejit.ops.reduction_calculus import flipped, put_back, taken, taken_transposed

__all__: list[str] = []


def _array(c: Calculus, v: Value) -> Value:
    """A scalar as an array without axes."""
    return v if isinstance(v.type, ArrayType) else c.op("broadcast_to", v, shape=())


def _like(c: Calculus, v: Value, t: Any) -> Value:
    """`v` in the shape and dtype of a type, which it has but for unit axes."""
    v = c.cast(c.reshape(_array(c, v), shape_of(t)), dtype_of(t))
    return v if isinstance(t, ArrayType) else c.op("element", v)


def _sum(c: Calculus, *terms: Value | None) -> Value | None:
    return total_of(c, [t for t in terms if t is not None])


# Convolutions ------------------------------------------------------------------------------------


def _bilinear_jvp(site: HostSite, tangents: Tangents) -> Results:
    return (_sum(site.c, *(site.again(**{name: t})[0] for name, t in tangents.items())),)


def _whole(site: HostSite, g: Value) -> Value:
    """The cotangent of a convolution of mode "full" for that of the call's."""
    ours, (m,), (n,) = site.path.endswith("correlate"), *_lengths(site)
    mode = site.constant("mode", "valid" if ours else "full")
    if mode == "full":
        return g
    if not isinstance(m, int) or not isinstance(n, int) or mode not in ("same", "valid"):
        raise site.underivable(f"with mode={mode!r} and sizes known at run time has no rule")
    less = min(m, n)
    before = less - 1
    if mode == "same":
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
        c.cast(c.reshape(_array(c, site.x(k)), n), dtype)
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
    return {k: _like(c, w, site.type(k)) for k, w in found if site.wanted(k)}


# Interpolation -----------------------------------------------------------------------------------


class _Interval:
    """Where the points of `interp` lie: all values have one axis, that of the points."""

    def __init__(self, site: HostSite) -> None:
        c = self.c = site.c
        site.only(period=None)
        xp, fp = site.x("xp"), site.x("fp")
        wide = DTYPES["f64"]
        self.x = _flat(c, c.cast(site.x("x"), wide))
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


def _flat(c: Calculus, v: Value) -> Value:
    v = _array(c, v)
    return c.reshape(v, (prod(shape_of(v.type)),))


def _interp_jvp(site: HostSite, tangents: Tangents) -> Results:
    c, at = site.c, _Interval(site)
    parts: list[Value] = []
    if "x" in tangents:
        parts.append(c.strong_mul(_flat(c, tangents["x"]), at.slope))
    if "fp" in tangents:
        t = tangents["fp"]
        for place, w in zip((at.left, at.right), at.weights, strict=True):
            parts.append(c.mul(c.op("gather", t, place), w))
    if "xp" in tangents:
        t = tangents["xp"]
        for place, w in zip((at.left, at.right), at.inner_weights(), strict=True):
            parts.append(c.neg(c.mul(c.mul(c.op("gather", t, place), w), at.slope)))
    out = _sum(c, *parts)
    assert out is not None
    return (_like(c, out, site.s.outputs[0]),)


def _interp_vjp(site: HostSite, cotangents: Results) -> Mapping[str, Value | None]:
    c, at, given = site.c, _Interval(site), cotangents[0]
    assert given is not None
    g = _flat(c, given)
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
        out["x"] = _like(c, of_x, site.type("x"))
    if site.wanted("fp"):
        out["fp"] = spread("fp", at.weights, g)
    if site.wanted("xp"):
        out["xp"] = spread("xp", at.inner_weights(), c.neg(of_x))
    return out


# Order statistics --------------------------------------------------------------------------------


def _order(c: Calculus, x: Value, axis: int) -> Value:
    return c.op("argsort", x, axis=axis, stable=True)


def _partition(site: HostSite, t: Value, back: bool) -> Value:
    """Elements moved as `partition` moved the operand's, or back."""
    c = site.c
    x, y = site.x("a"), site.s.y()
    if site.constant("axis", -1) is None:
        x = _flat(c, x)
        axis = 0
    else:
        axis = site.axis(x)
    source, target = _order(c, x, axis), _order(c, y, axis)
    if back:
        source, target = target, source
    else:
        t = c.reshape(t, shape_of(x.type))
    return put_back(c, taken(c, t, source, axis), target, axis)


def _partition_jvp(site: HostSite, tangents: Tangents) -> Results:
    return (_partition(site, tangents["a"], False),)


def _partition_vjp(site: HostSite, cotangents: Results) -> Mapping[str, Value | None]:
    g = cotangents[0]
    assert g is not None
    return {"a": site.c.reshape(_partition(site, g, True), shape_of(site.type("a")))}


class _Quantiles:
    """The operand with the elements to choose from on its last axis, their order and weights."""

    def __init__(self, site: HostSite) -> None:
        c = self.c = site.c
        site.only(method="linear", weights=None)
        t = site.type("a")
        assert isinstance(t, ArrayType)
        axis = site.constant("axis")
        axes = range(t.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        chosen = [k % t.ndim for k in axes]
        rest = [k for k in range(t.ndim) if k not in chosen]
        self.axes = [*rest, *chosen]
        self.rows = tuple(t.shape[k] for k in rest)
        self.count: Dim = prod([t.shape[k] for k in chosen])
        self.moved = tuple(t.shape[k] for k in self.axes)
        x = self.arranged(site.x("a"))
        self.order = _order(c, x, len(rest))
        q = site.x("q")
        self.many = bool(shape_of(q.type))
        if len(shape_of(q.type)) > 1:
            raise site.underivable("of several axes of quantiles has no derivative rule")
        q = _flat(c, c.cast(q, "f64"))
        q = c.div(q, c.full(q.type, 100)) if site.path.endswith("percentile") else q
        self.weights = c.cast(self._weights(q), t.dtype)

    def arranged(self, v: Value) -> Value:
        """The operand, or its tangent, as (rows..., elements)."""
        return self.c.reshape(self.c.transpose(v, self.axes), (*self.rows, self.count))

    def _weights(self, q: Value) -> Value:
        """(elements, quantiles): how much of each element in ascending order is in each."""
        c, (quantiles,) = self.c, shape_of(q.type)
        f64 = DTYPES["f64"]
        last = c.shaped(c.sub(c.size(self.count, f64), c.full(NpScalar(f64), 1)), q.type)
        place = c.mul(q, last)
        low = c.op("floor", place)
        share = c.sub(place, low)
        high = c.op("minimum", c.add(low, c.ones(q.type)), last)
        whole = ArrayType(f64, (self.count, quantiles))
        number = c.op("iota", size=self.count, dtype="f64")
        number = c.shaped(c.reshape(number, (self.count, 1)), whole)
        out = None
        for where, part in ((low, c.sub(c.ones(q.type), share)), (high, share)):
            here = c.compare("equal", number, c.shaped(where, whole))
            out = _sum(c, out, c.where(here, c.shaped(part, whole), 0))
        assert out is not None
        return out


def _quantile_jvp(site: HostSite, tangents: Tangents) -> Results:
    c, at = site.c, _Quantiles(site)
    ordered = taken(c, at.arranged(tangents["a"]), at.order, len(at.rows))
    out = c.matmul(ordered, at.weights)
    ndim = len(shape_of(out.type))
    if at.many:
        out = c.transpose(out, (ndim - 1, *range(ndim - 1)))
    return (_like(c, out, site.s.outputs[0]),)


def _quantile_vjp(site: HostSite, cotangents: Results) -> Mapping[str, Value | None]:
    c, at, g = site.c, _Quantiles(site), cotangents[0]
    assert g is not None
    quantiles = shape_of(at.weights.type)[1]
    g = c.cast(_array(c, g), dtype_of(at.weights.type))
    if at.many:
        g = c.reshape(g, (quantiles, *at.rows))
        g = c.transpose(g, (*range(1, len(at.rows) + 1), 0))
    else:
        g = c.reshape(g, (*at.rows, 1))
    moved = put_back(c, c.matmul(g, c.swapped(at.weights)), at.order, len(at.rows))
    moved = c.reshape(moved, at.moved)
    back = [at.axes.index(k) for k in range(len(at.axes))]
    return {"a": c.transpose(moved, back)}


# Running extremes --------------------------------------------------------------------------------


def _latest(site: HostSite) -> tuple[Value, int]:
    """For each element the place of the latest one that was the extreme so far."""
    c, x, y = site.c, site.x("array"), site.s.y()
    axis = site.axis(x, default=0)
    t = x.type
    assert isinstance(t, ArrayType)
    hit = c.op("logical_or", c.compare("equal", x, y), c.op("isnan", x))
    number = c.op("iota", size=t.shape[axis], dtype="i64")
    shape = tuple(d if k == axis else 1 for k, d in enumerate(t.shape))
    whole = ArrayType(DTYPES["i64"], t.shape)
    number = c.where(hit, c.shaped(c.reshape(number, shape), whole), 0)
    (place,) = host(c, "numpy:maximum.accumulate", [number], whole, axis=axis)
    return place, axis


def _running_jvp(site: HostSite, tangents: Tangents) -> Results:
    place, axis = _latest(site)
    return (taken(site.c, tangents["array"], place, axis),)


def _running_vjp(site: HostSite, cotangents: Results) -> Mapping[str, Value | None]:
    g = cotangents[0]
    assert g is not None
    place, axis = _latest(site)
    return {"array": taken_transposed(site.c, g, place, axis, site.type("array"))}


# Others ------------------------------------------------------------------------------------------


def _same_jvp(site: HostSite, tangents: Tangents) -> Results:
    (t,) = tangents.values()
    return (site.c.cast(t, dtype_of(site.s.outputs[0])),)


def _same_vjp(site: HostSite, cotangents: Results) -> Mapping[str, Value | None]:
    g = cotangents[0]
    assert g is not None
    return {"p": site.c.cast(g, dtype_of(site.type("p")))}


def _bincount_jvp(site: HostSite, tangents: Tangents) -> Results:
    c, out = site.c, site.s.outputs[0]
    places = c.cast(site.x("x"), "i64")
    t = c.cast(tangents["weights"], dtype_of(out))
    return (c.op("scatter_apply", c.zeros(out), t, places, function="add"),)


def _bincount_vjp(site: HostSite, cotangents: Results) -> Mapping[str, Value | None]:
    c, g = site.c, cotangents[0]
    assert g is not None
    read = c.op("gather", g, c.cast(site.x("x"), "i64"))
    return {"weights": c.cast(read, dtype_of(site.type("weights")))}


def _sinc_slope(c: Calculus, x: Value) -> Value:
    """pi f(pi x), f(u) = (u cos u - sin u) / u**2: below 1 by its series."""
    u = c.scale(x, math.pi)
    square = c.mul(u, u)
    series = c.full(u.type, 0)
    for k in range(11, 0, -1):
        term = (-1) ** k * 2 * k / math.factorial(2 * k + 1)
        series = c.add(c.mul(series, square), c.full(u.type, term))
    series = c.mul(series, u)
    near = c.compare("less", c.op("absolute", u), 1.0)
    far = c.where(near, c.full(u.type, 1), u)
    exact = c.sub(c.op("cos", far), c.div(c.op("sin", far), far))
    return c.scale(c.where(near, series, c.div(exact, far)), math.pi)


def _sinc_jvp(site: HostSite, tangents: Tangents) -> Results:
    return (site.c.strong_mul(tangents["x"], _sinc_slope(site.c, site.x("x"))),)


def _sinc_vjp(site: HostSite, cotangents: Results) -> Mapping[str, Value | None]:
    g = cotangents[0]
    assert g is not None
    return {"x": site.c.strong_mul(g, _sinc_slope(site.c, site.x("x")))}


def _numpy(names: str) -> list[str]:
    return [f"numpy:{name}" for name in names.split()]


rule(_numpy("convolve correlate"), "a", "v", jvp=_bilinear_jvp, vjp=_convolve_vjp)
rule(_numpy("interp"), "x", "xp", "fp", jvp=_interp_jvp, vjp=_interp_vjp)
rule(_numpy("partition"), "a", jvp=_partition_jvp, vjp=_partition_vjp)
rule(_numpy("percentile quantile"), "a", jvp=_quantile_jvp, vjp=_quantile_vjp)
rule(_numpy("unwrap"), "p", jvp=_same_jvp, vjp=_same_vjp)
rule(_numpy("bincount"), "weights", jvp=_bincount_jvp, vjp=_bincount_vjp)
rule(_numpy("sinc"), "x", jvp=_sinc_jvp, vjp=_sinc_vjp)
rule(_numpy("maximum.accumulate minimum.accumulate"), "array", jvp=_running_jvp, vjp=_running_vjp)

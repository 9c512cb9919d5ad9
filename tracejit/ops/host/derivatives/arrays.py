"""Derivatives of order statistics, polynomials and others, called through NumPy.

Elements that move (`partition`, `percentile`) take their derivatives along; of equal ones those
that a stable sort takes. Of equal running extremes the latest has the derivative.
"""

from __future__ import annotations

import math

import numpy as np

from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Value
from tracejit.ir.terms import Term, where
from tracejit.ir.types import DTYPES, ArrayType, NpScalar, dtype_of, shape_of
from tracejit.ops.host.derivatives.decompositions import Results, Tangents
from tracejit.ops.host.derivatives.partials import elementwise
from tracejit.ops.host.derivatives.registry import (
    HostAdaptor,
    as_array,
    flat,
    host,
    matched,
    rule,
    sum_of,
)
from tracejit.ops.rules.reduction import put_back, taken

__all__: list[str] = []


# Order statistics --------------------------------------------------------------------------------


def _order(c: DerivativeBuilder, x: Value, axis: int) -> Value:
    return c.op("argsort", x, axis=axis, stable=True)


def _partition_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    """Elements moved as `partition` moved the operand's."""
    c = at.c
    x, y = at.x("a"), at.call.y()
    if at.constant("axis", -1) is None:
        x = flat(c, x)
        axis = 0
    else:
        axis = at.axis(x)
    source, target = _order(c, x, axis), _order(c, y, axis)
    t = c.reshape(tangents["a"], shape_of(x.type))
    return (put_back(c, taken(c, t, source, axis), target, axis),)


class _Quantiles:
    """The operand with the elements to choose from on its last axis, their order and weights."""

    def __init__(self, at: HostAdaptor) -> None:
        c = self.c = at.c
        at.only(method="linear", interpolation=None, weights=None)
        t = at.type("a")
        assert isinstance(t, ArrayType)
        axis = at.constant("axis")
        axes = range(t.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        chosen = [k % t.ndim for k in axes]
        rest = [k for k in range(t.ndim) if k not in chosen]
        self.axes = [*rest, *chosen]
        self.rows = tuple(t.shape[k] for k in rest)
        self.count: Dim = prod([t.shape[k] for k in chosen])
        x = self.arranged(at.x("a"))
        self.order = _order(c, x, len(rest))
        q = at.x("q")
        self.many = bool(shape_of(q.type))
        if len(shape_of(q.type)) > 1:
            raise at.underivable("of several axes of quantiles has no derivative rule")
        q = flat(c, c.cast(q, "f64"))
        q = c.div(q, c.full(q.type, 100)) if at.path.endswith("percentile") else q
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
        for place, part in ((low, c.sub(c.ones(q.type), share)), (high, share)):
            here = c.compare("equal", number, c.shaped(place, whole))
            out = sum_of(c, out, c.where(here, c.shaped(part, whole), 0))
        assert out is not None
        return out


def _quantile_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    c, found = at.c, _Quantiles(at)
    ordered = taken(c, found.arranged(tangents["a"]), found.order, len(found.rows))
    out = c.matmul(ordered, found.weights)
    ndim = len(shape_of(out.type))
    if found.many:
        out = c.transpose(out, (ndim - 1, *range(ndim - 1)))
    return (matched(c, out, at.call.outputs[0]),)


# Running extremes --------------------------------------------------------------------------------


def _latest(at: HostAdaptor) -> tuple[Value, int]:
    """For each element the place of the latest one that was the extreme so far."""
    c, x, y = at.c, at.x("array"), at.call.y()
    axis = at.axis(x, default=0)
    t = x.type
    assert isinstance(t, ArrayType)
    hit = c.op("logical_or", c.compare("equal", x, y), c.op("isnan", x))
    number = c.op("iota", size=t.shape[axis], dtype="i64")
    shape = tuple(d if k == axis else 1 for k, d in enumerate(t.shape))
    whole = ArrayType(DTYPES["i64"], t.shape)
    number = c.where(hit, c.shaped(c.reshape(number, shape), whole), 0)
    (place,) = host(c, "numpy:maximum.accumulate", [number], whole, axis=axis)
    return place, axis


def _running_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    place, axis = _latest(at)
    return (taken(at.c, tangents["array"], place, axis),)


# Others ------------------------------------------------------------------------------------------


def _bincount_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    c, out = at.c, at.call.outputs[0]
    places = c.cast(at.x("x"), "i64")
    t = c.cast(tangents["weights"], dtype_of(out))
    return (c.op("scatter_apply", c.zeros(out), t, places, function="add"),)


def _sinc_slope(x: Term, y: Term) -> Term:
    """pi f(pi x), f(u) = (u cos u - sin u) / u**2: below 1 by its series."""
    u = +(math.pi * x)
    square = u * u
    series = u.full(0)
    for k in range(11, 0, -1):
        series = series * square + (-1) ** k * 2 * k / math.factorial(2 * k + 1)
    near = u.op("absolute") < 1
    far = where(near, 1, u)
    exact = (far.op("cos") - far.op("sin") / far) / far
    return +(math.pi * where(near, series * u, exact))


def _shares(at: HostAdaptor) -> tuple[Value, list[int], str]:
    """exp(x - y) for y = log(sum(exp(x))), the axes of the sum, and the operand's parameter."""
    c = at.c
    reduced = at.path.endswith("reduce")
    name = "array" if reduced else "a"
    if reduced:
        at.only(initial=np._NoValue, where=np._NoValue, dtype=None)
    else:
        at.only(b=None, return_sign=False)
    x = as_array(c, at.x(name))
    ndim = len(shape_of(x.type))
    axis = at.constant("axis", 0 if reduced else None)
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    chosen = sorted(k % ndim for k in axes)
    y = c.keep_axes(as_array(c, at.call.y()), chosen, x.type)
    # Of minus infinity alone no element has a share.
    none = c.compare("equal", y, -math.inf)
    distance = c.sub(x, c.where(none, c.full(y.type, 0), y))
    return c.op("exp", distance), chosen, name


def _log_sum_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    c = at.c
    shares, axes, name = _shares(at)
    terms = c.mul_no_nan(as_array(c, tangents[name]), shares)
    return (matched(c, c.sum(terms, axes), at.call.outputs[0]),)


def _numpy(names: str) -> list[str]:
    return [f"numpy:{name}" for name in names.split()]


rule(_numpy("partition"), "a", jvp=_partition_jvp)
rule(_numpy("percentile quantile"), "a", jvp=_quantile_jvp)
rule(_numpy("bincount"), "weights", jvp=_bincount_jvp)
elementwise("numpy:sinc", _sinc_slope, takes_complex=True)
rule(_numpy("maximum.accumulate minimum.accumulate"), "array", jvp=_running_jvp)
rule(
    ["numpy:logaddexp.reduce", "scipy.special._logsumexp:logsumexp"],
    *("array", "a"),
    jvp=_log_sum_jvp,
)

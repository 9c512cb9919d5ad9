"""Derivatives of SciPy's integrals of sampled functions, as its formulas over slices."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, dtype_of, shape_of
from tracejit.ops.array.scan import running_sums
from tracejit.ops.host.derivatives.formulas import FormulaAdaptor, formula
from tracejit.ops.host.derivatives.registry import as_array
from tracejit.ops.rules.reduction import flipped
from tracejit.ops.rules.shape import slice_of

__all__: list[str] = []

_QUADRATURE = "scipy.integrate._quadrature:"


class _Samples:
    """The samples, and the distances between neighbours along the axis of the integral."""

    def __init__(self, at: FormulaAdaptor) -> None:
        self.at = at
        c = self.c = at.c
        self.dtype = dtype_of(at.call.outputs[0])
        self.y = c.cast(at.x("y"), self.dtype)
        self.axis = at.axis(self.y)
        self.n = shape_of(self.y.type)[self.axis]
        self.even = not at.given_as("x")
        whole = self.sized(self.y.type, self.n - 1)
        if not self.even:
            x = c.cast(at.x("x"), self.dtype)
            if len(shape_of(x.type)) == 1:
                row = tuple(self.n if k == self.axis else 1 for k in range(whole.ndim))
                x = c.reshape(x, row)
                x = c.shaped(x, self.sized(whole, self.n))
            elif shape_of(x.type) != shape_of(self.y.type):
                raise at.underivable("of shapes that broadcast has no derivative rule")
            self.d = c.sub(self.part(x, 1, self.n - 1), self.part(x, 0, self.n - 1))
        else:
            dx = c.full(ArrayType(self.dtype, ()), 1)
            if "dx" in at.given:
                dx = c.cast(as_array(c, at.x("dx")), self.dtype)
            self.d = c.shaped(dx, whole)

    def sized(self, t: object, n: Dim) -> ArrayType:
        assert isinstance(t, ArrayType)
        shape = tuple(n if k == self.axis else d for k, d in enumerate(t.shape))
        return ArrayType(self.dtype, shape)

    def part(self, v: Value, start: Dim, size: Dim, step: int = 1) -> Value:
        """`size` elements along the axis."""
        ndim = len(shape_of(v.type))
        begin = tuple(start if k == self.axis else 0 for k in range(ndim))
        steps = tuple(step if k == self.axis else 1 for k in range(ndim))
        return slice_of(self.c, v, begin, self.sized(v.type, size).shape, steps)

    def trapezoids(self) -> Value:
        c, n = self.c, self.n - 1
        return c.mul(c.scale(self.d, 0.5), c.add(self.part(self.y, 1, n), self.part(self.y, 0, n)))

    def static(self) -> int:
        if not isinstance(self.n, int):
            raise self.at.underivable("of a size known at run time has no derivative rule")
        return self.n

    def quotient(self, a: Value, b: Value) -> Value:
        """a / b, and 0 for b = 0."""
        c = self.c
        none = c.compare("equal", b, 0)
        return c.where(none, c.full(b.type, 0), c.div(a, c.where(none, c.ones(b.type), b)))

    def first(self, y: Value, d: Value, count: int, step: int) -> Value:
        """The integrals over the first one of two intervals of the parabolas through three points,
        `step` apart: h0/6 ((3 - r) y0 + (3 + r q + r) y1 - r q y2), r = h0/(h0 + h1), q = h0/h1.
        """
        c = self.c
        h0, h1 = (self.part(d, k, count, step) for k in (0, 1))
        y0, y1, y2 = (self.part(y, k, count, step) for k in (0, 1, 2))
        r, q = c.div(h0, c.add(h0, h1)), c.div(h0, h1)
        three, rq = c.full(r.type, 3), c.mul(r, q)
        total = c.mul(c.sub(three, r), y0)
        total = c.add(total, c.mul(c.add(three, c.add(rq, r)), y1))
        return c.mul(c.scale(h0, 1 / 6), c.sub(total, c.mul(rq, y2)))


@formula([f"{_QUADRATURE}trapezoid"], "y", "x", "dx")
def _trapezoid(at: FormulaAdaptor) -> Sequence[Value]:
    samples = _Samples(at)
    return [samples.c.sum(samples.trapezoids(), [samples.axis])]


def _from_start(at: FormulaAdaptor, samples: _Samples, running: Value) -> Value:
    """With a first element, where `initial` asks for it."""
    if not at.given_as("initial"):
        return running
    c = samples.c
    first = samples.sized(running.type, 1)
    if at.path.endswith("simpson"):
        initial = c.cast(as_array(c, at.x("initial")), samples.dtype)
        running = c.add(running, c.shaped(initial, running.type))
        whole = c.shaped(initial, first)
    else:
        whole = c.full(first, at.constant("initial"))
    return c.op("concatenate", whole, running, axis=samples.axis)


@formula([f"{_QUADRATURE}cumulative_trapezoid"], "y", "x", "dx")
def _cumulative_trapezoid(at: FormulaAdaptor) -> Sequence[Value]:
    samples = _Samples(at)
    return [_from_start(at, samples, running_sums(samples.c, samples.trapezoids(), samples.axis))]


@formula([f"{_QUADRATURE}simpson"], "y", "x", "dx")
def _simpson(at: FormulaAdaptor) -> Sequence[Value]:
    """Parabolas over pairs of intervals; over a last single one that through three points."""
    samples = _Samples(at)
    c, n = samples.c, samples.static()
    if n < 3:
        return [c.sum(samples.trapezoids(), [samples.axis])]
    pairs = (n - 1) // 2
    h0, h1 = (samples.part(samples.d, k, pairs, 2) for k in (0, 1))
    y0, y1, y2 = (samples.part(samples.y, k, pairs, 2) for k in (0, 1, 2))
    total, two = c.add(h0, h1), c.full(h0.type, 2)
    ratio = samples.quotient(h0, h1)
    inner = c.mul(y0, c.sub(two, samples.quotient(c.ones(ratio.type), ratio)))
    inner = c.add(inner, c.mul(y1, samples.quotient(c.mul(total, total), c.mul(h0, h1))))
    inner = c.add(inner, c.mul(y2, c.sub(two, ratio)))
    out = c.sum(c.mul(c.scale(total, 1 / 6), inner), [samples.axis])
    if n % 2 == 0:
        back = flipped(c, samples.part(samples.y, n - 3, 3), samples.axis)
        steps = flipped(c, samples.part(samples.d, n - 3, 2), samples.axis)
        out = c.add(out, c.sum(samples.first(back, steps, 1, 1), [samples.axis]))
    return [out]


@formula([f"{_QUADRATURE}cumulative_simpson"], "y", "x", "dx")
def _cumulative_simpson(at: FormulaAdaptor) -> Sequence[Value]:
    """Even intervals are the first ones of parabolas, odd ones and the last the second ones."""
    samples = _Samples(at)
    c, n = samples.c, samples.static()
    if n < 3:
        return [_from_start(at, samples, running_sums(c, samples.trapezoids(), samples.axis))]
    forward = samples.first(samples.y, samples.d, n - 2, 1)
    turned = samples.first(
        flipped(c, samples.y, samples.axis), flipped(c, samples.d, samples.axis), n - 2, 1
    )
    backward = flipped(c, turned, samples.axis)
    parts = []
    for k in range(n - 1):
        is_first = k % 2 == 0 and k < n - 2
        parts.append(samples.part(forward, k, 1) if is_first else samples.part(backward, k - 1, 1))
    each = c.op("concatenate", *parts, axis=samples.axis)
    return [_from_start(at, samples, running_sums(c, each, samples.axis))]

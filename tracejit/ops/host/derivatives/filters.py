"""Derivatives of SciPy's filters and convolutions of signals: linear in each operand.

A convolution's transpose is a correlation. A recursive filter A y = B x changes by
A dy = dB x + B dx - dA y; its transpose by x is the filter run backwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import Dim, floordiv
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, dtype_of, shape_of
from tracejit.ops.host.derivatives.decompositions import Results, Tangents
from tracejit.ops.host.derivatives.fft import fitted
from tracejit.ops.host.derivatives.formulas import FormulaAdaptor, formula, linear_by
from tracejit.ops.host.derivatives.registry import (
    HostAdaptor,
    host,
    linear,
    matched,
    rule,
    sum_of,
)
from tracejit.ops.rules.reduction import flipped
from tracejit.ops.rules.shape import slice_of

__all__: list[str] = []

_TOOLS = "scipy.signal._signaltools:"


# Convolutions ------------------------------------------------------------------------------------


def _reversed(c: DerivativeBuilder, v: Value) -> Value:
    for axis in range(len(shape_of(v.type))):
        v = flipped(c, v, axis)
    return v


def _sizes(at: HostAdaptor) -> list[tuple[Dim, Dim]]:
    """The sizes of both operands along each axis."""
    at.only(axes=None, boundary="fill", fillvalue=0)
    first, second = (shape_of(at.x(name).type) for name in ("in1", "in2"))
    if len(first) != len(second):
        raise at.underivable("of unlike numbers of axes has no derivative rule")
    return list(zip(first, second, strict=True))


def _whole(at: HostAdaptor, g: Value) -> Value:
    """The cotangent of a convolution of mode "full" for that of the call's."""
    mode = at.constant("mode", "full")
    if mode == "full":
        return g
    for axis, (m, n) in enumerate(_sizes(at)):
        before = floordiv(n - 1, 2)
        if mode == "valid":
            # The result's size tells which one is the smaller.
            found = [less for less in (n, m) if shape_of(g.type)[axis] == m + n + 1 - 2 * less]
            if not found:
                raise at.underivable("with mode='valid' and sizes known at run time has no rule")
            before = found[0] - 1
        elif not isinstance(m, int) or not isinstance(n, int):
            raise at.underivable(f"with mode={mode!r} and sizes known at run time has no rule")
        g = fitted(at.c, g, axis, m + n - 1, before)
    return g


def _operand(at: HostAdaptor, name: str) -> Value:
    """An operand in the result's dtype; a constant as well."""
    return at.c.cast(at.x(name), dtype_of(at.call.outputs[0]))


def _bilinear_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    _sizes(at)
    return (sum_of(at.c, *(at.again(**{name: t})[0] for name, t in tangents.items())),)


def _convolve_vjp(at: HostAdaptor, cotangents: Results) -> Mapping[str, Value | None]:
    """The convolution of the cotangent, in full, with the other operand reversed."""
    c, g = at.c, cotangents[0]
    assert g is not None
    whole = _whole(at, g)
    out: dict[str, Value | None] = {}
    for name, other in (("in1", "in2"), ("in2", "in1")):
        if not at.wanted(name):
            continue
        t = at.type(name)
        made = ArrayType(dtype_of(whole.type), shape_of(t))
        operands = [whole, _reversed(c, _operand(at, other))]
        out[name] = matched(c, host(c, at.path, operands, made, mode="valid")[0], t)
    return out


_CONVOLUTIONS = ("convolve", "fftconvolve", "oaconvolve", "convolve2d")
rule(
    [f"{_TOOLS}{name}" for name in _CONVOLUTIONS],
    *("in1", "in2"),
    jvp=_bilinear_jvp,
    vjp=_convolve_vjp,
)


def _correlation(at: FormulaAdaptor, mode: str) -> Value:
    """The convolution with the conjugate of the other one, reversed."""
    c, t = at.c, at.call.outputs[0]
    dtype, shape = dtype_of(t), shape_of(t)
    if mode == "full":
        shape = tuple(m + n - 1 for m, n in _sizes(at))
    first, second = (c.cast(at.x(name), dtype) for name in ("in1", "in2"))
    second = _reversed(c, c.conj(second))
    path = at.path.replace("correlate", "convolve")
    return host(c, path, [first, second], ArrayType(dtype, shape), mode=mode)[0]


@formula([f"{_TOOLS}correlate"], "in1", "in2")
def _correlate(at: FormulaAdaptor) -> Sequence[Value]:
    _sizes(at)
    return [_correlation(at, at.constant("mode", "full"))]


@formula([f"{_TOOLS}correlate2d"], "in1", "in2")
def _correlate2d(at: FormulaAdaptor) -> Sequence[Value]:
    """SciPy has another middle for the mode "same", and conjugates the smaller one for "valid"."""
    c, sizes, mode = at.c, _sizes(at), at.constant("mode", "full")
    if mode == "full":
        return [_correlation(at, mode)]
    if mode == "same":
        start = tuple(floordiv(n, 2) for _, n in sizes)
        return [slice_of(c, _correlation(at, "full"), start, tuple(m for m, _ in sizes))]
    out = _correlation(at, mode)
    for m, n in sizes:
        if not isinstance(m, int) or not isinstance(n, int):
            raise at.underivable("with mode='valid' and sizes known at run time has no rule")
        if m < n:
            return [c.conj(out)]
    return [out]


# Recursive filters -------------------------------------------------------------------------------


def _backwards(at: HostAdaptor, g: Value) -> Value:
    """The filter of the signal run backwards."""
    c, axis = at.c, at.axis(g)
    out = dtype_of(at.call.outputs[0])
    return flipped(c, at.again(x=flipped(c, c.cast(g, out), axis))[0], axis)


def _delayed(c: DerivativeBuilder, x: Value, axis: int, by: int) -> Value:
    """x[n - by] along an axis, zeros before."""
    shape = shape_of(x.type)
    if by == 0:
        return x
    n = shape[axis]
    if isinstance(n, int) and n <= by:
        return c.full(x.type, 0)
    size = tuple(n - by if k == axis else d for k, d in enumerate(shape))
    return fitted(c, slice_of(c, x, (0,) * len(shape), size), axis, n, by)


def _moving(c: DerivativeBuilder, weights: Value, x: Value, axis: int) -> Value | None:
    """The sum of weights[k] x[n - k]."""
    (count,) = shape_of(weights.type)
    assert isinstance(count, int)
    parts = []
    for k in range(count):
        w = c.reshape(slice_of(c, weights, (k,), (1,)), ())
        parts.append(c.mul(c.shaped(w, x.type), _delayed(c, x, axis, k)))
    return sum_of(c, *parts)


@linear_by([f"{_TOOLS}lfilter"], "x", _backwards, "b", "a", zi=None)
def _filtered(at: FormulaAdaptor) -> Sequence[Value]:
    """A y' = B x - A y, added to y: the factor A, and y and x on the right, are held."""
    at.only(zi=None)
    c, t = at.c, at.call.outputs[0]
    dtype = dtype_of(t)
    a, b = (c.cast(at.x(name), dtype) for name in "ab")
    x = c.cast(at.held("x"), dtype)
    for v in (a, b):
        if len(shape_of(v.type)) != 1 or not isinstance(shape_of(v.type)[0], int):
            raise at.underivable("of coefficients of a size known at run time has no rule")
    y, axis = at.y(), at.axis(x)
    forward, back = _moving(c, b, x, axis), _moving(c, a, y, axis)
    assert forward is not None and back is not None
    right = c.sub(forward, back)
    one = c.full(ArrayType(dtype, (1,)), 1)
    held = c.cast(at.held("a"), dtype)
    same = ArrayType(dtype, shape_of(t))
    return [c.add(y, host(c, at.path, [one, held, right], same, axis=axis)[0])]


linear([f"{_TOOLS}sosfilt"], "x", _backwards, zi=None)


# Others ------------------------------------------------------------------------------------------


@formula([f"{_TOOLS}hilbert"], "x")
def _hilbert(at: FormulaAdaptor) -> Sequence[Value]:
    """The positive frequencies twice, the negative ones not at all."""
    c, t = at.c, at.call.outputs[0]
    x = at.x("x")
    axis = at.axis(x)
    n = shape_of(t)[axis]
    if not isinstance(n, int):
        raise at.underivable("of a size known at run time has no derivative rule")
    weights = np.zeros(n)
    weights[0], weights[1 : (n + 1) // 2] = 1, 2
    if n % 2 == 0:
        weights[n // 2] = 1
    same = ArrayType(dtype_of(t), shape_of(t))
    (found,) = host(c, "numpy.fft:fft", [x], same, n=n, axis=axis)
    row = c.cast(c.constant(weights), same.dtype)
    row = c.reshape(row, tuple(n if k == axis else 1 for k in range(same.ndim)))
    found = c.mul(found, c.shaped(row, same))
    return list(host(c, "numpy.fft:ifft", [found], same, axis=axis))


# What is left after a least squares fit of lines is a projection, its own transpose.
linear([f"{_TOOLS}detrend"], "data", lambda at, g: at.again(data=g)[0])

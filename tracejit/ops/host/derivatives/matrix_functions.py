"""Derivatives of functions of matrices, of SciPy's structured matrices and of its norms.

A function f of a square matrix, such as expm, has f([[A, E], [0, A]]) = [[f(A), L], [0, f(A)]] with
the derivative L of f at A along E (N. Higham, "Functions of Matrices" (2008), section 3.1), whose
transpose is the derivative at A^T. That of a square root solves a Sylvester equation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, dtype_of, shape_of
from tracejit.ops.host.derivatives.decompositions import Results, Tangents, real_dtype
from tracejit.ops.host.derivatives.formulas import FormulaAdaptor, formula, moved, movers
from tracejit.ops.host.derivatives.registry import HostAdaptor, as_array, host, rule
from tracejit.ops.rules.linalg import triangle
from tracejit.ops.rules.shape import slice_of

__all__: list[str] = []


# Functions of matrices ---------------------------------------------------------------------------


def _along(at: HostAdaptor, a: Value, e: Value) -> Value:
    """The derivative of the function at `a` along `e`."""
    c = at.c
    if len(at.call.outputs) > 1:
        raise at.underivable("with an estimate of its error has no derivative rule")
    dtype = np.result_type(dtype_of(a.type), dtype_of(e.type))
    a, e = c.cast(a, dtype), c.cast(e, dtype)
    shape = shape_of(a.type)
    n, ndim = shape[-1], len(shape)
    upper = c.op("concatenate", a, e, axis=ndim - 1)
    lower = c.op("concatenate", c.full(a.type, 0), a, axis=ndim - 1)
    whole = c.op("concatenate", upper, lower, axis=ndim - 2)
    wide = (*shape[:-2], 2 * n, 2 * n)
    out_dtype = np.result_type(dtype, dtype_of(at.call.outputs[0]))
    (found,) = host(c, at.path, [whole], ArrayType(out_dtype, wide))
    return slice_of(c, found, (*(0,) * (ndim - 1), n), shape)


def _function_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    out = _along(at, at.x("A"), tangents["A"])
    return (at.c.cast(out, dtype_of(at.call.outputs[0])),)


def _function_vjp(at: HostAdaptor, cotangents: Results) -> Mapping[str, Value | None]:
    c, g = at.c, cotangents[0]
    assert g is not None
    out = _along(at, c.swapped(at.x("A")), g)
    return {"A": c.cast(out, dtype_of(at.type("A")))}


_FUNCTIONS = "expm sinm cosm tanm sinhm coshm tanhm"
rule(
    [f"scipy.linalg._matfuncs:{name}" for name in _FUNCTIONS.split()],
    "A",
    jvp=_function_jvp,
    vjp=_function_vjp,
)


def _root_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    """X dX + dX X = dA."""
    c, x = at.c, at.call.y()
    if len(at.call.outputs) > 1 or len(shape_of(x.type)) != 2:
        raise at.underivable("of stacks, or with an estimate of its error, has no rule")
    made = ArrayType(dtype_of(x.type), shape_of(x.type))
    operands = [x, x, c.cast(tangents["A"], made.dtype)]
    return host(c, "scipy.linalg._solvers:solve_sylvester", operands, made)


# Before SciPy 1.17 the square root had a module of its own.
rule(
    [f"scipy.linalg.{module}:sqrtm" for module in ("_matfuncs", "_matfuncs_sqrtm")],
    "A",
    jvp=_root_jvp,
)


# Structured matrices -----------------------------------------------------------------------------

_SPECIAL = "scipy.linalg._special_matrices:"

movers([f"{_SPECIAL}block_diag"], "arrs")
movers([f"{_SPECIAL}circulant"], "c")
movers([f"{_SPECIAL}hankel"], "c", "r")
movers([f"{_SPECIAL}convolution_matrix"], "a")
movers([f"{_SPECIAL}leslie"], "f", "s")


@formula([f"{_SPECIAL}toeplitz"], "c", "r")
def _toeplitz(at: FormulaAdaptor) -> Sequence[Value]:
    """Without `r` it is the conjugate of `c`, above the diagonal."""
    c, (whole,) = at.c, moved(at, "c", "r")
    if at.given_as("r") or dtype_of(whole.type).kind != "c":
        return [whole]
    return [c.add(triangle(c, whole, 1), c.conj(triangle(c, whole, 0, upper=True)))]


@formula([f"{_SPECIAL}companion"], "a")
def _companion(at: FormulaAdaptor) -> Sequence[Value]:
    """-a[1:] / a[0] in the first row, and ones below the diagonal."""
    c, t = at.c, at.call.outputs[0]
    a = c.cast(at.x("a"), dtype_of(t))
    shape = shape_of(a.type)
    if len(shape) != 1:
        raise at.underivable("of several polynomials has no derivative rule")
    n = shape_of(t)[-1]
    first = c.shaped(slice_of(c, a, (0,), (1,)), ArrayType(dtype_of(t), (n,)))
    row = c.neg(c.div(slice_of(c, a, (1,), (n,)), first))
    number = c.op("iota", size=n, dtype="i64")
    whole = ArrayType(dtype_of(number.type), (n, n))
    on_top = c.compare("equal", c.shaped(c.reshape(number, (n, 1)), whole), 0)
    rows = c.shaped(row, ArrayType(dtype_of(t), (n, n)))
    return [c.where(on_top, rows, 0)]


@formula(["scipy.linalg._matfuncs:khatri_rao"], "a", "b")
def _khatri_rao(at: FormulaAdaptor) -> Sequence[Value]:
    """The Kronecker products of columns."""
    c, t = at.c, at.call.outputs[0]
    a, b = (c.cast(at.x(name), dtype_of(t)) for name in "ab")
    (m, k), (n, _) = shape_of(a.type), shape_of(b.type)
    whole = ArrayType(dtype_of(t), (m, n, k))
    left = c.shaped(c.reshape(a, (m, 1, k)), whole)
    right = c.shaped(c.reshape(b, (1, n, k)), whole)
    return [c.reshape(c.mul(left, right), shape_of(t))]


# Norms -------------------------------------------------------------------------------------------


@formula(["scipy.linalg._misc:norm"], "a")
def _norm(at: FormulaAdaptor) -> Sequence[Value]:
    """As np.linalg.norm has it."""
    c, order = at.c, at.constant("ord")
    a = as_array(c, at.x("a"))
    t = a.type
    assert isinstance(t, ArrayType)
    axis = at.constant("axis")
    every = tuple(range(t.ndim))
    axes = every if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(k % t.ndim for k in axes)
    real = real_dtype(t.dtype)
    if order is None or (order == 2 and len(axes) == 1) or (order == "fro" and len(axes) == 2):
        if t.dtype.kind == "c":
            re, im = c.op("real", a), c.op("imag", a)
            squares = c.add(c.mul(re, re), c.mul(im, im))
        else:
            squares = c.mul(a, a)
        return [c.op("root_of_squares", c.sum(squares, axes))]
    if len(axes) == 2:
        return [_matrix_norm(c, at, a, axes, order)]
    if len(axes) != 1:
        raise at.underivable(f"of order {order!r} has no derivative rule")
    size = c.op("absolute", a)
    if order in (np.inf, -np.inf):
        return [c.op("reduce_max" if order > 0 else "reduce_min", size, axes=axes)]
    if order == 1:
        return [c.sum(size, axes)]
    if isinstance(order, (int, float)) and order > 1:
        total = c.sum(c.op("power", size, c.full(size.type, order)), axes)
        return [c.op("power", total, c.full(ArrayType(real, shape_of(total.type)), 1 / order))]
    raise at.underivable(f"of order {order!r} has no derivative rule")


def _matrix_norm(
    c: DerivativeBuilder, at: FormulaAdaptor, a: Value, axes: tuple[int, ...], order: object
) -> Value:
    """The largest or least sum of a row (infinity) or column (1), or by the singular values."""
    row, column = axes
    if order in (1, -1, np.inf, -np.inf):
        assert isinstance(order, (int, float))
        summed, other = (row, column) if abs(order) == 1 else (column, row)
        sums = c.sum(c.op("absolute", a), [summed])
        left = other - (summed < other)
        return c.op("reduce_max" if order > 0 else "reduce_min", sums, axes=(left,))
    if order in (2, -2, "nuc"):
        rest = tuple(d for k, d in enumerate(shape_of(a.type)) if k not in axes)
        t = ArrayType(real_dtype(dtype_of(a.type)), rest)
        return host(c, "numpy.linalg:norm", [a], t, ord=order, axis=axes)[0]
    raise at.underivable(f"of order {order!r} has no derivative rule")

"""Derivatives of SciPy's systems of banded matrices: x changes by A^-1 (db - dA x)."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, dtype_of, shape_of
from tracejit.ops.host.derivatives.fft import fitted
from tracejit.ops.host.derivatives.formulas import FormulaAdaptor, linear_by
from tracejit.ops.host.derivatives.registry import HostAdaptor, sum_of, template
from tracejit.ops.rules.shape import slice_of

__all__: list[str] = []

_BASIC = "scipy.linalg._basic:"


# Bands -------------------------------------------------------------------------------------------


def _moved(c: DerivativeBuilder, v: Value, by: int) -> Value:
    """v[k - by] along the first axis, zeros where there is none."""
    shape = shape_of(v.type)
    n, rest = shape[0], shape[1:]
    if by == 0:
        return v
    if isinstance(n, int) and n <= abs(by):
        return c.full(v.type, 0)
    start = (0 if by > 0 else -by, *(0 for _ in rest))
    part = slice_of(c, v, start, (n - abs(by), *rest))
    return fitted(c, part, 0, n, max(by, 0))


def _diagonals(at: HostAdaptor) -> tuple[int, int]:
    lower, upper = at.constant("l_and_u")
    if len(shape_of(at.x("ab").type)) != 2:
        raise at.underivable("of stacks has no derivative rule")
    return lower, upper


def _row(c: DerivativeBuilder, ab: Value, k: int) -> Value:
    n = shape_of(ab.type)[1]
    return c.reshape(slice_of(c, ab, (k, 0), (1, n)), (n,))


def _transposed_bands(at: HostAdaptor, g: Value) -> Value:
    """The solution of the transposed system: row r' of it is row l + u - r', moved by l - r'."""
    c, (lower, upper) = at.c, _diagonals(at)
    ab = at.x("ab")
    rows = []
    for k in range(lower + upper + 1):
        moved = _moved(c, _row(c, ab, lower + upper - k), lower - k)
        rows.append(c.reshape(moved, (1, *shape_of(moved.type))))
    turned = c.op("concatenate", *rows, axis=0)
    arguments = (template((upper, lower)), ("operand", 0), ("operand", 1))
    attrs = {**at.call.attrs, "arguments": arguments, "keywords": ()}
    return c.ops("host_call", [turned, g], **attrs)[0]


@linear_by([f"{_BASIC}solve_banded"], "b", _transposed_bands, "ab")
def _solve_banded(at: FormulaAdaptor) -> Sequence[Value]:
    c, (lower, upper) = at.c, _diagonals(at)
    y = at.y()
    dtype, shape = dtype_of(y.type), shape_of(y.type)
    ab = c.cast(at.x("ab"), dtype)
    parts = []
    for k in range(lower + upper + 1):
        row = c.reshape(_row(c, ab, k), (shape[0], *(1 for _ in shape[1:])))
        parts.append(_moved(c, c.mul(c.shaped(row, ArrayType(dtype, shape)), y), k - upper))
    product = sum_of(c, *parts)
    assert product is not None
    right = c.sub(c.cast(at.held("b"), dtype), product)
    return [c.add(y, at.again(ab=at.held("ab"), b=right)[0])]

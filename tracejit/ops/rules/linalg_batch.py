"""Batching rules of products and linear systems: stacks of matrices, or one matrix for all lanes.

x @ b of x f64[size, m, k], b f64[k, n]    ->  one product of f64[size * m, k]
solve(a, b) of a f64[n, n], b f64[size, n] ->  one system with right sides f64[n, size]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.ir.dims import prod
from tracejit.ir.graph import Value
from tracejit.ir.types import shape_of

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__ = ["batched_matmul", "batched_solve"]


def _stack(c: DerivativeBuilder, at: BatchAdaptor, k: int, rank: int, *, column: bool) -> Value:
    """Operand k as matrices, a vector as a column or a row, under stacks of `rank` axes a lane."""
    shape = at.shape(k)
    core = shape[-2:] if len(shape) > 1 else ((*shape, 1) if column else (1, *shape))
    lead = shape[:-2]
    if at.batched[k]:
        lead = (at.size, *(1,) * (rank - len(lead)), *lead)
    return c.reshape(at.values[k], (*lead, *core))


def _rank(at: BatchAdaptor) -> int:
    """The most axes that a stack has in a lane."""
    return max(0, *(len(at.shape(k)) - 2 for k in range(2)))


def batched_matmul(c: DerivativeBuilder, at: BatchAdaptor) -> Value:
    """The rule of `matmul`."""
    a, b = at.values
    ranks = len(at.shape(0)), len(at.shape(1))
    out = (at.size, *shape_of(at.outputs[0]))
    if at.batched == (True, False) and max(ranks) <= 2:
        rows = at.shape(0)[-1:]
        product = c.matmul(c.reshape(a, (prod((at.size, *at.shape(0)[:-1])), *rows)), b)
    elif at.batched == (False, True) and ranks[1] == 1 and ranks[0] <= 2:
        product = c.matmul(b, c.swapped(a) if ranks[0] == 2 else a)
    else:
        rank = _rank(at)
        product = c.matmul(
            _stack(c, at, 0, rank, column=False), _stack(c, at, 1, rank, column=True)
        )
    return c.reshape(product, out)


def batched_solve(c: DerivativeBuilder, at: BatchAdaptor) -> Value:
    """The rule of `solve`; a matrix that is the same for all lanes is factored once."""
    a, b = at.values
    out = (at.size, *shape_of(at.outputs[0]))
    if at.batched == (False, True) and len(at.shape(0)) == 2 and len(at.shape(1)) <= 2:
        n, *columns = at.shape(1)
        back = (1, 0, *range(2, 2 + len(columns)))
        sides = c.transpose(b, back)
        x = c.solve(a, c.reshape(sides, (n, prod((at.size, *columns)))))
        return c.transpose(c.reshape(x, (n, at.size, *columns)), back)
    rank = _rank(at)
    x = c.solve(_stack(c, at, 0, rank, column=False), _stack(c, at, 1, rank, column=True))
    return c.reshape(x, out)

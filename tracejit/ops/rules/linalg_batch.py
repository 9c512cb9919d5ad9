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
    from tracejit.ir.batching import BatchSite
    from tracejit.ir.calculus import Calculus

__all__ = ["batched_matmul", "batched_solve"]


def _stack(c: Calculus, s: BatchSite, k: int, rank: int, *, column: bool) -> Value:
    """Operand k as matrices, a vector as a column or a row, under stacks of `rank` axes a lane."""
    shape = s.shape(k)
    core = shape[-2:] if len(shape) > 1 else ((*shape, 1) if column else (1, *shape))
    lead = shape[:-2]
    if s.batched[k]:
        lead = (s.size, *(1,) * (rank - len(lead)), *lead)
    return c.reshape(s.values[k], (*lead, *core))


def _rank(s: BatchSite) -> int:
    """The most axes that a stack has in a lane."""
    return max(0, *(len(s.shape(k)) - 2 for k in range(2)))


def batched_matmul(c: Calculus, s: BatchSite) -> Value:
    """The rule of `matmul`."""
    a, b = s.values
    ranks = len(s.shape(0)), len(s.shape(1))
    out = (s.size, *shape_of(s.outputs[0]))
    if s.batched == (True, False) and max(ranks) <= 2:
        rows = s.shape(0)[-1:]
        product = c.matmul(c.reshape(a, (prod((s.size, *s.shape(0)[:-1])), *rows)), b)
    elif s.batched == (False, True) and ranks[1] == 1 and ranks[0] <= 2:
        product = c.matmul(b, c.swapped(a) if ranks[0] == 2 else a)
    else:
        rank = _rank(s)
        product = c.matmul(_stack(c, s, 0, rank, column=False), _stack(c, s, 1, rank, column=True))
    return c.reshape(product, out)


def batched_solve(c: Calculus, s: BatchSite) -> Value:
    """The rule of `solve`; a matrix that is the same for all lanes is factored once."""
    a, b = s.values
    out = (s.size, *shape_of(s.outputs[0]))
    if s.batched == (False, True) and len(s.shape(0)) == 2 and len(s.shape(1)) <= 2:
        n, *columns = s.shape(1)
        back = (1, 0, *range(2, 2 + len(columns)))
        sides = c.transpose(b, back)
        x = c.op("solve", a, c.reshape(sides, (n, prod((s.size, *columns)))), vector=False)
        return c.transpose(c.reshape(x, (n, s.size, *columns)), back)
    rank = _rank(s)
    sides = _stack(c, s, 1, rank, column=True)
    x = c.op("solve", _stack(c, s, 0, rank, column=False), sides, vector=False)
    return c.reshape(x, out)

"""The table of productions that random programs are drawn from, with their weights.

A production takes a `Draw` and returns an `Expression`. It need not be certain that the expression
is valid: the generator runs it and decides. To add one, write a function or extend a table of
names in one of the modules here, and give it a weight.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.random.fuzz import elementwise, reductions, structure
from tests.random.fuzz.draw import Draw, Expression

PRODUCTIONS: dict[Callable[[Draw], Expression], float] = {
    elementwise.unary: 10,
    elementwise.binary_operator: 12,
    elementwise.binary_function: 5,
    elementwise.chain: 5,
    elementwise.unary_operator: 3,
    elementwise.compare: 4,
    elementwise.where: 3,
    elementwise.where_compared: 3,
    elementwise.clip: 2,
    elementwise.cast: 3,
    elementwise.bitwise: 2,
    elementwise.square_or_root: 2,
    elementwise.error_function: 0.7,
    reductions.sums: 6,
    reductions.product: 1.5,
    reductions.extremes: 3,
    reductions.extreme_positions: 2,
    reductions.truth: 1.5,
    reductions.spread: 1,
    reductions.cumulative: 2,
    reductions.sort: 1.5,
    structure.reshape: 8,
    structure.permute: 2,
    structure.join: 3,
    structure.index: 7,
    structure.stencil: 3,
    structure.gather: 4,
    structure.mask: 0.5,
    structure.creation: 3,
    structure.multiply_matrices: 3,
    structure.solve: 1,
    structure.norm: 1,
    structure.sizes: 1,
    structure.softmax: 1,
    structure.rows: 2,
    structure.beyond: 0.5,
}

"""Control flow as functions, for those who prefer it to statements.

They are plain Python over NumPy: they run as they stand, and inside a compiled function they are
traced as the caller's own code is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, TypeVarTuple

import numpy as np

from tracejit.sparse import RowGradient

__all__ = ["FORMS", "cond", "fori_loop", "scan", "while_loop"]


#: A state or a result.
T = TypeVar("T")
S = TypeVar("S")
Ts = TypeVarTuple("Ts")


def cond(
    predicate: Any, then: Callable[[*Ts], S], orelse: Callable[[*Ts], T], *operands: *Ts
) -> S | T:
    """`then(*operands)` if the predicate holds, else `orelse(*operands)`; only one of them runs.

    `predicate` is anything with a truth value. The results may be of any two types.
    """
    if predicate:
        return then(*operands)
    return orelse(*operands)


def while_loop(condition: Callable[[T], Any], body: Callable[[T], T], init: T) -> T:
    """`state = init; while condition(state): state = body(state)`; gives the last state.

    The state is a number, an array or a container of them. To be compiled, its structure and types
    must be the same after every iteration but the first few.
    """
    state = init
    while condition(state):
        state = body(state)
    return state


def fori_loop(lower: Any, upper: Any, body: Callable[[Any, T], T], init: T) -> T:
    """`state = init; for i in range(lower, upper): state = body(i, state)`; gives the last state.

    `lower` and `upper` are integers; the state is as in `while_loop`.
    """
    state = init
    for i in range(lower, upper):
        state = body(i, state)
    return state


def scan(f: Callable[[T, Any], tuple[T, Any]], init: T, xs: Any) -> tuple[T, Any]:
    """A loop over rows that keeps a result of each: `carry, y = f(carry, x)` for each `x` of `xs`.

    Gives (the last carry, the array of all `y`, along a new first axis). `xs` is an array of shape
    (n, ...); each `y` is a number or an array of one shape and dtype. Raises ValueError where `xs`
    has no rows: the type of `y` is not known then.
    """
    count = len(xs)
    if count == 0:
        raise ValueError("scan over an array without rows")
    carry, first = f(init, xs[0])
    ys = np.empty((count, *np.shape(first)), np.result_type(first))
    ys[0] = first
    for i in range(1, count):
        carry, y = f(carry, xs[i])
        ys[i] = y
    return carry, ys


#: The functions that are traced through their own code.
FORMS = (
    cond,
    fori_loop,
    scan,
    while_loop,
    RowGradient.add_to,
    RowGradient.dense,
    RowGradient.summed,
    RowGradient.scaled,
    RowGradient.norm,
)

"""Reshapes axis by axis: groups of axes with equal products, within which alone places move.

    (n, 3, 3, 5, d) from (n, 45, d)  ->  n | 3 * 3 * 5 = 45 | d

An index along an axis that is a group of its own stays what it is, a loop's variable say: only the
others are made linear and taken apart again. Holds for symbolic sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tracejit.ir.dims import Dim

__all__ = ["Group", "groups", "row_steps"]

#: Axes of one shape and axes of the other with the same product, both in order.
Group: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


def groups(one: Sequence[Dim], other: Sequence[Dim]) -> list[Group]:
    """The smallest groups of axes, of two shapes of as many elements, with equal products.

    Axes of size 1 are in none: their index is 0. Where products cannot be compared, axes stay
    together.
    """
    left = [a for a, n in enumerate(one) if n != 1]
    right = [a for a, n in enumerate(other) if n != 1]
    begin, found = _matches(one, other, left, right)
    # What is left over may still match from its end.
    rest_left, rest_right = left[begin[0] :], right[begin[1] :]
    done, last = _matches(one, other, rest_left[::-1], rest_right[::-1])
    middle = (
        tuple(rest_left[: len(rest_left) - done[0]]),
        tuple(rest_right[: len(rest_right) - done[1]]),
    )
    found += [middle] if middle[0] or middle[1] else []
    return found + [(a[::-1], b[::-1]) for a, b in reversed(last)]


def row_steps(sizes: Sequence[Dim]) -> tuple[Dim, ...]:
    """How many elements an index moves by along each axis of a dense array in C order."""
    out: list[Dim] = []
    step: Dim = 1
    for size in reversed(sizes):
        out.insert(0, step)
        step = step * size
    return tuple(out)


def _matches(
    one: Sequence[Dim], other: Sequence[Dim], left: Sequence[int], right: Sequence[int]
) -> tuple[tuple[int, int], list[Group]]:
    """Groups from the beginning of two sequences of axes, and how many axes of each they take."""
    ends: dict[Dim, int] = {}
    product: Dim = 1
    for k, a in enumerate(right):
        product = product * other[a]
        ends[product] = k + 1
    found: list[Group] = []
    at = (0, 0)
    product = 1
    for k, a in enumerate(left):
        product = product * one[a]
        end = ends.get(product)
        if end is not None and end > at[1]:
            found.append((tuple(left[at[0] : k + 1]), tuple(right[at[1] : end])))
            at = (k + 1, end)
    return at, found

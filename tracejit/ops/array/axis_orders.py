"""In which order the axes of NumPy's new arrays lie: the rules of its iterator and its copies."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.types import ArrayType

__all__ = ["element_strides", "iterator_order", "join_order", "k_order"]


def element_strides(t: ArrayType) -> list[int]:
    """Ranks that compare as the axes' strides do; 0 for an axis of static size 1."""
    ranks = [0] * t.ndim
    for rank, axis in enumerate(reversed(t.order)):
        ranks[axis] = 0 if t.shape[axis] == 1 else rank + 1
    return ranks


def k_order(operands: Sequence[ArrayType]) -> tuple[int, ...]:
    """The axis order NumPy gives the result of an elementwise operation on broadcast operands."""
    return iterator_order([element_strides(t) for t in operands])


def iterator_order(strides: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The axes in the order of NumPy's iterator (order "K") over operands of such strides, or ranks
    that compare as these do.

    Insertion sort of the axes from the innermost: an axis moves inwards past another only where
    some operand has the smaller stride there and none disagrees. A stride of 0 has no say.
    """
    ndim = len(strides[0])
    # `perm` lists the axes from the innermost to the outermost, starting from C order.
    perm = list(range(ndim - 1, -1, -1))
    for i in range(1, ndim):
        place = i
        axis = perm[i]
        for j in range(i - 1, -1, -1):
            ambiguous, swap = True, False
            for s in strides:
                inner, moving = s[perm[j]], s[axis]
                if inner and moving:
                    if inner <= moving:
                        swap = False
                    elif ambiguous:
                        swap = True
                    ambiguous = False
            if ambiguous:
                continue
            if not swap:
                break
            place = j
        perm.insert(place, perm.pop(i))
    return tuple(reversed(perm))


def join_order(ranks: Sequence[Sequence[int | None]]) -> tuple[int, ...]:
    """The axis order in which NumPy joins arrays whose axes' strides compare as `ranks` do.

    An insertion sort of the axes from the outermost: an axis moves outwards past another only where
    some array has the larger stride there and none disagrees. None has no say: an axis of size 1.
    """
    order = list(range(len(ranks[0])))
    for i in range(1, len(order)):
        place, moving = i, order[i]
        for j in range(i - 1, -1, -1):
            pairs = [(r[moving], r[order[j]]) for r in ranks]
            both = [(a, b) for a, b in pairs if a is not None and b is not None]
            if both and any(a <= b for a, b in both):
                break
            if both:
                place = j
        order.insert(place, order.pop(i))
    return tuple(order)

"""Arrays as sets: their different elements, and which are in both of two, or in one alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.frontend.prelude.intrinsics import NUMPY, elements_at, refuse
from tracejit.frontend.prelude.searching import bisected

__all__ = ["FUNCTIONS"]

#: NumPy's classes of results.
All = type(np.unique_all(np.zeros(1)))
Counts = type(np.unique_counts(np.zeros(1)))
Inverse = type(np.unique_inverse(np.zeros(1)))


def unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: Any = True,
    sorted: Any = True,
) -> Any:
    """The different elements in order, where they are first, which each is, how often they occur.

    What NumPy finds in a table of hashes, without an order, is not in that of a sort.
    """
    ar = np.asarray(ar)
    if ar.dtype.kind not in "biuf" or not (axis is None or ar.ndim == 1 and axis in (0, -1)):
        refuse("np.unique along an axis, or of such elements")
    if not (sorted or return_index or return_inverse or return_counts) and ar.dtype.kind in "iu":
        refuse("np.unique with sorted=False")
    shape, ar = ar.shape, ar.reshape(-1)
    order: Any = None
    if return_index or return_inverse:
        order = ar.argsort(kind="stable" if return_index else "quicksort")
        ordered = elements_at(ar, order)
    else:
        ordered = np.sort(ar)
    is_first = np.empty(ordered.shape, np.bool_)
    is_first[:1] = True
    if equal_nan and ordered.dtype.kind == "f":
        # NaNs are the last.
        is_first[1:] = (ordered[1:] != ordered[:-1]) & ~np.isnan(ordered[:-1])
    else:
        is_first[1:] = ordered[1:] != ordered[:-1]
    found: Any = (ordered[is_first],)
    if return_index:
        found += (order[is_first],)
    if return_inverse:
        inverse = np.empty(is_first.shape, np.intp)
        inverse[order] = np.cumsum(is_first) - 1
        found += (inverse.reshape(shape),)
    if return_counts:
        ends = np.concatenate((np.nonzero(is_first)[0], np.asarray([is_first.size])))
        found += (np.diff(ends),)
    return found if len(found) > 1 else found[0]


def unique_in_order(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: Any = True,
) -> Any:
    """As `unique`, which took no `sorted` before NumPy 2.3."""
    return unique(ar, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan)


def unique_all(x: Any) -> Any:
    """The different elements, where they are first, which each is, and how often they occur."""
    return All(*unique(x, True, True, True, equal_nan=False))


def unique_counts(x: Any) -> Any:
    """The different elements, and how often they occur."""
    return Counts(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Any) -> Any:
    """The different elements, and which of them each element is."""
    return Inverse(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: Any) -> Any:
    """The different elements, which NumPy leaves in any order since 2.3."""
    return unique(x, equal_nan=False, sorted=NUMPY < (2, 3))


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: Any = False,
    invert: Any = False,
    *,
    kind: Any = None,
) -> Any:
    """Whether each element is one of others."""
    x, of = np.asarray(element), np.asarray(test_elements)
    if type(invert) is not bool or type(assume_unique) is not bool:
        refuse("np.isin with such options")
    found = are_in(x.ravel(), of.ravel(), assume_unique, kind)
    return (~found if invert else found).reshape(x.shape)


def are_in(x: Any, of: Any, assume_unique: Any, kind: Any) -> Any:
    """Whether elements of a vector are in another one.

    What is only assumed to be unique, and is not, is found where NumPy does not sort.
    """
    if kind not in (None, "sort", "table"):
        raise ValueError(f"Invalid kind: '{kind}'. Please use None, 'sort' or 'table'.")
    kinds = x.dtype.kind, of.dtype.kind
    if not all(k in "biufc" for k in kinds):
        refuse("np.isin of such elements")
    of_ints = all(k in "biu" for k in kinds)
    dtype = np.promote_types(x.dtype, of.dtype)
    if of_ints and dtype.kind == "f":
        refuse("np.isin of signed and unsigned ints")
    if kind == "table" and not of_ints:
        raise ValueError(
            "The 'table' method is only supported for boolean or integer arrays. Please select "
            "'sort' or None for kind."
        )
    if of.size == 0:
        return np.zeros(x.shape, np.bool_)
    if of_ints and kind != "sort":
        x, of = (v.astype(np.uint8) if v.dtype.kind == "b" else v for v in (x, of))
        low, high = of.min(), of.max()
        width = int(high) - int(low)
        if width <= np.iinfo(of.dtype).max and (kind == "table" or width <= 6 * (x.size + of.size)):
            return in_table(x, of, low, high, width)
        if kind == "table":
            refuse("np.isin with a table of so many ints")
    if of.size < 10 * x.size**0.145:
        return (x[:, None] == of).any(axis=1)
    if assume_unique:
        return beside_equals(x, of)
    if dtype.kind == "c":
        refuse("np.isin of complex numbers")
    x, ordered = x.astype(dtype, copy=False), np.sort(of.astype(dtype, copy=False))
    return elements_at(ordered, np.minimum(bisected(ordered, x, "left"), of.size - 1)) == x


def in_table(x: Any, of: Any, low: Any, high: Any, width: Any) -> Any:
    """Whether ints are in others, of which a table tells."""
    table = np.zeros(width + 1, np.bool_)
    table[(of - low).astype(np.intp)] = True
    inside = (x >= low) & (x <= high)
    places = np.where(inside, (x.astype(of.dtype, copy=False) - low).astype(np.intp), 0)
    return inside & elements_at(table, places)


def beside_equals(x: Any, of: Any) -> Any:
    """Whether the next one in a stable order of both is an equal one."""
    both = np.concatenate((x, of))
    order = np.argsort(both, kind="stable")
    ordered = elements_at(both, order)
    found = np.zeros(both.shape, np.bool_)
    found[order[:-1]] = ordered[1:] == ordered[:-1]
    return found[: x.size]


def union1d(ar1: Any, ar2: Any) -> Any:
    """The different elements of two arrays."""
    return unique(np.concatenate((ar1, ar2), axis=None))


def intersect1d(ar1: Any, ar2: Any, assume_unique: Any = False, return_indices: Any = False) -> Any:
    """The elements that are in both arrays, and where they are first."""
    x, y = np.asarray(ar1), np.asarray(ar2)
    places: Any = None
    if assume_unique:
        x, y = x.ravel(), y.ravel()
    elif return_indices:
        x, at = unique(x, True)
        y, also_at = unique(y, True)
        places = at, also_at
    else:
        x, y = unique(x), unique(y)
    both = np.concatenate((x, y))
    if not return_indices:
        both.sort()
        return both[:-1][both[1:] == both[:-1]]
    order = np.argsort(both, kind="stable")
    both = elements_at(both, order)
    is_twice = both[1:] == both[:-1]
    first, second = order[:-1][is_twice], order[1:][is_twice] - x.size
    if places is not None:
        first, second = places[0][first], places[1][second]
    return both[:-1][is_twice], first, second


def setxor1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Any:
    """The elements that are in one of two arrays alone."""
    if not assume_unique:
        ar1, ar2 = unique(ar1), unique(ar2)
    both = np.concatenate((ar1, ar2), axis=None)
    if both.size == 0:
        return both
    both.sort()
    end = np.ones(1, np.bool_)
    differs = np.concatenate((end, both[1:] != both[:-1], end))
    return both[differs[1:] & differs[:-1]]


def setdiff1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Any:
    """The elements of an array that are not in another one."""
    if assume_unique:
        ar1, ar2 = np.asarray(ar1).ravel(), np.asarray(ar2).ravel()
    else:
        ar1, ar2 = unique(ar1), unique(ar2)
    return ar1[~are_in(ar1, ar2, True, None)]


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.intersect1d: intersect1d,
    np.isin: isin,
    np.setdiff1d: setdiff1d,
    np.setxor1d: setxor1d,
    np.union1d: union1d,
    np.unique: unique if NUMPY >= (2, 3) else unique_in_order,
    np.unique_all: unique_all,
    np.unique_counts: unique_counts,
    np.unique_inverse: unique_inverse,
    np.unique_values: unique_values,
}

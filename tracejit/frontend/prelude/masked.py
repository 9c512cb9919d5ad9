"""Functions of `np.ma` of arrays without a mask, where they give numbers or plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.frontend.prelude import statistics
from tracejit.frontend.prelude.intrinsics import refuse, require, root_of_squares

__all__ = ["FUNCTIONS"]


def plain(a: Any) -> Any:
    """The array itself. Raises Refused for a masked one."""
    if isinstance(a, np.ma.MaskedArray):
        refuse("np.ma of masked arrays")
    return np.asarray(a)


def check_whole(axis: Any, *others: Any) -> None:
    """Raise Refused along an axis, where the result is a masked array, and for other options."""
    if axis is not None or not all(x is None or x is False or x is np._NoValue for x in others):
        refuse("np.ma in this form")


def of_all(name: str) -> Any:
    """A reduction of all elements."""
    function = getattr(np, name)

    def reduced(a: Any, axis: Any = None, **options: Any) -> Any:
        check_whole(axis, *options.values())
        return function(plain(a))

    return reduced


def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, **options: Any
) -> Any:
    """The variance of all elements."""
    check_whole(axis, dtype, out, *options.values())
    if np.ndim(ddof) != 0:
        refuse("np.ma.var with such a ddof=")
    return np.var(plain(a), ddof=ddof)


def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, **options: Any
) -> Any:
    """The standard deviation of all elements, which is masked where it is NaN."""
    found = var(a, axis, dtype, out, ddof, **options)
    require(not np.isnan(found))
    return root_of_squares(found)


def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: Any = False,
    *,
    keepdims: Any = np._NoValue,
) -> Any:
    """The mean, or the weighted mean, of all elements."""
    check_whole(axis, returned, keepdims)
    return statistics.average(plain(a), weights=weights) if np.size(a) else np.mean(plain(a))


def count(a: Any, axis: Any = None, keepdims: Any = np._NoValue) -> Any:
    """The number of elements."""
    check_whole(axis, keepdims)
    return plain(a).size


def is_masked(x: Any) -> Any:
    """Whether an array has a mask: it has none."""
    plain(x)
    return False


def getmask(a: Any) -> Any:
    """`np.ma.nomask`."""
    plain(a)
    return np.False_


def getdata(a: Any, subok: Any = True) -> Any:
    """The array itself."""
    return plain(a)


def filled(a: Any, fill_value: Any = None) -> Any:
    """The array itself: it has no masked elements."""
    return plain(a)


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.ma.average: average,
    np.ma.count: count,
    np.ma.filled: filled,
    np.ma.getdata: getdata,
    np.ma.getmask: getmask,
    np.ma.isMaskedArray: is_masked,
    np.ma.is_masked: is_masked,
    np.ma.std: std,
    np.ma.var: var,
    **{
        getattr(np.ma, name): of_all(name)
        for name in ("all", "any", "max", "mean", "median", "min", "prod", "ptp", "sum")
    },
}

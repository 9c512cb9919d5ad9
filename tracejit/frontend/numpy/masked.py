"""Functions of `np.ma` on arrays without a mask, where they give numbers or plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray
from tracejit.frontend.numpy.registry import HANDLERS, handles
from tracejit.frontend.tracing.trace import user_line

__all__: list[str] = []


def _of_all(name: str) -> Callable[..., Any]:
    """The reduction over all elements; along an axis the result would be a masked array."""

    def reduced(a: Any, axis: Any = None, **options: Any) -> Any:
        if axis is not None or options.keys() - {"ddof"}:
            raise TraceError("TJ004", f"np.ma.{name} in this form", user_line())
        return HANDLERS[getattr(np, name)](asarray(a), **options)

    return reduced


for _name in ("sum", "prod", "mean", "var", "std", "max", "min", "ptp", "all", "any", "median"):
    handles(getattr(np.ma, _name))(_of_all(_name))


@handles(np.ma.average)
def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    """`np.average` of all elements."""
    if axis is not None:
        raise TraceError("TJ004", "np.ma.average along an axis", user_line())
    return HANDLERS[np.average](asarray(a), weights=weights)


@handles(np.ma.count)
def count(arr: Any) -> Any:
    """The number of elements, as an int."""
    return asarray(arr).size


@handles(np.ma.is_masked)
@handles(np.ma.isMaskedArray)
def is_masked(x: Any) -> Any:
    """Whether an array has a mask: it has none."""
    return False


@handles(np.ma.getmask)
def getmask(a: Any) -> Any:
    """`np.ma.nomask`."""
    return np.False_


@handles(np.ma.getdata)
def getdata(a: Any) -> Any:
    """The array itself."""
    return asarray(a)


@handles(np.ma.filled)
def filled(a: Any, fill_value: Any = None) -> Any:
    """The array itself: it has no masked elements."""
    return asarray(a)

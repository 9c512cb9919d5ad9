"""Lists of Python's from the arrays that hold their elements.

The form of the elements is "python" for Python's numbers and lists of such, "scalar" for NumPy's
numbers, "array", ("list", form) for lists, ("tuple", parts) for tuples, and ("choice", kinds) where
the first array has the number of the kind of each. `parts` and `kinds` are forms, each with the
number of its arrays; a kind may be ("constant", x), too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["boxed"]


def boxed(form: Any, arrays: Sequence[Any]) -> list[Any]:
    """The list of the elements of arrays."""
    if form == "python":
        found: list[Any] = arrays[0].tolist()
        return found
    if form == "scalar":
        return list(arrays[0])
    if form == "array":
        return [row.copy() for row in arrays[0]]
    if form[0] == "list":
        return [boxed(form[1], (row,)) for row in arrays[0]]
    if form[0] == "choice":
        return _chosen(form[1], arrays[0], list(arrays[1:]))
    columns, left = [], list(arrays)
    for part, count in form[1]:
        columns.append(boxed(part, left[:count]))
        del left[:count]
    return list(zip(*columns, strict=True))


def _chosen(kinds: Sequence[Any], tags: Any, left: list[Any]) -> list[Any]:
    out: list[Any] = [None] * len(tags)
    for k, (kind, count) in enumerate(kinds):
        (places,) = np.nonzero(tags == k)
        if kind[0] == "constant":
            values = [kind[1]] * len(places)
        else:
            values = boxed(kind, [array[places] for array in left[:count]])
        del left[:count]
        for place, value in zip(places, values, strict=True):
            out[place] = value
    return out

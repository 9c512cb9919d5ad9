"""Functions in which random programs once found eager and compiled runs to differ.

Apart from the tests that call them: pytest rewrites the assertions of those.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def run_time_number_beside_an_ellipsis(x: Any) -> Any:
    return x[..., np.argmin(x)], x[np.argmax(x), ...]


def run_time_number_is_a_view(x: Any) -> Any:
    return x[np.argmin(x[:, 0])]


def run_time_array_without_axes_is_a_copy(x: Any, i: Any) -> Any:
    return x[i], x[i, 1:], x[i, i, ...], x[i, 0]


def first_row_twice(x: Any) -> Any:
    return x[[0, 0]]


def no_column_of_a_row(x: Any, i: Any) -> Any:
    return x[i, :0]


def cumsum_of_all(x: Any) -> Any:
    return np.cumsum(np.transpose(x))

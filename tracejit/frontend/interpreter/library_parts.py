"""Parts of NumPy's own functions in another form, for what their source does not let be traced."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib import _nanfunctions_impl

__all__ = ["WITHIN"]


def nanmedian1d(arr1d: Any, overwrite_input: Any = False) -> Any:
    """The median of what is not NaN."""
    return np.median(arr1d[~np.isnan(arr1d)])


#: What stands for these functions inside NumPy's own.
WITHIN: dict[Any, Any] = {getattr(_nanfunctions_impl, "_nanmedian1d", None): nanmedian1d}

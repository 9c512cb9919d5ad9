"""Which functions of NumPy are traced from NumPy's own source; all others are called.

A function is in the table once its results are those of the direct call for all forms of operands
that the tests know (`tests/frontend/numpy/surface`), and the trace is not slower. Some are left out
for what NumPy does in them:

- `unique` and functions of sets hash their elements, in compiled code;
- `nanpercentile` and `nanmedian` drop what is NaN: which memory they sort depends on values;
- `poly` makes an array longer in a loop, of which there is no derivative;
- `polymul` and `roots` make objects, or call LAPACK with matrices whose sizes values decide;
- `histogram2d` and `histogramdd` search in each axis by calls, twice as slow for few points;
- those of `np.linalg` and `np.fft` are compiled, behind a few lines of Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["FOLLOWED", "NAMES", "function_named"]

#: The versions of NumPy of whose source this was tested, by how they begin.
_VERSIONS = ("2.4.",)
#: Their names in numpy.
NAMES = tuple(
    "apply_along_axis apply_over_axes asarray_chkfinite astype convolve correlate digitize "
    "fft.fftfreq fft.fftshift fft.ifftshift fft.rfftfreq geomspace histogram histogram_bin_edges "
    "insert interp iscomplex isfortran isin isneginf isposinf isreal linalg.multi_dot nanargmax "
    "nanargmin percentile piecewise polyadd polyder polydiv polyint polysub polyval quantile "
    "require resize sort_complex trim_zeros unwrap vander".split()
)


def function_named(name: str) -> Any:
    """The function of NumPy of a dotted name."""
    module, _, last = name.rpartition(".")
    return getattr(getattr(np, module) if module else np, last)


FOLLOWED: frozenset[Any] = frozenset(
    map(function_named, NAMES) if np.__version__.startswith(_VERSIONS) else ()
)

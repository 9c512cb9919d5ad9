"""Runs a case plain and compiled and says what differs, class by class."""

from __future__ import annotations

import itertools
import re
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.frontend.numpy.surface.cases import Case
from tests.support.compare import Mismatch, Outcome, assert_same, clone, leaves, run, sharing

#: What is summed, or computed by BLAS, LAPACK or an FFT: rounded in another order than NumPy's.
ORDERED = """
    sum prod mean std var average cov corrcoef correlate convolve dot vdot inner matmul vecdot
    matvec vecmat tensordot einsum kron det inv solve cholesky qr eig eigh eigvals eigvalsh svd
    svdvals lstsq pinv matrix_power slogdet norm matrix_norm vector_norm cond multi_dot tensorinv
    tensorsolve poly polyfit polyval polymul polydiv roots fft ifft rfft irfft hfft ihfft fft2
    ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn trapezoid gradient nansum nanprod nanmean nanstd
    nanvar nancumsum nancumprod trace cumsum cumprod cumulative_sum cumulative_prod reduce
    accumulate reduceat histogram histogram2d histogramdd interp percentile quantile nanpercentile
    nanquantile i0 kaiser vander pad cross median linspace
""".split()
#: Transcendental functions, and what is made of them.
ROUNDED = """
    acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh cbrt
    cos cosh exp exp2 expm1 float_power hypot log log10 log1p log2 logaddexp logaddexp2 pow power
    sin sinh tan tanh angle sinc unwrap bartlett blackman hamming hanning
    reciprocal divide true_divide square multiply absolute abs arange
""".split()

#: Forms of one element, where there is no order.
SINGLE = ("zero_d", "scalar", "number")
#: Which of two zeros these give differs from layout to layout in NumPy itself.
ANY_ZERO = "max min amax amin nanmax nanmin fmax fmin maximum minimum clip ptp".split()


@dataclass(frozen=True)
class Verdict:
    """How the call was run (compiled, eager), and the classes in which it differs from NumPy's."""

    how: str
    differences: tuple[tuple[str, str], ...] = ()


def check(case: Case, jit: Any = None) -> Verdict:
    """Run a case twice as plain Python and twice compiled."""
    import tracejit

    function = case.function()
    args = case.arguments()
    jitted = (jit or tracejit.jit)(function)
    found: list[tuple[str, str]] = []
    for _ in range(2):
        expected = run(function, args)
        actual = run(jitted, args)
        found += differences(case, expected, actual, args)
    report = jitted.report()
    failed = [f for f in report.fallbacks if f.code == "TJ013"]
    if failed:
        found.append(("internal", str(failed[0])))
    how = "eager" if report.fallbacks else "repeated" if report.bailouts else "compiled"
    if how == "eager":
        how = f"eager {report.fallbacks[0].code}"
    return Verdict(how, tuple(dict.fromkeys(found)))


def differences(
    case: Case, expected: Outcome, actual: Outcome, given: tuple[Any, ...]
) -> list[tuple[str, str]]:
    """(class of difference, text) for all that is not as NumPy has it."""
    if type(expected.exception) is not type(actual.exception):
        got = repr(actual.exception or actual.value)[:120]
        return [("exception", f"expected {expected.exception!r}, got {got}")]
    found: list[tuple[str, str]] = []
    if not _agree(case, (expected.value,), (actual.value,), found, "value"):
        return found
    for k, (e, a) in enumerate(zip(expected.args, actual.args, strict=True)):
        changed = not _same(e, clone(given[k]))
        kind = "store" if changed else "argument overwritten"
        _agree(case if changed else None, (e,), (a,), found, kind)
    e_arrays, a_arrays = _arrays(expected.value), _arrays(actual.value)
    for k, (e, a) in enumerate(zip(e_arrays, a_arrays, strict=True)):
        for kind, of in MEMORY.items():
            if of(e) != of(a):
                found.append((kind, f"result {k}: expected {of(e)}, got {of(a)}"))
    if sharing(expected) != sharing(actual):
        text = f"expected {sorted(sharing(expected))}, got {sorted(sharing(actual))}"
        found.append(("sharing", text))
    if _same_objects(e_arrays) != _same_objects(a_arrays):
        found.append(("identity", "which results are one object"))
    return found


def _strides(x: np.ndarray) -> Any:
    if x.size == 0:
        return ()
    return tuple(s for s, n in zip(x.strides, x.shape, strict=True) if n > 1)


def _writeable(x: np.ndarray) -> bool:
    """The flag; NumPy warns of what it will be one day where arrays are broadcast together."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return x.flags.writeable


MEMORY = {
    "strides": _strides,
    "writeable": _writeable,
    "contiguous": lambda x: (x.flags.c_contiguous, x.flags.f_contiguous),
}


def _arrays(x: Any) -> list[np.ndarray]:
    return [leaf for leaf in leaves(x) if isinstance(leaf, np.ndarray)]


def _same_objects(arrays: list[np.ndarray]) -> set[tuple[int, int]]:
    pairs = itertools.combinations(range(len(arrays)), 2)
    return {(i, j) for i, j in pairs if arrays[i] is arrays[j]}


def _same(e: Any, a: Any) -> bool:
    try:
        assert_same(e, a)
    except Mismatch:
        return False
    return True


def _agree(
    case: Case | None, expected: Any, actual: Any, found: list[tuple[str, str]], kind: str
) -> bool:
    allowed: dict[str, Any] = {}
    names = set() if case is None else words(case.text)
    if names & {*ORDERED} and case and case.form not in SINGLE:
        allowed = {"parity": "order", "ulp": 64.0}
    elif names & {*ROUNDED}:
        allowed = {"parity": "ulp", "ulp": 4.0}
    elif names & {*ANY_ZERO}:
        allowed = {"parity": "order", "ulp": 0.0}
    try:
        assert_same(expected, actual, **allowed)
    except Mismatch as mismatch:
        found.append((kind, str(mismatch)))
        return False
    return True


def words(text: str) -> set[str]:
    """The names of functions in a recipe."""
    return set(re.findall(r"[a-z_0-9]+", text))

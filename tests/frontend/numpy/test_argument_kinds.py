"""Numbers of every kind for any parameter: NumPy's value and class, or its exception."""

import pytest

import tracejit
from tests.frontend.numpy.argument_kind_samples import CASES
from tests.frontend.numpy.argument_kinds import NAMES, differences, outcome


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_numbers_of_the_wrong_kind(case) -> None:
    f, *args = case
    assert outcome(tracejit.jit(f), *args) == outcome(f, *args)


def test_sizes_below_ddof() -> None:
    """A size that is a symbol may be smaller than what is taken from it."""
    import numpy as np

    for ddof in (0, 1, 4, 2.5):
        jitted = tracejit.jit(lambda a, d=ddof: a.var(ddof=d))
        for n in (9, 8, 5, 4, 3, 2):
            a = np.arange(float(n))
            assert outcome(jitted, a) == outcome(lambda a, d=ddof: a.var(ddof=d), a), (n, ddof)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("part", range(8))
def test_functions_with_odd_arguments(part) -> None:
    """Some calls of each; `python -m tests.frontend.numpy.argument_kinds` makes all of them."""
    found = [line for name in NAMES[part::8] for line in differences(name, most=3)]
    assert not found, "\n".join(found)

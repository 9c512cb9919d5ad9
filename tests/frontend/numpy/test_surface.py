"""Results of NumPy's public functions, compiled: value, dtype, type, strides, flags and sharing.

`python -m tests.frontend.numpy.surface` runs all calls, of which this is a slice.
"""

from __future__ import annotations

import collections
import zlib

import numpy as np
import pytest

from tests.frontend.numpy.surface.cases import Case, cases_of
from tests.frontend.numpy.surface.check import check, differences
from tests.frontend.numpy.surface.names import is_constant, surface
from tests.frontend.numpy.surface.recipes import REMOVED, WITHOUT, mentioned, recipes
from tests.support.compare import Outcome

RECIPES = recipes()
#: In how many parts the slice runs, and how many calls it makes of all.
PARTS, SHARE = 8, 30
#: What is known to differ, each with the reason.
KNOWN: dict[str, str] = {
    "np.histogram2d(v, w, bins=3)": "the counts lie in a larger table, and here by themselves",
    "np.histogramdd(a[:, :2], bins=2)": "the counts lie in a larger table, and here by themselves",
    "np.linalg.eig(m)": "real parts of complex arrays, which lie here by themselves",
    "np.linalg.eigvals(m)": "real parts of complex arrays, which lie here by themselves",
    "np.nanmedian(t, axis=1)": "medians of repeated rows, whose axes lie as those of the operand",
}


def test_every_public_name_has_a_recipe_or_a_reason() -> None:
    called = {name for text in RECIPES for name in mentioned(text)}
    excused = {name for names in WITHOUT.values() for name in names.split()}
    public = {name for name, x in surface().items() if not is_constant(x)}
    assert sorted(public - called - excused) == []
    assert sorted(excused - {*surface(), *WITHOUT[REMOVED].split()}) == [], "not public"


def sample(part: int) -> list[Case]:
    """A call of each `SHARE`, by a hash of what it is: the same whatever recipes are added."""
    cases = [c for text in RECIPES for c in cases_of(text) if text not in KNOWN]
    chosen = [c for c in cases if zlib.crc32(str(c).encode()) % SHARE == 0]
    return chosen[part::PARTS]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("part", range(PARTS))
def test_results_are_those_of_numpy(part: int) -> None:
    ways: collections.Counter[str] = collections.Counter()
    wrong = []
    for case in sample(part):
        verdict = check(case)
        ways[verdict.how] += 1
        wrong += [f"{kind}: {case}: {text}" for kind, text in verdict.differences]
    assert wrong == []
    assert ways["compiled"] > 0.8 * ways.total(), "most are compiled whole"


def outcome(value: object, *args: object) -> Outcome:
    return Outcome(value, None, args, {})


def test_the_comparison_sees_each_kind_of_difference() -> None:
    case = Case("a * 2", "plain")
    a, b = np.ones((3, 4)), np.ones((3, 4))
    frozen = np.ones((3, 4))
    frozen.flags.writeable = False
    found = {
        "value": (outcome(a.copy(), a), outcome(a + 1, b)),
        "strides": (outcome(a.copy(), a), outcome(np.asfortranarray(a), b)),
        "writeable": (outcome(a.copy(), a), outcome(frozen, b)),
        "sharing": (outcome(a.copy(), a), outcome(b, b)),
        "argument overwritten": (outcome(1.0, a), outcome(1.0, a + 1)),
        "exception": (Outcome(None, ValueError(), (a,), {}), outcome(1.0, b)),
    }
    for kind, (expected, actual) in found.items():
        assert kind in [k for k, _ in differences(case, expected, actual, (np.ones((3, 4)),))]

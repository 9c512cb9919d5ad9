"""Calls that NumPy refuses are refused, with its exception and text, and change nothing."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import pytest

import tracejit
from tests.frontend.numpy import refused_samples
from tests.frontend.numpy.argument_kinds import shown
from tests.frontend.numpy.keywords import KNOWN, NAMES, Call, calls, difference
from tests.support.sampling import full, in_slice
from tracejit.frontend.numpy.method_forms import METHOD_FORMS
from tracejit.frontend.numpy.methods import _EXTRA, _METHODS, method_signature

CASES = [
    pytest.param(case, id=f"{group.lower()}{k}")
    for group in ("INDICES", "UNSIGNED", "LISTS", "KEYWORDS", "SIZES", "FAILED")
    for k, case in enumerate(getattr(refused_samples, group))
]


def outcome(f: Any, args: Any) -> Any:
    args = copy.deepcopy(list(args))
    try:
        found: Any = shown(f(*args))
    except Exception as e:
        found = type(e), str(e)
    return found, shown(args)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_what_is_refused(case: Any) -> None:
    f, *args = case
    jitted, expected = tracejit.jit(f), outcome(f, args)
    for _ in range(2):
        assert outcome(jitted, args) == expected


def chosen(part: int, parts: int) -> list[Call]:
    """A thousandth of all calls, or with `--all` a twentieth, in `parts`."""
    known = [c for n in NAMES for c in calls(n) if f"{c.function}({c.odd})" not in KNOWN]
    found = known[::20] if full() else [c for c in known if in_slice(str(c), 1000)]
    return found[part::parts]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_odd_values_of_keywords(part: int) -> None:
    """`python -m tests.frontend.numpy.keywords` makes all of these calls."""
    found = [line for call in chosen(part, 4) if (line := difference(call)) is not None]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", sorted({*_METHODS, *_EXTRA}))
def test_methods_are_those_of_arrays(name: str) -> None:
    """What is no method, or has no signature to check calls by, would take anything."""
    known = inspect.signature(METHOD_FORMS[name])
    # Later versions of NumPy, which show signatures, have further parameters.
    own = method_signature(name).parameters
    assert [*known.parameters.values()] == [p for n, p in own.items() if n in known.parameters]

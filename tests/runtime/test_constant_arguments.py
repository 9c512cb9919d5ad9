"""Arguments that are constants of a compile: each text, range or slice is a kind of calls."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.errors import FallbackWarning
from tracejit.runtime.call.constants import MOST_VALUES

X = np.arange(1.0, 5.0)


@dataclass
class Named:
    values: Any
    name: str


def texts(text: str, x: Any) -> Any:
    return len(text) * np.sqrt(x)


def by_name(x: Any, *, text: str = "a") -> Any:
    return len(text) * np.sqrt(x)


def several(x: Any, *texts: str) -> Any:
    return len(texts[0]) * np.sqrt(x)


def first(items: Any, x: Any) -> Any:
    return items[0] * np.sqrt(x)


def length(items: Any, x: Any) -> Any:
    return len(items) * np.sqrt(x)


def part(where: slice, x: Any) -> Any:
    return np.sqrt(x)[where]


def keys(table: dict[str, float], x: Any) -> Any:
    return sum(len(k) for k in table) * np.sqrt(x)


def item(table: dict[str, str], x: Any) -> Any:
    return len(table["k"]) * np.sqrt(x)


def field(named: Named, x: Any) -> Any:
    return len(named.name) * named.values + x


def both(a: str, b: str, x: Any) -> Any:
    return len(a) * len(b) * np.sqrt(x)


def unknown(number: Fraction, x: Any) -> Any:
    return np.sqrt(x) if number is None else np.exp2(x)


#: Function -> the arguments for a number, and what the report calls the argument.
CASES: dict[Any, tuple[Callable[[int], tuple[Any, ...]], str]] = {
    texts: (lambda k: ("a" * k, X), "text"),
    several: (lambda k: (X, "a" * k, "b"), "texts[0]"),
    first: (lambda k: (bytes([k]), X), "items"),
    length: (lambda k: (range(2**70 + k)[-k:], X), "items"),
    part: (lambda k: (slice(0, k), X), "where"),
    keys: (lambda k: ({"a" * k: 1.0}, X), "the keys of table"),
    item: (lambda k: ({"k": "a" * k}, X), "table['k']"),
    field: (lambda k: (Named(X, "a" * k), X), "named.name"),
    both: (lambda k: ("a" * k, "b" * k, X), "a"),
    unknown: (lambda k: (Fraction(k, 2), X), "number"),
}


def counted(f: Any, calls: Any) -> tuple[Any, list[str]]:
    """The report of a function after calls that are compared with its own, and its warnings."""
    compiled = tracejit.jit(f)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for args, kwargs in calls:
            np.testing.assert_array_equal(compiled(*args, **kwargs), f(*args, **kwargs))
    return compiled.report(), [str(w.message) for w in told if w.category is FallbackWarning]


@pytest.mark.compiles
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_further_values_run_eagerly(f: Any) -> None:
    made, name = CASES[f]
    report, told = counted(f, [(made(k), {}) for k in (*range(1, 20), *range(1, 20))])
    assert len(report.compiles) == MOST_VALUES
    assert [(e.code, e.reason) for e in report.fallbacks] == [
        ("TJ012", f"more than {MOST_VALUES} values of {name}")
    ]
    assert len(told) == 1 and name in told[0]


def total(r: range, x: Any) -> Any:
    s = 0.0
    for k in r:
        s += x[k] * k
    return s


def listed(r: range, x: Any) -> Any:
    return [x[k] for k in reversed(r)], len(r), 3 in r


def bounds(r: range, x: Any) -> Any:
    return x[r.start : r.stop : abs(r.step)]


def inside(parts: dict[str, Any], x: Any, *, also: range = range(2)) -> Any:
    return sum(x[k] for k in parts["r"]) + len(also) * parts["x"]


def itself(r: range, x: Any) -> Any:
    return r, x + 1


def truth(r: range, x: Any) -> Any:
    return (x + 1 if r else x), not r, bool(r)


def equality(r: range, x: Any) -> Any:
    return x + 1, r == range(4), range(0) != r, r == range(len(r)), [r] == [range(3)]


def key(r: range, x: Any) -> Any:
    return x + 1, {range(3): 5, range(0): 6}.get(r, 7), r in (range(2, 11, 3), range(0))


def matched(r: range, x: Any) -> Any:
    match r:
        case y if y == range(0):
            return x
        case _:
            return x + 1


RANGES = [range(3), range(4), range(0), range(1), range(7, 2, -2), range(2, 9, 3), range(5, 5)]
RANGES += [range(k) for k in range(5, 20)]


@pytest.mark.compiles
@pytest.mark.parametrize(
    "f",
    [total, listed, bounds, itself, inside, truth, equality, key, matched],
    ids=lambda f: f.__name__,
)
def test_the_bounds_of_ranges_are_ints(f: Any) -> None:
    compiled, x = tracejit.jit(f), np.arange(20.0)
    for r in RANGES:
        given = {"r": r, "x": 2.0} if f is inside else r
        named = {"also": r} if f is inside and len(r) % 2 else {}
        assert repr(compiled(given, x, **named)) == repr(f(given, x, **named))
    if f is total or f is truth:
        assert len(compiled.report().compiles) <= 5 and not compiled.report().fallbacks


@pytest.mark.compiles
def test_by_name() -> None:
    report, told = counted(by_name, [((X,), {"text": "a" * k}) for k in range(1, 20)])
    assert len(report.compiles) == MOST_VALUES and len(told) == 1


@pytest.mark.compiles
def test_values_that_are_compiled_stay_so() -> None:
    compiled = tracejit.jit(texts)
    x = np.linspace(0.0, 1.0, 1000)
    for k in range(1, 30):
        compiled("a" * k, x)
    entries = len(compiled._entries)
    for _ in range(3):
        for k in range(1, 30):
            np.testing.assert_array_equal(compiled("a" * k, x), texts("a" * k, x))
    assert len(compiled._entries) == entries
    # Another dtype of what is no constant is another kind of call, for the values that are known.
    compiled("a", x.astype(np.float32))
    compiled("b", x.astype(np.float32))
    assert len(compiled.report().compiles) == MOST_VALUES + 1


@pytest.mark.compiles
def test_what_has_few_values_by_nature_is_not_counted() -> None:
    def given(kind: Any, flag: Any, x: Any) -> Any:
        return x.astype(kind) if flag else x

    kinds = "f4 f8 i1 i2 i4 i8 u1 u2 u4 u8".split()
    calls = [((np.dtype(kind), flag, X), {}) for kind in kinds for flag in (True, False, None)]
    calls += [((np.dtype(kind).type, True, X), {}) for kind in kinds]
    report, told = counted(given, calls)
    assert len(report.compiles) == len(calls) and not told


@pytest.mark.compiles
def test_an_eager_run_that_is_an_error() -> None:
    compiled = tracejit.jit(texts, strict=True)
    for k in range(1, 12):
        np.testing.assert_array_equal(compiled("a" * k, X), texts("a" * k, X))
    assert len(compiled.report().compiles) == 11

"""Lists that grow with elements of several kinds keep the class of each."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit
from benchmarks.corpus.program import differences, outcome
from tests.programs import lists_of_kinds

#: The first is compiled for its length, the second for any.
LENGTHS = (17, 40, 23, 9, 1, 0, 2, 64)


def _array(n: int) -> Any:
    return np.random.default_rng(n).standard_normal(n)


@pytest.mark.sampled(19)
@pytest.mark.parametrize("name", lists_of_kinds.PROGRAMS)
def test_program(name: str) -> None:
    f = lists_of_kinds.PROGRAMS[name]
    jitted = tracejit.jit(f, strict=True)
    for n in LENGTHS:
        expected, got = outcome(f, (_array(n),)), outcome(jitted, (_array(n),))
        assert not [*differences(expected, got)], n
    report = jitted.report()
    unrolled = {line.why for made in report.variants[:2] for line in made.lines}
    assert not any(str(why).endswith("iterations") for why in unrolled), str(report)


def test_the_dtype_of_the_numbers_that_there_are() -> None:
    def kept(x: Any) -> Any:
        out = []
        for v in x:
            out.append(max(v, 0))
        return np.array(out)

    jitted = tracejit.jit(kept)
    for x in (np.linspace(-1.0, 1.0, 20), -np.arange(1.0, 31.0), np.linspace(-2.0, 1.0, 30)):
        got, expected = jitted(x), kept(x)
        assert got.dtype == expected.dtype and np.array_equal(got, expected)


def test_what_an_object_is_left_with() -> None:
    class Log:
        def __init__(self) -> None:
            self.events: list[Any] = []
            self.last: Any = None

        def run(self, x: Any) -> None:
            for i, v in enumerate(x):
                self.last = None if v > 1 else v
                if v > 0:
                    self.events.append(("rise", i, self.last))
                elif v < -2:
                    raise ValueError("too low")
                else:
                    self.events.append(None)

    run = tracejit.jit(Log.run)
    for seed, low in enumerate((-1.0, -1.9, -3.0, -1.0)):
        x = np.random.default_rng(seed).uniform(low, 2.0, 30 + seed)
        plain, compiled = Log(), Log()
        for _ in range(2):
            with warnings.catch_warnings():
                warnings.simplefilter("error", tracejit.FallbackWarning)
                found = [*differences(outcome(Log.run, (plain, x)), outcome(run, (compiled, x)))]
            assert not found, found[:5]


def test_an_element_of_two_kinds_of_one_dtype_leaves_a_branch() -> None:
    def read(x: Any, k: int) -> Any:
        out = []
        for v in x:
            out.append(v if v > 2 else 3.0)
        return out[k] if x[0] > 0 else 0.0

    jitted = tracejit.jit(read, strict=True)
    x = np.arange(1.0, 13.0)
    for k in (0, 5, -1):
        assert not [*differences(outcome(read, (x, k)), outcome(jitted, (x, k)))], k

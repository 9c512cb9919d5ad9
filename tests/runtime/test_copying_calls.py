"""Calls whose loops copy much are compared with plain ones, and the faster of the two is kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime.cache.processes import python
from tests.support.written import written
from tracejit.runtime import copying_calls

#: Rows of which a loop over all of them copies 64 MiB, and few ones.
MANY, FEW = 1800, 40
SOURCE = """
def f(out, places, values):
    for i in range(len(places)):
        out.reshape(-1)[::2][places[i]] = values[i]
    return len(out)
"""


class Clock:
    """Seconds that pass as told."""

    def __init__(self) -> None:
        self.now = 0.0
        self.answered: list[str] = []

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[float, float], Clock]]:
    """What compiled and plain calls take."""

    def set_clock(compiled: float, plain: float) -> Clock:
        clock = Clock()
        monkeypatch.setattr(copying_calls, "time", clock)
        for name, seconds in (("compiled", compiled), ("plain", plain)):
            monkeypatch.setattr(copying_calls._CopyingCalls, f"_{name}", passing(name, seconds))
        return clock

    def passing(name: str, seconds: float) -> Any:
        usual = getattr(copying_calls._CopyingCalls, f"_{name}")

        def call(self: Any, args: Any, kwargs: Any) -> Any:
            copying_calls.time.now += seconds  # type: ignore[attr-defined]
            copying_calls.time.answered.append(name)  # type: ignore[attr-defined]
            return usual(self, args, kwargs)

        return call

    yield set_clock


def given(rows: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(rows)
    return np.zeros((rows, 5)), rng.integers(1, 5, rows), rng.normal(size=rows)


def compiled(**options: Any) -> tuple[Any, Any]:
    plain = written(SOURCE, "<copies in a loop>", np=np)
    f = tracejit.jit(plain, **options)
    for rows in (FEW, FEW + 1):
        f(*given(rows))
    return f, plain


def call(f: Any, plain: Any, rows: int) -> None:
    """Results and stores are those of NumPy, made once."""
    ours, theirs = given(rows), given(rows)
    assert f(*ours) == plain(*theirs)
    np.testing.assert_array_equal(ours[0], theirs[0])


def test_what_was_faster_answers(clock: Any) -> None:
    f, plain = compiled()
    seen = clock(0.03, 0.003).answered
    with warnings.catch_warnings(action="error"):
        for _ in range(3):
            call(f, plain, MANY)
    # What tells of the copies first is not measured.
    assert seen == ["compiled", "plain"]
    (told,) = f.report().fallbacks
    assert told.code == "TJ036" and "30 ms" in told.reason and told.where.line == 4
    with pytest.warns(tracejit.FallbackWarning, match="TJ036"):
        call(f, plain, MANY)
    with warnings.catch_warnings(action="error"):
        call(f, plain, 2 * MANY)
    assert seen[2:] == ["plain", "plain"]
    call(f, plain, FEW)
    assert seen[4:] == ["compiled"]


def test_a_warning_that_is_an_error_comes_before_the_call(clock: Any) -> None:
    f, plain = compiled()
    clock(0.03, 0.003)
    for _ in range(3):
        call(f, plain, MANY)
    args = given(MANY)
    with warnings.catch_warnings(action="error"), pytest.raises(tracejit.FallbackWarning):
        f(*args)
    assert not args[0].any()


@pytest.mark.parametrize("seconds", [(0.03, 0.027), (0.001, 0.0001), (10.0, 0.01)])
def test_compiled_code_is_kept(clock: Any, seconds: tuple[float, float]) -> None:
    """Where it is as fast, where a call is short, and where copies do not explain its time."""
    f, plain = compiled()
    seen = clock(*seconds).answered
    for rows in (*[MANY] * 4, FEW):
        call(f, plain, rows)
    assert seen.count("plain") == (seconds[0] == 0.03) and not f.report().fallbacks
    assert seen[-2:] == ["compiled", "compiled"]


def test_sizes_are_compared_with_like_ones(clock: Any) -> None:
    f, plain = compiled()
    seen = clock(0.03, 0.003).answered
    for rows in (MANY, MANY, 5 * MANY // 2, 5 * MANY // 2):
        call(f, plain, rows)
    assert seen == ["compiled", "compiled", "plain"]


def test_nothing_is_compared_where_all_is_to_be_compiled(clock: Any) -> None:
    f, plain = compiled(strict=True)
    seen = clock(0.03, 0.003).answered
    for _ in range(4):
        call(f, plain, MANY)
    assert not seen and f._copying is None


def test_nothing_stands_before_other_entries() -> None:
    def g(out: np.ndarray, values: np.ndarray) -> int:
        for i in range(len(values)):
            out[i, 1] = values[i]
        return len(out)

    f = tracejit.jit(g)
    for rows in (FEW, FEW + 1, 200_000):
        f(np.zeros((rows, 5)), np.ones(rows))
    assert f._copying is None


def test_calls_inside_of_eager_contexts_are_not_compared(clock: Any) -> None:
    f, plain = compiled()
    seen = clock(0.03, 0.003).answered
    call(f, plain, MANY)
    with tracejit.eager():
        call(f, plain, MANY)
    with np.errstate(all="raise"):
        call(f, plain, MANY)
    assert not seen


SCRIPT = """
import itertools, types
import numpy as np, tracejit
from tracejit.runtime import copying_calls
# Each call takes a second.
copying_calls.time = types.SimpleNamespace(perf_counter=itertools.count().__next__)
copying_calls._PART, copying_calls._GAIN = 0.0, 2.0

@tracejit.jit
def f(out, places, values):
    for i in range(len(places)):
        out.reshape(-1)[::2][places[i]] = values[i]
    return out.sum()

def given(rows):
    return np.zeros((rows, 5)), np.arange(rows) % 4 + 1, np.arange(rows) * 1.0

for rows in (40, 41):
    f(*given(rows))
print(all(f(*given(1800)) == f.__wrapped__(*given(1800)) for _ in range(4)))
print(all(v.recalled for v in f.report().variants), [x.code for x in f.report().fallbacks])
"""


def test_a_second_process_compares_them_too(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    for recalled in (False, True):
        equal, told = python("script.py", cache=tmp_path / "cache", cwd=tmp_path).splitlines()
        assert equal == "True" and told == f"{recalled} ['TJ036']"

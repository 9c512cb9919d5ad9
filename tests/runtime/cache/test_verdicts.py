"""What runs eagerly does so at once in later processes, and is compiled where its cause is gone."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime.cache.processes import python
from tests.runtime.cache.verdict_programs import CALLS
from tracejit import config
from tracejit.errors import FallbackError
from tracejit.runtime.cache import inspect, record, verdicts
from tracejit.runtime.compile import verdict

X = np.ones(3)


def swaps(x: Any) -> Any:
    return x.byteswap()


def takes(x: Any, n: int = 2, *, k: float = 1.0) -> Any:
    return x.byteswap() * n * k


def calls_itself(n: int, x: Any) -> Any:
    return x.byteswap() if n == 0 else calls_itself_compiled(n - 1, x)


calls_itself_compiled = tracejit.jit(calls_itself)


def raises(x: Any) -> Any:
    x.byteswap()
    raise KeyError("mine")


def interrupted(x: Any) -> Any:
    return Interrupts().now * x.byteswap()


def is_long(x: Any) -> Any:
    for k in range(400):
        x = np.roll(x, k) + k if k % 2 else np.sin(x)
        x = x if x.size else x[k:]
    return x


MODE = 0


def by_mode(x: Any) -> Any:
    return x.byteswap() if MODE == 0 else x * MODE


class Interrupts:
    @property
    def now(self) -> float:
        raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def kept(cache: Path) -> int:
    return len(list(cache.glob("*/*/*.eager")))


def told(f: Any, *args: Any, **kwargs: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        f(*args, **kwargs)
    return [str(w.message) for w in found]


def found_in(cache: Path, state: int) -> dict[str, Any]:
    program = Path(__file__).with_name("verdict_programs.py")
    text = python(str(program), cache=cache, cwd=program.parent, V=str(state), TRACEJIT_FALLBACK="")
    found: dict[str, Any] = json.loads(text)
    return found


def test_verdicts_of_another_process(cache: Path) -> None:
    first, second, changed = found_in(cache, 0), found_in(cache, 0), found_in(cache, 1)
    anew = found_in(cache.with_name("empty"), 1)
    assert set(first) == set(CALLS)
    for name in CALLS:
        assert first[name][2], f"{name} does not run eagerly"
        assert second[name] == [True, *first[name][1:]], name
        assert changed[name][1:] == anew[name][1:] and not changed[name][2], name


def test_reports_and_warnings_are_the_same(cache: Path) -> None:
    first, second = tracejit.jit(swaps), tracejit.jit(swaps)
    before, after = told(first, X), told(second, X)
    assert before == after and len(before) == 1
    assert told(second, X) == []
    assert second._state is None
    assert str(first.report()) == str(second.report())
    assert kept(cache) == 1


def test_other_calls_are_compiled_anew(cache: Path) -> None:
    tracejit.jit(takes)(X)
    second = tracejit.jit(takes)
    assert np.array_equal(second(X), takes(X)) and second._state is None
    for args, kwargs in (((np.ones(4),), {}), ((X, 3), {}), ((X,), {"n": 3}), ((X,), {"k": 2.0})):
        another = tracejit.jit(takes)
        assert np.array_equal(another(*args, **kwargs), takes(*args, **kwargs))
        assert another._state is not None


def test_an_eager_run_that_is_an_error(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def message(f: Any) -> str:
        with pytest.raises(FallbackError) as e:
            f(X)
        return str(e.value)

    first, second = tracejit.jit(swaps, strict=True), tracejit.jit(swaps, strict=True)
    assert message(first) == message(second) and "return x.byteswap()" in message(second)
    assert second._state is None
    plain, again = tracejit.jit(swaps), tracejit.jit(swaps)
    plain(X)
    monkeypatch.setattr(config, "fallback", "error")
    assert message(again) == message(first)


def test_the_dispatcher_takes_over(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracejit.jit(swaps)(X)
    second = tracejit.jit(swaps)
    monkeypatch.setattr(verdicts, "_WORTH_IMPORT", 0.0)
    told(second, X)
    assert told(second, X) == []
    assert second._state is not None
    assert len(second.report().fallbacks) == 1 and not second.report().compiles
    monkeypatch.setattr(verdicts, "_LONG", 0.0)
    third = tracejit.jit(swaps)
    assert len(told(third, X)) == 1
    assert third._state is not None and len(third.report().fallbacks) == 1


def test_a_function_that_calls_itself_goes_as_deep(cache: Path) -> None:
    global calls_itself_compiled
    for _ in range(2):
        calls_itself_compiled = tracejit.jit(calls_itself)
        assert np.array_equal(calls_itself_compiled(700, X), X.byteswap())


def test_an_unusual_context(cache: Path) -> None:
    tracejit.jit(swaps)(X)
    second = tracejit.jit(swaps)
    with np.errstate(all="raise"):
        second(X)
    assert [f.code for f in second.report().fallbacks] == ["TJ009"]
    with tracejit.eager():
        third = tracejit.jit(swaps)
        third(X)
    assert not third.report().fallbacks


def test_what_ends_otherwise_is_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        with pytest.raises(KeyError):
            tracejit.jit(raises)(X)
    with pytest.raises(KeyboardInterrupt):
        tracejit.jit(interrupted)(X)
    assert kept(cache) == 0
    monkeypatch.setenv("TRACEJIT_COMPILE_SECONDS", "1e-9")
    limited = tracejit.jit(is_long)
    limited(X)
    assert [f.code for f in limited.report().fallbacks] == ["TJ032"]
    assert kept(cache) == 0


def test_what_was_learned_from_earlier_calls_is_not_kept(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    f = tracejit.jit(by_mode)
    for mode in (1, 2, 0):
        monkeypatch.setitem(globals(), "MODE", mode)
        assert np.array_equal(f(X), by_mode(X))
    assert f.report().fallbacks and kept(cache) == 0


def test_what_the_command_lists(cache: Path) -> None:
    f = tracejit.jit(takes)
    for x in (X, np.ones(4), np.ones(5, np.float32)):
        f(x)
    found = [file for file in inspect.entries() if file.eager]
    assert sorted(file.signature for file in found) == ["f32[5]", "f64[3]"]
    assert all("byteswap" in file.eager for file in found) and kept(cache) == 2


def test_why(cache: Path) -> None:
    tracejit.jit(swaps)(X)
    found = inspect.why(tracejit.jit(swaps), (X,), {})
    assert found.warm and "byteswap" in found.lines[-1]


def test_a_damaged_file(cache: Path) -> None:
    tracejit.jit(swaps)(X)
    (path,) = cache.glob("*/*/*.eager")
    path.write_bytes(path.read_bytes()[:-1])
    second = tracejit.jit(swaps)
    assert np.array_equal(second(X), swaps(X)) and second._state is not None
    assert tracejit.jit(swaps)(X) is not None and kept(cache) == 1


PLACES = [(verdict, "call_spec"), (verdict, "call_kind"), (record, "_linked")]
PLACES += [(verdicts, "restored"), (verdicts, "refresh"), (verdicts, "flat_callable")]


@pytest.mark.cache_failure("the cache is made to fail")
@pytest.mark.parametrize("where", PLACES, ids=lambda p: p[1])
def test_whatever_fails_is_a_miss(
    where: tuple[Any, str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise ValueError("on purpose")

    for warm in (False, True):
        if warm:
            tracejit.jit(swaps)(X)
        with monkeypatch.context() as patched:
            patched.setattr(*where, fails)
            f = tracejit.jit(swaps)
            assert np.array_equal(f(X), swaps(X)) and np.array_equal(f(X), swaps(X))
            assert len(f.report().fallbacks) == 1


def test_a_long_run_is_measured(cache: Path) -> None:
    def sleeps(x: Any) -> Any:
        end = time.thread_time() + 0.06
        while time.thread_time() < end:
            pass
        return x.byteswap()

    tracejit.jit(sleeps)(X)
    second = tracejit.jit(sleeps)
    second(X)
    assert second._state is not None

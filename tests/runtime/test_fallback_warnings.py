"""What is said of eager runs: one warning and one record for each line, by the user's filters."""

from __future__ import annotations

import inspect
import logging
import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime import fallback_helpers, fallback_samples
from tests.runtime.fallback_samples import STATE
from tests.support.compare import assert_same
from tracejit import FallbackWarning, config
from tracejit.errors import FallbackError

X = np.array([1.0, 2.0, 3.0])


def line_of(function: Callable[..., Any], text: str) -> int:
    """The number of the first line of a function that holds a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(k for k, line in enumerate(lines) if text in line)


@contextmanager
def shown() -> Iterator[list[warnings.WarningMessage]]:
    """All warnings of a block, whatever the filters around it and the registries say."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


# One for each line -------------------------------------------------------------------------------


def test_a_thousand_calls_give_one_warning_and_one_record(
    caplog: pytest.LogCaptureFixture,
) -> None:
    f = tracejit.jit(fallback_samples.tries)
    with shown() as found:
        for _ in range(1000):
            assert_same(f(X), X + 1)
    (warning,) = found
    assert warning.category is FallbackWarning is tracejit.errors.FallbackWarning
    assert warning.filename == fallback_samples.__file__
    assert warning.lineno == line_of(fallback_samples.tries, "try")
    (fallback,) = f.report().fallbacks
    assert fallback.reason and fallback.code == "TJ024"
    text = str(warning.message)
    assert text.startswith("tries runs eagerly: ") and str(fallback) in text
    assert isinstance(warning.message, FallbackWarning)
    assert warning.message.code == "TJ024" and warning.message.where == fallback.where
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("tracejit", logging.WARNING)
    assert record.getMessage() == text


def test_each_line_and_each_function_has_its_own() -> None:
    f, other = tracejit.jit(fallback_samples.one_of_two), tracejit.jit(fallback_samples.one_of_two)
    with shown() as found:
        for _ in range(3):
            f(X, None), f(X, 1), f(X.astype("f4"), None), other(X, None)
    function = fallback_samples.one_of_two
    first, second = line_of(function, "getpid"), line_of(function, "time.time")
    assert [w.lineno for w in found] == [first, second, first]


def test_functions_made_anew_at_each_call_are_in_the_log_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("default")
        for _ in range(5):
            tracejit.grad(fallback_samples.energy)(X)
            tracejit.jit(fallback_samples.one_of_two)(X, None)
    assert [r.getMessage().split()[0] for r in caplog.records] == ["grad(energy)", "one_of_two"]


def test_threads_give_one_warning_together() -> None:
    f = tracejit.jit(fallback_samples.tries)
    start = threading.Barrier(6)

    def work() -> None:
        start.wait()
        for _ in range(20):
            f(X)

    with shown() as found:
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 1


@pytest.mark.parametrize("make", [tracejit.grad, tracejit.value_and_grad, tracejit.hessian])
def test_functions_made_of_functions_name_the_line(make: Any) -> None:
    f = make(fallback_samples.energy)
    with shown() as found:
        f(X), f(X)
    (warning,) = found
    assert warning.filename == fallback_samples.__file__
    assert warning.lineno == line_of(fallback_samples.energy, "try")


def test_an_argument_that_no_graph_holds_has_the_line_that_gives_it() -> None:
    f = tracejit.jit(fallback_samples.add)
    with shown() as found:
        for _ in range(3):
            f(X.astype(object), 1)
    (warning,) = found
    assert warning.filename == __file__
    function = test_an_argument_that_no_graph_holds_has_the_line_that_gives_it
    assert warning.lineno == line_of(function, "f(X")


# Filters -----------------------------------------------------------------------------------------


def test_filters_by_category_message_module_and_line() -> None:
    line = line_of(fallback_samples.tries, "try")
    module, helper = re.escape(fallback_samples.__name__), re.escape(fallback_helpers.__name__)
    for function, given, refused in (
        (fallback_samples.tries, {"category": FallbackWarning}, True),
        (fallback_samples.tries, {"category": UserWarning}, True),
        (fallback_samples.tries, {"category": RuntimeWarning}, False),
        (fallback_samples.tries, {"module": module}, True),
        (fallback_samples.tries, {"module": helper}, False),
        (fallback_samples.tries, {"module": module, "lineno": line}, True),
        (fallback_samples.tries, {"module": module, "lineno": line + 1}, False),
        (fallback_samples.tries, {"message": "tries runs eagerly: .*TJ024"}, True),
        (fallback_samples.tries, {"message": "TJ023"}, False),
        (fallback_samples.by_a_helper, {"module": module}, False),
        (fallback_samples.by_a_helper, {"module": helper}, True),
    ):
        f = tracejit.jit(function)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", **given)  # type: ignore[arg-type]
            if refused:
                with pytest.raises(FallbackWarning, match="TJ024"):
                    f(X)
            else:
                f(X)


def test_the_registry_is_that_of_the_users_module() -> None:
    registry = vars(fallback_helpers).setdefault("__warningregistry__", {})
    registry.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda *args, **kwargs: None
        tracejit.jit(fallback_samples.by_a_helper)(X)
    keys = [key for key in registry if isinstance(key, tuple)]
    assert [key[1] for key in keys] == [FallbackWarning, logging.getLogger("tracejit")]
    registry.clear()


def test_a_warning_that_is_an_error_loses_nothing() -> None:
    f = tracejit.jit(fallback_samples.tries_and_stores)
    x = X.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(FallbackWarning, match="TJ024"):
                f(x)
            assert_same(x, X)
    with shown() as found:
        for _ in range(2):
            assert_same(f(x), np.array([10.0, 3.0, 4.0]))
    assert x[0] == 9.0
    assert len(found) == 1


@pytest.mark.compiler_fault("the call is one that no trace refuses")
def test_nothing_is_lost_where_only_an_eager_run_shows_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tracejit.runtime.compile import specialize

    def broken(*_: Any) -> Any:
        raise AssertionError("broken")

    monkeypatch.setattr(specialize, "compile_and_publish", broken)
    monkeypatch.setattr(fallback_samples, "STATE", np.zeros(3))
    f = tracejit.jit(fallback_samples.stores_around)
    x, notes = X.copy(), [X, X]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(FallbackWarning, match="TJ"):
                f(x, notes)
            assert_same(x, X)
            assert_same(fallback_samples.STATE, STATE)
            assert notes[0] is notes[1] is X
    with shown() as found:
        f(x, notes)
    assert notes[0] is x and x[0] == 9.0 and fallback_samples.STATE[1] == 5.0
    assert len(found) == 1


def test_an_array_that_cannot_be_written_to() -> None:
    f = tracejit.jit(fallback_samples.store_first)
    f(X.copy(), 9.0, 1)
    shared = np.lib.stride_tricks.as_strided(X.copy(), (4,), (0,))
    locked = X.copy()
    locked.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FallbackWarning, match="TJ030"):
            f(shared, 9.0, 1)
        assert shared[0] == 1.0
        with pytest.raises(ValueError, match="read-only"):
            f(locked, 9.0, 1)
    with shown() as found:
        for _ in range(3):
            f(shared, 9.0, 1)
            f(locked, 9.0, -1)
    assert shared[0] == 9.0
    assert ["share memory" in str(w.message) for w in found] == [True, False]


# What is no fallback -----------------------------------------------------------------------------


def test_who_asks_for_eager_execution_is_not_told() -> None:
    f, gradient = tracejit.jit(fallback_samples.tries), tracejit.grad(fallback_samples.energy)
    with shown() as found, tracejit.eager():
        f(X), gradient(X)
    assert found == []
    with shown() as found:
        f(X), gradient(X)
    assert len(found) == 2


@pytest.mark.compiles
def test_repeated_calls_and_exceptions_are_not_told() -> None:
    square, add = tracejit.jit(fallback_samples.square), tracejit.jit(fallback_samples.add)
    divide = tracejit.jit(fallback_samples.divide)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (3, 2**40, 5, 2**41):
            assert_same(square(X, n), X * (n * n))
        for _ in range(2):
            with pytest.raises(ValueError, match="broadcast"):
                add(X, np.ones(2))
        for n in (2, 3, 0, 4, 0):
            if n:
                assert_same(divide(X, n), X + 1 // n)
            else:
                with pytest.raises(ZeroDivisionError):
                    divide(X, n)
    assert square.report().bailouts == divide.report().bailouts == 2


# Settings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_variable", [True, False])
def test_settings(by_variable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def choose(mode: str) -> None:
        if by_variable:
            monkeypatch.setenv("TRACEJIT_FALLBACK", mode)
        else:
            monkeypatch.setattr(config, "fallback", mode)

    f = tracejit.jit(fallback_samples.tries_and_stores)
    x = X.copy()
    with shown() as found:
        choose("error")
        for _ in range(2):
            with pytest.raises(FallbackError, match="TJ024"):
                f(x)
            assert_same(x, X)
        choose("ignore")
        f(x)
        assert found == []
        choose("warn")
        f(x), f(x)
    assert len(found) == 1
    with pytest.raises(ValueError, match="no value of .* 'loud'"):
        choose("loud")
        f(x)


def test_the_setting_goes_before_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_FALLBACK", "error")
    monkeypatch.setattr(config, "fallback", "ignore")
    f, strict = tracejit.jit(fallback_samples.tries), tracejit.jit(strict=True)
    assert_same(f(X), X + 1)
    with pytest.raises(FallbackError):
        strict(fallback_samples.tries)(X)


def test_errors_are_those_of_strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "fallback", "error")
    square, add = tracejit.jit(fallback_samples.square), tracejit.jit(fallback_samples.add)
    assert_same(square(X, 3), X * 9)
    with pytest.raises(FallbackError, match="TJ010"):
        square(X, 2**40)
    with pytest.raises(ValueError, match="broadcast"):
        add(X, np.ones(2))
    with tracejit.eager():
        assert_same(tracejit.jit(fallback_samples.tries)(X), X + 1)


PROGRAM = """
import numpy as np
from tests.runtime import fallback_samples
import tracejit
f = tracejit.jit(fallback_samples.tries)
for _ in range(1000):
    f(np.ones(3))
"""


@pytest.mark.parametrize(
    "options, variables, ends, printed",
    [
        ([], {}, 0, 1),
        (["-W", "error::tracejit.FallbackWarning"], {}, 1, 1),
        (["-W", "ignore::tracejit.errors.FallbackWarning"], {}, 0, 0),
        ([], {"TRACEJIT_FALLBACK": "error"}, 1, 0),
        ([], {"TRACEJIT_EAGER": "1"}, 0, 0),
    ],
)
def test_a_script(options: list[str], variables: dict[str, str], ends: int, printed: int) -> None:
    done = subprocess.run(
        [sys.executable, *options, "-c", PROGRAM],
        capture_output=True,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, **variables},
    )
    assert done.returncode == ends, done.stderr
    # Python cannot import packages when it reads its options, and says so.
    lines = [line for line in done.stderr.splitlines() if "Invalid -W option" not in line]
    assert sum("FallbackWarning: tries runs eagerly" in line for line in lines) == printed
    if not ends:
        assert len(lines) == 2 * printed


def test_settings_are_checked_when_they_are_assigned() -> None:
    for name, value, error, said in (
        ("fallback", "warm", ValueError, "no value of fallback 'warm'; did you mean 'warn'"),
        ("traceback", "long", ValueError, "no value of traceback 'long'"),
        ("falback", "warn", AttributeError, "no setting falback; did you mean fallback"),
    ):
        with pytest.raises(error, match=said):
            setattr(tracejit.config, name, value)
    assert tracejit.config.fallback in (None, "ignore", "warn", "error")
    with pytest.raises(ValueError, match="no device cdua; did you mean cuda"):
        tracejit.jit(fallback_samples.add, device="cdua")

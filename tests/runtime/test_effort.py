"""What compiles may take before plain runs have to pay for them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.written import written
from tracejit.base.deadlines import deadline, limited
from tracejit.runtime.parts.effort import Allowance, Effort, Spent


def burn(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def test_traces_end_earlier_inside_a_limit() -> None:
    with limited(0.5):
        assert deadline() - time.thread_time() < 0.6
        with limited(100.0):
            assert 1.0 < deadline() - time.thread_time() < 10.0
    assert deadline() - time.thread_time() > 1.0


def test_a_compile_inside_a_plain_run_is_expected_to_last_as_long_as_the_last() -> None:
    allowance = Allowance()
    with allowance.compiling(False) as ended:
        burn(0.3)
        ended.append(True)
    allowance.left_at_once()
    with allowance.compiling(True) as ended:
        burn(0.5)
        ended.append(True)
    assert allowance.is_left() and not allowance.is_left(lambda: True)


def test_what_the_whole_has_taken_in_vain_is_not_left_for_parts() -> None:
    allowance = Allowance()
    effort, spent = Effort(allowance), Spent()
    assert effort.is_left(spent)
    with pytest.raises(KeyError), allowance.compiling(False):
        burn(0.95)
        raise KeyError
    assert not effort.is_left(spent)
    spent.add(2.0)
    assert effort.is_left(spent) and effort.left(spent) == 2.0


# What one compile may take ------------------------------------------------------------------------


def lines(count: int) -> Any:
    """A function of so many statements."""
    body = "".join(f"    x = x[::-1] * 0.5 + np.sin(x + {k})\n" for k in range(count))
    return written(f"def f(x):\n{body}    return x\n", f"<{count} lines>", np=np)


@pytest.mark.parametrize(
    ("name", "value"), [("TRACEJIT_COMPILE_SECONDS", "0.02"), ("TRACEJIT_COMPILE_MEMORY", "1")]
)
def test_a_compile_that_takes_too_much_is_given_up(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, x = lines(300), np.linspace(0, 1, 5)
    f, g = tracejit.jit(plain), tracejit.jit(lines(1))
    monkeypatch.setenv(name, value)
    with pytest.warns(tracejit.errors.FallbackWarning, match=f"TJ032.*{name}"):
        np.testing.assert_array_equal(f(x), plain(x))
    monkeypatch.delenv(name)
    np.testing.assert_array_equal(g(x), lines(1)(x))
    assert not g.report().fallbacks and len(g.report().variants) == 1


def test_llvm_is_not_begun_where_it_would_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracejit.base.deadlines import budgeted
    from tracejit.codegen.llvm import engine

    long = "define void @f() {\n" + "  call void @f()\n" * 3000 + "  ret void\n}\n"
    begun: list[str] = []
    monkeypatch.setattr(engine.api, "with_module", lambda text, *_: begun.append(text))
    for seconds, megabytes in ((1.0, 1000.0), (100.0, 20.0)):
        with budgeted(seconds, megabytes), pytest.raises(tracejit.errors.TraceError, match="TJ032"):
            engine.object_code(long)
    assert not begun


@pytest.mark.compiles
@pytest.mark.parametrize("value", ["2G", "-1", "0", "nan"])
def test_a_limit_that_is_no_number_is_told(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f = tracejit.jit(lines(2))
    monkeypatch.setenv("TRACEJIT_COMPILE_MEMORY", value)
    with pytest.raises(ValueError, match="TRACEJIT_COMPILE_MEMORY is a positive number"):
        f(np.ones(2))
    monkeypatch.delenv("TRACEJIT_COMPILE_MEMORY")
    assert f(np.ones(2)).shape == (2,)

"""What compiles may take before plain runs have to pay for them."""

from __future__ import annotations

import time

import pytest

from tracejit.deadlines import deadline, limited
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

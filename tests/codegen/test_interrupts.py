"""Polls for signals come at growing distances while iterations are short."""

from __future__ import annotations

import ctypes

import pytest

from tracejit.codegen.support.interrupts import poll_address

pytestmark = pytest.mark.llvm_anew


def test_polls_become_rare() -> None:
    """A loop that counts `state[0]` down, as compiled loops do."""
    poll = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p)(poll_address())
    state = (ctypes.c_int64 * 4)()
    polls = []
    for iteration in range(600):
        state[0] -= 1
        if state[0] <= 0:
            assert poll(ctypes.addressof(state), b"") == 0
            polls.append(iteration)
    distances = [after - before for before, after in zip(polls, polls[1:], strict=False)]
    assert distances[:4] == [1, 2, 4, 8]
    assert len(polls) < 30

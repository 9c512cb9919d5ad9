"""Results whose sizes are known only after the program has run, made without Python."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime.native.native_entries import F8
from tests.runtime.native.test_native_publish import counting
from tests.support.compare import assert_same
from tracejit.runtime import native
from tracejit.runtime.compile.specialize import lower_call

pytestmark = pytest.mark.skipif(not native.available(), reason=native.why_not())

F = Callable[..., Any]
CASES: dict[str, F] = {
    "one axis": lambda x: x[x > 2],
    "rows": lambda x: x[x[:, 0, 0] > 2] * 2,
    "in Fortran order": lambda x: x.T[:, :, x[:, 0, 0] > 2] + 1,
    "in another order": lambda x: x[x[:, 0, 0] > 2].transpose(1, 0, 2) + 1,
    "several": lambda x: np.nonzero(x > 2),
    "a view": lambda x: x[x > 2][::-1],
    "of integers": lambda x: x[x > 2].astype(np.uint8),
    "of complex numbers": lambda x: x[x > 2] * 1j,
    "beside others": lambda x: (x[x > 2], x + 1, int(x.sum())),
}


@pytest.mark.parametrize("name", CASES)
def test_they_are_laid_out_as_numpys(name: str) -> None:
    f = CASES[name]
    jitted = tracejit.jit(f)
    x = np.arange(24.0).reshape(4, 3, 2)
    jitted(x)
    with counting(jitted) as calls:
        for shift in (0.0, 7.0, -30.0, 30.0):
            expected, got = f(x + shift), jitted(x + shift)
            assert_same(expected, got)
            pairs = zip(expected, got, strict=True) if type(got) is tuple else [(expected, got)]
            for a, b in pairs:
                if isinstance(a, np.ndarray) and a.size:
                    assert a.strides == b.strides
                    assert b.flags.writeable and b.flags.aligned
    assert not calls and not jitted.report().fallbacks


def test_the_program_asks_for_them_itself() -> None:
    text = lower_call(tracejit.jit(CASES["rows"]), (np.ones((4, 3, 2)),), {}).text("llvm")
    assert "call ptr @tj_late_array(" in text


def test_they_are_made_while_other_threads_run() -> None:
    jitted = tracejit.jit(CASES["one axis"])
    x = np.linspace(0.0, 4.0, 200_000)
    for _ in range(3):
        assert_same(x[x > 2], jitted(x))
    base = jitted(x).base
    assert base is None


def test_they_are_let_go_of() -> None:
    jitted = tracejit.jit(CASES["beside others"])
    x = np.arange(24.0).reshape(4, 3, 2)
    for _ in range(3):
        jitted(x)
    gc.collect()
    watched = x, F8, np.ndarray
    before = [sys.getrefcount(obj) for obj in watched]
    blocks = sys.getallocatedblocks()
    for _ in range(20_000):
        jitted(x)
    assert sys.getallocatedblocks() - blocks < 200
    assert [sys.getrefcount(obj) for obj in watched] == before


def test_one_that_does_not_fit_into_memory_is_numpys_error() -> None:
    def f(x: Any) -> Any:
        n = int(x[0])
        return np.ones((n, n, 8)) * x[1], x[x > 0]

    jitted = tracejit.jit(f)
    for _ in range(2):
        assert_same(f(np.array([2.0, 3.0])), jitted(np.array([2.0, 3.0])))
    for n in (2.0**24, 2.0**31):
        large = np.array([n, 3.0])
        blocks = sys.getallocatedblocks()
        for g in (f, jitted):
            with pytest.raises((MemoryError, ValueError)):
                g(large)
        assert sys.getallocatedblocks() - blocks < 5000

"""Exceptions show the user's lines: those that plain Python would show, and no others."""

from __future__ import annotations

import linecache
import pdb
import signal
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import nn


def add(x: Any, y: Any) -> Any:
    doubled = x * 2
    return (doubled + y).sum()


def product(x: Any, w: Any) -> Any:
    return x @ w


inner = tracejit.jit(product)


@tracejit.jit
def outer(x: Any, w: Any) -> Any:
    return np.tanh(inner(x, w)).sum()


class Network(nn.Module):
    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.first, self.second = nn.Linear(4, 5, rng=rng), nn.Linear(6, 3, rng=rng)

    def __call__(self, x: Any) -> Any:
        return self.second(self.first(x)).sum()


SHORT, LONG = np.ones(3), np.ones(4)
ROWS, WEIGHTS = np.ones((2, 3)), np.ones((4, 5))


def error_of(f: Callable[..., Any], *args: Any) -> BaseException:
    with pytest.raises(ValueError) as info:
        f(*args)
    return info.value


def names(error: BaseException) -> list[str]:
    """The functions in a traceback, after the caller's own frames."""
    return [s.name for s in traceback.extract_tb(error.__traceback__)][1:]


@pytest.mark.parametrize(
    ("make", "plain", "args", "frames"),
    [
        (lambda: tracejit.jit(add), add, (SHORT, LONG), ["add"]),
        (lambda: outer, outer.__wrapped__, (ROWS, WEIGHTS), ["outer", "product"]),
        (lambda: tracejit.grad(outer), outer.__wrapped__, (ROWS, WEIGHTS), ["outer", "product"]),
        (
            lambda: tracejit.vmap(add),
            lambda x, y: add(x[0], y[0]),
            (ROWS, WEIGHTS[:2, :4]),
            ["add"],
        ),
        (lambda: tracejit.jit(Network()), Network(), (np.ones((2, 4)),), ["__call__"]),
    ],
    ids=["jit", "nested", "grad", "vmap", "nn"],
)
def test_frames(make: Any, plain: Any, args: Any, frames: list[str]) -> None:
    f = make()
    expected = error_of(plain, *args)
    for _ in range(2):  # The first call is traced, the next ones are not.
        error = error_of(f, *args)
        assert names(error) == frames
        assert (type(error), str(error)) == (type(expected), str(expected))
        assert error.__context__ is None or error.__suppress_context__


def test_a_call_after_compiled_ones() -> None:
    f = tracejit.jit(add)
    for n in (3, 4, 5):
        f(np.ones(n), np.ones(n))
    error = error_of(f, SHORT, LONG)
    assert names(error) == ["add"]
    # The caller's line, the failing one, and the message.
    assert len("".join(traceback.format_exception(error)).splitlines()) <= 8


def test_an_exception_of_native_code() -> None:
    @tracejit.jit
    def f(x: Any) -> Any:
        for i in range(len(x)):
            if x[i] < 0:
                raise ValueError("negative")
        return x * 2

    f(SHORT)
    error = error_of(f, -SHORT)
    (frame,) = traceback.extract_tb(error.__traceback__)[1:]
    assert (frame.name, frame.line) == ("f", 'raise ValueError("negative")')


def test_full_tracebacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracejit.config, "traceback", "full")
    assert "_slow" in names(error_of(tracejit.jit(add), SHORT, LONG))


def test_an_exception_that_is_being_handled_stays() -> None:
    f = tracejit.jit(add)
    try:
        raise KeyError("first")
    except KeyError:
        error = error_of(f, SHORT, LONG)
    assert isinstance(error.__context__, KeyError)


def test_post_mortem_is_in_the_failing_frame() -> None:
    error = error_of(tracejit.jit(add), SHORT, LONG)
    _, at = pdb.Pdb(readrc=False).get_stack(None, error.__traceback__)
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    assert at > 0 and tb is not None and np.array_equal(tb.tb_frame.f_locals["doubled"], SHORT * 2)


def nested(x: Any, n: Any) -> Any:
    total = 0.0
    for i in range(n):
        j = 0
        while j < n:  # the loop
            total += np.sin(x[j % 3]) * i
            j += 1
    return total


def scalars(n: Any) -> Any:
    total = 0
    for i in range(n):  # the loop
        total = (total * 3 + i) % 1_000_003
    return total


@pytest.mark.parametrize(("function", "args"), [(nested, (np.ones(3),)), (scalars, ())])
def test_an_interrupt_names_the_line_of_its_loop(function: Any, args: tuple[Any, ...]) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    f = tracejit.jit(function, strict=True)
    for n in (3, 4, 10**5):
        f(*args, n if function is scalars else min(n, 100))
    before = signal.signal(signal.SIGALRM, interrupted)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.03)
        with pytest.raises(KeyboardInterrupt) as info:
            f(*args, 10**10)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    # As in plain Python, the handler was called from the loop.
    assert [entry.name for entry in info.traceback[1:]] == [function.__name__, "interrupted"]
    loop = info.traceback[1]
    assert "# the loop" in linecache.getline(str(loop.path), loop.lineno + 1)
    assert f(*args, 3) == function(*args, 3)


def test_an_interrupted_compile_is_done_again() -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    @tracejit.jit
    def f(x: Any) -> Any:
        for _ in range(40):
            x = np.sin(x) * np.cos(x[::-1]) + x.sum()
        return x

    before = signal.signal(signal.SIGALRM, interrupted)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt) as info:
            while True:
                f(SHORT)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    files = {s.filename for s in traceback.extract_tb(info.value.__traceback__)}
    assert not any(file.startswith(tracejit.errors.PACKAGE) for file in files)
    np.testing.assert_array_equal(f(LONG), f.__wrapped__(LONG))
    assert not f.report().fallbacks

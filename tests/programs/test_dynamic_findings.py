"""What random and hand-written programs with sizes that only the run decides have found."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime.test_threads import together
from tests.support.compare import assert_parity, assert_same

A = np.arange(24.0).reshape(4, 6) % 7 - 3


def agrees(f: Callable[..., Any], *calls: Sequence[Any], compiled: bool = True) -> Any:
    """Check `f` on each argument tuple; `compiled`: no call form is left to eager execution."""
    jitted = assert_parity(f, *calls[0], also=calls[1:], parity="order", ulp=8)
    report = jitted.report()  # type: ignore[attr-defined]
    assert not (compiled and report.fallbacks), report
    return report


# Masks and index arrays --------------------------------------------------------------------------


def test_a_number_stored_by_a_mask_over_the_first_axes() -> None:
    def f(a: Any) -> Any:
        a[a[:, 0] > 0] = -1.0
        a[a[:, :, None] < -2, 0] = 5 if a.ndim > 2 else 0
        return a

    def g(a: Any) -> Any:
        a[a[:, 0] > 0] = -1.0

    agrees(g, (A,), (np.asfortranarray(A[:3]),), (A.T,), (A[:0],), (A[:, :1],))
    agrees(g, (np.arange(24.0).reshape(2, 3, 4) - 6,), compiled=False)
    with pytest.raises(IndexError):
        tracejit.jit(f)(A.copy())


def test_indices_that_are_broadcast_away_are_checked() -> None:
    def read(a: Any, i: Any, q: int) -> Any:
        return a[i, q], a[i, 0]

    def stored(a: Any, q: int) -> None:
        a[np.flatnonzero(a.ravel() > 100), q] = 1

    none = np.zeros(0, int)
    zeros = np.zeros((3, 4))
    agrees(read, (zeros, none, 2), (zeros, none, 9), (zeros[:, :0], none, 0), (zeros, none, -5))
    agrees(stored, (A, 1), (A, 7), (zeros[:0, :0], 0), (A[:, :3], 2), (A[:, :3], 3))


# Views whose layout only the run knows -----------------------------------------------------------


def test_elimination_with_pivots_at_changing_sizes() -> None:
    def factors(a: Any) -> Any:
        a = a.copy()
        n = len(a)
        order = np.arange(n)
        for k in range(n):
            p = k + np.argmax(np.abs(a[k:, k]))
            if p != k:
                a[[k, p]] = a[[p, k]]
                order[[k, p]] = order[[p, k]]
            if a[k, k] != 0:
                a[k + 1 :, k] /= a[k, k]
                a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
        return a, order

    rng = np.random.default_rng(0)
    agrees(factors, *((rng.integers(-8, 9, (n, n)) / 4,) for n in (4, 6, 3, 1, 9)))


def test_a_view_of_a_local_array_that_a_loop_carries_is_a_result() -> None:
    def halved(x: Any, n: int) -> Any:
        u = x.copy()
        while len(u) > n:
            u = u[1:]
        return u

    def beside_its_base(x: Any, n: int) -> Any:
        a = x.copy()
        u = a[1:]
        for _ in range(n):
            u = u[1:]
        return u, a

    x = np.arange(9.0)
    agrees(halved, (x, 2), (x, 9), (x[:6], 1), (x[::-2], 0))
    agrees(beside_its_base, (x, 2), (x, 0), (x[:6], 1), compiled=False)


def test_a_copy_or_a_view_of_unknown_layout_is_not_stored_into_silently() -> None:
    def f(a: Any, n: int) -> Any:
        for k in range(n):
            row = a[k:, k].ravel()
            row[0] = 7
            flat = np.ascontiguousarray(a[k, k:])
            flat[0] += 1
        return a

    agrees(f, (A[:, :4], 3), (A.T[:4], 2), (A[:3, :3].copy(), 3), compiled=False)


def test_ranges_and_rolls_of_sizes_that_only_the_run_decides() -> None:
    def ranges(x: Any) -> Any:
        y = x[x > 0]
        n = len(y)
        up = np.arange(n), np.arange(n) * y, np.arange(1, n), np.arange(n, dtype="f4")
        return up, np.arange(n, 0, -1), np.arange(-n, n, 3), np.arange(n // 2, len(x))

    def rolls(x: Any) -> Any:
        y = x[x > 0]
        n = len(y)
        pair = np.roll(y[:, None] * x, (1, 2), (0, 1))
        return np.roll(y, 1), np.roll(y, -7), np.roll(y, 0), np.roll(y, n // 2 + 1), pair

    def in_a_loop(x: Any) -> Any:
        total, count = x * 0, 0
        for k in range(len(x)):
            total += np.roll(x, k) * k + np.roll(x[k:], 1).sum()
            count += np.arange(k, len(x) - 1).sum() + len(np.arange(3, k, 2))
        return total, count

    x = np.array([0.5, -1.0, 2.0, -3.0, 4.0, 0.0, 1.0])
    calls = [(x,), (-np.ones(4),), (np.ones(5),), (x[:0],), (x[:1],), (np.arange(11.0),)]
    for f in (ranges, rolls, in_a_loop):
        agrees(f, *calls)


# Loops -------------------------------------------------------------------------------------------


def test_a_loop_that_the_sizes_of_the_call_leave_without_iterations() -> None:
    def f(a: Any, b: Any, p: int) -> Any:
        v = b[p : len(b)]
        b = b[2:]
        for _ in v:
            for _ in range(len(b)):
                c = a[[0, 0, -1]]
                a = a + a[::-1]
        return a, c if len(v) > 100 else b

    ones = np.ones(6, complex)
    calls = [(np.arange(n) / 4, ones[:n], p) for n, p in ((5, 5), (5, -3), (3, 1), (0, 0), (1, 0))]
    agrees(f, *calls, (np.arange(2.0), ones[:2], 0), (np.arange(6.0), ones, 1), compiled=False)


def test_two_loops_store_into_an_array_of_unknown_size_and_order() -> None:
    def f(a: Any, b: Any, q: int) -> Any:
        for _ in b:
            a = a[a[:, 0] != 0]
            a[np.flatnonzero(a.ravel()) % max(len(a), 1)] = q
        for _ in range(2):
            np.negative(a, out=a, where=a > 0.5)
        return a * 1

    a = np.arange(20).reshape(4, 5) % 7 - 2
    agrees(f, *((a, np.ones(n), q) for n, q in ((3, 2), (0, 1), (5, -1))), compiled=False)
    agrees(f, *((x, np.ones(3), 2) for x in (np.asfortranarray(a), a.T, a[:1])), compiled=False)


# The report --------------------------------------------------------------------------------------


def test_the_report_says_what_results_of_unknown_size_take() -> None:
    @tracejit.jit
    def positive(x: Any) -> Any:
        return x[x > 0]

    positive(np.arange(5.0))
    assert "results of 8*" in str(positive.report())


# Threads -----------------------------------------------------------------------------------------


def select(x: Any) -> Any:
    """A result of run-time size."""
    return np.cumsum(x[x > 0]), len(x[x < 0])


def shrink(x: Any) -> Any:
    """A loop that carries an array of changing size."""
    total = 0.0
    while len(x) > 0:
        total += len(x)
        x = x[x > x.min()]
    return total


def with_host_call(x: Any) -> Any:
    """A call of NumPy that has no op."""
    y = x[x > -1]
    return np.interp(y, [0.0, 4.0], [1.0, 3.0]), np.median(x)


def stores_and_fails(x: Any, k: Any) -> None:
    """Stores, then an index that may be out of bounds."""
    x += 1
    x[x > 3] = -x[x > 3]
    x[k] = 9


def test_threads_share_read_only_arrays() -> None:
    x = np.arange(-20.0, 40.0) % 11 - 4
    x.flags.writeable = False
    for f in (select, shrink, with_host_call):
        jitted = tracejit.jit(f)
        expected = f(x)

        def work(i: int, jitted: Any = jitted, expected: Any = expected) -> None:
            for _ in range(40):
                assert_same(expected, jitted(x), "order", ulp=4)

        together(work)
        assert not jitted.report().fallbacks


def test_threads_with_arrays_of_their_own() -> None:
    jitted = {f: tracejit.jit(f) for f in (select, shrink, with_host_call)}

    def work(i: int) -> None:
        for repeat in range(40):
            x = np.arange(3.0 + (i * 7 + repeat) % 50) % 11 - 4
            for f, compiled in jitted.items():
                assert_same(f(x), compiled(x), "order", ulp=4)

    together(work)


def test_threads_whose_calls_are_undone() -> None:
    jitted = tracejit.jit(stores_and_fails)

    def work(i: int) -> None:
        for repeat in range(40):
            x = np.arange(4.0 + i)
            y = x.copy()
            k = np.array([repeat % (6 + i)])
            errors = []
            for f, z in ((stores_and_fails, x), (jitted, y)):
                try:
                    f(z, k)
                except IndexError as e:
                    errors.append(str(e))
            assert len(errors) != 1
            assert_same(x, y)

    together(work)


# Memory ------------------------------------------------------------------------------------------


def growth(call: Callable[[], Any], calls: int) -> tuple[int, int]:
    """The blocks that Python holds more after `calls` calls, and the bytes of the process.

    What is filled by the first calls, such as caches and free lists, does not count.
    """
    for _ in range(2 * calls):
        call()
    gc.collect()
    blocks, bytes_ = sys.getallocatedblocks(), _resident()
    for _ in range(calls):
        call()
    gc.collect()
    return sys.getallocatedblocks() - blocks, _resident() - bytes_


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("f", [select, shrink, with_host_call])
def test_calls_leave_no_memory_behind(f: Callable[..., Any]) -> None:
    jitted = tracejit.jit(f)
    arrays = [np.arange(n) % 11 - 4.0 for n in (900, 1000, 1100)]
    for x in arrays:
        jitted(x)

    def call() -> None:
        for x in arrays:
            jitted(x)

    blocks, bytes_ = growth(call, 400)
    assert blocks < 300  # one block a call would be more
    assert bytes_ < 2**21


@pytest.mark.compiles
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_undone_calls_leave_no_memory_behind() -> None:
    jitted = tracejit.jit(stores_and_fails)
    x, inside, outside = np.arange(1000.0), np.array([2]), np.array([1000])

    def call() -> None:
        jitted(x, inside)
        with pytest.raises(IndexError):
            jitted(x, outside)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        blocks, bytes_ = growth(call, 400)
    assert jitted.report().bailouts > 400
    assert blocks < 300  # one block a call would be more
    assert bytes_ < 2**21


# Read-only results -------------------------------------------------------------------------------


def repeated(x: Any, n: int) -> Any:
    y = x * 2
    v = np.broadcast_to(y[:3], (2, 3))
    for _ in range(n):
        if v[0, 0] > 100:
            v = v * 2
    return v


def diagonal_and_rows(x: Any, n: int) -> Any:
    return np.diagonal(np.outer(x, x))[n:], np.broadcast_to(x * 2, (3, len(x)))


@pytest.mark.parametrize("f", [repeated, diagonal_and_rows])
def test_results_that_numpy_makes_read_only_are_so(f: Callable[..., Any]) -> None:
    jitted = tracejit.jit(f)
    for n in (0, 1, 3):
        expected, found = f(np.arange(6.0), n), jitted(np.arange(6.0), n)
        pairs = (
            zip(expected, found, strict=True) if isinstance(found, tuple) else [(expected, found)]
        )
        for a, b in pairs:
            assert_same(a, b)
            assert a.flags.writeable is b.flags.writeable


# Sizes that are not read -------------------------------------------------------------------------


def unread_zeros(x: Any) -> Any:
    np.zeros(int(x[0]))
    return x * 2


def unread_repetition(x: Any) -> Any:
    np.repeat(x, int(x[0]))
    return x * 2


@pytest.mark.parametrize("f", [unread_zeros, unread_repetition])
def test_a_negative_size_is_an_error_though_nothing_reads_the_array(f: Callable[..., Any]) -> None:
    jitted = tracejit.jit(f)
    jitted(np.array([2.0, 1.0]))
    for g in (f, jitted):
        with pytest.raises(ValueError, match="negative"):
            g(np.array([-2.0, 1.0]))
    assert not jitted.report().fallbacks


def test_masks_of_bytes_other_than_one() -> None:
    mask = np.array([2, 0, 1, 255, 128], np.uint8).view(bool)
    x = np.arange(5.0)
    jitted = tracejit.jit(lambda x, m: (x[m], np.flatnonzero(m)))
    for a, b in zip(jitted(x, mask), (x[mask], np.flatnonzero(mask)), strict=True):
        assert_same(a, b)


# Results that only some paths make ---------------------------------------------------------------


def joined_on_one_path(a: Any, b: Any, n: int) -> Any:
    tail = b[: n // 2]
    if len(tail) > n:
        pass
    elif (a == 0.5).all():
        b = np.concatenate([b, tail])
    return b


def test_an_array_of_run_time_size_that_the_path_taken_did_not_make() -> None:
    """The program hands out the argument, and copies memory that no path has reserved."""
    few, many, half = np.ones((5, 5)), np.ones((300, 300)), np.full(5, 0.5)
    agrees(
        joined_on_one_path,
        (np.ones(5), few, 2),
        (np.ones(5), few, -2),
        (half, few, 4),
        (half, few, 2),
        (np.ones(5), many, 600),
        (half, many, 600),
    )


def test_a_size_that_may_be_one_or_none() -> None:
    """It broadcasts, or is an error: the trace does not know which."""

    def f(a: Any, b: Any, p: Any) -> Any:
        v = b - b
        v[-1] = a[int(p.sum()) :][:1]
        return v

    def g(a: Any, b: Any, p: Any) -> Any:
        return a[int(p.sum()) :][:1] + b[0]

    a, b = np.arange(5.0), np.ones((3, 4))
    for h in (f, g):
        agrees(h, (a, b, np.array([1, 1])), (a, b, np.array([4, 0])), compiled=False)
        with pytest.raises(ValueError):
            tracejit.jit(f)(a, b, np.array([5, 5]))


def test_a_view_of_what_one_side_of_a_branch_makes() -> None:
    def f(a: Any, b: Any) -> Any:
        if a.any():
            return a
        a = np.repeat(a, abs(int(b.sum()) % 5))
        v = a.T
        return v

    ones, zeros = np.ones(5), np.zeros(5)
    agrees(f, (ones, np.arange(4)), (zeros, np.arange(3)), (zeros, np.arange(4)), compiled=False)


def test_arrays_that_change_places_in_a_loop_and_have_sizes_of_the_run() -> None:
    def f(a: Any, b: Any, q: int) -> Any:
        for _ in range(4):
            v = np.argwhere(b)
            if len(b) == q:
                pass
            elif v.any():
                v, a = a, v
        return a

    agrees(f, (np.ones((5, 2), int), np.eye(5, 4) > 0, 3), compiled=False)


def test_a_store_through_a_name_that_an_inner_loop_may_have_left_alone() -> None:
    """After no iteration of it, `b` is still what `b` was, and `a` after that the first `a`."""

    def f(x: Any, n: Any, m: Any) -> Any:
        a, b, total = x * 2.0, x * 0.5, 0.0
        for w in a:
            total = total * 0.5 + w
            a[::2] += 1.0
            t = 0
            while t < 2 and n > m:
                t += 1
                b = np.full(len(b), total - 2.5)
            a, b = b, a
        return total

    x = np.arange(5.0)
    agrees(f, *((x, n, m) for n, m in ((-2, 1), (1, 0), (2, 0), (-2, 2), (3, 2))), compiled=False)


def test_a_store_after_a_loop_that_passes_three_names_round() -> None:
    """Each name may then be any of the arrays, in each of the orders in which they come round."""

    def rotated(x: Any, y: Any, m: float) -> Any:
        a, f = np.zeros_like(y), 0.0
        while f < m:
            x, y = y, x
            a, x = x, a
            f += 1.0 + a[0]
        x[0] = 5.0
        return f

    def backwards(x: Any, y: Any, m: float) -> Any:
        a, f = np.zeros_like(y), 0.0
        while f < m:
            y, a, x = a, x, y
            f += 1.0 + x[0] * y[0]
        a[0] = 5.0
        return f, y

    def read(x: Any, y: Any, m: float) -> Any:
        a, first, f = np.zeros_like(y), x, 0.0
        while f < m:
            x, y = y, x
            a, x = x, a
            f += 1.0 + a[0]
        first[0] = 5.0
        return f, x[0] + 0.0

    x, y = np.array([0.0, 2.0]), np.array([0.0, 4.0])
    for f in (rotated, backwards, read):
        agrees(f, *((x, y, float(m)) for m in range(8)), compiled=False)


def test_a_result_whose_size_an_iteration_decides() -> None:
    def whole(a: Any, b: Any) -> Any:
        for _ in range(len(a)):
            v = b[b > 1.5]
            return v
        return b

    def view(a: Any, b: Any) -> Any:
        for _ in a:
            v = b[b > 1.5]
            return v[::-1], v
        return b

    def until(a: Any, b: Any) -> Any:
        k = 0
        while k < a[0]:
            k += 1
            v = b[b > 1.5]
            return v[::-1]
        return b

    for f in (whole, view, until):
        report = agrees(f, (np.ones(3), np.arange(4.0)), (np.zeros(0), np.ones(2)), compiled=False)
        assert {fallback.code for fallback in report.fallbacks} == {"TJ015"}, report

"""Host calls through prepared functions: what they hand over, check, and give up."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.special

import tracejit
from tests.support.compare import assert_same
from tracejit.codegen.program.host import functions as host_functions
from tracejit.codegen.program.host.calls import PATIENCE, HostCallSite
from tracejit.codegen.support import host_call_text
from tracejit.codegen.support.host_call_text import held_results
from tracejit.frontend.interpreter import library
from tracejit.link import host_sites
from tracejit.ops.host import call as host_call
from tracejit.ops.host.functions import find_function

pytestmark = pytest.mark.compiles

RNG = np.random.default_rng(0)


@pytest.fixture
def general(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has an item for each call that is made the general way."""
    calls: list[int] = []
    run = HostCallSite.run

    def counted(self: HostCallSite, slots: int) -> Any:
        calls.append(slots)
        return run(self, slots)

    monkeypatch.setattr(HostCallSite, "run", counted)
    return calls


@pytest.fixture
def callee(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has compiled programs call a function in place of another one."""

    def replace(path: str, function: Callable[..., Any]) -> None:
        def find(p: str) -> Any:
            return function if p == path else find_function(p)

        for module in (host_functions, host_call):
            monkeypatch.setattr(module, "find_function", find)
        monkeypatch.setattr(library, "in_prelude", lambda *_: None)

    return replace


def partitioned(x: Any) -> Any:
    return np.partition(x, 2)


def warm(g: Any, *args: Any) -> None:
    """Call often enough for functions to be prepared."""
    for _ in range(PATIENCE + 3):
        g(*args)


# What is handed over -----------------------------------------------------------------------------


def operands(x: Any, n: Any, a: Any, b: Any) -> Any:
    first = np.interp(a * b, x, x[::-1])
    return first, np.partition(x, n), np.searchsorted(x, x[1:-1] * b), np.lexsort((x[::-1], x))


def layouts(x: Any, m: Any) -> Any:
    y = scipy.fft.fft(m[:, ::-1], axis=0)
    return y, np.unique(m.T, return_counts=True), np.linalg.svd(m.T), np.convolve(x[::2], x[1:3])


def late(i: Any) -> Any:
    values, counts = np.unique(i, return_counts=True)
    return np.bincount(i), values, counts, np.isin(i, i[:2]), np.histogram(i, 4)


@pytest.mark.parametrize("f", [operands, layouts, late], ids=lambda f: f.__name__)
def test_any_operands_give_what_numpy_gives(f: Any, general: list[int]) -> None:
    g = tracejit.jit(f)
    for n in (7, 9, 7, 9):
        for _ in range(PATIENCE + 4):
            x = np.sort(RNG.normal(size=n))
            given: tuple[Any, ...] = (x, int(RNG.integers(n)), np.float64(RNG.normal()), 0.5)
            if f is layouts:
                given = x, RNG.normal(size=(n, 5))
            elif f is late:
                given = (RNG.integers(0, n, size=n),)
            expected = f(*given)
            for a, b in zip(g(*given), expected, strict=True):
                assert_same(a, b)
    assert not g.report().fallbacks and not g.report().bailouts
    assert len(general) < (PATIENCE + 2) * 4 * 4 and held_results() == 0


def test_scalars_of_all_kinds(general: list[int], callee: Any) -> None:
    seen: list[Any] = []

    def noted(x: Any, *given: Any, **named: Any) -> Any:
        seen.append((given, named))
        return np.asarray(x) + 1

    callee("numpy:unwrap", noted)

    def f(x: Any, a: Any, b: Any) -> Any:
        return np.unwrap(x, a, period=b)

    for values in (
        [(0.5, 1.5), (2.5, -1.5), (np.inf, 3.0)],
        [(1, 2.0), (7, 3.0), (-3, 1.0)],
        [(np.float64(1), np.float64(2)), (np.float64(-1), np.float64(3.5))],
        [(np.int64(1), np.float64(2)), (np.int64(5), np.float64(3.5))],
    ):
        g = tracejit.jit(f)
        x = RNG.normal(size=5)
        for a, b in values * (PATIENCE // 2):
            del seen[:]
            assert_same(g(x, a, b), x + 1)
            ((given, named),) = seen
            for found, expected in ((given[0], a), (named["period"], b)):
                assert type(found) is type(expected) and found == expected
        assert not g.report().bailouts


def test_the_general_way_is_taken_at_first_only(general: list[int]) -> None:
    g = tracejit.jit(lambda x: np.argpartition(x, 2).sum())
    for _ in range(PATIENCE * 2):
        g(np.arange(5.0))
    assert len(general) == PATIENCE + 1


def test_operands_can_be_read_only(callee: Any) -> None:
    def writes(x: Any, n: int) -> Any:
        assert not x.flags.writeable and not x.flags.owndata and x.flags.aligned
        return np.array(x)

    callee("numpy:partition", writes)
    g = tracejit.jit(partitioned)
    for _ in range(PATIENCE + 5):
        g(RNG.normal(size=5))
    assert not g.report().bailouts


# Sizes that change -------------------------------------------------------------------------------


def sizes_of(n: int, axes: int) -> list[tuple[int, ...]]:
    """Shapes that change from call to call, often enough to be usual, with rare ones between."""
    usual = [tuple(RNG.integers(2, 9, size=axes).tolist()) for _ in range(n)]
    for k in range(PATIENCE * 2, n, 7):
        usual[k] = tuple(RNG.integers(0, 3, size=axes).tolist())
    return usual


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_operands_of_any_sizes(axes: int, callee: Any, general: list[int]) -> None:
    seen: list[Any] = []

    def noted(x: Any, n: int) -> Any:
        like: Any = np.ndarray(x.shape, x.dtype)
        assert x.strides == like.strides or x.size == 0
        assert x.flags.c_contiguous and x.flags.f_contiguous == like.flags.f_contiguous
        assert not x.flags.writeable and memoryview(x).shape == x.shape
        seen.append(x.shape)
        return x * 2.0

    callee("numpy:unwrap", noted)
    g = tracejit.jit(lambda x: np.unwrap(x, 3) + 1.0)
    shapes = sizes_of(150, axes)
    for shape in shapes:
        x = RNG.normal(size=shape)
        assert_same(g(x), x * 2.0 + 1.0)
    assert not g.report().bailouts and len(general) < (60 if axes == 1 else 110)
    # A compile tries the callee by itself.
    assert seen[-100:] == shapes[-100:]


def test_results_of_any_sizes(general: list[int]) -> None:
    def f(x: Any, y: Any, m: Any) -> Any:
        s = 0.0
        for i in range(1, len(x)):
            s += np.partition(x[:i], 0)[0] + np.unique(x[i:]).sum()
        u, counts = np.unique(y, return_counts=True)
        return s, np.polymul(x, y), scipy.fft.rfft(m), u, counts, scipy.special.zeta(m, 1.5 + m * m)

    g = tracejit.jit(f)
    for n, k in sizes_of(60, 2):
        x, y, m = RNG.normal(size=n + 2), RNG.normal(size=k + 2), RNG.normal(size=(n + 2, k + 1))
        for a, b in zip(g(x, y, m), f(x, y, m), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
            assert np.shape(a) == np.shape(b)
    report = g.report()
    assert not report.bailouts and not report.fallbacks and len(general) < 400


def test_a_result_of_another_size_bails_out(callee: Any) -> None:
    longer = 0
    callee("numpy:unwrap", lambda x: np.zeros(len(x) + longer))
    g = tracejit.jit(lambda x: np.unwrap(x))
    for n in range(2, 40):
        assert_same(g(np.ones(n)), np.zeros(n))
    for k in (1, 2):
        longer = 3 - 2 * k
        assert_same(g(np.ones(9)), np.ones(9))
        assert g.report().bailouts == k
    longer = 0
    assert_same(g(np.ones(9)), np.zeros(9))


def test_arrays_whose_shapes_change_are_made_anew(
    general: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_sites, "MOST_CALLS", 10)
    g = tracejit.jit(lambda x: np.partition(x, 1))
    for n in range(2, 302):
        g(np.arange(n * 1.0))
    assert 300 / 11 - 3 < len(general) < 300 / 11 + PATIENCE + 5


# What is checked ---------------------------------------------------------------------------------

A = np.arange(5.0)
CACHED = np.arange(5.0)


@pytest.mark.parametrize(
    ("give", "bails"),
    [
        (lambda x: x, True),
        (lambda x: x[:], True),
        (lambda x: x.astype(np.float32), True),
        (lambda x: x.astype(">f8"), True),
        (lambda x: np.append(x, 1.0), True),
        (lambda x: x.tolist(), True),
        (lambda x: np.float64(1), True),
        (lambda x: None, True),
        (lambda x: np.ma.masked_array(x * 2), True),
        (lambda x: (x * 2).reshape(1, 5), True),
        (lambda x: np.broadcast_to(x[:1] * 2, 5), True),
        (lambda x: np.arange(10.0)[::2], False),
        (lambda x: np.arange(5.0)[::-1], False),
        (lambda x: np.arange(10.0)[5:], False),
        (lambda x: CACHED, False),
        (lambda x: np.frombuffer(bytearray(40)), False),
        (lambda x: np.frombuffer(bytes(40)), True),
    ],
)
def test_a_result_is_taken_as_the_op_takes_it(give: Any, bails: bool, callee: Any) -> None:
    number = 0

    def result(x: Any, _: int) -> Any:
        nonlocal number
        number += 1
        return give(x) if number > PATIENCE + 3 else np.partition(x, 2)

    callee("numpy:partition", result)
    g = tracejit.jit(partitioned)
    warm(g, A)
    for k in range(1, 4):
        x = A + k
        found = g(x)
        expected = np.partition(x, 2) if bails else np.asarray(give(x), np.float64)
        assert g.report().bailouts == (k if bails else 0)
        assert_same(found, expected)
    number = 0
    assert_same(g(A), A)
    assert held_results() == 0


def test_results_in_the_same_memory_bail_out(callee: Any) -> None:
    number = 0

    def result(i: Any, **_: Any) -> Any:
        nonlocal number
        number += 1
        x = np.arange(3)
        if number <= PATIENCE + 3:
            return x, x + 1
        return [(x, x), (x, x[:]), (x[:], x), (x[:], x[:])][number - PATIENCE - 4]

    callee("numpy:unique", result)
    g = tracejit.jit(lambda i: np.unique(i, return_counts=True))
    i = np.array([4, 5, 6, 6])
    warm(g, i)
    for k in range(1, 5):
        assert_same(g(i), np.unique_counts(i)[:])
        assert g.report().bailouts == k
    assert held_results() == 0


@pytest.mark.parametrize("returns_it", [False, True])
def test_a_callee_that_keeps_its_argument(
    returns_it: bool, callee: Any, general: list[int]
) -> None:
    kept: list[Any] = []

    def keeps(x: Any, _: int) -> Any:
        kept.append(x[1:] if len(kept) % 2 else x)
        return np.array(x) if not returns_it else x

    callee("numpy:partition", keeps)
    g = tracejit.jit(partitioned)
    for k in range(200):
        x = np.sort(RNG.normal(size=5))
        assert_same(g(x), x)
        # What is kept is never called with again.
        whole = [y if y.base is None or type(y.base) is not np.ndarray else y.base for y in kept]
        assert len({id(y) for y in whole}) == k + 1
    assert len(general) >= 196


def test_what_is_raised(callee: Any) -> None:
    raised: list[BaseException] = []

    def raises(x: Any, _: int) -> Any:
        assert set(np.geterr().values()) == {"ignore"}
        if raised:
            raise raised.pop()
        return np.partition(x, 2)

    callee("numpy:partition", raises)
    g = tracejit.jit(partitioned)
    before = np.geterr()
    assert "warn" in before.values()
    for k in range(1, 4):
        warm(g, A)
        raised.append(ValueError("x"))
        assert_same(g(A), A)
        assert g.report().bailouts == k and np.geterr() == before
        raised.append(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            g(A)
        assert np.geterr() == before and not raised
    assert held_results() == 0


# Who calls ---------------------------------------------------------------------------------------


def test_a_callee_that_calls_the_program(callee: Any, general: list[int]) -> None:
    depth = 0

    def recursive(x: Any, _: int) -> Any:
        nonlocal depth
        if depth < 4:
            depth += 1
            y = x + 1
            assert_same(g(y), y)
            depth -= 1
        return np.array(x)

    callee("numpy:partition", recursive)
    g = tracejit.jit(partitioned)
    for _ in range(10):
        x = np.sort(RNG.normal(size=5))
        assert_same(g(x), x)
    assert not g.report().bailouts and PATIENCE < len(general) < 50


def test_threads_in_one_program(callee: Any) -> None:
    both, inside = threading.Barrier(2), threading.local()

    def meets(x: Any, _: int) -> Any:
        if getattr(inside, "meets", False):
            both.wait(10)
        return np.array(x)

    callee("numpy:partition", meets)
    g = tracejit.jit(partitioned)
    warm(g, A)
    wrong: list[Any] = []

    def work(k: int) -> None:
        inside.meets = True
        for n in range(50):
            x = A + (100 * k + n)
            if not np.array_equal(g(x), x):
                wrong.append((k, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and not g.report().bailouts and held_results() == 0


def test_nothing_is_kept_over_many_calls() -> None:
    def f(x: Any, i: Any, a: Any) -> Any:
        u = np.unique(x)
        y = np.linalg.svd(x[:4].reshape(2, 2))
        return u, y, np.bincount(i), np.interp(a, x, x), np.partition(x, 1), np.trapezoid(x)

    g = tracejit.jit(f)
    x, i = np.sort(RNG.normal(size=6)), np.array([1, 2, 0])
    warm(g, x, i, 0.5)

    def counts() -> list[int]:
        gc.collect()
        watched = [np.dtype("f8"), np.dtype("i8"), np.unique, np.bincount, np.linalg.svd, x, i]
        watched += [np.linalg.svd(np.eye(2)).__class__, None, ()]
        return [*map(sys.getrefcount, watched), len(gc.get_objects())]

    counts()
    before = counts()
    for _ in range(2000):
        g(x, i, 0.5)
    after = counts()
    assert all(abs(a - b) < 100 for a, b in zip(after, before, strict=True))
    assert held_results() == 0


def test_a_program_goes_with_its_function() -> None:
    def f(x: Any) -> Any:
        return np.partition(x, 2)

    sites = []
    for _ in range(3):
        g = tracejit.jit(f)
        warm(g, A)
        del g
        gc.collect()
        sites.append(sum(isinstance(x, HostCallSite) for x in gc.get_objects()))
    assert sites[0] == sites[1] == sites[2]


def test_ops_of_scalars_write_their_results() -> None:
    """An op that no function is named for, made often enough to be prepared."""

    @tracejit.jit
    def count(n: int, z: complex) -> complex:
        for _ in range(n):
            z = z + 1
        return z

    for n in (5, 2 * PATIENCE, 4 * PATIENCE, 3):
        assert count(n, 1j) == n + 1j


def halves(x: Any) -> Any:
    return x.astype(np.float16)


@pytest.mark.parametrize("f", [halves, scipy.fft.fft, scipy.special.logsumexp])
def test_native_code_sets_arrays_that_live(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those that the prepared function does not mention."""
    checked: list[Any] = []
    prepare = host_sites.HostSite.prepare

    def checking(self: Any, function: Any, sizes: Any, pairs: Any, places: Any) -> None:
        fields = [host_call_text.array_fields(x) for x in function.stays]
        spans = [(s.data, 1) for s in fields] + [
            (at, x.ndim)
            for s, x in zip(fields, function.stays, strict=True)
            for at in (s.shape, s.strides)
        ]
        assert all(any(a <= at < a + 8 * n for a, n in spans) for at, _, _ in places)
        checked.append(places)
        prepare(self, function, sizes, pairs, places)

    monkeypatch.setattr(host_sites.HostSite, "prepare", checking)
    g = tracejit.jit(lambda x: f(x))
    for n in (5, *range(3, 30), 5):
        x = RNG.normal(size=n)
        assert_same(g(x), f(x))
    assert checked

"""Memory of results where NumPy's rules are odd: lists, constants, orders, dtypes, copies."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import Outcome, run, sharing

X = np.arange(24.0).reshape(2, 3, 4)
EMPTY = np.ones((0, 3, 4))
LONG = np.longlong
TOLD = np.dtype("i4", metadata={"unit": "m"})


def memory(outcome: Outcome) -> Any:
    """What can be seen of results, but for their elements."""
    value = outcome.value
    parts = value if isinstance(value, tuple) else (value,)
    seen = []
    for x in parts:
        if not isinstance(x, np.ndarray):
            seen.append((type(x), x))
            continue
        flags = x.flags
        written = flags._writeable_no_warn
        seen.append((x.strides, x.dtype.char, x.dtype.metadata, written, repr(x.tolist())))
    return seen, sharing(outcome)


def check(f: Callable[..., Any], *args: Any, codes: tuple[str, ...] = ()) -> None:
    """The same results, compiled, or eagerly for one of the reasons."""
    jitted = tracejit.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            assert memory(run(jitted, args)) == memory(run(f, args))
    assert tuple({x.code for x in jitted.report().fallbacks}) == codes


@pytest.mark.parametrize(
    "f",
    [
        lambda: np.flipud([[0, 1, 2], [3, 4, 5]]),
        lambda: np.rot90([[1, 2], [3, 4]]),
        lambda: np.flip([1, 2, 3]),
        lambda: np.diag([[1, 2], [3, 4]]),
        lambda: np.diagonal([[1, 2, 3], [3, 4, 5]], 1),
        lambda: np.lib.stride_tricks.sliding_window_view([1, 2, 3, 4], 2),
        lambda: np.unravel_index([1, 2, 3], (4, 5)),
        lambda: np.nonzero([[1, 0], [3, 4]]),
        lambda: np.where([[1, 0], [3, 4]]),
        lambda: np.transpose([[1, 2], [3, 4]]),
        lambda: np.broadcast_arrays([1, 2], [[1], [2]]),
    ],
)
def test_views_of_what_is_made_of_lists(f: Callable[..., Any]) -> None:
    check(f)


def test_stores_into_views_of_constants_reach_each_other() -> None:
    def f() -> Any:
        rows, columns = np.unravel_index([1, 2, 3], (4, 5))
        back = np.flipud([[1, 2], [3, 4]])
        turned = back.T
        turned[0, 1] = 7
        rows[0] = 9
        return rows, columns, back, turned

    check(f)


@pytest.mark.parametrize("order", ["c", "f", "a", "k", "C", "F"])
def test_orders_in_small_letters(order: str) -> None:
    made = order if order in "cfCF" else "c"

    def f(x: Any) -> Any:
        y = np.transpose(x, (0, 2, 1))
        ones = np.ones((2, 3), order=made), np.zeros_like(y, order=order)
        copies = y.copy(order), y.astype("f4", order=order), np.add(y, 1, order=order)
        return *ones, *copies, np.array(y, order=order), y.flatten(order), y.ravel(order)

    check(f, X)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.zeros(2, LONG),
        lambda x: x.astype(np.ulonglong),
        lambda x: np.sum(x, axis=0, dtype=LONG),
        lambda x: np.add(x, 1, dtype=LONG, casting="unsafe"),
        lambda x: np.array(x, TOLD),
        lambda x: np.full(2, 1, TOLD),
        lambda x: np.arange(3, dtype=LONG),
    ],
)
def test_dtypes_that_equal_those_of_graphs(f: Callable[..., Any]) -> None:
    check(f, X, codes=("TJ003",))


def test_arguments_of_equal_dtypes_in_compiled_code() -> None:
    def f(x: Any) -> Any:
        return x + 1

    jitted = tracejit.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kinds = (np.int64, LONG, np.int64, np.ulonglong)
        for kind in kinds:
            for x in (np.arange(3).astype(kind), np.arange(1).astype(kind)[0]):
                assert jitted(x).dtype.char == f(x).dtype.char


def test_comparisons_of_signs_have_loops_of_long_long() -> None:
    check(lambda x, y: x < y, np.arange(3), np.arange(3, dtype=np.uint64))


@pytest.mark.parametrize(
    "f",
    [
        lambda a: a.transpose(2, 0, 1).sum(axis=1),
        lambda a: a.T.mean(axis=2),
        lambda a: np.max(a.T, axis=2, initial=0),
        lambda a: (a.T + 1).sum(axis=2, keepdims=True),
    ],
)
def test_sums_over_nothing(f: Callable[..., Any]) -> None:
    check(f, EMPTY)


def test_no_new_axes_are_a_view() -> None:
    check(lambda x: np.expand_dims(x, ()), X)


def test_a_copy_is_another_operand_of_a_call() -> None:
    signal = pytest.importorskip("scipy.signal")
    wave = np.cos(np.arange(64.0))
    for f in (
        lambda x: signal.csd(x, x.copy(), nperseg=8)[1].dtype.char,
        lambda x: signal.csd(x, x, nperseg=8)[1].dtype.char,
    ):
        assert tracejit.jit(f)(wave) == f(wave)


@pytest.mark.parametrize("name", ["unstack", "rollaxis", "tril_indices_from", "diag_indices_from"])
def test_attributes_of_lists(name: str) -> None:
    function, args = getattr(np, name), (0,) if name == "rollaxis" else ()
    with pytest.raises(AttributeError, match="'list' object has no attribute 'ndim'"):
        tracejit.jit(lambda x: function(x, *args))([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.argwhere(x > 3).imag,
        lambda x: (np.argwhere(x > 3) + 1).imag,
        lambda x: np.transpose(np.nonzero(x > 3)).imag,
        lambda x: np.argwhere(x > 3).T.imag,
    ],
)
def test_orders_of_arrays_whose_sizes_data_decide(f: Callable[..., Any]) -> None:
    check(f, X)


PLACES = np.array([1, 0, 1])
#: Views along whose axes elements repeat, and one without such.
REPEATING: list[Callable[[Any], Any]] = [
    lambda m: np.broadcast_to(m[0], (3, 4)),
    lambda m: np.broadcast_to(m, (2, 3, 4)),
    lambda m: np.broadcast_to(m[:, :, None], (3, 4, 5)).T,
    lambda m: np.broadcast_to(m[:, None].T, (4, 2, 3)),
    lambda m: m[:, ::-1].T,
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["f8", "i1", "?"])
@pytest.mark.parametrize("view", REPEATING)
def test_orders_of_reductions_of_repeating_views(view: Callable[[Any], Any], dtype: str) -> None:
    m = np.arange(12).reshape(3, 4).astype(dtype)
    for axis in (0, 1, -1):
        for u in (np.add, np.maximum, np.logical_and, np.hypot):
            check(lambda m, u=u: u.reduceat(view(m), [0, 1], axis=axis), m)  # noqa: B023
            check(lambda m, i, u=u: u.reduceat(view(m), i, axis), m, PLACES)  # noqa: B023
            check(lambda m, u=u: u.accumulate(view(m), axis=axis), m)  # noqa: B023
            check(lambda m, u=u: u.reduce(view(m), axis, keepdims=True), m)  # noqa: B023
        for f in (np.cumsum, np.sum, np.mean):
            check(lambda m, f=f: f(view(m), axis=axis), m)  # noqa: B023


#: Arrays whose sizes data decide, and what lies otherwise.
SIZED_BY_DATA: list[Callable[[Any], Any]] = [
    lambda x: x[x > 0].reshape(4, -1),
    lambda x: x[x > 0].reshape(4, -1).T,
    lambda x: x[x > 0].reshape(2, -1, 2).transpose(1, 0, 2),
    lambda x: x[x > 0].reshape(2, -1, 2).T,
    lambda x: x[x > 0].reshape(4, -1)[:, ::-1].T,
    lambda x: np.outer(x[x > 0], x[:3]).T,
    lambda x: x.reshape(4, -1)[:, x[:6] > 0].T,
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("order", ["K", "A", "C", "F"])
@pytest.mark.parametrize("array", SIZED_BY_DATA)
def test_orders_of_arrays_like_those_sized_by_data(array: Any, order: Any) -> None:
    jitted = [
        tracejit.jit(f)
        for f in (
            lambda x: np.zeros_like(array(x), order=order),
            lambda x: np.ones_like(array(x), order=order, dtype=np.int8),
            lambda x: np.full_like(array(x), 2.5, order=order),
            lambda x: np.empty_like(array(x), order=order).strides,
            lambda x: np.copy(array(x), order=order),
        )
    ]
    for n in (24, 8, 12):
        x = np.where(np.arange(24) < n, 1.0, -1.0)
        for f in jitted:
            assert memory(run(f, (x,))) == memory(run(f.__wrapped__, (x,)))

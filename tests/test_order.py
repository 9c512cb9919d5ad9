"""`ordered_reduce` is the order that `ir/kernel.py` defines, and no less accurate than NumPy's."""

import math
from collections.abc import Callable

import numpy as np
import pytest

import tracejit.ops  # noqa: F401 - fills the registry
from tracejit.ir.op import OPS
from tracejit.ir.order import LANES, STRIDED_BLOCK, VECTOR_BLOCK, ordered_reduce, reduction_order

ORDERS = [(LANES, VECTOR_BLOCK), (1, STRIDED_BLOCK), (8, 8), (4, 32), (1, 1)]
LENGTHS = [1, 2, 31, 32, 33, 63, 64, 65, 127, 1000, 1023, 1024, 1025, 3 * 1024, 7 * 1024 + 5]


def scalar_reduce(x, lanes: int, block: int, combine: Callable) -> np.generic:
    """The definition, one scalar after another."""
    identity = x.dtype.type(-0.0 if combine is np.add else 1)
    stack = []
    for number, first in enumerate(range(0, len(x), block), start=1):
        accumulators = [identity] * lanes
        for position, value in enumerate(x[first : first + block]):
            lane = position % lanes
            accumulators[lane] = combine(accumulators[lane], value)
        distance = lanes // 2
        while distance >= 1:
            for lane in range(distance):
                accumulators[lane] = combine(accumulators[lane], accumulators[lane + distance])
            distance //= 2
        stack.append(accumulators[0])
        while number % 2 == 0:
            newer, older = stack.pop(), stack.pop()
            stack.append(combine(older, newer))
            number //= 2
    total = stack.pop()
    while stack:
        total = combine(stack.pop(), total)
    return total


@pytest.mark.parametrize("combine", [np.add, np.multiply])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("lanes", "block"), ORDERS)
def test_the_vectorised_order_is_the_definition(lanes, block, dtype, combine) -> None:
    random = np.random.default_rng(1)
    for n in LENGTHS:
        near_one = random.standard_normal((2, n)) if combine is np.add else random.random((2, n))
        x = (near_one + (combine is np.multiply) * 0.5).astype(dtype)
        expected = np.array([scalar_reduce(row, lanes, block, combine) for row in x])
        actual = ordered_reduce(x, lanes, block, combine)
        assert actual.dtype == dtype
        assert actual.tobytes() == expected.tobytes(), f"{n} elements"


def test_orders_differ() -> None:
    """The comparison above can fail: other lanes and blocks give other bits."""
    x = np.random.default_rng(2).standard_normal((20, 5000))
    assert len({ordered_reduce(x, *order, np.add).tobytes() for order in ORDERS}) == len(ORDERS)


@pytest.mark.parametrize(("lanes", "block"), [(3, 6), (64, 100), (0, 8)])
def test_lanes_that_do_not_fit_are_refused(lanes, block) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        ordered_reduce(np.ones((1, 4)), lanes, block, np.add)


def test_the_last_axis_chooses_the_order() -> None:
    assert reduction_order(2, (1,)) == reduction_order(2, (0, 1)) == (LANES, VECTOR_BLOCK)
    assert reduction_order(2, (0,)) == reduction_order(1, ()) == (1, STRIDED_BLOCK)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_rows_without_elements(rows) -> None:
    x = np.empty((rows, 0), np.float32)
    for lanes, block in ORDERS:
        total = ordered_reduce(x, lanes, block, np.add)
        assert total.dtype == np.float32 and np.array_equal(total, np.zeros(rows))
        assert not np.signbit(total).any()
        assert np.array_equal(ordered_reduce(x, lanes, block, np.multiply), np.ones(rows))


def test_padding_keeps_every_single_value() -> None:
    for value in (0.0, -0.0, 5e-324, -np.inf, np.inf, np.nan, 1.5):
        x = np.array([[value]])
        for lanes, block in ORDERS:
            for combine in (np.add, np.multiply):
                assert ordered_reduce(x, lanes, block, combine).tobytes() == x.tobytes()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("n", [0, 1, 2, 8, 100, 2000])
def test_signed_zeros_sum_as_numpys(dtype, n) -> None:
    zeros = np.full((n, 2), -0.0, dtype)
    if np.iscomplexobj(zeros):
        zeros.imag = -0.0
    for axes in ((), (0,), (1,), (0, 1)):
        (actual,) = OPS["reduce_sum"].evaluate([zeros], {"axes": axes})
        assert actual.tobytes() == np.asarray(np.sum(zeros, axis=axes)).tobytes()


def error_of(total: np.generic, x: np.ndarray) -> float:
    """The error of a sum in units of eps times the sum of magnitudes."""
    scale = math.fsum(abs(float(v)) for v in x) * float(np.finfo(x.dtype).eps)
    return abs(math.fsum([*map(float, x), -float(total)])) / scale


def data(kind: str, seed: int, n: int, dtype: type) -> np.ndarray:
    random = np.random.default_rng(seed)
    x = random.random(n)
    if kind == "normal":
        x = random.standard_normal(n)
    elif kind == "magnitudes":
        x = x * 10.0 ** random.integers(-12, 12, n)
    elif kind == "sorted":
        x = np.sort(x)
    elif kind == "cancelling":
        half = random.standard_normal(n // 2) * 10.0 ** random.integers(-3, 3, n // 2)
        x = random.permutation(np.concatenate([half, -half[::-1] * (1 + 1e-4)]))
    elif kind == "large first":
        x[:: n // 4] *= 1e6
    elif kind == "constant":
        x = np.full(n, 0.1 + seed)
    return x.astype(dtype)


KINDS = ["uniform", "normal", "magnitudes", "sorted", "cancelling", "large first", "constant"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_the_error_of_columns_is_not_above_numpys(kind, dtype) -> None:
    """Along any axis but the last NumPy adds row after row."""
    x = np.stack([data(kind, seed, 4_000, dtype) for seed in range(6)], axis=1)
    (total,) = OPS["reduce_sum"].evaluate([x], {"axes": (0,)})
    ours = [error_of(t, c) for t, c in zip(total, x.T, strict=True)]
    theirs = [error_of(t, c) for t, c in zip(np.sum(x, axis=0), x.T, strict=True)]
    assert np.mean(np.square(ours)) <= np.mean(np.square(theirs)), (ours, theirs)


@pytest.mark.parametrize("n", [20_000, 1_000_000])
def test_the_worst_error_is_bounded_by_the_depth_of_the_tree(n) -> None:
    """Each element passes through at most this many additions, whatever the data."""
    blocks = -(-n // VECTOR_BLOCK)
    depth = VECTOR_BLOCK // LANES + LANES.bit_length() - 1 + 2 * blocks.bit_length()
    x = np.full(n, 0.1, np.float32)
    x[::2] = np.nextafter(x[0], np.float32(1))
    error = error_of(ordered_reduce(x[None], LANES, VECTOR_BLOCK, np.add)[0], x)
    assert error <= depth / 2

"""`ordered_reduce` is the order that `ir/kernel.py` defines, and no less accurate than NumPy's."""

import math
from collections.abc import Callable
from functools import reduce

import numpy as np
import pytest

import tracejit
import tracejit.ops  # fills the registry
from tests.support.native_kernels import (
    M,
    N,
    compiled,
    every_target,
    kernel,
    output,
    same_bits,
    values,
)
from tracejit.ir.dims import symbol
from tracejit.ir.kernel import For, Load, Param, Reduce, Store, Target, Var
from tracejit.ir.op import OPS
from tracejit.ir.order import LANES, STRIDED_BLOCK, VECTOR_BLOCK, ordered_reduce, reduction_order

pytestmark = pytest.mark.sampled(6)

ORDERS = [(LANES, VECTOR_BLOCK), (1, STRIDED_BLOCK), (8, 8), (4, 32), (1, 1)]
LENGTHS = [0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 511, 512, 513, 1000, 1024, 3 * 512, 7 * 512 + 5]


def scalar_reduce(x, lanes: int, block: int, combine: Callable) -> np.generic:
    """The definition, one scalar after another."""
    if combine is np.multiply:
        return reduce(combine, x, x.dtype.type(1))
    s = c = x.dtype.type(0)
    for first in range(0, len(x), block):
        accumulators = [x.dtype.type(0)] * lanes
        for position, value in enumerate(x[first : first + block]):
            accumulators[position % lanes] += value
        distance = lanes // 2
        while distance >= 1:
            for lane in range(distance):
                accumulators[lane] += accumulators[lane + distance]
            distance //= 2
        v = accumulators[0]
        t = s + v
        z = t - s
        c = c + ((s - (t - z)) + (v - z))
        s = t
    return s + c if np.isfinite(s + c) else s


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


def test_a_single_value_is_kept() -> None:
    """But for the sign of zero, which a sum does not keep."""
    for value in (0.0, -0.0, 5e-324, -np.inf, np.inf, np.nan, 1.5):
        x = np.array([[value]])
        for lanes, block in ORDERS:
            assert ordered_reduce(x, lanes, block, np.multiply).tobytes() == x.tobytes()
            assert ordered_reduce(x, lanes, block, np.add).tobytes() == (x + 0.0).tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 5, 65, 700, 3000])
def test_infinities_and_nan_sum_as_numpys(n, dtype) -> None:
    random = np.random.default_rng(3)
    for special in ([np.inf], [-np.inf], [np.nan], [np.inf, -np.inf], [np.inf, np.inf, np.nan]):
        x = random.standard_normal((30, n)).astype(dtype)
        for row in x:
            row[random.choice(n, min(n, len(special)), replace=False)] = special[:n]
        with np.errstate(invalid="ignore"):
            expected = np.sum(x, axis=1)
        for lanes, block in ORDERS:
            actual = ordered_reduce(x, lanes, block, np.add)
            assert np.array_equal(actual, expected, equal_nan=True)


def test_what_rounding_took_does_not_overflow_a_finite_sum() -> None:
    largest = np.finfo(np.float64).max
    quarter = (largest - np.nextafter(largest, 0)) / 4
    for sign in (1, -1):
        x = sign * np.array([[largest, quarter, quarter, quarter]])
        assert ordered_reduce(x, 1, 1, np.add) == sign * largest
        assert ordered_reduce(np.append(x, x, axis=1), 1, 1, np.add) == sign * np.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_numpys_to_the_bit(dtype) -> None:
    random = np.random.default_rng(4)
    base = (random.random((7, 40, 9)) * 8 - 4).astype(dtype)
    base[:, 5:8] = np.array([0, -0.0, 1e30])[:, None]
    for x in (base, np.asfortranarray(base), base.transpose(2, 0, 1)):
        for axis in range(3):
            with np.errstate(over="ignore", invalid="ignore"):
                expected = np.prod(x, axis=axis)
                (actual,) = OPS["reduce_prod"].evaluate([x], {"axes": (axis,)})
            assert np.array_equal(actual, expected, equal_nan=True)
            assert np.array_equal(np.signbit(actual), np.signbit(expected))


# Native code: tests/codegen/test_kernel_reductions.py holds it against the reference.


@every_target
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("combine", ["sum", "prod"])
def test_native_code_has_the_order_of_rows(combine, dtype, target) -> None:
    """Along the last axis, in lanes; special values come into some lanes and blocks."""
    term = Target("r", combine, dtype, Load("a", (symbol("j"), symbol("i")), dtype))
    order = reduction_order(2, (1,))
    loop = Reduce("i", N, (), (term,), *order, vector=True)
    body = For("j", M, (loop, Store("out", (symbol("j"),), Var("r", dtype))))
    k = kernel([Param("a", dtype, (M, N)), output(dtype, M)], body)
    check_order(k, target, combine, dtype, order, lambda x: x)


@every_target
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("combine", ["sum", "prod"])
def test_native_code_has_the_order_of_columns(combine, dtype, target) -> None:
    """Along another axis; the lanes of the enclosing loop each have a column."""
    term = Target("r", combine, dtype, Load("a", (symbol("i"), symbol("j")), dtype))
    order = reduction_order(2, (0,))
    loop = Reduce("i", N, (), (term,), *order)
    body = For("j", M, (loop, Store("out", (symbol("j"),), Var("r", dtype))), vector=True)
    k = kernel([Param("a", dtype, (N, M)), output(dtype, M)], body)
    check_order(k, target, combine, dtype, order, np.transpose)


def check_order(k, target: str, combine: str, dtype: str, order, layout: Callable) -> None:
    """The bits of `ordered_reduce` over rows; `layout` puts the rows as the kernel reads them."""
    ufunc = np.add if combine == "sum" else np.multiply
    for n in LENGTHS:
        rows = values(dtype, 21 * n).reshape(21, n)
        rows = rows if combine == "sum" else (1 + rows / 64).astype(rows.dtype)
        rows[1] = -0.0
        if n:
            rows[2:5, n // 2] = np.inf, np.nan, np.finfo(rows.dtype).max
            rows[4:6, 0] = np.finfo(rows.dtype).max
            rows[6, [0, -1]] = np.inf, -np.inf
        out = np.full(21, 7, rows.dtype)
        memory = np.ascontiguousarray(layout(rows))
        assert compiled(k, target)({"a": memory, "out": out}, {"n": n, "m": 21}) == 0
        with np.errstate(over="ignore", invalid="ignore"):
            assert same_bits(out, ordered_reduce(rows, *order, ufunc)), f"{n} elements"


def test_a_sum_and_a_product_share_no_reduction() -> None:
    """Their orders differ; with integers there is none."""
    for dtype in ("f64", "i64"):
        terms = [Target(c, c, dtype, Load("a", (symbol("i"),), dtype)) for c in ("sum", "prod")]
        stores = [Store(f"o_{t.name}", (0,), Var(t.name, dtype)) for t in terms]
        results = [Param(f"o_{t.name}", dtype, (1,), output=True) for t in terms]
        params = [Param("a", dtype, (N,)), *results]
        k = kernel(params, Reduce("i", N, (), tuple(terms), vector=True), *stores)
        if dtype == "i64":
            x, total, product = np.arange(1, 9), np.zeros(1, np.int64), np.zeros(1, np.int64)
            buffers = {"a": x, "o_sum": total, "o_prod": product}
            assert compiled(k, "host")(buffers, {"n": 8, "m": 0}) == 0
            assert (total[0], product[0]) == (36, 40320)
        else:
            with pytest.raises(ValueError, match="sum, prod"):
                compiled(k, "host")


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
    scale = float(np.abs(x).sum(dtype=np.float64)) * float(np.finfo(x.dtype).eps)
    return abs(math.fsum([*x.tolist(), -float(total)])) / scale


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


@pytest.mark.sampled(14, kind=lambda kind, **_: str(kind))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_the_error_is_not_above_numpys(kind, dtype) -> None:
    """Root mean squares of as many sums as it takes to estimate them within a few per cent."""
    rows = np.stack([data(kind, seed, 20_000, dtype) for seed in range(100)])
    totals = ordered_reduce(rows, LANES, VECTOR_BLOCK, np.add)
    ours = [error_of(total, x) for total, x in zip(totals, rows, strict=True)]
    theirs = [error_of(np.sum(x), x) for x in rows]
    rms = [float(np.sqrt(np.mean(np.square(e)))) for e in (ours, theirs)]
    assert rms[0] <= rms[1], rms


@pytest.mark.parametrize("n", [20_000, 1_000_000])
def test_the_worst_error_is_bounded_by_the_depth_of_a_block(n) -> None:
    """Each element passes through this many additions, whatever the data and their number."""
    depth = VECTOR_BLOCK // LANES + LANES.bit_length() - 1 + 1
    x = np.full(n, 0.1, np.float32)
    x[::2] = np.nextafter(x[0], np.float32(1))
    error = error_of(ordered_reduce(x[None], LANES, VECTOR_BLOCK, np.add)[0], x)
    assert error <= depth / 2


def _sums_and_products(x):
    """All over one iteration space, which the products must not share."""
    return np.sum(x), np.prod(x), x.sum(axis=1), x.prod(axis=1), x.sum(axis=0), x.prod(axis=0)


def test_compiled_functions_have_the_order_of_the_ops() -> None:
    compiled_function = tracejit.jit(strict=True)(_sums_and_products)
    axes = ((0, 1), (1,), (0,))
    for shape in ((3, 4), (70, 900), (33, 65)):
        x = 1 + values("f64", shape[0] * shape[1]).reshape(shape) / 8
        expected = [
            OPS[f"reduce_{c}"].evaluate([x], {"axes": a}) for a in axes for c in ("sum", "prod")
        ]
        for actual, (wanted,) in zip(compiled_function(x), expected, strict=True):
            assert np.asarray(actual).tobytes() == wanted.tobytes()

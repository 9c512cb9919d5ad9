"""What calls share compiled code: sizes, ranks, layouts, dtypes, numbers, constants; the limits."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.compare import assert_same
from tracejit.errors import FallbackError, TraceError
from tracejit.runtime import dispatch
from tracejit.runtime.signature import History, leaf_key, rank_key, specialize


def block(*shape: int) -> np.ndarray:
    """An array of distinct numbers, none of them 0."""
    return np.arange(1.0, np.prod(shape, dtype=int) + 1).reshape(shape)


def compiles(function: Callable[..., Any], *calls: tuple[Any, ...]) -> list[int]:
    """How many compiles there were after each call; results are compared with NumPy's.

    No call may run eagerly.
    """
    jitted = tracejit.jit(function, strict=True)
    counts = []
    for args in calls:
        assert_same(function(*args), jitted(*args))
        counts.append(len(jitted.report().compiles))
    assert jitted.report().fallbacks == []
    return counts


def increment(x: Any) -> Any:
    return x + 1


def times(x: Any, n: Any) -> Any:
    return x * n


def ends(x: Any, y: Any) -> Any:
    """A result that needs no relation between the sizes."""
    return x[-1] * 2 + y[0] + x.shape[0] * 100 + y.shape[0]


# Sizes -------------------------------------------------------------------------------------------


def test_the_second_size_makes_it_symbolic() -> None:
    sizes = [5, 5, 7, 2, 3, 40, 1000, 5]
    assert compiles(increment, *[(block(n),) for n in sizes]) == [1, 1, 2, 2, 2, 2, 2, 2]


def test_each_axis_becomes_symbolic_by_itself() -> None:
    shapes = [(3, 4), (5, 4), (9, 4), (9, 6), (3, 6), (2, 2)]
    assert compiles(increment, *[(block(*s),) for s in shapes]) == [1, 2, 2, 3, 3, 3]
    both = [(3, 4), (5, 6), (9, 4), (2, 7)]
    assert compiles(increment, *[(block(*s),) for s in both]) == [1, 2, 2, 2]


def test_a_broken_equality_splits_once() -> None:
    pairs = [(5, 5), (7, 7), (9, 9), (6, 9), (11, 12), (20, 20), (3, 2), (9, 6)]
    counts = compiles(ends, *[(block(a), block(b)) for a, b in pairs])
    assert counts == [1, 2, 2, 3, 3, 3, 3, 3]


def test_sizes_that_differ_from_the_start_are_two_symbols() -> None:
    pairs = [(5, 8), (6, 9), (6, 6), (7, 3), (3, 3)]
    assert compiles(ends, *[(block(a), block(b)) for a, b in pairs]) == [1, 2, 2, 2, 2]


def test_a_square_is_one_symbol() -> None:
    def symmetric(x: Any) -> Any:
        return x + x.T

    assert compiles(symmetric, *[(block(n, n),) for n in (3, 5, 7, 4)]) == [1, 2, 2, 2]


def test_operands_of_a_product_share_the_size_between_them() -> None:
    def product(x: Any, y: Any) -> Any:
        return (x[:, :, None] * y[None]).max(axis=1)

    shapes = [(2, 3, 4), (5, 6, 7), (8, 8, 8), (2, 5, 3), (4, 4, 9)]
    calls = [(block(a, b), block(b, c)) for a, b, c in shapes]
    assert compiles(product, *calls) == [1, 2, 2, 2, 2]


def test_sizes_are_results() -> None:
    def sizes(x: Any, y: Any) -> Any:
        return x.shape, (x[:, :, None] * y[None]).shape, x.size, [len(y), len(x)], {"n": y.ndim}

    shapes = [(2, 3, 4), (5, 6, 7), (8, 8, 8), (2, 5, 3), (4, 4, 9)]
    calls = [(block(a, b), block(b, c)) for a, b, c in shapes]
    assert compiles(sizes, *calls) == [1, 2, 2, 2, 2]


def test_0_and_1_are_always_static() -> None:
    sizes = [5, 7, 1, 1, 0, 0, 9, 1, 0]
    assert compiles(increment, *[(block(n),) for n in sizes]) == [1, 2, 3, 3, 4, 4, 4, 4, 4]
    # They count as sizes that were seen.
    assert compiles(increment, *[(block(n),) for n in (0, 1, 2, 3, 4)]) == [1, 2, 3, 3, 3]
    shapes = [(1, 5), (1, 7), (1, 9), (4, 9), (6, 3), (6, 1), (2, 1)]
    assert compiles(increment, *[(block(*s),) for s in shapes]) == [1, 2, 2, 3, 3, 4, 4]


def test_stretching_is_decided_by_0_and_1_alone() -> None:
    def added(x: Any, y: Any) -> Any:
        return x + y

    pairs = [(5, 5), (7, 7), (7, 1), (9, 1), (1, 9), (1, 4), (1, 1), (0, 1), (6, 6), (0, 0)]
    counts = compiles(added, *[(block(a), block(b)) for a, b in pairs])
    assert counts == [1, 2, 3, 3, 4, 4, 5, 6, 6, 7]


def test_sizes_that_do_not_fit_are_an_error_every_time() -> None:
    f = tracejit.jit(times)
    for a, b in ((5, 5), (7, 7), (6, 9), (5, 7), (9, 6)):
        if a == b:
            assert_same(block(a) * block(b), f(block(a), block(b)))
        else:
            with pytest.raises(ValueError, match="broadcast"):
                f(block(a), block(b))
    assert_same(block(4) * block(4), f(block(4), block(4)))
    assert len(f.report().compiles) == 2


def test_random_shapes_compile_a_bounded_number_of_times() -> None:
    """Any order of sizes from 2: one compile by value, then one for each time symbols multiply."""
    rng = np.random.default_rng(20)
    for _ in range(5):
        calls = [tuple(block(int(n)) for n in rng.integers(2, 9, 2)) for _ in range(40)]
        assert compiles(ends, *calls)[-1] <= 4


# Decisions on sizes ------------------------------------------------------------------------------


def test_a_flipped_guard_compiles_once_for_each_side() -> None:
    def long_or_short(x: Any) -> Any:
        return x + 1 if x.shape[0] > 10 else x - 1

    sizes = [5, 7, 20, 30, 8, 11, 10, 2]
    assert compiles(long_or_short, *[(block(n),) for n in sizes]) == [1, 2, 3, 3, 3, 3, 3, 3]

    def by_remainder(x: Any) -> Any:
        return x + 1 if len(x) % 7 == 3 else x - 1

    counts = compiles(by_remainder, *[(block(n),) for n in range(2, 40)])
    assert counts[0] == 1 and counts[-1] <= 3


def test_a_size_whose_value_is_needed_compiles_for_16_values() -> None:
    def spelled(x: Any) -> Any:
        return x + int(str(x.shape[0]))

    f = tracejit.jit(spelled)
    for n in range(2, 30):
        assert_same(spelled(block(n)), f(block(n)))
    assert len(f.report().compiles) <= 16
    (fallback,) = f.report().fallbacks
    assert fallback.code in ("TJ012", "TJ001")


def test_16_variants_are_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = dispatch._VARIANTS
    assert limit == 16

    def by_size(x: Any) -> Any:
        # Each of these is a guard of its own.
        n = x.shape[0]
        return x + sum(k for k in range(2, 40) if n == k)

    f = tracejit.jit(by_size)
    strict = tracejit.jit(by_size, strict=True)
    counts = []
    for n in range(2, 30):
        assert_same(by_size(block(n)), f(block(n)))
        counts.append(len(f.report().compiles))
        if n < 2 + limit:
            assert_same(by_size(block(n)), strict(block(n)))
        else:
            with pytest.raises(FallbackError, match="TJ012"):
                strict(block(n))
    assert counts == [min(k, limit) for k in range(1, 29)]
    assert [x.code for x in f.report().fallbacks] == ["TJ012"]
    # What was compiled stays; other kinds of arguments have variants of their own.
    assert_same(by_size(block(3)), strict(block(3)))
    assert_same(by_size(block(3).astype(np.float32)), strict(block(3).astype(np.float32)))
    assert len(strict.report().compiles) == limit + 1


def test_kinds_of_arguments_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "_STRUCTURES", 3)

    def named(x: Any, name: str) -> Any:
        return x + len(name)

    f = tracejit.jit(named)
    for k in range(6):
        assert_same(named(X, "a" * k), f(X, "a" * k))
    assert len(f.report().compiles) == 3
    assert [x.code for x in f.report().fallbacks] == ["TJ012"]
    assert len(f._structures) == 3
    assert_same(named(X, "a"), f(X, "a"))
    strict = tracejit.jit(named, strict=True)
    for k in range(3):
        assert_same(named(X, "a" * k), strict(X, "a" * k))
    for _ in range(2):
        with pytest.raises(FallbackError, match="TJ012"):
            strict(X, "other")


X = block(3)

# Layouts, dtypes, ranks --------------------------------------------------------------------------


def test_strides_are_traced_but_for_1_minus_1_and_0() -> None:
    base = block(60)
    steps = [base[:10:2], base[:15:3], base[:20:2], base[:30:3], base[20:10:-2], base[4::-2]]
    assert compiles(increment, *[(x,) for x in steps]) == [1, 1, 2, 2, 2, 2]
    fixed = [base[:5], base[4::-1], np.broadcast_to(base[:1], (5,)), base[:10:2]]
    assert compiles(increment, *[(x,) for x in [*fixed, *fixed]]) == [1, 2, 3, 4, 4, 4, 4, 4]


def layouts(rows: int) -> list[np.ndarray]:
    """Views of three axes in every order: forward, backward, every second, one of an axis."""
    base = block(6, 7, 8)[:rows]
    cuts = (slice(None), slice(None, None, -1), slice(None, None, 2), slice(2, 3))
    orders = list(itertools.permutations(range(3)))
    found = [base.transpose(order) for order in orders]
    for n, cut in enumerate(itertools.product(cuts, repeat=3)):
        found += [base.transpose(orders[n % 6])[cut], base.transpose(orders[(n + 3) % 6])[cut]]
    for stretched in itertools.product((False, True), repeat=3):
        index = tuple(slice(0, 1) if s else slice(None) for s in stretched)
        found.append(np.broadcast_to(base[index], base.shape))
    return found


def test_every_layout_compiles_and_keeps_numpys_order() -> None:
    f = tracejit.jit(increment, strict=True)
    for rows in (6, 5, 6):
        for x in layouts(rows):
            expected, actual = increment(x), f(x)
            assert_same(expected, actual)
            assert [s for s, n in zip(expected.strides, x.shape, strict=True) if n > 1] == [
                s for s, n in zip(actual.strides, x.shape, strict=True) if n > 1
            ]
        if rows == 5:
            count = len(f.report().compiles)
    # Nothing is new the second time.
    assert len(f.report().compiles) == count


def test_the_order_of_axes_is_checked_where_strides_are_traced() -> None:
    """Two arrays of one shape whose strides lie in another order, both not dense."""
    memory = block(20, 20)
    plain, turned = memory[:8:2, :8:2], memory.T[:8:2, :8:2]
    f = tracejit.jit(increment, strict=True)
    for x in (plain, turned, plain, turned):
        assert_same(increment(x), f(x))
        assert f(x).strides == increment(x).strides
    assert len(f.report().compiles) == 2


def test_a_new_dtype_or_layout_profits_from_the_sizes_seen() -> None:
    single = [block(n).astype(np.float32) for n in (5, 9)]
    calls = [block(5), block(7), *single, block(18)[::2], block(22)[::2]]
    assert compiles(increment, *[(x,) for x in calls]) == [1, 2, 3, 3, 4, 4]


def test_each_dtype_and_rank_has_code_of_its_own() -> None:
    dtypes = [np.float64, np.float32, np.int64, np.int8, np.uint16, np.complex128, np.bool_]
    calls: list[Any] = [(block(3).astype(d),) for d in (*dtypes, *dtypes)]
    assert compiles(increment, *calls) == [1, 2, 3, 4, 5, 6, 7] + [7] * 7
    ranks = [(3,), (3, 3), (4, 3), (5, 3), (2, 2, 2), ()]
    assert compiles(increment, *[(block(*s),) for s in ranks]) == [1, 2, 3, 3, 4, 5]


def test_what_an_array_is_besides_its_type_does_not_matter() -> None:
    locked = block(4)
    locked.flags.writeable = False
    unpickled = pickle.loads(pickle.dumps(block(4)))
    on_buffer = np.frombuffer(block(4).tobytes())
    calls = [(x,) for x in (block(4), locked, unpickled, on_buffer)]
    assert compiles(increment, *calls) == [1, 1, 1, 1]


class Subclass(np.ndarray):
    pass


ODD = [
    block(3).view(Subclass),
    block(3).astype(object),
    np.frombuffer(bytes(25), np.uint8)[1:].view(np.float64),
    block(3).astype(">f8"),
    block(3).astype(np.dtype(np.float64, metadata={"unit": "m"})),
    np.ma.masked_array(block(3), [False, True, False]),
    np.zeros(3, [("a", np.float64), ("b", np.int8)])["a"],
]


@pytest.mark.parametrize("odd", ODD, ids=lambda x: f"{type(x).__name__} {x.dtype} {x.strides}")
def test_odd_arrays_run_eagerly_and_are_reported(odd: Any) -> None:
    f = tracejit.jit(increment)
    for _ in range(2):
        expected, result = increment(odd), f(odd)
        assert type(result) is type(expected)
        assert result.dtype == expected.dtype
        assert (result == expected).all()
        assert_same(increment(X), f(X))
    assert len(f.report().compiles) == 1
    assert [x.code for x in f.report().fallbacks] == ["TJ003"]
    with pytest.raises(TraceError, match="TJ003"):
        leaf_key(odd)


# Numbers and constants ---------------------------------------------------------------------------


def test_an_int_is_static_until_its_second_value() -> None:
    counts = compiles(times, *[(X, n) for n in (2, 2, 3, 5, 100, -1, 0, 1, -7, 2**62, 2)])
    assert counts[:5] == [1, 1, 2, 2, 2]
    # Ints that might be sizes and ints of every value are two things at most.
    assert counts[5] <= 3 and counts[5:] == [counts[5]] * 6
    assert compiles(times, *[(X, n) for n in (0, 1, 2, -3)]) == [1, 2, 2, 2]


def test_an_int_that_is_no_size_of_the_array_may_equal_one() -> None:
    counts = compiles(times, *[(block(n), n) for n in (3, 4, 5)], (block(5), 9), (block(6), 2))
    assert counts[:3] == [1, 2, 2]
    assert counts[-1] <= 3


def test_an_int_of_more_than_64_bits_runs_eagerly() -> None:
    f = tracejit.jit(times)
    for n in (2**70, 2, -(2**63) - 1, 3, 2**63):
        assert_same(times(X, n), f(X, n))
    assert [x.code for x in f.report().fallbacks] == ["TJ003"]


def test_floats_and_complex_numbers_are_traced() -> None:
    values = [2.0, 3.5, np.nan, np.inf, -0.0, 5e-324]
    assert compiles(times, *[(X, v) for v in values]) == [1] * 6
    assert compiles(times, *[(X, v) for v in (2j, 3 + 1j, complex(0.0, -0.0))]) == [1] * 3
    kinds = [2, 2.0, 2j, True, np.float64(2), np.float32(2), np.int8(2), np.array(2.0)]
    assert compiles(times, *[(X, v) for v in [*kinds, *kinds]]) == [*range(1, 9)] + [8] * 8
    assert compiles(times, *[(X, np.int8(v)) for v in (3, 4, -5)]) == [1] * 3


def test_the_sign_of_zero_is_not_lost() -> None:
    def divided(x: Any, a: float) -> Any:
        return np.copysign(x, a)

    assert compiles(divided, (X, 0.0), (X, -0.0), (X, 0.0)) == [1, 1, 1]


def test_numbers_whose_value_the_trace_needs_are_constants() -> None:
    def folded(x: Any, rows: float) -> Any:
        return x.reshape(int(rows), -1) + rows

    values = [2.0, 3.0, 4.0, 2.0, 3.0, float("4.0"), 6.0]
    counts = compiles(folded, *[(block(12), v) for v in values])
    assert counts == sorted(counts) and len(set(counts[2:6])) == 1 and counts[-1] <= 4

    def along(x: Any, axis: int) -> Any:
        return x.max(axis=axis)

    axes = [0, 1, 2, -1, 0, 1, 2, -1]
    assert compiles(along, *[(block(3, 4, 5), k) for k in axes]) == [1, 2, 3, 4, 4, 4, 4, 4]


def test_8_values_of_a_constant_are_the_limit() -> None:
    limit = dispatch._STATIC_VARIANTS

    def of_text(x: Any, a: float) -> Any:
        return x + float(f"{a}")

    f = tracejit.jit(of_text)
    for k in range(12):
        assert_same(of_text(X, k / 2), f(X, k / 2))
    assert len(f.report().compiles) <= limit
    assert len(f.report().fallbacks) == 1


def test_other_constants_compile_once_for_each_value() -> None:
    def chosen(x: Any, how: Any) -> Any:
        return x + 1 if how in ("a", None, True) else x - 1

    values = ["a", "b", "".join(["a"]), None, True, False, "b", None, False]
    assert compiles(chosen, *[(X, v) for v in values]) == [1, 2, 2, 3, 4, 5, 5, 5, 5]

    def applied(x: Any, g: Any) -> Any:
        return g(x)

    functions = [np.sqrt, np.exp, np.sqrt, abs, np.exp]
    assert compiles(applied, *[(X, g) for g in functions]) == [1, 2, 2, 3, 3]


def test_equal_constants_of_other_types_are_told_apart() -> None:
    def described(x: Any, k: Any) -> Any:
        return x * k, type(k) is bool

    f = tracejit.jit(described, strict=True)
    for k in (1, True, 1.0, True, 1, 1.0):
        assert_same(described(X, k), f(X, k))


# Containers and calls ----------------------------------------------------------------------------


def test_containers_are_part_of_the_kind() -> None:
    def first_and_last(xs: Any) -> Any:
        return xs[0] * 2 + xs[-1]

    x, y = block(3), block(4)
    calls = [[x, x], (x, x), [x], [y, y], {0: x, -1: x}, [x, x], (x, x), {0: y, -1: y}, [y]]
    counts = compiles(first_and_last, *[(c,) for c in calls])
    assert counts[:4] == [1, 2, 3, 4]
    assert counts[4] == 5 and counts[5:7] == [5, 5]
    assert counts[-1] <= 7


def test_keywords_share_code_with_positions() -> None:
    def scaled(x: Any, y: Any = 2.0) -> Any:
        return x * y

    f = tracejit.jit(scaled, strict=True)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((X, 3.0), {}),
        ((X,), {"y": 3.5}),
        ((), {"x": X, "y": 4.0}),
        ((), {"y": 5.0, "x": X}),
    ]
    for args, kwargs in calls:
        assert_same(scaled(*args, **kwargs), f(*args, **kwargs))
        assert len(f.report().compiles) == 1
    assert_same(scaled(X), f(X))
    assert_same(scaled(x=X), f(x=X))
    assert len(f.report().compiles) == 2


# The choice itself -------------------------------------------------------------------------------


def chosen(*calls: tuple[Any, ...]) -> list[str]:
    """The signatures of compiles for these calls, one after the other."""
    histories: dict[object, History] = {}
    return [
        specialize(leaves, histories.setdefault(rank_key(leaves), History())).text
        for leaves in calls
    ]


def test_signatures() -> None:
    x = block(4, 6)
    assert chosen((x,), (x[:3],), (x[:, :1],), (x.T,), (x[:0],)) == [
        "f64[4, 6]",
        "f64[n0, 6]",
        "f64[n0, 1] strided",
        "f64[n0, n1] @ (1, 0,)",
        "f64[0, n0]",
    ]
    assert chosen((block(5), block(5)), (block(7), block(7)), (block(6), block(9))) == [
        "f64[5], f64[5]",
        "f64[n0], f64[n0]",
        "f64[n0], f64[n1]",
    ]
    assert chosen((X, 2.5, 1j, True, None, "how", np.int8(1))) == [
        "f64[3], float, complex, True, None, 'how', i8"
    ]
    assert chosen((-3,), (-4,)) == ["-3", "int"]


def test_constants_on_demand() -> None:
    history = History()
    leaves = (X, 2, 2.5, np.float32(1.5))
    assert specialize(leaves, history, scalars_static=True).text == "f64[3], 2, 2.5, float32"


def test_ranks_have_histories_of_their_own() -> None:
    assert rank_key((X, 1, 2.0)) == rank_key((block(9), 7, "text"))
    keys = [(X, 1), (X, True), (X, X), (block(2, 2), 1), (X,)]
    assert len({rank_key(leaves) for leaves in keys}) == len(keys)
    assert chosen((block(3),), (block(4, 4),), (block(5),)) == ["f64[3]", "f64[4, 4]", "f64[n0]"]

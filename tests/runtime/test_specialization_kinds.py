"""Which layouts, dtypes, ranks, numbers, constants and containers share compiled code."""

from __future__ import annotations

import itertools
import math
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime.specializing import X, block, compiles, increment, times
from tests.support.compare import assert_same
from tracejit.errors import TraceError
from tracejit.runtime import dispatch, native
from tracejit.runtime.call.signature import leaf_key

pytestmark = pytest.mark.sampled(9)

# Layouts, dtypes, ranks --------------------------------------------------------------------------


@pytest.mark.compiles
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


@pytest.mark.compiles
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


@pytest.mark.compiles
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


@pytest.mark.parametrize("place", ["argument", "list", "attribute"])
@pytest.mark.parametrize("native_calls", [True, False])
def test_a_nan_that_is_a_constant_is_one_object(
    place: str, native_calls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not native_calls:
        monkeypatch.setattr(native, "available", lambda: False)
    owner = SimpleNamespace(first=0.0)

    def held(x: Any) -> Any:
        if place == "attribute":
            x = owner.first
        elif place == "list":
            x = x[0]
        return x in (math.nan, 2.0), [x, 1.0] == [math.nan, 1.0], (1.0, x).index(x)

    f = tracejit.jit(held)
    other = float("nan")
    for v in (other, math.nan, 2.0, other, math.nan, float("nan"), complex(0.0, other), other):
        owner.first = v
        given = [v] if place == "list" else v
        assert_same(held(given), f(given))


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


# Reasons -----------------------------------------------------------------------------------------


def reasons(function: Any, *calls: tuple[Any, ...]) -> list[str]:
    """Why there was a compile, one after the other."""
    f = tracejit.jit(function, strict=True)
    for args in calls:
        f(*args)
    return [reason for reason, _ in f.report().compiles]


def test_each_compile_has_its_reason() -> None:
    single = X.astype(np.float32)
    arrays = [X, block(4), single, X[::-1], block(1), block(2, 2), single[::-1]]
    assert reasons(increment, *[(x,) for x in arrays]) == [
        "first call",
        "new size made symbolic: x.shape[0] is 4 instead of 3",
        "new dtype: x is float32 instead of float64",
        "new layout: x has strides instead of C order",
        "new size: x.shape[0] is 1 instead of 2 or more",
        "new number of axes: x has 2 instead of 1",
        "new dtype: x is float32 instead of float64",
    ]
    numbers = [True, False, 2, 2.0, np.int8(2), np.float32(2), 2j, 3, -1]
    assert reasons(times, *[(X, n) for n in numbers]) == [
        "first call",
        "new constant: n is False instead of True",
        "new kind of argument: n is int instead of False",
        "new kind of argument: n is float instead of int",
        "new kind of argument: n is numpy.int8 instead of float",
        "new kind of argument: n is numpy.float32 instead of numpy.int8",
        "new kind of argument: n is complex instead of numpy.float32",
        "new value made traced: n is 3 instead of 2",
        "new value that is not like a size: n is -1",
    ]
    structures = reasons(lambda xs: xs[0] + 1, ([X],), ([X, 1.0],), ((X,),))
    assert structures[1:] == [
        "new structure: xs has 2 elements instead of 1",
        "new structure: xs is a tuple instead of a list",
    ]


def test_reasons_from_sizes_and_from_outside() -> None:
    shift = 1

    def moved(x: Any, axis: int) -> Any:
        if x.shape[0] > 10:
            return x.sum(axis=axis) + shift
        return x.sum(axis=axis) - shift

    f = tracejit.jit(moved, strict=True)
    for x, axis in ((block(3, 3), 0), (block(4, 4), 0), (block(4, 5), 0), (block(20, 5), 0)):
        f(x, axis)
    f(block(4, 4), 1)
    shift = 2
    f(block(4, 5), 0)
    found = [reason for reason, _ in f.report().compiles]
    assert found == [
        "first call",
        "new size made symbolic: x.shape[0] is 4 instead of 3; "
        "new size made symbolic: x.shape[1] is 4 instead of 3",
        "sizes no longer equal: x.shape[1] is 5, x.shape[0] is 4",
        "other decision on sizes: x.shape[0] <= 10 no longer holds",
        "new static value: axis is 1 instead of 0",
        "changed closure: shift is 2 instead of 1",
    ]


# Functions ---------------------------------------------------------------------------------------


def scaled(k: Any) -> Any:
    return lambda x: x * k


def shifted(k: Any) -> Any:
    return lambda x: x + k


def applied_to_ones(f: Any, n: int) -> Any:
    return f(np.ones(n))


@pytest.mark.compiles
def test_functions_of_one_code_share_what_is_compiled() -> None:
    def of(makes: Any) -> list[int]:
        return compiles(applied_to_ones, *[(make(k), 3) for make, k in makes])

    factors = [(scaled, float(k)) for k in range(5)]
    assert of(factors) == [1, 2, 2, 2, 2]  # A number is traced from its second value on.
    arrays = [(scaled, X * k) for k in range(5)]
    assert of(arrays) == [1] * 5
    assert of([*arrays, (shifted, X)]) == [1] * 5 + [2]

    def with_default(k: Any) -> Any:
        return lambda x, *, p=2 * k, q=k: x * p + q

    assert of([(with_default, X * k) for k in range(4)]) == [1] * 4

    def nested(k: Any) -> Any:
        inner = scaled(k)
        return lambda x: inner(x) + inner(x)

    assert of([(nested, X * k) for k in range(4)]) == [1] * 4


class Layer:
    def __init__(self, f: Any) -> None:
        self.f, self.w = f, np.arange(3.0)

    def __call__(self, x: Any) -> Any:
        return self.f(self.w * x)


def test_functions_of_objects_and_of_containers_do_so_too() -> None:
    assert compiles(Layer.__call__, *[(Layer(scaled(X * k)), 2.0) for k in range(4)]) == [1] * 4

    def each(fs: Any, x: Any) -> Any:
        return [f(x) for f in fs["all"]]

    calls = [({"all": [scaled(X * k), shifted(X - k)]}, X) for k in range(4)]
    assert compiles(each, *calls) == [1] * 4


def test_which_function_it_is_counts_where_that_is_asked() -> None:
    known = scaled(X)
    others = [scaled(X * k) for k in range(3)]

    def is_known(f: Any, x: Any) -> Any:
        return x + 1 if f is known else f(x)

    def is_one(f: Any, g: Any, x: Any) -> Any:
        return x + 1 if f in (g,) else f(x)

    def same(f: Any, g: Any, x: Any) -> Any:
        return x * 2 if f is g else f(x) - g(x)

    def held(f: Any, x: Any) -> Any:
        table = {known: 1.0, f: 2.0}
        return x * table[f] + len(table)

    for f in (is_known, held):
        g = tracejit.jit(f)
        for k in (*others, known, *others, known):
            assert_same(f(k, X), g(k, X))
    for f in (is_one, same):
        g = tracejit.jit(f)
        for a in (*others, known):
            for b in (*others, known):
                assert_same(f(a, b, X), g(a, b, X))


def test_functions_that_are_given_back_or_kept_are_those_of_the_call() -> None:
    box: dict[str, Any] = {"last": None}

    @tracejit.jit
    def kept(owner: Any, f: Any, x: Any) -> Any:
        owner.f = f
        box["last"] = f
        return f, x + 1

    for k in range(4):
        owner, f = Layer(None), scaled(X * k)
        found, _ = kept(owner, f, X)
        assert found is f and owner.f is f and box["last"] is f


def test_cells_that_are_shared_or_bound() -> None:
    def pair(k: Any) -> Any:
        def get() -> Any:
            return k

        def put(v: Any) -> None:
            nonlocal k
            k = v

        return get, put

    def both(get: Any, put: Any, v: Any) -> Any:
        before = get()
        put(v)
        return before, get()

    for mixed in (False, True):
        f = tracejit.jit(both)
        for k in range(4):
            (get, put), (other, _) = pair(float(k)), pair(-1.0)
            expected = (-1.0, -1.0) if mixed and k % 2 else (float(k), k + 0.5)
            assert f(other if mixed and k % 2 else get, put, k + 0.5) == expected
            assert get() == k + 0.5 and other() == -1.0

    total = 0.0

    def read() -> Any:
        return total

    def counted(f: Any, x: Any) -> Any:
        nonlocal total
        total = x
        return f() + x

    def another(value: Any) -> Any:
        def read() -> Any:
            return value

        return read

    g = tracejit.jit(counted)
    assert [g(f, 2.0) for f in (another(1.0), read, another(3.0), read)] == [3.0, 4.0, 5.0, 4.0]


def test_changes_of_functions_are_seen() -> None:
    f = tracejit.jit(applied_to_ones)
    g = shifted(X)
    assert_same(f(g, 3), X + 1)
    g.__code__ = scaled(X).__code__
    assert_same(f(g, 3), X * 1)
    g.__closure__[0].cell_contents = X + 2
    assert_same(f(g, 3), X + 2)
    other = eval("lambda x: x * k", {"k": 3.0})
    assert_same(f(other, 3), np.full(3, 3.0))
    again = type(other)(other.__code__, {"k": 4.0})
    assert_same(f(again, 3), np.full(3, 4.0))


class Gain:
    def __init__(self, k: Any) -> None:
        self.k = k

    def times(self, x: Any) -> Any:
        return x * self.k

    def plus(self, x: Any) -> Any:
        return x + self.k


def test_methods_of_one_class_share_what_is_compiled() -> None:
    gains = [Gain(X * k) for k in range(4)]
    assert compiles(applied_to_ones, *[(g.times, 3) for g in gains]) == [1] * 4
    calls = [(f, 3) for g in gains for f in (g.times, g.plus)]
    assert compiles(applied_to_ones, *calls) == [1, 2] + [2] * 6

    def same(f: Any, g: Any, x: Any) -> Any:
        return (f, x) if f is g else (g, -x)

    f = tracejit.jit(same)
    for gain in gains:
        a, b = gain.times, gain.times
        for pair in ((a, b), (a, a), (a, gain.plus), (b, b), (a, b)):
            (found, x), (expected, y) = f(*pair, X), same(*pair, X)
            assert found is expected
            assert_same(y, x)


def test_truth_of_objects_asks_their_classes() -> None:
    def chosen(x: Any, gain: Any) -> Any:
        return x * gain.k if gain else x

    f = tracejit.jit(chosen)
    for k in range(3):
        assert_same(chosen(X, Gain(X * k)), f(X, Gain(X * k)))
    assert len(f.report().compiles) == 1 and len(f._entries) == native.available()
    gain = Gain(X)
    gain.__bool__ = lambda: False  # type: ignore[attr-defined]
    assert_same(X * X, f(X, gain))
    Gain.__bool__ = lambda self: False  # type: ignore[attr-defined]
    try:
        assert_same(X, f(X, gain))
    finally:
        del Gain.__bool__  # type: ignore[attr-defined]
    assert_same(X * X, f(X, gain))

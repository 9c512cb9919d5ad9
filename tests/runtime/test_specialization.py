"""Which sizes of arguments share compiled code, and when there are no more compiles."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime.specializing import X, block, compiles, ends, increment, times
from tests.support.compare import assert_same
from tracejit.errors import FallbackError
from tracejit.runtime import dispatch
from tracejit.runtime.call.signature import History, rank_key, specialize
from tracejit.runtime.compile import specialize as specialize_module

pytestmark = pytest.mark.compiles

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


def test_guards_that_divide_by_a_size_are_broken_where_it_is_zero() -> None:
    def rolled(x: Any) -> Any:
        return np.roll(x[2:], 3)

    f = tracejit.jit(rolled, strict=True)
    for n in (0, 3, 2, 5, 9, 0, 2):
        assert_same(rolled(block(n)), f(block(n)))


def test_a_size_whose_value_is_needed_compiles_for_16_values() -> None:
    def spelled(x: Any) -> Any:
        return x + int(str(x.shape[0]))

    f = tracejit.jit(spelled)
    for n in range(2, 30):
        assert_same(spelled(block(n)), f(block(n)))
    assert len(f.report().compiles) <= 16
    (fallback,) = f.report().fallbacks
    assert fallback.code in ("TJ012", "TJ021")


def test_what_fails_with_sizes_that_vary_is_compiled_for_each() -> None:
    def labelled(x: Any) -> Any:
        rows = {}
        for k in range(len(x)):
            rows[str(k)] = x[k] * 2
        return np.array(list(rows.values()))

    f = tracejit.jit(labelled, strict=True)
    for n in (3, 4, 5, 3, 4):
        assert_same(labelled(block(n)), f(block(n)))
    assert [signature for _, signature in f.report().compiles] == ["f64[3]", "f64[4]", "f64[5]"]
    assert f.report().fallbacks == []
    (line,) = [x for x in f.report().variants[1].lines if x.kind == "static"]
    assert "TJ018" in line.why
    # Another call of the same form goes there directly.
    assert f.report().variants[2].reason == "new size: x.shape[0] is 5 instead of 4"
    assert not any(x.kind == "static" for x in f.report().variants[2].lines)


def test_what_needs_each_size_is_compiled_without_symbols() -> None:
    def by_size(x: Any) -> Any:
        return x + sum([0.5, 0.5] * x.shape[0])

    f = tracejit.jit(by_size, strict=True)
    for n in (3, 4, 5, 3):
        assert_same(by_size(block(n)), f(block(n)))
    assert [signature for _, signature in f.report().compiles] == ["f64[3]", "f64[4]", "f64[5]"]


def test_what_fails_with_any_sizes_is_eager_for_the_first_reason() -> None:
    def timed(x: Any) -> Any:
        for k in range(len(x)):
            x[k] += time.time() * 0
        return x

    f = tracejit.jit(timed)
    for n, dtype in ((3, "f8"), (4, "f4"), (5, "f4")):
        x = block(n).astype(dtype)
        assert_same(timed(x.copy()), f(x.copy()))
    assert [(x.code, x.reason) for x in f.report().fallbacks] == [("TJ002", "time.time")]


def test_what_fails_for_many_kinds_of_calls_is_not_tried_for_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = []
    original = specialize_module.trace_call

    def counted(*args: Any, **kwargs: Any) -> Any:
        tried.append(args[0])
        return original(*args, **kwargs)

    monkeypatch.setattr(specialize_module, "trace_call", counted)

    def named(x: Any, name: str) -> Any:
        return x + len(name) + time.time() * 0 if name else x + 1

    f, g = tracejit.jit(named), tracejit.jit(named)
    for k in range(1, 30):
        assert_same(named(X, "a" * k), f(X, "a" * k))
    assert len(tried) == 4
    assert [x.code for x in f.report().fallbacks] == ["TJ002"]
    # Where one of them has been compiled, calls like that one are still answered by it.
    tried.clear()
    for k in range(30):
        assert_same(named(X, "a" * k), g(X, "a" * k))
        assert_same(named(X, ""), g(X, ""))
    assert len(tried) <= 7


def test_16_variants_are_the_limit() -> None:
    limit = dispatch._VARIANTS
    assert limit == 16

    def by_size(x: Any) -> Any:
        # Each of these is a guard of its own.
        n = x.shape[0]
        return x + sum([0.5, 0.5] * n)

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

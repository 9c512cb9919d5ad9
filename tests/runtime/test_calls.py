"""Arguments and results of every kind: numbers, containers, views, odd arrays, plain objects."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import pieces
from tests.support.compare import assert_parity, assert_same

X = np.arange(3.0)


def state() -> pieces.State:
    return pieces.State(np.arange(3.0), np.ones(3), 0.5)


CONTAINERS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (pieces.moved, (state(), 0.1)),
    (pieces.rename, (pieces.Frozen((X, X + 1), "a"),)),
    (pieces.limited, (X, pieces.Limits(np.ones(3), 2.0))),
    (pieces.nested, ({"a": [X, {"b": 2.0}], "c": np.float32(1)},)),
    (pieces.several, (np.arange(6, dtype=np.int16).reshape(2, 3),)),
    (pieces.same_thing_twice, (X,)),
    (pieces.two_equal_results, (X,)),
    (pieces.add, (X, X)),
    (pieces.add, ([1, 2], [3])),
    (pieces.add, ((X,), (X, None))),
    (pieces.add, ("a", "b")),
]


@pytest.mark.parametrize("f, args", CONTAINERS, ids=lambda value: getattr(value, "__name__", None))
def test_containers(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert_parity(f, *args, calls=3)


def test_containers_of_changing_structure() -> None:
    trees = [
        {"a": [X, {"b": 2.0}], "c": np.float32(1)},
        {"a": [X, {"b": X}], "c": np.float32(1)},
        {"a": (X, {"b": 2.0}), "c": X.astype(np.int8)},
        {"c": np.float32(1), "a": [X, {"b": 2.0}]},
        {"c": np.float32(1), "a": [X, {"x": 2.0}]},
        {"c": np.float32(1)},
    ]
    assert_parity(pieces.nested, trees[0], also=[(tree,) for tree in trees])


def test_results_are_fresh_at_each_call() -> None:
    f = tracejit.jit(pieces.two_equal_results)
    first, second = f(X), f(X)
    first[0][:] = -1
    assert_same(first[1], X + 1)
    assert_same(second, (X + 1, X + 1))
    tree = tracejit.jit(pieces.nested)
    one = tree({"a": [X, {"b": X}], "c": X})
    one["list"].append(1)
    one["empty"].append(1)
    again = tree({"a": [X, {"b": X}], "c": X})
    assert len(again["list"]) == 2
    assert again["empty"] == []


def test_overlapping_and_repeated_arguments() -> None:
    memory = np.arange(6.0)
    pairs = [(memory, memory), (memory[:4], memory[2:]), (memory[::2], memory[1::2])]
    assert_parity(pieces.add, *pairs[0], also=[*pairs, (memory[:4], memory[3::-1])])


SCALARS = [
    *(True, False, 0, 3, -(2**63), 2**63, 2**80, 0.0, -0.0, 2.5, float("nan"), float("inf"), 1j),
    *(np.bool_(True), np.int8(127), np.uint8(255), np.int64(-(2**63)), np.uint64(2**64 - 1)),
    *(np.float16(65504), np.float32(1e38), np.float64(-0.0), np.complex64(1j), np.longdouble(1)),
    *(np.array(2), np.array(2.5, np.float32), np.array([]), "ab", None),
]


def test_kinds_of_number() -> None:
    assert_parity(pieces.kinds, *SCALARS[:1], also=[(x,) for x in SCALARS + SCALARS[::-1]])
    for scalar in SCALARS:
        assert_parity(pieces.kinds, scalar)


def test_python_integers_do_not_wrap() -> None:
    numbers = [3, 2**20, 2**21, 2**31, 2**62, -(2**70), 0, True]
    assert_parity(pieces.overflowing, 2, also=[(n,) for n in numbers])


def test_pairs_of_kinds() -> None:
    jitted = tracejit.jit(pieces.add)
    arrays = [X, X.astype(np.float32), np.arange(3, dtype=np.uint8), X > 1, X * 1j, np.array(1)]
    for left in SCALARS + arrays:
        for right in arrays:
            assert_parity(pieces.add, left, right, jitted=jitted, calls=1)


def test_floats_do_not_recompile_and_keep_the_sign_of_zero() -> None:
    numbers = [1.0, 0.0, -0.0, -2.0, float("inf"), float("-inf"), float("nan"), 5e-324]
    jitted = assert_parity(pieces.signed_zero, X, 1.5, also=[(X, a) for a in numbers])
    assert len(jitted.report().compiles) == 1


def test_integers_and_other_plain_values() -> None:
    assert_parity(
        pieces.powers_and_shapes, X, 3, also=[(X, n) for n in (*range(14), -1, True)], ulp=2,
        parity="ulp",
    )  # fmt: skip
    assert_parity(pieces.reduced, X, "sum", also=[(X, "max"), (X, "sum"), (X, "no such")])
    dtypes = [np.float32, "int8", np.dtype("c8"), float, None]
    assert_parity(pieces.as_dtype, X, np.int32, also=[(X, dtype) for dtype in dtypes])
    functions = [np.sqrt, np.sum, np.unique, abs, pieces.helper, len, lambda x: x.T]
    assert_parity(pieces.applied, np.cos, X, also=[(g, X) for g in functions], parity="ulp")
    flags = [(X, False), (X, True, 0), (X, 1, -1), (X, 0, None), (X, True, 1)]
    assert_parity(pieces.conditional, X, also=flags)


def test_dtypes_with_another_descriptor_object() -> None:
    odd = pickle.loads(pickle.dumps(X))
    tagged = X.astype(np.dtype("f8", metadata={"unit": "m"}))
    assert_parity(pieces.chain, X, X, also=[(odd, X), (tagged, odd)], parity="ulp", ulp=4)
    longs = np.arange(3, dtype=np.longlong)
    assert_parity(pieces.add, np.arange(3), np.arange(3), also=[(longs, longs), (longs, 1)])


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_arrays_that_are_not_plain() -> None:
    class Tagged(np.ndarray):
        pass

    class Odd:
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> str:
            return f"{ufunc.__name__} {method}"

        def __deepcopy__(self, memo: Any) -> Odd:
            return self

    odd = Odd()
    masked = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
    others = [X.view(Tagged), masked, X.astype(object), X.astype(">f8"), np.asmatrix(np.eye(3))]
    assert_parity(pieces.add, X, X, also=[(other, other) for other in [*others, odd, X]])
    result = tracejit.jit(pieces.add)(masked, 1)
    assert isinstance(result, np.ma.MaskedArray)
    assert result.mask.tolist() == [False, True, False]


def test_generators_and_coroutines() -> None:
    assert list(tracejit.jit(pieces.counts_up)(3)) == [3, 2, 1]
    coroutine = tracejit.jit(pieces.waits)(X)
    with pytest.raises(StopIteration) as stop:
        coroutine.send(None)
    assert_same(stop.value.value, X + 1)

"""Lists of numbers become arrays in front of a program, and arrays become lists behind it."""

import gc
import sys
from typing import Any

import numpy as np
import pytest

from tests.runtime.native.native_entries import ADD, F8, Linked, N
from tracejit.frontend.capture.paths import Packed, Positional
from tracejit.frontend.tracing.packed import (
    Arrays,
    Ragged,
    Rows,
    class_of_name,
    column_paths,
    pack,
)
from tracejit.runtime import native
from tracejit.runtime.call.entry_spec import ArrayLeaf, EntrySpec, OutArray, OutLeaf, OutList

pytestmark = pytest.mark.skipif(not native.available(), reason=native.why_not())

FIRST = Positional(0)
#: (form, a list that has it, lists that have not).
FORMS: list[tuple[Any, list[Any], list[Any]]] = [
    ("float", [1.5, -0.0, 3.0], [[1.5, 1], [1.5, np.float64(1)], [1.5, None], ["a", 1.0]]),
    ("int", [1, -(2**63), 2**63 - 1], [[1, 2**63], [1, True], [1, 1.0]]),
    ("bool", [True, False, True], [[True, 1], [False, None]]),
    ("complex", [1j, complex(2, -3), 0j], [[1j, 1.0]]),
    ("numpy.float64", [np.float64(1.5), np.float64(2)], [[np.float64(1), 1.0]]),
    ("numpy.float32", [np.float32(1.5), np.float32(2)], [[np.float32(1), np.float64(1)]]),
    ("numpy.int64", [np.int64(1), np.int64(-7)], [[np.int64(1), np.int32(1)], [np.int64(1), 1]]),
    (
        ("float", ("int", "bool")),
        [(1.5, (1, True)), (2.5, (2, False))],
        [[(1.5, (1, True)), (2.5, (2,))], [(1.5, 1)], [(1.5, (1, 1))], [[1.5, (1, True)]]],
    ),
    (
        Rows("float"),
        [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        [[[1.0, 2.0], [3.0]], [[1.0, 2.0], (3.0, 4.0)], [[]], [[1.0, 2.0], [3.0, 4]]],
    ),
    (
        Ragged("int"),
        [[1, 2], [], [3], []],
        [[[], []], [[1], (2, 3)], [[1], [2.0, 3]], [[1], None], [[1], [2**63, 3]]],
    ),
    (
        Ragged(("int", "float")),
        [[], [(1, 2.0), (3, 4.0)], [(5, 6.0)]],
        [[[(1, 2.0)], [(3,)]], [[(1, 2.0)], [(3, 4)]], [[(1, 2.0)], [[3, 4.0]]]],
    ),
    (
        Arrays(np.dtype(np.float64), 1),
        [np.arange(3.0), np.arange(0.0), np.arange(2.0)],
        [
            [np.arange(3.0), np.arange(3)],
            [np.arange(3.0), np.ones((2, 2))],
            [np.arange(2.0), [1.0]],
        ],
    ),
    (
        Arrays(np.dtype(np.int16), 2),
        [np.ones((1, 3), np.int16), np.zeros((4, 3), np.int16)],
        [[np.ones((1, 3), np.int16), np.ones((1, 2), np.int16)], [np.ones(3, np.int16)]],
    ),
]


def array_leaves(form: Any) -> list[ArrayLeaf]:
    if isinstance(form, Arrays):
        rest = tuple(f"m{k}" for k in range(1, form.ndim))
        places = [ArrayLeaf(np.dtype(np.int64), ("n",))] * 2
        return [*places, ArrayLeaf(form.dtype, ("total", *rest))]
    if isinstance(form, Ragged):
        places = [ArrayLeaf(np.dtype(np.int64), ("n",))] * 2
        inner = array_leaves(form.of)
        return [*places, *(ArrayLeaf(leaf.dtype, ("total",)) for leaf in inner)]
    leaves = []
    for _, last in column_paths(form):
        name = last.of if isinstance(last, Rows) else last
        dims = ("n", "m") if isinstance(last, Rows) else ("n",)
        leaves.append(ArrayLeaf(np.dtype(class_of_name(name)), dims))
    return leaves


def packing(form: Any) -> Linked:
    """An entry that gives the arrays of a list."""
    found = enumerate(array_leaves(form))
    leaves = [(Packed(FIRST, form, k), leaf) for k, leaf in found]
    outputs = tuple(map(OutLeaf, range(len(leaves))))
    return Linked(EntrySpec(tuple(leaves), 1, outputs=outputs, result="tuple"))


@pytest.mark.parametrize(("form", "good", "bad"), FORMS, ids=str)
def test_columns_of_lists(form: Any, good: list[Any], bad: list[Any]) -> None:
    linked = packing(form)
    expected = pack(good, form)
    assert expected is not None
    for entry in (linked.native, linked.python):
        found = entry(good)
        for a, b in zip(found, expected, strict=True):
            assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
            assert a.flags.writeable and a.flags.c_contiguous
        for other in (*bad, [], tuple(good), None, 1.0, type("Odd", (list,), {})(good)):
            assert entry(other) is native.MISS


def test_columns_of_arrays_leak_nothing() -> None:
    linked = packing(Arrays(F8, 1))
    good, bad = [np.arange(3.0), np.arange(2.0)], [np.arange(3.0), np.ones((2, 2))]
    linked.native(good)
    gc.collect()
    before = [sys.getrefcount(x) for x in (good, *good, F8, list, np.ndarray)]
    for _ in range(200):
        linked.native(good)
        linked.native(bad)
    assert [sys.getrefcount(x) for x in (good, *good, F8, list, np.ndarray)] == before


def test_columns_leak_nothing() -> None:
    linked = packing(("float", "int"))
    good, bad = [(1.5, 10**6 + k) for k in range(9)], [(1.5, 10**6), (1.5, "a")]
    linked.native(good)
    gc.collect()
    before = [sys.getrefcount(x) for x in (good, good[0], good[0][1], F8, list, tuple)]
    for _ in range(200):
        linked.native(good)
        linked.native(bad)
    assert [sys.getrefcount(x) for x in (good, good[0], good[0][1], F8, list, tuple)] == before


@pytest.mark.parametrize("form", ["python", "scalar", ("tuple", (("python", 1), ("scalar", 1)))])
def test_lists_of_what_is_in_arrays(form: Any) -> None:
    leaf = ArrayLeaf(F8, ("n",))
    columns = (0,) if isinstance(form, str) else (0, 0)
    outputs = (OutArray(F8, (N,)), OutList(form, columns))
    leaves = ((FIRST, leaf), (Positional(1), leaf))
    linked = Linked(EntrySpec(leaves, 2, ("n",), outputs=outputs, result=1), ADD)
    x = np.arange(5.0)
    expected = linked.python(x, x)
    gc.collect()
    for _ in range(100):
        found = linked.native(x, x)
        assert repr(found) == repr(expected)
    assert type(found) is list
    counts = [[sys.getrefcount(x) for x in (made, *made)] for made in (found, expected)]
    assert counts[0] == counts[1]

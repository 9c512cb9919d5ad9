"""Entries of programs that write to arrays: the memory of each must be its own, or they miss."""

from typing import Any

import numpy as np
import pytest

from tests.runtime.native.native_entries import F8, Linked
from tracejit.frontend.capture.paths import Positional
from tracejit.runtime import native
from tracejit.runtime.call.aliasing import why_not_written
from tracejit.runtime.call.entry_spec import ArrayLeaf, EntrySpec, OutObject, k_order

pytestmark = pytest.mark.skipif(not native.available(), reason=native.why_not())

I4 = np.dtype(np.int32)


def entry(*leaves: ArrayLeaf) -> Linked:
    names = dict.fromkeys(n for x in leaves for n in (*x.dims, *x.strides) if isinstance(n, str))
    spec = EntrySpec(
        leaves=tuple((Positional(k), leaf) for k, leaf in enumerate(leaves)),
        nargs=len(leaves),
        sizes=tuple(names),
        outputs=(OutObject(None),),
    )
    return Linked(spec)


def leaf_of(k: int, array: Any, writeable: bool) -> ArrayLeaf:
    """A leaf that accepts an array, with a symbol for every size and stride that may have one."""
    dims = tuple(f"n{k}_{axis}" if n > 1 else n for axis, n in enumerate(array.shape))
    if array.flags.c_contiguous:
        return ArrayLeaf(array.dtype, dims, writeable=writeable)
    if array.flags.f_contiguous:
        return ArrayLeaf(array.dtype, dims, "F", writeable=writeable)
    steps = [s // array.itemsize for s in array.strides]
    strides = tuple(f"s{k}_{axis}" if s else s for axis, s in enumerate(steps))
    order = k_order(array.shape, array.strides)
    return ArrayLeaf(array.dtype, dims, "A", strides, order, writeable)


def places(array: Any) -> list[int]:
    """The address of every byte of every element."""
    offsets = np.zeros((), np.int64)
    for n, s in zip(array.shape, array.strides, strict=True):
        offsets = offsets[..., None] + np.arange(n) * s
    starts = array.ctypes.data + offsets.ravel()
    return [int(a) + k for a in starts for k in range(array.itemsize)]


def window(rng: Any, memory: Any) -> Any:
    """A random view of a piece of memory, which may share elements with itself."""
    start = rng.integers(0, memory.size - 8)
    piece = memory[start : start + rng.integers(1, 40)]
    match rng.integers(8):
        case 0:
            return piece
        case 1:
            return piece[:: rng.integers(1, 4)]
        case 2:
            return piece[::-1]
        case 3:
            return piece[: piece.size // 2 * 2].reshape(2, -1).T
        case 4:
            rows = piece[: piece.size // 2 * 2].reshape(-1, 2)
            return rows[:: rng.choice([-2, -1, 1, 2]), :1]
        case 5:
            return piece[:0] if rng.integers(2) else piece[:1].reshape(())
        case 6:
            shape = tuple(rng.integers(1, 4, 2))
            steps = tuple(int(s) * memory.itemsize for s in rng.integers(0, 4, 2))
            return np.lib.stride_tricks.as_strided(memory[start:], shape, steps)
        case _:
            flat = piece[: piece.size // 4 * 4].reshape(2, 2, -1)
            return flat.transpose(rng.permutation(3))[:, ::-1]


def test_random_windows() -> None:
    rng = np.random.default_rng(0)
    memory = np.arange(200.0)
    hits = 0
    for _ in range(250):
        count = rng.integers(1, 5)
        arrays = [window(rng, memory if rng.integers(3) else memory.copy()) for _ in range(count)]
        written = [bool(rng.integers(2)) for _ in range(count)]
        linked = entry(*map(leaf_of, range(count), arrays, written))
        accepted = linked.both(*arrays) is None
        leaves = [leaf for _, leaf in linked.spec.leaves]
        text = why_not_written(leaves, arrays, [f"a{k}" for k in range(count)])
        assert accepted == (text is None)
        for k in range(count):
            mine = places(arrays[k])
            if not accepted or not written[k] or not mine:
                continue
            hits += 1
            assert len(set(mine)) == len(mine)
            for other in range(count):
                theirs = [] if other == k else places(arrays[other])
                # Nothing lies even between the first byte and the last.
                assert not any(min(mine) <= place <= max(mine) for place in theirs)
    assert hits > 60


def test_nothing_is_asked_where_nothing_is_written() -> None:
    x = np.arange(6.0)
    linked = entry(*(ArrayLeaf(F8, ("n",)) for _ in range(2)))
    assert linked.both(x, x) is None
    assert linked.both(x[1:], x[:-1]) is None


def test_neighbours_are_apart() -> None:
    memory = np.arange(12.0)
    linked = entry(ArrayLeaf(F8, ("n",), writeable=True), ArrayLeaf(F8, ("m",)))
    for cut in range(2, 11):
        assert linked.both(memory[:cut], memory[cut:]) is None
        assert linked.both(memory[cut:], memory[:cut]) is None
        assert linked.both(memory[:cut], memory[cut - 1 :]) is native.MISS
    assert linked.both(memory, memory) is native.MISS


def test_other_dtypes_may_lie_in_the_same_memory() -> None:
    memory = np.arange(12.0)
    numbers = memory.view(I4)
    linked = entry(ArrayLeaf(F8, ("n",), writeable=True), ArrayLeaf(I4, ("m",)))
    assert linked.both(memory[:3], numbers[6:]) is None
    assert linked.both(memory[:3], numbers[5:]) is native.MISS


def test_read_only_arrays_miss_even_where_they_are_empty() -> None:
    for size in (0, 1, 3):
        x = np.zeros(size)
        linked = entry(leaf_of(0, x, True))
        assert linked.both(x) is None
        x.flags.writeable = False
        assert linked.both(x) is native.MISS
        assert why_not_written([leaf_of(0, x, True)], [x], ["x"]) == ("TJ030", "x is read-only")


@pytest.mark.parametrize("written", [(0,), (7,), (19,), (3, 11, 12), range(20)])
def test_many_arrays(written: Any) -> None:
    memory = np.arange(200.0).reshape(20, 10)
    count = len(memory)
    linked = entry(*(ArrayLeaf(F8, ("n",), writeable=k in written) for k in range(count)))
    assert linked.both(*memory) is None
    for a in range(count):
        for b in (0, 7, 12, 19):
            rows = list(memory)
            rows[a] = memory[b]
            clash = a != b and (a in written or b in written)
            assert linked.both(*rows) is (native.MISS if clash else None)


def test_arrays_that_overlap_themselves_are_named() -> None:
    x = np.lib.stride_tricks.as_strided(np.arange(6.0), (2, 4), (16, 8))
    leaf = ArrayLeaf(F8, (2, 4), "A", (2, 1), (0, 1), True)
    assert entry(leaf).both(x) is native.MISS
    text = "elements of x may share memory"
    assert why_not_written([leaf], [x], ["x"]) == ("TJ030", text)
    other = ArrayLeaf(F8, ("n",))
    y = np.arange(20.0)
    text = why_not_written([other, leaf_of(1, y, True)], [y[2:4], y], ["a", "b"])
    assert text == ("TJ019", "b may share memory with a")

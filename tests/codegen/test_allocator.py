"""Blocks of memory that programs keep from one call to the next."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime.test_threads import together
from tests.support.compare import assert_same
from tracejit.codegen.support.allocator import block_address, kept_bytes
from tracejit.link.places import Place

pytestmark = pytest.mark.usefixtures("never_eager")

LARGE, MEGABYTE = 300_000, 1 << 20

take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(block_address("tj_take"))
give = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(block_address("tj_give"))
grow = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
    block_address("tj_grow")
)

extend = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)(block_address("tj_extend"))


def sorted_twice(x: Any) -> Any:
    return np.sort(np.sort(x * 2)[::-1] + 1)


def prefix_sums(x: Any) -> Any:
    total = 0.0
    for i in range(0, len(x), len(x) // 4 + 1):
        total += np.sort(x[: i + 1])[0]
    return total


@pytest.fixture(autouse=True)
def _no_dying_programs() -> None:
    """Programs of other tests give their blocks back before, not during a test."""
    gc.collect()


def test_a_block_is_used_again_from_its_place() -> None:
    place, before = Place(), kept_bytes()
    block = take(place.address, MEGABYTE)
    assert block % 64 == 0 and kept_bytes() == before
    give(place.address, block)
    assert kept_bytes() == before + MEGABYTE
    assert take(place.address, MEGABYTE - 5) == block and kept_bytes() == before
    give(place.address, block)
    del place
    gc.collect()
    assert kept_bytes() == before


def test_two_users_of_one_place_never_share_a_block() -> None:
    """As a program that runs twice at once: in another thread, or inside a call of Python."""
    place, before = Place(), kept_bytes()
    outer = take(place.address, MEGABYTE)
    inner = take(place.address, MEGABYTE)
    assert outer != inner
    give(place.address, inner)
    give(place.address, outer)
    assert kept_bytes() == before + MEGABYTE


def test_small_blocks_and_those_far_too_large_are_not_kept() -> None:
    place, before = Place(), kept_bytes()
    for n in (0, 1, 1000):
        give(place.address, take(place.address, n))
        assert kept_bytes() == before
    give(place.address, take(place.address, 8 * MEGABYTE))
    assert kept_bytes() == before + 8 * MEGABYTE
    give(place.address, take(place.address, MEGABYTE))
    assert kept_bytes() == before
    give(place.address, None)


def test_what_all_places_keep_is_bounded() -> None:
    places = [Place() for _ in range(12)]
    for place in places:
        give(place.address, take(place.address, 50 * MEGABYTE))
    assert kept_bytes() <= 256 * MEGABYTE


def test_without_memory_there_is_no_block() -> None:
    place = Place()
    assert take(place.address, 1 << 60) is None
    cell = (ctypes.c_int64 * 2)()
    assert grow(place.address, cell, 1 << 60) is None and list(cell) == [0, 0]


def test_a_cell_grows_by_doubling_and_begins_with_what_was_kept() -> None:
    place, cell = Place(), (ctypes.c_int64 * 2)()
    for n, capacity in ((100_000, 100_000), (100_001, 200_000), (500_000, 500_000)):
        assert grow(place.address, cell, n) == cell[0]
        assert cell[1] == capacity
    block = cell[0]
    give(place.address, block)
    fresh = (ctypes.c_int64 * 2)()
    grow(place.address, fresh, 200_000)
    assert list(fresh) == [block, 500_000]
    give(place.address, block)


def test_memory_that_is_extended_keeps_what_was_used() -> None:
    place, first = Place(), (ctypes.c_int64 * 4)(11, 22, 33, 44)
    cell = (ctypes.c_int64 * 3)(ctypes.addressof(first), 32, 0)
    assert extend(place.address, cell, 24, 40) == cell[0] == cell[2]
    assert cell[1] == 4096
    words = (ctypes.c_int64 * 512).from_address(cell[0])
    assert list(words[:3]) == [11, 22, 33]
    words[511] = 55
    before = list(cell)
    assert extend(place.address, cell, 4096, 1 << 61) is None and list(cell) == before
    assert extend(place.address, cell, 4096, -1) is None and list(cell) == before
    extend(place.address, cell, 4096, 1_000_000)
    words = (ctypes.c_int64 * 512).from_address(cell[0])
    assert [words[0], words[511]] == [11, 55] and cell[1] == 1_000_000
    give(place.address, cell[2])
    # What was kept is had at once, but told of only as it is asked for.
    again = (ctypes.c_int64 * 3)(ctypes.addressof(first), 32, 0)
    assert extend(place.address, again, 0, 300_000) == cell[2] and again[1] == 300_000
    assert extend(place.address, again, 0, 300_001) == cell[2] and again[1] == 600_000
    assert extend(place.address, again, 0, 900_000) == cell[2] and again[1] == 1_000_000
    give(place.address, again[2])


@pytest.mark.parametrize("f", [sorted_twice, prefix_sums])
def test_a_program_with_large_temporaries_from_eight_threads(f: Any) -> None:
    jitted = tracejit.jit(f)
    arrays = [np.random.default_rng(i).random(LARGE) for i in range(8)]
    expected = [f(x) for x in arrays]
    jitted(arrays[0])

    def work(i: int) -> None:
        for k in range(6):
            assert_same(jitted(arrays[(i + k) % 8]), expected[(i + k) % 8])

    together(work)


def test_blocks_die_with_their_program() -> None:
    # The library that sorts for all programs keeps a block of its own.
    tracejit.jit(sorted_twice)(np.arange(float(LARGE)))
    gc.collect()
    before = kept_bytes()
    f = tracejit.jit(sorted_twice)
    f(np.arange(float(LARGE)))
    assert kept_bytes() >= before + 8 * LARGE
    del f
    gc.collect()
    assert kept_bytes() <= before


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's own account of the memory")
def test_a_thousand_calls_need_no_more_memory_than_a_few() -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    f, sizes = tracejit.jit(sorted_twice), (20_000, 50_000, 35_000)
    arrays = [np.arange(float(n)) for n in sizes]
    for k in range(30):
        f(arrays[k % 3])
    before = resident()
    for k in range(1000):
        f(arrays[k % 3])
    assert resident() <= before + 2 * MEGABYTE


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_its_own_blocks() -> None:
    """In a process of its own: other tests may have left threads in this one."""
    code = "from tests.codegen.test_allocator import forked; forked()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def forked() -> None:
    """Raises AssertionError where the two processes disturb each other."""
    f, x = tracejit.jit(sorted_twice), np.arange(float(LARGE))
    expected = f(x)
    child = os.fork()
    if child == 0:
        same = all(np.array_equal(f(x), expected) for _ in range(3))
        os._exit(0 if same else 1)
    assert_same(f(x), expected)
    assert os.waitpid(child, 0)[1] == 0

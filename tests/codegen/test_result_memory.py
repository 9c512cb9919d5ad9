"""Large results lie in memory that is kept for the next ones; they own it as NumPy's arrays do."""

import gc
import threading

import numpy as np
import pytest

import tracejit
from tracejit.codegen.support.allocator import MOST_KEPT, kept_bytes
from tracejit.runtime import native

pytestmark = pytest.mark.skipif(not native.available(), reason="entries are not native here")

LARGE = 1 << 18


@tracejit.jit
def shifted(x: np.ndarray, by: float) -> np.ndarray:
    return x + by


@tracejit.jit
def outer(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x[:, None] * y


def handler(x: np.ndarray) -> str | None:
    return np._core.multiarray.get_handler_name(x)


def test_small_results_are_numpys_and_large_ones_are_arrays_like_any_other() -> None:
    x = np.arange(float(LARGE))
    large, small = shifted(x, 1.0), shifted(x[:100], 1.0)
    assert handler(large) == "tracejit" and handler(small) == "default_allocator"
    for y in (large, small):
        assert y.flags.owndata and y.flags.writeable and y.flags.aligned and y.base is None
    np.testing.assert_array_equal(large, x + 1.0)
    large.resize((LARGE * 2,), refcheck=False)
    np.testing.assert_array_equal(large[:LARGE], x + 1.0)
    assert not large[LARGE:].any()
    # The context's own allocator is as it was.
    assert handler(np.empty(LARGE)) == "default_allocator"


def test_memory_is_taken_again_and_never_while_it_is_in_use() -> None:
    x = np.arange(float(LARGE))
    held = [shifted(x, float(k)) for k in range(12)]
    for k, y in enumerate(held):
        np.testing.assert_array_equal(y, x + k)
    del held, y
    gc.collect()
    kept = kept_bytes()
    assert kept >= x.nbytes
    address = {shifted(x, 1.0).ctypes.data for _ in range(20)}
    assert len(address) <= 4
    assert kept_bytes() == kept


def test_what_is_kept_has_a_limit_and_gives_way_to_newer_sizes() -> None:
    for n in (1 << 20, 3 << 20, 5 << 20, 7 << 20, 11 << 20):
        results = [shifted(np.zeros(n), 1.0) for _ in range(3)]
        assert all(y[0] == 1.0 and y[-1] == 1.0 for y in results)
        del results
        assert kept_bytes() <= MOST_KEPT
    assert kept_bytes() >= 11 << 23


def test_layouts_and_sizes() -> None:
    rng = np.random.default_rng(0)
    for m, n in ((1, LARGE), (LARGE, 1), (500, 600), (700, 450)):
        x, y = rng.normal(size=m), rng.normal(size=n)
        np.testing.assert_array_equal(outer(x, y), x[:, None] * y)
        whole = np.asfortranarray(x[:, None] * y)
        found = shifted(whole, 0.5)
        assert found.flags.f_contiguous == (whole + 0.5).flags.f_contiguous
        np.testing.assert_array_equal(found, whole + 0.5)


def test_threads_have_memory_of_their_own() -> None:
    wrong: list[int] = []

    def run(seed: int) -> None:
        x = np.full(LARGE, float(seed))
        for k in range(60):
            y = shifted(x, float(k))
            if not (y == seed + k).all():
                wrong.append(seed)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []

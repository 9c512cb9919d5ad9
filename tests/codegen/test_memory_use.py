"""What a report says of memory: stores in place, copies with their reasons, temporaries, bytes."""

from __future__ import annotations

import inspect
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from benchmarks.programs import PROGRAMS, Program
from tests.support.compare import assert_same
from tracejit.codegen.analysis.memory_use import Buffers
from tracejit.codegen.analysis.size_ranges import stays_in_64_bits
from tracejit.ir.dims import floordiv, maximum, minimum, symbol

pytestmark = [pytest.mark.usefixtures("never_eager"), pytest.mark.compiles]

X = np.arange(1000.0)


def buffers(f: Callable[..., Any], *args: Any) -> Buffers:
    """Those of a first call, whose results and stores are compared with NumPy's."""
    jitted = tracejit.jit(f)
    given, expected = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in "ab")
    assert_same(jitted(*given), f(*expected))
    for a, b in zip(given, expected, strict=True):
        assert_same(a, b)
    (variant,) = jitted.report().variants
    assert variant.buffers is not None
    return variant.buffers


def eager_peak(f: Callable[..., Any], *args: Any) -> int:
    """The bytes that NumPy allocates at most for a call."""
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    f(*given)
    tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        kept = f(*given)
        del kept
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def lines_in_place(f: Callable[..., Any], found: Buffers) -> list[int]:
    """Their numbers, counted from the line of `def`."""
    first = inspect.getsourcelines(f)[1]
    return [where.line - first for where in found.in_place]


# Stores that read what they overwrite ------------------------------------------------------------


def shifted(a: Any) -> None:
    a[1:] = a[:-1] + 1


def shifted_back(a: Any) -> None:
    a[:-1] = a[1:] * 2


def smoothed(a: Any) -> None:
    a[1:-1] = (a[:-2] + a[2:]) / 2


def added_to_itself(y: Any) -> None:
    y[1:] += y[:-1]


def flipped(y: Any, a: Any) -> None:
    y[:] += a * np.flip(y)


def scaled(y: Any, a: Any) -> None:
    y[:] += a * y


def apart(y: Any) -> None:
    y[:500] = y[500:] * 2


@pytest.mark.parametrize("f", [shifted, shifted_back, smoothed, added_to_itself])
def test_a_store_that_reads_its_old_values_has_one_temporary(f: Callable[..., Any]) -> None:
    found = buffers(f, X)
    (temporary,) = found.temporaries
    assert temporary.why == "a store reads what it overwrites"
    assert temporary.where is not None and temporary.where.line == inspect.getsourcelines(f)[1] + 1
    assert temporary.size in (999 * 8, 998 * 8)
    assert found.copies == () and lines_in_place(f, found) == [1]


def test_a_store_of_an_array_turned_around() -> None:
    found = buffers(flipped, X, 2.0)
    assert found.own_bytes() <= eager_peak(flipped, X, 2.0) + 64


@pytest.mark.parametrize("f, args", [(scaled, (X, 2.0)), (apart, (X,))])
def test_a_store_that_reads_nothing_else_of_it_has_none(
    f: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    found = buffers(f, *args)
    assert found.temporaries == found.copies == () and found.peak_bytes() == 0
    assert lines_in_place(f, found) == [1]


# Copies ------------------------------------------------------------------------------------------


def still_needed(x: Any) -> Any:
    y = np.sort(x)
    z = y.copy()
    z[0] = 5.0
    return y, z


def counted(x: Any, index: Any) -> Any:
    for i in range(len(index)):
        x[index[i]] += 1.0
    return x.sum()


def begun_with(x: Any, steps: Any) -> Any:
    for _ in range(steps[0]):
        x = x * 0.5
    return x


def test_an_update_of_an_array_that_is_needed_is_a_copy() -> None:
    found = buffers(still_needed, X)
    (copy,) = found.copies
    assert copy.what == "an update of an array that is still needed"
    assert copy.where is not None and copy.where.source().strip() == "z[0] = 5.0"


def test_arguments_whose_stores_may_be_undone_are_saved() -> None:
    found = buffers(counted, X, np.array([1, 1, 5]))
    assert [c.what for c in found.copies] == [
        "argument x, whose stores are undone if the call is repeated"
    ]
    assert found.own_bytes() >= X.nbytes
    unchecked = tracejit.jit(counted, bounds_check=False)
    unchecked(X.copy(), np.array([1, 1, 5]))
    (variant,) = unchecked.report().variants
    assert variant.buffers is not None and variant.buffers.copies == ()


def test_what_a_loop_begins_with_is_copied_once() -> None:
    found = buffers(begun_with, X, np.array([3]))
    assert [c.what for c in found.copies] in (
        ["an array handed on by a loop"],
        ["an array handed on by a branch"],
        [],
    )
    assert found.peak_bytes() <= 3 * X.nbytes


# Bytes -------------------------------------------------------------------------------------------


def sorted_parts(x: Any) -> Any:
    a = np.sort(x)
    b = np.sort(a[:500] + 1)
    c = np.sort(b[:100] * 2)
    return np.sort(c[:10] - 1)


def fused(x: Any) -> Any:
    y = np.sqrt(x) * 2 + 1
    z = np.abs(-y * y) / (1 + y)
    return z - y


def two_arrays(x: Any) -> Any:
    return x + 1, np.sort(x)[::2].copy()


A = np.random.default_rng(5).random((40, 40))


@pytest.mark.parametrize(
    "f, args",
    [(sorted_parts, (X,)), (fused, (X,)), (two_arrays, (X,)), (shifted, (X,)), (smoothed, (X,))],
)
def test_a_compiled_call_needs_no_more_than_numpy(
    f: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    found = buffers(f, *args)
    assert found.peak_bytes() <= eager_peak(f, *args) + 64 * len(found.slots)


#: Programs that need more than NumPy, at one size at least, with the reason.
SAVED = "arguments are saved, since their stores may have to be undone"
PACKED = "a product's operands are packed into panels, which are not small where the arrays are"
ABOVE_NUMPY = {
    "nbody": SAVED,
    "conv2d_bias": PACKED,
    "contour_integral": "LAPACK works on copies, which NumPy makes where tracemalloc does not look",
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    "program",
    [p for p in PROGRAMS if p.name not in ABOVE_NUMPY],
    ids=lambda program: program.name,
)
def test_whole_programs_need_no_more_than_numpy(program: Program) -> None:
    jitted = tracejit.jit(program.kernel)
    jitted(*program.arguments("S").values())
    for variant in jitted.report().variants:
        found, peak = variant.buffers, eager_peak(program.kernel, *program.arguments("S").values())
        assert found is not None and found.peak_bytes() <= peak + 64 * len(found.slots)


@pytest.mark.parametrize("name", [name for name in ABOVE_NUMPY if ABOVE_NUMPY[name] == SAVED])
def test_whole_programs_save_arguments(name: str) -> None:
    (program,) = [p for p in PROGRAMS if p.name == name]
    jitted = tracejit.jit(program.kernel)
    jitted(*program.arguments("S").values())
    (variant,) = jitted.report().variants
    assert variant.buffers is not None
    assert any("undone" in str(copy) for copy in variant.buffers.copies)


@pytest.mark.parametrize("name", [name for name in ABOVE_NUMPY if ABOVE_NUMPY[name] == PACKED])
def test_larger_arrays_need_no_more_than_numpy_where_they_are_packed(name: str) -> None:
    (program,) = [p for p in PROGRAMS if p.name == name]
    jitted = tracejit.jit(program.kernel)
    jitted(*program.arguments("M").values())
    (variant,) = jitted.report().variants
    peak = eager_peak(program.kernel, *program.arguments("M").values())
    assert variant.buffers is not None and variant.buffers.peak_bytes() <= peak


def chain_of_products(a: Any, b: Any, c: Any, d: Any) -> Any:
    return a @ b @ c @ d


def test_temporaries_lie_in_results_that_are_not_written_yet() -> None:
    found = buffers(chain_of_products, A, A, A, A)
    (temporary,) = found.temporaries
    assert temporary.size == found.own_bytes() == A.nbytes


def test_smaller_arrays_lie_in_slots_that_are_free() -> None:
    """Each is dead before the next but one is written."""
    found = buffers(sorted_parts, X)
    assert len(found.temporaries) > len(found.slots)
    assert found.own_bytes() <= 2 * 8064


def test_bytes_for_other_sizes() -> None:
    f = tracejit.jit(sorted_whole)
    for n in (100, 200, 300):
        f(np.arange(float(n)))
    found = f.report().variants[-1].buffers
    assert len(f.report().variants) == 2 and found is not None and found.sizes is not None
    ((name, size),) = found.sizes.items()
    assert size == 200 and found.result_bytes() == 1600
    assert found.result_bytes({name: 1000}) == 8000
    assert found.own_bytes({name: 1000}) >= 8000 > found.own_bytes()
    with pytest.raises(KeyError):
        found.peak_bytes({})


def sorted_whole(x: Any) -> Any:
    return np.sort(np.sort(x)[::-1] * 2)


def triangle_of_dots(a: Any) -> Any:
    out = np.zeros(len(a))
    for i in range(len(a)):
        out[i] = np.sort(a[i, : i + 1] * 2).max()
    return out


def test_blocks_whose_size_a_loop_changes_are_said_to_grow() -> None:
    found = buffers(triangle_of_dots, A)
    assert found.growing and all("8*" in text for text in found.growing)
    assert "that grow" in next(found.lines())


def test_how_it_reads() -> None:
    f = tracejit.jit(smoothed)
    f(X.copy())
    text = str(f.report())
    assert (
        "            memory: 1 store in place, 0 copied, temporaries 8 000 bytes, results 0 bytes\n"
    ) in text
    assert "            in place at test_memory_use.py:" in text
    assert "            temporary of 7984 bytes: a store reads what it overwrites at " in text
    scalar = tracejit.jit(lambda n: n + 1)
    scalar(3)
    assert "memory" not in str(scalar.report())


def test_sizes_of_which_one_is_a_maximum_stay_in_64_bits() -> None:
    n, s = symbol("n"), symbol("s")
    ranges = {"n": (0, 2**57), "s": (0, 2**50)}
    assert stays_in_64_bits(8 * maximum(n - s, 0), ranges)
    assert stays_in_64_bits(minimum(n, 5 - s) + maximum(s, minimum(n, 9)), ranges)
    assert not stays_in_64_bits(2**7 * maximum(n - s, 0), ranges)
    assert not stays_in_64_bits(minimum(symbol("unknown"), 4), ranges)
    assert not stays_in_64_bits(floordiv(n, s), ranges)

"""Libraries by their loaders give what NumPy gives, values, types and stores, or errors."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.export import library_programs as programs
from tests.support.compare import assert_same
from tests.support.libraries import NEEDS_CC, load
from tracejit.ir.types import DTYPES

pytestmark = NEEDS_CC
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("libraries")


@pytest.fixture(scope="module")
def solve(folder: Path) -> Any:
    signatures = ("f64[n, n], f64[n]", "f32[n, n], f32[n]", "f64[1, 1], f64[1]")
    return load(tracejit.export(programs.solve, *signatures, out=folder)).solve


@pytest.fixture(scope="module")
def of_doubles(folder: Path) -> Any:
    made = tracejit.export(programs.solve, "f64[n, n], f64[n]", out=folder / "doubles")
    return load(made).solve


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [2, 3, 40])
def test_several_signatures_of_any_size(solve: Any, n: int, dtype: type) -> None:
    A, b = (RNG.random((n, n)) + n * np.eye(n)).astype(dtype), RNG.random(n).astype(dtype)
    assert_same(programs.solve(A, b), solve(A, b), "order", ulp=100)


def test_sizes_of_one_have_signatures_of_their_own(solve: Any) -> None:
    A, b = np.array([[4.0]]), np.array([3.0])
    assert_same(programs.solve(A, b), solve(A, b))
    with pytest.raises(ValueError, match="n >= 2"):
        solve(A.astype(np.float32), b.astype(np.float32))


def test_a_failed_check_is_an_error(solve: Any) -> None:
    with pytest.raises(RuntimeError, match="singular"):
        solve(np.zeros((3, 3)), np.ones(3))


A, B = np.eye(3), np.ones(3)


@pytest.mark.parametrize(
    "args, kind, text",
    [
        ((A.astype(int), B), TypeError, "A: an array of float64 is needed, not of int64"),
        ((A, B.astype(np.float32)), TypeError, "b: an array of float64 is needed"),
        ((A.tolist(), B), TypeError, "not list"),
        ((A[0], B), TypeError, "with 2 axes is needed, not 1"),
        ((np.ones((3, 4)), B), ValueError, "A: axis 1 has 4 elements, and n is 3"),
        ((A, np.ones(4)), ValueError, "b: axis 0 has 4 elements, and n is 3"),
        ((np.ones((3, 6))[:, ::2], B), ValueError, "A is not C-contiguous"),
        ((np.asfortranarray(A + np.ones((3, 3))), B), ValueError, "A is not C-contiguous"),
        ((A.astype(">f8"), B), TypeError, "A: an array of float64 is needed, not of >f8"),
        ((np.ma.array(A), B), TypeError, "not numpy.ma"),
        ((A,), TypeError, "b is missing"),
        ((A, B, 3), TypeError, "2 arguments by place are taken, not 3"),
    ],
)
def test_bad_input_names_the_argument(
    of_doubles: Any, args: tuple[Any, ...], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind) as caught:
        of_doubles(*args)
    assert text in str(caught.value)


def test_no_signature_fits(solve: Any) -> None:
    with pytest.raises(TypeError) as caught:
        solve(A.astype(int), B)
    for text in ("f64[n, n]", "A: an array of float64 is", "f32[n, n]", "A: an array of float32"):
        assert text in str(caught.value)


def test_keywords(of_doubles: Any) -> None:
    assert_same(of_doubles(A, B), of_doubles(b=B, A=A))
    with pytest.raises(TypeError, match="there is no argument c"):
        of_doubles(A, b=B, c=1)
    with pytest.raises(TypeError, match="b is given twice"):
        of_doubles(A, B, b=B)


def test_no_tracejit_in_the_process(folder: Path, solve: Any) -> None:
    """And no more than NumPy and ctypes are imported."""
    code = """
import sys
import numpy as np, ctypes, importlib, pathlib, typing, collections.abc
import __future__
before = set(sys.modules)
from solve import solve
x, r, m = solve(np.eye(3) * 2, np.ones(3))
print(x.tolist(), type(m).__name__, sorted(set(sys.modules) - before))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[0.5, 0.5, 0.5] float64 ['solve']\n", done.stderr


def test_stores_are_in_place(folder: Path) -> None:
    made = tracejit.export(programs.smooth, "f64[n], int", "f64[n], 2, scale=3.0", out=folder)
    smooth = load(made).smooth
    x = RNG.random(9)
    y = x.copy()
    assert smooth(x, 5) is x
    programs.smooth(y, 5)
    assert_same(y, x)
    assert_same(programs.smooth(y.copy(), 9000), smooth(x, 9000))
    x[:] = y
    assert_same(programs.smooth(y, 2, scale=3.0), smooth(x, 2, scale=3.0))
    with pytest.raises(ValueError, match=r"for 3\.0, not 4\.0"):
        smooth(x, 2, scale=4.0)
    with pytest.raises(ValueError, match=r"steps: the library is for 2, not 2\.0"):
        smooth(x, 2.0, scale=3.0)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        smooth(x, 1)


def test_a_failed_check_undoes_stores(folder: Path) -> None:
    at = load(tracejit.export(programs.at, "f64[n], int", out=folder)).at
    x = np.arange(4.0)
    assert_same(np.float64(3.0), at(x, -1))
    assert x[0] == 5.0
    x[0] = 1.0
    for i in (4, -5):
        with pytest.raises(RuntimeError, match="index out of bounds"):
            at(x, i)
        assert x.tolist() == [1.0, 1.0, 2.0, 3.0]


def test_arrays_that_are_stored_into_lie_apart(folder: Path) -> None:
    swap = load(tracejit.export(programs.swap, "f64[n], f64[n]", out=folder)).swap
    x = np.arange(6.0)
    assert swap(x[:3], x[3:]) is None
    assert x.tolist() == [3.0, 4.0, 5.0, 0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="a is stored into, and shares memory with b"):
        swap(x[:4], x[2:])


def test_gradients(folder: Path) -> None:
    gradient = tracejit.value_and_grad(programs.loss)
    made = tracejit.export(gradient, "f64[m], f64[n, m], f64[n]", out=folder, name="train")
    w, X, y = RNG.random(4), RNG.random((7, 4)), RNG.random(7)
    value, by_w = load(made).train(w, X, y)
    expected = gradient(w, X, y)
    assert_same(expected[0], value, "order", ulp=10)
    assert_same(expected[1], by_w, "order", ulp=10)
    for k in range(4):
        step = np.eye(4)[k] * 1e-6
        slope = (programs.loss(w + step, X, y) - programs.loss(w - step, X, y)) / 2e-6
        assert abs(slope - by_w[k]) < 1e-8


def test_numbers_and_containers(folder: Path) -> None:
    signature = "int, float, complex, f16, None"
    made = tracejit.export(programs.numbers, signature, out=folder, name="kinds")
    kinds = load(made).kinds
    for k in (-7, 3, 2**61):
        args = (k, 0.1, 1 - 2j, np.float16(0.3), None)
        assert_same(programs.numbers(*args), kinds(*args))
    given = (3, 0.1, 1j, np.float16(1), None)
    for place, bad, text in (
        (0, True, "k: int is needed, not bool"),
        (0, 2**63, "does not fit 64 bits"),
        (1, np.float64(1), "a: float is needed, not numpy.float64"),
        (3, 1.0, "h: a scalar of float16 is needed, not float"),
    ):
        with pytest.raises((TypeError, ValueError)) as caught:
            kinds(*given[:place], bad, *given[place + 1 :])
        assert text in str(caught.value)
    with pytest.raises(RuntimeError, match="does not fit 64 bits"):
        kinds(2**62, *given[1:])


def test_results_of_sizes_that_the_run_decides(folder: Path) -> None:
    positive = load(tracejit.export(programs.positive, "f64[n, 3]", out=folder)).positive
    for x in (RNG.random((5, 3)) - 0.5, -np.ones((2, 3))):
        assert_same(programs.positive(x), positive(x), "order", ulp=4)
    x = np.ones((500_000, 3))
    positive(x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        positive(x)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 100_000, f"{grown} kB more after 20 results of 12 MB"


def test_orders_of_axes(folder: Path) -> None:
    signatures = ("f64[n, m] @ (1, 0,)", "f64[n, m]")
    columns = load(tracejit.export(programs.columns, *signatures, out=folder)).columns
    for x in (np.asfortranarray(RNG.random((3, 5))), RNG.random((3, 5))):
        expected, found = programs.columns(x), columns(x)
        assert_same(expected, found, "order", ulp=4)
        assert [y.strides for y in found] == [y.strides for y in expected]


def test_what_lies_outside_is_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = load(tracejit.export(programs.outside, "f64[3, n]", out=folder)).outside
    x = RNG.random((3, 4))
    expected = programs.outside(x)
    monkeypatch.setattr(programs, "WEIGHTS", np.zeros((2, 3)))
    assert_same(expected, outside(x), "order", ulp=4)


def test_what_calls_have_seen_is_no_part_of_it(folder: Path, monkeypatch: Any) -> None:
    """A decorated function that was called before, with another array outside."""
    outside = tracejit.jit(programs.outside)
    x = RNG.random((3, 2))
    outside(x)
    monkeypatch.setattr(programs, "WEIGHTS", np.ones((4, 3)))
    outside(x)
    made = tracejit.export(outside, "f64[3, n]", out=folder, name="weights")
    assert_same(np.ones((4, 3)) @ x + 3, load(made).weights(x), "order", ulp=4)


def test_arrays_that_a_library_holds(folder: Path) -> None:
    tables = load(tracejit.export(programs.tables, "i64[n]", out=folder)).tables
    x = np.array([2, 0, 1, -1])
    assert_same(programs.tables(x), tables(x))
    with pytest.raises(RuntimeError, match="index out of bounds"):
        tables(np.array([0, 3]))


def test_sizes_that_decide_are_checked(folder: Path) -> None:
    made = tracejit.export(programs.even, "f64[n]", out=folder)
    even = load(made).even
    assert_same(np.full(4, 2.0), even(np.ones(4)))
    with pytest.raises(ValueError, match=r"n >= 2, mod\(n, 2\) == 0"):
        even(np.ones(5))
    assert "mod(n, 2) == 0" in made.functions["even"] and "mod(n, 2)" in made.header.read_text()
    other = folder / "odd"
    odd = load(tracejit.export(programs.even, "f64[n]", sizes={"n": 5}, out=other)).even
    assert_same(np.full(7, 3.0), odd(np.ones(7)))


def test_a_loader_refuses_the_library_of_another(folder: Path) -> None:
    """A process that has loaded a library goes on with that; its new loader says so."""
    first = load(tracejit.export(programs.at, "f64[n], int", out=folder / "anew")).at
    made = tracejit.export(programs.at, "f32[n], int", out=folder / "anew")
    with pytest.raises(ImportError, match="made anew since this process loaded it"):
        load(made)
    assert first(np.ones(3), 1) == 1.0
    code = "import numpy as np; from at import at; print(at(np.ones(3, np.float32), 0))"
    done = subprocess.run([sys.executable, "-c", code], cwd=made.folder, stdout=subprocess.PIPE)
    assert done.stdout == b"5.0\n"


def test_recursion_and_long_loops(folder: Path) -> None:
    fibonacci = load(tracejit.export(programs.fibonacci, "int", out=folder)).fibonacci
    assert [fibonacci(n) for n in (0, 1, 12)] == [0, 1, 144]
    halves = load(tracejit.export(programs.halves, "int", out=folder)).halves
    assert halves(20) == programs.halves(20) and type(halves(20)) is int
    with pytest.raises(RuntimeError):
        halves(50)


def test_lapack_and_complex_numbers(folder: Path) -> None:
    inverses = load(tracejit.export(programs.inverses, "f64[n, n]", out=folder)).inverses
    A = RNG.random((6, 6))
    assert_same(programs.inverses(A), inverses(A), "order", ulp=1000)
    signature = "c128[n, m], c128[m]"
    made = tracejit.export(programs.complex_product, signature, out=folder)
    args = RNG.random((3, 4)) + 1j, RNG.random(4) * 2j + 1
    expected, found = programs.complex_product(*args), load(made).complex_product(*args)
    assert_same(expected, found, "order", ulp=10)


def test_sorts(folder: Path) -> None:
    signatures = ("f64[n, m], i32[k]", "f32[n, m], u8[k]")
    ordered = load(tracejit.export(programs.ordered, *signatures, out=folder)).ordered
    for kinds, n, m, k in (((float, "i4"), 2, 3, 4), (("f4", "u1"), 70, 33, 999)):
        x = RNG.integers(-5, 50, (n, m)).astype(kinds[0])
        x[0, 0] = np.nan if n > 2 else -np.inf
        args = x, RNG.integers(0, 100, k).astype(kinds[1])
        assert_same(programs.ordered(*args), ordered(*args))


def test_every_dtype(folder: Path) -> None:
    signatures = [f"{name}[n], {name}" for name in DTYPES]
    greater = load(tracejit.export(programs.greater, *signatures, out=folder)).greater
    for dtype in DTYPES.values():
        x, s = (RNG.random(9) * 100).astype(dtype), np.full(1, 40, dtype)[0]
        assert_same(programs.greater(x, s), greater(x, s))


def test_lengths_that_are_numbers(folder: Path) -> None:
    empty = load(tracejit.export(programs.empty, "int", out=folder)).empty
    for n in (0, 1, 5):
        assert_same(np.zeros(n), empty(n))
    for n, kind in ((-1, RuntimeError), (2**62, RuntimeError), (2**44, MemoryError)):
        with pytest.raises(kind):
            empty(n)


def test_texts_among_arguments_and_results(folder: Path) -> None:
    texts = load(tracejit.export(programs.texts, r"""f64[n], '*/ \\"\"\"'""", out=folder)).texts
    text = '*/ \\"""'
    assert_same(programs.texts(np.ones(2), text), texts(np.ones(2), text))


def test_results_of_different_kinds(folder: Path) -> None:
    made = tracejit.export(programs.unlike, "f64[n], int", out=folder)
    unlike = load(made).unlike
    for first, k in ((2.0, 1), (0.5, 3), (0.5, 1)):
        x = np.array([first, 0.25, 4.0, 5.0])
        assert_same(programs.unlike(x, k), unlike(x, k))
    assert "the result is ((out1, [out2, out3, out4]) if out0 else" in made.header.read_text()


def test_loops_that_threads_share(folder: Path) -> None:
    """The bits are the same for any number of threads, and in a child that has none of them."""
    module = load(tracejit.export(programs.waves, "f64[n, n]", out=folder))
    x = RNG.random((600, 600))
    expected = module.waves(x)
    assert_same(programs.waves(x), expected, "order", ulp=600)
    for n in (3, 2, 0):
        module.set_threads(n)
        assert_same(expected, module.waves(x))
    module.set_threads(2)
    assert_same(expected, module.waves(x))
    child = os.fork()
    if child == 0:
        os._exit(int(not np.array_equal(module.waves(x)[0], expected[0])))
    assert os.waitpid(child, 0)[1] == 0


def test_threads_may_call_at_once(solve: Any) -> None:
    A, b = RNG.random((30, 30)) + 30 * np.eye(30), RNG.random(30)
    expected = solve(A, b)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: solve(A, b), range(100)):
            assert_same(expected, found)

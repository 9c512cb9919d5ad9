"""Functions without an op of their own: called by the compiled program while it runs."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.special

import tracejit
from tests.support.compare import assert_parity, assert_same
from tracejit.codegen.program.random.rng_state import _SAVED
from tracejit.codegen.support.host_call_text import held_results
from tracejit.errors import Bailout, FallbackError, GraphError
from tracejit.ir.evaluate import evaluate
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.ir.verify import verify
from tracejit.passes.control.lower import lower_control_flow
from tracejit.runtime.compile.graph_call import run_graph
from tracejit.runtime.dataflow.executor import run_dataflow

pytestmark = pytest.mark.sampled(9)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(5, 5))
Y = RNG.normal(size=(8, 8))


def close(actual: Any, expected: Any) -> None:
    """Equal but for the order of sums, and of the same types."""
    assert type(actual) is type(expected)
    if isinstance(expected, tuple):
        for a, b in zip(actual, expected, strict=True):
            close(a, b)
    else:
        assert getattr(actual, "dtype", None) == getattr(expected, "dtype", None)
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


def compiled(f: Callable[..., Any], *args: Any) -> Any:
    """The compiled function, which gave NumPy's results for each of `args` without bailing out."""
    g = tracejit.jit(f)
    for x in args:
        close(g(x.copy()), f(x.copy()))
    report = g.report()
    assert not report.fallbacks and not report.bailouts, str(report)
    return g


# Functions in contexts ---------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "scipy.linalg.svd": lambda x: scipy.linalg.svd(x)[1].sum(),
    "np.linalg.qr": lambda x: np.abs(np.linalg.qr(x).R).sum(),
    "scipy.linalg.eigh": lambda x: scipy.linalg.eigh(x @ x.T)[0][-1],
    "scipy.linalg.pinv": lambda x: scipy.linalg.pinv(x).sum(),
    "np.unique": lambda x: np.unique(x, axis=0).sum(),
    "np.polymul": lambda x: np.polymul(x[0], x[1]).sum(),
    "scipy.fft.rfft": lambda x: np.abs(scipy.fft.rfft(x[0])).sum(),
    "scipy.special.logsumexp": lambda x: scipy.special.logsumexp(x),
    "scipy.special.rgamma": lambda x: scipy.special.rgamma(np.abs(x)).sum(),
    "scipy.fft.dct": lambda x: np.abs(scipy.fft.dct(x)).sum(),
    "scipy.linalg.expm": lambda x: scipy.linalg.expm(x).sum(),
    "np.partition": lambda x: np.partition(x[0], 2)[2],
    "np.add.reduceat": lambda x: np.add.reduceat(x[0], [0, 2]).sum(),
}
NAMES = list(FUNCTIONS)


@pytest.mark.parametrize("name", NAMES)
def test_at_the_top(name: str) -> None:
    f = FUNCTIONS[name]

    def top(x: Any) -> Any:
        return f(x) + 1

    g = compiled(top, X, X + 1, Y)
    assert name in {line.why for line in g.report().lines if line.kind == "host"}


@pytest.mark.parametrize("name", NAMES)
def test_in_a_branch(name: str) -> None:
    f = FUNCTIONS[name]

    def branch(x: Any) -> Any:
        y = 0.5
        if x[0, 0] > 0:
            y = float(f(x))
        return y

    compiled(branch, np.abs(X), -np.abs(X))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", NAMES)
def test_in_nested_loops_with_a_carried_array(name: str) -> None:
    f = FUNCTIONS[name]

    def loops(x: Any) -> Any:
        total = 0.0
        for i in range(3):
            for j in range(2):
                x[i, j] += 0.25
                total += float(f(x))
        return total, x

    compiled(loops, X, Y)


def test_results_of_known_sizes_leave_the_function() -> None:
    compiled(lambda x: scipy.linalg.eigh(x @ x.T)[0], X, Y)
    compiled(lambda x: scipy.linalg.svd(x)[1], X, Y)
    compiled(lambda x: np.abs(scipy.fft.rfft(x)), X, Y)
    compiled(lambda x: np.convolve(x[0], x[1]), X, Y)
    compiled(lambda x: scipy.special.logsumexp(x, axis=1), X, Y)
    compiled(lambda x: (np.allclose(x, x), np.histogram(x, bins=4)[0]), X, Y)


def test_results_of_one_unknown_size_fit_together() -> None:
    def f(x: Any) -> Any:
        values, counts = np.unique(np.round(x) + 0j, return_counts=True)
        return (values.real * counts).sum()

    compiled(f, X, 3 * X, Y)


def test_sizes_change_without_a_compile() -> None:
    g = tracejit.jit(lambda x: scipy.linalg.svd(x)[1].sum() + np.unique(x + 0j).real.sum())
    for n in (4, 6, 9, 30):
        x = RNG.normal(size=(n, n))
        close(g(x), scipy.linalg.svd(x)[1].sum() + np.unique(x + 0j).real.sum())
    assert len(g.report().compiles) == 2


def test_what_is_left_of_an_array_behind_a_place() -> None:
    def distinct(x: Any, n: int, m: int) -> float:
        total = 0.0
        for k in range(n):
            total += np.unique(x[k:] + 0j).real.sum() + scipy.fft.rfft(x[m - k :]).real.sum()
        return total

    g = tracejit.jit(distinct)
    for n, m in ((3, 3), (2, 2), (4, 5), (5, 6)):
        x = RNG.integers(0, 4, size=7).astype(float)
        close(g(x, n, m), distinct(x, n, m))
    assert not g.report().fallbacks and not g.report().bailouts, str(g.report())


# What is left to eager execution -----------------------------------------------------------------


def test_what_cannot_be_a_host_call_runs_eagerly() -> None:
    for f in (
        lambda x: np.array2string(x) and x,
        lambda x: np.nan_to_num(x, copy=False),
        lambda x: scipy.special.struve(x, x, out=np.empty_like(x)),
    ):
        g = tracejit.jit(f)
        before = X.copy()
        assert_same(g(X), f(X))
        assert_same(X, before)
        assert g.report().fallbacks, f


def test_strict() -> None:
    g = tracejit.jit(lambda x: scipy.linalg.svd(x)[1].sum(), strict=True)
    with pytest.raises(FallbackError, match=r"TJ002.*scipy\.linalg\.svd"):
        g(X)
    with pytest.raises(FallbackError, match="TJ002"):
        g(X)


@pytest.mark.compiles
def test_the_types_of_a_later_call_may_differ() -> None:
    """Real eigenvalues are compiled for; complex ones are left to the repetition."""
    g = tracejit.jit(lambda x: np.linalg.eigvals(x))
    symmetric, turn = np.diag([1.0, 2.0, 3.0]), np.eye(3)[[1, 2, 0]]
    for x in (symmetric, turn, symmetric):
        assert_same(g(x), np.linalg.eigvals(x))
    # NumPy 2.5 gives complex numbers always.
    assert g.report().bailouts == (np.linalg.eigvals(symmetric).dtype.kind == "f")


def test_an_exception_is_the_users_own() -> None:
    def f(x: Any, y: Any) -> Any:
        y[0] = 7.0
        return np.linalg.cholesky(np.linalg.pinv(x)).sum() + scipy.linalg.svd(x)[1].sum()

    g = tracejit.jit(f)
    good, bad, nan = np.eye(3), -np.eye(3), np.full((3, 3), np.nan)
    y = np.zeros(2)
    close(g(good, y), f(good, np.zeros(2)))
    for x in (bad, nan):
        y = np.zeros(2)
        with pytest.raises(np.linalg.LinAlgError):
            g(x, y)
        assert y[0] == 7.0
    close(g(good, y), f(good, np.zeros(2)))
    assert held_results() == 0


@pytest.mark.compiles
def test_an_argument_stays_as_it_is_where_a_run_bails_out() -> None:
    def f(x: Any, y: Any, k: Any) -> Any:
        y[0] += np.unique(x + 0j).real.sum()
        return y[k[0]]

    g = tracejit.jit(f)
    for k in (0, 1, 5):
        y, z = np.zeros(2), np.zeros(2)
        try:
            expected = f(X, z, np.array([k]))
        except IndexError:
            with pytest.raises(IndexError):
                g(X, y, np.array([k]))
        else:
            close(g(X, y, np.array([k])), expected)
        np.testing.assert_allclose(y, z)
    assert g.report().bailouts == 1


# Threads and memory ------------------------------------------------------------------------------


def test_eight_threads_at_once() -> None:
    def f(x: Any) -> Any:
        s = 0.0
        for _ in range(5):
            s += np.unique(x + 0j).real.sum() + np.flatnonzero(x > 0).sum()
        return s

    g = tracejit.jit(f)
    inputs = [np.round(RNG.normal(size=50 + k), 1) for k in range(8)]
    expected = [f(x) for x in inputs]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(40):
            if not np.isclose(g(inputs[k]), expected[k], rtol=1e-12):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and held_results() == 0


def test_nothing_is_kept_over_many_calls() -> None:
    def f(x: Any) -> Any:
        return np.unique(x + 0j).real.sum() + np.random.default_rng(3).normal() + np.random.rand()

    g = tracejit.jit(f)
    g(X)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(1000):
        g(X)
    gc.collect()
    assert len(gc.get_objects()) - before < 50
    assert held_results() == 0 and not _SAVED


# Random numbers ----------------------------------------------------------------------------------


def follows(f: Callable[..., Any], *calls: tuple[Any, ...], eager: bool = False) -> Any:
    """The compiled function: it gives what NumPy gives, and leaves the same random numbers."""
    g = tracejit.jit(f)
    for seed, args in enumerate(calls):
        outcomes = []
        for function in (f, g):
            np.random.seed(seed)
            given = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
            try:
                result = function(*given)
            except Exception as e:
                result = (type(e), str(e))
            outcomes.append((result, np.random.get_state(), np.random.rand()))
        (want, state, following), (got, state_after, following_after) = outcomes
        assert_same(got, want)
        assert all(np.array_equal(a, b) for a, b in zip(state, state_after, strict=True))
        assert following == following_after
    assert bool(g.report().fallbacks) == eager
    return g


V = np.arange(5.0)


def test_draws_from_the_global_stream() -> None:
    follows(lambda x: x + np.random.rand(5), (V,), (V + 1,))
    follows(lambda x: np.random.normal(x, 2.0), (V,), (V + 1,))
    follows(lambda x: (np.random.randint(0, 9, size=len(x)), np.random.rand()), (V,), (V[:3],))
    follows(lambda x: (np.random.permutation(x), np.random.choice(x)), (V,), (V[:3],))


def test_draws_in_loops_and_branches() -> None:
    def f(x: Any, n: int) -> Any:
        s = 0.0
        for i in range(n):
            if np.random.rand() > 0.5:
                s += np.random.normal(x[i % 5], 1.0)
            else:
                s -= np.random.uniform()
        return s

    g = follows(f, (V, 4), (V, 9), (V, 0), (V, 31))
    assert len(g.report().compiles) <= 3


def test_a_seed_inside() -> None:
    def f(n: int) -> Any:
        np.random.seed(n)
        return np.random.rand(2)

    follows(f, (3,), (4,), (5,))


@pytest.mark.compiles
def test_what_a_run_that_bails_out_has_drawn_is_drawn_again() -> None:
    def f(x: Any, k: Any) -> Any:
        noise = np.random.rand(3)
        np.random.rand()
        return noise + x[k[0]]

    g = follows(f, (V, np.array([1])), (V, np.array([9])), (V, np.array([2])))
    assert g.report().bailouts == 1 and not _SAVED


def test_what_a_run_that_raises_has_drawn_stays_drawn() -> None:
    def f(x: Any) -> Any:
        y = np.random.rand()
        if x[0] > 1:
            raise ValueError("too large")
        return y

    follows(f, (V,), (V + 5,), (V,))


def test_draws_are_neither_merged_nor_dropped() -> None:
    def f(x: Any) -> Any:
        np.random.rand()
        return np.random.rand() - np.random.rand() + x[0]

    follows(f, (V,), (V,))


def test_a_generator_made_inside() -> None:
    def f(x: Any, n: int) -> Any:
        rng = np.random.default_rng(n)
        y = np.zeros(n)
        for i in range(n):
            y[i] = rng.normal()
            if y[i] > 0:
                y[i] += rng.integers(10)
        return y, rng.permutation(x), rng.random(3), rng.integers(5, size=2, dtype=np.uint8)

    follows(f, (V, 4), (V, 7), (V, 11), (V, 30))


def test_a_generator_made_inside_shuffles() -> None:
    def f(x: Any, n: int) -> Any:
        rng = np.random.default_rng(n)
        rng.shuffle(x)
        cards = [1, 2, 3, 4]
        rng.shuffle(cards)
        return x, cards, rng.random()

    follows(f, (V, 4), (V, 7), (V, 11))


# The op ------------------------------------------------------------------------------------------

TEXT = """\
def f(x: f64[n]):
    u, c, k = typed(host_call(x, function="numpy:unique", arguments=(("operand", 0),), keywords=(("return_counts", ("constant", True)),), result=("tuple", ("operand", 0), ("operand", 1)), types=(("array", "f64", (None,), (0,)), ("array", "i64", ((0,),), (0,))), binds=(s,)), f64[s], i64[s], int)
    d: f64[s] = cast(c, dtype="f64")
    p: f64[s] = multiply(u, d)
    t: f64[()] = reduce_sum(p, axes=(0,))
    return t, k
"""  # noqa: E501


def test_text_evaluator_executor_and_code_agree() -> None:
    text = TEXT.replace("def f(x", "def f(n: size, x")
    graph = parse_graph(text)
    verify(graph, "trace")
    assert print_graph(graph) == text
    for x in (np.array([3.0, 1, 2, 2, 3, 3]), np.ones(2)):
        expected = (np.array(x.sum()), len(np.unique(x)))
        assert_same(evaluate(graph, (x,)), expected)
        assert_same(run_graph(graph, (x,)), expected)
        run = run_dataflow(lower_control_flow(graph), (x,), {"n": len(x)}, seed=1)
        assert_same(run.outputs, expected)


def test_results_that_are_not_as_declared_bail_out() -> None:
    for wrong in (
        TEXT.replace('"array", "f64"', '"array", "f32"').replace("f64[s], i64", "f32[s], i64"),
        TEXT.replace('"return_counts"', '"return_inverse"').replace("numpy:unique", "numpy:sort"),
    ):
        text = wrong.replace("def f(x", "def f(n: size, x").replace("cast(c", "cast(c")
        try:
            graph = parse_graph(text)
        except GraphError:
            continue
        for run in (evaluate, run_graph):
            with pytest.raises(Bailout):
                run(graph, (np.ones(3),))
    assert held_results() == 0


def test_ufuncs_write_where_the_result_belongs() -> None:
    x = np.arange(1, 13).reshape(3, 4)
    z = np.array([[1.5 - 2.5j, -0.5j], [np.nan, np.inf]])
    for f, *operands in (
        (lambda x: np.reciprocal(x), x),
        (lambda x: np.reciprocal(x) + 1, np.asfortranarray(x)),
        (lambda x: np.reciprocal(x[:, ::2]), x),
        (lambda x, y: np.ldexp(x, y), x * 1.5, x % 3),
        (lambda x, y: np.ldexp(x, y), x * 1.5, x[0]),
        (lambda x, y: np.ldexp(x, y), x[:1] * 1.5, x[:, :1]),
        (lambda z: np.rint(z), z),
        (lambda x, y: np.nextafter(x, y), x.astype(np.uint8), x.astype(np.uint8)[:, :1]),
    ):
        jitted = tracejit.jit(f)
        for k in (1, 2, 3):
            given = [np.concatenate([v] * k) if len(v) > 1 else v for v in operands]
            with np.errstate(all="ignore"):
                assert_parity(f, *given, jitted=jitted)

"""Products of matrices and vectors: sums over rows in kernels, and two products in one pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_parity, assert_same
from tests.support.layouts import LAYOUTS
from tests.support.native_flow import NativeGraph
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph
from tracejit.ir.text.syntax import parse_graph
from tracejit.passes.fusion.pair_products import pair_products
from tracejit.passes.manager import run_passes

RNG = np.random.default_rng(8)


def operands(m: int, n: int, dtype: Any = np.float64) -> tuple[Any, Any, Any]:
    """A matrix, and vectors for both of its sides, all positive."""
    return tuple((RNG.random(shape) + 0.1).astype(dtype) for shape in ((m, n), (n,), (m,)))


def agrees(f: Callable[..., Any], *calls: tuple[Any, ...]) -> Any:
    """Compare with NumPy: two sums of n positive terms differ by 2 n roundings of the sum at most.

    Of two products in a row each has as many.
    """
    jitted = tracejit.jit(f)
    for args in calls:
        n = max(args[0].shape)
        assert_parity(f, *args, jitted=jitted, parity="order", ulp=4 * n + 8)
    return jitted


def ops(f: Callable[..., Any], *args: Any) -> list[str]:
    """The ops of the graph in front of fusion."""
    graph = tracejit.jit(f).lower(*args).graphs["pair_products"]
    return [n.op.name for n in graph.nodes]


# Sums over rows ----------------------------------------------------------------------------------


def scaled(a: Any, x: Any, _: Any) -> Any:
    return 1.5 * a @ x


def transposed_twice(a: Any, x: Any, _: Any) -> Any:
    return x @ (np.sqrt(a) + a).T


def two_matrices(a: Any, x: Any, _: Any) -> Any:
    return 1.5 * a @ x + (a + 1.25) @ (x * 2)


def down_columns(a: Any, _: Any, y: Any) -> Any:
    return y @ (1.5 * a)


def read_twice(a: Any, x: Any, _: Any) -> Any:
    b = a * 1.5
    return b @ x, b


@pytest.mark.parametrize("f", [scaled, transposed_twice, two_matrices])
def test_an_elementwise_matrix_is_never_written(f: Callable[..., Any]) -> None:
    args = operands(200, 300)
    assert "matmul" not in ops(f, *args)
    (variant,) = agrees(f, args).report().variants
    assert variant.buffers is not None and variant.buffers.own_bytes() < args[0].nbytes // 8


@pytest.mark.parametrize("f", [down_columns, read_twice])
def test_other_matrices_are_left_to_blas(f: Callable[..., Any]) -> None:
    args = operands(200, 300)
    assert ops(f, *args).count("matmul") == 1
    agrees(f, args)


def test_short_rows_are_left_to_blas_unless_they_are_integers() -> None:
    assert "matmul" in ops(scaled, *operands(300, 40))

    def counted(a: Any, x: Any) -> Any:
        return (a + 1) @ x

    a, x = np.arange(12).reshape(4, 3), np.arange(3)
    assert "matmul" not in ops(counted, a, x)
    f = assert_parity(counted, a, x, also=[(a * 2**60, x), (a[:0], x), (a[:, :0], x[:0])])
    assert f.report().fallbacks == []


@pytest.mark.parametrize("f", [scaled, transposed_twice, two_matrices, down_columns, read_twice])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_over_rows_agree_with_numpy(f: Callable[..., Any], dtype: Any) -> None:
    shapes = [(5, 7), (0, 7), (7, 0), (1, 1), (1, 513), (257, 130), (64, 1024), (3, 4099)]
    first, *others = [operands(m, n, dtype) for m, n in [(130, 260), *shapes]]
    agrees(f, first, *others)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("f", [scaled, transposed_twice, down_columns])
def test_sums_over_rows_in_every_layout(f: Callable[..., Any], layout: str) -> None:
    a, x, y = operands(40, 200)
    agrees(f, (LAYOUTS[layout](a), x, y))
    agrees(f, (a, LAYOUTS[layout](x), LAYOUTS[layout](y)))


def test_a_stack_of_matrices() -> None:
    def stacked(a: Any, x: Any) -> Any:
        return (a * 2.0) @ x

    a, x = RNG.random((3, 4, 200)), RNG.random(200)
    assert "matmul" not in ops(stacked, a, x)
    agrees(stacked, (a, x))


def test_a_matrix_that_changes_between_is_read_before() -> None:
    def changed(a: Any, x: Any) -> Any:
        b = a * 2.0
        a[0] = 7.0
        return b @ x

    a, x, _ = operands(100, 200)
    agrees(changed, (a, x))


# Two products of one matrix ----------------------------------------------------------------------


def both(a: Any, p: Any, r: Any) -> Any:
    return r @ a, a @ p


def by_transpose(a: Any, p: Any, r: Any) -> Any:
    return a @ p, a.T @ r


def of_transpose(a: Any, p: Any, r: Any) -> Any:
    b = a.T
    return p @ b, b @ r


def in_place(a: Any, p: Any, r: Any) -> None:
    u, w = np.ones(a.shape[0]), np.ones(a.shape[1])
    u += a @ p
    w += r @ a
    p[:] = w
    r[:] = u


def second_vector_later(a: Any, p: Any, r: Any) -> Any:
    u = a @ p
    s = np.sort(r)
    return u, s @ a


def three(a: Any, p: Any, r: Any) -> Any:
    return a @ p, r @ a, a @ (p + 1)


PAIRS = [both, by_transpose, of_transpose, in_place, second_vector_later, three]


@pytest.mark.parametrize("f", PAIRS)
def test_two_products_become_one_node(f: Callable[..., Any]) -> None:
    found = ops(f, *operands(20, 30))
    assert found.count("matmul_both") == 1 and found.count("matmul") == (f is three)
    assert "transpose" not in found


@pytest.mark.sampled(12, kind=lambda f, **_: f.__name__)
@pytest.mark.parametrize("f", PAIRS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_products_agree_with_numpy(f: Callable[..., Any], dtype: Any) -> None:
    shapes = [(5, 7), (0, 7), (7, 0), (0, 0), (1, 1), (1, 33), (33, 1), (4, 16), (130, 67)]
    first, *others = [operands(m, n, dtype) for m, n in [(61, 129), *shapes]]
    agrees(f, first, *others)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("f", [both, by_transpose])
def test_two_products_in_every_layout(f: Callable[..., Any], layout: str) -> None:
    a, p, r = operands(40, 30)
    agrees(f, (LAYOUTS[layout](a), p, r))
    agrees(f, (a, LAYOUTS[layout](p), LAYOUTS[layout](r)))


def test_a_matrix_in_columns_is_read_once_too() -> None:
    a, p, r = operands(50, 30)
    assert "matmul_both" in ops(both, np.asfortranarray(a), p, r)


def chained(a: Any, p: Any, _: Any) -> Any:
    return (a @ p) @ a


def stored_between(a: Any, p: Any, r: Any) -> Any:
    u = a @ p
    a[0] = u[0]
    return u, r @ a


def waited_for(a: Any, p: Any, r: Any) -> Any:
    u = a @ p
    return (r * u.sum()) @ a, u


def same_side(a: Any, p: Any, _: Any) -> Any:
    return a @ p, a @ (p + 1)


def complex_numbers(a: Any, p: Any, r: Any) -> Any:
    return (a * 1j) @ p, r @ (a * 1j)


@pytest.mark.parametrize("f", [chained, stored_between, waited_for, same_side, complex_numbers])
def test_products_that_cannot_be_computed_at_once(f: Callable[..., Any]) -> None:
    a, p, r = operands(20, 30)
    assert "matmul_both" not in ops(f, a, p, r)
    agrees(f, (a, p, r))


def test_products_in_a_loop() -> None:
    def steps(a: Any, p: Any, r: Any, n: int) -> Any:
        for _ in range(n):
            p, r = (r @ a) / 40, (a @ p) / 40
        return p, r

    jitted = tracejit.jit(steps, strict=True)
    for n in (0, 1, 5):
        args = (*operands(40, 30), n)
        assert_same(steps(*args), jitted(*args), "order", ulp=1000)


GRAPH = """
def f(m: size, n: size, a: {t}[m, n], p: {t}[n], r: {t}[m]):
    u: {t}[m] = matmul(a, p)
    w: {t}[n] = matmul(r, a)
    return u, w
"""


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_native_code_has_the_order_of_the_evaluator(t: str) -> None:
    graph: Graph = parse_graph(GRAPH.format(t=t))
    fused = run_passes(graph, verify=True)
    assert [n.op.name for n in fused.nodes] == ["matmul_both"]
    native = NativeGraph(graph)
    for m, n in ((1, 1), (2, 3), (3, 17), (4, 8), (7, 33), (70, 95), (0, 4), (4, 0)):
        inputs = list(operands(m, n, {"f32": np.float32, "f64": np.float64}[t]))
        assert_same(native(inputs), list(evaluate(fused, inputs)))


def test_special_values() -> None:
    a, p, r = operands(9, 20)
    for value in (np.nan, np.inf, -0.0, 1e308):
        a[3, 4] = value
        agrees(both, (a, p, r))
    zeros = np.full((5, 9), -0.0)
    for x in tracejit.jit(both)(zeros, np.ones(9), np.ones(5)):
        assert not np.signbit(x).any() and not x.any()


def test_the_pass_finds_nothing_the_second_time() -> None:
    graph = pair_products(parse_graph(GRAPH.format(t="f64")))
    assert pair_products(graph) is graph

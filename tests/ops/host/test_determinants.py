"""Determinants of singular matrices: derivatives by cofactors, to second order."""

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tracejit
from tests.ops.host.test_host_derivatives import (  # noqa: F401 - a fixture
    KINDS,
    check,
    numbers,
    same_numbers,
)
from tests.support.check_grads import check_grads, run
from tracejit.ir.graph import GraphBuilder
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType
from tracejit.ops.host import derivatives
from tracejit.ops.host.derivatives.determinants import changes, cofactors
from tracejit.transforms.autodiff.reverse import vjp_graph


def det(x: Any) -> Any:
    return np.linalg.det(x)


def test_ops_are_known_before_rules_of_host_calls_are_loaded() -> None:
    modules = {type(op).__module__ for op in OPS.values()}
    assert not [name for name in modules if ".host.derivatives." in name]


def of_rank(n: int, rank: int, dtype: Any = np.float64) -> Any:
    return numbers(n, rank, dtype=dtype) @ numbers(rank, n, dtype=dtype)


def by_permutations(x: Any) -> Any:
    """Leibniz's formula."""
    total = 0.0
    for order in itertools.permutations(range(len(x))):
        inversions = sum(i > j for i, j in itertools.combinations(order, 2))
        term = (-1.0) ** inversions
        for k, j in enumerate(order):
            term = term * x[k, j]
        total = total + term
    return total


@pytest.mark.sampled(14)
@KINDS
@pytest.mark.parametrize(("n", "rank"), [(1, 0), (2, 1), (2, 0), (3, 2), (3, 1), (4, 3), (4, 2)])
def test_derivatives_at_singular_matrices(n: int, rank: int, dtype: Any) -> None:
    x, along = of_rank(n, rank, dtype), numbers(n, n, dtype=dtype)
    for part in (np.real, np.imag) if dtype is np.complex128 else (np.real,):

        def derivatives(f: Any, part: Any = part) -> Any:
            """The gradient, and its change along a direction."""
            return tracejit.jvp(tracejit.grad(lambda x: part(f(x))), (x,), (along,))

        expected = derivatives(by_permutations)
        for f in (det, lambda x: scipy.linalg.det(x)):
            np.testing.assert_allclose(derivatives(f), expected, atol=1e-12)
            slopes = tracejit.grad(lambda x, f=f, part=part: part(f(x)))(x)
            np.testing.assert_allclose(slopes, expected[0], atol=1e-12)


def test_exactly_singular_matrices() -> None:
    for x in ([[1.0, 2], [2, 4]], [[1.0, 2, 3], [4, 5, 6], [7, 8, 9]], np.diag([2.0, 0, 3])):
        check(det, np.array(x))
        check(det, np.array(x, np.float32), order=1)
    g = tracejit.grad(det)(np.array([[1.0, 2], [2, 4]]))
    np.testing.assert_allclose(g, [[4, -2], [-2, 1]], atol=1e-14)


def test_no_derivative_at_corank_two() -> None:
    """The gradient is zero there, the second derivative is not."""
    x = np.diag([0.0, 0.0, 3.0])
    np.testing.assert_allclose(tracejit.grad(det)(x), np.zeros((3, 3)), atol=1e-15)
    h = tracejit.hessian(det)(x)
    assert h[0, 0, 1, 1] == pytest.approx(3)
    assert h[0, 1, 1, 0] == pytest.approx(-3)
    with tracejit.eager():
        np.testing.assert_allclose(tracejit.hessian(det)(x), h, atol=1e-14)


def test_stacks_and_batches() -> None:
    x = np.stack([np.eye(3), np.ones((3, 3)), np.diag([1.0, 2, 0]), numbers(3, 3)])
    check(det, x)
    found = tracejit.vmap(tracejit.grad(det))(x)
    for k in range(4):
        np.testing.assert_allclose(found[k], tracejit.grad(det)(x[k]), atol=1e-14)


def test_third_derivatives() -> None:
    """Those of a regular matrix are formed; those of a singular one are an error."""
    f = tracejit.jacobian(tracejit.hessian(det))
    assert f(np.eye(3))[0, 0, 1, 1, 2, 2] == pytest.approx(1)
    with pytest.raises(ArithmeticError, match="third derivative"):
        f(np.ones((3, 3)))


@KINDS
def test_cofactors(dtype: Any) -> None:
    """By the singular values they are what they are by the inverse."""
    x, e = numbers(2, 4, 4, dtype=dtype), numbers(2, 4, 4, dtype=dtype)
    inverse = np.linalg.inv(x)
    d = np.linalg.det(x)[:, None, None]
    turned = np.swapaxes(inverse, 1, 2)
    np.testing.assert_allclose(cofactors(x), d * turned, rtol=1e-9)
    trace = np.trace(inverse @ e, axis1=1, axis2=2)[:, None, None]
    expected = d * (trace * turned - turned @ np.swapaxes(e, 1, 2) @ turned)
    np.testing.assert_allclose(changes(x, e), expected, rtol=1e-9)


def test_programs_without_derivatives_compute_no_cofactors() -> None:
    low = tracejit.jit(det).lower(np.eye(3))
    names = {node.op.name for node in low.graphs["fuse"].nodes}
    assert "lu_diagonal" in names
    assert not names & {"determinant", "derived_as", "host_call"}


def test_a_value_with_the_derivative_of_another() -> None:
    builder = GraphBuilder("f")
    x = builder.input(ArrayType(np.dtype(np.float64), (3,)), "x")
    a, b = (builder.one(OPS["sin"], [x]) for _ in range(2))
    graph = builder.build([builder.one(OPS["derived_as"], [a, b])])
    check_grads(graph, [np.array([0.3, -1.0, 2.0])])
    y = builder.one(OPS["derived_as"], [x, builder.one(OPS["cos"], [x])])
    derived = vjp_graph(builder.build([y]), [True])
    value, slope = run(derived, [np.array([0.3, -1.0, 2.0]), np.ones(3)])
    assert value.tolist() == [0.3, -1.0, 2.0]
    np.testing.assert_allclose(slope, -np.sin(value))


def test_no_op_waits_for_the_first_derivative() -> None:
    """The rules of host calls are loaded late: an op among them would not be known before."""
    late = [n for n, op in OPS.items() if type(op).__module__.startswith(derivatives.__name__)]
    assert late == []

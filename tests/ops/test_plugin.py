"""What a plug-in adds runs through every stage, and what it adds lies in one file."""

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import special

import tracejit as tj
from tests.support.check_grads import check_grads, graph_of
from tests.support.compare import assert_same
from tracejit.frontend.numpy.reductions import REDUCTIONS
from tracejit.frontend.numpy.registry import HANDLERS, SEVERAL_AXES
from tracejit.ir.evaluate import evaluate
from tracejit.ir.op import OPS, register
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.ops.array.elementwise import UFUNC_OPS
from tracejit.runtime.compile.graph_call import run_graph

ADDED = ("exp10", "reduce_logaddexp")


@pytest.fixture(autouse=True)
def plugin() -> Iterator[None]:
    """The plug-in for the time of a test."""
    tables: list[Any] = [OPS, UFUNC_OPS, HANDLERS, REDUCTIONS, SEVERAL_AXES]
    before = [table.copy() for table in tables]
    sys.modules.pop("tests.ops.plugin_ops", None)
    importlib.import_module("tests.ops.plugin_ops")
    yield
    for table, old in zip(tables, before, strict=True):
        table.clear()
        table.update(old)


def powers(x: Any) -> Any:
    return special.exp10(x / 4) + 1


def log_sums(x: Any) -> Any:
    return np.logaddexp.reduce(x, axis=1)


def log_sums_from(x: Any) -> Any:
    return np.logaddexp.reduce(x, axis=(0, 1), initial=0.5, where=x > 0, keepdims=True)


def wave(x: Any) -> Any:
    return np.sinc(x) * 3


PROGRAMS = {powers: "exp10", log_sums: "reduce_logaddexp", wave: "sin"}
X = np.linspace(-3.1, 2.9, 5 * 67).reshape(5, 67)


def matrices() -> list[Any]:
    """Layouts and dtypes: dense, transposed, strided, of one element, with edge values."""
    edges = np.array([[0.0, -0.0, np.inf, -np.inf, np.nan, 1000.0, -1000.0]])
    floats = [X, X.T.copy().T, X[:, ::3], X[:1, :1], edges]
    return [*floats, *(x.astype(np.float32) for x in floats)]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_programs_are_traced_and_run_natively(f: Any) -> None:
    compiled = tj.jit(f, strict=True)
    for x in matrices():
        graph = compiled.trace(x)
        ops = {node.op.name for node in graph.nodes}
        assert PROGRAMS[f] in ops and "host_call" not in ops
        constants: dict[str, Any] = {}
        text = print_graph(graph, constants)
        assert print_graph(parse_graph(text, constants), constants) == text
        scale = np.abs(x).max(axis=1) if f is log_sums else None
        assert_same(f(x), compiled(x), "order" if scale is not None else "ulp", ulp=8, scale=scale)


def test_a_reduction_takes_what_the_ufuncs_method_takes() -> None:
    assert_same(log_sums_from(X), tj.jit(log_sums_from, strict=True)(X), "ulp", ulp=16)
    with pytest.raises(TypeError):
        tj.jit(log_sums)(X + 1j)


@pytest.mark.parametrize("name", ADDED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_samples_run_natively(name: str) -> None:
    op: Any = OPS[name]
    for inputs, attrs in op.samples():
        graph = graph_of(op, inputs, attrs)
        (expected,) = evaluate(graph, inputs)
        (found,) = run_graph(graph, inputs)
        # Of halves NumPy rounds each step of a reduction.
        ulp = 2.0**6 if expected.dtype == np.float16 else 64.0
        assert_same(expected, found, "ulp", ulp=ulp)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(f: Any) -> None:
    slope = tj.grad(lambda x: (f(x) ** 2).sum())
    h = 1e-6
    for place in ((0, 0), (2, 33), (4, 66)):
        step = np.zeros_like(X)
        step[place] = h
        numeric = ((f(X + step) ** 2).sum() - (f(X - step) ** 2).sum()) / (2 * h)
        assert np.isclose(slope(X)[place], numeric, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ADDED)
def test_derivatives_of_both_modes_to_second_order(name: str) -> None:
    attrs: dict[str, Any] = {} if name == "exp10" else {"axes": (1,)}
    check_grads(OPS[name], [X[:, ::16].copy()], attrs=attrs)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_batches(f: Any) -> None:
    lanes = np.stack([X, X + 0.25, X * 2])
    compiled = tj.vmap(f)
    expected = np.stack([f(x) for x in lanes])
    assert_same(expected, compiled(lanes), "ulp", ulp=64)


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="exp10 is defined twice"):
        register(type(OPS["exp10"]))

"""Derivatives of ops that are not elementwise: against differences, to second order."""

from typing import Any

import numpy as np
import pytest

import tracejit.ops  # noqa: F401 - fills the registry
from tests.support.check_grads import check_grads, run
from tracejit.errors import Underivable
from tracejit.ir.dims import symbol
from tracejit.ir.evaluate import evaluate, type_of
from tracejit.ir.graph import Graph, GraphBuilder
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES, ArrayType
from tracejit.runtime.compile.graph_call import fused, run_graph
from tracejit.transforms.autodiff.reverse import vjp_graph

pytestmark = pytest.mark.sampled(9)

LAYOUTS = ("C", "F", "strided")


def numbers(*shape: int, dtype: Any = np.float64, layout: str = "C", seed: int = 0) -> Any:
    """Numbers of both signs that lie apart from each other and from zero."""
    rng = np.random.default_rng((seed, *shape))
    count = int(np.prod(shape))
    x = (rng.permutation(count) - count / 2 + 0.3) / max(count / 4, 1)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.permutation(x)
    x = np.asarray(x.astype(dtype).reshape(shape))
    if layout == "strided" and x.ndim:
        wide = np.zeros((*shape[:-1], 2 * shape[-1]), dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    return np.asarray(x, order="F" if layout == "F" else "C")


def declared(x: Any) -> Any:
    """The type of a value with the order of its axes in memory."""
    t = type_of(x)
    if isinstance(t, ArrayType):
        order = tuple(sorted(range(x.ndim), key=lambda k: -abs(x.strides[k])))
        return ArrayType(t.dtype, t.shape, order)
    return t


def graph_of(name: str, inputs: list[Any], **attrs: Any) -> Graph:
    builder = GraphBuilder(name)
    values = [builder.input(declared(x), f"x{k}") for k, x in enumerate(inputs)]
    return builder.build(builder.emit(OPS[name], values, attrs))


def check(name: str, *inputs: Any, order: int = 2, **attrs: Any) -> None:
    check_grads(graph_of(name, list(inputs), **attrs), list(inputs), order)


def gradient(name: str, *inputs: Any, cotangent: Any = None, **attrs: Any) -> Any:
    """The cotangents of the inputs that are floats, for ones or a given one."""
    graph = graph_of(name, list(inputs), **attrs)
    wanted = [np.asarray(x).dtype.kind in "fc" for x in inputs]
    derived = vjp_graph(graph, wanted)
    outputs = run(graph, inputs)
    given = [np.ones_like(y) if cotangent is None else cotangent for y in outputs]
    found = run(derived, [*inputs, *given])[len(outputs) :]
    return found[0] if len(found) == 1 else found


DTYPE = pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
LAYOUT = pytest.mark.parametrize("layout", LAYOUTS)


# Shapes -------------------------------------------------------------------------------------------


@DTYPE
@LAYOUT
def test_shapes(dtype: Any, layout: str) -> None:
    x = numbers(2, 3, dtype=dtype, layout=layout)
    check("broadcast_to", x, shape=(4, 2, 3))
    check("broadcast_to", x[:, :1], shape=(5, 2, 4))
    check("broadcast_to", x[0, 0], shape=(2, 2))
    check("reshape", x, shape=(3, 2))
    check("reshape", x, shape=(1, 2, 1, 3))
    check("reshape", x, shape=(6,), assume=True)
    check("transpose", x, axes=(1, 0))
    check("slice", x, start=(1, 2), size=(2, 2), step=(-1, -2))
    check("slice", x, start=(0, 1), size=(2, 1), step=(1, 1))
    check("slice", x, start=(0, 3), size=(2, 0), step=(1, 1))
    check("concatenate", x, x[:1].copy(), x, axis=0)
    check("concatenate", x, x[:, :2].copy(), axis=1)
    check("element", np.array(x[0, 0]))


def test_shapes_without_elements() -> None:
    x = np.zeros((0, 3))
    check("broadcast_to", np.zeros((1, 3)), shape=(0, 3))
    check("reshape", x, shape=(3, 0))
    check("concatenate", x, numbers(2, 3), axis=0)
    check("reduce_sum", x, axes=(0,))
    assert gradient("broadcast_to", np.ones((1, 3)), shape=(0, 3)).tolist() == [[0, 0, 0]]


def test_a_slice_adds_its_cotangent_in_place() -> None:
    """The slice of the whole is read, added to and written back: nothing is padded with zeros."""
    builder = GraphBuilder("twice")
    x = builder.input(type_of(np.ones(9)), "x")
    attrs = {"start": (1,), "size": (4,), "step": (2,)}
    one = builder.one(OPS["slice"], [x], **attrs)
    two = builder.one(OPS["slice"], [x], **attrs)
    derived = vjp_graph(builder.build([one, two]), [True])
    updates = [n for n in derived.nodes if n.op.name == "update_slice"]
    assert len(updates) == 2
    assert updates[1].inputs[0] is updates[0].outputs[0]
    assert sum(n.op.name == "broadcast_to" for n in derived.nodes) == 1


# Indices ------------------------------------------------------------------------------------------

ROW, COLUMN = np.array([[0, 1, 2], [-1, 1, 0]]), np.array([[3, -4, 0], [3, 0, 1]])


@DTYPE
@LAYOUT
def test_gather(dtype: Any, layout: str) -> None:
    x = numbers(3, 4, 2, dtype=dtype, layout=layout)
    for indices in (
        [ROW],
        [ROW, COLUMN],
        [ROW, COLUMN, ROW % 2],
        [np.int64(2), np.int64(-1)],
        [np.array(1)],
        [2],
    ):
        check("gather", x, *indices)
    check("gather", x, np.zeros(0, np.int64))


def test_gather_adds_up_what_is_read_twice() -> None:
    x = numbers(4)
    assert gradient("gather", x, np.array([1, 1, -3, 0])).tolist() == [1, 3, 0, 0]


@DTYPE
@LAYOUT
def test_writes(dtype: Any, layout: str) -> None:
    x = numbers(3, 4, dtype=dtype, layout=layout)
    v = numbers(2, 2, dtype=dtype, layout=layout, seed=1)
    check("update_slice", x, v, start=(2, 0), size=(2, 2), step=(-2, 3))
    check("scatter", x, numbers(2, 3, 4, dtype=dtype, seed=2), ROW)
    check("scatter", x, numbers(2, 3, dtype=dtype, seed=2), ROW, COLUMN)
    check("scatter", x, np.array(v[0, 0]), np.int64(1), np.int64(-2))
    check("read_item", x, -1, at=(None, 2))
    check("read_item", x, at=(0, 2))
    check("write_item", x, v[0, 0], -1, np.int64(3), at=(None, None))


def test_the_last_of_two_writes_has_the_cotangent() -> None:
    x, v, i = numbers(4), numbers(3), np.array([2, -2, 0])
    of_x, of_v = gradient("scatter", x, v, i, cotangent=np.array([1.0, 2, 3, 4]))
    assert of_x.tolist() == [0, 2, 0, 4]
    assert of_v.tolist() == [0, 3, 1]


@pytest.mark.parametrize("function", ["add", "subtract"])
def test_repeated_adding(function: str) -> None:
    v = numbers(2, 3, seed=3)
    check("scatter_apply", numbers(4), v, ROW, function=function)
    check("scatter_apply", numbers(4, 2), numbers(2, 3, 2), ROW, function=function)
    check("scatter_apply", numbers(4) + 1j, v + 1j, ROW, function=function)


def test_repeated_functions_that_have_no_rule() -> None:
    with pytest.raises(Underivable, match=r"np\.multiply\.at"):
        gradient("scatter_apply", numbers(4), numbers(2, 3), ROW, function="multiply")


# Reductions and scans -----------------------------------------------------------------------------


@pytest.mark.sampled(9, kind=lambda dtype, **_: str(dtype))
@DTYPE
@LAYOUT
def test_reductions(dtype: Any, layout: str) -> None:
    x = numbers(2, 3, 2, dtype=dtype, layout=layout)
    for axes in ((0,), (1,), (0, 2), (0, 1, 2), ()):
        check("reduce_sum", x, axes=axes)
        check("reduce_prod", x, axes=axes)
    if np.dtype(dtype).kind == "f":
        for name in ("reduce_min", "reduce_max"):
            check(name, x, axes=(0, 2), order=1)
            check(name, x, axes=(1,))


@pytest.mark.parametrize("zeros", [(1,), (0, 2), (0, 1, 2, 3)])
def test_products_with_zeros(zeros: tuple[int, ...]) -> None:
    x = numbers(4)
    x[list(zeros)] = 0
    others = [np.prod(np.delete(x, k)) for k in range(4)]
    np.testing.assert_allclose(gradient("reduce_prod", x, axes=(0,)), others, rtol=1e-15)
    if len(zeros) == 1:  # else all first derivatives are zero
        check("reduce_prod", x, axes=(0,))
    check("cumprod", x, axis=0)
    check("linear_recurrence", x, numbers(4, seed=1), axis=0)


def test_products_of_no_and_one_element() -> None:
    assert gradient("reduce_prod", np.zeros((2, 0)), axes=(1,)).shape == (2, 0)
    assert gradient("reduce_prod", np.array([0.0]), axes=(0,)).tolist() == [1]
    assert gradient("cumprod", np.zeros((0, 2)), axis=0).shape == (0, 2)


def test_equal_extremes_share() -> None:
    x = np.array([[1.0, 3, 3, 3], [2, 0, 0, 5]])
    assert gradient("reduce_max", x, axes=(1,)).tolist() == [[0, 1 / 3, 1 / 3, 1 / 3], [0, 0, 0, 1]]
    assert gradient("reduce_min", x, axes=(0, 1)).tolist() == [[0] * 4, [0, 0.5, 0.5, 0]]
    x[0, 1] = np.nan
    assert gradient("reduce_max", x, axes=(1,)).tolist() == [[0, 1, 0, 0], [0, 0, 0, 1]]
    x[0] = np.inf
    assert gradient("reduce_max", x, axes=(1,)).tolist() == [[0.25] * 4, [0, 0, 0, 1]]


@pytest.mark.sampled(9, kind=lambda dtype, **_: str(dtype))
@DTYPE
@LAYOUT
def test_scans(dtype: Any, layout: str) -> None:
    x = numbers(2, 3, 2, dtype=dtype, layout=layout)
    y = numbers(2, 3, 2, dtype=dtype, seed=4)
    for axis in range(3):
        check("cumsum", x, axis=axis)
        check("cumprod", x, axis=axis)
        check("linear_recurrence", x, y, axis=axis)
    check("cumsum", np.zeros((0, 2), dtype), axis=0)


def test_recurrences_are_compiled() -> None:
    op = OPS["linear_recurrence"]
    for inputs, attrs in op.samples():
        graph = graph_of(op.name, list(inputs), **attrs)
        assert fused(graph).nodes[0].op.kind == "fusion"
        with np.errstate(all="ignore"):
            (found,), (expected,) = run_graph(graph, inputs), evaluate(graph, inputs)
        if expected.dtype.kind == "f":
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


# Sorting ------------------------------------------------------------------------------------------


@DTYPE
@LAYOUT
def test_sort(dtype: Any, layout: str) -> None:
    x = numbers(3, 4, 2, dtype=dtype, layout=layout)
    for axis in range(3):
        check("sort", x, axis=axis)
    check("sort", np.zeros((0, 2), dtype), axis=1)


def test_equal_elements_keep_their_order() -> None:
    x, g = np.array([2.0, 1, 2, np.nan, 1]), np.arange(5.0)
    assert gradient("sort", x, axis=0, cotangent=g).tolist() == [2, 0, 3, 4, 1]


# Symbolic sizes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("reduce_sum", {"axes": (0,)}),
        ("reduce_prod", {"axes": (0, 1)}),
        ("reduce_max", {"axes": (1,)}),
        ("cumsum", {"axis": 1}),
        ("cumprod", {"axis": 0}),
        ("sort", {"axis": 0}),
        ("transpose", {"axes": (1, 0)}),
        ("reshape", {"shape": (symbol("m") * symbol("n"),)}),
        ("broadcast_to", {"shape": (symbol("m"), symbol("n"), symbol("m"))}),
        ("slice", {"start": (symbol("n") - 1, 0), "size": (symbol("n"), 2), "step": (-1, 1)}),
    ],
)
def test_symbolic_sizes(name: str, attrs: dict[str, Any]) -> None:
    builder = GraphBuilder(name, ("n", "m"))
    x = builder.input(ArrayType(DTYPES["f64"], (symbol("n"), symbol("m"))), "x")
    graph = builder.build(builder.emit(OPS[name], [x], attrs))
    for shape in ((3, 4), (5, 2), (2, 2)):
        check_grads(graph, [numbers(*shape)])


# Linear algebra -----------------------------------------------------------------------------------


@pytest.mark.sampled(20, kind=lambda dtype, **_: str(dtype))
@DTYPE
@LAYOUT
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((4, 2, 3), (3,)),
        ((3,), (4, 3, 2)),
        ((4, 2, 3), (3, 2)),
        ((4, 2, 3), (1, 3, 2)),
        ((2, 3), (1, 3, 2)),
        ((2, 3), (4, 3, 2)),
        ((4, 1, 2, 3), (5, 3, 2)),
        ((0, 3), (3, 2)),
        ((2, 0), (0, 2)),
    ],
)
def test_products(a: Any, b: Any, dtype: Any, layout: str) -> None:
    x, y = (numbers(*shape, dtype=dtype, layout=layout, seed=5) for shape in (a, b))
    check("matmul", x, y)


def test_both_products() -> None:
    check("matmul_both", numbers(3, 4), numbers(4), numbers(3))


def well_conditioned(*shape: int, dtype: Any = np.float64, layout: str = "C") -> Any:
    x = numbers(*shape, dtype=dtype) / 4 + np.eye(shape[-1], dtype=dtype) * 2
    out = x @ np.conj(np.swapaxes(x, -1, -2))
    return np.asarray(out.astype(dtype), order="F" if layout == "F" else "C")


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_solve(dtype: Any, layout: str) -> None:
    a = well_conditioned(3, 3, dtype=dtype, layout=layout)
    stack = well_conditioned(2, 1, 3, 3, dtype=dtype)
    b, many = numbers(3, 2, dtype=dtype), numbers(4, 3, 2, dtype=dtype)
    check("solve", a, b, vector=False)
    check("solve", a, b[:, 0].copy(), vector=True)
    check("solve", a, many, vector=False)
    check("solve", stack, b, vector=False)
    check("solve", stack, many, vector=False)
    check("solve", stack, b[:, 0].copy(), vector=True)
    check("inv", a)
    check("inv", stack)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("trans", [0, 1, 2])
def test_triangular_systems(dtype: Any, trans: int) -> None:
    a, stack = well_conditioned(3, 3, dtype=dtype), well_conditioned(2, 3, 3, dtype=dtype)
    b, many = numbers(3, 2, dtype=dtype), numbers(2, 3, 2, dtype=dtype)
    how = {"lower": trans != 1, "trans": trans, "unit": False}
    check("triangular_solve", a, b, **how)
    check("triangular_solve", a, many, **how)
    check("triangular_solve", stack, many, **{**how, "unit": True})


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_systems_by_factors(dtype: Any) -> None:
    """Factors stand for their matrix: what is computed from them has its derivatives by that."""
    a, stack = well_conditioned(3, 3, dtype=dtype), well_conditioned(2, 3, 3, dtype=dtype)
    b, many = numbers(3, 2, dtype=dtype), numbers(2, 3, 2, dtype=dtype)
    for x in (a, stack):
        check_grads(by_factors("factored_inverse", x), [x])
        check_grads(by_factors("factored_solve", x, many, trans=0), [x, many])
    check_grads(by_factors("factored_solve", a, b, trans=1), [a, b])


def by_factors(name: str, x: Any, *others: Any, **attrs: Any) -> Graph:
    """The graph of an op of a matrix, its factors and other operands."""
    builder = GraphBuilder(name)
    a, *rest = (builder.input(declared(v)) for v in (x, *others))
    factors = builder.emit(OPS["lu_factor"], [a], {})
    return builder.build(builder.emit(OPS[name], [a, *factors, *rest], attrs))


def symmetrised(name: str, x: Any, **attrs: Any) -> Graph:
    """The graph of an op of (x + x^H) / 2."""
    builder = GraphBuilder(name)
    v = builder.input(declared(x), "x")
    axes = (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2)
    turned = builder.one(OPS["transpose"], [v], axes=axes)
    if x.dtype.kind == "c":
        turned = builder.one(OPS["conjugate"], [turned])
    total = builder.one(OPS["add"], [v, turned])
    return builder.build(builder.emit(OPS[name], [total], attrs))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky(dtype: Any, upper: bool) -> None:
    for shape in ((3, 3), (2, 3, 3), (1, 1)):
        x = well_conditioned(*shape, dtype=dtype)
        check_grads(symmetrised("cholesky", x, upper=upper), [x])


def test_the_gradient_of_a_factor_is_symmetric() -> None:
    for dtype in (np.float64, np.complex128):
        g = gradient("cholesky", well_conditioned(3, 3, dtype=dtype), upper=False)
        np.testing.assert_allclose(g, np.conj(g.T), rtol=1e-14)
    assert gradient("cholesky", np.zeros((0, 0)), upper=True).shape == (0, 0)


# Compiled -----------------------------------------------------------------------------------------

COMPILED: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("broadcast_to", [numbers(1, 3)], {"shape": (4, 2, 3)}),
    ("slice", [numbers(4, 5)], {"start": (3, 1), "size": (2, 2), "step": (-2, 2)}),
    ("concatenate", [numbers(2, 3), numbers(4, 3)], {"axis": 0}),
    ("gather", [numbers(3, 4, 2), ROW], {}),
    ("gather", [numbers(3, 4), ROW, COLUMN], {}),
    ("gather", [numbers(3, 4), 2], {}),
    (
        "update_slice",
        [numbers(4, 5), numbers(2, 2)],
        {"start": (3, 1), "size": (2, 2), "step": (-2, 2)},
    ),
    ("scatter", [numbers(3, 4), numbers(2, 3), ROW, COLUMN], {}),
    ("read_item", [numbers(3, 4), -1], {"at": (None, 2)}),
    ("write_item", [numbers(3, 4), np.float64(2), 1], {"at": (None, 2)}),
    ("scatter_apply", [numbers(4), numbers(2, 3), ROW], {"function": "subtract"}),
    ("reduce_prod", [numbers(3, 4, 2)], {"axes": (0, 2)}),
    ("reduce_max", [numbers(3, 4, 2)], {"axes": (1,)}),
    ("cumsum", [numbers(3, 4)], {"axis": 0}),
    ("cumprod", [numbers(3, 4)], {"axis": 1}),
    ("cumprod", [numbers(3, 4, dtype=np.complex128)], {"axis": 1}),
    ("sort", [numbers(3, 4)], {"axis": 0}),
    ("matmul", [numbers(2, 3, 4), numbers(4, 2)], {}),
    ("matmul", [numbers(3, 4), numbers(4)], {}),
    ("solve", [well_conditioned(3, 3), numbers(3)], {"vector": True}),
    (
        "triangular_solve",
        [well_conditioned(3, 3), numbers(3, 2)],
        {"lower": True, "trans": 1, "unit": False},
    ),
    ("inv", [well_conditioned(3, 3)], {}),
    ("cholesky", [well_conditioned(3, 3)], {"upper": False}),
    ("lu_diagonal", [well_conditioned(3, 3)], {}),
    ("determinant", [well_conditioned(3, 3)], {}),
]


@pytest.mark.parametrize("k", range(len(COMPILED)))
def test_derivatives_are_compiled(k: int) -> None:
    name, inputs, attrs = COMPILED[k]
    graph = graph_of(name, inputs, **attrs)
    wanted = [np.asarray(x).dtype.kind in "fc" for x in inputs]
    derived = vjp_graph(graph, wanted)
    given = [*inputs, *(np.asarray(y)[()] * 0.5 + 1 for y in run(graph, inputs))]
    given[-1] = np.asarray(given[-1]) if isinstance(graph.outputs[0].type, ArrayType) else given[-1]
    for found, expected in zip(run_graph(derived, given), run(derived, given), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)

"""Derivative rules of ops: where the functions are smooth, and the values they have elsewhere."""

import itertools
from typing import Any

import numpy as np
import pytest
from mpmath import mp

import tracejit
from tests.ops.derivative_points import (
    array_points,
    elementwise_names,
    python_names,
    python_points,
)
from tests.ops.where_programs import PROGRAMS, X
from tests.support.check_grads import check_grads, graph_of, run
from tests.support.compare import assert_same
from tests.support.native_flow import NativeGraph
from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.evaluate import type_of
from tracejit.ir.graph import Graph, GraphBuilder
from tracejit.ir.op import OPS, Op
from tracejit.ir.terms import Term
from tracejit.ir.types import DTYPES, NpScalar
from tracejit.ops.array.no_nan import NoNan
from tracejit.ops.rules.partials import LinearMap
from tracejit.runtime.compile.graph_call import run_graph
from tracejit.transforms.autodiff.forward import jvp_graph
from tracejit.transforms.autodiff.reverse import vjp_graph

#: Ops without rules of their own, and why.
WITHOUT: dict[str, str] = {
    **dict.fromkeys(
        ("remat", "cond", "custom", "while_loop"), "the transforms differentiate regions"
    ),
    **dict.fromkeys(
        ("fusion", "switch", "merge", "enter", "exit", "next_iteration", "loop_cond")
        + ("parallel_loop", "contract"),
        "made after the transforms",
    ),
    **dict.fromkeys(("stack_new", "stack_push", "stack_pop"), "the transforms record residuals"),
    **dict.fromkeys(("start_token", "print_text", "raise_error", "check"), "gives no floats"),
    **dict.fromkeys(("recurse", "recursive_call"), "calls that only their functions can follow"),
    "undefined": "has no operands",
}


def has_rules(op: Op) -> bool:
    if getattr(op, "partials", None) is not None:
        return True
    own = type(op).jvp is not Op.jvp and type(op).vjp is not Op.vjp
    return own and not hasattr(op, "partials")


@pytest.mark.parametrize("name", sorted(OPS))
def test_every_op_has_rules_or_is_constant_or_is_listed(name: str) -> None:
    op = OPS[name]
    assert (name in WITHOUT) + has_rules(op) + op.constant == 1


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", elementwise_names())
def test_elementwise_on_arrays(name: str) -> None:
    found = 0
    for dtype in ("f16", "f32", "f64", "c64", "c128"):
        points = array_points(name, dtype)
        if points is not None:
            inputs, attrs = points
            check_grads(OPS[name], inputs, order=1 if dtype == "f16" else 2, attrs=attrs)
            found += 1
    assert found or name == "cast"


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", elementwise_names())
def test_elementwise_on_numpy_scalars(name: str) -> None:
    for dtype in ("f64", "c128"):
        points = array_points(name, dtype)
        if points is not None:
            inputs, attrs = points
            check_grads(OPS[name], [x[1] for x in inputs], attrs=attrs)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", python_names())
def test_python_numbers(name: str) -> None:
    for inputs, attrs in python_points(name):
        check_grads(OPS[name], inputs, attrs=attrs)


@pytest.mark.parametrize("name", ["f32", "f64", "c64", "c128"])
@pytest.mark.parametrize("to", ["f32", "f64", "c64", "c128"])
def test_casts(name: str, to: str) -> None:
    x = np.array([0.5, -1.25, 3.0]) + (np.array([1j, -2j, 0.5j]) if name[0] == "c" else 0)
    check_grads(OPS["cast"], [x.astype(DTYPES[name])], attrs={"dtype": to})
    check_grads(OPS["cast"], [x.astype(DTYPES[name])[1]], attrs={"dtype": to})


@pytest.mark.parametrize("x", [0.7, 0.7 - 0.2j, np.float32(0.7), np.complex64(0.7 + 1j)])
def test_between_python_and_numpy(x: Any) -> None:
    is_complex = isinstance(x, (complex, np.complexfloating))
    for kind in ("complex",) if is_complex else ("float", "complex"):
        check_grads(OPS["py_scalar"], [x], attrs={"kind": kind})
    if not isinstance(x, np.generic):
        for dtype in ("c64", "c128") if is_complex else ("f32", "f64", "c128"):
            check_grads(OPS["np_scalar"], [x], attrs={"dtype": dtype})


# Values where a function is not smooth -----------------------------------------------------------


def gradient(name: str, *operands: Any, ct: float = 1.0) -> list[Any]:
    """The operands' cotangents; the tangents along each axis, which must be the same."""
    graph = graph_of(OPS[name], [np.float64(x) for x in operands])
    every = [True] * len(operands)
    inputs = [np.float64(x) for x in operands]
    pulled = run(vjp_graph(graph, every), [*inputs, np.float64(ct)])[1:]
    for k in range(len(operands)):
        axis = [np.float64(j == k) for j in range(len(operands))]
        pushed = run(jvp_graph(graph, every), [*inputs, *axis])[1]
        if ct == 1.0:
            np.testing.assert_array_equal(pushed, pulled[k])
    return list(pulled)


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("absolute", (0.0,), [0.0]),
        ("sqrt", (0.0,), [INF]),
        ("sqrt", (-1.0,), [NAN]),
        ("cbrt", (0.0,), [INF]),
        ("log", (0.0,), [INF]),
        ("reciprocal", (0.0,), [-INF]),
        ("arcsin", (1.0,), [INF]),
        ("arcsin", (1.5,), [NAN]),
        ("arccosh", (-2.0,), [NAN]),
        ("power", (0.0, 0.0), [0.0, 0.0]),
        ("power", (0.0, 1.0), [1.0, 0.0]),
        ("power", (0.0, 2.0), [0.0, 0.0]),
        ("power", (0.0, 0.5), [INF, 0.0]),
        ("power", (0.0, -1.0), [-INF, -INF]),
        ("power", (NAN, 0.0), [0.0, NAN]),
        ("power", (-2.0, 3.0), [12.0, NAN]),
        ("power", (-2.0, -3.0), [-0.1875, NAN]),
        ("maximum", (1.0, 1.0), [0.5, 0.5]),
        ("minimum", (1.0, 1.0), [0.5, 0.5]),
        ("maximum", (NAN, 1.0), [0.0, 0.0]),
        ("fmax", (1.0, 1.0), [0.5, 0.5]),
        ("fmax", (NAN, 1.0), [0.0, 1.0]),
        ("fmin", (1.0, NAN), [1.0, 0.0]),
        ("hypot", (0.0, 0.0), [0.0, 0.0]),
        ("arctan2", (0.0, 0.0), [NAN, NAN]),
        ("remainder", (7.5, -2.0), [1.0, 4.0]),
        ("fmod", (7.5, -2.0), [1.0, 3.0]),
        ("copysign", (3.0, -2.0), [-1.0, 0.0]),
        ("copysign", (0.0, -2.0), [0.0, 0.0]),
        ("heaviside", (0.0, 0.5), [0.0, 1.0]),
        ("logaddexp", (-INF, -INF), [1.0, 1.0]),
        ("logaddexp", (INF, 1.0), [1.0, 0.0]),
        ("logaddexp", (800.0, -800.0), [1.0, 0.0]),
        ("tanh", (INF,), [0.0]),
        ("arctan2", (1e200, 1e200), [0.5e-200, -0.5e-200]),
        ("arcsinh", (1e300,), [1e-300]),
    ],
)
def test_named_values(name: str, operands: Any, expected: Any) -> None:
    if name == "arctan2" and operands[0]:
        np.testing.assert_allclose(gradient(name, *operands), expected, rtol=1e-14)
    else:
        np.testing.assert_array_equal(gradient(name, *operands), expected)


def test_absolute_of_complex_numbers() -> None:
    z = np.array([0j, 3 + 4j])
    graph = graph_of(OPS["absolute"], [z])
    (_, g) = run(vjp_graph(graph, [True]), [z, np.ones(2)])
    np.testing.assert_allclose(g, [0, 0.6 - 0.8j], rtol=1e-15)
    assert g.dtype == np.complex128


def test_exponents_that_are_not_wanted_need_no_logarithm() -> None:
    x = np.array([-1.0, 2.0])
    graph = graph_of(OPS["power"], [x, x])
    for derived in (vjp_graph(graph, [True, False]), jvp_graph(graph, [True, False])):
        assert all(node.op.name != "log" for node in derived.nodes)


#: What the derivatives are, in many digits.
EXACT: dict[str, Any] = {
    "sqrt": lambda x: 1 / (2 * mp.sqrt(x)),
    "cbrt": lambda x: 1 / (3 * mp.cbrt(abs(x)) ** 2),
    "square": lambda x: 2 * x,
    "reciprocal": lambda x: -1 / x**2,
    "exp": mp.exp,
    "exp2": lambda x: 2**x * mp.log(2),
    "expm1": mp.exp,
    "log": lambda x: 1 / x,
    "log2": lambda x: 1 / (x * mp.log(2)),
    "log10": lambda x: 1 / (x * mp.log(10)),
    "log1p": lambda x: 1 / (1 + x),
    "sin": mp.cos,
    "cos": lambda x: -mp.sin(x),
    "tan": lambda x: mp.sec(x) ** 2,
    "arcsin": lambda x: 1 / mp.sqrt(1 - x**2),
    "arccos": lambda x: -1 / mp.sqrt(1 - x**2),
    "arctan": lambda x: 1 / (1 + x**2),
    "sinh": mp.cosh,
    "cosh": mp.sinh,
    "tanh": lambda x: mp.sech(x) ** 2,
    "arcsinh": lambda x: 1 / mp.sqrt(1 + x**2),
    "arccosh": lambda x: 1 / mp.sqrt(x**2 - 1),
    "arctanh": lambda x: 1 / (1 - x**2),
    "erf": lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-(x**2)),
}
#: Their derivatives follow from results that round to 1: the error is small beside 1.
_BESIDE_ONE = ("tanh", "expm1")


@pytest.mark.parametrize("name", EXACT)
def test_accuracy_over_the_whole_domain(name: str) -> None:
    """Within a few units in the last place, next to the ends of the domain too."""
    sizes = 10.0 ** np.linspace(-300, 300, 41)
    near = 1 - 10.0 ** np.linspace(-15, -1, 15)
    x = np.concatenate([sizes, -sizes, near, -near, 2 - near, np.linspace(-20, 20, 37)])
    with mp.workdps(700 if name == "tanh" else 60), np.errstate(all="ignore"):
        (tangent,) = run(jvp_graph(graph_of(OPS[name], [x]), [True]), [x, np.ones_like(x)])[1:]
        (y,) = run(graph_of(OPS[name], [x]), [x])
        for a, t, result in zip(x, tangent, y, strict=True):
            if not np.isfinite(result) or (name in ("erf", "tan") and abs(a) > 1e3):
                continue
            try:
                wanted = float(EXACT[name](mp.mpf(float(a))))
            except ZeroDivisionError:
                assert np.isinf(t), f"{name}'({a}) = {t}"
                continue
            slack = 2.0**-52 if name in _BESIDE_ONE else 0.0
            # The square in exp(-x**2) is rounded.
            units = 12 + (a * a if name == "erf" else 0.0)
            bound = units * np.spacing(abs(wanted)) + slack
            assert t == wanted or abs(t - wanted) <= bound, f"{name}'({a}) = {t}, not {wanted}"


# The lane that `where` does not take -------------------------------------------------------------


def _where(c: DerivativeBuilder, x: Any, test: str, name: str, other: float) -> Any:
    return c.where(c.compare(test, x, 0.0), _FUNCTIONS[name](c, x), other)


_FUNCTIONS: dict[str, Any] = {
    "log": lambda c, x: c.op("log", x),
    "sqrt": lambda c, x: c.op("sqrt", x),
    "x log x": lambda c, x: c.mul(x, c.op("log", x)),
    "root by power": lambda c, x: c.op("power", x, c.full(x.type, 0.5)),
    "x**1.5": lambda c, x: c.op("power", x, c.full(x.type, 1.5)),
    "x**x": lambda c, x: c.op("power", x, x),
    "1 / x": lambda c, x: c.div(c.full(x.type, 1.0), x),
    "sin x / x": lambda c, x: c.div(c.op("sin", x), x),
    "exp(1 / x)": lambda c, x: c.op("exp", c.neg(c.op("reciprocal", x))),
    "sin(1 / x)": lambda c, x: c.op("sin", c.op("reciprocal", x)),
    "arctan2": lambda c, x: c.op("arctan2", x, x),
    "hypot": lambda c, x: c.op("hypot", x, c.scale(x, 2.0)),
    "cbrt": lambda c, x: c.op("cbrt", x),
    "square root of square": lambda c, x: c.op("sqrt", c.op("square", x)),
    "cut": lambda c, x: c.op("log", c.where(c.compare("greater", x, 0.0), x, 0.0)),
    "nested": lambda c, x: c.where(
        c.compare("less", x, 2.0), c.op("log", x), c.op("sqrt", c.sub(c.full(x.type, 1.0), x))
    ),
}
_HOLOMORPHIC = sorted(set(_FUNCTIONS) - {"arctan2", "hypot", "cbrt", "cut", "nested"})


def guarded(x: Any, test: str, name: str, other: float) -> Graph:
    """where(test(x, 0), f(x), other)."""
    builder = GraphBuilder("guarded")
    v = builder.input(type_of(x), "x")
    c = DerivativeBuilder(builder, lambda: "unused")
    return builder.build([_where(c, v, test, name, other)])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("dtype", ["f32", "f64", "c64", "c128"])
@pytest.mark.parametrize("name", _FUNCTIONS)
def test_where_leaks_nothing_of_the_lane_not_taken(name: str, dtype: str) -> None:
    """In both modes, and in all four ways to second order; a smooth lane is there as well."""
    d = DTYPES[dtype]
    if d.kind == "c" and name not in _HOLOMORPHIC:
        return
    x = np.array([0.0, -0.0, 0.0], d)
    graph = guarded(x, "not_equal", name, 0.0)
    check_zero(graph, x)
    if d.kind == "f":
        x = np.array([0.0, -1.0, -3.0, -np.inf, np.nan], d)
        check_zero(guarded(x, "greater", name, 0.0), x)
    at = np.array([0.75, 1.25], d)
    check_grads(guarded(at, "greater", name, 0.0), [at])
    mixed = np.array([0.0, 0.75, -0.0], d)
    (_, g) = run(vjp_graph(guarded(mixed, "not_equal", name, 0.0), [True]), [mixed, mixed + 1])
    assert g[0] == 0 and g[2] == 0 and np.isfinite(g[1])


@pytest.mark.sampled(24)
@pytest.mark.parametrize("dtype", ["f32", "f64", "c128"])
@pytest.mark.parametrize("name", _HOLOMORPHIC)
def test_compiled_code_leaks_nothing(name: str, dtype: str) -> None:
    """All kernels of a program have absorbing zeros, as the definition has them."""
    x = np.array([0.0, 0.75, -0.0, 1.25, 0.0] * 9, DTYPES[dtype])
    for make in (jvp_graph, vjp_graph):
        derived = make(guarded(x, "not_equal", name, 0.0), [True])
        expected = run(derived, [x, np.ones_like(x)])
        actual = run_graph(derived, [x, np.ones_like(x)])
        assert not np.any(actual[1][x == 0])
        for a, b in zip(actual, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=20 * np.finfo(x.dtype).eps)


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if isinstance(op, NoNan)])
def test_compiled_absorbing_zeros(name: str) -> None:
    with np.errstate(all="ignore"):
        samples = OPS[name].samples()
    for inputs, attrs in samples:
        graph = graph_of(OPS[name], inputs, attrs)
        (expected,), (actual,) = run(graph, inputs), run_graph(graph, inputs)
        parity = "ulp" if expected.dtype.kind == "c" else "exact"
        assert_same(expected, actual, parity=parity, ulp=1)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", ["multiply_no_nan", "product_no_nan", "divide_no_nan"])
@pytest.mark.parametrize("dtype", ["f16", "f32", "f64", "c64", "c128"])
def test_compiled_absorbing_zeros_of_numbers(name: str, dtype: str) -> None:
    """Of single numbers, one after the other: what is hardly ever met lies beside the way."""
    kind = DTYPES[dtype]
    numbers = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, np.finfo(kind).tiny]
    if kind.kind == "c":
        numbers += [1 - 2j, complex(0, np.inf), complex(-0.0, 0.0), complex(np.nan, 0.0)]
    graph = chain_of(name, NpScalar(kind))
    compiled = NativeGraph(graph)
    for a, b, c in itertools.product([kind.type(x) for x in numbers], repeat=3):
        with np.errstate(all="ignore"):
            expected = run(graph, [a, b, c])
        for e, found in zip(expected, compiled([a, b, c]) or (), strict=True):
            if kind.kind == "c":
                np.testing.assert_allclose(found, e, rtol=4 * np.finfo(kind).eps)
            else:
                assert_same(found, e)


def chain_of(name: str, kind: NpScalar) -> Graph:
    """Two such operations of which the second has the result of the first as both operands."""
    builder = GraphBuilder("chain")
    a, b, c = (builder.input(kind, x) for x in "abc")
    p = builder.one(OPS[name], (a, b))
    q = builder.one(OPS[name], (p, c))
    return builder.build([p, q, builder.one(OPS[name], (q, p))])


def check_zero(graph: Graph, x: Any) -> None:
    """All derivatives to second order are zero at `x`, for tangents and cotangents of 1."""
    graphs = [(make(graph, [True]), [x, np.ones_like(x)]) for make in (jvp_graph, vjp_graph)]
    for (derived, inputs), make in itertools.product(graphs, (jvp_graph, vjp_graph)):
        first = run(derived, inputs)[1]
        assert np.array_equal(first, np.zeros_like(x)), f"{graph.nodes}: {first}"
        second = make(derived, [True, False])
        extra = [np.ones_like(x)] * (1 if make is jvp_graph else 2)
        out = run(second, [*inputs, *extra])[2:]
        for y in out:
            assert np.array_equal(y, np.zeros_like(x)), f"{make.__name__} of a derivative: {y}"


@pytest.mark.parametrize(
    ("program", "expected"), PROGRAMS, ids=lambda p: getattr(p, "__name__", "")
)
def test_gradients_of_guarded_programs(program: Any, expected: Any) -> None:
    np.testing.assert_allclose(tracejit.grad(program)(X), expected, rtol=1e-14, atol=1e-16)


def test_elements_that_nothing_reads_have_gradient_zero() -> None:
    """sqrt(x)[1:] at x[0] = 0; the first row of a Jacobian has zeros beside its infinity."""
    x = np.array([0.0, 4.0])
    builder = GraphBuilder("tail")
    v = builder.input(type_of(x), "x")
    c = DerivativeBuilder(builder, lambda: "unused")
    root = c.op("sqrt", v)
    graph = builder.build([c.op("slice", root, start=(1,), size=(1,), step=(1,)), root])
    pull, push = vjp_graph(graph, [True]), jvp_graph(graph, [True])
    (g,) = run(pull, [x, np.ones(1), np.zeros(2)])[2:]
    np.testing.assert_array_equal(g, [0.0, 0.25])
    (g,) = run(pull, [x, np.zeros(1), np.array([1.0, 0.0])])[2:]
    np.testing.assert_array_equal(g, [np.inf, 0.0])
    _, tangent = run(push, [x, np.array([0.0, 1.0])])[2:]
    np.testing.assert_array_equal(tangent, [0.0, 0.25])


def test_a_cotangent_that_is_zero_by_itself_has_a_second_derivative() -> None:
    """f = sin(x)**2 / 2: the cotangent of the sine is 0 at x = 0, its derivative is not."""
    x = np.array([0.0, np.pi])
    builder = GraphBuilder("half_square")
    v = builder.input(type_of(x), "x")
    c = DerivativeBuilder(builder, lambda: "unused")
    graph = builder.build([c.scale(c.op("square", c.op("sin", v)), 0.5)])
    for make, again in itertools.product((jvp_graph, vjp_graph), repeat=2):
        derived = make(graph, [True])
        second = again(derived, [True, False])
        ones = [np.ones(2)] if again is jvp_graph else [np.zeros(2), np.ones(2)]
        out = run(second, [x, np.ones(2), *ones])
        np.testing.assert_allclose(out[-1], [1.0, 1.0], rtol=1e-12)


def test_second_derivatives_of_products_where_factors_are_zero() -> None:
    x, y = np.array([0.0, 0.0, 2.0]), np.array([0.0, 3.0, 0.0])
    for name in ("multiply", "multiply_no_nan", "product_no_nan"):
        derived = vjp_graph(graph_of(OPS[name], [x, y]), [True, True])
        given = [x, y, np.ones(3), np.zeros(3), np.ones(3), np.zeros(3)]
        out = run(vjp_graph(derived, [True, True, False]), given)
        np.testing.assert_array_equal(out[-2], np.zeros(3))
        np.testing.assert_array_equal(out[-1], np.ones(3))


# What the checker sees ---------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["partials", "forward", "transposed"])
@pytest.mark.parametrize(("dtype", "error"), [("f32", 1e-2), ("f64", 1e-7), ("c128", 1e-7)])
def test_wrong_rules_are_found(
    wrong: str, dtype: str, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.array([0.4, -0.7, 1.3], DTYPES[dtype])

    def sine(v: Any, factor: float) -> Any:
        return v * Term(v.at, lambda: v.c.op("cos", v.at.x(0))) * factor

    errors = {mode: 1.0 + error if mode == wrong else 1.0 for mode in ("forward", "transposed")}
    rule: Any = LinearMap(**{m: lambda v, x, y, f=f: sine(v, f) for m, f in errors.items()})
    if wrong == "partials":
        rule = lambda x, y: (1.0 + error) * x.op("cos")  # noqa: E731
    monkeypatch.setattr(type(OPS["sin"]), "partials", (rule,))
    with pytest.raises(AssertionError):
        check_grads(OPS["sin"], [x], order=1)


def test_products_that_lose_a_derivative_at_zero_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """where(v == 0, 0, v * p) is right to the first order only, and not for v = 0."""

    def masked(c: DerivativeBuilder, v: Any, p: Any) -> Any:
        return c.where(c.compare("equal", v, 0.0), c.full(v.type, 0.0), c.mul(v, p))

    graph = graph_of(OPS["multiply"], [np.zeros(2), np.ones(2)])
    inputs = [np.zeros(2), np.array([0.7, 1.2]), np.zeros(2)]
    check_grads(vjp_graph(graph, [True, True]), inputs)
    monkeypatch.setattr(DerivativeBuilder, "mul_no_nan", masked)
    derived = vjp_graph(graph, [True, True])
    with pytest.raises(AssertionError):
        check_grads(derived, inputs, order=1)

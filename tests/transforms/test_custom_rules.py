"""`custom_vjp` and `custom_jvp`: derivatives go by the rule, wherever there are derivatives."""

from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.errors import FallbackError
from tracejit.ir.evaluate import evaluate
from tracejit.ir.regions import nested
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.ir.verify import verify

X = np.linspace(-1.2, 1.6, 6)


@tracejit.custom_vjp
def clipped(x, limit):
    """x, whose cotangents are clipped."""
    return x * 1.0


clipped.defvjp(
    lambda x, limit: (x * 1.0, limit), lambda limit, g: (np.clip(g, -limit, limit), None)
)


@tracejit.custom_vjp
def log1pexp(x):
    return np.log(1.0 + np.exp(x))


def log1pexp_forward(x):
    return log1pexp(x), x


def log1pexp_backward(x, g):
    return (g * (1.0 - 1.0 / (1.0 + np.exp(x))),)


log1pexp.defvjp(log1pexp_forward, log1pexp_backward)


@tracejit.custom_jvp
def sine(x):
    return np.sin(x)


@sine.defjvp
def sine_rule(primals, tangents):
    (x,), (t,) = primals, tangents
    return sine(x), 3.0 * np.cos(x) * t  # three times too much, to be seen


@tracejit.custom_vjp
def rounded(x):
    """Straight through: its own derivative would be zero."""
    return np.rint(x)


rounded.defvjp(lambda x: (np.rint(x), None), lambda _, g: (g,))


def both(transform: Any, *args: Any) -> list[Any]:
    """What a transformed function gives compiled, and under eager()."""
    compiled = transform(*args)
    with tracejit.eager():
        return [compiled, transform(*args)]


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


# The rule is what counts ------------------------------------------------------------------------


def test_plain_and_compiled_calls_are_those_of_the_function() -> None:
    assert np.array_equal(log1pexp(X), np.log(1.0 + np.exp(X)))
    assert np.allclose(tracejit.jit(log1pexp)(X), np.log(1.0 + np.exp(X)), rtol=1e-14)
    assert np.array_equal(tracejit.jit(lambda x: sine(x=x))(X), np.sin(X))


def test_reverse_mode_of_a_vjp_rule() -> None:
    for found in both(tracejit.grad(lambda x: log1pexp(x).sum()), X):
        assert np.allclose(found, sigmoid(X), rtol=1e-13)
    assert np.isfinite(tracejit.grad(lambda x: log1pexp(x).sum())(np.array([1000.0])))
    for found in both(tracejit.grad(lambda x, k: (5 * clipped(x, k)).sum()), X, 2.0):
        assert np.array_equal(found, np.full(6, 2.0))
    for found in both(tracejit.grad(lambda x: (rounded(x) * x).sum()), X):
        assert np.allclose(found, np.rint(X) + X, rtol=1e-14)


def test_both_modes_of_a_jvp_rule() -> None:
    def f(x):
        return (sine(x) * x).sum()

    slope = 3 * np.cos(X) * X + np.sin(X)
    for found in both(tracejit.grad(f), X):
        assert np.allclose(found, slope, rtol=1e-13)
    for _, tangent in both(tracejit.jvp, f, (X,), (np.ones(6),)):
        assert np.allclose(tangent, slope.sum(), rtol=1e-13)


def test_second_derivatives_differentiate_the_rule() -> None:
    twice = tracejit.grad(lambda x: tracejit.grad(lambda y: log1pexp(y).sum())(x).sum())
    for found in both(twice, X):
        assert np.allclose(found, sigmoid(X) * sigmoid(-X), rtol=1e-12)
    wanted = np.diag(-3 * np.sin(X))
    for found in both(tracejit.hessian(lambda x: sine(x).sum()), X):
        assert np.allclose(found, wanted, rtol=1e-12)

    @tracejit.custom_jvp
    def exp(x):
        return np.exp(x)

    exp.defjvp(lambda p, t: (exp(p[0]), exp(p[0]) * t[0]))
    f: Any = lambda x: exp(x)  # noqa: E731
    for order in range(1, 5):
        f = tracejit.grad(f)
        for found in both(f, 0.7):
            assert np.allclose(found, np.exp(0.7), rtol=1e-13)
        # So many are in the compiled code; the rule is called for more of them by a run in Python.
        assert bool(f.report().fallbacks) == (order > 3)


def test_containers_numbers_and_several_results() -> None:
    @tracejit.custom_vjp
    def f(pair, n):
        a, b = pair["a"], pair["b"]
        return {"sum": a + b.sum(), "parts": (b * n, n)}

    def forward(pair, n):
        return f(pair, n), [pair, n]

    def backward(saved, g):
        pair, n = saved
        assert g["parts"][1] == 0
        return {"a": 10.0 * g["sum"], "b": g["sum"] + 100 * n * g["parts"][0]}, None

    f.defvjp(forward, backward)

    def total(pair):
        out = f(pair, 2)
        return out["sum"] + (out["parts"][0]).sum() * out["parts"][1]

    for found in both(tracejit.grad(total), {"a": 1.5, "b": X}):
        assert type(found["a"]) is float and found["a"] == 10.0
        assert np.allclose(found["b"], 1 + 100 * 2 * 2, rtol=1e-13)


def test_defaults_and_arguments_by_name() -> None:
    @tracejit.custom_vjp
    def f(x, kind="times", nothing=None, scale=2.0):
        return x * scale if kind == "times" else x

    f.defvjp(
        lambda x, kind, nothing, scale: (f(x, kind, nothing, scale), scale),
        lambda scale, g: (10 * g * scale, None, None, None),
    )
    for call, slope in ((lambda x: f(x), 20.0), (lambda x: f(scale=3.0, x=x), 30.0)):
        for found in both(tracejit.grad(lambda x, call=call: call(x).sum()), X):
            assert np.array_equal(found, np.full(6, slope))


def test_inside_branches_and_loops() -> None:
    def loop(x, n):
        for i in range(n):
            if x[0] > -5:
                x = sine(x) + log1pexp(x * 0.1)
            else:
                x = x * i
        return x.sum()

    def by_hand(x, n):
        slope = np.ones_like(x)
        for _ in range(n):
            slope = slope * (3 * np.cos(x) + 0.1 * sigmoid(x * 0.1))
            x = np.sin(x) + np.log(1 + np.exp(x * 0.1))
        return slope

    for found in both(tracejit.grad(loop), X, 4):
        assert np.allclose(found, by_hand(X, 4), rtol=1e-12)


def test_rules_with_loops() -> None:
    @tracejit.custom_jvp
    def power(x, n):
        return x**n

    @power.defjvp
    def rule(primals, tangents):
        x, n = primals
        y, d = 1.0 + 0 * x, 0 * x
        for _ in range(n):
            d = d * x + y * tangents[0]
            y = y * x
        return y, d

    for found in both(tracejit.grad(lambda x: power(x, 4).sum()), X):
        assert np.allclose(found, 4 * X**3, rtol=1e-12)


def test_remat_holds_rules() -> None:
    @tracejit.remat
    def f(x):
        return sine(log1pexp(x))

    y = np.log(1 + np.exp(X))
    for found in both(tracejit.grad(lambda x: f(x).sum()), X):
        assert np.allclose(found, 3 * np.cos(y) * sigmoid(X), rtol=1e-12)


def test_batches() -> None:
    rows = np.stack([X, 2 * X, X - 1])
    found = tracejit.vmap(tracejit.grad(lambda x: log1pexp(x).sum()))(rows)
    assert np.allclose(found, sigmoid(rows), rtol=1e-13)

    @tracejit.custom_vjp
    def scaled(x, s):
        return x * s

    scaled.defvjp(lambda x, s: (x * s, (x, s)), lambda r, g: (7 * g * r[1], 9 * (g * r[0]).sum()))
    mapped = tracejit.vmap(scaled, in_axes=(0, None))
    both_args = tracejit.grad(lambda x, s: mapped(x, s).sum(), argnums=(0, 1))
    dx, ds = both_args(rows, 2.0)
    assert np.allclose(mapped(rows, 2.0), 2 * rows)
    assert np.allclose(dx, 14.0) and np.allclose(ds, 9 * rows.sum())
    triple = tracejit.vmap(sine)
    assert np.allclose(tracejit.grad(lambda x: triple(x).sum())(rows), 3 * np.cos(rows), rtol=1e-13)
    assert np.allclose(tracejit.jvp(triple, (rows,), (rows,))[1], 3 * np.cos(rows) * rows)


# What does not fit ------------------------------------------------------------------------------


def test_a_call_without_a_rule() -> None:
    @tracejit.custom_vjp
    def f(x):
        return x

    for call in (f, tracejit.jit(f), tracejit.grad(f)):
        with pytest.raises(AttributeError, match=r"no derivative of .*f is given.*defvjp"):
            call(1.0)


def make(forward, backward):
    @tracejit.custom_vjp
    def made(x, y):
        return x * y

    made.defvjp(forward, backward)
    return tracejit.grad(lambda x, y: made(x, y).sum(), argnums=(0, 1))


@pytest.mark.parametrize(
    ("forward", "backward", "message"),
    [
        (lambda x, y: x * y, lambda r, g: (g, g), "forward rule of made gives a pair"),
        (lambda x, y: (x * y, None), lambda r, g: g, "made gives a tuple of cotangents"),
        (lambda x, y: (x * y, None), lambda r, g: (g,), "each of the 2 arguments"),
        (lambda x, y: (x * y, None), lambda r, g: (g[1:], g), r"argument 0 that the rule of made"),
        (lambda x, y: (x * y, None), lambda r, g: (g, (g, g)), "another structure"),
        (lambda x, y: (x * y, None), lambda r, g: (g, 1j * g), "argument 1 that the rule of made"),
    ],
)
def test_rules_that_do_not_fit(forward, backward, message) -> None:
    gradient = make(forward, backward)
    for args in ((X, X),):
        with pytest.raises(TypeError, match=message):
            gradient(*args)
        with tracejit.eager(), pytest.raises(TypeError, match=message):
            gradient(*args)


def test_results_of_rules_are_of_the_functions_type() -> None:
    gradient = make(lambda x, y: ((x * y)[1:], None), lambda r, g: (g, g))
    with pytest.raises(TypeError, match="result that the forward rule of made gives is f64"):
        gradient.trace(X, X)


def test_derivatives_by_what_is_read_from_outside_are_refused() -> None:
    def f(w, x):
        @tracejit.custom_vjp
        def scaled(x):
            return w * x

        scaled.defvjp(lambda x: (w * x, None), lambda _, g: (g,))
        return scaled(x).sum()

    scale = np.array(3.0)

    @tracejit.custom_vjp
    def outside(x):
        return x * scale

    outside.defvjp(lambda x: (x * scale, None), lambda _, g: (g * scale,))
    assert np.array_equal(tracejit.grad(lambda x: outside(x).sum())(X), np.full(6, 3.0))
    with tracejit.eager(), pytest.raises(TypeError, match="not given as an argument"):
        tracejit.grad(f)(2.0, X)


def test_stores_and_effects_run_eagerly() -> None:
    @tracejit.custom_vjp
    def loud(x):
        x[0] = 1.0
        return x.sum()

    loud.defvjp(lambda x: (x.sum(), None), lambda _, g: (g,))
    x = X.copy()
    assert tracejit.jit(loud)(x) == x.sum() and x[0] == 1.0
    with pytest.raises(FallbackError, match="changes what it is given"):
        tracejit.jit(strict=True)(lambda x: loud(x))(X)


def test_a_result_that_is_an_argument_is_never_a_silent_copy() -> None:
    @tracejit.custom_vjp
    def same(x):
        return x

    same.defvjp(lambda x: (x, None), lambda _, g: (2 * g,))

    @tracejit.jit
    def f(x):
        y = same(x)
        y[0] = 100.0
        return x[0] + y[1]

    x = X.copy()
    assert f(x) == 100.0 + X[1] and x[0] == 100.0
    for found in both(tracejit.grad(lambda x: (same(x) * x).sum()), X):
        assert np.allclose(found, 3 * X, rtol=1e-14)


# Graphs -----------------------------------------------------------------------------------------


def test_the_text_reads_back_and_runs() -> None:
    graph = tracejit.jit(lambda x: sine(log1pexp(x)).sum()).trace(X)
    again = parse_graph(print_graph(graph))
    verify(again, "trace")
    assert [n.op.name for n in again.nodes].count("custom") == 2
    (value,) = evaluate(again, [X])
    assert np.allclose(value, np.sin(np.log(1 + np.exp(X))).sum(), rtol=1e-13)
    lowered = tracejit.jit(lambda x: sine(log1pexp(x)).sum()).lower(X)
    assert "custom" not in [n.op.name for n in nested(lowered.graphs["inline_calls"].nodes)]

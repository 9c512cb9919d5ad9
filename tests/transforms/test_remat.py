"""`remat` and `stop_gradient`: values are those without, and what is kept is less."""

import math

import numpy as np
import pytest

import tracejit
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph
from tracejit.ir.regions import nested
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.ir.verify import verify
from tracejit.transforms.autodiff.reverse import vjp_graph

pytestmark = pytest.mark.sampled(6)

X = np.linspace(0.2, 1.4, 7)


def pushed_elements(graph: Graph, trips: dict[str, int] | None = None) -> list[int]:
    """How many elements each `stack_push` of the graph takes, loops aside."""
    out = []
    for node in nested(graph.nodes):
        if node.op.name == "stack_push":
            sizes = [getattr(v.type, "size", 1) for v in node.inputs[1:]]
            out.append(sum(s if isinstance(s, int) else 1 for s in sizes))
    return out


def names(graph: Graph) -> list[str]:
    return [n.op.name for n in nested(graph.nodes)]


def wave(u):
    """One step of a nonlinear stencil, where `u` lies."""
    u[1:-1] = u[1:-1] + 0.1 * np.sin(u[:-2] - 2 * u[1:-1] + u[2:]) * u[1:-1]
    return u


def keeping_everything(x, steps):
    u = x.copy()
    for _ in range(steps):
        wave(u)
    return (u**2).sum()


@tracejit.remat
def chunk(u, length):
    for _ in range(length):
        wave(u)


def in_chunks(x, chunks, length):
    u = x.copy()
    for _ in range(chunks):
        chunk(u, length)
    return (u**2).sum()


@tracejit.remat
def kept_step(u):
    return u + 0.1 * np.sin(u) * np.exp(-u * u)


def step(u):
    return u + 0.1 * np.sin(u) * np.exp(-u * u)


def by_steps(f):
    def run(x, count):
        for _ in range(count):
            x = f(x)
        return (x**2).sum()

    return run


# Values -----------------------------------------------------------------------------------------


def test_values_are_those_without() -> None:
    kept, plain = (tracejit.grad(by_steps(f)) for f in (kept_step, step))
    assert np.allclose(kept(X, 5), plain(X, 5), rtol=1e-13)
    assert np.array_equal(kept_step(X), step(X))
    assert np.array_equal(tracejit.jit(kept_step)(X), tracejit.jit(step)(X))
    with tracejit.eager():
        assert np.allclose(kept(X, 5), plain(X, 5), rtol=1e-13)


def test_straight_line_code_is_computed_again() -> None:
    def f(x):
        return kept_step(kept_step(x)).sum()

    gradient = tracejit.grad(f)
    lowered = gradient.lower(X)
    assert names(lowered.graphs["trace"]).count("remat") == 2
    # The first step forwards, and both again; nothing reads what the second one gives.
    assert names(lowered.graphs["licm"]).count("exp") == 3
    assert "optimization_barrier" not in names(lowered.graphs["remove_barriers"])
    assert "remat" not in names(lowered.graphs["simplify"])
    assert np.allclose(gradient(X), tracejit.grad(lambda x: step(step(x)).sum())(X), rtol=1e-13)


def test_second_derivatives_and_both_modes() -> None:
    def f(g):
        return lambda x: (g(g(x)) * x).sum()

    for transform in (
        tracejit.hessian,
        lambda f: tracejit.jacobian(tracejit.grad(f)),
        lambda f: tracejit.jacobian(tracejit.grad(f), mode="forward"),
    ):
        assert np.allclose(transform(f(kept_step))(X), transform(f(step))(X), rtol=1e-12)
    kept = tracejit.jvp(f(kept_step), (X,), (np.cos(X),))
    plain = tracejit.jvp(f(step), (X,), (np.cos(X),))
    assert np.allclose(kept[1], plain[1], rtol=1e-13)


def test_stores_into_the_callers_arrays_stay() -> None:
    @tracejit.remat
    def store(a, b):
        a[0] = np.sin(b[0]) * a[1]
        b *= 2
        return a[1:]

    def f(x):
        a, b = x.copy(), x**2
        tail = store(a, b)
        tail[0] = 5 * a[0]
        return (a * b).sum()

    def g(x):
        a, b = x.copy(), x**2
        a[0] = np.sin(b[0]) * a[1]
        b *= 2
        a[1] = 5 * a[0]
        return (a * b).sum()

    assert np.allclose(tracejit.grad(f)(X), tracejit.grad(g)(X), rtol=1e-13)
    assert np.isclose(tracejit.jit(f)(X), g(X), rtol=1e-14)


def test_results_are_what_the_function_gives() -> None:
    @tracejit.remat
    def several(x, n):
        y = np.sin(x)
        return {"whole": y, "view": y[1:], "same": x, "n": n, "text": "t", "none": None}

    @tracejit.jit
    def f(x):
        out = several(x, 3)
        out["whole"][1] = 7.0
        return out["view"], out["same"], out["n"], out["text"], out["none"]

    view, same, n, text, none = f(X)
    assert view[0] == 7.0 and same is X and (n, text, none) == (3, "t", None)


def test_branches_loops_and_calls_inside() -> None:
    def inner(x, n):
        s = 0.0
        for i in range(n):
            s = s + x[i] ** 2 if x[i] > 0.7 else s * x[i]
        return s

    def outer(g):
        return lambda x: g(x, 4) * g(x, 7)

    kept = tracejit.grad(outer(tracejit.remat(inner)))
    assert np.allclose(kept(X), tracejit.grad(outer(inner))(X), rtol=1e-13)


def test_nested_remat() -> None:
    @tracejit.remat
    def twice(x):
        return kept_step(kept_step(x))

    kept = tracejit.grad(by_steps(twice))(X, 3)
    assert np.allclose(kept, tracejit.grad(by_steps(step))(X, 6), rtol=1e-13)


def test_gradients_inside_are_differentiated() -> None:
    @tracejit.remat
    def slope(x):
        return tracejit.grad(lambda y: (np.sin(y) * y).sum())(x)

    def by_hand(x):
        return np.sin(x) + x * np.cos(x)

    kept = tracejit.grad(lambda x: (slope(x) ** 2).sum())(X)
    assert np.allclose(kept, tracejit.grad(lambda x: (by_hand(x) ** 2).sum())(X), rtol=1e-12)


def test_batches() -> None:
    rows = np.stack([X, X + 0.3, X * 2])
    scale = np.array(1.5)

    @tracejit.remat
    def f(x, scale):
        return (np.sin(x) * scale).sum()

    def plain(x, scale):
        return (np.sin(x) * scale).sum()

    batched = tracejit.vmap(f, in_axes=(0, None))
    assert np.allclose(batched(rows, scale), np.sin(rows).sum(1) * 1.5, rtol=1e-13)
    total = tracejit.grad(lambda r, s: (batched(r, s) ** 2).sum(), argnums=(0, 1))
    other = tracejit.vmap(plain, in_axes=(0, None))
    wanted = tracejit.grad(lambda r, s: (other(r, s) ** 2).sum(), argnums=(0, 1))(rows, scale)
    for a, b in zip(total(rows, scale), wanted, strict=True):
        assert np.allclose(a, b, rtol=1e-12)
    assert "optimization_barrier" in names(total.trace(rows, scale))
    slopes = tracejit.vmap(tracejit.grad(f), in_axes=(0, None))
    assert np.allclose(slopes(rows, scale), 1.5 * np.cos(rows), rtol=1e-12)


# What is kept -----------------------------------------------------------------------------------


def test_a_loop_of_rematerialised_steps_keeps_the_state_alone() -> None:
    x = np.linspace(0.0, 1.0, 100)
    kept, plain = (tracejit.grad(by_steps(f)).trace(x, 50) for f in (kept_step, step))
    (elements,) = pushed_elements(kept)
    assert elements == 100
    assert sum(pushed_elements(plain)) >= 2 * 100


def peak(gradient, *args) -> int:
    """The bytes that the stacks of a compiled gradient have room for after a call."""
    gradient(*args)
    (variant,) = gradient.report().variants
    return sum(stack.taken_bytes for stack in variant.buffers.stacks)


def test_chunks_keep_the_square_root_of_the_steps() -> None:
    x = np.linspace(0.0, 1.0, 2000)
    steps, length = 400, 20
    everything, chunks = tracejit.grad(keeping_everything), tracejit.grad(in_chunks)
    wanted, found = everything(x, steps), chunks(x, steps // length, length)
    assert np.allclose(found, wanted, rtol=1e-11)
    # A state for each chunk, and the steps of one chunk.
    assert peak(chunks, x, steps // length, length) < peak(everything, x, steps) / 4


# What cannot be computed again ------------------------------------------------------------------


def notes_of(gradient) -> str:
    return "\n".join(f"{x.kind}: {x.why}" for x in gradient.report().lines)


def test_effects_are_had_once(capsys) -> None:
    @tracejit.remat
    def loud(x):
        print("called")
        return np.sin(x) * x

    gradient = tracejit.grad(lambda x: loud(x).sum())
    assert np.allclose(gradient(X), np.sin(X) + X * np.cos(X), rtol=1e-13)
    assert capsys.readouterr().out == "called\n"
    assert "kept: it prints" in notes_of(gradient)


def test_containers_of_the_caller_are_changed() -> None:
    @tracejit.remat
    def note(x, seen):
        seen.append(np.sin(x))
        return x * 2

    def f(x):
        seen = []
        y = note(x, seen)
        return (y * seen[0]).sum()

    gradient = tracejit.grad(f)
    assert np.allclose(gradient(X), 2 * (np.sin(X) + X * np.cos(X)), rtol=1e-13)
    assert "kept: it changes a container" in notes_of(gradient)


def test_sizes_that_data_decide() -> None:
    @tracejit.remat
    def positive(x):
        return np.sin(x[x > 0.5])

    @tracejit.remat
    def total(x):
        return np.sin(x[x > 0.5]).sum()

    wanted = np.where(X > 0.5, np.cos(X), 0.0)
    gradient = tracejit.grad(lambda x: positive(x).sum())
    assert np.allclose(gradient(X), wanted, rtol=1e-13)
    assert "kept: it gives an array whose size" in notes_of(gradient)
    inside = tracejit.grad(lambda x: total(x))
    assert np.allclose(inside(X), wanted, rtol=1e-13)
    assert "kept" not in notes_of(inside)


def test_exceptions_are_pythons() -> None:
    @tracejit.remat
    def f(x):
        if x.shape[0] > 2:
            raise ValueError("too long")
        return x.sum()

    with pytest.raises(ValueError, match="too long"):
        tracejit.grad(f)(X)
    assert np.array_equal(tracejit.grad(f)(X[:2]), np.ones(2))


class Layer:
    def __init__(self, weight) -> None:
        self.weight = weight

    @tracejit.remat
    def apply(self, x):
        return np.tanh(x * self.weight)

    @tracejit.custom_vjp
    def scaled(self, x):
        return x * self.weight


Layer.__dict__["scaled"].defvjp(
    lambda layer, x: (x * layer.weight, None), lambda _, g: (None, 5.0 * g)
)


def test_methods() -> None:
    layer = Layer(np.linspace(1.0, 2.0, 7))
    slope = layer.weight * (1 - np.tanh(X * layer.weight) ** 2)
    gradient = tracejit.grad(lambda x: layer.apply(x).sum())
    assert np.allclose(gradient(X), slope, rtol=1e-12)
    assert "remat" in names(gradient.trace(X))
    assert np.allclose(tracejit.grad(lambda x: layer.scaled(x).sum())(X), 5.0)
    with tracejit.eager():
        assert np.allclose(gradient(X), slope, rtol=1e-12)
        assert np.allclose(tracejit.grad(lambda x: layer.scaled(x).sum())(X), 5.0)
    assert np.array_equal(layer.apply(X), np.tanh(X * layer.weight))


def test_stacks_of_gradients_inside() -> None:
    def inner(z):
        s = z
        for k in range(5):
            s = np.sin(s) * z if k % 2 == 0 else s + z * k
        return (s**2).sum()

    def slope(x):
        return tracejit.grad(inner)(x)

    def loop(f):
        def run(x, n):
            for _ in range(n):
                x = x * 0.9 + 0.01 * f(x)
            return x.sum() + (f(x) * f(f(x) * 0.1)).sum()

        return run

    kept, plain = loop(tracejit.remat(slope)), loop(slope)
    assert np.allclose(tracejit.grad(kept)(X, 4), tracejit.grad(plain)(X, 4), rtol=1e-12)
    rows = np.stack([X, X + 0.1])
    batched = tracejit.vmap(lambda x: kept(x, 3))
    found = tracejit.grad(lambda r: batched(r).sum())(rows)
    assert np.allclose(found, [tracejit.grad(plain)(row, 3) for row in rows], rtol=1e-10)


# Graphs -----------------------------------------------------------------------------------------


def test_the_text_reads_back_and_runs() -> None:
    graph = tracejit.jit(lambda x: kept_step(x).sum()).trace(X)
    assert "remat(" in print_graph(graph)
    again = parse_graph(print_graph(graph))
    verify(again, "trace")
    (value,) = evaluate(again, [X])
    assert np.allclose(value, step(X).sum(), rtol=1e-13)
    derived = vjp_graph(again, [True])
    verify(derived, "trace")
    _, gradient = evaluate(derived, [X, np.float64(1.0)])
    assert np.allclose(gradient, tracejit.grad(lambda x: step(x).sum())(X), rtol=1e-13)


# stop_gradient ----------------------------------------------------------------------------------


def test_what_is_stopped_is_a_constant() -> None:
    def f(x):
        return (tracejit.stop_gradient(np.sin(x)) * x).sum()

    assert np.allclose(tracejit.grad(f)(X), np.sin(X), rtol=1e-13)
    assert np.allclose(tracejit.jvp(f, (X,), (np.ones(7),))[1], np.sin(X).sum(), rtol=1e-13)
    with tracejit.eager():
        assert np.allclose(tracejit.grad(f)(X), np.sin(X), rtol=1e-13)
    assert "stop_gradient" not in names(tracejit.grad(f).lower(X).graphs["simplify"])


def test_numbers_and_containers_are_stopped() -> None:
    def f(a, x):
        held = tracejit.stop_gradient({"x": [x, 2], "a": (a, "text", None)})
        assert type(held["x"][1]) is int and held["a"][1:] == ("text", None)
        return a * held["a"][0] + (x * held["x"][0]).sum() * held["x"][1]

    da, dx = tracejit.grad(f, argnums=(0, 1))(3.0, X)
    assert type(da) is float and da == 3.0
    assert np.allclose(dx, 2 * X, rtol=1e-13)
    with tracejit.eager():
        da, dx = tracejit.grad(f, argnums=(0, 1))(3.0, X)
    assert type(da) is float and da == 3.0 and np.allclose(dx, 2 * X, rtol=1e-13)


def test_outside_a_trace_it_is_the_object_itself() -> None:
    assert tracejit.stop_gradient(X) is X
    assert tracejit.stop_gradient(math.pi) is math.pi
    assert tracejit.jit(lambda x: tracejit.stop_gradient(x))(7) == 7


def test_a_stopped_array_that_is_stored_into_is_never_a_silent_copy() -> None:
    @tracejit.jit
    def f(x):
        y = tracejit.stop_gradient(x)
        y[0] = 100.0
        return x.sum()

    x = X.copy()
    assert f(x) == x.sum() and x[0] == 100.0

"""The executor: whatever fires first, on however many threads, a run means what the graph does."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.control import control_samples
from tests.passes.flow_samples import SAMPLES
from tests.random.flow import random_flow
from tests.support.compare import assert_same
from tracejit.errors import Bailout, GraphError
from tracejit.ir.dataflow import DataflowGraph
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph
from tracejit.ir.op import OPS
from tracejit.ir.text.syntax import parse_graph
from tracejit.ir.types import type_sizes
from tracejit.passes.control.lower import lower_control_flow
from tracejit.passes.fusion.fuse import fuse
from tracejit.runtime.compile.graph_call import run_graph
from tracejit.runtime.dataflow.executor import Run, run_dataflow

#: Ways to run a graph: in the program's order, in random orders, on threads.
WAYS: tuple[dict[str, int], ...] = (
    {},
    {"seed": 1},
    {"seed": 2, "parallel_iterations": 1},
    {"seed": 3, "parallel_iterations": 2},
    {"workers": 3},
)


def flat_sample(name: str) -> DataflowGraph:
    return lower_control_flow(parse_graph(SAMPLES[name]))


def outcome(run: Callable[[], tuple[Any, ...]]) -> tuple[Any, str, str]:
    """What a run gives, what it is left by, and what it writes."""
    out = io.StringIO()
    result: tuple[Any, ...] | None = None
    error = ""
    with contextlib.redirect_stdout(out):
        try:
            result = run()
        except (Bailout, ValueError) as e:
            error = f"{type(e).__name__}: {e}"
    return result, error, out.getvalue()


def assert_every_way_agrees(graph: Graph, inputs: list[Any]) -> None:
    expected, error, text = outcome(lambda: evaluate(graph, inputs))
    flat = lower_control_flow(graph)
    for way in WAYS:
        found = outcome(lambda way=way: run_dataflow(flat, inputs, **way).outputs)  # type: ignore[misc]
        assert found[1:] == (error, text), way
        if expected is not None:
            plain = [k for k, v in enumerate(graph.outputs) if str(v.type) != "token"]
            assert_same([expected[k] for k in plain], [found[0][k] for k in plain], where=str(way))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int) -> None:
    graph, inputs = random_flow(seed)
    assert_every_way_agrees(fuse(graph) if seed % 3 == 0 else graph, inputs)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(40))
def test_random_programs_with_effects(seed: int) -> None:
    """Texts and the first error are those of the program's order."""
    graph, inputs = random_flow(seed, effects=True)
    assert_every_way_agrees(graph, inputs)


def test_random_programs_reach_what_they_are_for() -> None:
    """Loops three deep, some with no iterations; carried sizes; texts, errors and bailouts."""
    depths, empty, sizes, endings = set(), 0, 0, set()
    for seed in range(40):
        graph, inputs = random_flow(seed, effects=True)
        flat = lower_control_flow(graph)
        depths.add(max(s.frame.depth for s in flat.sections))
        sizes += sum(len(node.binds) for _, node in flat.nodes())
        result, error, text = outcome(lambda g=graph, i=inputs: evaluate(g, i))  # type: ignore[misc]
        endings |= {error.partition(":")[0], "text" if text else ""}
        if result is not None:
            heads = {s.frame.name for s in flat.sections if s.kind == "head"}
            with contextlib.redirect_stdout(None):
                times = run_dataflow(flat, inputs).times
            begun = {f.frame for f in times if f.iteration[-1:] == (1,)}
            empty += len(heads - begun)
    assert depths == {0, 1, 2, 3} and empty > 10 and sizes > 50
    assert endings == {"", "text", "Bailout", "ValueError"}


#: Sizes that a loop is given as numbers, and sizes bound in its body, beside invariants.
_FOUND = (129, 189, 702, 1149)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", [*range(12), *_FOUND])
def test_the_other_reader_agrees(seed: int) -> None:
    """Random programs after all passes, as native code; its sizes are numbers."""
    graph, inputs = random_flow(seed)
    known = {"n", "m"}
    outputs = [v for v in graph.outputs if type_sizes(v.type) <= known]
    graph = dataclasses.replace(graph, outputs=tuple(outputs))
    expected = run_dataflow(lower_control_flow(graph), inputs).outputs
    assert_same(list(expected), list(run_graph(graph, inputs)), parity="order", ulp=8)


NAMES = [
    "branch_with_arrays",
    "counts_past_64_bits",
    "jacobi",
    "nested",
    "newton",
    "shrinking_sum",
    "swapped_names",
    "zero_trips",
]


@pytest.mark.parametrize("name", NAMES)
def test_traced_programs(name: str) -> None:
    x = np.linspace(-1.0, 3.0, 50)
    lowered = tracejit.jit(getattr(control_samples, name)).lower(x)
    assert_every_way_agrees(lowered.fused, [x])


# Branches and loops -------------------------------------------------------------------------------


def ops(run: Run) -> list[str]:
    return [firing.node.op.name for firing in run.times]


@pytest.mark.parametrize("way", WAYS)
def test_only_the_side_that_is_taken_fires(way: dict[str, int]) -> None:
    flat = flat_sample("branch")
    taken = run_dataflow(flat, [1.0, 2.0, 3.0], **way)
    assert taken.outputs == (4.0,) and "py_power" not in ops(taken)
    other = run_dataflow(flat, [2.0, 1.5, 3.0], **way)
    assert other.outputs == (2.25,) and "py_add" not in ops(other)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("trips", [-1, 0, 1, 5])
def test_loops_in_a_branch(trips: int, way: dict[str, int]) -> None:
    """A loop in the side that is not taken is dead; in the other, some loops have no iterations."""
    flat = flat_sample("loop-in-branch")
    doubled = 2.0 ** sum(range(trips)) if trips > 0 else 1.0
    run = run_dataflow(flat, [True, np.float64(3.0), trips], **way)
    assert run.outputs == (3.0 * doubled,)
    assert ops(run).count("loop_cond") == (
        trips + 1 + sum(k + 1 for k in range(trips)) if trips > 0 else 1
    )
    dead = run_dataflow(flat, [False, np.float64(3.0), trips], **way)
    assert dead.outputs == (3.0,) and not {"loop_cond", "enter", "exit"} & set(ops(dead))


@pytest.mark.parametrize("way", WAYS)
def test_a_flag_ends_a_loop(way: dict[str, int]) -> None:
    run = run_dataflow(flat_sample("break"), [np.arange(10.0), np.float64(5.0)], **way)
    assert run.outputs == (6.0, 4)


@pytest.mark.parametrize("way", WAYS)
def test_sizes_that_a_loop_carries(way: dict[str, int]) -> None:
    run = run_dataflow(flat_sample("carried-size"), [np.ones(3)], **way)
    assert run.outputs == (24.0, 24)


NEGATIVE = (
    SAMPLES["carried-size"]
    .replace("size(2*w)", "size(w - 2)")
    .replace(
        "twice: f64[2*w] = concatenate(a, a, axis=0)",
        'zero: f64 = constant(value=0.0, type="f64")\n'
        "        twice: f64[w - 2] = broadcast_to(zero, shape=(w - 2,))",
    )
)


@pytest.mark.parametrize("way", WAYS)
def test_a_negative_size_bails_out(way: dict[str, int]) -> None:
    graph = parse_graph(
        """
        def f(n: size, x: f64[n]):
            def test(k: size):
                at: int = dim_value(dim=k)
                low: int = constant(value=-1, type="int")
                go: bool = py_less(low, at)
                return go
            def body(k: size):
                return size(k - 1)
            while_loop(carried=0, sizes=((n,), (n,)), regions=(test, body), binds=(last,))
            at: int = dim_value(dim=last)
            return at
        """.replace("\n        ", "\n").strip()
    )
    flat = lower_control_flow(graph)
    for run in (
        lambda: evaluate(graph, [np.ones(3)]),
        lambda: run_dataflow(flat, [np.ones(3)], **way),
    ):
        with pytest.raises(Bailout, match="last is negative"):
            run()


# Order --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("x", "error", "text"),
    [
        (9, "", "0\n1\n2\nend 3\n"),
        (1, "ValueError: 1", "0\n1\n"),
        (0, "ValueError: 0", "0\n"),
        (-5, "Bailout: a check does not hold", "0\n"),
    ],
)
def test_texts_and_errors_come_in_order(x: int, error: str, text: str, way: dict[str, int]) -> None:
    flat = flat_sample("effects")
    _, found, written = outcome(lambda: run_dataflow(flat, [x], **way).outputs)
    assert (found, written) == (error, text)


def test_independent_nodes_run_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two nodes waits for the other one: with one worker neither would end."""
    meeting = threading.Barrier(2, timeout=20)
    op = type(OPS["sin"])
    plain = op.evaluate

    def evaluate_together(self: Any, inputs: Any, attrs: Any) -> Any:
        meeting.wait()
        return plain(self, inputs, attrs)

    monkeypatch.setattr(op, "evaluate", evaluate_together)
    graph = parse_graph(
        "def f(x: f64[2], y: f64[2]):\n"
        "    a: f64[2] = sin(x)\n    b: f64[2] = sin(y)\n    return a, b\n"
    )
    run = run_dataflow(lower_control_flow(graph), [np.zeros(2), np.zeros(2)], workers=2)
    assert [firing.seconds >= 0 for firing in run.times] == [True, True]


@pytest.mark.parametrize("window", [1, 3])
def test_iterations_do_not_run_ahead(window: int) -> None:
    """The counter alone could be far ahead of the sum; a loop waits for all that it carries."""
    flat = flat_sample("loop")
    for seed in range(5):
        run = run_dataflow(flat, [np.ones(2), 20], seed=seed, parallel_iterations=window)
        assert run.outputs[0].tolist() == [21.0, 21.0]
        complete: dict[int, int] = {}
        for firing in run.times:
            if firing.node.op.name == "merge":
                (k,) = firing.iteration
                complete[k] = complete.get(k, 0) + 1
                assert k < window or complete[k - window] == 2


@pytest.mark.parametrize("first", ["sin", "cos"])
def test_of_two_errors_the_earlier_in_the_program_is_raised(
    first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever of two nodes that run at the same time fails first."""
    failed = threading.Event()

    def failing(name: str) -> Callable[..., Any]:
        def fail(self: Any, inputs: Any, attrs: Any) -> Any:
            if name != first:
                assert failed.wait(20)
                # The other one's error has been noted when its thread takes up what follows.
                time.sleep(0.05)
            failed.set()
            raise ValueError(name)

        return fail

    for name in ("sin", "cos"):
        monkeypatch.setattr(type(OPS[name]), "evaluate", failing(name))
    graph = parse_graph(
        "def f(x: f64[2]):\n    a: f64[2] = sin(x)\n    b: f64[2] = cos(x)\n    return a, b\n"
    )
    with pytest.raises(ValueError, match="sin"):
        run_dataflow(lower_control_flow(graph), [np.zeros(2)], workers=2)


def test_an_exception_in_a_node_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Any, inputs: Any, attrs: Any) -> Any:
        raise KeyboardInterrupt if inputs[0][0] else RuntimeError("broken")

    monkeypatch.setattr(type(OPS["sin"]), "evaluate", fail)
    graph = parse_graph("def f(x: f64[2]):\n    a: f64[2] = sin(x)\n    return a\n")
    flat = lower_control_flow(graph)
    for way in WAYS:
        with pytest.raises(RuntimeError, match="broken"):
            run_dataflow(flat, [np.zeros(2)], **way)
        with pytest.raises(KeyboardInterrupt):
            run_dataflow(flat, [np.ones(2)], **way)


# What fires, and the record -----------------------------------------------------------------------


PARTS = """
def f(n: size, x: f64[n], i: int):
    a: f64[n] = sin(x)
    b: f64[n] = cos(x)
    zero: int = constant(value=0, type="int")
    def test(k: int, y: f64[n], i: int):
        go: bool = py_less(k, i)
        return go
    def body(k: int, y: f64[n], i: int):
        one: int = constant(value=1, type="int")
        next: int = py_add(k, one)
        z: f64[n] = multiply(y, y)
        return next, z
    k, y = typed(while_loop(zero, b, i, carried=2, sizes=((n,), (n,)),
                            regions=(test, body)), int, f64[n])
    limit: int = constant(value=100, type="int")
    fine: bool = py_less(i, limit)
    check(fine)
    t0: token = start_token()
    t1: token = print_text(t0, i, text=(("value", 0, "", ()), "\\n"))
    return a, k, y
""".replace("test(k", "test(n: size, k").replace("body(k", "body(n: size, k")


@pytest.mark.parametrize("way", WAYS)
def test_partial_outputs_fire_what_they_need(way: dict[str, int], capsys: Any) -> None:
    flat = lower_control_flow(parse_graph(PARTS))
    x = np.array([0.0, 1.0])
    fired = {}
    for outputs in ((0,), (1,), (2,), (0, 2)):
        run = run_dataflow(flat, [x, 3], outputs=outputs, **way)
        whole = run_dataflow(flat, [x, 3], **way)
        assert capsys.readouterr().out == "3\n"
        assert_same([whole.outputs[k] for k in outputs], list(run.outputs))
        assert run.fired.total() < whole.fired.total()
        fired[outputs] = ops(run)
    assert fired[0,] == ["sin"]
    # The counter goes round without the array, and the array with the counter.
    assert not {"cos", "sin", "multiply"} & set(fired[1,]) and "loop_cond" in fired[1,]
    assert "sin" not in fired[2,] and fired[2,].count("multiply") == 3
    with pytest.raises(Bailout):
        run_dataflow(flat, [x, 200], outputs=[1], **way)


INVARIANT = """
def f(x: int, t: token):
    zero: int = constant(value=0, type="int")
    def test(k: int, x: int, t: token):
        t1: token = print_text(t, x, text=(("value", 0, "", ()), " "))
        two: int = constant(value=2, type="int")
        go: bool = py_less(k, two)
        return go
    def body(k: int, x: int, t: token):
        one: int = constant(value=1, type="int")
        next: int = py_add(k, one)
        return next
    k: int = while_loop(zero, x, t, carried=1, sizes=((), ()), regions=(test, body))
    return x
"""


@pytest.mark.parametrize("way", WAYS)
def test_what_reads_only_invariants_fires_once_an_iteration(way: dict[str, int]) -> None:
    """The loop goes round for it, though nothing else is wanted of the loop."""
    flat = lower_control_flow(parse_graph(INVARIANT))
    result, _, text = outcome(lambda: run_dataflow(flat, [7, None], **way).outputs)
    assert (result, text) == ((7,), "7 7 7 ")


GUARDED = """
def f(p: bool, i: int, x: f64[3]):
    limit: int = constant(value=3, type="int")
    fine: bool = py_less(i, limit)
    check(fine)
    bind_size(i, binds=(k,))
    def then(k: size, i: int, x: f64[3]):
        part: f64[1] = slice(x, start=(k,), size=(1,), step=(1,))
        return part
    def orelse(k: size, i: int, x: f64[3]):
        odd: bool = py_equal(i, i)
        check(odd)
        part: f64[1] = slice(x, start=(0,), size=(1,), step=(1,))
        return part
    a: f64[1] = cond(p, i, x, sizes=((k,), (k,)), regions=(then, orelse))
    b: f64[3] = sin(x)
    c: f64[1] = slice(x, start=(k,), size=(1,), step=(1,))
    return a, b, c
"""


@pytest.mark.parametrize("way", WAYS)
def test_checks_that_may_protect_what_fires_are_made(way: dict[str, int]) -> None:
    """Beside a result in its section, and in the sections around and before."""
    flat = lower_control_flow(parse_graph(GUARDED))
    for outputs in ((0,), (1,), (2,)):
        fired = ops(run_dataflow(flat, [True, 2, np.ones(3)], outputs=outputs, **way))
        assert fired.count("check") == 1, outputs
        with pytest.raises(Bailout):
            run_dataflow(flat, [True, 3, np.ones(3)], outputs=outputs, **way)
    assert ops(run_dataflow(flat, [False, 2, np.ones(3)], outputs=[0], **way)).count("check") == 2
    run = run_dataflow(flat, [False, 2, np.ones(3)], outputs=[1], **way)
    assert ops(run).count("check") == 1 and "switch" not in ops(run)


def test_the_record_names_frames_and_iterations() -> None:
    run = run_dataflow(flat_sample("loop-in-branch"), [True, np.float64(1.0), 3])
    added = [f for f in run.times if f.node.op.name == "add"]
    assert [(f.frame, f.iteration) for f in added] == [
        ("loop2", (1, 0)),
        ("loop2", (2, 0)),
        ("loop2", (2, 1)),
    ]
    assert run.fired[added[0].node] == 3 and all(f.seconds >= 0 for f in run.times)


def test_what_cannot_be_run_is_said() -> None:
    flat = flat_sample("branch")
    given = [1.0, 2.0, 3.0]
    with pytest.raises(GraphError, match="takes 3 inputs"):
        run_dataflow(flat, given[:2])
    with pytest.raises(GraphError, match="the input"):
        run_dataflow(flat, [1, 2.0, 3.0])
    with pytest.raises(ValueError, match="no output 1"):
        run_dataflow(flat, given, outputs=[1])
    with pytest.raises(ValueError, match="worker"):
        run_dataflow(flat, given, workers=0)
    with pytest.raises(ValueError, match="iteration"):
        run_dataflow(flat, given, parallel_iterations=0)


# f.partial ----------------------------------------------------------------------------------------


@tracejit.jit
def several(x: Any, i: Any) -> Any:
    total = np.float64(0.0)
    for k in range(len(x)):
        if x[k] > i:
            total = total + x[k] * 2.0
    return {"sin": np.sin(x), "rest": (total, [x @ x, "text", None])}


@tracejit.jit
def stores(x: Any) -> Any:
    x[0] = 5.0
    if x[1] > 0:
        return x, 1
    return None, x[1:]


@tracejit.jit
def raises(x: Any) -> Any:
    print("x is", x[0])
    if x[0] < 0:
        raise ValueError(f"{x[0]} is below zero")
    return x + 1, x.sum()


@pytest.mark.parametrize("workers", [None, 2])
def test_partial_gives_chosen_results(workers: int | None) -> None:
    x = np.arange(12) / 4 - 1.0  # sums of squares are exact in any order
    expected = several.__tracejit__(x, 0.5)
    whole = [expected["sin"], expected["rest"][0], *expected["rest"][1]]
    run = several.partial(x, 0.5, outputs=range(5), workers=workers)
    assert_same(whole, list(run.outputs))
    for k in range(5):
        part = several.partial(x, i=0.5, outputs=[k], workers=workers)
        assert_same([whole[k]], list(part.outputs))
        assert part.fired.total() < run.fired.total()
    assert several.partial(x, 0.5).outputs[0].tolist() == whole[0].tolist()
    with pytest.raises(ValueError, match="no result 5"):
        several.partial(x, 0.5, outputs=[5])
    with pytest.raises(ValueError, match="no result -1"):
        several.partial(x, 0.5, outputs=[-1])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_partial_leaves_the_arguments_as_they_are(sign: float) -> None:
    x = sign * np.arange(4.0)
    before = x.copy()
    run = stores.partial(x, outputs=(0, 1))
    assert x.tolist() == before.tolist()
    assert_same(list(stores.__tracejit__(before.copy())), list(run.outputs))


def test_partial_raises_what_the_function_raises(capsys: Any) -> None:
    assert raises.partial(np.array([0.0, 2.0])).outputs[0].tolist() == [1.0, 3.0]
    with pytest.raises(ValueError, match="-1.0 is below zero"):
        raises.partial(np.array([-1.0, 2.0]))
    assert capsys.readouterr().out == "x is 0.0\nx is -1.0\n"

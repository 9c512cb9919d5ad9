"""Where nodes are placed: as the program says, with what they share, where a run ends soonest."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.errors import GraphError
from tracejit.ir.graph import Graph, GraphBuilder
from tracejit.ir.op import OPS
from tracejit.ir.regions import nested
from tracejit.ir.types import ArrayType
from tracejit.passes.partition.costs import Costs
from tracejit.passes.partition.pieces import partition
from tracejit.passes.partition.place import Placement, place, simulated_seconds
from tracejit.passes.partition.units import Units

X = np.ones((400, 400))
CHEAP = Costs(latency=1e-6, bandwidth=1e12)


def traced(f: Any, *args: Any) -> Graph:
    graph: Graph = tracejit.jit(f).lower(*args).traced.graph
    return graph


def by_op(placement: Placement) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for node, device in placement.nodes.items():
        found.setdefault(node.op.name, set()).add(device)
    return found


def two_chains(x: Any) -> Any:
    a = np.sin(x) @ x
    a = np.sin(a) @ a
    b = np.cos(x) @ x
    b = np.cos(b) @ b
    return a + b


def test_independent_chains_are_shared_out() -> None:
    found = place(traced(two_chains, X), ["worker:0"], CHEAP)
    devices = by_op(found)
    assert devices["sin"] != devices["cos"] and len(devices["sin"]) == len(devices["cos"]) == 1
    alone = place(traced(two_chains, X), (), CHEAP)
    assert set(alone.nodes.values()) == {"host"}
    assert found.seconds < 0.6 * alone.seconds


def test_slow_networks_are_not_used() -> None:
    slow = Costs(latency=1.0)
    assert set(place(traced(two_chains, X), ["worker:0"], slow).nodes.values()) == {"host"}


def test_pins_come_first_and_inputs_lie_where_they_are_read() -> None:
    def f(x: Any, y: Any) -> Any:
        with tracejit.device("worker:3"):
            z = np.sin(x)
        with tracejit.device("host"):
            return z + y

    found = place(traced(f, X, X), ["worker:0"])
    assert by_op(found) == {"sin": {"worker:3"}, "add": {"host"}}
    assert found.inputs == ("worker:3", "host") and found.outputs == ("host",)
    assert found.devices == ["host", "worker:3"]


def test_branches_and_loops_stay_whole_unless_they_are_pinned() -> None:
    def f(x: Any, n: int) -> Any:
        for _ in range(n):
            x = np.sin(x) @ x
        return x

    def g(x: Any, n: int) -> Any:
        for _ in range(n):
            with tracejit.device("worker:1"):
                y = np.sin(x)
            x = y @ x
        return x

    graph = traced(f, X, 50)
    found = place(graph, ["worker:0", "worker:1"], CHEAP)
    loops = [n for n in graph.nodes if n.op.name == "while_loop"]
    if loops:
        inner = {found.nodes[n] for n in nested([m for r in loops[0].regions for m in r.nodes])}
        assert len(inner) == 1
    split = by_op(place(traced(g, X, 50), (), CHEAP))
    assert split["sin"] == {"worker:1"}


def test_the_search_never_makes_it_slower_and_sometimes_faster() -> None:
    """Random chains and joins, against the simulation that both are judged by."""
    better = 0
    matrix = ArrayType(np.dtype(np.float64), X.shape)
    for seed in range(12):
        rng = random.Random(seed)
        builder = GraphBuilder("f")
        found_values = [builder.input(matrix, "x")]
        for _ in range(14):
            a, b = rng.choice(found_values), rng.choice(found_values)
            made = builder.one(OPS[rng.choice(["sin", "cos"])], [a])
            op = rng.choice(["matmul", "add"])
            found_values.append(builder.one(OPS[op], [made, b]))
        total = found_values[0]
        for v in found_values[1:]:
            total = builder.one(OPS["add"], [total, v])
        graph = builder.build([total])
        greedy = place(graph, ["worker:0", "worker:1"], search=False)
        found = place(graph, ["worker:0", "worker:1"])
        assert greedy.seconds == greedy.greedy_seconds == found.greedy_seconds
        assert found.seconds <= greedy.seconds
        better += found.seconds < 0.99 * greedy.seconds
    assert better >= 3


def test_the_simulation_adds_up() -> None:
    def f(x: Any) -> Any:
        with tracejit.device("worker:0"):
            y = np.sin(x)
        with tracejit.device("host"):
            return np.cos(y)

    graph = traced(f, X)
    units = Units(graph)
    costs = Costs(call=0.0, memory=1e9, latency=0.25, bandwidth=1e9)
    chosen = {u: u.pin for u in units.unit.values()}
    node, transfer = 2 * X.nbytes / 1e9, 0.25 + X.nbytes / 1e9
    assert simulated_seconds(graph, units, chosen, costs) == pytest.approx(2 * (node + transfer))


def test_pins_that_contradict_name_the_line() -> None:
    def f(x: Any) -> Any:
        with tracejit.device("worker:0"):
            print(x.sum())
        return x

    with pytest.raises(GraphError, match=r"test_place\.py:\d+: print_text has effects"):
        partition(traced(f, X), {}, ())


def test_micro_batches_are_a_pipeline() -> None:
    """A device begins the next while the last is elsewhere, and goes back to it when it can."""

    def f(xs: Any, w: Any) -> Any:
        total = 0.0
        for k in (0, 1, 2, 3):
            with tracejit.device("worker:0"):
                h = np.tanh(xs[k] @ w)
            with tracejit.device("worker:1"):
                y = np.sin(h @ w)
            with tracejit.device("worker:0"):
                total = total + np.cos(y @ w).sum()
        return total

    def kinds(names: dict[str, str]) -> str:
        placement, pieces = partition(traced(f, [X] * 4, X), {}, ())
        (piece,) = (p for p in pieces if p.device == "worker:0")
        return "".join(names.get(n.op.name, "") for n in piece.graph.nodes)

    # Not each forward pass and then what waits for the other device, as the program has it.
    found = kinds({"tanh": "f", "cos": "b"})
    assert sorted(found) == sorted("fbfbfbfb") and found.startswith("ff")
    assert found != "ffffbbbb"

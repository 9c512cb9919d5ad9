"""Kernels that write where they read: fused graphs run in place wherever that may be right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.compare import assert_same
from tests.support.native_kernels import Array, compiled
from tracejit.codegen.lowering.fusion import lower_fusion
from tracejit.codegen.reference import run_kernel
from tracejit.ir.dims import evaluate as size_value
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.text.syntax import parse_graph
from tracejit.ir.types import ArrayType
from tracejit.ir.verify import verify
from tracejit.passes.analysis.aliasing import overwritable, updated_input
from tracejit.passes.fusion.fuse import fuse

TARGETS = ("host", "256", "scalar")
SIZES = {"n": 21, "m": 5}


def run_in_place(graph: Graph, inputs: list[Array], sizes: dict[str, int], target: str) -> Any:
    """The outputs of a graph of fusions, with every input overwritten that may be and is dead."""
    table: dict[Value, Array] = {
        v: np.ascontiguousarray(x).copy() for v, x in zip(graph.inputs, inputs, strict=True)
    }
    for k, node in enumerate(graph.nodes):
        if node.op.name == "constant":
            (table[node.outputs[0]],) = node.op.evaluate((), dict(node.attrs))
            continue
        assert node.op.name == "fusion"
        later = {v for other in graph.nodes[k + 1 :] for v in other.inputs} | set(graph.outputs)
        overwrites: dict[Value, Value] = {}
        taken: set[Value] = set()
        (region,) = node.regions
        for out, inner in zip(node.outputs, region.outputs, strict=True):
            for v in overwritable(node)[out]:
                if v not in later and v not in taken:
                    overwrites[inner] = region.inputs[node.inputs.index(v)]
                    taken.add(v)
                    table[out] = table[v]
                    break
            else:
                assert isinstance(out.type, ArrayType)
                shape = tuple(size_value(d, sizes) for d in out.type.shape)
                table[out] = np.full(shape, 77, out.type.dtype)
        _run(node, overwrites, table, sizes, target)
    return tuple(table[v] for v in graph.outputs)


def _run(
    node: Node,
    overwrites: dict[Value, Value],
    table: dict[Value, Array],
    sizes: dict[str, int],
    target: str,
) -> None:
    (region,) = node.regions
    kernel = lower_fusion(region, overwrites=overwrites)
    given = [
        v
        for v, inner in zip(node.inputs, region.inputs, strict=True)
        if inner not in overwrites.values() and isinstance(v.type, ArrayType)
    ]
    memory = [table[v].reshape(-1) for v in (*given, *node.outputs)]
    buffers = dict(zip((p.name for p in kernel.params), memory, strict=True))
    scalars = {
        s.name: table[v]
        for s, v in zip(
            kernel.scalars,
            [v for v in node.inputs if not isinstance(v.type, ArrayType)],
            strict=True,
        )
    }
    own = {name: sizes[name] for name in kernel.sizes}
    expected = {name: array.copy() for name, array in buffers.items()}
    run_kernel(kernel, expected, own, scalars)
    assert compiled(kernel, target)(buffers, own, scalars) == 0
    assert_same(buffers, expected)


def slicing(parts: str) -> str:
    """The attributes start, size and step of a NumPy-like key `start:size:step, ...`."""
    axes = [part.strip().split(":") for part in parts.split(",")]
    names = ("start", "size", "step")
    return ", ".join(
        f"{name}=({', '.join(axis[k] for axis in axes)},)" for k, name in enumerate(names)
    )


def one_axis(body: str, result: str = "b") -> str:
    return f"def f(n: size, a: f64[n], c: f64[n]):\n{body}    return {result}\n"


def line(name: str, size: str, call: str) -> str:
    return f"    {name}: f64[{size}] = {call}\n"


def read(name: str, source: str, key: str, size: str = "n - 1") -> str:
    return line(name, size, f"slice({source}, {slicing(key)})")


def write(name: str, old: str, new: str, key: str) -> str:
    return line(name, "n", f"update_slice({old}, {new}, {slicing(key)})")


SHIFTED = one_axis(read("r", "a", "0:n - 1:1") + write("b", "a", "r", "1:n - 1:1"))
#: name -> (text, number of kernels, whether the last one may work in place).
CASES: dict[str, tuple[str, int, bool]] = {
    "the same index": (
        one_axis(
            read("r", "a", "1:n - 1:1")
            + line("s", "n - 1", "multiply(r, r)")
            + write("b", "a", "s", "1:n - 1:1")
        ),
        1,
        True,
    ),
    "shifted": (SHIFTED, 2, True),
    "reversed": (
        one_axis(
            line("r", "n", f"slice(a, {slicing('n - 1:n:-1')})") + write("b", "a", "r", "0:n:1")
        ),
        2,
        True,
    ),
    "stencil of another array": (
        one_axis(
            read("l", "c", "0:n - 2:1", "n - 2")
            + read("r", "c", "2:n - 2:1", "n - 2")
            + line("s", "n - 2", "add(l, r)")
            + write("b", "a", "s", "1:n - 2:1")
        ),
        1,
        True,
    ),
    "the first half from the second": (
        """
def f(n: size, a: f64[2*n]):
    r: f64[n] = slice(a, start=(n,), size=(n,), step=(1,))
    b: f64[2*n] = update_slice(a, r, start=(0,), size=(n,), step=(1,))
    return b
""",
        1,
        True,
    ),
    "rows less a row above": (
        """
def f(n: size, m: size, a: f64[n + 1, m]):
    rows: f64[n, m] = slice(a, start=(1, 0), size=(n, m), step=(1, 1))
    row: f64[1, m] = slice(a, start=(0, 0), size=(1, m), step=(1, 1))
    every: f64[n, m] = broadcast_to(row, shape=(n, m))
    d: f64[n, m] = subtract(rows, every)
    b: f64[n + 1, m] = update_slice(a, d, start=(1, 0), size=(n, m), step=(1, 1))
    return b
""",
        1,
        True,
    ),
    "columns less the first, the smaller side": (
        """
def f(n: size, m: size, a: f64[n, m]):
    column: f64[n, 1] = slice(a, start=(0, 0), size=(n, 1), step=(1, 1))
    every: f64[n, m] = broadcast_to(column, shape=(n, m))
    d: f64[n, m] = subtract(a, every)
    b: f64[n, m] = update_slice(a, d, start=(0, 0), size=(n, m), step=(1, 1))
    return b
""",
        2,
        True,
    ),
    "a read before an update, used after it": (
        one_axis(
            read("x", "a", "0:1:1", "1")
            + read("y", "a", "1:1:1", "1")
            + write("b1", "a", "y", "0:1:1")
            + write("b", "b1", "x", "1:1:1")
        ),
        3,
        True,
    ),
    "one map over another": (
        one_axis(line("r", "n", "multiply(a, c)") + line("b", "n", "add(r, a)")),
        1,
        True,
    ),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", CASES)
def test_updates_in_place_give_what_copies_give(case: str, target: str) -> None:
    text, count, in_place = CASES[case]
    graph = parse_graph(text)
    verify(graph, "trace")
    fused = fuse(graph)
    verify(fused, "fuse")
    kernels = [n for n in fused.nodes if n.op.kind == "fusion"]
    assert len(kernels) == count
    assert any(overwritable(kernels[-1]).values()) == in_place
    rng = np.random.default_rng(3)
    for n in (2, 9, 21):
        sizes = {name: {"n": n, "m": 5}[name] for name in graph.sizes}
        inputs = [
            rng.standard_normal(tuple(size_value(d, sizes) for d in v.type.shape))
            for v in graph.inputs
            if isinstance(v.type, ArrayType)
        ]
        assert_same(run_in_place(fused, inputs, sizes, target), evaluate(graph, inputs, sizes))


def test_an_update_that_reads_elsewhere_is_not_in_place() -> None:
    """The analysis itself, on one kernel that the pass would have cut in two."""
    (node,) = fuse(parse_graph(CASES["the same index"][0])).nodes
    assert updated_input(node) is node.inputs[0]
    region = parse_graph(one_axis(read("r", "a", "0:n - 1:1") + write("b", "a", "r", "1:n - 1:1")))
    whole = Node(
        node.op, region.inputs, {"sizes": (node.attrs["sizes"][0],)}, region.outputs, (region,)
    )
    assert updated_input(whole) is None
    assert overwritable(whole) == {region.outputs[0]: ()}


def test_an_array_that_is_passed_twice_is_not_overwritten() -> None:
    (node,) = fuse(parse_graph(CASES["one map over another"][0])).nodes
    assert overwritable(node)[node.outputs[0]] == node.inputs
    twice = Node(node.op, (node.inputs[0],) * 2, node.attrs, node.outputs, node.regions)
    assert overwritable(twice)[node.outputs[0]] == ()


def random_stores(rng: np.random.Generator) -> str:
    """Stores of expressions of slices into two square arrays, as a text."""
    text, names, versions = "def f(n: size, a: f64[n, n], c: f64[n, n]):\n", 0, ["a", "c"]
    length = str(rng.choice(["n - 2", "n - 3"]))

    def fresh() -> str:
        nonlocal names
        names += 1
        return f"v{names}"

    for _ in range(int(rng.integers(2, 6))):
        parts = []
        shape = [length, length]
        for _ in range(int(rng.integers(1, 4))):
            source = versions[int(rng.integers(2))]
            starts = [int(rng.integers(3)) for _ in shape]
            sizes = ["1" if rng.random() < 0.25 else d for d in shape]
            steps = [-1 if rng.random() < 0.2 and size != "1" else 1 for size in sizes]
            starts = [
                f"{s} + {d} - 1" if p < 0 else s
                for s, p, d in zip(starts, steps, shape, strict=True)
            ]
            starts = [
                s if d != "n - 3" or p > 0 else s
                for s, p, d in zip(starts, steps, shape, strict=True)
            ]
            key = ", ".join(f"{s}:{d}:{p}" for s, d, p in zip(starts, sizes, steps, strict=True))
            name = fresh()
            kind = f"f64[{', '.join(sizes)}]"
            text += f"    {name}: {kind} = slice({source}, {slicing(key)})\n"
            if "1" in sizes:
                wide = fresh()
                text += (
                    f"    {wide}: f64[{', '.join(shape)}] = "
                    f"broadcast_to({name}, shape=({', '.join(shape)}))\n"
                )
                name = wide
            parts.append(name)
        while len(parts) > 1:
            name = fresh()
            kind = f"f64[{', '.join(shape)}]"
            op = rng.choice(["add", "multiply", "subtract"])
            text += f"    {name}: {kind} = {op}({parts.pop()}, {parts.pop()})\n"
            parts.append(name)
        target = int(rng.integers(2))
        name = fresh()
        key = ", ".join(f"{int(rng.integers(3))}:{d}:1" for d in shape)
        text += f"    {name}: f64[n, n] = update_slice({versions[target]}, {parts[0]}, "
        text += f"{slicing(key)})\n"
        versions[target] = name
    return text + f"    return {', '.join(versions)}\n"


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(40))
def test_random_stores_need_no_copies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = parse_graph(random_stores(rng))
    verify(graph, "trace")
    fused = fuse(graph)
    verify(fused, "fuse")
    inputs = [rng.standard_normal((9, 9)) for _ in graph.inputs]
    outputs = run_in_place(fused, inputs, {"n": 9}, "host")
    assert_same(outputs, evaluate(graph, inputs))
    for node in fused.nodes:
        region = node.regions[0]
        if any(n.op.name == "update_slice" for n in region.nodes):
            assert updated_input(node) is not None
            later = fused.nodes[fused.nodes.index(node) + 1 :]
            assert not any(updated_input(node) in other.inputs for other in later)

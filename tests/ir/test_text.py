"""Graphs as text: print and parse are inverse, and what cannot be read says where and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.passes.test_passes import NESTED
from tests.random.graphs import random_graph
from tests.support.compare import assert_same
from tracejit.errors import Bailout, GraphError, Where
from tracejit.ir.dims import symbol
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import ConstArray, Graph, GraphBuilder, Node, Value
from tracejit.ir.op import OPS, Op
from tracejit.ir.text.syntax import constant_hash, parse_graph, print_graph
from tracejit.ir.types import DTYPES, NONE, PYFLOAT, ArrayType, NpScalar
from tracejit.ir.verify import verify
from tracejit.passes.manager import PASSES

N = symbol("n")
F64 = DTYPES["f64"]


@pytest.mark.sampled(27)
@pytest.mark.parametrize("seed", range(40))
def test_every_stage_prints_and_parses_back(seed: int) -> None:
    graph, inputs = random_graph(seed)
    for step in (lambda g: g, *PASSES):
        graph = step(graph)
        constants: dict[str, Any] = {}
        text = print_graph(graph, constants)
        back = parse_graph(text, constants)
        verify(back, "fused")
        assert print_graph(back) == text
        assert_same(evaluate(graph, inputs), evaluate(back, inputs))


def test_a_whole_text() -> None:
    text = """\
@results("fresh", "input 0", "same 0")
def step(n: size, A: f64[n, n], p: bool, k: int):
    T: f64[n, n] @ (1, 0,) = transpose(A, axes=(1, 0))                    # cholesky.py:7
    v0: f64 = constant(value=-inf, type="f64")
    def then(m: size, B: f64[m, m] @ (1, 0,), c: f64):
        return B
    def orelse(m: size, B: f64[m, m] @ (1, 0,), c: f64):
        C: f64[m, m] @ (1, 0,) = negative(B)                              # cholesky.py:9
        return C
    v1: f64[n, n] @ (1, 0,) = cond(p, T, v0, sizes=((n,), (n,)), regions=(then, orelse))
    bind_size(k, binds=(s,))
    v2: f64[s] = iota(size=s, dtype="f64")
    return v1, A, v1
"""
    graph = parse_graph(text)
    verify(graph, "trace")
    assert print_graph(graph) == text
    assert graph.nodes[0].where == Where("cholesky.py", 7)
    assert graph.results == ("fresh", "input 0", "same 0")
    assert graph.nodes[3].binds == ("s",)
    a = np.array([[1.0, 2.0], [3.0, 4.0]])
    result, same, _ = evaluate(graph, [a, False, 3])
    assert_same((-a.T, a), (result, same))


def test_several_results_and_returned_sizes() -> None:
    text = """\
def f(n: size, x: f64[n]):
    def body(n: size, a: f64[n], b: f64[n]):
        c: f64[n] = add(a, b)
        d: f64[n] = exp(c)
        return c, d, size(-floordiv(n, 2) + 2*n)
    c, d = typed(fusion(x, x, sizes=((n,),), regions=(body,)), f64[n], f64[n])
    return d, c
"""
    graph = parse_graph(text)
    assert print_graph(graph) == text
    assert graph.nodes[0].regions[0].size_outputs == (2 * N - graph_dim("floordiv(n, 2)"),)


def graph_dim(text: str) -> Any:
    return parse_graph(f"def f(n: size, x: f64[{text}]):\n    return x\n").inputs[0].type.shape[0]


ATTRS: list[Any] = [
    None,
    True,
    0,
    -(2**63),
    2**64 - 1,
    1e-320,
    -0.0,
    float("inf"),
    -float("inf"),
    float("nan"),
    complex(-0.0, float("nan")),
    complex(0.0, -float("inf")),
    "both \" and ' and \n # : 7",
    "f64",
    (),
    (1,),
    ((1, N), (N * N - 1, "x")),
    ConstArray(np.array([1.0, np.nan, -0.0, np.inf])),
    ConstArray(np.array(2.5, np.float16)),
    ConstArray(np.zeros((0, 3), np.int8)),
    ConstArray(np.array([[1 - 0j, complex(np.inf, -0.0)]], np.complex64)),
    ConstArray(np.array([True, False])),
    ConstArray(np.arange(17, dtype=np.uint64)),
    ConstArray(np.array([0x7FF8000000000123], np.uint64).view(np.float64)),
]


@pytest.mark.parametrize("attr", ATTRS, ids=repr)
def test_attributes_come_back_exactly(attr: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Holder(Op):
        name, pure = "holder", True

        def infer(self, *_: Any) -> tuple[Any, ...]:
            return (PYFLOAT,)

    monkeypatch.setitem(OPS, "holder", Holder())
    builder = GraphBuilder("f", ["n"])
    value = builder.one(OPS["holder"], (), attr=attr)
    constants: dict[str, Any] = {}
    text = print_graph(builder.build([value]), constants)
    back = parse_graph(text, constants)
    assert print_graph(back) == text
    found = back.nodes[0].attrs["attr"]
    assert type(found) is type(attr)
    assert repr(found) == repr(attr)
    if isinstance(attr, ConstArray):
        assert found == attr
        large = attr.array.size > 16 or "123" in repr(attr.array.tobytes()[-8:])
        assert bool(constants) == ("table(" in text) >= large


def test_names_are_kept_where_they_are_free() -> None:
    builder = GraphBuilder("<lambda>", ["n"])
    x = builder.input(ArrayType(F64, (N,)), "x")
    names = ["x", "", "n", "x1", "if", "v1", "x"]
    for name in names:
        (value,) = builder.emit(OPS["negative"], (x,))
        value.name = name
    text = print_graph(builder.build([x]))
    found = [line.split(":")[0].strip() for line in text.splitlines()[1:-1]]
    assert found == ["x2", "v0", "n1", "x1", "v2", "v1", "x3"]
    assert text.startswith("def lambda_(n: size, x: f64[n]):")
    assert print_graph(parse_graph(text)) == text


def test_a_missing_or_changed_constant_is_refused() -> None:
    array = np.arange(20.0)
    builder = GraphBuilder("f")
    value = builder.one(OPS["constant"], (), value=ConstArray(array), type="f64[20]")
    text = print_graph(builder.build([value]))
    with pytest.raises(GraphError, match="not in the table"):
        parse_graph(text)
    with pytest.raises(GraphError, match="another one"):
        parse_graph(text, {constant_hash(array): array + 1})


MALFORMED = {
    "unknown op": ("y: f64[n] = negativ(x)", "no op negativ, did you mean negative"),
    "undefined": ("y: f64[n] = negative(z)", "z is not a value defined before"),
    "wrong type": ("y: f32[n] = negative(x)", r"type rule gives f64\[n\]"),
    "wrong count": ("a, b = typed(negative(x), f64[n], f64[n])", r"type rule gives f64\[n\]"),
    "type rule": ("y: f64[n] = add(x)", "add: add takes 2 operands"),
    "missing attribute": ("y: f64[n] = broadcast_to(x)", "broadcast_to"),
    "twice": ("x: f64[n] = negative(x)", "x is defined twice"),
    "no node": ("y = 3", "not a node"),
    "not a call": ("y: f64[n] = x", "not a node"),
    "not a type": ("y: list[n] = negative(x)", "not a type"),
    "size by zero": ("y: f64[floordiv(n, 0)] = negative(x)", "zero"),
    "bad order": ("y: f64[n] @ (1, 0,) = negative(x)", "not an order"),
    "attribute": ("y: f64 = constant(value=open('x'), type='f64')", "not a dimension"),
    "repeated attribute": ("y: f64 = constant(**x)", "attributes are keywords"),
    "no region": ("y: f64[n] = cond(x, regions=(then,))", "no region then"),
    "bad array": ("y: f64 = constant(value=array(f64[2], 1.0), type='f64')", "reshape"),
    "wrong kind": ("y: f64[n] = slice(x, start=0, size=0, step=0)", "slice"),
    "syntax": ("y: f64[n] = negative(x", "was never closed"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_text_names_its_line(name: str) -> None:
    line, message = MALFORMED[name]
    text = f"def f(n: size, x: f64[n]):\n    {line}\n    return x\n"
    with pytest.raises(GraphError, match=message) as caught:
        parse_graph(text, file="g.graph")
    first, second, *_ = str(caught.value).splitlines()
    assert first.startswith("g.graph:2: ")
    assert second.strip() == line


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1\n",
        "def f():\n    pass\n",
        "def f(x):\n    return x\n",
        "def f(*x: f64):\n    return x\n",
        "def f(x: f64, x: f64):\n    return x\n",
        "@other\ndef f(x: f64):\n    return x\n",
        "def f(n: size, x: f64):\n    return size(n), x\n",
        "\0",
        "def f(x: f64):\n    return x\n" * 2,
        "(" * 500,
    ],
)
def test_what_is_no_graph_is_refused(text: str) -> None:
    with pytest.raises(GraphError):
        parse_graph(text)


def broken(nodes: list[Node], outputs: list[Value], **parts: Any) -> Graph:
    return Graph("f", ("n",), (), tuple(nodes), tuple(outputs), **parts)


def iota(size: Any) -> Node:
    attrs = {"size": size, "dtype": "f64"}
    return Node(OPS["iota"], (), attrs, (Value(ArrayType(F64, (size,))),))


def negative(x: Value, **changes: Any) -> Node:
    return Node(OPS["negative"], (x,), {}, (Value(changes.get("type", x.type)),))


def test_the_verifier_refuses_what_is_not_well_formed() -> None:
    a = iota(N)
    (x,) = a.outputs
    b = negative(x)
    late = Node(b.op, b.inputs, {}, b.outputs, where=Where(__file__, 3, "test"))
    stray = Value(ArrayType(F64, (N,)))
    bad = {
        "read but not defined": broken([late, a], [x]),
        "is defined twice": broken([a, a], [x]),
        "the output": broken([a], [stray]),
        "size k, which is not defined": broken([iota(symbol("k"))], []),
        "the type rule gives": broken([a, negative(x, type=NpScalar(F64))], []),
        "the attribute dtype is a float64": broken(
            [Node(a.op, (), {"size": N, "dtype": np.float64(1)}, a.outputs)], []
        ),
        "2 results for 1 outputs": broken([a], [x], results=("fresh", "fresh")),
        "cannot be 'input 0'": broken([a], [x], results=("input 0",)),
        "a returned size": broken([a], [x], size_outputs=(symbol("k"),)),
        "only a record of changes": broken([Node(a.op, (), a.attrs, a.outputs, stale=True)], []),
    }
    for message, graph in bad.items():
        with pytest.raises(GraphError, match=message):
            verify(graph, "trace")
    with pytest.raises(GraphError) as caught:
        verify(bad["read but not defined"], "trace")
    shown = str(caught.value)
    assert "test_text.py" in shown and "line 3" in shown and "--> " in shown


def test_a_region_sees_nothing_from_outside() -> None:
    graph = parse_graph(NESTED)
    verify(graph, "trace")
    node = next(n for n in graph.nodes if n.op.name == "cond")
    then = node.regions[0]
    leak = Graph(then.name, then.sizes, then.inputs, then.nodes, (graph.inputs[1],))
    regions = (leak, node.regions[1])
    changed = Node(node.op, node.inputs, node.attrs, node.outputs, regions)
    nodes = tuple(changed if n is node else n for n in graph.nodes)
    with pytest.raises(GraphError, match="the output"):
        verify(Graph("f", graph.sizes, graph.inputs, nodes, graph.outputs), "trace")


def test_fusions_belong_to_the_fused_stage() -> None:
    text = """
def f(n: size, x: f64[n]):
    def body(n: size, a: f64[n]):
        c: f64[n] = negative(a)
        return c
    y: f64[n] = fusion(x, sizes=((n,),), regions=(body,))
    return y
"""
    graph = parse_graph(text)
    verify(graph, "fused")
    with pytest.raises(GraphError, match="fusion is not allowed here"):
        verify(graph, "dce")
    assert_same((np.array([-1.0, 2.0]),), evaluate(graph, [np.array([1.0, -2.0])]))


def test_evaluation_checks_its_inputs() -> None:
    graph = parse_graph("def f(n: size, x: f64[n], y: f64[n, 2], k: int):\n    return x\n")
    x, y = np.zeros(3), np.zeros((3, 2))
    assert_same((x,), evaluate(graph, [x, y, 1]))
    bad: list[list[Any]] = [
        [x, np.zeros((4, 2)), 1],
        [x, np.zeros((3, 3)), 1],
        [x.astype(np.float32), y, 1],
        [x, y, True],
        [x, y, np.int64(1)],
        [x, y],
        [list(x), y, 1],
    ]
    for inputs in bad:
        with pytest.raises(GraphError):
            evaluate(graph, inputs)
    unbound = parse_graph("def f(n: size, x: f64[2*n]):\n    return x\n")
    with pytest.raises(GraphError, match="no shape gives the size n"):
        evaluate(unbound, [x])
    assert_same((np.zeros(4),), evaluate(unbound, [np.zeros(4)], {"n": 2}))
    none = GraphBuilder("f")
    value = none.input(NONE)
    assert evaluate(none.build([value]), [None]) == (None,)


def test_evaluation_binds_sizes_and_bails_out() -> None:
    text = """
def f(k: int):
    bind_size(k, binds=(s,))
    x: f64[s] = iota(size=s, dtype="f64")
    y: int = dim_value(dim=2*s)
    return x, y
"""
    graph = parse_graph(text)
    assert_same((np.arange(3.0), 6), evaluate(graph, [3]))
    with pytest.raises(Bailout):
        evaluate(graph, [-1])


def test_a_loop_carries_a_size() -> None:
    text = """
def f(n: size, x: f64[n], k: int):
    def more(s: size, a: f64[s], i: int):
        zero: int = constant(value=0, type="int")
        go: bool = py_greater(i, zero)
        return go
    def body(s: size, a: f64[s], i: int):
        b: f64[s - 1] = slice(a, start=(1,), size=(s - 1,), step=(1,))
        one: int = constant(value=1, type="int")
        j: int = py_subtract(i, one)
        return b, j, size(s - 1)
    y, j = typed(while_loop(x, k, LOOP), f64[t], int)
    return y
""".replace("LOOP", "sizes=((n,), (n,)), carried=2, regions=(more, body), binds=(t,)")
    graph = parse_graph(text)
    verify(graph, "trace")
    assert print_graph(parse_graph(print_graph(graph))) == print_graph(graph)
    assert_same((np.array([3.0, 4.0]),), evaluate(graph, [np.arange(5.0), 3]))

"""Each pass keeps every bit of every result, does what its docstring says, and is done at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conftest import Golden
from tests.passes.rewrite_cases import CASES, KEPT
from tests.random.graphs import SIZES, pure_samples, random_graph
from tests.support.compare import assert_same
from tracejit.errors import Bailout, GraphError
from tracejit.ir.dims import evaluate as dim_value
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph, Node
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.ir.types import ArrayType, NpScalar, dtype_of
from tracejit.ir.verify import verify
from tracejit.passes.manager import PASSES, pass_named, run_passes
from tracejit.passes.simplify import rewriter
from tracejit.passes.simplify.cse import cse
from tracejit.passes.simplify.dce import dce
from tracejit.passes.simplify.fold import fold
from tracejit.passes.simplify.simplify import simplify

SEEDS = range(60)


def parse(text: str) -> Graph:
    graph = parse_graph(text)
    verify(graph, "trace")
    return graph


def lines(graph: Graph) -> list[str]:
    """The nodes of a graph, without names of values in front."""
    return [line.strip() for line in print_graph(graph).splitlines()[1:-1]]


def edge_inputs(graph: Graph) -> list[Any]:
    """Inputs of special values for a graph over the sizes n and m."""
    rng = np.random.default_rng(7)
    out: list[Any] = []
    for value in graph.inputs:
        dtype = dtype_of(value.type)
        numbers = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5, -7.25, 1e30, 5e-324]
        if dtype.kind in "iu":
            numbers = [0, 1, 2, 3, -1, -2, 100, np.iinfo(dtype).min, np.iinfo(dtype).max]
        shape = value.type.shape if isinstance(value.type, ArrayType) else ()
        sizes = tuple(dim_value(d, SIZES) for d in shape)
        with np.errstate(all="ignore"):
            if dtype.kind == "u":
                numbers = [number % 2 ** (8 * dtype.itemsize) for number in numbers]
            array = np.asarray(rng.choice(np.array(numbers).astype(dtype), sizes))
            if dtype.kind == "c":
                array = array + (1j * rng.choice(numbers[:-2], sizes)).astype(dtype)
        if isinstance(value.type, ArrayType):
            order = value.type.order
            moved = array.transpose(order).copy()
            out.append(moved.transpose(np.argsort(order)))
        else:
            out.append(array[()] if isinstance(value.type, NpScalar) else array.item())
    return out


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_pass_keeps_every_bit(seed: int) -> None:
    graph, inputs = random_graph(seed)
    verify(graph, "trace")
    expected = evaluate(graph, inputs)
    for step in PASSES:
        graph = step(graph)
        verify(graph, step.__name__)
        assert_same(expected, evaluate(graph, inputs), where=step.__name__)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_pass_finds_nothing_the_second_time(seed: int) -> None:
    graph, _ = random_graph(seed)
    for step in (simplify, fold, cse, dce):
        graph = step(graph)
        assert step(graph) is graph, step.__name__


def test_random_graphs_reach_every_pure_op() -> None:
    seen = {node.op.name for seed in range(400) for node in random_graph(seed)[0].nodes}
    assert not {name for name, samples in pure_samples().items() if samples} - seen


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rewrites_are_exact(case: Any) -> None:
    graph = parse(case.text)
    after = simplify(graph)
    verify(after, "simplify")
    inputs = edge_inputs(graph)
    assert_same(evaluate(graph, inputs, SIZES), evaluate(after, inputs, SIZES))


def test_rewrites_as_text(golden: Golden) -> None:
    """Before and after of each rule, dead nodes dropped."""
    text = ""
    for case in CASES:
        before = parse(case.text)
        text += (
            f"# {case.name}\n{print_graph(before)}# gives\n{print_graph(dce(simplify(before)))}\n"
        )
    golden("simplify.txt", text)


def test_every_rule_has_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    used = set()

    def watched(function: rewriter.Rule) -> rewriter.Rule:
        def apply(r: rewriter.Rewriter, node: Node) -> Any:
            value = function(r, node)
            if value is not None and value.type == node.outputs[0].type:
                used.add(function.__name__)
            return value

        return apply

    rules = {name: [watched(f) for f in found] for name, found in rewriter.RULES.items()}
    names = {f.__name__ for found in rewriter.RULES.values() for f in found}
    monkeypatch.setattr(rewriter, "RULES", rules)
    for case in CASES:
        before = set(used)
        simplify(parse(case.text))
        assert case.rule in used, f"{case.name} does not show {case.rule}, but {used - before}"
    assert used == names


@pytest.mark.parametrize("text", KEPT)
def test_what_holds_only_nearly_is_no_rule(text: str) -> None:
    graph = parse(text)
    assert simplify(graph) is graph


FOLD = """
def f(n: size, x: f64[n]):
    a: f64 = constant(value=2.0, type="f64")
    b: f64 = constant(value=-0.0, type="f64")
    c: f64 = add(a, b)
    few: f64[3] = constant(value=array(f64[3], 1.0, nan, -0.0), type="f64[3]")
    fewer: f64[()] = reduce_sum(few, axes=(0,))
    all_a: f64[n] = broadcast_to(a, shape=(n,))
    all_b: f64[n] = broadcast_to(b, shape=(n,))
    d: f64[n] = subtract(all_b, all_a)
    e: f64[n] = sin(all_a)
    y: f64[n] = multiply(x, d)
    many: i64[100] = iota(size=100, dtype="i64")
    zero: int = constant(value=0, type="int")
    one: int = constant(value=1, type="int")
    bad: int = py_floordiv(one, zero)
    three: int = py_add(one, one)
    return c, fewer, y, e, many, bad, three
"""

CSE = """
def f(n: size, x: f64[n], y: f64[n]):
    a: f64[n] = add(x, y)
    b: f64[n] = add(y, x)
    c: f64[n] = subtract(x, y)
    d: f64[n] = subtract(y, x)
    e: f64[n] = subtract(x, y)
    zero: f64 = constant(value=0.0, type="f64")
    minus: f64 = constant(value=-0.0, type="f64")
    flag: bool = constant(value=True, type="bool")
    one: int = constant(value=1, type="int")
    more: f64[n] = maximum(a, b)
    return b, c, d, e, zero, minus, flag, one, more
"""

DCE = """
def f(n: size, x: f64[n], k: int):
    a: f64[n] = exp(x)
    b: f64[n] = sin(a)
    bind_size(k, binds=(s,))
    c: f64[s] = iota(size=s, dtype="f64")
    return a
"""


@pytest.mark.parametrize("name, text", [("fold", FOLD), ("cse", CSE), ("dce", DCE)])
def test_pass_as_text(name: str, text: str, golden: Golden) -> None:
    golden(f"{name}.txt", print_graph(pass_named(name)(parse(text))))


def test_folding_keeps_what_bails_out_and_what_would_grow() -> None:
    after = fold(parse(FOLD))
    kept = {node.op.name for node in after.nodes}
    assert {"py_floordiv", "iota", "broadcast_to", "sin"} <= kept
    assert not {"reduce_sum", "py_add", "subtract"} & kept
    text = FOLD.replace(", bad, three", ", three").replace("bad: int = py_floordiv(one, zero)", "")
    x = np.array([1.0, np.nan, -0.0])
    assert_same(evaluate(parse(text), [x]), evaluate(fold(parse(text)), [x]))
    with pytest.raises(Bailout):
        evaluate(after, [x])


def test_constants_are_told_apart_by_their_bits() -> None:
    after = cse(parse(CSE))
    values = [repr(n.attrs["value"]) for n in after.nodes if n.op.name == "constant"]
    assert values == ["0.0", "-0.0", "True", "1"]
    assert sum(n.op.name == "add" for n in after.nodes) == 1
    assert sum(n.op.name == "subtract" for n in after.nodes) == 2


def test_a_definition_of_a_size_stays_where_it_is_read() -> None:
    after = dce(parse(DCE))
    assert [n.op.name for n in after.nodes] == ["exp"]
    kept = dce(parse(DCE.replace("return a", "return a, c")))
    assert [n.op.name for n in kept.nodes] == ["exp", "bind_size", "iota"]


def test_filled_arrays_are_told_apart_by_their_bits() -> None:
    graph = parse("""
def f(n: size):
    a: f64 = constant(value=0.0, type="f64")
    b: f64 = constant(value=-0.0, type="f64")
    x: f64[n] = broadcast_to(a, shape=(n,))
    y: f64[n] = broadcast_to(b, shape=(n,))
    z: f64[2*n] = concatenate(x, y, axis=0)
    w: f64[2*n] = concatenate(x, x, axis=0)
    return z, w
""")
    after = fold(graph)
    assert [n.op.name for n in after.nodes].count("concatenate") == 1
    assert_same(evaluate(graph, [], {"n": 2}), evaluate(after, [], {"n": 2}))


def test_stored_elements_where_a_mask_holds_are_moved_at_once() -> None:
    text = """
def f(x: f64[6], m: b1[6], k: int):
    bind_size(k, binds=(s,))
    z: f64[6] = sqrt(x)
    p: i64[s] = true_positions(m, size=s)
    a: f64[s] = gather(x, p)
    b: f64[s] = gather({other}, p)
    return a, b
"""
    x = np.arange(6.0)
    for other, found in (("x", ["compress", "compress"]), ("z", ["gather", "gather"])):
        graph = parse(text.format(other=other))
        after = pass_named("compressed")(graph)
        reads = [n.op.name for n in after.nodes if n.op.name in ("gather", "compress")]
        assert reads == found
        inputs = [x, x % 2 > 0, 3]
        assert_same(evaluate(graph, inputs), evaluate(after, inputs))


def test_joins_of_joins_are_stored_once() -> None:
    graph = parse("""
def f(n: size, x: f64[n, 3], y: f64[n, 2]):
    a: f64[n, 5] = concatenate(x, y, axis=1)
    b: f64[n, 5] = concatenate(y, x, axis=1)
    c: f64[n, 5] = concatenate(y, x, axis=1)
    d: f64[2*n, 5] = concatenate(a, b, axis=0)
    e: f64[2*n, 5] = concatenate(c, c, axis=0)
    return d, e
""")
    after = pass_named("fuse")(graph)
    kernels = [n.regions[0] for n in after.nodes]
    assert [[n.op.name for n in k.nodes].count("concatenate") for k in kernels] == [1, 3, 1]
    inputs = [np.arange(6.0).reshape(2, 3), np.arange(4.0).reshape(2, 2)]
    assert_same(evaluate(graph, inputs), evaluate(after, inputs))


def test_two_sizes_of_one_number_stay_two() -> None:
    graph = parse("""
def f(k: int):
    bind_size(k, binds=(s,))
    bind_size(k, binds=(t,))
    x: i64[s] = iota(size=s, dtype="i64")
    y: i64[t] = iota(size=t, dtype="i64")
    return x, y
""")
    after = run_passes(graph, verify=True, passes=(cse, dce))
    assert [n.binds for n in after.nodes if n.binds] == [("s",), ("t",)]


SIZE_OF_LOOP = """
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
    length: int = dim_value(dim=t)
    return length
""".replace("LOOP", "sizes=((n,), (n,)), carried=2, regions=(more, body), binds=(t,)")


def test_a_loop_whose_size_alone_is_read_stays() -> None:
    graph = parse(SIZE_OF_LOOP)
    after = dce(graph)
    verify(after, "dce")
    loop = after.nodes[0]
    assert (loop.op.name, loop.binds, loop.attrs["carried"]) == ("while_loop", ("t",), 1)
    assert dce(after) is after
    assert evaluate(after, [np.zeros(5), 2]) == (3,)
    unread = Graph("f", graph.sizes, graph.inputs, graph.nodes[:1], graph.inputs[1:])
    assert dce(unread).nodes == ()


#: `b` depends on `a`, `a` on nothing else; `c` is divided by, `d` is printed, `e` is the condition.
CARRIED = """
def f(x: f64, k: int):
    t: token = start_token()
    def more(a: f64, b: f64, c: int, d: f64, e: int, g: f64, t: token):
        zero: int = constant(value=0, type="int")
        go: bool = py_greater(e, zero)
        return go
    def body(a: f64, b: f64, c: int, d: f64, e: int, g: f64, t: token):
        one: int = constant(value=1, type="int")
        a1: f64 = add(a, a)
        b1: f64 = multiply(a, b)
        c1: int = py_subtract(c, one)
        q: int = py_floordiv(one, c)
        d1: f64 = add(d, d)
        e1: int = py_subtract(e, one)
        g1: f64 = add(g, d)
        u: token = print_text(t, d, text=("d is ", ("value", 0, "", ()), "\\n"))
        return a1, b1, c1, d1, e1, g1, u
    a, b, c, d, e, g, u = typed(while_loop(x, x, k, x, k, x, t, sizes=((), ()), carried=7, \
regions=(more, body)), f64, f64, int, f64, int, f64, token)
    return g
"""


def test_a_loop_loses_what_only_feeds_itself(golden: Golden, capsys: Any) -> None:
    graph = parse(CARRIED)
    after = dce(graph)
    verify(after, "dce")
    assert dce(after) is after
    assert_same(evaluate(graph, [np.float64(1.5), 3]), evaluate(after, [np.float64(1.5), 3]))
    printed = capsys.readouterr().out.splitlines()
    assert printed == ["d is 1.5", "d is 3.0", "d is 6.0"] * 2
    bails = CARRIED.replace("k: int):\n    t:", "k: int, j: int):\n    t:")
    bails = bails.replace("x, x, k, x, k, x, t", "x, x, k, x, j, x, t")
    with pytest.raises(Bailout):
        evaluate(dce(parse(bails)), [np.float64(1.5), 1, 2])
    golden("dce-loop.txt", print_graph(after))


RAISING = """
def f(n: size, x: f64[n], k: int, b: i8, p: f64):
    a: f64[()] = gather(x, k)
    c: float = py_scalar(p, kind="float")
    d: int = py_scalar(p, kind="int")
    e: int = py_floordiv(k, k)
    g: f64[()] = reduce_max(x, axes=(0,))
    h: i16 = cast(b, dtype="i16")
    i: int = py_scalar(b, kind="int")
    j: f32 = np_scalar(c, dtype="f32")
    l: i8 = np_scalar(k, dtype="i8")
    o: f64 = cast(b, dtype="f64")
    return x
"""


def test_what_may_raise_stays_though_nobody_reads_it() -> None:
    after = dce(parse(RAISING))
    kept = [v.name for node in after.nodes for v in node.outputs]
    assert kept == ["a", "d", "e", "g", "l"]


def test_rows_that_nobody_reads_are_only_looked_for() -> None:
    text = """
def f(n: size, m: size, x: f64[n, m, 4], i: i64, j: i64[2]):
    a: f64[m, 4] = gather(x, i)
    b: f64[2, m, 4] = gather(x, j)
    return i
"""
    graph = parse(text)
    after = dce(graph)
    verify(after, "dce")
    assert dce(after) is after
    assert [
        str(node.outputs[0].type.shape) for node in after.nodes if node.op.name == "gather"
    ] == [
        "(min(1, m), 1)",
        "(2, min(1, m), 1)",
    ]
    for shape in (3, 2, 4), (3, 0, 4):
        x = np.zeros(shape)
        for i, j in ((2, [0, -3]), (-3, [1, 2]), (3, [0, 0]), (0, [0, 3]), (-4, [0, 1])):
            args = [x, np.int64(i), np.array(j)]
            if -3 <= i < 3 and max(j) < 3:
                assert evaluate(after, args) == evaluate(graph, args)
                continue
            for one in graph, after:
                with pytest.raises(Bailout):
                    evaluate(one, args)


COND = """
def f(n: size, p: bool, x: f64[n], y: f64[n], z: f64[n]):
    u: f64[n] = exp(y)
    def then(k: size, a: f64[k], b: f64[k], c: f64[k]):
        d: f64[k] = sin(b)
        return a, d, c
    def orelse(k: size, a: f64[k], b: f64[k], c: f64[k]):
        return c, b, a
    r, s, t = typed(cond(p, x, u, z, sizes=((n,), (n,)), regions=(then, orelse)), \
f64[n], f64[n], f64[n])
    return r
"""


def test_a_condition_loses_what_nobody_reads(golden: Golden) -> None:
    graph = parse(COND)
    after = dce(graph)
    verify(after, "dce")
    assert dce(after) is after
    x, y, z = np.array([1.0, 2.0]), np.array([np.nan, 0.0]), np.array([3.0, -0.0])
    for p in (True, False):
        assert_same(evaluate(graph, [p, x, y, z]), evaluate(after, [p, x, y, z]))
    golden("dce-cond.txt", print_graph(after))


NESTED = """
def f(n: size, p: bool, x: f64[n]):
    one: f64 = constant(value=1.0, type="f64")
    def then(k: size, c: f64, v: f64[k]):
        ones: f64[k] = broadcast_to(c, shape=(k,))
        dead: f64[k] = sin(v)
        twice: f64[k] = add(v, ones)
        again: f64[k] = add(ones, v)
        w: f64[k] = multiply(twice, again)
        return w
    def orelse(k: size, c: f64, v: f64[k]):
        w: f64[k] = negative(v)
        u: f64[k] = negative(w)
        return u
    y: f64[n] = cond(p, one, x, sizes=((n,), (n,)), regions=(then, orelse))
    return y
"""


@pytest.mark.parametrize("p", [True, False])
def test_passes_work_inside_regions(p: bool, golden: Golden) -> None:
    graph = parse(NESTED)
    after = run_passes(graph, verify=True, passes=(simplify, fold, cse, dce))
    x = np.array([1.0, np.nan, -0.0])
    assert_same(evaluate(graph, [p, x]), evaluate(after, [p, x]))
    golden("nested.txt", print_graph(after))


def test_manager_reports_every_stage_and_names_the_pass_at_fault() -> None:
    graph = parse(CSE)
    stages: list[str] = []
    run_passes(graph, verify=True, observe=lambda name, _graph, _seconds: stages.append(name))
    assert stages == [step.__name__ for step in PASSES]

    def broken(g: Graph) -> Graph:
        return Graph(g.name, g.sizes, g.inputs, g.nodes[1:], g.outputs)

    broken.__name__ = "cse"
    with pytest.raises(GraphError, match="after the pass cse"):
        run_passes(graph, verify=True, passes=(broken,))


def test_sums_over_no_axes_of_one_number() -> None:
    graph = parse("""def f(x: f64[()], y: f64[()]):
    a: f64[()] = multiply(x, y)
    b: f64[()] = reduce_sum(a, axes=())
    c: f64[()] = reduce_sum(x, axes=())
    return b, c
""")
    given = [np.array(3.0), np.array(-0.5)]
    out = tuple(evaluate(run_passes(graph, verify=True), given))
    assert_same(out, (np.array(-1.5), given[0]))

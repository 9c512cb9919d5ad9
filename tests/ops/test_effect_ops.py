"""The ops of effects: texts, exceptions, checks and undefined values in graphs."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from tracejit.errors import Bailout, GraphError
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph, replay
from tracejit.ir.op import OPS
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.ir.types import DTYPES, NONE, PYBOOL, PYINT, TOKEN, ArrayType, NpScalar, Type
from tracejit.ir.verify import verify
from tracejit.ops.control.effects import undefined_attrs
from tracejit.ops.control.templates import refer, referred
from tracejit.passes.simplify.cse import cse
from tracejit.passes.simplify.dce import dce
from tracejit.passes.simplify.fold import fold
from tracejit.runtime.compile.graph_call import run_graph


def read(text: str) -> Graph:
    """The graph of a text, which is printed again as it was written."""
    graph = parse_graph(text)
    verify(graph, "trace")
    assert print_graph(graph) == text
    return graph


PRINTS = """\
def f(x: f64, n: int, a: f64[3]):
    t: token = start_token()
    t1: token = print_text(t, x, n, text=("x = ", ("value", 0, "", (".2f",)), " ", ("value", 1, "r", (">4",)), "\\n"))
    t2: token = print_text(t1, a, text=(("text", ("[", ("value", 0, "", ()), "]"), "", (">20",)), "\\n"))
    t3: token = print_text(t2, n, text=(("percent", "%05d", 0), "\\n"))
    return x, t3
"""  # noqa: E501


def test_texts_are_printed_in_order_by_the_evaluator(capsys: pytest.CaptureFixture[str]) -> None:
    graph = read(PRINTS)
    a = np.array([1.0, 2.5, -3.0])
    evaluate(graph, (np.float64(1.5), 7, a))
    expected = f"x = {1.5:.2f} {'7':>4}\n" + f"{f'[{a}]':>20}\n" + "00007\n"
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("step", [dce, cse, fold], ids=lambda p: p.__name__)
def test_passes_keep_effects(step, capsys: pytest.CaptureFixture[str]) -> None:
    text = """\
def f(x: int):
    t: token = start_token()
    t1: token = print_text(t, x, text=("a", ("value", 0, "", ())))
    t2: token = print_text(t1, x, text=("a", ("value", 0, "", ())))
    c: bool = constant(value=True, type="bool")
    check(c)
    return x
"""
    graph = step(read(text))
    assert [n.op.name for n in graph.nodes if not n.op.pure] == ["print_text"] * 2 + ["check"]
    evaluate(graph, (5,))
    assert capsys.readouterr().out == "a5a5"


def test_checks_bail_out() -> None:
    graph = read("def f(p: b1):\n    check(p)\n    return p\n")
    assert evaluate(graph, (np.True_,)) == (np.True_,)
    with pytest.raises(Bailout):
        evaluate(graph, (np.False_,))


RAISES = """\
def f(x: int, a: f64[3]):
    t: token = start_token()
    u: token = raise_error(t, x, a, error=("call", "builtins:ValueError", 0, (("text", ("x is ", ("value", 0, "", ()))), ("operand", 0), ("tuple", ("constant", None), ("operand", 1))), ()), cause=("constant", None), states=(1,))
    return u
"""  # noqa: E501


def test_exceptions_are_made_of_operands() -> None:
    graph = read(RAISES.replace(" a,", " a, a,"))
    a = np.ones(3)
    with pytest.raises(ValueError, match="x is 3") as caught:
        evaluate(graph, (3, a))
    error = caught.value
    assert error.args[:2] == ("x is 3", 3)
    assert error.args[2][0] is None and (error.args[2][1] == a).all()
    assert error.__cause__ is None and error.__suppress_context__


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ('print_text(x, text=("a",))', "takes a token first"),
        ('print_text(t, x, text=(("value", 1, "", ()),))', "there is no operand 1"),
        ('print_text(t, x, text=(("value", 0, "q", ()),))', "there is no conversion 'q'"),
        ('print_text(t, x, text=(("other", 0),))', "is not a piece of text"),
        ('print_text(t, x, text="a")', "is not a text"),
        ('raise_error(t, error=("operand", 0))', "there is no operand 0"),
        ('raise_error(t, error=("constant", None), states=(0,))', "lacks the values"),
    ],
)
def test_type_rules(node: str, message: str) -> None:
    text = f"def f(x: int):\n    t: token = start_token()\n    u: token = {node}\n    return u\n"
    with pytest.raises(GraphError, match=message):
        parse_graph(text)


TYPES: list[Type] = [
    ArrayType(DTYPES["f32"], (2, 3)),
    ArrayType(DTYPES["c128"], (2, 3), (1, 0)),
    ArrayType(DTYPES["i8"], ()),
    NpScalar(DTYPES["u16"]),
    PYINT,
    PYBOOL,
    TOKEN,
    NONE,
]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_undefined_has_the_type_it_is_made_for(kind: Type) -> None:
    attrs = undefined_attrs(kind)
    assert OPS["undefined"].infer((), attrs, (), ()) == (kind,)
    (value,) = OPS["undefined"].evaluate((), attrs)
    if isinstance(kind, ArrayType):
        assert (value.dtype, value.shape) == (kind.dtype, kind.shape)
        assert not value.any()


def test_sizes_of_undefined_arrays_are_substituted() -> None:
    graph = read("""\
def f(n: size, x: f64[n]):
    u: f64[n, n + 1] = undefined(kind="array", dtype="f64", shape=(n, n + 1), order=(0, 1))
    return u
""")
    (out,) = evaluate(graph, (np.ones(3),))
    assert out.shape == (3, 4)
    known = replay(graph, sizes={"n": 5})
    verify(known, "trace")
    assert known.outputs[0].type == ArrayType(DTYPES["f64"], (5, 6))


def test_graphs_are_run_with_their_effects(capsys: pytest.CaptureFixture[str]) -> None:
    text = PRINTS.replace("return x, t3", "return x")
    a = np.array([1.0, 2.5, -3.0])
    evaluate(parse_graph(text), (np.float64(1.5), 7, a))
    expected = capsys.readouterr().out
    run_graph(parse_graph(text), (np.float64(1.5), 7, a))
    assert capsys.readouterr().out == expected
    graph = parse_graph("""\
def f(x: int):
    t: token = start_token()
    t1: token = print_text(t, text=("printed",))
    u: token = raise_error(t1, x, error=("call", "builtins:KeyError", 0, (("operand", 0),), ()))
    return x
""")
    with pytest.raises(KeyError, match="7"):
        run_graph(graph, (7,))
    assert capsys.readouterr().out == "printed"


def test_references_keep_nothing_alive() -> None:
    class Mine(Exception):
        pass

    number = refer(Mine)
    assert refer(Mine) == number and referred(number) is Mine
    del Mine
    gc.collect()
    with pytest.raises(LookupError):
        referred(number)

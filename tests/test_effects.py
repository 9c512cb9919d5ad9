"""Effects: printed texts, exceptions raised by compiled code, and the ops that they are made of."""

from __future__ import annotations

import io
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import tracejit
from tests.control_programs.observe import (
    Observation,
    Printed,
    assert_same_observation,
    observe,
)
from tests.control_programs.readers import READERS, Readers
from tests.effect_cases import BAILING, CASES
from tracejit.codegen import printing
from tracejit.errors import Bailout, GraphError
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph, replay
from tracejit.ir.op import OPS
from tracejit.ir.text import parse_graph, print_graph
from tracejit.ir.types import DTYPES, NONE, PYBOOL, PYINT, TOKEN, ArrayType, NpScalar, Type
from tracejit.ir.verify import verify
from tracejit.ops.effects import undefined_attrs
from tracejit.passes.cse import cse
from tracejit.passes.dce import dce
from tracejit.passes.fold import fold
from tracejit.runtime.graph_call import run_graph


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


# Programs ----------------------------------------------------------------------------------------

HERE = str(Path(__file__).parent)
CALLS = [
    pytest.param(f, k, id=f"{f.__name__}-{k}")
    for f, calls in CASES.items()
    for k in range(len(calls))
]


@pytest.fixture(scope="module")
def printed() -> Printed:
    return Printed()


@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_natively(f, printed: Printed) -> None:
    jitted = tracejit.jit(f)
    for args in [*CASES[f], *CASES[f]]:
        expected = observe(f, args, printed, HERE)
        assert_same_observation(expected, observe(jitted, args, printed, HERE))
    assert jitted.report().fallbacks == [], str(jitted.report())
    assert f in BAILING or jitted.report().bailouts == 0


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(("f", "k"), CALLS)
def test_readers(f, k: int, reader: str, printed: Printed) -> None:
    expected = observe(f, CASES[f][k], printed, HERE)
    with printed.collect() as text:
        try:
            outcome = Readers(f, CASES[f]).run(reader, CASES[f][k])
        except Bailout:
            assert f in BAILING
            return
    assert_same_observation(expected, Observation(outcome, text[0], expected.lines))


def prints_index(x, n):
    for i in range(n):
        print("at", i, x[i])
    return x


class Recorder(io.StringIO):
    """A stream that notes each write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write(self, text: str) -> int:
        self.writes.append(text)
        return super().write(text)


def test_texts_are_written_together_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "_DELAY", 1e9)
    jitted, out = tracejit.jit(prints_index), Recorder()
    with redirect_stdout(out):
        jitted(np.arange(3.0), 3)
    assert out.writes == ["at 0 0.0\nat 1 1.0\nat 2 2.0\n"]


@pytest.mark.parametrize("delay", [-1.0, 1e9])
def test_what_was_written_is_not_repeated(delay: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "_DELAY", delay)
    jitted, x = tracejit.jit(prints_index), np.arange(3.0)
    jitted(x, 2)
    jitted(x, 3)
    outs = [Recorder(), Recorder()]
    for f, out in zip((prints_index, jitted), outs, strict=True):
        before = sys.stdout
        with redirect_stdout(out), pytest.raises(IndexError):
            f(x, 5)
        assert sys.stdout is before
    assert outs[0].getvalue() == outs[1].getvalue() == "at 0 0.0\nat 1 1.0\nat 2 2.0\n"
    assert jitted.report().bailouts == 1


def test_flushed_texts_are_written_at_once() -> None:
    @tracejit.jit
    def f(x, n):
        print("first", x[0], flush=True)
        print("second")
        print("index", x[n])
        return x

    out = Recorder()
    with redirect_stdout(out):
        f(np.arange(3.0), 1)
    assert out.writes == ["first 0.0\n", "second\nindex 1.0\n"]
    out = Recorder()
    with redirect_stdout(out), pytest.raises(IndexError):
        f(np.arange(3.0), 7)
    assert out.writes == ["first 0.0\n", "second", "\n"]
    assert f.report().fallbacks == []


def test_files_are_written_by_reference() -> None:
    log = io.StringIO()

    @tracejit.jit
    def f(x):
        print("x", x, file=log)
        print("y", end="", flush=True, file=log)
        return x

    f(np.ones(2))
    f(np.zeros(2))
    assert log.getvalue() == "x [1. 1.]\nyx [0. 0.]\ny"
    assert f.report().fallbacks == []


class Closed(io.StringIO):
    """A stream that takes a few texts."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def write(self, text: str) -> int:
        self.count -= 1
        if self.count < 0:
            raise BrokenPipeError("nobody reads")
        return super().write(text)


@pytest.mark.parametrize("delay", [-1.0, 1e9])
def test_streams_that_fail_raise_in_place_of_print(
    delay: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(printing, "_DELAY", delay)

    def f(x, n):
        for i in range(n):
            x[i] = -1.0
            print("at", i, "of", n)
        return x

    jitted = tracejit.jit(f)
    jitted(np.ones(4), 4)
    x = np.ones(4)
    with redirect_stdout(Closed(0)), pytest.raises(BrokenPipeError, match="nobody reads"):
        jitted(x, 4)
    assert x.tolist() == [-1.0, 1.0, 1.0, 1.0]
    assert jitted(np.ones(4), 4).tolist() == [-1.0] * 4


def test_no_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    jitted = tracejit.jit(prints_index)
    monkeypatch.setattr(sys, "stdout", None)
    jitted(np.ones(2), 2)


def test_streams_may_run_programs() -> None:
    @tracejit.jit
    def inner(x):
        print("inner", x[0], file=log)
        return x + 1

    log = io.StringIO()

    class Busy(io.StringIO):
        def write(self, text: str) -> int:
            inner(np.full(1, float(len(text))))
            return super().write(text)

    jitted, out = tracejit.jit(prints_index), Busy()
    with redirect_stdout(out):
        jitted(np.ones(2), 2)
    assert out.getvalue() == "at 0 1.0\nat 1 1.0\n"
    assert log.getvalue().startswith("inner ")


def test_threads_print_their_own_texts() -> None:
    @tracejit.jit
    def f(x, n):
        for i in range(n):
            print(x[0], i, file=sys.stderr, end=" ")
            if x[0] * i > 40:
                raise ValueError(x[0])
        return x

    def run(k: int) -> str:
        try:
            f(np.full(1, float(k)), 30)
        except ValueError as e:
            return repr(e)
        return "done"

    f(np.zeros(1), 1)
    with redirect_stderr(io.StringIO()) as out, ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run, range(8)))
    assert results == ["done", "done", *(f"ValueError(np.float64({k}.0))" for k in range(2, 8))]
    words = out.getvalue().split()
    for k in range(8):
        mine = [int(i) for x, i in zip(words[::2], words[1::2], strict=True) if float(x) == k]
        assert mine == list(range(30 if k < 2 else 40 // k + 2))


def test_tracebacks_show_the_line_of_the_raise() -> None:
    def f(x, n):
        if x[0] > n:
            raise ValueError(f"{x[0]} is above {n}")
        return x

    jitted = tracejit.jit(f)
    jitted(np.zeros(2), 1.0)
    with pytest.raises(ValueError, match="2.5 is above 1.0") as caught:
        jitted(np.full(2, 2.5), 1.0)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.name) == (__file__, "f")
    assert last.line == 'raise ValueError(f"{x[0]} is above {n}")'
    assert caught.value.__context__ is None
    assert jitted(np.zeros(2), 1.0).tolist() == [0.0, 0.0]
    assert jitted.report().bailouts == 0


def test_functions_that_always_raise_are_compiled(capsys: pytest.CaptureFixture[str]) -> None:
    @tracejit.jit
    def f(x):
        print("x", x)
        if x[0] > 0:
            raise ValueError(x[0])
        else:
            raise KeyError(f"{x[0]}") from None

    for value, error in ((1.0, ValueError), (-1.0, KeyError), (2.0, ValueError)):
        with pytest.raises(error, match=str(value)):
            f(np.full(1, value))
    assert capsys.readouterr().out == "x [1.]\nx [-1.]\nx [2.]\n"
    assert f.report().fallbacks == []
    assert f.report().bailouts == 0


def test_exits_leave_the_program() -> None:
    @tracejit.jit
    def f(x):
        sys.stdout.write(f"x is {x[0]}; ")
        if x[0] > 0:
            sys.stdout.flush()
            sys.exit("positive")
        return x

    for out, value in ((io.StringIO(), -1.0), (io.StringIO(), -2.0)):
        with redirect_stdout(out):
            f(np.full(1, value))
        assert out.getvalue() == f"x is {value}; "
    with redirect_stdout(io.StringIO()) as out, pytest.raises(SystemExit, match="positive"):
        f(np.ones(1))
    assert out.getvalue() == "x is 1.0; "
    assert len(f.report().compiles) == 1
    assert f.report().fallbacks == []


def test_exceptions_of_constructors_leave_the_program() -> None:
    class Strict(Exception):
        def __init__(self, value: float) -> None:
            raise KeyError(f"no {value}")

    @tracejit.jit
    def f(x):
        if x[0] > 1:
            raise Strict(x[0])
        return x

    f(np.zeros(1))
    with pytest.raises(KeyError, match="no 2.0"):
        f(np.full(1, 2.0))


def test_exceptions_hold_arrays_of_their_own() -> None:
    @tracejit.jit
    def f(x):
        y = x * 2
        if y[0] > 1:
            raise ValueError("too large", y)
        return y

    f(np.zeros(3))
    with pytest.raises(ValueError) as caught:
        f(np.ones(3))
    array = caught.value.args[1]
    assert array.flags.writeable and array.base is None
    assert array.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("f", "code"),
    [
        (lambda x: f"{x}", "TJ021"),
        (lambda x: str(x[0]).upper(), "TJ021"),
        (lambda x: {f"{x[0]}": x}, "TJ021"),
        (lambda x: f"{x[0]}" == "1.0", "TJ021"),
        (lambda x: len(f"{x[0]}"), "TJ021"),
        (lambda x: float(f"{x[0]}"), "TJ021"),
        (lambda x: [c + "" for c in str(x)], "TJ021"),
    ],
)
def test_texts_are_only_for_printing(f, code: str) -> None:
    jitted = tracejit.jit(f)
    x = np.ones(2)
    assert repr(jitted(x)) == repr(f(x))
    assert [fallback.code for fallback in jitted.report().fallbacks] == [code]


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

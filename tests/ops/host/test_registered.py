"""What the text of a graph may name: it may come from anywhere, and calls what is registered."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import tracejit
import tracejit.ops
from tracejit.cli import main
from tracejit.errors import Bailout, GraphError
from tracejit.ir.evaluate import evaluate
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.ops.host.derivatives.registry import RULES
from tracejit.ops.host.registered import host_path, is_registered

CALL = """\
def f(x: f64[2], n: i64):
    v0: int = host_call(x, function={function}, arguments={arguments}, keywords={keywords}, \
result=("operand", 0), types=(("python", "int"),))
    return v0
"""
RAISE = """\
def f(token: token):
    t: token = raise_error(token, error={error})
    return t
"""


def call(function: str, arguments: str = '(("operand", 0),)', keywords: str = "()") -> str:
    return CALL.format(function=repr(function), arguments=arguments, keywords=keywords)


FUNCTIONS = (
    *("os:system", "builtins:eval", "builtins:exec", "subprocess:run", "tracejit:jit", "nothing"),
    *("tracejit.ops.host.functions:find_function", "tracejit.cli:main", "tests.conftest:main"),
    # Of the libraries: files, memory as it lies, what is printed, and what is not public.
    *("numpy:save", "numpy:load", "numpy:fromfile", "numpy.lib.format:open_memmap"),
    *("numpy.lib._format_impl:open_memmap", "numpy.lib._npyio_impl:zipfile_factory"),
    *("numpy.linalg.lapack_lite:dgelsd", "numpy.ctypeslib:load_library", "scipy.io:loadmat"),
    *("numpy.f2py.__main__:main", "numpy.__main__:x", "numpy:__builtins__", "numpy.f2py:compile"),
    *("numpy:os.system", "numpy:add.__class__", "numpy:add.at", "numpy:add.reduce.__call__"),
    *("numpy.lib:add_docstring", "scipy.optimize:show_options", "numpy:random.seed", ":", "a:b:c"),
)


@pytest.mark.parametrize("path", FUNCTIONS)
def test_a_text_names_no_other_function(path: str) -> None:
    with pytest.raises(GraphError, match="(?s)^<graph>:2: .*no function that a graph may call"):
        parse_graph(call(path))


CLASSES = (
    '("class", "subprocess:Popen")',
    '("class", "builtins:type")',
    '("class", "numpy:vectorize")',
    '("call", "os:system", 0, (("constant", "true"),), ())',
    '("call", "builtins:eval", 0, (("constant", "1"),), ())',
    '("call", "tracejit:jit", 0, (), ())',
    '("tuple", ("list", ("call", "subprocess:Popen", 0, (), ())))',
    '("dict", (("constant", 1), ("class", "pathlib:Path")))',
)


@pytest.mark.parametrize("template", CLASSES)
def test_a_text_makes_no_other_objects(template: str) -> None:
    with pytest.raises(GraphError, match="^<graph>:2: .*no class of numbers, exceptions or named"):
        parse_graph(call("numpy:unique", f"({template},)"))
    with pytest.raises(GraphError, match="^<graph>:2: .*no class of numbers, exceptions or named"):
        parse_graph(RAISE.format(error=template))


def test_keywords_are_names() -> None:
    with pytest.raises(GraphError, match="is not a keyword argument"):
        parse_graph(call("numpy:unique", keywords='(("axis=0, x", ("operand", 0)),)'))


@pytest.mark.parametrize(
    ("function", "arguments", "error"),
    [
        ("drawn", ("Generator", "normal"), "the address of a Generator is known to one process"),
        ("drawn", ("np.random", "__init__"), "there is no method"),
        ("draw", ("__reduce__",), "there is no method"),
    ],
)
def test_a_text_has_no_addresses(function: str, arguments: tuple[str, ...], error: str) -> None:
    given = (*(("constant", a) for a in arguments), ("operand", 0))
    path = f"tracejit.ops.host.random:{function}"
    node = f'host_draw(token, n, function="{path}", arguments={given}, keywords=(), '
    node += 'result=("operand", 0), types=(("python", "float"),))'
    text = (
        f"def f(token: token, n: i64):\n    t, v0 = typed({node}, token, float)\n    return t, v0\n"
    )
    with pytest.raises(GraphError, match=f"^<graph>:2: .*{error}"):
        parse_graph(text)


def test_no_module_is_imported_for_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(GraphError, match="no function that a graph may call"):
        parse_graph(call("trap:function"))
    # An exception of a program that runs elsewhere: the graph can be read, and not raise it.
    graph = parse_graph(RAISE.format(error='("call", "trap:Error", 7, (), ())'))
    assert "trap:Error" in print_graph(graph)
    with pytest.raises((Bailout, LookupError), match="no class trap:Error here"):
        evaluate(graph, [None])
    assert "trap" not in sys.modules


class Refused(ValueError):
    """An exception of a program."""


def test_what_a_trace_names_can_be_read_again() -> None:
    def f(x: Any, y: Any) -> Any:
        if x[0, 0] > 1e9:
            raise Refused(f"{x[0, 0]}", np.float32(2), dtype := np.float64, (1, [dtype]))
        s = scipy.linalg.svd(x)[1] + np.add.reduceat(y, [0, 2, 3]) + np.unique(y[:3], axis=0)
        return s + np.linalg.pinv(x)[0], np.random.normal(size=3)

    with np.errstate(all="ignore"):
        graph = tracejit.jit(f).trace(np.eye(3), np.arange(4.0))
    constants: dict[str, Any] = {}
    text = print_graph(graph, constants)
    assert "host_call" in text and "raise_error" in text and "host_draw" in text
    assert print_graph(parse_graph(text, constants)) == text


def test_functions_with_a_derivative_are_registered() -> None:
    missing = [path for path in RULES if not is_registered(path) and _is_there(path)]
    assert not missing


def _is_there(path: str) -> bool:
    from tracejit.ops.host.functions import find_function

    try:
        return find_function(path) is not None
    except (ImportError, AttributeError):
        return False


def test_functions_with_effects_are_not_called() -> None:
    for f in (np.lib.format.open_memmap, np.lib.format.read_magic, np.lib.add_docstring):
        assert host_path(f) is None


def test_the_command_refuses_such_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "evil.graph"
    made = tmp_path / "made"
    file.write_text(call("os:system", f'(("constant", "touch {made}"),)'))
    assert main(["run", str(file), "--random"]) != 0
    assert f"{file}:2: host_call: 'os:system' is no function" in capsys.readouterr().err
    assert not made.exists()

"""`%tracejit f(x)` and `%%tracejit`, after `%load_ext tracejit`."""

from __future__ import annotations

import argparse
import ast
import os
import shlex
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from tracejit.api import jit, value_and_grad
from tracejit.base.late import imported
from tracejit.errors import DeviceError, FallbackError, TraceError
from tracejit.notebook.html import html_of, text_html
from tracejit.runtime.compile.dump import CODE_FILES, graph_files

__all__ = ["load"]

#: The name by which cells reach the decorator.
_DECORATOR = "__tracejit_of_a_cell__"


def load(shell: Any) -> None:
    """Register the magics."""
    shell.register_magic_function(_line, "line", "tracejit")
    shell.register_magic_function(_cell, "cell", "tracejit")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _usage_error(message)


def _usage_error(message: str) -> Exception:
    error: Exception = imported("IPython.core.error").UsageError(message)
    return error


def _shell() -> Any:
    return imported("IPython").get_ipython()


def _display(text: str, html: str) -> None:
    display = imported("IPython.display").display
    display({"text/plain": text, "text/html": html}, raw=True)


def _line(line: str) -> Any:
    """`%tracejit [--stage S] [--grad ARGNUMS] f(x)`: compile the call; its report, or a stage.

    Without `--stage` the call is made and the report is shown; the stages are those of the command
    `tracejit show`, `all` of them to open and close.
    """
    parser = _Parser(prog="%tracejit", add_help=False)
    parser.add_argument("--stage")
    parser.add_argument("--grad", nargs="?", const="0")
    words, rest = _split(line)
    options = parser.parse_args(words)
    try:
        call = ast.parse(rest.strip(), mode="eval").body
    except SyntaxError:
        call = None
    if not isinstance(call, ast.Call):
        raise _usage_error("%tracejit takes a call: %tracejit f(x)")
    names = _shell().user_ns
    function = _evaluated(ast.unparse(call.func), names)
    # Stars and keywords mean what they mean in a call.
    given = ast.unparse(
        ast.Call(ast.Name("__tracejit_given__", ast.Load()), call.args, call.keywords)
    )
    args, kwargs = _evaluated(given, {**names, "__tracejit_given__": lambda *a, **k: (a, k)})
    if options.grad is not None:
        places = [int(k) for k in options.grad.split(",")]
        function = value_and_grad(function, places[0] if len(places) == 1 else tuple(places))
    compiled = function if hasattr(function, "lower") else jit(function)
    if options.stage is None:
        result = compiled(*args, **kwargs)
        report = compiled.report()
        _display(str(report), html_of(report))
        return result
    try:
        lowered = compiled.lower(*args, **kwargs)
        if options.stage == "all":
            return lowered
        if options.stage not in lowered.stages:
            raise _usage_error(f"there is no stage {options.stage}: {', '.join(lowered.stages)}")
        text = lowered.text(options.stage)
    except (TraceError, FallbackError, DeviceError) as error:
        raise _usage_error(str(error)) from None
    _display(text, text_html(text))
    return None


def _split(line: str) -> tuple[list[str], str]:
    """The options that a line begins with, and what follows them."""
    words: list[str] = []
    rest = line.strip()
    while rest.startswith("--"):
        option, _, rest = rest.partition(" ")
        words.append(option)
        rest = rest.strip()
        takes = "=" not in option and (option == "--stage" or rest[:1].isdigit())
        if takes:
            value, _, rest = rest.partition(" ")
            words.append(value)
            rest = rest.strip()
    return words, rest


def _evaluated(text: str, names: dict[str, Any]) -> Any:
    return eval(compile(text, "<%tracejit>", "eval"), names)


def _cell(line: str, cell: str) -> None:
    """`%%tracejit [--stage S]`: the functions of the cell are compiled; their reports follow it.

    With `--stage` also this stage (`all`: each) of every compile that the cell has made.
    """
    parser = _Parser(prog="%%tracejit", add_help=False)
    parser.add_argument("--stage")
    options = parser.parse_args(shlex.split(line))
    shell = _shell()
    made: list[Any] = []

    def decorate(function: Any) -> Any:
        made.append(jit(function))
        return made[-1]

    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("TRACEJIT_DUMP")
        if options.stage is not None:
            os.environ["TRACEJIT_DUMP"] = folder
        decorator = _Decorator()
        shell.user_ns[_DECORATOR] = decorate
        shell.ast_transformers.append(decorator)
        try:
            shell.run_cell(cell)
        finally:
            shell.ast_transformers.remove(decorator)
            del shell.user_ns[_DECORATOR]
            if options.stage is not None:
                os.environ.pop("TRACEJIT_DUMP")
                os.environ |= {} if before is None else {"TRACEJIT_DUMP": before}
        for function in made:
            _display(str(function.report()), html_of(function))
        if options.stage is not None:
            _show_stage(Path(folder), options.stage)


def _show_stage(folder: Path, stage: str) -> None:
    """Show a stage of the compiles that were dumped."""
    for dump in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime):
        files = {path.stem.partition("-")[2]: path for path in graph_files(dump)}
        files |= {name: dump / file for name, file in CODE_FILES.items()}
        if stage != "all" and stage not in files:
            raise _usage_error(f"there is no stage {stage}: {', '.join(files)}")
        for name in files if stage == "all" else [stage]:
            text = files[name].read_text(encoding="utf-8")
            _display(text, f"<div><b>{name}</b></div>{text_html(text)}")


class _Decorator(ast.NodeTransformer):
    """Functions at the top of a cell are decorated, unless they are already."""

    def visit_Module(self, node: ast.Module) -> ast.Module:
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef) and not statement.decorator_list:
                name = ast.Name(_DECORATOR, ast.Load())
                statement.decorator_list.append(ast.copy_location(name, statement))
        return node

"""`tracejit bisect`: which pass first makes the answer differ from the plain function's."""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tracejit import config
from tracejit.cli.calls import Call, add_call, read_call
from tracejit.cli.comparing import compare_results, is_exact
from tracejit.cli.errors import Failure
from tracejit.cli.output import add_json, print_json
from tracejit.errors import Bailout, GraphError
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph
from tracejit.ir.text.syntax import print_graph
from tracejit.monitor.bars import bar
from tracejit.passes.manager import PASSES
from tracejit.runtime.compile.graph_call import run_graph
from tracejit.runtime.dataflow.executor import run_dataflow
from tracejit.runtime.dataflow.partial_call import inputs_of, result_of

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.epilog = "Exit 1 where an answer differs; a script that reproduces it is written then.\n"
    add_call(parser)
    parser.add_argument("--out", metavar="FILE.py", help="the script (default: bisect_NAME.py)")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print for each stage whether it gives what the stage before gives."""
    call = read_call(options)
    found: list[dict[str, Any]] = []
    bad, script = None, None
    for stage in bar(_stages(call), name="stages"):
        found.append({"stage": stage.name, "agrees": stage.agrees, "how": stage.how})
        if not options.json:
            print(f"{stage.name}: {stage.how}", flush=True)
        if not stage.agrees:
            bad = stage
            break
    if bad is not None:
        name = getattr(call.plain, "__name__", "function")
        script = Path(options.out or f"bisect_{name}.py")
        bad.write(script, call, options.argv)
    if options.json:
        first = None if bad is None else bad.name
        print_json({"stages": found, "first": first, "script": script and str(script)})
    elif bad is not None:
        print(f"{bad.name} is the first to differ; {script} shows it")
    return 0 if bad is None else 1


class _Stage:
    """A stage of the compile: whether it gives what is expected, and how a script shows it."""

    def __init__(
        self,
        name: str,
        compared: tuple[bool, str],
        before: Graph | None = None,
        inputs: Sequence[Any] = (),
    ) -> None:
        self.name, self.before, self.inputs = name, before, inputs
        self.agrees, text = compared
        self.how = text or "equal"

    def write(self, script: Path, call: Call, argv: Sequence[str]) -> None:
        """Write a script that exits 1 as long as the stage is wrong. Raises Failure."""
        try:
            if self.before is None:
                script.write_text(_CALL.format(call=call.target, argv=[*argv]), encoding="utf-8")
                return
            constants: dict[str, Any] = {}
            text = print_graph(self.before, constants)
            values = {f"arr_{k}": x for k, x in enumerate(self.inputs)}
            np.savez(script.with_suffix(".npz"), **constants, **values)
            after = _AFTER.get(self.name, _PASS.format(name=self.name))
            script.write_text(
                _GRAPH.format(
                    stage=self.name,
                    name=self.before.name,
                    text=text,
                    after=after,
                    count=len(values),
                ),
                encoding="utf-8",
            )
        except OSError as error:
            raise Failure(f"cannot write {script}: {error}") from None


def _stages(call: Call) -> Iterator[_Stage]:
    """The stages one by one, each compared with what the plain function or the trace gives.

    Graphs are run by the definitions of their ops; only the last two stages run native code.
    """
    compiled = call.compiled
    with config.eager():
        want = call.run(call.plain)
    args, kwargs = call.copied()
    with call.telling():
        lowered = compiled.lower(*args, **kwargs)
    leaves, inputs = inputs_of(compiled, lowered.traced, args, kwargs)
    trace = lowered.graphs["trace"]
    exact = is_exact(trace)

    def outputs(run: Callable[[list[Any]], Any]) -> Any:
        """What a stage gives, or the exception that it ends with."""
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                return list(run(copy.deepcopy(inputs)))
            except (Bailout, GraphError, NotImplementedError) as error:
                return error

    def compared(expected: Any, given: Any) -> tuple[bool, str]:
        if isinstance(given, Exception):
            same = type(given) is type(expected)
            return same, f"{'' if same else 'DIFFERENT: '}{type(given).__name__}: {given}"
        return compare_results(expected, given, exact)

    first = outputs(partial(_evaluated, trace))
    if isinstance(first, Exception):
        yield _Stage("trace", (False, f"DIFFERENT: {type(first).__name__}: {first}"))
        return
    yield _Stage("trace", compared(want, result_of(lowered.traced, leaves, first)))
    before = trace
    for step in PASSES:
        graph = lowered.graphs.get(step.__name__, before)
        if graph is not before:
            given = outputs(partial(_evaluated, graph))
            yield _Stage(step.__name__, compared(first, given), before, inputs)
            before = graph
    given = outputs(lambda values: run_dataflow(lowered.dataflow, values).outputs)
    yield _Stage("dataflow", compared(first, given), before, inputs)
    given = outputs(partial(run_graph, before))
    yield _Stage("native code", compared(first, given), before, inputs)
    yield _Stage("call", compare_results(want, call.run(compiled), exact))


def _evaluated(graph: Graph, inputs: Sequence[Any]) -> tuple[Any, ...]:
    return evaluate(graph, inputs)[: len(graph.outputs)]


#: A script for a stage that takes a graph.
_GRAPH = '''\
"""{stage} changes what {name} gives; exits 1 as long as it does."""

from pathlib import Path

import numpy as np

import tracejit.ops
from tracejit.cli.comparing import compare_results, is_exact
from tracejit.ir.evaluate import evaluate
from tracejit.ir.text.syntax import parse_graph

GRAPH = """
{text}"""

table = dict(np.load(Path(__file__).with_suffix(".npz")))
graph = parse_graph(GRAPH, table)
values = [table[f"arr_{{k}}"] for k in range({count})]
inputs = [x if x.ndim or "[" in str(v.type) else x[()] for x, v in zip(values, graph.inputs)]
inputs = [x.item() if str(v.type) in ("int", "float", "complex", "bool") else x
          for x, v in zip(inputs, graph.inputs)]
want = list(evaluate(graph, inputs)[: len(graph.outputs)])
{after}
same, text = compare_results(want, got, is_exact(graph))
print(text)
raise SystemExit(0 if same else 1)
'''
_PASS = """\
from tracejit.passes.manager import PASSES

(step,) = [p for p in PASSES if p.__name__ == "{name}"]
after = step(graph)
got = list(evaluate(after, inputs)[: len(graph.outputs)])"""
_AFTER = {
    "dataflow": """\
from tracejit.passes.control.lower import lower_control_flow
from tracejit.runtime.dataflow.executor import run_dataflow

got = list(run_dataflow(lower_control_flow(graph), inputs).outputs)""",
    "native code": """\
from tracejit.runtime.compile.graph_call import run_graph

got = list(run_graph(graph, inputs))""",
}
#: A script for what no graph shows.
_CALL = '''\
"""A call of {call} gives something else when it is compiled; exits 1 as long as it does."""

from tracejit.cli import main

raise SystemExit(main({argv}))
'''

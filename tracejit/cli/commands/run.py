"""`tracejit run`: run a graph's text."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from tracejit.cli.arguments import natural
from tracejit.cli.comparing import compare, is_exact
from tracejit.cli.errors import Failure
from tracejit.cli.graphs import add_file, load_inputs, random_inputs, read_graph
from tracejit.cli.output import add_json, print_json
from tracejit.errors import Bailout, GraphError
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph
from tracejit.passes.manager import PASSES
from tracejit.runtime.compile import graph_call

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_file(parser)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--random", action="store_true", help="on random inputs")
    source.add_argument("--inputs", metavar="F.npz", help="on arrays by the inputs' names")
    parser.add_argument("--sizes", default="", help='sizes for --random, such as "n=8, m=3"')
    parser.add_argument("--seed", type=natural, default=0, help="for --random")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--backend", choices=("llvm", "numpy"), default="llvm")
    how.add_argument(
        "--compare", action="store_true", help="run both backends; exit 1 where they disagree"
    )
    how.add_argument(
        "--each", action="store_true", help="run it after each pass; exit 1 at the first difference"
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run a graph on arrays of a file or on random ones; print or compare the results.

    With `each`, compare what it gives before the passes and after each of them.
    """
    graph = read_graph(options.file)
    if options.inputs is None:
        values = random_inputs(graph, options.sizes, options.seed)
    else:
        values = load_inputs(graph, options.inputs)
    if options.each or options.compare:
        checks = _each(graph, values) if options.each else _compared(graph, values)
        return _print(checks, options.json)
    results = dict(zip(_names(graph), _run_on(graph, values, options.backend), strict=True))
    if options.json:
        print_json(results)
        return 0
    for name, result in results.items():
        print(f"{name} = {np.array2string(np.asarray(result), threshold=20)}")
    return 0


def _print(checks: Iterator[tuple[str, bool, str]], as_json: bool) -> int:
    """Print what was compared, whether it agrees, and how; the exit code."""
    rows = []
    for name, agrees, how in checks:
        rows.append({"name": name, "agrees": agrees, "how": how})
        if not as_json:
            print(f"{name}: {how}")
    if as_json:
        print_json(rows)
    return 0 if all(row["agrees"] for row in rows) else 1


def _compared(graph: Graph, values: list[Any]) -> Iterator[tuple[str, bool, str]]:
    """For each result whether native code gives what the evaluator does."""
    results = [_run_on(graph, values, backend) for backend in ("numpy", "llvm")]
    exact = is_exact(graph)
    for name, expected, found in zip(_names(graph), *results, strict=True):
        yield name, *compare(expected, found, exact)


def _each(graph: Graph, values: list[Any]) -> Iterator[tuple[str, bool, str]]:
    """Where results begin to differ: after a pass, or in native code. Ends there."""
    expected, exact = _run_on(graph, values, "numpy"), is_exact(graph)

    def check(name: str, after: Graph, backend: str) -> tuple[str, bool, str]:
        found = _run_on(after, values, backend)
        for result, a, b in zip(_names(graph), expected, found, strict=True):
            same, text = compare(a, b, exact)
            if not same:
                return name, False, f"{result}: {text}"
        return name, True, "the same"

    after = graph
    for step in PASSES:
        after, before = step(after), after
        if after is not before:
            checked = check(step.__name__, after, "numpy")
            yield checked
            if not checked[1]:
                return
    yield check("native code", graph, "llvm")


def _names(graph: Graph) -> list[str]:
    return [v.name or f"result {k}" for k, v in enumerate(graph.outputs)]


def _run_on(graph: Graph, values: list[Any], backend: str) -> tuple[Any, ...]:
    try:
        if backend == "numpy":
            return evaluate(graph, values)[: len(graph.outputs)]
        return graph_call.run_graph(graph, values)
    except (GraphError, NotImplementedError) as error:
        raise Failure(f"{graph.name}: {error}") from None
    except Bailout as error:
        raise Failure(f"{graph.name} bails out: {error}") from None

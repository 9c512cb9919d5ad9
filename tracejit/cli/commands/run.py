"""`tracejit run`: run a graph's text."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from tracejit.cli.comparing import compare, is_exact
from tracejit.cli.errors import Failure
from tracejit.cli.graphs import add_file, load_inputs, random_inputs, read_graph
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
    parser.add_argument("--seed", type=int, default=0, help="for --random")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--backend", choices=("llvm", "numpy"), default="llvm")
    how.add_argument(
        "--compare", action="store_true", help="run both backends; exit 1 where they disagree"
    )
    how.add_argument(
        "--each", action="store_true", help="run it after each pass; exit 1 at the first difference"
    )


def run(options: argparse.Namespace) -> int:
    """Run a graph on arrays of a file or on random ones; print or compare the results.

    With `each`, compare what it gives before the passes and after each of them.
    """
    graph = read_graph(options.file)
    if options.inputs is None:
        values = random_inputs(graph, options.sizes, options.seed)
    else:
        values = load_inputs(graph, options.inputs)
    if options.each:
        return _run_each(graph, values)
    backends = ("numpy", "llvm") if options.compare else (options.backend,)
    results = [_run_on(graph, values, name) for name in backends]
    if not options.compare:
        for name, result in zip(_names(graph), results[0], strict=True):
            print(f"{name} = {np.array2string(np.asarray(result), threshold=20)}")
        return 0
    exact = is_exact(graph)
    agree = True
    for name, expected, found in zip(_names(graph), *results, strict=True):
        same, text = compare(expected, found, exact)
        agree = agree and same
        print(f"{name}: {text}")
    return 0 if agree else 1


def _run_each(graph: Graph, values: list[Any]) -> int:
    """Print where results begin to differ: after a pass, or in native code."""
    expected, exact = _run_on(graph, values, "numpy"), is_exact(graph)

    def differs(name: str, after: Graph, backend: str) -> bool:
        found = _run_on(after, values, backend)
        for result, a, b in zip(_names(graph), expected, found, strict=True):
            same, text = compare(a, b, exact)
            if not same:
                print(f"{name}: {result}: {text}")
                return True
        print(f"{name}: the same")
        return False

    after = graph
    for step in PASSES:
        after, before = step(after), after
        if after is not before and differs(step.__name__, after, "numpy"):
            return 1
    return int(differs("native code", graph, "llvm"))


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

"""`tracejit opt`: a graph's text after some passes."""

from __future__ import annotations

import argparse

from tracejit.cli.errors import Failure, unknown
from tracejit.cli.graphs import add_file, print_differences, read_graph
from tracejit.errors import GraphError
from tracejit.ir.graph import Graph
from tracejit.ir.text.syntax import print_graph
from tracejit.passes.manager import PASSES, run_passes

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_file(parser)
    parser.add_argument("-p", "--passes", help="names with commas between (default: all, in order)")
    parser.add_argument("--each", action="store_true", help="show what each pass changed")


def run(options: argparse.Namespace) -> int:
    """Print the graph after the passes; with `each`, the difference that every one makes."""
    named = {step.__name__: step for step in PASSES}
    passes = options.passes
    names = list(named) if passes is None else [p.strip() for p in passes.split(",") if p.strip()]
    for name in names:
        if name not in named:
            raise unknown("pass", name, named)
    graph = read_graph(options.file)
    texts = [("before", print_graph(graph))]

    def observe(name: str, after: Graph, seconds: float) -> None:
        texts.append((name, print_graph(after)))

    try:
        run_passes(graph, verify=True, observe=observe, passes=[named[name] for name in names])
    except GraphError as error:
        raise Failure(str(error)) from None
    if options.each:
        print_differences(texts)
    else:
        print(texts[-1][1], end="")
    return 0

"""`tracejit lower`: a graph's text as kernels or LLVM text."""

from __future__ import annotations

import argparse

from tracejit.cli.errors import Failure
from tracejit.cli.graphs import add_file, read_graph
from tracejit.errors import GraphError
from tracejit.runtime.compile.graph_call import lower_graph

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_file(parser)
    parser.add_argument("--backend", choices=("llvm", "reference"), default="llvm")


def run(options: argparse.Namespace) -> int:
    """Print the LLVM text or the kernels of a graph."""
    graph = read_graph(options.file)
    try:
        print(lower_graph(graph, options.backend).rstrip("\n"))
    except (GraphError, NotImplementedError) as error:
        raise Failure(f"{options.file} cannot be lowered: {error}") from None
    return 0

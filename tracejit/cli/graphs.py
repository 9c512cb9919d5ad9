"""Graphs of files: read with their constants, given inputs, compared."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tracejit.ops  # noqa: F401 - fills the registry
from tracejit.cli.arguments import example, read_sizes
from tracejit.cli.errors import Failure, Usage, unknown
from tracejit.ir.graph import Graph
from tracejit.ir.text.syntax import parse_graph
from tracejit.ir.types import NpScalar, PyScalar, type_substitute
from tracejit.ir.verify import verify

__all__ = ["add_file", "load_inputs", "print_differences", "random_inputs", "read_graph"]

_DEFAULT_SIZE = 8


def add_file(parser: argparse.ArgumentParser) -> None:
    """The argument that names a graph's text."""
    parser.add_argument("file", metavar="FILE.graph", help="- is stdin")


def print_differences(texts: Sequence[tuple[str, str]]) -> None:
    """Print what changed from each (name, text) to the next."""
    for (old, before), (new, after) in zip(texts, texts[1:], strict=False):
        if before == after:
            print(f"--- {old}\n+++ {new}\n    no change")
            continue
        lines = difflib.unified_diff(
            before.splitlines(), after.splitlines(), old, new, n=2, lineterm=""
        )
        print("\n".join(lines))


def read_graph(file: str) -> Graph:
    """The graph of a file; its constants lie beside it, in FILE.npz or constants.npz."""
    constants: dict[str, Any] = {}
    try:
        if file == "-":
            text = sys.stdin.read()
        else:
            path = Path(file)
            text = path.read_text(encoding="utf-8")
            for table in (path.parent / "constants.npz", path.with_suffix(".npz")):
                if table.is_file():
                    constants.update(_arrays(str(table)))
        graph = parse_graph(text, constants, file)
        verify(graph)
    except FileNotFoundError:
        raise Usage(f"there is no file {file}") from None
    except OSError as error:
        raise Failure(f"cannot read {file}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise Failure(f"{file} is no text") from None
    except ValueError as error:
        # A GraphError is a ValueError; its message names the line.
        raise Failure(str(error)) from None
    return graph


def random_inputs(graph: Graph, text: str, seed: int) -> list[Any]:
    """Random values of a graph's inputs, for sizes such as "n=8, m=3". Raises Usage, Failure."""
    sizes: dict[str, Any] = dict.fromkeys(graph.sizes, _DEFAULT_SIZE)
    given = read_sizes(text)
    for name in given:
        if name not in sizes:
            raise unknown("size", name, sizes)
    sizes |= given
    rng = np.random.default_rng(seed)
    try:
        return [example(type_substitute(v.type, sizes), rng) for v in graph.inputs]
    except ValueError as error:
        raise Failure(f"no random inputs: {error}") from None


def _arrays(file: str) -> dict[str, Any]:
    """What is in an .npz file. Raises Usage, Failure."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except FileNotFoundError:
        raise Usage(f"there is no file {file}") from None
    except OSError as error:
        raise Failure(f"cannot read {file}: {error.strerror or error}") from None
    except Exception:  # found out by zipfile, struct or NumPy
        raise Failure(f"{file} is no file of arrays that NumPy has saved") from None


def load_inputs(graph: Graph, file: str) -> list[Any]:
    """A graph's inputs from an .npz file, by their names. Raises Failure."""
    table = _arrays(file)
    values = []
    for k, v in enumerate(graph.inputs):
        name = v.name if v.name in table else f"arr_{k}"
        if name not in table:
            raise Failure(f"{file} holds neither {v.name} nor {name}")
        value = table[name]
        if isinstance(v.type, (NpScalar, PyScalar)) and value.shape == ():
            value = value[()] if isinstance(v.type, NpScalar) else value.item()
        values.append(value)
    return values

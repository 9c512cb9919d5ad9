"""`tracejit ops`: the ops, and what each supports."""

from __future__ import annotations

import argparse
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import tracejit.ops  # noqa: F401 - fills the registry
from tracejit.base.late import imported
from tracejit.cli.errors import unknown
from tracejit.cli.functions import fate, host_functions
from tracejit.cli.output import add_json, print_json
from tracejit.errors import Bailout, GraphError
from tracejit.ir.evaluate import type_of
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import dtype_name, dtype_of
from tracejit.ops.array.elementwise import ImportedUfunc
from tracejit.passes.analysis.fusable import fusable
from tracejit.runtime.compile.graph_call import host_nodes

__all__ = ["add", "op_rows", "run"]

_GROUPS = ("b1", "i8 i16 i32 i64", "u8 u16 u32 u64", "f16", "f32 f64", "c64 c128")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="ops or functions (np.partition), with a meaning"
    )
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print a table of the ops and the functions without one, or what some of them mean."""
    names = [name for name in options.names if name in OPS]
    functions = {name: fate(_function(name)) for name in options.names if name not in OPS}
    rows = op_rows(names) if names or not functions else []
    hosts = {} if options.names else host_functions()
    if options.json:
        keys = [title.replace(" ", "_") for title in rows[0]] if rows else []
        found = {name: kind for name, (kind, _) in functions.items()}
        found |= {f"{module}.{name}": "host" for module, some in hosts.items() for name in some}
        ops = [dict(zip(keys, row, strict=True)) for row in rows[1:]]
        print_json({"ops": ops, "functions": found})
        return 0
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())
    for name in names:
        print(f"\n{name}: {inspect.cleandoc(type(OPS[name]).__doc__ or '')}")
    for name, (_, meaning) in functions.items():
        print(f"{name} {meaning}")
    if hosts:
        print("\nCalled while the program runs (host), of functions that have no op:")
    for module, some in hosts.items():
        print(f"\n{module}:\n{textwrap.indent(textwrap.fill(' '.join(some), 94), '  ')}")
    return 0


def _function(name: str) -> Any:
    """The function of NumPy or SciPy of a name such as np.partition or partition. Raises Usage."""
    path = name.split(".")
    if path[0] in ("np", "numpy", "scipy"):
        found: Any = imported("numpy" if path[0] == "np" else path[0])
        path = path[1:]
    else:
        found = np
    for part in path:
        found = getattr(found, part, None)
    if not callable(found):
        known = [*OPS, *(n for n in dir(np) if not n.startswith("_"))]
        raise unknown("op or function", name, known)
    return found


def op_rows(names: Sequence[str]) -> list[tuple[str, ...]]:
    """The table of these ops, or of all, by kind; its titles come first. Raises Usage."""
    for name in names:
        if name not in OPS:
            raise unknown("op", name, OPS)
    rows: list[tuple[str, ...]] = [("op", "kind", "NumPy", "parity", "compiled for", "host for")]
    with np.errstate(all="ignore"):
        rows += [_row(OPS[name]) for name in names or sorted(OPS, key=_order)]
    return rows


def _order(name: str) -> tuple[str, str]:
    return OPS[name].kind, name


def _row(op: Any) -> tuple[str, str, str, str, str, str]:
    given = inspect.getattr_static(op, "numpy")
    meaning = given.path(op) if isinstance(given, ImportedUfunc) else getattr(given, "__name__", "")
    if op.kind in ("scalar", "control", "fusion", "dataflow", "stack"):
        return (op.name, op.kind, meaning, op.parity, "all", "")
    compiled: set[str] = set()
    host: set[str] = set()
    for dtype, node in _sample_nodes(op):
        (compiled if _is_compiled(node) else host).add(dtype)
    where = (_dtypes(compiled), _dtypes(host - compiled))
    if compiled & host:
        where = (where[0], f"{where[1]} {_dtypes(compiled & host)} (some)".strip())
    parity = op.parity
    if getattr(op, "complex_parity", ""):
        parity = f"{parity}, complex {op.complex_parity}"
    return (op.name, op.kind, meaning, parity, *where)


def _sample_nodes(op: Any) -> Iterator[tuple[str, Any]]:
    """(dtype, node) for every sample; the dtype of an op without operands is its result's."""
    for inputs, attrs in op.samples():
        try:
            types = tuple(type_of(x) for x in inputs)
            results = op.infer(types, attrs, (), ())
        except (GraphError, Bailout):
            continue
        operands, outputs = (tuple(Value(t) for t in ts) for ts in (types, results))
        # The condition of a select says nothing about it.
        telling = types[1] if op.name == "select" else (*types, *results)[0]
        yield dtype_name(dtype_of(telling)), Node(op, operands, attrs, outputs)


def _is_compiled(node: Any) -> bool:
    """Whether a program of this node alone calls NumPy for nothing."""
    graph = Graph(node.op.name, (), node.inputs, (node,), node.outputs)
    return fusable(node) or not host_nodes(graph)


def _dtypes(names: set[str]) -> str:
    """Names in order, with groups that are whole written short (i8..i64)."""
    parts = []
    for group in _GROUPS:
        members = group.split()
        found = [m for m in members if m in names]
        if len(found) == len(members) > 2:
            parts.append(f"{members[0]}..{members[-1]}")
        else:
            parts += found
    return " ".join(parts)

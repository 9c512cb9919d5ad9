"""`tracejit ops`, `doctor` and `explain`: what there is, whether it works, what a message means."""

from __future__ import annotations

import importlib
import inspect
import os
import platform
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.api import jit
from tracejit.cli.errors import Failure, Usage
from tracejit.errors import CODES, Bailout, GraphError

__all__ = ["doctor", "explain", "op_rows", "ops"]

_GROUPS = ("b1", "i8 i16 i32 i64", "u8 u16 u32 u64", "f16", "f32 f64", "c64 c128")


def explain(codes: Sequence[str]) -> int:
    """Print what error codes mean, at length; all of them in a line each if none is given."""
    unknown = [c for c in codes if c.upper() not in CODES]
    if unknown:
        raise Usage(f"there is no code {unknown[0]}; there are {', '.join(CODES)}")
    if not codes:
        for code, (what, _) in CODES.items():
            print(f"{code}  {what}")
        print("\n`tracejit explain TJ001` says what to do, with an example.")
        return 0
    print("\n\n".join(_explained(c.upper()) for c in codes))
    return 0


def _explained(code: str) -> str:
    from tracejit.cli.explanations import EXPLANATIONS

    what, advice = CODES[code]
    meaning, causes, instead = EXPLANATIONS[code]
    parts = [f"{code}: {what}.", _wrapped(meaning), _wrapped(f"What to do: {advice}.")]
    if causes:
        parts += ["This runs eagerly, with the code:", textwrap.indent(causes.strip("\n"), "    ")]
    if instead:
        parts += ["This compiles:", textwrap.indent(instead.strip("\n"), "    ")]
    return "\n\n".join(parts)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 88)


def ops(names: Sequence[str]) -> int:
    """Print a table of the ops, or what some of them mean."""
    rows = op_rows(names)
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip())
    from tracejit.ir.op import OPS

    for name in names:
        print(f"\n{name}: {inspect.cleandoc(type(OPS[name]).__doc__ or '')}")
    return 0


def op_rows(names: Sequence[str]) -> list[tuple[str, ...]]:
    """The table of these ops, or of all, by kind; its titles come first. Raises Usage."""
    import tracejit.ops  # noqa: F401 - fills the registry
    from tracejit.ir.op import OPS

    unknown = [name for name in names if name not in OPS]
    if unknown:
        raise Usage(f"there is no op {unknown[0]}")
    rows: list[tuple[str, ...]] = [("op", "kind", "NumPy", "parity", "compiled for", "host for")]
    with np.errstate(all="ignore"):
        rows += [_row(OPS[name]) for name in names or sorted(OPS, key=_order)]
    return rows


def _order(name: str) -> tuple[str, str]:
    from tracejit.ir.op import OPS

    return OPS[name].kind, name


def _row(op: Any) -> tuple[str, str, str, str, str, str]:
    from tracejit.ops.array.elementwise import ImportedUfunc

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
    from tracejit.ir.evaluate import type_of
    from tracejit.ir.graph import Node, Value
    from tracejit.ir.types import dtype_name, dtype_of

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
    from tracejit.ir.graph import Graph
    from tracejit.passes.analysis.fusable import fusable
    from tracejit.runtime.compile.graph_call import host_nodes

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


def doctor() -> int:
    """Print versions, machine, libraries and settings; exit 1 where a small compile fails."""
    sections: list[tuple[str, Callable[[], str]]] = [
        ("tracejit", lambda: importlib.import_module("tracejit").__version__),
        ("Python", lambda: f"{platform.python_version()} ({sys.executable})"),
        ("NumPy", lambda: np.__version__),
        ("SciPy", lambda: importlib.import_module("scipy").__version__),
        ("llvmlite", _llvm),
        ("machine", _machine),
        ("vectors", _vectors),
        ("BLAS, LAPACK", _blas),
        ("native entry", _entry),
        ("cache on disk", lambda: "none: each process compiles anew"),
        *[(f"TRACEJIT_{name}", lambda name=name: _setting(name)) for name in _SETTINGS],
        ("compiling", _compile),
    ]
    failed = False
    for name, find in sections:
        try:
            text = find()
        except Exception as error:
            # Whatever is broken is what a doctor is there to report.
            text, failed = f"FAILED: {type(error).__name__}: {error}", True
        print(f"{name:<18}{text}")
    return 1 if failed else 0


_SETTINGS = ("EAGER", "FALLBACK", "VERIFY", "DUMP")


def _setting(name: str) -> str:
    return os.environ.get(f"TRACEJIT_{name}") or "not set"


def _llvm() -> str:
    version = importlib.import_module("llvmlite.binding").llvm_version_info
    return f"{importlib.import_module('llvmlite').__version__} (LLVM {'.'.join(map(str, version))})"


def _machine() -> str:
    from tracejit.codegen.llvm.engine import host_target

    target = host_target()
    return f"{target.triple}, {target.cpu}, {os.cpu_count()} CPUs"


def _vectors() -> str:
    from tracejit.codegen.llvm.engine import host_target

    target = host_target()
    shown = ("avx512f", "avx512dq", "avx2", "avx", "sse4.2", "neon", "fma", "f16c")
    found = [name for name in shown if name in target.features]
    return f"{target.vector_bits} bits ({' '.join(found) or 'no known extension'})"


def _blas() -> str:
    from tracejit.codegen.support.blas import ROUTINES, routine

    found = [r for r in map(routine, ROUTINES) if r is not None]
    if not found:
        return "no routines found: products and solves go through NumPy"
    forms = sorted({f"{r.convention}, {r.int_bits}-bit integers" for r in found})
    return f"{len(found)} of {len(ROUTINES)} routines ({'; '.join(forms)})"


def _entry() -> str:
    from tracejit.runtime import native

    return "on" if native.available() else f"off: {native.why_not()}"


def _compile() -> str:
    def add_one(x: Any) -> Any:
        return x + 1.0

    compiled = jit(add_one)
    result = compiled(np.arange(4.0))
    report = compiled.report()
    if not np.array_equal(result, np.arange(1.0, 5.0)):
        raise Failure(f"x + 1.0 gave {result}")
    if report.fallbacks or not report.compiles:
        raise Failure(str(report))
    return "works"

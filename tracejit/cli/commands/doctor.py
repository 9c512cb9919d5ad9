"""`tracejit doctor`: versions, machine, libraries, and whether compiling works."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.api import jit
from tracejit.cli.errors import Failure
from tracejit.cli.output import add_json, print_json
from tracejit.codegen.llvm.engine import host_target
from tracejit.codegen.support.blas import ROUTINES, routine
from tracejit.runtime import native

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_json(parser)


def run(options: argparse.Namespace) -> int:
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
    found: dict[str, str] = {}
    for name, find in sections:
        try:
            text = find()
        except Exception as error:
            # Whatever is broken is what a doctor is there to report.
            text, failed = f"FAILED: {type(error).__name__}: {error}", True
        found[name] = text
    if options.json:
        print_json(found)
    for name, text in () if options.json else found.items():
        print(f"{name:<18}{text}")
    return 1 if failed else 0


_SETTINGS = ("EAGER", "FALLBACK", "VERIFY", "DUMP")


def _setting(name: str) -> str:
    return os.environ.get(f"TRACEJIT_{name}") or "not set"


def _llvm() -> str:
    version = importlib.import_module("llvmlite.binding").llvm_version_info
    return f"{importlib.import_module('llvmlite').__version__} (LLVM {'.'.join(map(str, version))})"


def _machine() -> str:
    target = host_target()
    return f"{target.triple}, {target.cpu}, {os.cpu_count()} CPUs"


def _vectors() -> str:
    target = host_target()
    shown = ("avx512f", "avx512dq", "avx2", "avx", "sse4.2", "neon", "fma", "f16c")
    found = [name for name in shown if name in target.features]
    return f"{target.vector_bits} bits ({' '.join(found) or 'no known extension'})"


def _blas() -> str:
    found = [r for r in map(routine, ROUTINES) if r is not None]
    if not found:
        return "no routines found: products and solves go through NumPy"
    forms = sorted({f"{r.convention}, {r.int_bits}-bit integers" for r in found})
    return f"{len(found)} of {len(ROUTINES)} routines ({'; '.join(forms)})"


def _entry() -> str:
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

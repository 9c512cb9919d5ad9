"""`tracejit doctor`: versions, machine, libraries, and whether compiling works."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import config
from tracejit.api import jit
from tracejit.base.late import imported
from tracejit.base.spelling import no_such
from tracejit.cli.errors import Failure
from tracejit.cli.output import add_json, print_json
from tracejit.codegen.llvm.engine import host_target
from tracejit.codegen.support.threads import no_pool
from tracejit.link.blas import ROUTINES, routine
from tracejit.runtime import native
from tracejit.runtime.cache.inspect import state
from tracejit.runtime.cache.settings import bound

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print versions, machine, libraries and settings; exit 1 where a small compile fails."""
    sections: list[tuple[str, Callable[[], str]]] = [
        ("tracejit", lambda: imported("tracejit").__version__),
        ("Python", lambda: f"{platform.python_version()} ({sys.executable})"),
        ("NumPy", lambda: np.__version__),
        ("SciPy", lambda: imported("scipy").__version__),
        ("llvmlite", _llvm),
        ("machine", _machine),
        ("vectors", _vectors),
        ("BLAS, LAPACK", _blas),
        ("native entry", _entry),
        ("threads", _threads),
        ("cache on disk", state),
        *[(name, lambda name=name: _setting(name)) for name in _variables()],
        ("compiling", _compile),
    ]
    failed = 0
    found: dict[str, str] = {}
    for name, find in sections:
        try:
            text = find()
        except Failure as error:
            text, failed = f"FAILED: {error}", failed + 1
        except Exception as error:
            # Whatever is broken is what a doctor is there to report.
            text, failed = f"FAILED: {type(error).__name__}: {error}", failed + 1
        found[name] = text
    if options.json:
        print_json(found)
    for name, text in () if options.json else found.items():
        print(f"{name:<22} {text}")
    if failed:
        raise Failure(f"{failed} of these failed")
    return 0


#: The environment variables that are read, and what checks the values of some.
_VARIABLES: dict[str, Callable[[], Any] | None] = {
    "TRACEJIT_BACKGROUND": None,
    "TRACEJIT_CACHE": None,
    "TRACEJIT_CACHE_BASE": None,
    "TRACEJIT_CACHE_DIR": None,
    "TRACEJIT_CACHE_SIZE": bound,
    "TRACEJIT_CUDA_GRAPHS": None,
    "TRACEJIT_DEVICE": lambda: config.device(None),
    "TRACEJIT_DIST": None,
    "TRACEJIT_DUMP": None,
    "TRACEJIT_EAGER": None,
    "TRACEJIT_FALLBACK": config.on_fallback,
    "TRACEJIT_NUM_THREADS": config.num_threads,
    "TRACEJIT_PERF": config.perf,
    "TRACEJIT_TARGET": host_target,
    "TRACEJIT_TRACEBACK": config.has_full_tracebacks,
    "TRACEJIT_VERIFY": None,
}


def _variables() -> list[str]:
    """The variables that there are, and those that are set and read by nothing."""
    return [
        *_VARIABLES,
        *sorted(x for x in os.environ if x[:8] == "TRACEJIT" and x not in _VARIABLES),
    ]


def _setting(name: str) -> str:
    if name not in _VARIABLES:
        raise Failure(no_such("variable", name, _VARIABLES))
    check = _VARIABLES[name]
    if check is not None:
        check()
    return os.environ.get(name) or "not set"


def _llvm() -> str:
    version = imported("llvmlite.binding").llvm_version_info
    return f"{imported('llvmlite').__version__} (LLVM {'.'.join(map(str, version))})"


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


def _threads() -> str:
    why = no_pool()
    return f"off: {why}" if why else f"{config.num_threads()} share a long kernel"


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

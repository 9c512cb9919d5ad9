"""Many functions in one process: what each costs in CPU time and memory, and what collecting gives
back; and one function that is called in many ways.
"""

import gc
import linecache
import os
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tracejit

from .harness import Table
from .memory import resident

#: kB and CPU ms of a small function at most, with its report, and kB that may stay of one that was
#: collected.
MEMORY, TIME, LEFT = 64, 45, 4


def functions(count: int, folder: str) -> list[Callable[..., Any]]:
    """So many small functions that differ, from a file."""
    lines = [f"def f{k}(x, y):\n    return np.sin(x) * {k}.5 + y / {k + 1}" for k in range(count)]
    path = Path(folder) / "many_functions.py"
    path.write_text("\n".join(["import numpy as np", *lines, ""]), encoding="utf-8")
    module = types.ModuleType("many_functions")
    module.__file__ = str(path)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), vars(module))
    sys.modules[module.__name__] = module
    return [getattr(module, f"f{k}") for k in range(count)]


def mappings() -> int:
    """How many regions of memory the process has, of which Linux allows some 65 000."""
    return len(Path("/proc/self/maps").read_text(encoding="ascii").splitlines())


def of_functions(count: int) -> Table:
    """Functions that are compiled and kept, and then given up."""
    table = Table(f"{count} small functions in one process", [])
    x = np.linspace(0.0, 1.0, 10)
    with tempfile.TemporaryDirectory() as folder:
        for f in functions(100, folder):  # What all functions share is there afterwards.
            tracejit.jit(f)(x, x)
        made = functions(count, folder)
        linecache.clearcache()
        gc.collect()
        memory, regions, begin = resident(), mappings(), time.process_time()
        kept = []
        for k, plain in enumerate(made, 1):
            compiled = tracejit.jit(plain)
            compiled(x, x)
            kept.append(compiled)
            if k in (count // 10, count // 2, count):
                spent = (time.process_time() - begin) * 1e3 / k
                held = (resident() - memory) / 1024 / k
                table.rows.append({"": f"after {k}", "CPU ms of each": spent, "kB of each": held})
        table.notes.append(f"{(mappings() - regions) / count:.2f} regions of memory for each")
        del kept, made, compiled, f, plain
        sys.modules.pop("many_functions")
        linecache.clearcache()
        gc.collect()
        left = (resident() - memory) / 1024 / count
        table.rows.append({"": "after they are collected", "kB of each": left})
    last = table.rows[-2]
    table.require("CPU ms of each", float(last["CPU ms of each"]), at_most=TIME)
    table.require("kB of each", float(last["kB of each"]), at_most=MEMORY)
    table.require("kB that stay of each", left, at_most=LEFT)
    return table


def total(*parts: Any) -> Any:
    """The sum of its arguments."""
    found = parts[0] * 2
    for part in parts[1:]:
        found = found + part
    return found


def of_calls(count: int) -> Table:
    """One function that is called with so many kinds of arguments."""
    table = Table(f"one function, {count} kinds of arguments", [])
    dtypes = [np.dtype(c) for c in "fdFDbhilBHIL"]
    compiled = tracejit.jit(total)
    kinds = [
        [np.ones((2,) * (k // 12 % 4 + 1), dtypes[k % 12])] * (k // 48 + 1) for k in range(count)
    ]
    memory, begin = resident(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tracejit.FallbackWarning)
        for given in kinds:
            compiled(*given)
    spent = time.process_time() - begin
    report = compiled.report()
    begin = time.process_time()
    for given in kinds:
        compiled(*given)
    again = (time.process_time() - begin) * 1e6 / count
    table.rows.append(
        {
            "": "total(*arrays)",
            "compiled": len(report.variants),
            "CPU s": spent,
            "kB of each": (resident() - memory) / 1024 / count,
            "us of a later call": again,
        }
    )
    table.notes.append(f"runs eagerly beyond that: {[str(f) for f in report.fallbacks][:1]}")
    return table


def run(quick: bool) -> list[Table]:
    """The tables; nothing is kept on disk, or read from there."""
    os.environ["TRACEJIT_CACHE"] = "off"
    return [of_functions(200 if quick else 10_000), of_calls(100 if quick else 1000)]

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


def compiled_in_turn(count: int, folder: str) -> list[tuple[int, float, float]]:
    """(how many, CPU ms of each, kB of each) of functions that are compiled, kept, and collected in
    the end."""
    x = np.linspace(0.0, 1.0, 10)
    found, kept = [], []
    made = functions(count, folder)
    memory, begin = resident(), time.process_time()
    for k, plain in enumerate(made, 1):
        kept.append(tracejit.jit(plain))
        kept[-1](x, x)
        if k in (count // 10, count // 2, count):
            spent = (time.process_time() - begin) * 1e3 / k
            found.append((k, spent, (resident() - memory) / 1024 / k))
    return found


def collected() -> int:
    """The bytes of the process when all is collected."""
    sys.modules.pop("many_functions")
    linecache.clearcache()
    gc.collect()
    return resident()


def of_functions(count: int) -> Table:
    """Functions that are compiled and kept, then given up, then others in their place."""
    table = Table(f"{count} small functions in one process", [])
    with tempfile.TemporaryDirectory() as folder:
        compiled_in_turn(100, folder)  # What all functions share is there afterwards.
        collected()
        regions = mappings()
        steps = compiled_in_turn(count, folder)
        for k, spent, held in steps:
            table.rows.append({"": f"after {k}", "CPU ms of each": spent, "kB of each": held})
        before = collected()
        table.notes.append(f"{mappings() - regions} regions of memory more, all collected")
        again = max(count // 5, 100)
        compiled_in_turn(again, folder)
        left = (collected() - before) / 1024 / again
    table.rows.append({"": f"{again} others, when these are collected", "kB of each": left})
    table.require("CPU ms of each", steps[-1][1], at_most=TIME)
    table.require("kB of each", steps[-1][2], at_most=MEMORY)
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

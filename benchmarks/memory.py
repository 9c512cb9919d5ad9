"""Memory of whole programs: the peak of a call against NumPy's, and growth over many calls.

The peak of a compiled call is what its plan says (`report().variants[k].buffers`): the program's
own memory and its results. That of NumPy is what tracemalloc sees of one call. Growth is that of
the process' resident memory from the first tenth of the calls to the last.
"""

import copy
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tracejit

from .harness import Table
from .programs import PROGRAMS

#: Bytes of growth that are taken for noise of the allocator: 512 pages.
NOISE = 2**21
PAGE = 4096


def eager_peak(function: Callable[..., Any], arguments: list[Any]) -> int:
    """The bytes that NumPy allocates at most during a call."""
    function(*copy.deepcopy(arguments))
    given = copy.deepcopy(arguments)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = function(*given)
        del kept
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def resident() -> int:
    """The bytes of the process that are in memory. Linux only."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGE


def peaks() -> Table:
    """Planned peaks of compiled calls over NumPy's, at size M."""
    table = Table("peak memory of one call, size M, bytes", [])
    worst = 0.0
    for program in PROGRAMS:
        arguments = list(program.arguments("M").values())
        jitted = tracejit.jit(program.kernel)
        jitted(*copy.deepcopy(arguments))
        found = jitted.report().variants[-1].buffers if jitted.report().variants else None
        if found is None:
            table.notes.append(f"tracejit ran {program.name} eagerly")
            continue
        own, numpy = found.peak_bytes(), eager_peak(program.kernel, arguments)
        ratio = own / max(numpy, 1)
        grows = ", ".join(found.growing)
        row = {"": program.name, "numpy": numpy, "tracejit": own, "ratio": ratio, "and": grows}
        table.rows.append(row)
        if own > numpy + PAGE:
            worst = max(worst, ratio)
    table.require("the largest peak over NumPy's", worst, at_most=1.0)
    table.notes.append("and: bytes of blocks whose sizes only the run decides")
    return table


def growth(calls: int) -> Table:
    """Resident memory over many calls, at size S."""
    table = Table(f"growth of the process over {calls:,} calls, size S, bytes", [])
    worst = 0
    for program in PROGRAMS:
        jitted = tracejit.jit(program.kernel)
        arguments = list(program.arguments("S").values())
        fresh = [copy.deepcopy(arguments) for _ in range(50)]
        before = 0
        for k in range(calls):
            if k == calls // 10:
                before = resident()
            jitted(*fresh[k % 50])
            if k % 50 == 49:
                # Programs change their arguments: what they diverge to must not be timed or kept.
                fresh = [copy.deepcopy(arguments) for _ in range(50)]
        grown = resident() - before
        table.rows.append({"": program.name, "growth": grown})
        worst = max(worst, grown)
    table.require("the largest growth", float(worst), at_most=NOISE)
    return table


def run(quick: bool) -> list[Table]:
    return [peaks(), growth(500 if quick else 10_000)]

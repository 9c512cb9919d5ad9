"""Overlap: how much of the exchange of gradients is hidden behind the backward pass.

Two processes with one thread each make steps of VGG-19 in turns: without exchange, with one bucket
that is started when all gradients are there, and with buckets that are started as gradients are
computed, plain and compressed. Links are those of one machine, as they are and with messages that
take as long as on a network: their sender sleeps. Without an idle processor only such waits can be
hidden: what processes copy and add up takes the time of the backward pass itself.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from .harness import Table

ROOT = Path(__file__).resolve().parents[1]
CHILD = Path(__file__).with_name("_overlap_child.py")
#: Bytes a second; 0 is the link as it is.
BANDWIDTHS = (0, 1e9, 2.5e8)


def measure(bandwidth: float, quick: bool) -> dict[str, list[float]]:
    """The seconds of steps by what was exchanged how, in turns."""
    sizes = ["--steps", "4" if quick else "25", "--batch", "32", "--bandwidth", str(bandwidth)]
    sizes += ["--compression", "float16", "int8"]
    launch = [sys.executable, "-m", "tracejit", "launch", "-n", "2", "--quiet", str(CHILD)]
    one = {"OMP_NUM_THREADS": "1", "TRACEJIT_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        [*launch, *sizes], env={**os.environ, **one}, capture_output=True, text=True
    )
    if found.returncode:
        raise RuntimeError(found.stderr)
    return json.loads(found.stdout.removeprefix("[0] "))["times"]


def run(quick: bool) -> list[Table]:
    tables = []
    for bandwidth in BANDWIDTHS:
        link = f"{bandwidth / 1e9:g} GB/s, 50 µs a message" if bandwidth else "the link as it is"
        table = Table(f"a step on 2 processes, 10 MB of gradients: {link}", [])
        times = measure(bandwidth, quick)
        alone = statistics.median(times["none"])
        whole = statistics.median(times["whole"]) - alone
        for name, found in times.items():
            more = statistics.median(found) - alone
            row = {"exchange": name, "ms": 1e3 * statistics.median(found), "best": 1e3 * min(found)}
            row |= {"of it exchange": 1e3 * more, "hidden": 1 - more / whole}
            table.rows.append(row)
        tables.append(table)
    return tables

"""Messages: what a small one and one of 10 MB cost between two processes of a machine.

Both are sent and answered by a small one, in turns with a plain copy of the 10 MB into shared
memory. A small message is half of its exchange; the large one is its exchange but for the answer.
The one who receives has the array where it lies, without a copy.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from .harness import Table

ROOT = Path(__file__).resolve().parents[1]
CHILD = Path(__file__).with_name("_messages_child.py")


def measure(rounds: int) -> dict[str, list[float]]:
    """The seconds of each exchange."""
    launch = [sys.executable, "-m", "tracejit", "launch", "-n", "2", "--quiet", str(CHILD)]
    one = {"OMP_NUM_THREADS": "1", "TRACEJIT_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    found = subprocess.run(
        [*launch, "--rounds", str(rounds)],
        env={**os.environ, **one},
        capture_output=True,
        text=True,
    )
    if found.returncode:
        raise RuntimeError(found.stderr)
    return json.loads(found.stdout.removeprefix("[0] "))


def run(quick: bool) -> list[Table]:
    found = measure(20 if quick else 300)
    copies, trips, larges = found["copy"], found["small"], found["large"]
    # By median and by the fastest: the exchange of 10 MB has an answer, half of a small exchange.
    rows = {
        "a copy of 10 MB into shared memory": lambda of: of(copies),
        "a small message, one way": lambda of: of(trips) / 2,
        "10 MB, with its answer": lambda of: of(larges),
        "10 MB, one way": lambda of: of(larges) - of(trips) / 2,
    }
    table = Table("messages between two processes", [])
    for name, seconds in rows.items():
        row = {"what": name, "µs": 1e6 * seconds(statistics.median), "best": 1e6 * seconds(min)}
        table.rows.append(row)
    for name, part in (("copying them", "copy busy"), ("sending them", "large busy")):
        times = found[part]
        row = {"what": f"processor time of {name}", "µs": 1e6 * statistics.median(times)}
        table.rows.append(row | {"best": 1e6 * min(times)})
    busy = statistics.median(found["large busy"]) / statistics.median(found["copy busy"])
    answer = statistics.median(trips) / 2
    ratio = (statistics.median(larges) - answer) / statistics.median(copies)
    table.require("10 MB against a copy", ratio, at_most=1.3)
    table.require("10 MB against a copy, processor time", busy, at_most=1.3)
    table.require("µs of a small message", 1e6 * answer, at_most=50)
    return [table]

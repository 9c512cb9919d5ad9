"""What a fresh process waits for: import, back-end start, the first calls of new functions."""

import json
import statistics
import subprocess
import sys

from .harness import Table, absent, peer

CHILD = "benchmarks._first_call_child"
COMPILERS = ("tracejit", "numba", "jax")


def child(compiler: str, program: str) -> dict[str, float]:
    """CPU milliseconds of the steps of one fresh process."""
    done = subprocess.run(
        [sys.executable, "-m", CHILD, compiler, program],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{compiler}, {program}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def run(quick: bool) -> list[Table]:
    rounds = 2 if quick else 9
    compilers = [name for name in COMPILERS if name == "tracejit" or peer(name)]
    steps: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(rounds):
        for compiler in compilers:
            for program in ("one-liner", "black-scholes"):
                steps.setdefault((compiler, program), []).append(child(compiler, program))

    def median(compiler: str, program: str, step: str) -> float:
        return statistics.median(sample[step] for sample in steps[compiler, program])

    table = Table("a fresh process, CPU ms", [])
    for compiler in compilers:
        line = median(compiler, "one-liner", "second")
        table.rows.append(
            {
                "": compiler,
                "import over numpy": median(compiler, "one-liner", "import"),
                "modules at the first call": median(compiler, "one-liner", "modules"),
                "back-end start": median(compiler, "one-liner", "first") - line,
                "first call, one line": line,
                "first call, Black-Scholes": median(compiler, "black-scholes", "second"),
            }
        )
    ours = table.rows[0]
    for head, limit in (
        ("import over numpy", 40),
        ("back-end start", 80),
        ("first call, one line", 40),
        ("first call, Black-Scholes", 120),
    ):
        table.require(head, float(ours[head]), at_most=limit)
    table.notes += [
        f"medians of {rounds} processes; no cache on disk is used by anyone",
        "back-end start: the first function's first call less that of a second as small",
        "modules at the first call: imported only then; numba's and jax's are in the start",
        "numba compiles Black-Scholes as a loop; scipy.special is imported beforehand",
        *absent("numba", "jax"),
    ]
    return [table]

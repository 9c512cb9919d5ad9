"""What a process spends until its first results: import, decoration, first calls, gradients."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import NamedTuple

from .harness import Table, absent, peer

CHILD = "benchmarks._starts_child"


class Start(NamedTuple):
    """A row: what it is called, the compiler, and the environment that its processes get.

    `{folder}` in the environment is an empty folder at first, the same for all of the row's
    processes. What they leave there the next ones find: the first one is not counted.
    """

    name: str
    compiler: str
    environment: Mapping[str, str]
    programs: tuple[str, ...] = ("small", "large", "black-scholes", "gradient")


#: What is measured. A row of another cache or another setting is one line here.
STARTS = (
    Start("tracejit, cold", "tracejit", {"TRACEJIT_CACHE": "off"}),
    Start("tracejit", "tracejit", {"TRACEJIT_CACHE": "{folder}"}),
    Start(
        "numba, cache=True",
        "numba",
        {"NUMBA_CACHE_DIR": "{folder}"},
        ("small", "large", "black-scholes"),
    ),
    Start("jax, persistent cache", "jax", {"JAX_COMPILATION_CACHE_DIR": "{folder}"}),
)
#: CPU milliseconds of a cold start, over NumPy's import, and of the programs' first calls after it.
COLD, FURTHER = 160, 45
#: Those of a start with code on disk, what Black-Scholes may take beside, and each of the programs.
WARM, MORE, EACH = 25, 10, 30


def child(start: Start, program: str, folder: str) -> dict[str, float]:
    """CPU milliseconds of the steps of one fresh process, whose bytecode is cached."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    environment |= {name: x.format(folder=folder) for name, x in start.environment.items()}
    done = subprocess.run(
        [sys.executable, "-m", CHILD, start.compiler, program],
        capture_output=True,
        text=True,
        env=environment,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{start.name}, {program}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def run(quick: bool) -> list[Table]:
    rounds = 3 if quick else 15
    starts = [s for s in STARTS if s.compiler == "tracejit" or peer(s.compiler)]
    spent: dict[tuple[str, str], list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as root:
        folders = {start.name: os.path.join(root, str(k)) for k, start in enumerate(starts)}
        for k in range(rounds + 1):
            for start in starts:
                for program in start.programs:
                    steps = child(start, program, folders[start.name])
                    if k > 0:  # The first one fills caches of bytecode and of code.
                        spent.setdefault((start.name, program), []).append(steps)
        further = [child(starts[0], "programs", root) for _ in range(2 if quick else 5)]
        loaded: dict[str, list[float]] = {}
        for k in range(2 if quick else 4):
            for name in further[0]:
                steps = child(starts[1], f"program:{name}", folders[starts[1].name])
                if k > 0:
                    loaded.setdefault(name, []).append(steps["first call"])

    def median(start: Start, program: str, step: str) -> float | str:
        found = spent.get((start.name, program))
        return "-" if found is None else statistics.median(s[step] for s in found)

    table = Table("a fresh process, CPU ms over NumPy's import", [])
    for start in starts:
        table.rows.append(
            {
                "": start.name,
                "import": median(start, "small", "import"),
                "decoration": median(start, "small", "decoration"),
                "first call, 5 numbers": median(start, "small", "first call"),
                "in all": median(start, "small", "whole"),
                "in all, 100 000 numbers": median(start, "large", "whole"),
                "in all, Black-Scholes": median(start, "black-scholes", "whole"),
                "in all, a gradient": median(start, "gradient", "whole"),
            }
        )
    ours = table.rows[0]
    table.require("a cold start", float(ours["in all"]), at_most=COLD)
    table.require("100 000 numbers", float(ours["in all, 100 000 numbers"]), at_most=COLD)
    warm = table.rows[1]
    table.require("with code on disk", float(warm["in all"]), at_most=WARM)
    more = float(warm["in all, Black-Scholes"]) - float(warm["in all"])
    table.require("Black-Scholes beside that", more, at_most=MORE)
    for row in table.rows[2:]:
        share = 0.1 if str(row[""]).startswith("numba") else 0.25
        ratio = float(warm["in all"]) / float(row["in all"])
        table.require(f"of the start of {row['']}", ratio, at_most=share)
    table.notes += [
        f"medians of {rounds} processes in turns, each after one that is not counted",
        "all but the first row find what that one has compiled",
        *absent("numba", "jax"),
    ]
    programs = Table("the 27 programs after the first function, CPU ms of their first calls", [])
    for name in further[0]:
        programs.rows.append({"": name, "first call": statistics.median(s[name] for s in further)})
    mean = statistics.geometric_mean(float(row["first call"]) for row in programs.rows)
    programs.rows.append({"": "geometric mean", "first call": mean})
    programs.require("geometric mean", mean, at_most=FURTHER)
    programs.notes.append("less a second call's; all in one process, in this order")
    files = Table("the 27 programs with code on disk, CPU ms of their first calls", [])
    for name, times in loaded.items():
        files.rows.append({"": name, "first call": statistics.median(times)})
    mean = statistics.geometric_mean(float(row["first call"]) for row in files.rows)
    files.rows.append({"": "geometric mean", "first call": mean})
    files.require("geometric mean", mean, at_most=EACH)
    files.notes.append("with the decoration, less a second call's; each in a process of its own")
    return [table, programs, files]

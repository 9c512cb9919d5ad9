"""The benchmark programs against the clock: who computes them how, calls in turns, first calls."""

import contextlib
import copy
import dataclasses
import gc
import json
import re
import signal
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tracejit

from ._programs_compilers import jax_outcome, numba_version
from .harness import Cell, Table, absent, peer
from .programs.program import Difference, Kernel, Kind, Program, check, differences

KINDS: dict[Kind, float] = {"no loop": 1.4, "short loops": 3.5, "long loops": 20.0}
PEERS = ("tracejit", "numba", "jax")
CHILD = "benchmarks._programs_child"
#: Other compilers may add in another order or fuse multiplications where we promise the same bits.
PEER_RTOL = 1e-10
BATCH = 0.005
BUDGET = 10.0
MOST_CALLS = 200


@dataclass
class Runner:
    """One way to run a program: `fresh` makes the arguments of a call, outside of its time."""

    call: Callable[..., Any]
    fresh: Callable[[], Sequence[Any]]


@dataclass
class Outcome:
    """What became of one program: its runners, why others are missing, seconds of each round."""

    program: Program
    runners: dict[str, Runner] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def ratio(self, name: str) -> float:
        """How many times faster than NumPy, by the median of the rounds' ratios."""
        pairs = zip(self.seconds["numpy"], self.seconds[name], strict=True)
        return statistics.median(a / b for a, b in pairs)


def fresh_arguments(program: Program, given: dict[str, Any]) -> Callable[[], list[Any]]:
    """What makes arguments for a call: those that the program changes are copies."""
    after = copy.deepcopy(given)
    program.kernel(*after.values())
    changed = {name for name in given if any(differences(given[name], after[name], 0.0, name))}

    def fresh() -> list[Any]:
        return [x.copy() if name in changed else x for name, x in given.items()]

    return fresh


def first_line(error: Exception) -> str:
    """The line of an error that says what is wrong, without colours."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()
    telling = [x.strip() for x in lines if x.strip() and not x.startswith("Failed in ")]
    return f"{type(error).__name__}: {(telling or [''])[0]}"


def prepare(program: Program, size: str) -> Outcome:
    """The runners whose outcome is NumPy's, and notes on the others."""
    found = Outcome(program)
    given = program.arguments(size)
    fresh = fresh_arguments(program, given)
    found.runners["numpy"] = Runner(program.kernel, fresh)
    loose = dataclasses.replace(program, rtol=max(program.rtol, PEER_RTOL))

    def add(name: str, checked: Program, kernel: Kernel, runner: Runner) -> None:
        try:
            check(checked, size, lambda _: kernel)
        except Difference as error:
            found.cells[name] = "wrong"
            found.notes.append(f"{program.name}: {name} is wrong: {str(error).splitlines()[1]}")
        except Exception as error:
            found.cells[name] = "-"
            found.notes.append(f"{program.name}: not for {name}: {first_line(error)}")
        else:
            found.runners[name] = runner

    jitted = tracejit.jit(program.kernel, strict=False)
    add("tracejit", program, jitted, Runner(jitted, fresh))
    report = jitted.report()
    found.notes += [f"{program.name}: tracejit ran eagerly: {x}" for x in report.fallbacks]
    if report.bailouts:
        found.notes.append(f"{program.name}: tracejit repeated a call eagerly: {report.repeats}")

    if peer("numba"):
        compiled = numba_version(program.kernel)
        add("numba", loose, compiled, Runner(compiled, fresh))

    if jax := peer("jax"):
        from . import _programs_jax

        if program.name not in _programs_jax.VERSIONS:
            found.cells["jax"] = "-"
            return found
        version = _programs_jax.compiled(program.name)
        on_device = [jax.device_put(x) if isinstance(x, np.ndarray) else x for x in given.values()]
        ready = jax.block_until_ready
        runner = Runner(lambda *arguments: ready(version(*arguments)), lambda: on_device)
        add("jax", loose, jax_outcome(version, list(given)), runner)
    return found


def seconds(runner: Runner, calls: int) -> float:
    """CPU seconds of one call, the mean of `calls` in a row, each with arguments of its own."""
    arguments = [runner.fresh() for _ in range(calls)]
    call = runner.call
    start = time.process_time()
    for given in arguments:
        call(*given)
    return (time.process_time() - start) / calls


def measure(runners: dict[str, Runner], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of one call in every round; all take turns, in alternating order."""
    calls = {}
    for name, runner in runners.items():
        took = min(seconds(runner, 1) for _ in range(2))
        calls[name] = min(MOST_CALLS, max(1, round(BATCH / took)))
    found: dict[str, list[float]] = {name: [] for name in runners}
    order = list(runners)
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name in order:
                found[name].append(seconds(runners[name], calls[name]))
            order.reverse()
    finally:
        gc.enable()
    return found


def in_turns(runners: dict[str, Runner], rounds: int) -> dict[str, list[float]]:
    """As `measure`; fewer rounds, three at least, where calls are so long that they pass BUDGET."""
    once = sum(seconds(runner, 1) for runner in runners.values())
    return measure(runners, max(3, min(rounds, round(BUDGET / once))))


@contextlib.contextmanager
def limited(most: float) -> Iterator[None]:
    """Raise TimeoutError in what takes more than `most` seconds, in compiled loops too."""

    def stop(signum: int, frame: Any) -> None:
        raise TimeoutError(f"stopped after {most:g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, most)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def table_of(kind: Kind, size: str, found: list[Outcome]) -> Table:
    """The programs of one kind, how much faster than NumPy each compiler is, and the means."""
    table = Table(f"{kind}, size {size}: times faster than NumPy, CPU time, one thread", [])
    ratios: dict[str, dict[str, float]] = {name: {} for name in PEERS}
    for outcome in found:
        milliseconds = statistics.median(outcome.seconds["numpy"]) * 1e3
        row: dict[str, Cell] = {"": outcome.program.name, "numpy ms": milliseconds}
        for name in PEERS:
            if name in outcome.runners:
                row[name] = ratios[name][outcome.program.name] = outcome.ratio(name)
            else:
                row[name] = outcome.cells.get(name, "")
        table.rows.append(row)
        table.notes += outcome.notes
    means = {name: statistics.geometric_mean(x.values()) for name, x in ratios.items() if x}
    table.rows.append({"": "geometric mean", "numpy ms": "", **means})
    table.rows.append(
        {"": "programs", "numpy ms": len(found), **{name: len(x) for name, x in ratios.items()}}
    )
    mean = means.get("tracejit", 0.0)
    table.require("tracejit, geometric mean", mean, at_least=KINDS[kind])
    slowest = min(ratios["tracejit"].items(), key=lambda pair: pair[1], default=("none", 0.0))
    table.require(f"tracejit's slowest ({slowest[0]})", slowest[1], at_least=1 / 1.1)
    wrong = sum(outcome.cells.get("tracejit") == "wrong" for outcome in found)
    table.require("wrong outcomes of tracejit", wrong, at_most=0)
    return table


def child(compiler: str, program: str) -> dict[str, float]:
    """CPU milliseconds of the steps of one fresh process."""
    command = [sys.executable, "-m", CHILD, compiler, program]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{compiler}, {program}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def first_calls(found: list[Outcome], rounds: int) -> Table:
    """First calls at size S in fresh processes, of the programs that Numba compiles."""
    table = Table("first calls in fresh processes, CPU ms, size S", [])
    starts: dict[str, list[dict[str, float]]] = {}
    ratios = []
    means: dict[str, list[float]] = {name: [] for name in PEERS}
    for outcome in found:
        if "numba" not in outcome.runners:
            continue
        name = outcome.program.name
        row: dict[str, Cell] = {"": name}
        for compiler in PEERS:
            if compiler not in outcome.runners:
                row[compiler] = "-"
                continue
            # a round of Numba's takes minutes, and its seconds vary little
            samples = [child(compiler, name) for _ in range(1 if compiler == "numba" else rounds)]
            starts.setdefault(compiler, []).extend(samples)
            row[compiler] = statistics.median(x["first"] for x in samples)
            if any(x.get("fallbacks") for x in samples):
                table.notes.append(f"{name}: not in the means, tracejit ran it eagerly")
                row[compiler] = "eager"
        table.rows.append(row)
        if isinstance(row["tracejit"], float):
            ratio = row["tracejit"] / row["numba"]
            row["tracejit / numba"] = ratio
            ratios.append(ratio)
            for compiler in PEERS:
                if isinstance(row[compiler], float):
                    means[compiler].append(row[compiler])
    if not ratios:
        return table
    mean = statistics.geometric_mean(ratios)
    table.rows.append(
        {
            "": "geometric mean",
            **{compiler: statistics.geometric_mean(x) for compiler, x in means.items() if x},
            "tracejit / numba": mean,
        }
    )
    table.require("tracejit over numba, geometric mean", mean, at_most=0.2)
    for compiler, samples in starts.items():
        steps = {
            step: statistics.median(sample[step] for sample in samples)
            for step in ("import", "modules", "start")
        }
        text = ", ".join(f"{step} {value:.0f} ms" for step, value in steps.items())
        table.notes.append(f"{compiler}, not counted above: {text}")
    table.notes.append(f"medians of {rounds} processes (Numba: one); import is over NumPy")
    table.notes.append("start: the first call of another function, with a loop and a branch")
    return table


def run_all(programs: Sequence[Program], quick: bool) -> list[Table]:
    """Three tables of ratios, by kind, and one of first calls."""
    size, rounds = ("S", 5) if quick else ("M", 15)
    found = []
    for program in programs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome = prepare(program, size)
            outcome.seconds = measure(outcome.runners, rounds)
        outcome.runners = {name: Runner(lambda: None, list) for name in outcome.runners}
        found.append(outcome)
    tables = [
        table_of(kind, size, [outcome for outcome in found if outcome.program.kind == kind])
        for kind in KINDS
    ]
    tables[0].notes += absent("numba", "jax")
    return [*tables, first_calls(found, 1 if quick else 3)]

"""Loops and branches: scalar loops, array updates in loops, first calls, Ctrl-C."""

import json
import math
import signal
import statistics
import subprocess
import sys
import time

import numpy as np

import tracejit

from . import _control_flow_programs as programs
from .harness import Contender, Table, absent, compare, peer

CHILD = "benchmarks._control_flow_child"
COMPILERS = ("tracejit", "numba", "jax")
SECONDS_TO_STOP = 3.0


def contenders(name, function, arguments) -> list[Contender]:
    """Plain Python, every compiler on the same source, JAX in its own forms."""
    names = [f"a{k}" for k in range(len(arguments))]
    call = f"f({', '.join(names)})"
    given = dict(zip(names, arguments, strict=True))
    found = [
        Contender("python", call, {"f": function, **given}),
        Contender("tracejit", call, {"f": tracejit.jit(function), **given}),
    ]
    if numba := peer("numba"):
        found.append(Contender("numba", call, {"f": numba.njit(function), **given}))
    if jax := peer("jax"):
        on_device = {
            k: jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x for k, x in given.items()
        }
        names = {"f": programs.jax_forms(jax)[name], "ready": jax.block_until_ready, **on_device}
        found.append(Contender("jax", f"ready({call})", names))
    return found


def fell_back(found: list[Contender]) -> list[str]:
    """A note for each thing that tracejit left to Python."""
    return [
        f"tracejit ran eagerly: {fallback}"
        for contender in found
        if contender.name == "tracejit"
        for fallback in contender.names["f"].report().fallbacks
    ]


def scalar_loop(name: str, rounds: int) -> Table:
    """Run time of one scalar loop, at most 1.2 of Numba's."""
    function, arguments, _, title = programs.SCALAR_LOOPS[name]
    found = contenders(name, function, arguments)
    table, times = compare(f"{title}, one thread", found, rounds=rounds, rtol=1e-9)
    if "numba" in times:
        ratio = times["tracejit"].cpu / times["numba"].cpu
        table.require("tracejit over numba", ratio, at_most=1.2)
    table.notes += fell_back(found)
    return table


def small_operations(rounds: int) -> Table:
    """Three operations on 64 numbers, 10,000 times."""
    x, y = np.linspace(0.0, 1.0, 64), np.linspace(-1.0, 1.0, 64)
    found = contenders("three_operations", programs.three_operations, (x, y, 10_000))
    title = "three operations on 64 float64, 10,000 iterations, one thread"
    table, times = compare(title, found, rounds=rounds)
    ratio = times["python"].cpu / times["tracejit"].cpu
    table.require("numpy over tracejit", ratio, at_least=50)
    table.notes += fell_back(found)
    return table


def child(*arguments: str) -> dict[str, float]:
    """CPU milliseconds of the steps of one fresh process."""
    done = subprocess.run([sys.executable, "-m", CHILD, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout)


def first_calls(rounds: int) -> Table:
    """First calls in fresh processes, after another function has started the back end."""
    compilers = [name for name in COMPILERS if name == "tracejit" or peer(name)]
    samples: dict[tuple[str, str], list[dict[str, float]]] = {}
    for _ in range(rounds):
        for name in programs.SCALAR_LOOPS:
            for compiler in compilers:
                samples.setdefault((compiler, name), []).append(child("first", compiler, name))

    def median(compiler: str, name: str, step: str) -> float:
        return statistics.median(sample[step] for sample in samples[compiler, name])

    table = Table("first calls in fresh processes, CPU ms", [])
    means = {}
    for compiler in compilers:
        first = {name: median(compiler, name, "first") for name in programs.SCALAR_LOOPS}
        means[compiler] = math.exp(statistics.fmean(map(math.log, first.values())))
        steps = {
            head: statistics.median(median(compiler, name, step) for name in first)
            for head, step in (("import", "import"), ("modules", "modules"), ("start", "start"))
        }
        table.rows.append({"": compiler, **steps, **first, "geometric mean": means[compiler]})
    if "numba" in means:
        ratio = means["tracejit"] / means["numba"]
        table.require("tracejit over numba, geometric mean", ratio, at_most=0.5)
    table.notes += [
        f"tracejit ran {name} eagerly"
        for name in programs.SCALAR_LOOPS
        if median("tracejit", name, "fallbacks")
    ]
    table.notes += [
        f"medians of {rounds} processes; import is over NumPy; modules: imported at the first call",
        "start: the first call of another function, with a loop and a branch",
        *absent("numba", "jax"),
    ]
    return table


def trip_counts(rounds: int) -> Table:
    """First calls of loops with 10 and with 1,000 iterations, in turns in this process."""
    x = np.linspace(0.0, 1.0, 64)
    table = Table("first call of a loop of array updates, 64 float64, CPU ms", [])
    for kind in ("updates", "stores"):
        times: dict[str, list[float]] = {}
        for k in range(2 * rounds + 2):
            count = ("ten", "thousand")[k % 2]
            function = tracejit.jit(getattr(programs, f"{count}_{kind}"))
            start = time.process_time()
            function(x)
            if k > 1:
                times.setdefault(count, []).append((time.process_time() - start) * 1e3)
        ten, thousand = (statistics.median(times[count]) for count in ("ten", "thousand"))
        row = {"": kind, "10 iterations": ten, "1,000 iterations": thousand}
        table.rows.append({**row, "ratio": thousand / ten})
        table.require(f"{kind}: 1,000 iterations over 10", thousand / ten, at_most=1.1)
    table.notes.append(f"medians of {rounds} compiles each, in turns, the first left out")
    return table


def seconds_to_stop(compiler: str, kind: str) -> tuple[float, str]:
    """Seconds from SIGINT to the handler in a child whose loop has no end, and what follows."""
    process = subprocess.Popen(
        [sys.executable, "-m", CHILD, "stop", compiler, kind],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "ready", f"{compiler} did not start"
    time.sleep(0.5)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        text, _ = process.communicate(timeout=SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return math.inf, "killed"
    lines = text.split()
    return (float(lines[0]) - sent, lines[1]) if len(lines) == 2 else (math.inf, "died")


def interrupts(rounds: int) -> Table:
    """Ctrl-C in loops without an end."""
    table = Table("Ctrl-C in a loop that does not converge, seconds", [])
    for compiler in ("tracejit", "numba"):
        if compiler != "tracejit" and not peer(compiler):
            continue
        for kind in ("scalar", "arrays"):
            tries = 1 if compiler == "numba" else rounds
            seconds, states = zip(
                *(seconds_to_stop(compiler, kind) for _ in range(tries)), strict=True
            )
            worst = max(seconds)
            row = {"": f"{compiler}, {kind}", "median": statistics.median(seconds), "worst": worst}
            table.rows.append(
                {**row, "afterwards": "usable" if set(states) == {"usable"} else states[0]}
            )
            if compiler == "tracejit":
                usable = all(state == "usable" for state in states)
                table.require(f"{kind}: stopped within", worst if usable else math.inf, at_most=0.2)
    table.notes.append(f"inf: not stopped within {SECONDS_TO_STOP:g} s, and killed")
    return table


def run(quick: bool) -> list[Table]:
    rounds = 3 if quick else 15
    tables = [scalar_loop(name, rounds) for name in programs.SCALAR_LOOPS]
    tables[0].notes += absent("numba", "jax")
    return [
        *tables,
        small_operations(rounds),
        trip_counts(5 if quick else 25),
        first_calls(1 if quick else 7),
        interrupts(1 if quick else 5),
    ]

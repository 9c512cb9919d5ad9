"""Kernels by one thread and by two: wall time, on the machine as it is and with every CPU busy.

What a second thread gains is wall time; CPU time says what that costs. Run it with `--threads 2`.
"""

import os
import subprocess
import sys
from contextlib import contextmanager

import numpy as np

import tracejit

from . import harness
from .harness import Table


def compute(x):
    """Bound by computing."""
    return np.exp(x) * np.sin(x) + np.log1p(x * x)


def memory(x):
    """Bound by memory."""
    return x * 2 + 1


def rows(x):
    """A softmax of each row."""
    y = x.reshape(-1, 500)
    e = np.exp(y - y.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


#: Elements: not shared, some tenths of a ms, and several ms.
SIZES = {compute: (1_000, 100_000, 2_000_000), memory: (1_000, 500_000, 8_000_000)}
SIZES |= {rows: (1_000, 200_000, 2_000_000)}


@contextmanager
def busy(processes):
    """That many processes which compute without end."""
    running = [subprocess.Popen([sys.executable, "-c", "while 1: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def times(f, x, rounds):
    """Calls by one thread and by two, in turns."""

    def call(threads):
        tracejit.config.set_num_threads(threads)
        return f(x)

    names = {"call": call}
    contenders = [harness.Contender(str(n), f"call({n})", names) for n in (1, 2)]
    harness.check(contenders, rtol=0, atol=0)
    return harness.measure(contenders, rounds)


def run(quick: bool) -> list[Table]:
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    before = tracejit.config.num_threads()
    tables = []
    for load, title in ((0, "as it is"), (cpus, "with a busy process on each CPU")):
        table = Table(f"One thread and two on {cpus} CPUs, the machine {title}", [])
        with busy(load):
            for function, sizes in SIZES.items():
                f = tracejit.jit(function)
                for n in sizes:
                    x = np.random.default_rng(n).normal(size=n)
                    found = times(f, x, 5 if quick else 31)
                    one, two = found["1"], found["2"]
                    row = {"": function.__name__, "elements": n}
                    row |= {"wall ms, 1": one.wall * 1e3, "wall ms, 2": two.wall * 1e3}
                    row |= {"cpu ms, 1": one.cpu * 1e3, "cpu ms, 2": two.cpu * 1e3}
                    gain = one.wall / two.wall
                    table.rows.append(row | {"gain": gain})
                    if load:
                        table.require(f"{function.__name__} of {n}", gain, at_least=0.95)
                    elif function in (compute, rows) and n == max(sizes):
                        table.require(f"{function.__name__} of {n}", gain, at_least=1.7)
        if cpus < 2:
            table.notes.append("one CPU: two threads can gain nothing; ask for --threads 2")
        tables.append(table)
    tracejit.config.set_num_threads(before)
    return tables

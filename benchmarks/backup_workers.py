"""Backup workers: processes with injected stragglers beside the simulator that plans for them.

Each process sleeps as long as a step of the distribution takes, then sends a gradient to the server
and waits for parameters, as replicas of `tracejit.dist` do. A step takes the first m gradients of
m + b processes. The normalised speed-up by b is t(m + b) / t(m) x m / (m + b), t in steps a second:
medians over repeats in random order. Processes sleep, so that two cores can stand for many.
"""

import os
import random
import signal
import tempfile
import time
from statistics import median

import numpy as np

from tracejit.dist.replicas.mode import Mode
from tracejit.dist.replicas.server import ParameterServer
from tracejit.dist.simulation import Cluster, LogNormal, Straggling, speedup
from tracejit.dist.transport.local import LocalLink

from .harness import Table

#: By m: the median seconds of a step, the steps of a run, and the numbers of backup workers.
RUNS = {20: (0.06, 40, (0, 1, 2, 3, 4, 6, 8)), 50: (0.15, 25, (0, 1, 2, 3, 4, 6, 8))}
REPEATS, WARM = 5, 5


def seconds_of(m):
    """Most steps take about the same time, a few several times as long."""
    return Straggling(LogNormal(RUNS[m][0], 0.1), 0.005, 4.0)


class Counter:
    """An optimiser that counts, and takes a step."""

    def __init__(self):
        self.count = 0

    def update(self, params, grads):
        """Take one step."""
        self.count += 1
        for p, g in zip(params, grads, strict=True):
            p -= 0.1 * g


def work(rank, size, folder, m, steps, seed, out):
    """One process: sleeps, sends, receives; process 0 writes the rate of steps to a pipe."""
    link = LocalLink(rank, size, folder, b"benchmark")
    optimizer = Counter()
    if rank == 0:
        server = ParameterServer(link, Mode("backup", size - m))
        server.add("0", optimizer)
    draws = seconds_of(m).draw(np.random.default_rng([seed, rank]), 100_000)
    params, version, begun = [np.zeros(100)], 0, None
    for seconds in draws:
        time.sleep(seconds)
        link.send(0, "gradient", ["0", version, [params[0] - 1.0], [] if version else params])
        version, params = link.receive(0, "parameters")
        if rank == 0 and begun is None and optimizer.count >= WARM:
            begun = time.perf_counter(), optimizer.count
        if rank == 0 and optimizer.count >= steps + WARM:
            rate = (optimizer.count - begun[1]) / (time.perf_counter() - begun[0])
            os.write(out, f"{rate} {server.dropped} {params[0][0]}".encode())
            return


def measured(m, b, steps, seed):
    """Steps a second of m + b processes, how many gradients were dropped, a parameter."""
    reading, writing = os.pipe()
    pids = []
    with tempfile.TemporaryDirectory() as folder:
        for rank in range(m + b):
            pid = os.fork()
            if pid == 0:
                os.close(reading)
                try:
                    work(rank, m + b, folder, m, steps, seed, writing)
                finally:
                    os._exit(0)
            pids.append(pid)
        os.close(writing)
        found = os.read(reading, 200).decode().split()
        os.close(reading)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return tuple(map(float, found))


def run(quick):
    """One table by m and b."""
    table = Table("normalised speed-up by backup workers", [])
    for m in [20] if quick else RUNS:
        _, steps, numbers = RUNS[m]
        numbers, steps, repeats = (numbers[:3], 10, 1) if quick else (numbers, steps, REPEATS)
        rates = {b: [] for b in numbers}
        dropped = {}
        for k in range(repeats):
            for b in random.Random(k).sample(numbers, len(numbers)):
                rate, dropped[b], _ = measured(m, b, steps, k)
                rates[b].append(rate)
        cluster = Cluster(1, seconds_of(m), latency=1e-4)
        planned = speedup(cluster, m, numbers, 2000, seed=1)
        alone = median(rates[0])
        gains = {b: median(rates[b]) / alone * m / (m + b) for b in numbers}
        for b in numbers:
            table.rows.append(
                {
                    "m": m,
                    "b": b,
                    "steps/s": median(rates[b]),
                    "speed-up": gains[b],
                    "simulated": planned[b],
                    "ratio": gains[b] / planned[b],
                    "dropped": int(dropped[b]),
                }
            )
        best = max(gains, key=gains.get)
        table.require(f"m = {m}: the best b", best, at_least=1)
        table.require(f"m = {m}: the best b", best, at_most=4)
        apart = max(abs(gains[b] / planned[b] - 1) for b in numbers)
        table.require(f"m = {m}: furthest from the simulator", apart, at_most=0.1)
    table.notes.append(f"{REPEATS} repeats; 1 step in 200 takes 4 times as long, sigma 0.1")
    return [table]

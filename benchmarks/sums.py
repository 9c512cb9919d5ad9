"""Sums of ten million numbers: time, and error by `math.fsum`, which rounds once."""

import math

import numpy as np

import tracejit

from .harness import Contender, Table, absent, compare, peer

SIZE = 10_000_000
IN_CACHE = 10_000


def total(x):
    return np.sum(x)


def total_loop(x):
    """The form that suits Numba best; a float64 accumulator for float64 and float32 alike."""
    result = 0.0
    for i in range(x.size):
        result += x[i]
    return result


def contenders(x: np.ndarray) -> list[Contender]:
    found = [
        Contender("numpy", "np.sum(x)", {"np": np, "x": x}),
        Contender("tracejit", "f(x)", {"f": tracejit.jit(total), "x": x}),
    ]
    if numba := peer("numba"):
        found.append(Contender("numba loop", "f(x)", {"f": numba.njit(total_loop), "x": x}))
        fast = numba.njit(fastmath=True)(total_loop)
        found.append(Contender("numba loop fastmath", "f(x)", {"f": fast, "x": x}))
    if jax := peer("jax"):
        names = {"f": jax.jit(jax.numpy.sum), "x": jax.numpy.asarray(x)}
        found.append(Contender("jax", "f(x).block_until_ready()", names))
    return found


def errors(arrays: list[np.ndarray]) -> dict[str, float]:
    """Root mean square over `arrays` of each contender's error, in epsilons of the exact sum.

    A mean, since on a single array the last rounding alone decides, by luck, who comes nearer.
    """
    found: dict[str, list[float]] = {}
    for x in arrays:
        exact = math.fsum(x.tolist())
        epsilon = np.finfo(x.dtype).eps * abs(exact)
        for contender in contenders(x):
            error = abs(float(contender.result()) - exact) / float(epsilon)
            found.setdefault(contender.name, []).append(error)
    return {
        name: math.sqrt(math.fsum(e * e for e in each) / len(each)) for name, each in found.items()
    }


def sums(dtype: np.dtype, size: int, rounds: int, seeds: int) -> Table:
    """Time on one array; error over uniform and normal numbers from several seeds."""
    arrays = []
    for seed in range(seeds):
        random = np.random.default_rng(seed)
        arrays += [random.random(size).astype(dtype), random.normal(size=size).astype(dtype)]
    # The peers' plain float32 accumulators are far off: their error is a column, not a failure.
    table, times = compare(
        f"np.sum, {size:,} {dtype}", contenders(arrays[0]), rounds=rounds, unit="us", rtol=1e-2
    )
    error = errors(arrays)
    for row in table.rows:
        row["error, eps"] = error[str(row[""])]
    table.require("tracejit over numpy", times["tracejit"].cpu / times["numpy"].cpu, at_most=1.0)
    table.require("error of tracejit", error["tracejit"], at_most=error["numpy"])
    table.notes.append(
        f"error: root mean square over {len(arrays)} arrays, uniform and normal; numba: float64"
    )
    return table


def run(quick: bool) -> list[Table]:
    rounds, seeds = (3, 1) if quick else (11, 5)
    tables = [
        sums(np.dtype(kind), size, rounds, seeds)
        for kind in (np.float32, np.float64)
        for size in (SIZE, IN_CACHE)
    ]
    tables[0].notes += absent("numba", "jax")
    return tables

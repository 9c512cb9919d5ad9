"""What a call costs when the arrays are tiny: eight float64."""

import numpy as np

import tracejit

from .harness import Contender, Table, absent, compare, peer


def add(x, y):
    return x + y


def total(x):
    return np.sum(x)


def contenders(function, expression: str, arrays: dict[str, np.ndarray]) -> list[Contender]:
    """NumPy's bare expression, the same inside a Python function, and every compiler's call."""
    call = f"f({', '.join(arrays)})"
    found = [
        Contender("numpy", expression, {"np": np, **arrays}),
        Contender("numpy in a function", call, {"f": function, **arrays}),
        Contender("tracejit", call, {"f": tracejit.jit(function), **arrays}),
    ]
    if numba := peer("numba"):
        found.append(Contender("numba", call, {"f": numba.njit(function), **arrays}))
    if jax := peer("jax"):
        on_device = {name: jax.numpy.asarray(array) for name, array in arrays.items()}
        jitted = jax.jit(function) if function is add else jax.jit(jax.numpy.sum)
        found.append(Contender("jax", f"{call}.block_until_ready()", {"f": jitted, **on_device}))
    return found


def run(quick: bool) -> list[Table]:
    rounds = 5 if quick else 31
    x, y = np.linspace(0.5, 4.0, 8), np.linspace(-1.0, 1.0, 8)

    adding, times = compare(
        "x + y, 8 float64", contenders(add, "x + y", {"x": x, "y": y}), unit="ns", rounds=rounds
    )
    adding.require("tracejit over numpy", times["tracejit"].cpu / times["numpy"].cpu, at_most=0.4)

    summing, times = compare(
        "np.sum(x), 8 float64, a scalar out",
        contenders(total, "np.sum(x)", {"x": x}),
        unit="ns",
        rounds=rounds,
    )
    summing.require("tracejit over numpy", times["tracejit"].cpu / times["numpy"].cpu, at_most=1.0)
    adding.notes = absent("numba", "jax")
    return [adding, summing]

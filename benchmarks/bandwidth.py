"""A chain of 20 arithmetic operations against the copy bandwidth measured beside it."""

import numpy as np

import tracejit

from .fusion import jax_form, numba_forms
from .harness import Contender, Table, absent, compare

SIZE = 1_000_000


def chain(x, y):
    """Twenty additions, subtractions and multiplications over two arrays."""
    a = x * 0.5 + y
    b = a * x - 0.25
    c = b * 0.125 + x
    d = c * y + 0.75
    e = d * 0.0625 - a
    f = e * x + 1.5
    g = f * 0.5 - y
    h = g * 0.25 + b
    i = h * x - 0.5
    return i * 0.75 + c


def chain_loop(x, y):
    """`chain` in the form that suits Numba best."""
    out = np.empty_like(x)
    for k in range(x.size):
        a = x[k] * 0.5 + y[k]
        b = a * x[k] - 0.25
        c = b * 0.125 + x[k]
        d = c * y[k] + 0.75
        e = d * 0.0625 - a
        f = e * x[k] + 1.5
        g = f * 0.5 - y[k]
        h = g * 0.25 + b
        i = h * x[k] - 0.5
        out[k] = i * 0.75 + c
    return out


def run(quick: bool) -> list[Table]:
    random = np.random.default_rng(2)
    names = {"x": random.normal(size=SIZE), "y": random.normal(size=SIZE)}
    out = np.zeros(SIZE)
    contenders = [
        Contender("numpy", "f(x, y)", {"f": chain, **names}),
        Contender("tracejit", "f(x, y)", {"f": tracejit.jit(chain), **names}),
        *numba_forms(chain, chain_loop, names),
        *jax_form(chain, names),
        Contender("copy, new array", "x.copy()", names, yardstick=True),
        Contender("copy", "copyto(out, x)", {"copyto": np.copyto, "out": out, **names}, True),
    ]
    # fastmath and XLA contract to FMA, so they agree to rounding only.
    table, times = compare(
        f"20-op arithmetic chain of two arrays, {SIZE:,} float64",
        contenders,
        rounds=5 if quick else 31,
        rtol=1e-9,
        atol=1e-12,
    )
    speeds = {}
    for row in table.rows:
        name = str(row[""])
        arrays = 2 if name.startswith("copy") else 3  # read and written
        speeds[name] = arrays * out.nbytes / times[name].cpu / 1e9
        row["GB/s"] = speeds[name]
    for copy in ("copy, new array", "copy"):
        table.require(f"tracejit over {copy}", speeds["tracejit"] / speeds[copy], at_least=0.7)
    table.notes += absent("numba", "jax")
    return [table]

"""A million float64 through several operations: what one pass over memory and vector math bring."""

import math

import numpy as np

import tracejit
from tracejit.demo.programs import black_scholes, option_market

from .harness import Contender, Table, absent, compare, peer, rebind

SIZE = 1_000_000


def masked(x, y):
    return np.where(x > 0, np.sin(x) * y, 0).sum()


def masked_loop(x, y):
    """The form that suits Numba best: no temporaries."""
    total = 0.0
    for i in range(x.size):
        if x[i] > 0:
            total += math.sin(x[i]) * y[i]
    return total


def black_scholes_loop(spot, strike, years, rate, volatility):
    """`black_scholes` in the form that suits Numba best."""
    call = np.empty_like(spot)
    put = np.empty_like(spot)
    for i in range(spot.size):
        spread = volatility * math.sqrt(years[i])
        d1 = math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]
        d1 /= spread
        d2 = d1 - spread
        discounted = strike[i] * math.exp(-rate * years[i])
        below1 = 0.5 + 0.5 * math.erf(d1 * math.sqrt(0.5))
        below2 = 0.5 + 0.5 * math.erf(d2 * math.sqrt(0.5))
        call[i] = spot[i] * below1 - discounted * below2
        put[i] = discounted * (1 - below2) - spot[i] * (1 - below1)
    return call, put


def numba_forms(source, loop, names: dict) -> list[Contender]:
    """The same source where Numba takes it, and the loop, strict and with `fastmath`."""
    numba = peer("numba")
    if numba is None:
        return []
    call = f"f({', '.join(names)})"
    forms = {
        "numba loop": numba.njit(loop),
        "numba loop fastmath": numba.njit(fastmath=True)(loop),
    }
    if source is not None:
        forms["numba same source"] = numba.njit(source)
        forms["numba same source fastmath"] = numba.njit(fastmath=True)(source)
    return [Contender(name, call, {"f": form, **names}) for name, form in forms.items()]


def jax_form(function, names: dict) -> list[Contender]:
    jax = peer("jax")
    if jax is None:
        return []
    jitted = jax.jit(rebind(function, np=jax.numpy, erf=jax.scipy.special.erf))
    moved = {k: jax.numpy.asarray(v) if isinstance(v, np.ndarray) else v for k, v in names.items()}
    call = f"ready(f({', '.join(names)}))"
    return [Contender("jax", call, {"f": jitted, "ready": jax.block_until_ready, **moved})]


def masked_sum(rounds: int) -> Table:
    random = np.random.default_rng(1)
    names = {"x": random.normal(size=SIZE), "y": random.normal(size=SIZE)}
    source = "np.where(x > 0, np.sin(x) * y, 0).sum()"
    contenders = [
        Contender("numpy", source, {"np": np, **names}),
        Contender("tracejit", "f(x, y)", {"f": tracejit.jit(masked), **names}),
    ]
    if numexpr := peer("numexpr"):
        text = "sum(where(x > 0, sin(x) * y, 0))"
        contenders.append(
            Contender("numexpr", f"evaluate({text!r})", {"evaluate": numexpr.evaluate, **names})
        )
    contenders += numba_forms(masked, masked_loop, names) + jax_form(masked, names)
    # The terms are of size 1 and cancel: rounding is measured against their number, not their sum.
    table, times = compare(f"{source}, {SIZE:,} float64", contenders, rounds=rounds, atol=1e-8)
    ratio = times["numpy"].cpu / times["tracejit"].cpu
    table.require("numpy over tracejit", ratio, at_least=12.0)
    return table


def options(rounds: int) -> Table:
    arguments = option_market(SIZE)
    names = dict(zip(("spot", "strike", "years", "rate", "volatility"), arguments, strict=True))
    call = f"f({', '.join(names)})"
    contenders = [
        Contender("numpy", call, {"f": black_scholes, **names}),
        Contender("tracejit", call, {"f": tracejit.jit(black_scholes), **names}),
        *numba_forms(None, black_scholes_loop, names),
        *jax_form(black_scholes, names),
    ]
    table, times = compare(
        f"Black-Scholes, call and put, {SIZE:,} options, float64",
        contenders,
        rounds=rounds,
        atol=1e-11,
    )
    table.notes.append("numexpr has no erf: left out")
    for rival, factor in (
        ("numpy", 4.0),
        ("numba loop", 3.0),
        ("numba loop fastmath", 3.0),
        ("jax", 3.0),
    ):
        if rival in times:
            ratio = times[rival].cpu / times["tracejit"].cpu
            table.require(f"{rival} over tracejit", ratio, at_least=factor)
    return table


def run(quick: bool) -> list[Table]:
    rounds = 3 if quick else 11
    tables = [masked_sum(rounds), options(rounds)]
    tables[0].notes += absent("numexpr", "numba", "jax")
    return tables

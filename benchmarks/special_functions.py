"""Special functions compiled: greatest error in ULP, and speed beside SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

import tracejit

from .harness import Contender, Table, compare
from .special_sweep import NAMES, errors, points
from .vector_math_sweep import DTYPES

SIZE = 100_000
#: Arguments that programs have.
RANGES = {
    **dict.fromkeys(("expit", "log_expit", "i0", "i0e", "i1", "i1e"), (-20.0, 20.0)),
    **dict.fromkeys(("logit", "ndtri"), (0.0, 1.0)),
    **dict.fromkeys(("gamma", "gammaln", "psi"), (0.1, 50.0)),
    **dict.fromkeys(("j0", "j1"), (-50.0, 50.0)),
    "erfc": (-3.0, 6.0),
    "erfcinv": (0.0, 2.0),
    "erfcx": (-5.0, 20.0),
    "erfinv": (-1.0, 1.0),
    "log_ndtr": (-10.0, 5.0),
    "ndtr": (-6.0, 6.0),
}


def compiled(name: str) -> Any:
    function = getattr(scipy.special, name)

    def program(x: Any) -> Any:
        return function(x)

    return tracejit.jit(program, strict=True)


def accuracy(count: int) -> Table:
    """Greatest error of each function and float width, and SciPy's."""
    rows: list[dict[str, str | float | int]] = []
    table = Table(f"error in ULP against mpmath, {count:,} points in each group", rows)
    for dtype, kind in DTYPES.items():
        for name in NAMES:
            with np.errstate(all="ignore"):
                x = points(name, count).astype(kind)
                found = errors(name, x, compiled(name)(x))
                scipys = errors(name, x, np.asarray(getattr(scipy.special, name)(x)))
            row = {"": f"{name} {dtype}", "tracejit": float(found.max())}
            rows.append(row | {"scipy": float(scipys.max()), "at": f"{x[found.argmax()]:.9g}"})
            most = 0.51 if dtype == "f32" else 8.0
            table.require(f"{name} {dtype}", float(found.max()), at_most=most)
    return table


def speeds(rounds: int) -> Table:
    """ns an element beside SciPy."""
    rows: list[dict[str, str | float | int]] = []
    table = Table(f"ns an element, {SIZE:,} elements", rows)
    random = np.random.default_rng(3)
    for dtype, kind in DTYPES.items():
        for name in NAMES:
            x = random.uniform(*RANGES[name], SIZE).astype(kind)
            contenders = [
                Contender("scipy", "f(x)", {"f": getattr(scipy.special, name), "x": x}),
                Contender("tracejit", "f(x)", {"f": compiled(name), "x": x}),
            ]
            tolerance = 1e-9 if dtype == "f64" else 1e-4
            _, times = compare(name, contenders, rounds=rounds, rtol=tolerance, atol=tolerance)
            row: dict[str, str | float | int] = {"": f"{name} {dtype}"}
            row |= {head: timing.cpu / SIZE * 1e9 for head, timing in times.items()}
            ratio = times["scipy"].cpu / times["tracejit"].cpu
            rows.append(row | {"times scipy": ratio})
            table.require(f"{name} {dtype}", ratio, at_least=1.2)
    return table


def run(quick: bool) -> list[Table]:
    return [accuracy(20 if quick else 400), speeds(4 if quick else 20)]

"""Distributions with parameters, drawn by NumPy and by compiled programs: the same bits, the same
states.

`python -m tests.codegen.drawn_streams 1000000` draws so many of each.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import tracejit
from tests.support.compare import assert_same

#: Method -> arguments.
GENERATOR: dict[str, list[tuple[Any, ...]]] = {
    "beta": [(2.0, 3.0), (0.3, 0.4)],
    "binomial": [(10, 0.3), (1000, 0.5), (100, 0.99), (0, 0.5), (5, 0.0), (5, 1.0)],
    "chisquare": [(3.0,)],
    "f": [(3.0, 4.0)],
    "gamma": [(2.0, 1.5), (0.2, 1.0)],
    "geometric": [(0.3,), (0.9,), (1.0,)],
    "gumbel": [()],
    "hypergeometric": [(5, 6, 4), (500, 600, 100), (5, 0, 3)],
    "laplace": [()],
    "logistic": [()],
    "lognormal": [()],
    "logseries": [(0.3,), (0.999,)],
    "negative_binomial": [(5, 0.4), (2.5, 0.01)],
    "noncentral_chisquare": [(3.0, 1.0), (0.5, 2.0), (2.0, 0.0)],
    "noncentral_f": [(3.0, 4.0, 1.0)],
    "pareto": [(2.0,)],
    "poisson": [(3.0,), (50.0,)],
    "power": [(2.0,)],
    "rayleigh": [()],
    "standard_cauchy": [()],
    "standard_t": [(3.0,)],
    "triangular": [(0.0, 1.0, 3.0), (0.0, 0.0, 2.0)],
    "vonmises": [(0.0, 2.0), (1.0, 1e-9), (0.0, 1e7)],
    "wald": [(1.0, 2.0)],
    "weibull": [(2.0,)],
    "zipf": [(3.0,), (1.1,)],
}
STATE: dict[str, list[tuple[Any, ...]]] = {
    "binomial": [(10, 0.3), (1000, 0.5), (100, 0.99), (5, 1.0)],
    "gumbel": [()],
    "laplace": [()],
    "logistic": [()],
    "triangular": [(0.0, 1.0, 3.0)],
}
CASES = [("Generator", name, args) for name, cases in GENERATOR.items() for args in cases]
CASES += [("RandomState", name, args) for name, cases in STATE.items() for args in cases]


def stream(cls: str) -> Any:
    return np.random.default_rng(3) if cls == "Generator" else np.random.RandomState(3)


def state(x: Any) -> Any:
    return x.bit_generator.state if isinstance(x, np.random.Generator) else x.get_state(False)


def compare(cls: str, name: str, args: tuple[Any, ...], size: Any, strict: bool = True) -> Any:
    """Draw twice, from the same state; the compiled function."""

    def drawn(s: Any, *args: Any) -> Any:
        if size is None:
            return getattr(s, name)(*args)
        return getattr(s, name)(*args, size=size)

    jitted: Any = tracejit.jit(drawn, strict=strict)
    one, other = stream(cls), stream(cls)
    for _ in range(2):
        assert_same(drawn(one, *args), jitted(other, *args))
    assert str(state(one)) == str(state(other))
    return jitted


if __name__ == "__main__":
    for case in CASES:
        compare(*case, int(sys.argv[1]))
        print(*case, "the same")

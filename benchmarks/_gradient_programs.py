"""More programs for gradients, as their users write them in NumPy; with those of `programs/`.

Arrays are float64 unless their docstrings say otherwise.
"""

from typing import Any

import numpy as np
from scipy.special import erf

from .programs import named
from .programs.program import Program


def mlp(x, labels, w1, b1, w2, b2, w3, b3):
    """Mean cross-entropy, float64, of a network of three layers.

    x: (batch, inputs); labels: int64 (batch,); weights (inputs, outputs) and biases (outputs,).
    """
    h = np.tanh(x @ w1 + b1)
    h = np.maximum(h @ w2 + b2, 0.0)
    scores = h @ w3 + b3
    largest = np.max(scores, axis=1, keepdims=True)
    total = np.log(np.sum(np.exp(scores - largest), axis=1)) + largest[:, 0]
    return np.mean(total - scores[np.arange(len(labels)), labels])


def mlp_arguments(batch: int, inputs: int, first: int, second: int, classes: int) -> dict[str, Any]:
    rng = np.random.default_rng(42)
    sizes = [inputs, first, second, classes]
    out = {"x": rng.random((batch, inputs)), "labels": rng.integers(0, classes, batch)}
    for k, (m, n) in enumerate(zip(sizes[:-1], sizes[1:], strict=True), 1):
        out[f"w{k}"] = rng.normal(0.0, m**-0.5, (m, n))
        out[f"b{k}"] = rng.normal(0.0, 0.1, n)
    return out


def normal_cdf(x):
    """The distribution function of the normal distribution."""
    return 0.5 * (1.0 + erf(x / 1.4142135623730951))


def black_scholes(spot, strike, years, rate, volatility):
    """The value of a European call (Black and Scholes, 1973); all of one shape."""
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    discounted = strike * np.exp(-rate * years)
    return spot * normal_cdf(d1) - discounted * normal_cdf(d1 - spread)


def option_arguments(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(42)
    limits = {
        "spot": (80.0, 120.0),
        "strike": (80.0, 120.0),
        "years": (0.2, 2.0),
        "rate": (0.0, 0.05),
        "volatility": (0.1, 0.5),
    }
    return {name: rng.uniform(low, high, n) for name, (low, high) in limits.items()}


def thomas(lower, diagonal, upper, b):
    """Solve a tridiagonal system, all (n,), by elimination without pivots (Thomas, 1949)."""
    n = len(b)
    x = np.empty(n)
    c = np.empty(n)
    c[0] = upper[0] / diagonal[0]
    x[0] = b[0] / diagonal[0]
    for i in range(1, n):
        pivot = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / pivot
        x[i] = (b[i] - lower[i] * x[i - 1]) / pivot
    for i in range(n - 2, -1, -1):
        x[i] -= c[i] * x[i + 1]
    return x


def thomas_arguments(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(42)
    names = ("lower", "upper", "b")
    found = {name: rng.uniform(-1.0, 1.0, n) for name in names}
    diagonal = 4.0 + rng.random(n)
    return {k: found.get(k, diagonal) for k in ("lower", "diagonal", "upper", "b")}


def burgers(steps, u, ratio, viscosity):
    """`steps` steps of Burgers' equation on u, (n,), in place: central differences in space."""
    for _ in range(steps):
        slope = ratio * u[1:-1] * (u[2:] - u[:-2])
        u[1:-1] += viscosity * (u[2:] - 2.0 * u[1:-1] + u[:-2]) - slope


def burgers_arguments(steps: int, n: int) -> dict[str, Any]:
    x = np.linspace(0.0, 2.0 * np.pi, n)
    u = np.sin(x) + 0.3 * np.cos(3.0 * x)
    return {"steps": steps, "u": u, "ratio": 0.05, "viscosity": 0.2}


def pendulum(parameters, end, tolerance):
    """Angle and speed at time `end` of a damped pendulum, float64 (2,); and how many steps it took.

    parameters: (4,): frequency, damping, first angle and speed. Steps of Heun's method with Euler's
    inside, which are taken again with half the step while their difference is too large.
    """
    frequency, damping, angle, speed = parameters
    t, h, tries = 0.0, 0.01, 0
    while t < end:
        tries += 1
        h = min(h, end - t)
        a = -frequency * np.sin(angle) - damping * speed
        next_angle, next_speed = angle + h * speed, speed + h * a
        b = -frequency * np.sin(next_angle) - damping * next_speed
        error = 0.5 * h * max(abs(next_speed - speed), abs(b - a))
        if error > tolerance:
            h = 0.5 * h
        else:
            t = t + h
            angle, speed = angle + 0.5 * h * (speed + next_speed), speed + 0.5 * h * (a + b)
            if error < 0.25 * tolerance:
                h = 1.5 * h
    return np.array([angle, speed]), tries


def pendulum_arguments(end: float, tolerance: float) -> dict[str, Any]:
    return {"parameters": np.array([4.0, 0.2, 2.0, 0.5]), "end": end, "tolerance": tolerance}


def _program(name, kernel, arguments, small, measured, kind, rtol=1e-9) -> Program:
    return Program(name, kernel, arguments, {"S": small, "M": measured}, kind, rtol)


LAYERS = {"inputs": 784, "first": 128, "second": 64, "classes": 10}
VECTORISED: tuple[Program, ...] = (
    named("softmax"),
    _program(
        "mlp",
        mlp,
        mlp_arguments,
        {"batch": 5, "inputs": 7, "first": 6, "second": 4, "classes": 3},
        {"batch": 64, **LAYERS},
        "no loop",
    ),
    named("resnet"),
    named("nbody"),
    _program(
        "black_scholes", black_scholes, option_arguments, {"n": 20}, {"n": 100_000}, "no loop"
    ),
)
LOOPS: tuple[Program, ...] = (
    named("cholesky"),
    named("lu"),
    _program("thomas", thomas, thomas_arguments, {"n": 30}, {"n": 20_000}, "long loops"),
    _program(
        "burgers",
        burgers,
        burgers_arguments,
        {"steps": 12, "n": 30},
        {"steps": 1000, "n": 1000},
        "short loops",
    ),
    _program(
        "pendulum",
        pendulum,
        pendulum_arguments,
        {"end": 1.0, "tolerance": 1e-4},
        {"end": 10.0, "tolerance": 1e-6},
        "long loops",
    ),
)

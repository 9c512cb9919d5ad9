"""The programs that are timed on a GPU: plain NumPy, with their sizes and what they must move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tracejit

from .harness import peer

Sizes = tuple[int, ...]
F32 = np.float32
#: The rate of learning: so large that a wrong slope is seen in the weights.
RATE = 5.0


def gelu(x, bias, residual):
    h = x + bias
    return residual + 0.5 * h * (1 + np.tanh(0.7978845608 * (h + 0.044715 * h * h * h)))


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x, weight, bias):
    mean = x.mean(axis=1, keepdims=True)
    centred = x - mean
    variance = (centred * centred).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * weight + bias


def row_sums(x):
    return x.sum(axis=1)


def column_sums(x):
    return x.sum(axis=0)


def full_sum(x):
    return x.sum()


def heat(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] += 0.2 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )
    return u


def accelerations(x, y, z, mass):
    dx, dy, dz = x - x[:, None], y - y[:, None], z - z[:, None]
    square = dx * dx + dy * dy + dz * dz + 1e-2
    pull = mass / (square * np.sqrt(square))
    return (dx * pull).sum(axis=1), (dy * pull).sum(axis=1), (dz * pull).sum(axis=1)


def escape(x, y, limit):
    a, b, n = x, y, 0
    while a * a + b * b <= 4 and n < limit:
        a, b = a * a - b * b + x, 2 * a * b + y
        n += 1
    return n


def mandelbrot(x, y, limit):
    return np.array([escape(a, b, limit) for a, b in zip(x, y, strict=True)])


def mlp_loss(weights, x, target):
    w1, b1, w2, b2, w3, b3 = weights
    h = np.maximum(x @ w1 + b1, 0)
    h = np.maximum(h @ w2 + b2, 0)
    e = h @ w3 + b3 - target
    return (e * e).mean()


def train_step(weights, x, target):
    value, slopes = tracejit.value_and_grad(mlp_loss)(weights, x, target)
    return value, tuple(w - RATE * s for w, s in zip(weights, slopes, strict=True))


def plus_one(x):
    return x + 1


@dataclass(frozen=True)
class Case:
    """One program: `f`, whose arguments `make` gives for sizes, fresh ones for each set."""

    name: str
    f: Callable[..., Any]
    make: Callable[[np.random.Generator, Sizes], tuple[Any, ...]]
    sizes: Sizes
    #: For the comparison with NumPy.
    small: Sizes
    #: For the simulated device.
    tiny: Sizes
    #: How the sizes read.
    size_text: str
    #: Bytes that have to be read and written, where memory is what limits it.
    traffic: Callable[[Sizes], int] | None = None
    #: What is counted in a second, in 1e9, and how many there are.
    work: tuple[str, Callable[[Sizes], int]] | None = None
    #: What is compiled, where it is not `f` itself.
    compiled: Callable[..., Any] | None = None
    #: Sets of arguments that take turns.
    sets: int = 4
    #: How far results may be off, relative to the largest; of counts, the share that may differ.
    tolerance: float = 2e-5

    def text(self, sizes: Sizes) -> str:
        """The sizes in words."""
        return self.size_text.format(*(f"{n:,}" if n > 9999 else n for n in sizes))


def _uniform(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return rng.random(shape, F32)


def _options(rng: np.random.Generator, sizes: Sizes) -> tuple[Any, ...]:
    spot, strike, years = (_uniform(rng, *sizes) for _ in range(3))
    return 50 + 100 * spot, 50 + 100 * strike, F32(0.25) + 2 * years, 0.02, 0.3


def _rows(rng: np.random.Generator, sizes: Sizes) -> tuple[Any, ...]:
    return (_uniform(rng, *sizes) * 4 - 2,)


def _pixels(dtype: Any) -> Callable[..., tuple[Any, ...]]:
    def make(rng: np.random.Generator, sizes: Sizes) -> tuple[Any, ...]:
        width, height, limit = sizes
        # A shift below a pixel: sets differ.
        shift = rng.random() / width
        y, x = np.meshgrid(
            np.linspace(-1.25, 1.25, height), np.linspace(-2.0, 0.5, width) + shift, indexing="ij"
        )
        return x.ravel().astype(dtype), y.ravel().astype(dtype), limit

    return make


def _network(rng: np.random.Generator, sizes: Sizes) -> tuple[Any, ...]:
    batch, inputs, hidden, outputs = sizes
    weights: list[Any] = []
    for m, n in ((inputs, hidden), (hidden, hidden), (hidden, outputs)):
        weights += [(_uniform(rng, m, n) - F32(0.5)) * F32(2 / np.sqrt(m)), _uniform(rng, n)]
    return tuple(weights), _uniform(rng, batch, inputs), _uniform(rng, batch, outputs)


def _mandelbrot(name: str, dtype: Any) -> Case:
    return Case(
        name, mandelbrot, _pixels(dtype), (4096, 4096, 500), (64, 48, 60), (4, 3, 6),
        "{0} x {1} pixels, at most {2} steps each, " + np.dtype(dtype).name,
        work=("Gpixels/s", lambda s: s[0] * s[1]),
        compiled=tracejit.vmap(escape, (0, 0, None)), sets=2, tolerance=0.02,
    )  # fmt: skip


def cases() -> list[Case]:
    """Every case, in the order of the table."""
    rows, large, small, tiny = (16384, 1024), (131072, 1024), (70, 130), (3, 5)
    table = "{0} x {1} float32"

    def both(s: Sizes) -> int:
        return 8 * s[0] * s[1]

    def once(s: Sizes) -> int:
        return 4 * s[0] * s[1]

    def beside(rng: np.random.Generator, s: Sizes) -> tuple[Any, ...]:
        return (*_rows(rng, s), _uniform(rng, s[1]), *_rows(rng, s))

    def affine(rng: np.random.Generator, s: Sizes) -> tuple[Any, ...]:
        return (*_rows(rng, s), _uniform(rng, s[1]), _uniform(rng, s[1]))

    def plate(rng: np.random.Generator, s: Sizes) -> tuple[Any, ...]:
        return _uniform(rng, *s[:2]), s[2]

    def bodies(rng: np.random.Generator, s: Sizes) -> tuple[Any, ...]:
        return tuple(_uniform(rng, *s) for _ in range(4))

    def positive(rng: np.random.Generator, s: Sizes) -> tuple[Any, ...]:
        return (_uniform(rng, *s),)

    found = [
        Case("gelu", gelu, beside, rows, small, tiny, f"{table}, with bias and residual",
             lambda s: 12 * s[0] * s[1]),
        Case("softmax", softmax, _rows, rows, small, tiny, table, both),
        Case("softmax large", softmax, _rows, large, small, tiny, table, both, sets=2),
        Case("layer norm", layer_norm, affine, rows, small, tiny, table, both),
        Case("layer norm large", layer_norm, affine, large, small, tiny, table, both, sets=2),
        Case("row sums", row_sums, _rows, rows, small, tiny, table, once),
        Case("column sums", column_sums, _rows, rows, small, tiny, table, once),
        Case("full sum", full_sum, positive, rows, small, tiny, table, once),
        Case("full sum large", full_sum, positive, large, small, tiny, table, once, sets=2),
        Case("stencil", heat, plate, (4096, 4096, 50), (40, 50, 7), (5, 6, 2),
             "{0} x {1} float32, {2} steps", lambda s: 8 * s[0] * s[1] * s[2], sets=2),
        Case("n-body", accelerations, bodies, (16384,), (100,), (5,),
             "{0} bodies float32, all pairs",
             work=("Gpairs/s", lambda s: s[0] ** 2), tolerance=1e-4),
        _mandelbrot("mandelbrot f32", np.float32),
        _mandelbrot("mandelbrot f64", np.float64),
        Case("mlp", train_step, _network, (8192, 1024, 2048, 256), (20, 12, 16, 5), (3, 2, 3, 2),
             "batch {0}, layers {1}-{2}-{2}-{3}, float32, one step of SGD", sets=2,
             work=("GFLOP/s", lambda s: 6 * s[0] * (s[1] * s[2] + s[2] ** 2 + s[2] * s[3])),
             tolerance=2e-4),
        Case("launch", plus_one, _rows, (1, 1024), (1, 1024), (1, 5), "x + 1, {0} x {1} float32"),
    ]  # fmt: skip
    if peer("scipy") is not None:
        from tracejit.demo.programs import black_scholes

        found.insert(0, Case(
            "black-scholes", black_scholes, _options, (16 << 20,), (1000,), (7,),
            "{0} options float32, call and put", lambda s: 20 * s[0], sets=3,
        ))  # fmt: skip
    return found


def without_scipy() -> list[str]:
    """A note where a case is missing."""
    return [] if peer("scipy") is not None else ["black-scholes: scipy is not installed: left out"]

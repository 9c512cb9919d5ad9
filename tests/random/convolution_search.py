"""Random convolutions, compiled: their values, gradients, batches and tangents against NumPy's.

`check(seed)` holds the compiled function against NumPy, for two sizes, and its gradient against
differences, which of such a function are exact.

python -m tests.random.convolution_search --seeds 0:1000
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit
from tests.random.convolutions import Case, generate

__all__ = ["Wrong", "check"]


class Wrong(AssertionError):
    """A compiled program does something else than NumPy."""


def _close(what: str, got: Any, expected: Any, scale: Any, dtype: Any) -> None:
    if np.shape(got) != np.shape(expected):
        raise Wrong(f"{what}: shape {np.shape(got)}, not {np.shape(expected)}")
    if getattr(got, "dtype", None) != getattr(expected, "dtype", None):
        raise Wrong(f"{what}: {got.dtype}, not {expected.dtype}")
    error = np.max(np.abs(np.asarray(got) - expected), initial=0.0)
    if not error <= 64 * np.finfo(dtype).eps * scale:
        raise Wrong(f"{what}: off by {error}, of {scale}")


def check(seed: int, *, gradient: bool = True, batch: bool = False) -> None:
    """Compile the case, and compare; raises `Wrong`."""
    case = generate(seed)
    f = case.function()
    compiled = tracejit.jit(f, strict=case.strict)
    for x, w in case.calls(seed):
        expected = f(x, w)
        scale = 1.0 + np.max(f(np.abs(x.astype("f8")), np.abs(w.astype("f8"))), initial=0.0)
        _close("value", compiled(x, w), expected, scale, case.dtype)
    if gradient and case.strict:
        _check_gradient(case, f, seed)
    if batch and case.strict:
        _check_batch(case, f, seed)


def _check_gradient(case: Case, f: Callable[..., Any], seed: int) -> None:
    rng = np.random.default_rng(seed + 1)

    def loss(x: Any, w: Any, r: Any) -> Any:
        return np.sum(f(x, w) * r)

    derived = tracejit.jit(tracejit.grad(loss, argnums=(0, 1)), strict=case.strict)
    for x, w in case.calls(seed, "f8"):
        r = rng.standard_normal(np.shape(f(x, w)))
        got = derived(x, w, r)
        for place, (v, d) in enumerate(zip((x, w), got, strict=True)):
            if d.shape != v.shape:
                raise Wrong(f"gradient {place}: shape {d.shape}, not {v.shape}")
            for _ in range(2):
                along = rng.standard_normal(v.shape)
                ends = [v + along, v - along]
                a, b = (loss(*((e, w) if place == 0 else (x, e)), r) for e in ends)
                told, expected = np.sum(d * along), (a - b) / 2
                scale = 1.0 + np.sum(np.abs(r)) * np.sqrt(v.size) * 10
                if not abs(told - expected) <= 1e-12 * scale:
                    raise Wrong(f"gradient {place}: {told}, not {expected}")


def _check_batch(case: Case, f: Callable[..., Any], seed: int) -> None:
    (x, w), _ = case.calls(seed, "f8")
    scale = 1.0 + np.max(f(np.abs(x), np.abs(w)), initial=0.0)
    xs = np.stack([x, 2 * x, x - 1])
    expected = np.stack([f(v, w) for v in xs])
    got = tracejit.jit(tracejit.vmap(f, in_axes=(0, None)))(xs, w)
    _close("batch", got, expected, 8 * scale, "f8")
    _, told = tracejit.jit(lambda x, w, d: tracejit.jvp(f, (x, w), (d, w)))(x, w, xs[2])
    _close("tangent", told, f(xs[2], w) + f(x, w), 8 * scale, "f8")

    def second(x: Any, w: Any) -> Any:
        return np.sum(tracejit.grad(lambda x, w: np.sum(f(x, w) ** 2))(x, w) ** 2)

    d = tracejit.jit(tracejit.grad(second))(x, w)
    along = np.random.default_rng(seed).standard_normal(x.shape)
    # Of the fourth degree nothing: `second` is a quadratic form of x.
    ends = [tracejit.jit(second)(x + s * along, w) for s in (1, -1)]
    expected, told = (ends[0] - ends[1]) / 2, np.sum(d * along)
    if not abs(told - expected) <= 1e-9 * (1 + abs(ends[0]) + abs(ends[1])):
        raise Wrong(f"second derivative: {told}, not {expected}")


def main() -> int:
    """Check seeds; returns 1 if one was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0:100", help="first:end")
    parser.add_argument("--stop", type=int, default=5)
    arguments = parser.parse_args()
    first, end = map(int, arguments.seeds.split(":"))
    failures = 0
    for seed in range(first, end):
        try:
            check(seed, batch=seed % 4 == 0)
        except Exception as e:
            failures += 1
            print(f"seed {seed}: {type(e).__name__}: {e}", flush=True)
            if not isinstance(e, Wrong):
                traceback.print_exc(limit=-3)
            print(generate(seed).text, generate(seed).shapes, flush=True)
            if failures >= arguments.stop:
                break
    print(f"seeds {arguments.seeds}: {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""The programs of `_gpu_cases` as users of CuPy, PyTorch and JAX write them.

A form is a library, a name for the table, and what makes the function; importing the library is
part of that.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from . import _gpu_cases as plain
from .harness import rebind

#: Library, name in the table, what makes the function.
Form = tuple[str, str, Callable[[], Callable[..., Any]]]

#: Slow to compile: its results are compared at the large sizes alone.
COMPILED = "torch.compile"

ESCAPE = r"""
extern "C" __global__ void escape(const T* x, const T* y, long long* out, int limit, long long n)
{
    long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k >= n) return;
    T cx = x[k], cy = y[k], a = cx, b = cy;
    int steps = 0;
    while (a * a + b * b <= 4 && steps < limit) {
        T next = a * a - b * b + cx;
        b = 2 * a * b + cy;
        a = next;
        ++steps;
    }
    out[k] = steps;
}
"""


def forms(name: str) -> list[Form]:
    """The peers of a case."""
    case = name.removesuffix(" large")
    found: dict[str, list[Form]] = {
        "black-scholes": [
            ("cupy", "cupy", _black_scholes_cupy),
            ("cupy", "cupy fuse", lambda: _cupy().fuse()(_black_scholes_cupy())),
            *_torch("black_scholes"),
            ("jax", "jax", _black_scholes_jax),
        ],
        "gelu": [
            *_same(plain.gelu, fuse=True), *_torch("gelu")
        ],
        "softmax": [*_same(plain.softmax), *_torch("softmax")],
        "layer norm": [*_same(plain.layer_norm), *_torch("layer_norm")],
        "row sums": [*_same(plain.row_sums), *_torch("row_sums")],
        "column sums": [*_same(plain.column_sums), *_torch("column_sums")],
        "full sum": [*_same(plain.full_sum), *_torch("full_sum")],
        "stencil": [
            ("cupy", "cupy", lambda: rebind(plain.heat, np=_cupy())),
            ("cupy", "cupy fuse", _heat_fused),
            *_torch("heat"),
            ("jax", "jax", _heat_jax),
        ],
        "n-body": [*_same(plain.accelerations), *_torch("accelerations")],
        "mandelbrot f32": _mandelbrot("float"),
        "mandelbrot f64": _mandelbrot("double"),
        "mlp": [
            ("cupy", "cupy, slopes by hand", _train_cupy),
            *_torch("train_step"),
            ("jax", "jax", _train_jax),
        ],
        "launch": [
            ("cupy", "cupy", lambda: plain.plus_one),
            ("cupy", "cupy ElementwiseKernel", _plus_one_kernel),
            *_torch("plus_one"),
            ("jax", "jax", lambda: _jax().jit(plain.plus_one)),
        ],
    }  # fmt: skip
    return found[case]


def _cupy() -> Any:
    import cupy

    return cupy


def _jax() -> Any:
    import jax

    return jax


def _same(f: Any, fuse: bool = False) -> list[Form]:
    """The same code by CuPy and by JAX."""

    def jitted() -> Any:
        import jax.numpy

        return _jax().jit(rebind(f, np=jax.numpy))

    found: list[Form] = [("cupy", "cupy", lambda: rebind(f, np=_cupy()))]
    if fuse:
        found.append(("cupy", "cupy fuse", lambda: _cupy().fuse()(rebind(f, np=_cupy()))))
    return [*found, ("jax", "jax", jitted)]


def _torch(name: str) -> list[Form]:
    def module() -> Any:
        # It imports PyTorch, which takes seconds.
        return importlib.import_module("._gpu_torch", __package__)

    return [
        ("torch", "torch eager", lambda: getattr(module(), name)),
        ("torch", COMPILED, lambda: module().compiled(name)),
    ]


def _black_scholes_cupy() -> Any:
    from cupyx.scipy.special import erf

    from tracejit.demo.programs import black_scholes

    return rebind(black_scholes, np=_cupy(), erf=erf)


def _black_scholes_jax() -> Any:
    import jax.numpy
    from jax.scipy.special import erf

    from tracejit.demo.programs import black_scholes

    return jax.jit(rebind(black_scholes, np=jax.numpy, erf=erf))


def _heat_fused() -> Any:
    @_cupy().fuse()
    def change(here, below, above, right, left):
        return here + 0.2 * (below + above + right + left - 4 * here)

    def heat(u, steps):
        u = u.copy()
        inner = u[1:-1, 1:-1]
        for _ in range(steps):
            inner[...] = change(inner, u[2:, 1:-1], u[:-2, 1:-1], u[1:-1, 2:], u[1:-1, :-2])
        return u

    return heat


def _heat_jax() -> Any:
    jax = _jax()

    def step(_, u):
        return u.at[1:-1, 1:-1].add(
            0.2 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        )

    return jax.jit(lambda u, steps: jax.lax.fori_loop(0, steps, step, u))


def _mandelbrot(kind: str) -> list[Form]:
    def by_hand() -> Any:
        cp = _cupy()
        kernel = cp.RawKernel(ESCAPE.replace("T ", f"{kind} ").replace("T*", f"{kind}*"), "escape")

        def run(x, y, limit):
            out = cp.empty(x.shape, cp.int64)
            kernel(
                (-(-x.size // 256),),
                (256,),
                (x, y, out, cp.int32(limit), cp.int64(x.size)),
            )
            return out

        return run

    def lanes() -> Any:
        jax = _jax()

        def escape(x, y, limit):
            def step(state):
                a, b, n = state
                return a * a - b * b + x, 2 * a * b + y, n + 1

            def inside(state):
                a, b, n = state
                return (a * a + b * b <= 4) & (n < limit)

            return jax.lax.while_loop(inside, step, (x, y, 0))[2]

        return jax.jit(jax.vmap(escape, (0, 0, None)))

    return [("cupy", "cupy RawKernel by hand", by_hand), ("jax", "jax", lanes)]


def _train_cupy() -> Any:
    cp = _cupy()

    def step(weights, x, target):
        w1, b1, w2, b2, w3, b3 = weights
        h1 = cp.maximum(x @ w1 + b1, 0)
        h2 = cp.maximum(h1 @ w2 + b2, 0)
        e = h2 @ w3 + b3 - target
        d3 = e * (2 / e.size)
        d2 = (d3 @ w3.T) * (h2 > 0)
        d1 = (d2 @ w2.T) * (h1 > 0)
        slopes = (x.T @ d1, d1.sum(0), h1.T @ d2, d2.sum(0), h2.T @ d3, d3.sum(0))
        updated = tuple(w - plain.RATE * s for w, s in zip(weights, slopes, strict=True))
        return (e * e).mean(), updated

    return step


def _train_jax() -> Any:
    import jax
    import jax.numpy

    slope = jax.value_and_grad(rebind(plain.mlp_loss, np=jax.numpy))

    def step(weights, x, target):
        value, slopes = slope(weights, x, target)
        return value, tuple(w - plain.RATE * s for w, s in zip(weights, slopes, strict=True))

    return jax.jit(step)


def _plus_one_kernel() -> Any:
    return _cupy().ElementwiseKernel("T x", "T y", "y = x + 1", "plus_one")

"""Loops as Python and Numba take them, the same in JAX's `lax` forms, and their arguments."""

from collections.abc import Callable
from typing import Any

import numpy as np


def warm_up(x):
    """A loop and a branch: compiled first, it pays for the start of the back end."""
    s = 0.0
    for v in x:
        if v > 0.5:
            s += v
    return s


def collatz_lengths(limit):
    """The number below `limit` whose Collatz sequence is longest, and its length."""
    best, where = 0, 1
    for start in range(1, limit):
        n, steps = start, 0
        while n != 1:
            if n % 2 == 0:
                n = n // 2
            else:
                n = 3 * n + 1
            steps += 1
        if steps > best:
            best, where = steps, start
    return best, where


def newton(a):
    """The sum of the square roots, each by iteration until two agree."""
    total = 0.0
    for v in a:
        x = v
        for _ in range(50):
            y = 0.5 * (x + v / x)
            if abs(y - x) <= 1e-12 * y:
                break
            x = y
        total += x
    return total


def julia(height, width, most):
    """Escape time of each pixel under z**2 - 0.8 + 0.156i."""
    image = np.zeros((height, width), dtype=np.int64)
    for i in range(height):
        for j in range(width):
            x = -1.5 + 3.0 * j / width
            y = -1.0 + 2.0 * i / height
            n = 0
            while n < most and x * x + y * y <= 4.0:
                x, y = x * x - y * y - 0.8, 2.0 * x * y + 0.156
                n += 1
            image[i, j] = n
    return image


def logistic(x, most):
    """A float state until it comes near a point that it does not come near, or `most` steps."""
    n = 0
    while n < most and abs(x - 0.75) > 1e-12:
        x = 3.7 * x * (1.0 - x)
        n += 1
    return x, n


def fnv(data):
    """The 32-bit FNV-1a hash of bytes."""
    h = 2166136261
    for i in range(len(data)):
        h = ((h ^ int(data[i])) * 16777619) & 0xFFFFFFFF
    return h


BYTES = (np.arange(100_000) * 7919 % 251).astype(np.uint8)
NUMBERS = np.linspace(1.0, 1000.0, 10_000)

#: Function, arguments for its run time, smaller ones for its first call, what the title says.
SCALAR_LOOPS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...], str]] = {
    "collatz": (collatz_lengths, (10_000,), (10,), "Collatz lengths below 10,000"),
    "newton": (newton, (NUMBERS,), (NUMBERS[:10],), "Newton's square roots of 10,000 numbers"),
    "julia": (julia, (120, 160, 200), (4, 5, 10), "Julia set, 120 x 160 pixels, 200 steps"),
    "logistic": (logistic, (0.5, 200_000), (0.5, 10), "a while over a float, 200,000 steps"),
    "fnv": (fnv, (BYTES,), (BYTES[:10],), "FNV hash of 100,000 bytes"),
}


def ten_updates(x):
    for i in range(10):
        x = x * 0.5 + i
    return x


def thousand_updates(x):
    for i in range(1000):
        x = x * 0.5 + i
    return x


def ten_stores(x):
    y = np.zeros(1000)
    for i in range(10):
        y[i] = x[i % 8] * 0.5 + i
        y[1:9] += x[:8]
    return y


def thousand_stores(x):
    y = np.zeros(1000)
    for i in range(1000):
        y[i] = x[i % 8] * 0.5 + i
        y[1:9] += x[:8]
    return y


def three_operations(x, y, n):
    for _ in range(n):
        x = x * 0.5
        x = x + y
        x = np.minimum(x, 1.0)
    return x


def never_converges(x):
    """A scalar loop without an end."""
    while abs(x - 0.75) > 0.0:
        x = 3.7 * x * (1.0 - x)
    return x


def never_converges_on_arrays(x):
    """The same on an array."""
    while np.abs(x - 2.0).max() > 0.0:
        x = x * 0.5
    return x


def jax_forms(jax: Any) -> dict[str, Callable[..., Any]]:
    """The same functions by hand in `lax`; those with sizes take them as static arguments."""
    jnp, lax = jax.numpy, jax.lax

    def collatz(limit):
        def length(start):
            def body(state):
                n, steps = state
                return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

            return lax.while_loop(lambda state: state[0] != 1, body, (start, 0))[1]

        def body(start, state):
            best, where = state
            steps = length(start)
            better = steps > best
            return jnp.where(better, steps, best), jnp.where(better, start, where)

        return lax.fori_loop(1, limit, body, (0, 1))

    def newton(a):
        def root(v):
            def body(state):
                k, x, _ = state
                y = 0.5 * (x + v / x)
                done = jnp.abs(y - x) <= 1e-12 * y
                return k + 1, jnp.where(done, x, y), done

            state = lax.while_loop(lambda s: (s[0] < 50) & ~s[2], body, (0, v, False))
            return state[1]

        return lax.fori_loop(0, a.size, lambda i, total: total + root(a[i]), 0.0)

    def julia(height, width, most):
        def pixel(k):
            i, j = k // width, k % width

            def body(state):
                n, x, y = state
                return n + 1, x * x - y * y - 0.8, 2.0 * x * y + 0.156

            def inside(state):
                n, x, y = state
                return (n < most) & (x * x + y * y <= 4.0)

            start = (0, -1.5 + 3.0 * j / width, -1.0 + 2.0 * i / height)
            return lax.while_loop(inside, body, start)[0]

        def body(k, image):
            return image.at[k // width, k % width].set(pixel(k))

        return lax.fori_loop(0, height * width, body, jnp.zeros((height, width), jnp.int64))

    def logistic(x, most):
        def body(state):
            n, x = state
            return n + 1, 3.7 * x * (1.0 - x)

        def going(state):
            return (state[0] < most) & (jnp.abs(state[1] - 0.75) > 1e-12)

        n, x = lax.while_loop(going, body, (0, x))
        return x, n

    def fnv(data):
        def body(i, h):
            return (h ^ data[i].astype(jnp.uint32)) * jnp.uint32(16777619)

        return lax.fori_loop(0, data.size, body, jnp.uint32(2166136261))

    def three_operations(x, y, n):
        return lax.fori_loop(0, n, lambda _, x: jnp.minimum(x * 0.5 + y, 1.0), x)

    return {
        "collatz": jax.jit(collatz),
        "newton": jax.jit(newton),
        "julia": jax.jit(julia, static_argnums=(0, 1)),
        "logistic": jax.jit(logistic),
        "fnv": jax.jit(fnv),
        "three_operations": jax.jit(three_operations),
    }

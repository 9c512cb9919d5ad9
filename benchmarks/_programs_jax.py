"""The benchmark programs as their users would write them for JAX: functions of arrays, no stores.

Each takes the program's arguments in its order and returns a dict of what NumPy's leaves behind:
changed arguments by name, and "result". JAX is imported here: import this where it is installed.
Programs without an entry have no natural form: arrays whose sizes depend on data.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

Outcome = dict[str, Any]


def adi(steps, n, u) -> Outcome:
    h, dt = 1.0 / n, 1.0 / steps
    ratio_x, ratio_y = 2.0 * dt / h**2, dt / h**2
    side_x, middle_x = -ratio_x / 2.0, 1.0 + ratio_x
    side_y, middle_y = -ratio_y / 2.0, 1.0 + ratio_y
    ones = jnp.ones(u.shape[0] - 2)

    def solve(known, side, middle):
        def forwards(carry, known):
            pivot = side * carry[0] + middle
            carry = -side / pivot, (known - side * carry[1]) / pivot
            return carry, carry

        def backwards(x, pq):
            x = pq[0] * x + pq[1]
            return x, x

        _, pq = lax.scan(forwards, (jnp.zeros_like(ones), ones), known)
        return lax.scan(backwards, ones, pq, reverse=True)[1]

    def step(_, u):
        known = -side_y * u[1:-1, :-2] + (1.0 + 2.0 * side_y) * u[1:-1, 1:-1]
        v = jnp.vstack([ones, solve(known - side_y * u[1:-1, 2:], side_x, middle_x), ones])
        known = -side_x * v[:-2] + (1.0 + 2.0 * side_x) * v[1:-1] - side_x * v[2:]
        inner = solve(known.T, side_y, middle_y).T
        return u.at[1:-1].set(jnp.column_stack([ones, inner, ones]))

    return {"u": lax.fori_loop(0, steps, step, u)}


def bicg(A, p, r) -> Outcome:
    return {"result": (r @ A, A @ p)}


def channel_flow(sweeps, u, v, dt, dx, dy, p, rho, nu, force) -> Outcome:
    def west(a):
        return jnp.roll(a, 1, axis=1)[1:-1]

    def east(a):
        return jnp.roll(a, -1, axis=1)[1:-1]

    def source(u, v):
        ux, uy = (east(u) - west(u)) / (2.0 * dx), (u[2:] - u[:-2]) / (2.0 * dy)
        vx, vy = (east(v) - west(v)) / (2.0 * dx), (v[2:] - v[:-2]) / (2.0 * dy)
        return rho * ((ux + vy) / dt - ux**2 - 2.0 * (uy * vx) - vy**2)

    def pressure(p, b):
        def sweep(_, p):
            around = (east(p) + west(p)) * dy**2 + (p[2:] + p[:-2]) * dx**2
            inner = (around - dx**2 * dy**2 * b) / (2.0 * (dx**2 + dy**2))
            return jnp.vstack([inner[:1], inner, inner[-1:]])

        return lax.fori_loop(0, sweeps, sweep, p)

    def moved(a, u, v, slope):
        at = a[1:-1]
        return (
            at
            - u[1:-1] * dt / dx * (at - west(a))
            - v[1:-1] * dt / dy * (at - a[:-2])
            - slope
            + nu * dt / dx**2 * (east(a) - 2.0 * at + west(a))
            + nu * dt / dy**2 * (a[2:] - 2.0 * at + a[:-2])
        )

    def step(state):
        u, v, p, _, steps = state
        p = pressure(p, source(u, v))
        inner_u = moved(u, u, v, dt / (2.0 * rho * dx) * (east(p) - west(p))) + force * dt
        inner_v = moved(v, u, v, dt / (2.0 * rho * dy) * (p[2:] - p[:-2]))
        walls = ((1, 1), (0, 0))
        new = jnp.pad(inner_u, walls)
        change = (jnp.sum(new) - jnp.sum(u)) / jnp.sum(new)
        return new, jnp.pad(inner_v, walls), p, change, steps + 1

    u, v, p, _, steps = lax.while_loop(lambda state: state[3] > 0.001, step, (u, v, p, 1.0, 0))
    return {"u": u, "v": v, "p": p, "result": steps}


def cholesky(A) -> Outcome:
    n = A.shape[0]
    columns = jnp.arange(n)

    def dot(A, i, j):
        return jnp.where(columns < j, A[i], 0.0) @ jnp.where(columns < j, A[j], 0.0)

    def below(i):
        return lambda j, A: A.at[i, j].set((A[i, j] - dot(A, i, j)) / A[j, j])

    def row(i, A):
        A = lax.fori_loop(0, i, below(i), A)
        return A.at[i, i].set(jnp.sqrt(A[i, i] - dot(A, i, i)))

    return {"A": lax.fori_loop(0, n, row, A)}


def contour_integral(blocks, H, z, Y) -> Outcome:
    def term(point):
        powers = jnp.power(point, blocks / 2 - jnp.arange(blocks + 1))
        X = jnp.linalg.solve(jnp.tensordot(powers, H, 1), Y)
        return jnp.where(abs(point) < 1.0, -X, X)

    X = jax.vmap(term)(z)
    return {"result": (jnp.sum(X, axis=0), jnp.tensordot(z, X, 1))}


def convolve(x: Array, weights: Array, padding: str = "VALID") -> Array:
    return lax.conv_general_dilated(
        x, weights, (1, 1), padding, dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def conv2d_bias(image, weights, bias) -> Outcome:
    return {"result": convolve(image, weights) + bias}


def covariance(data) -> Outcome:
    return {"result": jnp.cov(data.T)}


def deriche(alpha, image) -> Outcome:
    decay = jnp.exp(-alpha)
    k = (1.0 - decay) ** 2 / (1.0 + 2.0 * alpha * decay - decay**2)
    a1, a2 = k, k * decay * (alpha - 1.0)
    a3, a4 = k * decay * (alpha + 1.0), -k * decay**2
    b1, b2 = 2.0 * decay, -(decay**2)

    def smooth(x):
        zeros = jnp.zeros_like(x[0])

        def ahead(carry, x):
            before, y1, y2 = carry
            y = a1 * x + a2 * before + b1 * y1 + b2 * y2
            return (x, y, y1), y

        def back(carry, x):
            x1, x2, y1, y2 = carry
            y = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2
            return (x, x1, y, y1), y

        forwards = lax.scan(ahead, (zeros,) * 3, x)[1]
        return forwards + lax.scan(back, (zeros,) * 4, x, reverse=True)[1]

    return {"result": smooth(smooth(image.T).T)}


def doitgen(NR, NQ, NP, A, C4) -> Outcome:
    return {"A": A @ C4}


def fdtd_2d(steps, ex, ey, hz, pulse) -> Outcome:
    def step(t, fields):
        ex, ey, hz = fields
        ey = ey.at[0].set(pulse[t])
        ey = ey.at[1:].add(-0.5 * (hz[1:] - hz[:-1]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        curl = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
        return ex, ey, hz.at[:-1, :-1].add(-0.7 * curl)

    ex, ey, hz = lax.fori_loop(0, steps, step, (ex, ey, hz))
    return {"ex": ex, "ey": ey, "hz": hz}


def floyd_warshall(path) -> Outcome:
    def through(k, path):
        return jnp.minimum(path, path[:, k, None] + path[k, None, :])

    return {"path": lax.fori_loop(0, path.shape[0], through, path)}


def gemm(alpha, beta, C, A, B) -> Outcome:
    return {"C": alpha * A @ B + beta * C}


def gesummv(alpha, beta, A, B, x) -> Outcome:
    return {"result": alpha * A @ x + beta * B @ x}


def hdiff(in_field, out_field, coeff) -> Outcome:
    field = in_field[1:-1, 1:-1]
    lap = 4.0 * field - (
        in_field[2:, 1:-1] + in_field[:-2, 1:-1] + in_field[1:-1, 2:] + in_field[1:-1, :-2]
    )

    def limited(axis, lap, field):
        flux = jnp.diff(lap, axis=axis)
        return jnp.diff(jnp.where(flux * jnp.diff(field, axis=axis) > 0.0, 0.0, flux), axis=axis)

    flux_x = limited(0, lap[:, 1:-1], field[:, 1:-1])
    flux_y = limited(1, lap[1:-1], field[1:-1])
    return {"out_field": field[1:-1, 1:-1] - coeff * (flux_x + flux_y)}


def jacobi_1d(steps, A, B) -> Outcome:
    def step(_, AB):
        A, B = AB
        B = B.at[1:-1].set(0.33333 * (A[:-2] + A[1:-1] + A[2:]))
        return A.at[1:-1].set(0.33333 * (B[:-2] + B[1:-1] + B[2:])), B

    A, B = lax.fori_loop(0, steps, step, (A, B))
    return {"A": A, "B": B}


def lu(A) -> Outcome:
    n = A.shape[0]
    columns = jnp.arange(n)

    def left(A, i, j, m):
        return A[i, j] - jnp.where(columns < m, A[i], 0.0) @ jnp.where(columns < m, A[:, j], 0.0)

    def row(i, A):
        A = lax.fori_loop(0, i, lambda j, A: A.at[i, j].set(left(A, i, j, j) / A[j, j]), A)
        return lax.fori_loop(i, n, lambda j, A: A.at[i, j].set(left(A, i, j, i)), A)

    return {"A": lax.fori_loop(0, n, row, A)}


def mvt(x1, x2, y1, y2, A) -> Outcome:
    return {"x1": x1 + A @ y1, "x2": x2 + y2 @ A}


def nbody(mass, pos, vel, steps, dt, G, softening) -> Outcome:
    def differences(pos):
        return pos.T[:, None, :] - pos.T[:, :, None]

    def acceleration(pos):
        d = differences(pos)
        square = jnp.sum(d**2, axis=0) + softening**2
        return (G * (d * jnp.where(square > 0, square**-1.5, square)) @ mass)[:, :, 0].T

    def energies(pos, vel):
        r = jnp.sqrt(jnp.sum(differences(pos) ** 2, axis=0))
        inv_r = jnp.where(r > 0, 1.0 / r, r)
        potential = G * jnp.sum(jnp.triu(-(mass * mass.T) * inv_r, 1))
        return 0.5 * jnp.sum(mass * vel**2), potential

    def step(state, _):
        pos, vel, acc = state
        vel = vel + acc * dt / 2.0
        pos = pos + vel * dt
        acc = acceleration(pos)
        vel = vel + acc * dt / 2.0
        return (pos, vel, acc), energies(pos, vel)

    vel = vel - jnp.mean(mass * vel, axis=0) / jnp.mean(mass)
    start = energies(pos, vel)
    (pos, vel, _), later = lax.scan(step, (pos, vel, acceleration(pos)), length=steps)
    history = tuple(jnp.append(first, rest) for first, rest in zip(start, later, strict=True))
    return {"pos": pos, "vel": vel, "result": history}


def resnet(image, conv1, conv2, conv3) -> Outcome:
    def batch_norm(x):
        std = jnp.std(x, axis=0, keepdims=True)
        return (x - jnp.mean(x, axis=0, keepdims=True)) / jnp.sqrt(std**2 + 1e-5)

    x = jax.nn.relu(batch_norm(convolve(image, conv1)))
    x = jax.nn.relu(batch_norm(convolve(x, conv2, "SAME")))
    return {"result": jax.nn.relu(batch_norm(convolve(x, conv3)) + image)}


def softmax(scores) -> Outcome:
    return {"result": jax.nn.softmax(scores, axis=-1)}


def spmv(A_row, A_col, A_val, x) -> Outcome:
    rows = A_row.size - 1
    counts = jnp.diff(A_row.astype(jnp.int64))
    row_of = jnp.repeat(jnp.arange(rows), counts, total_repeat_length=A_val.size)
    return {"result": jax.ops.segment_sum(A_val * x[A_col], row_of, rows, indices_are_sorted=True)}


def stockham(N, R, K, x, y) -> Outcome:
    rows, columns = jnp.mgrid[0:R, 0:R]
    dft = jnp.exp(-2.0j * jnp.pi * rows * columns / R)
    y = x
    for i in range(K):
        done, left = R**i, R ** (K - i - 1)
        angles = jnp.arange(R) * jnp.arange(done)[:, None] / R ** (i + 1)
        twiddles = jnp.exp(-2.0j * jnp.pi * angles)[:, :, None]
        combined = dft @ (jnp.reshape(y, (done, R, left)) * twiddles)
        y = jnp.reshape(jnp.transpose(combined, (1, 0, 2)), (N,))
    return {"y": y}


def symm(alpha, beta, C, A, B) -> Outcome:
    indices = jnp.arange(A.shape[0])

    def row(i, C):
        above = jnp.where(indices < i, A[i], 0.0)
        C = C + alpha * jnp.outer(above, B[i])
        return C.at[i].add(alpha * B[i] * A[i, i] + alpha * (above @ B))

    return {"C": lax.fori_loop(0, A.shape[0], row, beta * C)}


def syrk(alpha, beta, C, A) -> Outcome:
    return {"C": jnp.tril(alpha * A @ A.T + beta * C) + jnp.triu(C, 1)}


def three_products(A, B, C, D) -> Outcome:
    return {"result": A @ B @ C @ D}


def trisolv(L, x, b) -> Outcome:
    columns = jnp.arange(x.size)

    def row(i, x):
        return x.at[i].set((b[i] - jnp.where(columns < i, L[i], 0.0) @ x) / L[i, i])

    return {"x": lax.fori_loop(0, x.size, row, jnp.zeros_like(x))}


#: The versions by program, each with the arguments that must be known at compile time.
VERSIONS: dict[str, tuple[Callable[..., Outcome], tuple[str, ...]]] = {
    "adi": (adi, ()),
    "bicg": (bicg, ()),
    "channel_flow": (channel_flow, ()),
    "cholesky": (cholesky, ()),
    "contour_integral": (contour_integral, ("blocks",)),
    "conv2d_bias": (conv2d_bias, ()),
    "covariance": (covariance, ()),
    "deriche": (deriche, ()),
    "doitgen": (doitgen, ()),
    "fdtd_2d": (fdtd_2d, ()),
    "floyd_warshall": (floyd_warshall, ()),
    "gemm": (gemm, ()),
    "gesummv": (gesummv, ()),
    "hdiff": (hdiff, ()),
    "jacobi_1d": (jacobi_1d, ()),
    "lu": (lu, ()),
    "mvt": (mvt, ()),
    "nbody": (nbody, ("steps",)),
    "resnet": (resnet, ()),
    "softmax": (softmax, ()),
    "spmv": (spmv, ()),
    "stockham": (stockham, ("N", "R", "K")),
    "symm": (symm, ()),
    "syrk": (syrk, ()),
    "three_products": (three_products, ()),
    "trisolv": (trisolv, ()),
}


def compiled(name: str) -> Callable[..., Outcome]:
    """One version under `jax.jit`; KeyError where there is none."""
    function, static = VERSIONS[name]
    return jax.jit(function, static_argnames=static)

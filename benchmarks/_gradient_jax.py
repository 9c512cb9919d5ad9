"""The programs of the `gradients` benchmark as functions of arrays for JAX, for reverse mode.

As in `_programs_jax.py` each takes the program's arguments and gives a dict of what NumPy's leaves
behind. Loops are `lax.scan`s with static trip counts, since nothing else goes backwards; matrices
are factored by columns, which keeps a matrix for each column and not one for each element.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import _programs_jax as programs
from ._gradient_losses import Differentiable

Outcome = dict[str, Any]


def mlp(x, labels, w1, b1, w2, b2, w3, b3) -> Outcome:
    h = jnp.tanh(x @ w1 + b1)
    h = jax.nn.relu(h @ w2 + b2)
    scores = jax.nn.log_softmax(h @ w3 + b3)
    return {"result": -jnp.mean(scores[jnp.arange(x.shape[0]), labels])}


def price(spot, strike, years, rate, volatility):
    cdf = jax.scipy.stats.norm.cdf
    spread = volatility * jnp.sqrt(years)
    d1 = (jnp.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    return spot * cdf(d1) - strike * jnp.exp(-rate * years) * cdf(d1 - spread)


def black_scholes(**given) -> Outcome:
    return {"result": price(**given)}


def nbody(mass, pos, vel, steps, dt, G, softening) -> Outcome:
    def differences(pos):
        return pos.T[:, None, :] - pos.T[:, :, None]

    def acceleration(pos):
        d = differences(pos)
        square = jnp.sum(d**2, axis=0) + softening**2
        return (G * (d * square**-1.5) @ mass)[:, :, 0].T

    def energies(pos, vel):
        square = jnp.sum(differences(pos) ** 2, axis=0)
        # the root's derivative at 0 is infinite: it must not be taken there, used or not
        apart = square > 0
        inv_r = jnp.where(apart, jnp.where(apart, square, 1.0) ** -0.5, 0.0)
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


def cholesky(A) -> Outcome:
    rows = jnp.arange(A.shape[0])

    def column(left, k):
        factor = jnp.where(rows >= k, left[:, k] / jnp.sqrt(left[k, k]), 0.0)
        return left - jnp.outer(factor, factor), factor

    columns = lax.scan(column, A, rows)[1]
    return {"A": columns.T + jnp.triu(A, 1)}


def lu(A) -> Outcome:
    rows = jnp.arange(A.shape[0])

    def pivot(left, k):
        upper = jnp.where(rows >= k, left[k], 0.0)
        lower = jnp.where(rows > k, left[:, k] / left[k, k], 0.0)
        return left - jnp.outer(lower, upper), (lower, upper)

    lower, upper = lax.scan(pivot, A, rows)[1]
    return {"A": lower.T + upper}


def thomas(lower, diagonal, upper, b) -> Outcome:
    def forwards(carry, row):
        c, x = carry
        lower, diagonal, upper, b = row
        pivot = diagonal - lower * c
        carry = upper / pivot, (b - lower * x) / pivot
        return carry, carry

    def backwards(x, row):
        x = row[1] - row[0] * x
        return x, x

    rows = lax.scan(forwards, (0.0, 0.0), (lower.at[0].set(0.0), diagonal, upper, b))[1]
    c, x = rows
    return {"result": lax.scan(backwards, 0.0, (c.at[-1].set(0.0), x), reverse=True)[1]}


def burgers(steps, u, ratio, viscosity) -> Outcome:
    def step(u, _):
        slope = ratio * u[1:-1] * (u[2:] - u[:-2])
        change = viscosity * (u[2:] - 2.0 * u[1:-1] + u[:-2]) - slope
        return u.at[1:-1].add(change), None

    return {"u": lax.scan(step, u, length=steps)[0]}


def pendulum(parameters, end, tolerance, tries) -> Outcome:
    """`tries` is the number of steps that it takes: no bound could be better."""
    frequency, damping, angle, speed = parameters

    def step(state, _):
        t, h, angle, speed = state
        last = jnp.minimum(h, end - t)
        a = -frequency * jnp.sin(angle) - damping * speed
        next_angle, next_speed = angle + last * speed, speed + last * a
        b = -frequency * jnp.sin(next_angle) - damping * next_speed
        error = 0.5 * last * jnp.maximum(abs(next_speed - speed), abs(b - a))
        again, longer = error > tolerance, error < 0.25 * tolerance
        h = jnp.where(again, 0.5 * last, jnp.where(longer, 1.5 * last, last))
        done = jnp.where(again, 0.0, last)
        angle = angle + 0.5 * done * (speed + next_speed)
        return (t + done, h, angle, speed + 0.5 * done * (a + b)), None

    state = lax.scan(step, (0.0, 0.01, angle, speed), length=tries)[0]
    return {"result": jnp.stack(state[2:])}


VERSIONS: dict[str, Callable[..., Outcome]] = {
    "softmax": programs.softmax,
    "mlp": mlp,
    "resnet": programs.resnet,
    "nbody": nbody,
    "black_scholes": black_scholes,
    "cholesky": cholesky,
    "lu": lu,
    "thomas": thomas,
    "burgers": burgers,
    "pendulum": pendulum,
}


def value_and_gradient(d: Differentiable, static: dict[str, Any]) -> Callable[[], Any]:
    """What computes, on arrays that JAX holds, the loss of a program and its gradient.

    Numbers among the arguments, and `static` ones more, are constants of the compiled code.
    """
    version = VERSIONS[d.name]
    numbers = {k: x for k, x in d.given.items() if not isinstance(x, np.ndarray)} | static
    arrays = {k: x for k, x in d.given.items() if isinstance(x, np.ndarray)}

    def loss(wrt, arrays, weights):
        outcome = version(**wrt, **arrays, **numbers)
        result = outcome.get("result")
        parts = result if isinstance(result, tuple) else (result,)
        left = [outcome[name] for name in d.outcomes] + [parts[k] for k in d.results]
        return sum(jnp.sum(w * x) for w, x in zip(weights, left, strict=True))

    found = jax.jit(jax.value_and_grad(loss))
    given = jax.device_put((d.wrt, arrays, d.weights))
    return lambda: jax.block_until_ready(found(*given))


def greeks(options: dict[str, Any]) -> Callable[[], Any]:
    """What computes the value of each option and its derivatives, one option at a time, mapped."""
    found = jax.jit(jax.vmap(jax.value_and_grad(price, argnums=tuple(range(5)))))
    given = jax.device_put(list(options.values()))
    return lambda: jax.block_until_ready(found(*given))

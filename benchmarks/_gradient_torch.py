"""The programs of the `gradients` benchmark for PyTorch: loops eager, others by `torch.compile`.

As in `_gradient_jax.py`; PyTorch is imported here: import this where it is installed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

from ._gradient_losses import Differentiable

Outcome = dict[str, Any]


def softmax(scores) -> Outcome:
    return {"result": torch.softmax(scores, dim=-1)}


def mlp(x, labels, w1, b1, w2, b2, w3, b3) -> Outcome:
    h = torch.tanh(x @ w1 + b1)
    h = torch.relu(h @ w2 + b2)
    return {"result": nn.functional.cross_entropy(h @ w3 + b3, labels)}


def resnet(image, conv1, conv2, conv3) -> Outcome:
    def convolve(x, weights, padding=0):
        x, weights = x.permute(0, 3, 1, 2), weights.permute(3, 2, 0, 1)
        return nn.functional.conv2d(x, weights, padding=padding).permute(0, 2, 3, 1)

    def batch_norm(x):
        centred = x - x.mean(dim=0, keepdim=True)
        return centred / torch.sqrt((centred**2).mean(dim=0, keepdim=True) + 1e-5)

    x = torch.relu(batch_norm(convolve(image, conv1)))
    x = torch.relu(batch_norm(convolve(x, conv2, 1)))
    return {"result": torch.relu(batch_norm(convolve(x, conv3)) + image)}


def price(spot, strike, years, rate, volatility):
    def cdf(x):
        return 0.5 * (1.0 + torch.erf(x / 1.4142135623730951))

    spread = volatility * torch.sqrt(years)
    d1 = (torch.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    return spot * cdf(d1) - strike * torch.exp(-rate * years) * cdf(d1 - spread)


def black_scholes(**given) -> Outcome:
    return {"result": price(**given)}


def nbody(mass, pos, vel, steps, dt, G, softening) -> Outcome:
    def differences(pos):
        return pos.T[:, None, :] - pos.T[:, :, None]

    def acceleration(pos):
        d = differences(pos)
        square = (d**2).sum(dim=0) + softening**2
        return (G * (d * square**-1.5) @ mass)[:, :, 0].T

    def energies(pos, vel):
        square = (differences(pos) ** 2).sum(dim=0)
        apart = square > 0
        inv_r = torch.where(apart, torch.where(apart, square, 1.0) ** -0.5, 0.0)
        potential = G * torch.triu(-(mass * mass.T) * inv_r, 1).sum()
        return 0.5 * (mass * vel**2).sum(), potential

    vel = vel - (mass * vel).mean(dim=0) / mass.mean()
    acc = acceleration(pos)
    history = [energies(pos, vel)]
    for _ in range(steps):
        vel = vel + acc * dt / 2.0
        pos = pos + vel * dt
        acc = acceleration(pos)
        vel = vel + acc * dt / 2.0
        history.append(energies(pos, vel))
    kinetic, potential = zip(*history, strict=True)
    return {"pos": pos, "vel": vel, "result": (torch.stack(kinetic), torch.stack(potential))}


def cholesky(A) -> Outcome:
    columns, left = [], A
    for _ in range(len(A)):
        factor = left[:, 0] / torch.sqrt(left[0, 0])
        columns.append(nn.functional.pad(factor, (len(A) - len(factor), 0)))
        left = left[1:, 1:] - torch.outer(factor[1:], factor[1:])
    return {"A": torch.stack(columns, dim=1) + torch.triu(A, 1)}


def lu(A) -> Outcome:
    columns, rows, left = [], [], A
    for k in range(len(A)):
        upper, lower = left[0], left[1:, 0] / left[0, 0]
        rows.append(nn.functional.pad(upper, (k, 0)))
        columns.append(nn.functional.pad(lower, (k + 1, 0)))
        left = left[1:, 1:] - torch.outer(lower, upper[1:])
    return {"A": torch.stack(columns, dim=1) + torch.stack(rows)}


def thomas(lower, diagonal, upper, b) -> Outcome:
    lower, diagonal, upper, b = (x.unbind() for x in (lower, diagonal, upper, b))
    c, x = [upper[0] / diagonal[0]], [b[0] / diagonal[0]]
    for i in range(1, len(b)):
        pivot = diagonal[i] - lower[i] * c[-1]
        c.append(upper[i] / pivot)
        x.append((b[i] - lower[i] * x[-1]) / pivot)
    for i in range(len(b) - 2, -1, -1):
        x[i] = x[i] - c[i] * x[i + 1]
    return {"result": torch.stack(x)}


def burgers(steps, u, ratio, viscosity) -> Outcome:
    for _ in range(steps):
        slope = ratio * u[1:-1] * (u[2:] - u[:-2])
        inner = u[1:-1] + viscosity * (u[2:] - 2.0 * u[1:-1] + u[:-2]) - slope
        u = torch.cat([u[:1], inner, u[-1:]])
    return {"u": u}


def pendulum(parameters, end, tolerance) -> Outcome:
    frequency, damping, angle, speed = parameters.unbind()
    t, h = 0.0, 0.01
    while t < end:
        h = min(h, end - t)
        a = -frequency * torch.sin(angle) - damping * speed
        next_angle, next_speed = angle + h * speed, speed + h * a
        b = -frequency * torch.sin(next_angle) - damping * next_speed
        error = 0.5 * h * max(abs((next_speed - speed).item()), abs((b - a).item()))
        if error > tolerance:
            h = 0.5 * h
        else:
            t = t + h
            angle, speed = angle + 0.5 * h * (speed + next_speed), speed + 0.5 * h * (a + b)
            if error < 0.25 * tolerance:
                h = 1.5 * h
    return {"result": torch.stack([angle, speed])}


#: Those without a loop are compiled; loops would be unrolled.
COMPILED = ("softmax", "mlp", "resnet", "black_scholes")
VERSIONS: dict[str, Callable[..., Outcome]] = {
    "softmax": softmax,
    "mlp": mlp,
    "resnet": resnet,
    "nbody": nbody,
    "black_scholes": black_scholes,
    "cholesky": cholesky,
    "lu": lu,
    "thomas": thomas,
    "burgers": burgers,
    "pendulum": pendulum,
}


def tensors(arrays: dict[str, Any], by: bool) -> dict[str, Any]:
    """Tensors of the arrays, the numbers as they are; `by`: to be differentiated by."""
    return {
        k: torch.tensor(x, requires_grad=by) if isinstance(x, np.ndarray) else x
        for k, x in arrays.items()
    }


def value_and_gradient(d: Differentiable, compiled: bool) -> Callable[[], Any]:
    """What computes the loss of a program and its gradient, tensors by name."""
    torch.set_num_threads(1)
    version = VERSIONS[d.name]
    weights = [torch.tensor(w) for w in d.weights]
    wrt, given = tensors(d.wrt, True), tensors(d.given, False)

    def loss(wrt, given):
        outcome = version(**wrt, **given)
        result = outcome.get("result")
        parts = result if isinstance(result, tuple) else (result,)
        left = [outcome[name] for name in d.outcomes] + [parts[k] for k in d.results]
        return sum((w * x).sum() for w, x in zip(weights, left, strict=True))

    if compiled:
        loss = torch.compile(loss)

    def run():
        value = loss(wrt, given)
        gradient = torch.autograd.grad(value, list(wrt.values()))
        return value, dict(zip(wrt, gradient, strict=True))

    return run


def greeks(options: dict[str, Any]) -> Callable[[], Any]:
    """What computes the value of each option and its derivatives, one option at a time, mapped."""
    torch.set_num_threads(1)
    given = [torch.tensor(x) for x in options.values()]

    def one(*row):
        value = price(*row)
        return value, value

    mapped = torch.func.vmap(torch.func.grad(one, argnums=tuple(range(5)), has_aux=True))

    def run():
        gradient, value = mapped(*given)
        return value, gradient

    return run

"""The programs of `_gpu_cases` as users of PyTorch write them, to run eagerly or compiled."""

from __future__ import annotations

import functools
import math
from typing import Any

from ._gpu_cases import RATE
from .harness import peer

torch: Any = peer("torch")


def compiled(name: str) -> Any:
    """A program by `torch.compile`, for its sizes; of loops over steps, the step is compiled."""
    compile_ = functools.partial(torch.compile, dynamic=False)
    made = {"heat": _heat, "train_step": _train_step}
    if name in made:
        return functools.partial(made[name], compile_(_PARTS[name]))
    return compile_(globals()[name])


def black_scholes(spot, strike, years, rate, volatility):
    spread = volatility * torch.sqrt(years)
    d1 = (torch.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    discounted = strike * torch.exp(-rate * years)
    below1 = 0.5 + 0.5 * torch.erf(d1 * math.sqrt(0.5))
    below2 = 0.5 + 0.5 * torch.erf(d2 * math.sqrt(0.5))
    call = spot * below1 - discounted * below2
    put = discounted * (1 - below2) - spot * (1 - below1)
    return call, put


def gelu(x, bias, residual):
    return residual + torch.nn.functional.gelu(x + bias, approximate="tanh")


def softmax(x):
    return torch.softmax(x, dim=1)


def layer_norm(x, weight, bias):
    return torch.nn.functional.layer_norm(x, x.shape[1:], weight, bias, 1e-5)


def row_sums(x):
    return x.sum(dim=1)


def column_sums(x):
    return x.sum(dim=0)


def full_sum(x):
    return x.sum()


def _change(u):
    u[1:-1, 1:-1] += 0.2 * (
        u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
    )
    return u


def _heat(change, u, steps):
    u = u.clone()
    for _ in range(steps):
        change(u)
    return u


def heat(u, steps):
    return _heat(_change, u, steps)


def accelerations(x, y, z, mass):
    dx, dy, dz = x - x[:, None], y - y[:, None], z - z[:, None]
    square = dx * dx + dy * dy + dz * dz + 1e-2
    pull = mass / (square * torch.sqrt(square))
    return (dx * pull).sum(dim=1), (dy * pull).sum(dim=1), (dz * pull).sum(dim=1)


def _loss(weights, x, target):
    w1, b1, w2, b2, w3, b3 = weights
    h = torch.relu(torch.addmm(b1, x, w1))
    h = torch.relu(torch.addmm(b2, h, w2))
    return torch.nn.functional.mse_loss(torch.addmm(b3, h, w3), target)


def _train_step(loss, weights, x, target):
    leaves = tuple(w.detach().requires_grad_() for w in weights)
    value = loss(leaves, x, target)
    slopes = torch.autograd.grad(value, leaves)
    with torch.no_grad():
        updated = tuple(torch._foreach_sub(leaves, torch._foreach_mul(slopes, RATE)))
    return value, updated


def train_step(weights, x, target):
    return _train_step(_loss, weights, x, target)


def plus_one(x):
    return x + 1


_PARTS = {"heat": _change, "train_step": _loss}

"""The layers of `networks` in PyTorch; import this where it is installed."""

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from .layers import Layer


def depthwise(x, w):
    return F.conv2d(x, w[:, None], groups=len(w))


def lstm_gates(gates, c):
    i, f, g, o = gates.chunk(4, dim=1)
    return o.sigmoid() * torch.tanh(f.sigmoid() * c + i.sigmoid() * g.tanh())


PEERS: dict[str, Callable[..., Any]] = {
    "conv": F.conv2d,
    "conv_1x1": lambda x, w: F.conv2d(x, w[:, :, None, None]),
    "depthwise": depthwise,
    "batch_norm": lambda x, s, t: F.batch_norm(x, None, None, s, t, training=True),
    "layer_norm": lambda x, s, t: F.layer_norm(x, s.shape, s, t),
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
    "max_pool": lambda x: F.max_pool2d(x, 2),
    "mean_pool": lambda x: F.avg_pool2d(x, 2),
    "lstm_gates": lstm_gates,
    "matmul": torch.matmul,
}


def adam(given: list[Any]) -> Callable[[], Any]:
    p, g, m, v = (torch.tensor(x) for x in given)
    p.requires_grad, p.grad = True, g
    optimiser = torch.optim.Adam([p], lr=1e-3)
    optimiser.state[p] = {"step": torch.tensor(0.0), "exp_avg": m, "exp_avg_sq": v}

    def run():
        optimiser.state[p]["step"].zero_()
        optimiser.step()
        return p.detach(), m, v

    return run


def calls(layer: Layer, given: list[Any], cotangent: Any) -> tuple[Any, Any]:
    """What calls the layer, and the layer with its backward pass."""
    torch.set_num_threads(1)
    if layer.update:
        return None, adam(given)
    f = PEERS[layer.peer]
    tensors = [torch.tensor(x, requires_grad=True) for x in given]
    g = torch.tensor(cotangent)

    def forward():
        with torch.no_grad():
            return f(*tensors)

    def both():
        out = f(*tensors)
        return (out.detach(), *torch.autograd.grad(out, tensors, g))

    return forward, both

"""The models of `networks` for PyTorch, by its own layers; import this where it is installed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from .model import Arrays, Model
from .ncf import TABLES


def mlp(p, x):
    h = F.relu(x @ p["w1"] + p["b1"])
    return F.relu(h @ p["w2"] + p["b2"]) @ p["w3"] + p["b3"]


def lenet(p, x):
    x = F.max_pool2d(F.relu(F.conv2d(x, p["c1"], p["d1"], padding=2)), 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, p["c2"], p["d2"])), 2).flatten(1)
    x = F.relu(x @ p["w3"] + p["b3"])
    return F.relu(x @ p["w4"] + p["b4"]) @ p["w5"] + p["b5"]


def alexnet(p, x):
    x = F.max_pool2d(F.relu(F.conv2d(x, p["c1"], p["d1"], stride=2, padding=2)), 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, p["c2"], p["d2"], padding=1)), 2)
    x = F.relu(F.conv2d(x, p["c3"], p["d3"], padding=1))
    x = F.max_pool2d(F.relu(F.conv2d(x, p["c4"], p["d4"], padding=1)), 2).flatten(1)
    return F.relu(x @ p["w5"] + p["b5"]) @ p["w6"] + p["b6"]


def vgg(p, x):
    for k in "123":
        x = F.relu(F.conv2d(x, p["c" + k], p["d" + k], padding=1))
        x = F.max_pool2d(F.relu(F.conv2d(x, p["e" + k], p["f" + k], padding=1)), 2)
    return F.relu(x.flatten(1) @ p["w4"] + p["b4"]) @ p["w5"] + p["b5"]


def norm(x, scale, shift):
    return F.batch_norm(x, None, None, scale, shift, training=True, eps=1e-5)


def pointwise(x, w):
    return F.conv2d(x, w[:, :, None, None])


def resnet(p, x):
    h = F.relu(norm(pointwise(x, p["c1"]), p["s1"], p["t1"]))
    h = F.relu(norm(F.conv2d(h, p["c2"], padding=1), p["s2"], p["t2"]))
    h = F.relu(norm(pointwise(h, p["c3"]), p["s3"], p["t3"]) + x)
    return h.mean(dim=(2, 3)) @ p["w4"] + p["b4"]


def mobilenet(p, x):
    h = F.relu6(norm(pointwise(x, p["c1"]), p["s1"], p["t1"]))
    h = F.conv2d(h, p["c2"][:, None], padding=1, groups=len(p["c2"]))
    h = F.relu6(norm(h, p["s2"], p["t2"]))
    h = x + norm(pointwise(h, p["c3"]), p["s3"], p["t3"])
    return h.mean(dim=(2, 3)) @ p["w4"] + p["b4"]


def lstm(p, x):
    size = p["u"].shape[0]
    flat = [p["w"].T, p["u"].T, p["b"], torch.zeros_like(p["b"])]
    start = (torch.zeros(1, len(x), size), torch.zeros(1, len(x), size))
    states = torch.lstm(x, start, flat, True, 1, 0.0, True, False, True)[0]
    h = states[:, -1]
    scores = torch.einsum("nth,nh->nt", states, h @ p["q"]) / size**0.5
    context = torch.einsum("nt,nth->nh", F.softmax(scores, dim=1), states)
    return torch.cat([context, h], dim=1) @ p["w2"] + p["b2"]


def ncf(p, user, item):
    rows = [
        F.embedding(k, p[name], sparse=True) for k, name in zip((user, item), TABLES, strict=True)
    ]
    h = F.relu(torch.cat(rows, dim=1) @ p["w1"] + p["b1"])
    return (F.relu(h @ p["w2"] + p["b2"]) @ p["w3"] + p["b3"])[:, 0]


def transformer(p, x):
    n, steps, d = x.shape
    h = F.layer_norm(x, (d,), p["s1"], p["t1"])
    q, k, v = (a.view(n, steps, 8, d // 8).transpose(1, 2) for a in (h @ p["qkv"]).chunk(3, -1))
    a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + a.transpose(1, 2).reshape(n, steps, d) @ p["out"]
    h = F.layer_norm(x, (d,), p["s2"], p["t2"])
    return x + F.gelu(h @ p["w1"] + p["b1"], approximate="tanh") @ p["w2"] + p["b2"]


FORWARDS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (mlp, lenet, alexnet, vgg, resnet, mobilenet, lstm, ncf, transformer)
}
LOSSES: dict[str, Callable[..., Any]] = {
    "cross_entropy": F.cross_entropy,
    "binary": F.binary_cross_entropy_with_logits,
    "squares": F.mse_loss,
}


class Twin:
    """One model in PyTorch: `forward()`, and `step()`, which updates `p` and gives the loss."""

    def __init__(self, model: Model, p: Arrays, inputs: list[Any], target: Any, compiled: bool):
        torch.set_num_threads(1)
        self.p = {k: torch.tensor(x, requires_grad=True) for k, x in p.items()}
        self.inputs, self.target = [torch.tensor(x) for x in inputs], torch.tensor(target)
        network, loss = FORWARDS[model.name.removesuffix("_1m")], LOSSES[model.kind]
        optimiser = torch.optim.Adam if model.adam else torch.optim.SGD
        self.optimiser = optimiser(list(self.p.values()), lr=model.rate)

        def whole(p, inputs, target):
            return loss(network(p, *inputs), target)

        self.network = torch.compile(network) if compiled else network
        self.whole = torch.compile(whole) if compiled else whole

    def forward(self) -> Any:
        with torch.no_grad():
            return self.network(self.p, *self.inputs)

    def step(self) -> Any:
        self.optimiser.zero_grad()
        value = self.whole(self.p, self.inputs, self.target)
        value.backward()
        self.optimiser.step()
        return value

    def parameters(self) -> Arrays:
        return {k: np.array(x.detach()) for k, x in self.p.items()}

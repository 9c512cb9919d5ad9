"""What a model of the `networks` benchmark is, and the pieces that several of them call."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = dict[str, Any]


@dataclass(frozen=True)
class Model:
    """A network as a user writes it.

    `forward(p, *inputs)` gives predictions; `step(p, state, *inputs, target)` updates the
    parameters `p`, and the optimiser's `state`, where they lie and gives the loss. `make(rng,
    small)` draws parameters, inputs and target; `small` is a size for tests. `kind` names the loss
    and `rate` is the learning rate, of Adam where `adam` is true: the twins need them.
    """

    name: str
    spelling: str
    forward: Callable[..., Any]
    step: Callable[..., Any]
    make: Callable[[np.random.Generator, bool], tuple[Arrays, list[Any], Any]]
    kind: str = "cross_entropy"
    adam: bool = False
    rate: float = 1e-2

    def state(self, p: Arrays) -> Arrays:
        """What the optimiser keeps from step to step."""
        if not self.adam:
            return {}
        zeros = [{k: np.zeros_like(x) for k, x in p.items()} for _ in range(2)]
        return {"m": zeros[0], "v": zeros[1], "t": np.zeros((), np.int64)}


def weights(rng: np.random.Generator, *shape: int, fan_in: int = 0) -> Any:
    """Normal weights in single precision, of variance 2 / fan-in (default: all axes but one)."""
    fan_in = fan_in or int(np.prod(shape)) // max(1, shape[0] if len(shape) == 4 else shape[-1])
    return (rng.standard_normal(shape) * np.sqrt(2.0 / fan_in)).astype(np.float32)


def normal(rng: np.random.Generator, *shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def relu(x):
    return np.maximum(x, 0)


def cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(labels)), labels].mean()


def max_pool(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))


def batch_norm(x, scale, shift):
    mean = x.mean(axis=(0, 2, 3), keepdims=True)
    var = x.var(axis=(0, 2, 3), keepdims=True)
    normal = (x - mean) / np.sqrt(var + 1e-5)
    return normal * scale[:, None, None] + shift[:, None, None]


def sgd(p, g, rate):
    """A step down the gradient, in place."""
    for k in p:
        p[k] -= rate * g[k]


def adam(p, g, state, rate):
    """A step of Adam (Kingma and Ba, 2015), in place."""
    state["t"] += 1
    m, v, t = state["m"], state["v"], state["t"]
    for k in p:
        m[k] = 0.9 * m[k] + 0.1 * g[k]
        v[k] = 0.999 * v[k] + 0.001 * g[k] ** 2
        m_hat = m[k] / (1 - 0.9 ** float(t))
        v_hat = v[k] / (1 - 0.999 ** float(t))
        p[k] -= rate * m_hat / (np.sqrt(v_hat) + 1e-8)

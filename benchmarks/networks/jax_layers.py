"""The layers of `networks` in JAX; import this where it is installed."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax, nn

from .jax_models import conv, norm, pointwise, pool
from .layers import Layer


def mean_pool(x):
    return lax.reduce_window(x, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID") * 0.25


def lstm_gates(gates, c):
    i, f, g, o = jnp.split(gates, 4, axis=1)
    return nn.sigmoid(o) * jnp.tanh(nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g))


PEERS: dict[str, Callable[..., Any]] = {
    "conv": conv,
    "conv_1x1": pointwise,
    "depthwise": lambda x, w: conv(x, w[:, None], groups=len(w)),
    "batch_norm": norm,
    "layer_norm": lambda x, s, t: nn.standardize(x, axis=-1) * s + t,
    "gelu": nn.gelu,
    "relu": nn.relu,
    "max_pool": pool,
    "mean_pool": mean_pool,
    "lstm_gates": lstm_gates,
    "matmul": jnp.matmul,
}


def adam(given: list[Any]) -> Callable[[], Any]:
    def moved(p, g, m, v):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        return p - 1e-3 * (m / 0.1) / (jnp.sqrt(v / 0.001) + 1e-8), m, v

    update = jax.jit(moved, donate_argnums=(0, 2, 3))
    p, g, m, v = (jnp.array(x) for x in given)
    held = [p, m, v]

    def run():
        held[:] = jax.block_until_ready(update(held[0], g, held[1], held[2]))
        return tuple(held)

    return run


def calls(layer: Layer, given: list[Any], cotangent: Any) -> tuple[Any, Any]:
    """What calls the layer, and the layer with its backward pass."""
    if layer.update:
        return None, adam(given)
    f = PEERS[layer.peer]
    arrays, g = [jnp.array(x) for x in given], jnp.array(cotangent)

    def with_gradient(arrays, g):
        out, pull = jax.vjp(f, *arrays)
        return (out, *pull(g))

    forward, both = jax.jit(f), jax.jit(with_gradient)
    ready = jax.block_until_ready
    return lambda: ready(forward(*arrays)), lambda: ready(both(arrays, g))

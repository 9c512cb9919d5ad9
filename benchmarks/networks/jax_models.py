"""The models of `networks` for JAX, by its own layers; import this where it is installed."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

from .model import Arrays, Model
from .ncf import TABLES


def conv(x, w, pad=0, stride=1, groups=1):
    return lax.conv_general_dilated(
        x, w, (stride, stride), [(pad, pad), (pad, pad)], feature_group_count=groups
    )


def pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def biased(x, w, b, **options):
    return nn.relu(conv(x, w, **options) + b[:, None, None])


def norm(x, scale, shift):
    mean = x.mean(axis=(0, 2, 3), keepdims=True)
    var = x.var(axis=(0, 2, 3), keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * scale[:, None, None] + shift[:, None, None]


def pointwise(x, w):
    return conv(x, w[:, :, None, None])


def mlp(p, x):
    h = nn.relu(x @ p["w1"] + p["b1"])
    return nn.relu(h @ p["w2"] + p["b2"]) @ p["w3"] + p["b3"]


def lenet(p, x):
    x = pool(biased(x, p["c1"], p["d1"], pad=2))
    x = pool(biased(x, p["c2"], p["d2"])).reshape(len(x), -1)
    x = nn.relu(x @ p["w3"] + p["b3"])
    return nn.relu(x @ p["w4"] + p["b4"]) @ p["w5"] + p["b5"]


def alexnet(p, x):
    x = pool(biased(x, p["c1"], p["d1"], pad=2, stride=2))
    x = pool(biased(x, p["c2"], p["d2"], pad=1))
    x = biased(x, p["c3"], p["d3"], pad=1)
    x = pool(biased(x, p["c4"], p["d4"], pad=1)).reshape(len(x), -1)
    return nn.relu(x @ p["w5"] + p["b5"]) @ p["w6"] + p["b6"]


def vgg(p, x):
    for k in "123":
        x = biased(x, p["c" + k], p["d" + k], pad=1)
        x = pool(biased(x, p["e" + k], p["f" + k], pad=1))
    return nn.relu(x.reshape(len(x), -1) @ p["w4"] + p["b4"]) @ p["w5"] + p["b5"]


def resnet(p, x):
    h = nn.relu(norm(pointwise(x, p["c1"]), p["s1"], p["t1"]))
    h = nn.relu(norm(conv(h, p["c2"], pad=1), p["s2"], p["t2"]))
    h = nn.relu(norm(pointwise(h, p["c3"]), p["s3"], p["t3"]) + x)
    return h.mean(axis=(2, 3)) @ p["w4"] + p["b4"]


def mobilenet(p, x):
    h = nn.relu6(norm(pointwise(x, p["c1"]), p["s1"], p["t1"]))
    h = conv(h, p["c2"][:, None], pad=1, groups=len(p["c2"]))
    h = nn.relu6(norm(h, p["s2"], p["t2"]))
    h = x + norm(pointwise(h, p["c3"]), p["s3"], p["t3"])
    return h.mean(axis=(2, 3)) @ p["w4"] + p["b4"]


def lstm(p, x):
    start = jnp.zeros((len(x), p["u"].shape[0]), x.dtype)

    def cell(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(x + h @ p["u"], 4, axis=1)
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    (h, _), states = lax.scan(cell, (start, start), (x @ p["w"] + p["b"]).transpose(1, 0, 2))
    scores = jnp.einsum("tnh,nh->nt", states, h @ p["q"]) / h.shape[1] ** 0.5
    context = jnp.einsum("nt,tnh->nh", nn.softmax(scores, axis=1), states)
    return jnp.concatenate([context, h], axis=1) @ p["w2"] + p["b2"]


def dense(p, rows):
    h = nn.relu(jnp.concatenate(rows, axis=1) @ p["w1"] + p["b1"])
    return (nn.relu(h @ p["w2"] + p["b2"]) @ p["w3"] + p["b3"])[:, 0]


def ncf(p, user, item):
    return dense(p, [p["users"][user], p["items"][item]])


def transformer(p, x):
    n, steps, d = x.shape
    h = nn.standardize(x, axis=-1) * p["s1"] + p["t1"]
    q, k, v = (a.reshape(n, steps, 8, d // 8) for a in jnp.split(h @ p["qkv"], 3, axis=-1))
    a = nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + a.reshape(n, steps, d) @ p["out"]
    h = nn.standardize(x, axis=-1) * p["s2"] + p["t2"]
    return x + nn.gelu(h @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


FORWARDS: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (mlp, lenet, alexnet, vgg, resnet, mobilenet, lstm, ncf, transformer)
}


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(nn.log_softmax(logits), labels[:, None], axis=1).mean()


def binary(z, clicked):
    return jnp.mean(jnp.maximum(z, 0) - z * clicked + jnp.log1p(jnp.exp(-jnp.abs(z))))


def squares(y, target):
    return jnp.mean((y - target) ** 2)


LOSSES: dict[str, Callable[..., Any]] = {f.__name__: f for f in (cross_entropy, binary, squares)}


def ncf_gradient(p, inputs, clicked, rate):
    """The loss, and the parameters a step further; of tables only the batch's rows are touched."""
    rows = {name: p[name][k] for k, name in zip(inputs, TABLES, strict=True)}
    rest = {k: x for k, x in p.items() if k not in TABLES}

    def loss(rest, rows):
        return binary(dense(rest, [rows[name] for name in TABLES]), clicked)

    value, (g, by_rows) = jax.value_and_grad(loss, argnums=(0, 1))(rest, rows)
    new = {k: x - rate * g[k] for k, x in rest.items()}
    for k, name in zip(inputs, TABLES, strict=True):
        new[name] = p[name].at[k].add(-rate * by_rows[name])
    return value, new


class Twin:
    """One model in JAX: `forward()`, and `step()`, which updates `p` and gives the loss."""

    def __init__(self, model: Model, p: Arrays, inputs: list[Any], target: Any):
        put = jax.device_put
        self.p = {k: jnp.array(x) for k, x in p.items()}
        self.state = jax.tree.map(jnp.array, model.state(p))
        self.inputs, self.target = [put(x) for x in inputs], put(target)
        network, loss = FORWARDS[model.name.removesuffix("_1m")], LOSSES[model.kind]

        def whole(p, inputs, target):
            return loss(network(p, *inputs), target)

        def step(p, state, inputs, target):
            if model.kind == "binary":
                value, p = ncf_gradient(p, inputs, target, model.rate)
                return value, p, state
            value, g = jax.value_and_grad(whole)(p, inputs, target)
            if not model.adam:
                return value, jax.tree.map(lambda x, d: x - model.rate * d, p, g), state
            t = state["t"] + 1
            m = jax.tree.map(lambda m, d: 0.9 * m + 0.1 * d, state["m"], g)
            v = jax.tree.map(lambda v, d: 0.999 * v + 0.001 * d**2, state["v"], g)
            passed = t.astype(jnp.float32)
            left_m, left_v = 1 - 0.9**passed, 1 - 0.999**passed

            def moved(x, m, v):
                return x - model.rate * (m / left_m) / (jnp.sqrt(v / left_v) + 1e-8)

            return value, jax.tree.map(moved, p, m, v), {"m": m, "v": v, "t": t}

        self.network = jax.jit(network)
        self.whole = jax.jit(step, donate_argnums=(0, 1))

    def forward(self) -> Any:
        return jax.block_until_ready(self.network(self.p, *self.inputs))

    def step(self) -> Any:
        done = self.whole(self.p, self.state, self.inputs, self.target)
        value, self.p, self.state = jax.block_until_ready(done)
        return value

    def parameters(self) -> Arrays:
        return {k: np.array(x) for k, x in self.p.items()}

"""The models in JAX, as functions of parameters by name; import this where it is installed.

Batch norms take the statistics of the batch, as in training, and dropout is left out.
"""

import jax
import jax.numpy as jnp
from jax import lax, nn

from . import googlenet, mobilenet, resnet, vgg


class Part:
    """The parameters of one part of a model: those whose names begin with its path."""

    def __init__(self, p, path=""):
        self.p, self.path = p, path

    def __getattr__(self, name):
        path = f"{self.path}{name}"
        return self.p[path] if path in self.p else Part(self.p, f"{path}.")

    def __getitem__(self, k):
        return Part(self.p, f"{self.path}{k}.")

    def has(self, name):
        return f"{self.path}{name}" in self.p


def conv(p, x, stride=1, pad=0, groups=1):
    y = lax.conv_general_dilated(
        x, p.weight, (stride, stride), [(pad, pad)] * 2, feature_group_count=groups
    )
    return y + p.bias[:, None, None] if p.has("bias") else y


def pool(x, size, stride, pad=0):
    return lax.reduce_window(
        x,
        -jnp.inf,
        lax.max,
        (1, 1, size, size),
        (1, 1, stride, stride),
        [(0, 0), (0, 0), (pad, pad), (pad, pad)],
    )


def linear(p, x):
    y = x @ p.weight.T
    return y + p.bias if p.has("bias") else y


def batch_norm(p, x):
    mean = x.mean(axis=(0, 2, 3), keepdims=True)
    var = x.var(axis=(0, 2, 3), keepdims=True)
    return (x - mean) * lax.rsqrt(var + 1e-5) * p.weight[:, None, None] + p.bias[:, None, None]


def layer_norm(p, x):
    return nn.standardize(x, axis=-1, epsilon=1e-5) * p.weight + p.bias


def alexnet(p, x):
    x = pool(nn.relu(conv(p.conv1, x, 4, 2)), 3, 2)
    x = pool(nn.relu(conv(p.conv2, x, 1, 2)), 3, 2)
    for part in (p.conv3, p.conv4, p.conv5):
        x = nn.relu(conv(part, x, 1, 1))
    x = nn.relu(linear(p.fc6, x.mean((2, 3))))
    return linear(p.fc8, nn.relu(linear(p.fc7, x)))


def overfeat(p, x):
    x = pool(nn.relu(conv(p.conv1, x, 4)), 2, 2)
    x = pool(nn.relu(conv(p.conv2, x)), 2, 2)
    for part in (p.conv3, p.conv4, p.conv5):
        x = nn.relu(conv(part, x, 1, 1))
    x = nn.relu(linear(p.fc6, x.mean((2, 3))))
    return linear(p.fc8, nn.relu(linear(p.fc7, x)))


def vgg19(p, x):
    for k, (_, count) in enumerate(vgg.STAGES):
        for i in range(count):
            x = nn.relu(conv(p.stages[k][i], x, 1, 1))
        x = pool(x, 2, 2)
    x = nn.relu(linear(p.fc1, x.reshape(len(x), -1)))
    return linear(p.fc3, nn.relu(linear(p.fc2, x)))


def conv_norm(p, x, stride=1, pad=0):
    return nn.relu(batch_norm(p.norm, conv(p.conv, x, stride, pad)))


def inception(p, x):
    three = conv_norm(p.three, conv_norm(p.before3, x), 1, 1)
    five = conv_norm(p.five, conv_norm(p.before5, x), 1, 2)
    pooled = conv_norm(p.pooled, pool(x, 3, 1, 1))
    return jnp.concatenate((conv_norm(p.one, x), three, five, pooled), 1)


def googlenet_(p, x):
    x = pool(conv_norm(p.stem[0], x, 2, 3), 3, 2, 1)
    x = pool(conv_norm(p.stem[2], conv_norm(p.stem[1], x), 1, 1), 3, 2, 1)
    for k, sizes in enumerate(googlenet.MODULES):
        x = pool(x, 3, 2, 1) if sizes is None else inception(p.inceptions[k], x)
    return linear(p.fc, x.mean((2, 3)))


def resnet50(p, x):
    x = pool(nn.relu(batch_norm(p.bn1, conv(p.conv1, x, 2, 3))), 3, 2, 1)
    strides = [2 if s and not k else 1 for s, (_, n) in enumerate(resnet.STAGES) for k in range(n)]
    for k, stride in enumerate(strides):
        b = p.blocks[k]
        y = nn.relu(batch_norm(b.bn1, conv(b.conv1, x)))
        y = nn.relu(batch_norm(b.bn2, conv(b.conv2, y, stride, 1)))
        y = batch_norm(b.bn3, conv(b.conv3, y))
        if b.has("shortcut.weight"):
            x = batch_norm(b.norm, conv(b.shortcut, x, stride))
        x = nn.relu(x + y)
    return linear(p.fc, x.mean((2, 3)))


def mobilenet_(p, x):
    x = nn.relu(batch_norm(p.bn, conv(p.conv, x, 2, 1)))
    for k, (_, stride) in enumerate(mobilenet.PAIRS):
        b = p.pairs[k]
        x = nn.relu(batch_norm(b.bn1, conv(b.depthwise, x, stride, 1, x.shape[1])))
        x = nn.relu(batch_norm(b.bn2, conv(b.pointwise, x)))
    return linear(p.fc, x.mean((2, 3)))


def ncf(p, users, items):
    product = p.user_factors.weight[users] * p.item_factors.weight[items]
    x = jnp.concatenate((p.user_features.weight[users], p.item_features.weight[items]), 1)
    k = 0
    while p.has(f"layers.{k}.weight"):
        x, k = nn.relu(linear(p.layers[k], x)), k + 1
    return linear(p.last, jnp.concatenate((product, x), 1))[:, 0]


def lstm(p, x, end=""):
    w, u = getattr(p, f"weight_ih_l0{end}"), getattr(p, f"weight_hh_l0{end}")
    b = getattr(p, f"bias_ih_l0{end}") + getattr(p, f"bias_hh_l0{end}")
    start = jnp.zeros((x.shape[1], u.shape[1]), x.dtype)

    def cell(carry, x):
        h, c = carry
        i, f, g, o = jnp.split(x + h @ u.T, 4, axis=1)
        c = nn.sigmoid(f) * c + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    return lax.scan(cell, (start, start), x @ w.T + b, reverse=bool(end))[1]


def gnmt(p, source, target):
    x = p.embedding.weight[source]
    x = jnp.concatenate((lstm(p.both_ways, x), lstm(p.both_ways, x, "_reverse")), -1)
    k = 0
    while p.has(f"encoders.{k}.weight_ih_l0"):
        z = lstm(p.encoders[k], x)
        x, k = (x + z if k else z), k + 1
    y = lstm(p.first, p.embedding.weight[target])
    scores = jnp.einsum("und,tnd->nut", y, x) / y.shape[-1] ** 0.5
    context = jnp.einsum("nut,tnd->und", nn.softmax(scores), x)
    k = 0
    while p.has(f"decoders.{k}.weight_ih_l0"):
        z = lstm(p.decoders[k], jnp.concatenate((y, context), -1))
        y, k = (y + z if k else z), k + 1
    return linear(p.last, jnp.concatenate((y, context), -1))


def language(p, tokens, heads=4):
    x = p.tokens.weight[tokens] + p.places.weight[: tokens.shape[1]]
    n, t, d = x.shape
    k = 0
    while p.has(f"blocks.{k}.norm1.weight"):
        b = p.blocks[k]
        a = b.attention
        y = layer_norm(b.norm1, x) @ a.in_proj_weight.T + a.in_proj_bias
        parts = (z.reshape(n, t, heads, d // heads) for z in jnp.split(y, 3, axis=-1))
        y = nn.dot_product_attention(*parts, is_causal=True).reshape(n, t, d)
        x = x + linear(a.out_proj, y)
        y = nn.gelu(linear(b.wide, layer_norm(b.norm2, x)), approximate=False)
        x, k = x + linear(b.narrow, y), k + 1
    return linear(p.head, layer_norm(p.norm, x))


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(nn.log_softmax(logits), labels[..., None], axis=-1).mean()


def binary(z, target):
    return jnp.mean(jnp.maximum(z, 0) - z * target + jnp.log1p(jnp.exp(-jnp.abs(z))))


FORWARDS = {
    "alexnet": alexnet,
    "overfeat": overfeat,
    "vgg19": vgg19,
    "googlenet": googlenet_,
    "resnet50": resnet50,
    "mobilenet": mobilenet_,
    "gnmt": gnmt,
    "ncf": ncf,
    "language": language,
}
LOSSES = {"cross_entropy": cross_entropy, "binary": binary}


class Twin:
    """One model in JAX, with plain steps down the gradient: `step()` gives the loss."""

    def __init__(self, name, loss, parameters, inputs, target, rate):
        self.p = {k: jnp.array(x) for k, x in parameters.items()}
        self.given = [jnp.array(x) for x in (*inputs, target)]

        def whole(p, *given):
            return LOSSES[loss](FORWARDS[name](Part(p), *given[:-1]), given[-1])

        def step(p, *given):
            value, g = jax.value_and_grad(whole)(p, *given)
            return value, jax.tree.map(lambda x, d: x - rate * d, p, g)

        self.whole = jax.jit(step, donate_argnums=0)

    def step(self):
        value, self.p = jax.block_until_ready(self.whole(self.p, *self.given))
        return value

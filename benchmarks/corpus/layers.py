"""Layers of images and sequences."""

import numpy as np

from .networks import normal, sigmoid
from .program import Family

PROGRAMS = Family()


class LSTMCell:
    def __init__(self, input_size, hidden_size, seed=0):
        rng = np.random.default_rng(seed)
        self.hidden_size = hidden_size
        self.Wx = rng.normal(0, 0.1, (input_size, 4 * hidden_size))
        self.Wh = rng.normal(0, 0.1, (hidden_size, 4 * hidden_size))
        self.b = np.zeros(4 * hidden_size)

    def run(self, xs, h=None, c=None):
        n = xs.shape[1]
        h = np.zeros((n, self.hidden_size)) if h is None else h
        c = np.zeros((n, self.hidden_size)) if c is None else c
        outputs = []
        for x in xs:
            gates = x @ self.Wx + h @ self.Wh + self.b
            i, f, g, o = np.split(gates, 4, axis=1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            outputs.append(h)
        return np.stack(outputs), (h, c)


PROGRAMS.add(
    LSTMCell.run,
    lambda: (LSTMCell(3, 4), normal(12, 2, 3)),
    lambda: (LSTMCell(3, 4), normal(20, 2, 3), np.ones((2, 4))),
)


class Conv2D:
    def __init__(self, filters, size, stride=1, padding=0, seed=0):
        self.w = np.random.default_rng(seed).normal(size=(filters, size, size))
        self.size, self.stride, self.padding = size, stride, padding

    def iterate_regions(self, image):
        h, w = image.shape
        for i in range(0, h - self.size + 1, self.stride):
            for j in range(0, w - self.size + 1, self.stride):
                region = image[i : i + self.size, j : j + self.size]
                yield region, i // self.stride, j // self.stride

    def forward(self, image):
        if self.padding:
            image = np.pad(image, self.padding)
        h = (image.shape[0] - self.size) // self.stride + 1
        w = (image.shape[1] - self.size) // self.stride + 1
        output = np.zeros((h, w, len(self.w)))
        for region, i, j in self.iterate_regions(image):
            output[i, j] = np.sum(region * self.w, axis=(1, 2))
        return output


PROGRAMS.add(
    Conv2D.forward,
    lambda: (Conv2D(4, 3), normal(12, 10)),
    lambda: (Conv2D(2, 3, stride=2, padding=1), normal(11, 9)),
)


def max_pool(x, pool_size=2, stride=2):
    n, h, w, c = x.shape
    out_h = (h - pool_size) // stride + 1
    out_w = (w - pool_size) // stride + 1
    out = np.zeros((n, out_h, out_w, c))
    for i in range(out_h):
        for j in range(out_w):
            window = x[
                :, i * stride : i * stride + pool_size, j * stride : j * stride + pool_size, :
            ]
            out[:, i, j, :] = np.max(window, axis=(1, 2))
    return out


PROGRAMS.add(max_pool, lambda: (normal(2, 8, 8, 3),), lambda: (normal(1, 9, 7, 2), 3, 2))


def multi_head_attention(x, Wq, Wk, Wv, n_heads, causal=False):
    seq_len, d_model = x.shape
    assert d_model % n_heads == 0, "d_model must be divisible by n_heads"
    d_head = d_model // n_heads
    q, k, v = (x @ W for W in (Wq, Wk, Wv))
    heads = []
    for h in range(n_heads):
        s = slice(h * d_head, (h + 1) * d_head)
        scores = q[:, s] @ k[:, s].T / np.sqrt(d_head)
        if causal:
            scores[np.triu_indices(seq_len, k=1)] = -np.inf
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        heads.append(weights @ v[:, s])
    return np.concatenate(heads, axis=-1)


PROGRAMS.add(
    multi_head_attention,
    lambda: (normal(10, 8), *(normal(8, 8, seed=k) for k in range(3)), 2),
    lambda: (normal(6, 8), *(normal(8, 8, seed=k) for k in range(3)), 4, True),
    lambda: (normal(6, 8), *(normal(8, 8, seed=k) for k in range(3)), 3),
)

"""Attention (Vaswani et al., 2017), and the layers of transformers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.nn import init
from tracejit.nn.activations import gelu, relu, softmax
from tracejit.nn.dropout import Dropout
from tracejit.nn.linear import Linear
from tracejit.nn.module import Module
from tracejit.nn.normalisation import LayerNorm

__all__ = [
    "Cache",
    "MultiHeadAttention",
    "TransformerDecoderLayer",
    "TransformerEncoderLayer",
    "attention",
    "rotary",
    "sinusoids",
]


def attention(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False) -> Any:
    """softmax(q k.T / sqrt(d)) v: q [..., t, d], k and v [..., s, d] -> [..., t, d].

    `mask` [..., t, s] is added to the products, or, where it is of bools, says by True what is
    looked at. `causal` lets the last of q look at all of k, and each one before at one less.
    """
    scores = q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(q.shape[-1]))
    if causal:
        t, s = scores.shape[-2:]
        seen = np.arange(s) <= np.arange(t)[:, None] + (s - t)
        scores = np.where(seen, scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return softmax(scores) @ v


class Cache:
    """Keys and values [n, heads, capacity, d] of what has been read, for decoding step by step."""

    __buffers__ = ("keys", "values")

    def __init__(self, n: int, heads: int, capacity: int, d: int, dtype: Any = np.float32) -> None:
        self.keys, self.values = np.zeros((2, n, heads, capacity, d), dtype)
        self.length = 0

    def add(self, keys: Any, values: Any) -> Any:
        """Append keys and values [n, heads, t, d], and give all so far.

        Raises ValueError where there is no room for them.
        """
        begin, end = self.length, self.length + keys.shape[2]
        if end > self.keys.shape[2]:
            raise ValueError(f"a cache for {self.keys.shape[2]} tokens has no room for {end}")
        self.keys[:, :, begin:end] = keys
        self.values[:, :, begin:end] = values
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]


class MultiHeadAttention(Module):
    """Attention by several heads: x [n, t, size] -> [n, t, size].

    `memory` [n, s, size] is what is looked at (default: x itself). `mask` broadcasts to
    [n, heads, t, s], as of `attention`; `padding` bool[n, s] is True at what is not looked at;
    `cache` is a `Cache` to which x's keys are added. Raises ValueError for a size that the heads do
    not divide, and for other numbers of features.
    """

    def __init__(
        self, size: int, heads: int, rng: Any, *, bias: bool = True, dtype: Any = np.float32
    ) -> None:
        if size % heads:
            raise ValueError(f"{heads} heads do not divide a size of {size}")
        self.heads = heads
        self.in_proj_weight = init.glorot_uniform((3 * size, size), rng, dtype=dtype)
        self.in_proj_bias = np.zeros(3 * size, dtype) if bias else None
        self.out_proj = Linear(size, size, rng, bias=bias, dtype=dtype)
        if self.out_proj.bias is not None:
            self.out_proj.bias[:] = 0

    def __call__(
        self,
        x: Any,
        memory: Any = None,
        *,
        mask: Any = None,
        padding: Any = None,
        causal: bool = False,
        cache: Any = None,
    ) -> Any:
        size = self.in_proj_weight.shape[1]
        for given in (x, x if memory is None else memory):
            if given.ndim != 3 or given.shape[-1] != size:
                raise ValueError(
                    f"MultiHeadAttention({size}) takes [n, t, {size}], not {given.shape}"
                )
        if memory is None:
            q, k, v = np.split(self._projected(x, 0, 3), 3, axis=-1)
        else:
            q = self._projected(x, 0, 1)
            k, v = np.split(self._projected(memory, 1, 3), 2, axis=-1)
        q, k, v = self._parted(q), self._parted(k), self._parted(v)
        if cache is not None:
            k, v = cache.add(k, v)
        if padding is not None:
            seen = ~padding[:, None, None, :]
            k_mask = np.where(seen, np.zeros((), x.dtype), -np.inf)
            mask = k_mask if mask is None else _added(mask, k_mask)
        y = attention(q, k, v, mask, causal)
        n, heads, t, d = y.shape
        return self.out_proj(y.transpose(0, 2, 1, 3).reshape(n, t, heads * d))

    def _projected(self, x: Any, first: int, last: int) -> Any:
        size = x.shape[-1]
        y = x @ self.in_proj_weight[first * size : last * size].T
        return y if self.in_proj_bias is None else y + self.in_proj_bias[first * size : last * size]

    def _parted(self, x: Any) -> Any:
        n, t, size = x.shape
        return x.reshape(n, t, self.heads, size // self.heads).transpose(0, 2, 1, 3)


def _added(mask: Any, other: Any) -> Any:
    return np.where(mask, other, -np.inf) if mask.dtype == bool else mask + other


def sinusoids(length: int, size: int, dtype: Any = np.float32) -> Any:
    """Positions as sines and cosines of wavelengths from 2 pi to 20 000 pi: [length, size]."""
    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(0, size, 2) / size)
    out = np.empty((length, size), dtype)
    out[:, 0::2], out[:, 1::2] = np.sin(angles), np.cos(angles[:, : size // 2])
    return out


def rotary(x: Any, start: int = 0, base: float = 10000.0) -> Any:
    """Pairs of features turned by angles that grow with the position (Su et al., 2021).

    x [..., t, d] with d even: features k and k + d / 2 are a pair; the first position is `start`.
    """
    t, d = x.shape[-2:]
    angles = (start + np.arange(t))[:, None] * base ** (-np.arange(0, d, 2) / d)
    cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return np.concatenate((a * cos - b * sin, a * sin + b * cos), axis=-1)


class _Layer(Module):
    """What the layers of encoders and decoders share."""

    def __init__(
        self,
        size: int,
        heads: int,
        hidden: int,
        rng: Any,
        *,
        dropout: float = 0.1,
        norm_first: bool = False,
        activation: str = "relu",
        dtype: Any = np.float32,
    ) -> None:
        self.self_attn = MultiHeadAttention(size, heads, rng, dtype=dtype)
        self.linear1 = Linear(size, hidden, rng, dtype=dtype)
        self.linear2 = Linear(hidden, size, rng, dtype=dtype)
        self.norm1, self.norm2 = LayerNorm(size, dtype=dtype), LayerNorm(size, dtype=dtype)
        self.dropout = Dropout(dropout, rng)
        self.norm_first, self.activation = norm_first, {"relu": relu, "gelu": gelu}[activation]

    def _around(self, norm: Any, x: Any, part: Any) -> Any:
        """A part with its residual, the norm in front of it or behind."""
        if self.norm_first:
            return x + self.dropout(part(norm(x)))
        return norm(x + self.dropout(part(x)))

    def _feed(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and two linear maps, each with norm and residual: x [n, t, size] -> the same.

    The names of its parameters are PyTorch's. With `norm_first` norms stand in front of the parts.
    """

    def __call__(
        self, x: Any, *, mask: Any = None, padding: Any = None, causal: bool = False
    ) -> Any:
        x = self._around(
            self.norm1,
            x,
            lambda y: self.self_attn(y, mask=mask, padding=padding, causal=causal),
        )
        return self._around(self.norm2, x, self._feed)


class TransformerDecoderLayer(_Layer):
    """As the encoder's layer, causal, with attention to `memory` [n, s, size] between its parts."""

    def __init__(self, size: int, heads: int, hidden: int, rng: Any, **options: Any) -> None:
        super().__init__(size, heads, hidden, rng, **options)
        dtype = options.get("dtype", np.float32)
        self.multihead_attn = MultiHeadAttention(size, heads, rng, dtype=dtype)
        self.norm3 = LayerNorm(size, dtype=dtype)

    def __call__(
        self, x: Any, memory: Any, *, mask: Any = None, padding: Any = None, causal: bool = True
    ) -> Any:
        x = self._around(self.norm1, x, lambda y: self.self_attn(y, mask=mask, causal=causal))
        x = self._around(self.norm2, x, lambda y: self.multihead_attn(y, memory, padding=padding))
        return self._around(self.norm3, x, self._feed)

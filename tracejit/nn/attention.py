"""Attention (Vaswani et al., 2017): each query takes a mean of the values, weighted by the keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.nn import init
from tracejit.nn.dropout import Dropout
from tracejit.nn.linear import Linear
from tracejit.nn.module import Module
from tracejit.nn.positions import rotary

__all__ = ["Cache", "MultiHeadAttention", "scaled_dot_product_attention"]


def scaled_dot_product_attention(
    q: Any, k: Any, v: Any, mask: Any = None, *, causal: bool = False, dropout: Any = None
) -> Any:
    """softmax(q k.T / sqrt(d)) v: q [..., t, d], k [..., s, d], v [..., s, e] -> [..., t, e].

    `mask` [..., t, s] is added to the products; one of bools says by True what is looked at.
    `causal` lets the last query look at all keys, and each one before it at one less. A query that
    may look at nothing gets zeros. `dropout` is called on the weights.
    """
    scores = q @ np.swapaxes(k, -1, -2) * (1 / math.sqrt(q.shape[-1]))
    if causal:
        t, s = scores.shape[-2:]
        scores = np.where(np.arange(s) <= np.arange(t)[:, None] + (s - t), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    weights = _softmax(scores)
    return (weights if dropout is None else dropout(weights)) @ v


def _softmax(x: Any) -> Any:
    """Softmax of the last axis; zeros where all elements are -inf."""
    largest = x.max(axis=-1, keepdims=True)
    e = np.exp(x - np.where(largest == -np.inf, 0, largest))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


class Cache:
    """Keys and values [n, heads, capacity, d] of what has been read, for decoding step by step."""

    __buffers__ = ("keys", "values")

    def __init__(self, n: int, heads: int, capacity: int, d: int, dtype: Any = np.float32) -> None:
        self.keys = np.zeros((n, heads, capacity, d), dtype)
        self.values = np.zeros((n, heads, capacity, d), dtype)
        self.length = 0

    def add(self, keys: Any, values: Any) -> Any:
        """Append keys and values [n, heads, t, d], and give all so far.

        Raises ValueError where there is no room for them.
        """
        begin, end = self.length, self.length + keys.shape[2]
        if end > self.keys.shape[2]:
            raise ValueError(f"a Cache for {self.keys.shape[2]} positions has no room for {end}")
        self.keys[:, :, begin:end] = keys
        self.values[:, :, begin:end] = values
        self.length = end
        return self.keys[:, :, :end], self.values[:, :, :end]


class MultiHeadAttention(Module):
    """Attention by several heads: x [n, t, size] -> [n, t, size].

    What is looked at is x itself, or `memory` [n, s, size]. `mask` broadcasts to [n, heads, t, s],
    as of `scaled_dot_product_attention`; `padding` bool[n, s] is True at what is not looked at.
    With a `Cache`, x goes on where the calls before have ended: its keys are added, and s counts
    all of them. With `rotary=True` queries and keys are turned by their positions. `dropout` is the
    rate of the weights' dropout. Parameters have PyTorch's names and are drawn as there.

    Raises ValueError for a size that the heads do not divide, and for other numbers of features.
    """

    in_proj_bias: Any

    def __init__(
        self,
        size: int,
        heads: int,
        rng: Any,
        *,
        bias: bool = True,
        dropout: float = 0.0,
        rotary: bool = False,
        dtype: Any = np.float32,
    ) -> None:
        if size % heads:
            raise ValueError(f"{heads} heads do not divide a size of {size}")
        self.heads, self.rotary, self.dropout = heads, rotary, Dropout(dropout, rng)
        self.in_proj_weight = init.glorot_uniform((3 * size, size), rng, dtype=dtype)
        self.out_proj = Linear(size, size, rng, bias=bias, dtype=dtype)
        self.in_proj_bias = None
        if bias:
            self.in_proj_bias, self.out_proj.bias = np.zeros(3 * size, dtype), np.zeros(size, dtype)

    def cache(self, n: int, capacity: int) -> Cache:
        """An empty cache for `n` sequences of at most `capacity` positions."""
        size, weight = self.in_proj_weight.shape[1], self.in_proj_weight
        return Cache(n, self.heads, capacity, size // self.heads, weight.dtype)

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
        if memory is None:
            q, k, v = np.split(self._projected(x, 0, 3), 3, axis=-1)
        else:
            q = self._projected(x, 0, 1)
            k, v = np.split(self._projected(memory, 1, 3), 2, axis=-1)
        q, k, v = self._parted(q), self._parted(k), self._parted(v)
        if self.rotary:
            start = 0 if cache is None else cache.length
            q, k = rotary(q, start), rotary(k, start)
        if cache is not None:
            k, v = cache.add(k, v)
        if padding is not None:
            seen = ~padding[:, None, None, :]
            if mask is None:
                mask = seen
            else:
                mask = mask & seen if mask.dtype == bool else np.where(seen, mask, -np.inf)
        y = scaled_dot_product_attention(q, k, v, mask, causal=causal, dropout=self.dropout)
        return self.out_proj(y.transpose(0, 2, 1, 3).reshape(x.shape))

    def _projected(self, x: Any, first: int, last: int) -> Any:
        """Queries, keys and values, or some of the three, side by side."""
        size = self.in_proj_weight.shape[1]
        if x.ndim != 3 or x.shape[-1] != size:
            raise ValueError(
                f"MultiHeadAttention({size}, {self.heads}) takes [n, t, {size}], not {x.shape}"
            )
        y = x @ self.in_proj_weight[first * size : last * size].T
        return y if self.in_proj_bias is None else y + self.in_proj_bias[first * size : last * size]

    def _parted(self, x: Any) -> Any:
        """[n, t, size] as [n, heads, t, size / heads]."""
        n, t, size = x.shape
        return x.reshape(n, t, self.heads, size // self.heads).transpose(0, 2, 1, 3)

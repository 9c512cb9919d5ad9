"""The layers of transformers (Vaswani et al., 2017), of attention and linear maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.nn.activations import relu
from tracejit.nn.attention import MultiHeadAttention
from tracejit.nn.dropout import Dropout
from tracejit.nn.linear import Linear
from tracejit.nn.module import Module
from tracejit.nn.normalisation import LayerNorm

__all__ = ["TransformerDecoderLayer", "TransformerEncoderLayer"]


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
        activation: Any = relu,
        norm_first: bool = False,
        rotary: bool = False,
        dtype: Any = np.float32,
    ) -> None:
        self.self_attn = MultiHeadAttention(
            size, heads, rng, dropout=dropout, rotary=rotary, dtype=dtype
        )
        self.linear1 = Linear(size, hidden, rng, dtype=dtype)
        self.linear2 = Linear(hidden, size, rng, dtype=dtype)
        self.norm1, self.norm2 = LayerNorm(size, dtype=dtype), LayerNorm(size, dtype=dtype)
        self.dropout = Dropout(dropout, rng)
        self.activation, self.norm_first = activation, norm_first

    def _around(self, norm: Any, x: Any, part: Any) -> Any:
        """A part with its residual, the norm in front of it or behind."""
        if self.norm_first:
            return x + self.dropout(part(norm(x)))
        return norm(x + self.dropout(part(x)))

    def _mapped(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention, then two linear maps, each with a norm and a residual: [n, t, size].

    `hidden` is the number of features between the maps, `activation` a function of them, `dropout`
    a rate. Norms stand behind the residuals, or with `norm_first` in front of the parts. The
    parameters have PyTorch's names. A call's keywords (`mask`, `padding`, `causal`, `cache`) are
    those of `MultiHeadAttention`.
    """

    def __call__(self, x: Any, **looks: Any) -> Any:
        x = self._around(self.norm1, x, lambda y: self.self_attn(y, **looks))
        return self._around(self.norm2, x, self._mapped)


class TransformerDecoderLayer(_Layer):
    """As the encoder's layer, with attention to `memory` [n, s, size] before the linear maps.

    `memory_mask` and `memory_padding` are those of the memory; self-attention is causal where a
    call does not say otherwise.
    """

    def __init__(self, size: int, heads: int, hidden: int, rng: Any, **options: Any) -> None:
        super().__init__(size, heads, hidden, rng, **options)
        dtype, dropout = self.linear1.weight.dtype, self.dropout.rate
        self.multihead_attn = MultiHeadAttention(size, heads, rng, dropout=dropout, dtype=dtype)
        self.norm3 = LayerNorm(size, dtype=dtype)

    def __call__(
        self,
        x: Any,
        memory: Any,
        *,
        memory_mask: Any = None,
        memory_padding: Any = None,
        causal: bool = True,
        **looks: Any,
    ) -> Any:
        def remembered(y: Any) -> Any:
            return self.multihead_attn(y, memory, mask=memory_mask, padding=memory_padding)

        x = self._around(self.norm1, x, lambda y: self.self_attn(y, causal=causal, **looks))
        x = self._around(self.norm2, x, remembered)
        return self._around(self.norm3, x, self._mapped)

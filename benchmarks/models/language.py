"""A transformer language model (Vaswani et al., 2017; Radford et al., 2019), norms first."""

import numpy as np

from tracejit import nn


class Block(nn.Module):
    def __init__(self, size, heads, rng):
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attention = nn.MultiHeadAttention(size, heads, rng)
        self.wide, self.narrow = nn.Linear(size, 4 * size, rng), nn.Linear(4 * size, size, rng)

    def __call__(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, causal=True)
        return x + self.narrow(nn.gelu(self.wide(self.norm2(x))))


class LanguageModel(nn.Module):
    """tokens i64[n, t] -> f32[n, t, words]: the logits of the token that follows each."""

    def __init__(self, words, length, rng, size=64, heads=4, layers=2):
        self.tokens = nn.Embedding(words, size, rng)
        self.places = nn.Embedding(length, size, rng)
        self.blocks = [Block(size, heads, rng) for _ in range(layers)]
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, words, rng, bias=False)

    def __call__(self, tokens):
        x = self.tokens(tokens) + self.places(np.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

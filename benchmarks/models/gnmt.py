"""A translator like Google's (Wu et al., 2016): LSTMs in layers with residuals, and attention.

The encoder's first layer reads both ways; the decoder attends to the encoder's last layer (Luong
et al., 2015, by products) with the state of its first one, and what it finds goes to all others.
"""

import numpy as np

from tracejit import nn


class GNMT(nn.Module):
    """source i64[t, n], target i64[u, n] -> f32[u, n, words]: the logits of the next words."""

    def __init__(self, words, rng, size=64, layers=3):
        self.embedding = nn.Embedding(words, size, rng)
        self.both_ways = nn.LSTM(size, size // 2, rng, bidirectional=True)
        self.encoders = [nn.LSTM(size, size, rng) for _ in range(layers - 1)]
        self.first = nn.LSTM(size, size, rng)
        self.decoders = [nn.LSTM(2 * size, size, rng) for _ in range(layers - 1)]
        self.last = nn.Linear(2 * size, words, rng)

    def encoded(self, source):
        x, _ = self.both_ways(self.embedding(source))
        for k, layer in enumerate(self.encoders):
            y, _ = layer(x)
            x = x + y if k > 0 else y
        return x

    def __call__(self, source, target):
        memory = self.encoded(source)
        y, _ = self.first(self.embedding(target))
        scores = np.einsum("und,tnd->nut", y, memory) / np.sqrt(np.float32(y.shape[-1]))
        context = np.einsum("nut,tnd->und", nn.softmax(scores), memory)
        for k, layer in enumerate(self.decoders):
            z, _ = layer(np.concatenate((y, context), axis=-1))
            y = y + z if k > 0 else z
        return self.last(np.concatenate((y, context), axis=-1))

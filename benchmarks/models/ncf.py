"""Neural collaborative filtering (He et al., 2017): factors, and a perceptron on others."""

from itertools import pairwise

import numpy as np

from tracejit import nn


class NCF(nn.Module):
    """users i64[n], items i64[n] -> f32[n], the logits of an interaction."""

    def __init__(self, users, items, rng, factors=8, hidden=(64, 32, 16)):
        self.user_factors = nn.Embedding(users, factors, rng)
        self.item_factors = nn.Embedding(items, factors, rng)
        self.user_features = nn.Embedding(users, hidden[0] // 2, rng)
        self.item_features = nn.Embedding(items, hidden[0] // 2, rng)
        for table in (self.user_factors, self.item_factors, self.user_features, self.item_features):
            table.weight *= 0.1
        self.layers = [nn.Linear(a, b, rng) for a, b in pairwise(hidden)]
        self.last = nn.Linear(factors + hidden[-1], 1, rng)

    def __call__(self, users, items):
        product = self.user_factors(users) * self.item_factors(items)
        x = np.concatenate((self.user_features(users), self.item_features(items)), axis=1)
        for layer in self.layers:
            x = nn.relu(layer(x))
        return self.last(np.concatenate((product, x), axis=1))[:, 0]

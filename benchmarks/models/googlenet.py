"""GoogLeNet (Szegedy et al., 2015): nine Inception modules, batch norm behind each convolution.

The norms are those of its second version (Ioffe and Szegedy, 2015); the two side heads, which
helped it train without them, are left out.
"""

import numpy as np

from tracejit import nn

#: 1 x 1; before 3 x 3, and it; before 5 x 5, and it; behind the pool. None is a pool between.
MODULES = (
    (64, 96, 128, 16, 32, 32),
    (128, 128, 192, 32, 96, 64),
    None,
    (192, 96, 208, 16, 48, 64),
    (160, 112, 224, 24, 64, 64),
    (128, 128, 256, 24, 64, 64),
    (112, 144, 288, 32, 64, 64),
    (256, 160, 320, 32, 128, 128),
    None,
    (256, 160, 320, 32, 128, 128),
    (384, 192, 384, 48, 128, 128),
)


class ConvNorm(nn.Module):
    def __init__(self, inputs, outputs, size, rng, stride=1, padding=0):
        self.conv = nn.Conv2d(
            inputs, outputs, size, rng, stride=stride, padding=padding, bias=False
        )
        self.norm = nn.BatchNorm(outputs)

    def __call__(self, x):
        return nn.relu(self.norm(self.conv(x)))


class Inception(nn.Module):
    def __init__(self, inputs, one, before3, three, before5, five, pooled, rng):
        self.one = ConvNorm(inputs, one, 1, rng)
        self.before3 = ConvNorm(inputs, before3, 1, rng)
        self.three = ConvNorm(before3, three, 3, rng, padding=1)
        self.before5 = ConvNorm(inputs, before5, 1, rng)
        self.five = ConvNorm(before5, five, 5, rng, padding=2)
        self.pool, self.pooled = nn.MaxPool2d(3, 1, padding=1), ConvNorm(inputs, pooled, 1, rng)

    def __call__(self, x):
        parts = (
            self.one(x),
            self.three(self.before3(x)),
            self.five(self.before5(x)),
            self.pooled(self.pool(x)),
        )
        return np.concatenate(parts, axis=1)


class GoogLeNet(nn.Module):
    """x f32[n, 3, s, s] -> f32[n, classes], s at least 32; `width` 1 is the paper's."""

    def __init__(self, classes, rng, width=1.0, rate=0.4):
        def scaled(n):
            return max(4, int(width * n))

        self.stem = [
            ConvNorm(3, scaled(64), 7, rng, stride=2, padding=3),
            ConvNorm(scaled(64), scaled(64), 1, rng),
            ConvNorm(scaled(64), scaled(192), 3, rng, padding=1),
        ]
        self.pool, self.last_pool = nn.MaxPool2d(3, 2, padding=1), nn.AdaptiveAvgPool2d(1)
        inputs, self.inceptions = scaled(192), []
        for sizes in MODULES:
            if sizes is None:
                self.inceptions.append(self.pool)
            else:
                one, before3, three, before5, five, pooled = map(scaled, sizes)
                self.inceptions.append(
                    Inception(inputs, one, before3, three, before5, five, pooled, rng)
                )
                inputs = one + three + five + pooled
        self.drop, self.fc = nn.Dropout(rate, rng), nn.Linear(inputs, classes, rng)

    def __call__(self, x):
        first, second, third = self.stem
        x = self.pool(third(second(self.pool(first(x)))))
        for module in self.inceptions:
            x = module(x)
        return self.fc(self.drop(self.last_pool(x).reshape(len(x), -1)))

"""Overfeat, the fast model (Sermanet et al., 2014): wide layers of 3 x 3 without pools between."""

from tracejit import nn


class Overfeat(nn.Module):
    """x f32[n, 3, s, s] -> f32[n, classes], for s of at least 75; `width` 1 is the paper's."""

    def __init__(self, classes, rng, width=1.0):
        a, b, c, d, e, f = (max(8, int(width * n)) for n in (96, 256, 512, 1024, 3072, 4096))
        self.conv1 = nn.Conv2d(3, a, 11, rng, stride=4)
        self.conv2 = nn.Conv2d(a, b, 5, rng)
        self.conv3 = nn.Conv2d(b, c, 3, rng, padding=1)
        self.conv4 = nn.Conv2d(c, d, 3, rng, padding=1)
        self.conv5 = nn.Conv2d(d, d, 3, rng, padding=1)
        self.pool, self.last_pool = nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1)
        self.fc6, self.fc7, self.fc8 = (
            nn.Linear(d, e, rng),
            nn.Linear(e, f, rng),
            nn.Linear(f, classes, rng),
        )

    def __call__(self, x):
        x = self.pool(nn.relu(self.conv1(x)))
        x = self.pool(nn.relu(self.conv2(x)))
        for conv in (self.conv3, self.conv4, self.conv5):
            x = nn.relu(conv(x))
        x = self.last_pool(x).reshape(len(x), -1)
        return self.fc8(nn.relu(self.fc7(nn.relu(self.fc6(x)))))

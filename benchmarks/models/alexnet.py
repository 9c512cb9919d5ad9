"""AlexNet (Krizhevsky et al., 2012), in one column: large filters first, pools, dropouts."""

from tracejit import nn


class AlexNet(nn.Module):
    """x f32[n, 3, s, s] -> f32[n, classes], for s of at least 63; `width` 1 is the paper's."""

    def __init__(self, classes, rng, width=1.0, rate=0.5):
        a, b, c, d, e = (max(8, int(width * n)) for n in (96, 256, 384, 256, 4096))
        self.conv1 = nn.Conv2d(3, a, 11, rng, stride=4, padding=2)
        self.conv2 = nn.Conv2d(a, b, 5, rng, padding=2)
        self.conv3 = nn.Conv2d(b, c, 3, rng, padding=1)
        self.conv4 = nn.Conv2d(c, c, 3, rng, padding=1)
        self.conv5 = nn.Conv2d(c, d, 3, rng, padding=1)
        self.pool, self.last_pool = nn.MaxPool2d(3, stride=2), nn.AdaptiveAvgPool2d(1)
        self.drop = nn.Dropout(rate, rng)
        self.fc6, self.fc7 = nn.Linear(d, e, rng), nn.Linear(e, e, rng)
        self.fc8 = nn.Linear(e, classes, rng)

    def __call__(self, x):
        x = self.pool(nn.relu(self.conv1(x)))
        x = self.pool(nn.relu(self.conv2(x)))
        x = nn.relu(self.conv3(x))
        x = nn.relu(self.conv4(x))
        x = self.last_pool(nn.relu(self.conv5(x)))
        x = self.drop(x.reshape(len(x), -1))
        x = self.drop(nn.relu(self.fc6(x)))
        return self.fc8(nn.relu(self.fc7(x)))

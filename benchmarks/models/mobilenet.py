"""MobileNet (Howard et al., 2017): thirteen pairs of a depthwise convolution and one of 1 x 1."""

from tracejit import nn

#: Outputs of each pair, and the stride of its depthwise convolution.
PAIRS = (
    ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2))
    + 5 * ((512, 1),)
    + (
        (1024, 2),
        (1024, 1),
    )
)


class Separable(nn.Module):
    def __init__(self, inputs, outputs, stride, rng):
        self.depthwise = nn.Conv2d(
            inputs, inputs, 3, rng, stride=stride, padding=1, groups=inputs, bias=False
        )
        self.bn1 = nn.BatchNorm(inputs)
        self.pointwise = nn.Conv2d(inputs, outputs, 1, rng, bias=False)
        self.bn2 = nn.BatchNorm(outputs)

    def __call__(self, x):
        x = nn.relu(self.bn1(self.depthwise(x)))
        return nn.relu(self.bn2(self.pointwise(x)))


class MobileNet(nn.Module):
    """x f32[n, 3, s, s] -> f32[n, classes], s at least 32; `width` is the paper's alpha."""

    def __init__(self, classes, rng, width=1.0):
        inputs = max(8, int(width * 32))
        self.conv = nn.Conv2d(3, inputs, 3, rng, stride=2, padding=1, bias=False)
        self.bn, self.pairs = nn.BatchNorm(inputs), []
        for outputs, stride in PAIRS:
            outputs = max(8, int(width * outputs))
            self.pairs.append(Separable(inputs, outputs, stride, rng))
            inputs = outputs
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(inputs, classes, rng)

    def __call__(self, x):
        x = nn.relu(self.bn(self.conv(x)))
        for pair in self.pairs:
            x = pair(x)
        return self.fc(self.pool(x).reshape(len(x), -1))

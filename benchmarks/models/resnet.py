"""ResNet-50 (He et al., 2016): sixteen bottlenecks of three convolutions, with batch norms."""

from tracejit import nn

#: Filters of each stage's narrow convolutions, and how many bottlenecks it has.
STAGES = ((64, 3), (128, 4), (256, 6), (512, 3))


class Bottleneck(nn.Module):
    def __init__(self, inputs, filters, stride, rng):
        outputs = 4 * filters
        self.conv1 = nn.Conv2d(inputs, filters, 1, rng, bias=False)
        self.conv2 = nn.Conv2d(filters, filters, 3, rng, stride=stride, padding=1, bias=False)
        self.conv3 = nn.Conv2d(filters, outputs, 1, rng, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm(filters), nn.BatchNorm(filters)
        self.bn3 = nn.BatchNorm(outputs)
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, rng, stride=stride, bias=False)
            self.norm = nn.BatchNorm(outputs)

    def __call__(self, x):
        y = nn.relu(self.bn1(self.conv1(x)))
        y = nn.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        if self.shortcut is not None:
            x = self.norm(self.shortcut(x))
        return nn.relu(x + y)


class ResNet50(nn.Module):
    """x f32[n, 3, s, s] -> f32[n, classes], s at least 32; `width` 1 is the paper's."""

    def __init__(self, classes, rng, width=1.0):
        inputs = max(4, int(width * 64))
        self.conv1 = nn.Conv2d(3, inputs, 7, rng, stride=2, padding=3, bias=False)
        self.bn1, self.blocks = nn.BatchNorm(inputs), []
        for stage, (filters, count) in enumerate(STAGES):
            narrow = max(4, int(width * filters))
            for k in range(count):
                stride = 2 if stage > 0 and k == 0 else 1
                self.blocks.append(Bottleneck(inputs, narrow, stride, rng))
                inputs = 4 * narrow
        self.pool, self.last_pool = nn.MaxPool2d(3, 2, padding=1), nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(inputs, classes, rng)

    def __call__(self, x):
        x = self.pool(nn.relu(self.bn1(self.conv1(x))))
        for block in self.blocks:
            x = block(x)
        return self.fc(self.last_pool(x).reshape(len(x), -1))

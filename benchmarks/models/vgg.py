"""VGG-19 (Simonyan and Zisserman, 2015): sixteen convolutions of 3 x 3 and three full layers."""

from tracejit import nn

#: Filters of each stage, and how many convolutions it has.
STAGES = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))


class VGG19(nn.Module):
    """x f32[n, 3, s, s] -> f32[n, classes], s a multiple of 32; `width` 1 is the paper's."""

    def __init__(self, classes, rng, width=1.0, size=224, rate=0.5):
        inputs, self.stages = 3, []
        for filters, count in STAGES:
            outputs, stage = max(4, int(width * filters)), []
            for _ in range(count):
                conv = nn.Conv2d(inputs, outputs, 3, rng, padding=1)
                # Nineteen layers without norms do not learn from smaller weights.
                conv.weight[:] = nn.init.he_normal(conv.weight.shape, rng)
                stage.append(conv)
                inputs = outputs
            self.stages.append(stage)
        hidden = max(8, int(width * 4096))
        self.pool, self.drop = nn.MaxPool2d(2), nn.Dropout(rate, rng)
        self.fc1 = nn.Linear(inputs * (size // 32) ** 2, hidden, rng)
        self.fc2, self.fc3 = nn.Linear(hidden, hidden, rng), nn.Linear(hidden, classes, rng)

    def __call__(self, x):
        for stage in self.stages:
            for conv in stage:
                x = nn.relu(conv(x))
            x = self.pool(x)
        x = self.drop(nn.relu(self.fc1(x.reshape(len(x), -1))))
        return self.fc3(self.drop(nn.relu(self.fc2(x))))

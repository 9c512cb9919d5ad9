"""The models in PyTorch, with parameters of the same names; import this where it is installed."""

from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F

from . import googlenet, mobilenet, resnet, vgg


def scaled(least, width):
    return lambda n: max(least, int(width * n))


class AlexNet(nn.Module):
    def __init__(self, classes, width=1.0, rate=0.5):
        super().__init__()
        a, b, c, d, e = map(scaled(8, width), (96, 256, 384, 256, 4096))
        self.conv1 = nn.Conv2d(3, a, 11, stride=4, padding=2)
        self.conv2 = nn.Conv2d(a, b, 5, padding=2)
        self.conv3 = nn.Conv2d(b, c, 3, padding=1)
        self.conv4 = nn.Conv2d(c, c, 3, padding=1)
        self.conv5 = nn.Conv2d(c, d, 3, padding=1)
        self.drop = nn.Dropout(rate)
        self.fc6, self.fc7, self.fc8 = nn.Linear(d, e), nn.Linear(e, e), nn.Linear(e, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 3, 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 3, 2)
        x = F.relu(self.conv5(F.relu(self.conv4(F.relu(self.conv3(x))))))
        x = self.drop(F.adaptive_avg_pool2d(x, 1).flatten(1))
        x = self.drop(F.relu(self.fc6(x)))
        return self.fc8(F.relu(self.fc7(x)))


class Overfeat(nn.Module):
    def __init__(self, classes, width=1.0):
        super().__init__()
        a, b, c, d, e, f = map(scaled(8, width), (96, 256, 512, 1024, 3072, 4096))
        self.conv1, self.conv2 = nn.Conv2d(3, a, 11, stride=4), nn.Conv2d(a, b, 5)
        self.conv3 = nn.Conv2d(b, c, 3, padding=1)
        self.conv4 = nn.Conv2d(c, d, 3, padding=1)
        self.conv5 = nn.Conv2d(d, d, 3, padding=1)
        self.fc6, self.fc7, self.fc8 = nn.Linear(d, e), nn.Linear(e, f), nn.Linear(f, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.conv5(F.relu(self.conv4(F.relu(self.conv3(x))))))
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return self.fc8(F.relu(self.fc7(F.relu(self.fc6(x)))))


class VGG19(nn.Module):
    def __init__(self, classes, width=1.0, size=224, rate=0.5):
        super().__init__()
        inputs, stages = 3, []
        for filters, count in vgg.STAGES:
            outputs, stage = scaled(4, width)(filters), []
            for _ in range(count):
                stage.append(nn.Conv2d(inputs, outputs, 3, padding=1))
                inputs = outputs
            stages.append(nn.ModuleList(stage))
        self.stages, self.drop = nn.ModuleList(stages), nn.Dropout(rate)
        hidden = scaled(8, width)(4096)
        self.fc1 = nn.Linear(inputs * (size // 32) ** 2, hidden)
        self.fc2, self.fc3 = nn.Linear(hidden, hidden), nn.Linear(hidden, classes)

    def forward(self, x):
        for stage in self.stages:
            for conv in stage:
                x = F.relu(conv(x))
            x = F.max_pool2d(x, 2)
        x = self.drop(F.relu(self.fc1(x.flatten(1))))
        return self.fc3(self.drop(F.relu(self.fc2(x))))


class ConvNorm(nn.Module):
    def __init__(self, inputs, outputs, size, stride=1, padding=0):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, size, stride, padding, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class Inception(nn.Module):
    def __init__(self, inputs, one, before3, three, before5, five, pooled):
        super().__init__()
        self.one = ConvNorm(inputs, one, 1)
        self.before3, self.three = ConvNorm(inputs, before3, 1), ConvNorm(before3, three, 3, 1, 1)
        self.before5, self.five = ConvNorm(inputs, before5, 1), ConvNorm(before5, five, 5, 1, 2)
        self.pooled = ConvNorm(inputs, pooled, 1)

    def forward(self, x):
        pooled = self.pooled(F.max_pool2d(x, 3, 1, 1))
        parts = (self.one(x), self.three(self.before3(x)), self.five(self.before5(x)), pooled)
        return torch.cat(parts, 1)


class GoogLeNet(nn.Module):
    def __init__(self, classes, width=1.0, rate=0.4):
        super().__init__()
        of = scaled(4, width)
        self.stem = nn.ModuleList(
            [
                ConvNorm(3, of(64), 7, 2, 3),
                ConvNorm(of(64), of(64), 1),
                ConvNorm(of(64), of(192), 3, 1, 1),
            ]
        )
        inputs, modules = of(192), []
        for sizes in googlenet.MODULES:
            if sizes is None:
                modules.append(nn.MaxPool2d(3, 2, 1))
            else:
                sizes = list(map(of, sizes))
                modules.append(Inception(inputs, *sizes))
                inputs = sizes[0] + sizes[2] + sizes[4] + sizes[5]
        self.inceptions = nn.ModuleList(modules)
        self.drop, self.fc = nn.Dropout(rate), nn.Linear(inputs, classes)

    def forward(self, x):
        first, second, third = self.stem
        x = F.max_pool2d(third(second(F.max_pool2d(first(x), 3, 2, 1))), 3, 2, 1)
        for module in self.inceptions:
            x = module(x)
        return self.fc(self.drop(F.adaptive_avg_pool2d(x, 1).flatten(1)))


class Bottleneck(nn.Module):
    def __init__(self, inputs, filters, stride):
        super().__init__()
        outputs = 4 * filters
        self.conv1 = nn.Conv2d(inputs, filters, 1, bias=False)
        self.conv2 = nn.Conv2d(filters, filters, 3, stride, 1, bias=False)
        self.conv3 = nn.Conv2d(filters, outputs, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(filters), nn.BatchNorm2d(filters)
        self.bn3, self.shortcut = nn.BatchNorm2d(outputs), None
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(F.relu(self.bn2(self.conv2(y)))))
        return F.relu((x if self.shortcut is None else self.norm(self.shortcut(x))) + y)


class ResNet50(nn.Module):
    def __init__(self, classes, width=1.0):
        super().__init__()
        of = scaled(4, width)
        inputs, blocks = of(64), []
        self.conv1 = nn.Conv2d(3, inputs, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(inputs)
        for stage, (filters, count) in enumerate(resnet.STAGES):
            for k in range(count):
                blocks.append(Bottleneck(inputs, of(filters), 2 if stage > 0 and k == 0 else 1))
                inputs = 4 * of(filters)
        self.blocks, self.fc = nn.ModuleList(blocks), nn.Linear(inputs, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        for block in self.blocks:
            x = block(x)
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Separable(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.depthwise = nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False)
        self.pointwise = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(inputs), nn.BatchNorm2d(outputs)

    def forward(self, x):
        return F.relu(self.bn2(self.pointwise(F.relu(self.bn1(self.depthwise(x))))))


class MobileNet(nn.Module):
    def __init__(self, classes, width=1.0):
        super().__init__()
        of = scaled(8, width)
        inputs, pairs = of(32), []
        self.conv, self.bn = nn.Conv2d(3, inputs, 3, 2, 1, bias=False), nn.BatchNorm2d(inputs)
        for outputs, stride in mobilenet.PAIRS:
            pairs.append(Separable(inputs, of(outputs), stride))
            inputs = of(outputs)
        self.pairs, self.fc = nn.ModuleList(pairs), nn.Linear(inputs, classes)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)))
        for pair in self.pairs:
            x = pair(x)
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class NCF(nn.Module):
    def __init__(self, users, items, factors=8, hidden=(64, 32, 16)):
        super().__init__()
        self.user_factors = nn.Embedding(users, factors)
        self.item_factors = nn.Embedding(items, factors)
        self.user_features = nn.Embedding(users, hidden[0] // 2)
        self.item_features = nn.Embedding(items, hidden[0] // 2)
        layers = [nn.Linear(a, b) for a, b in pairwise(hidden)]
        self.layers, self.last = nn.ModuleList(layers), nn.Linear(factors + hidden[-1], 1)

    def forward(self, users, items):
        product = self.user_factors(users) * self.item_factors(items)
        x = torch.cat((self.user_features(users), self.item_features(items)), 1)
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.last(torch.cat((product, x), 1))[:, 0]


class GNMT(nn.Module):
    def __init__(self, words, size=64, layers=3):
        super().__init__()
        self.embedding = nn.Embedding(words, size)
        self.both_ways = nn.LSTM(size, size // 2, bidirectional=True)
        self.encoders = nn.ModuleList([nn.LSTM(size, size) for _ in range(layers - 1)])
        self.first = nn.LSTM(size, size)
        self.decoders = nn.ModuleList([nn.LSTM(2 * size, size) for _ in range(layers - 1)])
        self.last = nn.Linear(2 * size, words)

    def forward(self, source, target):
        x, _ = self.both_ways(self.embedding(source))
        for k, layer in enumerate(self.encoders):
            z, _ = layer(x)
            x = x + z if k > 0 else z
        y, _ = self.first(self.embedding(target))
        scores = torch.einsum("und,tnd->nut", y, x) / y.shape[-1] ** 0.5
        context = torch.einsum("nut,tnd->und", torch.softmax(scores, -1), x)
        for k, layer in enumerate(self.decoders):
            z, _ = layer(torch.cat((y, context), -1))
            y = y + z if k > 0 else z
        return self.last(torch.cat((y, context), -1))


class Block(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attention = nn.MultiheadAttention(size, heads, batch_first=True)
        self.wide, self.narrow = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x):
        y = self.norm1(x)
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
        z, _ = self.attention(y, y, y, attn_mask=mask, is_causal=True, need_weights=False)
        x = x + z
        return x + self.narrow(F.gelu(self.wide(self.norm2(x))))


class LanguageModel(nn.Module):
    def __init__(self, words, length, size=64, heads=4, layers=2):
        super().__init__()
        self.tokens, self.places = nn.Embedding(words, size), nn.Embedding(length, size)
        self.blocks = nn.ModuleList([Block(size, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, words, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

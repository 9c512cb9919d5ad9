"""The nine models at sizes for a CPU, with data that they can learn."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit import nn

from .alexnet import AlexNet
from .gnmt import GNMT
from .googlenet import GoogLeNet
from .language import LanguageModel
from .mobilenet import MobileNet
from .ncf import NCF
from .overfeat import Overfeat
from .resnet import ResNet50
from .vgg import VGG19


@dataclass(frozen=True)
class Case:
    """A model with its data.

    `build(rng, small)` makes it, `twin(torch_twins, small)` the same in PyTorch; `batches(rng,
    small)` gives a function that draws a batch: the inputs and the target. `loss` is the name of
    the loss, `rate` the learning rate of plain descent, which is timed, `adam` that of Adam, with
    which the model learns in so many `steps`. `small` is a size for tests.
    """

    name: str
    build: Callable[[np.random.Generator, bool], Any]
    twin: Callable[[Any, bool], Any]
    batches: Callable[[np.random.Generator, bool], Callable[[], tuple[list[Any], Any]]]
    loss: str = "cross_entropy"
    rate: float = 0.05
    adam: float = 1e-3
    steps: int = 60


def pictures(count: int, size: int, classes: int = 10) -> Any:
    """Pictures of classes: a wave in each colour, of a direction and length by class, and noise."""

    def batches(rng: np.random.Generator, small: bool) -> Any:
        n, s = (4, size[0]) if small else (count, size[1])
        waves = np.random.default_rng(17).uniform(-0.9, 0.9, (classes, 3, 2))
        y, x = np.mgrid[:s, :s].astype(np.float32)

        def draw():
            label = rng.integers(0, classes, n)
            a, b = waves[label].astype(np.float32).transpose(2, 0, 1)[..., None, None]
            shift = rng.uniform(0, 6, (n, 1, 1, 1)).astype(np.float32)
            noise = rng.standard_normal((n, 3, s, s), dtype=np.float32)
            return [np.sin(a * x + b * y + shift) + 0.3 * noise], label

        return draw

    return batches


def clicks(rng: np.random.Generator, small: bool) -> Any:
    """Users and items with tastes of 4 numbers; one likes what fits its taste."""
    n = 32 if small else 1024
    users, items = (rng.standard_normal((k, 4)) for k in ((50, 40) if small else (2000, 1000)))

    def draw():
        u, i = rng.integers(0, len(users), n), rng.integers(0, len(items), n)
        return [u, i], ((users[u] * items[i]).sum(1) > 0).astype(np.float32)

    return draw


def sentences(rng: np.random.Generator, small: bool) -> Any:
    """Sentences to be turned round: word after word, the target begins with word 0."""
    n, t, words = (3, 5, 12) if small else (32, 20, 100)

    def draw():
        source = rng.integers(1, words, (t, n))
        target = source[::-1].copy()
        return [source, np.concatenate((np.zeros((1, n), np.int64), target[:-1]))], target

    return draw


def texts(rng: np.random.Generator, small: bool) -> Any:
    """Characters of the help texts that come with Python, and the ones that follow."""
    from pydoc_data.topics import topics

    text = np.frombuffer("\n".join(topics.values()).encode(), np.uint8).astype(np.int64) % 128
    n, t = (2, 8) if small else (16, 64)

    def draw():
        at = rng.integers(0, len(text) - t - 1, n)[:, None] + np.arange(t + 1)
        return [text[at[:, :-1]]], text[at[:, 1:]]

    return draw


def _sized(small: bool, least: Any, usual: Any) -> Any:
    return least if small else usual


CASES = [
    Case(
        "alexnet",
        lambda rng, small: AlexNet(10, rng, _sized(small, 0.05, 0.25), 0.0),
        lambda torch, small: torch.AlexNet(10, _sized(small, 0.05, 0.25), 0.0),
        pictures(16, (63, 127)),
    ),
    Case(
        "overfeat",
        lambda rng, small: Overfeat(10, rng, _sized(small, 0.02, 0.15)),
        lambda torch, small: torch.Overfeat(10, _sized(small, 0.02, 0.15)),
        pictures(16, (75, 127)),
    ),
    Case(
        "vgg19",
        lambda rng, small: VGG19(10, rng, _sized(small, 0.05, 0.25), 32, 0.0),
        lambda torch, small: torch.VGG19(10, _sized(small, 0.05, 0.25), 32, 0.0),
        pictures(16, (32, 32)),
    ),
    Case(
        "googlenet",
        lambda rng, small: GoogLeNet(10, rng, _sized(small, 0.05, 0.25), 0.0),
        lambda torch, small: torch.GoogLeNet(10, _sized(small, 0.05, 0.25), 0.0),
        pictures(16, (32, 64)),
    ),
    Case(
        "resnet50",
        lambda rng, small: ResNet50(10, rng, _sized(small, 0.05, 0.25)),
        lambda torch, small: torch.ResNet50(10, _sized(small, 0.05, 0.25)),
        pictures(16, (32, 64)),
    ),
    Case(
        "mobilenet",
        lambda rng, small: MobileNet(10, rng, _sized(small, 0.05, 0.5)),
        lambda torch, small: torch.MobileNet(10, _sized(small, 0.05, 0.5)),
        pictures(16, (32, 64)),
    ),
    Case(
        "gnmt",
        lambda rng, small: GNMT(*_sized(small, (12, rng, 8, 2), (100, rng, 128, 3))),
        lambda torch, small: torch.GNMT(*_sized(small, (12, 8, 2), (100, 128, 3))),
        sentences,
        rate=0.5,
        adam=5e-3,
    ),
    Case(
        "ncf",
        lambda rng, small: NCF(*_sized(small, (50, 40), (2000, 1000)), rng),
        lambda torch, small: torch.NCF(*_sized(small, (50, 40), (2000, 1000))),
        clicks,
        loss="binary",
        rate=1.0,
        adam=1e-2,
        steps=400,
    ),
    Case(
        "language",
        lambda rng, small: LanguageModel(128, 64, rng, *_sized(small, (16, 4, 1), (128, 4, 2))),
        lambda torch, small: torch.LanguageModel(128, 64, *_sized(small, (16, 4, 1), (128, 4, 2))),
        texts,
        rate=0.2,
        adam=2e-3,
    ),
]


def cross_entropy(net: Any, *given: Any) -> Any:
    logits, labels = net(*given[:-1]), given[-1]
    return nn.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


def binary(net: Any, *given: Any) -> Any:
    return nn.binary_cross_entropy_with_logits(net(*given[:-1]), given[-1])


LOSSES = {"cross_entropy": cross_entropy, "binary": binary}

"""Characters: two models of language learn Python's own documentation, beside PyTorch's.

The text is that of `help()`'s topics, `pydoc_data.topics`, which comes with every Python: its last
twentieth is kept apart. An LSTM and a transformer of two layers read 64 characters and tell each
next one; both sides have the same initial weights, batches and optimiser. The tables say how many
bits a character costs after so many steps, over the steps since the row before, and on the text
that is kept apart, and the CPU time of a step, the two sides taking turns.
"""

import math
import statistics
import time
from pydoc_data.topics import topics
from typing import Any

import numpy as np

import tracejit
from tracejit import nn, optim

from .harness import Table, absent, peer

LENGTH, BATCH, RATE, CLIP = 64, 32, 2e-3, 1.0
#: Bits a character that the two sides may differ by at the end, of about 3.
AGREE = 0.05


class Recurrent(nn.Module):
    """An LSTM: characters [n, t] -> scores of the next ones [n, t, count]."""

    def __init__(self, count, rng):
        self.embedding = nn.Embedding(count, 32, rng)
        self.lstm = nn.LSTM(32, 192, rng, batch_first=True)
        self.out = nn.Linear(192, count, rng)

    def __call__(self, ids):
        return self.out(self.lstm(self.embedding(ids))[0])


class Transformer(nn.Module):
    """Two layers of causal attention over characters and their positions."""

    def __init__(self, count, rng):
        self.embedding = nn.Embedding(count, 96, rng)
        self.position = 0.1 * rng.standard_normal((LENGTH, 96), dtype=np.float32)
        self.layers = [
            nn.TransformerEncoderLayer(96, 4, 192, rng, dropout=0.0, norm_first=True)
            for _ in range(2)
        ]
        self.out = nn.Linear(96, count, rng)

    def __call__(self, ids):
        x = self.embedding(ids) + self.position[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x, causal=True)
        return self.out(x)


def cross_entropy(net, ids, following):
    """The mean of -log of the softmax at the characters that follow."""
    scores = net(ids)
    scores = scores - scores.max(-1, keepdims=True)
    total = np.log(np.exp(scores).sum(-1))
    return np.mean(total - np.take_along_axis(scores, following[..., None], -1)[..., 0])


@tracejit.jit(strict=True)
def step(net, opt, ids, following):
    loss, grads = tracejit.value_and_grad(cross_entropy)(net, ids, following)
    optim.clip_by_global_norm(grads, CLIP)
    opt.update(net, grads)
    return loss


class Ours:
    """A compiled step over a network of `tracejit.nn`."""

    def __init__(self, net: Any) -> None:
        self.net, self.opt = net, optim.Adam(net, lr=RATE)
        self.loss_of = tracejit.jit(cross_entropy, strict=True)

    def step(self, ids: Any, following: Any) -> float:
        return float(step(self.net, self.opt, ids, following))

    def loss(self, ids: Any, following: Any) -> float:
        return float(self.loss_of(self.net, ids, following))


class Torch:
    """PyTorch's own layers, with the weights of ours."""

    def __init__(self, net: Any) -> None:
        torch = self.torch = peer("torch")
        count = len(net.out.bias)
        parts = torch.nn.ModuleDict()
        if isinstance(net, Recurrent):
            parts["embedding"] = torch.nn.Embedding(count, 32)
            parts["lstm"] = torch.nn.LSTM(32, 192, batch_first=True)
            parts["out"] = torch.nn.Linear(192, count)
        else:
            parts["embedding"] = torch.nn.Embedding(count, 96)
            parts.register_parameter("position", torch.nn.Parameter(torch.zeros(LENGTH, 96)))
            parts["layers"] = torch.nn.ModuleList(
                torch.nn.TransformerEncoderLayer(
                    96, 4, 192, dropout=0.0, norm_first=True, batch_first=True
                )
                for _ in range(2)
            )
            parts["out"] = torch.nn.Linear(96, count)
        state = {k: torch.tensor(v) for k, v in net.state_dict().items()}
        parts.load_state_dict(state)
        self.parts = parts
        self.mask = torch.nn.Transformer.generate_square_subsequent_mask(LENGTH)
        self.opt = torch.optim.Adam(parts.parameters(), lr=RATE)

    def _loss(self, ids: Any, following: Any) -> Any:
        parts, torch = self.parts, self.torch
        x = parts["embedding"](torch.from_numpy(ids))
        if "lstm" in parts:
            x = parts["lstm"](x)[0]
        else:
            x = x + parts.position
            for layer in parts["layers"]:
                x = layer(x, src_mask=self.mask, is_causal=True)
        scores = parts["out"](x).flatten(0, 1)
        return torch.nn.functional.cross_entropy(scores, torch.from_numpy(following).flatten())

    def step(self, ids: Any, following: Any) -> float:
        self.opt.zero_grad()
        loss = self._loss(ids, following)
        loss.backward()
        self.torch.nn.utils.clip_grad_norm_(self.parts.parameters(), CLIP)
        self.opt.step()
        return loss.item()

    def loss(self, ids: Any, following: Any) -> float:
        with self.torch.no_grad():
            return self._loss(ids, following).item()


def text() -> tuple[Any, int]:
    """The text as numbers of characters, and how many characters there are."""
    found = "\n".join(topics[name] for name in sorted(topics))
    known, ids = np.unique(np.array(list(found)), return_inverse=True)
    return ids, len(known)


def batch_of(ids: Any, rng: Any) -> tuple[Any, Any]:
    """Pieces from anywhere, and the same one character later."""
    starts = rng.integers(0, len(ids) - LENGTH, BATCH)
    pieces = ids[starts[:, None] + np.arange(LENGTH + 1)]
    return np.ascontiguousarray(pieces[:, :-1]), np.ascontiguousarray(pieces[:, 1:])


def learn(kind: type, steps: int, every: int) -> Table:
    """Train a model on both sides, side by side."""
    ids, count = text()
    apart = len(ids) // 20
    net = kind(count, np.random.default_rng(0))
    twins: dict[str, Any] = {"tracejit": Ours(net)}
    if peer("torch"):
        twins["PyTorch"] = Torch(net)
    rng = np.random.default_rng(1)
    test = [batch_of(ids[-apart:], rng) for _ in range(4)]
    bits: dict[str, list[float]] = {name: [] for name in twins}
    times: dict[str, list[float]] = {name: [] for name in twins}
    size = sum(p.size for p in net.parameters().values())
    table = Table(f"{kind.__name__}: {size} parameters, {count} characters, bits a character", [])
    for k in range(1, steps + 1):
        batch = batch_of(ids[:-apart], rng)
        for name in sorted(twins, reverse=bool(k % 2)):
            start = time.process_time()
            loss = twins[name].step(*batch)
            times[name].append(time.process_time() - start)
            bits[name].append(loss / math.log(2))
        if k == 1 or k % every == 0:
            means = {name: statistics.mean(bits[name][-every:]) for name in twins}
            table.rows.append({"step": k} | means)
    ends = {
        name: statistics.mean(twin.loss(*batch) for batch in test) / math.log(2)
        for name, twin in twins.items()
    }
    table.rows.append({"step": "kept apart"} | ends)
    costs = {name: statistics.median(times[name][5:]) * 1e3 for name in twins}
    table.rows.append({"step": "ms a step"} | costs)
    table.notes += [
        f"the first step took {times['tracejit'][0]:.2f} s of CPU time",
        *absent("torch"),
    ]
    if "PyTorch" in twins:
        apart_by = abs(ends["tracejit"] - ends["PyTorch"])
        table.require("bits of difference, text kept apart", apart_by, at_most=AGREE)
        ratio = costs["tracejit"] / costs["PyTorch"]
        table.require("CPU time of a step over PyTorch's", ratio, at_most=1.0)
    return table


def run(quick: bool) -> list[Table]:
    steps, every = (40, 20) if quick else (600, 100)
    return [learn(kind, steps, every) for kind in (Recurrent, Transformer)]

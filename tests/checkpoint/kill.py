"""Processes that train and save are killed, and what they leave is gone on from.

    python -m tests.checkpoint.kill 200        # how often to kill

Each process saves after each of its steps, and gets SIGKILL a random time after its first one. Then
all checkpoints must be whole, none may be lost that was saved, and in the end everything (weights,
optimiser, streams of dropout and of the loader) must be, bit by bit, what one run gives that
nothing interrupts.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tracejit
from tracejit import checkpoint, data, nn, optim
from tracejit.checkpoint import folder
from tracejit.checkpoint.files import opened

#: What its processes have already when they are made.
PRELOADED = [f"tracejit.{x}" for x in ("checkpoint", "data", "optim", "frontend.python.trees")]


class Net(nn.Module):
    def __init__(self) -> None:
        rng = np.random.default_rng(1)
        self.a, self.b = nn.Linear(8, 12, rng), nn.Linear(12, 3, rng)
        self.drop = nn.Dropout(0.3, rng)
        self.losses: list[float] = []

    def gradients(self, x: Any, y: Any) -> Any:
        """The gradient of the squared error, by hand, so that nothing need be compiled."""
        hidden = np.tanh(self.a(x))
        kept = self.drop(np.ones_like(hidden))
        error = self.b(hidden * kept) - y
        self.losses.append(float(np.mean(error**2)))
        del self.losses[:-20]
        back = error @ self.b.weight * kept * (1 - hidden**2)
        grads = tracejit.tree.map(np.zeros_like, self)
        grads.a.weight[...], grads.a.bias[...] = back.T @ x, back.sum(0)
        grads.b.weight[...], grads.b.bias[...] = error.T @ (hidden * kept), error.sum(0)
        return grads


def batches(loader: data.Loader) -> Iterator[Any]:
    while True:
        yield from loader


def train(
    directory: str | None,
    last: int | None,
    background: bool = False,
    tell: Callable[[int], None] = lambda step: None,
) -> str:
    """Train, from where the checkpoints of a folder end, up to a step; a digest of everything."""
    net, rng = Net(), np.random.default_rng(2)
    samples = rng.random((40, 8), np.float32), rng.random((40, 3), np.float32)
    loader = data.Loader(samples, batch=8, shuffle=rng)
    opt = optim.Adam(net, lr=1e-2)
    start = 0
    if directory is not None and checkpoint.latest(directory) is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            start = checkpoint.restore(directory, net=net, opt=opt, loader=loader).step
    step = start
    for x, y in batches(loader):
        if step == last:
            break
        opt.update(net, net.gradients(x, y))
        step += 1
        if directory is not None:
            checkpoint.save(
                directory, step=step, net=net, opt=opt, loader=loader, keep=3, background=background
            )
            tell(step)
    with tempfile.TemporaryDirectory() as end:
        checkpoint.wait()
        checkpoint.save(end, step=step, net=net, opt=opt, loader=loader)
        path = folder.find(Path(end))[0].path
        whole = b"".join((path / x).read_bytes() for x in ("arrays.safetensors", "tree.json"))
    return hashlib.sha256(whole).hexdigest()


class Outcome(NamedTuple):
    """What came of a number of kills."""

    steps: int
    #: Kills in the middle of writing, by what they left.
    inside: int
    same: bool


def run(kills: int, seed: int = 0) -> Outcome:
    """Kill so many processes. Raises AssertionError for a checkpoint that is lost or not whole."""
    rng = random.Random(seed)
    inside = 0
    with tempfile.TemporaryDirectory() as directory:
        for k in range(kills):
            background = k % 2 == 1
            saved = _killed(directory, rng.uniform(0, 0.25), background)
            left = os.listdir(directory)
            inside += any(name.startswith((".new-", ".old-")) for name in left)
            for found in folder.saved(Path(directory)):
                opened(found.path)[2].__exit__()
            latest = checkpoint.latest(directory)
            # A thread has written the one before when the next one is saved.
            assert latest is not None and latest >= saved - background, (latest, saved, left)
        last = latest + 5
        child, said = _child(directory, last, False)
        found = [said.recv() for _ in range(6)][-1]
        child.join()
        left = os.listdir(directory)
        assert not [name for name in left if name.startswith(".")] and len(left) == 4, left
    return Outcome(last, inside, found == train(None, last))


def _killed(directory: str, wait: float, background: bool) -> int:
    """Kill a process some time after its first step; the last step that it said was saved."""
    child, said = _child(directory, None, background)
    steps = [said.recv()]
    time.sleep(wait)
    child.kill()
    # It may have been killed while it was saying something.
    with contextlib.suppress(EOFError):
        while True:
            steps.append(said.recv())
    child.join()
    assert child.exitcode == -signal.SIGKILL
    return int(steps[-1])


def _child(directory: str, last: int | None, background: bool) -> tuple[Any, Any]:
    """A process that trains, and what it says."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    said, says = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(directory, last, background, says))
    child.start()
    says.close()
    return child, said


def _work(directory: str, last: int | None, background: bool, says: Any) -> None:
    says.send(train(directory, last, background, says.send))


def main(args: list[str]) -> None:
    start = time.monotonic()
    outcome = run(int(args[0]) if args else 200)
    print(json.dumps({**outcome._asdict(), "seconds": round(time.monotonic() - start)}))
    assert outcome.same


if __name__ == "__main__":
    main(sys.argv[1:])

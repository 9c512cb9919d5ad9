"""Programs with servers of parameters, by name; `tests/dist/scripts.py` has others."""

from __future__ import annotations

import atexit
import itertools
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import tracejit
from tracejit import checkpoint, dist, nn, optim


class Words(nn.Module):
    """A large table, one in shards, and a small layer."""

    def __init__(self, rng: Any) -> None:
        self.table = rng.standard_normal((500, 8)).astype("f4")
        self.shards = nn.sharded(rng.standard_normal((301, 8)).astype("f4"), 3)
        self.layer, self.scale = nn.Linear(8, 3, rng), np.ones((), "f4")

    def __call__(self, ids: Any) -> Any:
        h = self.table[ids] + nn.embedding(self.shards, ids % 301)
        return self.layer(h) * self.scale


def servers() -> None:
    """Training whose steps do not depend on time, with as many servers as are said: its weights.

    In the mode "async" processes take turns; in "backup:0" each step has the gradients of all.
    """
    turns = os.environ["TRACEJIT_DIST_MODE"].startswith("async")
    losses = {}

    @tracejit.jit(strict=True)
    def step(net: Any, opt: Any, ids: Any, y: Any) -> Any:
        slopes = tracejit.value_and_grad(
            lambda net: nn.cross_entropy(net(ids), y), sparse_rows=("net.table", "net.shards")
        )
        loss, grads = slopes(net)
        opt.update(net, grads)
        return loss

    made: dict[str, Any] = {
        "adam": lambda net: optim.AdamW(net, lr=1e-2, amsgrad=True),
        "decayed": lambda net: optim.Momentum(
            net, lr=0.1, weight_decay=0.1, mask=lambda path, p: "table" in path
        ),
        "rms": lambda net: optim.RMSProp(net, lr=optim.schedules.Cosine(1e-2, 40), centered=True),
        "parts": lambda net: dist.sharded(optim.AdaGrad, net, lr=0.1),
    }
    name = sys.argv[2]
    rng = np.random.default_rng(dist.rank())
    net = Words(np.random.default_rng(0))
    opt = made[name](net)
    if name == "adam" and dist.rank() == 0:
        # As after a checkpoint: the others are told.
        opt.count = 7
    train = dist.data_parallel(step)
    # What is copied at the first call is copied before anybody has a turn.
    train._shared(net), train._shared(opt)
    for k in range(12):
        ids = rng.integers(0, 500, 20)
        for turn in range(dist.size() if turns else 1):
            if not turns or turn == dist.rank():
                losses[k] = train(net, opt, ids, ids % 3)
            if turns:
                dist.barrier()
    # What was sent by rows is on all processes what it is on the servers.
    weights = np.concatenate([w.ravel() for w in tracejit.tree.leaves(net)])
    if not turns:
        assert (dist.all_gather(weights) == weights).all()
    if dist.rank() == 0:
        np.save(sys.argv[3], weights)
    count = opt.optimizer and opt.optimizer.count if name == "parts" else opt.count
    print("served", dist.rank(), count, losses[11] < losses[0], flush=True)


def goes_on() -> None:
    """Trains from what is saved up to a step, and saves: process 0 alone reads and writes files."""
    folder, last, kind = sys.argv[2], int(sys.argv[3]), sys.argv[4]

    @tracejit.jit(strict=True)
    def step(net: Any, opt: Any, ids: Any, y: Any) -> Any:
        slopes = tracejit.value_and_grad(lambda net: nn.cross_entropy(net(ids), y))
        loss, grads = slopes(net)
        opt.update(net, grads)
        return loss

    net = Words(np.random.default_rng(0))
    opt = optim.AdamW(net, lr=1e-2)
    train = dist.data_parallel(step, compression=None if kind == "none" else kind)
    begun = np.zeros((), int)
    if dist.rank() == 0 and checkpoint.latest(folder) is not None:
        begun[...] = checkpoint.restore(folder, net=net, opt=opt, train=train).step
    for k in range(int(dist.broadcast(begun)), last):
        ids = np.random.default_rng([dist.rank(), k]).integers(0, 500, 20)
        train(net, opt, ids, ids % 3)
    with train.paused(net, opt):
        if dist.rank() == 0:
            checkpoint.save(folder, step=last, net=net, opt=opt, train=train)
    if "alone" not in sys.argv:
        dist.barrier()
    weights = [*net.shards, net.table, net.layer.weight, *opt.m, *opt.v]
    if dist.rank() == 0:
        np.save(f"{folder}/{last}.npy", np.concatenate([w.ravel() for w in weights]))
    print("went on", dist.rank(), int(begun), opt.count, flush=True)


@tracejit.jit(strict=True)
def squares(net: Any, opt: Any, ids: Any) -> Any:
    loss, grads = tracejit.value_and_grad(lambda net: (net(ids) ** 2).mean())(net)
    opt.update(net, grads)
    return loss


def raises() -> None:
    """A process with a server fails, while another waits for it: neither waits for ever."""
    net = Words(np.random.default_rng(0))
    opt = optim.SGD(net)

    train = dist.data_parallel(squares)
    train(net, opt, np.arange(4))
    if dist.rank() == int(sys.argv[2]):
        raise OSError("the disk is full")
    dist.barrier()


def counted() -> None:
    """Each process counts the gradients of its that were answered; process 2 is killed once."""
    late = int(os.environ.get("TRACEJIT_DIST_LATE", 0))
    net = Words(np.random.default_rng(0))
    opt = optim.Adam(net)
    # After the server's own end, when all have gone.
    atexit.register(lambda: dist.rank() or print("counted", opt.count, flush=True))

    train = dist.data_parallel(squares)
    answered = -1 if late else 0  # the first answer to one that has come late is to no gradient
    back = Path(sys.argv[2], "2.1")
    for k in range(10**4 if late or not dist.rank() else 60):
        if not dist.rank() and k > 60 and back.exists() and int(back.read_text() or 0) > 20:
            break
        train(net, opt, np.arange(4))
        answered += 1
        Path(sys.argv[2], f"{dist.rank()}.{late}").write_text(str(answered))
        if dist.rank() == 2 and not late and answered == 20:
            os.kill(os.getpid(), 9)
        time.sleep(0.02)


def survives() -> None:
    """Trains for about a number of steps, and until it is enough, and saves; anybody may be killed
    at any time.

    It says what it has saved, and what it goes on from.
    """
    folder, last = sys.argv[2], int(sys.argv[3])
    rng = np.random.default_rng(0)
    x = rng.standard_normal((600, 6)).astype("f4")
    y = (x @ rng.standard_normal((6, 3))).argmax(1)

    @tracejit.jit(strict=True)
    def step(net: Any, opt: Any, x: Any, y: Any) -> Any:
        slopes = tracejit.value_and_grad(lambda net: nn.cross_entropy(net(x), y))
        loss, grads = slopes(net)
        opt.update(net, grads)
        return loss

    class Net(nn.Module):
        def __init__(self) -> None:
            rng = np.random.default_rng(1)
            self.a, self.b = nn.Linear(6, 200, rng), nn.Linear(200, 3, rng)

        def __call__(self, x: Any) -> Any:
            return self.b(nn.relu(self.a(x)))

    net = Net()
    opt = optim.Adam(net, lr=1e-2)
    train = dist.data_parallel(step)
    late = int(os.environ.get("TRACEJIT_DIST_LATE", 0))
    if dist.rank() == 0 and checkpoint.latest(folder) is not None:
        checkpoint.restore(folder, net=net, opt=opt)
        print("begins", opt.count, flush=True)
    mine = np.random.default_rng([dist.rank(), late, os.getpid()])
    # One that has come late goes on until it is told that the others have done their share.
    share = (
        10**9 if late else max(1, last - int(dist.broadcast(np.array(opt.count)))) // dist.size()
    )
    print("pid", dist.rank(), os.getpid(), flush=True)
    for k in itertools.count():
        if k >= share and Path(folder, "enough").exists():
            break
        batch = mine.integers(0, 600, 40)
        train(net, opt, x[batch], y[batch])
        time.sleep(0.01)
        if k % 10 == 9:
            with train.paused(net, opt):
                if dist.rank() == 0:
                    checkpoint.save(folder, step=opt.count, net=net, opt=opt, keep=3)
                    print("saved", opt.count, flush=True)
    loss = nn.cross_entropy(net(x), y)
    print("survived", opt.count, float(loss), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("error", tracejit.FallbackWarning)
    globals()[sys.argv[1]]()

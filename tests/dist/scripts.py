"""Programs that are launched as several processes, by name: what each prints is looked at."""

from __future__ import annotations

import os
import sys
import time
import warnings
from typing import Any

import numpy as np

import tracejit
from tracejit import dist, nn, optim

X = np.arange(6.0)


def collectives() -> None:
    """Compiled and plain calls give the same."""

    @tracejit.jit(strict=True)
    def f(x: Any, m: float) -> Any:
        y = dist.all_reduce(x * (dist.rank() + 1))
        z = dist.all_reduce({"a": x, "b": [m, x.sum()]}, "mean")
        g = dist.all_gather(x + dist.rank())
        dist.barrier()
        b = dist.broadcast([x * dist.rank(), m], 1)
        for k in range(3):
            y = y + dist.all_reduce(y[k])
        return y, z, g, b, dist.reduce_scatter(x), dist.size()

    found = f(X, 3.0 + dist.rank())
    with tracejit.eager():
        want = f(X, 3.0 + dist.rank())
    np.testing.assert_equal(found, want)
    (reason,) = f.report().compiles
    print("same", dist.rank(), dist.size(), found[0][0], found[1]["b"])


def repeated() -> None:
    """A run that bails out after an exchange is repeated without making it again."""
    calls = []
    from tracejit.ops.host.exchange import KINDS

    reduce = KINDS["all_reduce"]
    KINDS["all_reduce"] = lambda *args: calls.append(args) or reduce(*args)  # type: ignore[func-returns-value]

    @tracejit.jit
    def f(x: Any, steps: Any) -> Any:
        total = dist.all_reduce(x)
        for k in range(1000):
            x = x * 0.5 + total[steps[k % len(steps)]]
        return x + dist.all_reduce(x)

    good = np.array([1, 2, 3])
    first = f(X, good)
    assert f.report().compiles and len(calls) == 2
    for _ in range(2):
        try:
            # Only process 1 cannot go on.
            f(X, good if dist.rank() == 0 else np.array([1, 2, 99]))
        except IndexError as e:
            print("refused", dist.rank(), str(e)[:11], len(calls))
            dist.all_reduce([X], "sum")
    assert np.array_equal(f(X, good), first)
    print("repeated", dist.rank(), len(calls))


class Net(nn.Module):
    def __init__(self, rng: Any) -> None:
        self.a, self.norm = nn.Linear(6, 8, rng), nn.LayerNorm(8)
        self.b = nn.Linear(8, 3, rng)

    def __call__(self, x: Any) -> Any:
        return self.b(nn.relu(self.norm(self.a(x))))


def train() -> None:
    """Two processes with half of each batch make the steps of one with all of it."""

    def step(net: Any, opt: Any, x: Any, y: Any) -> Any:
        loss, grads = tracejit.value_and_grad(lambda net: nn.cross_entropy(net(x), y))(net)
        opt.update(net, grads)
        return loss

    rng = np.random.default_rng(0)
    xs, ys = rng.standard_normal((30, 16, 6)), rng.integers(0, 3, (30, 16))
    part = slice(dist.rank() * 16 // dist.size(), (dist.rank() + 1) * 16 // dist.size())
    net = Net(np.random.default_rng(dist.rank()))
    for w in tracejit.tree.leaves(net):
        assert w.dtype == np.float32
    opt = optim.Adam(net, lr=1e-2)
    run = dist.data_parallel(tracejit.jit(step, strict=True))
    plain = dist.data_parallel(step)
    for k in range(30):
        (plain if k == 7 else run)(net, opt, xs[k, part], ys[k, part])
    weights = np.concatenate([w.ravel() for w in tracejit.tree.leaves(net)])
    assert opt.count == 30
    np.save(os.path.join(sys.argv[2], f"{dist.size()}_{dist.rank()}.npy"), weights)


def modes() -> None:
    """Training by a server: process 1 is slow, and is killed once if that is asked for."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((600, 6)).astype(np.float32)
    y = (x @ rng.standard_normal((6, 3))).argmax(1)
    late = "TRACEJIT_DIST_LATE" in os.environ

    @tracejit.jit(strict=True)
    def step(net: Any, opt: Any, x: Any, y: Any) -> Any:
        loss, grads = tracejit.value_and_grad(lambda net: nn.cross_entropy(net(x), y))(net)
        opt.update(net, grads)
        return loss

    net = Net(np.random.default_rng(dist.rank()))
    opt = optim.Adam(net, lr=3e-2)
    train = dist.data_parallel(step)
    mine = np.random.default_rng([dist.rank(), late])
    for k in range(60):
        batch = mine.integers(0, 600, 40)
        train(net, opt, x[batch], y[batch])
        if dist.rank() == 1 and "killed" in sys.argv and k == 20 and not late:
            os.kill(os.getpid(), 9)
        if "killed" in sys.argv and dist.rank() == 0:
            time.sleep(0.02)
        if dist.rank() == 1 and "slow" in sys.argv:
            time.sleep(0.02)
    right = (net(x).argmax(1) == y).mean()
    assert right > 0.85, right
    if dist.rank() == 1 and "slow" not in sys.argv:
        assert train.dropped == opt.count == 0
    print("trained", dist.rank(), opt.count, train.dropped, flush=True)


def rows() -> None:
    """Gradients by rows go to the server as rows, and come to rows alone."""

    @tracejit.jit(strict=True)
    def step(table: Any, opt: Any, ids: Any) -> Any:
        loss = lambda table: (table[0][ids] ** 2).sum()  # noqa: E731
        value, grads = tracejit.value_and_grad(loss, sparse_rows=True)(table)
        opt.update(table, grads)
        return value

    table = [np.ones((9, 2))]
    opt = optim.SGD(table, lr=0.25)
    train = dist.data_parallel(step)
    for _ in range(2):
        train(table, opt, np.array([dist.rank(), 4]))
    print("rows", dist.rank(), table[0][:, 0].tolist(), flush=True)


def resumes() -> None:
    """A process fails in the first run; all begin anew, and go on from what was saved."""
    from tracejit import checkpoint

    folder, state = sys.argv[2], np.zeros(1)
    if dist.rank() == 0 and checkpoint.latest(folder) is not None:
        checkpoint.restore(folder, state=state)
    state[...] = dist.broadcast(state)
    begun = int(state[0])
    while state[0] < 6:
        state += dist.all_reduce(np.ones(1), "mean")
        if dist.rank() == 0:
            checkpoint.save(folder, step=int(state[0]), state=state)
        dist.barrier()
        if begun == 0 and state[0] == 3 and dist.rank() == 1:
            sys.exit(7)
    print("resumed", dist.rank(), begun, state[0], flush=True)


def fails() -> None:
    """One process fails, the others would wait for ever."""
    print("begins", flush=True)
    if dist.rank() == 1:
        sys.exit(3)
    time.sleep(60)


def waits() -> None:
    """All wait, with a child each."""
    import subprocess

    subprocess.Popen(["sleep", "300"])
    print("waits", os.getpid(), flush=True)
    time.sleep(60)


if __name__ == "__main__":
    warnings.simplefilter("error", tracejit.FallbackWarning)
    globals()[sys.argv[1]]()

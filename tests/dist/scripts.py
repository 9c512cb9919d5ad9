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
    # More than MPI sends before it is received.
    big = np.full((1000, 1000), float(dist.rank()))
    assert (dist.all_gather(big) == np.arange(dist.size())[:, None, None]).all()
    for op in ("sum", "max"):
        for dtype in (np.float16, np.complex128, np.int8, bool):
            joined = dist.all_reduce(X.astype(dtype), op)
            assert np.array_equal(
                joined, X.astype(dtype).astype(joined.dtype) * (dist.size() if op == "sum" else 1)
            )
    try:
        dist.all_reduce(X, ("sum", "max")[dist.rank() % 2])
    except dist.DistError as e:
        assert "process 1 calls all_reduce 'max' of " in str(e) or dist.size() > 2
    else:
        assert dist.size() == 1
    # In one piece: nobody sorts what processes of MPI print.
    values = found[0][0], found[1]["b"]
    print(f"same {dist.rank()} {dist.size()} {values}\n", end="", flush=True)


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
    np.save(os.path.join(sys.argv[2], f"{dist.size()}_{dist.rank()}.npy"), trained())


def by_mpi() -> None:
    """The same in one program, as MPI takes long to start."""
    collectives()
    train()


def trained() -> Any:
    """The weights after 30 steps on this process's part of each batch."""

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
    return weights


def buckets() -> None:
    """Gradients in small buckets make the same steps, to the bit, compiled and plain: each bucket
    is started once, directly behind its gradients, also where the run is left and repeated.
    """
    from tracejit.ops.host.exchange import KINDS

    calls = []
    for kind in ("start", "wait"):
        do = KINDS[kind]
        KINDS[kind] = lambda *args, kind=kind, do=do: calls.append(kind) or do(*args)  # type: ignore[func-returns-value,misc]

    def step(net: Any, opt: Any, x: Any, y: Any, k: Any) -> Any:
        loss, grads = tracejit.value_and_grad(lambda net: nn.cross_entropy(net(x), y))(net)
        opt.update(net, grads)
        # Outside for a large k: the run is left behind all exchanges.
        return loss + x[k, 0]

    rng = np.random.default_rng(dist.rank())
    xs, ys = rng.standard_normal((8, 4, 6)).astype("f4"), rng.integers(0, 3, (8, 4))
    found = []
    for bucket, jitted in ((1 << 30, True), (100, True), (100, False)):
        net = Net(np.random.default_rng(0))
        opt = optim.Adam(net, lr=0.1)
        run = tracejit.jit(step, strict=True) if jitted else step
        train = dist.data_parallel(run, bucket=bucket)
        for k in range(8):
            calls.clear()
            try:
                train(net, opt, xs[k], ys[k], 99 if k == 5 and dist.rank() == 1 else 1)
            except IndexError:
                assert k == 5 and dist.rank() == 1
            # Numbers have a bucket of their own, as they are of another dtype.
            count = 1 if bucket > 100 else 4
            assert calls == ["start"] * count + ["wait"] * count, calls
        found.append(np.concatenate([w.ravel() for w in tracejit.tree.leaves(net)]))
        if jitted and bucket == 100:
            (lowered,) = [run.lower(net, train._shared(opt), xs[0], ys[0], 1)]
            nodes = lowered.graphs["early_starts"].nodes
            names = [
                n.attrs["arguments"][0][1] if n.op.name == "host_exchange" else n.op.name
                for n in nodes
            ]
            first, last = names.index("start"), len(names) - names[::-1].index("start")
            assert "matmul" in names[first:last], names
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])
    print("buckets", dist.rank(), found[0][0])


def compressed() -> None:
    """Training with gradients in fewer bits learns as without; all models are equal to the bit."""

    def step(net: Any, opt: Any, x: Any, y: Any) -> Any:
        loss, grads = tracejit.value_and_grad(lambda net: nn.cross_entropy(net(x), y))(net)
        opt.update(net, grads)
        return loss

    rng = np.random.default_rng(dist.rank())
    xs = rng.standard_normal((60, 32, 6)).astype("f4")
    ys = xs[:, :, :3].argmax(-1)
    losses, weights = {}, []
    for kind in (None, "float16", "int8"):
        net = Net(np.random.default_rng(0))
        opt = optim.Adam(net, lr=0.02)
        train = dist.data_parallel(tracejit.jit(step, strict=True), bucket=200, compression=kind)
        found = [train(net, opt, x, y) for x, y in zip(xs, ys, strict=True)]
        losses[kind] = dist.all_reduce(np.mean(found[-10:]), "mean")
        weights.append(np.concatenate([w.ravel() for w in tracejit.tree.leaves(net)]))
        assert np.mean(found[:5]) > 2 * losses[kind]
    assert abs(losses["float16"] / losses[None] - 1) < 0.02, losses
    assert abs(losses["int8"] / losses[None] - 1) < 0.1, losses
    assert not np.array_equal(weights[0], weights[1])
    everyone = dist.all_gather(np.stack(weights))
    assert (everyone == everyone[0]).all()
    print("compressed", dist.rank())


def gradients() -> None:
    """Gradients through collectives are the differences of the sum of all processes' results."""
    rank, size = dist.rank(), dist.size()

    def reduced(x: Any) -> Any:
        y = dist.all_reduce(x * x, "sum")
        return (np.sin(y) * (rank + 1.5)).sum()

    def mean_of_tree(x: Any) -> Any:
        found = dist.all_reduce({"a": x[:2], "b": [x[2] * x[3], x]}, "mean")
        return (found["a"] ** 2).sum() * (rank + 1) + np.exp(found["b"][0]) + found["b"][1][0] ** 3

    def gathered(x: Any) -> Any:
        y = dist.all_gather(x**3)
        return (y * np.arange(y.size).reshape(y.shape) * (rank + 1)).sum() + y[0, 0] * y[1, 1]

    def scattered(x: Any) -> Any:
        y = dist.reduce_scatter(x**2, "sum") * (rank + 2)
        z = dist.reduce_scatter(np.sin(x), "mean")
        return (y**2).sum() + z[0] * y[1]

    def sent(x: Any) -> Any:
        y, z = dist.broadcast([x**2, x[0]], 1)
        return (y * x).sum() * (rank + 1) + z * x[1]

    def twice(x: Any) -> Any:
        y = dist.all_reduce(x)
        dist.barrier()
        return (dist.all_reduce(y * y * x, "mean") * x).sum()

    for f in (reduced, mean_of_tree, gathered, scattered, sent, twice):
        x = np.array([0.3, -0.7, 1.1, 0.4]) + 0.1 * rank
        wanted = np.zeros_like(x)
        for process in range(size):
            for k in range(len(x)):
                step = np.zeros_like(x)
                step[k] = 1e-6 if rank == process else 0.0
                change = dist.all_reduce(f(x + step) - f(x - step)) / 2e-6
                if rank == process:
                    wanted[k] = change
        for g in (tracejit.grad(f), tracejit.jit(tracejit.grad(f), strict=True)):
            np.testing.assert_allclose(g(x), wanted, rtol=1e-6, atol=1e-8, err_msg=f.__name__)

    # Effects of the backward pass stay in front of those behind the gradient.
    @tracejit.jit(strict=True)
    def several(x: Any) -> Any:
        first = tracejit.grad(reduced)(x)
        second = dist.all_reduce(first, "max")
        return second + tracejit.grad(twice)(second)

    found = several(x)
    with tracejit.eager():
        np.testing.assert_allclose(found, several(x), rtol=1e-12)

    y, pull = tracejit.vjp(reduced, x)
    np.testing.assert_allclose(pull(1.0)[0], tracejit.grad(reduced)(x), rtol=1e-12)

    def largest(x: Any) -> Any:
        return dist.all_reduce(x, "max").sum()

    def in_a_loop(x: Any, n: Any) -> Any:
        for _ in range(n):
            x = dist.all_reduce(x * x, "mean")
        return x.sum()

    for g in (tracejit.grad(largest), tracejit.jit(tracejit.grad(largest))):
        try:
            g(x)
        except Exception as e:
            assert "tracejit.dist.all_reduce of 'max' has no derivative" in str(e), e
        else:
            raise AssertionError("a gradient of a maximum")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it runs eagerly
        found = tracejit.jit(tracejit.grad(in_a_loop))(x, 3)

    def unrolled(x: Any) -> Any:
        y = dist.all_reduce(x * x, "mean")
        z = dist.all_reduce(y * y, "mean")
        return dist.all_reduce(z * z, "mean").sum()

    np.testing.assert_allclose(found, tracejit.grad(unrolled)(x), rtol=1e-12)
    print("gradients", rank)


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


def parts() -> None:
    """An optimiser in parts makes the steps of a whole one; its state is a part."""

    def step(net: Any, opt: Any, x: Any, y: Any) -> Any:
        loss, grads = tracejit.value_and_grad(lambda net: nn.cross_entropy(net(x), y))(net)
        opt.update(net, grads)
        return loss

    rng = np.random.default_rng(dist.rank())
    batches = [(rng.standard_normal((8, 6)), rng.integers(0, 3, 8)) for _ in range(20)]
    found = []
    for make in (
        lambda net: optim.Adam(net, lr=1e-2),
        lambda net: dist.sharded(optim.Adam, net, lr=1e-2),
    ):
        net = Net(np.random.default_rng(0))
        opt = make(net)
        train = dist.data_parallel(tracejit.jit(step, strict=True))
        for k, batch in enumerate(batches):
            (train if k != 5 else dist.data_parallel(step))(net, opt, *batch)
        found.append(np.concatenate([w.ravel() for w in tracejit.tree.leaves(net)]))
    whole, part = (sum(m.nbytes for m in o.m) for o in (optim.Adam(net), opt.optimizer))
    assert opt.optimizer.count == 20 and 0.2 * whole < part < 0.8 * whole
    print("parts", dist.rank(), np.array_equal(*found), flush=True)


def own_numbers() -> None:
    """Compiled code has the numbers of its process, also where another's lies in the cache."""

    @tracejit.jit(strict=True)
    def f(x: Any) -> Any:
        return x + 10 * dist.rank()

    @tracejit.jit(strict=True)
    def g(x: Any) -> Any:
        return x + 10 * dist.size()

    # Before anything else asks for them, so that a record may be the first to be tried.
    found = f(np.zeros(1000))[0], g(np.zeros(1000))[0]
    recalled = [h.report().variants[0].recalled for h in (f, g)]
    assert found == (10 * dist.rank(), 10 * dist.size()), found
    print("own", *found, *recalled, flush=True)


def warm() -> None:
    """A warm step runs no Python of its guards, only that of its exchanges."""

    def step(net: Any, opt: Any, x: Any, y: Any) -> Any:
        loss, grads = tracejit.value_and_grad(lambda net: nn.cross_entropy(net(x), y))(net)
        opt.update(net, grads)
        return loss

    rng = np.random.default_rng(dist.rank())
    x, y = rng.standard_normal((8, 6)).astype("f4"), rng.integers(0, 3, 8)
    net = Net(np.random.default_rng(0))
    opt = optim.Adam(net, lr=1e-2)
    train = dist.data_parallel(tracejit.jit(step, strict=True))
    for _ in range(30):
        train(net, opt, x, y)
    files = []
    sys.setprofile(lambda frame, event, _: files.append(frame.f_code.co_filename))
    try:
        train(net, opt, x, y)
    finally:
        sys.setprofile(None)
    package = os.path.dirname(tracejit.__file__)
    parts = {os.path.relpath(f, package).split(os.sep)[0] for f in files}
    assert "dist" in parts and not parts & {"codegen", "frontend", "runtime"}, parts
    print("warm", dist.rank(), flush=True)


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

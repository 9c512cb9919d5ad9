"""One of the processes of the benchmark `overlap`: times steps of VGG-19, prints them as JSON."""

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np

import tracejit
from benchmarks.models.cases import CASES
from tracejit import dist, nn, optim
from tracejit.dist.world import world


class SlowLink:
    """A link on which each message takes as long as on a network: nobody computes meanwhile."""

    def __init__(self, link: Any, latency: float, bandwidth: float) -> None:
        self.link, self.rank, self.size = link, link.rank, link.size
        self.latency, self.bandwidth = latency, bandwidth
        self.receive, self.borrow, self.close = link.receive, link.borrow, link.close

    def send(self, to: int, key: str, value: Any) -> None:
        self.send_all([to], key, value)

    def send_all(self, to: list[int], key: str, value: Any) -> None:
        time.sleep(self.latency + bytes_of(value) / self.bandwidth)
        self.link.send_all(to, key, value)


def bytes_of(value: Any) -> int:
    if isinstance(value, (list, tuple)):
        return sum(map(bytes_of, value))
    return value.nbytes if isinstance(value, np.ndarray) else 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--bandwidth", type=float, default=0, help="bytes a second")
    parser.add_argument("--latency", type=float, default=50e-6, help="of a message, in seconds")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--buckets", type=int, nargs="+", default=[1 << 20, 1 << 21, 1 << 22])
    parser.add_argument("--compression", nargs="*", default=[])
    options = parser.parse_args()
    group = world()
    if options.bandwidth:
        group.link = SlowLink(group.link, options.latency, options.bandwidth)
    case = next(c for c in CASES if c.name == "vgg19")
    rng = np.random.default_rng(5)
    net, draw = case.build(rng, False), case.batches(rng, False)
    (x,), y = draw()
    given = (np.resize(x, (options.batch, *x.shape[1:])), np.resize(y, options.batch))

    def step(net: Any, opt: Any, x: Any, y: Any) -> Any:
        loss, grads = tracejit.value_and_grad(lambda net: nn.cross_entropy(net(x), y))(net)
        opt.update(net, grads)
        return loss

    def variant(**settings: Any) -> Any:
        opt = optim.SGD(net, lr=1e-3)
        made = dist.data_parallel(tracejit.jit(step), **settings)
        return lambda: made(net, opt, *given)

    alone_opt, jitted = optim.SGD(net, lr=1e-3), tracejit.jit(step)
    runs = {"none": lambda: jitted(net, alone_opt, *given), "whole": variant(bucket=1 << 40)}
    runs |= {f"buckets of {b:,} bytes": variant(bucket=b) for b in options.buckets}
    for kind in options.compression:
        runs[f"{kind}, whole"] = variant(bucket=1 << 40, compression=kind)
        runs[f"{kind}, buckets"] = variant(compression=kind)
    times: dict[str, list[float]] = {name: [] for name in runs}
    for k in range(options.steps + 2):
        for name, run in runs.items():
            dist.barrier()
            start = time.perf_counter()
            run()
            # The step ends when it has on all processes.
            dist.barrier()
            if k >= 2:
                times[name].append(time.perf_counter() - start)
    if dist.rank() == 0:
        size = sum(p.nbytes for p in nn.parameters(net).values())
        print(json.dumps({"bytes": size, "times": times}))


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()

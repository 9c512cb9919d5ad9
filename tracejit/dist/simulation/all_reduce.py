"""What collectives cost, and how much of them the backward pass hides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Overlap", "all_reduce_seconds", "overlapped"]


def all_reduce_seconds(
    size: float, count: int, latency: float, bandwidth: float, kind: str = "ring"
) -> float:
    """Seconds of an all-reduce of `size` bytes among `count` processes.

    Each process sends and receives `bandwidth` bytes a second at once, a message takes `latency`
    seconds besides. Sums are taken to cost nothing.

    - "ring": 2 (n - 1) messages of size / n bytes (Patarasuk and Yuan, Bandwidth optimal all-reduce
      algorithms for clusters of workstations, 2009).
    - "halving": by recursive halving and doubling, 2 log2(n) messages of together
      2 size (n - 1) / n bytes (Thakur, Rabenseifner and Gropp, Optimization of Collective
      Communication Operations in MPICH, 2005).
    - "tree": up and down a binary tree, 2 ceil(log2(n)) messages of `size` bytes.
    - "direct": each process sends its part to each other one, twice: what `tracejit.dist` does on
      one machine. Latencies of messages to several overlap.

    Raises ValueError for another kind, or no process.
    """
    if count < 1:
        raise ValueError(f"there is at least one process, not {count}")
    spread = 2 * size * (count - 1) / count / bandwidth
    rounds = math.ceil(math.log2(count))
    costs = {
        "ring": 2 * (count - 1) * latency + spread,
        "halving": 2 * rounds * latency + spread,
        "tree": 2 * rounds * (latency + size / bandwidth),
        "direct": (2 * latency if count > 1 else 0.0) + spread,
    }
    if kind not in costs:
        raise ValueError(f"there are {', '.join(costs)}, not {kind!r}")
    return costs[kind]


@dataclass(frozen=True)
class Overlap:
    """A backward pass with exchanges of buckets beside it. `seconds` until the last has ended,
    `exchanging` of all exchanges together, `hidden` the share of these that costs no time.
    """

    seconds: float
    exchanging: float
    hidden: float
    buckets: int


def overlapped(
    layers: Sequence[tuple[float, float]],
    bucket: float,
    count: int,
    latency: float,
    bandwidth: float,
    kind: str = "ring",
) -> Overlap:
    """A backward pass whose gradients are exchanged in buckets of at least `bucket` bytes.

    `layers` are (seconds of the backward pass, bytes of its gradients) in the order in which it
    computes them: the last layer first. A bucket is exchanged when all of it is computed, and when
    the one before has been. Raises as `all_reduce_seconds`.
    """
    now, free, exchanging, waiting, buckets = 0.0, 0.0, 0.0, 0.0, 0
    for k, (seconds, size) in enumerate(layers):
        now += seconds
        waiting += size
        if waiting and (waiting >= bucket or k == len(layers) - 1):
            cost = all_reduce_seconds(waiting, count, latency, bandwidth, kind)
            free = max(free, now) + cost
            exchanging += cost
            waiting, buckets = 0.0, buckets + 1
    if waiting:
        cost = all_reduce_seconds(waiting, count, latency, bandwidth, kind)
        free, exchanging, buckets = max(free, now) + cost, exchanging + cost, buckets + 1
    end = max(now, free)
    hidden = 1 - (end - now) / exchanging if exchanging else 1.0
    return Overlap(end, exchanging, hidden, buckets)

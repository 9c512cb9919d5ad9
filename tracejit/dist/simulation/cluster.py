"""What a simulated cluster is made of."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from tracejit.dist.simulation.distributions import Constant, Distribution

__all__ = ["Cluster", "Pipe"]


@dataclass(frozen=True)
class Cluster:
    """Workers around servers of parameters.

    `compute` is the time of a gradient; `size` are the bytes of the parameters, and of a gradient;
    `latency` the seconds of a message before its first byte arrives; `bandwidth` the bytes a second
    of a server's link, each way, which its messages pass one after another. `servers` have a part
    of the parameters each, and all of a message is there when the last part is. `update` are the
    seconds of a step at the servers. `worker_failures` and `server_failures` are the mean seconds
    between two failures of one of them (infinite: none), `restart` the seconds until it is there
    again; the servers go on from the last step whose number `checkpoint` divides.

    Raises ValueError for numbers without meaning.
    """

    workers: int
    compute: Distribution = field(default_factory=lambda: Constant(1.0))
    size: float = 0.0
    latency: float = 0.0
    bandwidth: float = math.inf
    servers: int = 1
    update: float = 0.0
    worker_failures: float = math.inf
    server_failures: float = math.inf
    restart: float = 10.0
    checkpoint: int = 100

    def __post_init__(self) -> None:
        if self.workers < 1 or self.servers < 1 or self.checkpoint < 1:
            raise ValueError("there are workers, servers and steps between checkpoints: at least 1")
        for name in ("size", "latency", "update", "restart"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} is {getattr(self, name)}")
        for name in ("bandwidth", "worker_failures", "server_failures"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} is {getattr(self, name)}")

    def message(self) -> float:
        """Seconds that a message of the parameters, or of a gradient, takes of each link."""
        return self.size / self.servers / self.bandwidth


class Pipe:
    """One way of a link: messages pass one after another."""

    __slots__ = ("_free", "_latency")

    def __init__(self, latency: float) -> None:
        self._latency, self._free = latency, 0.0

    def arrival(self, now: float, seconds: float) -> float:
        """When a message that is given to it now, and takes it so long, is there."""
        start = self._free if self._free > now else now
        self._free = start + seconds
        return self._free + self._latency

    def clear(self, now: float) -> None:
        """What was on the way is lost."""
        self._free = now

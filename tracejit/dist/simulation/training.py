"""Training on a simulated cluster: the policies of real runs, on a virtual clock.

Each worker has one event at a time: it has computed its gradient, or that has arrived at the
servers. When a worker is lost, its event is of an older life, and nothing happens.
"""

from __future__ import annotations

import copy
import heapq
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tracejit.dist.replicas.policy import Action, Backup, Drop, Policy, Send, Step
from tracejit.dist.simulation.cluster import Cluster, Pipe
from tracejit.dist.simulation.distributions import stream

__all__ = ["Problem", "Result", "simulate", "speedup"]

_COMPUTED, _ARRIVED, _FAILS, _BACK, _SERVER_FAILS, _SERVER_BACK = range(6)


@dataclass(frozen=True)
class Problem:
    """A model that is trained for real while time is simulated.

    `gradient(params, rng)` is a worker's gradient, `update(params, gradient)` gives the parameters
    after a step of a mean gradient (old ones must stay as they are), and `loss(params)` a number.
    """

    params: Any
    gradient: Callable[[Any, np.random.Generator], Any]
    update: Callable[[Any, Any], Any]
    loss: Callable[[Any], float]


@dataclass
class Result:
    """What a simulation gave. Times are virtual seconds."""

    #: When each step was made; a step made again after a failure of the servers comes again.
    times: list[float] = field(default_factory=list)
    #: How many steps there are in the end, gradients were left out, and events happened.
    steps: int = 0
    dropped: int = 0
    events: int = 0
    #: How many steps old the parameters were of each gradient that was taken: {steps: gradients}.
    staleness: Counter[int] = field(default_factory=Counter)
    #: Failures of workers and of the servers.
    worker_failures: int = 0
    server_failures: int = 0
    #: Seconds that all workers have computed.
    computing: float = 0.0
    #: With a problem: (seconds, steps, loss) before the first step and after each `every`th.
    losses: list[tuple[float, int, float]] = field(default_factory=list)
    params: Any = None

    @property
    def seconds(self) -> float:
        """When the last step was made."""
        return self.times[-1] if self.times else 0.0

    @property
    def rate(self) -> float:
        """Steps a second."""
        return self.steps / self.seconds if self.seconds else math.inf

    def step_times(self) -> Any:
        """Seconds between steps, as an array."""
        return np.diff(np.array([0.0, *self.times]))


def simulate(
    cluster: Cluster,
    policy: Policy,
    steps: int,
    seed: int = 0,
    problem: Problem | None = None,
    every: int = 10,
) -> Result:
    """Train until `steps` steps have been made. The policy is used up.

    The same seed gives the same run. Raises ValueError for a policy that has been used, or no
    steps.
    """
    if steps < 1 or every < 1:
        raise ValueError(f"there are steps to make, not {min(steps, every)}")
    if policy.busy or policy.version:
        raise ValueError("the policy has been used before")
    return _Run(cluster, policy, steps, seed, problem, every).run()


def speedup(
    cluster: Cluster, needed: int, backups: Sequence[int], steps: int, seed: int = 0
) -> Mapping[int, float]:
    """By number b of backup workers: t(m + b) / t(m) * m / (m + b), where t are steps a second.

    That is what a step gains by b workers more than the m that it needs, for what these cost
    (Chen, Pan, Monga, Bengio and Jozefowicz, Revisiting Distributed Synchronous SGD, 2016). The
    workers of `cluster` are as many as each run needs.
    """

    def rate(count: int) -> float:
        return simulate(replace(cluster, workers=count), Backup(needed=needed), steps, seed).rate

    alone = rate(needed)
    return {b: rate(needed + b) / alone * needed / (needed + b) for b in backups}


class _Run:
    def __init__(
        self,
        cluster: Cluster,
        policy: Policy,
        steps: int,
        seed: int,
        problem: Problem | None,
        every: int,
    ) -> None:
        self.cluster, self.policy, self.steps = cluster, policy, steps
        self.problem, self.every = problem, every
        self.rng = np.random.default_rng(seed)
        self.compute = stream(cluster.compute, np.random.default_rng([seed, 1]))
        self.down, self.up = Pipe(cluster.latency), Pipe(cluster.latency)
        self.message = cluster.message()
        self.heap: list[tuple[float, int, int, int, int, int]] = []
        self.count = 0
        #: The time; and until when the servers make a step.
        self.now = self.updated = 0.0
        #: By worker: which life it lives.
        self.lives = [0] * cluster.workers
        self.server_life = 0
        self.server_is_up = True
        self.found = Result()
        self.params = None if problem is None else problem.params
        self.saved: tuple[int, Any] = (0, copy.deepcopy(self.params))
        #: By worker: the parameters that it computes on, and the gradient that it has sent.
        self.held: dict[int, Any] = {}
        self.sent: dict[int, Any] = {}
        self.versions: dict[int, int] = {}

    def run(self) -> Result:
        self.note_loss()
        for worker in range(self.cluster.workers):
            self.do(self.policy.joined(worker))
            self.fail_later(worker)
        self.at(self.rng.exponential(self.cluster.server_failures), _SERVER_FAILS)
        heap, found, limit = self.heap, self.found, self.steps
        while self.policy.version < limit:
            self.now, _, kind, worker, life, version = heapq.heappop(heap)
            found.events += 1
            if kind <= _ARRIVED:
                if life != self.lives[worker]:
                    continue
                if kind == _COMPUTED:
                    arrival = self.up.arrival(self.now, self.message)
                    self.push(arrival, _ARRIVED, worker, life, version)
                elif self.now < self.updated:
                    self.push(self.updated, _ARRIVED, worker, life, version)
                else:
                    self.arrived(worker, version)
            elif kind == _FAILS:
                self.fails(worker)
            elif kind == _BACK:
                if self.server_is_up:
                    self.do(self.policy.joined(worker))
                    self.fail_later(worker)
                else:
                    self.at(self.cluster.restart, _BACK, worker)
            elif kind == _SERVER_FAILS:
                self.server_fails()
            else:
                self.server_is_back()
        found.steps = self.policy.version
        found.params = self.params
        return found

    def push(self, time: float, kind: int, worker: int, life: int, version: int) -> None:
        self.count += 1
        heapq.heappush(self.heap, (time, self.count, kind, worker, life, version))

    def at(self, seconds: float, kind: int, worker: int = 0) -> None:
        if seconds < math.inf:
            self.push(self.now + seconds, kind, worker, 0, 0)

    def do(self, actions: Sequence[Action]) -> None:
        found = self.found
        for action in actions:
            if type(action) is Send:
                worker = action.worker
                start = self.down.arrival(self.now, self.message)
                seconds = self.compute()
                found.computing += seconds
                if self.problem is not None:
                    self.held[worker] = self.params
                life = self.lives[worker]
                self.push(start + seconds, _COMPUTED, worker, life, action.version)
            elif type(action) is Step:
                self.step(action)
            elif type(action) is Drop:
                found.dropped += 1
                self.sent.pop(action.worker, None)

    def arrived(self, worker: int, version: int) -> None:
        if self.problem is not None:
            self.sent[worker] = self.problem.gradient(self.held[worker], self.rng)
        self.versions[worker] = version
        self.do(self.policy.arrived(worker, version))

    def step(self, action: Step) -> None:
        found, problem = self.found, self.problem
        self.now = self.updated = self.now + self.cluster.update
        found.times.append(self.now)
        for worker in action.workers:
            found.staleness[action.version - 1 - self.versions[worker]] += 1
        if problem is not None:
            gradients = [self.sent.pop(w) for w in sorted(action.workers)]
            total = gradients[0]
            for g in gradients[1:]:
                total = total + g
            self.params = problem.update(self.params, total / len(gradients))
            if action.version % self.every == 0:
                self.note_loss(action.version)
        if action.version % self.cluster.checkpoint == 0:
            self.saved = action.version, self.params

    def note_loss(self, version: int = 0) -> None:
        if self.problem is not None:
            self.found.losses.append((self.now, version, self.problem.loss(self.params)))

    # Failures -------------------------------------------------------------------------------------

    def fail_later(self, worker: int) -> None:
        if self.cluster.worker_failures < math.inf:
            self.at(self.rng.exponential(self.cluster.worker_failures), _FAILS, worker)

    def fails(self, worker: int) -> None:
        self.found.worker_failures += 1
        self.lives[worker] += 1
        self.at(self.cluster.restart, _BACK, worker)
        if self.server_is_up:
            self.do(self.policy.lost(worker))
        else:
            del self.policy.busy[worker]

    def server_fails(self) -> None:
        """What is on the way is lost, and the steps since the last checkpoint."""
        self.found.server_failures += 1
        self.server_is_up = False
        self.lives = [life + 1 for life in self.lives]
        self.sent.clear()
        for worker in self.policy.busy:
            self.policy.busy[worker] = None
        self.at(self.cluster.restart, _SERVER_BACK)

    def server_is_back(self) -> None:
        self.server_is_up = True
        self.up.clear(self.now)
        self.down.clear(self.now)
        version, self.params = self.saved
        self.do(self.policy.restored(version))
        self.at(self.rng.exponential(self.cluster.server_failures), _SERVER_FAILS)

"""Policies under events in any order: who is sent what, and which gradients make a step."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tracejit.dist.replicas.policy import Action, Async, Backup, Drop, Policy, Send, Step, Sync


class Watched:
    """A policy whose every action is held against what is known."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.steps = 0
        #: By worker: what it computes on; by worker: the version of the gradient that waits.
        self.computing: dict[int, int] = {}
        self.waiting: dict[int, int] = {}
        self.arriving: tuple[int, int] | None = None

    def do(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Send(worker, version):
                    assert worker not in self.computing, "it is busy"
                    assert version == self.policy.version
                    self.computing[worker] = version
                case Drop(worker, version):
                    assert self.waiting.pop(worker) == version
                case Step(version, workers):
                    self.steps += 1
                    assert len(set(workers)) == len(workers) > 0
                    self.check_step(version, [self.waiting.pop(w) for w in workers])

    def check_step(self, version: int, given: list[int]) -> None:
        policy = self.policy
        if isinstance(policy, Async):
            (on,) = given
            assert policy.bound is None or version - 1 - on <= policy.bound
        else:
            assert isinstance(policy, Backup)
            assert set(given) == {version - 1}
            assert len(given) <= policy.needed


MAKES: list[Callable[[], Policy]] = [
    lambda: Backup(needed=3),
    lambda: Backup(needed=1),
    lambda: Backup(needed=100),
    lambda: Async(),
    lambda: Async(bound=2),
    lambda: Async(bound=0),
    Sync,
]


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("seed", range(20))
def test_any_order_of_events(make: Callable[[], Policy], seed: int) -> None:
    rng = random.Random(seed)
    policy = make()
    watched = Watched(policy)
    for _ in range(400):
        event = rng.random()
        there = sorted(policy.busy)
        if event < 0.08 and len(there) < 6:
            worker = rng.choice([w for w in range(8) if w not in policy.busy])
            watched.do(policy.joined(worker))
        elif event < 0.14 and there:
            worker = rng.choice(there)
            watched.computing.pop(worker, None)
            watched.do(policy.lost(worker))
        elif event < 0.15:
            version = rng.randint(0, policy.version)
            watched.waiting.clear()
            watched.do(policy.restored(version))
        elif watched.computing:
            worker = rng.choice(sorted(watched.computing))
            version = watched.computing.pop(worker)
            watched.waiting[worker] = version
            watched.do(policy.arrived(worker, version))
        # Nobody waits for nothing: whoever is there computes, or its gradient is in a step to be.
        for w in policy.busy:
            assert (w in watched.computing) == (policy.busy[w] is not None)
            assert w in watched.computing or w in watched.waiting
        if isinstance(policy, Async):
            assert not watched.waiting
        elif policy.busy:
            assert watched.computing, "nothing can happen any more"
    assert watched.steps > 5


def test_late_gradients_are_dropped() -> None:
    policy = Backup(needed=2)
    for worker in range(3):
        policy.joined(worker)
    assert policy.arrived(0, 0) == []
    assert policy.arrived(2, 0) == [Step(1, (0, 2)), Send(0, 1), Send(2, 1)]
    assert policy.arrived(1, 0) == [Drop(1, 0), Send(1, 1)]


def test_a_bound_on_staleness() -> None:
    policy = Async(bound=1)
    for worker in range(3):
        policy.joined(worker)
    assert policy.arrived(0, 0) == [Step(1, (0,)), Send(0, 1)]
    assert policy.arrived(1, 0) == [Step(2, (1,)), Send(1, 2)]
    assert policy.arrived(2, 0) == [Drop(2, 0), Send(2, 2)]


def test_the_rest_makes_the_step_of_one_that_is_lost() -> None:
    policy = Sync()
    for worker in range(3):
        policy.joined(worker)
    policy.arrived(0, 0), policy.arrived(1, 0)
    assert policy.lost(2) == [Step(1, (0, 1)), Send(0, 1), Send(1, 1)]
    policy.arrived(0, 1)
    # Its gradient counts; it is there again, and waits for the step.
    assert policy.lost(0) == [] and policy.joined(0) == []
    assert policy.arrived(1, 1) == [Step(2, (0, 1)), Send(0, 2), Send(1, 2)]


def test_what_is_no_event() -> None:
    policy = Sync()
    policy.joined(0)
    with pytest.raises(ValueError, match="there already"):
        policy.joined(0)
    with pytest.raises(ValueError, match="not asked for"):
        policy.arrived(0, 3)
    with pytest.raises(ValueError, match="needs a gradient"):
        Backup(needed=0)

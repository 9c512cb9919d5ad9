"""The simulated cluster against what can be computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tracejit.dist.replicas.policy import Async, Backup, Policy, Sync
from tracejit.dist.simulation import (
    Cluster,
    Constant,
    Empirical,
    Exponential,
    LogNormal,
    Problem,
    Straggling,
    all_reduce_seconds,
    overlapped,
    simulate,
    speedup,
)


def test_one_worker_takes_the_sum_of_its_parts() -> None:
    cluster = Cluster(1, Constant(2.0), size=8.0, latency=0.5, bandwidth=16.0, update=0.25)
    for policy in (Sync(), Async(), Backup(needed=1)):
        found = simulate(cluster, policy, 5)
        # There and back: 0.5 s each way behind 0.5 s of the link; the computation; the step.
        assert found.step_times() == pytest.approx([2 * (0.5 + 0.5) + 2.0 + 0.25] * 5)
        assert found.steps == 5 and found.dropped == 0 and found.computing == 12.0


def test_messages_pass_a_link_one_after_another() -> None:
    cluster = Cluster(4, Constant(0.0), size=10.0, bandwidth=10.0)
    # Four messages there, the first gradient leaves when the first has come: 5 s, not 8.
    assert simulate(cluster, Sync(), 1).seconds == pytest.approx(5.0)
    shards = Cluster(4, Constant(0.0), size=10.0, bandwidth=10.0, servers=5)
    assert simulate(shards, Sync(), 1).seconds == pytest.approx(1.0)


@pytest.mark.parametrize(("needed", "backups"), [(8, 0), (8, 2), (5, 5)])
def test_order_statistics(needed: int, backups: int) -> None:
    """The k-th of n exponentials has the mean 1/n + 1/(n-1) + ... + 1/(n-k+1); the memory of those
    that are late is lost, as they are exponential."""
    count = needed + backups
    cluster = Cluster(count, Exponential(0.0, 1.0))
    found = simulate(cluster, Backup(needed=needed), 4000, seed=3)
    mean = sum(1 / (count - k) for k in range(needed))
    if backups == 0:
        assert found.step_times().mean() == pytest.approx(mean, rel=0.03)
    assert found.dropped <= backups * 4000
    # A late one first drops what it has, which others do not do: never faster than the statistic.
    assert found.step_times().mean() >= mean * 0.97


def test_asynchronous_workers_do_not_wait() -> None:
    cluster = Cluster(10, Straggling(Constant(1.0), 0.1, 5.0))
    found = simulate(cluster, Async(), 5000, seed=1)
    assert found.rate == pytest.approx(10 / (1.0 + 0.1 * 4.0), rel=0.03)
    assert found.dropped == 0 and sum(found.staleness.values()) == 5000
    bounded = simulate(cluster, Async(bound=5), 2000, seed=1)
    assert max(bounded.staleness) == 5 and bounded.dropped > 0


def test_a_seed_gives_one_run() -> None:
    cluster = Cluster(5, LogNormal(1.0, 0.5), worker_failures=20.0, server_failures=50.0, restart=1)
    first, again, other = (simulate(cluster, Sync(), 50, seed=s) for s in (1, 1, 2))
    assert first.times == again.times != other.times


def test_failures_cost_what_they_take() -> None:
    quiet = simulate(Cluster(6, Constant(1.0)), Sync(), 300)
    cluster = Cluster(
        6, Constant(1.0), worker_failures=100.0, server_failures=60.0, restart=5.0, checkpoint=10
    )
    found = simulate(cluster, Sync(), 300, seed=5)
    assert found.steps == 300 and found.worker_failures > 3 and found.server_failures > 2
    # Steps made again are at most those since a checkpoint.
    again = len(found.times) - 300
    assert 0 <= again <= 10 * found.server_failures
    lost = found.server_failures * 5.0 + again
    assert quiet.seconds + lost - 1 <= found.seconds <= quiet.seconds + lost + 20


@pytest.mark.parametrize("make", [Sync, lambda: Backup(needed=6), Async])
def test_a_model_is_trained_on_the_way(make: type[Policy]) -> None:
    target = np.arange(4.0)
    problem = Problem(
        np.zeros(4),
        lambda p, rng: p - target + 0.1 * rng.standard_normal(4),
        lambda p, g: p - 0.1 * g,
        lambda p: float(((p - target) ** 2).sum()),
    )
    found = simulate(Cluster(8, LogNormal(1.0, 0.3)), make(), 200, problem=problem)
    seconds, steps, losses = zip(*found.losses, strict=True)
    assert losses[0] == 14.0 and losses[-1] < 0.1
    assert list(steps) == list(range(0, 201, 10)) and list(seconds) == sorted(seconds)
    assert found.params == pytest.approx(target, abs=0.3)


def test_backup_workers_pay_where_there_are_stragglers() -> None:
    slow = Straggling(LogNormal(1.0, 0.1), 0.02, 4.0)
    gains = speedup(Cluster(1, slow), 20, range(5), 400, seed=1)
    assert gains[0] == 1.0 and max(gains.values()) > 1.2
    even = speedup(Cluster(1, Constant(1.0)), 20, range(3), 20)
    assert even == pytest.approx({b: 20 / (20 + b) for b in range(3)})


def test_collectives() -> None:
    size, n, latency, bandwidth = 1e6, 8, 1e-3, 1e9
    spread = 2 * size * 7 / 8 / bandwidth
    assert all_reduce_seconds(size, n, latency, bandwidth) == pytest.approx(14e-3 + spread)
    assert all_reduce_seconds(size, n, latency, bandwidth, "halving") == pytest.approx(
        6e-3 + spread
    )
    assert all_reduce_seconds(size, n, latency, bandwidth, "tree") == pytest.approx(6 * 2e-3)
    assert all_reduce_seconds(size, n, latency, bandwidth, "direct") == pytest.approx(2e-3 + spread)
    for kind in ("ring", "halving", "tree", "direct"):
        assert all_reduce_seconds(size, 1, latency, bandwidth, kind) == 0.0
    with pytest.raises(ValueError, match="not 'star'"):
        all_reduce_seconds(size, n, latency, bandwidth, "star")


def test_buckets_hide_behind_the_backward_pass() -> None:
    layers = [(1.0, 10.0)] * 4
    each = all_reduce_seconds(10.0, 2, 0.0, 10.0)
    assert each == 1.0
    # Each is exchanged while the next is computed: only the last one shows.
    found = overlapped(layers, 1.0, 2, 0.0, 10.0)
    assert (found.seconds, found.exchanging, found.buckets) == (5.0, 4.0, 4)
    assert found.hidden == 0.75
    whole = overlapped(layers, math.inf, 2, 0.0, 10.0)
    assert (whole.seconds, whole.hidden, whole.buckets) == (8.0, 0.0, 1)


def test_distributions_and_wrong_numbers() -> None:
    rng = np.random.default_rng(0)
    for d, mean in [
        (Constant(2.0), 2.0),
        (Exponential(1.0, 0.5), 1.5),
        (LogNormal(1.0, 0.5), math.exp(0.125)),
        (Straggling(Constant(1.0), 0.25, 5.0), 2.0),
        (Empirical([1.0, 2.0, 6.0]), 3.0),
    ]:
        assert d.draw(rng, 40000).mean() == pytest.approx(mean, rel=0.03)
    for wrong in (
        lambda: Constant(-1.0),
        lambda: Straggling(Constant(1.0), 1.5, 2.0),
        lambda: Empirical([]),
        lambda: Cluster(0),
        lambda: Cluster(1, bandwidth=0.0),
        lambda: Cluster(1, size=math.inf),
        lambda: simulate(Cluster(1), Sync(), 0),
    ):
        with pytest.raises(ValueError):
            wrong()
    used = Sync()
    simulate(Cluster(1), used, 1)
    with pytest.raises(ValueError, match="used before"):
        simulate(Cluster(1), used, 1)

"""The simulated cluster: events a second of 1,000 workers."""

import time
from statistics import median

from tracejit.dist.replicas.policy import Async, Backup, Sync
from tracejit.dist.simulation import Cluster, LogNormal, simulate

from .harness import Table

CLUSTER = Cluster(1000, LogNormal(1.0, 0.3), 1e8, latency=1e-4, bandwidth=1e10, servers=20)
POLICIES = {
    "sync": (Sync, 100),
    "backup:20": (lambda: Backup(needed=980), 100),
    "async:2000": (lambda: Async(bound=2000), 100_000),
}


def run(quick):
    """One row by policy."""
    table = Table("events a second, 1,000 workers", [])
    for name, (make, steps) in POLICIES.items():
        rates = []
        for _ in range(1 if quick else 5):
            start = time.process_time()
            found = simulate(CLUSTER, make(), steps // 10 if quick else steps)
            rates.append(found.events / (time.process_time() - start))
        table.rows.append({"policy": name, "events": found.events, "events/s": median(rates)})
        table.require(f"events/s, {name}", median(rates), at_least=10_000)
    return [table]

"""One program on several processes: who they are, what they call together, how they are started"""

from tracejit.dist.bulk import map_batches
from tracejit.dist.collectives import (
    all_gather,
    all_reduce,
    barrier,
    broadcast,
    rank,
    reduce_scatter,
    size,
)
from tracejit.dist.placed.pool import Workers, workers
from tracejit.dist.replicas.data_parallel import data_parallel
from tracejit.dist.replicas.sharded import sharded
from tracejit.dist.transport.link import DistError, PeerLost

__all__ = [
    "DistError",
    "PeerLost",
    "Workers",
    "all_gather",
    "all_reduce",
    "barrier",
    "broadcast",
    "data_parallel",
    "map_batches",
    "rank",
    "reduce_scatter",
    "sharded",
    "size",
    "workers",
]

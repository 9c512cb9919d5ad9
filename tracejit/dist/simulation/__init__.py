"""A cluster that is computed, not run: events on a virtual clock, by the policies of real runs"""

from tracejit.dist.simulation.all_reduce import Overlap, all_reduce_seconds, overlapped
from tracejit.dist.simulation.cluster import Cluster
from tracejit.dist.simulation.distributions import (
    Constant,
    Distribution,
    Empirical,
    Exponential,
    LogNormal,
    Straggling,
)
from tracejit.dist.simulation.training import Problem, Result, simulate, speedup

__all__ = [
    "Cluster",
    "Constant",
    "Distribution",
    "Empirical",
    "Exponential",
    "LogNormal",
    "Overlap",
    "Problem",
    "Result",
    "Straggling",
    "all_reduce_seconds",
    "overlapped",
    "simulate",
    "speedup",
]

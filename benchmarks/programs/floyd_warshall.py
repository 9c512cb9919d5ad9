"""The lengths of the shortest paths between all nodes of a graph (Floyd, 1962; Warshall, 1962)."""

from typing import Any

import numpy as np

from .program import Program

SIZES = {"S": {"n": 20}, "T": {"n": 33}, "M": {"n": 320}, "L": {"n": 1000}}


def initialize(n: int) -> dict[str, Any]:
    """path: int32 (n, n), lengths of edges, 9999 for none; changed in place."""
    rng = np.random.default_rng(42)
    path = rng.integers(1, 100, (n, n), dtype=np.int32)
    path[rng.random((n, n)) < 0.7] = 9999
    np.fill_diagonal(path, 0)
    return {"path": path}


def floyd_warshall(path: np.ndarray) -> None:
    """Replace lengths of edges by lengths of shortest paths in path, int32 (n, n)."""
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))


PROGRAM = Program(
    name="floyd_warshall",
    kernel=floyd_warshall,
    initialize=initialize,
    sizes=SIZES,
    kind="short loops",
)

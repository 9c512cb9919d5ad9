"""Large tables in shards: rows partitioned, gathered shard by shard, and stitched together.

The operations are those of Abadi et al., TensorFlow: A System for Large-Scale Machine Learning,
2016, section 4.2. Each shard's gradient is its rows that were read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["dynamic_partition", "dynamic_stitch", "embedding", "sharded"]


def dynamic_partition(data: Any, partitions: Any, count: int) -> list[Any]:
    """The rows of `data` for each of the numbers 0 ... `count` - 1 in `partitions`, in order.

    `partitions` are integers, of the shape with which that of `data` begins. Raises IndexError for
    others.
    """
    if ((partitions < 0) | (partitions >= count)).any():
        raise IndexError(f"dynamic_partition: a partition that is not in 0 ... {count - 1}")
    return [data[partitions == k] for k in range(count)]


def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any]) -> Any:
    """An array whose row `indices[k][i]` is `data[k][i]`, as long as the largest index says.

    Integers of any shapes, with which those of the arrays of `data` begin, all of which go on in
    the same way. Of several rows for one index the last counts; a row without one is 0. Raises
    IndexError for negative indices.
    """
    rest = data[0].shape[indices[0].ndim :]
    places = np.concatenate([i.reshape(-1) for i in indices])
    if (places < 0).any():
        raise IndexError("dynamic_stitch: an index below 0")
    rows = np.concatenate([d.reshape(-1, *rest) for d in data])
    out = np.zeros((places.max(initial=-1) + 1, *rest), rows.dtype)
    out[places] = rows
    return out


def embedding(tables: Sequence[Any], ids: Any, strategy: str = "mod") -> Any:
    """The rows `ids` of a table that lies in shards: an array of the shape (*ids.shape, ...).

    With "mod" the row i is the row `i // n` of the shard `i % n` of n. With "div" shards hold rows
    that follow each other, equally many but for the first ones, which have one more where they do
    not go up (`sharded` cuts a table so). Raises IndexError for ids outside the table, ValueError
    for other strategies and for shards of other sizes.
    """
    count = len(tables)
    size = sum([len(t) for t in tables])
    each, more = size // count, size % count
    for k, t in enumerate(tables):
        if len(t) != each + (k < more):
            raise ValueError(
                f"embedding: of {size} rows shard {k} of {count} does not hold {len(t)}"
            )
    if ((ids < 0) | (ids >= size)).any():
        raise IndexError(f"embedding: an id that is not in 0 ... {size - 1}")
    flat = ids.reshape(-1)
    if strategy == "mod":
        shard, row = flat % count, flat // count
    elif strategy == "div":
        first = more * (each + 1)
        shard = np.where(flat < first, flat // (each + 1), more + (flat - first) // max(each, 1))
        row = flat - shard * each - np.minimum(shard, more)
    else:
        raise ValueError(f"the strategy is 'mod' or 'div', not {strategy!r}")
    rows = dynamic_partition(row, shard, count)
    places = dynamic_partition(np.arange(ids.size), shard, count)
    found = dynamic_stitch(places, [t[r] for t, r in zip(tables, rows, strict=True)])
    return found.reshape(*ids.shape, *tables[0].shape[1:])


def sharded(table: Any, count: int, strategy: str = "mod") -> list[Any]:
    """A table cut into `count` shards as `embedding` takes them, each an array of its own."""
    if strategy == "mod":
        return [table[k::count].copy() for k in range(count)]
    return [part.copy() for part in np.array_split(table, count)]

"""Optimisers that take the mean of all processes' gradients: programs, compiled as steps are."""

from __future__ import annotations

from typing import Any

from tracejit import tree
from tracejit.dist.bucket_plan import BUCKET
from tracejit.dist.buckets import mean_in_buckets
from tracejit.dist.collectives import all_reduce, size
from tracejit.dist.compression import Compressor
from tracejit.sparse import RowGradient

__all__ = ["mean_gradients", "with_mean_gradients"]


def with_mean_gradients(
    optimizer: Any, bucket: int = BUCKET, compression: str | None = None
) -> Any:
    """An optimiser with the state of another, and the same classes but for its gradients.

    Raises ValueError for a kind of compression that there is not.
    """
    cls = type(optimizer)
    compressor = None if compression is None else Compressor(compression)
    number = 0 if compressor is None else compressor.number

    def update(self: Any, params: Any, grads: Any) -> Any:
        return cls.update(self, params, mean_gradients(grads, bucket, number))

    names = {"update": update, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    # It lives as long as the class.
    names["_compressor"] = compressor
    made: Any = object.__new__(type(cls.__name__, (cls,), names))
    # One state: what either stores the other has.
    made.__dict__ = optimizer.__dict__
    return made


def mean_gradients(grads: Any, bucket: int = BUCKET, compressor: int = 0) -> Any:
    """The means over all processes: of arrays in buckets of so many bytes, of rows by `all_reduce`;
    in fewer bits by the compressor of a number other than 0.

    Raises PeerLost, DistError.
    """
    if size() == 1:
        return all_reduce(grads, "mean")
    leaves, structure = tree.flatten(grads)
    rows = [all_reduce(leaf, "mean") for leaf in leaves if isinstance(leaf, RowGradient)]
    dense = [leaf for leaf in leaves if not isinstance(leaf, RowGradient)]
    means = iter(mean_in_buckets(dense, bucket, compressor))
    row = iter(rows)
    found = [next(row) if isinstance(leaf, RowGradient) else next(means) for leaf in leaves]
    return tree.unflatten(structure, found)

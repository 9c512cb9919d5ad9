"""The mean of all processes' arrays, in buckets that are exchanged while the program goes on.

    handles = [start(bucket) for bucket in buckets]; means = [wait(handle) for handle in handles]

In compiled programs each start comes directly behind what computes its arrays (see
`passes/fusion/early_starts.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.dist.bucket_plan import BUCKET, planned
from tracejit.dist.compression import COMPRESSORS
from tracejit.dist.transport.group import operand
from tracejit.dist.world import world
from tracejit.ops.host.exchange import KINDS, exchange, held, hold, let_go

__all__ = ["like", "mean_in_buckets"]


def mean_in_buckets(leaves: Sequence[Any], bucket: int = BUCKET, compressor: int = 0) -> list[Any]:
    """The means of arrays and numbers over all processes; in fewer bits by the compressor of a
    number other than 0. Raises PeerLost, DistError.
    """
    given = [np.asarray(v) for v in leaves]
    plan = planned([(x.dtype, x.nbytes) for x in given], bucket)
    handles = [
        exchange("start", [leaves[k] for k in numbers], compressor, j)
        for j, numbers in enumerate(plan)
    ]
    out: list[Any] = [None] * len(leaves)
    for numbers, handle in zip(plan, handles, strict=True):
        for k, found in zip(numbers, exchange("wait", handle), strict=True):
            out[k] = found
    return out


def _traced(
    interpreter: Any, leaves: Sequence[Any], bucket: int = BUCKET, compressor: int = 0
) -> Any:
    from tracejit.dist.recording import record_buckets

    return record_buckets(interpreter, leaves, bucket, compressor)


mean_in_buckets.__tracejit_traced__ = _traced  # type: ignore[attr-defined]


def like(cls: type, found: Any) -> Any:
    """A result for an operand of a class: an array, a NumPy scalar, a number of Python."""
    if issubclass(cls, np.ndarray):
        return found
    return found[()] if issubclass(cls, np.generic) else found.item()


def _start(values: Sequence[Any], compressor: int, bucket: int) -> int:
    made = COMPRESSORS[compressor] if compressor else None
    if made is not None and made.takes(operand(values[0], "mean").dtype):
        pending = made.start(world(), bucket, [operand(v, "mean") for v in values])
    else:
        pending = world().start_all_reduce_list(values, "mean")
    return hold(([type(v) for v in values], pending))


def _wait(number: int) -> list[Any]:
    classes, pending = held(number)
    found = pending.wait()
    let_go(number)
    return [like(cls, x) for cls, x in zip(classes, found, strict=True)]


KINDS.update(start=_start, wait=_wait)

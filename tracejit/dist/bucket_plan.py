"""Which gradients are exchanged together.

The leaves from last to first, by dtype, as backward passes compute gradients of the last layers
first (Li et al., PyTorch Distributed: Experiences on Accelerating Data Parallel Training, 2020).
The buckets depend on shapes and dtypes alone: they are the same on all processes, whichever of them
run compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["BUCKET", "planned"]

#: Bytes of a bucket, as PyTorch's. Smaller ones hide more of a slow network; where processes use
#: all processors, as on one machine, each costs more than it hides.
BUCKET = 25 << 20


def planned(leaves: Sequence[tuple[np.dtype[Any], int]], bucket: int) -> list[list[int]]:
    """The numbers of leaves, of which dtypes and bytes are given, by bucket."""
    plan: list[list[int]] = []
    #: By dtype the bucket that is filled, and its bytes.
    filled: dict[Any, tuple[list[int], int]] = {}
    for k in reversed(range(len(leaves))):
        dtype, size = leaves[k]
        numbers, room = filled.get(dtype, ([], 0))
        if not numbers or room + size > bucket:
            numbers, room = [], 0
            plan.append(numbers)
        numbers.append(k)
        filled[dtype] = numbers, room + size
    return plan

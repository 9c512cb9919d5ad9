"""Whether two results agree, and how far apart they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.graph import Graph
from tracejit.ir.types import ArrayType

__all__ = ["compare", "is_exact"]


def is_exact(graph: Graph) -> bool:
    """Whether all ops of a graph give NumPy's bits."""
    nodes = list(graph.nodes)
    return all(
        n.op.parity_of([v.type for v in n.inputs]) == "exact"
        and all(is_exact(region) for region in n.regions)
        for n in nodes
    )


def compare(expected: Any, found: Any, exact: bool) -> tuple[bool, str]:
    """Whether two results agree, and how far; `exact`: to the last bit, all NaNs being one."""
    a, b = np.asarray(expected), np.asarray(found)
    if (a.dtype, a.shape, type(expected)) != (b.dtype, b.shape, type(found)):
        kinds = [
            f"{type(x).__name__} {ArrayType(y.dtype, y.shape)}"
            for x, y in ((expected, a), (found, b))
        ]
        return False, f"DIFFERENT: {kinds[0]} and {kinds[1]}"
    if a.dtype.kind not in "fc":
        same = bool(np.array_equal(a, b))
        return same, "equal" if same else "different"
    parts = [(a.real, b.real), (a.imag, b.imag)] if a.dtype.kind == "c" else [(a, b)]
    both_nan = [np.isnan(x) & np.isnan(y) for x, y in parts]
    bits = [
        (x == y) & (np.signbit(x) == np.signbit(y)) | nan
        for (x, y), nan in zip(parts, both_nan, strict=True)
    ]
    if all(m.all() for m in bits):
        return True, "equal to the last bit"
    with np.errstate(all="ignore"):
        error = np.where(np.logical_and.reduce(both_nan) | (a == b), 0.0, np.abs(a - b))
        scale = np.max(np.abs(a), initial=0.0, where=np.isfinite(a))
    largest = float(np.max(error, initial=0.0))
    eps = float(np.finfo(a.dtype).eps)
    # Sums in another order, and functions within some units in the last place.
    close = bool(largest <= 64 * eps * float(scale) * max(1.0, a.size) ** 0.5)
    agrees = close and not exact
    text = (
        f"largest difference {largest:.3g}, {largest / (eps * scale or eps):.1f} eps of the largest"
    )
    return agrees, text if agrees else f"DIFFERENT: {text}"

"""Whether two results agree, and how far apart they are."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from tracejit.ir.graph import Graph
from tracejit.ir.types import ArrayType

__all__ = ["compare", "compare_results", "is_exact"]


def is_exact(graph: Graph) -> bool:
    """Whether all ops of a graph give NumPy's bits."""
    nodes = list(graph.nodes)
    return all(
        n.op.parity_of([v.type for v in n.inputs]) == "exact"
        and all(is_exact(region) for region in n.regions)
        for n in nodes
    )


def compare_results(
    expected: Any,
    found: Any,
    exact: bool = False,
    *,
    values_only: bool = False,
    path: str = "result",
) -> tuple[bool, str]:
    """Whether two results agree, containers and objects with all that they hold; the first place
    where they do not, or the largest difference. `values_only`: arrays of any library, numbers of
    any type.
    """
    return _Trees(exact, values_only).compare(expected, found, path)


class _Trees:
    def __init__(self, exact: bool, values_only: bool) -> None:
        self.exact, self.values_only = exact, values_only
        self.seen: set[tuple[int, int]] = set()

    def compare(self, a: Any, b: Any, path: str) -> tuple[bool, str]:
        """Whether these agree, and how; each pair is looked at once."""
        if (id(a), id(b)) in self.seen:
            return True, ""
        self.seen.add((id(a), id(b)))
        if isinstance(a, (np.ndarray, np.generic, int, float, complex)):
            if self.values_only:
                b = np.asarray(b)
                a = np.asarray(a)
                b = b.astype(a.dtype) if a.shape == b.shape else b
            elif not isinstance(b, (np.ndarray, np.generic, int, float, complex)):
                return False, f"{path}: DIFFERENT: {type(a).__name__} and {type(b).__name__}"
            if np.asarray(a).dtype.kind in "OSUMmV":
                same = bool(np.array_equal(a, b))
                return same, "equal" if same else f"{path}: DIFFERENT"
            same, text = compare(a, b, self.exact)
            return same, text if same else f"{path}: {text}"
        if type(a) is not type(b) and not self.values_only:
            return False, f"{path}: DIFFERENT: {type(a).__name__} and {type(b).__name__}"
        parts, others = _parts(a), _parts(b)
        if parts is None or others is None:
            same = a is b or isinstance(a, _BY_IDENTITY) or _is_equal(a, b)
            return same, "equal" if same else f"{path}: DIFFERENT: {a!r} and {b!r}"
        if list(parts) != list(others):
            return False, f"{path}: DIFFERENT: {len(others)} parts instead of {len(parts)}"
        texts = []
        for key, part in parts.items():
            same, text = self.compare(part, others[key], f"{path}{key}")
            if not same:
                return False, text
            texts.append(text)
        return True, next((t for t in texts if "largest" in t), next(iter(texts), "equal"))


#: What a copy of the arguments has objects of its own of, which no result shows.
_BY_IDENTITY = (FunctionType, np.random.Generator, np.random.RandomState)


def _is_equal(a: Any, b: Any) -> bool:
    # The objects of a class without an equality of its own differ from their copies.
    has_own = any("__eq__" in vars(base) for base in type(a).__mro__[:-1])
    return not has_own or bool(a == b)


def _parts(x: Any) -> dict[str, Any] | None:
    """What a container or an object holds, by how it is spelled behind its name."""
    if isinstance(x, (list, tuple)):
        return {f"[{k}]": part for k, part in enumerate(x)}
    if isinstance(x, dict):
        return {f"[{key!r}]": part for key, part in x.items()}
    if hasattr(x, "__dict__") and not isinstance(x, (type, *_BY_IDENTITY)):
        return {f".{name}": part for name, part in vars(x).items()}
    return None


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

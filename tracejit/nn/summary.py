"""A table of a model's parts: the shapes of their results, parameters, memory and operations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tracejit import tree
from tracejit.api import jit
from tracejit.ir.graph import Graph, Value
from tracejit.ir.types import shape_of
from tracejit.nn.module import parameters, submodules
from tracejit.ops.array.contraction import Contract
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.linalg import MatMul
from tracejit.ops.array.reduction import Reduction

__all__ = ["Row", "Summary", "summary"]


@dataclass(frozen=True)
class Row:
    """One part: its path, its class, the shapes of its results, and what it has and does.

    `parameters` counts numbers, `bytes` is their memory, and `results` that of the results. `flops`
    are the operations of its first call, a multiplication and an addition counted as two; None
    where it was not called, and where there are loops or branches that data decide.
    """

    path: str
    kind: str
    shapes: tuple[tuple[int, ...], ...]
    parameters: int
    bytes: int
    results: int
    flops: int | None


@dataclass(frozen=True)
class Summary:
    """The rows of a model, itself first; as a text, a table."""

    rows: list[Row]

    def __str__(self) -> str:
        head = ("part", "class", "result", "parameters", "bytes", "result bytes", "flops")
        table = [head, *(_cells(row) for row in self.rows)]
        widths = [max(len(row[k]) for row in table) for k in range(len(head))]
        lines = [
            "  ".join(
                x.ljust(w) if k < 3 else x.rjust(w)
                for k, (x, w) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        ]
        return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def _cells(row: Row) -> tuple[str, ...]:
    shapes = ", ".join(map(str, row.shapes)) or "-"
    flops = "-" if row.flops is None else f"{row.flops:,}"
    numbers = (f"{n:,}" for n in (row.parameters, row.bytes, row.results))
    return (row.path or ".", row.kind, shapes, *numbers, flops)


def summary(net: Any, *example: Any) -> Summary:
    """What `net(*example)` calls of `net`: a row for each module in it, in the order of attributes.

    The network is called once, eagerly, and what it stores meanwhile stays stored: call
    `net.eval()` first where that matters.
    """
    parts = list(submodules(net))
    calls: dict[int, tuple[tuple[Any, ...], dict[str, Any], Any]] = {}
    with _recorded({type(part) for _, part in parts}, calls):
        net(*example)
    return Summary([_row(path, part, calls.get(id(part))) for path, part in parts])


@contextmanager
def _recorded(classes: set[type], calls: dict[int, Any]) -> Iterator[None]:
    """Keep the first call of each object of these classes: its arguments and its result."""

    def recording(original: Any) -> Any:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            out = original(self, *args, **kwargs)
            calls.setdefault(id(self), (args, kwargs, out))
            return out

        return call

    bases = {base for cls in classes for base in cls.__mro__}
    own = {base: base.__dict__["__call__"] for base in bases if "__call__" in base.__dict__}
    try:
        for cls, original in own.items():
            setattr(cls, "__call__", recording(original))  # noqa: B010
        yield
    finally:
        for cls, original in own.items():
            setattr(cls, "__call__", original)  # noqa: B010


def _row(path: str, part: Any, call: Any) -> Row:
    held = parameters(part).values()
    count, size = sum(p.size for p in held), sum(p.nbytes for p in held)
    kind = type(part).__name__
    if call is None:
        return Row(path, kind, (), count, size, 0, None)
    args, kwargs, out = call
    results = [x for x in tree.leaves(out) if hasattr(x, "shape")]
    shapes = tuple(x.shape for x in results)
    return Row(
        path, kind, shapes, count, size, sum(x.nbytes for x in results), _flops(part, args, kwargs)
    )


def _flops(part: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """The operations of the graph that a call is compiled to; None where data may decide."""
    try:
        lowered = jit(type(part).__call__, strict=True).lower(part, *args, **kwargs)
    except Exception:
        return None
    return _count(lowered.graphs["contractions"])


def _count(graph: Graph) -> int | None:
    total = 0
    for node in graph.nodes:
        if node.regions and not isinstance(node.op, Reduction):
            return None
        if isinstance(node.op, Contract):
            total += 2 * _size(node.outputs[0]) * math.prod(node.attrs["summed"])
        elif isinstance(node.op, MatMul):
            total += 2 * _size(node.outputs[0]) * _shape(node.inputs[0])[-1]
        elif isinstance(node.op, Reduction):
            total += _size(node.inputs[0])
        elif isinstance(node.op, Elementwise):
            total += _size(node.outputs[0])
    return total


def _shape(v: Value) -> tuple[Any, ...]:
    """The sizes, which are all known in a graph for one call."""
    return shape_of(v.type)


def _size(v: Value) -> int:
    return math.prod(_shape(v))

"""What all processes of a program call together, in plain and in compiled code.

    loss = dist.all_reduce(loss, "mean")

They are effects: compiled programs call them in the program's order, each once. A call that a
compiled run has made is not made again where that run is repeated as plain Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.dist.buckets import like
from tracejit.dist.transport.group import described, sendable
from tracejit.dist.world import fixed, world
from tracejit.ops.host.exchange import KINDS, exchange
from tracejit.sparse import RowGradient

__all__ = [
    "exchanged_as",
    "all_gather",
    "all_reduce",
    "barrier",
    "broadcast",
    "rank",
    "reduce_scatter",
    "size",
]


def rank() -> int:
    """The number of this process, from 0 on."""
    return world().rank


def size() -> int:
    """How many processes run this program."""
    return world().size


def all_reduce(x: Any, op: str = "sum") -> Any:
    """The values of all processes joined element by element: "sum", "mean", "max", "min", "prod".

    `x` is an array, a number, or a tree of them (see `tracejit.tree`), such as a model's gradients;
    the result is a new one like it, the same to the bit on all processes. Means of integers are
    float64. Of a `RowGradient` the sum or mean has the rows of all processes. Raises DistError
    where processes call with other shapes, dtypes or operations, PeerLost where one has ended.
    """
    leaves, structure = tree.flatten(x)
    dense = [leaf for leaf in leaves if not isinstance(leaf, RowGradient)]
    joined = iter(exchanged_as("all_reduce", dense, op) if dense else [])
    found = [_rows(v, op) if isinstance(v, RowGradient) else next(joined) for v in leaves]
    return tree.unflatten(structure, found)


def _rows(gradient: RowGradient, op: str) -> RowGradient:
    """The rows of all processes, one after another."""
    if op not in ("sum", "mean"):
        raise ValueError(f"gradients by rows have no {op!r}")
    rows, values = exchanged_as("rows", gradient.rows, gradient.values)
    found = RowGradient(rows, values, gradient.shape)
    return found.scaled(1.0 / size()) if op == "mean" else found


def reduce_scatter(x: Any, op: str = "sum") -> Any:
    """Part `rank()` of the `size()` equal parts, along the first axis, of `all_reduce(x, op)`.

    Raises ValueError where the first axis has no such parts, and as `all_reduce`.
    """
    return exchanged_as("reduce_scatter", x, op)


def all_gather(x: Any) -> Any:
    """The arrays of all processes in the order of their numbers, along a new first axis.

    Raises DistError where their shapes or dtypes differ, PeerLost where a process has ended.
    """
    return exchanged_as("all_gather", x)


def broadcast(x: Any, root: int = 0) -> Any:
    """The values that the process `root` has, as a new array, number or tree like `x`.

    Raises ValueError where there is no such process, DistError where shapes, dtypes or roots
    differ, PeerLost where a process has ended.
    """
    if not 0 <= root < size():
        raise ValueError(f"there is no process {root} among {size()}")
    leaves, structure = tree.flatten(x)
    return tree.unflatten(structure, exchanged_as("broadcast", leaves, root))


def barrier() -> None:
    """Wait until all processes have come here. Raises PeerLost where one has ended."""
    exchanged_as("barrier")


# How ---------------------------------------------------------------------------------------------


def exchanged_as(kind: str, *args: Any) -> Any:
    """An exchange of a kind that is among `KINDS`, in plain and in compiled code."""
    return exchange(kind, *args)


def _traced(interpreter: Any, kind: str, *args: Any) -> Any:
    from tracejit.dist.recording import record_exchange

    return record_exchange(interpreter, kind, args, fixed(interpreter, "SIZE"))


exchanged_as.__tracejit_traced__ = _traced  # type: ignore[attr-defined]
rank.__tracejit_traced__ = lambda interpreter: fixed(interpreter, "RANK")  # type: ignore[attr-defined]
size.__tracejit_traced__ = lambda interpreter: fixed(interpreter, "SIZE")  # type: ignore[attr-defined]


def _all_reduce(values: Sequence[Any], op: str) -> list[Any]:
    found = world().all_reduce_list([np.asarray(v) for v in values], op)
    return [like(type(v), y) for v, y in zip(values, found, strict=True)]


def _gather_rows(rows: Any, values: Any) -> tuple[Any, Any]:
    # How many there are may differ.
    head = f"all_reduce of rows of {described([rows[:0], values[:0]])}"
    found = world().all_messages(head, [rows, values])
    return np.concatenate([r for r, _ in found]), np.concatenate([v for _, v in found])


def _broadcast(values: Sequence[Any], root: int) -> list[Any]:
    given = [sendable(v) for v in values]
    found = world().broadcast(given, root, described(given))
    return [like(type(v), np.array(y)) for v, y in zip(values, found, strict=True)]


def _reduce_to(values: Sequence[Any], root: int) -> list[Any]:
    """The sums on one process, zeros on the others: the transpose of `broadcast`."""
    found = _all_reduce(values, "sum")
    return (
        found if rank() == root else [y * 0 if np.ndim(y) == 0 else np.zeros_like(y) for y in found]
    )


def _barrier() -> int:
    world().barrier()
    return 0


KINDS.update(
    all_reduce=_all_reduce,
    rows=_gather_rows,
    reduce_scatter=lambda x, op: world().reduce_scatter(x, op),
    all_gather=lambda x: world().all_gather(x),
    broadcast=_broadcast,
    reduce_to=_reduce_to,
    barrier=_barrier,
)

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
from tracejit.dist.transport.link import DistError, TrainingOver
from tracejit.dist.world import is_late, world
from tracejit.ops.host.exchange import KINDS, exchange
from tracejit.sparse import RowGradient

__all__ = [
    "ANSWER",
    "FAILED",
    "GRADIENT",
    "OVER",
    "all_gather",
    "all_reduce",
    "barrier",
    "broadcast",
    "rank",
    "reduce_scatter",
    "sent_for",
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
    float64. Of a `RowGradient` the sum or mean has the rows of all processes. Raises DistError where
    processes call with other shapes, dtypes or operations, PeerLost where one has ended.
    """
    leaves, structure = tree.flatten(x)
    dense = [leaf for leaf in leaves if not isinstance(leaf, RowGradient)]
    joined = iter(_exchange("all_reduce", dense, op) if dense else [])
    found = [_rows(v, op) if isinstance(v, RowGradient) else next(joined) for v in leaves]
    return tree.unflatten(structure, found)


def _rows(gradient: RowGradient, op: str) -> RowGradient:
    """The rows of all processes, one after another."""
    if op not in ("sum", "mean"):
        raise ValueError(f"gradients by rows have no {op!r}")
    rows, values = _exchange("rows", gradient.rows, gradient.values)
    found = RowGradient(rows, values, gradient.shape)
    return found.scaled(1.0 / size()) if op == "mean" else found


def reduce_scatter(x: Any, op: str = "sum") -> Any:
    """Part `rank()` of the `size()` equal parts, along the first axis, of `all_reduce(x, op)`.

    Raises ValueError where the first axis has no such parts, and as `all_reduce`.
    """
    return _exchange("reduce_scatter", x, op)


def all_gather(x: Any) -> Any:
    """The arrays of all processes in the order of their numbers, along a new first axis.

    Raises DistError where their shapes or dtypes differ, PeerLost where a process has ended.
    """
    return _exchange("all_gather", x)


def broadcast(x: Any, root: int = 0) -> Any:
    """The values that the process `root` has, as a new array, number or tree like `x`.

    Raises ValueError where there is no such process, PeerLost where it has ended.
    """
    if not 0 <= root < size():
        raise ValueError(f"there is no process {root} among {size()}")
    leaves, structure = tree.flatten(x)
    return tree.unflatten(structure, _exchange("broadcast", leaves, root))


def barrier() -> None:
    """Wait until all processes have come here. Raises PeerLost where one has ended."""
    _exchange("barrier")


def sent_for(
    name: str, layout: str, dense: Any, rows: Any, values: Any, params: Any
) -> list[Any]:
    """The parameters that the server of an optimiser answers to a gradient: arrays like `params`.

    `layout` says of each leaf of the gradient whether it is "d", one of `dense`, or "r", the next
    of `rows` and `values`. Raises PeerLost where the server has ended.
    """
    found: list[Any] = _exchange("gradient", name, layout, dense, rows, values, params)
    return found


# How ---------------------------------------------------------------------------------------------


def _exchange(kind: str, *args: Any) -> Any:
    return exchange(kind, *args)


def _traced(interpreter: Any, kind: str, *args: Any) -> Any:
    from tracejit.dist.recording import record_exchange

    return record_exchange(interpreter, kind, args, world().size)


_exchange.__tracejit_traced__ = _traced  # type: ignore[attr-defined]
rank.__tracejit_traced__ = lambda interpreter: world().rank  # type: ignore[attr-defined]
size.__tracejit_traced__ = lambda interpreter: world().size  # type: ignore[attr-defined]


def _all_reduce(values: Sequence[Any], op: str) -> list[Any]:
    found = world().all_reduce_list([np.asarray(v) for v in values], op)
    return [like(type(v), y) for v, y in zip(values, found, strict=True)]


def _gather_rows(rows: Any, values: Any) -> tuple[Any, Any]:
    group = world()
    found = [group.broadcast([rows, values], r) for r in range(group.size)]
    return np.concatenate([r for r, _ in found]), np.concatenate([v for _, v in found])


def _broadcast(values: Sequence[Any], root: int) -> list[Any]:
    found = world().broadcast([np.asarray(v) for v in values], root)
    return [like(type(v), np.array(y)) for v, y in zip(values, found, strict=True)]


def _reduce_to(values: Sequence[Any], root: int) -> list[Any]:
    """The sums on one process, zeros on the others: the transpose of `broadcast`."""
    found = _all_reduce(values, "sum")
    return found if rank() == root else [y * 0 if np.ndim(y) == 0 else np.zeros_like(y) for y in found]


def _barrier() -> int:
    world().barrier()
    return 0


#: The keys of what a server is sent, and answers; the versions where nothing is left to do, and
#: where it cannot go on.
GRADIENT, ANSWER, OVER, FAILED = "gradient", "parameters", -2, -3
#: By optimiser: the version of the parameters that this process has.
_VERSIONS: dict[str, int] = {}


def _send_gradient(name: str, layout: str, dense: Any, rows: Any, values: Any, params: Any) -> Any:
    link = world().link
    version = _VERSIONS.get(name, -1 if is_late() else 0)
    whole, by_rows = iter(dense), iter(zip(rows, values, strict=True))
    leaves: list[Any] = []
    for kind, p in zip(layout, params, strict=True):
        leaves.append(next(whole) if kind == "d" else [*next(by_rows), list(p.shape)])
    link.send(0, GRADIENT, [name, version, leaves, [] if version else list(params)])
    _VERSIONS[name], found = link.receive(0, ANSWER)
    if _VERSIONS[name] == FAILED:
        raise DistError(f"the server of process 0 has failed: {found}")
    if _VERSIONS[name] == OVER:
        raise TrainingOver("process 0 has come to the end of its training")
    return [np.asarray(x) for x in found]


KINDS.update(
    gradient=_send_gradient,
    all_reduce=_all_reduce,
    rows=_gather_rows,
    reduce_scatter=lambda x, op: world().reduce_scatter(x, op),
    all_gather=lambda x: world().all_gather(x),
    broadcast=_broadcast,
    reduce_to=_reduce_to,
    barrier=_barrier,
)

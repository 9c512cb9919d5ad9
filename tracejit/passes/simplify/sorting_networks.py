"""Sorts of a few elements each as exchanges of pairs: one kernel, in which each lane is a line.

    s = sort(concatenate(a, b, c, axis=0), axis=0); m = slice(s, start=(1, 0), size=(1, n))
    ->  the middle one of minimum and maximum of pairs of a, b, c

The network is Batcher's merge exchange: D. E. Knuth, The Art of Computer Programming, volume 3,
algorithm 5.2.2M. What only a part of the result needs is all that is left of it: a median of nine
takes no sort. NaN comes last, as in NumPy; which of two zeros comes first is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, dtype_name
from tracejit.ops.array.shape import Concatenate, Slice
from tracejit.ops.array.sorting import Sort

__all__ = ["sorting_networks"]

#: Elements of a line, of which all are read, or only some.
_MOST, _MOST_OF_FEW = 8, 25
#: Lines below which a routine sorts as fast.
_FEWEST_LINES = 16
_PAIRS = {
    "b1": ("logical_and", "logical_or"),
    "f32": ("fmin", "maximum"),
    "f64": ("fmin", "maximum"),
    **{f"{kind}{n}": ("minimum", "maximum") for kind in "iu" for n in (8, 16, 32, 64)},
}


def sorting_networks(graph: Graph) -> Graph:
    """`graph` with short sorts of many lines as networks."""
    if not any(isinstance(n.op, Sort) or n.regions for n in graph.nodes):
        return graph
    readers: dict[Value, list[Node]] = {v: [] for v in graph.outputs}
    for n in graph.nodes:
        for v in n.inputs:
            readers.setdefault(v, []).append(n)
    made: dict[Value, Node] = {}
    #: The elements of each line of what was sorted, by their places.
    sorted_: dict[Value, list[Value]] = {}

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        begin = len(builder.nodes)
        outputs: Sequence[Value] | None = None
        if isinstance(node.op, Sort):
            few = node.outputs[0] not in graph.outputs and all(
                _one_of(r, node) is not None for r in readers.get(node.outputs[0], [])
            )
            lines = _network(builder, node, made, few)
            if lines is not None:
                axis = {"axis": node.attrs["axis"]}
                outputs = builder.emit(OPS["concatenate"], lines, axis, where=node.where)
                sorted_[outputs[0]] = lines
        elif isinstance(node.op, Slice) and node.inputs[0] in sorted_:
            joined = made[node.inputs[0]]
            place = _one_of(node, joined)
            if place is not None:
                outputs = (sorted_[node.inputs[0]][place],)
        outputs = keep(builder, node) if outputs is None else outputs
        for new in builder.nodes[begin:]:
            made.update(dict.fromkeys(new.outputs, new))
        return outputs

    return replay(graph, emit, region=sorting_networks)


def _one_of(node: Node, sort: Node) -> int | None:
    """The place along the axis whose elements a slice shows, all of them; None for another node."""
    t, axis = sort.outputs[0].type, sort.attrs["axis"]
    assert isinstance(t, ArrayType)
    if not isinstance(node.op, Slice):
        return None
    start, size, step = (node.attrs[k] for k in ("start", "size", "step"))
    whole = all(
        a == axis or (start[a] == 0 and size[a] == n and step[a] == 1)
        for a, n in enumerate(t.shape)
    )
    place = start[axis]
    return place if whole and size[axis] == 1 and isinstance(place, int) else None


def _network(
    builder: GraphBuilder, node: Node, made: dict[Value, Node], few: bool
) -> list[Value] | None:
    """The elements of all lines in order; None where a routine is to sort them."""
    (v,), axis = node.inputs, node.attrs["axis"]
    t = v.type
    assert isinstance(t, ArrayType)
    n, pair = t.shape[axis], _PAIRS.get(dtype_name(t.dtype))
    if pair is None or not isinstance(n, int) or not 1 < n <= (_MOST_OF_FEW if few else _MOST):
        return None
    if isinstance(t.size, int) and t.size < n * _FEWEST_LINES:
        return None
    if not t.is_c:
        # The joined lines lie as the operand does, but what is sorted in C order.
        return None
    lines = _lines(builder, node, made, n)
    for i, j in _exchanges(n):
        lines[i], lines[j] = (
            builder.emit(OPS[name], (lines[i], lines[j]), where=node.where)[0] for name in pair
        )
    return lines


def _lines(builder: GraphBuilder, node: Node, made: dict[Value, Node], n: int) -> list[Value]:
    (v,), axis = node.inputs, node.attrs["axis"]
    t, joined = v.type, made.get(v)
    assert isinstance(t, ArrayType)
    if joined is not None and isinstance(joined.op, Concatenate):
        if joined.attrs["axis"] == axis and len(joined.inputs) == n:
            return list(joined.inputs)
    size: tuple[Dim, ...] = tuple(1 if a == axis else d for a, d in enumerate(t.shape))
    return [
        builder.emit(
            OPS["slice"],
            (v,),
            {
                "start": tuple(k if a == axis else 0 for a in range(t.ndim)),
                "size": size,
                "step": (1,) * t.ndim,
            },
            where=node.where,
        )[0]
        for k in range(n)
    ]


def _exchanges(n: int) -> Iterator[tuple[int, int]]:
    """The pairs that a network of `n` puts in order one after another."""
    p = 1
    while p < n:
        k = p
        while k >= 1:
            for j in range(k % p, n - k, 2 * k):
                for i in range(j, min(j + k, n - k)):
                    if i // (2 * p) == (i + k) // (2 * p):
                        yield i, i + k
            k //= 2
        p *= 2

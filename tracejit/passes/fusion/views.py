"""Views: slices, reshapes and transposes that stay other names of memory, without a kernel.

    v1 = slice(x, ...); v2 = reshape(v1); v3 = matmul(v2, y)     v1 and v2 are read where x lies
    v1 = matmul(x, y); v2 = reshape(v1); return v2               v2 is the memory of v1

What only matrix products read needs no copy: BLAS takes matrices and vectors with steps. The array
must hold the same elements when the product is computed: one that is updated in between is copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType, dtype_name
from tracejit.ops.array.masks import Compress, TruePositions
from tracejit.ops.array.shape import Reshape, Slice, Transpose
from tracejit.ops.array.sorting import ArgSort, Sort
from tracejit.passes.analysis.fusable import is_root_op
from tracejit.passes.analysis.order import Order

__all__ = ["keeps_axes", "renames"]

#: What BLAS has products of.
_BLAS = frozenset(("f32", "f64", "c64", "c128"))
#: What works on copies where its operands do not lie dense.
_COPYING = (ArgSort, Compress, Sort, TruePositions)


def keeps_axes(node: Node) -> bool:
    """Whether a reshape only adds or drops axes of one element."""
    source, out = node.inputs[0].type, node.outputs[0].type
    assert isinstance(source, ArrayType) and isinstance(out, ArrayType)
    return [n for n in source.shape if n != 1] == [n for n in out.shape if n != 1]


def renames(
    graph: Graph,
    producer: Mapping[Value, Node],
    fusable: Set[Node],
    consumers: Mapping[Value, list[Node]],
    order: Order,
) -> set[Node]:
    """The views of stored arrays that stay outside of kernels.

    Those are operands of library calls, transposes of what is updated and of what updates give, and
    results that are reshapes or transposes of what library calls and kernels by themselves give.
    """
    outputs = set(graph.outputs)
    operands = _operands(graph, producer, fusable, consumers, order)
    out: set[Node] = set()
    for n in graph.nodes:
        if n in operands:
            out.add(n)
            continue
        if isinstance(n.op, (Reshape, Transpose)) and n.outputs[0] in outputs:
            out |= _of_whole_array(n, producer)
        if not isinstance(n.op, Transpose):
            continue
        (v,) = n.outputs
        source = producer.get(n.inputs[0])
        stored = _is_stored(n.inputs[0], outputs, producer, fusable, consumers)
        users = consumers.get(v, [])
        library = v not in outputs and all(u.op.kind == "library" for u in users)
        updated = any(u.op.updates and u.inputs[0] is v for u in users)
        update = source is not None and source.op.updates
        if stored and (library or updated or update) or source in out and update:
            out.add(n)
    return out


def _of_whole_array(node: Node, producer: Mapping[Value, Node]) -> set[Node]:
    """The reshapes and transposes to the result of `node` from that of a library call or of a
    kernel by itself, which lies dense.
    """
    chain: set[Node] = set()
    made: Node | None = node
    while made is not None and isinstance(made.op, (Reshape, Transpose)):
        if isinstance(made.op, Reshape) and (made.attrs.get("assume") or not _is_c(made.inputs[0])):
            return set()
        chain.add(made)
        made = producer.get(made.inputs[0])
    if made is None or made.op.updates:
        return set()
    return chain if made.op.kind == "library" or is_root_op(made) else set()


def _operands(
    graph: Graph,
    producer: Mapping[Value, Node],
    fusable: Set[Node],
    consumers: Mapping[Value, list[Node]],
    order: Order,
) -> set[Node]:
    """The views that only matrix products read, through other such views perhaps."""
    outputs = set(graph.outputs)
    #: The products that read a view.
    read: dict[Node, list[Node]] = {}
    for n in reversed(graph.nodes):
        if not n.op.view or n.outputs[0] in outputs:
            continue
        products: list[Node] = []
        for user in consumers.get(n.outputs[0], []):
            if _takes_view(user, n):
                products.append(user)
            elif user in read and (not isinstance(user.op, Reshape) or keeps_axes(user)):
                products += read[user]
            else:
                products = []
                break
        whole = not isinstance(n.op, Reshape) or keeps_axes(n)
        users = consumers.get(n.outputs[0], ())
        if not whole and any(not _takes_joined(u, n, consumers) for u in users):
            continue
        if products and _is_plain(n):
            read[n] = products
    out: set[Node] = set()
    root: dict[Value, Value] = {}
    for n in graph.nodes:
        if n not in read:
            continue
        (source,) = n.inputs
        made = producer.get(source)
        stored = _is_stored(source, outputs, producer, fusable, consumers)
        # Storing all of what is computed takes no longer than storing it in another order.
        whole = not isinstance(n.op, Slice)
        first = root.get(source, source)
        if not (made in out or stored or whole):
            continue
        if any(order.updated_between(first, n, product) for product in read[n]):
            continue
        out.add(n)
        root[n.outputs[0]] = first
    return out


def _is_stored(
    v: Value,
    outputs: Set[Value],
    producer: Mapping[Value, Node],
    fusable: Set[Node],
    consumers: Mapping[Value, list[Node]],
) -> bool:
    """Whether an array lies in memory, also where no view of it is read."""
    made = producer.get(v)
    if made is None or made not in fusable or is_root_op(made) or v in outputs:
        return True
    return any(user not in fusable for user in consumers.get(v, ()))


def _takes_view(node: Node, view: Node) -> bool:
    """Whether a product, or what copies its operands itself, takes a view."""

    from tracejit.ops.array.linalg import MatMul

    if isinstance(node.op, _COPYING):
        return isinstance(view.op, (Reshape, Slice))
    t = node.outputs[0].type if node.outputs else None
    return isinstance(node.op, MatMul) and isinstance(t, ArrayType) and dtype_name(t.dtype) in _BLAS


def _takes_joined(node: Node, view: Node, consumers: Mapping[Value, list[Node]]) -> bool:
    """Whether what takes a view takes a reshape, perhaps transposed."""
    if not isinstance(node.op, Transpose):
        return _takes_view(node, view)
    return all(_takes_view(user, node) for user in consumers.get(node.outputs[0], ()))


def _is_plain(node: Node) -> bool:
    """Whether the elements lie in steps that BLAS takes."""
    if isinstance(node.op, Slice):
        return all(step > 0 for step in node.attrs["step"])
    if isinstance(node.op, Reshape):
        if node.attrs.get("assume"):
            return False
        return keeps_axes(node) or _is_c(node.inputs[0])
    return True


def _is_c(v: Value) -> bool:
    return isinstance(v.type, ArrayType) and v.type.is_c

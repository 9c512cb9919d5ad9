"""Products of a matrix and a vector that need not go through BLAS: they wait for memory alone.

    y = matmul(multiply(A, B), x)   ->  y = reduce_sum(multiply(multiply(A, B), broadcast_to(x)))
    u = matmul(A, p); w = matmul(r, A)  ->  u, w = matmul_both(A, p, r)

Each element of the matrix takes part in one multiplication, so reading it is the work. A matrix
that elementwise functions give, and that only the product reads, becomes part of a sum over rows:
kernels compute it in registers instead of writing it and reading it again. Every term is rounded as
before; the sum has the order of `reduce_sum` instead of BLAS's. That holds where a row lies
together in memory (x @ A is a product of the transposed matrix).

Two products of one matrix, one along its rows and one along its columns, become one node, which
reads the matrix once. It stands where the first of them stood if the other vector is known there,
else where the second stood, if nothing needs the first result before.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, dtype_name
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.linalg import MatMul
from tracejit.ops.array.shape import Transpose
from tracejit.passes.analysis.fusable import fusable
from tracejit.passes.analysis.order import updated_by
from tracejit.passes.analysis.regions import with_nodes
from tracejit.passes.simplify.dce import dce

__all__ = ["pair_products"]

#: Fewest bytes of a row, where they are known, for which a kernel is at least as fast as BLAS. The
#: order of a sum has 64 lanes: where they are hardly filled, adding them up costs more than memory.
_LEAST_ROW = 1024


def _array(v: Value) -> ArrayType:
    assert isinstance(v.type, ArrayType)
    return v.type


@dataclass(frozen=True)
class _Product:
    """A matrix times a vector, by the array that the matrix is without its transposes."""

    base: Value
    turned: bool  # the matrix, whose rows meet the vector, is the transposed base
    vector: Value
    path: tuple[Node, ...]  # the transposes between the two


class _Products:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.producer = graph.producers()
        #: Where in the order each node is computed; the second product of a pair with the first.
        self.place: dict[Node, float] = {n: k for k, n in enumerate(graph.nodes)}
        self.moved: dict[Node, float] = {}
        self.readers: dict[Value, list[Node]] = {}
        for n in graph.nodes:
            for v in n.inputs:
                self.readers.setdefault(v, []).append(n)
        self.outputs = set(graph.outputs)
        found = ((n, self._product(n)) for n in graph.nodes)
        self.found = {n: p for n, p in found if p is not None}
        self.sums = {n.outputs[0] for n, p in self.found.items() if self._is_sum(n, p)}
        #: The second product of a pair by the first, in whose place both are computed.
        self.second: dict[Node, Node] = {}
        self._find_pairs()

    def _product(self, n: Node) -> _Product | None:
        """The product that a node is; the matrices may be the last axes of a stack."""
        if not isinstance(n.op, MatMul):
            return None
        a, b = n.inputs
        if _array(b).ndim == 1 and _array(a).ndim > 1:
            matrix, vector, turned = a, b, False
        elif _array(a).ndim == 1 and _array(b).ndim == 2:
            matrix, vector, turned = b, a, True
        else:
            return None
        path: list[Node] = []
        while (made := self.producer.get(matrix)) is not None and _array(matrix).ndim == 2:
            if not isinstance(made.op, Transpose):
                break
            turned ^= made.attrs["axes"] == (1, 0)
            matrix = made.inputs[0]
            path.append(made)
        return _Product(matrix, turned, vector, tuple(path))

    # Sums ---------------------------------------------------------------------------------------

    def _is_sum(self, n: Node, p: _Product) -> bool:
        """Whether the product is to be part of a fusion."""
        t, made = _array(p.base), self.producer.get(p.base)
        if made is None or not isinstance(made.op, Elementwise) or not fusable(made):
            return False
        if not (dtype_name(t.dtype) in ("f32", "f64") or t.dtype.kind in "iu"):
            return False
        steps = (p.base, *(m.outputs[0] for m in p.path))
        if any(v in self.outputs or len(self.readers[v]) > 1 for v in steps):
            return False
        inner, length = (0, t.shape[-2]) if p.turned else (t.ndim - 1, t.shape[-1])
        if t.order[-1] != inner:
            return False
        # Integers have no BLAS.
        short = isinstance(length, int) and length * t.dtype.itemsize < _LEAST_ROW
        return t.dtype.kind in "iu" or not short

    def sum(self, builder: GraphBuilder, node: Node, inputs: Sequence[Value]) -> Sequence[Value]:
        """The nodes of a product as a sum."""
        matrix, vector = inputs if _array(inputs[1]).ndim == 1 else inputs[::-1]
        if _array(inputs[0]).ndim == 1:
            (matrix,) = builder.emit(OPS["transpose"], (matrix,), {"axes": (1, 0)})
        shape = _array(matrix).shape
        (spread,) = builder.emit(OPS["broadcast_to"], (vector,), {"shape": shape})
        (terms,) = builder.emit(OPS["multiply"], (matrix, spread))
        return builder.emit(OPS["reduce_sum"], (terms,), {"axes": (len(shape) - 1,)})

    # Pairs --------------------------------------------------------------------------------------

    def _find_pairs(self) -> None:
        waiting: dict[Value, list[Node]] = {}
        for n, p in self.found.items():
            t = _array(p.base)
            if n.outputs[0] in self.sums or t.ndim != 2 or dtype_name(t.dtype) not in _PAIRED:
                continue
            others = waiting.setdefault(p.base, [])
            for m in others:
                if self.found[m].turned != p.turned and (self._early(m, n) or self._late(m, n)):
                    others.remove(m)
                    self.second[m] = n
                    self.place[n] = self.place[m]
                    break
            else:
                others.append(n)

    def _early(self, first: Node, second: Node) -> bool:
        """Whether the second product can be computed where the first is."""
        made = self.producer.get(self.found[second].vector)
        return made is None or self.place[made] < self.place[first]

    def _late(self, first: Node, second: Node) -> bool:
        """Whether the first product can wait for the second; it is moved in front of it then."""
        here, there = self.place[first], self.place[second]
        if any(self.place[reader] <= there for reader in self.readers.get(first.outputs[0], ())):
            return False
        p = self.found[first]
        needed = {p.base, p.vector, *first.inputs}
        between = (n for n in self.graph.nodes if here < self.place[n] < there)
        if any(v in needed for n in between for v in updated_by(n)):
            return False
        self.place[first] = self.moved[first] = there - 0.5
        return True

    def both(self, builder: GraphBuilder, first: Node, now: dict[Value, Value]) -> None:
        """The node of a pair; `now` maps values of the graph to those of the new one."""
        second = self.second[first]
        rows, columns = (first, second) if not self.found[first].turned else (second, first)
        base = self.found[first].base
        matrix = now.get(base, base)
        if not _array(base).is_c:
            (matrix,) = builder.emit(OPS["transpose"], (matrix,), {"axes": (1, 0)})
            rows, columns = columns, rows
        vectors = [self.found[n].vector for n in (rows, columns)]
        made = builder.emit(OPS["matmul_both"], (matrix, *(now.get(v, v) for v in vectors)))
        now[rows.outputs[0]], now[columns.outputs[0]] = made

    def ordered(self) -> Graph:
        """The graph with the first products of pairs where both are to be computed."""
        if not self.moved:
            return self.graph
        old = {n: k for k, n in enumerate(self.graph.nodes)}
        nodes = sorted(self.graph.nodes, key=lambda n: self.moved.get(n, old[n]))
        return with_nodes(self.graph, nodes)


#: Dtypes whose two products native code computes at once.
_PAIRED = ("f32", "f64")


def pair_products(graph: Graph) -> Graph:
    """`graph` with its products of matrices and vectors in the forms above."""
    if not any(isinstance(n.op, MatMul) or n.regions for n in graph.nodes):
        return graph
    found = _Products(graph)
    now: dict[Value, Value] = {}
    firsts = {m.outputs[0]: m for m in found.second}
    seconds = {n.outputs[0] for n in found.second.values()}

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        out = node.outputs[0] if node.outputs else None
        if out in found.sums:
            outs = found.sum(builder, node, inputs)
        elif out in firsts:
            found.both(builder, firsts[out], now)
            outs = (now[out],)
        elif out in seconds:
            outs = (now[out],)
        else:
            outs = keep(builder, node)
        now.update(zip(node.outputs, outs, strict=True))
        return outs

    after = replay(found.ordered(), emit, region=pair_products)
    return dce(after) if found.second else after

"""The graph of a compiled function becomes a GraphDef, as TensorBoard's page GRAPHS draws it.

Numbers of fields are those of tensorflow/core/framework/graph.proto, node_def.proto,
attr_value.proto and types.proto.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from tracejit.api import jit
from tracejit.errors import Where
from tracejit.ir.dataflow import DataflowGraph
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, Type, dtype_name
from tracejit.monitor.events import shape
from tracejit.monitor.wire import bytes_field, int_field
from tracejit.ops.host.transfer import Send
from tracejit.passes.partition.pieces import edge_of

__all__ = ["graph_def"]

#: DataType: DT_INVALID for what TensorFlow has no name for.
_TYPES = {"f32": 1, "f64": 2, "i32": 3, "u8": 4, "i16": 5, "i8": 6, "c64": 8, "i64": 9, "b1": 10}
_TYPES |= {"u16": 17, "c128": 18, "f16": 19, "u32": 22, "u64": 23}
#: Operations that have another name in TensorFlow than in NumPy, where camel case is not all.
_NAMES = dict(
    pair.split("=")
    for pair in """
    absolute=Abs add=AddV2 arccos=Acos arccosh=Acosh arcsin=Asin arcsinh=Asinh arctan=Atan
    arctan2=Atan2 arctanh=Atanh argmax=ArgMax argmin=ArgMin check=Assert cond=If conjugate=Conj
    constant=Const contract=Einsum determinant=MatrixDeterminant divide=RealDiv expit=Sigmoid
    floor_divide=FloorDiv floordiv=FloorDiv gammaln=Lgamma gather=GatherV2 host_call=PyFunc
    inv=MatrixInverse iota=Range isfinite=IsFinite isinf=IsInf isnan=IsNan lu_factor=Lu
    make_complex=Complex matmul=BatchMatMulV2 mod=FloorMod multiply=Mul negative=Neg power=Pow
    print_text=PrintV2 psi=Digamma reduce_all=All reduce_any=Any reduce_max=Max reduce_min=Min
    recv=_Recv reduce_prod=Prod reduce_sum=Sum remainder=FloorMod scatter=ScatterNd
    select=SelectV2 send=_Send slice=StridedSlice solve=MatrixSolve stack_new=StackV2
    stack_pop=StackPopV2 stack_push=StackPushV2 subtract=Sub truediv=RealDiv
    triangular_solve=MatrixTriangularSolve true_positions=Where while_loop=While
    """.split()
)
#: Attributes whose names are TensorFlow's own.
_ATTRIBUTES = {"enter": {"frame": "frame_name", "constant": "is_constant"}}


def graph_def(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], stage: str
) -> bytes:
    """GraphDef: node = 1, repeated; versions = 4, of producer = 1.

    Raises TraceError where the call cannot be traced, ValueError for a stage that is no graph.
    """
    lowered = jit(function).lower(*args, **kwargs)
    drawing = _Drawing()
    if stage == "partition":
        for piece in lowered.partition[1]:
            drawing.device = piece.device
            drawing.add_graph(piece.graph, f"{_plain(piece.device.replace(':', '_'))}/")
    else:
        drawing.add_graph(lowered.graph(stage))
    return b"".join(bytes_field(1, node.encoded()) for node in drawing.nodes) + bytes_field(
        4, int_field(1, 27)
    )


#: Where the values of a graph come from: the name of a node, and which of its results it is; or
#: it is a value of the graph around it, or of a region that is drawn in its place.
_Sources: TypeAlias = "dict[Value, str | tuple[_Sources, Value]]"


class _Drawing:
    """Nodes of a graph and of all regions, with names in scopes."""

    def __init__(self) -> None:
        self.nodes: list[_NodeDef] = []
        self._names: set[str] = set()
        #: The device of what is added, and by edge between devices the node that sends.
        self.device = ""
        self._sends: dict[str, str] = {}

    def add_graph(self, graph: Graph | DataflowGraph, scope: str = "") -> None:
        """Add inputs, nodes and results; `scope` ends with a slash, or is "" for the whole."""
        sources: _Sources = {}
        for value in graph.inputs:
            self._add(f"{scope}{value.name or 'input'}", "Placeholder", (), (value,), {}, sources)
        if isinstance(graph, DataflowGraph):
            self._add_nodes([node for _, node in graph.nodes()], scope, sources)
        else:
            self._add_nodes(graph.nodes, scope, sources)
        for k, value in enumerate(graph.outputs):
            self._add(f"{scope}result_{k}", "Result", (value,), (), {}, sources)

    def _add_nodes(self, nodes: Sequence[Node], scope: str, sources: _Sources) -> None:
        for node in nodes:
            name, where = f"{scope or _place(node.where)}{node.op.name}", node.where
            if node.op.kind == "fusion":
                (region,) = node.regions
                inner: _Sources = {}
                inner |= {v: (sources, w) for v, w in zip(region.inputs, node.inputs, strict=True)}
                for v, w in zip(node.outputs, region.outputs, strict=True):
                    sources[v] = inner, w
                self._add_nodes(region.nodes, f"{self._new_name(name)}/", inner)
                continue
            names = _ATTRIBUTES.get(node.op.name, {})
            texts = {names.get(k, k): _text(a) for k, a in node.attrs.items()}
            if where is not None:
                texts["source"] = _text(f"{where}: {where.source()}")
            name = self._add(
                name, _operation(node.op.name), node.inputs, node.outputs, texts, sources
            )
            if (edge := edge_of(node)) is not None:
                if isinstance(node.op, Send):
                    self._sends[edge[0]] = name
                else:
                    self.nodes[-1] = self.nodes[-1]._replace(sent=(self._sends, edge[0]))
            for region in node.regions:
                self.add_graph(region, f"{name}/{_plain(region.name)}/")

    def _add(
        self,
        name: str,
        operation: str,
        inputs: Sequence[Value],
        outputs: tuple[Value, ...],
        attributes: dict[str, bytes],
        sources: _Sources,
    ) -> str:
        name = self._new_name(_plain(name))
        device = self.device
        self.nodes.append(_NodeDef(name, operation, inputs, outputs, attributes, sources, device))
        sources.update({v: f"{name}:{k}" if k else name for k, v in enumerate(outputs)})
        return name

    def _new_name(self, name: str) -> str:
        new, k = name, 0
        while new in self._names:
            k += 1
            new = f"{name}_{k}"
        self._names.add(new)
        return new


class _NodeDef(NamedTuple):
    name: str
    operation: str
    inputs: Sequence[Value]
    outputs: tuple[Value, ...]
    attributes: dict[str, bytes]
    sources: _Sources
    device: str = ""
    #: Of what is received: the nodes that send, by edge, and its edge.
    sent: tuple[Mapping[str, str], str] | None = None

    def encoded(self) -> bytes:
        """NodeDef: name = 1, op = 2, input = 3, device = 4, attr = 5 (key = 1, value = 2)."""
        out = bytes_field(1, self.name) + bytes_field(2, self.operation)
        for value in self.inputs:
            source = self.sources[value]
            while not isinstance(source, str):
                sources, inner = source
                source = sources[inner]
            out += bytes_field(3, source)
        if self.sent is not None:
            out += bytes_field(3, self.sent[0][self.sent[1]])
        if self.device:
            job, _, task = self.device.partition(":")
            out += bytes_field(4, f"/job:{job}/task:{task or 0}")
        attributes = dict(self.attributes)
        if self.outputs:
            # AttrValue: type = 6, list = 1, of shape = 7.
            shapes = b"".join(bytes_field(7, _shape(v.type)) for v in self.outputs)
            attributes["T"] = int_field(6, _data_type(self.outputs[0].type))
            attributes["_output_shapes"] = bytes_field(1, shapes)
        for key, attribute in attributes.items():
            out += bytes_field(5, bytes_field(1, key) + bytes_field(2, attribute))
        return out


def _operation(name: str) -> str:
    """What TensorFlow calls an operation, of arrays or of Python's numbers."""
    name = name.removeprefix("py_")
    return _NAMES.get(name) or "".join(part.capitalize() for part in name.split("_"))


def _place(where: Where | None) -> str:
    return f"{_plain(where.function or 'function')}/line_{where.line}/" if where else ""


def _plain(name: str) -> str:
    """A name of the characters that TensorFlow takes."""
    return re.sub(r"[^\w./-]", "_", name, flags=re.ASCII).lstrip("_") or "_"


def _text(attribute: Any) -> bytes:
    """AttrValue: s = 2."""
    text = attribute if isinstance(attribute, str) else repr(attribute)
    return bytes_field(2, text if len(text) <= 200 else f"{text[:200]}...")


def _data_type(t: Type) -> int:
    known = isinstance(t, (ArrayType, NpScalar, PyScalar))
    return _TYPES.get(dtype_name(t.dtype), 0) if known else 0  # type: ignore[union-attr]


def _shape(t: Type) -> bytes:
    sizes = t.shape if isinstance(t, ArrayType) else ()
    return shape(tuple(size if isinstance(size, int) else -1 for size in sizes))

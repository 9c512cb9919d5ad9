"""Runs a graph on concrete values, node by node, by each op's meaning in NumPy: the definition."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from tracejit.errors import Bailout, GraphError
from tracejit.ir import dims
from tracejit.ir.dataflow import DataflowGraph
from tracejit.ir.dims import Dim, Poly
from tracejit.ir.graph import Attr, Graph, Node, Value
from tracejit.ir.types import NONE, ArrayType, NpScalar, PyScalar, Type, dtype_name

__all__ = [
    "HasRegions",
    "RunRegion",
    "bind_inputs",
    "bind_sizes",
    "concrete_attrs",
    "evaluate",
    "run_node",
    "type_of",
]

#: Evaluates a region: (region, its inputs, the values of its sizes) -> its outputs.
RunRegion: TypeAlias = Callable[[Graph, Sequence[Any], Mapping[str, int]], "tuple[Any, ...]"]


class HasRegions(Protocol):
    """An op with regions: it decides which of them run, and how often."""

    def evaluate_regions(
        self,
        inputs: Sequence[Any],
        attrs: dict[str, Any],
        regions: tuple[Graph, ...],
        run: RunRegion,
    ) -> tuple[Any, ...]:
        """The results, then the values of the sizes that the node binds."""
        ...


_PY_KINDS: dict[type, str] = {int: "int", float: "float", complex: "complex", bool: "bool"}


def evaluate(
    graph: Graph, inputs: Sequence[Any], sizes: Mapping[str, int] | None = None
) -> tuple[Any, ...]:
    """The outputs of `graph` for `inputs`, then the values of its `size_outputs`.

    Arrays stand for ArrayType, NumPy scalars for NpScalar, Python numbers for PyScalar. `sizes`
    gives the graph's size symbols; without it they follow from the shapes. Raises GraphError where
    an input or the result of an op has not its declared type, Bailout where a compiled run would
    bail out.
    """
    with np.errstate(all="ignore"):
        return _run(graph, inputs, sizes)


def type_of(value: Any) -> Type:
    """The type of a concrete value, in C order. Raises TypeError for what no graph can hold."""
    if isinstance(value, np.ndarray):
        dtype_name(value.dtype)
        return ArrayType(value.dtype, value.shape)
    if isinstance(value, np.generic):
        dtype_name(value.dtype)
        return NpScalar(value.dtype)
    if value is None:
        return NONE
    kind = _PY_KINDS.get(type(value))
    if kind is None:
        raise TypeError(f"a graph cannot hold a {type(value).__name__}")
    return PyScalar(kind)


def bind_sizes(graph: Graph | DataflowGraph, inputs: Sequence[Any]) -> dict[str, int]:
    """The size symbols of `graph` as the shapes of its inputs give them.

    A symbol is read where it is an axis by itself. Raises GraphError where two axes contradict each
    other or a symbol never is an axis.
    """
    sizes: dict[str, int] = {}
    for value, given in zip(graph.inputs, inputs, strict=False):
        shape = getattr(given, "shape", ())
        if not isinstance(value.type, ArrayType) or len(shape) != value.type.ndim:
            continue
        for dim, size in zip(value.type.shape, shape, strict=True):
            name = _lone_symbol(dim)
            if name is not None and sizes.setdefault(name, size) != size:
                raise GraphError(
                    f"{graph.name}: the size {name} is {sizes[name]} and {size} ({value!r})"
                )
    missing = [s for s in graph.sizes if s not in sizes]
    if missing:
        raise GraphError(f"{graph.name}: no shape gives the size {', '.join(missing)}")
    return {s: sizes[s] for s in graph.sizes}


def concrete_attrs(node: Node, sizes: Mapping[str, int]) -> dict[str, Any]:
    """The attributes of `node` with their sizes as integers."""
    return {
        name: _concrete(attr, sizes) if type(attr) in (tuple, Poly) else attr
        for name, attr in node.attrs.items()
    }


def run_node(node: Node, operands: Sequence[Any], sizes: dict[str, int]) -> tuple[Any, ...]:
    """The results of one node for its operands; the sizes that it binds are added to `sizes`.

    Raises as `evaluate`, and leaves NumPy's handling of floating-point errors to the caller.
    """
    attrs = concrete_attrs(node, sizes)
    if node.regions:
        op = cast(HasRegions, node.op)
        results = op.evaluate_regions(operands, attrs, node.regions, _run)
    else:
        results = node.op.evaluate(operands, attrs)
    # An op that gives no values for the sizes it binds binds its last operands.
    bound = results[len(node.outputs) :] or operands[len(operands) - len(node.binds) :]
    if len(results) < len(node.outputs) or len(bound) != len(node.binds):
        raise GraphError(f"{node.op.name} gave {len(results)} results: {node!r}")
    for size, concrete in zip(node.binds, bound, strict=True):
        if concrete < 0:
            raise Bailout(f"the size {size} is negative")
        sizes[size] = int(concrete)
    for value, concrete in zip(node.outputs, results, strict=False):
        _check(concrete, value, sizes, node.op.name, "result")
    return tuple(_laid_out(x, v.type) for v, x in zip(node.outputs, results, strict=False))


def _concrete(attr: Attr, sizes: Mapping[str, int]) -> Attr:
    if isinstance(attr, Poly):
        return dims.evaluate(attr, sizes)
    if isinstance(attr, tuple):
        return tuple([a if type(a) is int else _concrete(a, sizes) for a in attr])
    return attr


def _lone_symbol(dim: Dim) -> str | None:
    if isinstance(dim, Poly) and len(dim.terms) == 1:
        ((monomial, coefficient),) = dim.terms
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], str):
            return monomial[0]
    return None


def bind_inputs(
    graph: Graph | DataflowGraph, inputs: Sequence[Any], sizes: Mapping[str, int]
) -> dict[Value, Any]:
    """What each input of `graph` is given, laid out as its type says.

    Raises GraphError where the inputs are not of the declared types.
    """
    if len(inputs) != len(graph.inputs):
        raise GraphError(f"{graph.name} takes {len(graph.inputs)} inputs, not {len(inputs)}")
    for value, concrete in zip(graph.inputs, inputs, strict=True):
        _check(concrete, value, sizes, graph.name, "input")
    return {v: _laid_out(x, v.type) for v, x in zip(graph.inputs, inputs, strict=True)}


def _run(graph: Graph, inputs: Sequence[Any], given: Mapping[str, int] | None) -> tuple[Any, ...]:
    sizes = dict(bind_sizes(graph, inputs) if given is None else given)
    table = bind_inputs(graph, inputs, sizes)
    for node in graph.nodes:
        results = run_node(node, [table[v] for v in node.inputs], sizes)
        table.update(zip(node.outputs, results, strict=True))
    outputs = tuple(table[v] for v in graph.outputs)
    return outputs + tuple(dims.evaluate(d, sizes) for d in graph.size_outputs)


def _laid_out(value: Any, declared: Type) -> Any:
    """`value` contiguous in the declared axis order.

    NumPy's last bits may depend on strides; here they are a function of the types alone.
    """
    if not isinstance(declared, ArrayType) or (value.flags.c_contiguous and declared.is_c):
        return value
    if not value.transpose(declared.order).flags.c_contiguous:
        back = np.argsort(declared.order)
        return np.ascontiguousarray(value.transpose(declared.order)).transpose(back)
    return value


def _check(given: Any, value: Value, sizes: Mapping[str, int], owner: str, role: str) -> None:
    """Raise GraphError unless `given` is of the type of `value` (its axis order left aside)."""
    declared = value.type
    if isinstance(declared, ArrayType):
        if isinstance(given, np.ndarray) and given.dtype == declared.dtype:
            shape = tuple(
                [d if type(d) is int else dims.evaluate(d, sizes) for d in declared.shape]
            )
            if given.shape == shape:
                return
            raise GraphError(
                f"{owner}: the {role} {value!r} has the shape {given.shape}, not {shape}"
            )
    elif isinstance(declared, NpScalar):
        if isinstance(given, np.generic) and given.dtype == declared.dtype:
            return
    elif isinstance(declared, PyScalar):
        if _PY_KINDS.get(type(given)) == declared.kind:
            return
    else:
        return
    found = f"an array of {given.dtype}" if isinstance(given, np.ndarray) else type(given).__name__
    raise GraphError(f"{owner}: the {role} {value!r} is {found}")

"""A graph by itself, without the function it came from, becomes LLVM text, kernels or results.

Inputs are dense in their declared axis order. This is how the command line runs a graph's text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.codegen.llvm.engine import compile_module, host_target
from tracejit.codegen.program.emit import InputSlot, Program, emit_program
from tracejit.codegen.reference import print_kernel
from tracejit.codegen.support.printing import leave_run
from tracejit.errors import Bailout, GraphError
from tracejit.frontend.capture.paths import Positional
from tracejit.ir.evaluate import bind_sizes
from tracejit.ir.graph import Graph, Node, Value, replay
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, Type, type_sizes
from tracejit.passes.manager import run_passes
from tracejit.runtime.call.entry_spec import (
    ArrayLeaf,
    EntrySpec,
    Leaf,
    NpScalarLeaf,
    OutArray,
    OutMade,
    OutNpScalar,
    Output,
    OutPyScalar,
    ScalarLeaf,
)
from tracejit.runtime.entries.answers import BAIL, MISS
from tracejit.runtime.native.python_entry import PythonEntry

__all__ = ["CompiledGraph", "fused", "host_nodes", "lower_graph", "run_graph"]

_NAME = "graph_program"


def fused(graph: Graph) -> Graph:
    """`graph` after all passes; a graph that has fusions already is left as it is."""
    if any(node.op.kind == "fusion" for node in graph.nodes):
        return graph
    return run_passes(graph, verify=True)


def lower_graph(graph: Graph, backend: str) -> str:
    """The LLVM text of a graph ("llvm"), or its kernels as Python ("reference").

    Raises GraphError for a graph that cannot be compiled.
    """
    program = _program(fused(graph))
    if backend == "llvm":
        return program.text
    return "\n".join(print_kernel(kernel) for kernel in program.kernels)


def host_nodes(graph: Graph) -> list[Node]:
    """The nodes that the program of a graph runs through NumPy, without any passes before.

    Raises as `lower_graph`.
    """
    return _program(graph).host_nodes


def _program(graph: Graph) -> Program:
    sizes = {s: len(graph.inputs) * 2 + k for k, s in enumerate(graph.sizes)}
    return _emit(graph, [2 * k for k in range(len(graph.inputs))], None, sizes)


def run_graph(graph: Graph, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of the compiled graph, its sizes replaced by those of `inputs`.

    Inputs that the graph writes to are copied first. Raises GraphError where the inputs do not fit
    or the graph cannot be compiled, Bailout where the program asks for the call to be repeated
    eagerly, and what the program itself raises.
    """
    sizes = bind_sizes(graph, inputs)
    return CompiledGraph(replay(graph, sizes=sizes) if sizes else graph)(inputs)


class CompiledGraph:
    """A graph without sizes as native code. Raises GraphError where it cannot be compiled."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph = fused(graph)
        examples = [_example(v.type) for v in graph.inputs]
        leaves = [_leaf(v.type, x) for v, x in zip(graph.inputs, examples, strict=True)]
        self._written = _written(graph)
        results = [v for v, written in self._written if written is None]
        spec = EntrySpec(
            leaves=tuple((Positional(k), leaf) for k, leaf in enumerate(leaves)),
            nargs=len(leaves),
            outputs=tuple(_output(v.type) for v in results),
            result="tuple",
        )
        program = _emit(graph, spec.leaf_slots[:-1], spec.out_slots[:-1], {})
        library = compile_module(program.text, program.symbols, [program.name], keep=program.keep)
        self._library = library
        self._entry = PythonEntry(spec, library.address(program.name))

    def __call__(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs. Inputs that the graph writes to are copied first.

        Raises GraphError where the inputs do not fit, Bailout where the program asks for the call
        to be repeated eagerly, and what the program itself raises.
        """
        graph = self.graph
        arguments = [_dense(x, v.type) for x, v in zip(inputs, graph.inputs, strict=True)]
        result = self._entry(*arguments)
        if result is MISS:
            raise GraphError(f"{graph.name}: the inputs are not of the declared types")
        if result is BAIL:
            leave_run()
            raise Bailout("the compiled program cannot finish; only eager execution reports why")
        given = iter(result)
        return tuple(next(given) if k is None else arguments[k] for _, k in self._written)


def _example(declared: Type) -> Any:
    """An array that lies as those of a type do."""
    if not isinstance(declared, ArrayType):
        return None
    return _dense(np.empty(declared.shape, declared.dtype), declared)


def _written(graph: Graph) -> list[tuple[Value, int | None]]:
    """The outputs, each with the number of the input whose final value it is, or None."""
    texts = [*graph.results, *("fresh" for _ in graph.outputs[len(graph.results) :])]
    return [
        (v, int(text.removeprefix("write ")) if text.startswith("write ") else None)
        for v, text in zip(graph.outputs, texts, strict=True)
    ]


def _emit(
    graph: Graph, in_slots: Sequence[int], out_slots: Sequence[int] | None, sizes: dict[str, int]
) -> Program:
    count = sum(written is None for _, written in _written(graph))
    outs = [2 * k for k in range(count)] if out_slots is None else out_slots
    return emit_program(graph, [InputSlot(s) for s in in_slots], outs, sizes, _NAME, host_target())


def _dense(value: Any, declared: Type) -> Any:
    if not isinstance(declared, ArrayType) or not isinstance(value, np.ndarray):
        return value
    if value.ndim != declared.ndim:
        return value
    moved = np.array(value.transpose(declared.order), order="C")
    return moved.transpose(np.argsort(declared.order))


def _leaf(declared: Type, value: Any) -> Leaf:
    if isinstance(declared, ArrayType):
        dims = tuple(d for d in declared.shape if isinstance(d, int))
        if declared.is_c:
            return ArrayLeaf(declared.dtype, dims)
        steps = tuple(s // declared.dtype.itemsize for s in getattr(value, "strides", ()))
        return ArrayLeaf(declared.dtype, dims, "A", steps, declared.order)
    if isinstance(declared, NpScalar):
        return NpScalarLeaf(declared.dtype)
    if isinstance(declared, PyScalar):
        return ScalarLeaf(declared.kind)  # type: ignore[arg-type]
    raise GraphError(f"an input of type {declared} cannot be passed to a compiled graph")


def _output(declared: Type) -> Output:
    if isinstance(declared, ArrayType):
        if type_sizes(declared):
            return OutMade(declared.dtype, declared.ndim)
        return OutArray(declared.dtype, declared.shape, declared.order)
    if isinstance(declared, NpScalar):
        return OutNpScalar(declared.dtype)
    if isinstance(declared, PyScalar):
        return OutPyScalar(declared.kind)  # type: ignore[arg-type]
    raise GraphError(f"a compiled graph cannot return a {declared}")

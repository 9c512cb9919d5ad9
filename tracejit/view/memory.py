"""A buffer plan becomes its pieces of memory over the program's steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracejit.codegen.analysis.buffer_plan import Allocation, BufferPlan, byte_count
from tracejit.codegen.analysis.liveness import is_array
from tracejit.ir.dataflow import DataflowGraph
from tracejit.ir.dims import evaluate
from tracejit.ir.graph import Value

__all__ = ["memory_over_time"]


def memory_over_time(
    graph: DataflowGraph, plan: BufferPlan, sizes: Mapping[str, int]
) -> dict[str, Any]:
    """Each piece of memory, what it holds, and from which step to which.

    Steps are the nodes of the flat graph in their order. A piece is an argument, a result, a slot
    of the program's own memory, or a block that grows; bytes are those at `sizes`.
    """
    steps = [node for _, node in graph.nodes()]
    held: dict[str, dict[str, Any]] = {}

    def note(v: Value, step: int) -> None:
        piece = plan.of(v)
        if piece is None:
            k = graph.inputs.index(v) if v in graph.inputs else None
            if k is None:
                return
        name, kind = _name(graph, v, piece)
        found = held.setdefault(
            name,
            {"name": name, "kind": kind, "bytes": 0, "holds": [], "begin": step, "end": step},
        )
        found["end"] = max(found["end"], step)
        try:
            found["bytes"] = max(found["bytes"], evaluate(byte_count(v), sizes))
        except KeyError:
            found["bytes"] = found["bytes"] or str(byte_count(v))
        label = f"{v.name}: {v.type}"
        if label not in found["holds"]:
            found["holds"].append(label)

    for v in graph.inputs:
        if is_array(v):
            note(v, 0)
    for k, node in enumerate(steps):
        for v in (*node.inputs, *node.outputs):
            if is_array(v):
                note(v, k)
    for v in graph.outputs:
        if is_array(v):
            note(v, max(0, len(steps) - 1))
    buffers = []
    for found in held.values():
        where = [steps[k].where if steps else None for k in (found["begin"], found["end"])]
        buffers.append(
            {
                **found,
                "holds": ", ".join(found["holds"][:4])
                + (", ..." if len(found["holds"]) > 4 else ""),
                "from": str(where[0] or ""),
                "to": str(where[1] or ""),
            }
        )
    return {"steps": max(0, len(steps) - 1), "buffers": buffers}


def _name(graph: DataflowGraph, v: Value, piece: Allocation | None) -> tuple[str, str]:
    if piece is None:
        return f"argument {v.name}", "argument"
    if piece.argument is not None:
        return f"argument {graph.inputs[piece.argument].name}", "argument"
    if piece.output is not None:
        return f"result {piece.output}", "result"
    if piece.slot is not None:
        return f"slot {piece.slot}", "slot"
    return f"block of {piece.members[0].name}", "slot"

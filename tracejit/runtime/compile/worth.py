"""Whether compiled code saves more than its dispatch costs, by counts of what both of them do.

An operation of Python takes some 8 ns, and so does what an entry does for each thing that it
checks, stores or makes. Only a call that is all numbers and attributes can be as short as that:
where there is a loop or an array in the program, it is worth its dispatch. Calls of NumPy from
inside the program take longer than in Python, which is all there is to it where arrays are tiny.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from tracejit.frontend.capture.paths import Attribute
from tracejit.ir.graph import Graph, Node
from tracejit.ir.types import ArrayType
from tracejit.ops.control.regions import WhileLoop
from tracejit.ops.host.call import HostCall
from tracejit.runtime.call.entry_spec import Container, EntrySpec, OutNpScalar, OutPyScalar
from tracejit.runtime.compile.stages import Lowered, Traced

__all__ = ["has_loops", "is_worth_its_dispatch"]

#: ns of an operation of Python.
_OPERATION = 7.5
#: ns of an entry, of each leaf that it checks, of each attribute that it looks up for that, and of
#: each number that it makes or stores.
_ENTRY, _LEAF, _ATTRIBUTE, _NUMBER = 25.0, 3.0, 12.0, 10.0
#: ns of each container that it makes, of each element that it stores, of each list or dict that it
#: makes longer or shorter, of what Python makes or reads for it, and of a call without an entry.
_CONTAINER, _ELEMENT, _RESIZED, _PYTHON, _SLOW = 20.0, 30.0, 60.0, 100.0, 12_000.0
#: Dispatch that costs but little less than it saves is not worth it: the estimates are rough.
_MARGIN = 1.15
#: ns by which a call of NumPy from inside the program is slower than that of Python, and elements
#: of an array that Python's own calls of NumPy hardly notice.
_HOST, _SMALL = 1_500.0, 64


def is_worth_its_dispatch(function: Any, lowered: Lowered, entry: EntrySpec | None) -> bool:
    """Whether a compiled call of `function` is faster than the plain one."""
    traced = lowered.traced
    if type(function) is not FunctionType:
        return True
    nodes = list(_nodes(traced.graph))
    hosted = sum(isinstance(node.op, HostCall) for node in nodes)
    values = [*traced.graph.inputs, *(v for node in nodes for v in node.outputs)]
    arrays = [v.type for v in values if isinstance(v.type, ArrayType)]
    if arrays and not (hosted and all(map(_is_small, arrays))):
        return True
    if has_loops(traced.graph):
        return True
    saved = _OPERATION * traced.operations
    margin = 1.0 if any(note.kind == "unrolled" for note in traced.notes) else _MARGIN
    return saved > margin * (_dispatch(traced, entry) + _HOST * hosted)


def has_loops(graph: Graph) -> bool:
    """Whether a program does anything as often as data says."""
    nodes = _nodes(graph)
    return any(isinstance(node.op, WhileLoop) or node.op.kind == "call" for node in nodes)


def _is_small(t: ArrayType) -> bool:
    sizes = [d for d in t.shape if isinstance(d, int)]
    return len(sizes) == len(t.shape) and math.prod(sizes) <= _SMALL


def _nodes(graph: Graph) -> Iterator[Node]:
    for node in graph.nodes:
        yield node
        for region in node.regions:
            yield from _nodes(region)


def _dispatch(traced: Traced, entry: EntrySpec | None) -> float:
    """ns that a call spends around the program."""
    if entry is None:
        return _SLOW
    attributes = sum(store.kind == "attribute" for store in traced.stores)
    numbers = sum(isinstance(x, (OutNpScalar, OutPyScalar)) for x in entry.outputs)
    # What is stored comes in one tuple with the result.
    made = _containers(entry.made) - bool(traced.stores)
    by_python = (entry.finish is not None) + (entry.reread is not None)
    return (
        _ENTRY
        + _LEAF * len(entry.leaves)
        + _ATTRIBUTE * len({x for x, _ in entry.leaves if isinstance(x, Attribute)})
        + _NUMBER * (numbers + attributes)
        + _CONTAINER * made
        + _ELEMENT * sum(store.kind in ("element", "item") for store in traced.stores)
        + _RESIZED * sum(store.kind in ("tail", "contents") for store in traced.stores)
        + _PYTHON * by_python
    )


def _containers(made: Any) -> int:
    if not isinstance(made, Container):
        return 0
    return 1 + sum(map(_containers, made.items))

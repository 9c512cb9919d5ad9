"""How large the sizes of a program can be, so that arithmetic on them needs no checks.

A size that a loop counts up from a constant by a constant cannot leave 64 bits in any time that a
program could run; lengths of stored axes are bounded by the address space. A size that is a number
of the run is compared with that bound where it is bound, and not where arrays of it are made.
"""

from __future__ import annotations

import math
from collections.abc import Container

from tracejit.codegen.analysis.int_ranges import IntRanges
from tracejit.ir.dataflow import DataflowGraph
from tracejit.ir.dims import Dim, Poly, bounds, substitute, symbol
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType, Type
from tracejit.ops.array.creation import BindSize, DimValue
from tracejit.ops.control.dataflow import Exit, Merge

__all__ = ["Ranges", "bound_sizes", "byte_counts", "size_ranges", "stays_in_64_bits"]

#: More iterations than a program lives for, and more bytes than can be addressed.
_ITERATIONS, _BYTES = 2**50, 2**57
#: More elements than an array of the run has: whatever they are, their bytes stay in 64 bits.
_ELEMENTS = 2**48

_Range = tuple[int | None, int | None]
#: The least and the greatest value of each size symbol that is bounded.
Ranges = dict[str, _Range]


def stays_in_64_bits(d: Dim, ranges: Ranges) -> bool:
    """Whether the value of a size fits. Intermediate sums may wrap: they come back.

    Not so the operands of a function: of those of min and max each must fit.
    """
    if isinstance(d, Poly):
        for atom in (a for m, _ in d.terms for a in m if not isinstance(a, str)):
            if atom.fn not in ("min", "max"):
                return False
            if not all(stays_in_64_bits(x, ranges) for x in atom.args):
                return False
    low, high = bounds(d, ranges)
    return low is not None and high is not None and low >= -(2**63) and high < 2**63


def size_ranges(graph: DataflowGraph, strided: Container[int]) -> Ranges:
    """Bounds of the graph's size symbols; one that is missing is at least 0.

    The inputs of the numbers in `strided` do not lie dense: their elements may be one.
    """
    most: dict[str, int] = {}
    for k, v in enumerate(graph.inputs):
        if isinstance(v.type, ArrayType) and 0 not in v.type.shape and k not in strided:
            # Of the other axes none is empty.
            known = math.prod(d for d in v.type.shape if isinstance(d, int)) * v.type.dtype.itemsize
            for d in v.type.shape:
                name = _lone_symbol(d)
                if name is not None:
                    most[name] = min(most.get(name, _BYTES), _BYTES // known)
    out: Ranges = {name: (0, high) for name, high in most.items()}
    producer = graph.producers()
    for section, node in graph.nodes():
        if isinstance(node.op, Merge) and node.binds and section.kind == "head":
            out[node.binds[0]] = _counted(node, producer, out)
        elif isinstance(node.op, Exit) and node.binds:
            source = producer[producer[node.inputs[0]].inputs[0]]
            found = out.get(source.binds[0], (None, None)) if source.binds else (None, None)
            out[node.binds[0]] = found
    return out


def bound_sizes(graph: DataflowGraph, ints: IntRanges) -> Ranges:
    """Bounds of the sizes that are bound to numbers. The program is to check those that it binds
    where it does not know them of the number."""
    out: Ranges = {}
    for _, node in graph.nodes():
        if isinstance(node.op, BindSize):
            low, high = ints.of(node.inputs[0])
            out[node.binds[0]] = max(low, 0), high if high <= _BYTES else _ELEMENTS
    return out


def _counted(merge: Node, producer: dict[Value, Node], known: Ranges) -> _Range:
    """The range of a size that a head's merge binds."""
    first, following = (producer[producer[v].inputs[0]] for v in merge.inputs)
    if not isinstance(first.op, DimValue) or not isinstance(following.op, DimValue):
        return None, None
    (name,) = merge.binds
    step = following.attrs["dim"] - symbol(name)
    low, high = bounds(first.attrs["dim"], known)
    if not isinstance(step, int) or low is None or high is None:
        return None, None
    far = step * _ITERATIONS
    return low + min(far, 0), high + max(far, 0)


def byte_counts(graph: DataflowGraph) -> set[Dim]:
    """Byte counts of the graph's arrays that could leave 64 bits, stored or not."""
    out: set[Dim] = set()
    for _, node in graph.nodes():
        out |= _counts({v.type for v in node.outputs}, {})
        for region, given in zip(node.regions, node.attrs.get("sizes", ()), strict=False):
            inside = {v.type for n in region.nodes for v in n.outputs}
            out |= _counts(inside, dict(zip(region.sizes, given, strict=True)))
    return out


def _counts(types: set[Type], sizes: dict[str, Dim]) -> set[Dim]:
    out: set[Dim] = set()
    for t in types:
        if isinstance(t, ArrayType) and isinstance(t.size, Poly):
            size = substitute(t.size, sizes)
            if isinstance(size, Poly) and any(len(monomial) > 1 for monomial, _ in size.terms):
                out.add(size * t.dtype.itemsize)
    return out


def _lone_symbol(d: Dim) -> str | None:
    if isinstance(d, Poly) and len(d.terms) == 1:
        ((monomial, coefficient),) = d.terms
        if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], str):
            return monomial[0]
    return None

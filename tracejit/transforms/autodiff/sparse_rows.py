"""Cotangents of tables of which only rows are read: kept as rows, and never added up.

y = gather(table, i)      pulled back:    the rows i of table have dy
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.errors import Where
from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import DTYPES, ArrayType, NpScalar, shape_of
from tracejit.ops.array.indexing import Gather
from tracejit.ops.array.shape import Reshape, Slice
from tracejit.transforms.autodiff.residuals import active_outputs

__all__ = ["RowReads"]


class RowReads:
    """What is read of some arrays, and the cotangents of that.

    Raises TypeError where a node of the forward pass uses one of them otherwise.
    """

    def __init__(self, tables: Sequence[Value], nodes: Sequence[Node], what: str) -> None:
        #: Each table, under all names that it has.
        self.tables = {v: v for v in tables}
        self.found: dict[Value, list[tuple[Value, Value]]] = {v: [] for v in tables}
        for node in nodes:
            used = [v for v in node.inputs if v in self.tables]
            if not used:
                continue
            if _is_name(node):
                self.tables[node.outputs[0]] = self.tables[used[0]]
            elif not _is_read(node, used) and active_outputs(node, set(used)):
                raise TypeError(_refusal(node, what))

    def reads(self, node: Node) -> bool:
        """Whether a node reads rows of one of the tables."""
        return bool(node.inputs) and node.inputs[0] in self.tables

    def add(self, c: DerivativeBuilder, node: Node, g: Value) -> None:
        """Keep the cotangent of what a node has read."""
        source, out = node.inputs[0], node.outputs[0]
        t = source.type
        assert isinstance(t, ArrayType)
        if isinstance(node.op, Slice):
            rows = _rows_of_slice(c, node)
        else:
            rows = _rows_of_index(c, node.inputs[1], t.shape[0])
        count = shape_of(rows.type)[0]
        g = c.laid_out(g, out.type)
        shape = (count, *t.shape[1:])
        values = c.reshape(g, shape) if isinstance(g.type, ArrayType) else _alone(c, g)
        self.found[self.tables[source]].append((rows, values))

    def gradient(self, c: DerivativeBuilder, table: Value) -> tuple[Value, Value]:
        """The rows of a table that have been read, and their cotangents."""
        found = self.found[table][::-1]
        if len(found) == 1:
            return found[0]
        t = table.type
        assert isinstance(t, ArrayType)
        if not found:
            none = c.full(ArrayType(DTYPES["i64"], (0,)), 0)
            return none, c.full(ArrayType(t.dtype, (0, *t.shape[1:])), 0)
        rows, values = (list(part) for part in zip(*found, strict=True))
        return c.op("concatenate", *rows, axis=0), c.op("concatenate", *values, axis=0)


def _is_name(node: Node) -> bool:
    """Whether a node gives its operand as it is."""
    return isinstance(node.op, Reshape) and node.outputs[0].type == node.inputs[0].type


def _is_read(node: Node, used: Sequence[Value]) -> bool:
    """Whether a node reads whole rows of a table."""
    if len(used) > 1 or node.inputs[0] is not used[0]:
        return False
    if isinstance(node.op, Gather):
        return len(node.inputs) == 2
    if not isinstance(node.op, Slice):
        return False
    rest = [(0, d, 1) for d in shape_of(used[0].type)[1:]]
    given = zip(*(node.attrs[name] for name in ("start", "size", "step")), strict=True)
    return [*given][1:] == rest


def _rows_of_index(c: DerivativeBuilder, index: Value, size: Dim) -> Value:
    """The rows that an index, or an array of them, reads: negative ones count from the end."""
    v = c.cast(c.number(index), "i64")
    v = c.reshape(v, (prod(shape_of(v.type)),)) if isinstance(v.type, ArrayType) else _alone(c, v)
    end = c.size(size, DTYPES["i64"])
    return c.where(c.compare("less", v, 0), c.add(v, end), v)


def _rows_of_slice(c: DerivativeBuilder, node: Node) -> Value:
    start, size, step = (node.attrs[name][0] for name in ("start", "size", "step"))
    rows = c.op("iota", size=size, dtype="i64")
    if step != 1:
        rows = c.mul(rows, c.size(step, DTYPES["i64"]))
    return rows if start == 0 else c.add(rows, c.size(start, DTYPES["i64"]))


def _alone(c: DerivativeBuilder, v: Value) -> Value:
    """A number as an array of one element."""
    assert isinstance(v.type, NpScalar)
    return c.op("broadcast_to", v, shape=(1,))


def _refusal(node: Node, what: str) -> str:
    inside = "in a loop or a branch, or in a call of its own" if node.regions else node.op.name
    text = (
        f"{what} with sparse_rows is for arrays of which only whole rows are read, as table[idx], "
        f"and not in loops or branches; here one is used otherwise ({inside})"
    )
    where: Where | None = node.where
    if where is not None:
        text += f'\n  File "{where.file}", line {where.line}, in {where.function or "?"}'
        text += "".join("\n    " + line for line in where.excerpt().splitlines())
    return text

"""What batching rules are written with: a node, its operands with a batch axis in front.

A batch of values of a type is an array with one more axis, the first, whose elements are the lanes.
Of NumPy scalars and of Python numbers it is a vector; those of Python's keep their meaning, which
the rules of their ops see to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Attr, Value
from tracejit.ir.types import (
    DTYPES,
    ArrayType,
    NpScalar,
    PyScalar,
    Type,
    dtype_of,
    shape_of,
)

__all__ = ["BatchAdaptor", "batched_type", "lane_numbers", "may_be_batched", "stretched"]


def may_be_batched(t: Type) -> bool:
    """Whether there are batches of values of a type: not of None, and not of tokens."""
    return isinstance(t, (ArrayType, NpScalar, PyScalar))


def batched_type(t: Type, size: Dim) -> ArrayType:
    """The type of a batch of values of a type: each lane lies in memory as the type says."""
    order = tuple(a + 1 for a in t.order) if isinstance(t, ArrayType) else ()
    return ArrayType(dtype_of(t), (size, *shape_of(t)), (0, *order))


def stretched(c: DerivativeBuilder, v: Value, size: Dim) -> Value:
    """The batch whose lanes are all `v`."""
    return c.op("broadcast_to", c.number(v), shape=(size, *shape_of(v.type)))


def lane_numbers(c: DerivativeBuilder, size: Dim, shape: Sequence[Dim]) -> Value:
    """The number of the lane in each element of a batch of arrays, i64[size, *shape]."""
    numbers = c.op("iota", size=size, dtype="i64")
    numbers = c.reshape(numbers, (size, *(1 for _ in shape)))
    return c.shaped(numbers, ArrayType(DTYPES["i64"], (size, *shape)))


class BatchAdaptor:
    """A node to be batched: its attributes and types for one lane, and what it is given.

    `values` are the operands, those that are `batched` with the batch axis, of `size`, in front.
    The others are the same for all lanes. `outputs` are the types of a lane's results.
    """

    def __init__(
        self,
        c: DerivativeBuilder,
        attrs: Mapping[str, Attr],
        inputs: Sequence[Type],
        outputs: Sequence[Type],
        values: Sequence[Value],
        batched: Sequence[bool],
        size: Dim,
    ) -> None:
        self.attrs, self.inputs, self.outputs = attrs, tuple(inputs), tuple(outputs)
        self.values, self.batched, self.size = tuple(values), tuple(batched), size
        self._c = c

    def whole(self, k: int) -> Value:
        """Operand k with the batch axis; one that has none is repeated along it."""
        if self.batched[k]:
            return self.values[k]
        return stretched(self._c, self.values[k], self.size)

    def shape(self, k: int) -> tuple[Dim, ...]:
        """The shape of operand k in one lane."""
        return shape_of(self.inputs[k])

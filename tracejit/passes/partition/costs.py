"""What it costs to run a node, and to send a value from one device to another."""

from __future__ import annotations

import math

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType, Type
from tracejit.ops.array.contraction import Contract

__all__ = ["Costs", "bytes_of"]

#: A size that is not known yet.
_SOME = 64
#: NumPy's functions that take more than a pass over their operands: passes, roughly.
_SLOW = 30


@dataclass(frozen=True)
class Costs:
    """`call`: seconds to begin a node; `memory`: bytes a second that elementwise work reads and
    writes; `flops`: operations a second of matrix products; `latency`: seconds of a small message;
    `bandwidth`: bytes a second between two devices. The defaults are those of one core of a server
    and of memory that processes share; `tracejit.dist.workers` measures its own.
    """

    call: float = 1e-6
    memory: float = 5e9
    flops: float = 2e10
    latency: float = 5e-5
    bandwidth: float = 5e9

    def node(self, node: Node) -> float:
        """Seconds of a node without regions."""
        moved = sum(bytes_of(v.type) for v in (*node.inputs, *node.outputs))
        seconds = self.call + moved / self.memory * (_SLOW if node.op.kind == "host" else 1)
        return seconds + self._products(node) / self.flops

    def _products(self, node: Node) -> float:
        """Multiplications and additions of products."""
        if isinstance(node.op, Contract):
            return 2.0 * _count(node.outputs[0]) * math.prod(map(_known, node.attrs["summed"]))
        if node.op.kind == "library" and len(node.inputs) == 2 and node.outputs:
            a, b, y = map(_count, (*node.inputs, node.outputs[0]))
            # The sizes of a product of matrices are n k, k m and n m.
            return 2.0 * math.sqrt(max(a * b * y, 1.0))
        if node.op.kind == "library" and node.inputs:
            return float(_count(node.inputs[0]) ** 1.5)
        return 0.0

    def transfer(self, t: Type) -> float:
        """Seconds until a value is there."""
        return self.latency + bytes_of(t) / self.bandwidth


def _known(size: object) -> int:
    return size if isinstance(size, int) else _SOME


def _count(v: Value) -> float:
    shape = v.type.shape if isinstance(v.type, ArrayType) else ()
    return float(math.prod(map(_known, shape)))


def bytes_of(t: Type) -> int:
    """The bytes of a value, sizes that are not known yet taken as some."""
    if not isinstance(t, ArrayType):
        return 8
    return t.dtype.itemsize * math.prod(map(_known, t.shape))

"""The primitives of the flat dataflow graph: how values move through branches and loops.

They have no meaning in a `Graph` of their own: `tracejit.ir.dataflow` says how graphs of them run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tracejit.ir.dims import Poly
from tracejit.ir.graph import Attrs, Graph
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import DTYPES, PYBOOL, PYINT, ArrayType, NpScalar, Type

__all__ = ["Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch"]

_PREDICATES = (PYBOOL, NpScalar(DTYPES["b1"]))


class _Primitive(Op):
    kind: ClassVar[str] = "dataflow"
    #: How many inputs it takes, and the attributes that it may have.
    arity: ClassVar[int] = 1
    attributes: ClassVar[frozenset[str]] = frozenset()

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        require(len(inputs) == self.arity, f"{self.name} takes {self.arity} inputs")
        extra = sorted(attrs.keys() - self.attributes)
        require(not extra and not regions, f"{self.name} has no attributes {', '.join(extra)}")
        out = self.types(inputs, attrs)
        require(not binds or (len(binds) == 1 and out == (PYINT,)), f"{self.name}: binds {binds}")
        require(not binds or self.name in ("merge", "exit"), f"{self.name} binds no sizes")
        return out

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        """The result types."""
        return (inputs[0],)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        raise NotImplementedError(f"{self.name} has a meaning only in a dataflow graph")


def _reshaped(name: str, t: Type, attrs: Attrs) -> Type:
    """`t` with the sizes that the attribute `shape` gives."""
    if "shape" not in attrs:
        return t
    shape = attrs["shape"]
    require(isinstance(t, ArrayType), f"{name}: {t} has no shape")
    assert isinstance(t, ArrayType)
    valid = type(shape) is tuple and all(type(d) is int or isinstance(d, Poly) for d in shape)
    require(valid and len(shape) == t.ndim, f"{name}: {shape!r} is no shape of {t}")
    return ArrayType(t.dtype, shape, t.order)


@register
class Switch(_Primitive):
    """`on_false, on_true = switch(value, predicate)`: the value leaves on one side, dead on the
    other.
    """

    name = "switch"
    renames: ClassVar[bool] = True
    arity = 2

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        """Both sides have the type of the value."""
        require(inputs[1] in _PREDICATES, f"switch: {inputs[1]} is no predicate")
        return (inputs[0], inputs[0])


@register
class Merge(_Primitive):
    """The one input that lives; dead where all are. In a loop's head: the value that enters, then
    the one that each iteration hands on.
    """

    name = "merge"
    arity = 2
    attributes = frozenset(("shape",))

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        """The inputs have one type, but for sizes where `shape` says those of the result."""
        outs = [_reshaped(self.name, t, attrs) for t in inputs]
        require(outs[0] == outs[1], f"merge: {inputs[0]} and {inputs[1]}")
        return (outs[0],)


@register
class Enter(_Primitive):
    """A value goes into iteration 0 of the loop `frame`; with `constant`, into every iteration."""

    name = "enter"
    renames: ClassVar[bool] = True
    attributes = frozenset(("frame", "constant"))

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        """The type of the value."""
        require(isinstance(attrs.get("frame"), str), "enter: the frame has no name")
        require(isinstance(attrs.get("constant"), bool), "enter: constant is True or False")
        return (inputs[0],)


@register
class Exit(_Primitive):
    """A value of a loop's last iteration leaves the loop. Where it binds a size, a negative value
    bails out.
    """

    name = "exit"
    renames: ClassVar[bool] = True
    attributes = frozenset(("shape",))

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        """The type of the value, with the sizes of `shape`."""
        return (_reshaped(self.name, inputs[0], attrs),)


@register
class NextIteration(_Primitive):
    """A value goes into the next iteration of its loop."""

    name = "next_iteration"
    renames: ClassVar[bool] = True


@register
class LoopCond(_Primitive):
    """The value by which a loop goes on: the predicate of its switches."""

    name = "loop_cond"
    renames: ClassVar[bool] = True

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        """The type of the predicate."""
        require(inputs[0] in _PREDICATES, f"loop_cond: {inputs[0]} is no predicate")
        return (inputs[0],)

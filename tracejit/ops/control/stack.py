"""Stacks of records, last in first out: what a forward pass keeps for the backward pass.

    t0 = stack_new(stack="r1", reserve=(8*n,))
    t1 = stack_push(t0, x, i, stack="r1")
    t2, x, i = stack_pop(t1, stack="r1", types=(("array", "f64", (n,), (0,)), ("python", "int")))

A stack is a value, its type that of tokens: a push gives a new stack, and so does a pop; the old
one is what it was. In native code all stacks of one name are the same memory, so a program must use
each stack once: what it pushes on or pops from is always the newest of that name. `types` lists the
record that is popped, which must be the one that was pushed last:

    type = ("array", dtype, (size, ...), order) | ("numpy", dtype) | ("python", kind)

`reserve` is a number of bytes that the stack will probably need. A push that nothing pops may go,
but no pass may make two of one, or let one run where the program would not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tracejit.errors import GraphError
from tracejit.ir.dims import Poly
from tracejit.ir.graph import Attrs, Graph, Node, Value
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import (
    DTYPES,
    PYBOOL,
    PYCOMPLEX,
    PYFLOAT,
    PYINT,
    TOKEN,
    ArrayType,
    NpScalar,
    PyScalar,
    Type,
    dtype_name,
    dtype_of,
)
from tracejit.ops.checks import only_attrs, take

__all__ = [
    "StackNew",
    "StackPop",
    "StackPush",
    "record_form",
    "record_of",
    "record_types",
    "stack_names",
    "types_of_record",
]

_PYTHON = {t.kind: t for t in (PYBOOL, PYINT, PYFLOAT, PYCOMPLEX)}


class _Stack:
    """A stack where a graph is evaluated: its newest record on top of the stack below."""

    __slots__ = ("below", "name", "record")

    def __init__(self, name: str, below: _Stack | None, record: tuple[Any, ...]) -> None:
        self.name, self.below, self.record = name, below, record

    def __repr__(self) -> str:
        return f"stack {self.name}"


def stack_names(graph: Graph) -> set[str]:
    """The names of the stacks in a graph and its regions; another stack needs another name."""
    own = {n.attrs["stack"] for n in graph.nodes if n.op.kind == "stack"}
    return own.union(*(stack_names(r) for n in graph.nodes for r in n.regions))


def record_of(node: Node) -> Sequence[Value]:
    """The values that a push or a pop moves."""
    return node.inputs[1:] if isinstance(node.op, StackPush) else node.outputs[1:]


def record_form(values: Sequence[Value]) -> tuple[object, ...]:
    """What values have in common with those that a pop of them gives, whatever the sizes are."""
    return tuple([_form(v.type) for v in values])


def _form(t: Type) -> tuple[object, ...]:
    if isinstance(t, ArrayType):
        return ("array", t.dtype, t.ndim)
    return (type(t).__name__, dtype_of(t))


def record_types(types: Sequence[Type]) -> tuple[Any, ...]:
    """The attribute `types` of a pop that gives values of these types. Raises GraphError."""
    return tuple(map(_described, types))


def _described(t: Type) -> tuple[Any, ...]:
    if isinstance(t, ArrayType):
        return ("array", dtype_name(t.dtype), t.shape, t.order)
    if isinstance(t, NpScalar):
        return ("numpy", dtype_name(t.dtype))
    require(isinstance(t, PyScalar), f"a stack does not hold a {t}")
    assert isinstance(t, PyScalar)
    return ("python", t.kind)


def types_of_record(described: Any) -> tuple[Type, ...]:
    """The types that the attribute `types` lists. Raises GraphError."""
    require(type(described) is tuple, f"stack_pop: {described!r} are no types")
    return tuple(map(_type, described))


def _type(described: Any) -> Type:
    match described:
        case ("array", str(dtype), tuple(shape), tuple(order)) if dtype in DTYPES:
            for d in shape:
                valid = isinstance(d, Poly) or (type(d) is int and d >= 0)
                require(valid, f"stack_pop: {d!r} is not a size")
            valid = sorted(order) == list(range(len(shape)))
            require(valid, f"stack_pop: {order!r} does not list the axes")
            return ArrayType(DTYPES[dtype], shape, order)
        case ("numpy", str(dtype)) if dtype in DTYPES:
            return NpScalar(DTYPES[dtype])
        case ("python", str(kind)) if kind in _PYTHON:
            return _PYTHON[kind]
    raise GraphError(f"stack_pop: {described!r} is no type")


class _StackOp(Op):
    kind: ClassVar[str] = "stack"

    def _stack(self, given: Any, attrs: dict[str, Any]) -> _Stack:
        """The operand, which must be a stack of the node's name. Raises GraphError."""
        name = attrs["stack"]
        if not isinstance(given, _Stack) or given.name != name:
            raise GraphError(f"{self.name}: {given!r} is not the stack {name}")
        return given


def _check_name(name: str, attrs: Attrs) -> None:
    stack = attrs["stack"]
    require(type(stack) is str and stack, f"{name}: {stack!r} is not a stack's name")


@register
class StackNew(_StackOp):
    """An empty stack."""

    name: ClassVar[str] = "stack_new"

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 0)
        only_attrs(self.name, attrs, "stack", optional=("reserve",))
        _check_name(self.name, attrs)
        reserve = attrs.get("reserve", (0,))
        valid = type(reserve) is tuple and len(reserve) == 1
        valid = valid and (type(reserve[0]) is int or isinstance(reserve[0], Poly))
        require(valid, f"stack_new: reserve is a tuple of one size, not {reserve!r}")
        return (TOKEN,)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        return (_Stack(attrs["stack"], None, ()),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [((), {"stack": "s"}), ((), {"stack": "s", "reserve": (64,)})]


@register
class StackPush(_StackOp):
    """The stack with one record more: the operands after it."""

    name: ClassVar[str] = "stack_push"

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        only_attrs(self.name, attrs, "stack")
        _check_name(self.name, attrs)
        require(inputs and inputs[0] == TOKEN, "stack_push takes a stack first")
        record_types(inputs[1:])
        return (TOKEN,)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        below = self._stack(inputs[0], attrs)
        kept = (x.copy(order="K") if isinstance(x, np.ndarray) else x for x in inputs[1:])
        return (_Stack(attrs["stack"], below, tuple(kept)),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        empty = _Stack("s", None, ())
        return [([empty, *record], {"stack": "s"}) for record in _records()]


@register
class StackPop(_StackOp):
    """The stack below its newest record, and that record."""

    name: ClassVar[str] = "stack_pop"

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        only_attrs(self.name, attrs, "stack", "types")
        _check_name(self.name, attrs)
        require(tuple(inputs) == (TOKEN,), "stack_pop takes a stack")
        return (TOKEN, *types_of_record(attrs["types"]))

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        stack = self._stack(inputs[0], attrs)
        if stack.below is None:
            raise GraphError(f"stack_pop: the stack {stack.name} is empty")
        record, wanted = stack.record, types_of_record(attrs["types"])
        found = tuple(map(_kind_of, record))
        if found != tuple(_description(t) for t in wanted):
            raise GraphError(f"stack_pop: the stack {stack.name} gives {found}, not {wanted}")
        given = (x.copy(order="K") if isinstance(x, np.ndarray) else x for x in record)
        return (stack.below, *given)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        empty = _Stack("s", None, ())
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for record in _records():
            described = tuple(map(_sampled, record))
            out.append(([_Stack("s", empty, record)], {"stack": "s", "types": described}))
        return out


def _kind_of(x: Any) -> tuple[Any, ...]:
    """What a concrete value is, its axis order left aside."""
    if isinstance(x, np.ndarray):
        return ("array", x.dtype, x.shape)
    return ("numpy", x.dtype) if isinstance(x, np.generic) else ("python", type(x).__name__)


def _description(t: Type) -> tuple[Any, ...]:
    if isinstance(t, ArrayType):
        return ("array", t.dtype, t.shape)
    assert isinstance(t, (NpScalar, PyScalar))
    return ("numpy", t.dtype) if isinstance(t, NpScalar) else ("python", t.kind)


def _records() -> list[tuple[Any, ...]]:
    scalars = tuple(dtype.type(1) for dtype in DTYPES.values())
    arrays = tuple(np.arange(6).astype(dtype).reshape(2, 3) for dtype in DTYPES.values())
    return [
        (),
        (True, 2, 3.5, 4j),
        scalars,
        arrays,
        (np.array(1.5), np.zeros((0, 4)), 7, np.arange(3.0)),
    ]


def _sampled(x: Any) -> tuple[Any, ...]:
    if isinstance(x, np.ndarray):
        return _described(ArrayType(x.dtype, x.shape))
    return _described(NpScalar(x.dtype) if isinstance(x, np.generic) else _PYTHON[type(x).__name__])

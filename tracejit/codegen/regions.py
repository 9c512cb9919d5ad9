"""Branches and loops of a program: regions become blocks, what they carry becomes phis.

Scalars are phis. Arrays that a branch gives are copied to the result's memory at the end of each
side. A loop carries pointers: each carried array has two buffers, of which one holds the present
value and the other receives the next one, so that neither fresh results nor swapped names cost a
copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tracejit.codegen.lanes import register_type
from tracejit.codegen.scalar_functions import emit_expr
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.kernel import Var
from tracejit.ir.types import ArrayType, dtype_name, dtype_of
from tracejit.ops.elementwise import Element, parts_dtype

if TYPE_CHECKING:
    from tracejit.codegen.program import Emitter

__all__ = ["emit_cond", "emit_while"]


def _is_array(v: Value) -> bool:
    return isinstance(v.type, ArrayType)


def _bind_inputs(e: Emitter, region: Graph, given: Sequence[Value]) -> None:
    """Region inputs that stand for values of the enclosing graph."""
    for inner, outer in zip(region.inputs, given, strict=True):
        if _is_array(inner):
            e.pointer[inner] = e.pointer[outer]
            if outer in e.strides:
                e.strides[inner] = e.strides[outer]
        else:
            e.scalars[inner] = e.scalars[outer]


def _parts(element: Element) -> tuple[object, ...]:
    return element if isinstance(element, tuple) else (element,)


def _registers(e: Emitter, v: Value) -> list[str]:
    """The registers of a scalar's parts, computed now."""
    return [emit_expr(e.fb, part, e.env) for part in _parts(e.scalars[v])]  # type: ignore[arg-type]


def _part_types(v: Value) -> list[str]:
    dtype = dtype_name(dtype_of(v.type))
    part = parts_dtype(dtype)
    return [part] if part == dtype else [part, part]


def _bind_registers(e: Emitter, v: Value, registers: Sequence[str]) -> None:
    variables: list[Var] = []
    for register, dtype in zip(registers, _part_types(v), strict=True):
        name = e.fresh("x")
        e.env[name] = register
        variables.append(Var(name, dtype))
    e.scalars[v] = (variables[0], variables[1]) if len(variables) == 2 else variables[0]


def _copy(e: Emitter, v: Value, source: Value, target: str) -> None:
    """All of an array to other memory of the same layout."""
    assert isinstance(v.type, ArrayType)
    if source in e.strides:
        e.copy_array(source, target)
        return
    size = e.dim(v.type.size * v.type.dtype.itemsize)
    e.declare("memcpy", "ptr", ["ptr", "ptr", "i64"])
    e.fb.emit(f"call ptr @memcpy(ptr {target}, ptr {e.pointer[source]}, i64 {size})")


def emit_cond(e: Emitter, node: Node) -> None:
    """Two sides and a join."""
    fb = e.fb
    (predicate,) = _registers(e, node.inputs[0])
    labels = [fb.fresh_label("then"), fb.fresh_label("else")]
    join = fb.fresh_label("join")
    fb.cond_br(predicate, *labels)
    incoming: list[tuple[str, dict[Value, list[str]]]] = []
    for label, region in zip(labels, node.regions, strict=True):
        fb.block(label)
        saved = dict(e.env)
        _bind_inputs(e, region, node.inputs[1:])
        for inner in region.nodes:
            e.node(inner)
        given: dict[Value, list[str]] = {}
        for out, result in zip(node.outputs, region.outputs, strict=True):
            if _is_array(out):
                _copy(e, out, result, e.pointer[out])
            else:
                given[out] = _registers(e, result)
        incoming.append((fb.label, given))
        fb.br(join)
        e.env = saved
    fb.block(join)
    for out in node.outputs:
        if _is_array(out):
            continue
        phis = [
            fb.phi(register_type(dtype), [(given[out][k], label) for label, given in incoming])
            for k, dtype in enumerate(_part_types(out))
        ]
        _bind_registers(e, out, phis)


class _Carried:
    """The phis of one carried value: registers, or the pointers of its two buffers."""

    def __init__(self, e: Emitter, head: Value, body: Value, start: Value) -> None:
        self.head, self.body, self.start = head, body, start
        self.array = _is_array(start)
        self.kinds = (
            ["ptr", "ptr"] if self.array else [register_type(d) for d in _part_types(start)]
        )
        self.names = [e.fb.fresh("carried") for _ in self.kinds]
        if self.array:
            self.initial = e.spare[body]
        else:
            self.initial = _registers(e, start)

    def bind(self, e: Emitter, v: Value) -> None:
        """Let a region's input mean the present value."""
        if self.array:
            e.pointer[v] = self.names[0]
        else:
            _bind_registers(e, v, self.names)


def emit_while(e: Emitter, node: Node) -> None:
    """A head that tests, a body, and the state after the last test."""
    fb = e.fb
    test, body = node.regions
    count = node.attrs["carried"]
    state = [
        _Carried(e, *three)
        for three in zip(test.inputs[:count], body.inputs[:count], node.inputs[:count], strict=True)
    ]
    for c in state:
        if c.array:
            _copy(e, c.body, c.start, c.initial[0])
    before = fb.label
    head, inside, after = (fb.fresh_label(n) for n in ("head", "body", "exit"))
    fb.br(head)
    fb.block(head)
    phis = fb.insertion_point()
    captures = node.inputs[count:]
    saved = dict(e.env)
    for c in state:
        c.bind(e, c.head)
    _bind_rest(e, test, count, captures)
    for inner in test.nodes:
        e.node(inner)
    (holds,) = _registers(e, test.outputs[0])
    exit_env = dict(e.env)
    fb.cond_br(holds, inside, after)
    fb.block(inside)
    for c in state:
        c.bind(e, c.body)
    _bind_rest(e, body, count, captures)
    for inner in body.nodes:
        e.node(inner)
    following = _next_state(e, body, state)
    last = fb.label
    fb.br(head)
    for c, values in zip(state, following, strict=True):
        for name, kind, first, value in zip(c.names, c.kinds, c.initial, values, strict=True):
            phis.lines.append(f"  {name} = phi {kind} [ {first}, %{before} ], [ {value}, %{last} ]")
    e.env = {**saved, **exit_env}
    fb.block(after)
    for c, out in zip(state, node.outputs, strict=True):
        if c.array:
            target = e.pointer[out]
            e.pointer[c.head] = c.names[0]
            _copy(e, out, c.head, target)
        else:
            _bind_registers(e, out, c.names)


def _bind_rest(e: Emitter, region: Graph, count: int, captures: Sequence[Value]) -> None:
    rest = Graph(region.name, (), region.inputs[count:], (), ())
    _bind_inputs(e, rest, captures)


def _next_state(e: Emitter, body: Graph, state: Sequence[_Carried]) -> list[list[str]]:
    """What each carried value is in the next iteration.

    A present buffer may be handed to one carry only; anything else is copied to the carry's second
    buffer. All copies are made before any pointer changes hands.
    """
    present = {c.names[0]: c for c in state if c.array}
    taken: set[str] = set()
    pointers: dict[_Carried, str] = {}
    kept: list[tuple[_Carried, Value]] = []
    for c, result in zip(state, body.outputs, strict=True):
        if not c.array:
            continue
        pointer = e.pointer[result]
        owner = present.get(pointer)
        same = owner is not None and owner.start.type == c.start.type
        if same and pointer not in taken and result not in e.strides:
            pointers[c] = pointer
            taken.add(pointer)
        else:
            kept.append((c, result))
    for c, result in kept:
        _copy(e, c.body, result, c.names[1])
        pointers[c] = c.names[1]
        taken.add(c.names[1])
    out: list[list[str]] = []
    spare: dict[object, list[str]] = {}
    for c in state:
        if c.array:
            spare.setdefault(c.start.type, []).extend(n for n in c.names if n not in taken)
    for c, result in zip(state, body.outputs, strict=True):
        if c.array:
            out.append([pointers[c], spare[c.start.type].pop()])
        else:
            out.append(_registers(e, result))
    return out

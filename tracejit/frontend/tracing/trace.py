"""One graph being recorded: the trace of a function, or of a region inside another trace."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

import tracejit.ops  # noqa: F401 - fills the registry
from tracejit.base.deadlines import OverBudget, deadline, require
from tracejit.base.placing import current_device
from tracejit.config import trace_variable
from tracejit.errors import PACKAGE, TraceError, Where
from tracejit.frontend.tracing.dispatch import DISPATCH
from tracejit.frontend.tracing.fixpoints import Fixpoints
from tracejit.frontend.tracing.notes import Note
from tracejit.frontend.tracing.sizes import ShapeEnv
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Attr, ConstArray, Graph, GraphBuilder, Value
from tracejit.ir.op import OPS, Op
from tracejit.ir.types import ArrayType, Type
from tracejit.ops.array.indexing import Scatter, UpdateSlice
from tracejit.ops.array.shape import BroadcastTo, Concatenate, Reshape, Slice, Transpose
from tracejit.ops.control.effects import StartToken

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "TOO_LONG",
    "Trace",
    "current_trace",
    "here",
    "innermost",
    "is_several_axes",
    "user_frame",
    "user_line",
]

_NUMPY = os.path.join(Path(np.__file__).resolve().parent, "")
#: Files whose frames are no lines of the user's.
_OTHERS = (PACKAGE, _NUMPY, contextlib.__file__)
#: Operations that are recorded for one program, with those of attempts that were given up.
_LIMIT = 14_000
#: What is said where there are more.
TOO_LONG = f"more than {_LIMIT} operations"
#: Regions inside each other. (Python reads back no text that is indented a hundred times.)
_DEPTH = 80

_TRACE: ContextVar[Trace | None] = trace_variable


def current_trace() -> Trace | None:
    """The innermost trace of this context, or None."""
    return _TRACE.get()


def here() -> Trace:
    """The innermost trace. Raises TraceError where a tracer is used after its trace has ended."""
    trace = _TRACE.get()
    if trace is None:
        raise TraceError("TJ014", "", user_line())
    return trace


def user_frame() -> FrameType | None:
    """The innermost frame on the stack that is neither tracejit's nor NumPy's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OTHERS):
        frame = frame.f_back
    return frame


def user_line() -> Where | None:
    """The innermost place on the stack that is neither tracejit's nor NumPy's."""
    frame = user_frame()
    if frame is None:
        return None
    return Where(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


class Trace:
    """One graph being recorded. Region traces have a parent and capture what they use of it.

    What is typed `Any` are storages, of `storage.py`, and sizes of loops, of `carried_sizes.py`:
    both know traces.
    """

    #: The classes of its tracers, of arrays and of numbers, where they are not the usual ones.
    tracers: tuple[type[Any], type[Any]] | None = None

    def __init__(self, name: str, env: ShapeEnv, parent: Trace | None = None) -> None:
        self.builder = GraphBuilder(name)
        self.env = env
        self.parent = parent
        #: How many traces there are around this one.
        self.depth: int = 0 if parent is None else parent.depth + 1
        if self.depth > _DEPTH:
            what = f"branches and loops nested more than {_DEPTH} deep"
            raise TraceError("TJ008", what, user_line())
        self.captures: dict[Value, Value] = {}
        self.alive = True
        #: The interpreter of the program that is traced.
        self.interpreter: Any = None if parent is None else parent.interpreter
        #: Containers and objects that existed before the trace: writing to them is visible outside.
        self.external: dict[int, object] = {} if parent is None else parent.external
        #: Operations recorded so far, whether they are still part of the graph or not.
        self.counter: list[int] = [0] if parent is None else parent.counter
        #: When the trace must end, by the clock of its thread.
        self.deadline: float = deadline() if parent is None else parent.deadline
        #: What was done with a line, for the report.
        self.notes: list[Note] = [] if parent is None else parent.notes
        #: Storages made outside this region that it has stored into, with what they held before.
        self.stored: dict[Any, tuple[Value, Trace, int]] = {}
        #: Storages that it has stored into under other names, if they are the same memory.
        self.clobbered: list[Any] = []
        #: Containers and objects made outside this region that it has changed, as they were before.
        self.changed: dict[int, tuple[Any, Any]] = {}
        #: Containers and objects that a store in this region may have changed under another name.
        self.stale: dict[int, Any] = {}
        #: Predicates whose value is known inside this region.
        self.facts: dict[Value, bool] = {}
        #: What follows from a predicate's being true or false: (value, truth) -> others.
        self.consequences: dict[tuple[Value, bool], list[tuple[Value, bool]]] = (
            {} if parent is None else parent.consequences
        )
        #: The caller's arrays, and which inputs of the graph they are.
        self.memory: dict[Any, int] = {} if parent is None else parent.memory
        #: What the loops that are met next carried when they were last traced.
        self.loops: Fixpoints = Fixpoints() if parent is None else parent.loops
        #: id -> cells of names of which a loop must know what kind of number they begin as.
        self.asked: dict[int, Any] = {} if parent is None else parent.asked
        #: The sizes that the loop carries whose body this is.
        self.carried_sizes: Any = None
        #: What inputs of the graph are in the present call (at the root).
        self.samples: dict[Value, Any] = {}
        #: Names of what takes the items of generators that run, innermost last (at the root).
        self.takers: list[Any] = []
        #: How often what follows a branch is traced once for each side (counted at the root).
        self.duplicated = 0
        #: Holds the token that orders effects (at the root).
        self.effects: Any = None
        #: Arrays whose axes NumPy may lay out in another order than their types say.
        self.unordered: set[Value] = set() if parent is None else parent.unordered
        #: id -> sets that something was popped from, and those whose order is not Python's.
        self.popped: dict[int, Any] = {} if parent is None else parent.popped
        self.shuffled: dict[int, Any] = {} if parent is None else parent.shuffled
        #: Hears of sets whose order the program takes.
        self.note_order: Callable[[Any], object] = len if parent is None else parent.note_order
        #: The positions at which masks hold.
        self.positions: dict[Value, Value] = {}
        #: The sizes that stand for ints, and what has been computed of them.
        self.bounds: dict[Hashable, Any] = {}
        #: Relations of sizes that are checked in this trace.
        self.checked: set[tuple[Dim, str, Dim]] = set()
        env.lift = lambda dim: DISPATCH.number_of(innermost(self), dim)
        env.check = lambda a, relation, b: innermost(self).check_sizes(a, relation, b)

    @contextmanager
    def reopened(self) -> Iterator[Trace]:
        """Record more in a region that has ended, and is not part of a graph yet."""
        token, alive = _TRACE.set(self), self.alive
        self.alive = True
        try:
            yield self
        finally:
            _TRACE.reset(token)
            self.alive = alive

    @contextmanager
    def active(self) -> Iterator[Trace]:
        """Make this the innermost trace."""
        token = _TRACE.set(self)
        try:
            yield self
        finally:
            _TRACE.reset(token)
            self.alive = False

    def emit(
        self,
        name: str,
        inputs: Sequence[Value],
        *,
        regions: tuple[Graph, ...] = (),
        binds: tuple[str, ...] = (),
        **attrs: Attr,
    ) -> Value:
        """Record a node with one result."""
        return self.emit_all(name, inputs, attrs, regions=regions, binds=binds)[0]

    def emit_all(
        self,
        name: str,
        inputs: Sequence[Value],
        attrs: dict[str, Attr],
        *,
        regions: tuple[Graph, ...] = (),
        binds: tuple[str, ...] = (),
        where: Where | None = None,
    ) -> tuple[Value, ...]:
        """Record a node, of the user's present line by default."""
        self.counter[0] += 1
        if self.counter[0] > _LIMIT:
            raise TraceError("TJ032", TOO_LONG, user_line())
        if self.counter[0] % 64 == 0:
            self.require_time()
        where = where or user_line()
        if (device := current_device()) and where is not None:
            where = replace(where, device=device)
        outputs = self.builder.emit(
            OPS[name], inputs, attrs, regions=regions, binds=binds, where=where
        )
        if regions or any(v in self.unordered or not _is_c(v.type) for v in inputs):
            self._note_orders(OPS[name], inputs, outputs)
        return outputs

    def _note_orders(self, op: Op, inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
        """Note the outputs whose order NumPy may choose otherwise: not all operands are in C order.

        Index ops that make views keep the order of their operand, elementwise ops the common one.
        """
        arrays = [v for v in inputs if isinstance(v.type, ArrayType)]
        known = not any(v in self.unordered for v in arrays)
        if isinstance(op, (Slice, Transpose, UpdateSlice, Scatter)):
            known = arrays[0] not in self.unordered
        elif isinstance(op, Reshape):
            known = known or _lengths(arrays[0].type) != _lengths(outputs[0].type)
        elif op.kind == "elementwise":
            known = known and len({v.type.order for v in arrays}) == 1  # type: ignore[union-attr]
        elif not isinstance(op, (BroadcastTo, Concatenate)):
            known = False
        if not known:
            self.unordered.update(v for v in outputs if is_several_axes(v.type))

    @property
    def root(self) -> Trace:
        """The trace of the function itself."""
        trace = self
        while trace.parent is not None:
            trace = trace.parent
        return trace

    def note(self, kind: str, detail: str = "", where: Where | None = None) -> None:
        """Record for the report what became of a line (the user's present one by default)."""
        note = Note(kind, where or user_line(), detail)
        if note not in self.notes:
            self.notes.append(note)

    def require_time(self) -> None:
        """Raises TraceError where the trace takes longer than a compile is worth."""
        require()
        if time.thread_time() > self.deadline:
            raise OverBudget("traces that take longer than compiles may", user_line())

    def known(self, predicate: Value) -> bool | None:
        """What a branch around this trace says of a predicate; None where nothing is known."""
        trace: Trace | None = self
        while trace is not None:
            if predicate in trace.facts:
                return trace.facts[predicate]
            trace = trace.parent
        return None

    def assume(self, predicate: Value, truth: bool) -> None:
        """Note what a branch, or a check before, says of a predicate."""
        self.facts[predicate] = truth
        for value, holds in self.consequences.get((predicate, truth), ()):
            if value not in self.facts:
                self.assume(value, holds)

    def follows(self, predicate: Value, truth: bool, other: Value, holds: bool) -> None:
        """Note that where `predicate` is `truth`, `other` is `holds`."""
        self.consequences.setdefault((predicate, truth), []).append((other, holds))

    def encloses(self, other: Trace) -> bool:
        """Whether `other` is this trace or a region inside it."""
        trace: Trace | None = other
        while trace is not None and trace is not self:
            trace = trace.parent
        return trace is self

    def mark(self) -> tuple[int, dict[Value, bool], set[tuple[Dim, str, Dim]]]:
        """A point that `rollback` can go back to."""
        return len(self.builder.nodes), dict(self.facts), set(self.checked)

    def rollback(self, mark: tuple[int, dict[Value, bool], set[tuple[Dim, str, Dim]]]) -> None:
        """Drop what was recorded since `mark`; nothing may refer to it any more."""
        nodes = self.builder.nodes
        self.positions.clear()
        self.bounds.clear()
        count, self.facts, self.checked = mark[0], dict(mark[1]), set(mark[2])
        nodes[count:] = [n for n in nodes[count:] if isinstance(n.op, StartToken)]

    def fresh_size(self, low: int = 0) -> str:
        """The name of a new size symbol that is known only at run time."""
        name = f"s{len(self.env.intervals)}"
        self.env.declare(name, None, low)
        return name

    def check_sizes(self, a: Dim, relation: str, b: Dim) -> None:
        """Let a run bail out here unless `a relation b`."""
        trace: Trace | None = self
        while trace is not None:
            if (a, relation, b) in trace.checked:
                return
            trace = trace.parent
        op = {"==": "py_equal", "!=": "py_not_equal", "<": "py_less", "<=": "py_less_equal"}
        values = [self.emit("dim_value", (), dim=d) for d in (a, b)]
        self.emit_all("check", (self.emit(op[relation], values),), {})
        self.checked.add((a, relation, b))

    def bound(self, value: Value, low: int = 0) -> Dim:
        """A size symbol for the present value of an int, which is at least `low`."""
        if value not in self.bounds:
            name = self.fresh_size(low)
            self.emit_all("bind_size", (value,), {}, binds=(name,))
            self.bounds[value] = symbol(name)
        out: Dim = self.bounds[value]
        return out

    def bound_as_given(self, value: Value) -> Dim:
        """As `bound` for an i64 of the user's: NumPy raises where it is negative, read or not."""
        zero = self.emit("constant", (), value=0, type="i64")
        self.emit_all("check", (self.emit("greater_equal", (value, zero)),), {})
        return self.bound(value)

    def size_value(self, dim: Dim) -> Value:
        """A size as a Python int."""
        return self.emit("dim_value", (), dim=dim)

    def constant(self, value: Any, type_: Type) -> Value:
        """A constant of a scalar or array type."""
        if isinstance(type_, ArrayType):
            value = ConstArray(value)
        return self.emit("constant", (), value=value, type=str(type_))

    def foreign(self, array: np.ndarray[Any, Any]) -> Value:
        """The value of an array of unknown origin. Raises TraceError: it must not be frozen."""
        raise TraceError("TJ006", "an array", user_line())

    def capture(self, value: Value, owner: Trace) -> Value:
        """A value of an enclosing trace as a value of this one. Raises TraceError for an escaped
        one.
        """
        if owner is self:
            return value
        if not owner.alive or self.parent is None:
            raise TraceError("TJ014")
        outer = self.parent.capture(value, owner)
        if outer not in self.captures:
            self.captures[outer] = self.builder.input(value.type, value.name)
        return self.captures[outer]


def innermost(default: Trace) -> Trace:
    """The innermost trace of this context, or `default` outside any."""
    return _TRACE.get() or default


def is_several_axes(t: Type) -> bool:
    """Whether `t` is an array with an order of axes."""
    return isinstance(t, ArrayType) and t.ndim > 1


def _is_c(t: Type) -> bool:
    return not isinstance(t, ArrayType) or t.is_c


def _lengths(t: Type) -> list[Dim]:
    """The sizes of an array type without its axes of size 1."""
    assert isinstance(t, ArrayType)
    return [d for d in t.shape if d != 1]

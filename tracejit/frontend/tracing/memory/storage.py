"""Memory while tracing: storages, and the views through which arrays look at them."""

from __future__ import annotations

import itertools
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.tracing.trace import Trace, is_several_axes, user_line
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Attr, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import TOKEN, ArrayType, shape_of

__all__ = ["Storage", "ViewStep", "effect_token", "laid_out", "set_effect_token", "write_back"]

_VERSIONS = itertools.count(1)


class Storage:
    """A piece of memory: its present value, its axis order, and whether the caller can see it.

    The value belongs to the trace `holder`: a region that stores into a storage from outside holds
    the new value until it ends. `order` is the one NumPy would give the memory, or None where that
    is not known. `strides` count elements; None for memory without gaps in this order. `input` is
    the number of the caller's array that it is, -1 for memory that must not be stored into, or -2
    for memory that may in addition be another array's. A storage with a `source` is a copy that
    stands for a view of that storage's memory: right as long as nothing is stored into either.
    """

    __slots__ = (
        *("carried", "holder", "input", "clobbered", "order", "seen", "source", "strides", "trace"),
        *("is_shared", "listed", "noalias_set", "may_alias", "shared_by"),
        *("value", "version", "written"),
    )

    def __init__(
        self,
        trace: Trace,
        value: Value,
        input: int | None = None,
        source: Storage | None = None,
        strides: tuple[Dim, ...] | None = None,
    ) -> None:
        self.trace = self.holder = trace
        self.value, self.input = value, input
        #: Tells apart all contents that any storage ever had.
        self.version = next(_VERSIONS)
        self.order: tuple[int, ...] | None = ()
        if isinstance(value.type, ArrayType):
            # What a loop carries may be laid out in another way by its body.
            carried = trace.parent is not None and any(v is value for v in trace.builder.inputs)
            unknown = is_several_axes(value.type) and (carried or value in trace.unordered)
            self.order = None if unknown else value.type.order
        self.source, self.seen = source, source.version if source else 0
        self.strides = strides
        #: Of memory that may be another array's: a traced number that tells whether it is, if any.
        self.is_shared: Any = None
        #: What a loop carries, in its body: the array of the iteration before.
        self.carried = False
        #: Memory that this may be the same as, or a view of, and the version of it that is right:
        #: what is stored into one is not in the other.
        self.may_alias: tuple[tuple[Storage, int], ...] = ()
        #: Storages of one noalias set are never the same memory as each other.
        self.noalias_set: object = None
        #: Of memory that must not be stored into since it may be another array's: the loop, where
        #: only arrays that this loop carries come into question.
        self.shared_by: object = None
        #: Stored into under another name, of which nobody knows whether it is this memory.
        self.clobbered = False
        #: Stored into at all, on whatever path and under whatever name.
        self.written = False
        #: Whether a list that grows with data holds a copy: nothing is stored into it any more.
        self.listed = False

    @property
    def root(self) -> Storage:
        """The memory itself, for a copy that stands for a view of it."""
        return self if self.source is None else self.source.root

    def roots(self) -> set[Storage]:
        """All memory that this is, or may be."""
        found: set[Storage] = set()
        todo = [self.root]
        while todo:
            storage = todo.pop()
            if storage not in found:
                found.add(storage)
                todo += [other.root for other, _ in storage.may_alias]
        return found

    def check(self) -> None:
        """Raise TraceError where the memory that this is a copy of has been stored into since."""
        if self.clobbered:
            raise TraceError("TJ005", "an array is read that is stored into under another name")
        if self.source is not None:
            if self.source.version != self.seen:
                raise TraceError(
                    "TJ005", "a view at an index known at run time outlives a store", user_line()
                )
            self.source.check()
        if any(storage.version != version for storage, version in self.may_alias):
            raise TraceError("TJ005", "an array is read that another name may store into")

    def read(self, trace: Trace) -> Value:
        """The present value, as one of `trace`."""
        return trace.capture(self.value, self.holder)

    def store(self, trace: Trace, value: Value) -> None:
        """Give the storage a new value, one of `trace`.

        Raises TraceError where other memory may have to change with it.
        """
        if self.input is not None and self.input < 0:
            if self.is_shared is None:
                raise TraceError("TJ005", "a store into memory that may be shared", user_line())
            self.own(trace)
        if self.listed:
            raise TraceError("TJ005", "a store into an array that a list holds", user_line())
        for storage, _ in self.may_alias:
            storage.lose(trace)
        if trace is not self.trace and self not in trace.stored:
            trace.stored[self] = self.value, self.holder, self.version
        t = value.type
        if isinstance(t, ArrayType) and self.order is not None and t.order != self.order:
            value = laid_out(trace, value, self.order)
        self.put(trace, value)
        self.written = True

    def own(self, trace: Trace) -> None:
        """Let a run bail out here where this memory is shared: it is an array's own after that."""
        assert self.is_shared is not None
        flag = trace.capture(self.is_shared.value(), self.is_shared.trace)
        false = trace.emit("constant", (), value=False, type="bool")
        trace.emit_all("check", (trace.emit("py_equal", (flag, false)),), {})
        if trace is self.trace:
            self.input, self.may_alias, self.is_shared = None, (), None

    def lose(self, trace: Trace) -> None:
        """Note that `trace` stores under another name into what may be this memory."""
        if not self.clobbered:
            self.clobbered = self.written = True
            trace.clobbered.append(self)
            for storage, _ in self.may_alias:
                storage.lose(trace)

    def put(self, trace: Trace, value: Value) -> None:
        """Let the storage hold `value`, one of `trace`, from now on."""
        self.value, self.holder, self.version = value, trace, next(_VERSIONS)

    def restore(self, state: tuple[Value, Trace, int]) -> None:
        """Go back to what the storage held before."""
        self.value, self.holder, self.version = state


def laid_out(trace: Trace, value: Value, order: tuple[int, ...]) -> Value:
    """A copy of an array with its axes in `order`."""
    t = value.type
    assert isinstance(t, ArrayType)
    shape = tuple(t.shape[a] for a in order)
    value = trace.emit("transpose", (value,), axes=order)
    value = trace.emit("reshape", (value,), shape=(prod(shape),))
    value = trace.emit("reshape", (value,), shape=shape)
    return trace.emit("transpose", (value,), axes=tuple(order.index(k) for k in range(len(order))))


class ViewStep:
    """One step from a base to a view: an index op, its indices (of a trace) and its attributes.

    `writeable` is None for what only NumPy may store into, where it warns. A gather along a
    diagonal knows its `corner`, the indices of its first element along the first two axes; one of
    what windows see that slide over some of the first axes, which of these. A reshape that adds and
    drops axes as an index does knows which axis of the base each of its axes is (`kept`), None for
    a new one, whose stride is 0.
    """

    __slots__ = ("attrs", "corner", "indices", "kept", "op", "trace", "windows", "writeable")

    def __init__(
        self,
        trace: Trace,
        op: str,
        indices: tuple[Value, ...],
        attrs: dict[str, Attr],
        writeable: bool | None,
        corner: tuple[Dim, ...] = (),
        windows: tuple[bool, ...] = (),
        kept: tuple[int | None, ...] | None = None,
    ) -> None:
        self.trace, self.op, self.indices = trace, op, indices
        self.attrs, self.writeable, self.corner = attrs, writeable, corner
        self.windows, self.kept = windows, kept

    @property
    def places(self) -> tuple[Dim, ...]:
        """The lengths of the axes that windows slide over, each before that of its window."""
        return shape_of(self.indices[0].type) if self.windows else ()

    def indices_in(self, trace: Trace) -> tuple[Value, ...]:
        """The indices as values of `trace`."""
        return tuple(trace.capture(v, self.trace) for v in self.indices)

    def read(self, trace: Trace, base: Value) -> Value:
        """The elements of the view."""
        out = trace.emit(self.op, (base, *self.indices_in(trace)), **self.attrs)
        t = base.type
        if self.op == "broadcast_to" or self.windows and isinstance(t, ArrayType) and not t.is_c:
            # NumPy's copies of repeated axes follow strides of 0, which no type shows.
            trace.unordered.add(out)
        return out


def write_back(trace: Trace, base: Value, new: Value, view: ViewStep) -> Value:
    """The base after `new` was written through one view step."""
    if not view.writeable:
        raise TraceError("TJ005", "a store into a read-only view", user_line())
    if view.op == "gather":
        return trace.emit("scatter", (base, new, *view.indices_in(trace)))
    if view.op == "real":
        return trace.emit("make_complex", (new, trace.emit("imag", (base,))))
    if view.op == "imag":
        return trace.emit("make_complex", (trace.emit("real", (base,)), new))
    if view.op == "slice":
        return trace.emit("update_slice", (base, new), **view.attrs)
    if view.op == "transpose":
        axes = view.attrs["axes"]
        inverse = tuple(axes.index(k) for k in range(len(axes)))
        return trace.emit("transpose", (new,), axes=inverse)
    if view.op == "reshape":
        assert isinstance(base.type, ArrayType) and isinstance(new.type, ArrayType)
        # Sizes that are equal may be written in two ways.
        attrs: dict[str, Attr] = {"shape": base.type.shape}
        if prod(new.type.shape) != base.type.size:
            attrs["assume"] = True
        return trace.emit_all("reshape", (new,), attrs)[0]
    raise TraceError("TJ005", f"a store through a view made by {view.op}")


def effect_token(trace: Trace) -> Value:
    """The present token, which orders effects, as a value of `trace`."""
    return _effects(trace).read(trace)


def set_effect_token(trace: Trace, token: Value) -> None:
    """Order what follows after the effect that gave `token`."""
    assert token.type == TOKEN
    _effects(trace).store(trace, token)


def _effects(trace: Trace) -> Storage:
    root = trace.root
    if root.effects is None:
        (first,) = root.builder.emit(OPS["start_token"], ())
        root.effects = Storage(root, first)
    storage: Storage = root.effects
    return storage

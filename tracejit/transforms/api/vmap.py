"""Functions of single elements made functions of batches: `vmap`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from tracejit.errors import TraceError, Unbatchable
from tracejit.frontend.control.branches import lifted
from tracejit.frontend.control.kinds import as_machine
from tracejit.frontend.control.regions import Names, entered
from tracejit.frontend.control.unions import is_number, leaves_of, narrow
from tracejit.frontend.eager.operations import settled as in_program
from tracejit.frontend.tracing.concrete_trace import concrete_trace
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import (
    Identity,
    Static,
    TreeDef,
    flatten_state,
    is_constant,
    unflatten,
)
from tracejit.frontend.tracing.storage import Storage, set_effect_token
from tracejit.frontend.tracing.trace import Trace, here, user_line
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, lift, wrap
from tracejit.frontend.tracing.union import Union
from tracejit.ir.batching import batched_type, stretched
from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, NpScalar, Type, c_order, dtype_of
from tracejit.ops.array.complex_parts import Imag, Real
from tracejit.ops.array.indexing import Gather
from tracejit.ops.array.shape import BroadcastTo, Reshape, Slice, Transpose
from tracejit.transforms.api.arguments import kind_of
from tracejit.transforms.api.function import Transformed
from tracejit.transforms.api.primal import fresh_name, settled
from tracejit.transforms.batching.batch import batch_nodes

__all__ = ["Vmap", "count_leaves", "one_dtype"]

_VIEWS = (BroadcastTo, Gather, Imag, Real, Reshape, Slice, Transpose)
#: What is the same for all elements wherever it is given.
_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, np.ufunc, type, ModuleType)
_DIFFERS = "vmap: out_axes=None for a result that differs between elements"


class Vmap(Transformed):
    """A function of batches: its results for each element along the mapped axes, stacked."""

    transform = "vmap"

    def __init__(self, function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> None:
        super().__init__(function)
        self.in_axes, self.out_axes = in_axes, out_axes

    def record(
        self,
        interpreter: Interpreter,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        leaves, tree = flatten_state(tuple(map(narrow, (*args, *kwargs.values()))))
        axes = self._axes(args, kwargs, tree)
        given = [x if a is None else lift(x) for x, a in zip(leaves, axes, strict=True)]
        axes = [_axis(x, a) for x, a in zip(given, axes, strict=True)]
        size = _batch_size(given, axes)

        def called(lanes: Sequence[Any]) -> Any:
            parts = unflatten(tree, lanes, interpreter.allocate)
            named = dict(zip(kwargs, parts[len(args) :], strict=True))
            return settled(
                interpreter, interpreter.call(function, *parts[: len(args)], **named), one_dtype
            )

        if getattr(here().builder, "active", None) is not None:
            return self._one_by_one(interpreter, called, given, axes, size)
        batch = _Batch(here(), size)
        lanes = [x if a is None else batch.lane(x, a) for x, a in zip(given, axes, strict=True)]
        results, shape = batch.run(lanes, lambda found: self._results(called(found)))
        return unflatten(shape, results, interpreter.allocate)

    def _axes(self, args: Sequence[Any], kwargs: dict[str, Any], tree: TreeDef) -> list[int | None]:
        """The mapped axis of each leaf. Arguments given by name are mapped along axis 0."""
        spec = self.in_axes
        if isinstance(spec, (list, tuple)):
            if len(spec) != len(args):
                raise TypeError(f"vmap: {len(spec)} in_axes for {len(args)} arguments")
            parts = list(spec)
        else:
            parts = [spec] * len(args)
        parts += [0] * len(kwargs)
        out: list[int | None] = []
        for k, (part, node) in enumerate(zip(parts, tree.root[2], strict=True)):
            # There is no in_axes for what is given by name.
            same = k >= len(args) and not count_leaves(node) and _is_function(node)
            out += [] if same else _spread(part, node, "in_axes")
        return out

    def _results(self, result: Any) -> tuple[list[tuple[Tracer, int | None]], TreeDef]:
        leaves, tree = flatten_state(result)
        axes = _spread(self.out_axes, tree.root, "out_axes")
        return [(lift(x), a) for x, a in zip(leaves, axes, strict=True)], tree

    def _one_by_one(
        self,
        interpreter: Interpreter,
        called: Callable[[Sequence[Any]], Any],
        given: Sequence[Any],
        axes: Sequence[int | None],
        size: Dim,
    ) -> Any:
        """Where values are concrete: one call for each element, in order."""
        rows: list[list[tuple[Tracer, int | None]]] = []
        tree = None
        assert isinstance(size, int)
        if size == 0:
            raise TypeError("vmap of a batch of no elements is not run eagerly")
        for i in range(size):
            lanes = [
                x if a is None else x[(slice(None),) * a + (i,)]
                for x, a in zip(given, axes, strict=True)
            ]
            found, other = self._results(called(lanes))
            if tree is not None and other != tree:
                raise TypeError("vmap: elements give results of unlike structure, or other objects")
            tree = other
            rows.append(found)
        out = [
            _unlike_none([x for x, _ in column])
            if column[0][1] is None
            else np.stack([x for x, _ in column], axis=column[0][1])
            for column in zip(*rows, strict=True)
        ]
        assert tree is not None
        return unflatten(tree, out, interpreter.allocate)


def _unlike_none(lanes: Sequence[Tracer]) -> Any:
    """The one value that all elements give. Raises TypeError where they differ."""
    trace = concrete_trace()
    assert trace is not None
    first, *rest = [trace.concrete(x.value()) for x in lanes]
    if not all(np.array_equal(first, x, equal_nan=True) for x in rest):
        raise TypeError(_DIFFERS)
    return in_program(trace, lanes[0])


def _spread(part: Any, node: Any, what: str) -> list[int | None]:
    """An axis, or a container of axes, for every leaf of a tree. Raises TypeError."""
    if part is None or type(part) is int:
        for x in _constants(node) if part is not None else ():
            verb = "map over" if what == "in_axes" else "stack results along"
            raise TypeError(
                f"vmap: {kind_of(x)} has no axis {part} to {verb}; give {what}=None for it"
            )
        return [part] * count_leaves(node)
    children = node[2] if isinstance(node, tuple) else ()
    if isinstance(part, dict) and isinstance(node, tuple) and node[0] is dict:
        parts = [part.get(getattr(k, "value", k)) for k in node[1]]
    elif isinstance(part, (list, tuple)) and len(part) == len(children):
        parts = list(part)
    else:
        raise TypeError(f"vmap: {what}={part!r} does not fit what it is given")
    return [
        axis for p, child in zip(parts, children, strict=True) for axis in _spread(p, child, what)
    ]


def _constants(node: Any) -> Iterator[Any]:
    """What a tree has in the place of leaves, and is no None."""
    if isinstance(node, tuple):
        for child in node[2]:
            yield from _constants(child)
    elif isinstance(node, Identity):
        yield node.get()
    elif isinstance(node, Static) and node.value is not None:
        yield node.value


def _is_function(node: Any) -> bool:
    """Whether a part of a tree is a text or another constant, or a function, class or module."""
    return all(is_constant(x) or isinstance(x, _FUNCTIONS) for x in _constants(node))


def count_leaves(node: Any) -> int:
    """The number of leaves below a node of a tree."""
    if isinstance(node, tuple):
        return sum(map(count_leaves, node[2]))
    return int(isinstance(node, str))


def _axis(x: Any, axis: int | None) -> int | None:
    """The mapped axis of an array, counted from the front. Raises TypeError."""
    if axis is None:
        return None
    if not isinstance(x, TracedArray) or not -x.ndim <= axis < x.ndim:
        kind = f"an array of {x.ndim} axes" if isinstance(x, TracedArray) else f"{x.type}"
        raise TypeError(f"vmap: {kind} has no axis {axis} to map over; give in_axes=None for it")
    return axis % x.ndim


def _batch_size(given: Sequence[Any], axes: Sequence[int | None]) -> Dim:
    """The size of the mapped axes. Raises TypeError, and ValueError where they differ."""
    env = here().env
    size: Dim | None = None
    for x, a in zip(given, axes, strict=True):
        if a is None:
            continue
        d = x.type.shape[a]
        if size is not None and not env.expect(size, "==", d):
            raise ValueError(f"vmap: the mapped axes have the sizes {size} and {d}")
        size = d if size is None or isinstance(d, int) else size
    if size is None:
        raise TypeError("vmap takes at least one argument with an axis to map over")
    return size


def one_dtype(interpreter: Interpreter, x: Union) -> Any:
    """A union between numbers of one dtype, which arrays hold alike, as one NumPy scalar."""
    leaves = list(leaves_of(x))
    if not all(map(is_number, leaves)) or len({dtype_of(lift(n).type) for n in leaves}) > 1:
        raise TraceError("TJ031", "a result that is of one of several kinds", user_line())
    return lifted(interpreter, lambda leaf: wrap(here(), as_machine(leaf)), x)


class _Batch:
    """A call for one element, recorded in a region and then for all of them."""

    def __init__(self, trace: Trace, size: Dim) -> None:
        self.trace, self.size = trace, size
        self.c = DerivativeBuilder(trace.builder, fresh_name(trace))
        self.region = Trace(f"{trace.builder.name}_lane", trace.env, trace)
        #: Inputs of the region -> what they are for all elements.
        self.table: dict[Value, tuple[Value, bool]] = {}
        #: Inputs of the region -> the arrays whose elements they are, and along which axes.
        self.mapped: dict[Value, tuple[TracedArray, int]] = {}

    def lane(self, x: Any, axis: int) -> Value:
        """What stands in the region for one element of the array `x` along an axis."""
        t, c = x.type, self.c
        rest = tuple(k for k in range(t.ndim) if k != axis)
        shape = tuple(t.shape[k] for k in rest)
        lane: Type = ArrayType(t.dtype, shape, c_order(len(shape))) if shape else NpScalar(t.dtype)
        whole = c.laid_out(c.transpose(x.value(), (axis, *rest)), batched_type(lane, self.size))
        value = self.region.builder.input(lane)
        self.table[value] = whole, True
        self.mapped[value] = x, axis
        return value

    def run(
        self,
        lanes: Sequence[Any],
        call: Callable[[Sequence[Any]], tuple[list[tuple[Tracer, int | None]], TreeDef]],
    ) -> tuple[list[Tracer], TreeDef]:
        """The results for all elements, and the containers around them.

        `lanes` are values of the region, and what is the same for all.
        """
        trace, region = self.trace, self.region
        with entered(region, Names((), ())) as side:
            inner = [wrap(region, x) if isinstance(x, Value) else x for x in lanes]
            found, tree = call(inner)
            values = [(x.value(), a) for x, a in found]
            stores = [
                (*self.mapped[lane], x.value())
                for lane, x in zip(lanes, inner, strict=True)
                if isinstance(lane, Value) and isinstance(x, TracedArray) and x.storage.written
            ]
        effects = trace.root.effects
        if side.changed or side.clobbered or any(storage is not effects for storage in side.stored):
            raise TraceError(
                "TJ005", "a function under vmap stores into what is not its own", user_line()
            )
        self._require_apart([x for x, _, _ in stores], lanes)
        self.table |= {inner: (outer, False) for outer, inner in region.captures.items()}
        wanted = [v for v, _ in values] + [v for _, _, v in stores] + list(side.stored.values())
        try:
            batch_nodes(self.c, region.builder.nodes, self.table, self.size, wanted)
        except Unbatchable as e:
            raise TraceError("TJ004", f"vmap: {e}", user_line()) from None
        for v in side.stored.values():
            set_effect_token(trace, self.table[v][0])
        out = [self._stacked(v, a) for v, a in values]
        for x, axis, v in stores:
            x.store(self._stacked(v, axis).value())
        return out, tree

    def _require_apart(self, stored: Sequence[TracedArray], lanes: Sequence[Any]) -> None:
        """Raise TraceError where an array whose elements are stored into has a second name."""
        given = [self.mapped[x][0] if isinstance(x, Value) else x for x in lanes]
        storages = [x.storage.roots() for x in given if isinstance(x, TracedArray)]
        for x in stored:
            names = sum(bool(x.storage.roots() & roots) for roots in storages)
            if names > 1 or contents(self.trace, x.storage) & set(self.region.captures):
                raise TraceError(
                    "TJ005", "an argument that is mapped over, and read under another name"
                )

    def _stacked(self, v: Value, axis: int | None) -> Tracer:
        """A result with the batch axis where it is to be."""
        whole, flag = self.table[v]
        c = self.c
        if axis is None:
            if flag:
                raise TypeError(_DIFFERS)
            return wrap(self.trace, whole)
        if not flag:
            whole = stretched(c, whole, self.size)
        t = whole.type
        assert isinstance(t, ArrayType)
        place = axis + t.ndim if axis < 0 else axis
        if not 0 <= place < t.ndim:
            raise TypeError(f"vmap: out_axes={axis} for a result of {t.ndim} axes")
        axes = [*range(1, t.ndim)]
        axes.insert(place, 0)
        return wrap(self.trace, c.transpose(whole, axes))


def contents(trace: Trace, storage: Storage) -> set[Value]:
    """The values of a trace that are what a storage holds, or views of it."""
    if storage.holder is trace:
        found = {storage.value}
    elif trace.parent is None:
        return set()
    else:
        outer = contents(trace.parent, storage)
        found = {inner for v, inner in trace.captures.items() if v in outer}
    for node in trace.builder.nodes:
        if isinstance(node.op, _VIEWS) and node.inputs[0] in found:
            found.update(node.outputs)
    return found

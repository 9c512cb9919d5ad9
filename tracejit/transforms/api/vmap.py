"""Functions of single elements made functions of batches: `vmap`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from tracejit.errors import TraceError, Unbatchable
from tracejit.frontend.control.branches import lifted
from tracejit.frontend.control.kinds import as_machine
from tracejit.frontend.control.regions import Names, Side, entered
from tracejit.frontend.control.unions import is_number, leaves_of, narrow
from tracejit.frontend.eager.operations import settled as in_program
from tracejit.frontend.python.tree_paths import paths
from tracejit.frontend.python.trees import (
    Carried,
    Leaf,
    Structure,
    flattened,
    rebuilt,
    walk,
)
from tracejit.frontend.tracing.concrete_trace import concrete_trace
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.memory.storage import Storage, set_effect_token
from tracejit.frontend.tracing.pytree import is_constant
from tracejit.frontend.tracing.raised import Raised, TracedError
from tracejit.frontend.tracing.text import TracedText
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
from tracejit.transforms.api.axes import Axes, frozen
from tracejit.transforms.api.function import Transformed, argument_name
from tracejit.transforms.api.primal import fresh_name, settled
from tracejit.transforms.batching.batch import batch_nodes

__all__ = ["Vmap"]

_VIEWS = (BroadcastTo, Gather, Imag, Real, Reshape, Slice, Transpose)
#: What is the same for all elements wherever it is given.
_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, np.ufunc, type, ModuleType)
#: What is made of traced numbers, and is none itself.
_TRACED = (TracedText, TracedError, Raised)
_DIFFERS = "vmap: out_axes=None for a result that differs between elements"


class Vmap(Transformed):
    """A function of batches: its results for each element along the mapped axes, stacked."""

    transform = "vmap"

    def __init__(self, function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> None:
        super().__init__(function)
        self.in_axes, self.out_axes = frozen(in_axes), frozen(out_axes)

    def record(
        self,
        interpreter: Interpreter,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        given = list(map(narrow, (*args, *kwargs.values())))
        places, structure, leaves, axes = self._mapped(interpreter, given, len(args))
        leaves = [x if a is None else lift(x) for x, a in zip(leaves, axes, strict=True)]
        axes = [_axis(x, a) for x, a in zip(leaves, axes, strict=True)]
        size = _batch_size(leaves, axes, lambda k: _named(function, places, paths(structure)[k]))
        replaced = {k for k, a in enumerate(axes) if a is not None}

        def called(lanes: Sequence[Any]) -> Any:
            made: list[Any] = []
            parts = rebuilt(structure, lanes, interpreter, replaced, made)
            before = [(x, contents_of(x)) for x in made]
            new = dict(zip(places, parts, strict=True))
            x = [new.get(k, x) for k, x in enumerate(given)]
            named = dict(zip(kwargs, x[len(args) :], strict=True))
            found = interpreter.call(function, *x[: len(args)], **named)
            for x, held in before:
                _require_unchanged(x, held)
            return settled(interpreter, found, _one_dtype)

        def results(lanes: Sequence[Any]) -> _Results:
            return _Results(interpreter, called(lanes), self.out_axes)

        if concrete_trace() is not None:
            return _one_by_one(interpreter, results, leaves, axes, size)
        batch = _Batch(here(), size)
        lanes = [x if a is None else batch.lane(x, a) for x, a in zip(leaves, axes, strict=True)]
        return batch.run(interpreter, lanes, results)

    def _mapped(
        self, interpreter: Interpreter, given: Sequence[Any], positional: int
    ) -> tuple[list[int], Structure, list[Any], list[int | None]]:
        """The arguments that are mapped over: their places, structure, leaves and axes.

        Those given by name are mapped along axis 0.
        """
        spec = self.in_axes
        if isinstance(spec, tuple):
            if len(spec) != positional:
                raise TypeError(f"vmap: {len(spec)} in_axes for {positional} arguments")
            parts = [*spec]
        else:
            parts = [spec] * positional
        parts += [0] * (len(given) - positional)
        # There is no in_axes for what is given by name.
        places = [
            k
            for k, (x, part) in enumerate(zip(given, parts, strict=True))
            if part is not None and not (k >= positional and _is_same(x))
        ]
        leaves, structure = flattened(tuple(given[k] for k in places), interpreter, values=True)
        axes = Axes(leaves, "in_axes")
        for k, node in zip(places, structure.root.parts, strict=True):
            axes.spread(parts[k], node)
        return places, structure, leaves, axes.found


def _is_same(x: Any) -> bool:
    """Whether an argument is a text or another constant, or a function, class or module."""
    number = isinstance(x, (bool, int, float, complex))
    return is_constant(x) and not number or isinstance(x, _FUNCTIONS)


def _require_unchanged(x: Any, held: Any) -> None:
    """Raise TypeError where a container or an object for one element is not what it was."""
    now = contents_of(x)
    parts = [dict(enumerate(c)) if type(c) is list else c for c in (held, now)]
    for key in dict.fromkeys((*parts[0], *parts[1])):
        if parts[0].get(key, held) is not parts[1].get(key, held):
            attribute = not isinstance(x, (list, dict))
            part = f"attribute {key}" if attribute else f"entry {key!r}"
            raise TypeError(
                f"vmap: the function changes the {part} of {kind_of(x)} that is mapped over; "
                "let it return what changes, or give in_axes=None"
            )


class _Results:
    """What a function gives for one element, taken apart."""

    def __init__(self, interpreter: Interpreter, result: Any, spec: Any) -> None:
        leaves, self.structure = flattened(result, interpreter, values=True)
        axes = Axes(leaves, "out_axes")
        axes.spread(spec, self.structure.root)
        own = {n.number for n in walk(self.structure.root) if isinstance(n, Leaf) and n.in_object}
        self.given, self.leaves, self.axes = leaves, list(map(lift, leaves)), axes.found
        #: Those that are numbers of an object.
        self.settings = {k for k in own if not isinstance(self.leaves[k], TracedArray)}
        for node in walk(self.structure.root):
            if isinstance(node, Carried) and isinstance(node.value, _TRACED):
                raise TypeError(f"vmap: {kind_of(node.value)} that differs between elements")


def _one_by_one(
    interpreter: Interpreter,
    results: Callable[[Sequence[Any]], _Results],
    given: Sequence[Any],
    axes: Sequence[int | None],
    size: Dim,
) -> Any:
    """Where values are concrete: one call for each element, in order."""
    rows: list[_Results] = []
    assert isinstance(size, int)
    if size == 0:
        raise TypeError("vmap of a batch of no elements is not run eagerly")
    for i in range(size):
        lanes = [
            x if a is None else x[(slice(None),) * a + (i,)]
            for x, a in zip(given, axes, strict=True)
        ]
        rows.append(results(lanes))
        if rows[-1].structure != rows[0].structure:
            raise TypeError("vmap: elements give results of unlike structure, or other objects")
    out: list[Any] = []
    replaced = set()
    for k, axis in enumerate(rows[0].axes):
        given, column = rows[0].given[k], [row.leaves[k] for row in rows]
        same = size > 1 and all(row.given[k] is given for row in rows)
        if same and (axis is None or k in rows[0].settings):
            out.append(given)
            continue
        replaced.add(k)
        out.append(
            _unlike_none(column) if axis is None else interpreter.call(np.stack, column, axis=axis)
        )
    return rebuilt(rows[0].structure, out, interpreter, replaced)


def _unlike_none(lanes: Sequence[Tracer]) -> Any:
    """The one value that all elements give. Raises TypeError where they differ."""
    trace = concrete_trace()
    assert trace is not None
    first, *rest = [trace.concrete(x.value()) for x in lanes]
    if not all(np.array_equal(first, x, equal_nan=True) for x in rest):
        raise TypeError(_DIFFERS)
    return in_program(trace, lanes[0])


def _axis(x: Any, axis: int | None) -> int | None:
    """The mapped axis of an array, counted from the front. Raises TypeError."""
    if axis is None:
        return None
    if not isinstance(x, TracedArray) or not -x.ndim <= axis < x.ndim:
        kind = f"an array of {x.ndim} axes" if isinstance(x, TracedArray) else f"{x.type}"
        raise TypeError(f"vmap: {kind} has no axis {axis} to map over; give in_axes=None for it")
    return axis % x.ndim


def _named(function: Callable[..., Any], places: Sequence[int], path: str) -> str:
    """What a message calls a part of the arguments at `places`, from its path in their tuple."""
    number, _, rest = path[1:].partition("]")
    return argument_name(function, places[int(number)]) + rest


def _batch_size(
    given: Sequence[Any], axes: Sequence[int | None], name: Callable[[int], str]
) -> Dim:
    """The size of the mapped axes. Raises TypeError, and ValueError where they differ.

    `name` gives what a message calls one of those given.
    """
    env = here().env
    size: Dim | None = None
    for k, (x, a) in enumerate(zip(given, axes, strict=True)):
        if a is None:
            continue
        d = x.type.shape[a]
        if size is not None and not env.expect(size, "==", d):
            raise ValueError(f"vmap: the mapped axes have the sizes {size} and {d}, of {name(k)}")
        size = d if size is None or isinstance(d, int) else size
    if size is None:
        raise TypeError("vmap takes at least one argument with an axis to map over")
    return size


def _one_dtype(interpreter: Interpreter, x: Union) -> Any:
    """A union between numbers of one dtype, which arrays hold alike, as one NumPy scalar."""
    leaves = list(leaves_of(x))
    if not all(map(is_number, leaves)) or len({dtype_of(lift(n).type) for n in leaves}) > 1:
        raise TraceError("TJ031", "a result that is of one of several kinds", user_line())
    return lifted(interpreter, lambda leaf: wrap(here(), as_machine(leaf)), x)


def _changed(side: Side) -> list[Any]:
    """What a region has changed and left so: a gradient by an object puts back what it holds."""
    pairs = [(x, side.region.changed[key][1], now) for key, (x, now) in side.changed.items()]
    return [x for x, before, now in pairs if not _is_same_contents(before, now)]


def _is_same_contents(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return list(a) == list(b) and all(a[k] is b[k] for k in a)
    return isinstance(a, list) and len(a) == len(b) and all(map(operator.is_, a, b))


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
        interpreter: Interpreter,
        lanes: Sequence[Any],
        results: Callable[[Sequence[Any]], _Results],
    ) -> Any:
        """The results for all elements.

        `lanes` are values of the region, and what is the same for all.
        """
        trace, region = self.trace, self.region
        with entered(region, Names((), ())) as side:
            inner = [wrap(region, x) if isinstance(x, Value) else x for x in lanes]
            found = results(inner)
            outside = [not region.encloses(x.trace) for x in found.leaves]
            values = [x.value() for x in found.leaves]
            stores = [
                (*self.mapped[lane], x.value())
                for lane, x in zip(lanes, inner, strict=True)
                if isinstance(lane, Value) and isinstance(x, TracedArray) and x.storage.written
            ]
        effects = trace.root.effects
        changed = _changed(side)
        if changed or side.clobbered or any(storage is not effects for storage in side.stored):
            what = kind_of(changed[0]) if changed else "an array"
            raise TraceError(
                "TJ005", f"a function under vmap changes {what} that is not its own", user_line()
            )
        self._require_apart([x for x, _, _ in stores], lanes)
        self.table |= {inner: (outer, False) for outer, inner in region.captures.items()}
        wanted = [*values, *(v for _, _, v in stores), *side.stored.values()]
        try:
            batch_nodes(self.c, region.builder.nodes, self.table, self.size, wanted)
        except Unbatchable as e:
            raise TraceError("TJ004", f"vmap: {e}", user_line()) from None
        for v in side.stored.values():
            set_effect_token(trace, self.table[v][0])
        out: list[Any] = []
        replaced = set()
        for k, (x, v, axis) in enumerate(zip(found.leaves, values, found.axes, strict=True)):
            if outside[k] and (axis is None or k in found.settings):
                out.append(x)
            else:
                out.append(self._stacked(v, axis))
                replaced.add(k)
        for x, axis, v in stores:
            x.store(self._stacked(v, axis).value())
        return rebuilt(found.structure, out, interpreter, replaced)

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

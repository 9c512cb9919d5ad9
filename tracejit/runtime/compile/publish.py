"""What a call must check becomes the spec of a native entry, for one form of the call.

The spec holds the call to all that the Python path holds it to: the tree of the arguments by
position and name, the leaves by their own rules, and what the trace has captured. Names, cells,
defaults, codes, attributes, classes and items are checked by machine code. Where anything else was
captured, such as what a class holds, the entry calls `Capture.reread`.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Sequence
from types import FunctionType, MemberDescriptorType, MethodType
from typing import Any, NoReturn, TypeAlias

from tracejit.frontend.capture import reads as at
from tracejit.frontend.capture.captured import Call, Step
from tracejit.frontend.capture.values import MISSING, Capture
from tracejit.frontend.tracing.packed import PackedList
from tracejit.frontend.tracing.pytree import LEAF, UNREAD, Identity, Static, TreeDef
from tracejit.methods import METHODS
from tracejit.ops.host.exchange import exchanges
from tracejit.own_attributes import place
from tracejit.runtime import native
from tracejit.runtime.call.binding import Form, Positions
from tracejit.runtime.call.entry_spec import (
    AbsentLeaf,
    AddressLeaf,
    DictLeaf,
    EntrySpec,
    InstanceLeaf,
    Leaf,
    OutLeaf,
    OwnLeaf,
    SequenceLeaf,
    StaticLeaf,
    WatchedLeaf,
)
from tracejit.runtime.call.sources import (
    AttributeSource,
    CellContents,
    CellSource,
    ClassField,
    DictItem,
    ElementSource,
    FunctionField,
    GlobalSource,
    MethodFunction,
    ObjectSource,
    PackedSource,
    Positional,
    RereadItem,
    Source,
    TupleItem,
    TypeSource,
)
from tracejit.runtime.compile.results import direct_results, make_results
from tracejit.runtime.compile.stages import Lowered, Traced
from tracejit.runtime.compile.variant import Variant, compile_variant
from tracejit.runtime.entries.watch import watch
from tracejit.runtime.native.distinct import MOST

__all__ = ["call_spec", "compile_and_publish", "publish"]

#: Entries that one function publishes: a call that fits none of them has tried them all.
_ENTRIES = 48

# Flags of classes that nothing can change (CPython's object.h).
_IMMUTABLE, _HEAP_TYPE = 1 << 8, 1 << 9

_Checked: TypeAlias = tuple[Source, Leaf]


class _PythonOnly(Exception):
    """Something that no machine code is written for."""


def _python_only() -> NoReturn:
    raise _PythonOnly


def compile_and_publish(
    owner: Any, lowered: Lowered, arguments: TreeDef, form: Form, places: Positions
) -> Variant:
    """A new variant; calls of `owner` of this form are answered natively if they can be.

    Raises TraceError for what has no native code.
    """
    spec = None
    if not lowered.captures_arrays:
        spec = _spec(owner, lowered.spec, lowered.traced, arguments, form, places)
    name = f"{lowered.name}_entry"
    variant = compile_variant(lowered, arguments, spec, name)
    variant.forms.add(form)
    if spec is not None:
        native.append_entry(owner, variant.library, name, spec)
        variant.call_spec = spec
        variant.first = native.flat_callable(variant.library, name, spec, owner)
    return variant


def publish(owner: Any, variant: Variant, form: Form, places: Positions) -> None:
    """Let calls of one more form, for which a variant was found, be answered natively."""
    variant.forms.add(form)
    if variant.dress is not None or variant.library is None:
        return
    spec = _spec(owner, variant.spec, variant.traced, variant.arguments, form, places)
    if spec is not None:
        name = f"{variant.name}_entry{len(variant.forms)}"
        native.append_entry(owner, variant.link(spec, name), name, spec)


def _spec(
    owner: Any, flat: EntrySpec, traced: Traced, arguments: TreeDef, form: Form, places: Positions
) -> EntrySpec | None:
    if not native.available() or len(owner._entries) >= _ENTRIES or exchanges(traced.graph):
        return None
    spec = call_spec(flat, arguments, traced.capture, form, places)
    results = make_results(traced)
    if spec is None or results is None:
        return spec
    known = {id(leaf): number for number, (_, leaf) in enumerate(spec.leaves)}
    # An address is another leaf there, and no result.
    numbers = [known.get(id(leaf), -1) for _, leaf in flat.leaves]
    direct = direct_results(traced, flat.outputs, dict(enumerate(numbers)))
    if direct is not None:
        return dataclasses.replace(spec, **direct._asdict())
    leaves = tuple(OutLeaf(numbers[k]) for k in results.leaves)
    return dataclasses.replace(spec, outputs=(*flat.outputs, *leaves), finish=results.finish)


def call_spec(
    flat: EntrySpec, arguments: TreeDef, capture: Capture | None, form: Form, places: Positions
) -> EntrySpec | None:
    """The spec of an entry for calls of a form, or None where they must go through Python.

    `flat` is the spec of the leaves: those of the arguments, then what was captured. `places` tells
    where the arguments of such a call are in the tree.
    """
    given = _Arguments(flat)
    try:
        given.read(arguments, places)
    except _PythonOnly:
        return None
    inputs = [leaf for _, leaf in flat.leaves[arguments.count :]]
    leaves = given.leaves
    reread: Callable[[], tuple[Any, ...] | None] | None = None
    if capture is not None:
        try:
            captured = _Captured(capture, given)
            leaves = leaves + captured.read(inputs)
            given.mutable += [source for source in captured.distinct if source not in given.mutable]
        except _PythonOnly:
            if capture.reads_leaves:
                return None
            reread = _values(capture)
            leaves = leaves + [(RereadItem(k), leaf) for k, leaf in enumerate(inputs)]
    return dataclasses.replace(
        flat,
        leaves=tuple(leaves),
        nargs=form[0],
        keywords=form[1],
        reread=reread,
        distinct=tuple(given.mutable),
    )


def _values(capture: Capture) -> Callable[[], tuple[Any, ...] | None]:
    def values() -> tuple[Any, ...] | None:
        found = capture.reread(Call((), ((), {})))
        return None if isinstance(found, str) else tuple(found)

    return values


class _Arguments:
    """The checks for the tree of a call's arguments."""

    def __init__(self, flat: EntrySpec) -> None:
        self.leaves: list[_Checked] = []
        #: Where objects are that are known by identity.
        self.objects: dict[int, Source] = {}
        #: Containers that must not occur twice.
        self.mutable: list[Source] = []
        #: Where the leaves are that the flat entry takes.
        self.flat: list[Source] = []
        #: Where each part of the arguments is, by its path in (args, kwargs).
        self.by_path: dict[tuple[tuple[bool, Any], ...], Source] = {}
        self._flat = (leaf for _, leaf in flat.leaves)

    def read(self, arguments: TreeDef, places: Positions) -> None:
        """Fill the tables. Raises _PythonOnly."""
        _, _, ((_, _, positional), (_, names, named)) = arguments.root
        for k, (index, node) in enumerate(zip(places.positional, positional, strict=True)):
            self._node(Positional(index), node, ((False, 0), (False, k)))
        by_name = dict(places.named)
        for name, node in zip(names, named, strict=True):
            path = ((False, 1), (False, name.value))
            self._node(Positional(by_name[name.value]), node, path)

    def _node(self, source: Source, node: Any, path: tuple[tuple[bool, Any], ...]) -> None:
        self.by_path[path] = source
        if node is LEAF:
            self.flat.append(source)
            self.leaves.append((source, next(self._flat)))
        elif isinstance(node, Static) and isinstance(node.value, (slice, range)):
            # Each call makes its own: no two are one object.
            self.leaves.append((TypeSource(source), StaticLeaf(type(node.value))))
            for name in ("start", "stop", "step"):
                leaf = StaticLeaf(getattr(node.value, name))
                self.leaves.append((AttributeSource(source, name), leaf))
        elif isinstance(node, Static):
            if node.value is not UNREAD:
                self.leaves.append((source, StaticLeaf(node.value)))
        elif isinstance(node, Identity):
            obj = node.get()
            self.objects[id(obj)] = source
            # What knows no weak references is kept by the tree, too.
            kept = not isinstance(node.get, weakref.ref) and type(obj) not in METHODS
            self.leaves.append((source, StaticLeaf(obj) if kept else _weakly(obj)))
        else:
            self._container(source, path, *node)

    def _container(self, source: Source, path: Any, cls: Any, keys: Any, children: Any) -> None:
        if isinstance(cls, PackedList):
            self.mutable.append(source)
            for k, child in enumerate(children):
                self._node(PackedSource(source, cls.form, k), child, (*path, (False, k)))
            return
        if dataclasses.is_dataclass(cls):
            self._dataclass(source, path, cls, keys, children)
            return
        if cls is dict:
            if not all(isinstance(key, Static) for key in keys):
                raise _PythonOnly
            self.leaves.append((source, DictLeaf(tuple(key.value for key in keys))))
        elif cls is list or issubclass(cls, tuple) and not keys:
            self.leaves.append((source, SequenceLeaf(cls, len(children))))
        else:
            raise _PythonOnly
        if cls is dict or cls is list:
            self.mutable.append(source)
        for index, child in enumerate(children):
            key = keys[index].value if keys else index
            self._node(ElementSource(source, index), child, (*path, (False, key)))

    def _dataclass(self, source: Source, path: Any, cls: Any, names: Any, children: Any) -> None:
        self.leaves += dataclass_checks(source, cls, names)
        self.mutable.append(source)
        for name, child in zip(names, children, strict=True):
            self._node(AttributeSource(source, name), child, (*path, (True, name)))


def dataclass_checks(source: Source, cls: type, names: tuple[str, ...]) -> list[_Checked]:
    """The checks of an instance of a dataclass with all its fields. Raises _PythonOnly."""
    slots = [isinstance(getattr(cls, name, None), MemberDescriptorType) for name in names]
    all_set = tuple(f.name for f in dataclasses.fields(cls)) == names
    if not all_set or cls.__dictoffset__ and any(slots):
        raise _PythonOnly
    checks: list[_Checked] = [(TypeSource(source), _weakly(cls))]
    if cls.__dictoffset__:
        # An instance that has more attributes is known by identity instead.
        leaf = own_leaf(cls, names)
        if leaf is None:
            own = AttributeSource(source, "__dict__")
            checks.append((own, DictLeaf(names, ordered=False)))
        else:
            checks.append((source, leaf))
    return checks


def own_leaf(cls: type, names: tuple[str, ...], lacks: bool = False) -> OwnLeaf | None:
    """The check of what an instance has itself; None where only its dict tells."""
    places = [place(cls, name) for name in names]
    known = tuple(p for p in places if p is not None)
    if not known or len(known) < len(names):
        return None
    return OwnLeaf(watch(cls), names, known, lacks)


def _weakly(obj: Any) -> WatchedLeaf:
    """A check for an object, which must not be kept alive for it."""
    try:
        return WatchedLeaf(watch(obj))
    except TypeError:
        raise _PythonOnly from None


class _Captured:
    """The checks of all that `Capture.reread` checks, in its order."""

    def __init__(self, capture: Capture, arguments: _Arguments) -> None:
        self._capture = capture
        self._arguments = arguments
        #: What each step reads, or None for what is always there.
        self._sources: list[Source | None] = []
        self._checks: list[_Checked] = []
        self._classes: set[type] = set()
        #: Objects that must be pairwise different.
        self.distinct: list[Source] = []

    def read(self, inputs: list[Leaf]) -> list[_Checked]:
        """The checks, and the captured inputs among them. Raises _PythonOnly."""
        capture, checks = self._capture, self._checks
        for namespace, name, value in capture.bindings:
            leaf = AbsentLeaf() if value is MISSING else StaticLeaf(value)
            checks.append((GlobalSource(namespace, name), leaf))
        for get, code in capture.codes:
            checks.append((FunctionField(_object(get), "code"), StaticLeaf(code)))
        order = [source.index for source in capture.inputs]
        remaining = dict(zip(order, inputs, strict=True))
        # The program's slots follow each other as its inputs do.
        taken = [k for k, leaf in remaining.items() if not isinstance(leaf, InstanceLeaf)]
        if taken != sorted(taken):
            raise _PythonOnly
        for index, step in enumerate(capture.steps, 1):
            if isinstance(step.check, at.Distinct):
                self._note_distinct(step.check.numbers)
                self._sources.append(None)
                continue
            source = self._source(step)
            self._sources.append(source)
            if source is None:
                continue
            if isinstance(step.read, at.AddressRead):
                checks.append((source, AddressLeaf()))
                continue
            if index in remaining:
                checks.append((source, remaining[index]))
            if isinstance(step.check, at.OfClass) and index in remaining:
                continue
            if isinstance(step.check, at.BoundTo):
                checks.append((TypeSource(source), StaticLeaf(MethodType)))
                checks.append((MethodFunction(source), _weakly(step.check.function)))
            elif isinstance(step.check, at.OfCode):
                checks.append((TypeSource(source), StaticLeaf(FunctionType)))
                checks.append((FunctionField(source, "code"), StaticLeaf(step.check.code)))
                checks.append((FunctionField(source, "globals"), StaticLeaf(step.check.namespace)))
            elif isinstance(step.check, at.HasFields):
                checks += dataclass_checks(source, step.check.cls, step.check.names)
            else:
                checks.append((source, self._leaf(step)))
        return checks

    def _source(self, step: Step) -> Source | None:
        read = step.read
        if isinstance(read, at.GlobalRead):
            return GlobalSource(read.namespace, read.name)
        if isinstance(read, at.CellRead):
            return CellSource(read.cell)
        if isinstance(read, at.ObjectRead):
            # The object that the reference gives is the one it gave: only its death can show.
            if isinstance(read.get, weakref.ref):
                known = self._arguments.objects.get(id(read.get()))
                return known or _object(read.get)
            return None
        if isinstance(read, at.ArgumentRead):
            return self._arguments.by_path.get(read.path) or _python_only()
        if isinstance(read, at.LeafRead):
            return self._arguments.flat[read.index]
        if isinstance(read, at.DefaultRead):
            return self._default(step.parent, read.key)
        parent = self._sources[step.parent - 1] if step.parent else None
        if parent is None:
            raise _PythonOnly
        if isinstance(read, at.AddressRead):
            return parent
        if isinstance(read, at.AttributeRead):
            return AttributeSource(parent, read.name)
        if isinstance(read, at.PackedRead):
            return PackedSource(parent, read.form, read.column)
        if isinstance(read, at.ClosureRead):
            cells = FunctionField(parent, "closure")
            return CellContents(TupleItem(cells, read.index - read.count))
        if isinstance(read, at.ItemRead):
            return ElementSource(parent, self._position(step.parent, read.key))
        if read is type:
            return TypeSource(parent)
        if isinstance(read, at.ClassRead):
            return self._in_class(self._object_at(step.parent), read)
        if isinstance(read, at.ClassHas):
            return self._in_class(self._object_at(step.parent), read)
        if isinstance(read, at.OwnRead):
            return self._own(parent, self._class_at(step.parent), read.name)
        raise _PythonOnly

    def _object_at(self, number: int) -> Any:
        """The object that a step finds by identity."""
        check = self._capture.steps[number - 1].check
        obj = check.get() if isinstance(check, at.SameAs) else None
        if obj is None:
            raise _PythonOnly
        return obj

    def _class_at(self, number: int) -> type:
        """The class of the object that a step finds."""
        check = self._capture.steps[number - 1].check
        return check.cls if isinstance(check, at.OfClass) else type(self._object_at(number))

    def _note_distinct(self, numbers: Sequence[int]) -> None:
        if len(numbers) > MOST:
            raise _PythonOnly
        for k in numbers:
            source = self._sources[k - 1]
            if source is None:
                raise _PythonOnly
            if source not in self.distinct:
                self.distinct.append(source)

    def _in_class(self, cls: type, read: at.ClassRead | at.ClassHas) -> Source | None:
        """What the dict of one of the classes holds; the dicts before it must not have the name."""
        if cls not in self._classes:
            self._classes.add(cls)
            bases = ClassField(ObjectSource(watch(cls)), "mro")
            self._checks.append((bases, SequenceLeaf(tuple, len(cls.__mro__))))
            for index, base in enumerate(cls.__mro__):
                self._checks.append((ElementSource(bases, index), WatchedLeaf(watch(base))))
        after = read.after if isinstance(read, at.ClassRead) else None
        first = 0 if after is None else cls.__mro__.index(after) + 1
        for base in cls.__mro__[first:]:
            found = read.name in base.__dict__
            if base.__flags__ & _IMMUTABLE or not base.__flags__ & _HEAP_TYPE:
                if found:
                    return None
                continue
            source = DictItem(ClassField(ObjectSource(watch(base)), "dict"), read.name)
            if found:
                return source
            self._checks.append((source, AbsentLeaf()))
        if isinstance(read, at.ClassHas):
            return None
        raise _PythonOnly

    def _own(self, parent: Source, cls: type, name: str) -> Source | None:
        """Where an object would have an attribute of its own."""
        if not cls.__dictoffset__:
            return None
        leaf = own_leaf(cls, (name,), lacks=True)
        if leaf is not None:
            self._checks.append((parent, leaf))
            return None
        own = AttributeSource(parent, "__dict__")
        self._checks.append((TypeSource(own), StaticLeaf(dict)))
        return DictItem(own, name)

    def _default(self, parent: int, key: int | str) -> Source:
        owner = self._capture.steps[parent - 1].check
        function: Source | None = None
        if isinstance(owner, at.OfCode):
            function = self._sources[parent - 1]
        elif isinstance(owner, at.SameAs) and type(owner.get()) is FunctionType:
            # Being the very function, it can be looked at without going there.
            function = _object(owner.get)
        if function is None:
            raise _PythonOnly
        if isinstance(key, str):
            return DictItem(FunctionField(function, "kwdefaults"), key)
        return TupleItem(FunctionField(function, "defaults"), key)

    def _position(self, parent: int, key: Any) -> int:
        container = self._capture.steps[parent - 1].check
        if isinstance(container, at.HasSize) and type(key) is int:
            return key
        if isinstance(container, at.HasKeys):
            for index, known in enumerate(container.keys):
                if known is key:
                    return index
        raise _PythonOnly

    def _leaf(self, step: Step) -> Leaf:
        check = step.check
        if isinstance(check, at.OfClass):
            return InstanceLeaf(watch(check.cls))
        if isinstance(check, at.EqualTo):
            return StaticLeaf(check.value)
        if isinstance(check, at.SameAs):
            # An object that the capture itself holds weakly where it can.
            if isinstance(check.get, weakref.ref):
                return WatchedLeaf(_object(check.get).watched)
            return StaticLeaf(check.get())
        if isinstance(check, at.HasSize):
            return SequenceLeaf(check.cls, check.size)
        if isinstance(check, at.HasKeys):
            return DictLeaf(check.keys)
        if isinstance(check, at.IsFalse) and isinstance(step.read, at.OwnRead):
            return AbsentLeaf()
        raise _PythonOnly


def _object(get: Callable[[], Any]) -> ObjectSource:
    obj = get()
    if obj is None or not isinstance(get, weakref.ref):
        raise _PythonOnly
    return ObjectSource(watch(obj))

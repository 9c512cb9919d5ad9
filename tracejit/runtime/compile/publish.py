"""What a call must check becomes the spec of a native entry, for one form of the call.

The spec holds the call to all that the Python path holds it to: the tree of the arguments by
position and name, the leaves by their own rules, and what the trace has captured. Names, cells,
defaults, codes, attributes, classes and items are checked by machine code. Where anything else was
captured, such as what a class holds, the entry calls `Capture.reread`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any, TypeAlias

from tracejit.base.methods import METHODS
from tracejit.frontend.capture.captured import Call
from tracejit.frontend.capture.guards import (
    Absent,
    Distinct,
    Equal,
    Fields,
    Guard,
    Keys,
    OfClass,
    OfCode,
    Same,
    Size,
    identity_guard,
)
from tracejit.frontend.capture.paths import (
    MISSING,
    Address,
    Argument,
    Attribute,
    Default,
    Global,
    Item,
    Object,
    Packed,
    Path,
    Positional,
    Reread,
)
from tracejit.frontend.capture.paths import Leaf as LeafPath
from tracejit.frontend.capture.values import Capture
from tracejit.frontend.tracing.packed import PackedList
from tracejit.frontend.tracing.pytree import LEAF, UNREAD, Identity, Static, TreeDef
from tracejit.runtime import native
from tracejit.runtime.call.binding import Form, Positions
from tracejit.runtime.call.entry_spec import (
    AddressLeaf,
    EntrySpec,
    Leaf,
    OutLeaf,
)
from tracejit.runtime.compile.results import direct_results, make_results
from tracejit.runtime.compile.stages import Lowered, Traced
from tracejit.runtime.compile.variant import Variant, compile_variant
from tracejit.runtime.native.distinct import MOST

__all__ = ["call_spec", "compile_and_publish", "publish"]

#: Entries that one function publishes: a call that fits none of them has tried them all.
_ENTRIES = 48

_Checked: TypeAlias = tuple[Path, Leaf]


class _PythonOnly(Exception):
    """Something that no machine code is written for."""


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
    if not native.available() or len(owner._entries) >= _ENTRIES:
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
            captured = _Captured(given)
            leaves = leaves + captured.read(capture, inputs)
            given.mutable += [path for path in captured.distinct if path not in given.mutable]
        except _PythonOnly:
            if capture.reads_leaves:
                return None
            reread = _values(capture)
            leaves = leaves + [(Reread(k), leaf) for k, leaf in enumerate(inputs)]
    return dataclasses.replace(
        flat,
        leaves=tuple(leaves),
        nargs=form[0],
        keywords=form[1],
        reread=reread,
        distinct=(tuple(given.mutable),),
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
        self.objects: dict[tuple[int, ...], Path] = {}
        #: Containers that must not occur twice.
        self.mutable: list[Path] = []
        #: Where the leaves are that the flat entry takes.
        self.flat: list[Path] = []
        #: Where each part of the arguments is, by its path in (args, kwargs).
        self.by_path: dict[tuple[tuple[bool, Any], ...], Path] = {}
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

    def _node(self, at: Path, node: Any, path: tuple[tuple[bool, Any], ...]) -> None:
        self.by_path[path] = at
        if node is LEAF:
            self.flat.append(at)
            self.leaves.append((at, next(self._flat)))
        elif isinstance(node, Static) and isinstance(node.value, (slice, range)):
            # Each call makes its own: no two are one object.
            self.leaves.append((at, OfClass(type(node.value))))
            for name in ("start", "stop", "step"):
                leaf = Equal(getattr(node.value, name))
                self.leaves.append((Attribute(at, name), leaf))
        elif isinstance(node, Static):
            if node.value is not UNREAD:
                self.leaves.append((at, Equal(node.value)))
        elif isinstance(node, Identity):
            obj = node.get()
            self.objects[_identity_of(obj)] = at
            self.leaves.append((at, identity_guard(obj)))
        else:
            self._container(at, path, *node)

    def _container(self, at: Path, path: Any, cls: Any, keys: Any, children: Any) -> None:
        if isinstance(cls, PackedList):
            self.mutable.append(at)
            for k, child in enumerate(children):
                self._node(Packed(at, cls.form, k), child, (*path, (False, k)))
            return
        if dataclasses.is_dataclass(cls):
            self._dataclass(at, path, cls, keys, children)
            return
        if cls is range:
            # Each call makes its own: no two are one object.
            self.leaves.append((at, OfClass(range)))
            for name, child in zip(keys, children, strict=True):
                self._node(Attribute(at, name), child, (*path, (True, name)))
            return
        if cls is dict:
            if not all(isinstance(key, Static) for key in keys):
                raise _PythonOnly
            self.leaves.append((at, Keys(tuple(key.value for key in keys))))
        elif cls is list or issubclass(cls, tuple) and not keys:
            self.leaves.append((at, Size(cls, len(children))))
        else:
            raise _PythonOnly
        if cls is dict or cls is list:
            self.mutable.append(at)
        for index, child in enumerate(children):
            key = keys[index].value if keys else index
            self._node(Item(at, key), child, (*path, (False, key)))

    def _dataclass(self, at: Path, path: Any, cls: Any, names: Any, children: Any) -> None:
        self.leaves.append((at, _native(Fields(cls, names))))
        self.mutable.append(at)
        for name, child in zip(names, children, strict=True):
            self._node(Attribute(at, name), child, (*path, (True, name)))


def _native(guard: Guard) -> Guard:
    """A guard that machine code is written for. Raises _PythonOnly for any other."""
    if isinstance(guard, Fields) and not guard.is_native:
        raise _PythonOnly
    return guard


class _Captured:
    """The checks of all that `Capture.reread` checks, in its order."""

    def __init__(self, arguments: _Arguments) -> None:
        self._arguments = arguments
        #: Where the paths of the capture lead in this form of call.
        self._paths: dict[Path, Path] = {}
        self._guards: dict[Path, tuple[Guard, ...]] = {}
        #: Objects that must be pairwise different.
        self.distinct: list[Path] = []

    def read(self, capture: Capture, inputs: list[Leaf]) -> list[_Checked]:
        """The checks, and the captured inputs among them. Raises _PythonOnly."""
        checks: list[_Checked] = []
        for namespace, name, value in capture.bindings:
            checks.append((Global(namespace, name), Absent() if value is MISSING else Same(value)))
        for get, code in capture.codes:
            checks.append(_coded(get(), code))
        remaining = dict(zip([source.path for source in capture.inputs], inputs, strict=True))
        # The program's slots follow each other as its inputs do.
        order = {step.path: k for k, step in enumerate(capture.steps)}
        taken = [order[p] for p, leaf in remaining.items() if not isinstance(leaf, OfClass)]
        if taken != sorted(taken):
            raise _PythonOnly
        for step in capture.steps:
            path = self._paths[step.path] = self._path(step.path)
            self._guards[path] = step.guards
            if isinstance(path, Object) and path.of.watched is None:
                continue  # which is there as long as the entry is
            if isinstance(path, Address):
                checks.append((path, AddressLeaf()))
            elif step.path in remaining:
                checks.append((path, remaining[step.path]))
            for guard in step.guards:
                if isinstance(guard, Distinct):
                    self._note_distinct(guard)
                elif not (isinstance(guard, OfClass) and step.path in remaining):
                    checks.append((path, _native(guard).on(self._paths)))
        return checks

    def _path(self, path: Path) -> Path:
        """The path where it leads in this form of call. Raises _PythonOnly."""
        if isinstance(path, LeafPath):
            return self._arguments.flat[path.index]
        if isinstance(path, Argument):
            found = self._arguments.by_path.get(path.path)
            if found is None:
                raise _PythonOnly
            return found
        if isinstance(path, Object):
            return self._arguments.objects.get(_identity_of(path.of.get()), path)
        parent = None if path.parent is None else self._paths[path.parent]
        if isinstance(parent, Object) and parent.of.parts:
            # No code of the program finds what a method binds.
            part = parent.of.parts.get(path.name) if isinstance(path, Attribute) else None
            obj = None if part is None else part.get()
            if obj is None:
                raise _PythonOnly
            return Object(obj)
        known = () if parent is None else self._guards.get(parent, ())
        if isinstance(path, Item) and not any(
            isinstance(guard, (Size, Keys)) and guard.has(path) for guard in known
        ):
            raise _PythonOnly
        if isinstance(path, Default):
            parent = _function(parent, known)
        return path if parent is path.parent else path.on(parent)

    def _note_distinct(self, guard: Distinct) -> None:
        if len(guard.paths) > MOST:
            raise _PythonOnly
        paths = [self._paths[path] for path in guard.paths]
        self.distinct += [path for path in paths if path not in self.distinct]


def _identity_of(obj: Any) -> tuple[int, ...]:
    """What tells objects apart: bound methods, which are made anew, by what they bind."""
    return (id(obj.__self__), id(obj.__func__)) if type(obj) in METHODS else (id(obj),)


def _function(path: Path | None, guards: Sequence[Guard]) -> Path | None:
    """Where a function is whose fields machine code may look at. Raises _PythonOnly."""
    for guard in guards:
        if isinstance(guard, OfCode):
            return path
        if isinstance(guard, Same) and type(guard.of.get()) is FunctionType:
            # Being the very function, it can be looked at without going there.
            return Object(guard.of.get())
    raise _PythonOnly


def _coded(function: Any, code: CodeType) -> _Checked:
    if type(function) is not FunctionType:
        raise _PythonOnly
    return Object(function), OfCode(function, code)

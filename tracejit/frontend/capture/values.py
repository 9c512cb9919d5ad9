"""Values from outside a traced function, each by a path that every later call reads again.

A path starts at a global name, a closure cell or an object that is known by identity, and goes on
by attributes and items. Arrays and NumPy scalars at its end become inputs of the graph; everything
else becomes a guard: numbers and strings by value, functions, classes, modules and other objects by
identity, containers by their structure and then element by element. A later call for which a guard
fails must be traced anew.

Names that hold a module of NumPy, SciPy or the standard library, and builtins, are exempt: they are
listed in `bindings`, and checked only where there is something else to check. What those modules
hold is watched by `library_names.py`.
"""

from __future__ import annotations

import builtins
import enum
import functools
import re
import sys
from collections.abc import Callable, Sequence
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from tracejit.base.methods import METHODS
from tracejit.errors import TraceError
from tracejit.frontend.capture.captured import (
    Captured,
    Learned,
    ListIsRead,
    Source,
    Step,
    is_number_by_value,
)
from tracejit.frontend.capture.functions import FunctionsByCode
from tracejit.frontend.capture.guards import (
    Absent,
    Bound,
    Distinct,
    Equal,
    Fields,
    Guard,
    Identical,
    Keys,
    OfClass,
    OfCode,
    OwnNames,
    Same,
    Size,
    identity_guard,
)
from tracejit.frontend.capture.paths import (
    MISSING,
    Address,
    Argument,
    Attribute,
    Cell,
    Default,
    Global,
    InClass,
    Item,
    Leaf,
    Object,
    Packed,
    Path,
    class_lookup,
)
from tracejit.frontend.rewrite.source import is_library_file
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.instances import (
    FROM_OUTSIDE,
    is_instance,
    is_own_function,
    is_placed,
)
from tracejit.frontend.tracing.packed import (
    FEW,
    Arrays,
    PackedForm,
    Ragged,
    Rows,
    are_small,
    joined_form,
    pack,
    packed_form,
)
from tracejit.frontend.tracing.pytree import (
    VIEWS,
    build_dataclass,
    dataclass_fields,
    is_constant,
    is_namedtuple,
    is_plain_dataclass,
    reference,
    tuples_in,
)
from tracejit.frontend.tracing.raised import TracedError
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import (
    Trace,
    TracedArray,
    Tracer,
    given_dtype,
    user_line,
)
from tracejit.link.library_names import HASHES, NOTHING, names_of, note_name

__all__ = [
    "DESCRIBES",
    "IMMUTABLE",
    "MISSING",
    "Capture",
    "class_lookup",
    "is_exempt_module",
]

_LIMIT = 4000
#: The flag of classes that nothing can be bound in.
IMMUTABLE = 1 << 8
#: Methods of what is no plain value as an attribute of a class.
DESCRIBES = ("__get__", "__set__", "__delete__")
#: What annotations call.
_SUBSCRIPTED = "__class_getitem__"
#: What methods are in a class's dict.
_METHODS = (FunctionType, classmethod, staticmethod, property)


def is_exempt_module(module: ModuleType) -> bool:
    """Whether the contents of `module` count as constant: NumPy, SciPy and the standard library."""
    top = module.__name__.partition(".")[0]
    if top in sys.stdlib_module_names:
        # A program's own module may have such a name too.
        return is_library_file(getattr(module, "__file__", None) or "<frozen>")
    return top in ("numpy", "scipy")


def _has_lasting_hash(x: Any) -> bool:
    """Whether the hash of an element of a set is the same in every process."""
    if isinstance(x, (tuple, frozenset)):
        return all(map(_has_lasting_hash, x))
    if isinstance(x, SymInt):
        return True
    # A NaN is hashed by its address.
    return isinstance(x, (bool, int, float, complex, np.number, np.bool_)) and bool(x == x)


class Capture(Captured):
    """What one trace has read from outside.

    `make_leaf(value, name)` makes the traced input for an array or a NumPy scalar, in the outermost
    trace; it is called once for each element of `inputs`, in that order. Python numbers that are
    known to vary are inputs, too: others are constants.
    """

    def __init__(
        self, trace: Trace, make_leaf: Callable[[Any, str], Any], learned: Learned | None = None
    ) -> None:
        super().__init__()
        self.trace = trace
        trace.note_order = self.set_order
        self.learned = learned or Learned()
        #: id -> (a dict or set that the program has made, where).
        self.sites: dict[int, tuple[Any, Any]] = {}
        self.make_leaf = make_leaf
        #: Makes the stand-in of a list of numbers whose elements are in arrays.
        self.grown_list: Callable[[PackedForm, Sequence[Any]], list[Any]] | None = None
        #: Whether the lists in a list are read as an array, and have no places of their own.
        self.holds_rows = False
        #: The arrays of what is in lists of arrays.
        self.pools: list[Any] = []
        #: Whether the program raises an exception that Python does not repeat.
        self.raises = False
        #: id -> source of every object that is known by identity.
        self.objects: dict[int, Source] = {}
        #: id -> object of the arguments that are static by identity.
        self.arguments: dict[int, Any] = {}
        #: id -> containers that were rebuilt with traced leaves.
        self.rebuilt: dict[int, Any] = {}
        #: id -> where such a container is found.
        self._places: dict[int, Source | Callable[[], Source]] = {}
        #: id -> a tuple that stands for one from outside, and where that is: only results ask.
        self._tuples: dict[int, tuple[Any, Callable[[], Source]]] = {}
        #: id -> a tuple that is a key of a dict from outside.
        self.keys: dict[int, Any] = {}
        #: What is known by the way to it and not by identity, of which there may be several.
        self.by_place: list[Source] = []
        #: Lists that are only appended to.
        self._unread: set[Source] = set()
        #: Whether it matters which of these are one object.
        self.tells_apart = False
        #: Functions that are known by their code.
        self.functions = FunctionsByCode(self)
        #: The number of a leaf of the call, by the source that it is.
        self._leaves: dict[Source, int] = {}
        #: id of the stand-in of an array from outside -> gives its source.
        self._arrays: dict[int, Callable[[], Source]] = {}
        #: Those that must not be one.
        self._apart: list[Source] = []
        #: Classes of libraries whose methods have been noted.
        self._followed: set[type] = set()
        self._leaf_count = 0
        #: id -> (object, trace) of what was made inside the trace.
        self.created: dict[int, tuple[Any, Trace]] = {}
        self._sources: dict[tuple[Any, ...], Source] = {}
        self._order: list[Source] = []
        self._by_path: dict[Path | None, Source] = {}
        self._by_identity: dict[int, Source] = {}

    # Roots and steps -----------------------------------------------------------------------------

    def global_value(self, namespace: dict[str, Any], name: str) -> Any:
        """The value of a global name or a builtin. Raises NameError and TraceError."""
        value = namespace.get(name, MISSING)
        if value is MISSING:
            value = _builtins(namespace).get(name, MISSING)
            self._bind(namespace, name, MISSING)
            # The program may define it later, in either.
            self.library_name(_builtins(namespace), name, value)
            if value is MISSING:
                raise NameError(f"name '{name}' is not defined")
            return value
        if isinstance(value, ModuleType) and is_exempt_module(value):
            self._bind(namespace, name, value)
            return value
        key = ("global", id(namespace), name)
        return self.reach(self._source(key, Global(namespace, name), name, value))

    def library_name(self, namespace: dict[str, Any], name: str, value: Any) -> None:
        """Note that a library's dict holds `value`, or nothing (`MISSING`), under a name."""
        if namespace.get(name, MISSING) is not value:
            return  # What a module computes at each access is not replaced there.
        if not note_name(namespace, name, NOTHING if value is MISSING else value):
            self._bind(namespace, name, value)
        elif not any(d is namespace and n == name for d, n, _ in self.names):
            self.names.append((namespace, name, value))

    def set_order(self, x: Any) -> None:
        """Note that the trace rests on the order of a set: code for it is for this process alone,
        unless all elements are numbers.
        """
        if len(x) > 1 and not all(map(_has_lasting_hash, x)):
            self.library_name(HASHES, "hashes", HASHES["hashes"])

    def library_methods(self, cls: type) -> None:
        """Note what a library's class holds: the compiler does what its own methods do.

        Raises TraceError where it holds another method.
        """
        if cls in self._followed:
            return
        for name in dir(cls):
            if class_lookup(cls, name) is class_lookup(object, name) or name == _SUBSCRIPTED:
                continue
            for base in cls.__mro__:
                if base.__flags__ & IMMUTABLE:
                    break
                held = vars(base).get(name, MISSING)
                if callable(held) or isinstance(held, _METHODS):
                    _require_own_method(base, name, held)
                elif held is not MISSING:
                    break
                self.library_name(names_of(base), name, held)
                if held is not MISSING:
                    break
        self._followed.add(cls)

    def _bind(self, namespace: dict[str, Any], name: str, value: Any) -> None:
        entry = (namespace, name, value)
        if not any(d is namespace and n == name for d, n, _ in self.bindings):
            self.bindings.append(entry)

    def bind_absent(self, namespace: dict[str, Any], name: str) -> None:
        """Note that a name is not among the globals."""
        self._bind(namespace, name, MISSING)

    def cell_value(self, cell: CellType, name: str) -> Any:
        """The value of a free variable. Raises NameError where it is not bound, and TraceError."""
        try:
            value = cell.cell_contents
        except ValueError:
            message = (
                f"cannot access free variable '{name}' where it is not associated with a value"
            )
            raise NameError(message) from None
        found = self.functions.cell(cell, name, value)
        return self.reach(found or self._source(("cell", id(cell)), Cell(cell), name, value))

    def object_source(self, obj: Any, label: str) -> Source:
        """The source of an object that every later call finds by identity."""
        known = self.objects.get(id(obj))
        if known is not None:
            return known
        source = self._source(("object", id(obj)), Object(obj), label, obj)
        if source.placeholder is MISSING:
            self.identity(source, obj)
        return source

    def source_of(self, obj: Any) -> Source | None:
        """The source of an object from outside that has been reached; None for any other."""
        known = self.objects.get(id(obj))
        if known is None and id(obj) in self.arguments:
            return self.object_source(obj, "an argument")
        return known

    def is_outside(self, obj: Any) -> bool:
        """Whether `obj` is an object from outside that is known by identity."""
        return id(obj) in self.objects or id(obj) in self.arguments

    def is_given(self, x: Any) -> bool:
        """Whether `x` is a tuple from outside."""
        return id(x) in self._tuples

    def step(self, parent: Source, key: object, path: Path, label: str, value: Any) -> Source:
        """The place at a path from `parent`; `key` tells it from other steps."""
        return self._source((parent.index, key), path, parent.label + label, value)

    def attribute(self, parent: Source, name: str, value: Any) -> Any:
        """The stand-in of `parent.name`, which is `value` now."""
        path = Attribute(parent.path, name)
        return self.reach(self.step(parent, ("attribute", name), path, f".{name}", value))

    def class_attribute(self, cls: type, name: str, after: type | None = None) -> Source | None:
        """The source of what a class or its bases hold under `name`; None where nothing does."""
        value = class_lookup(cls, name, after)
        return None if value is MISSING else self._in_class(cls, name, after, value)

    def _in_class(self, cls: type, name: str, after: type | None, value: Any) -> Source:
        owner = self.object_source(cls, cls.__name__)
        path = InClass(owner.path, cls, name, after)
        return self.step(owner, ("class", name, id(after)), path, f".{name}", value)

    def address(self, x: Any, label: str) -> Any:
        """The traced address of a stream of random numbers."""
        source = self.source_of(x) or self.object_source(x, label)
        path, at = Address(source.path), np.uint64(id(x))
        return self.reach(self.step(source, "address", path, " (its address)", at))

    def guard(self, source: Source, guard: Guard) -> None:
        """One more condition on a source."""
        source.more.append(guard)

    def guard_identity(self, source: Source) -> None:
        """The condition that a source still holds the very same object."""
        if source.placeholder is MISSING:
            self.identity(source, source.value)
        elif isinstance(source.check, OfCode):
            source.check = Same(source.value)

    def guard_method(self, parent: Source, name: str, function: Any) -> None:
        """The condition that `parent.name` is `function` bound to it."""
        path = Attribute(parent.path, name)
        source = self.step(parent, ("method", name), path, f".{name}", None)
        source.check = Bound(function)

    def guard_type(self, source: Source, cls: type) -> None:
        """The condition that a source still holds an object of the class `cls`."""
        if not any(isinstance(guard, OfClass) for guard in (source.check, *source.more)):
            self.object_source(cls, cls.__name__)
            self.guard(source, OfClass(cls))

    def guard_code(self, source: Source, code: CodeType) -> None:
        """The condition that a function has this code; checked where there is something else to."""
        if isinstance(source.check, OfCode):
            return
        self.codes.append((reference(source.value), code))

    def default(self, source: Source, key: int | str, name: str, value: Any) -> Any:
        """The stand-in of a default of a function: by its place from the end (-1: the last), or of
        a keyword-only argument."""
        path, label = Default(source.path, key), f" (the default of {name})"
        return self.reach(self.step(source, ("default", key), path, label, value))

    def guard_class_attribute(self, cls: type, name: str) -> None:
        """The condition that a class still finds, under `name`, the same or nothing.

        A constant may become another one of its class, which is no method either.
        """
        source = self.class_attribute(cls, name)
        if source is None:
            self.guard_class_lacks(cls, name)
        elif not is_constant(source.value):
            self.guard_identity(source)
            self.guard_plain(source)
        elif source.check is None:
            source.check = OfClass(type(source.value))

    def guard_plain(self, source: Source) -> None:
        """The condition that what a class holds, if it is no descriptor, does not become one."""
        cls = type(source.value)
        if cls.__flags__ & IMMUTABLE or any(hasattr(cls, name) for name in DESCRIBES):
            return
        self.guard_type(source, cls)
        for name in DESCRIBES:
            self.guard_class_lacks(cls, name)

    def guard_methods(self, x: Any, *names: str) -> None:
        """The condition that an object's class still finds the same, or nothing, under names."""
        cls = x.cls if isinstance(x, TracedError) else type(x)
        if cls.__flags__ & IMMUTABLE or isinstance(x, (Tracer, type)) or is_constant(x):
            return
        source = self.instance_source(x)
        if source is not None:
            self.guard_type(source, cls)
        for name in names:
            if isinstance(x, TracedError) and x.has_own(name):
                raise TraceError("TJ024", f"{cls.__name__}.{name}", user_line())
            self.guard_class_attribute(cls, name)

    def guard_class_lacks(self, cls: type, name: str) -> None:
        """The condition that neither a class nor its bases hold anything under `name`."""
        self._in_class(cls, name, None, MISSING).check = Absent()

    def guard_own_lacks(self, source: Source, name: str) -> None:
        """The condition that an object has no attribute `name` in its own dict."""
        known = [guard for guard in source.more if isinstance(guard, OwnNames)]
        names = dict.fromkeys((*(n for guard in known for n in guard.names), name))
        others = [guard for guard in source.more if guard not in known]
        source.more = [*others, OwnNames(type(source.value), tuple(names), lacks=True)]

    def guard_absent(self, source: Source, name: str) -> None:
        """The condition that a source still has no attribute `name`."""
        path = Attribute(source.path, name)
        self.step(source, ("absent", name), path, f".{name}", MISSING).check = Absent()

    def _source(self, key: tuple[Any, ...], path: Path, label: str, value: Any) -> Source:
        source = self._sources.get(key)
        if source is None:
            if len(self._order) >= _LIMIT:
                raise TraceError("TJ006", f"more than {_LIMIT} values from outside", user_line())
            source = Source(len(self._order), path, label, value)
            self._sources[key] = self._by_path[path] = source
            self._order.append(source)
        return source

    # What is there -------------------------------------------------------------------------------

    def reach(self, source: Source) -> Any:
        """The stand-in of what a source holds. Raises TraceError for what cannot be followed."""
        if source in self._unread:
            raise ListIsRead(source.label)
        if source.placeholder is MISSING:
            source.placeholder = self._placeholder(source, source.value)
        return source.placeholder

    def _placeholder(self, source: Source, value: Any) -> Any:
        cls = type(value)
        if isinstance(value, Tracer):
            raise TraceError("TJ014", source.label, user_line())
        if is_constant(value):
            learned = self.learned
            if source.label not in learned.varying and learned.floats is not None:
                if learned.floats.varies(source.label, value):
                    learned.elsewhere[source.label] = None
                    learned.varying.add(source.label)
            if source.label in learned.varying and is_number_by_value(value):
                made = self._input(source, value)
                if source.label in learned.elsewhere and isinstance(made, Tracer):
                    learned.elsewhere[source.label] = made.value()
                return made
            source.check = Equal(value)
            return value
        if cls is np.ndarray or isinstance(value, np.generic):
            return self._input(source, value)
        if is_own_function(value):
            return self.functions.reach(source, value)
        if self.learned.like_of_device is not None:
            like = self.learned.like_of_device(value)
            if like is not None:
                return self._input(source, value, like)
        first = self._by_identity.get(id(value))
        if first is not None:
            self._same(source, first)
            return self.reach(first)
        if cls in (list, tuple, dict) or is_namedtuple(cls) or is_plain_dataclass(value):
            if cls is not tuple:
                self._by_identity[id(value)] = source
            if cls is list and (packed := self._packed(source, value)) is not None:
                return packed
            return self._rebuild(source, value)
        if cls in FROM_OUTSIDE:
            self._by_identity[id(value)] = source
            source.check = OfClass(cls)
            made = FROM_OUTSIDE[cls](self.trace.interpreter, source, value)
            self._places[id(made)] = source
            self.by_place.append(source)
            return made
        if is_placed(value) and cls not in METHODS:
            return self._instance(source, value)
        if cls in METHODS and is_instance(value.__self__):
            # Each object has its own: which function of which object it is counts.
            source.check = OfClass(cls)
            owner = self.attribute(source, "__self__", value.__self__)
            function = self.attribute(source, "__func__", value.__func__)
            if isinstance(source.path, Leaf):
                self.objects[id(value)] = source
                self.by_place.append(source)
                return value
            return MethodType(function, owner)
        self.identity(source, value)
        return value

    def _instance(self, source: Source, value: Any) -> Any:
        """An object that later calls know by this way to it, and by its class."""
        self._by_identity[id(value)] = self.objects[id(value)] = source
        self.by_place.append(source)
        source.check = OfClass(type(value))
        self._note_mutable(value)
        return value

    def source_at(self, path: Path | None) -> Source:
        """The source with this path."""
        return self._by_path[path]

    def is_read_as_cell(self, cell: CellType) -> bool:
        """Whether a cell has been read as the one that it is."""
        return ("cell", id(cell)) in self._sources

    def instance_source(self, x: Any) -> Source | None:
        """The source of an instance from outside; None for any other object."""
        if id(x) in self.created or id(x) in self.rebuilt or not is_instance(x):
            return None
        return self.objects.get(id(x))

    def held(self, x: Any, name: str) -> Any:
        """What an attribute of an instance was read as, or MISSING."""
        parent = self.objects.get(id(x))
        found = parent and self._sources.get((parent.index, ("attribute", name)))
        return found.placeholder if found else MISSING

    def place_read(self, owner: Any, kind: str, key: Any) -> Source | None:
        """The source that a change (see `state.Change`) stores into, if it has been read."""
        if isinstance(owner, CellType):
            return self._sources.get(("cell", id(owner)))
        if (known := self._sources.get(("global", id(owner), key))) is not None:
            return known
        parent: Any = self.objects.get(id(owner)) or self._places.get(id(owner))
        if not isinstance(parent, Source):
            return None
        typed = ("attribute", key) if kind == "attribute" else ("item", type(key), key)
        return self._sources.get((parent.index, typed))

    def own_names(self, source: Source, x: Any) -> list[str]:
        """The names of an instance's own attributes, under the condition that they stay these."""
        names = list(contents_of(x))
        if type(getattr(x, "__dict__", None)) is dict:
            held = tuple(x.__dict__)
            path = Attribute(source.path, "__dict__")
            self.step(source, "dict", path, ".__dict__", None).check = Keys(held)
        for name in names[len(getattr(x, "__dict__", ())) :]:
            self.attribute(source, name, getattr(x, name))
        return names

    def unread_attribute(self, parent: Source, name: str, value: Any) -> Source | None:
        """The source of an attribute that is a list of which nothing has been read, or None."""
        label = f".{name}"
        if type(value) is not list or parent.label + label in self.learned.read_lists:
            return None
        path = Attribute(parent.path, name)
        return self._unread_list(self.step(parent, ("attribute", name), path, label, value))

    def unread_name(self, owner: Any, name: str) -> Source | None:
        """The same of a name in a dict of globals, or of a free variable by its cell."""
        is_cell = isinstance(owner, CellType)
        held = _contents_of_cell(owner) if is_cell else owner.get(name)
        if is_cell and self.functions.has_cell(owner):
            return None
        if type(held) is not list or name in self.learned.read_lists:
            return None
        if is_cell:
            source = self._source(("cell", id(owner)), Cell(owner), name, held)
        else:
            key = ("global", id(owner), name)
            source = self._source(key, Global(owner, name), name, held)
        return self._unread_list(source)

    def _unread_list(self, source: Source) -> Source | None:
        value = source.value
        first = self._by_identity.setdefault(id(value), source)
        if first is not source or source.placeholder is not MISSING:
            return None
        if source not in self._unread:
            self._unread.add(source)
            self.by_place.append(source)
            source.check = OfClass(list)
        return source

    # The arguments -------------------------------------------------------------------------------

    def add_leaves(self, leaves: Sequence[Any], names: Sequence[str], tracers: list[Any]) -> None:
        """Note the instances and the arrays among the leaves of the arguments, and put stand-ins in
        the place of objects of NumPy."""
        self._leaf_count = len(leaves)
        for k, (x, name) in enumerate(zip(leaves, names, strict=True)):
            find = functools.partial(self._source, ("leaf", k), Leaf(k), name, x)
            if is_placed(x):
                source = find()
                self._leaves[source] = k
                found = self.reach(source)
                if type(x) in FROM_OUTSIDE:
                    tracers[k] = found
            elif isinstance(tracers[k], TracedArray):
                self._arrays[id(tracers[k])] = find

    def add_containers(self, x: Any, path: tuple[tuple[bool, Any], ...] = ()) -> None:
        """Note where in the arguments the originals of containers are, which `x` stands for."""
        if id(x) in self.rebuilt and len(path) > 1:  # The keywords' own dict is nobody's.
            self._places[id(x)] = functools.partial(self._argument, x, path)
        if isinstance(x, tuple) and x and len(path) > 1:
            self._tuples[id(x)] = x, functools.partial(self._argument, x, path)
        if type(x) is dict:
            self._note_keys(x)
            parts = [(False, k, v) for k, v in x.items()]
        elif isinstance(x, (list, tuple)):
            own: Any = list if isinstance(x, list) else tuple
            parts = [(False, k, v) for k, v in enumerate(own.__iter__(x))]
        elif id(x) in self.rebuilt:
            parts = [(True, name, getattr(x, name)) for name in dataclass_fields(x) or ()]
        else:
            return
        for is_name, key, part in parts:
            self.add_containers(part, (*path, (is_name, key)))

    def _note_keys(self, x: dict[Any, Any]) -> None:
        self.keys |= {id(part): part for k in x for part in tuples_in(k)}

    def _argument(self, x: Any, path: tuple[tuple[bool, Any], ...]) -> Source:
        label = "argument " + "".join(f"[{key!r}]" for _, key in path)
        source = self._source(("argument", path), Argument(path), label, x)
        if source.placeholder is MISSING:
            source.placeholder, source.check = x, OfClass(type(x))
            if not isinstance(x, tuple):
                self.by_place.append(source)
        return source

    def tell_apart(self, *objects: Any) -> None:
        """Note that it matters whether any two of these, known by the way to them, are one."""
        for x in objects:
            found = self._places.get(id(x))
            if found is not None and not isinstance(found, Source):
                self._places[id(x)] = found()
            self.tells_apart |= found is not None or id(x) in self.objects and is_placed(x)

    def tell_arrays_apart(self, arrays: Sequence[Any]) -> None:
        """Note that code which is not traced is given arrays, and may ask whether two are one."""
        # In the order in which they are given: files of equal programs are equal.
        found = dict.fromkeys(id(x) for x in arrays if id(x) in self._arrays)
        if len(found) > 1:
            sources = [self._arrays[key]() for key in found]
            self._apart += [source for source in sources if source not in self._apart]

    def place_of(self, x: Any) -> int | None:
        """The number of the leaf that is an instance or container from outside.

        The leaves of the arguments come first, then `inputs`. None for any other object.
        """
        source: Any = self._places.get(id(x))
        if source is None and (is_placed(x) or isinstance(x, type)):
            source = self.objects.get(id(x))
        if source is None and id(x) in self._tuples:
            return self.leaf_of(self._tuples[id(x)][1]())
        if source is None:
            return None
        if not isinstance(source, Source):
            source = self._places[id(x)] = source()
        return self.leaf_of(source)

    def leaf_of(self, source: Source) -> int:
        """The number of the leaf that is the object that a source holds."""
        if source not in self._leaves:
            self._leaves[source] = self._leaf_count + len(self.inputs)
            self.inputs.append(source)
            self.make_leaf(source.value, _identifier(source.label))
        return self._leaves[source]

    def require_identity(self, x: Any) -> None:
        """The condition that what a source holds is this very object."""
        source = self.source_of(x)
        if source is not None and isinstance(source.check, OfCode):
            self.guard_identity(source)
        if source is not None and isinstance(source.check, OfClass):
            self.guard(source, Same(x))

    def _input(self, source: Source, value: Any, like: Any = None) -> Any:
        """An input; `like` is an array of the host like one of a device."""
        cls = type(value)
        if not is_number_by_value(value):
            given_dtype(value.dtype if like is None else like.dtype)
        if cls is np.ndarray or like is not None:
            first = self._by_identity.setdefault(id(value), source)
            if first is not source:
                self._same(source, first)
                return self.reach(first)
        source.check = OfClass(cls)
        self.inputs.append(source)
        made = self.make_leaf(value if like is None else like, _identifier(source.label))
        if isinstance(made, TracedArray):
            self._arrays[id(made)] = lambda: source
        return made

    def _same(self, source: Source, first: Source) -> None:
        late, early = (source, first) if source.index > first.index else (first, source)
        self.guard(late, Identical(early.path))

    def identity(self, source: Source, obj: Any) -> None:
        """Know a source's object by identity from now on."""
        source.check, source.placeholder = identity_guard(obj), obj
        self._note_mutable(obj)
        self.objects.setdefault(id(obj), source)

    def _rebuild(self, source: Source, value: Any) -> Any:
        cls = type(value)
        new: Any
        if isinstance(value, dict):
            if "__builtins__" in value:
                # Its entries are global names, too.
                raise TraceError("TJ006", "the names of a module as a dict", user_line())
            keys = tuple(value)
            for k in keys:
                if not _is_key(k):
                    raise TraceError("TJ006", f"a dict key of {type(k).__name__}", user_line())
            source.check = Keys(keys)
            self._note_keys(value)
            new = source.placeholder = {}
            for k in keys:
                new[k] = self._element(source, k, f"[{k!r}]", value[k])
        elif isinstance(value, (list, tuple)):
            source.check = Size(cls, len(value))
            items = (self._element(source, k, f"[{k}]", x) for k, x in enumerate(value))
            if isinstance(value, list):
                new = source.placeholder = []
                new.extend(items)
            else:
                new = tuple.__new__(cls, items)
                self._tuples[id(new)] = new, lambda: source
                return new
        else:
            names = dataclass_fields(value) or ()
            source.check = Fields(cls, names)
            self.object_source(cls, cls.__name__)
            new = source.placeholder = build_dataclass(cls, {})
            for name in names:
                part = self.attribute(source, name, getattr(value, name))
                object.__setattr__(new, name, part)
        self._note_container(new, source)
        return new

    def _packed(self, source: Source, value: list[Any]) -> list[Any] | None:
        """The stand-in of a list of many numbers, as arrays; None for any other."""
        few = 0 if source.label in self.learned.varying else FEW
        form: PackedForm | None = None
        if value and type(value[0]) is np.ndarray:
            form = joined_form(value, few)
            at_once = form is not None and not self.learned.apart and are_small(value)
            if form is not None and not self.learned.joined and not at_once:
                self.learned.joinable = True
                return None
        elif not self.learned.apart:
            form = packed_form(value, few)
        if form is None or self.grown_list is None:
            return None
        arrays = pack(value, form)
        if arrays is None:
            return None
        self.learned.packed = True
        source.check = OfClass(list)
        columns = []
        for k, array in enumerate(arrays):
            path = Packed(source.path, form, k)
            columns.append(self.reach(self.step(source, ("packed", k), path, f"[{k}]", array)))
        new = source.placeholder = self.packed_list(form, columns)
        self._note_container(new, source)
        return new

    def packed_list(self, form: PackedForm, columns: Sequence[Any]) -> list[Any]:
        """The stand-in of a list whose elements are in arrays."""
        assert self.grown_list is not None
        self.holds_rows |= isinstance(form, (Rows, Ragged))
        if isinstance(form, Arrays):
            self.pools.append(columns[-1])
        return self.grown_list(form, columns)

    def _note_container(self, new: Any, source: Source) -> None:
        self.add_rebuilt(new)
        self._places[id(new)] = source
        self.by_place.append(source)

    def _element(self, parent: Source, key: Any, label: str, value: Any) -> Any:
        typed = ("item", type(key), key)
        return self.reach(self.step(parent, typed, Item(parent.path, key), label, value))

    def add_rebuilt(self, new: Any) -> None:
        """Note a container that stands for one from outside: it must not be changed."""
        self.rebuilt[id(new)] = new
        self.trace.external[id(new)] = new

    def add_argument(self, obj: Any) -> None:
        """Note an object that the signature of a call finds by identity."""
        self.arguments[id(obj)] = obj
        self._note_mutable(obj)

    def _note_mutable(self, obj: Any) -> None:
        """Sets and views are not rebuilt: what they hold from outside is not to be looked at."""
        if type(obj) in (set, *VIEWS):
            self.trace.external[id(obj)] = obj

    # After the trace -----------------------------------------------------------------------------

    def close(self) -> None:
        """End of the trace: keep what later calls need, drop what it held alive."""
        self.functions.tell_apart()
        if self.tells_apart and any(not isinstance(s.path, Argument) for s in self.by_place):
            # What is in two places of the arguments is not compiled at all.
            for key, place in list(self._places.items()):
                self._places[key] = place if isinstance(place, Source) else place()
        places = self.by_place if self.tells_apart else []
        for sources in (places, self._apart):
            if len(sources) > 1:
                last = max(sources, key=lambda source: source.index)
                self.guard(last, Distinct([source.path for source in sources]))
        self.steps = [Step(s.path, _guards(s), s.label) for s in self._order]
        with_code = {id(get()) for get, _ in self.codes}
        if all(isinstance(s.path, Object) and id(s.value) in with_code for s in self._order):
            # A function has its code only as long as it lives.
            self.steps = []
        for source in self._order:
            source.value = source.placeholder = None
        for table in (self._sources, self._by_identity, self.objects, self.rebuilt, self._places):
            table.clear()
        self._by_path.clear()
        self.by_place.clear()
        self._arrays.clear()
        self._apart.clear()
        self._tuples.clear()
        self.keys.clear()
        self.pools.clear()
        self._unread.clear()
        self._leaves.clear()
        self.functions.forget()
        self.created.clear()
        self.arguments.clear()
        self._order.clear()
        del self.make_leaf, self.grown_list, self.trace


def _require_own_method(cls: type, name: str, held: Any) -> None:
    """Raise TraceError where a class holds, under a name, what its own module has not defined."""
    f = held.fget if isinstance(held, property) else getattr(held, "__func__", held)
    defined_in = getattr(f, "__module__", None) or ""
    same_library = defined_in.partition(".")[0] == cls.__module__.partition(".")[0]
    is_own = same_library and getattr(f, "__qualname__", "").startswith(f"{cls.__qualname__}.")
    if not is_own:
        raise TraceError("TJ002", f"{cls.__name__}.{name}", user_line())


def _contents_of_cell(cell: CellType) -> Any:
    """What a cell holds, or None."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _guards(source: Source) -> tuple[Guard, ...]:
    return (*(() if source.check is None else (source.check,)), *source.more)


def _builtins(namespace: dict[str, Any]) -> dict[str, Any]:
    table = namespace.get("__builtins__", builtins)
    return vars(table) if isinstance(table, ModuleType) else table


def _is_key(key: Any) -> bool:
    if type(key) is tuple:
        return all(map(_is_key, key))
    return type(key) in (int, bool, str, bytes, type(None)) or isinstance(key, (enum.Enum, type))


def _identifier(label: str) -> str:
    name = re.sub(r"\W+", "_", label).strip("_")
    return name if name.isidentifier() else f"x_{name}"

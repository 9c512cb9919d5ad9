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
import re
import sys
from collections.abc import Callable, Sequence
from types import CellType, CodeType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.capture.reads import (
    MISSING,
    AttributeRead,
    BoundTo,
    CellRead,
    ClassRead,
    DefaultRead,
    EqualTo,
    GlobalRead,
    HasKeys,
    HasSize,
    ItemRead,
    ObjectRead,
    OfClass,
    SameAs,
    class_lookup,
)
from tracejit.frontend.rewrite.source import is_library_file
from tracejit.frontend.tracing.pytree import (
    VIEWS,
    build_dataclass,
    dataclass_fields,
    is_constant,
    is_namedtuple,
    is_plain_dataclass,
    reference,
    same_object,
)
from tracejit.frontend.tracing.tracer import Trace, Tracer, check_dtype, user_line
from tracejit.library_names import NOTHING, note_name

__all__ = ["MISSING", "Capture", "Source", "Step", "class_lookup", "is_exempt_module"]

_LIMIT = 4000

Read = Callable[[Any], Any]
#: (value, all values read before it) -> whether it still is what it was.
Check = Callable[[Any, Sequence[Any]], bool]


class Source:
    """One place outside the function: how to read it from its parent, and what it held."""

    __slots__ = ("check", "index", "label", "parent", "read", "placeholder", "value")

    def __init__(self, index: int, parent: int, read: Read, label: str, value: Any) -> None:
        self.index, self.parent, self.read, self.label = index, parent, read, label
        self.value, self.placeholder = value, MISSING
        self.check: Check | None = None


class Step(NamedTuple):
    """A source after the trace; `parent` is the number of a step counted from 1, or 0."""

    parent: int
    read: Read
    check: Check | None
    label: str


def is_exempt_module(module: ModuleType) -> bool:
    """Whether the contents of `module` count as constant: NumPy, SciPy and the standard library."""
    top = module.__name__.partition(".")[0]
    if top in sys.stdlib_module_names:
        # A program's own module may have such a name too.
        return is_library_file(getattr(module, "__file__", None) or "<frozen>")
    return top in ("numpy", "scipy")


class Capture:
    """What one trace has read from outside.

    `make_leaf(value, name)` makes the traced input for an array or a NumPy scalar, in the outermost
    trace; it is called once for each element of `inputs`, in that order.
    """

    def __init__(self, trace: Trace, make_leaf: Callable[[Any, str], Any]) -> None:
        self.trace = trace
        self.make_leaf = make_leaf
        self.inputs: list[Source] = []
        #: (namespace, name, value or MISSING) of exempt names.
        self.bindings: list[tuple[dict[str, Any], str, Any]] = []
        #: The same of names in libraries, which machine code need not look up at each call.
        self.names: list[tuple[dict[str, Any], str, Any]] = []
        #: id -> source of every object that is known by identity.
        self.objects: dict[int, Source] = {}
        #: id -> object of the arguments that are static by identity.
        self.arguments: dict[int, Any] = {}
        #: id -> containers that were rebuilt with traced leaves.
        self.rebuilt: dict[int, Any] = {}
        #: id -> (object, trace) of what was made inside the trace.
        self.created: dict[int, tuple[Any, Trace]] = {}
        self._sources: dict[tuple[Any, ...], Source] = {}
        self._order: list[Source] = []
        self._by_identity: dict[int, Source] = {}
        self.steps: list[Step] = []
        #: (reference to a function, the code that it must have).
        self.codes: list[tuple[Callable[[], Any], CodeType]] = []

    # Roots and steps -----------------------------------------------------------------------------

    def global_value(self, namespace: dict[str, Any], name: str) -> Any:
        """The value of a global name or a builtin. Raises NameError and TraceError."""
        value = namespace.get(name, MISSING)
        if value is MISSING:
            value = _builtins(namespace).get(name, MISSING)
            if value is MISSING:
                raise NameError(f"name '{name}' is not defined")
            self._bind(namespace, name, MISSING)
            self.library_name(_builtins(namespace), name, value)
            return value
        if isinstance(value, ModuleType) and is_exempt_module(value):
            self._bind(namespace, name, value)
            return value
        key = ("global", id(namespace), name)
        return self.reach(self._source(key, None, GlobalRead(namespace, name), name, value))

    def library_name(self, namespace: dict[str, Any], name: str, value: Any) -> None:
        """Note that a library's dict holds `value`, or nothing (`MISSING`), under a name."""
        if namespace.get(name, MISSING) is not value:
            return  # What a module computes at each access is not replaced there.
        if not note_name(namespace, name, NOTHING if value is MISSING else value):
            self._bind(namespace, name, value)
        elif not any(d is namespace and n == name for d, n, _ in self.names):
            self.names.append((namespace, name, value))

    def _bind(self, namespace: dict[str, Any], name: str, value: Any) -> None:
        entry = (namespace, name, value)
        if not any(d is namespace and n == name for d, n, _ in self.bindings):
            self.bindings.append(entry)

    def cell_value(self, cell: CellType, name: str) -> Any:
        """The value of a free variable. Raises NameError where it is not bound, and TraceError."""
        try:
            value = cell.cell_contents
        except ValueError:
            message = (
                f"cannot access free variable '{name}' where it is not associated with a value"
            )
            raise NameError(message) from None
        return self.reach(self._source(("cell", id(cell)), None, CellRead(cell), name, value))

    def object_source(self, obj: Any, label: str) -> Source:
        """The source of an object that every later call finds by identity."""
        known = self.objects.get(id(obj))
        if known is not None:
            return known
        read = ObjectRead(reference(obj))
        source = self._source(("object", id(obj)), None, read, label, obj)
        if source.placeholder is MISSING:
            self._identity(source, obj)
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

    def step(self, parent: Source, key: object, read: Read, label: str, value: Any) -> Source:
        """The place that `read` finds from `parent`; `key` tells it from other steps."""
        return self._source((parent.index, key), parent, read, parent.label + label, value)

    def attribute(self, parent: Source, name: str, value: Any) -> Any:
        """The stand-in of `parent.name`, which is `value` now."""
        read = AttributeRead(name)
        return self.reach(self.step(parent, ("attribute", name), read, f".{name}", value))

    def class_attribute(self, cls: type, name: str, after: type | None = None) -> Source | None:
        """The source of what a class or its bases hold under `name`; None where nothing does."""
        value = class_lookup(cls, name, after)
        if value is MISSING:
            return None
        owner = self.object_source(cls, cls.__name__)
        return self.step(
            owner,
            ("class", name, id(after)),
            ClassRead(name, after),
            f".{name}",
            value,
        )

    def guard(self, source: Source, check: Check) -> None:
        """One more condition on a source."""
        first = source.check
        if first is None:
            source.check = check
        elif first is not check:
            source.check = lambda v, values: first(v, values) and check(v, values)

    def guard_identity(self, source: Source) -> None:
        """The condition that a source still holds the very same object."""
        if source.placeholder is MISSING:
            self._identity(source, source.value)

    def guard_method(self, parent: Source, name: str, function: Any) -> None:
        """The condition that `parent.name` is `function` bound to it."""
        label = f".{name}"
        source = self.step(parent, ("method", name), AttributeRead(name), label, None)
        source.check = BoundTo(function)

    def guard_type(self, source: Source, cls: type) -> None:
        """The condition that a source still holds an object of the class `cls`."""
        self.object_source(cls, cls.__name__)
        self.step(source, "type", type, " (its class)", cls).check = SameAs(reference(cls))

    def guard_code(self, source: Source, code: CodeType) -> None:
        """The condition that a function has this code; checked where there is something else to."""
        self.codes.append((reference(source.value), code))

    def default(self, source: Source, key: int | str, name: str, value: Any) -> Any:
        """The stand-in of a default of a function: by its place from the end (-1: the last), or of
        a keyword-only argument."""
        label = f" (the default of {name})"
        return self.reach(self.step(source, ("default", key), DefaultRead(key), label, value))

    def guard_absent(self, source: Source, name: str) -> None:
        """The condition that a source still has no attribute `name`."""
        label = f".{name}"
        absent = self.step(source, ("absent", name), lambda o: hasattr(o, name), label, False)
        absent.check = lambda v, _: not v

    def _source(
        self,
        key: tuple[Any, ...],
        parent: Source | None,
        read: Read,
        label: str,
        value: Any,
    ) -> Source:
        source = self._sources.get(key)
        if source is None:
            if len(self._order) >= _LIMIT:
                raise TraceError("TJ006", f"more than {_LIMIT} values from outside", user_line())
            index = len(self._order) + 1
            source = Source(index, parent.index if parent else 0, read, label, value)
            self._sources[key] = source
            self._order.append(source)
        return source

    # What is there -------------------------------------------------------------------------------

    def reach(self, source: Source) -> Any:
        """The stand-in of what a source holds. Raises TraceError for what cannot be followed."""
        if source.placeholder is MISSING:
            source.placeholder = self._placeholder(source, source.value)
        return source.placeholder

    def _placeholder(self, source: Source, value: Any) -> Any:
        cls = type(value)
        if isinstance(value, Tracer):
            raise TraceError("TJ014", source.label, user_line())
        if is_constant(value):
            source.check = EqualTo(value)
            return value
        if cls is np.ndarray or isinstance(value, np.generic):
            return self._input(source, value)
        first = self._by_identity.get(id(value))
        if first is not None:
            self._same(source, first)
            return self.reach(first)
        if cls in (list, tuple, dict) or is_namedtuple(cls) or is_plain_dataclass(value):
            if cls is not tuple:
                self._by_identity[id(value)] = source
            return self._rebuild(source, value)
        self._identity(source, value)
        return value

    def _input(self, source: Source, value: Any) -> Any:
        check_dtype(value.dtype)
        cls = type(value)
        if cls is np.ndarray:
            first = self._by_identity.setdefault(id(value), source)
            if first is not source:
                self._same(source, first)
                return self.reach(first)
        source.check = OfClass(cls)
        self.inputs.append(source)
        return self.make_leaf(value, _identifier(source.label))

    def _same(self, source: Source, first: Source) -> None:
        index = first.index
        source.check = lambda v, values: v is values[index]

    def _identity(self, source: Source, obj: Any) -> None:
        get = reference(obj)
        if isinstance(obj, MethodType):
            source.check = lambda v, _: v is not None and same_object(v, get())
        else:
            source.check = SameAs(get)
        source.placeholder = obj
        self._note_mutable(obj)
        self.objects.setdefault(id(obj), source)

    def _rebuild(self, source: Source, value: Any) -> Any:
        cls = type(value)
        new: Any
        if isinstance(value, dict):
            keys = tuple(value)
            for k in keys:
                if not _is_key(k):
                    raise TraceError("TJ006", f"a dict key of {type(k).__name__}", user_line())
            source.check = HasKeys(keys)
            new = source.placeholder = {}
            for k in keys:
                new[k] = self._element(source, k, f"[{k!r}]", value[k])
        elif isinstance(value, (list, tuple)):
            source.check = HasSize(cls, len(value))
            items = (self._element(source, k, f"[{k}]", x) for k, x in enumerate(value))
            if isinstance(value, list):
                new = source.placeholder = []
                new.extend(items)
            else:
                return tuple.__new__(cls, items)
        else:
            names = dataclass_fields(value) or ()
            source.check = lambda v, _: type(v) is cls and dataclass_fields(v) == names
            self.object_source(cls, cls.__name__)
            new = source.placeholder = build_dataclass(cls, {})
            for name in names:
                part = self.attribute(source, name, getattr(value, name))
                object.__setattr__(new, name, part)
        self.add_rebuilt(new)
        return new

    def _element(self, parent: Source, key: Any, label: str, value: Any) -> Any:
        typed = ("item", type(key), key)
        return self.reach(self.step(parent, typed, ItemRead(key), label, value))

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
        self.steps = [Step(s.parent, s.read, s.check, s.label) for s in self._order]
        with_code = {id(get()) for get, _ in self.codes}
        if all(isinstance(s.read, ObjectRead) and id(s.value) in with_code for s in self._order):
            # A function has its code only as long as it lives.
            self.steps = []
        for source in self._order:
            source.value = source.placeholder = None
        for table in (self._sources, self._by_identity, self.objects, self.rebuilt):
            table.clear()
        self.created.clear()
        self.arguments.clear()
        self._order.clear()
        del self.make_leaf, self.trace

    @property
    def trivial(self) -> bool:
        """Whether nothing but exempt names was read."""
        return not self.steps and not self.codes and not self.names

    def reread(self) -> list[Any] | str:
        """The present values of `inputs`, or what has changed so that the trace does not hold."""
        for namespace, name, expected in (*self.bindings, *self.names):
            if namespace.get(name, MISSING) is not expected:
                return f"{name} is bound to something else"
        for get, code in self.codes:
            if getattr(get(), "__code__", None) is not code:
                return f"{code.co_qualname} has other code"
        values: list[Any] = [None]
        for parent, read, check, label in self.steps:
            try:
                value = read(values[parent])
            except Exception:
                return f"{label} is gone"
            if check is not None and not check(value, values):
                return f"{label} has changed"
            values.append(value)
        return [values[s.index] for s in self.inputs]


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

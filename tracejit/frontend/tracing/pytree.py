"""Arguments and results as leaves and a tree: lists, tuples, dicts, namedtuples and dataclasses.

The tree (`TreeDef`) is hashable. Arrays and numbers are leaves; strings and other constants are
part of the tree by type and value, all other objects by identity.
"""

from __future__ import annotations

import dataclasses
import functools
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType, MemberDescriptorType, SimpleNamespace
from typing import Any, TypeAlias

import numpy as np

from tracejit.base.methods import METHODS
from tracejit.errors import TraceError
from tracejit.frontend.tracing.boxed import boxed
from tracejit.frontend.tracing.instances import is_placed
from tracejit.frontend.tracing.packed import (
    Arrays,
    PackedForm,
    PackedList,
    are_small,
    joined_form,
    pack,
    packed_form,
)
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import Tracer, given_dtype, user_line
from tracejit.ir.types import DTYPES
from tracejit.link.cpython.own_attributes import has_only, has_own, own_dict
from tracejit.ops.control.templates import Text, render

__all__ = [
    "LEAF",
    "MOST_NESTED",
    "UNREAD",
    "Part",
    "Reads",
    "VIEWS",
    "Alternative",
    "Boxed",
    "Flattener",
    "Identity",
    "Made",
    "Rendered",
    "Shared",
    "Static",
    "TreeDef",
    "build_dataclass",
    "dataclass_fields",
    "flatten",
    "holds_made",
    "is_constant",
    "is_free_leaf",
    "is_default",
    "is_made",
    "is_namedtuple",
    "is_one_key",
    "is_plain_dataclass",
    "leaf_names",
    "reads_plainly",
    "reference",
    "same_object",
    "tuples_in",
    "unflatten",
]

_PLAIN = frozenset(
    {int, float, complex, bool, str, bytes, *map(type, (None, Ellipsis, NotImplemented))}
)
#: Stands for an argument that its function never reads.
UNREAD: Any = type("Unread", (), {"__repr__": lambda self: "unread"})()
_LEAVES = frozenset({np.ndarray, int, float, complex, bool})
_NUMBERS = _LEAVES - {np.ndarray}
_TEXTS = frozenset({str, bytes, type(None)})
_DTYPES = frozenset(DTYPES.values())
#: The classes of a dict's views.
VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
#: The place of a leaf in a tree.
LEAF = "leaf"
#: Containers inside each other: every call takes them apart, from however deep in the program.
MOST_NESTED = 100
_OWN_BEHAVIOUR = (
    *("__getattr__", "__getattribute__", "__getitem__", "__iter__", "__len__", "__contains__"),
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__bool__"),
    *("__index__", "__int__", "__float__", "__complex__", "__reversed__", "__next__"),
)

#: LEAF | Static | Identity | Alternative | Boxed | Rendered | Shared | (class, keys, subtrees). The
#: class of a list of numbers that is taken as arrays is a PackedList.
_Node: TypeAlias = Any
#: An attribute or an item of an argument: (is it an attribute, its name or key).
Part: TypeAlias = tuple[bool, Any]
#: By positions and names of arguments, the parts that a function reads of each.
Reads: TypeAlias = Mapping[int | str, Collection[Part]]


class Static:
    """A constant in a tree, equal to another of the same type and value."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        key = value
        if type(value) is tuple:
            key = tuple(map(Static, value))
        elif type(value) in (slice, range, float, complex):
            key = repr(value)
        self._key = (type(value), key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Static({self.value!r})"


class Identity:
    """An object in a tree, equal only to itself; held weakly where that is possible."""

    __slots__ = ("_hash", "get")

    def __init__(self, value: Any, get: Callable[[], Any] | None = None) -> None:
        self.get = get or reference(value)
        parts = (value.__self__, value.__func__) if type(value) in METHODS else (value,)
        self._hash = hash((type(value), *map(id, parts)))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        value = self.get()
        return isinstance(other, Identity) and value is not None and same_object(value, other.get())

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Identity({self.get()!r})"


#: The records of objects in use, one for each, so that calls need not make them anew.
_IDENTITIES: dict[int, Identity] = {}


def _identity(value: Any) -> Identity:
    key = id(value)
    known = _IDENTITIES.get(key)
    if known is not None and known.get() is value:
        return known

    # When the interpreter ends, objects outlive the names of modules.
    def forget(reference: Any, records: dict[int, Identity] = _IDENTITIES) -> None:
        record = records.get(key)
        if record is not None and record.get is reference:
            del records[key]

    if type(value) in METHODS:
        return Identity(value)
    try:
        made = Identity(value, weakref.ref(value, forget))
    except TypeError:
        return Identity(value)
    _IDENTITIES[key] = made
    return made


@functools.lru_cache(maxsize=512, typed=True)
def _static(value: str | bytes | None) -> Static:
    return Static(value)


_UNREAD = Static(UNREAD)
#: What a range is made of.
_BOUNDS = ("start", "stop", "step")


@dataclasses.dataclass(frozen=True, slots=True)
class Alternative:
    """One of two subtrees, by the truth of a leaf. That leaf comes first, then those of both."""

    first: _Node
    second: _Node
    #: The numbers of leaves of each.
    counts: tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Boxed:
    """A list that is made of arrays, one for each leaf of `form` (see `tracing/boxed.py`)."""

    form: Any
    count: int


@dataclasses.dataclass(frozen=True, slots=True)
class Rendered:
    """A text that is made of `count` leaves, by a template."""

    text: Text
    count: int


@dataclasses.dataclass(frozen=True, slots=True)
class Shared:
    """A container that occurs several times, with its leaves each time; one object all the same."""

    number: int
    node: _Node
    #: The number of its leaves.
    count: int


class Made:
    """In place of the class of a part that the first of its keys makes of its children."""


class TreeDef:
    """The structure around `count` leaves."""

    __slots__ = ("_hash", "count", "joinable", "packed", "root")

    def __init__(self, root: _Node, count: int, packed: int = 0, joinable: bool = False) -> None:
        self.root, self.count = root, count
        #: How many numbers or arrays of lists are in arrays, at the call that this is the structure
        #: of, and whether there are lists of arrays that can be.
        self.packed, self.joinable = packed, joinable
        self._hash = hash(root)

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, TreeDef) and self.root == other.root

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"TreeDef({self.root!r}, {self.count})"


def reference(obj: Any) -> Callable[[], Any]:
    """A weak reference where there can be one: compiled code keeps no caller's object alive."""
    cls = type(obj)
    if cls in METHODS:
        owner, function = reference(obj.__self__), reference(obj.__func__)
        return lambda: _bound(cls, owner(), function())
    try:
        return weakref.ref(obj)
    except TypeError:
        return lambda: obj


def _bound(cls: type, owner: Any, function: Any) -> Any:
    return None if owner is None or function is None else cls(function, owner)


def same_object(a: Any, b: Any) -> bool:
    """Whether two objects are one; a bound method is made anew each time it is looked up."""
    if type(a) is type(b) and type(a) in METHODS:
        return a.__self__ is b.__self__ and a.__func__ is b.__func__
    return a is b


def is_default(cls: type, name: str) -> bool:
    """Whether a class has a special method of `object` as it is there."""
    return bool(getattr(cls, name) is getattr(object, name))


def is_free_leaf(value: Any) -> bool:
    """Whether `value` is an array or a number, which a signature has but the type of."""
    return type(value) in _LEAVES or issubclass(type(value), np.generic)


def is_constant(value: Any) -> bool:
    """Whether `value` is immutable throughout, and as good as any equal one of its type."""
    cls = type(value)
    if value is UNREAD:
        return True
    if cls is slice:
        return all(map(is_constant, (value.start, value.stop, value.step)))
    return cls in _PLAIN or cls is range or issubclass(cls, np.dtype)


def is_namedtuple(cls: type) -> bool:
    """Whether `cls` is a namedtuple, or adds only methods to one."""
    if not issubclass(cls, tuple) or cls is tuple or not hasattr(cls, "_fields"):
        return False
    new = getattr(cls.__new__, "__code__", None)
    own = [base for base in cls.__mro__ if base not in (tuple, object)]
    plain = not any(name in base.__dict__ for base in own for name in _OWN_BEHAVIOUR)
    return (
        new is not None
        and "_tuple_new" in new.co_names
        and plain
        and "__init__" not in cls.__dict__
    )


def dataclass_fields(value: Any) -> tuple[str, ...] | None:
    """The fields that are set on an instance of a dataclass; None where it has other attributes, or
    where to read a field runs code of the program."""
    cls = type(value)
    names = [f.name for f in dataclasses.fields(cls)]
    if not reads_plainly(value, names):
        return None
    own = tuple(n for n in names if has_own(value, n))
    if not has_only(value, own):
        return None
    found = tuple(n for n in names if n in own or _slot_is_set(cls, value, n))
    if stores_in_order(cls):
        return found
    # In the order in which they were stored first, as `vars` shows them.
    held: dict[str, Any] = own_dict(value)
    return tuple(held) if len(held) == len(found) else found


def stores_in_order(cls: Any) -> bool:
    """Whether code made by the dataclass decorator alone stores all fields, in their order."""
    parameters: Any = cls.__dataclass_params__
    return (
        parameters.init
        and not hasattr(cls, "__post_init__")
        and all(f.init and not f.kw_only for f in dataclasses.fields(cls))
    )


def reads_plainly(value: Any, names: Sequence[str]) -> bool:
    """Whether to read these attributes, which an instance has, runs no code of its class."""
    cls = type(value)
    return is_default(cls, "__getattribute__") and not any(_is_computed(cls, n) for n in names)


def _is_computed(cls: type, name: str) -> bool:
    """Whether a class has a descriptor, such as a property, that hides what instances hold."""
    found = next((base.__dict__[name] for base in cls.__mro__ if name in base.__dict__), None)
    return hasattr(type(found), "__set__") and not isinstance(found, MemberDescriptorType)


def _slot_is_set(cls: type, value: Any, name: str) -> bool:
    return isinstance(getattr(cls, name, None), MemberDescriptorType) and hasattr(value, name)


def is_plain_dataclass(value: Any) -> bool:
    """Whether `value` is an instance of a dataclass that holds its fields and nothing else.

    One that names its `__buffers__`, as a module does, is an object: its numbers are settings.
    """
    cls = type(value)
    return (
        "__dataclass_fields__" in cls.__dict__
        and not hasattr(cls, "__buffers__")
        and is_default(cls, "__new__")
        and dataclass_fields(value) is not None
    )


def build_dataclass(cls: type, fields: Mapping[str, Any]) -> Any:
    """An instance of a class with these attributes; nothing of the class runs."""
    new: Any = SimpleNamespace() if cls is SimpleNamespace else object.__new__(cls)
    for name, value in fields.items():
        object.__setattr__(new, name, value)
    return new


class Flattener:
    """Collects the leaves of a value; `node` gives its tree."""

    def __init__(self) -> None:
        self.leaves: list[Any] = []
        self.seen: set[int] = set()
        self.depth = 0

    def node(self, x: Any) -> Any:
        """The tree of `x`. Raises TraceError for what cannot be taken apart."""
        cls = type(x)
        if cls in _LEAVES or issubclass(cls, np.generic):
            if cls not in _NUMBERS and x.dtype not in _DTYPES:
                given_dtype(x.dtype)
            self.leaves.append(x)
            return LEAF
        names: tuple[Any, ...] = ()
        parts: Iterable[Any] = x
        if cls is tuple:
            pass
        elif cls is list:
            self.once(x)
        elif cls is dict:
            self.once(x)
            if "__builtins__" in x:
                raise TraceError("TJ003", "the names of a module as a dict", user_line())
            names, parts = tuple(map(_key, x)), x.values()
        elif cls in _TEXTS:
            return _static(x)
        elif is_constant(x):
            return Static(x)
        elif issubclass(cls, np.ndarray):
            instead = "; np.asarray of it is one of the same memory" if cls is np.memmap else ""
            raise TraceError("TJ003", f"an array of class {cls.__name__}{instead}", user_line())
        elif is_plain_dataclass(x):
            self.once(x)
            names = dataclass_fields(x) or ()
            parts = [getattr(x, name) for name in names]
        elif not is_namedtuple(cls):
            return self.other(x)
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise TraceError(
                "TJ003", f"containers nested more than {MOST_NESTED} deep", user_line()
            )
        children = tuple([self.node(v) for v in parts])
        self.depth -= 1
        return (cls, names, children)

    def other(self, x: Any) -> Any:
        """What stands for an object that is not taken apart."""
        _require_class(x)
        return _identity(x)

    def once(self, x: Any) -> None:
        """Note a container that can change: shared by two places, a change would show in both."""
        if id(x) in self.seen:
            what = f"a {type(x).__name__} that occurs twice"
            raise TraceError("TJ003", what, user_line())
        self.seen.add(id(x))


class _ArgumentFlattener(Flattener):
    """Instances are leaves: what a call reads of them is looked up by the trace. The bounds and
    the step of a range are.

    Lists of more than `few` numbers become arrays, which are leaves; `packed` counts the numbers.
    Lists of arrays do where they are to be `joined`; `joinable` says whether there are any.
    """

    def __init__(self, few: int | None, joined: bool) -> None:
        super().__init__()
        self.few, self.joined = few, joined
        self.packed, self.joinable = 0, False

    def node(self, x: Any) -> Any:
        if type(x) is range and all(abs(getattr(x, name)) < 2**62 for name in _BOUNDS):
            self.leaves += [getattr(x, name) for name in _BOUNDS]
            return range, _BOUNDS, (LEAF,) * len(_BOUNDS)
        if type(x) is not list or not x:
            return super().node(x)
        form: PackedForm | None = None
        if type(x[0]) is np.ndarray:
            form = joined_form(x)
            at_once = form is not None and self.few is not None and are_small(x)
            self.joinable |= form is not None and not at_once
            if not (self.joined or at_once):
                return super().node(x)
        elif self.few is not None:
            form = packed_form(x, self.few)
        if form is None:
            return super().node(x)
        arrays = pack(x, form)
        if arrays is None:
            return super().node(x)
        self.once(x)
        for row in x if type(x[0]) is list else ():
            self.once(row)
        self.leaves += arrays
        self.packed += len(x) if isinstance(form, Arrays) else sum(a.size for a in arrays)
        return (PackedList(form), (), (LEAF,) * len(arrays))

    def argument(self, x: Any, parts: Collection[Part] | None) -> Any:
        """The tree of an argument, with `UNREAD` for what is in it and none of the `parts` that
        are read; None: it is read as a whole. Arrays and numbers stay."""
        read = None if parts is None else _keys_read(x, parts)
        if read is None:
            return self.node(x)
        self.once(x)
        fields = () if type(x) is dict else dataclass_fields(x) or ()
        held = x.items() if type(x) is dict else [(name, getattr(x, name)) for name in fields]
        stays = {key: key in read or is_free_leaf(v) for key, v in held}
        self.depth += 1
        children = tuple([self.node(v) if stays[key] else _UNREAD for key, v in held])
        self.depth -= 1
        return type(x), tuple(_key(k) if type(x) is dict else k for k, _ in held), children

    def other(self, x: Any) -> Any:
        if is_placed(x):
            _require_class(x)
            self.leaves.append(x)
            return LEAF
        return super().other(x)


def _keys_read(x: Any, parts: Collection[Part]) -> set[Any] | None:
    """The keys of a dict, or the fields of a dataclass, that are read; None where code of its class
    may read more."""
    names = {key for is_attribute, key in parts if is_attribute}
    if type(x) is dict:
        return None if names or "__builtins__" in x else {key for _, key in parts}
    cls = type(x)
    if len(names) < len(parts) or not dataclasses.is_dataclass(x) or not is_plain_dataclass(x):
        return None
    if not names <= {*(dataclass_fields(x) or ())} or not is_default(cls, "__getattribute__"):
        return None
    held = [vars(base)[name] for base in cls.__mro__ for name in names if name in vars(base)]
    plain = all(type(h) is MemberDescriptorType or not hasattr(type(h), "__set__") for h in held)
    return names if plain else None


def _require_class(x: Any) -> None:
    """Raise TraceError for an object that shows no class."""
    try:
        isinstance(x, Tracer)
    except Exception as e:
        # Stand-ins for objects that are set up later may raise anything.
        what = f"a {type(x).__name__}, whose class cannot be read: {e}"
        raise TraceError("TJ003", what, user_line()) from None


def _key(key: Any) -> Any:
    """A dict key as part of a tree."""
    if type(key) is str:
        return _static(key)
    if isinstance(key, SymInt):
        key = int(key)
    if _has_tracer(key):
        raise TraceError("TJ003", "a traced dict key", user_line())
    return Static(key) if _is_constant_key(key) else Identity(key)


def is_one_key(a: Any, b: Any) -> bool:
    """Whether two keys are one, or alike: equal ones may be of two types."""
    return a is b or _key(a) == _key(b)


def tuples_in(key: Any) -> Iterator[Any]:
    """Yields the tuples in a key, itself included."""
    if isinstance(key, tuple) and key:
        yield key
        for part in key:
            yield from tuples_in(part)


def _has_tracer(key: Any) -> bool:
    if isinstance(key, tuple):
        return any(map(_has_tracer, key))
    return isinstance(key, (Tracer, SymInt))


def _is_constant_key(key: Any) -> bool:
    return all(map(_is_constant_key, key)) if type(key) is tuple else is_constant(key)


def flatten(
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    few: int | None = None,
    joined: bool = False,
    reads: Reads = MappingProxyType({}),
) -> tuple[list[Any], TreeDef]:
    """The leaves of a call's arguments (arrays, numbers, instances) and their tree.

    Lists of more than `few` numbers are leaves, too, as arrays with copies of what they hold; None
    takes all lists apart. Where they are to be `joined`, lists of arrays are leaves as well. Of
    arguments that are not read as a whole, `reads` has the parts that are read. The tree's root is
    the pair (args, kwargs). Raises TraceError TJ003 for arrays that a graph cannot hold, for a
    list, dict or dataclass that occurs twice, and for containers nested very deeply.
    """
    if not kwargs and _LEAVES.issuperset(map(type, args)):
        for x in args:
            if type(x) is np.ndarray and x.dtype not in _DTYPES:
                given_dtype(x.dtype)
        return list(args), _only_leaves(len(args))
    flattener = _ArgumentFlattener(few, joined)
    node = flattener.node
    if reads:
        children = [flattener.argument(x, reads.get(k)) for k, x in enumerate(args)]
        values = [flattener.argument(x, reads.get(name)) for name, x in kwargs.items()]
        named = (dict, tuple(map(_key, kwargs)), tuple(values))
    else:
        children, named = [node(x) for x in args], node(kwargs)
    root = (tuple, (), ((tuple, (), tuple(children)), named))
    tree = TreeDef(root, len(flattener.leaves), flattener.packed, flattener.joinable)
    return flattener.leaves, tree


@functools.lru_cache(maxsize=64)
def _only_leaves(count: int) -> TreeDef:
    return TreeDef((tuple, (), ((tuple, (), (LEAF,) * count), (dict, (), ()))), count)


class _StateFlattener(Flattener):
    def node(self, x: Any) -> _Node:
        if isinstance(x, (Tracer, SymInt)):
            self.leaves.append(x)
            return LEAF
        return super().node(x)


def flatten_state(state: Any) -> tuple[list[Any], TreeDef]:
    """The leaves of what a branch gives or a loop carries (tracers, sizes, numbers), their tree."""
    flattener = _StateFlattener()
    root = flattener.node(state)
    return flattener.leaves, TreeDef(root, len(flattener.leaves))


def unflatten(
    tree: TreeDef,
    leaves: Sequence[Any],
    made: Callable[[Any], None] | None = None,
    static: Callable[[Any], None] | None = None,
    listed: Callable[[PackedForm, Sequence[Any]], list[Any]] | None = None,
    ranged: Callable[..., Any] = range,
) -> Any:
    """The value with these leaves.

    `listed` makes the stand-in of a list whose leaves are arrays, and `ranged` a range.
    `made` is told of each list, dict and dataclass built for it, `static` of each object that is
    part of the tree by identity. Of an alternative, only the leaves of the side that is chosen are
    read.
    """
    return _Unflattener(leaves, made, static, listed, ranged).build(tree.root)


class _Unflattener:
    """Builds a value from its leaves. (A function that calls itself would keep them in a cycle.)"""

    def __init__(
        self,
        leaves: Sequence[Any],
        made: Callable[[Any], None] | None,
        static: Callable[[Any], None] | None,
        listed: Callable[[PackedForm, Sequence[Any]], list[Any]] | None = None,
        ranged: Callable[..., Any] = range,
    ) -> None:
        self.leaves, self.made, self.static, self.listed = leaves, made, static, listed
        self.ranged = ranged
        self.at = 0
        self._shared: dict[int, Any] = {}

    def build(self, node: _Node) -> Any:
        """The value of a node, whose leaves come next."""
        if node is LEAF:
            self.at += 1
            return self.leaves[self.at - 1]
        if isinstance(node, Static):
            return node.value
        if isinstance(node, Identity):
            obj = node.get()
            if self.static is not None:
                self.static(obj)
            return obj
        if isinstance(node, Alternative):
            self.at += 1
            holds = bool(self.leaves[self.at - 1])
            self.at += 0 if holds else node.counts[0]
            chosen = self.build(node.first if holds else node.second)
            self.at += node.counts[1] if holds else 0
            return chosen
        if isinstance(node, Boxed):
            first = self.at
            self.at += node.count
            return boxed(node.form, [self.leaves[k] for k in range(first, self.at)])
        if isinstance(node, Rendered):
            first = self.at
            self.at += node.count
            return render(node.text, [self.leaves[k] for k in range(first, self.at)])
        if isinstance(node, Shared):
            if node.number in self._shared:
                self.at += node.count
            else:
                self._shared[node.number] = self.build(node.node)
            return self._shared[node.number]
        cls, keys, children = node
        new: Any
        if cls is range:
            return self.ranged(*map(self.build, children))
        if cls is Made:
            new = keys[0](*map(self.build, children))
        elif cls is dict:
            new = {_plain_key(k): self.build(c) for k, c in zip(keys, children, strict=True)}
        elif cls is list:
            new = [self.build(c) for c in children]
        elif isinstance(cls, PackedList):
            assert self.listed is not None
            new = self.listed(cls.form, [self.build(c) for c in children])
        elif keys or not issubclass(cls, tuple):
            new = build_dataclass(cls, dict(zip(keys, map(self.build, children), strict=True)))
        else:
            return tuple.__new__(cls, [self.build(c) for c in children])
        if self.made is not None:
            self.made(new)
        return new


def is_made(node: _Node) -> bool:
    """Whether a part of a tree is made of several leaves that nobody sees: a list, or a text."""
    return isinstance(node, (Boxed, Rendered))


def holds_made(node: _Node) -> bool:
    """Whether a list, a text or another object that is made of leaves is in a tree."""
    if isinstance(node, Shared):
        node = node.node
    if isinstance(node, Alternative):
        return holds_made(node.first) or holds_made(node.second)
    if isinstance(node, tuple):
        return node[0] is Made or any(map(holds_made, node[2]))
    return is_made(node)


def _plain_key(key: Any) -> Any:
    return key.value if isinstance(key, Static) else key.get()


def leaf_names(tree: TreeDef, parameters: Sequence[str]) -> list[str]:
    """A name for each leaf of a call's arguments: `x`, `params_w`, `xs_0`."""
    (_, _, (args, kwargs)) = tree.root
    names: list[str] = []

    def walk(node: _Node, name: str) -> None:
        if node is LEAF:
            names.append(name)
        elif isinstance(node, tuple):
            _, keys, children = node
            for k, child in enumerate(children):
                part = keys[k] if keys else k
                if isinstance(part, Static):
                    part = part.value
                text = str(part) if isinstance(part, (str, int)) else str(k)
                walk(child, f"{name}_{text}")

    for k, child in enumerate(args[2]):
        walk(child, parameters[k] if k < len(parameters) else f"arg{k}")
    for key, child in zip(kwargs[1], kwargs[2], strict=True):
        walk(child, str(key.value))
    return ["".join(c if c.isalnum() else "_" for c in name) for name in names]

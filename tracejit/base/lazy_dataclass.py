"""Dataclasses of the compiler itself: each method is written when it is first called.

`dataclasses.dataclass` compiles half a dozen functions for each class while a module is imported,
half a millisecond a class; of most classes a program uses none. This `dataclass` has the meaning of
that one for what is used here: fields with defaults, factories and exclusions, `eq`, `frozen`,
inheritance, `__post_init__`; `fields`, `replace` and patterns work as well. Until its first use a
method is a descriptor that makes it. Two threads that do so at once make the same one.

Classes with slots are new classes, hence made by `dataclasses` at once. Classes that users see keep
`dataclasses`: a trace knows its methods.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, get_origin

__all__ = ["dataclass"]

_MISSING = dataclasses.MISSING


class _Later:
    """What stands in a class for an attribute that its first read makes."""

    __slots__ = ("cls", "make", "name")

    def __init__(self, cls: type, name: str, make: Callable[[type], Any]) -> None:
        self.cls, self.name, self.make = cls, name, make

    def __get__(self, obj: Any, owner: Any = None) -> Any:
        made = self.make(self.cls)
        setattr(self.cls, self.name, made)
        bind = getattr(type(made), "__get__", None)
        return made if bind is None else bind(made, obj, owner)


def _is_class_variable(annotation: Any) -> bool:
    if isinstance(annotation, str):
        return annotation.startswith(("ClassVar", "typing.ClassVar"))
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def _fields(cls: type) -> dict[str, Any]:
    """The fields of a class by name, with those of its bases; defaults become attributes of it."""
    found: dict[str, Any] = {}
    for base in cls.__mro__[-1:0:-1]:
        found.update(getattr(base, "__dataclass_fields__", None) or {})
    for name, annotation in cls.__annotations__.items():
        given = cls.__dict__.get(name, _MISSING)
        if isinstance(given, dataclasses.Field):
            field: Any = given
        else:
            field = dataclasses.field() if given is _MISSING else dataclasses.field(default=given)
        field.name, field.type, field.kw_only = name, annotation, False
        is_variable = _is_class_variable(annotation)
        field._field_type = getattr(dataclasses, "_FIELD_CLASSVAR" if is_variable else "_FIELD")
        found[name] = field
    for name in cls.__annotations__:
        if isinstance(cls.__dict__.get(name), dataclasses.Field):
            if found[name].default is not _MISSING:
                setattr(cls, name, found[name].default)
            else:
                try:
                    delattr(cls, name)
                except AttributeError:
                    pass  # Another thread was faster.
    return found


def _own(cls: type) -> list[Any]:
    """The fields of a class that are fields of its objects."""
    return list(dataclasses.fields(cls))


def _function(cls: type, name: str, parameters: str, body: str, names: dict[str, Any]) -> Any:
    """A method, made from its text."""
    exec(f"def {name}({parameters}):\n{body}", names)
    made = names[name]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.{name}", cls.__module__
    return made


def _init(cls: type) -> Any:
    names: dict[str, Any] = {"_new": object(), "_set": object.__setattr__}
    frozen = cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
    parameters, lines = ["self"], []
    for f in _own(cls):
        value = f.name
        if f.default_factory is not _MISSING:
            names[f"_make_{f.name}"] = f.default_factory
            made = f"_make_{f.name}()"
            value = f"{made} if {f.name} is _new else {f.name}" if f.init else made
            parameters += [f"{f.name}=_new"] * f.init
        elif f.default is not _MISSING:
            names[f"_default_{f.name}"] = f.default
            parameters += [f"{f.name}=_default_{f.name}"] * f.init
            if not f.init:
                continue  # It is an attribute of the class.
        elif f.init:
            parameters.append(f.name)
        else:
            continue
        set_it = f"_set(self, {f.name!r}, {value})" if frozen else f"self.{f.name} = {value}"
        lines.append(f" {set_it}\n")
    if hasattr(cls, "__post_init__"):
        lines.append(" self.__post_init__()\n")
    made = _function(cls, "__init__", ", ".join(parameters), "".join(lines) or " pass\n", names)
    made.__annotations__ = {f.name: f.type for f in _own(cls) if f.init} | {"return": None}
    return made


def _repr(cls: type) -> Any:
    from reprlib import recursive_repr

    shown = ", ".join(f"{f.name}={{self.{f.name}!r}}" for f in _own(cls) if f.repr)
    body = f' return self.__class__.__qualname__ + f"({shown})"\n'
    return recursive_repr()(_function(cls, "__repr__", "self", body, {}))


def _tuple_of(obj: str, fields: list[Any]) -> str:
    return f"({''.join(f'{obj}.{f.name}, ' for f in fields)})"


def _eq(cls: type) -> Any:
    compared = [f for f in _own(cls) if f.compare]
    body = (
        " if other.__class__ is self.__class__:\n"
        f"  return {_tuple_of('self', compared)} == {_tuple_of('other', compared)}\n"
        " return NotImplemented\n"
    )
    return _function(cls, "__eq__", "self, other", body, {})


def _hash(cls: type) -> Any:
    hashed = [f for f in _own(cls) if (f.compare if f.hash is None else f.hash)]
    return _function(cls, "__hash__", "self", f" return hash({_tuple_of('self', hashed)})\n", {})


def _setattr(cls: type) -> Any:
    names = frozenset(f.name for f in _own(cls))

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)  # type: ignore[arg-type]

    return __setattr__


def _delattr(cls: type) -> Any:
    names = frozenset(f.name for f in _own(cls))

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)  # type: ignore[arg-type]

    return __delattr__


def _match_args(cls: type) -> tuple[str, ...]:
    return tuple(f.name for f in _own(cls) if f.init)


_Makers: TypeAlias = tuple[tuple[str, Callable[[type], Any]], ...]
_ALWAYS: _Makers = (("__init__", _init), ("__repr__", _repr), ("__match_args__", _match_args))
_FROZEN: _Makers = (("__setattr__", _setattr), ("__delattr__", _delattr))


class _Parameters:
    """What `dataclass` was asked for, under the names that `dataclasses` gives it."""

    __slots__ = ("eq", "frozen", "init", "order", "repr", "slots", "unsafe_hash")

    def __init__(self, eq: bool, frozen: bool) -> None:
        self.eq, self.frozen = eq, frozen
        self.init = self.repr = True
        self.order = self.unsafe_hash = self.slots = False


_FLAGS = (False, True)
#: By (eq, frozen).
_PARAMETERS = {(eq, frozen): _Parameters(eq, frozen) for eq in _FLAGS for frozen in _FLAGS}


def _decorated(cls: type, eq: bool, frozen: bool) -> type:
    own = cls.__dict__
    made = _ALWAYS
    if frozen:
        made += _FROZEN
    if eq and "__eq__" not in own:
        made += (("__eq__", _eq),)
    # A class that defines equality has `__hash__` None by that, where it does not define both.
    if eq and own.get("__hash__") is None:
        if frozen:
            made += (("__hash__", _hash),)
        else:
            cls.__hash__ = None  # type: ignore[assignment]
    for name, make in made:
        if name not in own or name == "__hash__":
            setattr(cls, name, _Later(cls, name, make))
    cls.__dataclass_params__ = _PARAMETERS[eq, frozen]  # type: ignore[attr-defined]
    later = _Later(cls, "__dataclass_fields__", _fields)
    cls.__dataclass_fields__ = later  # type: ignore[attr-defined]
    return cls


if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, eq=True, frozen=False, slots=False):
        """The class as a dataclass, or a decorator that makes it one."""
        if slots:
            return dataclasses.dataclass(eq=eq, frozen=frozen, slots=slots)
        if cls is None:
            return lambda cls: _decorated(cls, eq, frozen)
        return _decorated(cls, eq, frozen)

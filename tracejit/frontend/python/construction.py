"""Objects of classes of the program are made: dataclasses field by field, others by their init."""

from __future__ import annotations

import abc
import dataclasses
import enum
from types import (
    FunctionType,
    MethodWrapperType,
    SimpleNamespace,
)
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.capture.values import MISSING, class_lookup
from tracejit.frontend.python.objects import _bind, _is_frozen
from tracejit.frontend.tracing.checks import require_plain, require_plain_enum
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import is_constant, is_default, is_namedtuple
from tracejit.frontend.tracing.tracer import user_line

__all__ = ["construct", "is_empty_init"]


def construct(
    interpreter: Interpreter, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """`cls(*args, **kwargs)` for a class of the program's own. Raises TraceError for all others."""
    if isinstance(cls, enum.EnumMeta):
        require_plain([*args, kwargs], "an enum's value")
        require_plain_enum(interpreter.capture, cls, "__call__")
        members: dict[Any, Any] = cls._value2member_map_
        if len(args) != 1 or kwargs or not (_is_hashable(args[0]) and args[0] in members):
            # What makes a member of a value that no member has may be code of the program.
            raise TraceError("TJ002", f"a member of {cls.__name__} by this value", user_line())
        return interpreter.capture.object_source(cls(*args, **kwargs), cls.__name__).value
    if is_namedtuple(cls):
        _require_constant_defaults(cls, len(args) + len(kwargs))
        return cls(*args, **kwargs)
    if cls is SimpleNamespace and not args:
        return interpreter.allocate(SimpleNamespace(**kwargs))
    known = interpreter.capture.source_of(cls)
    ordinary = type(cls) in (type, abc.ABCMeta) and is_default(cls, "__new__")
    if known is None or not ordinary or class_lookup(cls, "__del__") is not MISSING:
        raise TraceError("TJ002", f"the class {cls.__qualname__}", user_line())
    if cls.__dict__.get("__abstractmethods__"):
        raise TypeError(f"Can't instantiate abstract class {cls.__name__}")
    init = class_lookup(cls, "__init__")
    new: Any = object.__new__(cls)
    interpreter.allocate(new)
    interpreter.capture.guard_methods(new, "__new__", "__del__", "__init__")
    if "__dataclass_fields__" in cls.__dict__ and _is_generated(init):
        _fill(interpreter, new, args, kwargs)
    elif init is not MISSING and init is not object.__init__:
        interpreter.call(_bind(interpreter, cls, "__init__", init, new), *args, **kwargs)
    elif args or kwargs:
        raise TypeError(f"{cls.__name__}() takes no arguments")
    return new


def _is_generated(init: Any) -> bool:
    return isinstance(init, FunctionType) and init.__code__.co_filename == "<string>"


def _require_constant_defaults(cls: Any, given: int) -> None:
    defaults = cls.__new__.__defaults__ or ()
    if given < len(cls._fields) and not all(map(is_constant, defaults)):
        raise TraceError("TJ006", f"the defaults of {cls.__name__}", user_line())


def _fill(
    interpreter: Interpreter, new: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """What the generated `__init__` of a dataclass does."""
    cls = type(new)
    if class_lookup(cls, "__setattr__") is not object.__setattr__ and not _is_frozen(cls):
        raise TraceError("TJ008", f"{cls.__name__}.__setattr__", user_line())
    fields = dataclasses.fields(cls)
    code = class_lookup(cls, "__init__").__code__
    parameters = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    if set(parameters) != {f.name for f in fields if f.init}:
        raise TraceError("TJ008", f"an InitVar of {cls.__name__}", user_line())
    positional = [f.name for f in fields if f.init and not f.kw_only]
    if len(args) > len(positional):
        raise TypeError(f"{cls.__name__}.__init__() takes {len(positional)} positional arguments")
    given = dict(zip(positional, args, strict=False))
    unknown = set(kwargs) - {f.name for f in fields if f.init}
    if unknown or set(kwargs) & set(given):
        raise TypeError(f"{cls.__name__}.__init__() got unexpected or repeated {sorted(kwargs)}")
    given.update(kwargs)
    for f in fields:
        if f.name in given:
            value = given[f.name]
        elif f.default_factory is not dataclasses.MISSING:
            value = _default(interpreter, cls, f)
        elif not f.init:
            continue
        elif f.default is not dataclasses.MISSING:
            value = _default(interpreter, cls, f)
        else:
            raise TypeError(f"{cls.__name__}.__init__() missing argument: '{f.name}'")
        object.__setattr__(new, f.name, value)
    if "__post_init__" in code.co_names:
        post = class_lookup(cls, "__post_init__")
        interpreter.call(_bind(interpreter, cls, "__post_init__", post, new))


def _default(interpreter: Interpreter, cls: Any, f: dataclasses.Field[Any]) -> Any:
    """A field's default, where the generated `__init__` has it."""
    capture = interpreter.capture
    source = capture.class_attribute(cls, "__init__")
    assert source is not None
    init = source.value
    if f.default is not dataclasses.MISSING:
        key: int | str = f.name
        if not f.kw_only:
            key = init.__code__.co_varnames.index(f.name) - init.__code__.co_argcount
        held = init.__kwdefaults__ if f.kw_only else init.__defaults__
        return capture.default(source, key, f.name, held[key])
    for cell, name in zip(init.__closure__ or (), init.__code__.co_freevars, strict=True):
        if cell.cell_contents is f.default_factory:
            return interpreter.call(capture.cell_value(cell, name))
    raise TraceError("TJ006", f"the default of {cls.__name__}.{f.name}", user_line())


def _is_hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


def is_empty_init(f: Any) -> bool:
    """Whether `f` is object.__init__ bound to an object."""
    return (
        isinstance(f, MethodWrapperType) and f.__name__ == "__init__" and f.__objclass__ is object
    )

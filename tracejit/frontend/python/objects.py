"""Attributes of objects in a traced program, and the making of objects.

Python's lookup is done step by step: what an object from outside holds is captured by path, what
its class holds is guarded, and properties and methods run as rewritten code.
"""

from __future__ import annotations

import abc
import enum
import functools
import operator
import sys
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, cast

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.capture.captured import Source
from tracejit.frontend.capture.values import (
    DESCRIBES,
    IMMUTABLE,
    MISSING,
    class_lookup,
    is_exempt_module,
)
from tracejit.frontend.control.unions import narrow_bound
from tracejit.frontend.python.array_methods import array_method
from tracejit.frontend.python.function_attributes import (
    DESCRIPTIVE,
    function_attribute,
    source_of_function,
    store_in_function,
)
from tracejit.frontend.python.outer_names import OuterNames
from tracejit.frontend.python.text.streams import STREAMS
from tracejit.frontend.python.text.text_methods import text_method
from tracejit.frontend.tracing.checks import class_of, require_plain_enum
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.instances import HEAP_TYPE, is_stream
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import VIEWS, is_constant, is_default, is_namedtuple
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.text import TracedText
from tracejit.frontend.tracing.traceable import Traceable
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, user_line
from tracejit.frontend.tracing.union import UNBOUND
from tracejit.link.cpython.own_attributes import has_own

__all__ = ["attribute", "delete_attribute", "special", "store_attribute"]

#: Tracers' own attributes, which NumPy's objects do not have or mean otherwise.
_TRACER_OWN = frozenset(
    {"storage", "is_python", "snapshot", "store", "trace", "type", "value", "views"}
)
_SCALAR = frozenset(
    "T all any argmax argmin astype clip conj conjugate copy cumprod cumsum denominator dtype "
    "flatten imag is_integer item itemsize max mean min nbytes ndim numerator prod ptp ravel real "
    "reshape round shape size squeeze std sum tolist var".split()
)
_DTYPE = frozenset(
    "alignment base byteorder char hasobject isnative itemsize kind name ndim num shape str "
    "type".split()
)
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    f"__{name}__": getattr(operator, name)
    for name in "add sub mul truediv floordiv mod pow matmul lt le gt ge eq ne".split()
}
#: The same lookup as object's, under other names.
_GENERIC_LOOKUPS: tuple[Any, ...] = (tuple.__getattribute__, SimpleNamespace.__getattribute__)
_BUILTIN = (list, tuple, dict, set, frozenset, *VIEWS)
#: Modules whose contents are mathematics: constants in them are constants.
_CONSTANT_MODULES = ("numpy", "scipy", "math", "cmath", "operator", "itertools", "functools")
_INFO = (np.finfo, np.iinfo)
_PACKAGE = "tracejit.frontend."


#: Stand-ins that know their attributes: modules, and classes in them. Nothing is of the class of a
#: module that nobody has imported.
_STAND_INS = frozenset(
    (f"tracejit.frontend.{module}", name)
    for module, name in (
        ("numpy.array_objects", "Flags"),
        ("python.random", "TracedGenerator"),
        ("python.text.streams", "StandardStream"),
        ("python.unread_lists", "UnreadList"),
        ("tracing.raised", "TracedError"),
    )
)


def _is_stand_in(x: Any) -> bool:
    cls = type(x)
    return cls.__module__.startswith(_PACKAGE) and any(
        (base.__module__, base.__qualname__) in _STAND_INS for base in cls.__mro__
    )


def attribute(interpreter: Interpreter, x: Any, name: str) -> Any:
    """`x.name`. Raises AttributeError as Python does, TraceError for what cannot be followed."""
    if isinstance(x, Tracer):
        return array_method(x, name) or _tracer_attribute(x, name)
    if isinstance(x, SymInt):
        return getattr(int(x), name)
    if isinstance(x, TracedText):
        x = x.settled()
    if isinstance(x, TracedText):
        return text_method(x, name)
    if isinstance(x, GeneratorCall):
        raise TraceError("TJ023", f"the attribute {name} of a generator", user_line())
    if x is sys and name in STREAMS:
        return STREAMS[name]
    if isinstance(x, StandIn):
        return x.attribute(name)
    if _is_stand_in(x):
        return cast(Any, x).attribute(name)
    if isinstance(x, OuterNames):
        return x.get(name)
    logging: Any = sys.modules.get("logging")
    if logging is not None and isinstance(x, logging.Logger):
        from tracejit.frontend.python.text.messages import log_method

        return log_method(interpreter, x, name)
    if isinstance(x, ModuleType):
        return _module_attribute(interpreter, x, name)
    if isinstance(x, np.generic):
        if name not in _SCALAR:
            raise TraceError("TJ002", f"{type(x).__name__}.{name}", user_line())
        return getattr(x, name)
    if isinstance(x, np.dtype) and name not in _DTYPE:
        raise TraceError("TJ002", f"dtype.{name}", user_line())
    if is_constant(x) or type(x) in _BUILTIN or isinstance(x, _INFO):
        if name.startswith("__"):
            raise TraceError("TJ008", f"the attribute {name}", user_line())
        return getattr(x, name)
    if isinstance(x, type):
        return _class_attribute(interpreter, x, name)
    if isinstance(x, FunctionType):
        return function_attribute(interpreter, x, name)
    if isinstance(x, super):
        return _super_attribute(interpreter, x, name)
    if isinstance(x, (BuiltinFunctionType, np.ufunc, MethodType)):
        if name in DESCRIPTIVE or isinstance(x, np.ufunc) and not name.startswith("_"):
            return getattr(x, name)
        raise TraceError("TJ008", f"the attribute {name} of a function", user_line())
    if is_stream(x):
        from tracejit.frontend.python.random import StreamMethod

        return StreamMethod(x, name)
    return _object_attribute(interpreter, x, name)


def _tracer_attribute(x: Tracer, name: str) -> Any:
    from tracejit.frontend.numpy.methods import array_attribute

    cls = class_of(x)
    if name == "__class__":
        return cls
    if name in ("view", "trace") and isinstance(x, TracedArray):
        return array_attribute(x, name)
    if name in _OPERATORS and isinstance(x, TracedArray):
        return lambda other: _OPERATORS[name](x, other)
    if name.startswith("__") or name == "view":
        raise TraceError("TJ004", f"{cls.__name__}.{name}", user_line())
    if name in _TRACER_OWN:
        raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'")
    return getattr(x, name)


def _module_attribute(interpreter: Interpreter, module: ModuleType, name: str) -> Any:
    if not is_exempt_module(module):
        if name not in vars(module):
            raise TraceError("TJ006", f"{module.__name__}.{name}", user_line())
        return interpreter.capture.global_value(vars(module), name)
    try:
        value = getattr(module, name)
    except AttributeError:
        # The program may define it later.
        interpreter.capture.library_name(vars(module), name, MISSING)
        raise
    interpreter.capture.library_name(vars(module), name, value)
    top = module.__name__.partition(".")[0]
    if isinstance(value, (ModuleType, type, FunctionType, BuiltinFunctionType, np.ufunc)):
        return value
    if top in _CONSTANT_MODULES and (
        is_constant(value) or type(value).__module__.startswith("numpy")
    ):
        if isinstance(value, np.ndarray):
            return interpreter.capture.global_value(vars(module), name)
        return value
    if name in vars(module):
        return interpreter.capture.global_value(vars(module), name)
    raise TraceError("TJ006", f"{module.__name__}.{name}", user_line())


def _refuse(x: Any, name: str) -> Any:
    raise TraceError("TJ006", f"the attribute {name} of a {type(x).__name__}", user_line())


# Classes -----------------------------------------------------------------------------------------


def _class_attribute(interpreter: Interpreter, cls: type, name: str) -> Any:
    if name in DESCRIPTIVE:
        value = getattr(cls, name)
        if cls.__flags__ & IMMUTABLE:
            return value
        source = interpreter.capture.object_source(cls, cls.__name__)
        return interpreter.capture.attribute(source, name, value)
    if isinstance(cls, enum.EnumMeta):
        require_plain_enum(interpreter.capture, cls, "__getattribute__")
    if isinstance(cls, enum.EnumMeta) and name in cls.__members__:
        return interpreter.capture.object_source(cls[name], name).value
    if cls.__module__ == "builtins" or issubclass(cls, np.generic):
        return getattr(cls, name)
    meta = type(cls)
    if meta is not type and meta is not abc.ABCMeta and not isinstance(cls, enum.EnumMeta):
        raise TraceError("TJ006", f"the attribute {name} of a {meta.__name__}", user_line())
    stored = _stored_in_class(interpreter, cls, name)
    if stored is not MISSING:
        return stored
    found = class_lookup(cls, name)
    if found is MISSING:
        if hasattr(cls, name):
            _refuse(cls, name)
        interpreter.capture.guard_class_lacks(cls, name)
        return getattr(cls, name)
    return _bind(interpreter, cls, name, found, None)


def _stored_in_class(interpreter: Interpreter, cls: type, name: str) -> Any:
    """What the program has stored under a name into a class or its bases, or MISSING."""
    for base in cls.__mro__:
        stored = interpreter.state.attribute(base, name)
        if stored is not MISSING:
            return narrow_bound(stored)
        if name in base.__dict__:
            break
    return MISSING


def _store_in_class(interpreter: Interpreter, value: Any, cls: type, name: str) -> None:
    """`cls.name = value`, where the class has an attribute of that name that is no descriptor."""
    held = cls.__dict__.get(name, MISSING)
    plain = type(cls) in (type, abc.ABCMeta) and cls.__flags__ & HEAP_TYPE
    if held is MISSING or not plain or any(hasattr(type(held), m) for m in DESCRIBES):
        raise TraceError("TJ027", f"the class attribute {cls.__name__}.{name}", user_line())
    source = interpreter.capture.object_source(cls, cls.__name__)
    if any(hasattr(type(value), m) for m in DESCRIBES) and not isinstance(value, Tracer):
        raise TraceError("TJ027", f"a {type(value).__name__} as a class attribute", user_line())
    interpreter.state.set_class_attribute(interpreter, cls, source, name, value)


def _super_attribute(interpreter: Interpreter, x: Any, name: str) -> Any:
    after, owner, cls = x.__thisclass__, x.__self__, x.__self_class__
    found = class_lookup(cls, name, after)
    if isinstance(found, (FunctionType, classmethod, staticmethod)) or _is_of_compiler(found):
        return _bind(interpreter, cls, name, found, None if owner is cls else owner, after)
    if name == "__init__" and found is object.__dict__["__init__"]:
        return getattr(x, name)
    raise TraceError("TJ008", f"super().{name}", user_line())


def _bind(
    interpreter: Interpreter,
    cls: type,
    name: str,
    found: Any,
    owner: Any,
    after: type | None = None,
) -> Any:
    """What a class holds, as an attribute of `owner` (None: of the class itself), under a guard."""
    capture = interpreter.capture
    source = capture.class_attribute(cls, name, after)
    assert source is not None
    if isinstance(found, FunctionType):
        capture.guard_identity(source)
        return found if owner is None else MethodType(found, owner)
    if isinstance(found, (staticmethod, classmethod)):
        capture.guard_identity(source)
        function = _inner_function(interpreter, source, "__func__", found.__func__)
        return function if isinstance(found, staticmethod) else MethodType(function, cls)
    if isinstance(found, property) and owner is not None:
        capture.guard_identity(source)
        if found.fget is None:
            raise AttributeError(f"property '{name}' of '{cls.__name__}' object has no getter")
        return interpreter.call(_inner_function(interpreter, source, "fget", found.fget), owner)
    if any(hasattr(type(found), m) for m in DESCRIBES):
        if not _is_of_compiler(found):
            raise TraceError("TJ006", f"the descriptor {cls.__name__}.{name}", user_line())
        capture.guard_identity(source)
        return found.__get__(owner, cls)
    capture.guard_plain(source)
    return capture.reach(source)


def _is_of_compiler(x: Any) -> bool:
    """Whether `x` is a compiled function or a transform: these bind themselves as Python does."""
    own = type(x).__module__.partition(".")[0] == "tracejit"
    return isinstance(x, Traceable) or own and hasattr(x, "__tracejit__")


def _inner_function(interpreter: Interpreter, parent: Source, name: str, function: Any) -> Any:
    return interpreter.capture.attribute(parent, name, function)


# Objects -----------------------------------------------------------------------------------------


def _plain_lookup(cls: type) -> bool:
    lookup: Any = cls.__getattribute__
    usual = is_default(cls, "__getattribute__") or lookup in _GENERIC_LOOKUPS
    return usual and class_lookup(cls, "__getattr__") is MISSING


def _known(interpreter: Interpreter, x: Any, name: str) -> Source | None:
    """The source of an object from outside; None for one made inside or rebuilt."""
    if interpreter.is_local(x) or id(x) in interpreter.capture.rebuilt or is_namedtuple(type(x)):
        return None
    source: Source | None = interpreter.capture.source_of(x)
    if source is None:
        _refuse(x, name)
    return source


def _object_attribute(interpreter: Interpreter, x: Any, name: str) -> Any:
    cls = type(x)
    if not _plain_lookup(cls):
        _refuse(x, name)
    if cls.__module__.startswith(_PACKAGE) and (name.startswith("__") or not hasattr(x, name)):
        raise TraceError("TJ002", f"the attribute {name} of what Python makes", user_line())
    capture = interpreter.capture
    source = _known(interpreter, x, name)
    if source is not None:
        capture.guard_type(source, cls)
    elif not (is_namedtuple(cls) and name in cls._fields):
        capture.guard_methods(x, "__getattribute__", "__getattr__", name)
    if name == "__class__":
        return cls
    if isinstance(x, enum.Enum) and source is not None and name in ("name", "value"):
        return capture.attribute(source, name, getattr(x, name))
    found = class_lookup(cls, name)
    if isinstance(found, property) and not isinstance(x, enum.Enum):
        return _bind(interpreter, cls, name, found, x)
    stored = interpreter.state.attribute(x, name)
    if stored is not MISSING:
        return _stored_attribute(x, name, found, narrow_bound(stored))
    is_own = has_own(x, name)
    if not is_own and found is not MISSING:
        stored = _stored_in_class(interpreter, cls, name)
        if stored is not MISSING:
            if source is not None:
                capture.guard_own_lacks(source, name)
            return stored
    if isinstance(found, MemberDescriptorType) or is_own:
        if not is_own or not _is_data_descriptor(found):
            if source is not None:
                capture.guard_methods(x, "__getattribute__", name)
            if source is not None and not hasattr(x, name):
                capture.guard_absent(source, name)
            value = getattr(x, name)
            return value if source is None else capture.attribute(source, name, value)
        _refuse(x, name)
    if is_namedtuple(cls) and name in cls._fields:
        return getattr(x, name)
    if found is MISSING:
        if hasattr(x, name):
            _refuse(x, name)
        if source is not None:
            capture.guard_own_lacks(source, name)
        if id(x) in interpreter.boxes:
            raise NameError(f"cannot access free variable '{name}' where it is not associated")
        capture.guard_methods(x, "__getattribute__", "__getattr__", name)
        raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'")
    if isinstance(found, functools.cached_property):
        return _cached_property(interpreter, x, name, found, source)
    if source is not None and isinstance(found, FunctionType):
        capture.guard_method(source, name, found)
    elif source is not None:
        capture.guard_own_lacks(source, name)
        capture.guard_methods(x, "__getattribute__")
    if is_namedtuple(cls) and name in ("_replace", "_asdict", "_make"):
        return getattr(x, name)
    return _bind(interpreter, cls, name, found, x)


def _stored_attribute(x: Any, name: str, found: Any, value: Any) -> Any:
    """An attribute of an instance from outside that the program has stored, or deleted."""
    if value is not UNBOUND:
        return value
    if found is not MISSING and not isinstance(found, MemberDescriptorType):
        _refuse(x, name)
    raise AttributeError(f"'{type(x).__name__}' object has no attribute '{name}'")


def _is_data_descriptor(found: Any) -> bool:
    cls = type(found)
    return found is not MISSING and (hasattr(cls, "__set__") or hasattr(cls, "__delete__"))


def _cached_property(
    interpreter: Interpreter, x: Any, name: str, found: Any, source: Source | None
) -> Any:
    if source is not None:
        raise TraceError("TJ027", f"the cached property {name} is filled", user_line())
    interpreter.require_mutable(x)
    cls_source = interpreter.capture.class_attribute(type(x), name)
    assert cls_source is not None
    interpreter.capture.guard_identity(cls_source)
    value = interpreter.call(_inner_function(interpreter, cls_source, "func", found.func), x)
    x.__dict__[name] = value
    return value


def special(interpreter: Interpreter, x: Any, name: str) -> Any:
    """The special method `name` of `x`, bound to it, where the program's own classes define one."""
    if isinstance(x, StandIn):
        return x.special(name)
    cls = type(x)
    found = class_lookup(cls, name)
    if isinstance(x, (Tracer, type)):
        return None
    if not (isinstance(found, FunctionType) or _is_of_compiler(found)):
        interpreter.capture.guard_methods(x, name)
        return None
    source = _known(interpreter, x, name)
    if source is not None:
        interpreter.capture.guard_type(source, cls)
    return _bind(interpreter, cls, name, found, x)


def store_attribute(interpreter: Interpreter, value: Any, x: Any, name: str) -> None:
    """`x.name = value` on an object made inside or an instance.

    Raises TraceError TJ027 for any other.
    """

    from tracejit.frontend.numpy.stores import set_attribute

    if isinstance(x, TracedArray):
        set_attribute(x, name, value)
        return
    if isinstance(x, OuterNames):
        x.set(name, value)
        return
    if isinstance(x, Tracer):
        raise TraceError("TJ008", f"an assignment to the attribute {name} of an array", user_line())
    if isinstance(value, TracedArray) and _holds(interpreter, x, name, value):
        return
    if isinstance(x, StandIn) and name not in vars(x):
        x.attribute(name)
        raise TraceError("TJ008", f"an assignment to .{name}", user_line())
    if isinstance(x, type):
        _store_in_class(interpreter, value, x, name)
        return
    source = source_of_function(interpreter, x)
    if source is not None:
        store_in_function(interpreter, value, x, source, name)
        return
    source = _outside(interpreter, x)
    if source is None:
        interpreter.require_mutable(x)
    cls = type(x)
    found = class_lookup(cls, name)
    if isinstance(found, property) and is_default(cls, "__setattr__"):
        setter = interpreter.capture.class_attribute(cls, name)
        assert setter is not None
        interpreter.capture.guard_identity(setter)
        if found.fset is None:
            raise AttributeError(f"property '{name}' of '{cls.__name__}' object has no setter")
        interpreter.call(_inner_function(interpreter, setter, "fset", found.fset), x, value)
        return
    _require_plain_store(x, name)
    interpreter.capture.guard_methods(x, "__setattr__", "__delattr__", name)
    if source is None:
        setattr(x, name, value)
        return
    if _is_frozen(cls):
        raise TraceError("TJ008", f"an assignment to {cls.__name__}.{name}", user_line())
    if not cls.__dictoffset__ and not isinstance(found, MemberDescriptorType):
        # Raises AttributeError as `x` does.
        setattr(object.__new__(cls), name, value)
    interpreter.state.set_attribute(interpreter, x, source, name, value)


def _outside(interpreter: Interpreter, x: Any) -> Source | None:
    """The source of an instance from outside; None for any other object."""
    found: Source | None = interpreter.capture.instance_source(x)
    return found


def _holds(interpreter: Interpreter, x: Any, name: str, value: TracedArray) -> bool:
    """Whether an object from outside has this very array as a plain attribute already.

    `x.name += 1` stores it once more, after it has changed in place.
    """
    cls = type(x)
    if isinstance(x, type) or interpreter.is_local(x):
        return False
    stored = interpreter.state.attribute(x, name)
    if stored is not MISSING:
        return stored is value
    if not (is_default(cls, "__setattr__") and _plain_lookup(cls)):
        return False
    found = class_lookup(cls, name)
    own = has_own(x, name) and not _is_data_descriptor(found)
    if not own and not isinstance(found, MemberDescriptorType):
        return False
    return hasattr(x, name) and _object_attribute(interpreter, x, name) is value


def _require_plain_store(x: Any, name: str) -> None:
    """Raise TraceError where storing an attribute runs code of the program."""
    cls = type(x)
    found = class_lookup(cls, name)
    plain = isinstance(found, MemberDescriptorType) or not _is_data_descriptor(found)
    own = not _stores_plainly(cls) and not _is_frozen(cls)
    if own or not plain or isinstance(x, type):
        raise TraceError("TJ008", f"an assignment to {cls.__name__}.{name}", user_line())


def _stores_plainly(cls: type) -> bool:
    return is_default(cls, "__setattr__") or cls is SimpleNamespace


def _is_frozen(cls: type) -> bool:
    parameters = getattr(cls, "__dataclass_params__", None)
    return parameters is not None and parameters.frozen


def delete_attribute(interpreter: Interpreter, x: Any, name: str) -> None:
    """`del x.name` on an object made inside or an instance.

    Raises TraceError TJ027 for any other.
    """
    if isinstance(x, OuterNames):
        x.set(name, UNBOUND)
        return
    function = source_of_function(interpreter, x)
    if function is not None:
        store_in_function(interpreter, UNBOUND, x, function, name)
        return
    source = _outside(interpreter, x)
    if source is None:
        interpreter.require_mutable(x)
    cls = type(x)
    if isinstance(class_lookup(cls, name), property) or not is_default(cls, "__delattr__"):
        raise TraceError("TJ008", f"del of {cls.__name__}.{name}", user_line())
    interpreter.capture.guard_methods(x, "__setattr__", "__delattr__", name)
    if source is None:
        delattr(x, name)
        return
    _object_attribute(interpreter, x, name)
    held = class_lookup(cls, name)
    is_stored = interpreter.state.attribute(x, name) is not MISSING
    if not (is_stored or has_own(x, name) or isinstance(held, MemberDescriptorType)):
        raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'")
    interpreter.state.set_attribute(interpreter, x, source, name, UNBOUND)


# Making objects ----------------------------------------------------------------------------------

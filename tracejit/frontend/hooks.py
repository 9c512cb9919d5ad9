"""What rewritten code calls instead of acting itself: every step whose meaning depends on a value.

A hook does what Python does where the value is traced or made inside the trace, goes through
`Capture` where it comes from outside, and raises TraceError wherever it cannot know: nothing is
ever frozen.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from types import CellType, FunctionType, MethodType
from typing import Any, cast

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend import calls, formatting, objects, operators
from tracejit.frontend.capture import MISSING, Capture, class_lookup
from tracejit.frontend.containers import (
    VIEWS,
    dataclass_fields,
    is_constant,
    is_namedtuple,
    is_plain_dataclass,
)
from tracejit.frontend.flow_plain import PlainFlow
from tracejit.frontend.shapes import SymInt
from tracejit.frontend.text import TracedText, concatenate
from tracejit.frontend.tracer import TracedArray, Tracer, current_trace, here, user_line

__all__ = ["Hooks", "Scope"]

_STEPS = 300_000
_NO_ITEMS: dict[Any, Any] = {}
_EMPTY: tuple[Any, ...] = (
    *([], (), _NO_ITEMS, _NO_ITEMS.values(), _NO_ITEMS.items(), "", b"", range(0), set()),
)
_ITERATORS: tuple[type, ...] = (
    zip,
    map,
    filter,
    enumerate,
    reversed,
    *(type(iter(x)) for x in _EMPTY),
    *(type(reversed(x)) for x in _EMPTY if hasattr(x, "__reversed__")),
)
_SEQUENCES = (list, tuple, dict, str, bytes, range, *VIEWS)


class Scope:
    """The hooks as one function sees them, with its own globals and closure."""

    def __init__(self, hooks: Hooks, namespace: dict[str, Any], cells: dict[str, CellType]) -> None:
        self.namespace, self.cells, self.hooks = namespace, cells, hooks

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.hooks, name)
        setattr(self, name, found)
        return found

    def global_(self, name: str) -> Any:
        """A global name or a builtin."""
        return self.hooks.capture.global_value(self.namespace, name)

    def free(self, name: str) -> Any:
        """A name of the scope around the function."""
        return self.hooks.capture.cell_value(self.cells[name], name)


class Hooks(PlainFlow):
    """The hooks of one trace. `home` is the top-level package of the function that is compiled."""

    slice = slice

    def __init__(self, capture: Capture, home: str) -> None:
        self.capture = capture
        self.home = home
        self.functions: dict[int, FunctionType] = {}
        self.steps = 0

    # Made inside ---------------------------------------------------------------------------------

    def new(self, x: Any) -> Any:
        """Note what the traced program has just made: it may be changed, where it was made."""
        self.capture.created[id(x)] = (x, here())
        return x

    def is_made(self, x: Any) -> bool:
        """Whether `x` was made inside the trace."""
        return id(x) in self.capture.created

    def adopt(self, x: Any) -> Any:
        """Note the containers of a result that a function of the compiler has built."""
        if id(x) in self.capture.rebuilt or isinstance(x, Tracer):
            return x
        if type(x) is dict:
            parts = list(x.values())
        elif type(x) in (list, tuple) or is_namedtuple(type(x)):
            parts = list(x)
        elif is_plain_dataclass(x):
            parts = [getattr(x, name) for name in dataclass_fields(x) or ()]
        else:
            return x
        for part in parts:
            self.adopt(part)
        return x if isinstance(x, tuple) else self.new(x)

    def may_change(self, x: Any) -> None:
        """Raise TraceError TJ005 unless `x` was made inside the innermost trace."""
        _, trace = self.capture.created.get(id(x), (None, None))
        if trace is None:
            raise TraceError("TJ005", f"a {type(x).__name__} from outside", user_line())
        if trace is not current_trace():
            what = f"a {type(x).__name__} made outside a branch or loop is changed inside"
            raise TraceError("TJ005", what, user_line())

    def fresh(self, x: Any) -> Any:
        """A result of NumPy or Python on concrete values: arrays become constants of the graph."""
        if isinstance(x, np.ndarray):
            return operators.constant_array(x)
        if type(x) in (list, dict, set):
            return self.new(x)
        if type(x) is tuple and any(isinstance(v, np.ndarray) for v in x):
            return tuple(map(self.fresh, x))
        return x

    # Conditions and iteration --------------------------------------------------------------------

    def truth(self, x: Any) -> Any:
        """`x`, which Python is about to test."""
        if isinstance(x, (Tracer, SymInt, np.generic)) or is_constant(x):
            return x
        cls = type(x)
        if cls in (*_SEQUENCES, set, frozenset) or is_namedtuple(cls):
            self.known(x)
            return x
        if isinstance(x, type) and type(x) is not type:
            cls = type(x)
        for name in ("__bool__", "__len__"):
            if class_lookup(cls, name) is not MISSING and not isinstance(x, enum.EnumMeta):
                raise TraceError("TJ008", f"a condition on a {cls.__name__}", user_line())
            owner = self.capture.source_of(x)
            if owner is not None:
                self.capture.guard_type(owner, type(x))
                self.capture.guard_absent(owner, name)
        return x

    def known(self, x: Any) -> None:
        """Raise TraceError unless the contents of a set or iterator can be relied on."""
        if self.capture.is_outside(x):
            raise TraceError("TJ006", f"a {type(x).__name__} from outside", user_line())

    def iterate(self, x: Any) -> Iterator[Any]:
        """An iterator over `x`. Raises TypeError as Python does, TraceError for unknown classes."""
        self.step()
        cls = type(x)
        if cls in _SEQUENCES or cls in _ITERATORS or cls in (set, frozenset) or is_namedtuple(cls):
            self.known(x)
            return iter(x)
        if isinstance(x, TracedArray):
            return iter(x)
        if self.is_made(x) and hasattr(cls, "__next__"):
            return cast("Iterator[Any]", x)
        if isinstance(x, enum.EnumMeta):
            members: list[Any] = list(x)
            return iter([self.capture.object_source(m, str(m)).value for m in members])
        if isinstance(x, (Tracer, SymInt, np.generic)) or is_constant(x):
            raise TypeError(f"'{operators.class_of(x).__name__}' object is not iterable")
        method = objects.special(self, x, "__iter__")
        if method is None:
            raise TraceError("TJ008", f"iteration over a {cls.__name__}", user_line())
        return self.iterate(self.call(method))

    def iterate_keys(self, x: Any) -> Iterator[Any]:
        """As `iterate`, for the elements of a set."""
        return map(self.key, self.iterate(x))

    def iterate_unpacked(self, x: Any, pattern: tuple[Any, ...]) -> Iterator[Any]:
        """As `iterate`, for items that are unpacked by `pattern`."""
        return (self._matched(item, pattern) for item in self.iterate(x))

    def _matched(self, item: Any, pattern: Any) -> Any:
        if pattern is None:
            return item
        parts = list(self.iterate(item))
        if len(parts) != len(pattern):
            few = len(parts) < len(pattern)
            raise ValueError("not enough values to unpack" if few else "too many values to unpack")
        return [self._matched(v, p) for v, p in zip(parts, pattern, strict=True)]

    def unpack(self, x: Any) -> Any:
        """`x`, which Python is about to unpack."""
        return x if type(x) in (tuple, list) else self.iterate(x)

    def mapping(self, x: Any) -> dict[Any, Any]:
        """`x`, whose items Python is about to take."""
        if type(x) is not dict:
            raise TraceError("TJ008", f"** of a {type(x).__name__}", user_line())
        return x

    def key(self, k: Any) -> Any:
        """`k`, which Python is about to hash and compare."""
        if isinstance(k, TracedText):
            k = k.settled()
        operators.require_key(k)
        return k

    def joined(self, *parts: Any) -> Any:
        """An f-string, from its parts."""
        return concatenate(parts)

    def formatted(self, x: Any, conversion: str = "", spec: Any = "") -> Any:
        """`{x!conversion:spec}` in an f-string."""
        return formatting.formatted(self, x, conversion, spec)

    # Operators -----------------------------------------------------------------------------------

    def unary(self, op: str, x: Any) -> Any:
        """`-x`, `+x` or `~x`."""
        return operators.unary(self, op, x)

    def binary(self, op: str, a: Any, b: Any) -> Any:
        """An arithmetic operator."""
        return operators.binary(self, op, a, b)

    def in_place(self, op: str, a: Any, b: Any) -> Any:
        """What `a += b` and its kind give to the name."""
        return operators.in_place(self, op, a, b)

    def compare(self, op: str, a: Any, b: Any) -> Any:
        """One comparison."""
        return operators.compare(self, op, a, b)

    def compare_chain(self, op: str, a: Any, b: Any, *later: Any) -> Any:
        """`a op b op ...`; a later operand comes as its operator and a function that gives it."""
        result = self.compare(op, a, b)
        for k in range(0, len(later), 2):
            if not self.truth(result):
                return result
            a, b = b, later[k + 1]()
            result = self.compare(later[k], a, b)
        return result

    # Attributes and items ------------------------------------------------------------------------

    def attribute(self, x: Any, name: str) -> Any:
        """`x.name`."""
        self.step()
        return objects.attribute(self, x, name)

    def store_attribute(self, value: Any, x: Any, name: str) -> None:
        """`x.name = value`."""
        objects.store_attribute(self, value, x, name)

    def delete_attribute(self, x: Any, name: str) -> None:
        """`del x.name`."""
        objects.delete_attribute(self, x, name)

    def item(self, x: Any, key: Any) -> Any:
        """`x[key]`."""
        self.step()
        cls = type(x)
        if cls is dict:
            return x[self.key(key)]
        if isinstance(x, Tracer) or cls in (list, tuple, str, bytes, range) or is_namedtuple(cls):
            operators.require_index(key)
            out = x[key]
            return self.new(out) if cls is list and type(key) is slice else out
        if x is np.s_ or x is np.index_exp:
            return x[key]
        if isinstance(x, enum.EnumMeta):
            return self.capture.object_source(x[key], str(key)).value
        method = objects.special(self, x, "__getitem__")
        if method is None:
            raise TraceError("TJ002", f"an item of a {cls.__name__}", user_line())
        return self.call(method, key)

    def store_item(self, value: Any, x: Any, key: Any) -> None:
        """`x[key] = value`."""
        cls = type(x)
        if isinstance(x, TracedArray):
            operators.require_index(key)
            operators.require_known(value, "a value to store")
            x[key] = value
        elif cls in (list, dict):
            self.may_change(x)
            if cls is list:
                operators.require_index(key)
                x[key] = list(self.iterate(value)) if type(key) is slice else value
            else:
                x[self.key(key)] = value
        else:
            self._special_item(x, "__setitem__", key, value)

    def delete_item(self, x: Any, key: Any) -> None:
        """`del x[key]`."""
        if type(x) in (list, dict):
            self.may_change(x)
            if type(x) is list:
                operators.require_index(key)
            del x[self.key(key) if type(x) is dict else key]
        else:
            self._special_item(x, "__delitem__", key)

    def _special_item(self, x: Any, name: str, *args: Any) -> None:
        method = objects.special(self, x, name)
        if method is None:
            raise TraceError("TJ005", f"an item of a {type(x).__name__}", user_line())
        self.call(method, *args)

    # Calls ---------------------------------------------------------------------------------------

    def step(self) -> None:
        """Count one step. Raises TraceError where tracing takes too long."""
        self.steps += 1
        if self.steps > _STEPS:
            what = f"more than {_STEPS} steps of Python while tracing"
            raise TraceError("TJ008", what, user_line())

    def call(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """`f(*args, **kwargs)`."""
        self.step()
        if type(f) is MethodType:
            source = self.capture.source_of(f)
            if source is None:
                return self.call(f.__func__, f.__self__, *args, **kwargs)
            owner = self.capture.attribute(source, "__self__", f.__self__)
            function = self.capture.attribute(source, "__func__", f.__func__)
            return self.call(function, owner, *args, **kwargs)
        return calls.call(self, f, args, kwargs)

    def callback(self, f: Any) -> Any:
        """`f` as Python's own code, or the compiler's, may call it."""
        if f is None:
            return None
        return lambda *args, **kwargs: self.call(f, *args, **kwargs)

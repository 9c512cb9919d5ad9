"""Tracers that know their values: what a program run by `ConcreteTrace` computes with.

An operation is recorded where the front end knows how, and done by NumPy or Python on the values
where it does not; so errors are theirs. Values on which no derivative depends come as plain
numbers, and as arrays that are traced only so that such values can be stored into them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracejit.frontend.eager.host import recorded_call
from tracejit.frontend.eager.operations import perform, plainly
from tracejit.frontend.eager.text import shown
from tracejit.frontend.numpy.indexing import get_item, set_item
from tracejit.frontend.numpy.methods import array_attribute, scalar_attribute
from tracejit.frontend.numpy.number_operators import binary_operator, unary_operator
from tracejit.frontend.numpy.stores import set_attribute
from tracejit.frontend.python.numbers import python_number
from tracejit.frontend.tracing.concrete_trace import ConcreteTrace, LostGradient
from tracejit.frontend.tracing.trace import innermost
from tracejit.frontend.tracing.tracer import Storage, TracedArray, TracedScalar, Tracer, ViewStep
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.op import OPS

__all__ = ["ConcreteArray", "ConcreteScalar"]


class _Concrete(Tracer):
    """What arrays and numbers share."""

    __slots__ = ()
    trace: ConcreteTrace

    def known(self) -> Any:
        """The value, which must not be written to."""
        with self.trace.reopened():
            return self.trace.concrete(self.value())

    @property
    def is_active(self) -> bool:
        """Whether a derivative depends on the value, while the run lasts."""
        return not self.trace.ended and self.trace.is_active(self.value())

    def _passive(self, what: str) -> Any:
        """The value, if no derivative is lost with it. Raises LostGradient."""
        if self.is_active:
            raise self._needs_value(what) if self.trace.busy else LostGradient(what)
        return self.known()

    def _shown(self, text: str) -> str:
        """A text that shows the value."""
        found: str = shown(self.trace, text) if self.is_active else text
        return found

    def __bool__(self) -> bool:
        return bool(self.known())

    def __int__(self) -> int:
        return int(self.known())

    def __index__(self) -> int:
        return int(operator.index(self.known()))

    def __trunc__(self) -> int:
        return int(math.trunc(self.known()))

    def __floor__(self) -> int:
        return int(math.floor(self.known()))

    def __ceil__(self) -> int:
        return int(math.ceil(self.known()))

    def __float__(self) -> float:
        return float(self._passive("float()"))

    def __complex__(self) -> complex:
        return complex(self._passive("complex()"))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        out = np.array(self._passive("a conversion to an array"), dtype)
        # What is stored into it would not be seen here.
        out.flags.writeable = bool(copy)
        return out

    def __hash__(self) -> int:
        return hash(self.known())

    def __format__(self, spec: str) -> str:
        return self._shown(format(self.known(), spec))

    def __str__(self) -> str:
        return self._shown(str(self.known()))

    def __repr__(self) -> str:
        return self._shown(repr(self.known()))

    def __reduce__(self) -> Any:
        return self._passive("pickling").__reduce__()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        outs = [o for o in kwargs.get("out", ()) if type(o) is np.ndarray]
        if outs and any(isinstance(x, _Concrete) and x.is_active for x in inputs):
            raise LostGradient("a store into an array that the function has not made")

        def recorded(*args: Any, **given: Any) -> Any:
            return recorded_call(ufunc, args, given, method)

        is_pure = method != "at" and "out" not in kwargs
        plain = ufunc if method == "__call__" else getattr(ufunc, method)
        return perform(recorded, plain, inputs, kwargs, is_pure)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        def recorded(*args: Any, **kwargs: Any) -> Any:
            return recorded_call(func, args, kwargs)

        return perform(recorded, func, args, kwargs)


class ConcreteArray(_Concrete, TracedArray):
    """Stands for an array whose contents are known."""

    __slots__ = ()
    trace: ConcreteTrace

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` asks, in code that knows no tracers."""
        return ConcreteArray if self.trace.busy else np.ndarray

    def snapshot(self, value: Value) -> TracedArray:
        trace = innermost(self.trace)
        return ConcreteArray(trace, Storage(trace, value, -1, self.storage))

    def view(
        self,
        op: Any = None,
        *indices: Any,
        writeable: bool | None = True,
        corner: tuple[Dim, ...] = (),
        windows: tuple[bool, ...] = (),
        kept: tuple[int | None, ...] | None = None,
        **attrs: Any,
    ) -> Any:
        """A view through an index op; of the program's own calls, what `ndarray.view` gives."""
        if type(op) is not str or op not in OPS:
            return self._seen_as(*((op, *indices) if op is not None else indices), **attrs)
        trace = innermost(self.trace)
        added = ViewStep(trace, op, indices, attrs, writeable, corner, windows, kept)
        return ConcreteArray(trace, self.storage, (*self.views, added))

    def _seen_as(self, *args: Any, **kwargs: Any) -> Any:
        """`ndarray.view`, of the bytes as another dtype too."""
        if all(x is np.ndarray for x in (*args, *kwargs.values())):
            return ConcreteArray(self.trace, self.storage, self.views)
        self.trace.bits_seen = self.trace.bits_seen or self.is_active
        return plainly(self.trace, np.ndarray.view, (self, *args), kwargs)

    @property
    def is_writeable(self) -> bool:
        """Whether NumPy would store into the array."""
        return (self.storage.input or 0) >= 0 and all(view.writeable for view in self.views)

    @property
    def is_argument(self) -> bool:
        """Whether it stands for an array object of the caller's."""
        known = self.storage in self.trace.originals or self.storage in self.trace.placeholders
        return known and not self.views

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(len(self)))

    def __getattr__(self, name: str) -> Any:
        return _attribute(self, name, np.ndarray, array_attribute)

    def __getitem__(self, key: Any) -> Any:
        return perform(get_item, operator.getitem, (self, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        perform(set_item, operator.setitem, (self, key, value))

    @property
    def flags(self) -> Any:
        """Where the memory lies, and whether it may be stored into."""
        return _Flags(self)

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """`ndarray.setflags`. Raises LostGradient for all but what concerns stores."""
        if align is not None or uic:
            raise LostGradient("setflags()")
        if write is None or bool(write) == self.is_writeable:
            return
        if self.is_argument:
            raise LostGradient("a change of the flags of an argument")
        if not write:
            # A view like any other: it alone is not stored into, nor what is made of it.
            axes = tuple(range(self.ndim))
            self.add_view(ViewStep(self.trace, "transpose", (), {"axes": axes}, False))
        elif self.views and self.views[-1].attrs == {"axes": tuple(range(self.ndim))}:
            self.drop_view()
        else:
            raise LostGradient("a view that is made writeable")

    def tolist(self) -> Any:
        """Lists of Python numbers."""
        if not self.ndim:
            return self.item()
        return [v.tolist() if isinstance(v, ConcreteArray) else v.item() for v in self]

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())


class _Flags:
    """`x.flags`."""

    __slots__ = ("_array",)

    def __init__(self, array: ConcreteArray) -> None:
        object.__setattr__(self, "_array", array)

    def _known(self) -> Any:
        copy = self._array.known().copy(order="K")
        copy.flags.writeable = self._array.is_writeable
        return copy.flags

    def __getattr__(self, name: str) -> Any:
        return getattr(self._known(), name)

    def __getitem__(self, name: str) -> Any:
        return self._known()[name]

    def __repr__(self) -> str:
        return repr(self._known())

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "writeable":
            raise LostGradient(f"an assignment to the flag {name}")
        self._array.setflags(write=value)

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, {"W": "writeable"}.get(name, name.lower()), value)


class ConcreteScalar(_Concrete, TracedScalar):
    """Stands for a number that is known."""

    __slots__ = ()
    trace: ConcreteTrace

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What `isinstance` asks, in code that knows no tracers."""
        return ConcreteScalar if self.trace.busy else type(self.known())

    def __getattr__(self, name: str) -> Any:
        return _attribute(self, name, type(self.known()), scalar_attribute)

    def __getitem__(self, key: Any) -> Any:
        return perform(TracedScalar.__getitem__, operator.getitem, (self, key))

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"'{_class_name(self)}' object is not iterable")

    def __len__(self) -> int:
        raise TypeError(f"object of type '{_class_name(self)}' has no len()")

    def __round__(self, digits: Any = None) -> Any:
        given = () if digits is None else (digits,)
        return perform(_rounded, round, (self, *given))

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        return self._passive("pickling").__reduce__()


def _class_name(x: ConcreteScalar) -> str:
    cls = type(x.known())
    return cls.__name__ if cls.__module__ == "builtins" else f"numpy.{cls.__name__}"


def _rounded(x: Any, digits: Any = None) -> Any:
    if digits is None:
        return round(x.known())
    return python_number(np.round(x, digits), "float") if x.is_python else np.round(x, digits)


def _attribute(x: Any, name: str, cls: type, find: Callable[[Any, str], Any]) -> Any:
    """`x.name` of what stands for an instance of `cls`."""
    if name.startswith("__"):
        raise AttributeError(f"'{cls.__name__}' object has no attribute '{name}'")
    if not callable(getattr(cls, name, None)):
        return perform(find, getattr, (x, name))

    def recorded(x: Any, *args: Any, **kwargs: Any) -> Any:
        return find(x, name)(*args, **kwargs)

    def plain(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    plain.__name__ = name
    return lambda *args, **kwargs: perform(recorded, plain, (x, *args), kwargs)


def _assigned(name: str) -> property:
    """The attribute of an array whose assignment is a store."""

    def read(x: ConcreteArray) -> Any:
        return _attribute(x, name, np.ndarray, array_attribute)

    def assign(x: ConcreteArray, value: Any) -> None:
        if name == "shape" and x.is_argument:
            raise LostGradient("an assignment to the attribute shape of an argument")
        perform(lambda x, value: set_attribute(x, name, value), plain, (x, value))

    def plain(x: Any, value: Any) -> None:
        setattr(x, name, value)
        if name == "shape":
            raise LostGradient("an assignment to the attribute shape of an array")

    found: Any = TracedArray.__dict__.get(name)
    return property(found.fget if found else read, assign)


def _install() -> None:
    """Python's operators, and attributes that are assigned to."""
    for name in ("real", "imag", "flat", "shape"):
        setattr(ConcreteArray, name, _assigned(name))

    def forward(f: Any) -> Any:
        def recorded(a: Any, b: Any) -> Any:
            return binary_operator(f, a, b)

        return lambda self, other: perform(recorded, f, (self, other), pure=True)

    def backward(f: Any) -> Any:
        def recorded(a: Any, b: Any) -> Any:
            return binary_operator(f, a, b)

        return lambda self, other: perform(recorded, f, (other, self), pure=True)

    def in_place(name: str) -> Any:
        recorded = getattr(Tracer, f"__{name}__")
        return lambda self, other: perform(recorded, getattr(operator, name), (self, other))

    def unary(f: Any) -> Any:
        return lambda self: perform(lambda x: unary_operator(f, x), f, (self,), pure=True)

    names = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
    for name in names:
        f = getattr(operator, name + "_" * (name in ("and", "or")))
        setattr(_Concrete, f"__{name}__", forward(f))
        setattr(_Concrete, f"__r{name}__", backward(f))
        setattr(ConcreteArray, f"__i{name}__", in_place(f"i{name}"))
    for name in names:
        # Numbers do not change: Python computes a new one.
        setattr(ConcreteScalar, f"__i{name}__", getattr(_Concrete, f"__{name}__"))
    setattr(_Concrete, "__divmod__", forward(divmod))  # noqa: B010
    setattr(_Concrete, "__rdivmod__", backward(divmod))  # noqa: B010
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(_Concrete, f"__{name}__", forward(getattr(operator, name)))
    for name in ("neg", "pos", "abs", "invert"):
        setattr(_Concrete, f"__{name}__", unary(getattr(operator, name)))


_install()

"""Texts and bytes that show what is differentiated by: no number is made of them again.

They are what Python makes of tracers, and what the methods of `str` and `bytes` make of them. While
the run that they belong to lasts, whatever turns one into a float loses a derivative.
"""

from __future__ import annotations

import numbers
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from tracejit.frontend.tracing.concrete_trace import ConcreteTrace, LostGradient, concrete_trace
from tracejit.frontend.tracing.pytree import is_namedtuple

__all__ = ["ShownBytes", "ShownText", "is_told", "plain_text", "shown", "told_number"]


class _Shown:
    """What `ShownText` and `ShownBytes` share."""

    #: The run whose values it shows.
    run: weakref.ref[ConcreteTrace]

    @property
    def is_live(self) -> bool:
        """Whether the run lasts, and the text is used in it."""
        trace = concrete_trace()
        return trace is not None and self.run() is trace

    def __float__(self) -> float:
        if self.is_live:
            raise LostGradient("a text that becomes a number")
        return float(plain_text(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return plain_text, (plain_text(self),)


class ShownText(_Shown, str):
    """A str."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return str

    def __iter__(self) -> Iterator[Any]:
        return (_like(self, c) for c in str.__iter__(self))

    def __str__(self) -> str:
        return self

    def __format__(self, spec: str) -> str:
        text: str = _like(self, str.__format__(self, spec))
        return text

    def __radd__(self, other: str) -> Any:
        return _like(self, other + plain_text(self)) if type(other) is str else NotImplemented


class ShownBytes(_Shown, bytes):
    """A bytes."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return bytes

    def __radd__(self, other: bytes) -> Any:
        return _like(self, other + plain_text(self)) if type(other) is bytes else NotImplemented


_CLASSES: dict[type, Any] = {str: ShownText, bytes: ShownBytes}
_KINDS = frozenset(_CLASSES.values())


def shown(trace: ConcreteTrace, x: Any) -> Any:
    """`x`, whose texts show what is differentiated by in `trace`."""
    cls = type(x)
    if cls in _CLASSES and x:
        out = _CLASSES[cls](x)
        out.run = weakref.ref(trace)
        return out
    if cls in (list, set, frozenset):
        return cls(shown(trace, v) for v in x)
    if cls is tuple or is_namedtuple(cls):
        return tuple.__new__(cls, [shown(trace, v) for v in x])
    return x


def _like(text: Any, x: Any) -> Any:
    """What has been made of a text, which shows the same."""
    trace = text.run()
    return x if trace is None or x is NotImplemented else shown(trace, x)


def plain_text(x: Any) -> Any:
    """The str or bytes alone."""
    if type(x) is ShownText:
        return str.__getitem__(x, slice(None))
    return bytes.__getitem__(x, slice(None)) if type(x) is ShownBytes else x


def is_told(x: Any) -> bool:
    """Whether `x` is a text that shows what is differentiated by now."""
    return type(x) in _KINDS and x.is_live


def told_number(x: Any) -> bool:
    """Whether `x`, made of such a text by a call, is or holds a float, or an array of texts."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.dtype.kind in "fcOUS"
    if isinstance(x, numbers.Number):
        return not isinstance(x, int)
    if isinstance(x, (bytearray, memoryview)):
        return True
    if type(x) in (list, tuple, set, frozenset) or is_namedtuple(type(x)):
        return any(map(told_number, x))
    return type(x) is dict and any(map(told_number, x.values()))


def _wrap(cls: Any, name: str) -> Any:
    original = getattr(cls, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return _like(self, original(self, *args, **kwargs))

    method.__name__ = name
    return method


def _install() -> None:
    """The methods that give texts, and texts in lists."""
    for cls, new in _CLASSES.items():
        names = [n for n in dir(cls) if not n.startswith("_") and callable(getattr(cls, n))]
        kept = "count endswith find index rfind rindex startswith maketrans fromhex".split()
        for name in (*names, "__add__", "__mul__", "__rmul__", "__getitem__"):
            if name not in kept and not name.startswith("is"):
                setattr(new, name, _wrap(cls, name))


_install()

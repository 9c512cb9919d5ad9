"""The type of jitted functions: from a Python class to a type that CPython calls by vectorcall.

`JitBase` is an ordinary class; `jit_type(cls)` derives a heap type from a subclass of it, with two
more words: the code that CPython calls, and the first native entry for that code to go on to. While
the first word is null, CPython calls `__call__`, which calls `_slow`; afterwards no Python code
runs unless every entry misses. Attributes, weak
references, cycle collection and deallocation are the Python class's. Nothing here needs LLVM.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, TypeVar

from tracejit.base.methods import BoundMethod

__all__ = [
    "BAIL_OFFSET",
    "KINDS_OFFSET",
    "PLAIN_OFFSET",
    "SHOWN_OFFSET",
    "SLOW_OFFSET",
    "JitBase",
    "call_offset",
    "has_words",
    "jit_type",
    "name_of",
    "word_at",
]

_WORD = ctypes.sizeof(ctypes.c_void_p)
#: Where an instance keeps its slots: behind the object header, in the order of their names.
BAIL_OFFSET, KINDS_OFFSET, PLAIN_OFFSET = (_WORD * k for k in (2, 4, 5))
SHOWN_OFFSET, SLOW_OFFSET = _WORD * 6, _WORD * 7


def name_of(function: Any) -> str:
    """What reports call a function."""
    return getattr(function, "__qualname__", None) or repr(function)


# Flags and slot numbers of CPython's stable ABI (typeslots.h, object.h).
_BASETYPE, _HAVE_VECTORCALL, _METHOD_DESCRIPTOR = 1 << 10, 1 << 11, 1 << 17
_TP_DOC, _TP_MEMBERS = 56, 72
_T_PYSSIZET, _READONLY = 19, 1

_T = TypeVar("_T", bound="JitBase")


class JitBase:
    """What native entries need of a callable: `_slow`, called when no entry matches, with the
    arguments of the call, and `_bail`, called instead when a program refuses to finish; `_plain`,
    which answers calls of the kinds in the table `_kinds`, if there are such. `_shown` calls the
    entries for a profiler to see."""

    __slots__ = ("_bail", "_entries", "_kinds", "_plain", "_shown", "_slow")

    _slow: Callable[..., Any]
    _bail: Callable[..., Any]
    _plain: Callable[..., Any] | None
    _kinds: Any
    _shown: Callable[..., Any] | None
    _entries: list[Any]

    def __init__(self, slow: Callable[..., Any], bail: Callable[..., Any] | None = None) -> None:
        self._slow = slow
        self._bail = slow if bail is None else bail
        self._plain = self._kinds = self._shown = None
        self._entries = []

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._slow(*args, **kwargs)
        except BaseException as e:
            # Native entries, which call `_slow` themselves, have no frame, either.
            e.__traceback__ = e.__traceback__ and e.__traceback__.tb_next
            raise

    def note_copies(self) -> None:
        """Loops of one of its entries have copied much."""

    def __get__(self, instance: Any, owner: type | None = None, /) -> Any:
        return self if instance is None else BoundMethod(self, instance)


class _Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("value", ctypes.c_void_p)]


class _Spec(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.POINTER(_Slot)),
    ]


class _Member(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


#: What CPython goes on reading after a type was made from it: names of members.
_KEPT: list[Any] = []
_VECTORCALL: dict[type, int] = {}


def word_at(address: int) -> ctypes.c_size_t:
    """The machine word at an address."""
    return ctypes.c_size_t.from_address(address)


def jit_type(cls: type[_T]) -> type[_T]:
    """A class decorator: a final type like `cls`, whose instances native entries can answer for;
    `cls` itself where the interpreter makes no such types.

    As attributes of a class they are bound as functions are, unless `cls` has its own `__get__`.
    """
    try:
        return _made(cls)
    except (AttributeError, RuntimeError, SystemError):
        return cls


def _made(cls: type[_T]) -> type[_T]:
    python = ctypes.pythonapi
    offset = -(-cls.__basicsize__ // _WORD) * _WORD
    members = (_Member * 2)(
        _Member(b"__vectorcalloffset__", _T_PYSSIZET, offset, _READONLY, None), _Member()
    )
    doc = (cls.__doc__ or "").encode()
    # Calls of methods then give the object to the function without a bound method between.
    is_method = "__get__" not in cls.__dict__
    slots = (_Slot * 3)(
        _Slot(_TP_MEMBERS, ctypes.addressof(members)),
        _Slot(_TP_DOC, ctypes.cast(ctypes.c_char_p(doc), ctypes.c_void_p)),
    )
    name = f"{cls.__module__}.{cls.__qualname__}".encode()
    flags = _BASETYPE | _HAVE_VECTORCALL | (_METHOD_DESCRIPTOR if is_method else 0)
    spec = _Spec(name, offset + 2 * _WORD, 0, flags, slots)
    _KEPT.append((members, slots, name, doc))
    from_spec = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_Spec), ctypes.py_object)(
        ("PyType_FromSpecWithBases", python)
    )
    made: type[_T] = from_spec(ctypes.byref(spec), (cls,))
    made.__module__ = cls.__module__
    _check_slots(made, offset)
    _VECTORCALL[made] = offset
    return made


def _check_slots(made: type[JitBase], offset: int) -> None:
    probe = JitBase.__new__(made)
    probe._slow, probe._bail = (lambda: "slow"), (lambda: "bail")
    probe._plain, probe._kinds, probe._shown = (lambda: "plain"), object(), (lambda: "shown")
    slots = (SLOW_OFFSET, BAIL_OFFSET, PLAIN_OFFSET, KINDS_OFFSET, SHOWN_OFFSET)
    found = [word_at(id(probe) + at).value for at in (*slots, offset, offset + _WORD)]
    held = (probe._slow, probe._bail, probe._plain, probe._kinds, probe._shown)
    if found != [*map(id, held), 0, 0] or probe() != "slow":
        raise RuntimeError(f"{made.__name__} keeps its slots at unexpected places")


def call_offset(obj: JitBase) -> int:
    """Where `obj` keeps the address of the code that CPython calls; its first entry's follows.

    Raises TypeError if the type of `obj` was not made by `jit_type`.
    """
    for cls in type(obj).__mro__:
        if cls in _VECTORCALL:
            return _VECTORCALL[cls]
    raise TypeError(f"{type(obj).__name__} takes no native entries")


def has_words(obj: JitBase) -> bool:
    """Whether the type of `obj` was made by `jit_type`."""
    return not _VECTORCALL.keys().isdisjoint(type(obj).__mro__)

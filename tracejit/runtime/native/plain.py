"""Calls that go straight to the plain function: kinds of arguments, as a table that code looks in.

    ptr plain(ptr callable, ptr args, i64 nargsf, ptr kwnames)

Running the plain function is right in any context. `PLAIN` stands before the gate, for kinds that
have no entry; `LAST` stands behind the last entry, for what no entry has answered. Each looks for a
row of the table that fits the types of the arguments. A row counts down: every so many calls
`_slow` sees one again. Where a setting has changed since the table was made, `_slow` sees them all.
"""

from __future__ import annotations

import ctypes
import os
from array import array
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from tracejit import config
from tracejit.base.locks import once
from tracejit.link.cpython.dict_versions import version_offset
from tracejit.link.cpython.reflect import Layout, function_offsets
from tracejit.runtime.entries.chain import LAST, PLAIN
from tracejit.runtime.entries.jit_type import KINDS_OFFSET, PLAIN_OFFSET, SLOW_OFFSET
from tracejit.runtime.native.text import FunctionText

__all__ = ["Kind", "KindTable", "kind_of", "plain_functions", "tables_work"]

_WORD = 8
_NARGS_MASK = 2**63 - 1
#: Where an `array.array` keeps the address of its items.
_ITEMS = 24
#: Words before the rows: their number, addresses of words, each with what is known to be there, and
#: where the plain function keeps the code by which it is called, or 0.
_HEAD = 12
#: Where the addresses are: of the versions of two dicts, and of what a function consists of.
_KNOWN = range(1, 11, 2)
#: Words of a row before those of the arguments.
_ROW_HEAD = 4
#: Words of a row.
_ROW = 32
_LEFT, _LATE = 2, 3
_CODE = 11


class Kind(NamedTuple):
    """What calls of one kind share: how many positional arguments, the names of the others, and for
    each argument its type; an array's dtype and number of axes, too, the code of a function, and
    which of None, True and False it is."""

    positional: int
    words: tuple[int, ...]
    names: tuple[str, ...]


def kind_of(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Kind | None:
    """The kind of a call; None where it has too many arguments."""
    words: list[int] = []
    for x in (*args, *kwargs.values()):
        if x is None or x is True or x is False:
            words.append(id(x) | 1)
        else:
            words.append(id(type(x)))
        if type(x) is np.ndarray:
            words += (id(x.dtype), x.ndim)
        elif type(x) is FunctionType:
            words.append(id(x.__code__))
    if len(words) + len(kwargs) > _ROW - _ROW_HEAD:
        return None
    return Kind(len(args), tuple(words), tuple(kwargs))


def _settings() -> list[dict[Any, Any]]:
    """The dicts that decide whether an eager run is an error."""
    return [vars(config), getattr(os.environ, "_data", {})]


@once
def tables_work() -> bool:
    """Whether code can look in a table, and can see that a setting has changed."""
    probe = array("q", [1])
    items = ctypes.c_int64.from_address(id(probe) + _ITEMS).value
    return items == probe.buffer_info()[0] and version_offset() is not None


@once
def _code_offset() -> int:
    """Where functions of Python keep the code by which they are called; 0 where that is not
    found."""

    def probe() -> None: ...

    look_up = getattr(ctypes.pythonapi, "PyVectorcall_Function", None)
    if look_up is None:
        return 0
    code = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(
        ("PyVectorcall_Function", ctypes.pythonapi)
    )(probe)
    size = FunctionType.__basicsize__
    places = range(object.__basicsize__, size, _WORD)
    found = [at for at in places if ctypes.c_uint64.from_address(id(probe) + at).value == code]
    return found[0] if len(found) == 1 else 0


class KindTable:
    """Kinds of calls that `function` answers, for `original` as that is now. `words` is what code
    reads."""

    def __init__(self, function: Callable[..., Any], original: Callable[..., Any]) -> None:
        self.function, self._original = function, original
        at = version_offset() or 0
        known = [id(d) + at for d in _settings()]
        if function is not original:
            known += [id(original) + at for at in function_offsets()]
        self.words = array("q", [0] * _HEAD)
        for k, place in enumerate(_KNOWN):
            address = known[k % len(known)]
            value = ctypes.c_int64.from_address(address).value
            self.words[place : place + 2] = array("q", [address, value])
        self.words[_CODE] = _code_offset() if type(function) is FunctionType else 0
        self._rows: dict[Kind, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def has_late(self) -> bool:
        """Whether some row is for calls that no entry has answered."""
        return any(self.words[at + _LATE] for at in self._rows.values())

    @property
    def is_current(self) -> bool:
        """Whether no setting has changed since the table was made, nor the original function."""
        words = self.words
        return all(ctypes.c_int64.from_address(words[at]).value == words[at + 1] for at in _KNOWN)

    def put(self, kind: Kind, late: bool, calls: int) -> KindTable:
        """A table with one more row, for the next so many calls."""
        row = [kind.positional, len(kind.names), calls, late, *kind.words]
        row += [id(name) for name in kind.names]
        row += [0] * (_ROW - len(row))
        new = self.without(kind)
        new._rows[kind] = len(new.words)
        new.words.extend(row)
        new.words[0] += 1
        return new

    def without(self, kind: Kind) -> KindTable:
        """A table that has no row for a kind. Code may be in the old one's: it stays as it is."""
        new = KindTable(self.function, self._original)
        new.words[1:_HEAD] = self.words[1:_HEAD]
        for other, at in self._rows.items():
            if other != kind:
                new._rows[other] = len(new.words)
                new.words.extend(self.words[at : at + _ROW])
                new.words[0] += 1
        return new

    def left(self, kind: Kind) -> int | None:
        """How many calls a row answers before `_slow` sees one; None without a row."""
        at = self._rows.get(kind)
        return None if at is None else self.words[at + _LEFT]

    def renew(self, kind: Kind, calls: int) -> None:
        """Let a row answer so many calls again."""
        self.words[self._rows[kind] + _LEFT] = calls


def plain_functions(
    gate: str, entry_offset: int, functions: Mapping[str, int], layout: Layout
) -> list[FunctionText]:
    """`PLAIN` and `LAST`. Where no row fits, `PLAIN` goes on to the function `gate`, which goes to
    the first entry, whose address is at `entry_offset`; or to `_slow` where there is none."""
    found = []
    for name, late in ((PLAIN, False), (LAST, True)):
        text = FunctionText(name, functions)
        _Writer(text, layout).write(late)
        if not late:
            text.label("missed")
            entry = text.field("%callable", entry_offset, "ptr")
            text.require(text.op(f"icmp ne ptr {entry}, null"), "slow")
            result = text.op(f'musttail call ptr @"{gate}"({_ARGUMENTS})')
            text.do(f"ret ptr {result}")
        else:
            text.label("missed")
            text.do("br label %slow")
        text.hand_over({"slow": SLOW_OFFSET})
        found.append(text)
    return found


_ARGUMENTS = "ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames"


class _Writer:
    def __init__(self, text: FunctionText, layout: Layout) -> None:
        self.text, self.layout = text, layout

    def write(self, late: bool) -> None:
        """From the call's arguments to the plain function, or to one of the blocks `missed` and
        `slow`."""
        text = self.text
        text.label("entry")
        kinds = text.field("%callable", KINDS_OFFSET, "ptr")
        # Objects that only lead to entries have no table, nor do those the collector has cleared.
        text.require(text.op(f"icmp ne ptr {kinds}, null"), "slow")
        text.require(text.op(f"icmp ne ptr {kinds}, {text.object(None)}"), "slow")
        self.table = text.field(kinds, _ITEMS, "ptr")
        for k in _KNOWN:
            version = text.field(text.field(self.table, _WORD * k, "ptr"), 0, "i64")
            known = text.field(self.table, _WORD * (k + 1), "i64")
            text.require(text.op(f"icmp eq i64 {version}, {known}"), "slow")
        self._count_arguments()
        self._each_row(late)
        self._each_argument()
        self._each_name()
        self._run()

    def _count_arguments(self) -> None:
        text = self.text
        self.positional = text.op(f"and i64 %nargsf, {_NARGS_MASK}")
        text.do("br label %unnamed")
        text.label("unnamed")
        named = text.op("icmp ne ptr %kwnames, null")
        text.do(f"br i1 {named}, label %named, label %counted")
        text.label("named")
        size = text.field("%kwnames", self.layout.tuple_size, "i64")
        text.do("br label %counted")
        text.label("counted")
        self.names = text.op(f"phi i64 [ 0, %unnamed ], [ {size}, %named ]")
        self.arguments = text.op(f"add i64 {self.positional}, {self.names}")
        self.rows = text.field(self.table, 0, "i64")
        self.first = text.at(self.table, _WORD * _HEAD)
        text.do("br label %rows")

    def _each_row(self, late: bool) -> None:
        text = self.text
        text.label("rows")
        text.do("%row = phi i64 [ 0, %counted ], [ %row.next, %differs ]")
        text.do(f"%at = phi ptr [ {self.first}, %counted ], [ %at.next, %differs ]")
        more = text.op(f"icmp slt i64 %row, {self.rows}")
        text.do(f"br i1 {more}, label %look, label %missed")
        text.label("differs")
        text.do("%row.next = add i64 %row, 1")
        text.do(f"%at.next = getelementptr i8, ptr %at, i64 {_WORD * _ROW}")
        text.do("br label %rows")
        text.label("look")
        if not late:
            is_late = text.field("%at", _WORD * _LATE, "i64")
            text.require(text.op(f"icmp eq i64 {is_late}, 0"), "differs")
        for at, count in ((0, self.positional), (1, self.names)):
            wanted = text.field("%at", _WORD * at, "i64")
            text.require(text.op(f"icmp eq i64 {wanted}, {count}"), "differs")
        text.do("br label %counts")
        text.label("counts")
        self.words = text.at("%at", _WORD * _ROW_HEAD)
        text.do("br label %arguments")

    def _each_argument(self) -> None:
        text, layout = self.text, self.layout
        text.label("arguments")
        text.do("%k = phi i64 [ 0, %counts ], [ %k.next, %fits ]")
        text.do(f"%word = phi ptr [ {self.words}, %counts ], [ %word.next, %fits ]")
        more = text.op(f"icmp slt i64 %k, {self.arguments}")
        text.do(f"br i1 {more}, label %argument, label %typed")
        text.label("argument")
        place = text.op("getelementptr ptr, ptr %args, i64 %k")
        obj = text.op(f"load ptr, ptr {place}")
        wanted = text.op("load i64, ptr %word")
        cls = text.field(obj, layout.type, "i64")
        itself = text.op(f"or i64 {text.op(f'ptrtoint ptr {obj} to i64')}, 1")
        odd = text.op(f"trunc i64 {wanted} to i1")
        given = text.op(f"select i1 {odd}, i64 {itself}, i64 {cls}")
        text.require(text.op(f"icmp eq i64 {given}, {wanted}"), "differs")
        self._branch_by_type(wanted, np.ndarray, "array", "no.array")
        dtype = text.field(obj, layout.array_dtype, "i64")
        self._require_word(dtype, 1)
        axes = text.op(f"zext i32 {text.field(obj, layout.array_ndim, 'i32')} to i64")
        self._require_word(axes, 2)
        text.do("br label %array.fits")
        text.label("array.fits")
        text.do("br label %fits")
        text.label("no.array")
        self._branch_by_type(wanted, FunctionType, "function", "fits")
        self._require_word(text.field(obj, layout.function_code, "i64"), 1)
        text.do("br label %function.fits")
        text.label("function.fits")
        text.do("br label %fits")
        text.label("fits")
        text.do("%more = phi i64 [ 2, %array.fits ], [ 1, %function.fits ], [ 0, %no.array ]")
        text.do("%k.next = add i64 %k, 1")
        text.do("%taken = add i64 %more, 1")
        text.do("%word.next = getelementptr i64, ptr %word, i64 %taken")
        text.do("br label %arguments")

    def _branch_by_type(self, wanted: str, cls: type, if_so: str, otherwise: str) -> None:
        text = self.text
        number = text.op(f"ptrtoint ptr {text.object(cls)} to i64")
        text.do(
            f"br i1 {text.op(f'icmp eq i64 {wanted}, {number}')}, "
            f"label %{if_so}, label %{otherwise}"
        )
        text.label(if_so)

    def _require_word(self, given: str, at: int) -> None:
        """Require that a row has this word for an argument, `at` words after its first one."""
        text = self.text
        wanted = text.field("%word", _WORD * at, "i64")
        text.require(text.op(f"icmp eq i64 {given}, {wanted}"), "differs")

    def _each_name(self) -> None:
        text = self.text
        text.label("typed")
        text.do("%n = phi i64 [ 0, %arguments ], [ %n.next, %name.fits ]")
        more = text.op(f"icmp slt i64 %n, {self.names}")
        text.do(f"br i1 {more}, label %name, label %run")
        text.label("name")
        items = text.at("%kwnames", self.layout.tuple_items)
        given = text.op(f"load ptr, ptr {text.op(f'getelementptr ptr, ptr {items}, i64 %n')}")
        wanted = text.op(f"load ptr, ptr {text.op('getelementptr ptr, ptr %word, i64 %n')}")
        text.require(text.op(f"icmp eq ptr {given}, {wanted}"), "differs")
        text.do("br label %name.fits")
        text.label("name.fits")
        text.do("%n.next = add i64 %n, 1")
        text.do("br label %typed")

    def _run(self) -> None:
        text = self.text
        text.label("run")
        counter = text.at("%at", _WORD * _LEFT)
        left = text.op(f"sub i64 {text.op(f'load i64, ptr {counter}')}, 1")
        text.do(f"store i64 {left}, ptr {counter}")
        text.require(text.op(f"icmp sge i64 {left}, 0"), "slow")
        function = text.field("%callable", PLAIN_OFFSET, "ptr")
        text.require(text.op(f"icmp ne ptr {function}, null"), "slow")
        arguments = f"ptr {function}, ptr %args, i64 %nargsf, ptr %kwnames"
        offset = text.field(self.table, _WORD * _CODE, "i64")
        text.require(text.op(f"icmp ne i64 {offset}, 0"), "any")
        at = text.op(f"getelementptr i8, ptr {function}, i64 {offset}")
        result = text.op(f"musttail call ptr {text.op(f'load ptr, ptr {at}')}({arguments})")
        text.do(f"ret ptr {result}")
        text.label("any")
        result = text.op(f"musttail call {text.callee('PyObject_Vectorcall')}({arguments})")
        text.do(f"ret ptr {result}")

"""Hash tables of a trace: what stands for dicts and sets whose keys are numbers of the run.

The entries are a grown list, in the order in which they came; that of number 0 is none of them.
Beside its key and value each has the number of the next one in its bucket, or 0, or -1 where it
has been deleted, and the number of the first one in the bucket of the entry's own number. So there
are as many buckets as entries, and each new entry splits one (linear hashing):

    bucket(h) = h mod 2^k, or h mod 2^(k-1) where there are not so many buckets

The methods are Python that is traced; those that are not are called as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.containers.traced import direct, permuting, traced
from tracejit.frontend.control.columns import columns_of
from tracejit.frontend.control.growth import packed
from tracejit.frontend.control.unions import require
from tracejit.frontend.numpy.indexing import get_item
from tracejit.frontend.tracing.checks import class_of
from tracejit.frontend.tracing.grown import (
    Element,
    Form,
    Grown,
    Record,
    element_of,
    fits,
    form_of,
    holds_objects,
    joined_form,
    leaves_in,
    prefixes,
    size_of,
)
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.restarts import Tabled
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.tracer import TracedScalar, lift
from tracejit.frontend.tracing.union import Union

__all__ = ["Table", "fits_table", "is_key_form"]

#: An odd number near 2^64 / golden ratio, as an int64.
_FACTOR = np.int64(-7046029254386353131)
#: How many deleted entries a table keeps at least.
_GONE = 16
_COUNT = Element("scalar", np.dtype(np.int64))


def is_key_form(form: Form | None) -> bool:
    """Whether keys are numbers, or tuples of such."""
    if isinstance(form, Record):
        return form.cls is tuple and all(map(is_key_form, form.parts))
    return isinstance(form, Element) and not form.shape and form.dtype.kind in "biuf"


def fits_table(forms: tuple[Form | None, Form | None], cls: type) -> bool:
    """Whether keys and values of two forms fit into a table for a dict or set."""
    key, value = forms
    if not is_key_form(key):
        return False
    if cls is set:
        return True
    # A dict of None alone, or of one text, has no values in arrays: so it stays as it is.
    leaves = [] if value is None else list(leaves_in(value))
    return bool(leaves) and not any(leaf.shape for leaf in leaves)


class Table(StandIn):
    """A table of keys of one form, and values of one (None: it has none)."""

    def __init__(
        self, interpreter: Interpreter, site: Any, key_form: Form, value_form: Form | None
    ) -> None:
        self.home, self.key_form, self.value_form = lambda: interpreter, key_form, value_form
        #: Where the program makes it.
        self.site = site
        values = () if value_form is None else (value_form,)
        form = Record(tuple, (key_form, _COUNT, _COUNT, *values))
        contents = packed(interpreter, [], form, 1)
        contents[1] = 1
        self.entries: Any = interpreter.allocate(contents)
        #: How many entries are deleted.
        self.gone: Any = 0

    # Columns -------------------------------------------------------------------------------------

    def _column(self, name: str) -> Any:
        width = len(list(leaves_in(self.key_form)))
        at = {"next": width, "first": width + 1}[name]
        return self.entries[0].arrays[at]

    @direct
    def next_of(self, place: Any) -> Any:
        """The number of the next entry in the bucket of an entry."""
        return get_item(self._column("next"), place, checked=False)

    @direct
    def first_in(self, bucket: Any) -> Any:
        """The number of the first entry in a bucket."""
        return get_item(self._column("first"), bucket, checked=False)

    @direct
    def set_next(self, place: Any, value: Any) -> None:
        self._changes()
        self._column("next")[place] = value

    @direct
    def set_first(self, bucket: Any, value: Any) -> None:
        self._changes()
        self._column("first")[bucket] = value

    def _changes(self) -> None:
        self.interpreter.require_mutable(self.entries)

    def _keys_at(self, place: Any) -> list[Any]:
        width = len(list(leaves_in(self.key_form)))
        return [get_item(a, place, checked=False) for a in self.entries[0].arrays[:width]]

    @direct
    def key_at(self, place: Any) -> Any:
        """The key of an entry."""
        return self._element(self.key_form, self._keys_at(place), True)

    @direct
    def value_at(self, place: Any) -> Any:
        """The value of an entry."""
        assert self.value_form is not None
        width = len(list(leaves_in(self.key_form))) + 2
        found = (get_item(a, place, checked=False) for a in self.entries[0].arrays[width:])
        return self._element(self.value_form, found, False)

    def _element(self, form: Form, numbers: Iterable[Any], is_key: bool) -> Any:
        found = element_of(self.interpreter, form, iter(numbers))
        self.interpreter.aliases.row_of(self.entries, found, is_key=is_key)
        return found

    @direct
    def set_value(self, place: Any, value: Any) -> None:
        """Let an entry have another value."""
        self._changes()
        width = len(list(leaves_in(self.key_form))) + 2
        for array, column in zip(self.entries[0].arrays[width:], self._value(value), strict=True):
            array[place] = column

    def _value(self, value: Any) -> Sequence[Any]:
        if self.value_form is None:
            return ()
        if not fits(self.value_form, form_of(value)):
            widened = joined_form(self.value_form, form_of(value))
            if widened is None:
                raise TraceError("TJ017", "a dict of values of several kinds", user_line())
            raise Tabled(self.site, (self.key_form, widened))
        return list(columns_of(self.interpreter, self.value_form, value))

    # Keys ----------------------------------------------------------------------------------------

    @direct
    def looked_up(self, key: Any) -> Any:
        """A key as numbers of NumPy. Raises TraceError where its kind has hashes of its own."""
        parts = _numbers(key, self.key_form)
        if parts is None:
            raise Tabled(self.site, (form_of(key), self.value_form))
        return tuple(map(self._canonical, parts))

    def _canonical(self, x: Any) -> Any:
        """A number as one of a class that all keys of its kind share; a NaN is left to Python."""
        call = self.interpreter.call
        kind = np.dtype(class_of(x)).kind
        if kind != "f":
            return call(np.int64, x)
        x = call(np.float64, x)
        known = self.interpreter.truth_of(self.interpreter.compare("eq", x, x))
        if isinstance(known, TracedScalar):
            require(known, True)
        elif not known:
            raise TraceError("TJ001", "a NaN as a key", user_line())
        return x

    @direct
    def has_key(self, place: Any, key: Any) -> Any:
        """Whether an entry has a key that is looked up."""
        same: Any = True
        for x, v in zip(self._keys_at(place), key, strict=True):
            equal = self.interpreter.compare("eq", self._plain(x), v)
            same = equal if same is True else self.interpreter.binary("and_", same, equal)
        return same

    def _plain(self, x: Any) -> Any:
        to = np.float64 if np.dtype(class_of(x)).kind == "f" else np.int64
        return self.interpreter.call(to, x)

    @traced
    def hash_of(self, key: Any) -> Any:
        """The hash of a key that is looked up."""
        h = np.int64(0)
        for part in key:
            h = (h ^ self.bits_of(part)) * _FACTOR
            h = h ^ (h >> 32)
        return h

    @traced
    def bits_of(self, x: Any) -> Any:
        """An int64 for a number, the same for equal ones."""
        if isinstance(x, np.int64):
            return x
        mantissa, exponent = np.frexp(np.where(np.isfinite(x), x, np.sign(x)))
        return np.int64(mantissa * 9007199254740992.0) ^ np.int64(exponent)

    @traced
    def hash_at(self, place: Any) -> Any:
        """The hash of the key of an entry."""
        return self.hash_of(self.looked_up(self.key_at(place)))

    @traced
    def bucket(self, h: Any, last: Any) -> Any:
        """The bucket of a hash among those up to the last one."""
        mask = covering(last)
        place = h & mask
        return np.where(place > last, place & (mask >> 1), place)[()]

    @traced
    def last(self) -> Any:
        """The number of the last entry."""
        return np.int64(len(self.entries) - 1)

    @traced
    def find(self, key: Any) -> Any:
        """The number of the entry with a key; 0 where there is none."""
        parts = self.looked_up(key)
        return self.search(parts, self.hash_of(parts))

    @traced
    def search(self, parts: Any, h: Any) -> Any:
        """The number of the entry with a key that is looked up, of this hash, or 0."""
        place = self.first_in(self.bucket(h, self.last()))
        while place > 0:
            if self.has_key(place, parts):
                break
            place = self.next_of(place)
        return place

    # Changes -------------------------------------------------------------------------------------

    @direct
    def takes(self, value: Any) -> None:
        """Note that some entry is to have a value."""
        self.interpreter.aliases.list_rows(self.entries, value)

    @direct
    def entry(self, key: Any, value: Any) -> Any:
        """A new entry. Raises TraceError for a key of another class than the others."""
        self.interpreter.aliases.key_of(self.entries, key)
        if form_of(key) != self.key_form:
            value_form = self.value_form
            raise Tabled(self.site, (form_of(key), value_form))
        self._value(value)
        values = () if self.value_form is None else (value,)
        return (key, lift(np.int64(0)), lift(np.int64(0)), *values)

    @permuting
    def insert(self, key: Any, h: Any, value: Any) -> None:
        """Add an entry for a key that has none, and this hash; the value is noted: see `takes`."""
        new = np.int64(len(self.entries))
        self.entries.append(self.entry(key, value))
        mask = covering(new)
        split = new & (mask >> 1)
        place = self.first_in(split)
        staying, moving = np.int64(0), np.int64(0)
        while place > 0:
            following = self.next_of(place)
            if self.hash_at(place) & mask == new:
                self.set_next(place, moving)
                moving = place
            else:
                self.set_next(place, staying)
                staying = place
            place = following
        self.set_first(split, staying)
        self.set_first(new, moving)
        bucket = self.bucket(h, new)
        self.set_next(new, self.first_in(bucket))
        self.set_first(bucket, new)

    @traced
    def put(self, key: Any, value: Any) -> None:
        """`table[key] = value`."""
        self.takes(value)
        parts = self.looked_up(key)
        h = self.hash_of(parts)
        place = self.search(parts, h)
        if place > 0:
            self.set_value(place, value)
        else:
            self.insert(key, h, value)

    @traced
    def remove_at(self, place: Any) -> None:
        """Delete an entry."""
        bucket = self.bucket(self.hash_at(place), self.last())
        before = self.first_in(bucket)
        if before == place:
            self.set_first(bucket, self.next_of(place))
        else:
            while self.next_of(before) != place:
                before = self.next_of(before)
            self.set_next(before, self.next_of(place))
        self.set_next(place, np.int64(-1))
        self.gone += 1
        if self.gone > _GONE and 2 * self.gone > len(self.entries):
            self.compact()

    @traced
    def compact(self) -> None:
        """Leave out the entries that are deleted."""
        count = 1
        for place in range(1, len(self.entries)):
            if self.next_of(place) >= 0:
                self.move(place, count)
                count += 1
        self.shorten(count)
        self.gone = 0
        for place in range(count):
            self.set_first(place, np.int64(0))
        for place in range(1, count):
            bucket = self.bucket(self.hash_at(place), np.int64(count - 1))
            self.set_next(place, self.first_in(bucket))
            self.set_first(bucket, np.int64(place))

    @direct
    def move(self, place: Any, to: Any) -> None:
        """Let an entry have another number."""
        self._changes()
        for array in self.entries[0].arrays:
            array[to] = get_item(array, place, checked=False)

    @direct
    def shorten(self, count: Any) -> None:
        """Leave out all entries from a number on."""
        self._changes()
        self.entries[1] = count

    @traced
    def __len__(self) -> Any:
        return len(self.entries) - 1 - self.gone

    @traced
    def clear(self) -> None:
        self.shorten(1)
        self.set_first(0, np.int64(0))
        self.gone = 0

    # All -----------------------------------------------------------------------------------------

    def numbers(self) -> Any:
        """The numbers of the entries in order; None where none can have been deleted."""
        if type(self.gone) is int and self.gone == 0:
            return None
        column = prefixes(self.entries)[len(list(leaves_in(self.key_form)))]
        call, compare = self.interpreter.call, self.interpreter.compare
        (found,) = call(np.nonzero, compare("ge", column, 0))
        return found[1:]

    def held(self, keys: bool = True, values: bool = True) -> Any:
        """The keys, the values or pairs of both as a grown list, of which others have no part."""
        numbers = self.numbers()
        width = len(list(leaves_in(self.key_form)))
        columns = prefixes(self.entries)
        taken = (columns[:width] if keys else []) + (columns[width + 2 :] if values else [])
        taken = [(c[1:] if numbers is None else get_item(c, numbers)).copy() for c in taken]
        parts: Any = (self.key_form,) * keys + (self.value_form,) * values
        form: Any = Record(tuple, parts) if len(parts) == 2 else parts[0]
        grown = Grown(self.interpreter, form, taken, True)
        listed = self.interpreter.allocate([grown, taken[0].shape[0]])
        if any(map(holds_objects, parts)):
            self.interpreter.aliases.rows_from(listed, self.entries, with_keys=keys)
        return listed

    def state(self) -> tuple[Any, Any]:
        """What changes with the number of entries."""
        return size_of(self.entries), self.gone


def _numbers(key: Any, form: Form) -> list[Any] | None:
    """The numbers of a key whose hashes are those of keys of a form; None for other keys."""
    if isinstance(key, Union):
        raise TraceError("TJ011", "a key of one of several kinds", user_line())
    if isinstance(form, Record):
        if type(key) is not tuple or len(key) != len(form.parts):
            return None
        parts = [_numbers(k, f) for k, f in zip(key, form.parts, strict=True)]
        return None if None in parts else [x for part in parts if part for x in part]
    own = form_of(key)
    if not isinstance(own, Element) or not isinstance(form, Element) or not is_key_form(own):
        return None
    same = own == form or _class(own) == _class(form) != ""
    return [key] if same else None


def _class(form: Element) -> str:
    """What numbers have in common that are equal and hash alike where their values are equal."""
    if form.dtype.kind in "bi" or form.dtype.kind == "u" and form.dtype.itemsize < 8:
        return "int"
    return "float" if form.dtype == np.float64 else ""


@traced
def covering(x: Any) -> Any:
    """The least number of ones in binary that is no less than an int64 below 2^53."""
    _, exponent = np.frexp(np.float64(x))
    return (np.int64(1) << np.int64(exponent)) - 1

"""Lists that grow with data: a Python list whose elements are rows of arrays, and a length.

Such a list keeps its identity: it holds a `Grown`, the arrays with room for more elements, and the
number of elements there are. Whatever looks at a list without knowing of these finds an object that
no operation takes.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, TypeAlias, cast

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import TraceError
from tracejit.frontend.tracing.memory.storage import Storage
from tracejit.frontend.tracing.packed import Arrays, PackedForm, Ragged, Rows, class_of_name
from tracejit.frontend.tracing.symint import SymInt, as_dim
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar, Tracer, wrap
from tracejit.frontend.tracing.union import Union
from tracejit.ir.dims import Dim
from tracejit.ir.types import ArrayType, NpScalar, PyScalar

__all__ = [
    "Choice",
    "Constant",
    "Element",
    "Form",
    "Grown",
    "Pooled",
    "Record",
    "element_of",
    "fits",
    "form_of",
    "grown_list",
    "has_float_arrays",
    "holds_objects",
    "holds_rows",
    "is_grown",
    "joined_form",
    "leaves_in",
    "prefixes",
    "release",
    "size_of",
]

_PYTHON = {bool: "bool", int: "int", float: "float", complex: "complex"}
#: Up to so many kinds of elements are in one list.
_KINDS = 8


@dataclass(frozen=True)
class Element:
    """What a list holds in one array: numbers, arrays of one shape, or lists of such.

    `kind` is the class of a Python number, "scalar" for NumPy's, "array", or "list".
    """

    kind: str
    dtype: np.dtype[Any]
    shape: tuple[Dim, ...] = ()
    #: The elements of the lists.
    inner: Element | None = None


@dataclass(frozen=True)
class Record:
    """Tuples of one class whose parts have forms."""

    cls: type
    parts: tuple[Form, ...]


@dataclass(frozen=True)
class Constant:
    """What no array holds, and no array needs to: None, a text."""

    value: Any


@dataclass(frozen=True)
class Choice:
    """Values of a few kinds: one array says which kind, and those of each kind follow."""

    kinds: tuple[Element | Record | Constant, ...]


@dataclass(frozen=True, eq=False)
class Pooled:
    """Lists or arrays of any length, from outside: two arrays say where each begins in `pools`, and
    its size. What is in other pools is of another form.
    """

    #: The form of what is in the lists; None for arrays.
    inner: Element | Record | None
    pools: tuple[TracedArray, ...]
    #: id -> (an array that was read from the list, by which key).
    read: dict[int, tuple[TracedArray, Any]] = field(default_factory=dict)


Form: TypeAlias = Element | Record | Constant | Choice | Pooled

#: The array that says which kind an element of a `Choice` is of.
_TAG = Element("scalar", np.dtype(np.int8))
#: The arrays that say where in others an element begins, and how long it is.
_PLACE = Element("scalar", np.dtype(np.int64))


class Grown:
    """What a grown list holds: a form, and an array for each element in it, in order."""

    __slots__ = ("arrays", "form", "interpreter", "is_row", "owned")

    def __init__(
        self,
        interpreter: Any,
        form: Form,
        arrays: Sequence[TracedArray],
        owned: bool = True,
        is_row: bool = False,
    ) -> None:
        if any(isinstance(x, Union) for x in arrays):
            raise TraceError("TJ017", "a list whose memory is one of two", user_line())
        self.interpreter, self.form, self.arrays = interpreter, form, list(arrays)
        #: Whether nothing else holds the arrays that are its elements.
        self.owned = owned
        #: Whether this may be an element of another list.
        self.is_row = is_row

    def with_arrays(self, arrays: Sequence[TracedArray]) -> Grown:
        """The same with other arrays."""
        if all(map(operator.is_, arrays, self.arrays)):
            return self
        return Grown(self.interpreter, self.form, arrays, self.owned, self.is_row)

    def at(self, k: Any) -> Any:
        """The element at a place where there is one."""
        return element_of(self.interpreter, self.form, (array[k] for array in self.arrays))

    @property
    def capacity(self) -> Dim:
        """For how many elements there is room."""
        return self.arrays[0].type.shape[0]


def is_grown(x: Any) -> bool:
    """Whether `x` is a list that grows with data, or its contents."""
    return type(x) is list and len(x) == 2 and type(x[0]) is Grown


def grown_list(interpreter: Any, form: PackedForm, arrays: Sequence[TracedArray]) -> list[Any]:
    """The stand-in of a list whose elements are in arrays."""
    found: Form
    if isinstance(form, Rows):
        number = _number_or_tuple(form.of)
        assert isinstance(number, Element)
        found = Element("list", number.dtype, arrays[0].type.shape[1:], number)
    elif isinstance(form, Ragged):
        found = Pooled(_number_or_tuple(form.of), tuple(arrays[2:]))
        arrays = arrays[:2]
    elif isinstance(form, Arrays):
        found = Pooled(None, tuple(arrays[2:]))
        arrays = arrays[:2]
    else:
        found = _number_or_tuple(form)
    return [Grown(interpreter, found, arrays), arrays[0].shape[0]]


def _number_or_tuple(form: str | tuple[Any, ...]) -> Element | Record:
    if isinstance(form, tuple):
        return Record(tuple, tuple(map(_number_or_tuple, form)))
    cls = class_of_name(form)
    return Element(_PYTHON.get(cls, "scalar"), np.dtype(cls))


def holds_objects(form: Form) -> bool:
    """Whether elements of a form are lists or tuples: nobody tells numbers from equal ones."""
    if isinstance(form, Choice):
        return any(map(holds_objects, form.kinds))
    return isinstance(form, (Record, Pooled)) or isinstance(form, Element) and form.kind == "list"


def holds_rows(x: list[Any]) -> bool:
    """Whether a grown list is an element of another one, or has lists for elements."""
    form = x[0].form
    return x[0].is_row or isinstance(form, Pooled) or any(e.kind == "list" for e in leaves_in(form))


def has_float_arrays(x: list[Any]) -> bool:
    """Whether a grown list has arrays of floats for elements, or in these."""
    form = x[0].form
    if isinstance(form, Pooled):
        return form.inner is None and form.pools[0].dtype.kind in "fc"
    return any(e.kind == "array" and e.dtype.kind in "fc" for e in leaves_in(form))


def size_of(x: list[Any]) -> Any:
    """The number of elements of a grown list: an int, a size or a traced int."""
    return x[1]


def prefixes(x: list[Any]) -> list[TracedArray]:
    """The arrays of a grown list, without the room for more."""
    grown, length = x[0], size_of(x)
    if not isinstance(length, Tracer) and as_dim(length) == grown.capacity:
        return list(grown.arrays)
    return [array[:length] for array in grown.arrays]


def leaves_in(form: Form) -> Iterator[Element]:
    """The elements of a form, in order."""
    if isinstance(form, Element):
        yield form
    elif isinstance(form, Choice):
        yield _TAG
        for kind in form.kinds:
            yield from leaves_in(kind)
    elif isinstance(form, Record):
        for part in form.parts:
            yield from leaves_in(part)
    elif isinstance(form, Pooled):
        yield from (_PLACE, _PLACE)


def form_of(x: Any) -> Form | None:
    """The form of an element; None for what no list of arrays can hold."""
    if isinstance(x, Union):
        x = x.known()
    if isinstance(x, Union):
        return joined_form(form_of(x.first), form_of(x.second))
    if isinstance(x, SymInt):
        return Element("int", np.dtype(np.int64))
    kind = _PYTHON.get(type(x))
    if kind is not None:
        return Element(kind, np.dtype(type(x)))
    if isinstance(x, np.generic):
        return Element("scalar", x.dtype) if x.dtype.kind in "biufc" else None
    if isinstance(x, TracedScalar):
        t = x.type
        if isinstance(t, PyScalar):
            return Element(t.kind, t.dtype)
        return Element("scalar", t.dtype) if isinstance(t, NpScalar) else None
    if isinstance(x, TracedArray):
        # The rows of an array are in C order.
        in_order = x.ndim == 1 or x.ndim and x.type.is_c and x.value() not in x.trace.unordered
        return Element("array", x.dtype, x.type.shape) if in_order else None
    if x is None or type(x) in (str, bytes):
        return Choice((Constant(x),))
    if type(x) is tuple:
        parts = [form_of(v) for v in x]
        found = tuple(p for p in parts if p is not None)
        return Record(tuple, found) if found and len(found) == len(parts) else None
    return _form_of_list(x) if type(x) is list else None


def _form_of_list(x: list[Any]) -> Form | None:
    if is_grown(x):
        inner, length = x[0].form, size_of(x)
        if not isinstance(inner, Element) or isinstance(length, Tracer):
            return None
        return Element("list", inner.dtype, (as_dim(length), *inner.shape), inner)
    forms = [form_of(v) for v in x]
    if not forms or any(f != forms[0] for f in forms):
        return None
    inner = forms[0]
    if not isinstance(inner, Element):
        return None
    return Element("list", inner.dtype, (len(x), *inner.shape), inner)


def joined_form(*forms: Form | None) -> Form | None:
    """The form of elements of any of these forms; None where there is none."""
    out = forms[0] if forms else None
    for form in forms[1:]:
        if out is None or form is None:
            return None
        out = out if out == form else _joined(out, form)
    return out


def _joined(a: Form, b: Form) -> Form | None:
    if isinstance(a, Pooled) or isinstance(b, Pooled):
        return None
    if _alike(a, b):
        return _joined_parts(a, b)  # type: ignore[arg-type]
    kinds = list(_kinds_in(a))
    for new in _kinds_in(b):
        at = next((k for k, kind in enumerate(kinds) if kind == new or _alike(kind, new)), None)
        if at is None:
            kinds.append(new)
        elif kinds[at] != new:
            joined = _joined_parts(kinds[at], new)  # type: ignore[arg-type]
            if joined is None:
                return None
            kinds[at] = joined
    return Choice(tuple(kinds)) if len(kinds) <= _KINDS else None


def _kinds_in(form: Element | Record | Constant | Choice) -> Sequence[Element | Record | Constant]:
    return form.kinds if isinstance(form, Choice) else (form,)


def _alike(a: Form, b: Form) -> bool:
    """Whether two forms are of tuples of one class and length."""
    both = isinstance(a, Record) and isinstance(b, Record)
    return both and a.cls is b.cls and len(a.parts) == len(b.parts)  # type: ignore[union-attr]


def _joined_parts(a: Record, b: Record) -> Record | None:
    parts = [joined_form(p, q) for p, q in zip(a.parts, b.parts, strict=True)]
    found = tuple(p for p in parts if p is not None)
    return Record(a.cls, found) if len(found) == len(parts) else None


def fits(form: Form, other: Form | None) -> bool:
    """Whether elements of another form are such of this one."""
    return other is not None and joined_form(form, other) == form


def element_of(interpreter: Any, form: Form, columns: Iterator[Any]) -> Any:
    """The element whose values come next."""
    if isinstance(form, Record):
        return tuple(element_of(interpreter, part, columns) for part in form.parts)
    if isinstance(form, Constant):
        return form.value
    if isinstance(form, Choice):
        return _chosen(interpreter, form, columns)
    if isinstance(form, Pooled):
        start, size = next(columns), next(columns)
        held = [pool[start : start + size] for pool in form.pools]
        return held[0] if form.inner is None else _row(interpreter, form.inner, held)
    value = next(columns)
    if form.kind == "scalar":
        return value
    if form.kind == "array":
        return _listed(value)
    if form.kind == "list":
        assert form.inner is not None
        return _row(interpreter, form.inner, [value])
    trace = here()
    return wrap(trace, trace.emit("py_scalar", (value.value(),), kind=form.kind))


def _row(interpreter: Any, form: Form, arrays: Iterable[TracedArray]) -> Any:
    """A list that is an element of another one."""
    held = [*map(_listed, arrays)]
    grown = Grown(interpreter, form, held, owned=False, is_row=True)
    return interpreter.share(interpreter.allocate([grown, held[0].shape[0]]))


def _listed(x: TracedArray) -> TracedArray:
    """An array that a list holds: whoever stores into it would have to store into every other place
    that holds it."""
    trace = here()
    made = TracedArray(trace, Storage(trace, x.value(), -1))
    made.storage.listed = True
    return made


def _chosen(interpreter: Any, form: Choice, columns: Iterator[Any]) -> Any:
    """The one of the values of each kind that the first column tells."""
    trace, tag = here(), next(columns)
    values = [element_of(interpreter, kind, columns) for kind in form.kinds]
    out = values[-1]
    for k, value in reversed(list(enumerate(values[:-1]))):
        is_it = trace.emit("py_scalar", ((tag == k).value(),), kind="bool")
        out = Union(cast(TracedScalar, wrap(trace, is_it)), value, out)
    return out


def release(x: Any, body: Any) -> bool:
    """Note that a list holds the arrays in `x` from now on; whether nothing else does.

    `body` is the trace of the loop's body, if there is one: what is made outside it may be held
    twice. Raises TraceError for an array that is stored into in the meantime.
    """
    if isinstance(x, TracedArray):
        storage = x.storage
        alone = not (storage.listed or storage.carried or storage.may_alias) and _is_block(x)
        alone = alone and storage.input is None and (body is None or body.encloses(storage.trace))
        if (
            storage.carried
            and storage.written
            or any(storage in region.stored for region in _regions(storage))
        ):
            raise TraceError("TJ005", "a list of an array that is stored into", user_line())
        for memory in storage.roots():
            memory.listed = True
        storage.listed = True
        return alone
    alone = True
    parts: Sequence[Any] = ()
    if isinstance(x, Union):
        parts = x.first, x.second
    elif type(x) is list and is_grown(x):
        parts, alone = x[0].arrays, x[0].owned
    elif isinstance(x, (tuple, list)):
        parts = x
    for part in parts:
        alone = release(part, body) and alone
    return alone


def _is_block(x: TracedArray) -> bool:
    """Whether an array is one stretch of its memory, as a copy of it would be."""
    t = x.storage.value.type
    if not x.views:
        return True
    if not isinstance(t, ArrayType) or not t.is_c or x.storage.value in x.trace.unordered:
        return False
    shape: Sequence[Dim] = t.shape
    for view in x.views:
        if view.op == "reshape":
            shape = cast(Sequence[Dim], view.attrs["shape"])
            continue
        if view.op != "slice" or any(step != 1 for step in cast(Any, view.attrs["step"])):
            return False
        sizes = cast(Sequence[Dim], view.attrs["size"])
        first = next((k for k, d in enumerate(sizes) if d != 1), len(sizes))
        if sizes[first + 1 :] != shape[first + 1 :]:
            return False
        shape = sizes
    return True


def _regions(storage: Storage) -> Iterator[Any]:
    """The regions between the present place and where some memory was made."""
    trace: Any = here()
    while trace is not None and trace is not storage.trace:
        yield trace
        trace = trace.parent

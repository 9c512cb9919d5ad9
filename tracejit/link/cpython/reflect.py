"""Where CPython and NumPy keep the fields that native entries read, found by looking.

No header is read: each offset is searched for in the memory of objects made for it, whose fields
hold known, distinct values, and the result is then checked on other objects. Anything unexpected is
a `LayoutError`, and the native path stays off.
"""

from __future__ import annotations

import _thread
import ctypes
import gc
import platform
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.base.locks import once
from tracejit.link.cpython.own_attributes import is_pointer

__all__ = ["Layout", "LayoutError", "function_offsets", "reflect_layout"]

_WORD = 8
_BIG_ENDIAN = ord(">")
#: A thread's state is longer than this.
_THREAD_STATE = "=32Q"
_THREAD_BYTES = struct.calcsize(_THREAD_STATE)


class LayoutError(RuntimeError):
    """The interpreter or NumPy lays out an object in a way that this module does not know."""


@dataclass(frozen=True)
class Layout:
    """Byte offsets: of an object's type, of the fields of arrays, dtypes and Python's objects."""

    type: int
    array_data: int
    array_ndim: int
    array_shape: int
    array_strides: int
    array_dtype: int
    array_flags: int
    dtype_byteorder: int
    dtype_type_num: int
    dtype_metadata: int
    float_value: int
    complex_value: int
    tuple_size: int
    tuple_items: int
    list_items: int
    cell_contents: int
    scalar_value: int
    function_code: int
    function_defaults: int
    function_kwdefaults: int
    function_globals: int
    function_closure: int
    class_dict: int
    class_mro: int
    method_function: int
    method_self: int
    #: Where a class has the number that changes with it and its bases; 0 where that is not found.
    class_version: int
    #: Where the state of a thread has what profiles and traces it; 0: not found.
    thread_profiler: int
    thread_tracer: int


def _memory(obj: Any, size: int) -> bytes:
    return ctypes.string_at(id(obj), size)


def _word(obj: Any, offset: int) -> int:
    return int(ctypes.c_uint64.from_address(id(obj) + offset).value)


def _offset(what: str, obj: Any, pattern: bytes, size: int | None = None) -> int:
    """The only place behind the header where `obj` holds `pattern`, aligned to its length."""
    total = size if size is not None else type(obj).__basicsize__
    memory = _memory(obj, total)
    step = min(len(pattern), _WORD)
    places = [
        at
        for at in range(object.__basicsize__, total - len(pattern) + 1, step)
        if memory[at : at + len(pattern)] == pattern
    ]
    if len(places) != 1:
        raise LayoutError(f"{what} is not at one known place: {places}")
    return places[0]


def _pointer(value: int) -> bytes:
    return struct.pack("=Q", value)


def _pointer_to(what: str, array: Any, values: tuple[int, ...], known: set[int]) -> int:
    """The place in `array`, not among the `known` words, of a pointer to these 64-bit integers.

    The words left over are pointers or null in every NumPy 2, so following them is safe.
    """
    pattern = struct.pack(f"={len(values)}q", *values)
    places = []
    for at in range(object.__basicsize__, np.ndarray.__basicsize__ - _WORD + 1, _WORD):
        address = _word(array, at)
        if at in known or not is_pointer(address):
            continue
        if ctypes.string_at(address, len(pattern)) == pattern:
            places.append(at)
    if len(places) != 1:
        raise LayoutError(f"{what} is not at one known place: {places}")
    return places[0]


def _check_platform() -> None:
    if sys.implementation.name != "cpython":
        raise LayoutError(f"{sys.implementation.name} is not CPython")
    if "free-threading" in sys.version:
        raise LayoutError("this is a free-threaded build")
    if sys.byteorder != "little" or struct.calcsize("P") != _WORD:
        raise LayoutError("only 64-bit little-endian machines are supported")
    if platform.machine().lower() not in {"x86_64", "amd64", "aarch64", "arm64"}:
        raise LayoutError(f"{platform.machine()} is not supported")
    if object.__basicsize__ != 2 * _WORD:
        raise LayoutError("objects have an unusual header")


def _array_fields() -> dict[str, int]:
    # Every field differs from every other one: 3 axes, odd sizes, a view with a base.
    base = np.zeros((7, 10, 15), np.int16)
    array = base[1:4, ::2, 2:13]
    fields = {
        "array_data": _offset("the data", array, _pointer(array.ctypes.data)),
        "array_dtype": _offset("the dtype", array, _pointer(id(array.dtype))),
        "array_ndim": _int32("the number of axes", array, lambda a: a.ndim),
        "array_flags": _int32("the flags", array, lambda a: a.flags.num),
    }
    base_at = _offset("the base", array, _pointer(id(array.base)))
    # The padding behind a 32-bit field belongs to its word: it may hold anything.
    known = {at - at % _WORD for at in (*fields.values(), base_at)}
    fields["array_shape"] = _pointer_to("the shape", array, array.shape, known)
    fields["array_strides"] = _pointer_to("the strides", array, array.strides, known)
    return fields


def _int32(what: str, first: Any, read: Callable[[Any], int]) -> int:
    """The place of a 32-bit field of an array that `read` returns, on several arrays."""
    read_only = np.zeros((2, 3, 4, 5))
    read_only.flags.writeable = False
    samples = (first, np.zeros(3), np.zeros((2, 5), order="F"), read_only, np.array(1.0))
    header, total = object.__basicsize__, np.ndarray.__basicsize__
    places = [
        at
        for at in range(header, total - 3, 4)
        if all(struct.unpack_from("=i", _memory(a, total), at)[0] == read(a) for a in samples)
    ]
    if len(places) != 1:
        raise LayoutError(f"{what} is not at one known place: {places}")
    return places[0]


def _dtype_fields(dtypes: Sequence[np.dtype[Any]]) -> dict[str, int]:
    size = np.dtype.__basicsize__
    swapped = np.dtype(np.float64).newbyteorder(">")
    header = object.__basicsize__
    plain = _memory(np.dtype(np.float64), size)
    other = _memory(swapped, size)
    order = [
        at for at in range(header, size) if other[at] == _BIG_ENDIAN and plain[at] != _BIG_ENDIAN
    ]
    samples = [np.dtype(code) for code in "?bBhHiIlLqQefdgFDG"]
    numbers = [
        at
        for at in range(header, size - 3, 4)
        if all(struct.unpack_from("=i", _memory(d, size), at)[0] == d.num for d in samples)
    ]
    metadata = {"tracejit": object()}
    described = np.dtype(np.float64, metadata=metadata)
    mappings = [
        at
        for at in range(header, size - _WORD + 1, _WORD)
        if _word(described, at) == id(metadata) and _word(np.dtype(np.float64), at) != id(metadata)
    ]
    if not mappings:
        # NumPy may keep a copy of the dictionary: then its address is found through the proxy.
        inner = _mapping_of(described.metadata)
        mappings = [at for at in range(header, size - 7, _WORD) if _word(described, at) == inner]
    for what, places in (("byte order", order), ("type number", numbers), ("metadata", mappings)):
        if len(places) != 1:
            raise LayoutError(f"the {what} of a dtype is not at one known place: {places}")
    empty = {_word(d, mappings[0]) for d in dtypes}
    if not empty <= {0, id(None)} or len(empty) != 1:
        raise LayoutError("plain dtypes have metadata")
    return {
        "dtype_byteorder": order[0],
        "dtype_type_num": numbers[0],
        "dtype_metadata": mappings[0],
    }


def _mapping_of(proxy: Any) -> int:
    return _word(proxy, object.__basicsize__)


def _scalar_offset(dtypes: Sequence[np.dtype[Any]]) -> int:
    """Where a NumPy scalar of each of these dtypes keeps its value: one offset for all."""
    places = set()
    for dtype in dtypes:
        if dtype.kind == "b":
            header = object.__basicsize__
            if [_memory(x, header + 1)[header] for x in (np.True_, np.False_)] != [1, 0]:
                raise LayoutError("the value of numpy.bool is elsewhere")
            continue
        pattern = bytes(range(0x41, 0x41 + dtype.itemsize))
        value = np.frombuffer(pattern, dtype)[0]
        memory = _memory(value, dtype.type.__basicsize__)
        places.add(memory.find(pattern, object.__basicsize__))
    if places != {object.__basicsize__}:
        raise LayoutError(f"values of NumPy scalars are not at one place: {places}")
    return places.pop()


def _tuple_fields() -> dict[str, int]:
    items = (object(), object(), object())
    memory = _memory(items, object.__sizeof__(items))
    at = memory.find(_pointer(id(items[0])))
    size = object.__basicsize__
    if memory[at:] != b"".join(_pointer(id(item)) for item in items):
        raise LayoutError("the items of a tuple are elsewhere")
    for sample in ((), (1,), tuple(range(7))):
        if _word(sample, size) != len(sample):
            raise LayoutError("the size of a tuple is elsewhere")
    return {"tuple_size": size, "tuple_items": at}


def _list_offset() -> int:
    """Where a list keeps the address of the table of its items."""
    size = object.__basicsize__
    for count in (1, 3, 9):
        sample = [object() for _ in range(count)]
        table = _word(sample, size + _WORD)
        held = ctypes.string_at(table, _WORD * count)
        if held != b"".join(_pointer(id(item)) for item in sample) or _word(sample, size) != count:
            raise LayoutError("the items of a list are elsewhere")
    return size + _WORD


def _cell_offset() -> int:
    contents = object()

    def closure() -> object:
        return contents

    assert closure.__closure__ is not None
    cell = closure.__closure__[0]
    return _offset("the contents of a cell", cell, _pointer(id(contents)))


@once
def function_offsets() -> tuple[int, ...]:
    """Where a function keeps its code, its defaults and its keywords' defaults."""
    return tuple(_function_fields().values())


def _function_fields() -> dict[str, int]:
    def plain() -> None: ...

    def other(x: object = plain, *, y: object = plain) -> object:
        return plain

    def changed() -> object:
        return plain

    fields = {
        f"function_{name}": _offset(
            f"the {name} of a function", other, _pointer(id(getattr(other, f"__{name}__")))
        )
        for name in ("code", "defaults", "kwdefaults", "globals", "closure")
    }
    other.__code__ = changed.__code__
    other.__defaults__ = other.__kwdefaults__ = None
    replaced = {"function_code": id(changed.__code__)}
    replaced |= {f"function_{k}": id(getattr(other, f"__{k}__")) for k in ("globals", "closure")}
    for name, at in fields.items():
        if _word(other, at) != replaced.get(name, 0):
            raise LayoutError(f"a new value of {name} is elsewhere")
    return fields


def _class_fields() -> dict[str, int]:
    class Probe(int):
        def method(self) -> None: ...

    # The view of a class' namespace refers to the dict, and to nothing else.
    (namespace,) = gc.get_referents(Probe.__dict__)
    if type(namespace) is not dict or namespace.keys() != Probe.__dict__.keys():
        raise LayoutError("the namespace of a class is elsewhere")
    method = Probe().method
    owner = getattr(method, "__self__")  # noqa: B009
    function = getattr(method, "__func__")  # noqa: B009 - stubs call a method a plain callable
    return {
        "class_dict": _offset("the dict of a class", Probe, _pointer(id(namespace))),
        "class_mro": _offset("the bases of a class", Probe, _pointer(id(Probe.__mro__))),
        "method_function": _offset("the function of a method", method, _pointer(id(function))),
        "method_self": _offset("the object of a method", method, _pointer(id(owner))),
    }


def _version_field() -> int:
    """The place of the number by which CPython knows a class and its bases to be unchanged.

    It is 0 from a change on until an attribute is looked up.
    """
    places: set[int] | None = None
    for _ in range(3):

        class Probe:
            x = 1

        numbers = []
        for change in (None, 2, None):
            if change is None:
                assert Probe.x
            else:
                Probe.x = change
            numbers.append(struct.unpack_from("=112I", _memory(Probe, 448)))
        before, changed, after = numbers
        found = {
            4 * k
            for k, (a, b, c) in enumerate(zip(before, changed, after, strict=True))
            if a and c and not b and a != c
        }
        places = found if places is None else places & found
    assert places is not None
    return places.pop() if len(places) == 1 else 0


def _thread_fields() -> dict[str, int]:
    """The places of the functions that profile and trace a thread, looked for in one that nothing
    else runs in.
    """
    found = {"thread_profiler": 0, "thread_tracer": 0}
    state = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThreadState_Get", ctypes.pythonapi))
    kind = ctypes.PYFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_int, ctypes.c_void_p)
    watch = kind(lambda *_: 0)
    address = ctypes.cast(watch, ctypes.c_void_p).value
    done = _thread.allocate_lock()

    def look() -> None:
        try:
            for name, set_to in zip(found, ("PyEval_SetProfile", "PyEval_SetTrace"), strict=True):
                # Debuggers have their own in the place of `sys.settrace`.
                switch = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(
                    (set_to, ctypes.pythonapi)
                )
                at = state()
                switch(address, None)
                words = struct.unpack(_THREAD_STATE, ctypes.string_at(at, _THREAD_BYTES))
                switch(None, None)
                if words.count(address) == 1:
                    found[name] = _WORD * words.index(address)
        finally:
            done.release()

    done.acquire()
    try:
        _thread.start_new_thread(look, ())
    except RuntimeError:
        return found
    with done:
        return found


def _check(layout: Layout) -> None:
    """Read other objects through the offsets. Raises LayoutError where they disagree."""
    arrays = [
        np.array(3.0),
        np.zeros(0, np.int8),
        np.arange(24.0).reshape(2, 3, 4)[:, ::-1],
        np.asfortranarray(np.ones((3, 2), np.complex64)),
        np.frombuffer(bytes(17), np.uint8)[1:].view(np.float64),
        np.zeros(4, ">i4"),
    ]
    for array in arrays:
        shape, strides = (_word(array, at) for at in (layout.array_shape, layout.array_strides))
        axes = range(array.ndim)
        found = (
            _word(array, layout.type),
            _word(array, layout.array_data),
            _word(array, layout.array_dtype),
            ctypes.c_int32.from_address(id(array) + layout.array_ndim).value,
            ctypes.c_int32.from_address(id(array) + layout.array_flags).value,
            tuple(ctypes.c_int64.from_address(shape + _WORD * i).value for i in axes),
            tuple(ctypes.c_int64.from_address(strides + _WORD * i).value for i in axes),
            ctypes.c_int32.from_address(id(array.dtype) + layout.dtype_type_num).value,
        )
        expected = (
            id(np.ndarray),
            array.ctypes.data,
            id(array.dtype),
            array.ndim,
            array.flags.num,
            array.shape,
            array.strides,
            array.dtype.num,
        )
        if found != expected:
            raise LayoutError(f"an array reads {found} instead of {expected}")


def reflect_layout(dtypes: Sequence[np.dtype[Any]]) -> Layout:
    """The layout of this interpreter's and this NumPy's objects, of scalars of these dtypes too.

    Raises LayoutError on a free-threaded build, an unsupported machine, or any surprise.
    """
    _check_platform()
    header = object.__basicsize__
    layout = Layout(
        type=header - _WORD,
        **_array_fields(),
        **_dtype_fields(dtypes),
        float_value=_offset("a float's value", 1.2345e67, struct.pack("=d", 1.2345e67)),
        complex_value=_offset(
            "a complex's value", complex(1.2345e67, -7.5), struct.pack("=dd", 1.2345e67, -7.5)
        ),
        **_tuple_fields(),
        list_items=_list_offset(),
        cell_contents=_cell_offset(),
        scalar_value=_scalar_offset(dtypes),
        **_function_fields(),
        **_class_fields(),
        class_version=_version_field(),
        **_thread_fields(),
    )
    if _word([], layout.type) != id(list):
        raise LayoutError("the type of an object is elsewhere")
    _check(layout)
    return layout

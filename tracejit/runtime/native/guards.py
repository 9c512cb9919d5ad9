"""Leaves of an entry as machine code: fetch the object, check it, bind sizes, fill in-slots."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ir.types import DTYPES
from tracejit.runtime.entry_spec import (
    AbsentLeaf,
    ArrayLeaf,
    CellSource,
    DictItem,
    EntrySpec,
    FunctionField,
    GlobalSource,
    Leaf,
    NpScalarLeaf,
    ObjectSource,
    Positional,
    RereadItem,
    ScalarLeaf,
    Source,
    StaticLeaf,
    TupleItem,
    WatchedLeaf,
)
from tracejit.runtime.native.reflect import (
    ALIGNED,
    C_CONTIGUOUS,
    F_CONTIGUOUS,
    WRITEABLE,
    Layout,
)
from tracejit.runtime.native.text import FunctionText
from tracejit.runtime.watch import Watched

__all__ = ["GuardEmitter"]

_BIG_ENDIAN = ord(">")
_EQ = 2
_MAX_TUPLE = 16
_SCALAR_TYPES = frozenset(dtype.type for dtype in DTYPES.values()) - {np.bool_}
_WORD = 8


def _static_size(value: Any) -> int:
    return sum(map(_static_size, value)) + 1 if type(value) is tuple else 1


class GuardEmitter:
    """Writes the checks of every leaf; a failed one branches to the block `miss`.

    Only `reread` runs Python code: arguments are checked before it, so that it is not called in
    vain, and everything after it, so that what a leaf borrowed stays alive until the last check.
    """

    def __init__(self, text: FunctionText, spec: EntrySpec, layout: Layout, miss: str) -> None:
        self.text = text
        self.spec = spec
        self.layout = layout
        self.miss = miss
        self.objects: list[str] = []
        #: References that the entry owns until the program has run: to arrays that nothing else
        #: keeps alive.
        self.owned: list[str] = []
        self.sizes: dict[str, str] = {}
        self._late: list[tuple[str, Callable[[], None]]] = []
        self._functions: dict[Source, str] = {}
        self._values = ""

    def emit(self, in_slots: str) -> None:
        """Check all leaves and store their values in the in-slots."""
        if self.spec.reread is not None:
            self._reread(in_slots)
        self._leaves(in_slots)
        for k, name in enumerate(self.spec.sizes):
            pointer = self.text.at(in_slots, 8 * (self.spec.size_slot + k))
            self.text.do(f"store i64 {self.sizes[name]}, ptr {pointer}")
        for obj in self.owned:
            self.text.call("Py_IncRef", f"ptr {obj}")
        if self._values:
            self.owned.append(self._values)

    def _leaves(self, in_slots: str, arguments_only: bool = False) -> None:
        for (source, leaf), slot in zip(self.spec.leaves, self.spec.leaf_slots, strict=False):
            if arguments_only and not isinstance(source, Positional):
                continue
            if isinstance(leaf, AbsentLeaf):
                self.objects.append("null")
                self._absent(source)
                continue
            obj = self._fetch(source)
            self.objects.append(obj)
            self._check(obj, leaf, self.text.at(in_slots, 8 * slot))
            if isinstance(leaf, ArrayLeaf) and not isinstance(source, (Positional, RereadItem)):
                self.owned.append(obj)

    def _reread(self, in_slots: str) -> None:
        """Check the arguments, then ask for the values; from here on a miss gives them up."""
        text, reread = self.text, self.spec.reread
        arguments = GuardEmitter(text, self.spec, self.layout, self.miss)
        arguments._late = self._late
        arguments._leaves(in_slots, arguments_only=True)
        self._values = text.call("PyObject_CallNoArgs", f"ptr {text.object(reread)}")
        text.require(text.op(f"icmp ne ptr {self._values}, null"), self._miss_with_error())
        drop, miss = text.fresh("drop"), self.miss

        def emit() -> None:
            text.call("Py_DecRef", f"ptr {self._values}")
            text.do(f"br label %{miss}")

        self._late.append((drop, emit))
        self.miss = drop
        text.require(text.op(f"icmp ne ptr {self._values}, {text.object(None)}"), drop)

    def _absent(self, source: Source) -> None:
        """Require that a dictionary has no such key, and that looking raised nothing."""
        obj = self._lookup(source)
        self.text.require(self.text.op(f"icmp eq ptr {obj}, null"), self.miss)
        error = self.text.call("PyErr_Occurred")
        self.text.require(self.text.op(f"icmp eq ptr {error}, null"), self._miss_with_error())

    def emit_late_blocks(self) -> None:
        """The blocks that calls rarely reach, behind everything else."""
        for label, emit in self._late:
            self.text.label(label)
            emit()

    def _fetch(self, source: Source) -> str:
        text = self.text
        match source:
            case Positional(index):
                return text.field("%args", _WORD * index, "ptr")
            case RereadItem(index):
                return text.field(self._values, self.layout.tuple_items + _WORD * index, "ptr")
            case GlobalSource() | DictItem():
                obj = self._lookup(source)
                text.require(text.op(f"icmp ne ptr {obj}, null"), self._miss_with_error())
                return obj
            case CellSource(cell):
                obj = text.field(text.object(cell), self.layout.cell_contents, "ptr")
            case ObjectSource(watched):
                obj = text.op(f"load ptr, ptr {self._word(watched)}")
            case FunctionField(function, name):
                if source in self._functions:
                    return self._functions[source]
                offset = getattr(self.layout, f"function_{name}")
                obj = self._functions[source] = text.field(self._fetch(function), offset, "ptr")
            case TupleItem(items, index):
                return self._tuple_item(self._fetch(items), index)
        text.require(text.op(f"icmp ne ptr {obj}, null"), self.miss)
        return obj

    def _lookup(self, source: Source) -> str:
        """What a dictionary holds, or null."""
        assert isinstance(source, (GlobalSource, DictItem))
        if isinstance(source, GlobalSource):
            found = self.text.object(source.namespace)
        else:
            found = self._fetch(source.items)
        key = self.text.object(source.key)
        return self.text.call("PyDict_GetItemWithError", f"ptr {found}", f"ptr {key}")

    def _tuple_item(self, items: str, index: int) -> str:
        text = self.text
        size = text.field(items, self.layout.tuple_size, "i64")
        text.require(text.op(f"icmp sge i64 {size}, {-index}"), self.miss)
        offset = text.op(f"shl i64 {text.op(f'add i64 {size}, {index}')}, 3")
        item = text.op(f"getelementptr i8, ptr {items}, i64 {offset}")
        return text.field(item, self.layout.tuple_items, "ptr")

    def _word(self, watched: Watched) -> str:
        return self.text.address(f"word{watched.address:x}", watched.address)

    def _miss_with_error(self) -> str:
        label = self.text.fresh("error")

        def emit() -> None:
            self.text.call("PyErr_Clear")
            self.text.do(f"br label %{self.miss}")

        self._late.append((label, emit))
        return label

    def _check(self, obj: str, leaf: Leaf, slot: str) -> None:
        match leaf:
            case ArrayLeaf():
                self._array(obj, leaf, slot)
            case ScalarLeaf(kind):
                self._scalar(obj, kind, slot)
                if leaf.size is not None:
                    self._bind(self.text.op(f"load i64, ptr {slot}"), leaf.size, 2)
            case NpScalarLeaf(dtype):
                self._require_type(obj, dtype.type)
                for k in range(0, dtype.itemsize, _WORD):
                    bits = f"i{8 * min(_WORD, dtype.itemsize - k)}"
                    value = self.text.field(obj, self.layout.scalar_value + k, bits)
                    self.text.do(f"store {bits} {value}, ptr {self.text.at(slot, k)}")
            case StaticLeaf(value):
                self._static(obj, value)
            case WatchedLeaf(watched):
                address = self.text.op(f"load ptr, ptr {self._word(watched)}")
                self.text.require(self.text.op(f"icmp eq ptr {obj}, {address}"), self.miss)

    def _require_type(self, obj: str, cls: type) -> None:
        found = self.text.field(obj, self.layout.type, "ptr")
        self.text.require(self.text.op(f"icmp eq ptr {found}, {self.text.object(cls)}"), self.miss)

    def _scalar(self, obj: str, kind: str, slot: str) -> None:
        text, layout = self.text, self.layout
        match kind:
            case "bool":
                is_true = text.op(f"icmp eq ptr {obj}, {text.object(True)}")
                is_false = text.op(f"icmp eq ptr {obj}, {text.object(False)}")
                text.require(text.op(f"or i1 {is_true}, {is_false}"), self.miss)
                text.do(f"store i64 {text.op(f'zext i1 {is_true} to i64')}, ptr {slot}")
            case "int":
                self._require_type(obj, int)
                # The slot doubles as the overflow flag until the value is known.
                value = text.call("PyLong_AsLongLongAndOverflow", f"ptr {obj}", f"ptr {slot}")
                overflow = text.op(f"load i32, ptr {slot}")
                text.require(text.op(f"icmp eq i32 {overflow}, 0"), self.miss)
                text.do(f"store i64 {value}, ptr {slot}")
            case "float":
                self._require_type(obj, float)
                value = text.field(obj, layout.float_value, "i64")
                text.do(f"store i64 {value}, ptr {slot}")
            case "complex":
                self._require_type(obj, complex)
                for k in (0, _WORD):
                    value = text.field(obj, layout.complex_value + k, "i64")
                    text.do(f"store i64 {value}, ptr {text.at(slot, k)}")

    def _static(self, obj: str, value: Any) -> None:
        """The same object, or an equal one of a type whose equality means sameness."""
        text = self.text
        same = text.op(f"icmp eq ptr {obj}, {text.object(value)}")
        comparable = type(value) in (int, str) or self._bits(value) is not None
        comparable = comparable or type(value) is tuple and _static_size(value) <= _MAX_TUPLE
        if not comparable:
            text.require(same, self.miss)
            return
        known, compare = text.fresh("known"), text.fresh("compare")
        text.do(f"br i1 {same}, label %{known}, label %{compare}")
        text.label(known)
        self._late.append((compare, lambda: self._equal(obj, value, known)))

    def _bits(self, value: Any) -> tuple[int, bytes] | None:
        """Where a number of one width keeps its value, and the bytes there; None for any other."""
        if type(value) is float:
            return self.layout.float_value, struct.pack("=d", value)
        if type(value) is complex:
            return self.layout.complex_value, struct.pack("=dd", value.real, value.imag)
        if isinstance(value, np.generic) and type(value) in _SCALAR_TYPES:
            return self.layout.scalar_value, value.tobytes()
        return None

    def _equal(self, obj: str, value: Any, known: str) -> None:
        text = self.text
        self._require_type(obj, type(value))
        if type(value) is tuple:
            size = text.field(obj, self.layout.tuple_size, "i64")
            text.require(text.op(f"icmp eq i64 {size}, {len(value)}"), self.miss)
            for k, item in enumerate(value):
                self._static(text.field(obj, self.layout.tuple_items + _WORD * k, "ptr"), item)
        elif (bits := self._bits(value)) is not None:
            at, memory = bits
            for k in range(0, len(memory), _WORD):
                part = memory[k : k + _WORD]
                found = text.field(obj, at + k, f"i{8 * len(part)}")
                wanted = int.from_bytes(part, "little")
                same = text.op(f"icmp eq i{8 * len(part)} {found}, {wanted}")
                text.require(same, self.miss)
        else:
            equal = text.call(
                "PyObject_RichCompareBool", f"ptr {obj}", f"ptr {text.object(value)}", f"i32 {_EQ}"
            )
            text.require(text.op(f"icmp eq i32 {equal}, 1"), self._miss_with_error())
        text.do(f"br label %{known}")

    def _array(self, obj: str, leaf: ArrayLeaf, slot: str) -> None:
        text, layout = self.text, self.layout
        self._require_type(obj, np.ndarray)
        wanted = ALIGNED | (WRITEABLE if leaf.writeable else 0)
        wanted |= {"C": C_CONTIGUOUS, "F": F_CONTIGUOUS, "A": 0}[leaf.layout]
        flags = text.op(f"and i32 {text.field(obj, layout.array_flags, 'i32')}, {wanted}")
        ndim = text.field(obj, layout.array_ndim, "i32")
        right_flags = text.op(f"icmp eq i32 {flags}, {wanted}")
        right_ndim = text.op(f"icmp eq i32 {ndim}, {len(leaf.dims)}")
        text.require(text.op(f"and i1 {right_flags}, {right_ndim}"), self.miss)
        self._dtype(text.field(obj, layout.array_dtype, "ptr"), leaf.dtype)
        if leaf.dims:
            shape = text.field(obj, layout.array_shape, "ptr")
            for axis, dim in enumerate(leaf.dims):
                self._bind(text.field(shape, _WORD * axis, "i64"), dim, minimum=2)
        if leaf.layout == "A" and leaf.dims:
            self._strides(text.field(obj, layout.array_strides, "ptr"), leaf)
        data = text.field(obj, layout.array_data, "ptr")
        text.do(f"store ptr {data}, ptr {slot}")

    def _dtype(self, found: str, dtype: np.dtype[Any]) -> None:
        """The dtype object itself, or another one that means the same: unpickled arrays have it."""
        text, layout = self.text, self.layout
        same = text.op(f"icmp eq ptr {found}, {text.object(dtype)}")
        known, compare = text.fresh("known"), text.fresh("dtype")
        text.do(f"br i1 {same}, label %{known}, label %{compare}")
        text.label(known)

        def emit() -> None:
            number = text.field(found, layout.dtype_type_num, "i32")
            order = text.field(found, layout.dtype_byteorder, "i8")
            metadata = text.field(found, layout.dtype_metadata, "ptr")
            plain = text.field(text.object(dtype), layout.dtype_metadata, "ptr")
            same_number = text.op(f"icmp eq i32 {number}, {dtype.num}")
            native = text.op(f"icmp ne i8 {order}, {_BIG_ENDIAN}")
            same_metadata = text.op(f"icmp eq ptr {metadata}, {plain}")
            right = text.op(f"and i1 {same_number}, {native}")
            right = text.op(f"and i1 {right}, {same_metadata}")
            text.do(f"br i1 {right}, label %{known}, label %{self.miss}")

        self._late.append((compare, emit))

    def _bind(self, value: str, dim: int | str, minimum: int | None) -> None:
        """Compare with a number or with a name's value; give a new name its value."""
        text = self.text
        if isinstance(dim, str) and dim not in self.sizes:
            self.sizes[dim] = value
            if minimum is not None:
                text.require(text.op(f"icmp sge i64 {value}, {minimum}"), self.miss)
            return
        expected = self.sizes[dim] if isinstance(dim, str) else str(dim)
        text.require(text.op(f"icmp eq i64 {value}, {expected}"), self.miss)

    def _strides(self, strides: str, leaf: ArrayLeaf) -> None:
        text = self.text
        steps: dict[int, str] = {}
        shift = leaf.dtype.itemsize.bit_length() - 1
        for axis, stride in enumerate(leaf.strides):
            step = text.field(strides, _WORD * axis, "i64")
            if leaf.dims[axis] == 1 and isinstance(stride, int):
                continue  # Nothing is reached through this stride.
            if shift:
                rest = text.op(f"and i64 {step}, {leaf.dtype.itemsize - 1}")
                text.require(text.op(f"icmp eq i64 {rest}, 0"), self.miss)
            self._bind(text.op(f"ashr i64 {step}, {shift}"), stride, minimum=None)
            if leaf.dims[axis] == 1 or stride == 0:
                continue  # No opinion on the order of the axes.
            if isinstance(stride, str):
                text.require(text.op(f"icmp ne i64 {step}, 0"), self.miss)
            negative = text.op(f"icmp slt i64 {step}, 0")
            opposite = text.op(f"sub i64 0, {step}")
            steps[axis] = text.op(f"select i1 {negative}, i64 {opposite}, i64 {step}")
        axes = [axis for axis in leaf.order if axis in steps]
        for outer, inner in zip(axes, axes[1:], strict=False):
            relation = "uge" if outer < inner else "ugt"
            in_order = text.op(f"icmp {relation} i64 {steps[outer]}, {steps[inner]}")
            text.require(in_order, self.miss)

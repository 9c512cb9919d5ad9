"""Leaves of an entry as machine code: check the object, bind sizes, fill in-slots."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ir.types import DTYPES
from tracejit.own_attributes import COUNT, offset, own_fit
from tracejit.runtime.call.aliasing import are_apart
from tracejit.runtime.call.entry_spec import (
    AbsentLeaf,
    AddressLeaf,
    ArrayLeaf,
    DictLeaf,
    EntrySpec,
    InstanceLeaf,
    Leaf,
    NpScalarLeaf,
    OutLeaf,
    OwnLeaf,
    ScalarLeaf,
    SequenceLeaf,
    StaticLeaf,
    WatchedLeaf,
)
from tracejit.runtime.call.flags import ALIGNED, C_CONTIGUOUS, F_CONTIGUOUS, WRITEABLE
from tracejit.runtime.call.sources import (
    AttributeSource,
    ClassField,
    DictItem,
    ElementSource,
    ObjectSource,
    PackedSource,
    Positional,
    RereadItem,
    Source,
    is_argument,
    runs_python,
)
from tracejit.runtime.entries.watch import Watched
from tracejit.runtime.native.distinct import require_distinct
from tracejit.runtime.native.fetch import Fetcher
from tracejit.runtime.native.no_alias import NoAliasEmitter, range_count
from tracejit.runtime.native.reflect import Layout
from tracejit.runtime.native.text import FunctionText

__all__ = ["GuardEmitter"]

_BIG_ENDIAN = ord(">")
_CONTAINERS = SequenceLeaf | DictLeaf
_EQ = 2
_MAX_TUPLE = 16
_SCALAR_TYPES = frozenset(dtype.type for dtype in DTYPES.values()) - {np.bool_}
_WORD = 8


def _is_given(leaf: Leaf) -> bool:
    """Whether the program is given a leaf, or something in it."""
    given = AddressLeaf | ArrayLeaf | ScalarLeaf | NpScalarLeaf | SequenceLeaf | DictLeaf
    return isinstance(leaf, given)


def _static_size(value: Any) -> int:
    return sum(map(_static_size, value)) + 1 if type(value) is tuple else 1


class GuardEmitter(Fetcher):
    """Writes the checks of every leaf; a failed one branches to the block `miss`.

    Attributes and `reread` may run Python code: arguments are checked before, so that it is not
    run in vain; then comes everything that it may depend on, in order; and what the program is
    given is fetched and checked once more after it, when nothing can change any longer.
    """

    def __init__(self, text: FunctionText, spec: EntrySpec, layout: Layout, miss: str) -> None:
        super().__init__(text, layout, miss)
        self.spec = spec
        self.writes_arrays = range_count([leaf for _, leaf in spec.leaves]) > 0
        #: The objects of the leaves that are results, too.
        self.objects: dict[int, str] = {}
        self.sizes: dict[str, str] = {}

    def emit(self, in_slots: str) -> None:
        """Check all leaves and store their values in the in-slots."""
        spec = self.spec
        asked = [source for source, _ in spec.leaves if self.is_asked_for(source)]
        python = any(runs_python(source) for source, _ in spec.leaves)
        if asked or python or spec.reread is not None:
            self._leaves(in_slots, lambda source, leaf: is_argument(source))
            if spec.reread is not None:
                self.reread(spec.reread)
            self._leaves(in_slots, lambda source, leaf: not is_argument(source))
            if asked:
                self._leaves(in_slots, lambda source, leaf: isinstance(leaf, _CONTAINERS))
            self.sizes.clear()
            self._packed.clear()
            self.ask_for_arrays(asked)
            self._leaves(in_slots, lambda source, leaf: is_argument(source) or _is_given(leaf))
        else:
            self._leaves(in_slots, lambda source, leaf: True)
        self._distinct()
        copies = any(isinstance(leaf, ArrayLeaf) and leaf.joined for _, leaf in spec.leaves)
        copies = copies and self.writes_arrays
        if not copies:
            self._apart()
        for k, name in enumerate(spec.sizes):
            pointer = self.text.at(in_slots, 8 * (spec.size_slot + k))
            self.text.do(f"store i64 {self.sizes[name]}, ptr {pointer}")
        for output in spec.outputs:
            if isinstance(output, OutLeaf):
                self.objects[output.index] = self.get(spec.leaves[output.index][0])
        for source, leaf in spec.leaves:
            if isinstance(leaf, (ArrayLeaf, AddressLeaf)):
                self._keep(source)
        if copies:
            for obj in self.objects.values():
                self.hold(obj)
            self._asked_apart()

    def _leaves(self, in_slots: str, wanted: Callable[[Source, Leaf], bool]) -> None:
        for (source, leaf), slot in zip(self.spec.leaves, self.spec.leaf_slots, strict=False):
            if not wanted(source, leaf):
                continue
            if self.is_asked_for(source) and source not in self._packed:
                assert isinstance(source, PackedSource)
                self.get(source.parent)
                continue
            watched = self._versioned(source, leaf)
            if watched is not None:
                self._unless_unchanged(watched, functools.partial(self._leaf, source, leaf, ""))
                continue
            self._leaf(source, leaf, self.text.at(in_slots, 8 * slot))

    def _leaf(self, source: Source, leaf: Leaf, slot: str) -> None:
        match leaf:
            case AbsentLeaf():
                self._absent(source)
            case SequenceLeaf():
                self.enter_sequence(source, leaf)
            case DictLeaf():
                self.enter_dict(source, leaf, self._static)
            case _:
                self._check(self.get(source), leaf, slot)

    # Classes -------------------------------------------------------------------------------------

    def _versioned(self, source: Source, leaf: Leaf) -> Watched | None:
        """The class that a leaf is about, where CPython numbers the states of classes; or None."""
        match source, leaf:
            case DictItem(ClassField(ObjectSource(watched))), (
                AbsentLeaf() | StaticLeaf() | WatchedLeaf()
            ):
                pass
            case ClassField(ObjectSource(watched), "mro"), SequenceLeaf():
                pass
            case ElementSource(ClassField(ObjectSource(watched), "mro")), WatchedLeaf():
                pass
            case _:
                return None
        if not self.layout.class_version:
            return None
        # A class has no number before something has been looked up in it.
        getattr(watched.get(), "__doc__", None)
        return watched

    def _unless_unchanged(self, watched: Watched, check: Callable[[], None]) -> None:
        """Write a check that is skipped as long as a class is as it was when it last held."""
        text = self.text
        cls = self.watched(watched)
        self.require(text.op(f"icmp ne ptr {cls}, null"))
        word = text.word(-1)
        version = text.field(cls, self.layout.class_version, "i32")
        found = text.op(f"zext i32 {version} to i64")
        same = text.op(f"icmp eq i64 {found}, {text.field(word, 0, 'i64')}")
        changed, go_on = text.fresh("changed"), text.fresh("unchanged")
        text.do(f"br i1 {same}, label %{go_on}, label %{changed}")
        text.label(changed)
        # What is fetched there is not known afterwards.
        kept = dict(self._borrowed)
        check()
        self._borrowed = kept
        # A class without a number may change unseen.
        known = text.op(f"icmp ne i64 {found}, 0")
        text.do(f"store i64 {text.op(f'select i1 {known}, i64 {found}, i64 -1')}, ptr {word}")
        text.do(f"br label %{go_on}")
        text.label(go_on)

    def _keep(self, source: Source) -> None:
        """Own an object, unless the caller or something else that is owned keeps it alive."""
        if not isinstance(source, (Positional, AttributeSource, RereadItem)):
            self.hold(self.get(source))

    def _absent(self, source: Source) -> None:
        """Require that a dictionary has no such key, and that looking raised nothing."""
        self.require(self.text.op(f"icmp eq ptr {self.lookup(source)}, null"))
        error = self.text.call("PyErr_Occurred")
        self.text.require(self.text.op(f"icmp eq ptr {error}, null"), self.miss_with_error())

    def _distinct(self) -> None:
        require_distinct(self.text, [self.get(s) for s in self.spec.distinct], self.miss)

    def _apart(self) -> None:
        if range_count([leaf for _, leaf in self.spec.leaves]):
            arrays = [(s, leaf) for s, leaf in self.spec.leaves if isinstance(leaf, ArrayLeaf)]
            emitter = NoAliasEmitter(self.text, self.layout, self.sizes, self.require)
            emitter.emit([(self.get(s), leaf) for s, leaf in arrays], self.miss)

    def _asked_apart(self) -> None:
        """Have Python look for shared memory, which it can see of copies of other arrays, too."""
        given = []
        for source, leaf in self.spec.leaves:
            if isinstance(leaf, ArrayLeaf):
                given += [self.get(source), self.text.object(leaf.writeable)]
        answer = self.ask(are_apart, *given)
        self.require(self.text.op(f"icmp eq ptr {answer}, {self.text.object(True)}"))

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
            case AddressLeaf():
                self.text.do(f"store ptr {obj}, ptr {slot}")
            case StaticLeaf(value):
                self._static(obj, value)
            case OwnLeaf():
                self._own(obj, leaf)
            case InstanceLeaf(cls):
                found = self.text.field(obj, self.layout.type, "ptr")
                self.require(self.text.op(f"icmp eq ptr {found}, {self.watched(cls)}"))
            case WatchedLeaf(watched):
                self.require(self.text.op(f"icmp eq ptr {obj}, {self.watched(watched)}"))

    def _own(self, obj: str, leaf: OwnLeaf) -> None:
        """Look where an instance keeps its attributes, or have Python look in its dict."""
        text = self.text
        found = text.field(obj, self.layout.type, "ptr")
        self.require(text.op(f"icmp eq ptr {found}, {self.watched(leaf.cls)}"))
        inline, known = text.fresh("inline"), text.fresh("known")
        asked = self.later("asked", lambda: self._ask_own(obj, leaf, known))
        values = text.field(obj, offset() or 0, "ptr")
        has_values = text.op(f"icmp ne ptr {values}, null")
        text.do(f"br i1 {has_values}, label %{inline}, label %{asked}")
        text.label(inline)
        for place in leaf.places:
            value = text.field(values, _WORD * place, "ptr")
            self.require(text.op(f"icmp {'eq' if leaf.lacks else 'ne'} ptr {value}, null"))
        if not leaf.lacks:
            count = text.field(values, COUNT, "i8")
            self.require(text.op(f"icmp eq i8 {count}, {len(leaf.names)}"))
        text.do(f"br label %{known}")
        text.label(known)

    def _ask_own(self, obj: str, leaf: OwnLeaf, known: str) -> None:
        text = self.text
        given = text.op("alloca [3 x ptr]")
        for k, x in enumerate((obj, text.object(leaf.names), text.object(leaf.lacks))):
            text.do(f"store ptr {x}, ptr {text.at(given, _WORD * k)}")
        arguments = f"ptr {text.object(own_fit)}", f"ptr {given}", "i64 3", "ptr null"
        answer = text.call("PyObject_Vectorcall", *arguments)
        text.require(text.op(f"icmp ne ptr {answer}, null"), self.miss_with_error())
        text.call("Py_DecRef", f"ptr {answer}")
        self.require(text.op(f"icmp eq ptr {answer}, {text.object(True)}"))
        text.do(f"br label %{known}")

    def _require_type(self, obj: str, cls: type) -> None:
        found = self.text.field(obj, self.layout.type, "ptr")
        self.require(self.text.op(f"icmp eq ptr {found}, {self.text.object(cls)}"))

    def _scalar(self, obj: str, kind: str, slot: str) -> None:
        text, layout = self.text, self.layout
        match kind:
            case "bool":
                is_true = text.op(f"icmp eq ptr {obj}, {text.object(True)}")
                is_false = text.op(f"icmp eq ptr {obj}, {text.object(False)}")
                self.require(text.op(f"or i1 {is_true}, {is_false}"))
                text.do(f"store i64 {text.op(f'zext i1 {is_true} to i64')}, ptr {slot}")
            case "int":
                self._require_type(obj, int)
                # The slot doubles as the overflow flag until the value is known.
                value = text.call("PyLong_AsLongLongAndOverflow", f"ptr {obj}", f"ptr {slot}")
                overflow = text.op(f"load i32, ptr {slot}")
                self.require(text.op(f"icmp eq i32 {overflow}, 0"))
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
        """The same object, or an equal one of a type whose equality means sameness.

        A NaN is equal to nothing but itself: Python looks at which object it is.
        """
        text = self.text
        same = text.op(f"icmp eq ptr {obj}, {text.object(value)}")
        comparable = type(value) in (int, str) or self._bits(value) is not None
        comparable = comparable or type(value) is tuple and _static_size(value) <= _MAX_TUPLE
        if not comparable:
            self.require(same)
            return
        known = text.fresh("known")
        compare = self.later("compare", lambda: self._equal(obj, value, known))
        text.do(f"br i1 {same}, label %{known}, label %{compare}")
        text.label(known)

    def _bits(self, value: Any) -> tuple[int, bytes] | None:
        """Where a number of one width keeps its value, and the bytes there; None for any other."""
        if isinstance(value, (float, complex, np.generic)) and value != value:
            return None
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
            self.require(text.op(f"icmp eq i64 {size}, {len(value)}"))
            for k, item in enumerate(value):
                self._static(text.field(obj, self.layout.tuple_items + _WORD * k, "ptr"), item)
        elif (bits := self._bits(value)) is not None:
            at, memory = bits
            for k in range(0, len(memory), _WORD):
                part = memory[k : k + _WORD]
                found = text.field(obj, at + k, f"i{8 * len(part)}")
                wanted = int.from_bytes(part, "little")
                same = text.op(f"icmp eq i{8 * len(part)} {found}, {wanted}")
                self.require(same)
        else:
            equal = text.call(
                "PyObject_RichCompareBool", f"ptr {obj}", f"ptr {text.object(value)}", f"i32 {_EQ}"
            )
            text.require(text.op(f"icmp eq i32 {equal}, 1"), self.miss_with_error())
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
        self.require(text.op(f"and i1 {right_flags}, {right_ndim}"))
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
        known = text.fresh("known")

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

        compare = self.later("dtype", emit)
        text.do(f"br i1 {same}, label %{known}, label %{compare}")
        text.label(known)

    def _bind(self, value: str, dim: int | str, minimum: int | None) -> None:
        """Compare with a number or with a name's value; give a new name its value."""
        text = self.text
        if isinstance(dim, str) and dim not in self.sizes:
            self.sizes[dim] = value
            if minimum is not None:
                self.require(text.op(f"icmp sge i64 {value}, {minimum}"))
            return
        expected = self.sizes[dim] if isinstance(dim, str) else str(dim)
        self.require(text.op(f"icmp eq i64 {value}, {expected}"))

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
                self.require(text.op(f"icmp eq i64 {rest}, 0"))
            self._bind(text.op(f"ashr i64 {step}, {shift}"), stride, minimum=None)
            if leaf.dims[axis] == 1 or stride == 0:
                continue  # No opinion on the order of the axes.
            if isinstance(stride, str):
                self.require(text.op(f"icmp ne i64 {step}, 0"))
            negative = text.op(f"icmp slt i64 {step}, 0")
            opposite = text.op(f"sub i64 0, {step}")
            steps[axis] = text.op(f"select i1 {negative}, i64 {opposite}, i64 {step}")
        axes = [axis for axis in leaf.order if axis in steps]
        for outer, inner in zip(axes, axes[1:], strict=False):
            relation = "uge" if outer < inner else "ugt"
            in_order = text.op(f"icmp {relation} i64 {steps[outer]}, {steps[inner]}")
            self.require(in_order)

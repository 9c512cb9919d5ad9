"""Leaves of an entry as machine code: check the object, bind sizes, fill in-slots."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.frontend.capture.guards import Guard, Keys, Size, guard_of_class, require_type
from tracejit.frontend.capture.paths import (
    MISSING,
    InClass,
    Packed,
    Path,
    is_argument,
    runs_program,
)
from tracejit.link.cpython.reflect import Layout
from tracejit.runtime.call.entry_spec import (
    AddressLeaf,
    ArrayLeaf,
    EntrySpec,
    Leaf,
    NpScalarLeaf,
    OutLeaf,
    ScalarLeaf,
)
from tracejit.runtime.call.flags import ALIGNED, C_CONTIGUOUS, F_CONTIGUOUS, WRITEABLE
from tracejit.runtime.native.distinct import require_distinct
from tracejit.runtime.native.fetch import Fetcher
from tracejit.runtime.native.no_alias import NoAliasEmitter, range_count
from tracejit.runtime.native.text import FunctionText

__all__ = ["GuardEmitter"]

_BIG_ENDIAN = ord(">")
_CONTAINERS = Size | Keys
_WORD = 8


def _is_given(leaf: Leaf) -> bool:
    """Whether the program is given a leaf, or something in it."""
    return isinstance(leaf, _CONTAINERS) or not isinstance(leaf, Guard)


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
        #: Classes whose bases have been checked.
        self._classes: set[type] = set()
        #: The objects of the leaves that are results, too.
        self.objects: dict[int, str] = {}
        self.sizes: dict[str, str] = {}

    def emit(self, in_slots: str) -> None:
        """Check all leaves and store their values in the in-slots."""
        spec = self.spec
        asked = [path for path, _ in spec.leaves if self.is_asked_for(path)]
        python = any(runs_program(path) for path, _ in spec.leaves)
        if asked or python or spec.reread is not None:
            self._leaves(in_slots, lambda path, leaf: is_argument(path))
            if spec.reread is not None:
                self.reread(spec.reread)
            self._leaves(in_slots, lambda path, leaf: not is_argument(path))
            if asked:
                self._leaves(in_slots, lambda path, leaf: isinstance(leaf, _CONTAINERS))
            self.sizes.clear()
            self._packed.clear()
            self.ask_for_arrays(asked)
            self._leaves(in_slots, lambda path, leaf: is_argument(path) or _is_given(leaf))
        else:
            self._leaves(in_slots, lambda path, leaf: True)
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
        for path, leaf in spec.leaves:
            # Unless the caller or something else that is owned keeps it alive.
            if isinstance(leaf, (ArrayLeaf, AddressLeaf)) and not path.is_kept:
                self.hold(self.get(path))
        if copies:
            for obj in self.objects.values():
                self.hold(obj)
            self._asked_apart()

    def _leaves(self, in_slots: str, wanted: Callable[[Path, Leaf], bool]) -> None:
        for (path, leaf), slot in zip(self.spec.leaves, self.spec.leaf_slots, strict=False):
            if not wanted(path, leaf):
                continue
            if isinstance(path, Packed) and self.awaits_python(path):
                assert path.parent is not None
                self.get(path.parent)
                continue
            if isinstance(path, InClass):
                self._in_class(path, leaf)
            if not isinstance(leaf, Guard):
                self._check(self.get(path), leaf, self.text.at(in_slots, _WORD * slot))
            elif guard_of_class(path, leaf) is None:
                leaf.emit(self, path)

    # Classes -------------------------------------------------------------------------------------

    def _in_class(self, path: InClass, leaf: Leaf) -> None:
        """Check what lies in the state of a class alone, where that has changed."""
        cls = path.cls.get()
        if cls not in self._classes:
            self._classes.add(cls)
            self.unless_unchanged(path.cls, lambda: path.emit_bases(self))
        guard = guard_of_class(path, leaf)

        def check() -> None:
            path.emit_way(self)
            fixed = path.fixed
            if guard is not None and (fixed is MISSING or not guard.holds(fixed, {})):
                guard.emit(self, path)

        self.unless_unchanged(path.cls, check)

    def _distinct(self) -> None:
        for paths in self.spec.distinct:
            require_distinct(self.text, [self.get(path) for path in paths], self.miss)

    def _apart(self) -> None:
        if range_count([leaf for _, leaf in self.spec.leaves]):
            arrays = [(s, leaf) for s, leaf in self.spec.leaves if isinstance(leaf, ArrayLeaf)]
            emitter = NoAliasEmitter(self.text, self.layout, self.sizes, self.require)
            emitter.emit([(self.get(s), leaf) for s, leaf in arrays], self.miss)

    def _asked_apart(self) -> None:
        """Have Python look for shared memory, which it can see of copies of other arrays, too."""
        given = []
        for path, leaf in self.spec.leaves:
            if isinstance(leaf, ArrayLeaf):
                given += [self.get(path), self.text.object(leaf.writeable)]
        from tracejit.runtime.call.aliasing import are_apart

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
                require_type(self, obj, dtype.type)
                for k in range(0, dtype.itemsize, _WORD):
                    bits = f"i{8 * min(_WORD, dtype.itemsize - k)}"
                    value = self.text.field(obj, self.layout.scalar_value + k, bits)
                    self.text.do(f"store {bits} {value}, ptr {self.text.at(slot, k)}")
            case AddressLeaf():
                self.text.do(f"store ptr {obj}, ptr {slot}")

    def _scalar(self, obj: str, kind: str, slot: str) -> None:
        text, layout = self.text, self.layout
        match kind:
            case "bool":
                is_true = text.op(f"icmp eq ptr {obj}, {text.object(True)}")
                is_false = text.op(f"icmp eq ptr {obj}, {text.object(False)}")
                self.require(text.op(f"or i1 {is_true}, {is_false}"))
                text.do(f"store i64 {text.op(f'zext i1 {is_true} to i64')}, ptr {slot}")
            case "int":
                require_type(self, obj, int)
                # The slot doubles as the overflow flag until the value is known.
                value = text.call("PyLong_AsLongLongAndOverflow", f"ptr {obj}", f"ptr {slot}")
                overflow = text.op(f"load i32, ptr {slot}")
                self.require(text.op(f"icmp eq i32 {overflow}, 0"))
                text.do(f"store i64 {value}, ptr {slot}")
            case "float":
                require_type(self, obj, float)
                value = text.field(obj, layout.float_value, "i64")
                text.do(f"store i64 {value}, ptr {slot}")
            case "complex":
                require_type(self, obj, complex)
                for k in (0, _WORD):
                    value = text.field(obj, layout.complex_value + k, "i64")
                    text.do(f"store i64 {value}, ptr {text.at(slot, k)}")

    def _array(self, obj: str, leaf: ArrayLeaf, slot: str) -> None:
        text, layout = self.text, self.layout
        require_type(self, obj, np.ndarray)
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

"""Arrays that a program writes to -> machine code that requires their memory to be theirs alone.

The rule is that of `runtime/call/aliasing.py`. The byte ranges of all arrays go to the stack, those
of the written ones first, and a loop compares each of these with all behind it: code of one size
for any number of arrays, since none of it is optimised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tracejit.link.cpython.reflect import Layout
from tracejit.runtime.call.entry_spec import ArrayLeaf, Leaf
from tracejit.runtime.native.text import FunctionText

__all__ = ["RANGES", "NoAliasEmitter", "range_count"]

#: The byte ranges on the stack: two words for each array.
RANGES = "%ranges"
_WORD = 8


def _has_elements(leaf: ArrayLeaf) -> bool:
    # Sizes that are symbols are at least 2.
    return 0 not in leaf.dims


def range_count(leaves: Sequence[Leaf]) -> int:
    """How many byte ranges must be compared: 0 where no array with elements is written to."""
    arrays = [leaf for leaf in leaves if isinstance(leaf, ArrayLeaf) and _has_elements(leaf)]
    return len(arrays) if any(leaf.writeable for leaf in arrays) else 0


class NoAliasEmitter:
    """Writes the checks for arrays that have passed those of their leaves."""

    def __init__(
        self,
        text: FunctionText,
        layout: Layout,
        sizes: Mapping[str, str],
        require: Callable[[str], None],
    ) -> None:
        self.text, self.layout, self.sizes, self.require = text, layout, sizes, require

    def emit(self, arrays: Sequence[tuple[str, ArrayLeaf]], miss: str) -> None:
        """Go on only if no written array shares memory with itself or another one."""
        arrays = [(obj, leaf) for obj, leaf in arrays if _has_elements(leaf)]
        arrays.sort(key=lambda item: not item[1].writeable)
        written = sum(leaf.writeable for _, leaf in arrays)
        if not written:
            return
        for k, (obj, leaf) in enumerate(arrays):
            low, high = self._range(obj, leaf)
            self.text.do(f"store i64 {low}, ptr {self.text.at(RANGES, 2 * _WORD * k)}")
            self.text.do(f"store i64 {high}, ptr {self.text.at(RANGES, 2 * _WORD * k + _WORD)}")
        if len(arrays) > 1:
            self._compare(min(written, len(arrays) - 1), len(arrays), miss)

    def _range(self, obj: str, leaf: ArrayLeaf) -> tuple[str, str]:
        text = self.text
        data = text.field(obj, self.layout.array_data, "i64")
        if leaf.layout == "A":
            return self._strided_range(obj, leaf, data)
        count = str(leaf.dtype.itemsize)
        for dim in leaf.dims:
            count = text.op(f"mul i64 {count}, {self._size(dim)}")
        return data, text.op(f"add i64 {data}, {count}")

    def _strided_range(self, obj: str, leaf: ArrayLeaf, low: str) -> tuple[str, str]:
        """Axes are known to be in the order of their steps: those that reach least come last."""
        text = self.text
        reached = str(leaf.dtype.itemsize)
        strides = text.field(obj, self.layout.array_strides, "ptr")
        for axis in reversed(leaf.order):
            if leaf.dims[axis] == 1:
                continue
            step = text.field(strides, _WORD * axis, "i64")
            backward = text.op(f"icmp slt i64 {step}, 0")
            opposite = text.op(f"sub i64 0, {step}")
            length = text.op(f"select i1 {backward}, i64 {opposite}, i64 {step}")
            if leaf.writeable:
                self.require(text.op(f"icmp sge i64 {length}, {reached}"))
            steps = text.op(f"sub i64 {self._size(leaf.dims[axis])}, 1")
            span = text.op(f"mul i64 {length}, {steps}")
            reached = text.op(f"add i64 {reached}, {span}")
            before = text.op(f"select i1 {backward}, i64 {span}, i64 0")
            low = text.op(f"sub i64 {low}, {before}")
        return low, text.op(f"add i64 {low}, {reached}")

    def _size(self, dim: int | str) -> str:
        return self.sizes[dim] if isinstance(dim, str) else str(dim)

    def _compare(self, written: int, count: int, miss: str) -> None:
        """for i in range(written): for j in range(i + 1, count): the ranges i and j are apart"""
        text = self.text
        before, outer, inner, apart, after, done = (
            text.fresh(hint) for hint in ("before", "outer", "inner", "apart", "after", "done")
        )
        i, j, next_i, next_j = (f"%{text.fresh()}" for _ in range(4))
        text.do(f"br label %{before}")
        text.label(before)
        text.do(f"br label %{outer}")
        text.label(outer)
        text.do(f"{i} = phi i64 [ 0, %{before} ], [ {next_i}, %{after} ]")
        text.do(f"{next_i} = add i64 {i}, 1")
        low, high = self._load(i)
        text.do(f"br label %{inner}")
        text.label(inner)
        text.do(f"{j} = phi i64 [ {next_i}, %{outer} ], [ {next_j}, %{apart} ]")
        other_low, other_high = self._load(j)
        ends_behind = text.op(f"icmp ult i64 {other_low}, {high}")
        starts_before = text.op(f"icmp ult i64 {low}, {other_high}")
        both = text.op(f"and i1 {ends_behind}, {starts_before}")
        text.do(f"br i1 {both}, label %{miss}, label %{apart}")
        text.label(apart)
        text.do(f"{next_j} = add i64 {j}, 1")
        more = text.op(f"icmp slt i64 {next_j}, {count}")
        text.do(f"br i1 {more}, label %{inner}, label %{after}")
        text.label(after)
        again = text.op(f"icmp slt i64 {next_i}, {written}")
        text.do(f"br i1 {again}, label %{outer}, label %{done}")
        text.label(done)

    def _load(self, index: str) -> tuple[str, str]:
        place = self.text.op(f"getelementptr {{ i64, i64 }}, ptr {RANGES}, i64 {index}")
        return self.text.field(place, 0, "i64"), self.text.field(place, _WORD, "i64")

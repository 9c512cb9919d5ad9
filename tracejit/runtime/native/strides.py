"""Strides that NumPy notes of axes of one element or none: read from arguments, set in results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejit.link.cpython.reflect import Layout
from tracejit.runtime.call.entry_spec import ArrayLeaf, EntrySpec, OutLeaf, OutView
from tracejit.runtime.native.text import FunctionText

__all__ = ["note_strides", "strides_of_base"]

_WORD = 8


def note_strides(
    text: FunctionText, layout: Layout, array: str, noted: Sequence[tuple[int, str]]
) -> None:
    """Give a new array, if there is one, the strides noted for it where they reach no element."""
    there, go_on = text.fresh("there"), text.fresh("go")
    exists = text.op(f"icmp ne ptr {array}, null")
    text.do(f"br i1 {exists}, label %{there}, label %{go_on}")
    text.label(there)
    shape, strides = (
        text.field(array, at, "ptr") for at in (layout.array_shape, layout.array_strides)
    )
    for axis, stride in noted:
        present = text.field(strides, _WORD * axis, "i64")
        short = text.op(f"icmp slt i64 {text.field(shape, _WORD * axis, 'i64')}, 2")
        # NumPy gives new memory of no elements strides of 0.
        free = text.op(f"or i1 {short}, {text.op(f'icmp eq i64 {present}, 0')}")
        stride = text.op(f"select i1 {free}, i64 {stride}, i64 {present}")
        text.do(f"store i64 {stride}, ptr {text.at(strides, _WORD * axis)}")
    text.do(f"br label %{go_on}")
    text.label(go_on)


def strides_of_base(
    text: FunctionText, layout: Layout, spec: EntrySpec, view: OutView, leaves: Mapping[int, str]
) -> dict[str, str]:
    """Registers of the strides, in elements, of the argument that `view` is one of."""
    base = spec.outputs[view.base]
    assert isinstance(base, OutLeaf)
    leaf = spec.leaves[base.index][1]
    assert isinstance(leaf, ArrayLeaf)
    strides = text.field(leaves[base.index], layout.array_strides, "ptr")
    found = {name: text.field(strides, _WORD * axis, "i64") for name, axis in view.base_strides}
    return {name: text.op(f"sdiv i64 {s}, {leaf.dtype.itemsize}") for name, s in found.items()}

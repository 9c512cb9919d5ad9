"""What a call must check becomes the spec of a native entry, for one form of the call.

The spec holds the call to all that the Python path holds it to: the tree of the arguments by
position and name, the leaves by their own rules, and what the trace has captured. Captured names,
cells, defaults and codes are checked by machine code; attributes, items and the rest are read again
by `Capture.reread`, which the entry calls.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeAlias

from tracejit.frontend import places as at
from tracejit.frontend.capture import MISSING, Capture, Step
from tracejit.frontend.containers import LEAF, Static, TreeDef
from tracejit.runtime import native
from tracejit.runtime.binding import Form, Places
from tracejit.runtime.compile import Lowered, Traced
from tracejit.runtime.entry_spec import (
    AbsentLeaf,
    CellSource,
    DictItem,
    EntrySpec,
    FunctionField,
    GlobalSource,
    Leaf,
    ObjectSource,
    Positional,
    RereadItem,
    Source,
    StaticLeaf,
    TupleItem,
    WatchedLeaf,
)
from tracejit.runtime.variant import Variant, compile_variant
from tracejit.runtime.watch import watch

__all__ = ["call_spec", "compile_and_publish", "publish"]

#: Entries that one function publishes: a call that fits none of them has tried them all.
_ENTRIES = 48

_Checked: TypeAlias = tuple[Source, Leaf]


class _PythonOnly(Exception):
    """Something that no machine code is written for."""


def compile_and_publish(
    owner: Any, lowered: Lowered, arguments: TreeDef, form: Form, places: Places
) -> Variant:
    """A new variant; calls of `owner` of this form are answered natively if they can be.

    Raises TraceError for what has no native code.
    """
    spec = _spec(owner, lowered.spec, lowered.traced, arguments, form, places)
    name = f"{lowered.name}_entry"
    variant = compile_variant(lowered, arguments, spec, name)
    variant.forms.add(form)
    if spec is not None:
        native.append_entry(owner, variant.library, name, spec)
        variant.first = native.flat_callable(variant.library, name, spec, owner)
    return variant


def publish(owner: Any, variant: Variant, form: Form, places: Places) -> None:
    """Let calls of one more form, for which a variant was found, be answered natively."""
    variant.forms.add(form)
    spec = _spec(owner, variant.spec, variant.traced, variant.arguments, form, places)
    if spec is not None:
        name = f"{variant.name}_entry{len(variant.forms)}"
        native.append_entry(owner, variant.link(spec, name), name, spec)


def _spec(
    owner: Any, flat: EntrySpec, traced: Traced, arguments: TreeDef, form: Form, places: Places
) -> EntrySpec | None:
    if not native.available() or len(owner._entries) >= _ENTRIES:
        return None
    if traced.shape_of_result == "other":
        return None
    return call_spec(flat, arguments, traced.capture, form, places)


def call_spec(
    flat: EntrySpec, arguments: TreeDef, capture: Capture | None, form: Form, places: Places
) -> EntrySpec | None:
    """The spec of an entry for calls of a form, or None where they must go through Python.

    `flat` is the spec of the leaves: those of the arguments, then what was captured. `places` tells
    where the arguments of such a call are in the tree.
    """
    try:
        leaves = _arguments(flat, arguments, places)
    except _PythonOnly:
        return None
    inputs = [leaf for _, leaf in flat.leaves[arguments.count :]]
    reread: Callable[[], tuple[Any, ...] | None] | None = None
    if capture is not None:
        try:
            leaves += _captured(capture, inputs)
        except _PythonOnly:
            reread = _values(capture)
            leaves += [(RereadItem(k), leaf) for k, leaf in enumerate(inputs)]
    return dataclasses.replace(
        flat, leaves=tuple(leaves), nargs=form[0], keywords=form[1], reread=reread
    )


def _values(capture: Capture) -> Callable[[], tuple[Any, ...] | None]:
    def values() -> tuple[Any, ...] | None:
        found = capture.reread()
        return None if isinstance(found, str) else tuple(found)

    return values


# Arguments ---------------------------------------------------------------------------------------


def _arguments(flat: EntrySpec, arguments: TreeDef, places: Places) -> list[_Checked]:
    """The leaves of the arguments in order, then what is constant in their tree."""
    _, _, ((_, _, positional), (_, names, named)) = arguments.root
    by_name = dict(places.named)
    nodes = list(zip(places.positional, positional, strict=True))
    nodes += [(by_name[key.value], node) for key, node in zip(names, named, strict=True)]
    remaining = iter(flat.leaves)
    leaves: list[_Checked] = []
    constants: list[_Checked] = []
    for index, node in nodes:
        if node is LEAF:
            leaves.append((Positional(index), next(remaining)[1]))
        elif isinstance(node, tuple):
            raise _PythonOnly
        elif isinstance(node, Static):
            if isinstance(node.value, (slice, range)):
                raise _PythonOnly  # Each call makes its own: no two are one object.
            constants.append((Positional(index), StaticLeaf(node.value)))
        else:
            constants.append((Positional(index), _weakly(node.get())))
    return leaves + constants


def _weakly(obj: Any) -> WatchedLeaf:
    """A check for an object, which must not be kept alive for it."""
    try:
        return WatchedLeaf(watch(obj))
    except TypeError:
        raise _PythonOnly from None


# Captured values ---------------------------------------------------------------------------------


def _captured(capture: Capture, inputs: list[Leaf]) -> list[_Checked]:
    """The captured inputs in order, then all else that `Capture.reread` would check."""
    checks: list[_Checked] = []
    for get, code in capture.codes:
        checks.append((FunctionField(_object(get), "code"), StaticLeaf(code)))
    for namespace, name, value in capture.bindings:
        leaf = AbsentLeaf() if value is MISSING else StaticLeaf(value)
        checks.append((GlobalSource(namespace, name), leaf))
    number = {source.index: k for k, source in enumerate(capture.inputs)}
    found: dict[int, Source] = {}
    with_code = {id(get()) for get, _ in capture.codes}
    for index, step in enumerate(capture.steps, 1):
        if isinstance(step.read, at.ObjectRead):
            # The object that the reference gives is the one it gave: only its death can show.
            if not isinstance(step.check, at.SameAs):
                raise _PythonOnly
            if isinstance(step.read.get, weakref.ref) and id(step.read.get()) not in with_code:
                source = _object(step.read.get)
                checks.append((source, WatchedLeaf(source.watched)))
            continue
        place = _source(capture, step)
        if index in number:
            found[number[index]] = place
        elif isinstance(step.check, at.EqualTo):
            checks.append((place, StaticLeaf(step.check.value)))
        elif isinstance(step.check, at.SameAs):
            checks.append((place, _same_as(step.check)))
        else:
            raise _PythonOnly
    return [(found[k], leaf) for k, leaf in enumerate(inputs)] + checks


def _object(get: Callable[[], Any]) -> ObjectSource:
    obj = get()
    if obj is None or not isinstance(get, weakref.ref):
        raise _PythonOnly
    return ObjectSource(watch(obj))


def _same_as(check: at.SameAs) -> Leaf:
    """A check for an object that the capture itself holds weakly where it can."""
    if isinstance(check.get, weakref.ref):
        return WatchedLeaf(_object(check.get).watched)
    return StaticLeaf(check.get())


def _source(capture: Capture, step: Step) -> Source:
    read = step.read
    if isinstance(read, at.GlobalRead):
        return GlobalSource(read.namespace, read.name)
    if isinstance(read, at.CellRead):
        return CellSource(read.cell)
    if not isinstance(read, at.DefaultRead):
        raise _PythonOnly
    owner = capture.steps[step.parent - 1].check
    # Being the very function, it can be looked at without going there.
    if not isinstance(owner, at.SameAs) or type(owner.get()) is not FunctionType:
        raise _PythonOnly
    function = _object(owner.get)
    if isinstance(read.key, str):
        return DictItem(FunctionField(function, "kwdefaults"), read.key)
    return TupleItem(FunctionField(function, "defaults"), read.key)

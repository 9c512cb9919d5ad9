"""The form of records: plain data that `marshal` writes, with a schema and a version.

Objects that a record keeps for the report of a compile become tuples of their fields, after the
name of their class, and are made again from them. They are of the few classes listed here. An
object of any other class, a subclass of a number or a tuple included, has no plain form.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, TypeAlias

from tracejit.base.late import imported

__all__ = [
    "CLASSES",
    "ENTRY_SCHEMA",
    "FORM",
    "LIBRARY_SCHEMA",
    "VERDICT_SCHEMA",
    "Schema",
    "is_valid",
    "restored",
    "to_plain",
]

#: The keys of a record, and the types of what it holds under them.
Schema: TypeAlias = dict[str, tuple[type, ...]]

#: The version of the form of records and of files. It changes with the schemas below.
FORM = 4
#: Machine code of an entry, what it is linked with, and what it is for.
_LINKED: Schema = {
    "entry": (str,),
    "image": (tuple,),
    "addresses": (list,),
    "bindings": (list,),
    "names": (list,),
    "places": (list,),
    "relations": (list,),
    "files": (list,),
    "constants": (list,),
    "versions": (list,),
    "label": (str,),
    "signature": (str,),
}
#: The records of entries, of verdicts, and of libraries.
ENTRY_SCHEMA: Schema = {
    **_LINKED,
    "ranks": (tuple,),
    "sizes": (list,),
    "floats": (dict,),
    "worthwhile": (bool,),
    "compile": (tuple, NoneType),
}
VERDICT_SCHEMA: Schema = {
    **_LINKED,
    "fallback": (tuple,),
    "guilty": (list,),
    "seconds": (float,),
}
LIBRARY_SCHEMA: Schema = {
    "name": (str,),
    "image": (tuple,),
    "addresses": (list,),
    "after": (tuple, NoneType),
}
#: The classes that have a plain form: their modules, and the fields that are written.
CLASSES = {
    "Atom": ("tracejit.ir.polynomials", ("fn", "args")),
    "Buffers": (
        "tracejit.codegen.analysis.memory_use",
        ("in_place", "copies", "temporaries", "slots", "saved", "results", "made_late", "sizes")
        + ("stacks",),
    ),
    "Compile": (
        "tracejit.runtime.report.report",
        ("reason", "signature", "seconds", "stages", "lines", "copies", "bounds_check", "buffers")
        + ("worthwhile",),
    ),
    "Copy": ("tracejit.codegen.analysis.buffer_plan", ("what", "where", "repeated")),
    "Fallback": ("tracejit.runtime.report.report", ("code", "reason", "where", "signature")),
    "Line": ("tracejit.runtime.report.lines", ("where", "kind", "why")),
    "Poly": ("tracejit.ir.polynomials", ("terms",)),
    "StackUse": ("tracejit.codegen.analysis.stack_order", ("name", "records")),
    "Temporary": ("tracejit.codegen.analysis.memory_use", ("why", "where", "size", "slot")),
    "Where": (
        "tracejit.errors",
        ("file", "line", "function", "column", "end_column", "device"),
    ),
}
_ATOMS = (bool, int, float, str, bytes, NoneType)
_CONTAINERS: dict[str, Any] = {"tuple": tuple, "list": list, "frozenset": frozenset, "dict": dict}


def is_valid(record: Any, schema: Schema) -> bool:
    """Returns True if a record has the keys of a schema, and values of its types."""
    return (
        type(record) is dict
        and record.keys() == schema.keys()
        and all(type(record[key]) in types for key, types in schema.items())
    )


def to_plain(x: Any) -> Any:
    """The plain form of an object. Raises TypeError for one of a class that has none."""
    return _to_plain(x, {})


def _to_plain(x: Any, known: dict[int, Any]) -> Any:
    cls = type(x)
    if cls in _ATOMS:
        return x
    # What is shared is written once: `marshal` keeps that, and `x` lives as long as `known`.
    if id(x) not in known:
        name = cls.__name__
        if _CONTAINERS.get(name) is cls:
            items = list(x.items()) if cls is dict else list(x)
            plain = [_to_plain(item, known) for item in items]
            known[id(x)] = x, (name, *(sorted(plain, key=repr) if cls is frozenset else plain))
        elif name in CLASSES and cls.__module__ == CLASSES[name][0]:
            fields = CLASSES[name][1]
            known[id(x)] = x, (name, *(_to_plain(getattr(x, f), known) for f in fields))
        else:
            raise TypeError(f"an object of the class {cls.__qualname__} has no plain form")
    return known[id(x)][1]


def restored(plain: Any, files: Mapping[str, str] | None = None) -> Any:
    """The object of a plain form; places are in these `files` by other names. Raises ValueError for
    what is none."""
    return _restored(plain, {}, files or {})


def _restored(plain: Any, known: dict[int, Any], files: Mapping[str, str]) -> Any:
    if type(plain) in _ATOMS:
        return plain
    if type(plain) is not tuple or not plain:
        raise ValueError(f"no plain form: {plain!r:.60}")
    if id(plain) not in known:
        name, *held = plain
        inside = [_restored(x, known, files) for x in held]
        if name in _CONTAINERS:
            made = _CONTAINERS[name](inside)
        elif name in CLASSES and len(inside) == len(CLASSES[name][1]):
            module, fields = CLASSES[name]
            cls = getattr(imported(module), name)
            if name == "Where":
                inside[0] = files.get(inside[0], inside[0])
            made = cls(**dict(zip(fields, inside, strict=True)))
        else:
            raise ValueError(f"no plain form: {plain!r:.60}")
        known[id(plain)] = made
    return known[id(plain)]

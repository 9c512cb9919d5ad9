"""Signatures: one line says what an op takes and what it gives.

    a: f64|c128[.., n, n], b: a[.., n]; upper: bool, axis -> a[.., n], i64[.., n]

An operand is an array: its name, its dtype and its axes. The dtype is one of some names, of some
kinds (`fc`), that of an operand before it, or any. Sizes of one name are equal, and `..` is any
number of axes, everywhere the same; with the name of an operand alone, dtype and shape are its own.
Behind a semicolon stand attributes: `axis` is one of the first operand's, `bool` a truth, and the
op itself checks others; with a question mark they may be left out. Results are in C order; where
none are said, the op gives them for operands that fit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tracejit.ir.op import Attrs, require
from tracejit.ir.types import DTYPES, ArrayType, Type
from tracejit.ops.checks import array_of, axis_of, only_attrs, take

__all__ = ["Signature"]

_PART = r"((?:[^,\[]|\[[^\]]*\])+)(?:, |$)"
_ARRAY = re.compile(r"([\w|]*)(?:\[(\.\.)?(?:, )?((?:\w+(?:, )?)*)\])?")
_ATTRIBUTE = re.compile(r"(\w+)(\??)(?:: (bool))?")


class _Array:
    """A dtype and the names of axes, as an operand or a result has them."""

    def __init__(self, text: str, before: Mapping[str, _Array]) -> None:
        found = _ARRAY.fullmatch(text)
        same = before.get(text)
        if found is None or "[" not in text and same is None:
            raise ValueError(f"{text!r} is no dtype with axes")
        dtype, lead, sizes = found.groups()
        self.like = dtype if dtype in before else ""
        kinds = {*(dtype or "biufc")}
        if {*dtype.split("|")} <= DTYPES.keys():
            self.dtypes = [DTYPES[x] for x in dtype.split("|")]
        elif self.like or kinds <= {*"biufc"}:
            self.dtypes = [d for d in DTYPES.values() if d.kind in kinds]
        else:
            raise ValueError(f"{dtype!r} is no dtype, no kinds of them, and no operand")
        #: Whether there are any axes in front, and the names of the others.
        self.lead: bool = same.lead if same else bool(lead)
        self.sizes: list[str] = same.sizes if same else re.findall(r"\w+", sizes or "")

    @property
    def axes(self) -> list[str]:
        """All that has a size."""
        return [*self.sizes, *([".."] if self.lead else [])]

    def binds(self, t: ArrayType, sizes: dict[str, Any]) -> bool:
        """Whether `t` has these sizes; those of new names are added to them."""
        lead = t.ndim - len(self.sizes)
        if lead and not self.lead:
            return False
        pairs = zip(self.axes, (*t.shape[lead:], t.shape[:lead]), strict=False)
        return all(sizes.setdefault(name, size) == size for name, size in pairs)

    def made(self, operands: Mapping[str, ArrayType], sizes: Mapping[str, Any]) -> ArrayType:
        """The type of the result."""
        dtype = operands[self.like].dtype if self.like else self.dtypes[0]
        lead = sizes[".."] if self.lead else ()
        return ArrayType(dtype, (*lead, *(sizes[name] for name in self.sizes)))


class Signature:
    """What an op takes and gives. Raises ValueError for a text that is none."""

    def __init__(self, text: str) -> None:
        given, arrow, results = text.partition(" -> ")
        operands, _, attributes = given.partition("; ")
        self._operands: dict[str, _Array] = {}
        for part in re.findall(_PART, operands):
            name, _, array = part.partition(": ")
            self._operands[name] = _Array(array, self._operands)
        found = [_ATTRIBUTE.fullmatch(part) for part in re.findall(_PART, attributes)]
        if None in found:
            raise ValueError(f"{attributes!r} are no attributes")
        rows = [x.groups() for x in found if x]
        self._needed = tuple(name for name, optional, _ in rows if not optional)
        self._optional = tuple(name for name, optional, _ in rows if optional)
        self._truths = [name for name, _, kind in rows if kind]
        self._results = [_Array(x, self._operands) for x in re.findall(_PART, results)]
        self._gives = bool(arrow)
        axes = {x for form in self._operands.values() for x in form.axes}
        for form in self._results:
            if unknown := {*form.axes} - axes:
                raise ValueError(f"{text!r}: no operand has {', '.join(sorted(unknown))}")
            if not form.like and len(form.dtypes) != 1:
                raise ValueError(f"{text!r}: a result is not of one dtype")

    def results(self, name: str, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...] | None:
        """The types of the results, where the signature says them. Raises GraphError."""
        take(name, inputs, len(self._operands))
        only_attrs(name, attrs, *self._needed, optional=self._optional)
        forms = self._operands.items()
        arrays = {
            key: array_of(name, t, len(form.sizes))
            for (key, form), t in zip(forms, inputs, strict=True)
        }
        if "axis" in attrs:
            axis_of(name, attrs, next(iter(arrays.values())))
        sizes: dict[str, Any] = {}
        fits = all(form.binds(arrays[key], sizes) for key, form in forms)
        fits = fits and all(arrays[x.like].dtype == arrays[k].dtype for k, x in forms if x.like)
        if not fits:
            texts = list(map(str, arrays.values()))
            why = f"{', '.join(texts[:-1])} and {texts[-1]} do not fit"
            require(False, f"{name}: {why if texts[1:] else f'{texts[0]} is not square'}")
        for key, form in forms:
            known = form.like or arrays[key].dtype in form.dtypes
            require(known, f"{name} has no rule for {arrays[key].dtype}")
        for key in self._truths:
            require(type(attrs.get(key, True)) is bool, f"{name}: {key} must be a bool")
        return tuple(x.made(arrays, sizes) for x in self._results) if self._gives else None

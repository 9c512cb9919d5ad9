"""Entries become prototypes of C functions, and the header of a library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit import __version__
from tracejit.export.library.blas_table import Routines, fields
from tracejit.export.library.entries import Entry, Parameter, Result
from tracejit.ir.types import DTYPES, dtype_name

__all__ = ["STATUSES", "Description", "c_type", "header", "prototype", "shapes_prototype"]

#: What entries return, in order: its name behind that of the library, and what it means.
STATUSES = {
    "DONE": "done",
    "CHECK": "an index out of bounds, a singular matrix, an int beyond 64 bits; stores are undone",
    "SIZES": "the sizes do not fit, as the function says of them",
    "MEMORY": "no memory; arrays that are stored into may be changed",
    "BLAS": "no table of BLAS is set, or sizes do not fit its integers",
    "PROCESSOR": "this processor lacks instructions that the library has",
}
_C_TYPES = {
    "b1": "bool",
    **{f"i{n}": f"int{n}_t" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}_t" for n in (8, 16, 32, 64)},
    "f16": "uint16_t",
    "f32": "float",
    "f64": "double",
}


@dataclass(frozen=True)
class Description:
    """What a library is: its name, whose function it has, for which processors, its entries, the
    routines that its host gives it, whether threads may share its loops, and what tells it from
    every other one.
    """

    name: str
    function: str
    target: str
    entries: tuple[Entry, ...]
    routines: Routines
    has_threads: bool
    build: str

    @property
    def upper(self) -> str:
        """What constants of C begin with."""
        return self.name.upper()

    @property
    def makes_arrays(self) -> bool:
        """Whether callers free memory."""
        return any(r.form == "made" for e in self.entries for r in e.results)


def c_type(d: Description, dtype: np.dtype[Any]) -> str:
    """The type of an element in C."""
    name = dtype_name(dtype)
    return _C_TYPES[name] if name in _C_TYPES else f"{d.name}_{name}"


def _parameter(d: Description, p: Parameter) -> str:
    kind = c_type(d, p.dtype)
    if p.is_array:
        return f"{'' if p.is_stored else 'const '}{kind} *{p.c_name}"
    return f"const {kind} *{p.c_name}" if p.dtype.kind == "c" else f"{kind} {p.c_name}"


def _result(d: Description, r: Result) -> Iterator[str]:
    kind = c_type(d, r.dtype)
    if r.form != "made":
        yield f"{kind} *{r.c_name}"
        return
    yield f"{kind} **{r.c_name}"
    if r.ndim:
        yield f"int64_t {r.c_name}_shape[{r.ndim}]"


def prototype(d: Description, e: Entry) -> str:
    """The function of an entry, without what ends a declaration."""
    given = [f"int64_t {s}" for s in e.sizes]
    given += [_parameter(d, p) for p in e.parameters]
    given += [text for r in e.results for text in _result(d, r)]
    return f"int {e.symbol}({', '.join(given) or 'void'})"


def shapes_prototype(e: Entry) -> str:
    """The function that gives the shapes of an entry's results; "" where all are known."""
    out = [f"int64_t {r.c_name}_shape[{r.ndim}]" for r in e.results if r.form == "array" and r.ndim]
    given = [*(f"int64_t {s}" for s in e.sizes), *out]
    return f"int {e.symbol}_shapes({', '.join(given) or 'void'})" if out else ""


def header(d: Description) -> str:
    """The header."""
    guard = f"TRACEJIT_{d.upper}_H"
    used = {dtype_name(p.dtype) for e in d.entries for p in e.parameters}
    used |= {dtype_name(r.dtype) for e in d.entries for r in e.results}
    lines = [
        f"/* {d.name}: {d.function}, made by tracejit {__version__} for {d.target} processors. */",
        *(f"#ifndef {guard}", f"#define {guard}", "#include <stdbool.h>", "#include <stdint.h>"),
        *_complex_types(d, [name for name in ("c64", "c128") if name in used]),
        *("#ifdef __cplusplus", 'extern "C" {', "#endif", ""),
        "/* What each function returns. */",
        "enum {",
        *(f"    {d.upper}_{name} = {k}, /* {s} */" for k, (name, s) in enumerate(STATUSES.items())),
        *("};", ""),
    ]
    if d.routines:
        lines += _table(d)
    for e in d.entries:
        lines += [*_comment(e), f"{prototype(d, e)};"]
        if shapes := shapes_prototype(e):
            lines += ["/* The shapes of its results, for these sizes. */", f"{shapes};"]
        lines.append("")
    if d.has_threads:
        told = (
            "/* How many threads share long loops from now on, in all calls; at first it is one. */"
        )
        lines += [told, f"void {d.name}_set_threads(int64_t);", ""]
    if d.makes_arrays:
        lines += [
            "/* Free an array that a function has made. */",
            f"void {d.name}_free(void *);",
            "",
        ]
    return "\n".join([*lines, "#ifdef __cplusplus", "}", "#endif", "#endif", ""])


def _complex_types(d: Description, names: Sequence[str]) -> list[str]:
    if not names:
        return []
    parts = {"c64": "float", "c128": "double"}
    in_c = [f"typedef {parts[n]} _Complex {d.name}_{n};" for n in names]
    in_cpp = [f"typedef std::complex<{parts[n]}> {d.name}_{n};" for n in names]
    return ["#ifdef __cplusplus", "#include <complex>", *in_cpp, "#else", *in_c, "#endif"]


def _table(d: Description) -> list[str]:
    members = [f"    void (*{name})(void); /* {given} */" for name, given in fields(d.routines)]
    return [
        "/* The routines that the functions call, cast to this type, and how many bits their",
        "   integers have: 32, or 64. */",
        *("typedef struct {", "    int int_bits;", *members, f"}} {d.name}_blas;"),
        "/* To be called before the others; not while one of them runs. */",
        *(f"void {d.name}_set_blas(const {d.name}_blas *);", ""),
    ]


def _comment(e: Entry) -> Iterator[str]:
    """What an entry takes and gives."""
    told = [f"{e.text}"]
    if e.rules:
        told.append(f"Sizes: {', '.join(e.rules)}.")
    orders = [p.c_name for p in e.parameters if p.is_array and p.order == "F"]
    told += [f"{name} lies in Fortran order." for name in orders]
    for r in e.results:
        if r.order != tuple(range(r.ndim)):
            told.append(f"The axes of {r.c_name} lie, the outermost first, in the order {r.order}.")
    stored = [p.c_name for p in e.parameters if p.is_stored]
    if stored:
        told.append(f"Stored into: {', '.join(stored)}; no other array may overlap.")
    if e.given_back:
        told.append(f"In Python the result is {e.given_back}.")
    made = [r.c_name for r in e.results if r.form == "made"]
    if made:
        told.append(f"Made by the function, for the caller to free: {', '.join(made)}.")
    told = [line.replace("*/", "* /") for line in told]
    yield f"/* {told[0]}" + (" */" if len(told) == 1 else "")
    for k, line in enumerate(told[1:], 2):
        yield f"   {line}" + (" */" if k == len(told) else "")


assert set(_C_TYPES) | {"c64", "c128"} == set(DTYPES)

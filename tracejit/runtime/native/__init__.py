"""Native dispatch: calls of a jitted function that run no Python code.

`jit_type` makes the type of the public object, `entry_ir` writes the machine code that answers one
signature, `append_entry` publishes it behind a gate that looks at the context of the call, and
`flat_callable` calls it from the slow path, which has looked already. Where `available()` is false
all of it is off, `why_not()` says why, and a `PythonEntry` does the same in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit.base.locks import once
from tracejit.codegen.llvm.engine import compile_module
from tracejit.ir.types import DTYPES
from tracejit.link.cpython.capi import function_addresses
from tracejit.link.cpython.reflect import Layout, LayoutError, reflect_layout
from tracejit.link.shared import Linked
from tracejit.runtime.call.entry_spec import EntrySpec
from tracejit.runtime.entries.answers import BAIL, MISS
from tracejit.runtime.entries.chain import (
    answer_plainly,
    append_entry,
    entry_exports,
    flat_callable,
    next_cell,
    put_first,
    resume,
    stand_aside,
)
from tracejit.runtime.entries.jit_type import JitBase, jit_type
from tracejit.runtime.entries.profiled import is_debugger
from tracejit.runtime.native.entry import write_entry
from tracejit.runtime.native.gate import QUIET, ErrorState, compile_gate, reflect_error_state
from tracejit.runtime.native.plain import Kind, KindTable, kind_of, tables_work
from tracejit.runtime.native.result_memory import array_functions
from tracejit.runtime.native.text import FunctionText

__all__ = [
    "BAIL",
    "MISS",
    "JitBase",
    "Kind",
    "KindTable",
    "answer_plainly",
    "append_entry",
    "available",
    "compiled_gate",
    "entry_exports",
    "entry_ir",
    "errors_are_quiet",
    "flat_callable",
    "is_debugger",
    "jit_type",
    "kind_of",
    "late_array_address",
    "put_before_entries",
    "resume",
    "stand_aside",
    "tables_work",
    "why_not",
]


class _Environment(NamedTuple):
    """What the writers of entries need to know of this interpreter and this NumPy."""

    layout: Layout
    functions: dict[str, int]
    errors: ErrorState


@once
def _environment() -> _Environment | str:
    """The environment, or why native entries do not work in it."""
    try:
        layout = reflect_layout([*DTYPES.values()])
        return _Environment(layout, function_addresses(), reflect_error_state())
    except LayoutError as error:
        return str(error)


def available() -> bool:
    """Whether native entries work with this interpreter, this NumPy and this machine."""
    return not isinstance(_environment(), str)


def errors_are_quiet() -> bool:
    """Whether in this context no floating-point error does more than warn."""
    environment = _environment()
    if not isinstance(environment, str) and environment.errors.is_usual():
        return True
    return set(np.geterr().values()) <= set(QUIET)


def why_not() -> str:
    """Why `available()` is false; empty where it is true."""
    environment = _environment()
    return environment if isinstance(environment, str) else ""


def entry_ir(spec: EntrySpec, program: str, entry_name: str) -> tuple[str, dict[str, int]]:
    """The LLVM text of an entry for the function `program`, and the symbols (name -> address) to
    link it with: they belong to objects that `spec` keeps alive.

    The text is a module of its own, the `glue` of `compile_module`; the main module defines
    `program` with external linkage. Export `entry_exports(entry_name)` from the library.
    Raises RuntimeError where native entries are not available.
    """
    environment = _environment()
    if isinstance(environment, str):
        raise RuntimeError(f"native entries are not available: {environment}")
    return write_entry(spec, program, entry_name, environment.layout, environment.functions)


def late_array_address() -> int:
    """The address of `tj_late_array`, or 0 where native entries are not available."""
    environment = _environment()
    if isinstance(environment, str):
        return 0
    return array_functions(environment.functions, environment.layout)["tj_late_array"]


def compiled_gate(entry_offset: int) -> Linked:
    """The library of the gate for objects that keep their first entry's address there."""
    environment = _environment()
    assert not isinstance(environment, str)
    return compile_gate(entry_offset, environment.functions, environment.errors, environment.layout)


def put_before_entries(obj: JitBase, function: Callable[..., Any]) -> None:
    """Let `function` answer the calls of `obj` that the gate leads to its entries."""
    name = "tracejit.before"
    environment = _environment()
    assert not isinstance(environment, str)
    text = FunctionText(name, environment.functions)
    given = f"ptr {text.object(function)}", "ptr %args", "i64 %nargsf", "ptr %kwnames"
    text.do(f"ret ptr {text.call('PyObject_Vectorcall', *given)}")
    parameters = "ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames"
    head = [*text.declarations(), f'@"{next_cell(name)}" = dso_local global ptr null']
    head.append(f'define ptr @"{name}"({parameters}) nounwind {{')
    glue = "\n".join([*head, *text.lines, "}", ""])
    library = compile_module("", text.symbols, entry_exports(name), glue=glue)
    put_first(obj, library, name, function)

"""Where native entries stand aside: from the context of a call to the code that looks at it.

    ptr gate(ptr callable, ptr args, i64 nargsf, ptr kwnames)

CPython calls a jitted object through a gate. In a context that is inside `tracejit.eager()`, or
where a floating-point error does more than warn, or where a name of a library may be bound to
something else, the gate calls `_slow`, which decides in Python. In a thread that is traced it
calls `_slow`, too, and in one that is profiled `_shown`, a function of Python that calls the
entries. Otherwise it goes on to the object's
first entry, and keeps the object alive until that returns. Beside the gate there is a way
past all entries, straight to `_slow`, and there are the ways to the plain function (`plain.py`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from contextvars import Context, ContextVar
from typing import Any

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.llvm.engine import Library, compile_module
from tracejit.link.cpython.reflect import Layout, LayoutError
from tracejit.link.finding import eager_word, names_table, object_address
from tracejit.link.numpy_errors import (
    default_address,
    default_state,
    name_address,
    name_of_state,
    state_variable,
)
from tracejit.runtime.entries.chain import GATE, LAST, PAST, PLAIN
from tracejit.runtime.entries.jit_type import SHOWN_OFFSET, SLOW_OFFSET
from tracejit.runtime.native.plain import plain_functions
from tracejit.runtime.native.text import FunctionText

__all__ = ["QUIET", "ErrorState", "compile_gate", "reflect_error_state"]

_KINDS = ("divide", "over", "under", "invalid")
_MODES = ("ignore", "warn", "raise", "call", "print", "log")
#: Modes in which compiled code, which neither warns nor raises, does what is promised.
QUIET = ("ignore", "warn")


@dataclass(frozen=True)
class ErrorState:
    """How NumPy keeps its handling of floating-point errors: in a capsule in a context variable.

    `default` is the capsule of contexts that never changed it, `name` the address of the name of
    all these capsules. They point to a structure that starts with 32 bits for the modes of all
    kinds of errors: where each of them is one of `QUIET`, none of the bits `loud` is set.
    """

    variable: ContextVar[Any]
    default: Any
    name: int
    loud: int

    def is_usual(self) -> bool:
        """Whether the running context never changed it."""
        return self.variable.get() is self.default


def _capsule_function(name: str, *parameters: Any) -> Any:
    return ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, *parameters)(
        (name, ctypes.pythonapi)
    )


def _modes(capsule: Any, name: int) -> int:
    address = _capsule_function("PyCapsule_GetPointer", ctypes.c_void_p)(capsule, name)
    return ctypes.c_int32.from_address(address).value


def reflect_error_state() -> ErrorState:
    """The error state of this NumPy. Raises LayoutError if it is kept in another way."""
    variable = state_variable()
    if variable is None:
        raise LayoutError("NumPy keeps its floating-point error state elsewhere")
    default = default_state().what
    if type(default).__name__ != "PyCapsule":
        raise LayoutError("NumPy's floating-point error state is not in a capsule")
    name = name_of_state()
    state = ErrorState(variable, default, name, ~_quiet_bits(variable, default, name))
    _check(state)
    return state


def _changed(variable: ContextVar[Any], default: Any, change: Any, *args: Any, **kw: Any) -> Any:
    """The capsule after a change. Raises LayoutError where it is still that of the defaults."""

    def changed() -> Any:
        change(*args, **kw)
        return variable.get()

    capsule = Context().run(changed)
    if capsule is default:
        raise LayoutError("NumPy keeps its floating-point error state elsewhere")
    return capsule


def _quiet_bits(variable: ContextVar[Any], default: Any, name: int) -> int:
    """The bits that states in which all modes are quiet have."""
    bits = _modes(default, name)
    for mode in QUIET:
        bits |= _modes(_changed(variable, default, np.seterr, all=mode), name)
    return bits


def _check(state: ErrorState) -> None:
    """Set every mode of every kind of error. Raises LayoutError where the bits say otherwise."""

    def is_quiet(change: Any, *args: Any, **kwargs: Any) -> bool:
        capsule = _changed(state.variable, state.default, change, *args, **kwargs)
        return _modes(capsule, state.name) & state.loud == 0

    right = is_quiet(np.seterrcall, print) and all(
        is_quiet(np.seterr, **{"all": others, kind: mode}) == (mode in QUIET)
        for others in QUIET
        for kind in _KINDS
        for mode in _MODES
    )
    if not right:
        raise LayoutError("the modes of NumPy's floating-point error state are elsewhere")


def compile_gate(
    entry_offset: int, functions: Mapping[str, int], errors: ErrorState, layout: Layout
) -> Library:
    """`GATE`, `PAST`, `PLAIN` and `LAST`, for objects that keep their first entry's address at
    `entry_offset`."""
    gate, past = FunctionText(GATE, functions), FunctionText(PAST, functions)
    _write(gate, entry_offset, errors, layout)
    past.do("br label %slow")
    past.hand_over({"slow": SLOW_OFFSET})
    texts = [gate, past, *plain_functions(GATE, entry_offset, functions, layout)]
    lines = list(dict.fromkeys(line for text in texts for line in text.declarations()))
    symbols: dict[str, int] = {}
    for text in texts:
        parameters = "ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames"
        lines += [f'define ptr @"{text.name}"({parameters}) nounwind {{', *text.lines, "}"]
        symbols |= text.symbols
    glue = "\n".join([*lines, ""])
    return compile_module("", symbols, [GATE, PAST, PLAIN, LAST], glue=glue)


def _write(text: FunctionText, entry_offset: int, errors: ErrorState, layout: Layout) -> None:
    text.label("entry")
    text.do("%found = alloca ptr")
    table = text.address("names", names_table())
    opened = text.op(f"load i64, ptr {text.address('opened', eager_word())}")
    text.do(f"br i1 {text.op(f'icmp eq i64 {opened}, 0')}, label %errors, label %eager")

    text.label("errors")
    state = _lookup(
        text, text.address("errors", object_address("numpy._core.umath", "_extobj_contextvar"))
    )
    usual = text.op(f"icmp eq ptr {state}, {text.address('usual', default_address())}")
    text.do(f"br i1 {usual}, label %usual, label %changed")
    text.label("usual")
    text.call("Py_DecRef", f"ptr {state}")
    text.do("br label %pass")

    text.label("pass")
    count = text.op(f"load i64, ptr {table}")
    text.do("br label %names")
    text.label("names")
    # Traces may add a pair meanwhile: they write it before they count it.
    text.do("%pair = phi i64 [ 0, %pass ], [ %next, %same ]")
    more = text.op(f"icmp slt i64 %pair, {count}")
    text.do(f"br i1 {more}, label %look, label %run")
    text.label("look")
    at = text.op(f"getelementptr [2 x i64], ptr {text.at(table, 8)}, i64 %pair")
    current = text.op(f"load i64, ptr {text.op(f'load ptr, ptr {at}')}")
    known = text.op(f"load i64, ptr {text.at(at, 8)}")
    text.do(f"br i1 {text.op(f'icmp eq i64 {current}, {known}')}, label %same, label %slow")
    text.label("same")
    text.do("%next = add i64 %pair, 1")
    text.do("br label %names")
    text.label("run")
    thread = text.call("PyThreadState_Get")
    for what, offset in {"slow": layout.thread_tracer, "shown": layout.thread_profiler}.items():
        if offset:
            watch = text.field(thread, offset, "ptr")
            none = text.op(f"icmp eq ptr {watch}, null")
            text.do(f"br i1 {none}, label %not_{what}, label %{what}")
            text.label(f"not_{what}")
    # The program may call Python, which may drop the callable; its code goes when it dies.
    text.call("Py_IncRef", "ptr %callable")
    entry = text.field("%callable", entry_offset, "ptr")
    result = text.op(f"call ptr {entry}(ptr %callable, ptr %args, i64 %nargsf, ptr %kwnames)")
    text.call("Py_DecRef", "ptr %callable")
    text.do(f"ret ptr {result}")

    text.label("eager")
    inside = _lookup(
        text, text.address("eager", object_address("tracejit.config", "eager_variable"))
    )
    outside = text.op(f"icmp eq ptr {inside}, {text.object(False)}")
    text.call("Py_DecRef", f"ptr {inside}")
    text.do(f"br i1 {outside}, label %errors, label %slow")

    text.label("changed")
    name = text.address("name", name_address())
    pointer = text.call("PyCapsule_GetPointer", f"ptr {state}", f"ptr {name}")
    text.require(text.op(f"icmp ne ptr {pointer}, null"), "odd")
    modes = text.field(pointer, 0, "i32")
    text.call("Py_DecRef", f"ptr {state}")
    loud = text.op(f"and i32 {modes}, {errors.loud}")
    text.do(f"br i1 {text.op(f'icmp eq i32 {loud}, 0')}, label %pass, label %slow")
    text.label("odd")
    text.call("Py_DecRef", f"ptr {state}")
    text.do("br label %failed")

    text.label("failed")
    text.call("PyErr_Clear")
    text.do("br label %slow")
    text.hand_over({"slow": SLOW_OFFSET, "shown": SHOWN_OFFSET})


def _lookup(text: FunctionText, variable: str) -> str:
    """A new reference to a context variable's value in the running context, or its default."""
    status = text.call("PyContextVar_Get", f"ptr {variable}", "ptr null", "ptr %found")
    text.require(text.op(f"icmp eq i32 {status}, 0"), "failed")
    return text.op("load ptr, ptr %found")

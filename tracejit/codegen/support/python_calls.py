"""Calls of Python from native code: `i64 tj_call(ptr function, i64 a, i64 b, i64 c)`.

The function takes three ints and gives one, which is the result. Where it raises, a signal's
KeyboardInterrupt for instance, wherever it strikes, the exception is pending and the result is 2:
the program must leave. (A ctypes callback would lose it on the way in or out.)
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

from tracejit.codegen.llvm.engine import Library, load_object, object_code
from tracejit.codegen.support.pending_exception import PENDING
from tracejit.locks import once

__all__ = [
    *("BAIL", "DONE", "LEAVE", "call_address", "load_python_text", "no_memory"),
    "python_address",
]

#: How a call went: the run goes on, bails out, or leaves with an exception that is pending.
DONE, BAIL, LEAVE = 0, 1, 2

_PYTHON = {
    "PyGILState_Ensure": "i32 ()",
    "PyGILState_Release": "void (i32)",
    "PyErr_Fetch": "void (ptr, ptr, ptr)",
    "PyErr_NormalizeException": "void (ptr, ptr, ptr)",
    "PyObject_SetAttrString": "i32 (ptr, ptr, ptr)",
    "Py_DecRef": "void (ptr)",
}
#: The exception that PyErr_Fetch has put into three words is pending from here on.
_SET_PENDING = """
@tj_pending = external global i8
@tj_name = internal constant [10 x i8] c"exception\\00"

define internal void @tj_set_pending(ptr %type, ptr %value, ptr %trace) {
  call void @PyErr_NormalizeException(ptr %type, ptr %value, ptr %trace)
  %exception = load ptr, ptr %value
  %kept = call i32 @PyObject_SetAttrString(ptr @tj_pending, ptr @tj_name, ptr %exception)
  call void @Py_DecRef(ptr %exception)
  %its_type = load ptr, ptr %type
  call void @Py_DecRef(ptr %its_type)
  %its_trace = load ptr, ptr %trace
  call void @Py_DecRef(ptr %its_trace)
  ret void
}
"""
_CALL = """
@tj_format = internal constant [4 x i8] c"LLL\\00"

define i64 @tj_call(ptr %function, i64 %a, i64 %b, i64 %c) {
entry:
  %type = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  %gil = call i32 @PyGILState_Ensure()
  %result = call ptr (ptr, ptr, ...) @PyObject_CallFunction(ptr %function, ptr @tj_format, i64 %a, i64 %b, i64 %c)
  %none = icmp eq ptr %result, null
  br i1 %none, label %raised, label %returned
returned:
  %number = call i64 @PyLong_AsLongLong(ptr %result)
  call void @Py_DecRef(ptr %result)
  br label %done
raised:
  call void @PyErr_Fetch(ptr %type, ptr %value, ptr %trace)
  call void @tj_set_pending(ptr %type, ptr %value, ptr %trace)
  br label %done
done:
  %status = phi i64 [ %number, %returned ], [ 2, %raised ]
  call void @PyGILState_Release(i32 %gil)
  ret i64 %status
}
"""  # noqa: E501


def python_address(name: str) -> int:
    """The address of a function of Python's C API."""
    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    return address


def load_python_text(
    text: str, functions: Mapping[str, str], objects: Mapping[str, Any], exports: Sequence[str]
) -> Library:
    """Link glue that calls Python's C functions, given as name -> type, and uses these objects.

    The GIL's, `PyErr_Fetch`, `Py_DecRef` and `tj_set_pending` are there already.
    """
    called = {**_PYTHON, **functions}
    symbols = {name: python_address(name) for name in called}
    symbols.update((name, id(x)) for name, x in {"tj_pending": PENDING, **objects}.items())
    declared = [f"declare {t.replace('(', f'@{name}(', 1)}" for name, t in called.items()]
    code = object_code("\n".join([*declared, _SET_PENDING, text]), glue=True)
    return load_object(code, symbols, exports, keep=list(objects.values()))


@once
def _library() -> Library:
    functions = {
        "PyObject_CallFunction": "ptr (ptr, ptr, ...)",
        "PyLong_AsLongLong": "i64 (ptr)",
    }
    return load_python_text(_CALL, functions, {}, ["tj_call"])


def call_address() -> int:
    """The address of `tj_call`."""
    return _library().address("tj_call")


def no_memory(a: int, b: int, c: int) -> int:
    """What a program calls that cannot allocate what it needs. Raises MemoryError."""
    raise MemoryError

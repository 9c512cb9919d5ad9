"""Calls of Python from native code: `i64 tj_call(ptr function, i64 a, i64 b, i64 c)`.

The function takes three ints and gives one, which is the result. Where it raises, a signal's
KeyboardInterrupt for instance, wherever it strikes, the exception is pending and the result is 2:
the program must leave. (A ctypes callback would lose it on the way in or out.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracejit.codegen.llvm.engine import Library, load_object, object_code
from tracejit.link import pending_exception
from tracejit.link.addresses import Address, address_of
from tracejit.link.finding import object_address, python_address
from tracejit.link.shared import shared

__all__ = [
    *("BAIL", "DONE", "LEAVE", "call_address", "load_python_text"),
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


def load_python_text(
    text: str, functions: Mapping[str, str], objects: Mapping[str, Any], exports: Sequence[str]
) -> Library:
    """Link glue that calls Python's C functions, given as name -> type, and uses these objects.

    The GIL's, `PyErr_Fetch`, `Py_DecRef` and `tj_set_pending` are there already.
    """
    called = {**_PYTHON, **functions}
    symbols: dict[str, int] = {name: python_address(name) for name in called}
    symbols["tj_pending"] = object_address(pending_exception.__name__, "PENDING")
    symbols |= {n: x if isinstance(x, Address) else address_of(x) for n, x in objects.items()}
    declared = [f"declare {t.replace('(', f'@{name}(', 1)}" for name, t in called.items()]
    code = object_code("\n".join([*declared, _SET_PENDING, text]), glue=True)
    return load_object(code, symbols, exports, keep=list(objects.values()))


def _compiled() -> Library:
    functions = {
        "PyObject_CallFunction": "ptr (ptr, ptr, ...)",
        "PyLong_AsLongLong": "i64 (ptr)",
    }
    return load_python_text(_CALL, functions, {}, ["tj_call"])


def call_address() -> Address:
    """The address of `tj_call`."""
    return shared("calls of Python", _compiled).address("tj_call")

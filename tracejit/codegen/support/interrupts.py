"""Long loops look for signals: `i32 tj_poll(ptr state, ptr place)`, called at back edges at times.

A loop counts down and polls at 0. The poll reads a clock; where some milliseconds have passed it
takes the GIL, lets other threads run, and asks CPython whether a signal has come. It returns 0, or
1 where the program must leave: the exception (KeyboardInterrupt, or whatever the user's handler
raises) is pending then. `state` is four i64, zero at first: how many iterations of a loop with
array operations are left until the next poll, the times of the last poll and of the last look, and
how many iterations there were between polls. `place` is that of the loop, from which the exception
is seen to come: see `link/interrupted.py`.
"""

from __future__ import annotations

import sys
import time

from tracejit.codegen.llvm.engine import Library, load_object, object_code
from tracejit.link import interrupted
from tracejit.link.addresses import Address
from tracejit.link.finding import c_address, python_address
from tracejit.link.shared import shared

__all__ = ["LIGHT_PERIOD", "poll_address"]

#: Iterations between polls of a loop that only computes scalars.
LIGHT_PERIOD = 4096
#: Nanoseconds between looks for signals, and those between polls that make the period
#: double and shrink; the longest period.
_LOOK, _SHORT, _LONG, _CAP = 8_000_000, 1_000_000, 4_000_000, 64

_PYTHON = {
    "PyGILState_Ensure": ("i32", ""),
    "PyGILState_Release": ("void", "i32"),
    "PyEval_SaveThread": ("ptr", ""),
    "PyEval_RestoreThread": ("void", "ptr"),
    "PyErr_CheckSignals": ("i32", ""),
    "PyErr_Fetch": ("void", "ptr, ptr, ptr"),
    "PyErr_NormalizeException": ("void", "ptr, ptr, ptr"),
    "PyException_SetTraceback": ("i32", "ptr, ptr"),
    "Py_DecRef": ("void", "ptr"),
}

_TEXT = f"""
define i32 @tj_poll(ptr %state, ptr %place) {{
entry:
  %polled = getelementptr i64, ptr %state, i64 1
  %looked = getelementptr i64, ptr %state, i64 2
  %between = getelementptr i64, ptr %state, i64 3
  %now = call i64 @tj_nanoseconds()
  %last = load i64, ptr %polled
  store i64 %now, ptr %polled
  %first = icmp eq i64 %last, 0
  br i1 %first, label %begin, label %adapt
begin:
  store i64 %now, ptr %looked
  store i64 1, ptr %state
  store i64 1, ptr %between
  ret i32 0
adapt:
  %elapsed = sub i64 %now, %last
  %period = load i64, ptr %between
  %short = icmp slt i64 %elapsed, {_SHORT}
  %long = icmp sgt i64 %elapsed, {_LONG}
  %twice = shl i64 %period, 1
  %over = icmp sgt i64 %twice, {_CAP}
  %more = select i1 %over, i64 {_CAP}, i64 %twice
  %quarter = lshr i64 %period, 2
  %none = icmp eq i64 %quarter, 0
  %less = select i1 %none, i64 1, i64 %quarter
  %lower = select i1 %long, i64 %less, i64 %period
  %next = select i1 %short, i64 %more, i64 %lower
  store i64 %next, ptr %state
  store i64 %next, ptr %between
  %then = load i64, ptr %looked
  %since = sub i64 %now, %then
  %due = icmp sgt i64 %since, {_LOOK}
  br i1 %due, label %look, label %go
go:
  ret i32 0
look:
  store i64 %now, ptr %looked
  %gil = call i32 @PyGILState_Ensure()
  %thread = call ptr @PyEval_SaveThread()
  call void @PyEval_RestoreThread(ptr %thread)
  %status = call i32 @tj_interrupted(ptr %place)
  call void @PyGILState_Release(i32 %gil)
  ret i32 %status
}}

define internal i32 @tj_interrupted(ptr %place) {{
entry:
  %type = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  %gil = call i32 @PyGILState_Ensure()
  %found = call i32 @PyErr_CheckSignals()
  %none = icmp eq i32 %found, 0
  br i1 %none, label %release, label %raised
raised:
  call void @PyErr_Fetch(ptr %type, ptr %value, ptr %trace)
  call void @PyErr_NormalizeException(ptr %type, ptr %value, ptr %trace)
  %exception = load ptr, ptr %value
  %its_trace = load ptr, ptr %trace
  %is_traced = icmp ne ptr %its_trace, null
  br i1 %is_traced, label %traced, label %pending
traced:
  ; The frames of the user's handler: from Python 3.12 on the exception has them already.
  %done = call i32 @PyException_SetTraceback(ptr %exception, ptr %its_trace)
  call void @Py_DecRef(ptr %its_trace)
  br label %pending
pending:
  call void @tj_set_pending(ptr %exception, ptr %place)
  call void @Py_DecRef(ptr %exception)
  %its_type = load ptr, ptr %type
  call void @Py_DecRef(ptr %its_type)
  br label %release
release:
  call void @PyGILState_Release(i32 %gil)
  %left = icmp ne i32 %found, 0
  %status = zext i1 %left to i32
  ret i32 %status
}}
"""
#: `i64 tj_nanoseconds()` from a clock that never goes back.
_POSIX_CLOCK = """
declare i32 @clock_gettime(i32, ptr)
define internal i64 @tj_nanoseconds() {
  %time = alloca [2 x i64]
  %ok = call i32 @clock_gettime(i32 {clock}, ptr %time)
  %at = getelementptr i64, ptr %time, i64 1
  %seconds = load i64, ptr %time
  %rest = load i64, ptr %at
  %whole = mul i64 %seconds, 1000000000
  %all = add i64 %whole, %rest
  ret i64 %all
}
"""
_WINDOWS_CLOCK = """
declare i64 @GetTickCount64()
define internal i64 @tj_nanoseconds() {
  %milliseconds = call i64 @GetTickCount64()
  %all = mul i64 %milliseconds, 1000000
  ret i64 %all
}
"""


def _clock() -> tuple[str, dict[str, int]]:
    if sys.platform == "win32":
        return _WINDOWS_CLOCK, {"GetTickCount64": c_address("GetTickCount64")}
    text = _POSIX_CLOCK.replace("{clock}", str(time.CLOCK_MONOTONIC))
    return text, {"clock_gettime": c_address("clock_gettime")}


def _compiled() -> Library:
    clock, symbols = _clock()
    symbols |= {name: python_address(name) for name in _PYTHON}
    symbols["tj_set_pending"] = interrupted.address
    declared = [f"declare {result} @{name}({given})" for name, (result, given) in _PYTHON.items()]
    text = "\n".join([*declared, "declare void @tj_set_pending(ptr, ptr)", clock, _TEXT])
    return load_object(object_code(text, glue=True), symbols, ["tj_poll"])


def poll_address() -> Address:
    """The address of `tj_poll`."""
    return shared("interrupts", _compiled).address("tj_poll")

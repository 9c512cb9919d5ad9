"""Host calls from native code: `i64 tj_host(ptr site, ptr slots, ptr held)` and `tj_let_go`.

A site is a list of i64:

    prepared   what calls at once, or null
    general    a Python function of the address of the slots
    slot ...   where the pointer to each array of the result belongs, in bytes from the slots

and `prepared` is another one:

    busy       1 while a call is under way
    function   a Python function without parameters
    sizes      how many pairs (slot, value) follow: what sizes the function is for
    places     how many (field, slot, mask) follow those: the field of an array that the function
               reads or writes, its `data` or a size or stride, and the slot that has what belongs
               there. A slot s < 0 is itself pointed to, at ~s. The word has no bit of the mask.
    left       how many calls may still be made: what exports a buffer of an array that changes
               its shape leaves a note with the array

Where there is nothing prepared, or it is busy (another thread is in it, or the callee calls the
program again) or does not fit, `general` is called. Either function gives None, where the program
must bail out, or a tuple of arrays, C- or F-contiguous as their types say: pointers to their memory
go to the slots, and the tuple to the word `held`, until `tj_let_go(ptr held)`. An empty tuple
leaves the slots as they are. The status is that of `tj_call`. Floating-point errors are ignored
meanwhile, as by `quietly`.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.llvm.engine import Library
from tracejit.codegen.support.python_calls import load_python_text
from tracejit.link.addresses import Address
from tracejit.link.finding import object_address
from tracejit.link.quiet import quiet_address, quiet_state
from tracejit.link.shared import Shared, shared

__all__ = ["ArrayFields", "array_fields", "held_results", "host_address"]

#: Every NumPy 2 has the pointer to an array's memory right behind the object's header.
_DATA = object.__basicsize__

_PYTHON = {
    "PyContextVar_Reset": "i32 (ptr, ptr)",
    "PyContextVar_Set": "ptr (ptr, ptr)",
    "PyErr_Clear": "void ()",
    "PyLong_FromLongLong": "ptr (i64)",
    "PyObject_CallNoArgs": "ptr (ptr)",
    "PyObject_CallOneArg": "ptr (ptr, ptr)",
    "PyTuple_GetItem": "ptr (ptr, i64)",
    "PyTuple_Size": "i64 (ptr)",
    "Py_IncRef": "void (ptr)",
}
_QUIET = "call ptr @PyContextVar_Set(ptr @tj_variable, ptr @tj_state)"
_LOUD = """
  %reset = call i32 @PyContextVar_Reset(ptr @tj_variable, ptr %token)
  call void @PyErr_Clear()
"""


def _text(quiet: bool) -> str:
    return f"""
@tj_none = external global i8
@tj_variable = external global i8
@tj_state = external global i8
@tj_held_results = global i64 0

define i64 @tj_host(ptr %site, ptr %slots, ptr %held) {{
entry:
  %type = alloca ptr
  %value = alloca ptr
  %trace = alloca ptr
  %gil = call i32 @PyGILState_Ensure()
  %token = {_QUIET if quiet else "select i1 true, ptr @tj_none, ptr null"}
  %is_quiet = icmp ne ptr %token, null
  br i1 %is_quiet, label %begin, label %no_token
no_token:
  call void @PyErr_Fetch(ptr %type, ptr %value, ptr %trace)
  br label %raised
begin:
  %prepared = load ptr, ptr %site
  %unknown = icmp eq ptr %prepared, null
  br i1 %unknown, label %general, label %look
look:
  %busy = load i64, ptr %prepared
  %function_at = getelementptr i64, ptr %prepared, i64 1
  %sizes_at = getelementptr i64, ptr %prepared, i64 2
  %sizes = load i64, ptr %sizes_at
  %places_at = getelementptr i64, ptr %prepared, i64 3
  %places = load i64, ptr %places_at
  %left_at = getelementptr i64, ptr %prepared, i64 4
  %left = load i64, ptr %left_at
  %pairs = getelementptr i64, ptr %prepared, i64 5
  %is_busy = icmp ne i64 %busy, 0
  %is_spent = icmp eq i64 %left, 0
  %is_out = or i1 %is_busy, %is_spent
  br i1 %is_out, label %general, label %size
size:
  %i = phi i64 [ 0, %look ], [ %i1, %compare ]
  %pair = phi ptr [ %pairs, %look ], [ %pair1, %compare ]
  %more_sizes = icmp ult i64 %i, %sizes
  br i1 %more_sizes, label %compare, label %place
compare:
  %size_slot = load i64, ptr %pair
  %wanted_at = getelementptr i64, ptr %pair, i64 1
  %wanted = load i64, ptr %wanted_at
  %size_at = getelementptr i8, ptr %slots, i64 %size_slot
  %given = load i64, ptr %size_at
  %pair1 = getelementptr i64, ptr %pair, i64 2
  %i1 = add i64 %i, 1
  %same = icmp eq i64 %given, %wanted
  br i1 %same, label %size, label %general
place:
  %j = phi i64 [ 0, %size ], [ %j1, %point ]
  %triple = phi ptr [ %pair, %size ], [ %triple1, %point ]
  %more_places = icmp ult i64 %j, %places
  br i1 %more_places, label %point, label %run
point:
  %field = load ptr, ptr %triple
  %slot_at = getelementptr i64, ptr %triple, i64 1
  %slot = load i64, ptr %slot_at
  %mask_at = getelementptr i64, ptr %triple, i64 2
  %mask = load i64, ptr %mask_at
  %is_scalar = icmp slt i64 %slot, 0
  %flipped = xor i64 %slot, -1
  %offset = select i1 %is_scalar, i64 %flipped, i64 %slot
  %word_at = getelementptr i8, ptr %slots, i64 %offset
  %word = load i64, ptr %word_at
  %itself = ptrtoint ptr %word_at to i64
  %address = select i1 %is_scalar, i64 %itself, i64 %word
  store i64 %address, ptr %field
  %odd = and i64 %address, %mask
  %is_aligned = icmp eq i64 %odd, 0
  %triple1 = getelementptr i64, ptr %triple, i64 3
  %j1 = add i64 %j, 1
  br i1 %is_aligned, label %place, label %general
run:
  store i64 1, ptr %prepared
  %rest = sub i64 %left, 1
  store i64 %rest, ptr %left_at
  %function = load ptr, ptr %function_at
  call void @Py_IncRef(ptr %function)
  %at_once = call ptr @PyObject_CallNoArgs(ptr %function)
  call void @PyErr_Fetch(ptr %type, ptr %value, ptr %trace)
  store i64 0, ptr %prepared
  call void @Py_DecRef(ptr %function)
  br label %called
general:
  %other_at = getelementptr i64, ptr %site, i64 1
  %other = load ptr, ptr %other_at
  %slots_number = ptrtoint ptr %slots to i64
  %number = call ptr @PyLong_FromLongLong(i64 %slots_number)
  %made = icmp ne ptr %number, null
  br i1 %made, label %call_general, label %general_called
call_general:
  %slowly = call ptr @PyObject_CallOneArg(ptr %other, ptr %number)
  call void @Py_DecRef(ptr %number)
  br label %general_called
general_called:
  %in_general = phi ptr [ null, %general ], [ %slowly, %call_general ]
  call void @PyErr_Fetch(ptr %type, ptr %value, ptr %trace)
  br label %called
called:
  %result = phi ptr [ %at_once, %run ], [ %in_general, %general_called ]
  {_LOUD if quiet else ""}
  {"call void @Py_DecRef(ptr %token)" if quiet else ""}
  %raises = icmp eq ptr %result, null
  br i1 %raises, label %raised, label %returned
raised:
  call void @tj_set_pending(ptr %type, ptr %value, ptr %trace)
  br label %done
returned:
  %is_none = icmp eq ptr %result, @tj_none
  br i1 %is_none, label %no_arrays, label %count
count:
  %arrays = call i64 @PyTuple_Size(ptr %result)
  %is_empty = icmp eq i64 %arrays, 0
  br i1 %is_empty, label %no_arrays, label %keep
no_arrays:
  %ended = phi i64 [ 1, %returned ], [ 0, %count ]
  call void @Py_DecRef(ptr %result)
  br label %done
keep:
  store ptr %result, ptr %held
  %before = load i64, ptr @tj_held_results
  %after = add i64 %before, 1
  store i64 %after, ptr @tj_held_results
  %targets = getelementptr i64, ptr %site, i64 2
  br label %array
array:
  %k = phi i64 [ 0, %keep ], [ %k1, %array ]
  %object = call ptr @PyTuple_GetItem(ptr %result, i64 %k)
  %data_at = getelementptr i8, ptr %object, i64 {_DATA}
  %data = load ptr, ptr %data_at
  %target_at = getelementptr i64, ptr %targets, i64 %k
  %target = load i64, ptr %target_at
  %target_slot = getelementptr i8, ptr %slots, i64 %target
  store ptr %data, ptr %target_slot
  %k1 = add i64 %k, 1
  %more_arrays = icmp ult i64 %k1, %arrays
  br i1 %more_arrays, label %array, label %done
done:
  %status = phi i64 [ 2, %raised ], [ %ended, %no_arrays ], [ 0, %array ]
  call void @PyGILState_Release(i32 %gil)
  ret i64 %status
}}

define void @tj_let_go(ptr %held) {{
entry:
  %result = load ptr, ptr %held
  %none = icmp eq ptr %result, null
  br i1 %none, label %done, label %drop
drop:
  store ptr null, ptr %held
  %gil = call i32 @PyGILState_Ensure()
  call void @Py_DecRef(ptr %result)
  %before = load i64, ptr @tj_held_results
  %after = sub i64 %before, 1
  store i64 %after, ptr @tj_held_results
  call void @PyGILState_Release(i32 %gil)
  br label %done
done:
  ret void
}}
"""


def _library() -> Shared:
    return shared("host calls", _compiled)


def _compiled() -> Library:
    is_quiet = quiet_state() is not None
    objects: dict[str, Any] = {"tj_none": None, "tj_variable": None, "tj_state": None}
    if is_quiet:
        objects |= {"tj_variable": object_address("numpy._core.umath", "_extobj_contextvar")}
        objects |= {"tj_state": quiet_address()}
    text, exports = _text(is_quiet), ["tj_host", "tj_let_go", "tj_held_results"]
    return load_python_text(text, _PYTHON, objects, exports)


def host_address(name: str) -> Address:
    """The address of `tj_host` or `tj_let_go`."""
    return _library().address(name)


def held_results() -> int:
    """How many results the programs that run at present hold."""
    return ctypes.c_int64.from_address(_library().address("tj_held_results")).value


@dataclass(frozen=True)
class ArrayFields:
    """Addresses of an array's pointer to its memory, of its sizes and its strides."""

    data: int
    shape: int
    strides: int


def array_fields(array: np.ndarray[Any, Any]) -> ArrayFields | None:
    """Where an array keeps its fields; None if they are not there.

    What is written to `data` must be memory of the array's layout, and the array not its owner.
    """
    header = id(array) + _DATA
    data, _, shape, strides = (ctypes.c_int64 * 4).from_address(header)
    if np.ndarray.__basicsize__ < _DATA + 4 * 8 or data != array.ctypes.data:
        return None
    numbers = ctypes.c_int64 * array.ndim
    if array.ndim:
        places = (shape, array.shape), (strides, array.strides)
        if any(tuple(numbers.from_address(at)) != found for at, found in places):
            return None
    return ArrayFields(header, shape, strides)

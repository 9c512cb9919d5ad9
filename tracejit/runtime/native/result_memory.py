"""Memory of large results, kept for the next ones: NumPy's allocator for arrays that entries make.

The system hands out large blocks as pages that are cleared when they are first touched, and takes
them back when an array dies: a result would cost more for that than for being written once. So
entries have NumPy take the memory of large results from here. It is an allocator as NumPy has them
for users (`PyDataMem_SetHandler`, NEP 49): arrays own their memory as always. What they give back
lies in places by powers of two of its size, four of each, under the limit of
`codegen/support/allocator.py` for all that is kept.

`ptr tj_new_view(ptr base, ptr descr, i32 nd, ptr dims, ptr strides, i64 offset, i32 kept,
i32 added)` is a view of an array, of its own dtype where `descr` is null, or null. It has those
flags of the base that are kept, and those times `added`.
`ptr tj_new_array(...)` is PyArray_NewFromDescr, with this allocator for large arrays.
`ptr tj_late_array(ptr descr, i32 nd, ptr dims, ptr strides, i32 fortran, ptr slot)`, with or
without the GIL, leaves such an array in a slot and gives the address of its memory, or null.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tracejit.codegen.llvm.engine import Library, load_object, object_code
from tracejit.codegen.support.allocator import BLOCK_FUNCTIONS, MOST_KEPT, block_address
from tracejit.link.addresses import address_of
from tracejit.link.cpython.reflect import Layout
from tracejit.link.result_memory import FUNCTIONS, install
from tracejit.link.shared import After, shared

__all__ = ["array_functions"]

#: Elements from which on an array's memory comes from here.
_LARGE = 1 << 17
#: Places for each power of two.
_PLACES = 4
_NEW = "ptr, ptr, i32, ptr, ptr, ptr, i32, ptr"

_TEXT = f"""
@tj_places = internal global [{64 * _PLACES} x ptr] zeroinitializer
@tj_handler = global ptr null
@tj_kept_bytes = external global i64
declare void @tj_empty(ptr)

{{declarations}}
declare ptr @PyArray_NewFromDescr({_NEW})
declare ptr @PyDataMem_SetHandler(ptr)
declare void @Py_DecRef(ptr)
declare void @Py_IncRef(ptr)
declare void @PyErr_Clear()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
@tj_ndarray = external global i8
declare i64 @llvm.ctlz.i64(i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; The place of blocks of about n bytes that holds one, or that holds none; else the first.
define internal ptr @tj_place(i64 %n, i1 %held) {{
  %zeros = call i64 @llvm.ctlz.i64(i64 %n, i1 false)
  %class = sub i64 63, %zeros
  %known = and i64 %class, 63
  %first = mul i64 %known, {_PLACES}
  %start = getelementptr ptr, ptr @tj_places, i64 %first
  br label %look
look:
  %k = phi i64 [ 0, %0 ], [ %next, %other ]
  %place = getelementptr ptr, ptr %start, i64 %k
  %block = load atomic ptr, ptr %place monotonic, align 8
  %is = icmp ne ptr %block, null
  %found = icmp eq i1 %is, %held
  br i1 %found, label %done, label %other
other:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, {_PLACES}
  br i1 %more, label %look, label %none
done:
  ret ptr %place
none:
  ret ptr %start
}}

define ptr @tj_result_malloc(ptr %context, i64 %n) {{
  %place = call ptr @tj_place(i64 %n, i1 true)
  %block = call ptr @tj_take(ptr %place, i64 %n)
  ret ptr %block
}}

define ptr @tj_result_calloc(ptr %context, i64 %count, i64 %size) {{
  %both = call {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64 %count, i64 %size)
  %over = extractvalue {{ i64, i1 }} %both, 1
  br i1 %over, label %none, label %take
take:
  %n = extractvalue {{ i64, i1 }} %both, 0
  %block = call ptr @tj_result_malloc(ptr %context, i64 %n)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %none, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %block, i8 0, i64 %n, i1 false)
  ret ptr %block
none:
  ret ptr null
}}
declare {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64, i64)

; What was given back last is likelier to be taken again than what other programs have left.
define internal void @tj_make_room(i64 %n) {{
  %kept = load atomic i64, ptr @tj_kept_bytes monotonic, align 8
  %after = add i64 %kept, %n
  %too_many = icmp ugt i64 %after, {MOST_KEPT}
  br i1 %too_many, label %drop, label %done
drop:
  %k = phi i64 [ 0, %0 ], [ %next, %drop ]
  %place = getelementptr ptr, ptr @tj_places, i64 %k
  call void @tj_empty(ptr %place)
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, {64 * _PLACES}
  br i1 %more, label %drop, label %done
done:
  ret void
}}

define void @tj_result_free(ptr %context, ptr %block, i64 %n) {{
  call void @tj_make_room(i64 %n)
  %place = call ptr @tj_place(i64 %n, i1 false)
  call void @tj_give(ptr %place, ptr %block)
  ret void
}}

; In front of a block lies, in i64, what was asked for (third), its capacity, and more.
define ptr @tj_result_realloc(ptr %context, ptr %old, i64 %n) {{
  %new = call ptr @tj_result_malloc(ptr %context, i64 %n)
  %failed = icmp eq ptr %new, null
  %nothing = icmp eq ptr %old, null
  %either = or i1 %failed, %nothing
  br i1 %either, label %done, label %copy
copy:
  %asked_at = getelementptr i64, ptr %old, i64 -3
  %asked = load i64, ptr %asked_at
  %less = icmp ult i64 %asked, %n
  %amount = select i1 %less, i64 %asked, i64 %n
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %old, i64 %amount, i1 false)
  call void @tj_result_free(ptr %context, ptr %old, i64 %asked)
  br label %done
done:
  ret ptr %new
}}

define ptr @tj_new_array(ptr %type, ptr %descr, i32 %nd, ptr %dims, ptr %strides, ptr %data,
                         i32 %flags, ptr %base) {{
  %axes = sext i32 %nd to i64
  br label %count
count:
  %k = phi i64 [ 0, %0 ], [ %next, %one ]
  %total = phi i64 [ 1, %0 ], [ %product, %one ]
  %left = icmp slt i64 %k, %axes
  br i1 %left, label %one, label %counted
one:
  %at = getelementptr i64, ptr %dims, i64 %k
  %size = load i64, ptr %at
  %product = mul i64 %total, %size
  %next = add i64 %k, 1
  br label %count
counted:
  %large = icmp uge i64 %total, {_LARGE}
  br i1 %large, label %swap, label %plain
swap:
  %handler = load ptr, ptr @tj_handler
  %old = call ptr @PyDataMem_SetHandler(ptr %handler)
  %failed = icmp eq ptr %old, null
  br i1 %failed, label %without, label %make
make:
  %made = call ptr @PyArray_NewFromDescr(ptr %type, ptr %descr, i32 %nd, ptr %dims, ptr %strides,
                                         ptr %data, i32 %flags, ptr %base)
  %own = call ptr @PyDataMem_SetHandler(ptr %old)
  call void @Py_DecRef(ptr %old)
  call void @Py_DecRef(ptr %own)
  ret ptr %made
without:
  call void @PyErr_Clear()
  br label %plain
plain:
  %usual = call ptr @PyArray_NewFromDescr(ptr %type, ptr %descr, i32 %nd, ptr %dims, ptr %strides,
                                          ptr %data, i32 %flags, ptr %base)
  ret ptr %usual
}}

define ptr @tj_late_array(ptr %descr, i32 %nd, ptr %dims, ptr %strides, i32 %fortran, ptr %slot) {{
  %gil = call i32 @PyGILState_Ensure()
  call void @Py_IncRef(ptr %descr)
  %array = call ptr @tj_new_array(ptr @tj_ndarray, ptr %descr, i32 %nd, ptr %dims, ptr %strides,
                                  ptr null, i32 %fortran, ptr null)
  %failed = icmp eq ptr %array, null
  br i1 %failed, label %none, label %made
none:
  call void @PyErr_Clear()
  br label %done
made:
  store ptr %array, ptr %slot
  %at = getelementptr i8, ptr %array, i64 {{data}}
  %memory = load ptr, ptr %at
  br label %done
done:
  %result = phi ptr [ null, %none ], [ %memory, %made ]
  call void @PyGILState_Release(i32 %gil)
  ret ptr %result
}}

define ptr @tj_new_view(ptr %base, ptr %descr, i32 %nd, ptr %dims, ptr %strides, i64 %offset,
                        i32 %kept, i32 %added) {{
  %own_at = getelementptr i8, ptr %base, i64 {{dtype}}
  %own = load ptr, ptr %own_at
  %same = icmp eq ptr %descr, null
  %type = select i1 %same, ptr %own, ptr %descr
  call void @Py_IncRef(ptr %type)
  %memory_at = getelementptr i8, ptr %base, i64 {{data}}
  %memory = load ptr, ptr %memory_at
  %start = getelementptr i8, ptr %memory, i64 %offset
  %flags_at = getelementptr i8, ptr %base, i64 {{flags}}
  %all = load i32, ptr %flags_at
  %few = and i32 %all, %kept
  %more = mul i32 %few, %added
  %flags = or i32 %few, %more
  %view = call ptr @PyArray_NewFromDescr(ptr @tj_ndarray, ptr %type, i32 %nd, ptr %dims,
                                         ptr %strides, ptr %start, i32 %flags, ptr null)
  %failed = icmp eq ptr %view, null
  br i1 %failed, label %none, label %made
made:
  call void @Py_IncRef(ptr %base)
  %status = call i32 @PyArray_SetBaseObject(ptr %view, ptr %base)
  %done = icmp eq i32 %status, 0
  br i1 %done, label %based, label %baseless
based:
  ret ptr %view
baseless:
  call void @Py_DecRef(ptr %view)
  br label %none
none:
  ret ptr null
}}
declare i32 @PyArray_SetBaseObject(ptr, ptr)
"""

#: What the code calls of the C APIs.
_CALLED = (
    *("PyArray_NewFromDescr", "PyDataMem_SetHandler", "Py_DecRef", "Py_IncRef", "PyErr_Clear"),
    *("PyArray_SetBaseObject", "PyGILState_Ensure", "PyGILState_Release"),
)


_MADE = ("tj_new_array", "tj_late_array", "tj_new_view")


def array_functions(functions: Mapping[str, int], layout: Layout) -> dict[str, int]:
    """The addresses of the functions that make arrays; `functions` are those of the C APIs."""

    def compiled() -> Library:
        taken = ("tj_take", "tj_give")
        declarations = "\n".join(
            f"declare {result} @{name}({', '.join(parameters)})"
            for name, (result, parameters) in BLOCK_FUNCTIONS.items()
            if name in taken
        )
        symbols: dict[str, int] = {
            name: block_address(name) for name in (*taken, "tj_empty", "tj_kept_bytes")
        }
        symbols |= {name: functions[name] for name in _CALLED}
        symbols["tj_ndarray"] = address_of(np.ndarray)
        exports = [*(f"tj_result_{name}" for name in FUNCTIONS), *_MADE, "tj_handler"]
        text = _TEXT.replace("{declarations}", declarations)
        for field in ("data", "dtype", "flags"):
            text = text.replace(f"{{{field}}}", str(getattr(layout, f"array_{field}")))
        return load_object(object_code(text, glue=True), symbols, exports)

    library = shared("results", compiled, After(install.__module__, install.__name__))
    return {name: library.address(name) for name in _MADE}

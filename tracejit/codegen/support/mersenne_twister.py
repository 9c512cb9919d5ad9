"""What Python's `random.Random` draws by, as LLVM text: the Mersenne Twister where it keeps it.

`%mt` points to a number of 32 bits, the place of the next word, and the 624 words after it. Where
a `Random` lies otherwise than is known here there is no `twister_offset`.
"""

from __future__ import annotations

import ctypes
import random
from typing import Any

from tracejit.locks import once

__all__ = ["PYTHON_API", "TWISTER_TEXTS", "twister_offset"]

_WORDS = 624

_NEXT = """
define internal i64 @tj_twister(ptr %mt) {
entry:
  %words = getelementptr i8, ptr %mt, i64 4
  %at = load i32, ptr %mt
  %used = icmp uge i32 %at, 624
  br i1 %used, label %loop, label %take
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %loop ]
  %k.next = add i64 %k, 1
  %last = icmp eq i64 %k.next, 624
  %k.after = select i1 %last, i64 0, i64 %k.next
  %far = add i64 %k, 397
  %far.back = sub i64 %k, 227
  %far.over = icmp uge i64 %far, 624
  %k.far = select i1 %far.over, i64 %far.back, i64 %far
  %p = getelementptr i32, ptr %words, i64 %k
  %q = getelementptr i32, ptr %words, i64 %k.after
  %r = getelementptr i32, ptr %words, i64 %k.far
  %high = load i32, ptr %p
  %low = load i32, ptr %q
  %other = load i32, ptr %r
  %upper = and i32 %high, -2147483648
  %lower = and i32 %low, 2147483647
  %both = or i32 %upper, %lower
  %half = lshr i32 %both, 1
  %bit = and i32 %both, 1
  %mask = sub i32 0, %bit
  %matrix = and i32 %mask, -1727483681
  %mixed = xor i32 %other, %half
  %new = xor i32 %mixed, %matrix
  store i32 %new, ptr %p
  br i1 %last, label %take, label %loop
take:
  %place = phi i32 [ %at, %entry ], [ 0, %loop ]
  %place.next = add i32 %place, 1
  store i32 %place.next, ptr %mt
  %wide = zext i32 %place to i64
  %s = getelementptr i32, ptr %words, i64 %wide
  %y0 = load i32, ptr %s
  %s1 = lshr i32 %y0, 11
  %y1 = xor i32 %y0, %s1
  %s2 = shl i32 %y1, 7
  %m2 = and i32 %s2, -1658038656
  %y2 = xor i32 %y1, %m2
  %s3 = shl i32 %y2, 15
  %m3 = and i32 %s3, -272236544
  %y3 = xor i32 %y2, %m3
  %s4 = lshr i32 %y3, 18
  %y4 = xor i32 %y3, %s4
  %out = zext i32 %y4 to i64
  ret i64 %out
}
"""
_RANDOM = """
define internal double @tj_twister_random(ptr %mt) {
  %x = call i64 @tj_twister(ptr %mt)
  %y = call i64 @tj_twister(ptr %mt)
  %a = lshr i64 %x, 5
  %b = lshr i64 %y, 6
  %high = shl i64 %a, 26
  %whole = or i64 %high, %b
  %number = uitofp i64 %whole to double
  %out = fmul double %number, 0x3CA0000000000000
  ret double %out
}
"""
_UNIFORM = """
define internal double @tj_twister_uniform(ptr %mt, double %low, double %high) {
  %width = fsub double %high, %low
  %x = call double @tj_twister_random(ptr %mt)
  %part = fmul double %width, %x
  %out = fadd double %low, %part
  ret double %out
}
"""
#: A number below `%n`, which is above zero: as many bits as it has, until they are less.
_BELOW = """
define internal i64 @tj_twister_below(ptr %mt, i64 %n) {
entry:
  %zeros = call i64 @llvm.ctlz.i64(i64 %n, i1 false)
  %long = icmp ult i64 %zeros, 32
  %long.drop = and i64 %zeros, 31
  %short.drop = sub i64 %zeros, 32
  %drop = select i1 %long, i64 %long.drop, i64 %short.drop
  br label %again
again:
  %x = call i64 @tj_twister(ptr %mt)
  br i1 %long, label %two, label %one
one:
  %bits = lshr i64 %x, %drop
  br label %found
two:
  %y = call i64 @tj_twister(ptr %mt)
  %top = lshr i64 %y, %drop
  %top.moved = shl i64 %top, 32
  %joined = or i64 %top.moved, %x
  br label %found
found:
  %r = phi i64 [ %bits, %one ], [ %joined, %two ]
  %less = icmp ult i64 %r, %n
  br i1 %less, label %done, label %again
done:
  ret i64 %r
}
"""
#: The second number of a pair waits in an attribute of the object, None without one.
_GAUSS = """
@tj_gauss_name = internal constant [11 x i8] c"gauss_next\\00"

define internal double @tj_twister_gauss(ptr %object, ptr %mt, double %mean, double %deviation) {
entry:
  %gil = call i32 @PyGILState_Ensure()
  %kept = call ptr @PyObject_GetAttrString(ptr %object, ptr @tj_gauss_name)
  %none = icmp eq ptr %kept, @_Py_NoneStruct
  br i1 %none, label %new, label %old
old:
  %second = call double @PyFloat_AsDouble(ptr %kept)
  br label %store
new:
  %u = call double @tj_twister_random(ptr %mt)
  %angle = fmul double %u, 0x401921FB54442D18
  %v = call double @tj_twister_random(ptr %mt)
  %w = fsub double 1.0, %v
  %log = call double @log(double %w)
  %log2 = fmul double %log, -2.0
  %radius = call double @llvm.sqrt.f64(double %log2)
  %cos = call double @cos(double %angle)
  %sin = call double @sin(double %angle)
  %first = fmul double %cos, %radius
  %other = fmul double %sin, %radius
  %number = call ptr @PyFloat_FromDouble(double %other)
  br label %store
store:
  %z = phi double [ %second, %old ], [ %first, %new ]
  %next = phi ptr [ @_Py_NoneStruct, %old ], [ %number, %new ]
  %stored = call i32 @PyObject_SetAttrString(ptr %object, ptr @tj_gauss_name, ptr %next)
  br i1 %none, label %drop, label %end
drop:
  call void @Py_DecRef(ptr %next)
  br label %end
end:
  call void @Py_DecRef(ptr %kept)
  call void @PyGILState_Release(i32 %gil)
  %wide = fmul double %z, %deviation
  %out = fadd double %mean, %wide
  ret double %out
}
"""
TWISTER_TEXTS = {
    "tj_twister": _NEXT,
    "tj_twister_random": _RANDOM,
    "tj_twister_uniform": _UNIFORM,
    "tj_twister_below": _BELOW,
    "tj_twister_gauss": _GAUSS,
}
#: What these call of Python: results and parameters.
PYTHON_API = {
    "PyGILState_Ensure": ("i32", ()),
    "PyGILState_Release": ("void", ("i32",)),
    "PyObject_GetAttrString": ("ptr", ("ptr", "ptr")),
    "PyObject_SetAttrString": ("i32", ("ptr", "ptr", "ptr")),
    "PyFloat_AsDouble": ("double", ("ptr",)),
    "PyFloat_FromDouble": ("ptr", ("double",)),
    "Py_DecRef": ("void", ("ptr",)),
}


@once
def twister_offset() -> int | None:
    """Where a `random.Random` keeps the place of its next word, in bytes."""
    stream = random.Random(1)
    stream.random()
    state: Any = stream.getstate()[1]
    base: Any = random.Random.__base__
    size: int = base.__basicsize__ // 4
    words = tuple((ctypes.c_uint32 * size).from_address(id(stream)))
    wanted = (state[_WORDS], *state[:_WORDS])
    found = [k for k in range(size - _WORDS) if words[k : k + _WORDS + 1] == wanted]
    return 4 * found[0] if len(found) == 1 else None

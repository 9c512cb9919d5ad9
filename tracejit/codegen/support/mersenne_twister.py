"""What Python's `random.Random` draws by, as LLVM text: the Mersenne Twister where it keeps it.

`%mt` points to a number of 32 bits, the place of the next word, and the 624 words after it. Where
a `Random` lies otherwise than is known here there is no `twister_offset`.
"""

from __future__ import annotations

import ctypes
import random
from typing import Any

from tracejit.base.locks import once

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
#: As `random.seed(n)`: by the one or two words of the size of an int. The attribute is cleared.
_SEED = """
define internal void @tj_twister_seed(ptr %object, ptr %mt, i64 %seed) {
entry:
  %gil = call i32 @PyGILState_Ensure()
  %cleared = call i32 @PyObject_SetAttrString(ptr %object, ptr @tj_gauss_name, ptr @_Py_NoneStruct)
  call void @PyGILState_Release(i32 %gil)
  %words = getelementptr i8, ptr %mt, i64 4
  %is.less = icmp slt i64 %seed, 0
  %negated = sub i64 0, %seed
  %size = select i1 %is.less, i64 %negated, i64 %seed
  %low = trunc i64 %size to i32
  %upper = lshr i64 %size, 32
  %high = trunc i64 %upper to i32
  %long = icmp ne i32 %high, 0
  store i32 19650218, ptr %words
  br label %fill
fill:
  %f = phi i64 [ 1, %entry ], [ %f.next, %fill ]
  %f.old = phi i32 [ 19650218, %entry ], [ %f.new, %fill ]
  %f.far = lshr i32 %f.old, 30
  %f.mixed = xor i32 %f.old, %f.far
  %f.wide = mul i32 %f.mixed, 1812433253
  %f.low = trunc i64 %f to i32
  %f.new = add i32 %f.wide, %f.low
  %f.at = getelementptr i32, ptr %words, i64 %f
  store i32 %f.new, ptr %f.at
  %f.next = add i64 %f, 1
  %f.more = icmp ult i64 %f.next, 624
  br i1 %f.more, label %fill, label %keys
keys:
  br label %key
key:
  %k = phi i64 [ 0, %keys ], [ %k.next, %keyed ]
  %i = phi i64 [ 1, %keys ], [ %i.next, %keyed ]
  %old = phi i32 [ 19650218, %keys ], [ %old.next, %keyed ]
  %j = phi i32 [ 0, %keys ], [ %j.next, %keyed ]
  %is.first = icmp eq i32 %j, 0
  %word = select i1 %is.first, i32 %low, i32 %high
  %far = lshr i32 %old, 30
  %mixed = xor i32 %old, %far
  %wide = mul i32 %mixed, 1664525
  %at = getelementptr i32, ptr %words, i64 %i
  %here = load i32, ptr %at
  %both = xor i32 %here, %wide
  %added = add i32 %both, %word
  %new = add i32 %added, %j
  store i32 %new, ptr %at
  %other = xor i32 %j, 1
  %j.next = select i1 %long, i32 %other, i32 0
  %i.after = add i64 %i, 1
  %over = icmp uge i64 %i.after, 624
  br i1 %over, label %wrap, label %keyed
wrap:
  store i32 %new, ptr %words
  br label %keyed
keyed:
  %i.next = phi i64 [ 1, %wrap ], [ %i.after, %key ]
  %old.next = phi i32 [ %new, %wrap ], [ %new, %key ]
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, 624
  br i1 %k.more, label %key, label %lasts
lasts:
  br label %last
last:
  %m = phi i64 [ 0, %lasts ], [ %m.next, %done ]
  %n = phi i64 [ %i.next, %lasts ], [ %n.next, %done ]
  %past = phi i32 [ %old.next, %lasts ], [ %l.new, %done ]
  %l.far = lshr i32 %past, 30
  %l.mixed = xor i32 %past, %l.far
  %l.wide = mul i32 %l.mixed, 1566083941
  %l.at = getelementptr i32, ptr %words, i64 %n
  %l.here = load i32, ptr %l.at
  %l.both = xor i32 %l.here, %l.wide
  %l.low = trunc i64 %n to i32
  %l.new = sub i32 %l.both, %l.low
  store i32 %l.new, ptr %l.at
  %n.after = add i64 %n, 1
  %n.over = icmp uge i64 %n.after, 624
  br i1 %n.over, label %l.wrap, label %done
l.wrap:
  store i32 %l.new, ptr %words
  br label %done
done:
  %n.next = phi i64 [ 1, %l.wrap ], [ %n.after, %last ]
  %m.next = add i64 %m, 1
  %m.more = icmp ult i64 %m.next, 623
  br i1 %m.more, label %last, label %end
end:
  store i32 -2147483648, ptr %words
  store i32 624, ptr %mt
  ret void
}
"""
_NAME = """
@tj_gauss_name = internal constant [11 x i8] c"gauss_next\\00"
"""
TWISTER_TEXTS = {
    "tj_gauss_name": _NAME,
    "tj_twister_seed": _SEED,
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

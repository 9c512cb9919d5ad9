"""Blocks of memory for programs, kept for the next call: `tj_take`, `tj_grow`, `tj_give` and such.

`ptr tj_take(ptr place, i64 n)`
    A block of at least n bytes, 64-byte aligned and not cleared; null where there is none.
`ptr tj_grow(ptr place, ptr cell, i64 n)`
    Makes the block of a cell { ptr block, i64 capacity } hold n bytes, at least twice what it held;
    what was in it is lost. Null, and nothing changed, where there is no memory.
`ptr tj_extend(ptr place, ptr cell, i64 used, i64 n)`
    Makes the memory of a cell { ptr memory, i64 capacity, ptr block } hold n bytes, at least twice
    what it held; the first `used` bytes stay. The block is null where the memory at first is none.
    Null, and nothing changed, where there is no memory.
`void tj_give(ptr place, ptr block)`
    Gives a block back; null is none.

The system hands out large blocks as pages that are cleared when they are first touched, and takes
them back at `free`: a program whose temporaries are large would pay for that in each call, more
than for its arithmetic. So a place, which belongs to one allocation of one program, holds the
block that was given back last. It is one pointer that is only ever exchanged atomically: whoever
gets a block out of it owns the block, and any other thread (or the same one, inside a call of
Python) finds null and gets a new block. All places of a process hold `MOST_KEPT` bytes at most; a
block is not held if its last user had asked for less than a quarter of it, and the place of a
program that dies is emptied. What is new and large asks for huge pages, as NumPy's arrays do.
"""

from __future__ import annotations

import ctypes
import sys

from tracejit.codegen.llvm.engine import Library, load_object, object_code
from tracejit.link.addresses import Address
from tracejit.link.places import ALLOCATOR
from tracejit.link.shared import shared

__all__ = ["BLOCK_FUNCTIONS", "MOST_KEPT", "allocator_text", "block_address", "kept_bytes"]

#: name -> result and parameter types.
BLOCK_FUNCTIONS: dict[str, tuple[str, list[str]]] = {
    "tj_take": ("ptr", ["ptr", "i64"]),
    "tj_grow": ("ptr", ["ptr", "ptr", "i64"]),
    "tj_extend": ("ptr", ["ptr", "ptr", "i64", "i64"]),
    "tj_give": ("void", ["ptr", "ptr"]),
}

#: Bytes: what malloc may map afresh each time; what huge pages serve; all that places hold.
_LEAST, _HUGE, MOST_KEPT = 1 << 17, 1 << 22, 1 << 28
#: No memory has as many bytes.
_FARTHEST = 1 << 60

# In front of a block lie, in i64, what was asked for, its capacity, and what malloc gave.
_TEXT = """
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @memcpy(ptr, ptr, i64)
@tj_kept_bytes = global i64 0

define internal void @tj_drop(ptr %block) {
  %at = getelementptr i64, ptr %block, i64 -1
  %raw = load ptr, ptr %at
  call void @free(ptr %raw)
  ret void
}

define internal ptr @tj_out_of(ptr %place) {
  %block = atomicrmw xchg ptr %place, ptr null acq_rel
  %none = icmp eq ptr %block, null
  br i1 %none, label %empty, label %found
found:
  %at = getelementptr i64, ptr %block, i64 -2
  %capacity = load i64, ptr %at
  %before = atomicrmw sub ptr @tj_kept_bytes, i64 %capacity acq_rel
  ret ptr %block
empty:
  ret ptr null
}

define ptr @tj_take(ptr %place, i64 %n) {
  %small = icmp ult i64 %n, LEAST
  br i1 %small, label %new, label %look
look:
  %held = call ptr @tj_out_of(ptr %place)
  %none = icmp eq ptr %held, null
  br i1 %none, label %new, label %measure
measure:
  %held_asked = getelementptr i64, ptr %held, i64 -3
  %held_capacity = getelementptr i64, ptr %held, i64 -2
  %has = load i64, ptr %held_capacity
  %fits = icmp uge i64 %has, %n
  br i1 %fits, label %use, label %drop
use:
  store i64 %n, ptr %held_asked
  ret ptr %held
drop:
  call void @tj_drop(ptr %held)
  br label %new
new:
  %room = add i64 %n, 128
  %raw = call ptr @malloc(i64 %room)
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %nothing, label %made
made:
  %address = ptrtoint ptr %raw to i64
  %beyond = add i64 %address, 127
  %aligned = and i64 %beyond, -64
  %block = inttoptr i64 %aligned to ptr
  %asked_at = getelementptr i64, ptr %block, i64 -3
  %capacity_at = getelementptr i64, ptr %block, i64 -2
  %raw_at = getelementptr i64, ptr %block, i64 -1
  store i64 %n, ptr %asked_at
  store i64 %n, ptr %capacity_at
  store ptr %raw, ptr %raw_at
  %huge = icmp uge i64 %n, HUGE
  br i1 %huge, label %advise, label %ready
advise:
  %last = add i64 %address, 4095
  %page = and i64 %last, -4096
  %skipped = sub i64 %page, %address
  %length = sub i64 %room, %skipped
  call void @tj_advise(i64 %page, i64 %length)
  br label %ready
ready:
  ret ptr %block
nothing:
  ret ptr null
}

define void @tj_give(ptr %place, ptr %block) {
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %measure
measure:
  %asked_at = getelementptr i64, ptr %block, i64 -3
  %capacity_at = getelementptr i64, ptr %block, i64 -2
  %asked = load i64, ptr %asked_at
  %capacity = load i64, ptr %capacity_at
  %small = icmp ult i64 %capacity, LEAST
  %quarter = lshr i64 %capacity, 2
  %wasteful = icmp ult i64 %asked, %quarter
  %either = or i1 %small, %wasteful
  br i1 %either, label %drop, label %count
count:
  %before = atomicrmw add ptr @tj_kept_bytes, i64 %capacity acq_rel
  %after = add i64 %before, %capacity
  %too_many = icmp ugt i64 %after, MOST
  br i1 %too_many, label %uncount, label %keep
uncount:
  %again = atomicrmw sub ptr @tj_kept_bytes, i64 %capacity acq_rel
  br label %drop
drop:
  call void @tj_drop(ptr %block)
  br label %done
keep:
  %old = atomicrmw xchg ptr %place, ptr %block acq_rel
  %alone = icmp eq ptr %old, null
  br i1 %alone, label %done, label %evict
evict:
  %old_capacity_at = getelementptr i64, ptr %old, i64 -2
  %old_capacity = load i64, ptr %old_capacity_at
  %less = atomicrmw sub ptr @tj_kept_bytes, i64 %old_capacity acq_rel
  call void @tj_drop(ptr %old)
  br label %done
done:
  ret void
}

define ptr @tj_grow(ptr %place, ptr %cell, i64 %n) {
  %room = getelementptr i64, ptr %cell, i64 1
  %has = load i64, ptr %room
  %twice = shl i64 %has, 1
  %more = icmp ugt i64 %twice, %n
  %amount = select i1 %more, i64 %twice, i64 %n
  %block = call ptr @tj_take(ptr %place, i64 %amount)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %done, label %made
made:
  ; How much of it will be used is not known.
  %asked_at = getelementptr i64, ptr %block, i64 -3
  %capacity_at = getelementptr i64, ptr %block, i64 -2
  %capacity = load i64, ptr %capacity_at
  store i64 %capacity, ptr %asked_at
  %old = load ptr, ptr %cell
  call void @tj_give(ptr %place, ptr %old)
  store ptr %block, ptr %cell
  store i64 %capacity, ptr %room
  br label %done
done:
  ret ptr %block
}

; A kept block may be far larger than what is asked for. The capacity that a cell is told of still
; only doubles, so that it says within a factor of two how much was used.
define ptr @tj_extend(ptr %place, ptr %cell, i64 %used, i64 %n) {
  %far = icmp ugt i64 %n, FARTHEST
  br i1 %far, label %nothing, label %begin
begin:
  %room_at = getelementptr i64, ptr %cell, i64 1
  %block_at = getelementptr i64, ptr %cell, i64 2
  %has = load i64, ptr %room_at
  %twice = shl i64 %has, 1
  %more = icmp ugt i64 %twice, %n
  %double = select i1 %more, i64 %twice, i64 %n
  %tiny = icmp ult i64 %double, 4096
  %amount = select i1 %tiny, i64 4096, i64 %double
  %old = load ptr, ptr %block_at
  %none = icmp eq ptr %old, null
  br i1 %none, label %new, label %look
look:
  %old_asked_at = getelementptr i64, ptr %old, i64 -3
  %old_capacity_at = getelementptr i64, ptr %old, i64 -2
  %old_capacity = load i64, ptr %old_capacity_at
  %fits = icmp uge i64 %old_capacity, %n
  br i1 %fits, label %widen, label %new
widen:
  %less = icmp ult i64 %amount, %old_capacity
  %wider = select i1 %less, i64 %amount, i64 %old_capacity
  store i64 %wider, ptr %old_asked_at
  store i64 %wider, ptr %room_at
  ret ptr %old
new:
  %block = call ptr @tj_take(ptr %place, i64 %amount)
  %failed = icmp eq ptr %block, null
  br i1 %failed, label %nothing, label %made
made:
  %memory = load ptr, ptr %cell
  %copied = call ptr @memcpy(ptr %block, ptr %memory, i64 %used)
  store ptr %block, ptr %cell
  store i64 %amount, ptr %room_at
  store ptr %block, ptr %block_at
  br i1 %none, label %done, label %drop
drop:
  call void @tj_drop(ptr %old)
  br label %done
done:
  ret ptr %block
nothing:
  ret ptr null
}

define void @tj_empty(ptr %place) {
  %block = call ptr @tj_out_of(ptr %place)
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %drop
drop:
  call void @tj_drop(ptr %block)
  br label %done
done:
  ret void
}
"""

#: Asks for huge pages; 14 is Linux's MADV_HUGEPAGE. A refusal changes nothing.
_ADVISE = """
declare i32 @madvise(ptr, i64, i32)
define internal void @tj_advise(i64 %page, i64 %length) {
  %from = inttoptr i64 %page to ptr
  %ignored = call i32 @madvise(ptr %from, i64 %length, i32 14)
  ret void
}
"""
_NO_ADVICE = "define internal void @tj_advise(i64 %page, i64 %length) {\n  ret void\n}\n"


def allocator_text(most_kept: int = MOST_KEPT) -> str:
    """The LLVM text of the functions, of which all places together hold so many bytes at most."""
    text = _TEXT + (_ADVISE if sys.platform == "linux" else _NO_ADVICE)
    numbers = {"LEAST": _LEAST, "HUGE": _HUGE, "MOST": most_kept, "FARTHEST": _FARTHEST}
    for name, number in numbers.items():
        text = text.replace(name, str(number))
    return text


def _compiled() -> Library:
    exports = [*BLOCK_FUNCTIONS, "tj_empty", "tj_kept_bytes"]
    return load_object(object_code(allocator_text(), glue=True), {}, exports)


def block_address(name: str) -> Address:
    """The address of a function of `BLOCK_FUNCTIONS`, compiled once a process.

    Raises KeyError for an unknown one.
    """
    return shared(ALLOCATOR, _compiled).address(name)


def kept_bytes() -> int:
    """How many bytes of blocks are held for later calls now, by all programs of the process."""
    return ctypes.c_int64.from_address(block_address("tj_kept_bytes")).value

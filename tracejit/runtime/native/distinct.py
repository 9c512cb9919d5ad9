"""Native checks that no two of many objects are one: their addresses go into a table, by hash."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tracejit.runtime.native.text import FunctionText

__all__ = ["MOST", "require_distinct"]

#: How many objects are looked at natively: their table is on the stack.
MOST = 512
#: Up to so many are compared pair by pair.
_FEW = 12
#: 2**64 over the golden ratio (Knuth, The Art of Computer Programming, volume 3, 6.4).
_FACTOR = 0x9E3779B97F4A7C15


def require_distinct(text: FunctionText, objects: Sequence[str], miss: str) -> None:
    """Go on only if the objects are pairwise different ones."""
    if len(objects) > _FEW:
        _by_hash(text, objects, miss)
        return
    for a, b in itertools.combinations(objects, 2):
        text.require(text.op(f"icmp ne ptr {a}, {b}"), miss)


def _by_hash(text: FunctionText, objects: Sequence[str], miss: str) -> None:
    """Open addressing with linear probing, in a table that stays three quarters empty."""
    bits = (4 * len(objects) - 1).bit_length()
    given, table = (text.op(f"alloca [{n} x i64]") for n in (len(objects), 1 << bits))
    text.intrinsic("llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    text.do(f"call void @llvm.memset.p0.i64(ptr {table}, i8 0, i64 {8 << bits}, i1 false)")
    for k, obj in enumerate(objects):
        text.do(f"store ptr {obj}, ptr {text.at(given, 8 * k)}")
    before, each, probe, taken, collision, empty, done = (
        text.fresh(hint)
        for hint in ("before", "each", "probe", "taken", "collision", "empty", "done")
    )
    i, next_i, at, next_at = (f"%{text.fresh()}" for _ in range(4))
    text.do(f"br label %{before}")
    text.label(before)
    text.do(f"br label %{each}")
    text.label(each)
    text.do(f"{i} = phi i64 [ 0, %{before} ], [ {next_i}, %{empty} ]")
    address = text.field(text.op(f"getelementptr i64, ptr {given}, i64 {i}"), 0, "i64")
    first = text.op(f"lshr i64 {text.op(f'mul i64 {address}, {_signed(_FACTOR)}')}, {64 - bits}")
    text.do(f"br label %{probe}")
    text.label(probe)
    text.do(f"{at} = phi i64 [ {first}, %{each} ], [ {next_at}, %{collision} ]")
    place = text.op(f"getelementptr i64, ptr {table}, i64 {at}")
    held = text.field(place, 0, "i64")
    text.do(f"br i1 {text.op(f'icmp eq i64 {held}, 0')}, label %{empty}, label %{taken}")
    text.label(taken)
    text.do(f"br i1 {text.op(f'icmp eq i64 {held}, {address}')}, label %{miss}, label %{collision}")
    text.label(collision)
    further = text.op(f"add i64 {at}, 1")
    text.do(f"{next_at} = and i64 {further}, {(1 << bits) - 1}")
    text.do(f"br label %{probe}")
    text.label(empty)
    text.do(f"store i64 {address}, ptr {place}")
    text.do(f"{next_i} = add i64 {i}, 1")
    more = text.op(f"icmp slt i64 {next_i}, {len(objects)}")
    text.do(f"br i1 {more}, label %{each}, label %{done}")
    text.label(done)


def _signed(word: int) -> int:
    return word - (1 << 64)

"""Sorts of bytes by counting: the values themselves, and the places that sort them."""

from __future__ import annotations

from tracejit.codegen.llvm.text import Module

__all__ = ["place_bytes", "sort_bytes"]

#: Bytes in the order of what they are with `%flip`, the sign of signed ones, reversed.
_BYTES = """
define internal void @tj_sort_bytes(ptr %line, i64 %n, i8 %flip) {
entry:
  %counts = alloca [256 x i64]
  call void @llvm.memset.p0.i64(ptr %counts, i8 0, i64 2048, i1 false)
  br label %count
count:
  %i = phi i64 [ 0, %entry ], [ %i.next, %count ]
  %place = getelementptr i8, ptr %line, i64 %i
  %x = load i8, ptr %place
  %key = xor i8 %x, %flip
  %wide = zext i8 %key to i64
  %counter = getelementptr i64, ptr %counts, i64 %wide
  %old = load i64, ptr %counter
  %new = add i64 %old, 1
  store i64 %new, ptr %counter
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, %n
  br i1 %i.more, label %count, label %write
write:
  %k = phi i64 [ 0, %count ], [ %k.next, %write ]
  %at = phi i64 [ 0, %count ], [ %at.next, %write ]
  %found = getelementptr i64, ptr %counts, i64 %k
  %length = load i64, ptr %found
  %narrow = trunc i64 %k to i8
  %value = xor i8 %narrow, %flip
  %target = getelementptr i8, ptr %line, i64 %at
  call void @llvm.memset.p0.i64(ptr %target, i8 %value, i64 %length, i1 false)
  %at.next = add i64 %at, %length
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, 256
  br i1 %k.more, label %write, label %done
done:
  ret void
}
"""
#: The line is four parts, each with counters of its own: equal bytes in a row do not wait for each
#: other. A counter becomes the place of the next such byte of its part.
_PARTS = 4
_PLACES = """
define internal void @tj_place_bytes(ptr %line, ptr %places, i64 %n, i8 %flip) {{
entry:
  %counts = alloca [{counters} x i64]
  call void @llvm.memset.p0.i64(ptr %counts, i8 0, i64 {size}, i1 false)
  %part = udiv i64 %n, {parts}
  br label %count
count:
  %i = phi i64 [ 0, %entry ], [ %i.next, %count ]
{count}
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, %part
  br i1 %i.more, label %count, label %counted
counted:
  %whole = mul i64 %part, {parts}
  %left = icmp slt i64 %whole, %n
  br i1 %left, label %rest, label %sum
rest:
  %r = phi i64 [ %whole, %counted ], [ %r.next, %rest ]
{rest}
  %r.next = add i64 %r, 1
  %r.more = icmp slt i64 %r.next, %n
  br i1 %r.more, label %rest, label %sum
sum:
  %k = phi i64 [ 0, %counted ], [ 0, %rest ], [ %k.next, %sum ]
  %at = phi i64 [ 0, %counted ], [ 0, %rest ], [ %at.{parts}, %sum ]
  %at.0 = add i64 %at, 0
{sum}
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, 256
  br i1 %k.more, label %sum, label %place
place:
  %j = phi i64 [ 0, %sum ], [ %j.next, %place ]
{place}
  %j.next = add i64 %j, 1
  %j.more = icmp slt i64 %j.next, %part
  br i1 %j.more, label %place, label %placed
placed:
  br i1 %left, label %last, label %done
last:
  %l = phi i64 [ %whole, %placed ], [ %l.next, %last ]
{last}
  %l.next = add i64 %l, 1
  %l.more = icmp slt i64 %l.next, %n
  br i1 %l.more, label %last, label %done
done:
  ret void
}}
"""
#: The counter of the byte at a position of a part, what it holds, and one more.
_COUNTER = """
  %{x}.byte.at = getelementptr i8, ptr %line, i64 {position}
  %{x}.byte = load i8, ptr %{x}.byte.at
  %{x}.key = xor i8 %{x}.byte, %flip
  %{x}.wide = zext i8 %{x}.key to i64
  %{x}.at = getelementptr [256 x i64], ptr %counts, i64 {part}, i64 %{x}.wide
  %{x}.old = load i64, ptr %{x}.at
  %{x}.new = add i64 %{x}.old, 1
  store i64 %{x}.new, ptr %{x}.at
"""
_SUM = """
  %s{k}.at = getelementptr [256 x i64], ptr %counts, i64 {k}, i64 %k
  %s{k} = load i64, ptr %s{k}.at
  store i64 %at.{k}, ptr %s{k}.at
  %at.{next} = add i64 %at.{k}, %s{k}
"""


def sort_bytes(module: Module) -> str:
    """The function that sorts a line of bytes where it lies."""
    _declare(module)
    return module.helper("tj_sort_bytes", lambda: module.add_function("tj_sort_bytes", _BYTES))


def place_bytes(module: Module) -> str:
    """The function that writes the places which sort a line of bytes, those of equal ones in order;
    there are at least as many as parts.
    """
    _declare(module)
    return module.helper("tj_place_bytes", lambda: module.add_function("tj_place_bytes", _text()))


def _declare(module: Module) -> None:
    module.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])


def _text() -> str:
    def each(name: str, index: str, stores: bool) -> str:
        """What is done at the position of the same number in each part."""
        lines = []
        for k in range(_PARTS):
            lines.append(f"  %{name}{k}.first = mul i64 %part, {k}")
            lines.append(f"  %{name}{k}.position = add i64 %{name}{k}.first, {index}")
            lines.append(one(f"{name}{k}", f"%{name}{k}.position", k, stores))
        return "\n".join(lines)

    def one(name: str, position: str, part: int, stores: bool) -> str:
        text = _COUNTER.format(x=name, position=position, part=part)
        if stores:
            text += f"  %{name}.target = getelementptr i64, ptr %places, i64 %{name}.old\n"
            text += f"  store i64 {position}, ptr %{name}.target\n"
        return text

    return _PLACES.format(
        parts=_PARTS,
        counters=256 * _PARTS,
        size=256 * 8 * _PARTS,
        count=each("c", "%i", False),
        rest=one("r0", "%r", _PARTS - 1, False),
        sum="".join(_SUM.format(k=k, next=k + 1) for k in range(_PARTS)),
        place=each("p", "%j", True),
        last=one("l0", "%l", _PARTS - 1, True),
    )

"""NumPy's own C functions that draw random numbers, and where streams keep what these take.

A distribution is `double f(ptr bits, double...)`: `bits` is NumPy's `bitgen_t`, a pointer to a
state and four functions that advance it, of which every stream has a copy. Where streams lie
otherwise than is known here, or NumPy's functions are not to be found, there is no address, and
numbers are drawn by calls of Python.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.base.locks import once
from tracejit.link.random_functions import bits_of

__all__ = [
    "CLASS_FLAGS",
    "CLASS_SIZE",
    "TEXTS",
    "bits_offset",
    "gauss_offset",
    "seeding_origin",
    "stream_parts",
]

#: Where CPython's classes keep the size of their objects, and their flags.
CLASS_SIZE, CLASS_FLAGS = 32, 168
_WORD = 8

#: What `np.random.RandomState` draws by, which NumPy keeps to itself. `%gauss` is the pointer to
#: the `bitgen_t`, then whether there is a number left over from a pair, then that.
TEXTS = {
    "tj_legacy_gauss": """
define internal double @tj_legacy_gauss(ptr %gauss) {
entry:
  %has = getelementptr i8, ptr %gauss, i64 8
  %kept = getelementptr i8, ptr %gauss, i64 16
  %bits = load ptr, ptr %gauss
  %state = load ptr, ptr %bits
  %next.at = getelementptr i8, ptr %bits, i64 24
  %next = load ptr, ptr %next.at
  %left = load i32, ptr %has
  %is.left = icmp ne i32 %left, 0
  br i1 %is.left, label %old, label %again
old:
  %second = load double, ptr %kept
  store i32 0, ptr %has
  store double 0.0, ptr %kept
  ret double %second
again:
  %u = call double %next(ptr %state)
  %u2 = fmul double %u, 2.0
  %x = fsub double %u2, 1.0
  %v = call double %next(ptr %state)
  %v2 = fmul double %v, 2.0
  %y = fsub double %v2, 1.0
  %xx = fmul double %x, %x
  %yy = fmul double %y, %y
  %r = fadd double %xx, %yy
  %inside = fcmp olt double %r, 1.0
  %other = fcmp one double %r, 0.0
  %good = and i1 %inside, %other
  br i1 %good, label %new, label %again
new:
  %log = call double @log(double %r)
  %log2 = fmul double %log, -2.0
  %ratio = fdiv double %log2, %r
  %f = call double @llvm.sqrt.f64(double %ratio)
  %fx = fmul double %f, %x
  store double %fx, ptr %kept
  store i32 1, ptr %has
  %fy = fmul double %f, %y
  ret double %fy
}
""",
    "tj_legacy_normal": """
define internal double @tj_legacy_normal(ptr %gauss, double %mean, double %deviation) {
  %x = call double @tj_legacy_gauss(ptr %gauss)
  %wide = fmul double %x, %deviation
  %out = fadd double %mean, %wide
  ret double %out
}
""",
    "tj_legacy_exponential": """
define internal double @tj_legacy_exponential(ptr %bits, double %scale) {
  %u = call double @random_standard_uniform(ptr %bits)
  %v = fsub double 1.0, %u
  %log = call double @log(double %v)
  %x = fneg double %log
  %out = fmul double %scale, %x
  ret double %out
}
""",
}


#: `RandomState.seed` of 32 bits: `%words` are those of the Mersenne Twister, with the place of the
#: next one behind them. What its bit generator was made from is forgotten.
_SEED = """
define internal void @tj_legacy_seed(ptr %gauss, ptr %origin, ptr %words, i64 %seed) {
entry:
  %gil = call i32 @PyGILState_Ensure()
  %old = load ptr, ptr %origin
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  store ptr @_Py_NoneStruct, ptr %origin
  call void @Py_DecRef(ptr %old)
  call void @PyGILState_Release(i32 %gil)
  %has = getelementptr i8, ptr %gauss, i64 8
  %kept = getelementptr i8, ptr %gauss, i64 16
  store i32 0, ptr %has
  store double 0.0, ptr %kept
  %first = trunc i64 %seed to i32
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %x = phi i32 [ %first, %entry ], [ %new, %loop ]
  %at = getelementptr i32, ptr %words, i64 %i
  store i32 %x, ptr %at
  %far = lshr i32 %x, 30
  %mixed = xor i32 %x, %far
  %wide = mul i32 %mixed, 1812433253
  %next = add i64 %i, 1
  %low = trunc i64 %next to i32
  %new = add i32 %wide, %low
  %more = icmp ult i64 %next, 624
  br i1 %more, label %loop, label %done
done:
  %place = getelementptr i32, ptr %words, i64 624
  store i32 624, ptr %place
  ret void
}
"""
TEXTS["tj_legacy_seed"] = _SEED


def _words(obj: Any) -> Sequence[int]:
    size: int = type(obj).__basicsize__
    return list((ctypes.c_uint64 * (size // _WORD)).from_address(id(obj)))


def _place(words: Sequence[int], wanted: Sequence[int]) -> int | None:
    """Where in an object these words are, in bytes; None unless there is one such place."""
    count = len(wanted)
    found = [k for k in range(len(words) - count + 1) if words[k : k + count] == list(wanted)]
    return found[0] * _WORD if len(found) == 1 else None


@lru_cache(maxsize=2)
def bits_offset(cls: str) -> int | None:
    """Where a Generator or RandomState keeps its `bitgen_t`, in bytes."""
    stream: Any = np.random.default_rng(0) if cls == "Generator" else np.random.RandomState(0)
    owner = stream.bit_generator if cls == "Generator" else stream._bit_generator
    return _place(_words(stream), bits_of(owner))


@once
def seeding_origin() -> int | None:
    """Where an MT19937 keeps what it was made from.

    None unless the words lie as is known here: 624 of 32 bits, then the place of the next.
    """
    made: Any = np.random.MT19937(1)
    state = bits_of(made)[0]
    words = list((ctypes.c_uint32 * 625).from_address(state))
    kept: Any = made.state["state"]
    origin = _place(_words(made), [id(made.seed_seq)])
    if origin is None or words != [*kept["key"].tolist(), kept["pos"]]:
        return None
    return origin


@lru_cache(maxsize=4)
def stream_parts(cls: str) -> tuple[int, int, int] | None:
    """Where a Generator or RandomState keeps its `bitgen_t`, its bit generator and the lock.

    None for other classes, and where that or the size of a class's objects is not to be found.
    """
    if cls not in ("Generator", "RandomState"):
        return None
    stream: Any = np.random.default_rng(0) if cls == "Generator" else np.random.RandomState(0)
    owner = stream.bit_generator if cls == "Generator" else stream._bit_generator
    words = _words(stream)
    places = bits_offset(cls), _place(words, [id(owner)]), _place(words, [id(owner.lock)])
    cls_at: Any = type(owner)
    size = ctypes.c_int64.from_address(id(cls_at) + CLASS_SIZE).value
    flags = ctypes.c_uint64.from_address(id(cls_at) + CLASS_FLAGS).value
    if None in places or (size, flags) != (cls_at.__basicsize__, cls_at.__flags__):
        return None
    return places  # type: ignore[return-value]


@once
def gauss_offset() -> int | None:
    """Where a RandomState keeps the number that is left over from a pair of normal ones."""
    stream = np.random.RandomState(0)
    bits = bits_offset("RandomState")
    at = None if bits is None else _place(_words(stream), [id(stream) + bits])
    if at is None:
        return None
    stream.standard_normal()
    state: Any = stream.get_state(legacy=False)
    has = ctypes.c_int.from_address(id(stream) + at + 8).value
    kept = ctypes.c_double.from_address(id(stream) + at + 16).value
    return at if has == 1 == state["has_gauss"] and kept == state["gauss"] else None

"""Streams of random numbers that belong to a run while it lasts, by machine code.

Before its first draw from a Generator or RandomState the run takes its lock, as NumPy does, and
copies the state of its bit generator, which lies at the end of that object; a run that bails out
copies it back. Python's `Random` is copied, too. That is so in programs that draw from one stream:
of several, two may share a state, and then it matters which was begun first. Those, and all others,
go by `rng_state.py`.
"""

from __future__ import annotations

from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.exits import call_python
from tracejit.codegen.program.random.rng_state import begin_draws, emit_drawn_word
from tracejit.codegen.support.random_functions import (
    CLASS_FLAGS,
    CLASS_SIZE,
    gauss_offset,
    stream_parts,
)
from tracejit.ir.graph import Node, Value
from tracejit.link.addresses import address_of
from tracejit.link.finding import python_address
from tracejit.ops.host.random import DRAWN, MODULES, HostDraw, module_stream

__all__ = ["emit_begin", "emit_give_back", "emit_release", "is_claimed", "stream_of"]

_STATE_BYTES = 2560
#: The place of a claim: whether it is made, the lock, the state and its length, what a RandomState
#: has besides it and 16 bytes of that, then the bytes of the state. In place of the lock
#: Python's `Random` has itself there, and then the second of two normal numbers.
_HEAD_BYTES = 56
_TWISTER_BYTES = 2500
#: Where CPython's classes keep the size of their objects and their flags, and that of classes made
#: by a class statement, whose objects hold more than a state.
_NUMBERS = {
    "STATE_BYTES": _STATE_BYTES,
    "TWISTER_BYTES": _TWISTER_BYTES,
    "HEAD_BYTES": _HEAD_BYTES,
    "SIZE": CLASS_SIZE,
    "FLAGS": CLASS_FLAGS,
    "HEAP": 1 << 9,
}

_API = {
    "PyGILState_Ensure": ("i32", []),
    "PyGILState_Release": ("void", ["i32"]),
    "Py_DecRef": ("void", ["ptr"]),
    "PyErr_Clear": ("void", []),
    "PyObject_GetAttr": ("ptr", ["ptr", "ptr"]),
    "PyObject_SetAttr": ("i32", ["ptr", "ptr", "ptr"]),
    "PyObject_CallMethodObjArgs": ("ptr", ["ptr", "ptr", "..."]),
}
_CLAIM = """
define internal i64 @tj_claim(ptr %place, i64 %stream, i64 %bits.at, i64 %owner.at, i64 %lock.at, i64 %extra.at) {
entry:
  %object = inttoptr i64 %stream to ptr
  %owner.place = getelementptr i8, ptr %object, i64 %owner.at
  %owner = load ptr, ptr %owner.place
  %type.place = getelementptr i8, ptr %owner, i64 8
  %type = load ptr, ptr %type.place
  %flags.place = getelementptr i8, ptr %type, i64 FLAGS
  %flags = load i64, ptr %flags.place
  %heap = and i64 %flags, HEAP
  %static = icmp eq i64 %heap, 0
  %size.place = getelementptr i8, ptr %type, i64 SIZE
  %size = load i64, ptr %size.place
  %bits = getelementptr i8, ptr %object, i64 %bits.at
  %state = load ptr, ptr %bits
  %first = ptrtoint ptr %owner to i64
  %begin = ptrtoint ptr %state to i64
  %end = add i64 %first, %size
  %length = sub i64 %end, %begin
  %behind = icmp ugt i64 %begin, %first
  %some = icmp sgt i64 %length, 0
  %fits = icmp sle i64 %length, STATE_BYTES
  %both = and i1 %behind, %some
  %whole = and i1 %both, %fits
  %usual = and i1 %whole, %static
  br i1 %usual, label %try, label %other
other:
  ret i64 2
try:
  %lock.place = getelementptr i8, ptr %object, i64 %lock.at
  %lock = load ptr, ptr %lock.place
  %gil = call i32 @PyGILState_Ensure()
  %result = call ptr (ptr, ptr, ...) @PyObject_CallMethodObjArgs(ptr %lock, ptr @tj_acquire, ptr @_Py_FalseStruct, ptr null)
  call void @PyErr_Clear()
  call void @Py_DecRef(ptr %result)
  call void @PyGILState_Release(i32 %gil)
  %got = icmp eq ptr %result, @_Py_TrueStruct
  br i1 %got, label %save, label %busy
busy:
  ret i64 1
save:
  %s1 = getelementptr i8, ptr %place, i64 8
  store ptr %lock, ptr %s1
  %s2 = getelementptr i8, ptr %place, i64 16
  store ptr %state, ptr %s2
  %s3 = getelementptr i8, ptr %place, i64 24
  store i64 %length, ptr %s3
  %s4 = getelementptr i8, ptr %place, i64 32
  %s5 = getelementptr i8, ptr %place, i64 40
  %s7 = getelementptr i8, ptr %place, i64 HEAD_BYTES
  call ptr @memcpy(ptr %s7, ptr %state, i64 %length)
  store i64 1, ptr %place
  store ptr null, ptr %s4
  %more = icmp ne i64 %extra.at, 0
  br i1 %more, label %extra, label %done
extra:
  %extra.place = getelementptr i8, ptr %object, i64 %extra.at
  store ptr %extra.place, ptr %s4
  call ptr @memcpy(ptr %s5, ptr %extra.place, i64 16)
  br label %done
done:
  ret i64 0
}
"""  # noqa: E501
#: Python's `Random` has no lock; the second of two normal numbers is an attribute of it.
_CLAIM_TWISTER = """
define internal i64 @tj_claim(ptr %place, i64 %stream, i64 %at) {
entry:
  %object = inttoptr i64 %stream to ptr
  %state = getelementptr i8, ptr %object, i64 %at
  %gil = call i32 @PyGILState_Ensure()
  %kept = call ptr @PyObject_GetAttr(ptr %object, ptr @tj_gauss_next)
  %raised = icmp eq ptr %kept, null
  br i1 %raised, label %clear, label %save
clear:
  call void @PyErr_Clear()
  call void @PyGILState_Release(i32 %gil)
  ret i64 2
save:
  call void @PyGILState_Release(i32 %gil)
  %s1 = getelementptr i8, ptr %place, i64 8
  store ptr %object, ptr %s1
  %s2 = getelementptr i8, ptr %place, i64 16
  store ptr %state, ptr %s2
  %s3 = getelementptr i8, ptr %place, i64 24
  store i64 TWISTER_BYTES, ptr %s3
  %s4 = getelementptr i8, ptr %place, i64 32
  store ptr %kept, ptr %s4
  %s7 = getelementptr i8, ptr %place, i64 HEAD_BYTES
  call ptr @memcpy(ptr %s7, ptr %state, i64 TWISTER_BYTES)
  store i64 1, ptr %place
  ret i64 0
}
"""
#: What is done where there is a claim.
_WHERE_CLAIMED = """
define internal void @NAME(ptr %place) {
entry:
  %claimed = load i64, ptr %place
  %is = icmp ne i64 %claimed, 0
  br i1 %is, label %begin, label %done
begin:
  %s1 = getelementptr i8, ptr %place, i64 8
  %owner = load ptr, ptr %s1
  %s4 = getelementptr i8, ptr %place, i64 32
  %rest = load ptr, ptr %s4
BODY
  br label %done
done:
  ret void
}
"""
_COPY_BACK = """
  %s2 = getelementptr i8, ptr %place, i64 16
  %state = load ptr, ptr %s2
  %s3 = getelementptr i8, ptr %place, i64 24
  %length = load i64, ptr %s3
  %s7 = getelementptr i8, ptr %place, i64 HEAD_BYTES
  call ptr @memcpy(ptr %state, ptr %s7, i64 %length)
"""
_COPY_REST_BACK = """
  %none = icmp eq ptr %rest, null
  br i1 %none, label %done, label %more
more:
  %s5 = getelementptr i8, ptr %place, i64 40
  call ptr @memcpy(ptr %rest, ptr %s5, i64 16)
"""
_SET_KEPT = """
  %gil = call i32 @PyGILState_Ensure()
  %set = call i32 @PyObject_SetAttr(ptr %owner, ptr @tj_gauss_next, ptr %rest)
  call void @PyGILState_Release(i32 %gil)
"""
_UNLOCK = """
  %result = call ptr (ptr, ptr, ...) @PyObject_CallMethodObjArgs(ptr %owner, ptr @tj_release, ptr null)
  call void @PyErr_Clear()
  call void @Py_DecRef(ptr %result)
"""  # noqa: E501
_DROP_KEPT = """
  call void @Py_DecRef(ptr %rest)
"""
_RELEASE = """
  store i64 0, ptr %place
  %gil = call i32 @PyGILState_Ensure()
FREE
  call void @PyGILState_Release(i32 %gil)
"""


def stream_of(e: ProgramContext, node: Node) -> tuple[Value | str, str, str]:
    """What tells a draw's stream from others, the register of its address, and its class."""
    kind = node.attrs["arguments"][0][1]
    if kind in MODULES:
        stream, name = module_stream(kind), f"tj_stream_{MODULES.index(kind)}"
        e.module.add_global(name, "external global i8")
        e.symbols[name] = address_of(stream)
        e.keep.append(stream)
        return kind, f"ptrtoint (ptr @{name} to i64)", type(stream).__name__
    (address,) = e.registers(e.scalars[node.inputs[1]])
    return node.inputs[1], address, kind


def is_claimed(e: ProgramContext, cls: str) -> bool:
    """Whether the program takes its one stream, which is of the class `cls`, by machine code."""
    if e.streams is None:
        draws = [
            node.attrs["arguments"][0][1]
            if node.attrs["arguments"][0][1] in MODULES
            else node.inputs[1]
            for _, node in e.graph.nodes()
            if isinstance(node.op, HostDraw) and node.attrs["function"] == DRAWN
        ]
        e.streams = len(set(draws))
    return e.streams == 1 and _parts(cls) is not None


def _parts(cls: str) -> tuple[int, ...] | None:
    """What `tj_claim` takes to find the parts of a stream; None where they are not known."""

    from tracejit.codegen.support.mersenne_twister import twister_offset

    if cls == "Random":
        at = twister_offset()
        return None if at is None else (at,)
    parts = stream_parts(cls)
    if parts is None:
        return None
    extra = gauss_offset() if cls == "RandomState" else None
    return (*parts, 0 if extra is None else extra + 8)


def emit_begin(e: ProgramContext, key: Value | str, address: str, cls: str) -> None:
    """Let a stream belong to the run from here on, if it does not yet."""
    fb = e.fb
    if key not in e.begun:
        e.begun[key] = fb.alloca("i64", 8, "0")
    begun = e.begun[key]

    def begin() -> tuple[str, ...]:
        if is_claimed(e, cls):
            status = _claim(e, address, cls)
            fb.check(fb.emit(f"icmp eq i64 {status}, 1"))
            fb.if_then(fb.emit(f"icmp eq i64 {status}, 2"), (), by_python)
        else:
            by_python()
        fb.line(f"store i64 {address}, ptr {begun}")
        return ()

    def by_python() -> tuple[str, ...]:
        call_python(e, begin_draws, fb.emit(f"ptrtoint ptr {emit_drawn_word(e)} to i64"), address)
        return ()

    known = fb.emit(f"load i64, ptr {begun}")
    fb.if_then(fb.emit(f"icmp ne i64 {known}, {address}"), (), begin, unlikely=True)


def _claim(e: ProgramContext, address: str, cls: str) -> str:
    parts = _parts(cls)
    assert parts is not None
    if e.claim is None:
        words = (_HEAD_BYTES + _STATE_BYTES) // 8
        e.claim, e.claims_python = e.fb.alloca(f"[{words} x i64]", 8), cls == "Random"
        e.fb.clear_at_entry(e.claim)
    for name, (result, parameters) in _API.items():
        e.module.declare(name, result, parameters)
        e.symbols[name] = python_address(name)
    e.declare("memcpy", "ptr", ["ptr", "ptr", "i64"])
    for name, obj in (
        ("tj_acquire", "acquire"),
        ("tj_release", "release"),
        ("tj_gauss_next", "gauss_next"),
        ("_Py_TrueStruct", True),
        ("_Py_FalseStruct", False),
    ):
        e.module.add_global(name, "external global i8")
        e.symbols[name] = address_of(obj)
        e.keep.append(obj)
    given = ", ".join(f"i64 {x}" for x in (address, *parts))
    claim = _helper(e, "tj_claim", _CLAIM_TWISTER if e.claims_python else _CLAIM)
    return e.fb.emit(f"call i64 {claim}(ptr {e.claim}, {given})")


def _helper(e: ProgramContext, name: str, text: str) -> str:
    for word, number in _NUMBERS.items():
        text = text.replace(word, str(number))
    return e.module.helper(name, lambda: e.module.add_function(name, text))


def _where_claimed(e: ProgramContext, name: str, body: str) -> None:
    helper = _helper(e, name, _WHERE_CLAIMED.replace("NAME", name).replace("BODY", body))
    e.fb.line(f"call void {helper}(ptr {e.claim})")


def emit_give_back(e: ProgramContext) -> None:
    """Where the run bails out: as if nothing had been drawn."""
    if e.claim is not None:
        rest = _SET_KEPT if e.claims_python else _COPY_REST_BACK
        _where_claimed(e, "tj_give_state_back", _COPY_BACK + rest)


def emit_release(e: ProgramContext) -> None:
    """Before the program returns in whatever way."""
    if e.claim is not None:
        free = _DROP_KEPT if e.claims_python else _UNLOCK
        _where_claimed(e, "tj_release_stream", _RELEASE.replace("FREE", free))

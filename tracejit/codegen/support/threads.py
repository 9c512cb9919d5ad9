"""The process's pool of threads: loops of kernels run by several, on Linux.

`void tj_parallel(ptr body, ptr context, i64 n, i64 align, i64 threads)`
    Runs `body(context, lo, hi)` for parts of range(n) that together are all of it, by the caller
    and at most `threads - 1` workers. Every part but the last ends at a multiple of `align`.

Workers are started by the first job that wants them and kept; they wait in a futex after a short
spin. Parts are claimed from a counter that all add to, so that whoever has time does the work: a
caller whose workers do not wake does it all. A caller that finds the pool busy, from another thread
or from inside a part, runs the loop itself. Where no worker came, since the CPUs are busy, up to 63
jobs are done alone before workers are woken again. A child of `fork` has no workers, and starts its
own.

A job is open while its state says so. The state is one word: how many workers are in the job (12
bits), how many may be (12 bits), and whether it is open. A worker enters by exchanging that word,
hence never enters a job that is over; the caller closes the job and waits for those inside.
"""

from __future__ import annotations

import platform
import sys
from typing import Any

from tracejit.codegen.llvm.engine import Library, load_object, object_code
from tracejit.link.addresses import Address
from tracejit.link.finding import c_address
from tracejit.link.shared import After, forget_in_child, shared

__all__ = ["no_pool", "pool_address", "pool_text"]

#: Parts for each thread; pauses before a futex; and the bits of the state.
_PARTS, _SPINS, _MANY, _OPEN = 8, 100, 4095, 1 << 24
#: How many jobs are done alone at most where no worker came.
_ALONE = 63
#: The number of the system call, and the instruction that waits a moment.
_MACHINES = {"x86_64": (202, "pause"), "aarch64": (98, "yield")}
_SYMBOLS = ("syscall", "pthread_create", "pthread_detach", "pthread_sigmask")

_TEXT = """
declare i64 @syscall(i64, ...)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
@busy = internal global i32 0, align 64
@generation = internal global i32 0, align 64
@sleepers = internal global i32 0, align 64
@state = internal global i32 0, align 64
@next = internal global i64 0, align 64
@body = internal global ptr null, align 64
@context = internal global ptr null
@end = internal global i64 0
@step = internal global i64 0
@started = internal global i64 0
@alone = internal global i64 0
@penalty = internal global i64 0

define internal void @futex_wait(ptr %word, i32 %seen) {
  %done = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %word, i32 128, i32 %seen, ptr null)
  ret void
}

define internal void @futex_wake(ptr %word, i32 %many) {
  %done = call i64 (i64, ...) @syscall(i64 FUTEX, ptr %word, i32 129, i32 %many)
  ret void
}

; How many parts this thread has done.
define internal i64 @run_parts() {
entry:
  %body = load ptr, ptr @body
  %context = load ptr, ptr @context
  %end = load i64, ptr @end
  %step = load i64, ptr @step
  br label %claim
claim:
  %done = phi i64 [ 0, %entry ], [ %more, %run ]
  %lo = atomicrmw add ptr @next, i64 %step monotonic
  %any = icmp slt i64 %lo, %end
  br i1 %any, label %run, label %none
run:
  %beyond = add i64 %lo, %step
  %last = icmp sgt i64 %beyond, %end
  %hi = select i1 %last, i64 %end, i64 %beyond
  call void %body(ptr %context, i64 %lo, i64 %hi)
  %more = add i64 %done, 1
  br label %claim
none:
  ret i64 %done
}

define internal ptr @worker(ptr %given) {
entry:
  %first = ptrtoint ptr %given to i64
  %begin = trunc i64 %first to i32
  br label %wait
wait:
  %seen = phi i32 [ %begin, %entry ], [ %current, %again ]
  br label %spin
spin:
  %spun = phi i32 [ 0, %wait ], [ %more, %pause ]
  %early = load atomic i32, ptr @generation acquire, align 4
  %new = icmp ne i32 %early, %seen
  br i1 %new, label %look, label %pause
pause:
  call void asm sideeffect "PAUSE", ""()
  %more = add i32 %spun, 1
  %on = icmp slt i32 %more, SPINS
  br i1 %on, label %spin, label %sleep
sleep:
  %slept = atomicrmw add ptr @sleepers, i32 1 seq_cst
  call void @futex_wait(ptr @generation, i32 %seen)
  %woken = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  %late = load atomic i32, ptr @generation acquire, align 4
  %same = icmp eq i32 %late, %seen
  br i1 %same, label %sleep, label %look
look:
  %current = phi i32 [ %early, %spin ], [ %late, %sleep ]
  %found = load atomic i32, ptr @state acquire, align 4
  br label %try
try:
  %s = phi i32 [ %found, %look ], [ %changed, %enter ]
  %inside = and i32 %s, MANY
  %allowed_here = lshr i32 %s, 12
  %allowed = and i32 %allowed_here, MANY
  %room = icmp ult i32 %inside, %allowed
  %open_bit = and i32 %s, OPEN
  %open = icmp ne i32 %open_bit, 0
  %may = and i1 %room, %open
  br i1 %may, label %enter, label %again
enter:
  %one_more = add i32 %s, 1
  %exchanged = cmpxchg ptr @state, i32 %s, i32 %one_more acq_rel acquire
  %changed = extractvalue { i32, i1 } %exchanged, 0
  %entered = extractvalue { i32, i1 } %exchanged, 1
  br i1 %entered, label %work, label %try
work:
  %mine = call i64 @run_parts()
  %before = atomicrmw sub ptr @state, i32 1 acq_rel
  ; The last one out of a closed job wakes the caller.
  %low = and i32 %before, CLOSING
  %last = icmp eq i32 %low, 1
  br i1 %last, label %tell, label %again
tell:
  call void @futex_wake(ptr @state, i32 1)
  br label %again
again:
  br label %wait
}

define internal void @start(i64 %wanted) {
entry:
  %set = alloca [16 x i64]
  %old = alloca [16 x i64]
  %id = alloca i64
  %have = load i64, ptr @started
  %enough = icmp sge i64 %have, %wanted
  br i1 %enough, label %done, label %block
block:
  ; Signals are the program's own threads' to handle.
  store [16 x i64] [ONES], ptr %set
  %blocked = call i32 @pthread_sigmask(i32 0, ptr %set, ptr %old)
  %g = load i32, ptr @generation
  %wide = zext i32 %g to i64
  %given = inttoptr i64 %wide to ptr
  br label %create
create:
  %k = phi i64 [ %have, %block ], [ %following, %created ]
  %status = call i32 @pthread_create(ptr %id, ptr null, ptr @worker, ptr %given)
  %ok = icmp eq i32 %status, 0
  br i1 %ok, label %created, label %restore
created:
  %thread = load i64, ptr %id
  %detached = call i32 @pthread_detach(i64 %thread)
  %following = add i64 %k, 1
  store i64 %following, ptr @started
  %more = icmp slt i64 %following, %wanted
  br i1 %more, label %create, label %restore
restore:
  %restored = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  br label %done
done:
  ret void
}

define void @tj_parallel(ptr %body, ptr %context, i64 %n, i64 %align, i64 %threads) {
entry:
  %claimed = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %claimed, 1
  br i1 %free, label %consider, label %alone
consider:
  %to_go = load i64, ptr @alone
  %again = icmp eq i64 %to_go, 0
  br i1 %again, label %prepare, label %leave
leave:
  %fewer = sub i64 %to_go, 1
  store i64 %fewer, ptr @alone
  store atomic i32 0, ptr @busy release, align 4
  br label %alone
alone:
  call void %body(ptr %context, i64 0, i64 %n)
  ret void
prepare:
  %over = icmp sgt i64 %threads, MANY
  %limited = select i1 %over, i64 MANY, i64 %threads
  %others = sub i64 %limited, 1
  call void @start(i64 %others)
  %parts = mul i64 %limited, PARTS
  %each = udiv i64 %n, %parts
  %steps = udiv i64 %each, %align
  %one_more = add i64 %steps, 1
  %length = mul i64 %one_more, %align
  store ptr %body, ptr @body
  store ptr %context, ptr @context
  store i64 %n, ptr @end
  store i64 %length, ptr @step
  store i64 0, ptr @next
  %few = trunc i64 %others to i32
  %allowed = shl i32 %few, 12
  %opened = or i32 %allowed, OPEN
  store atomic i32 %opened, ptr @state release, align 4
  %told = atomicrmw add ptr @generation, i32 1 seq_cst
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %any = icmp sgt i32 %asleep, 0
  br i1 %any, label %wake, label %take_part
wake:
  call void @futex_wake(ptr @generation, i32 %few)
  br label %take_part
take_part:
  %mine = call i64 @run_parts()
  %before = atomicrmw and ptr @state, i32 MANY acq_rel
  br label %join
join:
  %spun = phi i32 [ 0, %take_part ], [ %more, %pause ], [ 0, %sleep ]
  %s = load atomic i32, ptr @state acquire, align 4
  %left = icmp eq i32 %s, 0
  br i1 %left, label %finish, label %busy
busy:
  %on = icmp slt i32 %spun, SPINS
  br i1 %on, label %pause, label %sleep
pause:
  call void asm sideeffect "PAUSE", ""()
  %more = add i32 %spun, 1
  br label %join
sleep:
  call void @futex_wait(ptr @state, i32 %s)
  br label %join
finish:
  %covered = mul i64 %mine, %length
  %all = icmp sge i64 %covered, %n
  %old_penalty = load i64, ptr @penalty
  %twice = shl i64 %old_penalty, 1
  %odd = or i64 %twice, 1
  %grown = and i64 %odd, ALONE
  %next_penalty = select i1 %all, i64 %grown, i64 0
  store i64 %next_penalty, ptr @penalty
  store i64 %next_penalty, ptr @alone
  store atomic i32 0, ptr @busy release, align 4
  ret void
}

define void @tj_forget() {
  store i32 0, ptr @sleepers
  store i32 0, ptr @state
  store i64 0, ptr @started
  store i64 0, ptr @alone
  store i32 0, ptr @busy
  ret void
}
"""


def pool_text() -> str:
    """The LLVM text of `tj_parallel`, and of `tj_forget`, for children of a fork."""
    number, pause = _MACHINES[platform.machine()]
    words: dict[str, Any] = {
        "FUTEX": number,
        "PAUSE": pause,
        "SPINS": _SPINS,
        "PARTS": _PARTS,
        "CLOSING": _OPEN | _MANY,
        "MANY": _MANY,
        "OPEN": _OPEN,
        "ALONE": _ALONE,
        "ONES": ", ".join(["i64 -1"] * 16),
    }
    text = _TEXT
    for word, value in words.items():
        text = text.replace(word, str(value))
    return text


def _compiled() -> Library:
    found = {s: c_address(s) for s in _SYMBOLS}
    return load_object(object_code(pool_text(), glue=True), found, ["tj_parallel", "tj_forget"])


def no_pool() -> str:
    """Why there is no pool of threads; empty where there is one."""
    if sys.platform.startswith("linux") and platform.machine() in _MACHINES:
        return ""
    return f"there is no pool of threads for {sys.platform} on {platform.machine()}"


def pool_address() -> Address | None:
    """The address of `tj_parallel`; None where there is no pool."""
    if no_pool():
        return None
    # Workers run this code until the process ends.
    after = After(forget_in_child.__module__, forget_in_child.__name__, ("tj_forget",))
    return shared("threads", _compiled, after).address("tj_parallel")

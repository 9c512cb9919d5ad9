"""Matrix products of compiled programs on one thread of BLAS, large ones by the pool of threads.

`void tj_product_T(...)`, with the arguments of `tj_gemm_T`
    The same product. While it runs BLAS uses one thread: its own wait by spinning, and where CPUs
    are busy they wait for each other. A long product is shared by the pool, in panels of PANEL rows
    or columns of the result. What a panel is depends on the sizes alone: with one thread they are
    computed one after another, and the bits are the same for any number.

`void tj_blas_enter()`, `void tj_blas_leave()`
    From the first that enters to the last that leaves BLAS has one thread, then as many as before.
"""

from __future__ import annotations

from tracejit.codegen.llvm.engine import Library, load_object, object_code
from tracejit.codegen.support.threads import pool_address
from tracejit.link.finding import thread_word
from tracejit.link.shared import After, Shared, forget_in_child, shared

__all__ = ["PANEL", "product_text", "serial_blas"]

#: Rows or columns of one call of BLAS, where a product is shared.
PANEL = 256
#: Products of numbers from which on BLAS may use several threads, and from which on the pool does:
#: about 100 microseconds.
_SOME, _MANY = 1 << 13, 1 << 23

_BYTES = {"f32": 4, "f64": 8, "c64": 8, "c128": 16}

_GUARD = """
declare i32 @threads_of_blas()
declare void @set_threads_of_blas(i32)
@lock = internal global i32 0
@depth = internal global i64 0
@before = internal global i32 1

define internal void @acquire() {
  br label %try
try:
  %old = atomicrmw xchg ptr @lock, i32 1 acquire
  %free = icmp eq i32 %old, 0
  br i1 %free, label %done, label %try
done:
  ret void
}

define void @tj_blas_enter() {
  call void @acquire()
  %n = load i64, ptr @depth
  %more = add i64 %n, 1
  store i64 %more, ptr @depth
  %first = icmp eq i64 %n, 0
  br i1 %first, label %look, label %done
look:
  %threads = call i32 @threads_of_blas()
  store i32 %threads, ptr @before
  %several = icmp sgt i32 %threads, 1
  br i1 %several, label %lower, label %done
lower:
  call void @set_threads_of_blas(i32 1)
  br label %done
done:
  store atomic i32 0, ptr @lock release, align 4
  ret void
}

define internal void @restore() {
  %threads = load i32, ptr @before
  %several = icmp sgt i32 %threads, 1
  br i1 %several, label %raise, label %done
raise:
  call void @set_threads_of_blas(i32 %threads)
  br label %done
done:
  ret void
}

define void @tj_blas_leave() {
  call void @acquire()
  %n = load i64, ptr @depth
  %less = add i64 %n, -1
  store i64 %less, ptr @depth
  %last = icmp eq i64 %less, 0
  br i1 %last, label %back, label %done
back:
  call void @restore()
  br label %done
done:
  store atomic i32 0, ptr @lock release, align 4
  ret void
}

define void @tj_blas_forget() {
  %n = load i64, ptr @depth
  %inside = icmp ne i64 %n, 0
  br i1 %inside, label %back, label %done
back:
  call void @restore()
  br label %done
done:
  store i64 0, ptr @depth
  store i32 0, ptr @lock
  ret void
}
"""

_PARAMETERS = (
    "ptr %c, ptr %a, ptr %b, i64 %m, i64 %n, i64 %k, i32 %ta, i32 %tb, i64 %lda, i64 %ldb, i64 %ldc"
)
_KINDS = ("ptr", "ptr", "ptr", "i64", "i64", "i64", "i32", "i32", "i64", "i64", "i64")


def serial_blas(get: int, set_: int) -> Shared:
    """The library of `tj_blas_enter` and `tj_blas_leave`, from addresses of BLAS's functions."""

    def compiled() -> Library:
        bound = {"threads_of_blas": get, "set_threads_of_blas": set_}
        names = ["tj_blas_enter", "tj_blas_leave", "tj_blas_forget"]
        return load_object(object_code(_GUARD, glue=True), bound, names)

    # A child of a fork is not inside of what another thread was.
    after = After(forget_in_child.__module__, forget_in_child.__name__, ("tj_blas_forget",))
    return shared("threads of BLAS", compiled, after)


def product_text(
    name: str, dtype: str, one: str, guarded: bool, threads: int | None
) -> tuple[str, dict[str, int]]:
    """The LLVM text of a product that calls `one` for its panels, and more symbols to link it with.

    `guarded`: there are `tj_blas_enter` and `tj_blas_leave` to call around. `threads` share it, or
    as many as the process is set to; nothing is shared where there is no pool.
    """
    size = _BYTES[dtype]
    pool, word = pool_address(), thread_word(threads)
    bound: dict[str, int] = {} if pool is None else {"tj_parallel": pool, "tj_threads": word}
    struct = f"{{ {', '.join(_KINDS)} }}"
    names = [p.split()[1] for p in _PARAMETERS.split(", ")]
    fields = list(zip(_KINDS, names, strict=True))
    call = ", ".join(f"{kind} {n}" for kind, n in fields)
    lines = [f"declare void @{one}({', '.join(_KINDS)})"]
    if guarded:
        lines += ["declare void @tj_blas_enter()", "declare void @tj_blas_leave()"]
    if bound:
        lines += ["declare void @tj_parallel(ptr, ptr, i64, i64, i64)"]
        lines += ["@tj_threads = external global i64", *_part(struct, fields, one, size)]
    enter, leave = (f"  call void @tj_blas_{x}()" if guarded else "" for x in ("enter", "leave"))
    lines += [
        f"define void @{name}({_PARAMETERS}) nounwind {{",
        "  %mn = mul i64 %m, %n",
        "  %work = mul i64 %mn, %k",
        f"  %few = icmp slt i64 %work, {_SOME}",
        "  br i1 %few, label %at_once, label %guarded",
        "at_once:",
        f"  call void @{one}({call})",
        "  ret void",
        "guarded:",
        enter,
    ]
    if bound:
        lines += [
            "  %same = icmp eq ptr %a, %b",
            f"  %short = icmp slt i64 %work, {_MANY}",
            "  %tall = icmp sge i64 %m, %n",
            "  %long = select i1 %tall, i64 %m, i64 %n",
            f"  %narrow = icmp slt i64 %long, {2 * PANEL}",
            "  %x = or i1 %same, %short",
            "  %whole = or i1 %x, %narrow",
            "  br i1 %whole, label %alone, label %panels",
            "panels:",
            f"  %context = alloca {struct}",
        ]
        for k, (kind, n) in enumerate(fields):
            lines.append(f"  %at{k} = getelementptr {struct}, ptr %context, i64 0, i32 {k}")
            lines.append(f"  store {kind} {n}, ptr %at{k}")
        lines += [
            "  %threads = load atomic i64, ptr @tj_threads monotonic, align 8",
            "  %several = icmp sgt i64 %threads, 1",
            "  br i1 %several, label %shared, label %in_turn",
            "shared:",
            f"  call void @tj_parallel(ptr @part, ptr %context, i64 %long, i64 {PANEL}, "
            "i64 %threads)",
            "  br label %done",
            "in_turn:",
            "  call void @part(ptr %context, i64 0, i64 %long)",
            "  br label %done",
        ]
    else:
        lines += ["  br label %alone"]
    lines += ["alone:", f"  call void @{one}({call})", "  br label %done"]
    lines += ["done:", leave, "  ret void", "}", ""]
    return "\n".join(lines), bound


def _part(struct: str, fields: list[tuple[str, str]], one: str, size: int) -> list[str]:
    """The panels from `lo` to `hi` of the longer axis of the result."""
    lines = ["define internal void @part(ptr %context, i64 %lo, i64 %hi) nounwind {", "entry:"]
    for k, (kind, n) in enumerate(fields):
        lines.append(f"  %at{k} = getelementptr {struct}, ptr %context, i64 0, i32 {k}")
        lines.append(f"  {n} = load {kind}, ptr %at{k}")
    return [
        *lines,
        "  %tall = icmp sge i64 %m, %n",
        "  %turned_a = icmp ne i32 %ta, 0",
        "  %turned_b = icmp ne i32 %tb, 0",
        "  %row_a = select i1 %turned_a, i64 1, i64 %lda",
        "  %column_b = select i1 %turned_b, i64 %ldb, i64 1",
        "  %step_a = select i1 %tall, i64 %row_a, i64 0",
        "  %step_b = select i1 %tall, i64 0, i64 %column_b",
        "  %step_c = select i1 %tall, i64 %ldc, i64 1",
        "  br label %panel",
        "panel:",
        "  %p = phi i64 [ %lo, %entry ], [ %next, %panel ]",
        "  %left = sub i64 %hi, %p",
        f"  %partly = icmp slt i64 %left, {PANEL}",
        f"  %count = select i1 %partly, i64 %left, i64 {PANEL}",
        "  %rows = select i1 %tall, i64 %count, i64 %m",
        "  %columns = select i1 %tall, i64 %n, i64 %count",
        *(
            line
            for x in "abc"
            for line in (
                f"  %steps_{x} = mul i64 %p, %step_{x}",
                f"  %bytes_{x} = mul i64 %steps_{x}, {size}",
                f"  %{x}_p = getelementptr i8, ptr %{x}, i64 %bytes_{x}",
            )
        ),
        f"  call void @{one}(ptr %c_p, ptr %a_p, ptr %b_p, i64 %rows, i64 %columns, i64 %k, "
        "i32 %ta, i32 %tb, i64 %lda, i64 %ldb, i64 %ldc)",
        f"  %next = add i64 %p, {PANEL}",
        "  %more = icmp slt i64 %next, %hi",
        "  br i1 %more, label %panel, label %done",
        "done:",
        "  ret void",
        "}",
    ]

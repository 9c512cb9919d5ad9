"""Entries become the C part of a library, which checks sizes and calls native code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracejit.codegen.llvm.engine import HostTarget
from tracejit.export.library.blas_table import adapters
from tracejit.export.library.entries import Entry, Parameter, Result
from tracejit.export.library.native_code import captured_name
from tracejit.export.library.prototypes import STATUSES, Description, prototype, shapes_prototype
from tracejit.export.library.sorts import is_sort, sorts
from tracejit.ir.dims import Dim

__all__ = ["c_source"]

#: Features that compilers of C can ask a processor for.
_ASKED = (
    "sse3 ssse3 sse4.1 sse4.2 popcnt avx avx2 bmi bmi2 fma avx512f avx512bw avx512cd avx512dq "
    "avx512vl avx512vbmi avx512vbmi2 avx512vnni avx512ifma avx512bitalg avx512vpopcntdq gfni "
    "vpclmulqdq"
).split()

_RUN_TIME = """
static _Thread_local int failure;

/* Sizes that leave 64 bits are bad. */
static inline int64_t add(int64_t a, int64_t b, int *bad) {
    int64_t c;
    *bad |= __builtin_add_overflow(a, b, &c);
    return c;
}
static inline int64_t mul(int64_t a, int64_t b, int *bad) {
    int64_t c;
    *bad |= __builtin_mul_overflow(a, b, &c);
    return c;
}
/* As Python rounds: down, and the remainder has the sign of the divisor. */
static inline int64_t floordiv(int64_t a, int64_t b, int *bad) {
    if (b == 0 || (b == -1 && a == INT64_MIN)) {
        *bad = 1;
        return 0;
    }
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t mod(int64_t a, int64_t b, int *bad) {
    int64_t down = floordiv(a, b, bad);
    return *bad ? 0 : a - down * b;
}
static inline int64_t min(int64_t a, int64_t b, int *bad) {
    (void)bad;
    return a < b ? a : b;
}
static inline int64_t max(int64_t a, int64_t b, int *bad) {
    (void)bad;
    return a < b ? b : a;
}

/* What native code calls: where it has no memory, in long loops, and for what threads share. */
int64_t tj_call(void *function, int64_t a, int64_t b, int64_t c) {
    (void)function, (void)a, (void)b, (void)c;
    failure = MEMORY;
    return 2;
}
int32_t tj_poll(int64_t *state, const char *place) {
    (void)place;
    *state = INT64_MAX;
    return 0;
}
int64_t tj_threads = 1;
const int64_t tj_one_thread = 1;
void tj_blas_enter(void) {}
void tj_blas_leave(void) {}
int32_t tj_no_state(void) { return 0; }
void tj_no_release(int32_t state) { (void)state; }
int32_t tj_most_calls(void) { return 1000; }
/* A thread's state in Python: wherever it has the number of calls that it may still have. */
const void *tj_thread_state(void) {
    static int32_t left[48];
    for (int k = 0; k < 48; ++k) left[k] = 1000;
    return left;
}
int64_t tj_stack_size(void) { return 0; }

/* A new array: in front of its elements lie its shape, and what free takes. */
void *tj_late_array(const int64_t *item, int32_t ndim, const int64_t *shape,
                    const int64_t *strides, int32_t fortran, void **slot) {
    (void)strides, (void)fortran;
    int64_t size = *item, head = 8 * (ndim + (int64_t)1);
    int bad = 0, empty = 0;
    for (int32_t k = 0; k < ndim; ++k)
        empty |= shape[k] == 0;
    for (int32_t k = 0; k < ndim && !empty; ++k)
        size = mul(size, shape[k], &bad);
    int64_t room = add(size, head + 63, &bad);
    char *memory = bad || size < 0 ? NULL : malloc(room);
    if (!memory) {
        failure = MEMORY;
        return NULL;
    }
    char *data = (char *)(((uintptr_t)memory + head + 63) & ~(uintptr_t)63);
    ((void **)data)[-1] = memory;
    if (ndim)
        memcpy(data - head, shape, 8 * ndim);
    return *slot = data;
}
static void free_array(void *data) {
    if (data)
        free(((void **)data)[-1]);
}
"""

#: A child of a fork has none of the threads.
_THREADS = """
void tj_forget(void);
static pthread_once_t forgets = PTHREAD_ONCE_INIT;
static void forget_in_children(void) {{ pthread_atfork(NULL, NULL, tj_forget); }}
void {name}_set_threads(int64_t n) {{
    pthread_once(&forgets, forget_in_children);
    __atomic_store_n(&tj_threads, n < 1 ? 1 : n, __ATOMIC_RELAXED);
}}
"""

_NARROW = """
#define fits(x) ((x) >= INT32_MIN && (x) <= INT32_MAX)
/* Pivots, in place. */
static inline void widen(void *pivots, int64_t n) {
    for (int64_t k = n; k-- > 0;) {
        int32_t value;
        memcpy(&value, (char *)pivots + 4 * k, 4);
        int64_t wide = value;
        memcpy((char *)pivots + 8 * k, &wide, 8);
    }
}
static inline void narrow(void *pivots, int64_t n) {
    for (int64_t k = 0; k < n; ++k) {
        int64_t wide;
        memcpy(&wide, (char *)pivots + 8 * k, 8);
        int32_t value = (int32_t)wide;
        memcpy((char *)pivots + 4 * k, &value, 4);
    }
}
"""


def c_source(d: Description, target: HostTarget) -> str:
    """The whole C part."""
    parts = [
        f"/* The C part of {d.name}. */",
        *(f"#include <{name}.h>" for name in ("pthread", "stdbool", "stdint", "stdlib", "string")),
        f'#include "{d.name}.h"',
        f"enum {{ {', '.join(STATUSES)} }};",
        _RUN_TIME,
        _processor(target),
    ]
    if d.has_threads:
        parts.append(_THREADS.format(name=d.name))
    if d.routines:
        parts += [
            f"static {d.name}_blas table;",
            f"void {d.name}_set_blas(const {d.name}_blas *given) {{ table = *given; }}",
            *(_NARROW, adapters(d.routines)),
        ]
    parts += sorts({name for e in d.entries for name in e.code.symbols if is_sort(name)})
    parts.append(f'const char {d.name}_build[] = "{d.build}";')
    for e in d.entries:
        parts += [*_sizes_fit(e), *_shapes(e), *_function(d, e)]
    if d.makes_arrays:
        parts.append(f"void {d.name}_free(void *array) {{ free_array(array); }}")
    return "\n".join([*parts, ""])


def _processor(target: HostTarget) -> str:
    asked = [f for f in _ASKED if f in target.features] if target.is_x86 else []
    tests = " && ".join(f'__builtin_cpu_supports("{f}")' for f in asked)
    return "\n".join(
        [
            "static int processor(void) {",
            "    static int known; /* 1 for one that fits, 2 for one that does not */",
            "    if (!known)",
            f"        known = {tests} ? 1 : 2;" if tests else "        known = 1;",
            "    return known == 1;",
            "}",
        ]
    )


def _dim(d: Dim) -> str:
    if isinstance(d, int):
        return f"INT64_C({d})"
    total = ""
    for monomial, coefficient in d.terms:
        term = f"INT64_C({coefficient})"
        for atom in monomial:
            one = atom
            if not isinstance(atom, str):
                one = f"{atom.fn}({', '.join([*map(_dim, atom.args), '&bad'])})"
            term = f"mul({term}, {one}, &bad)" if term != "INT64_C(1)" else str(one)
        total = f"add({total}, {term}, &bad)" if total else term
    return total or "INT64_C(0)"


def _sizes_fit(e: Entry) -> Iterator[str]:
    """Whether an entry can be called with these sizes."""
    yield f"static int {e.symbol}_sizes_fit({_sizes(e, 'int64_t ') or 'void'}) {{"
    yield "    int bad = 0, fit = 1;"
    for size in e.sizes:
        yield f"    fit &= {size} >= 2;"
    for g in e.spec.guards:
        yield f"    fit &= {_dim(g.left)} {g.relation} {_dim(g.right)};"
    yield "    return fit && !bad;"
    yield "}"


def _sizes(e: Entry, before: str = "") -> str:
    return ", ".join(f"{before}{s}" for s in e.sizes)


def _shapes(e: Entry) -> Iterator[str]:
    if not (head := shapes_prototype(e)):
        return
    yield f"{head} {{"
    yield "    int bad = 0;"
    yield f"    if (!{e.symbol}_sizes_fit({_sizes(e)}))"
    yield "        return SIZES;"
    for r in e.results:
        for axis, d in enumerate(r.shape or ()):
            yield f"    {r.c_name}_shape[{axis}] = {_dim(d)};"
    yield "    return bad ? SIZES : DONE;"
    yield "}"


def _function(d: Description, e: Entry) -> Iterator[str]:
    yield f"int32_t {e.program}(const uint64_t *in, uint64_t *out);"
    for k, captured in enumerate(e.captured):
        yield f"extern const char {captured_name(e, k)}[{max(len(captured.bytes), 1)}];"
    yield f"{prototype(d, e)} {{"
    yield f"    uint64_t slots_in[{max(e.spec.in_count, 1)}] = {{0}};"
    yield f"    uint64_t slots_out[{max(e.spec.out_count, 1)}] = {{0}};"
    yield "    if (!processor())"
    yield "        return PROCESSOR;"
    if d.routines:
        yield "    if (!table.int_bits)"
        yield "        return BLAS;"
    yield f"    if (!{e.symbol}_sizes_fit({_sizes(e)}))"
    yield "        return SIZES;"
    yield from _given(e.parameters)
    for k, captured in enumerate(e.captured):
        yield f"    {_captured(e, k, captured.slot)}"
    for k, size in enumerate(e.sizes):
        yield f"    slots_in[{e.spec.size_slot + k}] = (uint64_t){size};"
    for r in e.results:
        if r.form == "array":
            yield f"    slots_out[{r.slot}] = (uintptr_t){r.c_name};"
    yield "    failure = DONE;"
    yield f"    if ({e.program}(slots_in, slots_out) && !failure)"
    yield "        failure = CHECK;"
    made = [r for r in e.results if r.form == "made"]
    yield "    if (failure) {"
    for r in made:
        yield f"        free_array((void *)slots_out[{r.slot}]);"
    yield "        return failure;"
    yield "    }"
    for r in e.results:
        yield from _taken(r)
    yield "    return DONE;"
    yield "}"


def _given(parameters: Sequence[Parameter]) -> Iterator[str]:
    for p in parameters:
        if p.is_array:
            yield f"    slots_in[{p.slot}] = (uintptr_t){p.c_name};"
        else:
            address = p.c_name if p.dtype.kind == "c" else f"&{p.c_name}"
            yield f"    memcpy(&slots_in[{p.slot}], {address}, {p.dtype.itemsize});"


def _captured(e: Entry, k: int, slot: int) -> str:
    captured, name = e.captured[k], captured_name(e, k)
    if captured.is_array:
        return f"slots_in[{slot}] = (uintptr_t){name};"
    return f"memcpy(&slots_in[{slot}], {name}, {len(captured.bytes)});"


def _taken(r: Result) -> Iterator[str]:
    at = f"slots_out[{r.slot}]"
    if r.form == "made":
        yield f"    *{r.c_name} = (void *){at};"
        if r.ndim:
            start = f"(char *){at} - {8 * (r.ndim + 1)}"
            yield f"    memcpy({r.c_name}_shape, {start}, {8 * r.ndim});"
    elif r.form == "scalar" and r.dtype.kind == "b":
        yield f"    *{r.c_name} = {at} != 0;"
    elif r.form == "scalar":
        yield f"    memcpy({r.c_name}, &{at}, {r.dtype.itemsize});"

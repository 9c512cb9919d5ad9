"""The description of a library becomes a C program that calls each of its functions once.

Arrays are filled with numbers that anybody can draw again (see `DRAWS`), and results are printed:
a line for each element, the parameter's name and the number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tracejit.export.library.entries import Entry, Parameter, Result
from tracejit.export.library.prototypes import Description, c_type
from tracejit.ir.dims import evaluate
from tracejit.ir.types import dtype_name
from tracejit.link.blas import spellings
from tracejit.runtime.call.entry_spec import SizeGuard

__all__ = ["DRAWS", "example", "example_sizes"]

#: The state, at first 1, becomes state * first + second modulo 2**64; its upper 53 bits are the
#: number, from 0 to 1. Ints are those from 1 to 9, complex numbers two draws.
DRAWS = (6364136223846793005, 1442695040888963407)

_HEAD = """\
/* Calls the functions of {name} once. To compile and run it:

       cc example.c lib{name}.so -Wl,-rpath,'$ORIGIN' -lm{dl} -o example && ./example{library}
*/
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
{includes}#include "{name}.h"

static double draw(void) {{
    static uint64_t state = 1;
    state = state * UINT64_C({first}) + UINT64_C({second});
    return (double)(state >> 11) * 0x1p-53;
}}
"""

_LOAD = """
/* Fill the table from a BLAS with LAPACK, whatever it calls its functions. */
static int load_blas(const char *path) {{
    static const struct {{ int bits; const char *names[{count}]; }} libraries[] = {{
{libraries}
    }};
    void *library = dlopen(path, RTLD_NOW);
    for (int k = 0; library && k < (int)(sizeof libraries / sizeof *libraries); ++k) {{
        {name}_blas table;
        int lacking = 0;
        table.int_bits = libraries[k].bits;
{finds}
        if (!lacking) {{
            {name}_set_blas(&table);
            return 1;
        }}
    }}
    return 0;
}}
"""
_FIND = """\
        *(void **)&table.{member} = dlsym(library, libraries[k].names[{number}]);
        lacking |= !table.{member};"""


def example_sizes(e: Entry) -> dict[str, int]:
    """The sizes that the example gives: small ones where an entry takes these."""
    small = {s: 4 + k for k, s in enumerate(e.sizes)}
    fit = all(_holds(g, small) for g in e.spec.guards)
    return small if fit else {s: e.signature.sizes[s] for s in e.sizes}


def _holds(g: SizeGuard, sizes: Mapping[str, int]) -> bool:
    a, b = evaluate(g.left, sizes), evaluate(g.right, sizes)
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b}[g.relation]


def example(d: Description) -> str:
    """The program."""
    loads = bool(d.routines)
    head = _HEAD.format(
        name=d.name,
        first=DRAWS[0],
        second=DRAWS[1],
        dl=" -ldl" if loads else "",
        library=" path/to/libopenblas.so" if loads else "",
        includes="#include <dlfcn.h>\n" if loads else "",
    )
    parts = [head]
    if loads:
        parts.append(_load(d))
    for e in d.entries:
        parts.append("\n".join(_run(d, e)))
    parts.append("\n".join(_main(d)))
    return "\n".join(parts)


def _load(d: Description) -> str:
    """The function that fills the table."""
    names = sorted(d.routines)
    finds = [_FIND.format(number=k, member=name) for k, name in enumerate(names)]
    libraries = []
    for spelled in zip(*map(spellings, names), strict=True):
        symbols = ", ".join(f'"{symbol}"' for symbol, _ in spelled)
        libraries.append(f"        {{{spelled[0][1]}, {{{symbols}}}}},")
    return _LOAD.format(
        name=d.name, count=len(names), libraries="\n".join(libraries), finds="\n".join(finds)
    )


def _main(d: Description) -> Iterator[str]:
    yield "int main(int count, char **arguments) {"
    if d.routines:
        yield "    if (count < 2 || !load_blas(arguments[1])) {"
        yield '        fprintf(stderr, "usage: example path/to/blas.so, which has LAPACK\\n");'
        yield "        return 2;"
        yield "    }"
    else:
        yield "    (void)count, (void)arguments;"
    runs = " || ".join(f"run_{e.symbol}()" for e in d.entries)
    yield f"    return {runs};"
    yield "}"
    yield ""


def _run(d: Description, e: Entry) -> Iterator[str]:
    sizes = example_sizes(e)
    yield f"/* {e.text} */"
    yield f"static int run_{e.symbol}(void) {{"
    for s, n in sizes.items():
        yield f"    int64_t {s} = {n};"
    for p in e.parameters:
        yield from _parameter(d, p, sizes)
    shaped = [r for r in e.results if r.form == "array"]
    for r in e.results:
        if r.form != "scalar" and r.ndim:
            yield f"    int64_t {r.c_name}_shape[{r.ndim}];"
    if any(r.ndim for r in shaped):
        given = [*e.sizes, *(f"{r.c_name}_shape" for r in shaped if r.ndim)]
        yield f"    if ({e.symbol}_shapes({', '.join(given)}))"
        yield "        return 1;"
    for r in e.results:
        yield from _result(d, r)
    yield f"    int status = {e.symbol}({', '.join(_passed(e))});"
    yield "    if (status) {"
    yield f'        fprintf(stderr, "{e.symbol} returned %d\\n", status);'
    yield "        return 1;"
    yield "    }"
    for p in e.parameters:
        if p.is_stored:
            count = " * ".join(map(str, p.dims or ())) or "1"
            yield from _printed(p.c_name, p.c_name, dtype_name(p.dtype), count)
    for r in e.results:
        count = _count(r)
        at = f"&{r.c_name}" if r.form == "scalar" else r.c_name
        yield from _printed(r.c_name, at, dtype_name(r.dtype), count)
        if r.form == "made":
            yield f"    {d.name}_free({r.c_name});"
        elif r.form == "array":
            yield f"    free({r.c_name});"
    yield from (f"    free({p.c_name});" for p in e.parameters if p.is_array)
    yield "    return 0;"
    yield "}"


def _parameter(d: Description, p: Parameter, sizes: Mapping[str, int]) -> Iterator[str]:
    kind = c_type(d, p.dtype)
    count = " * ".join(map(str, p.dims or ())) or "1"
    if p.is_array:
        yield f"    {kind} *{p.c_name} = malloc(sizeof({kind}) * ({count}) + 1);"
        yield f"    for (int64_t at_ = 0; at_ < {_parts(dtype_name(p.dtype))} * {count}; ++at_)"
        yield f"        {_drawn(p.c_name, 'at_', dtype_name(p.dtype))}"
    elif p.dtype.kind == "c":
        yield f"    {kind} {p.c_name}[1];"
        yield "    for (int64_t at_ = 0; at_ < 2; ++at_)"
        yield f"        {_drawn(p.c_name, 'at_', dtype_name(p.dtype))}"
    else:
        yield f"    {kind} {p.c_name}[1];"
        yield f"    {_drawn(p.c_name, '0', dtype_name(p.dtype))}"


def _parts(dtype: str) -> int:
    return 2 if dtype in ("c64", "c128") else 1


def _drawn(name: str, index: str, dtype: str) -> str:
    """A statement that fills an element."""
    if dtype in ("c64", "c128"):
        part = "float" if dtype == "c64" else "double"
        return f"(({part} *){name})[{index}] = ({part})draw();"
    number = "draw()" if dtype in ("f32", "f64") else "1 + (int)(9 * draw())"
    if dtype == "b1":
        number = "draw() < 0.5"
    if dtype == "f16":
        number = "0x3c00 /* 1 */"
    return f"{name}[{index}] = {number};"


def _result(d: Description, r: Result) -> Iterator[str]:
    kind = c_type(d, r.dtype)
    if r.form == "scalar":
        yield f"    {kind} {r.c_name};"
    elif r.form == "made":
        yield f"    {kind} *{r.c_name};"
    else:
        yield f"    {kind} *{r.c_name} = malloc(sizeof({kind}) * ({_count(r)}) + 1);"


def _count(r: Result) -> str:
    return " * ".join(f"{r.c_name}_shape[{k}]" for k in range(r.ndim)) or "1"


def _passed(e: Entry) -> Iterator[str]:
    yield from e.sizes
    for p in e.parameters:
        yield p.c_name if p.is_array or p.dtype.kind == "c" else f"*{p.c_name}"
    for r in e.results:
        yield r.c_name if r.form == "array" else f"&{r.c_name}"
        if r.form == "made" and r.ndim:
            yield f"{r.c_name}_shape"


def _printed(name: str, at: str, dtype: str, count: str) -> Iterator[str]:
    part = {"c64": "float", "c128": "double"}.get(dtype)
    yield f"    for (int64_t at_ = 0; at_ < {_parts(dtype)} * {count}; ++at_)"
    element = f"(({part} *){at})[at_]" if part else f"({at})[at_]"
    if part or dtype in ("f32", "f64"):
        yield f'        printf("{name} %.17g\\n", (double){element});'
    elif dtype == "u64":
        yield f'        printf("{name} %" PRIu64 "\\n", {element});'
    else:
        yield f'        printf("{name} %" PRId64 "\\n", (int64_t){element});'

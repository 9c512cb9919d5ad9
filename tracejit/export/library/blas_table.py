"""Routines of BLAS and LAPACK that a library calls become C: a table that its host fills.

Native code calls `tj_blas_dgemm` and such, with 64-bit integers. These call what the table has,
which may have 32-bit ones: sizes that do not fit fail the call, pivots are widened and narrowed.
"""

from __future__ import annotations

from collections.abc import Mapping

from tracejit.link.blas import LAPACK

__all__ = ["Routines", "adapters", "fields"]

#: Routine -> its result and the types of its arguments, in LLVM's words.
Routines = Mapping[str, tuple[str, list[str]]]

_C_TYPES = {
    "ptr": "void *",
    "i32": "int",
    "i64": "int64_t",
    "float": "float",
    "double": "double",
    "void": "void",
}
#: The arguments of LAPACK's routines, all by address: integers (i), the integer that is the number
#: of pivots (n), pivots that it gives (p) or takes (q), its info (o), anything else (x).
_BY_ADDRESS = {
    "gesv": "nixipxio",
    "getrf": "inxipo",
    "getri": "nxiqxio",
    "potrf": "xixio",
}


def fields(routines: Routines) -> list[tuple[str, str]]:
    """The members of the table for these routines, each with what its host puts there."""
    return [(name, f"{name}_" if name[1:] in LAPACK else _cblas(name)) for name in sorted(routines)]


def _cblas(name: str) -> str:
    return f"cblas_{name}_sub" if name.endswith("dotu") else f"cblas_{name}"


def adapters(routines: Routines) -> str:
    """The functions by which native code calls what is in the table, in C."""
    return "\n".join(
        _lapack(name) if name[1:] in LAPACK else _blas(name, *routines[name])
        for name in sorted(routines)
    )


def _blas(name: str, result: str, types: list[str]) -> str:
    kinds = [_C_TYPES[t] for t in types]
    arguments = [f"a{k}" for k in range(len(types))]
    wide = [a for a, t in zip(arguments, types, strict=True) if t == "i64"]
    narrow = ["int" if t == "i64" else _C_TYPES[t] for t in types]
    c_result, give = _C_TYPES[result], "" if result == "void" else "return "
    # Steps and sizes alike have to fit.
    fits = " && ".join(f"fits({a})" for a in wide)
    given = [f"(int){a}" if t == "i64" else a for a, t in zip(arguments, types, strict=True)]
    return f"""\
{c_result} tj_blas_{name}({", ".join(f"{k} {a}" for k, a in zip(kinds, arguments, strict=True))}) {{
    if (table.int_bits == 64)
        {give}(({c_result} (*)({", ".join(kinds)}))table.{name})({", ".join(arguments)});
    else if ({fits})
        {give}(({c_result} (*)({", ".join(narrow)}))table.{name})({", ".join(given)});
    else
        failure = BLAS;{" return 0;" if give else ""}
}}
"""


def _lapack(name: str) -> str:
    letters = _BY_ADDRESS[name[1:]]
    arguments = [f"a{k}" for k in range(len(letters))]
    typed = ", ".join(f"void *{a}" for a in arguments)
    ints = [a for a, x in zip(arguments, letters, strict=True) if x in "in"]
    info = arguments[letters.index("o")]
    before = [f"int {a}_ = (int)*(int64_t *){a};" for a in ints] + [f"int {info}_ = 0;"]
    after = [f"*(int64_t *){info} = {info}_;"]
    given = [f"&{a}_" if x in "ino" else a for a, x in zip(arguments, letters, strict=True)]
    for a, x in zip(arguments, letters, strict=True):
        if x in "pq":
            count = f"*(int64_t *){arguments[letters.index('n')]}"
            before += [f"narrow({a}, {count});"] * (x == "q")
            after.append(f"widen({a}, {count});")
    fits = " && ".join(f"fits(*(int64_t *){a})" for a in ints)
    pointers = ", ".join(["void *"] * len(letters))
    return f"""\
void tj_blas_{name}({typed}) {{
    void (*call)({pointers}) = (void (*)({pointers}))table.{name};
    if (table.int_bits == 64)
        call({", ".join(arguments)});
    else if ({fits}) {{
        {" ".join(before)}
        call({", ".join(given)});
        {" ".join(after)}
    }} else {{
        failure = BLAS;
        *(int64_t *){info} = 1;
    }}
}}
"""

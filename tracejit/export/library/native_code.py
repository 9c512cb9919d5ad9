"""Programs and the functions that they call become object files, for one target.

All names of a program are its own, so that several lie in one library. Functions that programs
share in a process, such as products of matrices, are compiled into the library once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from tracejit.codegen.llvm.engine import HostTarget, object_files
from tracejit.codegen.support.allocator import BLOCK_FUNCTIONS, allocator_text
from tracejit.codegen.support.blas import HELPERS
from tracejit.codegen.support.blas_calls import RoutineForm
from tracejit.codegen.support.blas_text import helper_text, narrow_product_text
from tracejit.codegen.support.contractions import CONTRACTIONS, contraction_module
from tracejit.codegen.support.shared_products import product_text
from tracejit.codegen.support.threads import pool_text
from tracejit.export.library.entries import Entry
from tracejit.export.library.symbols import OWN_NAMES, arrays_of, data_of, functions_of
from tracejit.link.blas import LAPACK, ROUTINES, Routine

__all__ = ["NativeCode", "captured_name", "native_code"]

_DEFINED = re.compile(r'^define [^@\n]*@"?([\w.$-]+)"?\(', re.MULTILINE)
_NAME = re.compile(r"@([\w.$-]+)")
#: A function that a helper declares: its result, whose it is, its name and its types.
_DECLARED = re.compile(r'^declare (\S+) @"(tj_\w+)\.(\w+)"\((.*)\)$', re.MULTILINE)


@dataclass
class NativeCode:
    """Object files, data, and the routines of BLAS and LAPACK that are called by `tj_blas_NAME`:
    the types of result and arguments, in LLVM's words.
    """

    objects: list[bytes] = field(default_factory=list)
    #: Arrays, by their symbols.
    data: dict[str, bytes] = field(default_factory=dict)
    #: Whether there are loops that threads may share.
    has_threads: bool = False
    routines: dict[str, tuple[str, list[str]]] = field(default_factory=dict)


def captured_name(entry: Entry, number: int) -> str:
    """The symbol of an array from outside the function."""
    return f"{entry.program}_captured{number}"


def native_code(entries: Sequence[Entry], target: HostTarget) -> NativeCode:
    """The object files of all entries. Raises CompileError if LLVM refuses one."""
    made = NativeCode()
    needed: dict[str, None] = {}
    for entry in entries:
        made.objects += object_files(_own_names(entry), target)
        made.objects += object_files(_words_text(entry), target)
        arrays = arrays_of(entry.code.symbols)
        made.data |= {f"{entry.program}.{name}": held for name, held in arrays.items()}
        made.data |= {captured_name(entry, k): c.bytes for k, c in enumerate(entry.captured)}
        needed |= dict.fromkeys(functions_of(entry.code.symbols))
    texts: dict[str, str] = {}
    waiting = list(needed)
    while waiting:
        name = waiting.pop()
        module, text = _module_of(name, target)
        if module and module not in texts:
            text, more = _linked(text, made.routines)
            texts[module] = text
            waiting += more
    if any("tj_parallel" in text for text in (*texts.values(), *(e.code.text for e in entries))):
        made.has_threads, texts["threads"] = True, pool_text()
    for text in texts.values():
        made.objects += object_files(text, target)
    return made


def _own_names(entry: Entry) -> str:
    """The text of a program in which nobody else's names occur."""
    code, program = entry.code, entry.program
    own = {*_DEFINED.findall(code.text), *data_of(code.symbols), *arrays_of(code.symbols)}
    own -= {program}
    names = {name: f"{program}.{name}" for name in own} | OWN_NAMES
    return _NAME.sub(lambda m: f"@{names.get(m[1], m[1])}", code.text)


def _words_text(entry: Entry) -> str:
    words = data_of(entry.code.symbols).items()
    return "".join(f"@{entry.program}.{name} = {text}\n" for name, text in words)


def _module_of(name: str, target: HostTarget) -> tuple[str, str]:
    """The name and the text of the module that defines a function; none where the C part does."""
    if name in BLOCK_FUNCTIONS:
        return "allocator", allocator_text(most_kept=0)
    if name in CONTRACTIONS:
        return name.removesuffix("_shared").removesuffix("_offsets"), contraction_module(
            name, target
        )
    if name not in HELPERS:
        return "", ""
    kind, dtype = name.split("_")[1:]
    if kind in ("gemv", "dot"):
        return name, narrow_product_text(name)
    if kind == "product":
        # BLAS is called by the thread that has called the library, which learns how that went.
        product = product_text(name, dtype, f"tj_gemm_{dtype}", False, None)[0]
        return name, product.replace("@tj_threads", "@tj_one_thread")
    text = helper_text(name, _form)
    assert text is not None
    return name, text


def _form(routine: str) -> RoutineForm:
    """How helpers call: with wide integers, by what `blas_table` writes."""
    return Routine(routine, 0, 64, "fortran" if routine[1:] in LAPACK else "cblas")


def _linked(text: str, routines: dict[str, tuple[str, list[str]]]) -> tuple[str, list[str]]:
    """The text in which what it calls has the library's names, and the helpers among these."""
    called: list[str] = []
    names: dict[str, str] = {}
    for result, owner, name, types in _DECLARED.findall(text):
        if name in ROUTINES:
            names[f'"{owner}.{name}"'] = f"tj_blas_{name}"
            routines[name] = result, types.split(", ")
            continue
        kind = "product" if name == "gemm" else name
        helper = f"tj_{kind}_{owner.rsplit('_', 1)[1]}"
        names[f'"{owner}.{name}"'] = helper
        called.append(helper)
    for old, new in names.items():
        text = text.replace(f"@{old}", f"@{new}")
    called += [name for name in _declared_helpers(text) if name not in called]
    return text, called


def _declared_helpers(text: str) -> list[str]:
    found = re.findall(r"^declare \S+ @(tj_\w+)\(", text, re.MULTILINE)
    return [name for name in found if name in HELPERS]

"""The C functions of LLVM have the types that llvmlite gives them."""

import ctypes
from typing import Any

import llvmlite.binding as llvm
import pytest

from tracejit.codegen.llvm import api, library


def _letter(given: Any) -> str:
    for letter, known in library._TYPES.items():
        if given is known:
            return letter
    name = getattr(given, "__name__", str(given))
    structures = {"LP__LinkElement": "E", "LP__SymbolAddress": "A"}
    return structures.get(name, "p" if name.startswith("LP_LLVM") else name)


@pytest.mark.parametrize("name", library._SIGNATURES)
def test_signature(name: str) -> None:
    result, *parameters = library._SIGNATURES[name]
    known = getattr(llvm.ffi.lib, f"LLVMPY_{name}")
    # What has no result is declared with none or not at all, which is an int.
    assert _letter(known.restype) == result or (known.restype, result) == (ctypes.c_int, "-")
    if known.argtypes is not None:
        assert list(map(_letter, known.argtypes)) == parameters


def test_structures() -> None:
    for ours, theirs in (
        (library.LinkElement, llvm.orcjit._LinkElement),
        (library.SymbolAddress, llvm.orcjit._SymbolAddress),
    ):
        assert ours._fields_ == theirs._fields_


def test_host() -> None:
    triple, cpu, features = api.host()
    assert (triple, cpu) == (llvm.get_process_triple(), llvm.get_host_cpu_name())
    assert dict(features) == dict(llvm.get_host_cpu_features())


def test_llvmlites_lock_is_taken_too() -> None:
    lock = llvm.ffi.lib._lock._lock
    assert api.alone(lock._is_owned) and not lock._is_owned()

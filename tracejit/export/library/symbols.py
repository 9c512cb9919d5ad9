"""What the symbols of a program are in a library: data of its own, functions, or nothing.

A program refers to memory that its process keeps for it, to functions that other programs share,
and to those of the C library; its addresses say which (`link/addresses.py`). A library has its own
copy of each. Whatever else there is needs a process of Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tracejit.codegen.support.allocator import BLOCK_FUNCTIONS
from tracejit.codegen.support.blas import HELPERS
from tracejit.codegen.support.contractions import CONTRACTIONS
from tracejit.export.library.sorts import is_sort
from tracejit.link import finding, places
from tracejit.link import shared as shared_libraries
from tracejit.link import sorts as numpy_sorts
from tracejit.link.addresses import Recipe, This

__all__ = ["OWN_NAMES", "arrays_of", "data_of", "functions_of", "is_provided"]

#: Functions of Python by which recursion knows its limits: the name that a library's own has.
OWN_NAMES = {
    "PyGILState_Ensure": "tj_no_state",
    "PyGILState_Release": "tj_no_release",
    "Py_GetRecursionLimit": "tj_most_calls",
    "PyThreadState_Get": "tj_thread_state",
    "PyThread_get_stacksize": "tj_stack_size",
}
#: What the C part of a library defines.
_IN_C = frozenset(
    "tj_call tj_poll tj_late_array tj_parallel tj_threads tj_blas_enter tj_blas_leave".split()
)
_FUNCTIONS = frozenset({*BLOCK_FUNCTIONS, *HELPERS, *CONTRACTIONS, *_IN_C})


def _definition(address: int) -> str | None:
    """The LLVM definition of a symbol that is a word of a program's own."""
    match getattr(address, "of", None):
        case Recipe(places.__name__, "Place", ()):
            return "hidden global ptr null"
        case Recipe(places.__name__, "Word", ()):
            return "hidden global i64 0"
        case This("object", what) if what is places.no_memory:
            return "hidden global i8 0"
        case This("object", np.dtype() as dtype):
            return f"hidden constant i64 {dtype.itemsize}"
    return None


def _array(address: int) -> bytes | None:
    """The bytes of an array of the compiler's own."""
    match getattr(address, "of", None):
        case This("bytes", np.ndarray() as array):
            return array.tobytes("A")
        case This("place", (_, np.ndarray() as place)):
            return place.tobytes()
    return None


def _is_function(name: str, address: int) -> bool:
    if name == "tj_late_array":
        return True
    match getattr(address, "of", None):
        case Recipe(finding.__name__, "c_address", (known,)):
            return bool(known == name)
        case Recipe(finding.__name__, "thread_word", _):
            return name == "tj_threads"
        case Recipe(finding.__name__, "python_address", (known,)):
            return known == name and name in OWN_NAMES
        case Recipe(numpy_sorts.__name__, "sort_address", _):
            return is_sort(name)
        case Recipe(shared_libraries.__name__, "library_symbol", (_, known)):
            return known == name and name in _FUNCTIONS
    return False


def is_provided(name: str, address: int) -> bool:
    """Whether a library can have what a program calls `name`."""
    is_data = _definition(address) is not None or _array(address) is not None
    return is_data or _is_function(name, address)


def data_of(symbols: Mapping[str, int]) -> dict[str, str]:
    """The LLVM definitions of the symbols that are a program's own words."""
    found = {name: _definition(address) for name, address in symbols.items()}
    return {name: text for name, text in found.items() if text is not None}


def arrays_of(symbols: Mapping[str, int]) -> dict[str, bytes]:
    """The arrays among the symbols, as the bytes that lie there."""
    found = {name: _array(address) for name, address in symbols.items()}
    return {name: held for name, held in found.items() if held is not None}


def functions_of(symbols: Mapping[str, int]) -> Iterator[str]:
    """The functions of other programs that it calls."""
    yield from (name for name in symbols if name in _FUNCTIONS)

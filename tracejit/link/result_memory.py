"""NumPy's allocator for large results: the handler that NumPy is given."""

from __future__ import annotations

import ctypes

from tracejit.link.shared import Shared

__all__ = ["FUNCTIONS", "install"]

#: The functions of a handler, which the library exports under these names behind "tj_result_".
FUNCTIONS = ("malloc", "calloc", "realloc", "free")
#: NumPy compares it by its text.
_NAME = b"mem_handler"


class _Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler, version 1."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in FUNCTIONS),
    ]


def install(library: Shared) -> None:
    """Give the library the capsule around its handler; both live as long as the process."""
    handler = _Handler(b"tracejit", 1, None)
    for name in FUNCTIONS:
        setattr(handler, name, library.address(f"tj_result_{name}"))
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
        ("PyCapsule_New", ctypes.pythonapi)
    )
    capsule = make(ctypes.addressof(handler), _NAME, None)
    ctypes.c_void_p.from_address(library.address("tj_handler")).value = id(capsule)
    library.keep += [handler, capsule]

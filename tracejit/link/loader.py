"""Images become machine code in this process, by the system's calls for memory alone."""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from collections.abc import Sequence
from typing import Any

from tracejit.base.locks import once
from tracejit.link.handles import handle
from tracejit.link.image import Image, LinkError

__all__ = ["Loaded", "load", "supported"]

_PAGE = 4096
# Linux's numbers for memory: what may be done there, and that it is of this process alone.
_READ, _WRITE, _EXECUTE = 1, 2, 4
_PRIVATE, _ANONYMOUS = 2, 32
_FAILED = ctypes.c_void_p(-1).value


#: Why there are no images elsewhere.
UNSUPPORTED = "machine code is loaded from files on Linux on x86-64 only"


def supported() -> bool:
    """Whether images are for this machine and system."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


class Loaded:
    """An image in memory. It is unloaded when the last reference to this object dies."""

    __slots__ = ("__weakref__", "_exports", "_memory", "base", "keep", "size")

    def __init__(self, base: int, size: int, exports: dict[str, int]) -> None:
        self.base, self.size = base, size
        self._exports = exports
        #: What its imports point to.
        self.keep: Any = None
        unmap = _system().munmap
        self._memory = handle(lambda: unmap(base, size))

    def address(self, symbol: str) -> int:
        """The address of an exported symbol. Raises KeyError if it was not exported."""
        return self.base + self._exports[symbol]


@once
def _system() -> Any:
    """The C library, with the types of its functions for memory."""
    library = ctypes.CDLL(None, use_errno=True)
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    library.mmap.argtypes = (pointer, size, number, number, number, ctypes.c_long)
    library.mmap.restype = pointer
    library.munmap.argtypes = (pointer, size)
    library.mprotect.argtypes = (pointer, size, number)
    return library


def load(image: Image, addresses: Sequence[int]) -> Loaded:
    """An image in memory, linked with the addresses of its imports in their order.

    Raises LinkError where an address is lacking, or the system gives no such memory.
    """
    if len(addresses) != len(image.imports) or 0 in addresses:
        raise LinkError("imports without an address")
    code_size = -(-len(image.code) // _PAGE) * _PAGE
    size = code_size + -(-(len(image.data) + image.zeros) // _PAGE) * _PAGE
    system = _system()
    base = system.mmap(None, size, _READ | _WRITE, _PRIVATE | _ANONYMOUS, -1, 0)
    if base == _FAILED:
        raise LinkError(f"no memory for {size} bytes of code")
    loaded = Loaded(base, size, image.exports)
    ctypes.memmove(base, image.code, len(image.code))
    if image.data:
        ctypes.memmove(base + code_size, image.data, len(image.data))
    table = struct.pack(f"<{len(addresses)}Q", *addresses)
    ctypes.memmove(base + image.table, table, len(table))
    for place, target in image.pointers:
        ctypes.c_uint64.from_address(base + place).value = base + target
    for place, number, behind in image.imported_pointers:
        ctypes.c_uint64.from_address(base + place).value = addresses[number] + behind
    if system.mprotect(base, code_size, _READ | _EXECUTE):
        raise LinkError("this system does not let a process execute what it has written")
    return loaded

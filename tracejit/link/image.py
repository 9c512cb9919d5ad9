"""Machine code laid out for loading: what `elf.lay_out` makes and `loader.load` takes."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Image", "LinkError"]


class LinkError(RuntimeError):
    """An object file that is not understood, or an image that cannot be loaded."""


class Image(NamedTuple):
    """Code and data that lie one behind the other, from the start of a page each.

    All offsets count bytes from the first of the code. It consists of what `marshal` writes.
    """

    #: What is executed or only read, with the table of imports in it.
    code: bytes
    #: What is written, and how many zeros follow it.
    data: bytes
    zeros: int
    #: The names whose addresses the table takes, in its order, and where the table lies.
    imports: tuple[str, ...]
    table: int
    #: 64-bit words: (where one lies, what it points to), and (where one lies, the number of the
    #: import that it points to, how many bytes behind it).
    pointers: tuple[tuple[int, int], ...]
    imported_pointers: tuple[tuple[int, int, int], ...]
    exports: dict[str, int]

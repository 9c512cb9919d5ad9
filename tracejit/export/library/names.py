"""Names of Python become names of C: none of its keywords, none twice"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Names", "is_c_name"]

_KEYWORDS = frozenset(
    "alignas alignof and auto bool break case catch char class complex const constexpr continue "
    "default delete do double else enum explicit export extern false float for friend goto if "
    "inline int int8_t int16_t int32_t int64_t long main mutable namespace new not nullptr "
    "operator or private protected public register restrict return short signed sizeof static "
    "struct switch template this throw true try typedef typeof typename uint8_t uint16_t "
    "uint32_t uint64_t union unsigned using virtual void volatile wchar_t while xor asm errno "
    "I".split()
)
#: What functions of a library call things themselves.
_OWN = frozenset(
    "add bad failure fit fits floordiv free known malloc max memcpy min mod mul narrow null "
    "processor slots_in slots_out state table widen draw fill print run at_ status "
    "DONE CHECK SIZES MEMORY BLAS PROCESSOR NULL".split()
)


def is_c_name(name: str) -> bool:
    """Whether a name may be one of C, and of C++."""
    return name.isidentifier() and name.isascii() and name not in _KEYWORDS | _OWN


class Names:
    """The names of one function's parameters."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def new(self, name: str, end: str = "") -> str:
        """The name, or one like it that may be used and is not taken; it is taken then, and so is
        the one with this end.
        """
        found = "".join(c if c.isascii() and c.isidentifier() or c.isdigit() else "_" for c in name)
        while not is_c_name(found) or not self._taken.isdisjoint((found, found + end)):
            found += "_"
        self._taken |= {found, found + end}
        return found

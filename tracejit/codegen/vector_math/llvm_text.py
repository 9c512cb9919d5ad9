"""LLVM IR text of functions over vectors: constants, names, definitions."""

from __future__ import annotations

import struct

from tracejit.base.lazy_dataclass import dataclass

__all__ = ["Definition", "literal", "symbol"]


def literal(value: float) -> str:
    """LLVM's spelling of a constant; a `float` constant is written as the double it equals."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def symbol(name: str, dtype: str, width: int) -> str:
    """Name of the function over `width` elements: `symbol("exp", "f64", 8)` is "tj_exp_f64x8"."""
    return f"tj_{name}_{dtype}x{width}"


@dataclass(frozen=True)
class Definition:
    """LLVM IR text of the function `symbol`, the `declare` lines that it needs, and what it calls.

    A module may hold one definition of each symbol.
    """

    symbol: str
    text: str
    declarations: tuple[str, ...]
    helpers: tuple[Definition, ...] = ()

    def everything(self) -> dict[str, str]:
        """The texts of this function and of all that it calls, by symbol."""
        texts: dict[str, str] = {}
        for helper in self.helpers:
            texts |= helper.everything()
        return texts | {self.symbol: self.text}

    def all_declarations(self) -> dict[str, None]:
        """The `declare` lines of this function and of all that it calls, each once."""
        lines = dict.fromkeys(self.declarations)
        for helper in self.helpers:
            lines |= helper.all_declarations()
        return lines

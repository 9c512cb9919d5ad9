"""Binary floating-point formats, and the text of functions over vectors of their numbers."""

from __future__ import annotations

import struct
from dataclasses import dataclass

__all__ = ["F32", "F64", "FORMATS", "Definition", "Format", "literal", "symbol"]


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: its LLVM types and the fields of its encoding."""

    name: str
    type: str
    bits: int
    mantissa: int

    @property
    def bias(self) -> int:
        """Of the exponent field."""
        return (1 << (self.bits - self.mantissa - 2)) - 1

    @property
    def integer(self) -> str:
        """The LLVM integer type of the same size."""
        return f"i{self.bits}"

    @property
    def sign_mask(self) -> int:
        """Encoding of -0.0."""
        return 1 << (self.bits - 1)

    @property
    def tiny(self) -> float:
        """The least normal number."""
        return 2.0 ** (1 - self.bias)

    @property
    def magic(self) -> float:
        """1.5 * 2**mantissa: adding it rounds to an integer, kept in the sum's low bits."""
        return 1.5 * 2.0**self.mantissa

    def encode(self, value: float) -> int:
        """The bits of the nearest number of the format."""
        code, layout = ("<d", "<Q") if self.bits == 64 else ("<f", "<I")
        encoded: int = struct.unpack(layout, struct.pack(code, value))[0]
        return encoded

    def decode(self, bits: int) -> float:
        """The number with these bits."""
        code, layout = ("<d", "<Q") if self.bits == 64 else ("<f", "<I")
        value: float = struct.unpack(code, struct.pack(layout, bits))[0]
        return value

    def rounded(self, value: float) -> float:
        """The nearest number of the format."""
        return self.decode(self.encode(value))


F64 = Format("f64", "double", 64, 52)
F32 = Format("f32", "float", 32, 23)
FORMATS = {"f64": F64, "f32": F32}


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

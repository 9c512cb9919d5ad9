"""Binary floating-point formats."""

from __future__ import annotations

import struct

from tracejit.base.lazy_dataclass import dataclass

__all__ = ["F32", "F64", "FORMATS", "Format"]


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: the fields of its encoding."""

    name: str
    bits: int
    mantissa: int

    @property
    def bias(self) -> int:
        """Of the exponent field."""
        return (1 << (self.bits - self.mantissa - 2)) - 1

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


F64 = Format("f64", 64, 52)
F32 = Format("f32", 32, 23)
FORMATS = {"f64": F64, "f32": F32}

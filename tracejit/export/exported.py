"""The files of a library that was made of a function."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Exported"]


@dataclass(frozen=True)
class Exported:
    """What was made: the name, the folder, and for each function of the library what it takes."""

    name: str
    folder: Path
    functions: dict[str, str]

    @property
    def library(self) -> Path:
        """The shared library: with another beginning than the loader, which Python would not find
        beside it.
        """
        return self.folder / f"lib{self.name}.so"

    @property
    def header(self) -> Path:
        """The C header."""
        return self.folder / f"{self.name}.h"

    @property
    def loader(self) -> Path:
        """The Python module that loads the library."""
        return self.folder / f"{self.name}.py"

    @property
    def example(self) -> Path:
        """The C program that calls it."""
        return self.folder / "example.c"

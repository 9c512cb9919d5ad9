"""Libraries that tests make of functions: loaded from their loaders, and called from C"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tracejit.export import Exported
from tracejit.export.library.example import DRAWS

__all__ = ["NEEDS_CC", "Drawn", "load", "numpy_blas", "run_example"]

NEEDS_CC = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no compiler of C")


def load(made: Exported) -> ModuleType:
    """The loader of a library, as a module."""
    spec = importlib.util.spec_from_file_location(f"loaded_{made.name}", made.loader)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def numpy_blas() -> Path | None:
    """The file of the BLAS in NumPy's wheel."""
    folder = Path(np.__file__).resolve().parent.parent / "numpy.libs"
    return next(iter(folder.glob("*openblas*")), None)


def run_example(made: Exported, *arguments: str) -> dict[str, list[float]]:
    """What the example prints, compiled without a warning: numbers by names."""
    program = made.folder / "example"
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-Wl,-rpath,{made.folder}"]
    files = [str(made.example), str(made.library)]
    subprocess.run(["cc", *flags, *files, "-lm", "-ldl", "-o", str(program)], check=True)
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=True)
    found: dict[str, list[float]] = {}
    for line in done.stdout.splitlines():
        name, number = line.split()
        found.setdefault(name, []).append(float(number))
    return found


class Drawn:
    """The arrays and numbers that an example draws, in its order."""

    def __init__(self) -> None:
        self.state = 1

    def number(self) -> float:
        """The next one from 0 to 1."""
        self.state = (self.state * DRAWS[0] + DRAWS[1]) % 2**64
        return (self.state >> 11) * 2.0**-53

    def array(self, *shape: int, dtype: Any = float) -> np.ndarray[Any, Any]:
        """The next array of floats."""
        count = int(np.prod(shape))
        return np.array([self.number() for _ in range(count)]).astype(dtype).reshape(shape)

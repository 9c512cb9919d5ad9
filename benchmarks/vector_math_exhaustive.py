"""All float32 numbers: the greatest error of each function of one number, in ULP.

    python -m benchmarks.vector_math_exhaustive arctan exp

takes one to three minutes a function. What is right is NumPy's or SciPy's float64 function, whose
own error is a few parts in 2^29 of a float32's last place. NaN, infinities and the signs of
results must be the same. `--plain` measures the form for hosts without fused multiply-add.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracejit.codegen.vector_math.define import ARITY

from .vector_math import Applied, numpys

#: Numbers a block, whose encodings are neighbours; 2^32 in all.
BLOCK = 1 << 20
BLOCKS = 1 << 12


@dataclass
class Found:
    """The greatest error, where it is, and how many results are not of the right kind or sign."""

    error: float = 0.0
    at: float = 0.0
    wrong: int = 0

    def add(self, x: npt.NDArray[np.float32], got: npt.NDArray[np.float32], truth: object) -> None:
        """Compare results with float64 values."""
        exact = np.asarray(truth, np.float64)
        rounded = exact.astype(np.float32)
        nan, finite = np.isnan(rounded), np.isfinite(rounded)
        wrong = (np.isnan(got) != nan) | (~nan & (np.signbit(got) != np.signbit(rounded)))
        wrong |= (~finite | ~np.isfinite(got)) & ~nan & (got != rounded)
        self.wrong += int(np.count_nonzero(wrong))
        with np.errstate(invalid="ignore"):
            errors = np.abs(got.astype(np.float64) - exact) / np.spacing(np.abs(rounded))
        errors[~finite | wrong] = 0
        worst = int(np.argmax(errors))
        if errors[worst] > self.error:
            self.error, self.at = float(errors[worst]), float(x[worst])


def search(name: str, fma: bool, blocks: Iterable[int]) -> Found:
    """The greatest error over some of the blocks; 0 begins at 0.0, the middle one at -0.0."""
    x = np.empty(BLOCK, np.float32)
    applied = Applied(name, x, 16, fma)
    found = Found()
    within = np.arange(BLOCK, dtype=np.uint32)
    with np.errstate(all="ignore"):
        for block in blocks:
            x[:] = (within + np.uint32(block * BLOCK)).view(np.float32)
            applied.call()
            found.add(x, applied.y, numpys(name)(x.astype(np.float64)))
    return found


def main(argv: list[str] | None = None) -> int:
    """Print a line for each function; 1 if one has an error above 1 ULP or a wrong result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", help="functions of one number")
    parser.add_argument("--plain", action="store_true", help="without fused multiply-add")
    parser.add_argument("--every", type=int, default=1, help="only one block in so many")
    arguments = parser.parse_args(argv)
    unknown = [name for name in arguments.names if ARITY.get(name) != 1]
    if unknown:
        parser.error(f"not functions of one number: {', '.join(unknown)}")
    failed = False
    for name in arguments.names:
        found = search(name, not arguments.plain, range(0, BLOCKS, arguments.every))
        print(f"{name}: {found.error:.4f} ULP at {found.at.hex()}, {found.wrong} wrong", flush=True)
        failed |= found.error > 1 or found.wrong > 0
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())

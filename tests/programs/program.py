"""What a whole test program is: a NumPy function, its inputs at any size, and its tolerance."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.compare import Parity


@dataclasses.dataclass(frozen=True)
class Program:
    """One NumPy function as a scientist writes it, with what the tests need to run it.

    `inputs(rng, size)` returns the argument tuple. `parity` and `ulp` are those of
    `tests.support.compare.assert_same`; `scale`, where given, maps the arguments to the magnitude
    that parity ``order`` refers to. `in_scope` programs must compile whole, without any fallback;
    the others only have to be right.
    """

    f: Callable[..., Any]
    inputs: Callable[[np.random.Generator, int], tuple[Any, ...]]
    parity: Parity = "exact"
    ulp: float = 1.0
    scale: Callable[..., Any] | None = None
    sizes: tuple[int, ...] = (9, 40, 131)
    in_scope: bool = True

    @property
    def name(self) -> str:
        """The function's name, also the test's."""
        return self.f.__name__

    def arguments(self, size: int) -> tuple[Any, ...]:
        """The same arguments for the same size, on every call."""
        return self.inputs(np.random.default_rng([size, len(self.name)]), size)

    def allowed(self, args: tuple[Any, ...]) -> dict[str, Any]:
        """Keyword arguments for `assert_same`."""
        scale = None if self.scale is None else self.scale(*args)
        return {"parity": self.parity, "ulp": self.ulp, "scale": scale}

"""What a control-flow program is: a function as a user writes it, and calls that take its paths."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.compare import Parity

Call = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Program:
    """One plain function with the argument tuples it is called on, in this order.

    The first call is the one that compiles; together the calls execute every line. `parity` and
    `ulp` are those of `tests.support.compare.assert_same`. `eager` says why the program may run
    eagerly; where it is empty, the compiled function's report must list no fallback. `repeats` says
    why compiled code may give up a call that raises nothing, so that it is repeated eagerly.
    """

    f: Callable[..., Any]
    calls: tuple[Call, ...]
    theme: str
    parity: Parity = "exact"
    ulp: float = 1.0
    eager: str = ""
    repeats: str = ""
    number: int = 0

    @property
    def name(self) -> str:
        """Unique among all programs: theme, number within the theme, name of the function."""
        name = getattr(self.f, "__name__", None) or type(self.f).__name__
        return f"{self.theme}-{self.number}-{name.strip('<>')}"


class Programs:
    """The programs of one module, in order."""

    def __init__(self, theme: str) -> None:
        self.theme = theme
        self.all: list[Program] = []

    def add(
        self,
        f: Callable[..., Any],
        *calls: Call,
        parity: Parity = "exact",
        ulp: float = 1.0,
        eager: str = "",
        repeats: str = "",
    ) -> None:
        """Note a program; each call is a tuple of arguments."""
        number = len(self.all)
        self.all.append(Program(f, calls, self.theme, parity, ulp, eager, repeats, number))


def ramp(n: int, low: float = -1.0, high: float = 2.0) -> np.ndarray[Any, Any]:
    """`n` float64 rising from `low` to `high`, in quarters of the step's size: exact to add up."""
    return np.round(np.linspace(low, high, n) * 64) / 64


def mixed(n: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """`n` float64 of both signs in no order, multiples of 1/16 between -4 and 4."""
    return np.random.default_rng([n, seed]).integers(-64, 65, n) / 16


def table(rows: int, columns: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """`mixed` numbers in rows and columns."""
    return mixed(rows * columns, seed).reshape(rows, columns)


def whole(n: int, low: int = -9, high: int = 10, seed: int = 0) -> np.ndarray[Any, Any]:
    """`n` int64 between `low` and `high - 1`, in no order."""
    return np.random.default_rng([n, seed]).integers(low, high, n)

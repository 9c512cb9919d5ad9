"""What a production draws from: the variables so far, with their values at two sizes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

T = TypeVar("T")
NUMBERS = "iufc"
REAL = "iuf"
ANY = "biufc"


class NoCandidateError(Exception):
    """No variable fits what a production asked for."""


class Expression(NamedTuple):
    """A drawn right-hand side; see `noise` for the parity classes and `magnitude`."""

    text: str
    parity: str = "exact"
    magnitude: str | None = None


def kind(value: Any) -> str:
    """NumPy's letter for the kind of number a value is."""
    return np.asarray(value).dtype.kind


def is_array(value: Any) -> bool:
    """Whether it has one axis or more."""
    return isinstance(value, np.ndarray) and value.ndim > 0


class Draw:
    """Random choices over the variables of an unfinished program.

    `values` are the variables at the first size, `others` at the second; what is chosen to fit
    together fits at both.
    """

    def __init__(self, rng: random.Random, values: dict[str, Any], others: dict[str, Any]) -> None:
        self.rng, self.values, self.others = rng, values, others
        self.unused = set(values)

    def choice(self, options: Sequence[T]) -> T:
        """One of them."""
        return self.rng.choice(options)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.rng.random() < probability

    def integer(self, low: int, high: int) -> int:
        """An integer in [low, high]."""
        return self.rng.randint(low, high)

    def variable(self, kinds: str = ANY, low: int = 0, high: int = 5, like: str = "") -> str:
        """A variable of these kinds and number of axes (and of one's shape), preferring new ones.

        Raises `NoCandidateError` if there is none.
        """

        def fits(name: str) -> bool:
            value = self.values[name]
            if kind(value) not in kinds or not low <= np.ndim(value) <= high:
                return False
            return not like or (
                np.shape(value) == np.shape(self.values[like])
                and np.shape(self.others[name]) == np.shape(self.others[like])
            )

        names = [name for name in self.values if fits(name)]
        if not names:
            raise NoCandidateError
        weights = [3 if name in self.unused else 1 + i / len(names) for i, name in enumerate(names)]
        return self.rng.choices(names, weights)[0]

    def array(self, kinds: str = ANY, low: int = 1, high: int = 4) -> str:
        """A variable that is an array of one axis or more."""
        return self.variable(kinds, low, high)

    def literal(self, kinds: str = ANY) -> str:
        """A Python or NumPy number, written out."""
        options = {
            "b": ("True", "False", "np.bool_(True)"),
            "i": ("2", "3", "-1", "0", "1", "7", "np.int8(3)", "np.int64(-2)", "np.int32(5)"),
            "u": ("2", "np.uint8(200)", "np.uint64(3)", "np.uint16(1)"),
            "f": ("1.5", "0.5", "-2.0", "0.1", "3.0", "np.float32(0.7)", "np.float64(-0.3)"),
            "c": ("1j", "(0.5-2j)", "np.complex64(1+1j)"),
        }
        return self.choice(options[self.choice(kinds)])

    def partner(self, name: str, kinds: str = ANY) -> str:
        """A variable that broadcasts with another at both sizes, or a literal."""
        if self.chance(0.25):
            return self.literal("if" if kinds == ANY else kinds)
        for _ in range(6):
            other = self.variable(kinds)
            if self._broadcasts(name, other, self.values) and self._broadcasts(
                name, other, self.others
            ):
                return other
        return self.literal(kinds)

    @staticmethod
    def _broadcasts(a: str, b: str, values: dict[str, Any]) -> bool:
        try:
            np.broadcast_shapes(np.shape(values[a]), np.shape(values[b]))
        except ValueError:
            return False
        return True

    def axis(self, name: str) -> int:
        """An axis of a variable, counted from either end."""
        ndim = np.ndim(self.values[name])
        return self.integer(-ndim, ndim - 1)

    def axes(self, name: str) -> str:
        """One axis, several or None, as an argument text."""
        ndim = np.ndim(self.values[name])
        if ndim == 0 or self.chance(0.3):
            return "None"
        if ndim > 1 and self.chance(0.25):
            return repr(tuple(self.rng.sample(range(ndim), self.integer(1, ndim))))
        return str(self.axis(name))

    def exact(self, *names: str) -> bool:
        """Whether arithmetic on these variables or literals gives integers or booleans, hence does
        not round.
        """
        values = (self.values[t] if t in self.values else eval(t, {"np": np}) for t in names)
        return all(kind(value) in "biu" for value in values)

    def is_complex(self, *texts: str) -> bool:
        """Whether one of these operands, variables or literals, is complex."""
        return any(kind(self.values[t]) == "c" if t in self.values else "j" in t for t in texts)

"""Functions that the prelude calls and the compiler knows: what they mean in plain NumPy.

A function of the prelude runs without the compiler as any Python does, and gives what NumPy's
function of the same name gives, or raises `Refused`. In a trace the compiler puts its own in place
of these: a refused call becomes a call of NumPy while the program runs, and is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

__all__ = [
    "CREATORS",
    "LOOPS",
    "NUMPY",
    "Refused",
    "added_at",
    "apart",
    "as_called",
    "creates",
    "derived_as",
    "elements_at",
    "in_memory_order",
    "over_elements",
    "is_known",
    "refuse",
    "require",
    "root_of_squares",
    "specialised",
]

F = TypeVar("F", bound=Callable[..., Any])

#: Functions that are traced for plain arguments too, decorated by `creates`.
CREATORS: set[Any] = set()
#: Functions that go over elements one by one, decorated by `over_elements`.
LOOPS: set[Any] = set()

#: The version of NumPy that is installed, (major, minor): where versions differ in an answer.
NUMPY: tuple[int, int] = tuple(map(int, np.__version__.split(".")[:2]))  # type: ignore[assignment]


def creates(f: F) -> F:
    """Decorator: a function is traced for plain arguments too, since its arrays may be large."""
    CREATORS.add(f)
    return f


def over_elements(f: F) -> F:
    """Decorator: a function goes over elements one by one, which only pays where it is compiled."""
    LOOPS.add(f)
    return f


class Refused(Exception):
    """A form of arguments that a function of the prelude does not cover."""


def refuse(what: str) -> Any:
    """Give up a call: NumPy's own function is called. Raises Refused."""
    raise Refused(what)


def require(condition: Any) -> None:
    """Give up a call unless a condition on elements holds; a compiled run is repeated by Python.

    Raises Refused.
    """
    if not condition:
        raise Refused("a condition on elements")


def is_known(*numbers: Any) -> bool:
    """Returns False in a trace for numbers that only a run gives; True for all others."""
    return True


def specialised(number: Any) -> Any:
    """`number`; an argument of a traced function becomes a constant of what is compiled."""
    return number


def derived_as(value: Any, formula: Any) -> Any:
    """`value`, with the derivative of `formula`, which is computed for nothing else."""
    return value


def elements_at(x: Any, places: Any) -> Any:
    """`x[places]`, where all places are known to lie inside."""
    return x[places]


def in_memory_order(x: Any) -> Any:
    """All elements along one axis, in the order of memory where that is known."""
    return x.ravel(order="K")


def added_at(x: Any, places: Any, values: Any) -> Any:
    """`x` after `np.add.at(x, places, values)`, where all places are known to lie inside."""
    out = x.copy()
    np.add.at(out, places, values)
    return out


def as_called(path: str, *args: Any) -> Any:
    """What the function of a path (`module:name`) gives, for `derived_as` alone.

    Plain Python derives nothing, and does without.
    """


def apart(f: Any, *args: Any) -> Any:
    """`f(*args)`; in a trace for each of the values that branches have left an argument as."""
    return f(*args)


def root_of_squares(x: Any) -> Any:
    """`np.sqrt(x)` of a sum of squares: where that is 0, so is the derivative."""
    return np.sqrt(x)

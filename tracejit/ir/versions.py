"""The states of an array that is stored into, one after the other, in the memory of one array.

Only the state that was read or made last is an array; every other one is the elements in which it
differs from a neighbour, on a path to that array (shallow binding: H. G. Baker, "Shallow binding
makes functional arrays fast", SIGPLAN Notices 26(8), 1991). Going through the states in order,
forwards or backwards, costs what the stores have cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Version"]


class Version:
    """One state of an array."""

    __slots__ = ("_array", "_elements", "_index", "_next")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        """The first state: `array`, which belongs to the states from now on."""
        self._array: np.ndarray[Any, Any] | None = array
        self._next: Version | None = None
        self._index: Any = None
        self._elements: Any = None

    def read(self) -> np.ndarray[Any, Any]:
        """The array in this state. It changes as soon as another state is read or made."""
        path: list[Version] = []
        state = self
        while state._next is not None:
            path.append(state)
            state = state._next
        for wanted in reversed(path):
            _swap(wanted)
        assert self._array is not None
        return self._array

    def replaced(self, index: Any, elements: Any) -> Version:
        """The state with other elements at an index."""
        array = self.read()
        new = Version(array)
        self._array, self._next = None, new
        self._index, self._elements = index, np.array(array[index])
        array[index] = elements
        return new


def _swap(wanted: Version) -> None:
    """Bring the array from the neighbour of a state to the state."""
    other, index = wanted._next, wanted._index
    assert other is not None and other._array is not None
    array = other._array
    other._array, other._next = None, wanted
    other._index, other._elements = index, np.array(array[index])
    array[index] = wanted._elements
    wanted._array, wanted._next = array, None
    wanted._index = wanted._elements = None

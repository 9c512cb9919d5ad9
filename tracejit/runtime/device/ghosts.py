"""Arrays of a device as NumPy arrays of which only the outside is looked at.

Dispatch, guards, views and results need an array's address, shape, strides and dtype, never its
elements. A ghost has these, with the address of the device: the machine code that answers calls
with arrays of the host answers them for ghosts. No ghost is ever given to a user.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Holder", "ghost", "holder_of"]


class Holder:
    """Stands for memory of the device, and keeps it: `owner` is whose array it is."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(
        self,
        owner: Any,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None,
        dtype: np.dtype[Any],
        read_only: bool = False,
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "data": (address, read_only),
            "shape": shape,
            "strides": strides,
            "typestr": dtype.str,
        }


def ghost(
    owner: Any,
    address: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    dtype: np.dtype[Any],
    read_only: bool = False,
) -> np.ndarray[Any, Any]:
    """The ghost of an array; strides in bytes, None for C order."""
    # NumPy takes an array without elements, or at 0, to be its own to allocate.
    if address == 0:
        address = 1 << 60
    return np.asarray(Holder(owner, address, shape, strides, dtype, read_only))


def holder_of(x: np.ndarray[Any, Any]) -> Holder | None:
    """What a ghost, or a view of one, is an array of; None for an array of the host."""
    base: Any = x.base
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, Holder) else None

"""Turns arrays into the same values laid out otherwise in memory."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.compare import leaves


def fortran(array: np.ndarray) -> np.ndarray:
    """Column-major."""
    return np.asfortranarray(array)


def strided(array: np.ndarray) -> np.ndarray:
    """Every second element of the last axis of a larger array."""
    return np.repeat(array, 2, axis=-1)[..., ::2]


def reversed_rows(array: np.ndarray) -> np.ndarray:
    """A negative stride along the first axis."""
    return array[::-1].copy()[::-1]


def inner_block(array: np.ndarray) -> np.ndarray:
    """A block inside a larger array, one element from its start in every axis."""
    return np.pad(array, 1)[(slice(1, -1),) * array.ndim]


def transposed(array: np.ndarray) -> np.ndarray:
    """The last axis outermost in memory, the others in order: neither C nor Fortran from 3-D on."""
    return np.moveaxis(np.moveaxis(array, -1, 0).copy(), 0, -1)


def swapped_axes(array: np.ndarray) -> np.ndarray:
    """The last two axes in memory the other way round."""
    return array.swapaxes(-1, -2).copy().swapaxes(-1, -2) if array.ndim > 1 else array.copy()


def repeated_rows(array: np.ndarray) -> np.ndarray:
    """The first row over and over, in the same memory."""
    return np.broadcast_to(array[:1].copy(), array.shape)


def repeated_columns(array: np.ndarray) -> np.ndarray:
    """The first element of each line over and over, in the same memory."""
    return np.broadcast_to(array[..., :1].copy(), array.shape)


def overlapping(array: np.ndarray) -> np.ndarray:
    """Both of the last axes step from one element to the next."""
    if array.ndim < 2:
        return array.copy()
    lines = np.concatenate([array[..., 0], array[..., -1, 1:]], -1)
    return np.lib.stride_tricks.sliding_window_view(lines, array.shape[-1], -1)


def spaced(array: np.ndarray) -> np.ndarray:
    """Every third element of each axis of a larger array."""
    memory = np.zeros([3 * n for n in array.shape], array.dtype)[
        (slice(None, None, 3),) * array.ndim
    ]
    memory[...] = array
    return memory


def odd_strides(array: np.ndarray) -> np.ndarray:
    """In C order, with strides of their own along axes of one element or none."""
    pairs = enumerate(zip(array.shape, array.strides, strict=True))
    odd = [s if n > 1 else array.itemsize * (7 - 3 * axis) for axis, (n, s) in pairs]
    return np.lib.stride_tricks.as_strided(array, array.shape, odd)


def read_only(array: np.ndarray) -> np.ndarray:
    """Not writeable."""
    array = array.copy()
    array.flags.writeable = False
    return array


def unaligned(array: np.ndarray) -> np.ndarray:
    """Starting at an odd address."""
    memory = np.empty(array.nbytes + 1, np.uint8)[1:]
    moved = memory.view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def swapped(array: np.ndarray) -> np.ndarray:
    """The other byte order."""
    return array.astype(array.dtype.newbyteorder())


Layout = Callable[[np.ndarray], np.ndarray]
LAYOUTS: dict[str, Layout] = {
    layout.__name__: layout
    for layout in (
        fortran,
        strided,
        reversed_rows,
        inner_block,
        transposed,
        read_only,
        unaligned,
        swapped,
    )
}


def lay_out(tree: Any, layout: Layout) -> Any:
    """A copy of nested containers in which each array of one or more axes has the layout."""
    memo = {
        id(leaf): layout(leaf)
        for leaf in leaves(tree)
        if isinstance(leaf, np.ndarray) and leaf.ndim > 0
    }
    return copy.deepcopy(tree, memo)

"""Arrays in memory that processes share: written once by the sender, read where they lie.

A block is a file without a name. Its first bytes say, one for each process, whether that process
still reads the block; each reader clears its own, and the block is free when all are 0.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from tracejit.data.shared import created

__all__ = ["HEAD", "Block", "Lease", "Pool"]

#: Bytes before the array; no more processes can share a block.
HEAD = 4096
_SMALLEST = 1 << 16


class Block:
    """One file, mapped."""

    def __init__(self, number: int, file: int, size: int) -> None:
        self.number, self.file, self.size = number, file, size
        memory = mmap.mmap(file, HEAD + size)
        self.readers = np.frombuffer(memory, np.uint8, HEAD)
        self.data = np.frombuffer(memory, np.uint8, size, HEAD)


class Lease:
    """An array in a block that another process has made. The block is given back with it."""

    def __init__(
        self, block: Block, rank: int, dtype: np.dtype[Any], shape: tuple[int, ...], writable: bool
    ) -> None:
        self._block, self._rank = block, rank
        self.__array_interface__ = {
            "version": 3,
            "typestr": dtype.str,
            "shape": shape,
            "data": (block.data.ctypes.data, not writable),
        }

    def __del__(self) -> None:
        self._block.readers[self._rank] = 0


class Pool:
    """The blocks that this process writes to."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []

    def take(self, size: int) -> Block:
        """A free block for so many bytes; it is not free once a reader is noted in it."""
        fitting = [b for b in self._blocks if size <= b.size <= 4 * max(size, _SMALLEST)]
        for block in sorted(fitting, key=lambda b: b.size):
            if not block.readers.any():
                return block
        capacity = max(_SMALLEST, 1 << (size - 1).bit_length())
        self._blocks.append(Block(len(self._blocks), created(HEAD + capacity), capacity))
        return self._blocks[-1]

    def lost(self, rank: int) -> None:
        """A process reads nothing any more."""
        for block in self._blocks:
            block.readers[rank] = 0

"""Links by MPI: messages as two parts without pickles, collectives of arrays where they lie.

Needs the package mpi4py and an MPI, such as the package mpich: `pip install 'tracejit[mpi]'`.
"""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.dist.transport.link import DistError
from tracejit.dist.transport.wire import pack, unpack

__all__ = ["MpiLink"]

_TAG = 7
_LENGTHS = struct.Struct("=II")
_REALS = "bhilqBHILQfd"
_OPS = {"sum": "SUM", "mean": "SUM", "max": "MAX", "min": "MIN", "prod": "PROD"}


class MpiLink:
    """This process among all that `mpiexec` has started."""

    def __init__(self) -> None:
        try:
            from mpi4py import MPI
        except ImportError as e:
            raise DistError(f"MPI is not there: {e}; pip install 'tracejit[mpi]'") from None
        self._mpi = MPI
        self._comm = MPI.COMM_WORLD.Dup()
        self.rank, self.size = self._comm.Get_rank(), self._comm.Get_size()
        self._arrived: dict[tuple[int, str], deque[Any]] = {}
        #: What is under way, with the memory that it is sent from.
        self._sent: list[tuple[Any, bytes]] = []

    def send(self, to: int, key: str, value: Any) -> None:
        """Send a message. Raises TypeError for what is none."""
        self.send_all([to], key, value)

    def send_all(self, to: Sequence[int], key: str, value: Any) -> None:
        """Send one message to several: key, text and arrays, in one piece. Raises ValueError where
        there is no such process, TypeError for what is no message.

        Nobody waits until the others receive: all may send before any of them does.
        """
        for rank in to:
            if not 0 <= rank < self.size:
                raise ValueError(f"there is no process {rank} among {self.size}")
        text, arrays = pack(value)
        name = key.encode()
        parts = [_LENGTHS.pack(len(name), len(text)), name, text, *(a.tobytes() for a in arrays)]
        whole = b"".join(parts)
        self._sent = [(request, data) for request, data in self._sent if not request.Test()]
        for rank in to:
            request = self._comm.Isend([whole, self._mpi.BYTE], rank, _TAG)
            self._sent.append((request, whole))

    def receive(self, source: int, key: str, timeout: float | None = None) -> Any:
        """The next message with a key. Raises TimeoutError."""
        end = None if timeout is None else time.monotonic() + timeout
        while not self._arrived.get((source, key)):
            status = self._mpi.Status()
            if end is None:
                self._comm.Probe(source, _TAG, status)
            elif not self._comm.Iprobe(source, _TAG, status):
                if time.monotonic() > end:
                    raise TimeoutError(f"no {key!r} from process {source} in {timeout} s")
                time.sleep(0.0001)
                continue
            data = bytearray(status.Get_count(self._mpi.BYTE))
            self._comm.Recv([data, self._mpi.BYTE], source, _TAG)
            name_size, text_size = _LENGTHS.unpack_from(data)
            start = _LENGTHS.size + name_size
            name = data[_LENGTHS.size : start].decode()
            place = source, name
            self._arrived.setdefault(place, deque()).append((data, start, text_size))
        data, start, text_size = self._arrived[source, key].popleft()
        at = start + text_size

        def array(_: int, dtype: Any, shape: Any) -> Any:
            nonlocal at
            found = np.frombuffer(data, dtype, int(np.prod(shape)), at).reshape(shape)
            at += found.nbytes
            # Where it is aligned to its elements.
            return found if found.flags.aligned else found.copy()

        return unpack(bytes(data[start : start + text_size]), array)

    def reduces(self, dtype: np.dtype[Any], op: str) -> bool:
        """Whether MPI joins arrays of a dtype itself."""
        known = _REALS if op in ("max", "min") else _REALS + "FD"
        return dtype.isnative and dtype.char in known

    def reduce(self, flat: Any, op: str) -> Any:
        """All processes' arrays of one axis joined, by MPI's own collective."""
        out = np.empty_like(flat)
        self._comm.Allreduce(flat, out, getattr(self._mpi, _OPS[op]))
        return out

    def close(self) -> None:
        """Wait until all that was sent has been received. MPI itself ends with the process."""
        for request, _ in self._sent:
            request.Wait()
        self._sent.clear()

"""Links between the processes of one machine: sockets in a folder of the user's, shared memory.

Who connects and who accepts prove to each other that they know the secret of the run (HMAC-SHA256
of a number that the other has drawn) before anything is read. A message is a frame:

    key, text (see wire.py), arrays: inline, or the number of a block; files of new blocks before
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tracejit.base.locks import long_lock
from tracejit.dist.transport.blocks import HEAD, Block, Lease, Pool
from tracejit.dist.transport.handshake import answer, greet
from tracejit.dist.transport.link import DistError, PeerLost
from tracejit.dist.transport.wire import pack, unpack

__all__ = ["LocalLink"]

#: Lengths of the key, the text and the inline arrays, and how many arrays there are.
_FRAME = struct.Struct("=IIQI")
#: Of an array: its block or -1, its bytes; of a new block: its number and capacity.
_ARRAY, _NEW = struct.Struct("=qQ"), struct.Struct("=QQ")
#: The length of a key that announces a block.
_BLOCK = 0xFFFFFFFF
#: Arrays of fewer bytes go through the socket.
_INLINE = 1 << 14
#: Room for the files of 64 blocks; and looks at the sockets before this process sleeps.
_BESIDE, _TURNS = socket.CMSG_SPACE(64 * 4), 50
#: Seconds between two looks at those who are waited for.
_EACH = 0.1


class _Peer:
    """The connection with one other process."""

    def __init__(self, rank: int, end: socket.socket) -> None:
        self.rank, self.end = rank, end
        self.incoming = bytearray()
        self.files: deque[int] = deque()
        self.outgoing: deque[memoryview] = deque()
        #: Blocks of theirs, and the numbers of ours that they know.
        self.blocks: dict[int, Block] = {}
        self.known: set[int] = set()
        self.lost = False


class LocalLink:
    """One process among `size` that have the same folder and secret. Threads may share it.

    A `late` one takes the place of one that is lost: it connects with those that are there. While
    it waits, `require_others` is called now and then. Raises DistError where the others do not come
    in `timeout` seconds or there is no secret, and what `require_others` raises.
    """

    def __init__(
        self,
        rank: int,
        size: int,
        folder: str | Path,
        secret: bytes,
        timeout: float = 60.0,
        late: bool = False,
        require_others: Callable[[], object] = lambda: None,
    ) -> None:
        if not 0 <= rank < size <= HEAD:
            raise ValueError(f"there is no process {rank} among {size}")
        if not secret:
            raise DistError("the secret of the run is empty")
        self.rank, self.size = rank, size
        self._folder, self._secret = Path(folder), secret
        self._pool, self._poll = Pool(), select.poll()
        self._buffer = memoryview(bytearray(1 << 16))
        # To be woken takes longer than a look, where there is a processor for everybody.
        self._turns = _TURNS if size <= (os.cpu_count() or 1) else 0
        self._peers: dict[int, _Peer] = {}
        self._by_file: dict[int, _Peer] = {}
        self._arrived: dict[tuple[int, str], deque[Any]] = {}
        #: Held by who reads and writes sockets; and what others wait for meanwhile.
        self._busy = long_lock()
        self._changed = threading.Condition()
        #: Who wants to send ends the wait of who reads; how many want to.
        self._wake = socket.socketpair()
        self._wake[1].setblocking(False)
        self._poll.register(self._wake[0], select.POLLIN)
        self._wanted = 0
        self._listening = socket.socket(socket.AF_UNIX)
        #: Those who have come since the others were there, and who have gone, in order.
        self.changes: deque[tuple[int, bool]] = deque()
        try:
            self._connect(time.monotonic() + timeout, late, require_others)
        except BaseException:
            self.close()
            raise

    # Connecting -----------------------------------------------------------------------------------

    def _connect(self, end: float, late: bool, require_others: Callable[[], object]) -> None:
        """Connect with all processes: with those before this one, and let those after it do so."""
        listening = self._listening
        place = self._folder / f"{self.rank}.socket"
        if late:
            place.unlink(missing_ok=True)
        listening.bind(str(place))
        listening.listen(self.size)
        for rank in range(self.size) if late else range(self.rank):
            if rank == self.rank or (late and not self._is_there(rank)):
                continue
            try:
                self._greet(rank, end)
            except PeerLost:
                if not late:
                    raise
        while not late and len(self._peers) < self.size - 1:
            missing = sorted({*range(self.rank + 1, self.size)} - self._peers.keys())
            require_others()
            left = end - time.monotonic()
            listening.settimeout(min(max(0.0, left), _EACH))
            try:
                connection, _ = listening.accept()
            except (TimeoutError, BlockingIOError):
                if left > 0:
                    continue
                raise DistError(f"processes {missing} have not come") from None
            self._answer(connection, end)
        self.changes.clear()
        listening.setblocking(False)
        self._poll.register(listening, select.POLLIN)

    def _is_there(self, rank: int) -> bool:
        with socket.socket(socket.AF_UNIX) as trial:
            return trial.connect_ex(str(self._folder / f"{rank}.socket")) == 0

    def _let_in(self) -> None:
        """One comes late."""
        try:
            connection, _ = self._listening.accept()
        except OSError:
            return
        self._answer(connection, time.monotonic() + 2.0)

    def _greet(self, rank: int, end: float) -> None:
        connection = socket.socket(socket.AF_UNIX)
        while True:
            try:
                connection.connect(str(self._folder / f"{rank}.socket"))
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > end:
                    connection.close()
                    raise DistError(f"process {rank} has not come") from None
                time.sleep(0.005)
        connection.settimeout(max(0.1, end - time.monotonic()))
        try:
            right = greet(connection, self._secret, self.rank, rank)
        except (OSError, EOFError) as e:
            connection.close()
            raise PeerLost(rank, str(e)) from None
        if not right:
            connection.close()
            raise DistError(f"process {rank} does not know the secret of the run")
        self._add(rank, connection)

    def _answer(self, connection: socket.socket, end: float) -> None:
        """Let a process in; one that does not prove itself is turned away."""
        connection.settimeout(max(0.1, min(10.0, end - time.monotonic())))
        try:
            rank, right = answer(connection, self._secret, self.rank)
        except (OSError, EOFError):
            connection.close()
            return
        known = self._peers.get(rank)
        if not right or rank == self.rank or rank >= self.size or (known and not known.lost):
            connection.close()
            return
        self._add(rank, connection)

    def _add(self, rank: int, connection: socket.socket) -> None:
        connection.setblocking(False)
        with self._changed:
            # What the one before has sent is not this one's.
            for place in [p for p in self._arrived if p[0] == rank]:
                del self._arrived[place]
            # Who hears of it finds it there.
            peer = self._peers[rank] = _Peer(rank, connection)
            self.changes.append((rank, True))
            self._changed.notify_all()
        self._by_file[connection.fileno()] = peer
        self._poll.register(connection, select.POLLIN)

    # Sending --------------------------------------------------------------------------------------

    def send(self, to: int, key: str, value: Any) -> None:
        """Send a message; on return `value` may change. Raises PeerLost, TypeError."""
        self.send_all([to], key, value)

    def send_all(self, to: Sequence[int], key: str, value: Any) -> None:
        """Send one message to several: large arrays are written once. Raises PeerLost, TypeError
        for what is no message.
        """
        for rank in to:
            if not 0 <= rank < self.size:
                raise ValueError(f"there is no process {rank} among {self.size}")
        text, arrays = pack(value)
        others = [rank for rank in to if rank != self.rank]
        if len(others) < len(to):
            own = [np.frombuffer(bytearray(a.tobytes()), np.uint8) for a in arrays]
            self._give(self.rank, key, (text, own))
            # Another thread of this process may wait for it.
            with contextlib.suppress(OSError):
                self._wake[1].send(b"x")
        if not others:
            return
        with self._turn():
            peers = [self._peer(rank) for rank in others]
            places, parts, blocks = bytearray(), [], []
            for array in arrays:
                if array.nbytes < _INLINE:
                    places += _ARRAY.pack(-1, array.nbytes)
                    parts.append(array.tobytes())
                    continue
                block = self._pool.take(array.nbytes)
                block.data[: array.nbytes] = array.reshape(-1).view(np.uint8)
                block.readers[others] = 1
                places += _ARRAY.pack(block.number, array.nbytes)
                blocks.append(block)
            name = key.encode()
            inline = b"".join(parts)
            head = _FRAME.pack(len(name), len(text), len(inline), len(arrays))
            frame = b"".join((head, name, text, places, bytes([len(to) > 1]), inline))
            for peer in peers:
                for block in blocks:
                    if block.number not in peer.known:
                        self._announce(peer, block)
                self._write(peer, frame)

    @contextlib.contextmanager
    def _turn(self) -> Iterator[None]:
        """The sockets for this thread: one that waits for messages gives way."""
        if not self._busy.acquire(blocking=False):
            with self._changed:
                self._wanted += 1
            with contextlib.suppress(OSError):
                self._wake[1].send(b"x")
            self._busy.acquire()
            with self._changed:
                self._wanted -= 1
        try:
            yield
        finally:
            self._busy.release()

    def _peer(self, rank: int) -> _Peer:
        peer = self._peers.get(rank)
        if peer is None or peer.lost:
            raise PeerLost(rank)
        return peer

    def _announce(self, peer: _Peer, block: Block) -> None:
        frame = _FRAME.pack(_BLOCK, 0, 0, 0) + _NEW.pack(block.number, block.size)
        while peer.outgoing:
            self._progress(None)
        while True:
            try:
                sent = socket.send_fds(peer.end, [frame], [block.file])
                break
            except BlockingIOError:
                self._wait_to_write(peer)
            except OSError as e:
                self._hung_up(peer)
                raise PeerLost(peer.rank, str(e)) from None
        peer.known.add(block.number)
        if sent < len(frame):
            self._write(peer, frame[sent:])

    def _write(self, peer: _Peer, frame: bytes) -> None:
        """Write a frame, reading what comes meanwhile."""
        peer.outgoing.append(memoryview(frame))
        self._flush(peer)
        while peer.outgoing:
            self._wait_to_write(peer)
            self._flush(peer)
        if peer.lost:
            raise PeerLost(peer.rank)

    def _wait_to_write(self, peer: _Peer) -> None:
        self._poll.modify(peer.end, select.POLLIN | select.POLLOUT)
        try:
            self._progress(None)
        finally:
            if not peer.lost:
                self._poll.modify(peer.end, select.POLLIN)

    def _flush(self, peer: _Peer) -> None:
        while peer.outgoing:
            part = peer.outgoing[0]
            try:
                sent = peer.end.send(part)
            except BlockingIOError:
                return
            except OSError:
                self._hung_up(peer)
                return
            if sent == len(part):
                peer.outgoing.popleft()
            else:
                peer.outgoing[0] = part[sent:]

    # Receiving ------------------------------------------------------------------------------------

    def receive(self, source: int, key: str, timeout: float | None = None) -> Any:
        """The next message with a key. Raises PeerLost, TimeoutError."""
        return self._received(source, key, timeout, own=True)

    def borrow(self, source: int, key: str, timeout: float | None = None) -> Any:
        """The same, whose arrays may not be written to: others may read the same memory."""
        return self._received(source, key, timeout, own=False)

    def _received(self, source: int, key: str, timeout: float | None, own: bool) -> Any:
        end = None if timeout is None else time.monotonic() + timeout
        place = source, key
        while True:
            with self._changed:
                waiting = self._arrived.get(place)
                if waiting:
                    found = waiting.popleft()
                    if not waiting:
                        del self._arrived[place]
                    break
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(f"no {key!r} from process {source} in {timeout} s")
            self._wait(source, lambda: bool(self._arrived.get(place)), left)
        text, arrays = found
        if own:
            arrays = [a if a.flags.writeable else a.copy() for a in arrays]
        return unpack(text, lambda k, dtype, shape: arrays[k].view(dtype).reshape(shape))

    def _wait(self, source: int, is_there: Callable[[], bool], timeout: float | None) -> None:
        """Read what comes, or wait for the thread that does. Raises PeerLost.

        Another thread may have read what is waited for just before: then nothing more may come.
        """
        if not self._wanted and self._busy.acquire(blocking=False):
            try:
                if not is_there():
                    if source != self.rank:
                        self._peer(source)
                    self._progress(timeout)
            finally:
                self._busy.release()
            with self._changed:
                self._changed.notify_all()
        else:
            with self._changed:
                if not is_there():
                    self._changed.wait(0.001 if timeout is None else min(timeout, 0.001))

    def _progress(self, timeout: float | None) -> None:
        """Wait until something can be read or written, and read it."""
        found = self._poll.poll(0)
        for _ in range(self._turns):
            if found:
                break
            found = self._poll.poll(0)
        for file, event in found or self._poll.poll(None if timeout is None else timeout * 1e3):
            if file == self._wake[0].fileno():
                self._wake[0].recv(64)
                continue
            if file == self._listening.fileno():
                self._let_in()
                continue
            peer = self._by_file[file]
            if event & select.POLLOUT:
                self._flush(peer)
            if event & (select.POLLIN | select.POLLHUP | select.POLLERR) and not peer.lost:
                self._read(peer)

    def _hung_up(self, peer: _Peer) -> None:
        """Nothing can be sent to it any more; what it has sent before is read."""
        while not peer.lost and self._read(peer):
            pass
        self._lose(peer)

    def _read(self, peer: _Peer) -> bool:
        """Read what has come: whether there was anything."""
        size = 0
        while True:
            try:
                size, beside, _, _ = peer.end.recvmsg_into([self._buffer], _BESIDE)
            except BlockingIOError:
                break
            except OSError:
                size, beside = 0, []
            for _, _, files in beside:
                peer.files.extend(struct.unpack(f"={len(files) // 4}i", files))
            if not size:
                self._lose(peer)
                break
            peer.incoming += self._buffer[:size]
            if size < len(self._buffer):
                break
        self._take_frames(peer)
        return size > 0

    def _take_frames(self, peer: _Peer) -> None:
        data, at = peer.incoming, 0
        while len(data) - at >= _FRAME.size:
            name_size, text_size, inline, count = _FRAME.unpack_from(data, at)
            start = at + _FRAME.size
            if name_size == _BLOCK:
                if len(data) < start + _NEW.size:
                    break
                number, size = _NEW.unpack_from(data, start)
                file = peer.files.popleft()
                peer.blocks[number] = Block(number, file, size)
                os.close(file)
                at = start + _NEW.size
                continue
            end = start + name_size + text_size + count * _ARRAY.size + 1 + inline
            if len(data) < end:
                break
            name = data[start : start + name_size].decode()
            start += name_size
            text = bytes(data[start : start + text_size])
            start += text_size
            shared = bool(data[start + count * _ARRAY.size])
            cursor = start + count * _ARRAY.size + 1
            arrays = []
            for k in range(count):
                number, size = _ARRAY.unpack_from(data, start + k * _ARRAY.size)
                if number < 0:
                    arrays.append(np.frombuffer(bytearray(data[cursor : cursor + size]), np.uint8))
                    cursor += size
                else:
                    kind = np.dtype(np.uint8)
                    lease = Lease(peer.blocks[number], self.rank, kind, (size,), not shared)
                    arrays.append(np.asarray(lease))
            self._give(peer.rank, name, (text, arrays))
            at = end
        del data[:at]

    def _give(self, source: int, key: str, found: Any) -> None:
        with self._changed:
            self._arrived.setdefault((source, key), deque()).append(found)
            self._changed.notify_all()

    def receive_any(self, key: str, timeout: float | None = None) -> tuple[int, Any]:
        """The next message with a key from any process, and which one that is.

        Where one has come or gone since the last call, its number, and None as the message: whether
        it is there, `lost` says. Raises TimeoutError.
        """
        end = None if timeout is None else time.monotonic() + timeout
        is_there = lambda: bool(  # noqa: E731
            self.changes or any(self._arrived.get((rank, key)) for rank in range(self.size))
        )
        while True:
            with self._changed:
                for source in range(self.size):
                    if self._arrived.get((source, key)):
                        # Before another thread lets in one in the place of its sender.
                        return source, self._received(source, key, 0.0, own=True)
                if self.changes:
                    return self.changes.popleft()[0], None
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError(f"no {key!r} in {timeout} s")
            self._wait(self.rank, is_there, left)

    # The end --------------------------------------------------------------------------------------

    def _lose(self, peer: _Peer) -> None:
        if not peer.lost:
            peer.lost = True
            peer.outgoing.clear()
            with contextlib.suppress(KeyError, ValueError):
                self._poll.unregister(peer.end)
            del self._by_file[peer.end.fileno()]
            peer.end.close()
            self._pool.lost(peer.rank)
            with self._changed:
                self.changes.append((peer.rank, False))
                self._changed.notify_all()

    def lost(self) -> Iterable[int]:
        """The processes that have ended."""
        return sorted(p.rank for p in self._peers.values() if p.lost)

    def close(self) -> None:
        """End this end; the others lose it."""
        with self._turn():
            for peer in self._peers.values():
                self._lose(peer)
            if self._wake[0].fileno() >= 0:
                self._poll.unregister(self._wake[0])
            for end in (*self._wake, self._listening):
                end.close()

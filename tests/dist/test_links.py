"""Messages between processes arrive as they were, in order, only from those who know the secret."""

from __future__ import annotations

import gc
import socket
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.dist.in_threads import on_links
from tests.support.compare import assert_same
from tracejit.dist.transport.blocks import Pool
from tracejit.dist.transport.handshake import new_secret, read_secret
from tracejit.dist.transport.link import DistError, PeerLost
from tracejit.dist.transport.local import LocalLink
from tracejit.dist.transport.threads import thread_links
from tracejit.dist.transport.wire import pack, unpack

BIG = np.arange(20_000.0)
MESSAGES: list[Any] = [
    None,
    True,
    -3,
    2**80,
    0.1,
    float("inf"),
    "ünï",
    b"\x00\xff",
    1.5 - 2j,
    np.float32(0.1),
    np.complex128(1j),
    np.array(3),
    np.zeros((0, 3), np.int8),
    np.arange(6, dtype=">i4").reshape(2, 3).T,
    BIG,
    np.asfortranarray(np.ones((300, 200), np.float32)),
    [1, (2, [None, {"a": BIG[::2], "b": ()}])],
    {"": {"t": 1}, "d": [np.bool_(True)]},
]


def test_a_message_is_a_text_and_arrays() -> None:
    for value in MESSAGES:
        text, arrays = pack(value)
        found = unpack(text, lambda k, dtype, shape, a=arrays: a[k].view(dtype).reshape(shape))
        assert_same(value, found)
    for wrong in (object(), {1: 2}, {1}, np.array([None]), np.zeros(2, "i4,f8"), print):
        with pytest.raises(TypeError, match="a message does not hold"):
            pack([wrong])
    for text in (b"", b"{", b'{"x":1}', b'{"c":[1,2,3]}', b'{"a":[0]}'):
        with pytest.raises(DistError, match="cannot be read"):
            unpack(text, lambda *_: None)


@pytest.mark.parametrize("kind", ["local", "threads"])
def test_messages_arrive_in_order(kind: str) -> None:
    def do(link: Any) -> None:
        for to in range(link.size):
            for k, value in enumerate(MESSAGES):
                link.send(to, f"key{k % 3}", value)
        for source in reversed(range(link.size)):
            for first in (2, 0, 1):
                for value in MESSAGES[first::3]:
                    assert_same(value, link.receive(source, f"key{first}"))
        with pytest.raises(TimeoutError, match="no 'key0' from process"):
            link.receive(link.rank, "key0", timeout=0.01)
        with pytest.raises(ValueError, match="there is no process 9"):
            link.send(9, "key", 1)

    if kind == "local":
        on_links(3, do)
        return
    links = thread_links(3)
    threads = [threading.Thread(target=do, args=(link,)) for link in links]
    for t in threads:
        t.start()
    for t in threads:
        t.join(30)
        assert not t.is_alive()


def test_arrays_are_the_receivers_own() -> None:
    def do(link: LocalLink) -> Any:
        if link.rank == 0:
            x = np.ones(50_000)
            link.send(1, "x", x)
            link.send_all([1, 2], "y", x)
            x[:] = 7
            assert link.receive(1, "done") == "changed"
            return len(link._pool._blocks)
        found = [link.receive(0, "y")]
        if link.rank == 1:
            found.append(link.receive(0, "x"))
        for y in found:
            assert (y == 1).all()
            y += link.rank
            assert (y == 1 + link.rank).all()
        if link.rank == 1:
            link.send(0, "done", "changed")
        return None

    assert on_links(3, do)[0] == 2


def test_blocks_are_used_again_when_their_arrays_are_gone() -> None:
    def do(link: LocalLink) -> Any:
        if link.rank == 0:
            for k in range(20):
                link.send(1, "x", np.full(100_000, k))
                link.receive(1, "gone")
            kept = len(link._pool._blocks)
            for k in range(3):
                link.send(1, "x", np.full(100_000, k))
            link.receive(1, "gone")
            return kept, len(link._pool._blocks)
        for k in range(20):
            x = link.receive(0, "x")
            part = x[5:10]
            del x
            assert (part == k).all()
            del part
            gc.collect()
            link.send(0, "gone", None)
        found = [link.receive(0, "x") for _ in range(3)]
        assert [x[0] for x in found] == [0, 1, 2]
        link.send(0, "gone", None)
        return None

    assert on_links(2, do)[0] == (1, 3)
    assert Pool().take(10) is not None


def test_a_process_that_ends_is_lost() -> None:
    def do(link: LocalLink) -> Any:
        if link.rank == 1:
            link.send(0, "last", 5)
            return None
        time.sleep(0.05)
        assert link.receive(1, "last") == 5
        with pytest.raises(PeerLost, match="process 1") as lost:
            link.receive(1, "more")
        assert lost.value.rank == 1 and link.lost() == [1]
        with pytest.raises(PeerLost):
            link.send(1, "x", BIG)
        return None

    on_links(2, do)


def test_what_another_thread_has_just_read_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between a look at what has come and the wait for more, which may never come."""

    def do(link: LocalLink) -> None:
        if link.rank:
            link.receive(0, "over")
            return
        text, arrays = pack(7)

        class Busy:
            """The lock of the sockets, which another thread has had until now."""

            def __init__(self, what: Callable[[], None]) -> None:
                self.what = what

            def acquire(self, blocking: bool = True) -> bool:
                self.what()
                return True

            def release(self) -> None: ...

        def no_wait(timeout: float | None) -> None:
            raise AssertionError("it waits")

        def change() -> None:
            link.changes.append((1, True))

        with monkeypatch.context() as patch:
            patch.setattr(link, "_progress", no_wait)
            patch.setattr(link, "_busy", Busy(lambda: link._give(1, "x", (text, arrays))))
            assert link.receive_any("x") == (1, 7)
            patch.setattr(link, "_busy", Busy(change))
            assert link.receive_any("x") == (1, None)
        link.send(1, "over", None)

    on_links(2, do)


def test_who_hears_that_one_has_come_finds_it_there() -> None:
    seen: list[tuple[tuple[int, bool], list[int]]] = []
    with tempfile.TemporaryDirectory() as folder:
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(LocalLink, 0, 2, folder, b"secret")
            LocalLink(1, 2, folder, b"secret").close()
            link = first.result()

        class Changes(deque[tuple[int, bool]]):
            def append(self, change: tuple[int, bool]) -> None:
                seen.append((change, [*link.lost()]))
                super().append(change)

        link.changes = Changes()
        assert link.receive_any("x", 10) == (1, None)
        with ThreadPoolExecutor(2) as pool:
            again = pool.submit(LocalLink, 1, 2, folder, b"secret", late=True)
            assert link.receive_any("x", 10) == (1, None)
            again.result().close()
        link.close()
    assert seen[:2] == [((1, False), [1]), ((1, True), [])]


@pytest.mark.parametrize("more", [5, BIG])
def test_what_was_sent_before_an_end_arrives_also_where_a_message_finds_the_end(more: Any) -> None:
    """More than is read at once, and less than a sender waits for."""
    closed = threading.Event()

    def do(link: LocalLink) -> None:
        if link.rank == 1:
            for k in range(8):
                link.send(0, "before", np.full(1250, k, "f8"))
            link.send(0, "last", BIG)
            link.close()
            closed.set()
            return
        assert closed.wait(20)
        with pytest.raises(PeerLost):
            link.send(1, "x", more)
        for k in range(8):
            assert (link.receive(1, "before") == np.full(1250, k, "f8")).all()
        assert (link.receive(1, "last") == BIG).all()
        with pytest.raises(PeerLost):
            link.receive(1, "last")

    on_links(2, do)


def test_who_does_not_know_the_secret_stays_outside() -> None:
    with tempfile.TemporaryDirectory() as folder:
        found: list[Any] = []

        def first() -> None:
            try:
                found.append(LocalLink(0, 2, folder, b"right", timeout=1.5))
            except DistError as e:
                found.append(e)

        thread = threading.Thread(target=first)
        thread.start()
        place = Path(folder) / "0.socket"
        while not place.exists():
            time.sleep(0.005)
        for junk in (b"", b"x" * 10, b"\x01\x00\x00\x00" + b"n" * 32 + b"p" * 32):
            with socket.socket(socket.AF_UNIX) as end:
                while end.connect_ex(str(place)):
                    time.sleep(0.005)
                end.sendall(junk)
        with pytest.raises(DistError):
            LocalLink(1, 2, folder, b"wrong", timeout=1)
        thread.join(20)
        (error,) = found
        assert isinstance(error, DistError) and "[1] have not come" in str(error)


def test_there_is_a_secret(tmp_path: Path) -> None:
    with pytest.raises(DistError, match="the secret of the run is empty"):
        LocalLink(0, 2, tmp_path, b"")
    with pytest.raises(DistError, match="there is no secret of the run"):
        read_secret(tmp_path)
    made = new_secret(tmp_path)
    assert len(made) == 64 and read_secret(tmp_path) == made
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        new_secret(tmp_path)

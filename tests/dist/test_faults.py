"""Processes that are killed, stopped or cut off: training ends all the same, and nothing waits."""

from __future__ import annotations

import atexit
import queue
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.dist import kill
from tests.dist.test_modes import launched
from tracejit import optim
from tracejit.dist.board import Board
from tracejit.dist.pulse import Watch
from tracejit.dist.replicas.coordinator import Coordinator
from tracejit.dist.replicas.mode import Mode
from tracejit.dist.replicas.policy import Async, Backup
from tracejit.dist.replicas.sending import ANSWER, GRADIENT, OVER
from tracejit.dist.replicas.server import ParameterServer
from tracejit.dist.transport.link import PeerLost

OPTIONS = ("-n", "3", "--servers", "2", "--restarts", "2", "--silence", "2")


@pytest.mark.sampled(10)
@pytest.mark.parametrize("mode", ["async:8", "backup:1"])
@pytest.mark.parametrize(
    ("rank", "number", "anew"),
    [
        (2, signal.SIGKILL, 0),
        (2, signal.SIGSTOP, 0),
        (0, signal.SIGKILL, 1),
        (1, signal.SIGKILL, 1),
        (1, signal.SIGSTOP, 1),
    ],
)
def test_one_that_is_lost(mode: str, rank: int, number: int, anew: int) -> None:
    found = kill.run(iter([(0.3, rank, number)]), 300, (*OPTIONS, "--mode", mode))
    assert (found.code, found.anew, found.back) == (0, anew, 1 - anew)
    assert found.loss < 0.2 and found.steps >= 90 and found.seconds < 90


@pytest.mark.sampled(4)
@pytest.mark.parametrize("servers", ["1", "2"])
def test_what_was_answered_is_in_the_steps(servers: str, tmp_path: Path) -> None:
    """Each gradient is a step, once, whoever is killed of those without a server."""
    options = ("-n", "3", "--servers", servers, "--mode", "async", "--restarts", "1")
    argv = "counted", str(tmp_path)
    code, lines, err = launched(*argv, options=options, script=kill.SCRIPT)
    assert code == 0 and "process 2 ended with signal 9; started again" in err
    answered = {path.name: int(path.read_text()) for path in tmp_path.iterdir()}
    assert answered["2.0"] == 20 and answered["2.1"] > 0, answered
    assert lines == [f"[0] counted {sum(answered.values())}"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("rank", [0, 1])
def test_one_that_fails_is_not_waited_for(rank: int) -> None:
    begun = time.monotonic()
    options = ("-n", "2", "--servers", "2", "--mode", "async")
    code, _, err = launched("raises", str(rank), options=options, script=kill.SCRIPT)
    assert code == 1 and f"[{rank}] OSError: the disk is full" in err
    assert time.monotonic() - begun < 60


def test_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("tracejit.dist.pulse.time.monotonic", lambda: now[0])
    board = Board(tmp_path / "board", 2)
    watch = Watch(board, 3.0)
    watch.begin(0), watch.begin(1)

    def look(seconds: float, *ranks: int) -> list[int]:
        now[0] += seconds
        for rank in ranks:
            board.beat(rank)
        return watch.silent([0, 1])

    # Nobody is watched before its first sign.
    assert all(look(1.0) == [] for _ in range(10))
    assert look(1.0, 0, 1) == []
    assert all(look(0.5, 1) == [] for _ in range(6))
    assert look(0.5, 1) == [0]
    watch.begin(0)
    assert all(look(1.0, 1) == [] for _ in range(10))
    assert look(1.0, 0) == []
    # The launcher itself was stopped.
    assert look(1000.0) == [] and look(1.0, 0, 1) == []


def test_what_some_servers_have_is_no_step() -> None:
    """A gradient counts when all servers have it, and no longer than its process lives."""
    told: list[object] = []
    made = Coordinator(Async(), 2, told.extend)
    here = [0, 1]
    made.has(0, 0, 0, 0, here)
    assert told == []
    made.has(1, 0, 0, 0, here)
    assert told == [["step", 1, [[0, 0]]], ["answer", 0, 1]]
    told.clear()
    # Worker 1 is lost when one server has its part; what the other says of it comes later.
    made.has(0, 1, 0, 0, here)
    made.lost(1)
    made.has(1, 1, 0, 0, here)
    assert told == [["drop", 1, 0]]
    told.clear()
    # Another one in its place begins with the present version.
    made.has(0, 1, 1, -1, here)
    assert told == []
    made.has(1, 1, 1, -1, here)
    assert told == [["answer", 1, 1]]
    made.has(1, 1, 1, 1, here), made.has(0, 1, 1, 1, here)
    assert told[1:] == [["step", 2, [[1, 1]]], ["answer", 1, 2]]


def test_the_gradient_of_one_that_is_lost_counts_where_all_servers_have_it() -> None:
    told: list[object] = []
    made = Coordinator(Backup(needed=2), 2, told.extend)
    here = [0, 1, 2]
    for server in (0, 1):
        made.has(server, 1, 0, 0, here)
    # It comes back before the step is made, and its end is told of after that.
    for server in (0, 1):
        made.has(server, 1, 1, -1, here)
    assert told == []
    for server in (0, 1):
        made.has(server, 2, 0, 0, here)
    assert told == [["step", 1, [[1, 0], [2, 0]]], ["answer", 1, 1], ["answer", 2, 1]]


def test_an_end_that_is_told_of_twice_is_one_end() -> None:
    """Who comes next is in the next life, and is answered."""
    told: list[object] = []
    made = Coordinator(Async(), 1, told.extend)
    made.has(0, 0, 0, 0, [0, 1])
    for _ in range(2):
        made.lost(1)
    made.has(0, 1, 1, -1, [0])
    assert told[-1] == ["answer", 1, 1]
    # One that was there for a moment, and has sent nothing.
    for _ in range(3):
        made.lost(1)
    made.has(0, 1, 3, -1, [0])
    made.has(0, 1, 3, 1, [0])
    assert told[-2:] == [["step", 2, [[1, 3]]], ["answer", 1, 2]]


class _Script:
    """The link of one process among 3: what comes to its server is said by the test."""

    size = 3

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.coming: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self.gone: list[int] = []
        self.answers: list[tuple[int, int]] = []

    def send(self, to: int, key: str, value: Any) -> None:
        if to in self.gone:
            raise PeerLost(to)
        if key == GRADIENT and to == self.rank:
            self.coming.put((to, value))
        elif key == ANSWER:
            self.answers.append((to, value[0]))

    def receive(self, source: int, key: str, timeout: float | None = None) -> Any:
        raise NotImplementedError

    def receive_any(self, key: str, timeout: float | None = None) -> tuple[int, Any]:
        source, message = self.coming.get(timeout=60)
        if message is None:
            self.gone.append(source)
        return source, message

    def lost(self) -> list[int]:
        return self.gone

    def close(self) -> None: ...


def test_what_one_server_has_when_process_0_ends_is_answered() -> None:
    """What has come late waits for no answer that nobody gives, whichever server has its part."""
    link = _Script(0)
    server = ParameterServer(link, Mode.of("async"), 2)
    atexit.unregister(server.finish)
    server.add("0", optim.SGD([np.ones(2, "f4")], lr=0.1))
    ones = [np.ones(2, "f4")]

    def first(worker: int, life: int, version: int) -> None:
        params = ones if version == 0 else []
        spans = [[0, 0, None]] if version == 0 else []
        leaves = ones if version >= 0 else []
        parts = "gradient", "0", life, version, "d", leaves, spans, params
        link.coming.put((worker, [*parts]))

    def second(worker: int, life: int, version: int) -> None:
        link.coming.put((1, ["has", "0", worker, life, version]))

    first(0, 0, 0), second(0, 0, 0)
    first(2, 1, -1), second(2, 1, -1)
    # This server has its part before the end of process 0, the other one tells of its own after.
    first(2, 1, 1), link.coming.put((0, ["leaves"])), second(2, 1, 1)
    # The other one is the first to tell.
    second(2, 1, 2), first(2, 1, 2)
    link.coming.put((2, None)), link.coming.put((1, ["leaves"]))
    server._thread.join(60)
    assert not server._thread.is_alive()
    assert link.answers == [(0, 1), (2, 1), (2, 2), (2, OVER)]


def test_a_server_that_hears_of_a_gradient_when_process_0_has_ended_does_not_fail() -> None:
    link = _Script(1)
    link.gone.append(0)
    server = ParameterServer(link, Mode.of("async"), 2)
    atexit.unregister(server.finish)
    server.add("0", optim.SGD([np.ones(2, "f4")], lr=0.1))
    link.coming.put((2, ["gradient", "0", 1, 3, "d", [np.ones(2, "f4")], [], []]))
    # The last that it has sent comes after what others have sent before it.
    link.coming.put((0, ["end"]))
    server._thread.join(60)
    assert not server._thread.is_alive() and link.answers == []

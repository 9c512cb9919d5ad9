"""The workers of this process: started when they are first needed, ended with it."""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tracejit.base.locks import long_lock
from tracejit.base.placing import HOST
from tracejit.dist.board import Board
from tracejit.dist.children import die_with_parent
from tracejit.dist.placed.runs import LinkMeeting, run_part
from tracejit.dist.pulse import EACH, SILENCE, Watch
from tracejit.dist.transport.handshake import new_secret
from tracejit.dist.transport.link import DistError, PeerLost
from tracejit.dist.transport.local import LocalLink
from tracejit.dist.world import VARIABLE
from tracejit.errors import Bailout
from tracejit.ir.text.syntax import print_graph
from tracejit.passes.partition.costs import Costs
from tracejit.passes.partition.cut import Piece
from tracejit.runtime.compile.graph_call import CompiledGraph

__all__ = ["Workers", "costs", "run_pieces", "workers"]

LOG = logging.getLogger("tracejit")

#: Seconds that a worker has to end by itself; and between two looks whether all are there.
_GRACE, _EACH = 2.0, 0.1


class Workers:
    """`count` processes of this machine, "worker:0" and so on, that end with this one.

    One that is stopped, so that nothing is heard of it for `silence` seconds, is killed: it is lost
    then. Raises DistError where they do not come.
    """

    def __init__(self, count: int, silence: float = SILENCE) -> None:
        if count < 1:
            raise ValueError(f"there is at least one worker, not {count}")
        self.count, self._process = count, os.getpid()
        self._folder = tempfile.mkdtemp(prefix="tracejit-")  # of this user only
        self._runs, self._numbers = itertools.count(), itertools.count()
        self._lock = long_lock()
        self._known: dict[int, tuple[Any, int]] = {}
        self._host: dict[int, tuple[Any, CompiledGraph]] = {}
        self._measured: Costs | None = None
        self.processes: list[subprocess.Popen[bytes]] = []
        secret = new_secret(self._folder)
        watch = Watch(Board(Path(self._folder) / "board", count + 1), silence)
        try:
            for rank in range(1, count + 1):
                self.processes.append(self._start(rank))
            self.link = LocalLink(
                0, count + 1, self._folder, secret, require_others=self._require_all
            )
            # They answer when they have met each other, too.
            for rank in range(1, count + 1):
                self._ask(rank, None)
        except BaseException:
            self.close()
            raise
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
        atexit.register(self.close)
        threading.Thread(target=self._watch, args=(watch,), daemon=True).start()

    def _watch(self, watch: Watch) -> None:
        """Kill those of which nothing is heard, until there are none."""
        ranks = range(1, self.count + 1)
        for rank in ranks:
            watch.begin(rank)
        while processes := self.processes:
            for rank in watch.silent([r for r in ranks if processes[r - 1].poll() is None]):
                LOG.warning("nothing is heard of worker:%d for %g s", rank - 1, watch.limit)
                processes[rank - 1].kill()
            time.sleep(EACH)

    def _require_all(self) -> None:
        """Raise PeerLost where a worker has ended."""
        for k, process in enumerate(self.processes):
            code = process.poll()
            if code is not None:
                how = f"signal {-code}" if code < 0 else f"exit code {code}"
                raise PeerLost(k + 1, f"worker:{k} ended with {how}")

    def _start(self, rank: int) -> subprocess.Popen[bytes]:
        package = str(Path(__file__).resolve().parents[3])
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        threads = str(max(1, (os.cpu_count() or 1) // (self.count + 1)))
        env = {
            "TRACEJIT_NUM_THREADS": threads,
            "OMP_NUM_THREADS": threads,
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            VARIABLE: f"local:{rank}:{self.count + 1}:{self._folder}",
        }
        return subprocess.Popen(
            # Nothing is imported from where this process happens to be.
            [sys.executable, "-P", "-m", "tracejit.dist.placed.serve"],
            env=env,
            stdin=subprocess.DEVNULL,
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )

    @property
    def alive(self) -> bool:
        """Whether all workers are there, and this is the process that has started them."""
        here = self._process == os.getpid()
        return here and bool(self.processes) and all(p.poll() is None for p in self.processes)

    def run(self, pieces: Sequence[Piece], inputs: Sequence[Any], count: int) -> list[Any]:
        """The `count` outputs of a program in pieces.

        Raises Bailout where the call is to be repeated eagerly, PeerLost where a worker is lost.
        """
        ranks = {p.device: _rank(p.device) for p in pieces} | {HOST: 0}
        others = [p for p in pieces if p.device != HOST]
        meet = LinkMeeting(self.link, next(self._runs), ranks)
        for p in others:
            number = self._number(p)
            given = [inputs[k] for k in p.inputs]
            self.link.send(ranks[p.device], "serve", ["run", meet.run, number, ranks, given])
        outputs: list[Any] = [None] * count
        for p in pieces:
            if p.device == HOST:
                found = run_part(self._compiled(p), [inputs[k] for k in p.inputs], meet)
                for k, x in zip(p.outputs, found, strict=True):
                    outputs[k] = x
        for p in others:
            meet.wait(p.device)
        return outputs

    def _number(self, piece: Piece) -> int:
        """The number of a piece that its worker knows: it is sent once."""
        with self._lock:
            known = self._known.get(id(piece))
            if known is None:
                constants: dict[str, Any] = {}
                text = print_graph(piece.graph, constants)
                known = self._known[id(piece)] = piece, next(self._numbers)
                message = ["program", known[1], text, constants]
                self.link.send(_rank(piece.device), "serve", message)
            return known[1]

    def _compiled(self, piece: Piece) -> CompiledGraph:
        """The host's own piece as native code."""
        with self._lock:
            if id(piece) not in self._host:
                self._host[id(piece)] = piece, CompiledGraph(piece.graph)
            return self._host[id(piece)][1]

    def costs(self) -> Costs:
        """What messages cost, measured once: the least of several."""
        if self._measured is None:
            small, large = self._trip(0, 20), self._trip(np.zeros(1 << 17), 5)
            bandwidth = 2 * (1 << 20) / max(large - small, 1e-6)
            self._measured = Costs(latency=small / 2, bandwidth=bandwidth)
        return self._measured

    def _trip(self, value: Any, times: int) -> float:
        """Seconds for a message to a worker and its answer."""
        found = []
        with self._lock:
            for _ in range(times):
                start = time.perf_counter()
                self._ask(1, value)
                found.append(time.perf_counter() - start)
        return min(found)

    def _ask(self, rank: int, value: Any) -> None:
        """Send a value, and wait for it."""
        self.link.send(rank, "serve", ["ping", value])
        while True:
            try:
                self.link.receive(rank, "pong", _EACH)
                return
            except TimeoutError:
                self._require_all()

    def close(self) -> None:
        """End the workers."""
        if self._process != os.getpid():
            return
        link = getattr(self, "link", None)
        if link is not None:
            for rank in range(1, self.count + 1):
                try:
                    link.send(rank, "serve", ["stop"])
                except DistError:
                    continue
            link.close()
        # Who has not met this process is not told to stop, and waits for others.
        end = time.monotonic() + (0.0 if link is None else _GRACE)
        for process in self.processes:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
        self.processes = []
        atexit.unregister(self.close)

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _rank(device: str) -> int:
    return 0 if device == HOST else 1 + int(device.removeprefix("worker:"))


class _Default:
    """The workers that programs use which name none."""

    def __init__(self) -> None:
        self.lock = long_lock()
        self.workers: Workers | None = None


_DEFAULT = _Default()


def workers(count: int | None = None) -> Workers:
    """The workers of compiled functions; with `count` they are that many, started anew if need be.

    Programs start as many as they name. Raises DistError where they do not come.
    """
    with _DEFAULT.lock:
        found = _DEFAULT.workers
        if found is not None and not found.alive:
            found.close()
            found = None
        if found is None or (count is not None and count != found.count):
            if found is not None:
                found.close()
            found = _DEFAULT.workers = Workers(count or max(1, (os.cpu_count() or 2) - 1))
        return found


def costs(devices: Sequence[str]) -> Costs:
    """The costs of a program on these devices, whose workers are started if need be."""
    return _for(devices).costs()


def _for(devices: Sequence[str]) -> Workers:
    needed = max([_rank(d) for d in devices], default=1)
    found = workers()
    return found if found.count >= needed else workers(needed)


def run_pieces(pieces: Sequence[Piece], inputs: Sequence[Any], count: int) -> list[Any]:
    """The `count` outputs of a program in pieces, by the default workers.

    Raises Bailout where the call is to be repeated eagerly, as where a worker is lost: others are
    started for the next call.
    """
    found = _for([p.device for p in pieces])
    try:
        return found.run(pieces, inputs, count)
    except PeerLost as e:
        LOG.warning("worker:%d is lost; the call is repeated as plain Python", e.rank - 1)
        found.close()
        raise Bailout(str(e)) from None

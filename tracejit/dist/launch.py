"""Starts a program as several processes of this machine, and ends them all together."""

from __future__ import annotations

import importlib.util
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from tracejit.dist.board import Board, table
from tracejit.dist.children import die_with_parent
from tracejit.dist.launch_ray import launch_by_ray
from tracejit.dist.pulse import SILENCE, Watch
from tracejit.dist.transport.handshake import new_secret
from tracejit.dist.transport.link import DistError
from tracejit.dist.world import LATE, MODE, SERVERS, VARIABLE

__all__ = ["launch"]

#: Seconds that processes have to end by themselves, and between two tables.
_GRACE, _BETWEEN = 5.0, 0.5


class _Stopped(BaseException):
    """This process is told to end."""


def launch(
    command: Sequence[str],
    count: int,
    engine: str = "local",
    settings: dict[str, str] | None = None,
    quiet: bool = False,
    mode: str = "sync",
    restarts: int = 0,
    servers: int = 1,
    silence: float = SILENCE,
) -> int:
    """Run `count` processes of a command; the exit code of the first that fails, or 0.

    What they print comes with the number of the process before each line. When one fails the
    others are ended, and so they are by Ctrl-C: nothing is left running. On a terminal a table
    shows the steps of each. `mode` and `servers` are those of `data_parallel`.

    With `restarts` up to so many processes that fail are started again: in the modes "async" and
    "backup" one alone takes the place of the one that is lost, but for those with a server;
    otherwise all begin anew. By the engine local a process counts as failed, and is killed, that
    is stopped or cut off: from which nothing is heard for `silence` seconds after it has joined the
    others. Raises DistError where the engine is not there.
    """
    settings = {**(settings or {}), MODE: mode, SERVERS: str(servers)}
    whole = servers if mode.partition(":")[0] != "sync" else count
    env = {**os.environ, **(settings or {}), "PYTHONUNBUFFERED": "1"}
    if "TRACEJIT_NUM_THREADS" not in env and "OMP_NUM_THREADS" not in env:
        each = str(max(1, (os.cpu_count() or 1) // count))
        env |= dict.fromkeys(("TRACEJIT_NUM_THREADS", "OMP_NUM_THREADS"), each)
    if engine == "mpi":
        return _by_mpi(command, count, env)
    if engine == "ray":
        return launch_by_ray(command, count, env, restarts, whole)
    left = _Restarts(restarts, whole)
    while True:
        code = _by_sockets(command, count, env, quiet, left, silence)
        if not left.all_again:
            return code
        left.all_again = False


@dataclass
class _Restarts:
    """How many processes may be started again; those before number `whole` not one alone."""

    left: int
    whole: int
    all_again: bool = False


def _by_sockets(
    command: Sequence[str],
    count: int,
    env: dict[str, str],
    quiet: bool,
    left: _Restarts,
    silence: float,
) -> int:
    folder = tempfile.mkdtemp(prefix="tracejit-")  # of this user only
    try:
        board = Board(Path(folder) / "board", count)
        new_secret(folder)
        runs = []
        for rank in range(count):
            mine = {**env, VARIABLE: f"local:{rank}:{count}:{folder}"}
            runs.append(_Run(rank, command, mine))
        shown = None if quiet or not sys.stderr.isatty() else board
        return _follow(runs, shown, left, Watch(board, silence))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Run:
    """One process, and what it has printed of its last lines."""

    def __init__(self, rank: int, command: Sequence[str], env: dict[str, str]) -> None:
        self.rank, self.command, self.env = rank, command, env
        self.is_late = LATE in env
        # A group of its own: what it starts ends with it.
        self.process = subprocess.Popen(
            command,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=die_with_parent if sys.platform == "linux" else None,
        )
        self.partial = {1: b"", 2: b""}

    def again(self) -> _Run:
        """Another process in its place."""
        self.signal(signal.SIGKILL)
        life = int(self.env.get(LATE, 0)) + 1
        return _Run(self.rank, self.command, {**self.env, LATE: str(life)})

    def signal(self, number: int) -> None:
        """Tell it and all that it has started."""
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def printed(self, stream: int, data: bytes) -> list[str]:
        """The lines that are complete with these bytes; no bytes are the end."""
        *lines, rest = (self.partial[stream] + data).split(b"\n")
        if not data and rest:
            lines, rest = [*lines, rest], b""
        self.partial[stream] = rest
        return [f"[{self.rank}] {line.decode(errors='replace')}\n" for line in lines]


def _follow(runs: list[_Run], board: Board | None, left: _Restarts, watch: Watch) -> int:
    """Show what processes print until all have ended; end them all where one fails."""
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        return _watch(runs, board, left, watch)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except _Stopped:
        return 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _end(runs)
        signal.signal(signal.SIGTERM, before)


def _stop(*_: Any) -> None:
    raise _Stopped


def _watch(runs: list[_Run], board: Board | None, left: _Restarts, watch: Watch) -> int:
    shown, next_table = 0, time.monotonic()
    for run in runs:
        watch.begin(run.rank)
    with selectors.DefaultSelector() as selector:
        for run in runs:
            _register(selector, run)
        while selector.get_map() or any(r.process.poll() is None for r in runs):
            for key, _ in selector.select(_BETWEEN if selector.get_map() else 0.01):
                run, stream = key.data
                data = os.read(key.fd, 1 << 16)
                lines = run.printed(stream, data)
                shown = _write(lines, sys.stdout if stream == 1 else sys.stderr, shown)
                if not data:
                    selector.unregister(key.fileobj)
            if board is not None and time.monotonic() >= next_table:
                next_table = time.monotonic() + _BETWEEN
                lines = table(board.read(), [r.process.poll() for r in runs])
                shown = _write(lines, sys.stderr, shown, len(lines))
            for rank in watch.silent([r.rank for r in runs if r.process.poll() is None]):
                line = f"tracejit: nothing is heard of process {rank} for {watch.limit:g} s\n"
                shown = _write([line], sys.stderr, shown)
                runs[rank].signal(signal.SIGKILL)
                runs[rank].process.wait()
            over = runs[0].process.poll() == 0
            for k, run in enumerate(runs):
                code = run.process.poll()
                if code is None and over and run.is_late:
                    run.signal(signal.SIGKILL)
                elif code and not (over and run.is_late):
                    _drain([run])
                    what = f"signal {-code}" if code < 0 else f"exit code {code}"
                    if left.left:
                        left.left -= 1
                        left.all_again = run.rank < left.whole
                        what += "; all begin anew" if left.all_again else "; started again"
                    again = "started" in what
                    lines = [f"tracejit: process {run.rank} ended with {what}\n"]
                    shown = _write(lines, sys.stderr, shown)
                    if not again:
                        _drain(runs)
                        return 128 - code if code < 0 else code
                    _unregister(selector, run)
                    runs[k] = run.again()
                    watch.begin(k)
                    _register(selector, runs[k])
    return 0


def _register(selector: selectors.BaseSelector, run: _Run) -> None:
    for number, stream in ((1, run.process.stdout), (2, run.process.stderr)):
        assert stream is not None
        selector.register(stream, selectors.EVENT_READ, (run, number))


def _unregister(selector: selectors.BaseSelector, run: _Run) -> None:
    for stream in (run.process.stdout, run.process.stderr):
        assert stream is not None
        if stream.fileno() in selector.get_map():
            selector.unregister(stream)
        stream.close()


def _write(lines: Sequence[str], stream: TextIO, above: int, shown: int = 0) -> int:
    """Write lines over the table of `above` lines; how many of them are to be written over."""
    if not lines:
        return above
    if above:
        sys.stderr.write(f"\x1b[{above}F\x1b[J")
        sys.stderr.flush()
    stream.write("".join(lines))
    stream.flush()
    return shown


def _drain(runs: Sequence[_Run]) -> None:
    """Show what processes that have ended printed last."""
    for run in runs:
        if run.process.poll() is None:
            continue
        for number, stream in ((1, run.process.stdout), (2, run.process.stderr)):
            assert stream is not None
            if not stream.closed:
                os.set_blocking(stream.fileno(), False)
                lines = run.printed(number, stream.read() or b"") + run.printed(number, b"")
                _write(lines, sys.stdout if number == 1 else sys.stderr, 0)


def _end(runs: Sequence[_Run]) -> None:
    """End all processes: they are asked to, and then killed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        for run in runs:
            if run.process.poll() is None:
                run.signal(number)
        end = time.monotonic() + _GRACE
        for run in runs:
            try:
                run.process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                continue
    for run in runs:
        # What it has started, and left.
        run.signal(signal.SIGKILL)
        for stream in (run.process.stdout, run.process.stderr):
            assert stream is not None
            stream.close()


def _by_mpi(command: Sequence[str], count: int, env: dict[str, str]) -> int:
    """By `mpiexec`, which shows what processes print and ends them itself."""
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.is_file() else shutil.which("mpiexec")
    if found is None:
        raise DistError("there is no mpiexec: pip install 'tracejit[mpi]', or an MPI of the system")
    if importlib.util.find_spec("mpi4py") is None:
        raise DistError("there is no mpi4py: pip install 'tracejit[mpi]'")
    # mpi4py ends all processes where one fails.
    python, *script = command
    whole = [found, "-n", str(count), python, "-m", "mpi4py", *script]
    process = subprocess.Popen(whole, env={**env, VARIABLE: "mpi"})
    try:
        code = process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)
        process.wait()
        return 128 + signal.SIGINT
    return 128 - code if code < 0 else code

"""A worker process that checks seeds one after another, replaced when one of them kills it."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from types import TracebackType

from tests.random.fuzz.check import SECONDS_BEFORE_A_HANG, Verdict, check
from tests.random.fuzz.generate import generate


class Session:
    """Checks seeds in a child process, so that a crash of compiled code is only a verdict.

    The parent never compiles anything, hence has no threads when it forks.
    """

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("fork")
        self._start()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def check(self, seed: int) -> Verdict:
        """The verdict on the case of a seed."""
        self._pipe.send(seed)
        message = f"no answer within {SECONDS_BEFORE_A_HANG:.0f} s"
        try:
            if self._pipe.poll(SECONDS_BEFORE_A_HANG):
                verdict: Verdict = self._pipe.recv()
                return verdict
        except (EOFError, ConnectionError):
            self._child.join()
            message = f"the process died with exit code {self._child.exitcode}"
        self._stop()
        self._start()
        return Verdict("differ", message)

    def _start(self) -> None:
        self._pipe, theirs = self._context.Pipe()
        self._child: ForkProcess = self._context.Process(target=_serve, args=(theirs,), daemon=True)
        self._child.start()
        theirs.close()

    def _stop(self) -> None:
        self._child.kill()
        self._child.join()
        self._pipe.close()


def _serve(pipe: Connection) -> None:
    while True:
        pipe.send(check(generate(pipe.recv())))

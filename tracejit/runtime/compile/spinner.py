"""A line on the terminal, or in a notebook, while a compile takes long: whose, and which stage."""

from __future__ import annotations

import contextvars
import sys
import threading
import time
from types import TracebackType

from tracejit.base.late import TOOLS

__all__ = ["Spinner"]

#: Compiles that take fewer seconds show nothing.
_PATIENCE = 1.0
#: How often a compile is looked at, in seconds.
_STEP = 0.05


class Spinner:
    """A context: what is done inside it is a compile of the function `name`, now at `stage`.

    Nothing is shown in logs and pipes, nor of compiles inside another that is shown, and nothing
    stays on the terminal. There are no locks in it, which a child that is forked could find held.
    """

    def __init__(self, name: str) -> None:
        self.name, self.stage = name, "trace"
        self._is_done = self._is_shown = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Spinner:
        if not _OPEN and _is_watched():
            _OPEN.append(self)
            # A notebook knows by the context which cell a line belongs to.
            run = contextvars.copy_context().run
            self._thread = threading.Thread(target=run, args=(self._run,), daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_done = True
        if self._thread is not None:
            _OPEN.clear()
            if self._is_shown:
                # The line is gone before the program goes on.
                self._thread.join()

    def _run(self) -> None:
        start = time.monotonic()
        while time.monotonic() < start + _PATIENCE:
            if self._is_done:
                return
            time.sleep(min(_STEP, _PATIENCE))
        display = TOOLS["display"](None, None)
        # Said before it is looked whether the compile is over: who ends it waits, or nothing comes.
        self._is_shown, lines = True, 0
        try:
            while not self._is_done:
                seconds = time.monotonic() - start
                sign = "|/-\\"[lines % 4]
                display.show([f"{sign} compiling {self.name}: {self.stage}, {seconds:.1f} s"])
                lines += 1
                time.sleep(_STEP)
            if lines:
                display.show([""])
        except (OSError, ValueError):
            # The terminal is gone, which is no matter of the compile's.
            return


#: The compile that is shown if it takes long.
_OPEN: list[Spinner] = []


def _is_watched() -> bool:
    if "ipykernel" in sys.modules:
        return True
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # it is closed
        return False

"""A worker: it is sent the parts of programs once, and runs them when it is told to."""

from __future__ import annotations

import os
import threading
from typing import Any

import tracejit.ops  # noqa: F401 - fills the registry
from tracejit.base.locks import long_lock
from tracejit.dist.placed.runs import LinkMeeting, run_part
from tracejit.dist.transport.link import Link, PeerLost
from tracejit.dist.world import world
from tracejit.errors import GraphError
from tracejit.ir.text.syntax import parse_graph
from tracejit.runtime.compile.graph_call import CompiledGraph

__all__ = ["serve"]


class _Program:
    """A part, compiled when it first runs."""

    def __init__(self, text: str, constants: dict[str, Any]) -> None:
        self._text, self._constants = text, constants
        self._lock = long_lock()
        self._compiled: CompiledGraph | None = None

    def get(self) -> CompiledGraph:
        """The native program. Raises GraphError."""
        with self._lock:
            if self._compiled is None:
                self._compiled = CompiledGraph(parse_graph(self._text, self._constants))
            return self._compiled


def serve(link: Link) -> None:
    """Do what the process 0 of a link says, until it says "stop" or is lost."""
    programs: dict[int, _Program] = {}
    while True:
        try:
            message = link.receive(0, "serve")
        except PeerLost:
            # Threads may wait for others that are lost, too.
            os._exit(0)
        match message:
            case ["program", int(number), str(text), dict(constants)]:
                programs[number] = _Program(text, constants)
            case ["forget", int(number)]:
                programs.pop(number, None)
            case ["run", int(run), int(number), dict(ranks), list(inputs)]:
                meet = LinkMeeting(link, run, ranks)
                given = programs[number], inputs, meet
                threading.Thread(target=_run, args=given, daemon=True).start()
            case ["ping", value]:
                link.send(0, "pong", value)
            case ["stop"]:
                return


def _run(program: _Program, inputs: list[Any], meet: LinkMeeting) -> None:
    try:
        compiled = program.get()
    except GraphError as e:
        meet.leave(str(e))
        return
    try:
        run_part(compiled, inputs, meet)
        meet.done("host")
    except Exception:
        # The others have been told.
        return


def main() -> None:
    """The program of a worker's process."""
    link = world().link
    serve(link)
    link.close()


if __name__ == "__main__":
    main()

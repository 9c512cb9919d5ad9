"""Processes that write files of the cache are killed, and others go on with what they leave.

    python -m tests.runtime.cache.kill 200        # how often to kill

Every other process compiles functions, the others write files anew that are there already, so that
they are killed in the middle of that. Then each file must be whole, or be one that is left over
under another name, every answer right, and in the end nothing is compiled any more.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

_FUNCTIONS = 12
_PROGRAM = """
import numpy as np
from tracejit import jit
""" + "".join(
    f"\n@jit\ndef f{k}(x):\n    return (x * {k + 1} + {k}).sum() + np.sort(x)[{k % 4}]\n"
    for k in range(_FUNCTIONS)
)


class Outcome(NamedTuple):
    """What came of a number of kills: how many ended in the middle of a file."""

    kills: int
    left_over: int
    files: int


def run(kills: int, seed: int = 0) -> Outcome:
    """Kill so many processes. Raises AssertionError for a file that is not whole."""
    for name in ("runtime.dispatch", "runtime.compile.specialize", "codegen.llvm.api"):
        importlib.import_module(f"tracejit.{name}")
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory:
        cache = Path(directory) / "cache"
        Path(directory, "killed_program.py").write_text(_PROGRAM, encoding="utf-8")
        for k in range(kills):
            child = _forked(directory, cache, k % 2 == 1)
            time.sleep(rng.uniform(0.005, 0.25))
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            # It has ended by itself where the time was long.
            assert status in (0, signal.SIGKILL), status
            _check(cache)
        left = list(cache.rglob(".*"))
        ended = os.waitpid(_forked(directory, cache, False), 0)[1]
        assert ended == 0, ended
        ended = os.waitpid(_forked(directory, cache, False, warm=True), 0)[1]
        assert ended == 0, ended
        return Outcome(kills, len(left), len(_check(cache)))


def _check(cache: Path) -> list[Path]:
    """The files, which are whole."""
    from tracejit.runtime.cache import files

    found = [p for p in cache.rglob("*") if p.suffix in (files.ENTRY, files.LIBRARY)]
    found = [p for p in found if not p.name.startswith(".")]
    for path in found:
        assert files.read(str(path)) is not None, path
    return found


def _forked(directory: str, cache: Path, writes: bool, warm: bool = False) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.environ["TRACEJIT_CACHE"] = str(cache)
        _writes(cache) if writes else _calls(directory, warm)
        status = 0
    finally:
        os._exit(status)


def _calls(directory: str, warm: bool) -> None:
    import numpy as np

    sys.path.insert(0, directory)
    program: Any = importlib.import_module("killed_program")
    x = np.arange(5.0)
    for k in range(_FUNCTIONS):
        f = getattr(program, f"f{k}")
        assert f(x) == f.__tracejit__(x), k
        assert not (warm and f._state is not None), k


def _writes(cache: Path) -> None:
    from tracejit.runtime.cache import environment, files

    records = [(str(path), files.read(str(path))) for path in _check(cache)]
    # Most of the time such a one is being written.
    name = f"{0:020x}-{0:012x}-{0:012x}{files.ENTRY}"
    large = cache / environment.folder() / f"large-{0:010x}" / name
    records.append((str(large), os.urandom(1 << 23)))
    end = time.monotonic() + 5
    while time.monotonic() < end:
        for path, record in records:
            files.write(path, record)


def main(args: list[str]) -> None:
    start = time.monotonic()
    outcome = run(*map(int, args or ["200"]))
    print(json.dumps({**outcome._asdict(), "seconds": round(time.monotonic() - start)}))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Processes that fork while their threads compile: no lock stays taken, no state half made."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime import fork_programs
from tracejit.base import locks

pytestmark = pytest.mark.sampled(4)

ROOT = Path(__file__).resolve().parents[2]
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")


def run_apart(*arguments: str) -> str:
    """What `python -m tests.runtime.fork_programs` prints."""
    # Since Python 3.12 a fork beside threads warns.
    options = "-X", "faulthandler", "-W", "ignore:This process:DeprecationWarning"
    done = subprocess.run(
        [sys.executable, *options, "-m", "tests.runtime.fork_programs", *arguments],
        capture_output=True,
        text=True,
        timeout=280,
        cwd=ROOT,
        env={**os.environ, "TRACEJIT_FALLBACK": "ignore"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.compiles
@pytest.mark.sampled(4)
@needs_fork
@pytest.mark.parametrize("delay", ["0.02", "0.15", "0.3", "0.5"])
def test_a_fork_in_a_first_compile(delay: str) -> None:
    assert run_apart("first_compile", delay) == "alive\n"


@pytest.mark.compiles
@pytest.mark.sampled(5)
@needs_fork
@pytest.mark.parametrize("program", fork_programs.PROGRAMS_OF_FORKS)
def test_a_fork_in_the_middle(program: str) -> None:
    assert "alive\n" in run_apart(program)


@needs_fork
def test_forks_and_spawns_beside_busy_threads() -> None:
    """`python -m tests.runtime.fork_programs stress 600` is the long form."""
    assert "children" in run_apart("stress", "2.5")


@needs_fork
def test_a_fork_waits_for_each_short_lock() -> None:
    tracejit.jit(lambda x: np.sin(x))(np.ones(3))
    for lock in list(locks._SHORT):
        taken = threading.Event()

        def hold(lock: Any = lock, taken: threading.Event = taken) -> None:
            with lock:
                taken.set()
                time.sleep(0.02)

        thread = threading.Thread(target=hold)
        thread.start()
        taken.wait()

        def act() -> None:
            assert not any(lock._is_owned() for lock in locks._SHORT)
            for lock in locks._SHORT:
                assert lock.acquire(blocking=False)
                lock.release()

        fork_programs.finish(fork_programs.forked(act))
        thread.join()
        assert not locks.holds_lock()


# All locks are known ------------------------------------------------------------------------------

SYNCHRONIZERS = {
    "Lock",
    "RLock",
    "Condition",
    "Semaphore",
    "BoundedSemaphore",
    "Event",
    "Barrier",
    "Timer",
    "Queue",
    "SimpleQueue",
    "allocate_lock",
    "cached_property",
}
#: Caches that may build twice what native code has been told the address of.
CACHES = {"cache", "lru_cache"}
#: Results that equal ones can stand for.
PURE = {"_code", "_layout", "_halves", "_literal", "_raise_code", "_flatten"}
#: Tables of numbers, and addresses in NumPy: the same whoever computes them.
PURE |= {"_logarithm", "_powers", "_two_over_pi", "centres", "octave", "short_octave", "sixteenths"}
#: Texts, and versions of packages.
PURE |= {"source", "_versions", "function", "made"}
PURE |= {
    "_log",
    "_usual",
    "arctangents",
    "halved_centres",
    "bits_offset",
    "random_address",
    "sort_address",
    "stream_parts",
}


def synchronizers_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each lock, or what has one, of the standard library."""
    modules = {"threading", "_thread", "queue", "multiprocessing", "functools"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in modules and node.attr in SYNCHRONIZERS:
                yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            yield from ((node.lineno, a.name) for a in node.names if a.name in SYNCHRONIZERS)


@pytest.mark.sampled(1)
def test_locks_are_made_in_one_place() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in sorted((ROOT / "tracejit").rglob("*.py"))
        if path.name != "locks.py"
        for line, name in synchronizers_in(ast.parse(path.read_text(encoding="utf-8")))
    ]
    # What attributes of the user's classes are, a queue of one run and its threads, and what guards
    # one queue, file or display of the user's, which a child that is forked has no part in; and the
    # end of a thread that is looked at once.
    known = {
        "data/queues.py Condition",
        "data/queues.py Lock",
        "data/threads.py SimpleQueue",
        "dist/replicas/server.py Event",
        "dist/transport/local.py Condition",
        "dist/transport/threads.py Condition",
        "dist/transport/worker.py Event",
        "dist/transport/worker.py SimpleQueue",
        "monitor/board.py RLock",
        "monitor/event_file.py Event",
        "monitor/event_file.py Lock",
        "frontend/python/objects.py cached_property",
        "runtime/dataflow/executor.py SimpleQueue",
        "link/cpython/reflect.py allocate_lock",
    }
    assert {re.sub(r"tracejit/|:\d+", "", f) for f in found} <= known
    tree = ast.parse("import threading\nx = threading.RLock()\nfrom queue import SimpleQueue")
    assert list(synchronizers_in(tree)) == [(3, "SimpleQueue"), (2, "RLock")]


def test_native_objects_are_built_once() -> None:
    found = []
    for layer in ("codegen", "runtime"):
        for path in sorted((ROOT / "tracejit" / layer).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef) and node.name not in PURE:
                    for decorator in node.decorator_list:
                        found += [
                            f"{path.relative_to(ROOT)}:{node.name}"
                            for part in ast.walk(decorator)
                            if getattr(part, "id", getattr(part, "attr", "")) in CACHES
                        ]
    assert found == []


@pytest.mark.sampled(1)
def test_each_lock_in_use_is_known() -> None:
    assert run_apart("locks_are_known") == "alive\n"


def test_a_new_lock_is_found() -> None:
    """The search itself, on a lock that nothing knows."""
    assert run_apart("locks_are_known", "1") == "1 unknown\n"

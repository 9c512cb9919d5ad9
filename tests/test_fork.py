"""Processes that fork while their threads compile: no lock stays taken, no state half made."""

from __future__ import annotations

import ast
import gc
import logging
import os
import re
import subprocess
import sys
import threading
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests import fork_programs
from tracejit import locks
from tracejit.runtime import native

ROOT = Path(__file__).resolve().parent.parent
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")


def run_apart(*arguments: str) -> str:
    """What `python -m tests.fork_programs` prints."""
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "tests.fork_programs", *arguments],
        capture_output=True,
        text=True,
        timeout=280,
        cwd=ROOT,
        env={**os.environ, "TRACEJIT_FALLBACK": "ignore"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@needs_fork
@pytest.mark.parametrize("delay", ["0.02", "0.15", "0.3", "0.5"])
def test_a_fork_in_a_first_compile(delay: str) -> None:
    assert run_apart("first_compile", delay) == "alive\n"


@needs_fork
@pytest.mark.parametrize("program", fork_programs.PROGRAMS_OF_FORKS)
def test_a_fork_in_the_middle(program: str) -> None:
    assert "alive\n" in run_apart(program)


@needs_fork
def test_forks_and_spawns_beside_busy_threads() -> None:
    """`python -m tests.fork_programs stress 600` is the long form."""
    assert "children" in run_apart("stress", "4")


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
PURE = {"_layout", "_halves", "_literal", "_raise_code", "_flatten"}


def synchronizers_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each lock, or what has one, of the standard library."""
    modules = {"threading", "_thread", "queue", "multiprocessing", "functools"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in modules and node.attr in SYNCHRONIZERS:
                yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            yield from ((node.lineno, a.name) for a in node.names if a.name in SYNCHRONIZERS)


def test_locks_are_made_in_one_place() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in sorted((ROOT / "tracejit").rglob("*.py"))
        if path.name != "locks.py"
        for line, name in synchronizers_in(ast.parse(path.read_text(encoding="utf-8")))
    ]
    # What attributes of the user's classes are, and a queue of one run and its threads.
    known = {"frontend/objects.py cached_property", "runtime/executor.py SimpleQueue"}
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


def test_each_lock_in_use_is_known() -> None:
    f = tracejit.jit(fork_programs.chain)
    for _ in range(3):
        f(np.arange(8.0))
    tracejit.grad(lambda x: np.sin(x).sum())(np.ones(3))
    kinds = (type(threading.Lock()), type(threading.RLock()))
    known = {id(lock) for lock in (*locks._SHORT, *locks._LONG)}
    seen: set[int] = set()
    todo: list[Any] = [f]
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "tracejit":
            todo += [v for k, v in vars(module).items() if k != "__builtins__"]
    unknown = []
    # Names of the user's modules are captured: what those hold is theirs.
    theirs = {id(vars(m)) for n, m in list(sys.modules.items()) if not n.startswith("tracejit")}
    while todo:
        x = todo.pop()
        if id(x) in seen or isinstance(x, (types.ModuleType, types.FrameType)):
            continue
        if id(x) in theirs:
            continue
        seen.add(id(x))
        if isinstance(x, (logging.Logger, logging.Handler)):
            continue  # These see to forks themselves.
        if isinstance(x, kinds):
            if id(x) not in known:
                unknown.append(x)
            continue
        module = getattr(x, "__module__", None)
        if isinstance(x, (type, types.FunctionType)):
            # Not into the standard library and others by way of their functions' globals.
            if not isinstance(module, str) or module.partition(".")[0] != "tracejit":
                continue
        if isinstance(x, types.FunctionType):
            todo += [*(x.__closure__ or ()), x.__defaults__, x.__kwdefaults__]
            todo.append(vars(x))
            continue
        todo.extend(gc.get_referents(x))
    assert len(seen) > 10_000
    assert id(f._lock) in known
    assert unknown == []


def test_a_new_lock_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search itself, on a lock that nothing knows."""
    monkeypatch.setattr(native, "_mine", {"lock": [threading.RLock()]}, raising=False)
    with pytest.raises(AssertionError):
        test_each_lock_in_use_is_known()

"""Options and checks of all tests: golden texts, this run's slice of generic cases, no fault of the
compiler itself.

Tests run what users run: every setting is as shipped, and compiled code goes through a cache, in a
folder of the run. `pytest --deep` checks graphs after every pass, compiles calls that would run as
plain Python since they are so short, and has no cache on disk. `pytest --second` runs the tests in
two processes on one cache: what the first cannot write, and the second finds and answers otherwise,
fails. Tests that count compiles, or look at what a short call has compiled, are marked `compiles`.

`golden("name.txt", text)` compares with tests/golden/name.txt. `pytest --update-golden` writes the
files instead; read the diff before committing it.

A test that has the compiler fail on purpose says why: `@pytest.mark.compiler_fault("why")`. So
does one that has the cache fail: `@pytest.mark.cache_failure("why")`.

Large generic tests take a slice of their cases, another in each run: those that are marked
`sampled(parts, kind=function, always=names)`, and those that ask tests/support/sampling.py
themselves. `pytest --seed N` repeats a run's slice. `pytest --all` runs every case, and so does
whoever picks tests by name.
"""

from __future__ import annotations

import gc
import hashlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

# Worker processes share the cores. Threads of BLAS that wait for a core spin, and libraries read
# this where they are loaded; `pytest -n 0` runs with all threads.
if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")):
    threads = max(1, (os.cpu_count() or 1) // workers)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(threads))

from tests.support import compiler_faults, object_cache, sampling
from tracejit.runtime.cache.guard import failures

GOLDEN = Path(__file__).parent / "golden"

#: The folder of the cache that this run has made.
_FOLDER = pytest.StashKey[str]()

Golden: TypeAlias = Callable[[str, str], None]

compiler_faults.watch()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/ anew")
    parser.addoption("--all", action="store_true", help="run every case of sampled tests")
    parser.addoption("--deep", action="store_true", help="check all that is compiled; no cache")
    parser.addoption("--second", action="store_true", help="a second process, on the first's cache")
    parser.addoption("--share", type=int, default=1, help="run one of so many parts of the tests")
    parser.addoption("--seed", type=int, help="the slice of sampled tests (default: another a run)")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As in a job that a shell has put into the background: tests send it to themselves.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    option = config.option
    # Who names a case means it.
    named = option.keyword or getattr(option, "lf", False) or any("::" in a for a in config.args)
    if option.seed is None:
        option.seed = int(time.time())
    sampling.seed = None if option.all or named else option.seed
    if option.deep:
        os.environ["TRACEJIT_VERIFY"], os.environ["TRACEJIT_CACHE"] = "1", "off"
        object_cache.install()
    else:
        _set_cache(config)
    # Worker processes take the slice of the process that has started them.
    sampling.seed = getattr(config, "workerinput", {}).get("slice", sampling.seed)


def _set_cache(config: pytest.Config) -> None:
    """Let the run have a cache of its own, where it is not told of one."""
    if "TRACEJIT_CACHE" not in os.environ:
        # Worker processes inherit it.
        os.environ["TRACEJIT_CACHE"] = config.stash[_FOLDER] = tempfile.mkdtemp()


def pytest_unconfigure(config: pytest.Config) -> None:
    if (folder := config.stash.get(_FOLDER, None)) is not None:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Under `--second`, runs the tests in a process of their own first, which fills the cache."""
    option = config.option
    if not option.second or hasattr(config, "workerinput"):
        return None
    _set_cache(config)
    option.seed = int(time.time()) if option.seed is None else option.seed
    given = [arg for arg in config.invocation_params.args if arg != "--second"]
    command = [sys.executable, "-m", "pytest", *given, "--seed", str(option.seed)]
    return subprocess.run(command).returncode or None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["slice"] = sampling.seed


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = set() if sampling.full() else _not_in_slice(items)
    share = config.getoption("--share")
    left |= {item for item in items if not sampling.in_slice(item.nodeid, share)}
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]


def _not_in_slice(items: list[pytest.Item]) -> set[pytest.Item]:
    """Cases of sampled tests that this run leaves out."""
    cases: dict[str, list[pytest.Item]] = {}
    left = set()
    for item in items:
        if (marker := item.get_closest_marker("sampled")) is not None:
            # Tests without cases are dealt with those of their module that are marked alike.
            test = item.nodeid.partition("[" if hasattr(item, "callspec") else "::")[0]
            cases.setdefault(f"{test} {marker.args}", []).append(item)
    for test, of_test in cases.items():
        marker = of_test[0].get_closest_marker("sampled")
        assert marker is not None
        options = dict(marker.kwargs)
        of = options.pop("kind", None)
        try:
            taken = sampling.sampled(
                of_test,
                *marker.args,
                name=lambda item: item.name,
                kind=lambda item, of=of: of(**item.callspec.params) if of else "",
                **options,
            )
        except ValueError as error:
            raise pytest.UsageError(f"{test}: {error}") from error
        left |= {*of_test} - {*taken}
    return left


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """What is collected stays until the end: collections of garbage need not look at it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def _slice(config: pytest.Config) -> str:
    if sampling.full():
        return "sampled tests: every case"
    return f"sampled tests: one slice, repeated by --seed {sampling.seed}"


#: After so many tests, what is alive is left out of later collections of garbage.
_TESTS_BETWEEN = 300
_finished = itertools.count(1)


def pytest_runtest_logfinish() -> None:
    if next(_finished) % _TESTS_BETWEEN == 0:
        gc.collect()
        gc.freeze()


def pytest_report_header(config: pytest.Config) -> str:
    return _slice(config)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    if exitstatus == pytest.ExitCode.TESTS_FAILED:
        terminalreporter.line(_slice(config))


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """No worker processes for single files and tests: they would take longer to start."""
    few = len(config.args) <= 3 and all(".py" in arg for arg in config.args)
    return 0 if few else None


@pytest.fixture(autouse=True)
def no_compiler_faults(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test during which the compiler has failed, or that expects it to in vain."""
    yield
    found = list(compiler_faults.FOUND)
    compiler_faults.FOUND.clear()
    marker = request.node.get_closest_marker("compiler_fault")
    if marker is None:
        assert not found, "the compiler itself failed: " + "; ".join(found)
    else:
        assert found, f"the compiler did not fail, but the test is to see that: {marker.args[0]}"


@pytest.fixture(autouse=True)
def no_cache_failures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test during which the cache has failed, which is a miss to users."""
    failures.clear()
    yield
    found = list(failures)
    failures.clear()
    if request.node.get_closest_marker("cache_failure") is None:
        assert not found, "; ".join(found)


@pytest.fixture(autouse=True)
def compiled_calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short calls run what is compiled for them, too, in deep runs and in tests marked `compiles`,
    but not in those marked `plain_calls`.
    """
    marked = request.node.get_closest_marker
    compiles, plain = marked("compiles") is not None, marked("plain_calls") is not None
    if compiles:
        monkeypatch.setenv("TRACEJIT_CACHE", "off")
    elif (folder := os.environ["TRACEJIT_CACHE"]) != "off":
        # What other tests have compiled is not found, what this one has in another process is.
        name = hashlib.blake2b(request.node.nodeid.encode(), digest_size=8).hexdigest()
        monkeypatch.setenv("TRACEJIT_CACHE", os.path.join(folder, name))
    if (compiles or request.config.getoption("--deep")) and not plain:
        from tracejit.runtime.compile import worth

        monkeypatch.setattr(worth, "_OPERATION", float("inf"))


@pytest.fixture(autouse=True)
def object_code(request: pytest.FixtureRequest) -> Iterator[None]:
    """Object code may be that of an earlier test, but for tests marked `llvm_anew`."""
    if request.node.get_closest_marker("llvm_anew") is None:
        yield
        return
    with object_cache.llvm_anew():
        yield


@pytest.fixture
def never_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eager runs are errors; compiled programs may call NumPy, which `strict` refuses as well."""
    from tracejit import config

    monkeypatch.setattr(config, "fallback", "error")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares a text with the golden file of that name, or writes it under --update-golden."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no {path.name}: run pytest --update-golden"
        assert text == path.read_text(encoding="utf-8")

    return compare

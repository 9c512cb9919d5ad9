"""Options and checks of all tests: golden texts, this run's slice of generic cases, no fault of the
compiler itself.

Tests run what users run: every setting is as shipped, and compiled code goes through a cache, in a
folder of the run. `pytest --deep` checks graphs after every pass, compiles calls that would run as
plain Python since they are so short, and has no cache on disk. `pytest --second` runs the tests in
two processes on one cache: what the first cannot write, and the second finds and answers otherwise,
fails. `pytest --one-cache` gives all tests one folder of the cache, where else each has its own.
Tests that count compiles, or look at what a short call has compiled, are marked `compiles`.

`golden("name.txt", text)` compares with tests/golden/name.txt. `pytest --update-golden` writes the
files instead; read the diff before committing it.

A test that has the compiler fail on purpose says why: `@pytest.mark.compiler_fault("why")`. So
does one that has the cache fail: `@pytest.mark.cache_failure("why")`.

Large generic tests take a slice of their cases, another in each run: those that are marked
`sampled(parts, kind=function, always=names)`, and those that ask tests/support/sampling.py
themselves. `pytest --seed N` repeats a run's slice. `pytest --all` runs every case, and so does
whoever picks tests by name. A run that names no file and is as users run it takes half of the tests
of some folders. A slice that has failed is taken again until it passes.
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
#: Folders of which a run of all tests as users run them takes half; deep runs take all of them.
_HALVED = tuple(
    f"tests/{name}/"
    for name in (
        *("cli", "codegen", "data", "dist", "export", "frontend", "ir", "nn", "ops", "optim"),
        *("passes", "programs", "runtime", "transforms"),
    )
)
_IS_HALVED = pytest.StashKey[bool]()
#: Whether the run takes a slice that has failed before.
_IS_REPEATED = pytest.StashKey[bool]()

Golden: TypeAlias = Callable[[str, str], None]

compiler_faults.watch()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/ anew")
    parser.addoption("--all", action="store_true", help="run every case of sampled tests")
    parser.addoption("--deep", action="store_true", help="check all that is compiled; no cache")
    parser.addoption("--second", action="store_true", help="a second process, on the first's cache")
    parser.addoption("--one-cache", action="store_true", help="one folder of the cache for all")
    parser.addoption("--share", type=int, default=1, help="run one of so many parts of the tests")
    parser.addoption("--seed", type=int, help="the slice of sampled tests (default: another a run)")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As in a job that a shell has put into the background: tests send it to themselves.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    option = config.option
    if option.deep:
        os.environ["TRACEJIT_VERIFY"], os.environ["TRACEJIT_CACHE"] = "1", "off"
        object_cache.install()
    elif "TRACEJIT_CACHE" not in os.environ:
        # Worker processes inherit it.
        os.environ["TRACEJIT_CACHE"] = config.stash[_FOLDER] = tempfile.mkdtemp()
    if (told := getattr(config, "workerinput", None)) is not None:
        # Worker processes take the slice of the process that has started them.
        sampling.seed, config.stash[_IS_HALVED] = told["slice"]
        config.stash[_IS_REPEATED] = False
        return
    # Who names a case means it.
    named = option.keyword or getattr(option, "lf", False) or any("::" in a for a in config.args)
    is_full = bool(option.all or named)
    as_users = not (option.deep or option.second or option.one_cache or option.share > 1)
    config.stash[_IS_HALVED] = _is_of_all(config) and as_users and not is_full
    failed = _failed_seeds(config).get(_leg(config))
    if option.seed is None:
        option.seed = int(time.time()) if failed is None or is_full else failed
    config.stash[_IS_REPEATED] = not is_full and option.seed == failed
    sampling.seed = None if is_full else option.seed
    if option.second:
        _run_first(config)


def _is_of_all(config: pytest.Config) -> bool:
    """Whether a run names no files."""
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS


def _run_first(config: pytest.Config) -> None:
    """Run the tests in a process of their own, which fills the cache. Ends the run if one fails."""
    given = [arg for arg in config.invocation_params.args if arg != "--second"]
    if _is_of_all(config):
        given += config.args
    command = [sys.executable, "-m", "pytest", *given, "--seed", str(config.option.seed)]
    if code := subprocess.run(command).returncode:
        _remember(config, code)
        pytest.exit("the first process failed", code)


def _leg(config: pytest.Config) -> str:
    """The name of a kind of run: what it runs, and how."""
    option = config.option
    how = [name for name in ("deep", "second", "one_cache") if getattr(option, name)]
    parts = f"1/{option.share}{' halved' * config.stash[_IS_HALVED]}"
    return " ".join([*how, parts, *config.args])


def _failed_seeds(config: pytest.Config) -> dict[str, int]:
    """The seeds of runs that failed last, by leg; none in a fresh checkout."""
    cache = getattr(config, "cache", None)
    return {} if cache is None else cache.get("tracejit/failed_seeds", {})


def _remember(config: pytest.Config, exitstatus: int) -> None:
    """Keep the seed of a run that has failed for the next one, and forget it once it passes."""
    if sampling.full() or config.option.collectonly or getattr(config, "cache", None) is None:
        return
    seeds, leg = _failed_seeds(config), _leg(config)
    if exitstatus == pytest.ExitCode.TESTS_FAILED:
        seeds[leg] = config.option.seed
    elif exitstatus == pytest.ExitCode.OK and seeds.get(leg) == config.option.seed:
        del seeds[leg]
    else:
        return
    config.cache.set("tracejit/failed_seeds", seeds)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    if not hasattr(session.config, "workerinput"):
        _remember(session.config, exitstatus)


def pytest_unconfigure(config: pytest.Config) -> None:
    if (folder := config.stash.get(_FOLDER, None)) is not None:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput["slice"] = sampling.seed, node.config.stash[_IS_HALVED]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left = set() if sampling.full() else _not_in_slice(items)
    share, seed = config.option.share, config.option.seed
    left |= {item for item in items if not sampling.is_drawn(item.nodeid, share, seed)}
    if config.stash[_IS_HALVED]:
        left |= {
            item
            for item in items
            if item.nodeid.startswith(_HALVED)
            # What once found a bug runs each time.
            and not item.path.stem.endswith("_findings")
            and not sampling.is_drawn(item.nodeid, 2, seed)
        }
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


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [_slice(config), *["the slice that failed last"] * config.stash[_IS_REPEATED]]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    if exitstatus == pytest.ExitCode.TESTS_FAILED:
        terminalreporter.line(_slice(config))
    elif exitstatus == pytest.ExitCode.OK and config.stash[_IS_REPEATED]:
        terminalreporter.line(f"the slice that failed last passes: --seed {sampling.seed}")


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
    marked, option = request.node.get_closest_marker, request.config.option
    compiles, plain = marked("compiles") is not None, marked("plain_calls") is not None
    if compiles:
        monkeypatch.setenv("TRACEJIT_CACHE", "off")
    elif (folder := os.environ["TRACEJIT_CACHE"]) != "off" and not option.one_cache:
        # What other tests have compiled is not found, what this one has in another process is.
        name = hashlib.blake2b(request.node.nodeid.encode(), digest_size=8).hexdigest()
        monkeypatch.setenv("TRACEJIT_CACHE", os.path.join(folder, name))
    if (compiles or option.deep) and not plain:
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

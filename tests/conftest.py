"""Options and checks of all tests: golden texts, this run's slice of generic cases, no fault of the
compiler itself.

`golden("name.txt", text)` compares with tests/golden/name.txt. `pytest --update-golden` writes the
files instead; read the diff before committing it.

A test that has the compiler fail on purpose says why: `@pytest.mark.compiler_fault("why")`.

Large generic tests take a slice of their cases (tests/support/sampling.py), another in each run.
`pytest --seed N` repeats a run's slice, `pytest --all` runs every case.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests import compiler_faults
from tests.support import sampling

# Graphs are checked after every pass in all tests.
os.environ.setdefault("TRACEJIT_VERIFY", "1")

GOLDEN = Path(__file__).parent / "golden"

Golden: TypeAlias = Callable[[str, str], None]

compiler_faults.watch()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/ anew")
    parser.addoption("--all", action="store_true", help="run every case of sampled tests")
    parser.addoption("--seed", type=int, help="the slice of sampled tests (default: another a run)")


def pytest_configure(config: pytest.Config) -> None:
    # Worker processes are given the options as they stand after this.
    if config.option.seed is None:
        config.option.seed = int(time.time())
    sampling.seed = None if config.option.all else config.option.seed


def _slice(config: pytest.Config) -> str:
    if config.option.all:
        return "sampled tests: every case"
    return f"sampled tests: one slice, repeated by --seed {config.option.seed}"


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

"""Golden texts, and a check of every test: none may make the compiler itself fail.

`golden("name.txt", text)` compares with tests/golden/name.txt. `pytest --update-golden` writes the
files instead; read the diff before committing it.

A test that has the compiler fail on purpose says why: `@pytest.mark.compiler_fault("why")`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests import compiler_faults

# Graphs are checked after every pass in all tests.
os.environ.setdefault("TRACEJIT_VERIFY", "1")

GOLDEN = Path(__file__).parent / "golden"

Golden: TypeAlias = Callable[[str, str], None]

compiler_faults.watch()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write tests/golden/ anew")


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

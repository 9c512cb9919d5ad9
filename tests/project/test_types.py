"""What type checkers say of calls of compiled functions and of gradients."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CALLS = Path(__file__).with_name("typed_calls.py")
#: Of the package the interface is enough.
CONFIG = """
[mypy]
strict = true
[mypy-tracejit.*]
follow_imports = skip
[mypy-tracejit,tracejit.api,tracejit.typing,tracejit.forms]
follow_imports = silent
"""


def test_right_calls_pass_and_wrong_ones_are_errors(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    config = tmp_path / "mypy.ini"
    config.write_text(CONFIG)
    # In a process of its own: mypy leaves this one with a limit of recursion beyond its stack.
    options = [f"--config-file={config}", "--cache-dir=/dev/null"]
    command = [sys.executable, "-m", "mypy", *options, str(CALLS)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout.splitlines()[:-1], done.stderr, done.returncode) == ([], "", 0)


def test_the_wrong_calls_are_many() -> None:
    assert CALLS.read_text().count("# type: ignore[") >= 15

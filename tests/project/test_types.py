"""What type checkers say of calls of compiled functions and of gradients."""

from __future__ import annotations

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
    api = pytest.importorskip("mypy.api")
    config = tmp_path / "mypy.ini"
    config.write_text(CONFIG)
    said, failed, status = api.run([f"--config-file={config}", "--cache-dir=/dev/null", str(CALLS)])
    assert (said.splitlines()[:-1], failed, status) == ([], "", 0)


def test_the_wrong_calls_are_many() -> None:
    assert CALLS.read_text().count("# type: ignore[") >= 15

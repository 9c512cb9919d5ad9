"""How tests run: with the settings of users, deep, and in two processes on one cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import numpy as np
import tracejit
from tracejit.runtime.compile import worth

def f(x):
    return np.sin(x) * 2 + np.cumsum(x)

def test_f():
    g = tracejit.jit(f)
    for _ in range(2):
        assert g(np.ones(3000)).shape == (3000,)
    (variant,) = g.report().variants
    how = "recalled" if "cache" in str(g.report()) else "compiled"
    print(how, worth._OPERATION == float("inf"))
"""


def printed(folder: Path, *options: str) -> list[str]:
    """What a test prints in each process that runs it."""
    file = folder / "test_program.py"
    file.write_text(PROGRAM)
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-n", "0", "-p", "no:cacheprovider"]
    command += ["-c", str(ROOT / "pyproject.toml"), f"--confcutdir={ROOT}", "-p", "tests.conftest"]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TRACEJIT_", "PYTEST_"))}
    done = subprocess.run(
        [*command, *options, str(file)], capture_output=True, text=True, cwd=ROOT, env=env
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [s for s in done.stdout.split("\n") if s.startswith(("recalled", "compiled"))]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["compiled False"]),
        (("--deep",), ["compiled True"]),
        (("--second",), ["compiled False", "recalled False"]),
    ],
)
def test_where_code_comes_from(
    options: tuple[str, ...], expected: list[str], tmp_path: Path
) -> None:
    assert printed(tmp_path, *options) == expected

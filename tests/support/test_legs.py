"""How tests run: with the settings of users, deep, in two processes on one cache, in one folder of
it, half of some folders, and the slice that failed last again.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.sampled(3)

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


TWICE = PROGRAM.replace(
    "def test_f():", "import pytest\n\n@pytest.mark.parametrize('k', [1, 2])\ndef test_f(k):"
)

CASES = """
import pytest

@pytest.mark.parametrize("k", range(40))
def test_case(k):
    pass
"""

#: Fails in a case that one slice of two has, as long as there is a file.
FAILS = """
import os
import pytest

sampled = pytest.mark.sampled(2)

@sampled
@pytest.mark.parametrize("k", range(2))
def test_fails(k):
    assert k or not os.path.exists("wrong")
"""


def run_of(folder: Path, *options: str, code: int = 0) -> str:
    """What a run prints."""
    command = [sys.executable, "-m", "pytest", "-n", "0", "-p", "tests.conftest", *options]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TRACEJIT_", "PYTEST_"))}
    env["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def printed(folder: Path, text: str, *options: str) -> list[str]:
    """What a test prints in each process that runs it."""
    file = folder / "test_program.py"
    file.write_text(text)
    lines = run_of(folder, "-q", "-s", "-p", "no:cacheprovider", *options, str(file)).split("\n")
    return [s.lstrip(".") for s in lines if s.lstrip(".").startswith(("recalled", "compiled"))]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder whose tests are those of two folders."""
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\ntestpaths = tests\nmarkers = sampled: a slice\n"
    )
    for name in ("codegen", "other"):
        (tmp_path / "tests" / name).mkdir(parents=True)
        (tmp_path / "tests" / name / f"test_{name}.py").write_text(CASES)
    return tmp_path


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
    assert printed(tmp_path, PROGRAM, *options) == expected


def test_one_folder_of_the_cache(tmp_path: Path) -> None:
    """Its own for each test, or one for all."""
    assert printed(tmp_path, TWICE) == ["compiled False"] * 2
    assert printed(tmp_path, TWICE, "--one-cache") == ["compiled False", "recalled False"]


def taken(project: Path, *options: str) -> tuple[set[str], set[str]]:
    """The cases that a run takes of the folder of which a run of all tests takes half, and of the
    other one.
    """
    found = re.findall(r"^tests/(\w+)/.*\[(\d+)\]", run_of(project, "-q", "--co", *options), re.M)
    codegen, other = ({k for name, k in found if name == of} for of in ("codegen", "other"))
    return codegen, other


def test_a_run_of_all_takes_half_of_some_folders(project: Path) -> None:
    every = {str(k) for k in range(40)}
    halves = [taken(project, "--seed", seed) for seed in ("1", "2")]
    assert all(10 < len(codegen) < 30 and other == every for codegen, other in halves)
    assert halves[0] != halves[1]
    for options in (["tests"], ["--deep"], ["--all"], ["-k", "case"]):
        assert taken(project, "--seed", "1", *options) == (every, every)


def test_the_slice_that_failed_last_is_taken_again(project: Path) -> None:
    (project / "tests" / "other" / "test_fails.py").write_text(FAILS)
    (project / "wrong").touch()
    assert "1 failed" in run_of(project, "tests", "--seed", "6", code=1)
    # Neither another slice nor another kind of run says anything of it.
    run_of(project, "tests", "--seed", "7")
    assert "failed last" not in run_of(project, "tests", "--all", code=1)
    # Worker processes take it, too.
    assert "the slice that failed last" in run_of(project, "tests", "-n", "1", code=1)
    (project / "wrong").unlink()
    run_of(project, "tests", "--co")
    assert "the slice that failed last passes: --seed" in run_of(project, "-q", "tests")
    assert "failed last" not in run_of(project, "tests")

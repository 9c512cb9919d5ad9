"""How much a fresh process imports for one function, in modules and in lines: no times."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: What no simple function needs: other libraries, and what of Python and NumPy is slow to import.
HEAVY = frozenset(
    "asyncio concurrent.futures decimal difflib fractions hashlib importlib.metadata "
    "llvmlite.binding logging numba numpy.fft numpy.ma numpy.random scipy subprocess".split()
)

#: Program -> the most modules of the package, and the most lines in them. A few more than there
#: are: what is new and not needed by every function is to be imported where it is.
MOST = {"decoration": (48, 6_000), "call": (362, 62_500), "gradient": (406, 70_700)}


def imported(program: str) -> dict[str, int]:
    """The modules that a process has imported for a program, with the lines of the package's."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.project.started_programs", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TRACEJIT_CACHE": "off"},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("program", MOST)
def test_what_a_process_imports(program: str) -> None:
    found = imported(program)
    assert not HEAVY & set(found)
    own = {name: lines for name, lines in found.items() if name.partition(".")[0] == "tracejit"}
    modules, lines = MOST[program]
    assert len(own) <= modules, f"{len(own)} modules"
    assert sum(own.values()) <= lines, f"{sum(own.values())} lines"

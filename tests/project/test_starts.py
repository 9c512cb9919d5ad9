"""How much a fresh process imports for one function, in modules and in lines: no times."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracejit.link.loader import supported

ROOT = Path(__file__).resolve().parents[2]

#: What no simple function needs: other libraries, and what of Python and NumPy is slow to import.
HEAVY = frozenset(
    "asyncio concurrent.futures decimal difflib fractions hashlib importlib.metadata "
    "llvmlite.binding logging numba numpy.fft numpy.ma numpy.random scipy subprocess".split()
)

#: Program -> the most modules of the package, and the most lines in them. A few more than there
#: are: what is new and not needed by every function is to be imported where it is.
MOST = {
    "decoration": (52, 6_300),
    "cached": (62, 7_280),
    "call": (380, 66_500),
    "gradient": (425, 75_500),
}


#: What code from files needs nothing of.
COMPILER = tuple(f"tracejit.{x}" for x in "codegen frontend ir ops passes transforms".split())


def imported(program: str, cache: str = "off") -> dict[str, int]:
    """The modules that a process has imported for a program, with the lines of the package's."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.project.started_programs", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "TRACEJIT_CACHE": cache, "TRACEJIT_VERIFY": ""},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("program", ["decoration", "call", "gradient"])
def test_what_a_process_imports(program: str) -> None:
    found = imported(program)
    check(found, program)


@pytest.mark.skipif(not supported(), reason="machine code is not loaded from files here")
@pytest.mark.parametrize("program", ["call", "gradient"])
def test_what_a_process_imports_for_code_from_a_file(program: str, tmp_path: Path) -> None:
    imported(program, str(tmp_path))
    found = imported(program, str(tmp_path))
    assert [name for name in found if name.startswith(COMPILER)] == []
    assert not {"ipaddress", "pathlib", "random"} & set(found)
    check(found, "cached")


def check(found: dict[str, int], program: str) -> None:
    assert not HEAVY & set(found)
    own = {name: lines for name, lines in found.items() if name.partition(".")[0] == "tracejit"}
    modules, lines = MOST[program]
    assert len(own) <= modules, f"{len(own)} modules"
    assert sum(own.values()) <= lines, f"{sum(own.values())} lines"

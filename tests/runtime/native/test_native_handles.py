"""Native objects freed in every order, under the collector, interrupts, threads and the exit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.native import handle_programs
from tracejit.runtime import native

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.skipif(not native.available(), reason=native.why_not())


@pytest.mark.sampled(9)
@pytest.mark.parametrize("program", [p.__name__ for p in handle_programs.PROGRAMS])
def test_a_process_outlives_what_it_drops(program: str) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            "tests.runtime.native.handle_programs",
            program,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
    assert (done.returncode, done.stdout.split("\n")[0]) == (0, "alive"), done.stderr
    # An interrupt may strike inside llvmlite's own constructors, whose finalizers then complain.
    assert program == "interrupts" or done.stderr == ""

"""Scripts as several processes of MPI: they give what one gives, and one that fails ends all."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.dist import scripts

ROOT = Path(__file__).resolve().parents[2]
HAS_MPIEXEC = (Path(sys.executable).parent / "mpiexec").is_file() or shutil.which("mpiexec")
pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="needs mpi4py"),
    pytest.mark.skipif(not HAS_MPIEXEC, reason="needs mpiexec"),
]


def launched(*argv: str) -> subprocess.CompletedProcess[str]:
    launch = [sys.executable, "-m", "tracejit", "launch", "-n", "2", "--engine", "mpi"]
    return subprocess.run(
        [*launch, str(Path(__file__).with_name("scripts.py")), *argv],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_collectives_and_training(tmp_path: Path) -> None:
    found = launched("by_mpi", str(tmp_path))
    assert found.returncode == 0, found.stderr
    lines = sorted(found.stdout.splitlines())
    assert [line[:8] for line in lines] == ["same 0 2", "same 1 2"]
    assert lines[0][8:] == lines[1][8:]
    first, second = (np.load(tmp_path / f"2_{rank}.npy") for rank in range(2))
    assert np.array_equal(first, second) and abs(first - scripts.trained()).max() < 1e-6


def test_one_that_fails_ends_all() -> None:
    begin = time.monotonic()
    found = launched("fails")
    assert found.returncode == 3, found.stderr
    assert "begins" in found.stdout and time.monotonic() - begin < 30

"""The same programs by MPI, with real processes of an MPI's launcher."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.dist.test_launch import ended

pytest.importorskip("mpi4py", reason="mpi4py is not installed")
pytestmark = pytest.mark.skipif(
    not (Path(sys.executable).parent / "mpiexec").is_file() and shutil.which("mpiexec") is None,
    reason="there is no mpiexec",
)
OPTIONS = ("-n", "2", "--engine", "mpi")


def test_collectives_in_compiled_programs() -> None:
    code, out, err = ended("collectives", options=OPTIONS)
    assert code == 0, err
    # MPI may mix what processes print.
    assert out.count("same") == 2


@pytest.mark.sampled(2)
def test_two_processes_train_as_one(tmp_path: Path) -> None:
    for options, launch in ((OPTIONS, True), ((), False)):
        code, _, err = ended("train", str(tmp_path), options=options, launch=launch)
        assert code == 0, err
    alone, first, second = (
        np.load(tmp_path / f"{name}.npy") for name in ("1_0", "2_0", "2_1")
    )
    assert np.array_equal(first, second)
    np.testing.assert_allclose(first, alone, rtol=0, atol=2e-6)


def test_the_exit_code_of_one_that_fails() -> None:
    code, out, _ = ended("fails", options=OPTIONS)
    assert code == 3 and out.count("begins") <= 2

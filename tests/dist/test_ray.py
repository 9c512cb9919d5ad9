"""The same programs by Ray, on a cluster of this machine."""

from __future__ import annotations

import pytest

from tests.dist.test_launch import ended

pytest.importorskip("ray", reason="ray is not installed")


def test_collectives_in_compiled_programs() -> None:
    code, out, err = ended("collectives", options=("-n", "2", "--engine", "ray"))
    assert code == 0, err
    assert (out + err).count("] same ") == 2


def test_a_killed_worker_comes_back() -> None:
    options = ("-n", "3", "--engine", "ray", "--mode", "backup:1", "--restarts", "1")
    code, out, err = ended("modes", "killed", options=options)
    assert code == 0, out + err
    assert "process 1 ended with exit code 137; started again" in err
    assert "[0] trained 0" in out + err and "[2] trained 2" in out + err


def test_the_exit_code_of_one_that_fails() -> None:
    code, out, err = ended("fails", options=("-n", "2", "--engine", "ray"))
    assert code == 3, out + err

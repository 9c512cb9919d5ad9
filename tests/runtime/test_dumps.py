"""Dumps in a folder in which others can make names before."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import tracejit


def test_a_dump_follows_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dumps, other = tmp_path / "dumps", tmp_path / "other"
    dumps.mkdir(), other.mkdir()

    def scaled(x: np.ndarray) -> np.ndarray:
        return x * 2

    names = [f"scaled-{os.getpid()}-{k:03}" for k in range(3)]
    (dumps / names[0]).symlink_to(other)
    (dumps / names[1]).symlink_to(tmp_path / "nothing")
    monkeypatch.setenv("TRACEJIT_DUMP", str(dumps))
    tracejit.jit(scaled)(np.ones(3))
    assert sorted(path.name for path in dumps.iterdir()) == names
    assert not list(other.iterdir()) and not (tmp_path / "nothing").exists()
    assert (dumps / names[2] / "report.txt").is_file()

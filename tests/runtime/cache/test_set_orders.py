"""Code that rests on the order of a set is for one process: texts have other hashes elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("set_orders.py")


def test_orders_of_sets_are_those_of_the_process(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        env = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": str(PROGRAM.parents[3]),
            "TRACEJIT_CACHE": str(tmp_path),
        }
        done = subprocess.run([sys.executable, PROGRAM], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        lines = [line.split(maxsplit=1) for line in done.stdout.splitlines()]
        alike = {name for name, how in lines if how == "right True"}
        assert alike == (set() if seed == "1" else {"of_numbers", "membership"})
        assert {how for name, how in lines if name not in alike} <= {"right False"}
        assert len(lines) == 7

"""Scripts as several processes: the same script alone, what fails, what is interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tracejit.dist.replicas.sharded import owners

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(Path(__file__).with_name("scripts.py"))
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs sockets of Unix")


def start(
    *argv: str,
    launch: bool = True,
    options: tuple[str, ...] = ("-n", "2"),
    script: str = SCRIPT,
    within: tuple[str, ...] = (),
) -> subprocess.Popen[str]:
    before = ["-m", "tracejit", "launch", *options] if launch else []
    return subprocess.Popen(
        [*within, sys.executable, *before, script, *argv],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(
    *argv: str,
    launch: bool = True,
    options: tuple[str, ...] = ("-n", "2"),
    script: str = SCRIPT,
) -> tuple[int, str, str]:
    process = start(*argv, launch=launch, options=options, script=script)
    try:
        out, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.communicate()
        raise
    return process.returncode, out, err


def members(group: int) -> list[int]:
    """The processes of a group that run."""
    out = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, number = entry.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(number) == group and state != "Z":
            out.append(int(entry.parent.name))
    return out


def test_collectives_in_compiled_programs() -> None:
    code, out, err = ended("collectives")
    assert code == 0, err
    lines = sorted(out.splitlines())
    assert [line[:12] for line in lines] == ["[0] same 0 2", "[1] same 1 2"]
    assert lines[0].split(" 2 ")[1] == lines[1].split(" 2 ")[1]


def test_a_run_that_is_repeated_exchanges_once() -> None:
    code, out, err = ended("repeated")
    assert code == 0, err
    assert sorted(out.splitlines()) == [
        "[0] repeated 0 8",
        "[1] refused 1 index 99 is 3",
        "[1] refused 1 index 99 is 5",
        "[1] repeated 1 8",
    ]


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    for launch in (True, False):
        code, _, err = ended("train", str(tmp_path), launch=launch)
        assert code == 0, err
    one, first, second = (np.load(tmp_path / f"{name}.npy") for name in ("1_0", "2_0", "2_1"))
    assert np.array_equal(first, second) and abs(first - one).max() < 1e-6


def test_buckets_are_exchanged_during_the_backward_pass() -> None:
    code, out, err = ended("buckets")
    assert code == 0, err
    first, second = sorted(out.splitlines())
    assert first[:13] == "[0] buckets 0" and first[13:] == second[13:]


def test_training_with_compressed_gradients() -> None:
    code, out, err = ended("compressed")
    assert code == 0, err
    assert sorted(out.splitlines()) == ["[0] compressed 0", "[1] compressed 1"]


def test_gradients_through_collectives() -> None:
    code, out, err = ended("gradients")
    assert code == 0, err
    assert sorted(out.splitlines()) == ["[0] gradients 0", "[1] gradients 1"]


def test_code_on_disk_is_for_the_numbers_of_a_process() -> None:
    launched = ["[0] own 0.0 20.0", "[1] own 10.0 20.0"]
    for again in (False, True):
        for launch, wanted in ((True, launched), (False, ["own 0.0 10.0"])):
            code, out, err = ended("own_numbers", launch=launch)
            assert code == 0, err
            lines = sorted(out.splitlines())
            assert [line.rsplit(" ", 2)[0] for line in lines] == wanted
            if again and os.environ["TRACEJIT_CACHE"] != "off":
                assert all(line.endswith("True True") for line in lines), lines


def test_one_that_fails_ends_all() -> None:
    begin = time.monotonic()
    code, out, err = ended("fails")
    assert code == 3 and "tracejit: process 1 ended with exit code 3" in err
    assert "[0] begins" in out and time.monotonic() - begin < 30


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes by /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_running(number: int) -> None:
    process = start("waits")
    assert process.stdout is not None
    found = [int(re.fullmatch(r"\[\d\] waits (\d+)\n", process.stdout.readline())[1]) for _ in "ab"]  # type: ignore[index]
    assert all(len(members(group)) == 2 for group in found)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert not [pid for group in found for pid in members(group)]


def test_an_optimiser_in_parts_is_the_whole_one() -> None:
    code, out, err = ended("parts")
    assert code == 0, err
    assert sorted(out.splitlines()) == ["[0] parts 0 True", "[1] parts 1 True"]


def test_who_has_which_part() -> None:
    assert owners([8, 8, 8, 8], 2) == (0, 1, 0, 1)
    assert owners([100, 10, 10, 10, 60], 2) == (0, 1, 1, 1, 1)
    assert owners([5], 1) == (0,)
    with pytest.raises(ValueError, match="3 processes"):
        owners([1, 2], 3)

"""Training by a server of parameters: late gradients, lost processes, processes that come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.dist.test_launch import SCRIPT, ended
from tracejit import dist
from tracejit.cli import main
from tracejit.dist.replicas.mode import Mode
from tracejit.dist.replicas.policy import Async, Backup


def launched(
    *argv: str, options: tuple[str, ...], script: str = SCRIPT
) -> tuple[int, list[str], str]:
    """The exit code, the lines of all processes in order, and the errors."""
    code, out, err = ended(*argv, options=options, script=script)
    return code, sorted(out.splitlines()), err


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mode", ["backup:1", "async:3"])
def test_all_processes_train(mode: str) -> None:
    code, lines, err = launched("modes", options=("-n", "2", "--mode", mode))
    assert code == 0, err
    (first, second) = lines
    # The optimiser's state is that of process 0.
    count = int(first.split()[3])
    assert first.startswith("[0] trained 0") and second == "[1] trained 1 0 0"
    assert 60 <= count <= 120


@pytest.mark.sampled(3)
def test_the_slowest_are_not_waited_for() -> None:
    code, lines, err = launched("modes", "slow", options=("-n", "3", "--mode", "backup:1"))
    assert code == 0, err
    # The steps are those of the other two.
    assert 60 <= int(lines[0].split()[3]) <= 80
    assert 1 <= int(lines[0].split()[4]) <= 60


@pytest.mark.sampled(3)
def test_a_killed_worker_comes_back_and_costs_no_state() -> None:
    options = ("-n", "3", "--mode", "backup:1", "--restarts", "1")
    code, lines, err = launched("modes", "killed", options=options)
    assert code == 0, err
    assert "process 1 ended with signal 9; started again" in err
    assert lines[0].startswith("[0] trained 0") and int(lines[0].split()[3]) >= 60
    assert lines[-1].startswith("[2] trained 2")


@pytest.mark.sampled(3)
def test_gradients_by_rows_stay_rows() -> None:
    code, lines, err = launched("rows", options=("-n", "2", "--mode", "backup:0"))
    assert code == 0, err
    # Each step halves what both read, and takes a quarter off the rows of one.
    expected = [0.5625, 0.5625, 1.0, 1.0, 0.25, 1.0, 1.0, 1.0, 1.0]
    assert lines == [f"[{rank}] rows {rank} {expected}" for rank in range(2)]


@pytest.mark.sampled(3)
def test_all_begin_anew_where_one_alone_cannot(tmp_path: Path) -> None:
    options = ("-n", "2", "--restarts", "1")
    code, lines, err = launched("resumes", str(tmp_path), options=options)
    assert code == 0, err
    # Process 0 may be the first to tell.
    assert "; all begin anew" in err
    assert lines == ["[0] resumed 0 3 6.0", "[1] resumed 1 3 6.0"]
    code, lines, err = launched("resumes", str(tmp_path / "b"), options=("-n", "2"))
    assert code in (1, 7) and "anew" not in err


def test_modes_as_text() -> None:
    assert Mode.of("sync") == Mode("sync")
    assert Mode.of("async:4").policy(3) == Async(bound=4) and Mode.of("async").policy(3) == Async()
    assert Mode.of("backup:2").policy(6) == Backup(needed=4)
    for wrong in ("", "backup", "backup:", "backup:x", "sync:1", "async:-1", "synch"):
        with pytest.raises(ValueError, match=re.escape(f"not {wrong!r}")):
            Mode.of(wrong)
    with pytest.raises(ValueError, match="of 2 workers 2"):
        Mode.of("backup:2").policy(2)
    with pytest.raises(ValueError, match="a mode is"):
        dist.data_parallel(lambda net, opt: None, mode="fast")


@pytest.mark.parametrize(
    "argv", [["--mode", "x"], ["--mode", "backup:2"], ["--engine", "mpi", "--mode", "async"]]
)
def test_the_command_says_what_is_wrong(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["launch", "-n", "2", *argv, __file__]) == 2
    assert "mode" in capsys.readouterr().err

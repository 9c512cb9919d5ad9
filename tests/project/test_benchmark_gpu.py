"""The benchmark of GPUs, on the simulated device: everything but the peers and the clock."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import _gpu_checks, _gpu_child, _gpu_peers, _gpu_speed, _gpu_workers, gpu
from benchmarks.__main__ import main, names
from benchmarks._gpu_cases import Case, cases
from benchmarks._gpu_libraries import Arrays
from tests.ops.device_nodes import DeviceNode, nodes_of
from tracejit.codegen.device.simulated import simulated_device

pytestmark = pytest.mark.sampled(14)

CASES = pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)


def test_it_is_asked_for_by_name_alone() -> None:
    assert "gpu" not in names()
    with pytest.raises(SystemExit):
        main(["gpu", "out", "--only", "nothing"])


def test_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpu", str(tmp_path), "--device", "cuda-sim", "--quick"]) == 0
    printed = capsys.readouterr().out
    report = json.loads((tmp_path / "gpu.json").read_text())
    assert list(report["parts"]) == [*_gpu_checks.PARTS, "speed"]
    for part, found in report["parts"].items():
        assert found["tasks"] == len(found["answers"]), part
        assert {one["outcome"] for one in found["answers"]} <= {"ok", "none"}, part
    assert report["left out"] == []
    assert (tmp_path / "gpu.txt").read_text() in printed
    for case in cases():
        assert case.text(case.tiny) in printed
    assert "event us" not in printed and "runs eagerly" not in printed


def test_without_a_gpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "no_device", lambda: "no NVIDIA driver was found")
    assert main(["gpu", str(tmp_path)]) == 1
    assert "no NVIDIA driver was found" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_failure_is_told_and_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = _gpu_checks.check

    def check(part: str, name: str, device: str) -> bool:
        if part == "programs":
            raise ValueError("the first line\nthe second")
        return real(part, name, device)

    monkeypatch.setattr(_gpu_checks, "check", check)
    arguments = [str(tmp_path), "--device", "cuda-sim", "--quick", "--only", "programs", "launch"]
    assert main(["gpu", *arguments]) == 1
    printed = capsys.readouterr().out
    assert "ValueError: the first line | the second" in printed
    report = json.loads((tmp_path / "gpu.json").read_text())
    assert [one["outcome"] for one in report["parts"]["speed"]["answers"]] == ["ok", "ok"]


def test_samples_that_are_not_there_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def names(part: str) -> list[str]:
        raise ImportError("No module named 'tests'")

    monkeypatch.setattr(_gpu_checks, "names", names)
    assert main(["gpu", str(tmp_path), "--device", "cuda-sim", "--only", "ops", "launch"]) == 0
    assert "ops: left out: No module named 'tests'" in capsys.readouterr().out


def test_what_is_off_by_rounding_is_not_wrong() -> None:
    def off(by: float) -> Any:
        return lambda x: np.sin(x) * (1 + by)

    x = (np.linspace(0.0, 1.0, 9),)
    with pytest.raises(_gpu_checks.Rounding):
        _gpu_checks._compare(np.sin, off(1e-14), [x], lambda args: {})
    with pytest.raises(AssertionError):
        _gpu_checks._compare(np.sin, off(1e-8), [x], lambda args: {})


@CASES
def test_a_wrong_result_is_found(case: Case) -> None:
    want = case.f(*case.make(np.random.default_rng(0), case.tiny))
    _gpu_speed.compare(case, "same", want, want)
    parts = list(want) if isinstance(want, tuple) else [want]
    parts[0] = parts[0] + 1
    with pytest.raises(AssertionError, match="off by"):
        _gpu_speed.compare(case, "other", tuple(parts), want)


@CASES
def test_a_case_has_peers(case: Case) -> None:
    found = _gpu_peers.forms(case.name)
    assert {library for library, _, _ in found} >= {"cupy", "jax"}


def test_times_are_taken_in_turns() -> None:
    class Here(Arrays):
        name = "numpy"

        def _put(self, x: Any) -> Any:
            return x

    case = next(case for case in cases() if case.name == "softmax")
    notes: list[str] = []
    found = [_gpu_speed.Contender(name, case.f, Here()) for name in ("tracejit", "other")]
    wrong = _gpu_speed.Contender("wrong", lambda x: x, Here())
    rows = _gpu_speed.timed(case, [*found, wrong], (64, 16), 3, notes)["rows"]
    assert [row["contender"] for row in rows] == ["tracejit", "other"]
    assert rows[0]["times tracejit"] == 1 and rows[1]["GB/s"] > 0
    assert notes[0].startswith("wrong: not timed: AssertionError")
    answer = {"name": "softmax", "outcome": "ok", "rows": rows, "size": "64 x 16"}
    report = {"parts": {"speed": {"tasks": 1, "answers": [answer]}}}
    (table,) = gpu.speed_tables(report)
    assert len(table.rows) == 2 and "times tracejit" in str(table)


def test_processes_that_end_are_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = (
        "import sys, json, time\n"
        "for line in sys.stdin:\n"
        "    name = json.loads(line)['name']\n"
        "    if name == 'crash': print('why', file=sys.stderr); sys.exit(7)\n"
        "    if name == 'hang': time.sleep(60)\n"
        "    print(json.dumps({'name': name, 'outcome': 'ok'}), flush=True)\n"
    )
    (tmp_path / "a_child.py").write_text(child)
    monkeypatch.setattr(_gpu_workers, "CHILD", "a_child")
    monkeypatch.setattr(_gpu_workers, "ROOT", tmp_path)
    tasks = [{"name": name} for name in ("one", "crash", "two", "hang", "three")]
    found = {one["name"]: one for one in _gpu_workers.run_all(tasks, 1, 1.0, 30.0)}
    assert [found[task["name"]]["outcome"] for task in tasks] == ["ok", "failed"] * 2 + ["ok"]
    assert found["crash"]["error"] == ["the process ended with 7", "why"]
    assert found["hang"]["error"] == ["stopped after 1 s"]
    assert list(_gpu_workers.run_all(tasks, 2, 1.0, 0.0)) == []


def test_the_process_answers() -> None:
    tasks = [{"part": "gradients", "device": "cuda-sim", "quick": True, "name": "if_elif_else"}]
    (found,) = _gpu_workers.run_all(tasks, 1, 60.0, 60.0)
    assert found["outcome"] == "ok", found
    assert _gpu_child.answer({**tasks[0], "name": "nothing"})["error"] == ["KeyError: 'nothing'"]


def test_nodes_of_a_device() -> None:
    made = nodes_of(simulated_device())
    assert issubclass(made, DeviceNode) and made.device() is simulated_device()
    assert _gpu_checks._op("sin 0", "cuda-sim")
    assert "cupy" not in sys.modules

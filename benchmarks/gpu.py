"""Programs on an NVIDIA GPU: are they right, and how fast, against CuPy, PyTorch and JAX.

    python -m benchmarks gpu OUT [--only NAME ...] [--quick] [--device cuda-sim]

First the tests' own cases on the device (`ops`, `programs`, `control`, `gradients`), then each case
of `speed`; every one of these names is one for `--only`, and so is each case. Written to
OUT/gpu.json: the machine, failures, times; the tables also to OUT/gpu.txt.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import _gpu_checks, _gpu_child, _gpu_speed, machine
from ._gpu_cases import without_scipy
from ._gpu_workers import run_all
from .harness import Table

#: Seconds for each part, in which each task may take some.
BUDGETS = {"ops": 110.0, "programs": 50.0, "control": 45.0, "gradients": 35.0, "speed": 280.0}
LIMITS = {"speed": 90.0}
LIMIT = 60.0
#: Failures that are printed; all are in the file.
SHOWN = 40


def main(argv: list[str] | None = None) -> int:
    """Returns 0 where everything is right, else 1."""
    parser = argparse.ArgumentParser("python -m benchmarks gpu", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("out", type=Path, help="the folder for gpu.json")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="parts and cases")
    parser.add_argument("--quick", action="store_true", help="a trial: a third of the time")
    parser.add_argument("--device", choices=("cuda", "cuda-sim"), default="cuda")
    parser.add_argument("--jobs", type=int, default=max(1, min(8, (os.cpu_count() or 2) // 2)),
                        help="processes that check")  # fmt: skip
    options = parser.parse_args(argv)
    known = {*_gpu_checks.PARTS, "speed", *_gpu_speed.names()}
    if unknown := set(options.only) - known:
        parser.error(f"no part or case named {', '.join(sorted(unknown))}: {sorted(known)}")
    if options.device == "cuda" and (reason := no_device()):
        print(f"no GPU to measure: {reason}", file=sys.stderr)
        return 1

    started = time.perf_counter()
    state = facts(options.device)
    print(json.dumps(state), flush=True)
    report: dict[str, Any] = {"benchmark": "gpu", "quick": options.quick, "machine": state}
    report |= {"device": options.device, "parts": {}, "left out": []}
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "gpu.json"
    for part in (*_gpu_checks.PARTS, "speed"):
        if isinstance(tasks := tasks_of(part, options), str):
            report["left out"].append(f"{part}: left out: {tasks}")
            continue
        if not tasks:
            continue
        found: list[dict[str, Any]] = []
        report["parts"][part] = {"tasks": len(tasks), "answers": found}
        for one in said(part, answers(part, tasks, options), len(tasks)):
            found.append(one)
            if part == "speed":
                write(report, path, started)
        write(report, path, started)
    tables = [checks_table(report), *speed_tables(report)]
    text = "\n\n".join(map(str, tables))
    (options.out / "gpu.txt").write_text(text + "\n", encoding="utf-8")
    print(f"\n{text}\n\n{report.get('seconds', 0)} s, {path}", flush=True)
    return 1 if failed(report) else 0


def write(report: dict[str, Any], path: Path, started: float) -> None:
    """What is known now, as JSON: a run that is stopped leaves what it had."""
    report["seconds"] = round(time.perf_counter() - started, 1)
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def no_device() -> str:
    """Why there is no GPU to run on; "" where there is one."""
    # In a process of its own: the tasks' processes are to have the GPU's memory.
    code = "from tracejit.codegen.device.cuda import cuda_device as f; f()"
    code = f"from tracejit.errors import DeviceError as E\ntry: {code}\nexcept E as e: print(e)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return run.stdout.strip() or (run.stderr.strip().splitlines() or [""])[-1] * bool(
        run.returncode
    )


def facts(device: str) -> dict[str, Any]:
    """The machine: the host as in all benchmarks, the GPU as its driver's tool states it."""
    state = machine.describe(
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    )
    fields = "name,driver_version,memory.total,compute_cap,clocks.max.sm,clocks.max.mem,power.limit"
    if device == "cuda":
        command = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=30)
            values = run.stdout.splitlines()[0].split(", ")
            state["gpu"] = dict(zip(fields.split(","), values, strict=True))
        except (OSError, IndexError, ValueError, subprocess.TimeoutExpired) as error:
            state["gpu"] = f"unknown: {type(error).__name__}"
    return state


def tasks_of(part: str, options: argparse.Namespace) -> list[dict[str, Any]] | str:
    """What is to be run of a part, in order, or why its samples cannot be imported."""
    only = set(options.only)
    try:
        names = _gpu_speed.names() if part == "speed" else _gpu_checks.names(part)
    except ImportError as error:
        return str(error) if not only or part in only else []
    if only and part not in only:
        names = [name for name in names if part == "speed" and name in only | {_gpu_speed.COPY}]
        names = names if set(names) & only else []
    if options.device == "cuda-sim" and options.quick and part != "speed":
        # A trial of this script.
        names = names[:: max(1, len(names) // 8)]
    about = {"part": part, "device": options.device, "quick": options.quick}
    return [{**about, "name": name} for name in names]


def answers(
    part: str, tasks: list[dict[str, Any]], options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """What became of each task."""
    budget = BUDGETS[part] / (3 if options.quick else 1)
    if options.device == "cuda-sim":
        end = time.perf_counter() + budget
        for task in tasks:
            if time.perf_counter() < end:
                yield _gpu_child.answer(task)
        return
    jobs = 1 if part == "speed" else options.jobs
    yield from run_all(tasks, jobs, LIMITS.get(part, LIMIT), budget)


def said(part: str, found: Iterator[dict[str, Any]], tasks: int) -> Iterator[dict[str, Any]]:
    """The same answers; failures are printed as they come."""
    count = 0
    for one in found:
        count += 1
        if one["outcome"] == "failed":
            print(f"{part}: {one['name']}: {one['error'][0]}", flush=True)
        elif part == "speed":
            print(f"{part}: {one['name']}: {one['seconds']} s", flush=True)
        yield one
    print(f"{part}: {count} of {tasks} done", flush=True)


def failed(report: dict[str, Any]) -> list[str]:
    """What is wrong, with the first lines of each error."""
    return [
        f"{part}: {one['name']}: " + " | ".join(one["error"])
        for part, of in report["parts"].items()
        for one in of["answers"]
        if one["outcome"] == "failed"
    ]


def checks_table(report: dict[str, Any]) -> Table:
    """How many checks of each part are right, and what is not."""
    table = Table(f"checks on {report['device']}, against NumPy", [])
    for part, of in report["parts"].items():
        outcomes = [one["outcome"] for one in of["answers"]]
        if part == "ops":
            # There are fewer groups of most ops than there could be.
            of = {**of, "tasks": of["tasks"] - outcomes.count("none")}
        table.rows.append({
            "": part, "right": outcomes.count("ok"), "by rounding": outcomes.count("rounding"),
            "failed": outcomes.count("failed"),
            "no time": of["tasks"] - len(outcomes) + outcomes.count("none") * (part == "ops"),
        })  # fmt: skip
    wrong = failed(report)
    table.notes += report["left out"]
    table.notes += [f"FAILED {line}" for line in wrong[:SHOWN]]
    if len(wrong) > SHOWN:
        table.notes.append(f"and {len(wrong) - SHOWN} failures more, in gpu.json")
    table.notes += [
        f"farther off than the tests' bound: {part}: {one['name']}: " + " | ".join(one["error"][:2])
        for part, of in report["parts"].items()
        for one in of["answers"]
        if one["outcome"] == "rounding"
    ]
    return table


def speed_tables(report: dict[str, Any]) -> list[Table]:
    """One row for each contender of each case."""
    found = report["parts"].get("speed")
    if found is None:
        return []
    table = Table("speed: medians of turns", [])
    bandwidth = next(
        (row["GB/s"] for one in found["answers"] if one["name"] == _gpu_speed.COPY
         for row in one.get("rows", ())), None,
    )  # fmt: skip
    for one in found["answers"]:
        for row in one.get("rows", ()):
            if one["name"] == _gpu_speed.COPY:
                table.rows.append({"case": "copy, 1 GiB", "": row["contender"],
                                   "GB/s": row["GB/s"], "of copy": 1.0})  # fmt: skip
                continue
            table.rows.append(_cells(one, row, bandwidth))
        notes = [one["size"]] if one.get("size") else []
        table.notes += [f"{one['name']}: {note}" for note in (*notes, *one.get("notes", ()))]
    table.notes += without_scipy()
    table.notes.append(
        "wall: a loop of calls between two waits, divided; event: the same by events of the "
        "library's stream; times tracejit: its wall time over ours, above 1 where we are faster"
    )
    return [table]


def _cells(one: dict[str, Any], row: dict[str, Any], bandwidth: float | None) -> dict[str, Any]:
    cells: dict[str, Any] = {
        "case": one["name"], "": row["contender"], "wall us": row["seconds"] * 1e6
    }  # fmt: skip
    if row["event seconds"] is not None:
        cells["event us"] = row["event seconds"] * 1e6
    cells["times tracejit"] = row["times tracejit"]
    if "GB/s" in row:
        cells["GB/s"] = row["GB/s"]
        if bandwidth is not None:
            cells["of copy"] = row["GB/s"] / bandwidth
    for unit in ("Gpairs/s", "Gpixels/s", "GFLOP/s"):
        if unit in row:
            cells["work"] = f"{row[unit]:.3g} {unit}"
    return cells


if __name__ == "__main__":
    sys.exit(main())

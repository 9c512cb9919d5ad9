"""Random programs of plain Python, compiled and not: how many differ, and small ones that do.

python -m tests.random.plain 1000 --seed 0 --jobs 2
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import os
import resource
import tempfile
import time
from pathlib import Path

from tests.random.plain.check import Verdict
from tests.random.plain.script import script
from tests.random.plain.session import Settings, Task, run


def main() -> int:
    """Check the programs of so many seeds; returns 1 if one differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.random.plain", description=__doc__)
    parser.add_argument("count", type=int, help="how many seeds")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes")
    parser.add_argument("--cache", type=Path, help="keep programs and compiled code in this folder")
    parser.add_argument("--no-cache", action="store_true", help="compile without a disk cache")
    parser.add_argument("--twice", action="store_true", help="again in processes with a warm cache")
    parser.add_argument("--worth", action="store_true", help="leave short functions to Python")
    parser.add_argument("--reduce", type=int, default=2, help="programs of each kind to reduce")
    parser.add_argument("--seconds", type=float, default=60.0, help="for reducing one program")
    parser.add_argument("--without", default="", help="a pattern of productions to leave out")
    parser.add_argument("--out", type=Path, help="write scripts of reduced programs there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.cache or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        settings = Settings(
            folder,
            not arguments.no_cache,
            not arguments.worth,
            arguments.seconds,
            arguments.without,
        )
        tasks = [Task(seed) for seed in range(arguments.seed, arguments.seed + arguments.count)]
        failed: dict[str, dict[int, Verdict]] = collections.defaultdict(dict)
        for title in ("cold", "warm") if arguments.twice else ("",):
            found = _search(tasks, arguments.jobs, settings, title)
            if title == "warm":
                known = {seed for verdicts in failed.values() for seed in verdicts}
                print("only with a warm cache: seeds", *sorted(found.keys() - known))
            for seed, verdict in found.items():
                failed[verdict.differs].setdefault(seed, verdict)
        _reduce(failed, arguments, dataclasses.replace(settings, cache=False))
    return 1 if failed else 0


def _search(tasks: list[Task], jobs: int, settings: Settings, title: str) -> dict[int, Verdict]:
    """Run and count; the verdicts of the programs that differ, by seed."""
    start, used = time.monotonic(), _processor()
    verdicts = {task.seed: verdict for task, verdict in run(tasks, jobs, settings)}
    seconds, used = time.monotonic() - start, _processor() - used
    programs = [v for v in verdicts.values() if not v.rejected]
    different = {seed: v for seed, v in sorted(verdicts.items()) if v.differs}
    whole = sum(not v.codes for v in programs)
    print(
        f"{title} {len(programs)} programs ({len(tasks) - len(programs)} seeds give none), "
        f"{len(different)} differ, {whole} compiled whole, {seconds:.1f} s, "
        f"{len(programs) / used:.1f} a second of the processor".strip()
    )
    kinds: dict[str, list[int]] = collections.defaultdict(list)
    for seed, verdict in different.items():
        kinds[verdict.differs].append(seed)
    print("differences:")
    for kind, seeds in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"  {len(seeds):5d}  {kind}: seeds {' '.join(map(str, seeds[:8]))}")
    codes = collections.Counter(code for v in programs for code in v.codes)
    print("eager:", ", ".join(f"{code} {count}" for code, count in codes.most_common()), flush=True)
    return different


def _processor() -> float:
    """Seconds of the processor that ended workers have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _reduce(
    failed: dict[str, dict[int, Verdict]], arguments: argparse.Namespace, settings: Settings
) -> None:
    """Print the smallest programs found for each kind of difference."""
    tasks = [
        Task(seed, kind)
        for kind, verdicts in failed.items()
        for seed in list(verdicts)[: arguments.reduce]
        if kind and not kind.startswith(("the process died", "no answer"))
    ]
    for task, (text, verdict) in run(tasks, arguments.jobs, settings):
        whole = script(text, f"seed {task.seed}, {task.kind}", verdict)
        print(f"\n{'-' * 80}\n{whole}", flush=True)
        if arguments.out is not None:
            arguments.out.mkdir(parents=True, exist_ok=True)
            name = f"{task.kind.replace(' ', '_').replace(',', '')}_{task.seed}.py"
            (arguments.out / name).write_text(whole, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())

"""``python -m tests.random.fuzz --seconds 60 --seed 0``: look for programs that compile wrongly."""

from __future__ import annotations

import argparse
import collections
import itertools
import time
from pathlib import Path

from tests.random.fuzz.check import Verdict, isolated
from tests.random.fuzz.generate import Case, generate
from tests.random.fuzz.script import script
from tests.random.fuzz.session import Session
from tests.random.fuzz.shrink import shrink
from tracejit.monitor.bars import bar


def main() -> int:
    """Run seeds until the time is up; returns 1 if a program differed."""
    parser = argparse.ArgumentParser(prog="python -m tests.random.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to search")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--stop", type=int, default=5, help="give up after so many failures")
    parser.add_argument("--tries", type=int, default=150, help="checks spent on shrinking each")
    parser.add_argument("--out", type=Path, help="write a script for each failure into this folder")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    failures = 0
    with Session() as session:
        for seed in bar(itertools.count(arguments.seed), name="seed"):
            if time.monotonic() >= end or failures >= arguments.stop:
                break
            verdict = session.check(seed)
            counts[verdict.status] += 1
            counts["compiled whole"] += verdict.status == "agree" and not verdict.fallbacks
            reasons.update(verdict.fallbacks)
            if verdict.status == "differ":
                failures += 1
                report(seed, verdict, arguments.tries, arguments.out)
    print(f"seeds {arguments.seed} to {seed - 1}: {dict(counts)}")
    for reason, count in reasons.most_common(12):
        print(f"  {count:5d}  {reason}")
    return 1 if failures else 0


def report(seed: int, verdict: Verdict, tries: int, out: Path | None) -> None:
    """Print a failure, shrunk, and write its script."""
    print(f"seed {seed}: {verdict.message}", flush=True)

    def fails(case: Case) -> bool:
        return isolated(case).kind == verdict.kind

    small = shrink(generate(seed), fails, tries)
    text = script(small, f"seed {seed}: {isolated(small).message}")
    print(text, flush=True)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"seed_{seed}.py").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())

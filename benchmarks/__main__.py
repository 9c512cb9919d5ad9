"""`python -m benchmarks [name ...]`: run benchmarks, print their tables, write them as JSON.

A benchmark is a module or a package in here that defines `run(quick: bool) -> list[Table]`, with an
option `only: str` where it can be asked for a part; its docstring's first line is its title.
`python -m benchmarks gpu` is apart: see `gpu.py`.
"""

import argparse
import dataclasses
import importlib
import json
import re
import sys
import time
from pathlib import Path

from . import machine


def names() -> list[str]:
    """Every benchmark in this folder."""
    folder = Path(__file__).parent
    modules = {path.stem: path for path in folder.glob("*.py")}
    modules |= {path.parent.name: path for path in folder.glob("*/__init__.py")}
    return [
        name
        for name, path in sorted(modules.items())
        if re.search(r"^def run\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]


def main(argv: list[str] | None = None) -> int:
    """Returns 0 where every benchmark ran, whether or not it met its targets, else 1."""
    given = sys.argv[1:] if argv is None else argv
    if given[:1] == ["gpu"]:
        # It has options of its own, and no limit of threads.
        return int(importlib.import_module(f"{__package__}.gpu").main(given[1:]))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"any of: {', '.join(names())} (default: all)")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: a trial, no figure")
    parser.add_argument("--only", default="", help="functions by comma, where a benchmark asks")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(given)
    unknown = set(options.name) - set(names())
    if unknown:
        parser.error(f"no benchmark named {', '.join(sorted(unknown))}")

    machine.limit_threads(options.threads)
    state = machine.describe(options.threads)
    print(json.dumps(state))
    options.out.mkdir(parents=True, exist_ok=True)
    failed = []
    # It imports NumPy, which the limit of threads comes before.
    bar = importlib.import_module("tracejit.monitor.bars").bar
    for name in bar(options.name or names(), name="benchmarks"):
        module = importlib.import_module(f"{__package__}.{name}")
        print(f"\n== {name}: {(module.__doc__ or name).splitlines()[0]}", flush=True)
        start = time.perf_counter()
        try:
            part = {"only": options.only} if options.only else {}
            tables = module.run(quick=options.quick, **part)
        except Exception as error:  # one broken benchmark must not hide the others
            print(f"FAILED: {type(error).__name__}: {error}", file=sys.stderr)
            failed.append(name)
            continue
        for table in tables:
            print(f"\n{table}", flush=True)
        report = {
            "benchmark": name,
            "quick": options.quick,
            "seconds": round(time.perf_counter() - start, 1),
            "machine": state,
            "tables": [dataclasses.asdict(table) for table in tables],
        }
        path = options.out / f"{name}.json"
        path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

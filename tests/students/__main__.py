"""Runs the programs of students, each in a process of its own, and prints what became of them.

python -m tests.students [--only TEXT] [--json FILE] [--cache FOLDER]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import os
import sys
import tempfile
import time
import warnings
from multiprocessing.connection import Connection
from typing import Any

from tests.students import FAMILIES
from tests.students.program import Program, check

#: Programs that take longer have no end: plain Python takes some ms for all inputs.
_SECONDS_BEFORE_A_HANG = 60.0


@dataclasses.dataclass
class Row:
    """A program's line of the table."""

    family: str
    name: str
    is_right: bool
    how: str
    seconds: float
    difference: str = ""
    reasons: tuple[str, ...] = ()


def examine(family: str, program: Program, sender: Connection) -> None:
    """Checks a program, and sends its row."""
    import tracejit

    warnings.simplefilter("ignore", tracejit.FallbackWarning)
    start = time.process_time()
    verdict = check(program, tracejit.jit)
    seconds = time.process_time() - start
    how = "whole" if verdict.is_whole else " ".join(verdict.codes) or "not compiled"
    sender.send(
        Row(
            family,
            program.name,
            not verdict.difference,
            how,
            seconds,
            verdict.difference,
            verdict.reasons,
        )
    )


def row_of(family: str, program: Program, context: Any) -> Row:
    """The row of a program that runs in another process, whatever becomes of that."""
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=examine, args=(family, program, sender), daemon=True)
    child.start()
    sender.close()
    try:
        if receiver.poll(_SECONDS_BEFORE_A_HANG):
            row: Row = receiver.recv()
            return row
        return Row(family, program.name, False, "hangs", _SECONDS_BEFORE_A_HANG, "no answer")
    except EOFError:
        child.join()
        return Row(family, program.name, False, "died", 0.0, f"exit code {child.exitcode}")
    finally:
        child.kill()
        child.join()
        receiver.close()


def main() -> int:
    """Prints a line for each program and the sums; returns 1 if one of them is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.students", description=__doc__)
    parser.add_argument("--only", default="", help="programs with this text in family.name")
    parser.add_argument("--json", help="write the rows into this file, too")
    parser.add_argument("--cache", help="the cache of compiled code (default: an empty one)")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as empty:
        os.environ["TRACEJIT_CACHE"] = options.cache or empty
        import tracejit

        tracejit.jit(lambda x: x + 1)(1)  # what all compiles need is imported once
        context = multiprocessing.get_context("fork")
        for family, programs in FAMILIES.items():
            for program in programs:
                if options.only not in f"{family}.{program.name}":
                    continue
                row = row_of(family, program, context)
                rows.append(row)
                verdict = "right" if row.is_right else "WRONG"
                print(f"{family + '.' + row.name:48}{verdict:7}{row.how:20}{row.seconds:8.2f} s")
                for text in (row.difference, *row.reasons[:2]):
                    if text:
                        print("    " + " ".join(text.split())[:200])
                sys.stdout.flush()
    right = sum(row.is_right for row in rows)
    whole = sum(row.is_right and row.how == "whole" for row in rows)
    seconds = sum(row.seconds for row in rows)
    print(f"right {right} of {len(rows)}, right and compiled whole {whole}; {seconds:.1f} s of CPU")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump([dataclasses.asdict(row) for row in rows], file, indent=1)
    return 0 if right == len(rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())

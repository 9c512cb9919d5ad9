"""The full product of the tests of native code: `python -m tests.ops.native_ops [--op NAME ...]`.

Every op on every case of tests/ops/native_op_cases.py, and every scalar function of
tests/ops/native_scalars.py. What differs is printed; the exit status is 1 where anything does.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial

import tracejit.ops  # noqa: F401 - fills the registry
from tests.ops.native_op_cases import cases
from tests.ops.native_op_checks import check
from tests.ops.native_scalars import check_scalar, scalar_cases


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.ops.native_ops", description=__doc__)
    parser.add_argument("--op", nargs="*", help="these ops and scalar functions alone")
    parser.add_argument("--group", help="groups whose name contains this")
    parser.add_argument("--part", default="0/1", help="the groups k, k + n, ... for k/n")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    warnings.simplefilter("ignore")
    work: list[tuple[str, Callable[[], int]]] = []
    for group in cases(full=True):
        if not options.op or group.op.name in options.op:
            work.append((group.name, partial(check, group)))
    for case in scalar_cases():
        if not options.op or case.fn in options.op:
            work.append((f"scalar function {case}", partial(check_scalar, case)))
    work = [w for w in work if not options.group or options.group in w[0]][part::parts]
    random.Random(0).shuffle(work)  # What differs shows early.
    start, runs, failed = time.process_time(), 0, 0
    for name, run in work:
        try:
            runs += run()
        except Exception as e:
            failed += 1
            lines = "\n    ".join([*str(e).splitlines()[:4], *getattr(e, "__notes__", ())])
            print(f"{name}: {type(e).__name__}\n    {lines}", flush=True)
            if not isinstance(e, AssertionError):
                traceback.print_exc(limit=-4)
    seconds = time.process_time() - start
    print(f"{len(work)} groups, {runs} runs, {failed} failed, {seconds:.0f} s")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())

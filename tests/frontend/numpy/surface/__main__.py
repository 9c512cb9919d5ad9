"""Compare all of NumPy's public surface, or a part of it.

python -m tests.frontend.numpy.surface --part 0/4 --only cumsum
"""

from __future__ import annotations

import argparse
import collections
import time

from tests.frontend.numpy.surface.cases import Case, cases_of
from tests.frontend.numpy.surface.check import check
from tests.frontend.numpy.surface.recipes import mentioned, recipes


def main() -> int:
    """Run the chosen cases; returns 1 if one differed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.frontend.numpy.surface", description=__doc__
    )
    parser.add_argument("--part", default="0/1", help="k/n: every n-th recipe from number k on")
    parser.add_argument("--only", default="", help="only recipes that mention this name")
    parser.add_argument("--forms", default="", help="only these forms of operands, by comma")
    arguments = parser.parse_args()
    k, n = map(int, arguments.part.split("/"))
    texts = [x for x in recipes() if not arguments.only or arguments.only in names_in(x)][k::n]
    wanted = set(filter(None, arguments.forms.split(",")))
    start = time.monotonic()
    ways: collections.Counter[str] = collections.Counter()
    kinds: collections.Counter[str] = collections.Counter()
    for text in texts:
        for case in cases_of(text):
            if not wanted or case.form in wanted:
                report(case, ways, kinds)
    print(f"{len(texts)} recipes, {ways.total()} calls in {time.monotonic() - start:.0f} s")
    print("  run:", dict(ways.most_common()))
    print("  differences:", dict(kinds.most_common()))
    return 1 if kinds else 0


def names_in(text: str) -> set[str]:
    """The last parts of the names that a recipe mentions."""
    return {name.rpartition(".")[2] for name in mentioned(text)}


def report(case: Case, ways: collections.Counter[str], kinds: collections.Counter[str]) -> None:
    """Check a case, count it, print how it differs."""
    verdict = check(case)
    ways[verdict.how] += 1
    for kind, text in verdict.differences:
        kinds[kind] += 1
        print(f"{kind:<10} {case} ({verdict.how}): {' '.join(text.split())[:200]}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())

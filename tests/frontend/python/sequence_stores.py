"""Lists, tuples and ranges stored into parts of arrays: each form of store, value and dtype.

What NumPy does with a sequence is not what it does with the array that is made of it: an element of
bools takes its truth, a part of an array no deeper nesting than it has axes.

python -m tests.frontend.python.sequence_stores --part 0:1
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterator

import numpy as np

from tests.random.control_search import load
from tests.support.compare import Mismatch, assert_same_outcome, run
from tests.support.compiler_faults import COMPILER_FAILED

_KEYS = (
    "0 k -1,0 (0,) :1 1: : ... 0,... x!=0 [0,1] [[0],[1]] None,0 :,0 [0],0 np.int64(1) z".split()
)
FORMS = (
    *(f"x[{key}] = {{value}}" for key in _KEYS),
    *(f"x{method}" for method in (".fill({value})", ".put(0, {value})", ".flat[0] = {value}")),
    *(f"x{method}" for method in (".flat[:] = {value}", ".flat = {value}", ".itemset(0, {value})")),
    *("np.copyto(x, {value})", "np.place(x, x != 0, {value})", "np.putmask(x, x != 0, {value})"),
    *("np.put(x, [0], {value})", "np.fill_diagonal(x, {value})", "x[k:k + 2] = {value}"),
    *("x.real = {value}", "x.real[0] = {value}", "x.T[0] = {value}", "x += {value}"),
    *("x[0] += {value}", "x[:1] += {value}", "np.add.at(x, 0, {value})", "v = x[0]; v[...] = 1"),
    *("np.add(x, {value}, out=x)", "np.full_like(x, {value}); x[...] = 1"),
)
VALUES = (
    *("[]", "[0]", "[1]", "[0, 2]", "(1, 0)", "range(0)", "range(2)", "range(1)"),
    *("[[0]]", "[[1, 2]]", "[[1], [2]]", "[[[1]]]", "[[1], [2, 3]]", "[f]", "[[f, 1]]", "(f, f)"),
    *(
        "[z]",
        "[w]",
        "[[w]]",
        "np.array([2])",
        "np.array([[2]])",
        "np.array([[2, 0]])",
        "w",
        "w[:1]",
    ),
    *("'a'", "None", "f", "z", "[True]", "[1j]"),
)
ARRAYS = tuple(
    ((dtype, shape)) for dtype in ("?", "i8", "f8", "c16") for shape in ((), (1,), (2,), (2, 2))
)


def check_all(number: int, parts: int) -> Iterator[tuple[str, str]]:
    """Check one of so many parts of all stores; gives each with what is wrong ("" for nothing)."""
    import tracejit

    texts = [form.format(value=value) for form, value in itertools.product(FORMS, VALUES)]
    source = [f"def f{i}(x, w, z, f, k):\n    {t}\n    return x\n" for i, t in enumerate(texts)]
    cases = list(itertools.product(enumerate(texts), ARRAYS))
    with tempfile.TemporaryDirectory() as folder:
        module = load("\n\n".join(["import numpy as np\n", *source]), folder)
        try:
            for (i, text), (dtype, shape) in cases[number::parts]:
                f = getattr(module, f"f{i}")
                jitted = tracejit.jit(f)
                x = np.ones(shape, dtype)
                given = (x, np.array([3.0, 0.0]), np.array(1), 1.5, 0)
                wrong = ""
                try:
                    assert_same_outcome(run(f, given), run(jitted, given), given=given)
                except Mismatch as mismatch:
                    wrong = str(mismatch)
                failed = [e.reason for e in jitted.report().fallbacks if e.code == COMPILER_FAILED]
                yield f"{text} with x of {dtype}{list(shape)}", wrong or "".join(failed)
        finally:
            sys.modules.pop(module.__name__)


def main() -> int:
    """Check a part of the stores; returns 1 if one is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.frontend.python.sequence_stores", description=__doc__
    )
    parser.add_argument("--part", default="0:1", help="number:parts")
    number, parts = map(int, parser.parse_args().part.split(":"))
    count = wrong = 0
    for text, found in check_all(number, parts):
        count += 1
        if found:
            wrong += 1
            print(f"{text}: {found}", flush=True)
    print(f"{count} stores, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Every operator on every pair of kinds of operands, against plain Python and NumPy.

A cell of the table is a function of two lines. `check` runs it plain and compiled: it must give the
same result (an augmented operator: the same object, and the same arguments afterwards) or raise the
same exception, and where it runs eagerly, the report must say for which reason.

python -m tests.frontend.python.operator_table --part 0:1
"""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.frontend.python.augmented_table import BINARY
from tests.random.control_search import load
from tests.support.compare import Mismatch, assert_same_outcome, run
from tests.support.compiler_faults import COMPILER_FAILED

#: What is traced, by kind: expressions over the arguments.
TRACED = {
    "float": "x",
    "int": "int(x)",
    "bool": "(x > 1.0)",
    "complex": "complex(x, 1.0)",
    "size": "len(a)",
    "np.float64": "s",
    "np.float32": "h",
    "np.int64": "i",
    "np.uint8": "u",
    "np.complex128": "c",
    "np.bool": "b",
    "0-d float": "z",
    "0-d int": "j",
    "array": "a",
    "array of ints": "m",
    "matrix": "q",
    "stack": "q[None]",
    "empty array": "a[:0]",
}
#: What is known while tracing, by kind.
KNOWN = {
    "list": "[1, 2]",
    "list of floats": "[1.5, 2.0]",
    "empty list": "[]",
    "nested list": "[[1, 2], [3, 4]]",
    "ragged list": "[[1], [2, 3]]",
    "list of numbers": "[x, 2]",
    "list of arrays": "[a, a]",
    "list of lists": "[[x], [i]]",
    "tuple": "(1, 2)",
    "tuple of numbers": "(s, 1.5)",
    "range": "range(2)",
    "empty range": "range(0)",
    "str": "'ab'",
    "bytes": "b'ab'",
    "dict": "{1: 2}",
    "set": "{1}",
    "frozenset": "frozenset((1,))",
    "None": "None",
    "known int": "2",
    "known float": "1.5",
    "known complex": "1j",
    "known bool": "True",
    "known np.float64": "np.float64(1.5)",
    "known np.int64": "np.int64(2)",
    "known np.uint8": "np.uint8(3)",
    "known np.bool": "np.bool_(True)",
}
COMPARISONS = "== != < <= > >= in".split()
CALLS = ("divmod", "pow")
FORMS = {
    **{op: f"return {{left}} {op} {{right}}" for op in (*BINARY, *COMPARISONS)},
    **{f: f"return {f}({{left}}, {{right}})" for f in CALLS},
    **{
        # What the other name holds tells whether the object has changed.
        f"{op}=": f"v = w = {{left}}; v {op}= {{right}}; return v, w{{copied}}"
        for op in BINARY
    },
}


class Cell(NamedTuple):
    """Kinds of the operands, and the operator between them."""

    left: str
    right: str
    form: str

    @property
    def source(self) -> str:
        """The body of the function."""
        operands = TRACED | KNOWN
        copied = "[:]" if "list" in self.left else ""
        left, right = operands[self.left], operands[self.right]
        return FORMS[self.form].format(left=left, right=right, copied=copied)


def cells() -> list[Cell]:
    """All cells where one operand, at least, is traced."""
    kinds = [*TRACED, *KNOWN]
    pairs = [(a, b) for a in kinds for b in kinds if a in TRACED or b in TRACED]
    return [Cell(a, b, form) for a, b in pairs for form in FORMS]


def part(number: int, parts: int) -> list[Cell]:
    """The cells of one of so many parts, each of which holds all kinds and operators."""
    return [c for c in cells() if zlib.crc32(repr(c).encode()) % parts == number]


def arguments() -> tuple[Any, ...]:
    """New arguments for x, s, h, i, u, c, b, z, j, a, m, q."""
    scalars = np.float64(2.5), np.float32(1.5), np.int64(3), np.uint8(2), np.complex128(1 + 2j)
    zero_d = np.array(2.5), np.array(3)
    arrays = np.array([1.5, -2.0]), np.array([3, 1]), np.array([[1.0, 2.0], [3.0, 4.0]])
    return (3.0, *scalars, np.bool_(True), *zero_d, *arrays)


class Found(NamedTuple):
    """What is wrong with a cell ("" for nothing), and why it runs eagerly."""

    wrong: str
    fallbacks: tuple[str, ...]


def check_all(chosen: Sequence[Cell]) -> Iterator[tuple[Cell, Found]]:
    """Check cells, all of them functions of one module."""
    import tracejit

    parameters = "x, s, h, i, u, c, b, z, j, a, m, q"
    parts = [f"def f{k}({parameters}):\n    {c.source}\n" for k, c in enumerate(chosen)]
    with tempfile.TemporaryDirectory() as folder:
        module = load("\n\n".join(["import numpy as np\n", *parts]), folder)
        try:
            for k, cell in enumerate(chosen):
                f = getattr(module, f"f{k}")
                yield cell, _check(f, tracejit.jit(f), 8 if _is_complex_power(cell) else 1)
        finally:
            sys.modules.pop(module.__name__)


def _is_complex_power(cell: Cell) -> bool:
    """Which NumPy has within 4 + |b log(a)| units in the last place of each part."""
    return ("**" in cell.form or cell.form == "pow") and "complex" in f"{cell.left} {cell.right}"


def _check(f: Any, jitted: Any, ulp: float) -> Found:
    given = arguments()
    wrong = ""
    try:
        assert_same_outcome(run(f, given), run(jitted, given), given=given, parity="ulp", ulp=ulp)
    except Mismatch as mismatch:
        wrong = str(mismatch)
    fallbacks = tuple(f"{x.code} {x.reason}" for x in jitted.report().fallbacks)
    failed = [text for text in fallbacks if text.startswith(COMPILER_FAILED)]
    return Found(wrong or "".join(failed), fallbacks)


def main() -> int:
    """Check a part of the table; returns 1 if a cell is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.frontend.python.operator_table", description=__doc__
    )
    parser.add_argument("--part", default="0:1", help="number:parts")
    given = parser.parse_args()
    number, parts = map(int, given.part.split(":"))
    start = time.monotonic()
    counts: collections.Counter[str] = collections.Counter()
    for cell, found in check_all(part(number, parts)):
        counts["cells"] += 1
        counts["wrong"] += bool(found.wrong)
        counts.update(set(found.fallbacks))
        if found.wrong:
            print(f"{cell.left} {cell.form} {cell.right}: {cell.source}\n    {found.wrong}")
    print(f"{time.monotonic() - start:.0f} s")
    for reason, count in counts.most_common(30):
        print(f"{count:6d}  {reason}")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    raise SystemExit(main())

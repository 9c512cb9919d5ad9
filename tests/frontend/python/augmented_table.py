"""Every augmented operator on operands of every two shapes and dtypes, against plain NumPy.

`x op= y` stores into x where x lies, and raises where the result has another shape or a dtype that
x cannot hold: x is then as it was. A case is a form of the statement (a name, a subscript, an
attribute, `operator.iadd`, ...), the operator, x and y.

python -m tests.frontend.python.augmented_table --part 0:1
"""

from __future__ import annotations

import argparse
import collections
import itertools
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.random.control_search import load
from tests.support.compare import Mismatch, assert_same_outcome, run
from tests.support.compiler_faults import COMPILER_FAILED

BINARY = "+ - * / // % ** @ & | ^ << >>".split()
_FUNCTIONS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
#: Operator -> the name of its function in the module operator.
NAMES = {op: f"i{name}" for op, name in zip(BINARY, _FUNCTIONS, strict=True)}
#: The statement; what is returned is what else could have changed.
FORMS = {
    "name": "    z = x\n    x {op}= y\n    return x, z",
    "function": "    return operator.{name}(x, y)",
    "all": "    x[...] {op}= y\n    return x",
    "slice": "    x[1:] {op}= y\n    return x",
    "element": "    x[-1] {op}= y\n    return x",
    "column": "    x[..., 0] {op}= y\n    return x",
    "mask": "    x[x != 2] {op}= y\n    return x",
    "places": "    x[[0, -1]] {op}= y\n    return x",
    "late": "    n = len(y) if np.ndim(y) else 1\n    x[:n] {op}= y\n    return x",
    "view": "    v = x[::-1]\n    v {op}= y\n    return x",
    "transposed": "    v = x.T\n    v {op}= y\n    return x",
    "itself": "    x {op}= x\n    return x",
    "made": "    v = x + 0\n    v {op}= y\n    return v",
    "selected": "    v = x[x != 2]\n    v {op}= y\n    return v",
    "element of a list": "    held = [x, 0]\n    held[0] {op}= y\n    return held[0]",
    "item of a dict": "    held = {{'a': x}}\n    held['a'] {op}= y\n    return held['a']",
    "attribute": "    held = Held()\n    held.a = x\n    held.a {op}= y\n    return held.a",
    "branch": "    if x.size > 0 and x.ravel()[0] == 1:\n        x {op}= y\n    return x",
    "loop": "    for k in range(2):\n        x {op}= y\n    return x",
}
SHAPES = ((), (0,), (1,), (3,), (1, 3), (3, 1), (3, 3), (2, 3), (1, 3, 3), (2, 3, 3), (2, 1, 3))
DTYPES = ("?", "i1", "u1", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
NUMBERS = (True, 2, -1, 300, 1.5, 2.0, 1j)


class Case(NamedTuple):
    """A form, an operator, and operands: (shape, dtype) or a number."""

    form: str
    op: str
    x: Any
    y: Any

    @property
    def source(self) -> str:
        """The body of the function."""
        return FORMS[self.form].format(op=self.op, name=NAMES[self.op])

    def arguments(self) -> tuple[Any, ...]:
        """New operands of small whole numbers."""
        return _operand(self.x, 1), _operand(self.y, 2)


def _operand(spec: Any, first: int) -> Any:
    if not isinstance(spec, tuple):
        return spec
    shape, dtype = spec
    if shape is None:
        return np.dtype(dtype).type(first)
    return ((np.arange(np.prod(shape)) + first) % 3 + (first > 1)).astype(dtype).reshape(shape)


def cases() -> Iterator[Case]:
    """All cases."""
    for op, x, y in itertools.product(NAMES, SHAPES, SHAPES):
        dtype = "i8" if op in ("&", "|", "^", "<<", ">>") else "f8"
        for form in FORMS:
            yield Case(form, op, (x, dtype), (y, dtype))
    for op, x in itertools.product(NAMES, DTYPES):
        square = (3, 3)
        for form in ("name", "element", "mask"):
            for shape in ((3,), ()) if form == "name" else ((3,),):
                yield from (Case(form, op, (shape, x), y) for y in NUMBERS)
                yield from (Case(form, op, (shape, x), (None, y)) for y in DTYPES)
                yield from (Case(form, op, (shape, x), ((), y)) for y in DTYPES)
                other = square if op == "@" else shape
                yield from (Case(form, op, (shape, x), (other, y)) for y in DTYPES)
        yield from (Case("name", op, (None, x), y) for y in NUMBERS)
        yield from (Case("name", op, (None, x), (None, y)) for y in DTYPES)
        yield from (Case("name", op, (None, x), ((3,), y)) for y in DTYPES)
    for op, x, y in itertools.product(NAMES, NUMBERS, NUMBERS):
        yield Case("name", op, x, y)


def part(number: int, parts: int) -> list[Case]:
    """The cases of one of so many parts."""
    return [c for c in cases() if zlib.crc32(repr(c).encode()) % parts == number]


def check_all(chosen: Sequence[Case]) -> Iterator[tuple[Case, str, tuple[str, ...]]]:
    """Check cases: each with what is wrong ("" for nothing), and why it runs eagerly."""
    import tracejit

    sources = sorted({c.source for c in chosen})
    head = "import operator\n\nimport numpy as np\n\n\nclass Held:\n    pass\n"
    parts = [f"def f{k}(x, y):\n{text}\n" for k, text in enumerate(sources)]
    with tempfile.TemporaryDirectory() as folder:
        module = load("\n\n".join([head, *parts]), folder)
        functions = {text: getattr(module, f"f{k}") for k, text in enumerate(sources)}
        try:
            for case in chosen:
                f = functions[case.source]
                jitted = tracejit.jit(f)
                given = case.arguments()
                wrong = ""
                try:
                    expected, actual = run(f, given), run(jitted, given)
                    assert_same_outcome(expected, actual, given=given, parity="ulp", ulp=4)
                except Mismatch as mismatch:
                    wrong = str(mismatch)
                fallbacks = tuple(f"{x.code} {x.reason}" for x in jitted.report().fallbacks)
                failed = [text for text in fallbacks if text.startswith(COMPILER_FAILED)]
                yield case, wrong or "".join(failed), fallbacks
        finally:
            sys.modules.pop(module.__name__)


def main() -> int:
    """Check a part of the cases; returns 1 if one is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.frontend.python.augmented_table", description=__doc__
    )
    parser.add_argument("--part", default="0:1", help="number:parts")
    given = parser.parse_args()
    number, parts = map(int, given.part.split(":"))
    start = time.monotonic()
    counts: collections.Counter[str] = collections.Counter()
    for case, wrong, fallbacks in check_all(part(number, parts)):
        counts["cases"] += 1
        counts["wrong"] += bool(wrong)
        counts.update(set(fallbacks))
        if wrong:
            print(f"{case}\n    {wrong}", flush=True)
    print(f"{time.monotonic() - start:.0f} s")
    for reason, count in counts.most_common(30):
        print(f"{count:6d}  {reason}")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    raise SystemExit(main())

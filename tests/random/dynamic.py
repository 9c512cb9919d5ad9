"""Random whole NumPy programs whose arrays change size and share memory, each a text in a file.

`generate(seed)` gives a `Case`: statements over one to three arrays (any dtype, rank and layout;
sometimes two of them share memory) and two ints: slices with bounds that are known late, masks,
index arrays, views of views, stores in place, results of run-time size, loops that carry them.
`check` runs it plain, natively and, where that is cheap, by the other readers of its graph.

Numbers are small multiples of 1/4, so that sums and products are exact in every order.

python -m tests.random.dynamic --seeds 0:1000
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.control_programs.readers import NotForReadersError, NotTracedError, Readers
from tests.random.control import Block, Body, Case, Line, Statement, _lines
from tests.random.control_search import Verdict, isolated, load, shrink
from tests.support.compare import Mismatch, assert_same, assert_same_outcome, clone, run
from tests.support.compiler_faults import compiler_failure
from tracejit.errors import Bailout

DTYPES = ("f8", "f8", "f8", "f4", "i8", "c16", "?")
SIZES = (5, 5, 3, 0, 1, 2, 6)


@dataclasses.dataclass(frozen=True)
class DynamicCase(Case):
    """A function of arrays `a`, `b`, ... (dtype and rank each) and the ints `p` and `q`."""

    arguments: tuple[tuple[str, int], ...] = ()

    def source(self) -> str:
        """The module's text."""
        names = [*"abc"[: len(self.arguments)], "p", "q"]
        parts = ["import numpy as np\n"]
        for head, body in (*self.helpers, (f"def f({', '.join(names)}):", self.body)):
            parts.append("\n".join([head, *_lines(body, 1)]) + "\n")
        return "\n\n".join(parts)

    def calls(self) -> list[tuple[Any, ...]]:
        """Arguments of all sizes, layouts and ways to share memory."""
        rng = np.random.default_rng(self.seed)
        calls = []
        for number, n in enumerate(SIZES):
            arrays = [_argument(rng, dtype, rank, n) for dtype, rank in self.arguments]
            if number in (2, 6) and len(arrays) > 1 and rng.integers(2):
                arrays[1] = _sharing(rng, arrays[0], *self.arguments[1])
            calls.append((*arrays, *(int(k) for k in rng.integers(-3, 7, 2))))
        return calls


def _argument(rng: np.random.Generator, dtype: str, rank: int, n: int) -> Any:
    shape = tuple(n if k == 0 else int(rng.choice([n, n, 4])) for k in range(rank))
    wide = tuple(2 * m + 1 for m in shape)
    values = rng.integers(-9, 10, wide)
    if dtype == "?":
        memory = values > 0
    elif dtype == "c16":
        memory = values / 4 + 1j * rng.integers(-3, 4, wide)
    else:
        memory = (values / (1 if dtype == "i8" else 4)).astype(dtype)
    match rng.integers(6):
        case 0:
            return np.asfortranarray(memory[tuple(slice(m) for m in shape)])
        case 1:
            return memory[tuple(slice(1, 2 * m + 1, 2) for m in shape)]
        case 2:
            return memory[tuple(slice(m, None, -1) for m in shape)][tuple(slice(m) for m in shape)]
        case _:
            return np.ascontiguousarray(memory[tuple(slice(m) for m in shape)])


def _sharing(rng: np.random.Generator, a: Any, dtype: str, rank: int) -> Any:
    """An array that shares memory with `a`, where one of that dtype and rank can."""
    if a.dtype == np.dtype(dtype) and a.ndim == rank:
        return (a, a[::-1], a[1:], a.T)[rng.integers(4)]
    return _argument(rng, dtype, rank, len(a))


def generate(seed: int) -> DynamicCase:
    """The same case for the same seed."""
    return _Generator(seed).case()


class _Generator:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.count = 0
        self.loops = 0
        self.ints = ["p", "q"]
        self.floats: list[str] = []
        #: name -> (dtype, rank)
        self.arrays: dict[str, tuple[str, int]] = {}

    def case(self) -> DynamicCase:
        arguments = []
        for name in "abc"[: self.random.choice((1, 2, 2, 3))]:
            kind = self.random.choice(DTYPES), self.random.choice((1, 1, 1, 2, 2, 3))
            arguments.append(kind)
            self.arrays[name] = kind
        helper = (
            "def h(x, k):",
            (
                Block(((f"if k > {self.random.randrange(3)}:", (Line("return x[k:]"),)),)),
                Line(self.pick("x[:1] = 2", "x = x[x > 0]", "x += 1", "pass")),
                Line(self.pick("return x", "return x[::-1]", "return x[x != 0]")),
            ),
        )
        body = self.body(3, self.random.randint(2, 7))
        return DynamicCase(
            self.seed, (helper,), (*body, Line(self.result())), arguments=tuple(arguments)
        )

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def new(self, letter: str = "v") -> str:
        self.count += 1
        return f"{letter}{self.count}"

    # Expressions --------------------------------------------------------------------------------

    def array(self, *ranks: int, kinds: str = "fic?") -> str | None:
        """The name of an array of one of these ranks and kinds."""
        found = [
            name
            for name, (dtype, rank) in self.arrays.items()
            if (not ranks or rank in ranks) and dtype[0] in kinds
        ]
        return self.random.choice(found) if found else None

    def int_(self) -> str:
        i = self.pick(*self.ints)
        choices = [i, i, str(self.random.randint(-4, 6)), f"{i} - 1", f"{i} // 2", f"{i} + 2"]
        x = self.array()
        if x is not None:
            choices.append(f"len({x})")
        x = self.array(kinds="fi?")
        if x is not None:
            choices += [f"int(np.count_nonzero({x}))", f"int({x}.sum()) % 5"]
        return self.random.choice(choices)

    def slice(self) -> str:
        i, j = self.int_(), self.int_()
        if self.random.random() < 0.3:
            i = f"{i} % 3"
        step = self.pick("", "", "", ":2", ":-1", ":-2")
        forms = [":", f"{i}:", f":{j}", f"{i}:{j}", "1:", ":-1", f"{i}:{i} + 2"]
        text = self.random.choice(forms)
        return text + step

    def index(self, x: str) -> str:
        """An int index that is mostly in bounds."""
        i = self.int_()
        return self.random.choice(["0", "-1", f"({i}) % max(len({x}), 1)", i])

    def mask(self, x: str) -> str:
        """A mask as large as an array."""
        dtype = self.arrays[x][0]
        if dtype == "?":
            return self.pick(x, f"~{x}")
        part = f"{x}.real" if dtype == "c16" else x
        number = self.random.randint(-4, 4) / 2
        return f"{part} {self.pick('>', '<', '<=', '!=', '==')} {number:g}"

    def fancy(self, x: str) -> str:
        """An index array for the first axis."""
        places = [
            f"np.flatnonzero({x}.ravel()) % max(len({x}), 1)",
            f"np.arange(len({x}))[::-1]",
            f"np.arange({self.int_()}) % max(len({x}), 1)",
            f"-1 - np.arange(len({x}))",
            "[0, 0, -1]",
        ]
        index = self.array(1, kinds="i")
        if index is not None:
            places.append(f"{index} % max(len({x}), 1)")
        return self.random.choice(places)

    def key(self, x: str) -> tuple[str, int]:
        """An index and the rank of what it picks."""
        rank = self.arrays[x][1]
        kind = self.random.randrange(10)
        if kind == 0:
            return self.index(x), rank - 1
        if kind == 1 and rank > 1:
            return f":, {self.slice()}", rank
        if kind == 2 and rank > 1:
            return f"{self.slice()}, {self.pick('0', '-1', self.index(x))}", rank - 1
        if kind == 3:
            return self.mask(x), 1
        if kind == 4:
            return self.fancy(x), rank
        if kind == 5 and rank > 1:
            first = f"({x}[(slice(None),) + (0,) * {rank - 1}] != 0)"
            return first, rank
        if kind == 6 and rank > 1:
            return f"{self.fancy(x)}, {self.index(x)}", rank - 1
        return self.slice(), rank

    def number(self) -> str:
        choices = [f"{self.random.randint(-8, 8) / 4:g}", "2", "1", self.pick(*self.ints)]
        if self.floats:
            choices.append(self.pick(*self.floats))
        return self.random.choice(choices)

    # Statements ---------------------------------------------------------------------------------

    def body(self, depth: int, count: int) -> Body:
        saved = dict(self.arrays), list(self.ints), list(self.floats)
        out = tuple(s for _ in range(count) for s in self.statements(depth))
        if depth < 3:
            self.arrays, self.ints, self.floats = saved
        return out

    def statements(self, depth: int) -> list[Statement]:
        simple: list[tuple[int, Callable[[], list[Statement]]]] = [
            (5, self.view),
            (4, self.made),
            (4, self.same_name),
            (8, self.store),
            (3, self.whole),
            (3, self.reduced),
            (1, self.swapped),
            (1, self.called),
        ]
        if depth:
            simple += [(3, lambda: self.branch(depth)), (4, lambda: self.loop(depth))]
        if self.loops:
            simple.append((2, lambda: [self.leave("break", "continue")]))
        if depth < 3:
            simple.append((1, lambda: [self.leave(self.result())]))
        weights = [w for w, _ in simple]
        return self.random.choices(simple, weights)[0][1]()

    def view(self) -> list[Statement]:
        """A name for a part of an array."""
        x = self.pick(*self.arrays)
        dtype, rank = self.arrays[x]
        name = self.new()
        key, out = self.key(x)
        text, kind = f"{x}[{key}]", (dtype, out)
        if self.random.random() < 0.35:
            forms = [(f"{x}.T", kind[0], rank), (f"{x}[...]", dtype, rank)]
            forms += [(f"{x}.reshape(-1)", dtype, 1), (f"{x}[None]", dtype, rank + 1)]
            forms += [(f"{x}.ravel()", dtype, 1)]
            if rank == 2:
                forms += [(f"np.diagonal({x})", dtype, 1), (f"{x}.swapaxes(0, 1)", dtype, 2)]
            if dtype == "c16":
                forms += [(f"{x}.real", "f8", rank), (f"{x}.imag", "f8", rank)] * 2
            text, *rest = self.random.choice(forms)
            kind = (str(rest[0]), int(rest[1]))
        if kind[1] < 1 or kind[1] > 3:
            return self.reduced()
        self.arrays[name] = kind
        return [Line(f"{name} = {text}")]

    def value(self, x: str) -> tuple[str, int, str]:
        """A new array made of an array: its text, its rank, its dtype."""
        dtype, rank = self.arrays[x]
        real = dtype != "c16"
        number = dtype == "?"
        choices: list[tuple[str, int, str]] = [
            (f"{x}.copy()", rank, dtype),
            (f"{x}[{self.mask(x)}]", 1, dtype),
            (f"{x}[{self.fancy(x)}]", rank, dtype),
            (f"np.concatenate([{x}, {x}[{self.slice()}]])", rank, dtype),
        ]
        if rank == 1:
            choices += [
                (f"np.repeat({x}, {self.pick('2', f'abs({self.int_()})')})", 1, dtype),
                (f"np.append({x}, {x}[:1])", 1, dtype),
                (f"np.flatnonzero({x})", 1, "i8"),
                (f"np.nonzero({x})[0]", 1, "i8"),
                (f"np.arange(len({x}))", 1, "i8"),
                (f"np.zeros({self.pick(f'len({x})', f'abs({self.int_()})')})", 1, "f8"),
                (f"{x}[np.argsort({x}, kind='stable')]", 1, dtype),
            ]
            if real:
                choices += [(f"np.unique({x})", 1, dtype), (f"np.sort({x})", 1, dtype)]
            if real and not number:
                choices += [(f"np.cumsum({x})", 1, dtype), (f"np.diff({x})", 1, dtype)]
                choices += [(f"np.where({self.mask(x)}, {x}, {self.number()})", 1, "f8")]
        if rank == 2:
            choices += [
                (f"np.vstack([{x}, {x}[:1]])", 2, dtype),
                (f"np.argwhere({x})", 2, "i8"),
            ]
            if not number:
                choices.append((f"{x}.sum(axis={self.pick('0', '1')})", 1, dtype))
        if not number:
            choices += [(f"{x} + {x}[::-1]", rank, dtype), (f"{x} * 2 - 1", rank, dtype)]
            y = self.array(rank, kinds=dtype[0])
            if y is not None and self.arrays[y][0] == dtype:
                choices.append((f"{x} - {y}", rank, dtype))
                m = f"min(len({x}), len({y}))"
                choices.append((f"{x}[:{m}] + {y}[:{m}]", rank, dtype))
                if real:
                    choices.append((f"({x}[:{m}] * {y}[:{m}]) % 8", rank, dtype))
        return self.random.choice(choices)

    def made(self) -> list[Statement]:
        text, rank, dtype = self.value(self.pick(*self.arrays))
        name = self.new()
        self.arrays[name] = (dtype, rank)
        return [Line(f"{name} = {text}")]

    def same_name(self) -> list[Statement]:
        """A name bound to an array of another size."""
        x = self.pick(*self.arrays)
        dtype, rank = self.arrays[x]
        for _ in range(6):
            if self.random.random() < 0.4:
                key, out = self.key(x)
                text, kind = f"{x}[{key}]", dtype
            else:
                text, out, kind = self.value(x)
            if (kind, out) == (dtype, rank):
                return [Line(f"{x} = {text}")]
        return []

    def store(self) -> list[Statement]:
        x = self.pick(*self.arrays)
        dtype, _ = self.arrays[x]
        key, rank = self.key(x)
        sign = self.pick("=", "=", "=") if dtype == "?" else self.pick("=", "=", "+=", "-=", "*=")
        number = "True" if dtype == "?" else "2" if dtype == "i8" else self.number()
        if dtype == "i8":
            number = self.pick(number, *self.ints, "-1")
        value = number
        if self.random.random() < 0.45 and sign != "*=":
            value = f"{x}[{key}]{self.pick('', '[::-1]', '.copy()') if rank > 0 else ''}"
            y = self.array(max(rank, 1), kinds=dtype[0])
            if y is not None and rank > 0 and self.random.random() < 0.5:
                value = self.pick(f"{y}[:1]", y, f"{y}[{self.slice()}]")
        return [Line(f"{x}[{key}] {sign} {value}")]

    def whole(self) -> list[Statement]:
        x = self.pick(*self.arrays)
        dtype, rank = self.arrays[x]
        if dtype == "?":
            return [
                Line(self.pick(f"{x}[:] = ~{x}", f"np.logical_not({x}, out={x})", f"{x} ^= True"))
            ]
        number = "2" if dtype == "i8" else self.number()
        if number in self.ints and dtype == "f4":
            number = "1"
        y = self.array(rank, kinds=dtype[0])
        forms = [
            f"{x} += {number}",
            f"{x}.fill({number})",
            f"np.copyto({x}, {number}, where={self.mask(x)})",
            f"np.add({x}, {number}, out={x}, casting='unsafe')",
            f"np.negative({x}, out={x}, where={self.mask(x)})",
            f"np.add.at({x}, {self.fancy(x)}, {number})",
            f"np.subtract.at({x}, {self.fancy(x)}, 1)",
            f"{x} -= {x}[::-1]",
            f"{x}[1:] += {x}[:-1]",
            f"{x}[:-1], {x}[1:] = {x}[1:].copy(), {x}[:-1].copy()",
        ]
        if rank == 1 and dtype != "c16":
            forms += [f"{x}.sort()", f"np.cumsum({x}, out={x})", f"{x}[[0, -1]] = {x}[[-1, 0]]"]
        if y is not None:
            forms += [f"np.copyto({x}, {y})", f"np.maximum({x}, {y}, out={x})", f"{x} += {y}"]
        return [Line(self.random.choice(forms))]

    def reduced(self) -> list[Statement]:
        """A number made of an array."""
        x = self.pick(*self.arrays)
        dtype, rank = self.arrays[x]
        if self.random.random() < 0.5:
            name = self.new("n")
            forms = [f"len({x})", f"{x}.size", f"{x}.shape[-1]"]
            if dtype != "c16":
                forms += [f"int(np.argmax({x}))", f"int(np.count_nonzero({x}))"]
                forms += [f"int(np.searchsorted(np.sort({x}.ravel()), 1))"]
            self.ints.append(name)
            return [Line(f"{name} = {self.random.choice(forms)}")]
        if dtype in "c16?":
            return [Line(f"w = {x}.any() or not {x}.all()")]
        name = self.new("w")
        forms = [f"{x}.sum()", f"{x}.max(initial=-9)", f"np.mean({x}) if {x}.size else 0.0"]
        forms += [f"{x}[{self.index(x)}].sum()", f"{x}.min()"]
        self.floats.append(name)
        return [Line(f"{name} = float({self.random.choice(forms)})")]

    def swapped(self) -> list[Statement]:
        x = self.pick(*self.arrays)
        y = self.random.choice([y for y, k in self.arrays.items() if k == self.arrays[x]])
        if self.random.random() < 0.3:
            return [Line(f"{x} = {y}")]
        return [Line(f"{x}, {y} = {y}, {x}")] if x != y else []

    def called(self) -> list[Statement]:
        x = self.array(1, kinds="fi")
        if x is None:
            return []
        name = self.pick(x, self.new())
        self.arrays[name] = self.arrays[x]
        return [Line(f"{name} = h({x}, {self.int_()})")]

    def condition(self) -> str:
        x = self.pick(*self.arrays)
        i = self.int_()
        forms = [f"{i} {self.pick('<', '>', '==')} {self.int_()}", f"len({x}) > {i}"]
        forms += [f"{x}.any()", f"{x}.size", f"({self.mask(x)}).all()"]
        if self.floats:
            forms.append(f"{self.pick(*self.floats)} > {self.random.randint(-2, 4)}")
        return self.random.choice(forms)

    def branch(self, depth: int) -> list[Statement]:
        clauses = [(f"if {self.condition()}:", self.body(depth - 1, self.random.randint(1, 3)))]
        if self.random.random() < 0.2:
            clauses.append((f"elif {self.condition()}:", self.body(depth - 1, 1)))
        if self.random.random() < 0.5:
            clauses.append(("else:", self.body(depth - 1, self.random.randint(1, 2))))
        return [Block(tuple(clauses))]

    def loop(self, depth: int) -> list[Statement]:
        k = self.new("k")
        x = self.pick(*self.arrays)
        before: list[Statement] = []
        inside: list[Statement] = []
        kind = self.random.randrange(7)
        saved = list(self.ints)
        if kind < 4:
            ranges = [f"range(len({x}))", f"range({self.int_()})", "range(3)", "range(4, 0, -1)"]
            head = f"for {k} in {self.random.choice(ranges)}:"
            self.ints.append(k)
        elif kind == 4:
            head = f"for {k} in {x}:" if self.arrays[x][1] == 1 else f"for {k} in range(2):"
        else:
            before = [Line(f"{k} = 0")]
            inside = [Line(f"{k} += 1")]
            head = f"while {k} < {self.random.randint(1, 5)} and {self.condition()}:"
            self.ints.append(k)
        self.loops += 1
        body = self.body(depth - 1, self.random.randint(1, 4))
        self.loops -= 1
        self.ints = saved
        return [*before, Block(((head, (*inside, *body)),))]

    def leave(self, *how: str) -> Statement:
        return Block(((f"if {self.condition()}:", (Line(self.pick(*how)),)),))

    def result(self) -> str:
        names = [*self.arrays, *self.floats, *self.ints]
        chosen = [self.random.choice(names) for _ in range(self.random.randint(1, 4))]
        x = self.pick(*self.arrays)
        extra = [f"{x}[{self.slice()}]", f"{x}.T", f"{x}.sum()", f"({x}, {x})"]
        if self.random.random() < 0.4:
            chosen.append(self.random.choice(extra))
        return f"return {', '.join(chosen)}"


# Checking ---------------------------------------------------------------------------------------


def default_jit(function: Callable[..., Any]) -> Any:
    """The compiler under test."""
    import tracejit

    return tracejit.jit(function)


def check(case: Case, jit: Callable[[Any], Any] = default_jit, readers: bool = False) -> Verdict:
    """Run a case's calls natively and by the other readers; stop at the first difference."""
    with tempfile.TemporaryDirectory() as folder:
        f = load(case.source(), folder).f
        calls = case.calls()
        expected = [run(f, args) for args in calls]
        jitted = jit(f)
        for number in [*range(len(calls)), 0]:
            actual = run(jitted, calls[number])
            try:
                _same(expected[number], actual, calls[number])
            except Mismatch as mismatch:
                if not _amplified(f, calls[number], expected[number], actual):
                    return Verdict("native", number, str(mismatch), _fallbacks(jitted))
        fallbacks = _fallbacks(jitted)
        failure = compiler_failure(fallbacks)
        if failure:
            return Verdict("native", 0, failure, fallbacks)
        if not readers or fallbacks:
            return Verdict(fallbacks=fallbacks)
        return _read(f, calls, expected)


def _read(f: Any, calls: list[tuple[Any, ...]], expected: list[Any]) -> Verdict:
    graphs = Readers(f, calls)
    for reader in ("evaluator", "executor"):
        for number, args in enumerate(calls):
            if expected[number].exception is not None:
                continue
            try:
                actual = graphs.run(reader, args)
                _same(expected[number], actual, args, check_alias=False)
            except (NotForReadersError, NotTracedError, Bailout):
                continue
            except Mismatch as mismatch:
                return Verdict(reader, number, str(mismatch))
            except Exception as e:
                return Verdict(reader, number, f"{type(e).__name__}: {e}")
    return Verdict()


def _same(expected: Any, actual: Any, given: Any, check_alias: bool = True) -> None:
    if isinstance(expected.exception, MemoryError) and isinstance(actual.exception, MemoryError):
        return  # How much there was not depends on what else the run had taken.
    assert_same_outcome(
        expected, actual, given=given, check_alias=check_alias, parity="order", ulp=4
    )


def _amplified(f: Any, args: tuple[Any, ...], expected: Any, actual: Any) -> bool:
    """Whether a difference is at most twice what the last places of the arguments make in `f`.

    A program that squares a mean in each iteration doubles the error of its sum each time.
    """
    for ulp in (4**k for k in range(2, 12)):
        try:
            assert_same_outcome(expected, actual, given=args, parity="order", ulp=ulp)
        except Mismatch:
            continue
        for towards in (-1, 1):
            other = run(f, nudged(args, towards))
            try:
                assert_same(expected.value, other.value, parity="order", ulp=ulp // 2)
                for before, after in zip(expected.args, other.args, strict=True):
                    assert_same(before, after, parity="order", ulp=ulp // 2)
            except Mismatch:
                return other.exception is None
        return False
    return False


def nudged(args: tuple[Any, ...], towards: float) -> tuple[Any, ...]:
    """Copies of the arguments, the floats of their arrays moved by one last place."""
    out: tuple[Any, ...] = clone(args)
    seen: list[Any] = []
    for x in out:
        if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.flags.writeable:
            if not any(np.may_share_memory(x, y) for y in seen):
                np.nextafter(x, x.dtype.type(towards * np.inf), out=x)
            seen.append(x)
    return out


def _fallbacks(jitted: Any) -> tuple[str, ...]:
    report = getattr(jitted, "report", None)
    return tuple(f"{x.code} {x.reason}" for x in report().fallbacks) if report else ()


def script(case: Case, verdict: Verdict, program: str) -> str:
    """A program that shows the difference by itself."""
    return "\n".join(
        [
            f"# seed {case.seed}, {verdict.reader}, call {verdict.call}: "
            + " ".join(verdict.message.split())[:400],
            case.source(),
            'if __name__ == "__main__":',
            "    import sys",
            "",
            "    from tests.support.compare import assert_parity",
            f"    from {program} import generate",
            "",
            f"    first, *more = generate({case.seed}).calls()",
            "    jitted = assert_parity(f, *first, also=more, calls=1, parity='order', ulp=4)",
            "    print(jitted.report())",
        ]
    )


def search(program: str, doc: str | None, generate: Callable[[int], Case]) -> int:
    """Run seeds, each in a process of its own; returns 1 if a program differed."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=doc)
    parser.add_argument("--seeds", default="0:200", help="first:last (without the last)")
    parser.add_argument("--seconds", type=float, default=1e9, help="how long to search at most")
    parser.add_argument("--tries", type=int, default=120, help="checks spent on shrinking each")
    parser.add_argument("--readers", action="store_true", help="the evaluator and executor, too")
    parser.add_argument("--out", type=Path, help="write a script for each failure into this folder")
    arguments = parser.parse_args()
    first, last = (int(k) for k in arguments.seeds.split(":"))
    end = time.monotonic() + arguments.seconds
    counts: collections.Counter[str] = collections.Counter()
    failures = 0

    def examine(case: Case) -> Verdict:
        return isolated(
            case,
            lambda case: check(case, readers=arguments.readers),
            lambda case: check(case, lambda f: f),
        )

    for seed in range(first, last):
        if time.monotonic() > end:
            print(f"stopped in front of seed {seed}")
            break
        case = generate(seed)
        verdict = examine(case)
        counts["programs"] += 1
        counts["compiled whole"] += not verdict.reader and not verdict.fallbacks
        counts.update(set(verdict.fallbacks))
        if not verdict.reader:
            continue
        failures += 1
        print(f"seed {seed}, {verdict.reader}: {verdict.message}", flush=True)
        if arguments.tries:
            kind = verdict.kind
            case = shrink(case, lambda c, kind=kind: examine(c).kind == kind, arguments.tries)
        text = script(case, verdict, program)
        print(text, flush=True)
        if arguments.out is not None:
            arguments.out.mkdir(parents=True, exist_ok=True)
            (arguments.out / f"seed_{seed}.py").write_text(text, encoding="utf-8")
    print(f"{failures} differ")
    for reason, count in counts.most_common(30):
        print(f"  {count:5d}  {reason}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(search("tests.random.dynamic", __doc__, generate))

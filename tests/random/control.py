"""Random Python functions with nested control flow, each a text that is written to a file.

`generate(seed)` gives a `Case`: a tree of statements over ints, floats and small float64 arrays
(arguments and locals, stored into and swapped), helper functions, and calls. `control_search`
runs it plain, natively, by the evaluator and by the executor. Only ops of the parity class `exact`
are used, so that every difference is one.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any

import numpy as np

CALLS = 4


@dataclasses.dataclass(frozen=True)
class Line:
    """A simple statement."""

    text: str


@dataclasses.dataclass(frozen=True)
class Block:
    """A compound statement: each clause is its head and its body."""

    clauses: tuple[tuple[str, Body], ...]


Statement = Line | Block
Body = tuple[Statement, ...]


@dataclasses.dataclass(frozen=True)
class Case:
    """Helpers and the function `f`, the seed of its arguments."""

    seed: int
    helpers: tuple[tuple[str, Body], ...]
    body: Body

    def source(self) -> str:
        """The module's text."""
        parts = ["import numpy as np\n"]
        for head, body in (*self.helpers, ("def f(i0, i1, f0, f1, x, y, m):", self.body)):
            parts.append("\n".join([head, *_lines(body, 1)]) + "\n")
        return "\n\n".join(parts)

    def calls(self) -> list[tuple[Any, ...]]:
        """Arguments of two sizes; every second call has other numbers for the same ones."""
        rng = np.random.default_rng(self.seed)
        calls = []
        for number in range(CALLS):
            n = (3, 5)[number % 4 // 2]
            ints = [int(k) for k in rng.integers(-3, 7, 2)]
            floats = [float(v) for v in rng.integers(-8, 9, 2) / 4]
            arrays = [rng.integers(-8, 9, n) / 4 for _ in range(2)]
            calls.append((*ints, *floats, *arrays, rng.integers(-8, 9, (n, 3)) / 4))
        return calls


def _lines(body: Body, depth: int) -> list[str]:
    indent = "    " * depth
    out = []
    for statement in body:
        if isinstance(statement, Line):
            out.append(indent + statement.text)
        else:
            for head, inner in statement.clauses:
                out += [indent + head, *_lines(inner, depth + 1)]
    return out or [indent + "pass"]


def generate(seed: int) -> Case:
    """The same case for the same seed."""
    return _Generator(seed).case()


class _Generator:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.counter = 0
        self.loops = 0
        self.in_helper = False
        self.ints = ["i0", "i1"]
        self.floats = ["f0", "f1"]
        self.arrays = ["x", "y"]
        self.helpers: list[tuple[str, Body]] = []

    def case(self) -> Case:
        for k in range(self.random.randrange(3)):
            self.helpers.append((f"def h{k}(i0, f0, f1):", self.helper()))
        start: list[Statement] = []
        for name in ("a", "b")[: self.random.randrange(3)]:
            source = self.pick("np.zeros(len(x))", "x.copy()", "x * 0.5 + y", "np.zeros_like(y)")
            start.append(Line(f"{name} = {source}"))
            self.arrays.append(name)
        for name in ("i2", "f2")[: self.random.randrange(3)]:
            kind, names = (self.int_, self.ints) if name[0] == "i" else (self.float_, self.floats)
            start.append(Line(f"{name} = {kind()}"))
            names.append(name)
        body = self.body(3, self.random.randint(3, 6))
        return Case(self.seed, tuple(self.helpers), (*start, *body, self.result()))

    def helper(self) -> Body:
        saved = self.ints, self.floats, self.arrays
        self.ints, self.floats, self.arrays, self.in_helper = ["i0"], ["f0", "f1"], [], True
        body = self.body(2, self.random.randint(1, 3))
        last = Line(f"return {self.float_()}")
        self.ints, self.floats, self.arrays = saved
        self.in_helper = False
        return (*body, last)

    # Expressions --------------------------------------------------------------------------------

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def number(self) -> str:
        return repr(self.random.randint(-12, 12) / 4)

    def index(self, array: str) -> str:
        """An index into the first axis, in bounds but for one in forty."""
        i = self.pick(*self.ints)
        if self.random.random() < 0.025:
            return i
        return self.pick(f"{i} % len({array})", f"{i} % 3", "0", "-1", f"-1 - {i} % 3")

    def int_(self, depth: int = 2) -> str:
        """An int that stays small."""
        i, j = self.pick(*self.ints), self.pick(*self.ints)
        choices = [str(self.random.randint(-5, 9)), i, f"{i} + 1", f"{i} - {j}", f"abs({i})"]
        if depth:
            a, b = self.int_(depth - 1), self.int_(depth - 1)
            choices += [
                f"({a} * {b}) % 11 - 3",
                f"({a}) // {self.pick('2', '3', '-4')}",
                f"({a}) % {self.pick('3', '7', '-5')}",
                f"({a} if {self.condition(depth - 1)} else {b})",
                f"min({a}, {b})",
                f"({a} & 7) ^ ({b} & 3)",
                f"(7 * {a} + {b}) % 13",
            ]
            if self.random.random() < 0.06:
                choices.append(f"20 // {i}")
            if self.arrays:
                choices.append(f"len({self.pick(*self.arrays)})")
                choices.append(f"int(np.argmax({self.pick(*self.arrays)}))")
        return self.random.choice(choices)

    def small(self) -> str:
        """An int that is stored: not far from zero."""
        return f"({self.int_()}) % {self.random.choice((5, 9, 17))}"

    def float_(self, depth: int = 2) -> str:
        """A float or a float64."""
        v, w = self.pick(*self.floats), self.pick(*self.floats)
        choices = [self.number(), v, f"{v} + {self.number()}", f"{v} * 0.5", f"-{v}"]
        if self.arrays:
            array = self.pick(*self.arrays)
            choices += [f"{array}[{self.index(array)}]", f"{array}.max() + 0.0"]
            if not self.in_helper:
                choices.append(f"m[{self.index('m')}, {self.pick('0', '1', '-1')}]")
        if depth:
            a, b = self.float_(depth - 1), self.float_(depth - 1)
            choices += [
                f"({a}) - ({b})",
                f"({a}) * {self.pick('0.25', '-0.5', '1.5')}",
                f"({a} if {self.condition(depth - 1)} else {b})",
                f"min({a}, {b})",
                f"max({v}, {w})",
                f"abs({a})",
                f"({a}) / {self.pick('2.0', '-4.0', '3')}",
                f"float({self.int_(0)})",
                f"{self.int_(0)} * 0.5",
            ]
            if self.helpers and not self.in_helper:
                k = self.random.randrange(len(self.helpers))
                choices += [f"h{k}({self.int_(0)}, {v}, {self.float_(0)})"] * 2
        return self.random.choice(choices)

    def array(self) -> str:
        """An array as long as `x`."""
        a, b = self.pick(*self.arrays), self.pick(*self.arrays)
        return self.random.choice(
            [
                f"{a} + {b}",
                f"{a} * {self.number()}",
                f"{a} - {self.float_(0)}",
                f"{a}.copy()",
                f"{a}[::-1] + {b}",
                f"np.where({a} > {b}, {a}, {self.number()})",
                f"np.minimum({a}, 1.25) * 0.5",
                f"m[:, {self.pick('0', '1', '2')}] - {a}",
                f"({a} if {self.condition(0)} else {b}) * 2.0",
                f"np.full(len({a}), {self.float_(0)})",
            ]
        )

    def condition(self, depth: int = 1) -> str:
        sign = self.pick("<", ">", "<=", ">=", "==", "!=")
        choices = [
            f"{self.int_(0)} {sign} {self.int_(0)}",
            f"{self.float_(0)} {sign} {self.float_(0)}",
            f"{self.pick(*self.ints)} % 2",
            f"{self.number()} < {self.float_(0)} <= {self.number()}",
        ]
        if self.arrays:
            a = self.pick(*self.arrays)
            choices += [f"({a} > {self.number()}).any()", f"({a} < 2).all()"]
        if depth:
            p, q = self.condition(depth - 1), self.condition(depth - 1)
            choices += [f"({p} and {q})", f"({p} or {q})", f"not {p}"]
        return self.random.choice(choices)

    # Statements ---------------------------------------------------------------------------------

    def body(self, depth: int, count: int) -> Body:
        return tuple(s for _ in range(count) for s in self.statements(depth))

    def statements(self, depth: int) -> list[Statement]:
        simple: list[tuple[int, Callable[[], list[Statement]]]] = [
            (6, self.assign_number),
            (1, self.swap_numbers),
            (1, self.rare),
        ]
        if not self.in_helper:
            simple += [(6, self.store), (3, self.assign_array), (2, self.swap_arrays)]
        if depth:
            simple += [
                (6, lambda: self.branch(depth)),
                (5, lambda: self.for_loop(depth)),
                (3, lambda: self.while_loop(depth)),
            ]
        if self.loops:
            simple += [(3, self.leave_loop)]
        if depth < 3:
            simple += [(1, self.leave)]
        weights = [weight for weight, _ in simple]
        return self.random.choices(simple, weights)[0][1]()

    def assign_number(self) -> list[Statement]:
        roll = self.random.random()
        if roll < 0.35:
            return [Line(f"{self.pick(*self.ints)} = {self.small()}")]
        if roll < 0.4:
            return [Line(f"{self.pick(*self.floats)} = {self.int_(1)}")]
        name = self.pick(*self.floats)
        if roll < 0.6:
            return [Line(f"{name} {self.pick('+=', '-=')} {self.float_(1)}")]
        return [Line(f"{name} = {self.float_()}")]

    def swap_numbers(self) -> list[Statement]:
        names = self.floats if self.random.random() < 0.6 else self.ints
        a, b = self.pick(*names), self.pick(*names)
        extra = " + 1" if self.random.random() < 0.3 and names is self.floats else ""
        return [Line(f"{a}, {b} = {b}{extra}, {a}")] if a != b else []

    def store(self) -> list[Statement]:
        a, b = self.pick(*self.arrays), self.pick(*self.arrays)
        i, sign = self.index(a), self.pick("=", "=", "+=", "*=", "-=")
        k = f"{self.pick(*self.ints)} % 4"
        part = self.pick(":", "1:", ":-1", "1:-1", "::2", f"{k}:", f": {k}")
        choices = [
            f"{a}[{i}] {sign} {self.float_(1)}",
            f"{a}[{i}] {sign} {self.float_(1)}",
            f"{a}[{i}] = {b}[{self.index(b)}]",
            f"{a}[{part}] {sign} {self.float_(0)}",
            f"{a}[{part}] {sign} {b}[{part}] * 0.5",
            f"{a}[1:] = {b}[:-1] {self.pick('+', '-', '*')} {self.number()}",
            f"{a}[:-1] += {b}[1:]",
            f"{a} {self.pick('+=', '-=', '*=')} {self.pick(self.number(), b)}",
            f"m[{self.index('m')}, {self.pick('0', '1', '-1')}] {sign} {self.float_(1)}",
            f"m[{self.index('m')}] {sign} {self.float_(0)}",
            f"m[:, {self.pick('0', '2')}] = {self.array()}",
            f"{a}[{i}], {a}[0] = {a}[0], {a}[{i}]",
        ]
        return [Line(self.random.choice(choices))]

    def assign_array(self) -> list[Statement]:
        name = self.pick(*self.arrays)
        if self.random.random() < 0.1:
            return [Line(f"{name} = {self.pick(*self.arrays)}")]
        return [Line(f"{name} = {self.array()}")]

    def swap_arrays(self) -> list[Statement]:
        a, b = self.pick(*self.arrays), self.pick(*self.arrays)
        return [Line(f"{a}, {b} = {b}, {a}")] if a != b else []

    def rare(self) -> list[Statement]:
        v, i = self.pick(*self.floats), self.pick(*self.ints)
        self.counter += 1
        choices: list[Statement] = [
            Line(f'print("at {self.counter}", {i}, {v})'),
            Line(f'print(f"{self.counter}: {{{v}}} {{{i}:>3}}")'),
            Line(f"assert {v} < 40, ({i}, {v})"),
            Block(
                ((f"if {v} > 9:", (Line(f'raise ValueError(f"{self.counter}: {{{v}}}")'),)),),
            ),
        ]
        if self.random.random() < 0.3:
            late = f"u{self.counter}"
            return [
                Block(((f"if {self.condition()}:", (Line(f"{late} = {self.float_(1)}"),)),)),
                Line(f"{v} = {late}"),
            ]
        return [self.random.choice(choices)]

    def branch(self, depth: int) -> list[Statement]:
        clauses = [(f"if {self.condition()}:", self.body(depth - 1, self.random.randint(1, 3)))]
        if self.random.random() < 0.25:
            clauses.append((f"elif {self.condition()}:", self.body(depth - 1, 1)))
        if self.random.random() < 0.5:
            clauses.append(("else:", self.body(depth - 1, self.random.randint(1, 2))))
        return [Block(tuple(clauses))]

    def for_loop(self, depth: int) -> list[Statement]:
        self.counter += 1
        k, v, w = f"k{self.counter}", f"v{self.counter}", f"w{self.counter}"
        i = self.pick(*self.ints)
        heads: list[tuple[str, list[str], list[str]]] = [
            (f"for {k} in range({self.random.randint(0, 4)}):", [k], []),
            (f"for {k} in range({i} % 5):", [k], []),
            (f"for {k} in range({i} % 3, 5, {self.pick('1', '2')}):", [k], []),
            (
                f"for {k} in range(4, {self.pick('-1', f'{i} % 4')}, {self.pick('-1', '-2')}):",
                [k],
                [],
            ),
            (f"for {k} in range({self.random.randint(-2, 1)}, 3):", [k], []),
        ]
        if self.arrays:
            a, b = self.pick(*self.arrays), self.pick(*self.arrays)
            heads += [
                (f"for {k} in range(len({a})):", [k], []),
                (f"for {v} in {a}:", [], [v]),
                (f"for {k}, {v} in enumerate({a}):", [k], [v]),
                (f"for {v}, {w} in zip({a}, {b}):", [], [v, w]),
                (f"for {v} in reversed({a}):", [], [v]),
            ]
        head, ints, floats = self.random.choice(heads)
        return [self.loop(head, ints, floats, depth, ())]

    def while_loop(self, depth: int) -> list[Statement]:
        self.counter += 1
        k = f"t{self.counter}"
        bound = self.random.randint(1, 5)
        step = Line(f"{k} += 1")
        if self.random.random() < 0.3:
            stop = Block(((f"if {k} > {bound}:", (Line("break"),)),))
            return [Line(f"{k} = 0"), self.loop("while True:", [k], [], depth, (step, stop))]
        head = f"while {k} < {bound} and {self.condition()}:"
        return [Line(f"{k} = 0"), self.loop(head, [k], [], depth, (step,))]

    def loop(
        self, head: str, ints: list[str], floats: list[str], depth: int, first: Body
    ) -> Statement:
        """A loop whose names can be read inside; what counts its iterations is not assigned to."""
        saved = self.ints, self.floats
        self.loops += 1
        inner: list[Statement] = list(first)
        for name in (*ints, *floats):
            if self.random.random() < 0.7:
                target = self.pick(*(saved[0] if name in ints else saved[1]))
                value = f"({name} + {target}) % 7" if name in ints else f"{target} * 0.5 + {name}"
                inner.append(Line(f"{target} = {value}"))
        self.readable(ints, floats)
        inner += self.body(depth - 1, self.random.randint(1, 3))
        self.ints, self.floats = saved
        self.loops -= 1
        clauses = [(head, tuple(inner))]
        if self.random.random() < 0.2:
            clauses.append(("else:", self.body(depth - 1, 1)))
        return Block(tuple(clauses))

    def readable(self, ints: list[str], floats: list[str]) -> None:
        """Loop variables take part in expressions by names of their own."""
        self.ints = [*self.ints, *(i for i in ints if i[0] == "k")]
        self.floats = [*self.floats, *floats]

    def leave_loop(self) -> list[Statement]:
        return [Block(((f"if {self.condition()}:", (Line(self.pick("break", "continue")),)),))]

    def leave(self) -> list[Statement]:
        result = Line(f"return {self.float_(1)}") if self.in_helper else self.result()
        if self.random.random() < 0.2 and not self.in_helper:
            result = Line("return None")
        return [Block(((f"if {self.condition()}:", (result,)),))]

    def result(self) -> Line:
        names = [*self.ints[:3], *self.floats[:3], *self.arrays]
        count = self.random.randint(2, 4)
        chosen = self.random.sample(names, min(count, len(names)))
        return Line(f"return {', '.join(chosen)}")


if __name__ == "__main__":
    from tests.random.control_search import main

    raise SystemExit(main())

"""Random Python programs: rewritten, they evaluate the same parts in the same order.

Every program is a function of plain numbers, lists and objects that logs what it evaluates. The
rewritten function must leave the same log and the same result, or raise the same kind of exception.
"""

from __future__ import annotations

import random
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.support.capturing import Compiled
from tests.support.compare import assert_same
from tracejit.errors import TraceError

PRELUDE = """\
class Box:
    def __init__(self, v):
        self.v = v

    def grow(self, by=1, *more, **named):
        self.v = self.v + by
        return self.v


OUTER = 3


def twice(a, b=OUTER, *rest, key=0, **named):
    return [a, b, rest, key, sorted(named)]


"""
BINARY = ("+", "-", "*", "//", "%", "&", "|")
COMPARE = ("<", "<=", "==", "!=", ">", "is not", "in", "not in")


class Writer:
    """Writes one random function; `note(k, v)` logs `k` and gives `v`."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.counter = 0

    def note(self, text: str) -> str:
        self.counter += 1
        return f"note({self.counter}, {text})"

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def number(self, depth: int) -> str:
        if depth <= 0 or self.rng.random() < 0.2:
            return self.pick("a", "b", "OUTER", str(self.rng.randint(-3, 5)), self.note("b"))
        d = depth - 1
        kind = self.rng.randrange(11)
        if kind == 0:
            return f"({self.number(d)} {self.pick(*BINARY)} {self.number(d)})"
        if kind == 1:
            return f"({self.pick('-', '~', '+')}{self.number(d)})"
        if kind == 2:
            return f"({self.number(d)} if {self.test(d)} else {self.number(d)})"
        if kind == 3:
            return f"xs[{self.note(self.pick('0', '1', '-1'))}]"
        if kind == 4:
            return f"box.{self.pick('v', 'grow()', f'grow({self.number(d)})', 'grow(by=2, z=a)')}"
        if kind == 5:
            return f"(lambda p, q={self.number(d)}: p + q + a)({self.number(d)})"
        if kind == 6:
            return f"sum([{self.number(d)} for i in {self.sequence(d)} if {self.test(d)}])"
        if kind == 7:
            return f"table[{self.pick('chr(97)', repr('b'), self.note(repr('a')))}]"
        if kind == 8:
            return f"max({self.number(d)}, *{self.sequence(d)}, 0)"
        if kind == 9:
            return f"len(f'{{{self.note('a')}:>{{abs({self.note('b')}) % 7 + 1}}}} {{xs!r}}')"
        return self.note(self.number(d))

    def test(self, depth: int) -> str:
        d = depth - 1
        kind = self.rng.randrange(5)
        if depth <= 0 or kind == 0:
            return f"({self.number(d)} {self.pick('<', '<=', '==', '!=', '>')} {self.number(d)})"
        if kind == 1:
            return f"({self.test(d)} {self.pick('and', 'or')} {self.test(d)})"
        if kind == 2:
            return f"(not {self.number(d)})"
        if kind == 3:
            ops = [self.pick("<", "<=", "!=", ">=") for _ in range(self.rng.randint(2, 3))]
            return "(" + self.number(d) + "".join(f" {op} {self.number(d)}" for op in ops) + ")"
        return f"({self.number(d)} {self.pick('in', 'not in')} {self.sequence(d)})"

    def sequence(self, depth: int) -> str:
        d = depth - 1
        kind = self.rng.randrange(6) if depth > 0 else 0
        if kind == 1:
            return f"[{self.number(d)}, *xs[:2], {self.number(d)}]"
        if kind == 2:
            return f"range({self.number(0)} % 4)"
        if kind == 3:
            return f"tuple({self.number(d)} for j, k in enumerate(xs) if j < 3)"
        if kind == 4:
            return f"(xs + [{self.number(d)}])[{self.pick('1:', ':2', '::2')}]"
        if kind == 5:
            return f"list(map(lambda v: v + {self.number(0)}, xs[:3]))"
        return self.pick("xs[:3]", "(1, 2)", "[b, a]")

    def target(self) -> str:
        return self.pick(
            "a",
            "b",
            f"xs[{self.note('0')}]",
            "box.v",
            f"table[{self.note(repr('c'))}]",
            "b",
        )

    def statement(self, indent: str, depth: int) -> None:
        def add(line: str) -> None:
            self.lines.append(indent + line)

        kind = self.rng.randrange(13)
        if kind == 0:
            add(f"{self.target()} = {self.target()} = {self.number(2)}")
        elif kind == 1:
            add(f"{self.target()}, {self.target()} = {self.number(2)}, {self.number(2)}")
        elif kind == 2:
            add(f"({self.target()}, [{self.target()}, *rest]) = a, {self.sequence(2)} or [0]")
        elif kind == 3:
            add(f"{self.target()} {self.pick('+', '-', '*', '|')}= {self.number(2)}")
        elif kind == 4 and depth:
            add(f"if {self.test(2)}:")
            self.block(indent, depth)
            add("else:")
            self.block(indent, depth)
        elif kind == 5 and depth:
            loop = self.pick("i", "i, j", "xs[0]", "(i, (j, k))")
            items = {
                "i": self.sequence(2),
                "i, j": "list(table.items())",
                "xs[0]": "(4, 5)",
                "(i, (j, k))": "enumerate(zip(xs[:2], (7, 8)))",
            }
            add(f"for {loop} in {items[loop]}:")
            self.block(indent, depth)
            add(f"    if {self.test(1)}:")
            add(f"        {self.pick('break', 'continue', 'pass')}")
            add("else:")
            self.block(indent, depth)
        elif kind == 6 and depth:
            counter = f"n{self.counter}"
            add(f"{counter} = 0")
            add(f"while {counter} < 3 and {self.test(1)}:")
            add(f"    {counter} += 1")
            self.block(indent, depth)
        elif kind == 7:
            add(f"def inner(p, q={self.number(1)}, *more, **named):")
            add(f"    named[{self.note(repr('k'))}] = p")
            add(f"    return p + q + {self.number(1)} + len(more) + len(named)")
            add(f"b = inner({self.number(1)}, *{self.sequence(1)}, z={self.number(1)})")
        elif kind == 8:
            add(f"xs.{self.pick('append', 'extend')}({self.pick('a', '[a]')})")
        elif kind == 9:
            add(f"a = (c := {self.number(2)}) + c")
        elif kind == 10:
            name, box = self.pick("twice", "box.grow"), f"dict(z={self.number(1)})"
            add(f"log.append({name}({self.number(1)}, *{self.sequence(1)}, **{box}))")
        elif kind == 11:
            add(f"assert {self.test(1)} or True, {self.note('1')}")
        else:
            add(f"del xs[{self.note('-1')}]")

    def block(self, indent: str, depth: int) -> None:
        for _ in range(self.rng.randint(1, 2)):
            self.statement(indent + "    ", depth - 1)

    def program(self) -> str:
        self.lines = [
            "def f(x):",
            "    log = []",
            "",
            "    def note(k, v):",
            "        log.append(k)",
            "        return v",
            "",
            "    a, b, xs, box, table = 2, -1, [3, 1, 2, 5], Box(4), dict(a=1, b=2)",
        ]
        for _ in range(self.rng.randint(3, 7)):
            self.statement("    ", 2)
        self.lines.append("    return repr((log, a, b, xs, box.v, table)), x")
        return PRELUDE + "\n".join(self.lines) + "\n"


def outcome(f: Any) -> tuple[str, Any]:
    """What a call gives, as ("result", value) or the name of the exception's class and None."""
    x = np.array([1.0, 2.0])
    try:
        return "result", f(x)
    except TraceError:
        raise
    except Exception as e:
        return type(e).__name__, None


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(120))
def test_random_program(seed: int, tmp_path: Path) -> None:
    text = Writer(seed).program()
    path = tmp_path / f"program{seed}.py"
    path.write_text(text)
    module = ModuleType(path.stem)
    exec(compile(text, str(path), "exec"), vars(module))
    expected = outcome(module.f)
    try:
        actual = outcome(Compiled(module.f))
    except TraceError:
        assert expected[0] != "result", text  # eager execution raises what Python raises
        return
    assert expected[0] == actual[0], text
    if expected[0] == "result":
        assert_same(expected[1], actual[1])


def test_most_programs_run_to_their_end(tmp_path: Path) -> None:
    """The generator is worth its time: programs that fail early test little."""
    ends = []
    for seed in range(60):
        namespace: dict[str, Any] = {}
        exec(Writer(seed).program(), namespace)
        ends.append(outcome(namespace["f"])[0])
    assert ends.count("result") > 30, ends

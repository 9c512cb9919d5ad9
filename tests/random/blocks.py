"""Random functions with nested compound statements, of numbers and a log of what they evaluate.

`note(k, v)` logs `k` and gives `v`; it raises Spent after a while, so every program ends. Variables
may be unbound, deleted, bound in operands and closures, and read anywhere.
"""

from __future__ import annotations

import random

__all__ = ["program"]

PRELUDE = """\
from contextlib import nullcontext, suppress


class Spent(Exception):
    pass


class Box:
    def __init__(self, v):
        self.v = v


"""
_STATEMENTS = {
    "assign": 6,
    "branch": 7,
    "for": 4,
    "while": 3,
    "jump": 4,
    "return": 2,
    "in_place": 3,
    "chain": 2,
    "walrus": 3,
    "delete": 1,
    "function": 2,
    "closure": 1,
    "expression": 2,
    "assert": 1,
    "raise": 1,
    "try": 3,
    "with": 1,
    "annotation": 1,
}


class _Writer:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.notes = 0
        self.loops = 0
        self.can_bind = True
        self.in_function = False

    def note(self, text: str) -> str:
        self.notes += 1
        return f"note({self.notes}, {text})"

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def number(self, depth: int = 2) -> str:
        """An expression that gives an int."""
        simple = self.pick(*"aabbbccd", "box.v", "xs[0]", "1", "2", "-3")
        kind = self.rng.randrange(11) if depth > 0 else 0
        if kind == 0:
            return simple
        if kind == 1:
            return self.note(simple)
        d = depth - 1
        if kind == 2:
            return f"({self.number(d)} + {self.number(d)})"
        if kind == 3:
            return f"({self.number(d)} if {self.test(d)} else {self.number(d)})"
        if kind == 4:
            return f"({self.number(d)} {self.pick('and', 'or')} {self.note(self.number(d))})"
        if kind == 5:
            return f"min(max({self.number(d)} * {self.number(d)}, -99), 99)"
        if kind == 6:
            return f"({self.binding('c')} {self.number(d)})"
        if kind == 7:
            return f"({self.number(d)} and ({self.binding('d')} {self.number(d)}))"
        can_bind, self.can_bind = self.can_bind, False
        one, other = self.number(d), self.number(d)
        self.can_bind = can_bind
        if kind == 8:
            return f"(lambda v, w={self.number(d)}: v - w + {one})({self.number(d)})"
        if kind == 9:
            return f"sum(v + {one} for v in xs[:2] if v < {other})"
        return f"sum([(v or {one}) + {other} for v in xs[:2] for _ in range(v % 3)])"

    def binding(self, name: str) -> str:
        """What binds a name to the expression that follows, where it may."""
        return f"{name} :=" if self.can_bind else "1 +"

    def test(self, depth: int = 2) -> str:
        d = depth - 1
        x = self.number(d)
        if depth <= 0:
            return f"{x} < {self.number(d)}"
        return self.pick(
            self.note(f"{x} < {self.number(d)}"),
            self.note(f"{x} % 2 == 0"),
            f"not {self.test(d)}",
            f"({self.test(d)} and {self.test(d)})",
            f"({self.test(d)} or {self.test(d)})",
            f"{x} < {self.number(d)} <= ({self.binding('b')} {self.number(d)})",
            f"({self.binding('d')} {x}) > {self.number(d)}",
        )

    def target(self) -> str:
        return self.pick("a", "b", "c", "d", "a", "c", f"xs[{self.note('0')}]", "box.v")

    def block(self, indent: str, depth: int) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.statement(indent + "    ", depth)

    def statement(self, indent: str, depth: int) -> None:
        kind = self.rng.choices(list(_STATEMENTS), list(_STATEMENTS.values()))[0]
        if kind in ("branch", "for", "while", "try", "with") and depth == 0:
            kind = "jump" if self.loops else "assign"
        if kind == "jump" and not self.loops:
            kind = "branch" if depth else "in_place"
        if kind == "function" and self.in_function:
            kind = "closure"
        if kind == "return" and self.rng.random() < 0.5:
            kind = "expression"
        getattr(self, f"write_{kind}")(indent, depth)

    def add(self, indent: str, line: str) -> None:
        self.lines.append(indent + line)

    def write_assign(self, indent: str, depth: int) -> None:
        self.add(indent, f"{self.target()} = {self.number()}")

    def write_chain(self, indent: str, depth: int) -> None:
        one = f"{self.target()} = {self.target()} = {self.number()}"
        self.add(indent, self.pick(one, f"{self.target()}, {self.target()} = b, {self.number()}"))

    def write_in_place(self, indent: str, depth: int) -> None:
        self.add(indent, f"{self.target()} {self.pick('+', '-', '*')}= {self.number(1)} % 7")

    def write_walrus(self, indent: str, depth: int) -> None:
        self.add(indent, f"{self.target()} = {self.test(1)} and (c := {self.number()}) or 4")

    def write_delete(self, indent: str, depth: int) -> None:
        self.add(indent, f"{self.pick('c', 'd', 'a')} = 2")
        if self.rng.random() < 0.5:
            name = self.pick("e", "e", "e", "d")
            self.add(indent, f"{name} = 3")
            self.add(indent, f"del {name}")

    def write_annotation(self, indent: str, depth: int) -> None:
        self.add(indent, f"{self.pick('c', 'd', 'e')}: int{self.pick('', ' = ' + self.number())}")

    def write_expression(self, indent: str, depth: int) -> None:
        self.add(indent, self.note(self.number()))

    def write_assert(self, indent: str, depth: int) -> None:
        self.add(indent, f"assert {self.test(1)} or {self.test(1)}, {self.note('0')}")

    def write_raise(self, indent: str, depth: int) -> None:
        self.add(indent, f"if {self.test(1)} and {self.test(1)} and {self.test(1)}:")
        self.add(indent + "    ", f"raise KeyError({self.note('a')})")

    def write_try(self, indent: str, depth: int) -> None:
        self.add(indent, "try:")
        self.block(indent, depth - 1)
        if self.rng.random() < 0.4:
            self.add(indent + "    ", f"raise {self.pick('KeyError', 'AssertionError', 'Spent')}")
        found = [
            "KeyError as e",
            "(AssertionError, ZeroDivisionError)",
            "NameError",
            "Exception",
            "",
        ]
        handlers = sorted(self.rng.sample(range(len(found)), self.rng.randint(0, 2)))
        for k in handlers:
            self.add(indent, f"except {found[k]}:" if found[k] else "except:")
            if found[k].endswith("e"):
                self.add(indent + "    ", "log.append(e.args)")
            self.block(indent, depth - 1)
            if self.rng.random() < 0.2:
                self.add(indent + "    ", "raise")
        if handlers and self.rng.random() < 0.4:
            self.add(indent, "else:")
            self.block(indent, depth - 1)
        if not handlers or self.rng.random() < 0.4:
            # Python does not take a jump out of `finally` everywhere.
            outside, self.loops = self.loops, 0
            self.add(indent, "finally:")
            self.block(indent, depth - 1)
            self.loops = outside

    def write_with(self, indent: str, depth: int) -> None:
        target = self.pick("a", "c", "box.v", "(b, c)")
        value = f"({self.number(1)}, {self.number(1)})" if "," in target else self.number(1)
        self.add(indent, f"with suppress(KeyError), nullcontext({value}) as {target}:")
        self.block(indent, depth - 1)

    def write_closure(self, indent: str, depth: int) -> None:
        self.can_bind = False
        self.add(indent, f"g = lambda v: v + {self.number(1)}")
        self.can_bind = True

    def write_function(self, indent: str, depth: int) -> None:
        name = self.pick("g", "h")
        outside, self.loops, self.in_function = self.loops, 0, True
        self.add(indent, f"def {name}(v, c={self.number(1)}):")
        self.block(indent, min(depth, 1))
        self.add(indent + "    ", f"return v - {self.number(1)}")
        self.loops, self.in_function = outside, False
        self.add(indent, f"{self.target()} = {self.pick('g', 'h')}({self.number(1)})")

    def write_jump(self, indent: str, depth: int) -> None:
        if self.rng.random() < 0.7:
            self.add(indent, f"if {self.test(1)}:")
            indent += "    "
        self.add(indent, self.pick("break", "continue"))

    def write_return(self, indent: str, depth: int) -> None:
        if self.rng.random() < 0.8:
            self.add(indent, f"if {self.test(1)} and {self.test(1)}:")
            indent += "    "
        self.add(indent, self.pick("return", f"return {self.number()}"))

    def write_branch(self, indent: str, depth: int) -> None:
        self.add(indent, f"if {self.test()}:")
        self.block(indent, depth - 1)
        if self.rng.random() < 0.4:
            self.add(indent, f"elif {self.test()}:")
            self.block(indent, depth - 1)
        if self.rng.random() < 0.5:
            self.add(indent, "else:")
            self.block(indent, depth - 1)

    def write_for(self, indent: str, depth: int) -> None:
        target, items = self.rng.choice(
            [
                ("i", f"range({self.number(1)} % 4)"),
                ("c", "(1, a, 2)"),
                ("a, b", "[(1, 2), (b, 3)]"),
                ("(c, (d, *e))", "[(1, (a, 2)), (b, (3, 4, 5))]"),
                (f"xs[{self.note('0')}]", self.note("(4, 5)")),
                ("box.v", "[7]"),
            ]
        )
        self.add(indent, f"for {target} in {items}:")
        self.loop(indent, depth)

    def write_while(self, indent: str, depth: int) -> None:
        self.add(indent, f"while {self.note(self.number(1))} < 3 and {self.test()}:")
        self.loop(indent, depth)

    def loop(self, indent: str, depth: int) -> None:
        self.loops += 1
        self.block(indent, depth - 1)
        self.loops -= 1
        if self.rng.random() < 0.4:
            self.add(indent, "else:")
            self.block(indent, depth - 1)

    def write(self) -> str:
        self.lines = [
            "def f(a, b, log):",
            "    def note(k, v):",
            "        log.append(k)",
            "        if len(log) > 200:",
            "            raise Spent",
            "        return v",
            "",
            "    xs, box = [3, 1, 2], Box(4)",
            f"    {self.pick('c = 5', 'd = c = a', 'd = c = 0')}",
            "    g = h = lambda v: v",
        ]
        for _ in range(self.rng.randint(3, 7)):
            self.statement("    ", 3)
        names = self.pick("a, b", "a, c", "b, d", "a, b, c, xs")
        self.lines.append(f"    return {names}, xs, box.v")
        return PRELUDE + "\n".join(self.lines) + "\n"


def program(seed: int) -> str:
    """The text of a module with a function f(a, b, log) of two ints and a list."""
    return _Writer(seed).write()

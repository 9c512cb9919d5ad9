"""Draws programs of plain Python from the grammar: `draw(seed)` is the text of a module.

The module has a function `f`, helpers and classes that it uses, and `CALLS`, functions that make
the arguments of five calls: some, others of the same sizes, other sizes, edges, and the first
again. All loops end: what they count is bounded, and so is what grows in them.
"""

from __future__ import annotations

import functools
import random
import re

from tests.random.plain.grammar import (
    BLOCKS,
    EXPRESSIONS,
    GLOBALS,
    IDIOMS,
    IMPORTS,
    LEAVES,
    MAKERS,
    PRELUDE,
    STEPS,
    Table,
)

_TOKEN = re.compile(
    r"<(?P<hole>[A-Za-z]+)(?:@(?P<bind>[A-Z]))?>"
    r"|\{(?P<brief>~?)(?P<kind>[a-z]+) \$(?P<put>\w+)\}|\$(?P<fresh>\w+)|@(?P<bound>[A-Z])\b"
)
_GROWS = re.compile(r"( *)GROW (.+?): (.*)")
_OWN_LINES = ("body", "loop", "out", "end", "return", "step")
_LEAKS = 0.06  # probability that a name of a block is read after it
_MAX_TRIES = 20  # texts drawn for a seed before one has valid syntax

_PARAMETERS = (
    (0.75, "a", "a"),
    (0.75, "n", "n"),
    (0.5, "x", "x"),
    (0.6, "l", "xs"),
    (0.2, "l", "ys"),
    (0.2, "m", "rows"),
    (0.2, "d", "d"),
    (0.12, "s", "s"),
    (0.15, "o", "o"),
    (0.12, "t", "t"),
    (0.08, "e", "e"),
    (0.06, "q", "q"),
    (0.05, "c", "c"),
)


def draw(seed: int, without: str = "") -> str:
    """The same text for the same seed; no production has what the pattern `without` finds."""
    for number in range(_MAX_TRIES):
        text = Draw(random.Random(f"plain {seed} {number}"), without).module()
        try:
            compile(text, "program", "exec")
        except SyntaxError:
            # A walrus in an iterable, a name that is nonlocal and assigned to before.
            continue
        return text
    raise ValueError(f"no valid text for seed {seed}")


@functools.cache
def _needs(text: str) -> tuple[frozenset[str], bool]:
    """The kinds of names a production reads, and True if no hole of it is an expression."""
    holes = {m["hole"] for m in _TOKEN.finditer(text) if m["hole"]}
    names = frozenset(h for h in holes if h.islower() and h not in ("const", "few", *_OWN_LINES))
    return names, not any(h.isupper() for h in holes)


@functools.cache
def _has(text: str, pattern: str) -> bool:
    return re.search(pattern, text) is not None


class Draw:
    """State of one module: names in scope by kind, fresh numbers, enclosing loops."""

    def __init__(self, rng: random.Random, without: str = "") -> None:
        self.random = rng
        self.without = without
        self.names: dict[str, list[str]] = {}
        self.fresh = 0
        self.loops = 0
        self.guarded = False
        self.result = "return <I>"
        self.helpers: list[str] = []
        # Most programs are short: these find most in a given time.
        self.short = rng.random() < 0.65

    # Choices --------------------------------------------------------------------------------

    def choose(self, table: Table, depth: int) -> str:
        """A production whose names are in scope; without deeper holes where `depth` is used up."""
        fits: list[str] = []
        weights: list[float] = []
        for weight, text in table:
            names, shallow = _needs(text)
            if self.without and _has(text, self.without):
                continue
            if (depth > 0 or shallow) and all(self.names.get(k) for k in names):
                fits.append(text)
                weights.append(weight)
        return self.random.choices(fits, weights)[0] if fits else ""

    def expression(self, kind: str, depth: int) -> str:
        """An expression of a kind of the grammar."""
        table = EXPRESSIONS[kind]
        if kind == "I" and self.helpers and depth > 0 and self.random.random() < 0.06:
            return self.expand(self.random.choice(self.helpers), depth - 1)[0]
        text = self.choose(table, depth)
        if not text:
            text = {"I": "<const>", "W": "<const>", "B": "True", "D": "<B>"}.get(kind, "")
            text = text or {"L": "[1, 2]", "T": "(1, 2)", "S": "'s'"}.get(kind, "range(3)")
            if kind == "D":
                text = "<i> > 1" if self.names.get("i") else "True"
            if kind in "VR":
                text = "iter([1, 2, 3])"
            if kind == "P":
                text = "enumerate([1, 2, 3])"
        return self.expand(text, depth - 1)[0]

    def depth(self) -> int:
        """How deep the expressions of a statement are."""
        return self.random.choice((0, 1, 1) if self.short else (1, 1, 2))

    # Productions ----------------------------------------------------------------------------

    def expand(self, production: str, depth: int, blocks: int = 0) -> list[str]:
        """The lines of a production."""
        fresh: dict[str, str] = {}
        bound: dict[str, str] = {}
        brief: list[tuple[str, str]] = []

        def name(key: str) -> str:
            if key not in fresh:
                self.fresh += 1
                fresh[key] = f"{key}{self.fresh}"
            return fresh[key]

        def replaced(m: re.Match[str]) -> str:
            if m["fresh"]:
                return name(m["fresh"])
            if m["bound"]:
                return bound[m["bound"]]
            if m["put"]:
                self.names.setdefault(m["kind"], []).append(name(m["put"]))
                if m["brief"]:
                    brief.append((m["kind"], name(m["put"])))
                return ""
            hole = m["hole"]
            if hole == "const":
                text = str(self.random.choice((0, 0, 1, 1, 2, 3, 4)))
            elif hole == "few":
                text = str(self.random.choice((2, 3, 3, 4)))
            elif hole[0].isupper():
                text = self.expression(hole, depth)
            else:
                among = self.names[hole]
                # Names of late are read more often.
                text = self.random.choice(among if self.random.random() < 0.6 else among[-2:])
            if m["bind"]:
                bound[m["bind"]] = text
            return text

        def looped(indent: str) -> bool:
            """True inside a loop of the production itself."""
            heads = [x for x in lines if x.lstrip().startswith(("for ", "while "))]
            return any(len(x) - len(x.lstrip()) < len(indent) for x in heads)

        lines: list[str] = []
        for line in production.split("\n"):
            stripped = line.strip()
            indent = " " * (len(line) - len(line.lstrip()))
            if stripped[:1] == "<" and stripped[1:-1] in _OWN_LINES:
                inner = self.own_line(stripped[1:-1], blocks, bool(self.loops) or looped(indent))
                lines += [indent + statement for statement in inner]
                continue
            text = _TOKEN.sub(replaced, line)
            if grows := _GROWS.fullmatch(text):
                space, grown, statement = grows.groups()
                bounded = self.loops or self.guarded or self.random.random() < 0.3
                text = f"{space}if len({grown}) < 9:\n{space}    {statement}"
                text = text if bounded else space + statement
            if text.strip():
                lines += text.split("\n")
        for kind, temporary in brief:
            if self.random.random() > _LEAKS:
                self.names[kind].remove(temporary)
        return lines

    def own_line(self, hole: str, blocks: int, in_loop: bool) -> list[str]:
        if hole == "return":
            return self.leave()
        if hole in ("end", "out"):
            if in_loop and self.random.random() < 0.75:
                ways = ("break", "break", "continue") if hole == "end" else ("break",)
                return [self.random.choice(ways)]
            return self.leave()
        if hole == "step":
            return self.statement(0)
        self.loops += hole == "loop"
        lines = self.block(blocks - 1)
        self.loops -= hole == "loop"
        return lines

    def leave(self) -> list[str]:
        if self.result and self.random.random() < 0.6:
            return self.expand(self.result, 1)
        return [f"return {self.shown(2)}"] if not self.result else ["return 0"]

    def block(self, blocks: int) -> list[str]:
        """One to three statements whose names are theirs."""
        saved = {kind: list(names) for kind, names in self.names.items()}
        lines: list[str] = []
        for _ in range(self.random.choice((1, 1, 2, 2, 3))):
            lines += self.statement(blocks)
        if self.random.random() > _LEAKS:
            self.names = saved
        return lines or ["pass"]

    def statement(self, blocks: int) -> list[str]:
        kinds = [(3.5, STEPS), (1.5, MAKERS), (0.6, LEAVES)]
        if blocks > 0:
            kinds += [(2.2, BLOCKS), (0.7, IDIOMS)]
        table = self.random.choices([t for _, t in kinds], [w for w, _ in kinds])[0]
        production = self.choose(table, 2)
        return self.expand(production, self.depth(), blocks) if production else []

    # Parts of a module ----------------------------------------------------------------------

    def shown(self, least: int) -> str:
        """A tuple of names, objects above all; iterators mostly as the list of what is left."""
        pool = [(kind, name) for kind, names in self.names.items() for name in names]
        pool = [(k, n) for k, n in dict.fromkeys(pool) if k not in ("al", "n", "x")]
        rich = [p for p in pool if p[0] not in ("i", "j", "w", "b", "s", "a", "h", "z")]
        count = self.random.randint(least, least + 3)
        chosen = self.random.sample(rich, min(count, len(rich)))
        rest = [p for p in pool if p not in chosen]
        chosen += self.random.sample(rest, min(self.random.choice((0, 1, 2)), len(rest)))
        texts = []
        for kind, name in dict.fromkeys(chosen):
            drained = kind in "rvp" and self.random.random() < 0.75
            texts.append(f"list({name})" if drained else name)
        return ", ".join(texts) or "None"

    def helper(self, number: int) -> str:
        """A function of an int and a list that `f` may call."""
        self.names = {"n": ["u"], "l": ["items"], "al": ["items"]}
        self.guarded, self.result = True, "return <I>"
        lines = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(1)
        lines += self.expand("return <I>", 1)
        self.helpers.append(f"helper{number}(<I>, <L>)")
        self.guarded = False
        return "\n".join([f"def helper{number}(u, items):", *("    " + x for x in lines)])

    def function(self) -> tuple[str, list[tuple[str, str]]]:
        """The function `f` and its parameters, each with its kind."""
        parameters = [(k, p) for w, k, p in _PARAMETERS if self.random.random() < w]
        if self.without:
            parameters = [p for p in parameters if not _has(f"<{p[0]}>", self.without)]
        if not any(k in "anx" for k, _ in parameters):
            parameters.append(("a", "a"))
        self.names, self.result = {}, ""
        for kind, name in parameters:
            self.names.setdefault(kind, []).append(name)
            if kind in "xl":
                also = {"x": "w", "l": "al"}[kind]
                self.names.setdefault(also, []).append(name)
        lines: list[str] = []
        for _ in range(self.random.randint(1, 2 if self.short else 4)):
            lines += self.expand(self.choose(MAKERS, 2), 1)
        for _ in range(self.random.randint(1, 2 if self.short else 5)):
            table = self.random.choices((BLOCKS, IDIOMS, STEPS), (4, 2, 2))[0]
            if production := self.choose(table, 2):
                lines += self.expand(production, self.depth(), 1 if self.short else 2)
            if self.random.random() < 0.5:
                lines += self.statement(0)
        lines.append(f"return {self.shown(2)}")
        head = f"def f({', '.join(p for _, p in parameters)}):"
        return "\n".join([head, *("    " + x for x in lines)]), parameters

    def value(self, kind: str, how: str, size: int, lists: list[str]) -> str:
        """The text of an argument; `lists` are names of lists that it may share."""
        r = self.random
        ints = (
            [] if how == "edges" and r.random() < 0.6 else [r.randint(-2, 5) for _ in range(size)]
        )
        if how == "edges" and ints and r.random() < 0.5:
            ints = [0] * size
        shared = r.choice(lists) if lists and r.random() < 0.5 else None
        if kind == "a":
            return f"np.array({[v / 2 for v in ints]}, dtype=float)"
        if kind == "n":
            return str(r.choice((0, -1)) if how == "edges" else r.randint(1, 5))
        if kind == "x":
            number = r.choice((0.0, -1.5)) if how == "edges" else r.randint(-4, 12) / 2
            return str(int(number) if r.random() < 0.08 else number)
        if kind == "l":
            return shared if shared and r.random() < 0.4 else str(ints)
        if kind == "m":
            row = shared or "[1, 2]"
            return r.choice((f"[{row}, {ints}]", f"[{row}] * 3", f"[{ints}, [0], {row}]"))
        if kind == "d":
            return str({v: k for k, v in enumerate(ints)})
        if kind == "s":
            return repr("" if not ints else "abcabc"[:size])
        if kind == "o":
            return f"Box({r.randint(-1, 4)})" if not shared else f"boxed({shared})"
        if kind == "t":
            return str(tuple(ints))
        if kind == "e":
            return f"set({ints})"
        if kind == "q":
            return f"deque({ints})"
        return f"Node({r.randint(0, 4)}, Node(1))"

    def calls(self, parameters: list[tuple[str, str]]) -> str:
        size = self.random.randint(2, 5)
        other = self.random.choice([k for k in (1, 2, 3, 4, 6) if k != size])
        sets = (("some", size), ("others", size), ("sizes", other), ("edges", size))
        text = []
        for how, count in sets:
            lines: list[str] = []
            names: list[tuple[str, str]] = []
            for kind, name in parameters:
                value = self.value(kind, how, count, [x for k, x in names if k == "l"])
                lines.append(f"    {name} = {value}")
                names.append((kind, name))
            result = ", ".join(name for _, name in names)
            text.append("\n".join([f"def {how}():", *lines, f"    return [{result}]"]))
        text.append("CALLS = [some, others, sizes, edges, some]")
        return "\n\n\n".join(text)

    def module(self) -> str:
        """The text of the module."""
        helpers = [
            self.helper(k)
            for k in range(self.random.choice((0, 0, 0, 0, 1) if self.short else (0, 0, 1, 1, 2)))
        ]
        function, parameters = self.function()
        calls = self.calls(parameters)
        if "boxed(" in calls:
            made = "def boxed(items):\n    box = Box(1)\n    box.items = items\n    return box"
            calls = f"{made}\n\n\n{calls}"
        parts = [*helpers, function, calls]
        used = _words("\n".join(parts))
        prelude: dict[str, str] = {}
        while new := [k for k in PRELUDE if k in used and k not in prelude]:
            for key in new:
                prelude[key] = self.random.choice(PRELUDE[key])
                used |= _words(prelude[key])
        imports = sorted({text for word, text in IMPORTS.items() if word in used})
        state = [text for word, text in GLOBALS.items() if word in used]
        top = [part for part in ("\n".join(imports), "\n".join(state)) if part]
        classes = [prelude[k] for k in PRELUDE if k in prelude]
        return "\n\n\n".join([*top, *classes, *parts]) + "\n"


def _words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))

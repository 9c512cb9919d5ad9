"""Random programs of Python numbers, NumPy scalars, lists, tuples and arrays beside each other.

`generate(seed)` gives a `Case`: statements over two Python ints, a Python float, NumPy scalars and
arrays (arguments), and over lists, tuples and texts that the program makes: repeated, joined, cut,
changed, compared, folded, used as arrays; augmented operators with operands of all kinds and
shapes, `@=` among them; branches and loops around them. Many a statement raises: which, and what it
has changed by then, are compared, too. Numbers are small multiples of 1/4.

python -m tests.random.scalars --seeds 0:1000
"""

from __future__ import annotations

import dataclasses
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.random.control import Block, Body, Case, Line, Statement, _lines
from tests.random.dynamic import search
from tests.support.compare import run

#: The arguments: name -> kind.
ARGUMENTS = {
    "i0": "int",
    "i1": "int",
    "f0": "float",
    "s0": "scalar",
    "t0": "scalar",
    "x": "vector",
    "y": "vector",
    "m": "matrix",
    "n": "matrix",
}
DTYPES = ("f8", "f8", "f8", "i8", "i8", "f4", "u1", "?", "c16")
CALLS = 5
#: How many statements are drawn for the outermost block, and the chance that one is kept after
#: which so many calls raise.
_TRIES = 60
_KEPT = (1.0, 0.3, 0.2, 0.1, 0.1, 0.04)
#: A list that a loop makes longer is cut to this many items.
_LONGEST = 6


@dataclasses.dataclass(frozen=True)
class ScalarCase(Case):
    """A function of `ARGUMENTS`, and the dtypes of its NumPy scalars and arrays."""

    dtypes: tuple[str, ...] = ()

    def source(self) -> str:
        """The module's text."""
        head = f"def f({', '.join(ARGUMENTS)}):"
        return "\n".join(["import numpy as np\n\n", head, *_lines(self.body, 1)]) + "\n"

    def calls(self) -> list[tuple[Any, ...]]:
        """Arguments of several sizes; the kinds stay the same, the numbers do not."""
        rng = np.random.default_rng(self.seed)
        calls = []
        for number in range(CALLS):
            size = (3, 3, 2, 4, 1)[number]
            given: list[Any] = [int(k) for k in rng.integers(-2, 5, 2)]
            given.append(float(rng.integers(-6, 13) / 4))
            shapes = [(), (), (size,), (size,), (size, size), (size, size)]
            for dtype, shape in zip(self.dtypes, shapes, strict=True):
                values = rng.integers(0 if dtype == "u1" else -4, 9, shape)
                whole = np.dtype(dtype).kind in "iu?"
                array = np.asarray(values if whole else values / 4).astype(dtype)
                given.append(array if shape else array[()])
            calls.append(tuple(given))
        return calls


def _raising(case: ScalarCase) -> int:
    """How many of the calls raise."""
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        exec(compile(case.source(), "case", "exec"), names)
    return sum(run(names["f"], args).exception is not None for args in case.calls())


def generate(seed: int) -> ScalarCase:
    """The same case for the same seed."""
    return _Generator(seed).case()


class _Generator:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.count = 0
        self.loops = 0
        self.names: dict[str, str] = dict(ARGUMENTS)

    def case(self) -> ScalarCase:
        dtypes = tuple(self.random.choice(DTYPES) for _ in range(6))
        body: Body = (Line("l0 = [f0, 2, s0]"),)
        self.names["l0"] = "list"
        wanted = self.random.randint(3, 9)
        for _ in range(_TRIES):
            saved = dict(self.names)
            drawn = (*body, *self.statements(2))
            raising = _raising(ScalarCase(self.seed, (), drawn, dtypes=dtypes))
            if self.random.random() >= _KEPT[raising]:
                self.names = saved
                continue
            body = drawn
            if raising == CALLS or len(body) > wanted:
                break
        return ScalarCase(self.seed, (), (*body, Line(self.result())), dtypes=dtypes)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def name(self, *kinds: str) -> str:
        """A name of one of these kinds; a literal where there is none."""
        found = [n for n, kind in self.names.items() if kind in kinds]
        return self.random.choice(found) if found else "[1, 2.5]" if "list" in kinds else "(2, 1)"

    def new(self, letter: str, kind: str) -> str:
        self.count += 1
        name = f"{letter}{self.count}"
        self.names[name] = kind
        return name

    # Expressions --------------------------------------------------------------------------------

    def int_(self) -> str:
        """A Python int."""
        k = self.name("int")
        choices = [k, k, str(self.random.randint(-2, 4)), f"{k} % 3", f"int({self.name('float')})"]
        choices += [f"len({self.name('list', 'tuple')})", f"len({self.name('vector')})"]
        choices += [f"int(np.count_nonzero({self.name('vector')}))", f"int({self.scalar()} > 1)"]
        return self.random.choice(choices)

    def few(self) -> str:
        """A number of repetitions, of any kind that may be one."""
        k = self.int_()
        choices = [f"({k}) % 4", f"({k}) % 3", f"({self.name('int')} > 1)", "2"]
        choices += [f"(np.int64({k}) % 3)", f"np.argmax({self.name('vector')})"]
        choices += [f"np.count_nonzero({self.name('vector')})"]
        return self.random.choice(choices)

    def scalar(self) -> str:
        """A NumPy scalar."""
        x = self.name("vector")
        choices = [self.name("scalar"), self.name("scalar"), f"{x}[0]", f"{x}[-1]", f"{x}.sum()"]
        choices += [f"{x}.max()", f"{self.name('matrix')}[0, -1]", "np.float64(1.5)", "np.int64(2)"]
        return self.random.choice(choices)

    def number(self) -> str:
        """A number of Python or NumPy."""
        literal = self.pick("0.5", "1.5", "2", "-1", "1j", "True", "3.0")
        choices = [self.int_(), self.name("float"), self.scalar(), literal, self.name("int")]
        choices += [f"{self.sequence()}[{self.pick('0', '-1', self.int_())}]"]
        return self.random.choice(choices)

    def sequence(self) -> str:
        """A list or a tuple."""
        s = self.name("list", "tuple")
        choices = [s, s, s, self.name("list"), f"[{self.atom()}, {self.atom()}]"]
        choices += [f"({self.atom()}, {self.atom()})", f"{s}[{self.cut()}]", f"{s}[::-1]"]
        choices += [
            f"[v * 2 for v in {s}]",
            f"list({s})",
            "[]",
            f"([{self.atom()}] * {self.few()})",
        ]
        return self.random.choice(choices)

    def atom(self) -> str:
        """A number by a short expression."""
        return self.pick(*(n for n, k in self.names.items() if k in ("int", "float", "scalar")))

    def cut(self) -> str:
        k = self.int_()
        return self.pick("1:", ":2", ":-1", f":{k}", f"{k}:", f"{k} % 2:")

    def array(self) -> str:
        x = self.name("vector", "matrix")
        choices = [x, x, x, f"{x}[0]", f"{x}[1:]", f"{x}.T", f"np.array({self.sequence()})"]
        choices += ["np.array(2.0)", f"{x}[{x} > 0]", f"{x}[:1]", f"{x} * 2", f"{x}[None]"]
        return self.random.choice(choices)

    def operand(self) -> str:
        """Anything."""
        kind = self.random.randrange(10)
        if kind < 4:
            return self.number()
        if kind < 6:
            return self.sequence()
        return (
            self.array() if kind < 9 else self.pick("None", "'ab'", "range(2)", "np.float32(0.5)")
        )

    def condition(self) -> str:
        a, b = self.number(), self.number()
        compared = f"{a} {self.pick('<', '<=', '>', '==', '!=')} {b}"
        forms = [compared, compared, f"{self.number()} in {self.sequence()}", self.name("list")]
        forms += [
            f"{self.sequence()} == {self.sequence()}",
            f"{self.number()} != {self.sequence()}",
        ]
        forms += [f"len({self.sequence()}) > {self.int_()}", f"{self.name('vector')}.any()"]
        return self.random.choice(forms)

    # Statements ---------------------------------------------------------------------------------

    def body(self, depth: int, count: int) -> Body:
        saved = dict(self.names)
        out = tuple(s for _ in range(count) for s in self.statements(depth))
        if depth < 2:
            self.names = saved
        return out

    def statements(self, depth: int) -> list[Statement]:
        simple: list[tuple[int, Callable[[], list[Statement]]]] = [
            (4, self.make_number),
            (4, self.make_list),
            (4, self.change_list),
            (8, self.augmented),
            (3, self.product),
            (3, self.mixed),
            (2, self.folded),
            (2, self.stored),
            (1, self.text),
        ]
        if depth:
            simple += [(4, lambda: self.branch(depth)), (3, lambda: self.loop(depth))]
        if self.loops:
            leave = self.pick("break", "continue")
            simple.append((1, lambda: [Block(((f"if {self.condition()}:", (Line(leave),)),))]))
        weights = [w for w, _ in simple]
        return self.random.choices(simple, weights)[0][1]()

    def make_number(self) -> list[Statement]:
        kind = self.random.randrange(4)
        if kind == 0:
            text = f"({self.int_()} {self.pick('+', '-', '*', '//', '%')} {self.int_()}) % 7 - 2"
            return [Line(f"{self.target('k', 'int')} = {text}")]
        op = self.pick("+", "-", "*", "/", "-")
        if kind == 1:
            text = f"float({self.atom()}) {op} {self.pick('2.0', '0.5', self.name('float'))}"
            return [Line(f"{self.target('g', 'float')} = {text}")]
        if kind == 2:
            text = f"{self.scalar()} {op} {self.number()}"
            return [Line(f"{self.target('w', 'scalar')} = {text}")]
        text = self.pick("np.float64", "np.float32", "np.int64", "abs", "-", "np.sqrt")
        return [Line(f"{self.target('w', 'scalar')} = {text}({self.number()})")]

    def target(self, letter: str, kind: str) -> str:
        """A new name, or one of this kind that is bound again."""
        old = [n for n, k in self.names.items() if k == kind]
        if old and self.random.random() < 0.4:
            return self.random.choice(old)
        return self.new(letter, kind)

    def make_list(self) -> list[Statement]:
        kind = self.random.randrange(6)
        if kind == 0:
            text = f"{self.sequence()} * {self.few()}"
        elif kind == 1:
            text = f"{self.few()} * {self.sequence()}"
        elif kind == 2:
            text = f"{self.name('list')} + {self.pick(self.name('list'), '[0.5]', self.sequence())}"
        elif kind == 3:
            text = f"[{self.number()}, {self.number()}]"
        elif kind == 4:
            return [Line(f"{self.target('p', 'tuple')} = ({self.number()}, {self.number()})")]
        else:
            text = f"list({self.sequence()})"
        name = self.target("l", "list")
        return [Line(f"{name} = {text}"), Line(f"{name} = {name}[:{_LONGEST}]")]

    def change_list(self) -> list[Statement]:
        x = self.name("list")
        if x == "[1, 2.5]":
            return self.make_list()
        place = self.pick("0", "-1", self.int_())
        op = self.pick("+", "-", "*")
        forms = [
            f"{x}.append({self.number()})",
            f"{x}.extend({self.sequence()})",
            f"{x}.insert({place}, {self.number()})",
            f"{x}.pop()",
            f"{x}.reverse()",
            f"{x}[{place}] = {self.number()}",
            f"{x}[{place}] {op}= {self.number()}",
            f"{x} += {self.operand()}",
            f"{x} *= {self.few()}",
            f"{x}[1:] = {self.sequence()}",
            f"del {x}[{place}]",
        ]
        other = self.new("l", "list") if self.random.random() < 0.2 else None
        alias = [Line(f"{other} = {x}")] if other else []
        return [*alias, Line(self.random.choice(forms)), Line(f"del {x}[{_LONGEST}:]")]

    def augmented(self) -> list[Statement]:
        """`x op= y` of a name or a part of an array."""
        op = self.pick("+", "-", "*", "+", "-", "*", "/", "//", "%", "**", "&", "|", "@", "<<")
        x = self.name("vector", "matrix", "vector", "matrix", "scalar", "float", "list", "tuple")
        if op == "**":
            return [Line(f"{x} **= {self.pick('2', '1', '0.5', self.scalar())}")]
        place = ""
        if self.names.get(x) in ("vector", "matrix"):
            places = ("", "", "[0]", "[-1]", "[1:]", "[...]", f"[{x} > 0.5]", "[::-1]", "[[0, -1]]")
            place = self.pick(*places, f"[{self.int_()}]", f"[:{self.int_()}]")
        return [Line(f"{x}{place} {op}= {self.operand()}")]

    def product(self) -> list[Statement]:
        """`x @= y`."""
        x, y = self.name("matrix", "vector"), self.name("matrix")
        ys = [y, y, f"{y}.T", f"{y}[:, :1]", f"{y}[None]", self.name("vector"), f"{y}[:1]"]
        ys += [f"np.array([{y}, {y}])", self.array()]
        place = self.pick("", "", "", "[...]", "[::-1]")
        return [Line(f"{x}{place} @= {self.random.choice(ys)}")]

    def mixed(self) -> list[Statement]:
        """An operator between operands of any kinds."""
        op = self.pick("+", "-", "*", "*", "/", "==", "!=", "<", "@", "//", "&")
        self.count += 1
        text = f"{self.operand()} {op} {self.operand()}"
        self.names[f"r{self.count}"] = "result"
        return [Line(f"r{self.count} = {text}")]

    def folded(self) -> list[Statement]:
        s, x = self.sequence(), self.name("vector")
        forms = [f"sum({s})", f"sum({s}, 0.5)", f"max({s})", f"min({s}, default=0)", f"len({s})"]
        forms += [f"any({s})", f"np.sum({s})", f"np.max({s})", f"{s}.count({self.number()})"]
        forms += [f"sum(u * v for u, v in zip({s}, {x}))", f"max({self.number()}, {self.number()})"]
        forms += [f"np.dot({s}, {s})", f"round({self.number()})", f"divmod({self.number()}, 2)"]
        self.count += 1
        self.names[f"r{self.count}"] = "result"
        return [Line(f"r{self.count} = {self.random.choice(forms)}")]

    def stored(self) -> list[Statement]:
        """A sequence or number stored into an array."""
        x = self.name("vector", "matrix")
        key = self.pick("0", "-1", "1:", "...", f"{x} > 0", ":2", self.int_(), "[0, -1]")
        value = self.pick(self.number(), self.sequence(), self.array(), "range(2)")
        return [Line(f"{x}[{key}] = {value}")]

    def text(self) -> list[Statement]:
        self.count += 1
        self.names[f"r{self.count}"] = "result"
        forms = [f"'ab' * ({self.int_()} % 3)", f"len('ab' * ({self.few()}))", "'a' + 'b'"]
        forms += [f"f'{{{self.atom()} > 1}}'", f"'ab'[{self.int_()} % 2]", "'ab' == 'ab'"]
        return [Line(f"r{self.count} = {self.random.choice(forms)}")]

    def branch(self, depth: int) -> list[Statement]:
        clauses = [(f"if {self.condition()}:", self.body(depth - 1, self.random.randint(1, 3)))]
        if self.random.random() < 0.5:
            clauses.append(("else:", self.body(depth - 1, self.random.randint(1, 2))))
        return [Block(tuple(clauses))]

    def loop(self, depth: int) -> list[Statement]:
        saved = dict(self.names)
        s, x = self.name("list", "tuple"), self.name("vector")
        kind = self.random.randrange(5)
        if kind < 2:
            head = (
                f"for {self.new('k', 'int')} in range({self.pick('3', self.int_(), f'len({x})')}):"
            )
        elif kind == 2:
            head = f"for {self.new('w', 'scalar')} in {x}:"
        elif kind == 3:
            head = f"for {self.new('w', 'scalar')} in tuple({s}):"
        else:
            index, item = self.new("k", "int"), self.new("w", "scalar")
            head = f"for {index}, {item} in enumerate({self.pick(x, f'{s}[:3]')}):"
        self.loops += 1
        body = self.body(depth - 1, self.random.randint(1, 3))
        self.loops -= 1
        self.names = saved
        return [Block(((head, body),))]

    def result(self) -> str:
        chosen = [self.random.choice([*self.names]) for _ in range(self.random.randint(2, 6))]
        return f"return {', '.join(dict.fromkeys([*chosen, 'x']))}"


if __name__ == "__main__":
    raise SystemExit(search("tests.random.scalars", __doc__, generate))

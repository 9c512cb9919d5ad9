"""What a second process answers from files: draws, texts, containers, functions that are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.runtime.cache.processes import observe

DRAWS = """
import random
import numpy as np
import tracejit

rng = np.random.default_rng(3)

@tracejit.jit
def f(n):
    total = 0.0
    for _ in range(n):
        total += random.random() * np.random.rand()
    return total, np.random.permutation(n), rng.standard_normal((n,), np.float32), rng.choice(n, 2)

def drawn(f):
    global rng
    np.random.seed(1)
    random.seed(2)
    rng = np.random.default_rng(3)
    return [f(4) for _ in range(3)]

calls = [drawn]
"""
OTHER_STREAM = DRAWS.replace("import tracejit\n", "import tracejit\nother = random.Random(5)\n", 1)
OTHER_STREAM = OTHER_STREAM.replace("random.seed(2)", "other.seed(7); random.random = other.random")

TEXTS = """
import numpy as np
import tracejit

class Log:
    def __init__(self):
        self.lines, self.best = [], None

log = Log()

@tracejit.jit
def f(x, n):
    log.lines.append(f"{n}: {x.sum():.3f}")
    log.best = x[1:]
    return {"text": f"{n} of {x[0]}", "parts": [x + 1, (x[::2], None)]}

def told(f):
    return f(np.arange(4.0), 3), log.lines[-1], log.best

calls = [told, told]
"""

GIVEN = """
import tracejit

@tracejit.jit
def f(g, x, keys=()):
    for key in keys:
        x = key(x)
    for _ in range(3):
        x = x - g(x) / 8
    return x

def square(c):
    return lambda x: x * x - c

calls = [
    lambda f: f(lambda x: x * x - 2.0, 1.0),
    lambda f: f(square(3.0), 1.0),
    lambda f: f(square(4.0), 1.0, [lambda x: x + 1, lambda x: x * 2]),
]
"""

PUSHED = """
import tracejit

class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        if len(self.items) >= 3:
            raise OverflowError("full")
        self.items.append(item)

f = tracejit.jit(Stack.push)

def pushed(f):
    stack = Stack()
    for k in range(3):
        f(stack, k / 2)
    return stack.items

calls = [pushed, pushed]
"""

LOOKED_UP = """
import numpy as np
import tracejit

@tracejit.jit
def f(i, x):
    return ~np.isin(i, i[:2], kind="sort"), np.choose(i, (x, x, x + 1))

calls = [lambda f: f(np.array([0, 2, 1]), np.arange(3.0))]
"""

SENTINEL = """
import tracejit

nothing, last = object(), object()

@tracejit.jit
def f(x, y=nothing):
    return (x, nothing) if y is nothing else (x + 1, y is last)

def asked(f):
    value, found = f(1.0)
    return value, found is nothing, f(1.0, last), f(1.0, None)

calls = [asked]
"""

CALLED = """
import tracejit

class Line:
    def __init__(self, slope, places):
        self.slope, self.places = slope, places

    def __call__(self, x):
        self.places.append(x)
        return self.slope * x + len(self.places)

f = tracejit.jit(Line(2.0, []))

def called(f):
    line = f if isinstance(f, Line) else f.__tracejit__
    line.places.clear()
    line.slope = 2.0
    found = [f(1.0)]
    line.slope = 3.0
    return [*found, f(1.0), line.places]

calls = [called]
"""

#: Each with what is another one in a later process.
MODULES = {
    "draws": (DRAWS, OTHER_STREAM),
    "texts": (TEXTS, TEXTS.replace("{n} of", "{n} off")),
    "given": (GIVEN, GIVEN.replace("x * x - 2.0", "x * x - 7.0").replace("x + 1", "x + 5")),
    "pushed": (PUSHED, PUSHED.replace("[]", "['first']")),
    "sentinel": (SENTINEL, SENTINEL.replace("object(), object()", "(object(),) * 2")),
    "called": (CALLED, CALLED.replace("+ len", "- len")),
    "looked_up": (LOOKED_UP, LOOKED_UP.replace("x + 1", "x + 2")),
}


def write(folder: Path, which: int) -> None:
    for name, texts in MODULES.items():
        (folder / f"{name}.py").write_text(texts[which])


def right(found: dict[str, Any], name: str) -> dict[str, Any]:
    module: dict[str, Any] = found["modules"][name]
    assert "error" not in module, module["error"]
    assert module["got"] == module["plain"], name
    return module


def test_they_are_kept_and_checked(tmp_path: Path) -> None:
    """Cold, warm, changed, and back."""
    seen = []
    for which in (0, 0, 1, 0):
        write(tmp_path, which)
        found = observe(tmp_path, *MODULES)
        seen.append({name: right(found, name) for name in MODULES})
    first, second, changed, back = seen
    for name in MODULES:
        assert first[name]["got"] == second[name]["got"] == back[name]["got"], name
        assert changed[name]["got"] != back[name]["got"], name
        assert second[name]["compiled"] == back[name]["compiled"] == 0, (name, second[name])
        assert not first[name]["unwritten"] and not changed[name]["warm"], name


METHODS = """
import numpy as np
import tracejit

class P:
    def __init__(self, k):
        self.k = k
    def m(self, x):
        return x * self.k

class Q(P):
    def m(self, x):
        return x - self.k

f = tracejit.jit(P(2.0).m)
owners = [P(2.0), Q(2.0), P(3.0), P(2.0), Q(5.0), P(7)]
X = np.arange(3.0)

def anew(_):
    return [tracejit.jit(owner.m)(X) for owner in owners]

calls = [lambda f: f(X), anew]
"""


def test_methods_that_are_compiled_anew_share_what_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(METHODS, encoding="utf-8")
    for k in range(3):
        told = observe(tmp_path, "program")["modules"]["program"]
        expected = [[0.0, 2.0, 4.0], [-2.0, -1.0, 0.0], [0.0, 3.0, 6.0], [0.0, 2.0, 4.0]]
        expected += [[-5.0, -4.0, -3.0], [0.0, 7.0, 14.0]]
        assert [x[-1] for x in told["got"][1][0][1:]] == list(map(repr, expected))
        assert told["warm"] is (k > 0), told

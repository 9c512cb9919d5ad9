"""The search over programs of plain Python: what it draws, compares, finds and reduces."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.random.plain.check import Verdict, check, write
from tests.random.plain.draw import draw
from tests.random.plain.observe import TUPLES, Outcome, difference, observe
from tests.random.plain.reduce import reduce
from tests.random.plain.script import script


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler that changes nothing."""
    return function


def program(body: str, calls: str = "[]") -> str:
    """The text of a module with that function."""
    return f"{body}\n\ndef some():\n    return {calls}\n\n\nCALLS = [some, some]\n"


def test_drawing_is_deterministic() -> None:
    assert draw(7) == draw(7)
    assert len({draw(seed) for seed in range(60)}) == 60
    assert "Count" not in "".join(draw(seed, "Count") for seed in range(60))


def test_every_construct_is_drawn() -> None:
    text = "".join(draw(seed) for seed in range(600))
    for construct in (
        *("while True:", "break", "continue", "finally:", "except ", "nonlocal ", "global "),
        *("match ", "with ", "yield ", "lambda", ":=", " is ", "del ", "assert ", "raise "),
        *("iter(", "reversed(", "enumerate(", "zip(", "map(", "filter(", "next(", "any(", "all("),
        *(".next = ", "] * 3", ".setdefault(", ".popleft()", "defaultdict(", "bytearray("),
        *("__next__", "__bool__", "__contains__", "__lt__", "NamedTuple", "Enum", "@dataclass"),
    ):
        assert construct in text, construct


def test_plain_python_agrees_with_itself(tmp_path: Path) -> None:
    verdicts = [check(write(draw(s), tmp_path / f"program_{s}.py"), plain) for s in range(150)]
    assert [v for v in verdicts if v.differs] == []
    assert sum(v.rejected for v in verdicts) < 30


def test_no_programs(tmp_path: Path) -> None:
    for name, body in (
        ("endless", "def f():\n    while True:\n        pass\n"),
        ("raising", "def f():\n    raise ValueError\n"),
        ("broken", "1 / 0\n"),
    ):
        assert check(write(program(body), tmp_path / f"{name}.py"), plain).rejected


# What is compared -------------------------------------------------------------------------------


def outcome(f: Callable[..., Any], *arguments: Any) -> Outcome:
    return observe(f, list(arguments), sys.modules[__name__])


class Cell:
    def __init__(self, v: object) -> None:
        self.v = v


def shared() -> Any:
    row = [1]
    return row, row


def said() -> None:
    print("said")


def raised(error: Exception) -> Callable[[], Any]:
    def f() -> Any:
        raise error

    return f


def half_of(items: Any) -> Any:
    it = iter(items)
    next(it)
    return it


DIFFERENT: dict[str, tuple[Callable[[], Any], Callable[[], Any], str]] = {
    "value": (lambda: [1], lambda: [2], "result"),
    "class": (lambda: 1, lambda: True, "result"),
    "class of a number": (lambda: 1.0, lambda: np.float64(1.0), "result"),
    "sign of zero": (lambda: 0.0, lambda: -0.0, "result"),
    "attribute": (lambda: Cell(1), lambda: Cell(2), "result"),
    "order of a dict": (lambda: {1: 1, 2: 2}, lambda: {2: 2, 1: 1}, "result"),
    "one list or two": (shared, lambda: ([1], [1]), "which objects are one"),
    "place of an iterator": (lambda: iter([1, 2]), lambda: half_of([1, 2]), "result"),
    "printed": (said, lambda: None, "printed"),
    "exception": (raised(KeyError(1)), raised(KeyError(2)), "exception"),
    "class of an exception": (
        raised(KeyError(1)),
        raised(IndexError(1)),
        "raises KeyError, got IndexError",
    ),
    "file of an exception": (raised(OSError(2, "a", "b")), raised(OSError(2, "a")), "exception"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_differences(name: str) -> None:
    f, g, expected = DIFFERENT[name]
    assert difference(outcome(f), outcome(g)) == expected
    assert difference(outcome(f), outcome(f)) == ""


def test_differences_in_arguments() -> None:
    same, copied, stored = lambda x: x, lambda x: x[:], lambda x: x.append(1)
    assert difference(outcome(same, [1]), outcome(copied, [1])) == "which objects are one"
    assert difference(outcome(lambda x: None, [1]), outcome(stored, [1])) == "arguments"
    made = (sys.maxsize - 1,)
    assert difference(outcome(same, made), outcome(lambda x: (*x,), made)) == TUPLES
    assert difference(outcome(same, float("nan")), outcome(same, float("nan"))) == ""


# The search itself ------------------------------------------------------------------------------


def without_break(function: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler that goes on where a loop is left."""
    source = Path(function.__code__.co_filename).read_text(encoding="utf-8")
    exec(source.replace("break", "pass").replace("k > 9", "False"), function.__globals__)
    compiled: Callable[..., Any] = function.__globals__["f"]
    return compiled


def test_a_wrong_compiler_is_found_and_the_program_reduced(tmp_path: Path) -> None:
    def verdict(text: str) -> Verdict:
        return check(write(text, tmp_path / f"program_{hash(text)}.py"), without_break, 0.2)

    texts = (draw(seed, "while") for seed in range(200))
    text, found = next((t, v) for t in texts if (v := verdict(t)).differs == "result")
    small = reduce(text, lambda text: verdict(text).differs == found.differs, seconds=20.0)
    assert verdict(small).differs == found.differs
    assert "break" in small
    assert len(small) < len(text) / 2


def test_scripts_run(tmp_path: Path) -> None:
    body = "def f(xs):\n    ys = [xs, xs]\n    ys[0].append(1)\n    return ys\n"
    text = script(program(body, "[[0]]"), "a title\nof two lines", Verdict("result", 1, "a", "b"))
    path = tmp_path / "case.py"
    path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", path], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["plain", "jitted"] * 2
    assert lines[0].endswith("['#0 list[0, 1]']")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.random.plain", "4", "--jobs", "1", "--twice"]
    command += ["--cache", str(tmp_path), "--reduce", "0"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout.count("compiled whole") == 2, done.stdout + done.stderr
    assert (tmp_path / "program_0.py").read_text(encoding="utf-8") == draw(0)
    assert (tmp_path / "cache").is_dir()

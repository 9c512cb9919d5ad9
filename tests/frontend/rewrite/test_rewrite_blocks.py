"""Compound statements as calls of hooks: rewritten functions do what Python does, in its order.

`plain_interpreter` also holds each statement to the names that it says it binds, and unbinds each
variable that it says is not live.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import numpy as np
import pytest

from tests.frontend.rewrite import block_samples
from tests.frontend.rewrite.plain_interpreter import rewritten
from tests.random.blocks import program
from tests.support.capturing import Compiled, follows
from tracejit.errors import TraceError
from tracejit.frontend.rewrite.function import rewrite_code
from tracejit.frontend.rewrite.source import find_definition

pytestmark = pytest.mark.sampled(6)

INTS = (-1, 0, 1, 2, 3, 5)


def outcome(f: Callable[..., Any], a: int, b: int) -> tuple[str, Any, list[Any]]:
    """What a call gives or raises, and its log. A name's kind of scope shows in no result."""
    log: list[Any] = []
    try:
        return "result", f(a, b, log), log
    except NameError:
        return "raises", NameError, log
    except Exception as e:
        return "raises", (type(e), e.args, type(e.__cause__)), log


def agree(f: Any, g: Callable[..., Any] | None = None) -> None:
    new = g or rewritten(f)
    for a in INTS:
        for b in INTS:
            assert str(outcome(f, a, b)) == str(outcome(new, a, b)), (f.__name__, a, b)


def load(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    module = ModuleType(path.stem)
    exec(compile(text, str(path), "exec"), vars(module))
    return module


@pytest.mark.parametrize("f", block_samples.SAMPLES, ids=lambda f: f.__name__)
def test_samples(f: Any) -> None:
    agree(f)


def test_methods() -> None:
    for cls in (block_samples.Cell, block_samples.Derived):
        f: Any = cls.get
        new = rewritten(f)
        for a in INTS:
            for b in INTS:
                expected: Any = cls(7)
                actual: Any = cls(7)
                assert f(expected, a, b, []) == new(actual, a, b, [])
                assert vars(expected) == vars(actual)


def test_a_function_inside_another() -> None:
    agree(block_samples.enclosed(3))


def programs(first: int, last: int, folder: Path) -> list[Any]:
    return [load(folder / f"blocks{k}.py", program(k)).f for k in range(first, last)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", range(0, 80, 20))
def test_random_programs(first: int, tmp_path: Path) -> None:
    for f in programs(first, first + 20, tmp_path):
        new = rewritten(f)
        for a, b in ((1, 2), (-3, 0), (5, 5)):
            expected, actual = outcome(f, a, b), outcome(new, a, b)
            assert expected == actual, Path(f.__code__.co_filename).read_text()


def test_most_random_programs_run_to_their_end(tmp_path: Path) -> None:
    ends = [outcome(f, 1, 2)[0] for f in programs(0, 60, tmp_path)]
    assert ends.count("result") > 30


@pytest.mark.parametrize("f", block_samples.TRACED, ids=lambda f: f.__name__)
def test_operands_bind_names_only_where_they_are_evaluated(f: Any) -> None:
    """The condition is known when the program runs, and the names with it."""
    compiled = Compiled(f)
    for first in (-30.0, -0.5, 0.5, 2.5, 30.0):
        follows(f, np.array([first, 0.25]), compiled=compiled)
    assert compiled.traces == 1


# What the hooks get ------------------------------------------------------------------------------


def tree(f: Any) -> list[CodeType]:
    """The code objects inside `f` rewritten, outermost first."""
    found = [rewrite_code(find_definition(f), f.__code__)]
    for code in found:
        found += [c for c in code.co_consts if isinstance(c, CodeType)]
    return found


def test_parts_have_the_functions_name() -> None:
    codes = tree(block_samples.functions_in_blocks)
    names = {(c.co_name, c.co_qualname) for c in codes if c.co_name != "<listcomp>"}
    assert names == {
        ("functions_in_blocks", "functions_in_blocks"),
        ("shifted", "functions_in_blocks.<locals>.shifted"),
        ("<lambda>", "functions_in_blocks.<locals>.<lambda>"),
    }
    codes = tree(block_samples.assignments_in_nested_operands)
    assert {c.co_name for c in codes} <= {"assignments_in_nested_operands", "<listcomp>"}
    assert len(codes) > 4


def test_errors_show_the_users_lines() -> None:
    f = block_samples.bound_in_one_branch
    with pytest.raises(TypeError) as expected:
        f(4, "b", [])
    with pytest.raises(TypeError) as actual:
        rewritten(f)(4, "b", [])
    path = f.__code__.co_filename
    own = [e for e in traceback.extract_tb(actual.value.__traceback__) if e.filename == path]
    first = traceback.extract_tb(expected.value.__traceback__)[-1]
    assert [(e.name, e.lineno) for e in own] == [(first.name, first.lineno)]


DEEP_ERROR = """\
def f(x):
    y = x
    if y:
        y = y + 1

    for i in range(3):
        while (
            i
            < y
        ):
            return y.missing
    return y
"""


def test_errors_in_blocks_show_the_users_lines(tmp_path: Path) -> None:
    module = load(tmp_path / "deep.py", DEEP_ERROR)
    with pytest.raises(AttributeError) as caught:
        rewritten(module.f)(4)
    own = [e for e in caught.traceback if str(e.path) == str(tmp_path / "deep.py")]
    assert {e.name for e in own} == {"f"}
    assert [e.lineno + 1 for e in own] == [3, 6, 7, 11]


def test_hooks_get_the_line_and_the_names(tmp_path: Path) -> None:
    """`names` and `info` of each statement, as written in the rewritten function."""
    text = "def f(x, y):\n    if x:\n        y = 1\n        z = 2\n        w = 3\n"
    text += "    for i in x:\n        w = i\n        y = w + y\n    return y\n"
    f = load(tmp_path / "names.py", text).f
    constants = [c for code in tree(f) for c in code.co_consts if isinstance(c, tuple)]
    assert ("w", "y", "z") in constants and ("i", "w", "y") in constants
    assert (2, ("x", "y"), ()) in constants
    assert (6, ("y",), ("y",)) in constants


def test_long_functions(tmp_path: Path) -> None:
    """Statements in a row do not count as nested."""
    lines = [f"    if a > {k % 5}:\n        log.append({k})\n" for k in range(150)]
    f = load(tmp_path / "row.py", "def f(a, b, log):\n" + "".join(lines) + "    return a\n").f
    new = rewritten(f)
    assert outcome(f, 3, 0) == outcome(new, 3, 0)
    lines = [f"    {'el' * (k > 0)}if a > {60 - k}:\n        log.append({k})\n" for k in range(60)]
    f = load(tmp_path / "choice.py", "def f(a, b, log):\n" + "".join(lines) + "    return a\n").f
    agree(f)


def test_what_nests_too_deeply_is_refused(tmp_path: Path) -> None:
    lines = ["    if a:\n        b = 1\n"] * 3000
    f = load(tmp_path / "deep.py", "def f(a, b):\n" + "".join(lines) + "    return b\n").f
    with pytest.raises(TraceError) as caught:
        rewrite_code(find_definition(f), f.__code__)
    assert caught.value.code == "TJ008"
    assert caught.value.where is not None and caught.value.where.line == 1

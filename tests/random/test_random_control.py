"""Random programs with control flow: all readers agree, and the search can find and shrink."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracejit
from tests.control_programs.observe import Printed, assert_same_observation, observe
from tests.random.control import Case, generate
from tests.random.control_search import Verdict, check, isolated, load, script, shrink
from tracejit.runtime.parts import effort

BLOCK = 8


@pytest.mark.sampled(6)
@pytest.mark.parametrize("block", range(6))
def test_random_programs(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        case = generate(seed)
        verdict = check(case)
        if verdict.reader:
            pytest.fail(
                f"seed {seed}, {verdict.reader}, call {verdict.call}: {verdict.message}\n"
                f"{case.source()}\n"
                f"shrink it with: python -m tests.random.control --seed {seed} --stop 1"
            )


def in_parts(case: Case) -> str:
    """The text of a case that does not compile as a whole."""
    head = "def f(i0, i1, f0, f1, x, y, m):\n"
    return "import time\n" + case.source().replace(head, f"{head}    time.perf_counter()\n")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("block", range(6))
def test_random_programs_run_in_parts(
    block: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in (("_WORTH", 0.0), ("_SHORT", 0.0), ("_RATE", 1e9), ("_TRIALS", 10**9)):
        monkeypatch.setattr(effort, name, value)
    monkeypatch.setattr(tracejit.config, "fallback", "ignore")
    compiled = 0
    for seed in range(3 * block, 3 * block + 3):
        case, printed = generate(seed), Printed()
        f = load(in_parts(case), str(tmp_path)).f
        expected = [observe(f, args, printed, str(tmp_path)) for args in case.calls()]
        jitted = tracejit.jit(f)
        for number in (*range(len(expected)), *range(len(expected))):
            actual = observe(jitted, case.calls()[number], printed, str(tmp_path))
            assert_same_observation(expected[number], actual)
        compiled += sum(part.is_compiled for part in jitted.report().parts)
    assert compiled


# The search itself ------------------------------------------------------------------------------


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler that changes nothing."""
    return function


def changed(old: str, new: str) -> Callable[[Case], Callable[..., Any]]:
    """A compiler that reads one text as another."""

    def jit(case: Case, function: Callable[..., Any]) -> Callable[..., Any]:
        namespace: dict[str, Any] = dict(function.__globals__)
        exec(
            compile(case.source().replace(old, new), function.__code__.co_filename, "exec"),
            namespace,
        )
        compiled: Callable[..., Any] = namespace["f"]
        return compiled

    return lambda case: functools.partial(jit, case)


def differs(case: Case, wrong: Callable[[Case], Any]) -> bool:
    return check(case, wrong(case), readers=False).reader != ""


def test_generation_is_deterministic() -> None:
    assert generate(7) == generate(7)
    assert len({generate(seed).source() for seed in range(50)}) == 50


def test_plain_python_agrees_with_itself() -> None:
    verdicts = [check(generate(seed), plain, readers=False) for seed in range(60)]
    assert [v.message for v in verdicts if v.reader] == []


def test_every_construct_is_drawn() -> None:
    text = "".join(generate(seed).source() for seed in range(150))
    for construct in (
        *("if ", "elif ", "else:", "while ", "while True", "range(", "enumerate(", "zip("),
        *("reversed(", "break", "continue", "return", "print(", "assert ", "raise ", " and "),
        *(" or ", "not ", " if ", "+=", "x, y = y, x", "[1:] = ", "m[:, ", "h0(", "np.where"),
    ):
        assert construct in text, construct


WRONG = {
    "break goes on": ("break", "continue"),
    "last iteration lost": ("range(len(", "range(-1 + len("),
    "branches taken for each other": ("else:", "if True:"),
    "swap half done": ("x, y = y, x", "x = y"),
    "stores into arguments lost": ("x[", "x.copy()["),
    "another text printed": ('print("at ', 'print("At '),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_compiler_is_found(name: str) -> None:
    wrong = changed(*WRONG[name])

    def found(seed: int) -> bool:
        try:
            return differs(generate(seed), wrong)
        except SyntaxError:
            return False

    assert any(found(seed) for seed in range(150))


def test_shrinking() -> None:
    wrong = changed("range(len(", "range(-1 + len(")
    case = next(case for case in map(generate, range(200)) if differs(case, wrong))
    small = shrink(case, lambda case: differs(case, wrong))
    assert differs(small, wrong)
    assert "range(len(" in small.source()
    assert small.source().count("\n") < min(14, case.source().count("\n"))


def test_scripts_run(tmp_path: Path) -> None:
    text = script(generate(0), Verdict("native", 1, 'a "reason" \\ here\nof two lines'))
    text = text.replace("import tracejit\n", "").replace("tracejit.jit(f)", "f")
    path = tmp_path / "case.py"
    path.write_text(text.replace("print(jitted.report())", ""), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", path], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("function ") >= 2 * len(generate(0).calls())


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_programs_are_checked_in_a_process_of_their_own() -> None:
    assert isinstance(isolated(generate(0)), Verdict)

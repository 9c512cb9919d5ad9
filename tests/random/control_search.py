"""Random programs with control flow against plain Python: a check, a shrinker, a long search.

python -m tests.random.control --seconds 60 --seed 0
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import importlib.util
import itertools
import multiprocessing
import re
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.control_programs.observe import Observation, Printed, assert_same_observation, observe
from tests.control_programs.readers import (
    READERS,
    NotTracedError,
    RaisedInTraceError,
    Readers,
    same_error,
)
from tests.random.control import Block, Body, Case, Line, Statement, generate
from tests.support.compare import Mismatch
from tests.support.compiler_faults import compiler_failure
from tracejit.errors import Bailout

Jit = Callable[[Callable[..., Any]], Any]
SECONDS_BEFORE_A_HANG = 60.0
_NUMBERS = itertools.count()


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Empty where all readers agree, else which differs on which call and how."""

    reader: str = ""
    call: int = 0
    message: str = ""
    fallbacks: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The message without values: what a smaller case must have too."""
        text = self.message.splitlines()[0] if self.message else ""
        text = re.sub(r"\[.*|\(.*|got .*|'.*", "", text)
        return " ".join([self.reader, *re.sub(r"-?[0-9.]+", "", text).split()])


def load(source: str, folder: str) -> types.ModuleType:
    """A module of that text, in a file of its own."""
    name = f"control_case_{next(_NUMBERS)}"
    path = Path(folder, f"{name}.py")
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def default_jit(function: Callable[..., Any]) -> Any:
    """The compiler under test."""
    import tracejit

    return tracejit.jit(function)


def check(case: Case, jit: Jit = default_jit, readers: bool = True) -> Verdict:
    """Run a case's calls by everyone; stop at the first difference from plain Python."""
    with tempfile.TemporaryDirectory() as folder:
        function = load(case.source(), folder).f
        try:
            return _check(case, function, jit, folder, readers)
        finally:
            sys.modules.pop(function.__module__)


def _check(case: Case, f: Any, jit: Jit, folder: str, readers: bool) -> Verdict:
    printed = Printed()
    calls = case.calls()
    expected = [observe(f, args, printed, folder) for args in calls]
    jitted = jit(f)
    for number in [*range(len(calls)), 0]:
        actual = observe(jitted, calls[number], printed, folder)
        try:
            assert_same_observation(expected[number], actual)
        except Mismatch as mismatch:
            return Verdict("native", number, str(mismatch), _fallbacks(jitted))
    fallbacks = _fallbacks(jitted)
    failure = compiler_failure(fallbacks)
    if failure:
        return Verdict("native", 0, failure, fallbacks)
    if not readers or fallbacks:
        return Verdict(fallbacks=fallbacks)
    graphs = Readers(f, calls)
    for reader in READERS:
        for number, args in enumerate(calls):
            try:
                with printed.collect() as text:
                    outcome = graphs.run(reader, args)
                actual = Observation(outcome, text[0], expected[number].lines)
                assert_same_observation(expected[number], actual, check_alias=False)
            except NotTracedError as e:
                # Every number is traced here: a call may compile that knew some of them.
                failure = compiler_failure([str(e)])
                if failure:
                    return Verdict(reader, number, failure)
                return Verdict(fallbacks=(f"with all numbers traced: {str(e).splitlines()[0]}",))
            except RaisedInTraceError as e:
                if not same_error(expected[number].outcome.exception, e.__cause__):
                    return Verdict(reader, number, f"raised while traced: {e}")
            except Bailout as e:
                if expected[number].outcome.exception is None:
                    return Verdict(reader, number, f"gives up: {e}")
            except Mismatch as mismatch:
                return Verdict(reader, number, str(mismatch))
            except Exception as e:
                return Verdict(reader, number, f"{type(e).__name__}: {e}")
    return Verdict()


def _fallbacks(jitted: Any) -> tuple[str, ...]:
    report = getattr(jitted, "report", None)
    return tuple(f"{x.code} {x.reason}" for x in report().fallbacks) if report else ()


# Shrinking --------------------------------------------------------------------------------------


def shrink(case: Case, fails: Callable[[Case], bool], tries: int = 300) -> Case:
    """A case as small as dropping and unwrapping statements makes it while it still fails."""
    changed = True
    while changed and tries > 0:
        changed = False
        for smaller in _smaller(case):
            if tries <= 0:
                break
            tries -= 1
            try:
                compile(smaller.source(), "case", "exec")
            except SyntaxError:
                continue
            if fails(smaller):
                case, changed = smaller, True
                break
    return case


def _smaller(case: Case) -> Iterator[Case]:
    for body in _less(case.body):
        yield dataclasses.replace(case, body=body)
    for k, (head, body) in enumerate(case.helpers):
        rest = case.helpers[:k], case.helpers[k + 1 :]
        if f"h{k}(" not in case.source().replace(head, ""):
            yield dataclasses.replace(case, helpers=(*rest[0], *rest[1]))
        for less in _less(body):
            yield dataclasses.replace(case, helpers=(*rest[0], (head, less), *rest[1]))


def _less(body: Body) -> Iterator[Body]:
    """Bodies with something left out, the largest pieces first."""
    half = len(body) // 2
    if half > 1:
        yield body[half:]
        yield body[:half]
    for k, statement in enumerate(body):
        before, after = body[:k], body[k + 1 :]
        yield (*before, *after)
        if isinstance(statement, Line):
            continue
        for _, inner in statement.clauses:
            yield (*before, *inner, *after)
        for less in _less_block(statement):
            yield (*before, less, *after)


def _less_block(block: Block) -> Iterator[Statement]:
    clauses = block.clauses
    for k, (head, inner) in enumerate(clauses):
        if k:
            yield Block((*clauses[:k], *clauses[k + 1 :]))
        for less in _less(inner):
            yield Block((*clauses[:k], (head, less), *clauses[k + 1 :]))


def script(case: Case, verdict: Verdict) -> str:
    """A program that shows the difference by itself."""
    return "\n".join(
        [
            f"# seed {case.seed}, {verdict.reader}, call {verdict.call}: "
            + " ".join(verdict.message.split()),
            case.source().replace(
                "import numpy as np\n", "import numpy as np\n\nimport tracejit\n"
            ),
            "",
            "nan = float('nan')",
            "array = np.array",
            f"calls = {case.calls()!r}",
            "jitted = tracejit.jit(f)",
            "for call in calls:",
            "    for function in (f, jitted):",
            "        args = [x.copy() if isinstance(x, np.ndarray) else x for x in call]",
            "        try:",
            "            print(function.__class__.__name__, function(*args), args)",
            "        except Exception as e:",
            "            print(function.__class__.__name__, repr(e), args)",
            "print(jitted.report())",
        ]
    )


def plainly(case: Case) -> Verdict:
    """`check` of a program that nobody compiles."""
    return check(case, lambda f: f, readers=False)


# The long search --------------------------------------------------------------------------------


def isolated(
    case: Case,
    check: Callable[[Case], Verdict] = check,
    plainly: Callable[[Case], Verdict] | None = None,
) -> Verdict:
    """`check` in a process of its own, where a crash or a hang is a difference too.

    A hang is none where `plainly`, which leaves the program to Python, has no answer either.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_report, args=(check, case, sender), daemon=True)
    child.start()
    sender.close()
    try:
        if receiver.poll(SECONDS_BEFORE_A_HANG):
            verdict: Verdict = receiver.recv()
            return verdict
    except EOFError:
        child.join()
        return Verdict("native", 0, f"the process died with exit code {child.exitcode}")
    finally:
        child.kill()
        child.join()
        receiver.close()
    if plainly is not None and isolated(case, plainly).reader:
        return Verdict(fallbacks=("no answer in Python",))
    return Verdict("native", 0, f"no answer within {SECONDS_BEFORE_A_HANG:.0f} s")


def _report(check: Callable[[Case], Verdict], case: Case, sender: Connection) -> None:
    try:
        sender.send(check(case))
    except Exception as e:
        sender.send(Verdict("check", 0, f"{type(e).__name__}: {e}"))


def main() -> int:
    """Run seeds until the time is up; returns 1 if a program differed."""
    parser = argparse.ArgumentParser(prog="python -m tests.random.control", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to search")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--stop", type=int, default=5, help="give up after so many failures")
    parser.add_argument("--tries", type=int, default=150, help="checks spent on shrinking each")
    parser.add_argument("--out", type=Path, help="write a script for each failure into this folder")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    counts: collections.Counter[str] = collections.Counter()
    seed, failures = arguments.seed, 0
    while time.monotonic() < end and failures < arguments.stop:
        verdict = isolated(generate(seed), plainly=plainly)
        counts["compiled whole"] += not verdict.reader and not verdict.fallbacks
        counts.update(set(verdict.fallbacks))
        if verdict.reader:
            failures += 1
            _show(seed, verdict, arguments.tries, arguments.out)
        seed += 1
    print(f"seeds {arguments.seed} to {seed - 1}: {failures} differ")
    for reason, count in counts.most_common(15):
        print(f"  {count:5d}  {reason}")
    return 1 if failures else 0


def _show(seed: int, verdict: Verdict, tries: int, out: Path | None) -> None:
    print(f"seed {seed}, {verdict.reader}: {verdict.message}", flush=True)
    small = shrink(generate(seed), lambda case: isolated(case).kind == verdict.kind, tries)
    text = script(small, isolated(small))
    print(text, flush=True)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / f"seed_{seed}.py").write_text(text, encoding="utf-8")

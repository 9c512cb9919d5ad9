"""Runs a case plain and compiled and says whether they agree, within what rounding explains."""

from __future__ import annotations

import dataclasses
import multiprocessing
import re
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from tests.random.fuzz.generate import Call, Case
from tests.random.fuzz.noise import Allowed, UnstableError, allowances
from tests.random.fuzz.program import Program, bind, quietly, start
from tests.support.compare import Mismatch, Outcome, assert_same, run, sharing
from tests.support.compiler_faults import compiler_failure

Jit = Callable[[Callable[..., Any]], Any]
SECONDS_BEFORE_A_HANG = 60.0


@dataclasses.dataclass(frozen=True)
class Verdict:
    """``agree``, ``differ`` (with the reason and the number of the call) or ``unstable``."""

    status: str
    message: str = ""
    call: int = 0
    fallbacks: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The message without names, numbers and values: what a smaller case must have too."""
        text = self.message.splitlines()[0] if self.message else ""
        text = re.sub(r"\[.*|\(.*|got .*", "", text.removeprefix("arguments afterwards"))
        return " ".join([self.status, *re.sub(r"\bv?[0-9]+:?", "", text).split()])


def default_jit(function: Callable[..., Any]) -> Any:
    """The compiler under test."""
    import tracejit

    return tracejit.jit(function)


def check(case: Case, jit: Jit = default_jit) -> Verdict:
    """Make the case's calls to the plain and to one compiled function; stop at a difference."""
    function = case.program.function()
    try:
        jitted = jit(function)
    except Exception as error:
        return Verdict("differ", f"jit itself raised {error!r}")
    unstable = 0
    for number, call in enumerate(case.calls):
        args = call.arguments(case.program)
        expected = run(function, args)
        actual = run(jitted, args)
        try:
            allowed = call_allowances(case.program, call, expected)
            compare(case.program, expected, actual, allowed)
        except UnstableError:
            unstable += 1
        except Mismatch as mismatch:
            return Verdict("differ", str(mismatch), number, fallback_reasons(jitted))
    reasons = fallback_reasons(jitted)
    failure = compiler_failure(reasons)
    if failure:
        return Verdict("differ", failure, fallbacks=reasons)
    status = "unstable" if unstable == len(case.calls) else "agree"
    return Verdict(status, fallbacks=reasons)


def fallback_reasons(jitted: Any) -> tuple[str, ...]:
    """What was not compiled, as text."""
    report = getattr(jitted, "report", None)
    if report is None:
        return ()
    return tuple(f"{item.code} {item.reason}" for item in report().fallbacks)


def call_allowances(program: Program, call: Call, expected: Outcome) -> list[Allowed]:
    """What rounding explains in this call's results; empty if it raises."""
    sizes = dict(call.sizes)
    if expected.exception is not None:
        return []

    def compute() -> list[Allowed]:
        plain = bind(program.statements, start(program, sizes))
        return allowances(program, sizes, plain)

    allowed: list[Allowed] = quietly(compute)
    return allowed


def compare(program: Program, expected: Outcome, actual: Outcome, allowed: list[Allowed]) -> None:
    """Raise `Mismatch` unless the outcomes agree within what is allowed for each result."""
    if type(expected.exception) is not type(actual.exception):
        raise Mismatch(
            f"expected {expected.exception!r}, got {actual.exception!r}"
        ) from actual.exception
    if expected.exception is None:
        if type(expected.value) is not type(actual.value):
            raise Mismatch(f"expected {expected.value!r}, got {actual.value!r}")
        wanted, got = program.unpack(expected.value), program.unpack(actual.value)
        if len(wanted) != len(got):
            raise Mismatch(f"expected {len(wanted)} results, got {len(got)}")
        for name, e, a, allow in zip(program.returns, wanted, got, allowed, strict=True):
            bound: Any = dataclasses.asdict(allow)
            assert_same(e, a, **bound, where=name)
    assert_same(expected.args, actual.args, where="arguments afterwards")
    if sharing(expected) != sharing(actual):
        raise Mismatch(
            "results share memory with other arrays: "
            f"expected {sorted(sharing(expected))}, got {sorted(sharing(actual))}"
        )


def isolated(case: Case, jit: Jit = default_jit) -> Verdict:
    """`check` in a process of its own, where a crash or a hang is a difference too."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_report, args=(case, jit, sender), daemon=True)
    child.start()
    sender.close()
    try:
        if not receiver.poll(SECONDS_BEFORE_A_HANG):
            return Verdict("differ", f"no answer within {SECONDS_BEFORE_A_HANG:.0f} s")
        verdict: Verdict = receiver.recv()
        return verdict
    except EOFError:
        child.join()
        return Verdict("differ", f"the process died with exit code {child.exitcode}")
    finally:
        child.kill()
        child.join()
        receiver.close()


def _report(case: Case, jit: Jit, sender: Connection) -> None:
    sender.send(check(case, jit))

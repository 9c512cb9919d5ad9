"""Checks a program: the calls of its module by plain Python, and by one jitted function."""

from __future__ import annotations

import dataclasses
import importlib.util
import itertools
import linecache
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.random.plain.observe import TUPLES, Outcome, difference, observe
from tests.support.compiler_faults import COMPILER_FAILED

_SECONDS_PLAIN = 0.2  # of the processor
_SECONDS_JITTED = 20.0
_LONGEST_TEXT = 20_000
Jit = Callable[[Callable[..., Any]], Any]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """`differs` says what, in short, "" for nothing; `rejected` programs are no programs.

    `codes` are those of calls that ran eagerly: none where the function was compiled whole.
    """

    differs: str = ""
    call: int = 0
    expected: str = ""
    got: str = ""
    codes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    rejected: bool = False


class TooLong(BaseException):
    """A call took longer than it may."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TooLong` in the block after so many seconds of the processor, and behind it, as a
    `return` in a `finally` of the program may swallow that."""
    is_over = False

    def stop(signum: int, frame: types.FrameType | None) -> None:
        nonlocal is_over
        is_over = True
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    if is_over:
        raise TooLong


def default_jit(function: Callable[..., Any]) -> Any:
    """The compiler under test."""
    import tracejit

    return tracejit.jit(function)


def compile_short_functions() -> None:
    """Have calls run what is compiled for them also where plain Python is about as fast."""
    from tracejit.runtime.compile import worth

    worth._OPERATION = float("inf")


def load(path: Path, register: bool) -> types.ModuleType:
    """The module of a file, under its own name in `sys.modules` if it is to be found there."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if register:
        sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def write(text: str, path: Path) -> Path:
    """The file with that text, left alone where it has it: caches compare times of files."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return path


def check(path: Path, jit: Jit = default_jit, seconds: float = _SECONDS_JITTED) -> Verdict:
    """The first difference between plain and jitted calls of the program in a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with at_most(_SECONDS_PLAIN):
                plain = load(path, register=False)
                outcomes = [_call(plain, plain.f, k) for k in range(len(plain.CALLS))]
        except (TooLong, Exception):
            return Verdict(rejected=True)
        if all(o.is_error for o in outcomes) or max(map(_length, outcomes)) > _LONGEST_TEXT:
            return Verdict(rejected=True)
        try:
            with at_most(seconds):
                return _jitted(path, outcomes, jit)
        except TooLong:
            return Verdict("no answer in time")
        finally:
            sys.modules.pop(path.stem, None)
            linecache.cache.pop(str(path), None)


def _jitted(path: Path, outcomes: list[Outcome], jit: Jit) -> Verdict:
    module = load(path, register=True)
    jitted = jit(module.f)
    report = getattr(jitted, "report", None)
    verdict = Verdict()
    for number, expected in enumerate(outcomes):
        actual = _call(module, jitted, number)
        fallbacks = report().fallbacks if report else []
        codes = tuple(sorted({f.code for f in fallbacks}))
        reasons = tuple(f"{f.code} {f.reason}" for f in fallbacks)
        found = difference(expected, actual)
        if not found and COMPILER_FAILED in codes:
            found = "the compiler itself failed"
        if found and (found != TUPLES or not verdict.differs):
            texts = _unlike(_text(expected), _text(actual))
            verdict = Verdict(found, number + 1, *texts, codes, reasons)
        # Copies of tuples are common, and are told only of programs where nothing else differs.
        if found and found != TUPLES:
            return verdict
    return dataclasses.replace(verdict, codes=codes, reasons=reasons)


def _call(module: types.ModuleType, f: Callable[..., Any], number: int) -> Outcome:
    return observe(f, module.CALLS[number](), module)


def _length(outcome: Outcome) -> int:
    return len(outcome.shared) + sum(map(len, outcome.values.values()))


def _text(outcome: Outcome) -> str:
    values = "; ".join(f"{name} {text}" for name, text in outcome.values.items() if text)
    return f"{values}; {outcome.shared}"


def _unlike(a: str, b: str) -> tuple[str, str]:
    """Two texts from a little before they differ."""
    same = sum(
        1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))
    )
    start = max(0, same - 60)
    return a[start : same + 120], b[start : same + 120]

"""Recipes of NumPy's surface by the functions of the prelude, without the compiler."""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.frontend.numpy.surface.cases import Case, cases_of
from tests.frontend.numpy.surface.check import differences
from tests.frontend.numpy.surface.recipes import mentioned, recipes
from tests.support.compare import run
from tracejit.frontend.numpy.registry import PRELUDE
from tracejit.frontend.prelude.intrinsics import Refused

__all__ = ["all_cases", "functions_of", "names_of", "wrong"]


class Namespace:
    """A module of NumPy in which functions of the prelude stand for its own."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if isinstance(found, types.ModuleType):
            return Namespace(found)
        return PRELUDE.get(found, found) if isinstance(found, collections.abc.Hashable) else found


@functools.cache
def functions_of() -> dict[str, tuple[Any, ...]]:
    """Module of the prelude -> the functions of NumPy that it stands for."""
    PRELUDE.load()
    found: dict[str, list[Any]] = {}
    for f, stands_for in PRELUDE.items():
        if not isinstance(f, str):
            found.setdefault(stands_for.__module__.rpartition(".")[2], []).append(f)
    return {module: tuple(fs) for module, fs in sorted(found.items())}


def names_of(f: Any) -> set[str]:
    """The dotted names of a function in NumPy."""
    modules = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft, "np.ma": np.ma}
    modules["np.lib.stride_tricks"] = np.lib.stride_tricks
    return {f"{k}.{f.__name__}" for k, m in modules.items() if getattr(m, f.__name__, None) is f}


def recipes_of(module: str) -> Iterator[str]:
    """The recipes that mention a function of a module of the prelude."""
    wanted = {name for f in functions_of()[module] for name in names_of(f)}
    return (text for text in recipes() if wanted & set(mentioned(text)))


def wrong(case: Case, ways: collections.Counter[str]) -> Iterator[str]:
    """What differs in a case: values, layout, sharing, exceptions, texts. Counts how it ran."""
    args = case.arguments()
    expected = run(case.function(), args)
    actual = run(case.function(Namespace(np)), args)
    if isinstance(actual.exception, Refused):
        ways["refused"] += 1
        return
    ways["covered"] += 1
    for kind, text in differences(case, expected, actual, args):
        yield f"{kind}: {case}: {' '.join(text.split())[:300]}"
    e, a = expected.exception, actual.exception
    if e is not None and type(e) is type(a) and not _says(a, str(e)):
        yield f"message: {case}: expected {e}, got {a}"


def all_cases(module: str) -> Iterator[Case]:
    """Each form of each recipe of a module."""
    return (case for text in recipes_of(module) for case in cases_of(text))


def _says(e: BaseException, text: str) -> bool:
    """Whether an exception has a text, which may call a function by the name in NumPy."""
    said = str(e)
    if "<locals>" in said:  # One of several that are made by another one.
        said, text = said.partition("()")[2], text.partition("()")[2]
    return said == text

"""The definition of a function is found by its code, whatever marks of no effect the code has."""

from __future__ import annotations

import ast
import copy
import inspect
from types import CodeType
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.frontend.rewrite.constructs import HookCall
from tracejit.frontend.rewrite.source import same_code


class Scaled:
    def __init__(self) -> None:
        self.rate = 2.0

    def step(self, x: Any) -> Any:
        for _ in range(3):
            x = x * self.rate
        return x


#: CO_NESTED, CO_NOFREE, CO_HAS_DOCSTRING of Python 3.13, CO_METHOD of 3.14, and bits of none.
MARKS = (0x10, 0x40, 0x4000000, 0x8000000, 0x10000000, 0x40000000)


def marked(code: CodeType, mark: int) -> CodeType:
    return code.replace(co_flags=code.co_flags ^ mark)


@pytest.mark.parametrize("mark", MARKS, ids=hex)
def test_methods_are_compiled_with_any_mark(mark: int) -> None:
    code = Scaled.step.__code__
    assert same_code(code, marked(code, mark))

    step = type(Scaled.step)(marked(code, mark), globals(), "step")
    f = tracejit.jit(step, strict=True)
    x = np.arange(3.0)
    np.testing.assert_array_equal(f(Scaled(), x), x * 8)
    assert f.report().compiles


def test_hooks_are_copied() -> None:
    """Trees are copied, and their classes are called without arguments, or with None."""
    hook = HookCall("box", [ast.Constant(1)])
    other = copy.deepcopy(hook)
    assert ast.dump(other) == ast.dump(hook) and other.args[0] is not hook.args[0]
    assert HookCall(None, None).args == HookCall().args == []


def test_code_that_runs_differently_is_other_code() -> None:
    code = Scaled.step.__code__
    for name in ("CO_VARARGS", "CO_VARKEYWORDS", "CO_GENERATOR", "CO_COROUTINE", "CO_OPTIMIZED"):
        other = code.co_flags ^ getattr(inspect, name)

        class Flagged:
            co_flags = other

            def __getattr__(self, name: str) -> Any:
                return getattr(code, name)

        assert not same_code(code, Flagged())  # type: ignore[arg-type]

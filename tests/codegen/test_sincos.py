"""sin and cos of one argument are one function's results, with the bits that each alone has."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tracejit
from benchmarks.vector_math import defined
from benchmarks.vector_math.sweep import DTYPES, points

HUGE = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e4, -1e6, 1e22, 3e38])


def jitted(expression: str, parameters: str = "x") -> Any:
    return tracejit.jit(defined(f"    return {expression}\n", parameters), strict=True)


def calls(function: Any, *arguments: Any) -> tuple[set[str], list[str]]:
    """The vector functions that the program defines and those that it calls, without widths."""
    text = function.lower(*arguments).text("llvm")
    defines = re.findall(r"^define [^@]*@tj_(sin|cos|sincos)_", text, re.MULTILINE)
    return set(defines), re.findall(r"call [^@]*@tj_(sin|cos|sincos)_", text)


def same_bits(got: Any, want: Any) -> bool:
    number = ~np.isnan(want)
    return bool(
        np.array_equal(got, want, equal_nan=True)
        and np.array_equal(np.signbit(got)[number], np.signbit(want)[number])
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_both_have_the_bits_of_each_alone(dtype: str) -> None:
    x = np.concatenate([points("sin", dtype, 3_000), HUGE.astype(DTYPES[dtype])])
    together = jitted("np.sin(x), np.cos(x)")
    alone = jitted("np.sin(x)"), jitted("np.cos(x)")
    for length in (x.size, 33, 17, 16, 5, 1):
        part = x[-length:]
        for got, f in zip(together(part), alone, strict=True):
            assert same_bits(got, f(part))


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_function_gives_both(dtype: str) -> None:
    x = np.ones(1000, DTYPES[dtype])
    for expression in (
        "np.sin(x) * np.cos(x)",
        "np.cos(x) - np.sin(x)",
        "np.cos(x) * np.sin(x) + np.sin(x) * np.cos(x)",
        "np.sin(x * 2) + np.exp(x) + np.cos(x * 2)",
    ):
        defines, called = calls(jitted(expression), x)
        assert defines == set(called) == {"sincos"}, expression


def test_other_arguments_keep_their_own() -> None:
    x = np.ones(1000)
    assert calls(jitted("np.sin(x) + np.cos(y)", "x, y"), x, x)[0] == {"sin", "cos"}
    assert calls(jitted("np.sin(x) * np.cos(x) + np.sin(x * 3)"), x)[0] == {"sin", "sincos"}
    assert calls(jitted("np.sin(x) + np.sin(x * 2)"), x)[0] == {"sin"}


def test_beside_a_branch() -> None:
    """A result of another block may not have been computed."""
    f = jitted("np.sin(x) if x > 0 else np.cos(x)")
    for x in (0.5, -0.5):
        assert f(x) == (np.sin(x) if x > 0 else np.cos(x))

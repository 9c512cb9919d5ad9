"""A compiled function taken from an object is a method of Python's in all that is asked of it."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
import weakref
from types import MethodType
from typing import Any

import numpy as np
import pytest

import tracejit

X = np.arange(1.0, 4.0)


class Scale:
    """What is compiled and what is not, side by side."""

    def __init__(self, by: float) -> None:
        self.by = np.full(3, by)

    @tracejit.jit
    def times(self, x: Any, shift: float = 0.0) -> Any:
        """Both multiplied."""
        return x * self.by + shift

    def plain_times(self, x: Any, shift: float = 0.0) -> Any:
        return x * self.by + shift

    @classmethod
    @tracejit.jit
    def named(cls, x: Any) -> Any:
        return x + len(cls.__name__)


def test_what_is_asked_for_the_arguments_of_a_call() -> None:
    owner = Scale(2.0)
    graph = owner.times.trace(X, shift=1.0)
    assert [v.name for v in graph.inputs][0] == "x" and "multiply" in str(graph)
    assert "kernel" in owner.times.lower(X).stages
    assert owner.times.all_reasons(X) == []
    assert np.array_equal(owner.times.partial(X).outputs[0], X * 2)
    assert "self.by" in owner.times.view(X).text
    assert owner.times.report() is Scale.times.report()
    assert "test_bound_methods.py" in str(owner.times.profile(X))
    # From Python 3.13 on a class method does not ask the function below it how it is bound.
    given = (Scale, X) if type(Scale.named) is MethodType else (X,)
    assert "add" in str(Scale.named.trace(*given))


def test_it_is_a_method() -> None:
    owner, other = Scale(2.0), Scale(2.0)
    bound, plain = owner.times, owner.plain_times
    assert np.array_equal(bound(X), plain(X)) and np.array_equal(bound(X, shift=1), X * 2 + 1)
    assert isinstance(bound, MethodType) and inspect.ismethod(bound) and callable(bound)
    assert bound.__self__ is owner and bound.__func__ is Scale.times
    assert bound == owner.times and hash(bound) == hash(owner.times) and bound != other.times
    assert bound != plain and len({owner.times, owner.times, other.times}) == 2
    assert inspect.signature(bound) == inspect.signature(plain)
    assert (bound.__name__, bound.__doc__) == ("times", "Both multiplied.")
    assert bound.__qualname__ == "Scale.times" and "bound method Scale.times" in repr(bound)
    assert inspect.getsource(bound) == inspect.getsource(Scale.times)
    assert {"__self__", "lower", "report"} <= set(dir(bound))
    assert copy.copy(bound) == bound and np.array_equal(pickle.loads(pickle.dumps(bound))(X), X * 2)
    assert weakref.WeakMethod(bound)() == bound
    assert functools.wraps(bound)(lambda: 0).__name__ == "times"
    with pytest.raises(AttributeError):
        bound.anything = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="nothing"):
        bound.nothing  # noqa: B018


@pytest.mark.compiles
def test_compiled_code_takes_it_as_one() -> None:
    """As an argument, from outside, in containers and as an attribute; other objects are others."""
    owner, other = Scale(2.0), Scale(3.0)

    @tracejit.jit(strict=True)
    def apply(f: Any, x: Any) -> Any:
        return f(x) + 1

    kept = owner.times

    @tracejit.jit(strict=True)
    def from_outside(x: Any) -> Any:
        return kept(x) + owner.times(x)

    for _ in range(3):
        assert np.array_equal(apply(owner.times, X), X * 2 + 1)
        assert np.array_equal(apply(other.times, X), X * 3 + 1)
        assert np.array_equal(apply(owner.plain_times, X), X * 2 + 1)
        assert np.array_equal(from_outside(X), X * 4)
    owner.by = np.full(3, 5.0)
    assert np.array_equal(apply(owner.times, X), X * 5 + 1)
    assert np.array_equal(from_outside(X), X * 10)
    assert len(from_outside.report().compiles) == 1
    kept = other.times
    assert np.array_equal(from_outside(X), X * 8)
    assert np.array_equal(tracejit.grad(lambda x: owner.times(x).sum())(X), owner.by)
    assert np.array_equal(tracejit.jit(owner.times)(X), X * 5)


def test_an_exception_has_the_lines_of_the_program() -> None:
    bound = Scale(2.0).times
    with pytest.raises(ValueError, match="broadcast") as failed:
        bound(np.ones(4))
    names = [f.name for f in failed.traceback]
    assert names == ["test_an_exception_has_the_lines_of_the_program", "times"]
    with pytest.raises(TypeError, match="unexpected keyword argument 'shfit'"):
        bound(X, shfit=1.0)

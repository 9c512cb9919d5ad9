"""Arguments that a function never reads: labels, files, options that others look at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit

X = np.arange(3.0)
TEXTS = [f"run {k}" for k in range(6)]
ODD = [None, [1], {"a": X}, object(), range(3), b"x", (1, "b"), np.arange(2), 3, np.str_("s"), "t"]


def labelled(x: Any, label: Any) -> Any:
    return x * 2


def first(label: Any, x: Any) -> Any:
    return x - 1


def named(x: Any, *rest: Any, mode: Any = "a", **others: Any) -> Any:
    return x + others.get("z", 1.0)


def with_default(x: Any, a: Any = None, label: Any = "b") -> Any:
    return x + (1 if a is None else 2)


def in_a_closure(x: Any, label: Any) -> Any:
    def size() -> int:
        return len(label)

    return x + size()


def by_locals(x: Any, label: Any) -> Any:
    return x + len(locals()) + len(locals()["label"])


def bound_again(x: Any, label: Any) -> Any:
    label = "abc"
    return x * len(label)


def returned(x: Any, label: Any) -> Any:
    return x, label


def calls_of(f: Any) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    if f is named:
        return [((X, *TEXTS[:n]), {"mode": t}) for n in range(2) for t in TEXTS]
    if f is with_default:
        return [((X,), {"label": t}) for t in TEXTS] + [((X, 1, t), {}) for t in TEXTS]
    if f is first:
        return [((t, X), {}) for t in ODD] + [((), {"x": X, "label": t}) for t in ODD]
    return [((X, t), {}) for t in TEXTS] + [((X,), {"label": t}) for t in TEXTS]


FUNCTIONS = [labelled, first, named, with_default, in_a_closure, by_locals, bound_again, returned]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_results_are_those_of_the_function(f: Any) -> None:
    compiled = tracejit.jit(f)
    for args, kwargs in calls_of(f):
        assert repr(compiled(*args, **kwargs)) == repr(f(*args, **kwargs))


@pytest.mark.compiles
@pytest.mark.parametrize("f", [labelled, first], ids=lambda f: f.__name__)
def test_one_compile_serves_all(f: Any) -> None:
    compiled = tracejit.jit(f)
    for args, kwargs in calls_of(f):
        compiled(*args, **kwargs)
    assert len(compiled.report().compiles) == 1


def test_an_argument_is_missed_all_the_same() -> None:
    compiled = tracejit.jit(labelled)
    compiled(X, "a")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'label'"):
        compiled(X)
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        compiled(X, "a", "b")


def test_code_that_is_replaced_may_read_it() -> None:
    def plain(x: Any, label: Any) -> Any:
        return x * 2

    def reads(x: Any, label: Any) -> Any:
        return x * len(label)

    compiled = tracejit.jit(plain)
    for t in TEXTS[:2]:
        np.testing.assert_array_equal(compiled(X, t), X * 2)
    plain.__code__ = reads.__code__
    for t in ("ab", "abc", "ab"):
        np.testing.assert_array_equal(compiled(X, t), X * len(t))

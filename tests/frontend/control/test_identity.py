"""Lists, dicts, objects and iterators stay the objects they are, whatever compiled code does."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.control import item_samples, kept_tuple_samples, row_samples, tuple_samples
from tests.frontend.control.identity_samples import SAMPLES
from tests.students.program import difference, observe

#: The modules that add samples.
_MORE = (item_samples, kept_tuple_samples, row_samples, tuple_samples)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("f", "given"), SAMPLES, ids=[f.__name__ for f, _ in SAMPLES])
def test_objects_are_those_of_python(
    f: Callable[..., Any], given: tuple[tuple[Any, ...], ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracejit.config, "fallback", "ignore")
    jitted = tracejit.jit(f)
    for args in given:
        assert difference(observe(f, args), observe(jitted, args)) == ""
    assert "TJ013" not in [fallback.code for fallback in jitted.report().fallbacks]


@pytest.mark.parametrize("name", "two_buffers sieve tuple_as_it_came own_next_in_a_while".split())
def test_what_is_known_is_compiled(name: str) -> None:
    f, given = next((f, given) for f, given in SAMPLES if f.__name__ == name)
    jitted = tracejit.jit(f)
    observe(jitted, given[0])
    assert jitted.report().fallbacks == []


def test_an_object_is_refused_where_a_loop_loses_it() -> None:
    f = next(f for f, _ in SAMPLES if f.__name__ == "linked_while")
    jitted = tracejit.jit(f)
    with pytest.warns(tracejit.FallbackWarning, match="TJ034"):
        jitted(100.0)


def test_a_source_is_warned_of_once(tmp_path: Path) -> None:
    path = tmp_path / "escaped.py"
    path.write_text('def f(x):\n    note = "a' + "\\" + 'd"\n    return x + len(note)\n')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec = importlib.util.spec_from_file_location("escaped", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    before = list(warnings.filters)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jitted = tracejit.jit(module.f)
        assert jitted(2.0) == 5.0
    assert jitted.report().fallbacks == []
    assert list(warnings.filters) == before


def test_ever_new_kinds_of_calls_are_left_to_python() -> None:
    """Compiles that fail, or that serve one call each, end before long."""

    def permuted(seq: Any, now: Any, used: Any, out: Any) -> None:
        if len(now) == len(seq):
            out.append(list(now))
            return
        for i in range(len(seq)):
            if not used[i]:
                now.append(seq[i])
                used[i] = True
                f(seq, now, used, out)
                now.pop()
                used[i] = False

    f = tracejit.jit(permuted)
    out: list[list[str]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f(list("abcde"), [], [False] * 5, out)
    assert len(out) == 120 and out[-1] == list("edcba")
    assert len(f.report().variants) < 40


def test_calls_of_functions_that_call_themselves_are_not_folded() -> None:
    def gap(road: Any, at: int) -> Any:
        n = 0
        for cell in road[at + 1 :]:
            if cell != -1:
                return n
            n += 1
        return n + gap(road, -1)

    f = tracejit.jit(gap)
    assert f([6, -1, 6, -1, 6], 2) == 1
    assert np.all([x.code != "TJ013" for x in f.report().fallbacks])

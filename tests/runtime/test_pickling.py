"""Compiled functions in other processes: what arrives works, and is compiled once for a process."""

from __future__ import annotations

import importlib.util
import linecache
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime import pickled_functions as functions

ROOT = Path(__file__).resolve().parents[2]
X = np.arange(5.0)
needs_cloudpickle = pytest.mark.skipif(
    importlib.util.find_spec("cloudpickle") is None, reason="cloudpickle is not installed"
)


def run_script(tmp_path: Path, text: str, *arguments: str) -> str:
    """What a script prints that defines its functions itself."""
    script = tmp_path / "script.py"
    script.write_text(text)
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env={**functions.environment(), "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# By plain pickle ---------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_names(protocol: int) -> None:
    """What can be imported is the very same again."""
    for f in (functions.total, functions.Scale.times):
        assert pickle.loads(pickle.dumps(f, protocol)) is f


@pytest.mark.parametrize(
    "f",
    [
        tracejit.jit(functions.plain),
        tracejit.jit(functions.total, num_threads=1),
        tracejit.jit(partial(functions.weighted, w=2.0)),
        tracejit.jit(np.sum),
        functions.slope,
        tracejit.value_and_grad(functions.total),
        tracejit.vmap(tracejit.grad(functions.plain)),
        tracejit.jit(functions.Scale(3.0)),
        partial(functions.total),
        functions.Scale(3.0).times,
        tracejit.jit(functions.Scale(3.0).plain_times),
    ],
    ids=[f"callable{k}" for k in range(11)],
)
def test_what_has_no_name_is_made_again(f: Any) -> None:
    x = X[None] if "vmap" in repr(f) else X
    again = pickle.loads(pickle.dumps(f))
    tree = [again(x), f(x)]
    for ours, theirs in zip(*(t if isinstance(t, tuple) else (t,) for t in tree), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    if type(f).__name__.startswith("Jitted"):
        assert pickle.loads(pickle.dumps(f)) is again
        assert again._options == f._options


def test_attributes_go_along() -> None:
    f = tracejit.jit(functions.plain)
    f.note = "mine"
    assert pickle.loads(pickle.dumps(f)).note == "mine"
    f.note = "another"
    assert pickle.loads(pickle.dumps(f)).note == "another"


def test_what_plain_pickle_cannot_do() -> None:
    for f in (tracejit.jit(lambda x: x), tracejit.grad(lambda x: x)):
        with pytest.raises((pickle.PicklingError, AttributeError)):
            pickle.dumps(f)


def test_processes(tmp_path: Path) -> None:
    """Functions of a script, in processes started in each way: compiled once in each process."""
    assert run_script(tmp_path, functions.SCRIPT) == functions.PRINTED


# By cloudpickle -----------------------------------------------------------------------------------


@needs_cloudpickle
def test_functions_without_names() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    w = np.full(5, 2.0)

    def inner(x: Any) -> Any:
        return x * w

    @tracejit.jit
    def f(x: Any) -> Any:
        return inner(x).sum()

    data = cloudpickle.dumps(f)
    again = cloudpickle.loads(data)
    assert again is not f and again(X) == f(X) == 20.0
    assert again.report().compiles and not again.report().fallbacks
    # Equal contents, the same function; others, another one.
    assert cloudpickle.loads(cloudpickle.dumps(f)) is again
    w[:] = 3.0
    assert cloudpickle.loads(cloudpickle.dumps(f))(X) == 30.0
    for g in (tracejit.grad(f), tracejit.vmap(f), tracejit.jit(lambda x: f(x) + 1)):
        x = X[None] if "vmap" in repr(g) else X
        np.testing.assert_array_equal(cloudpickle.loads(cloudpickle.dumps(g))(x), g(x))
    assert cloudpickle.loads(cloudpickle.dumps(functions.total)) is functions.total


@needs_cloudpickle
def test_functions_of_a_notebook(tmp_path: Path) -> None:
    """Their source goes with them, to where there is no such file; they may call each other."""
    text = functions.CELL
    names: dict[str, Any] = {"__name__": "__main__", "tracejit": tracejit, "np": np}
    linecache.cache["<cell 1>"] = len(text), None, text.splitlines(keepends=True), "<cell 1>"
    exec(compile(text, "<cell 1>", "exec"), names)
    (tmp_path / "f.pickle").write_bytes(
        pytest.importorskip("cloudpickle").dumps((names["even"], names["Model"](2.0)))
    )
    printed = run_script(tmp_path, functions.READER, str(tmp_path / "f.pickle"))
    assert printed == "True False 3.0\n[] []\n<cell 1>\nhalf of nothing\n"


@needs_cloudpickle
def test_another_file_of_the_name(tmp_path: Path) -> None:
    """Of two texts of one name each function has its own."""
    cloudpickle = pytest.importorskip("cloudpickle")
    sent = []
    for k in (1, 2):
        text = f"@tracejit.jit\ndef f(x):\n    return x + {k}\n"
        names: dict[str, Any] = {"__name__": "__main__", "tracejit": tracejit}
        linecache.cache["<cell>"] = len(text), None, text.splitlines(keepends=True), "<cell>"
        exec(compile(text, "<cell>", "exec"), names)
        sent.append(cloudpickle.dumps(names["f"]))
    del linecache.cache["<cell>"]
    found = [cloudpickle.loads(data) for data in sent]
    assert [f(1.0) for f in found] == [2.0, 3.0]
    assert not any(f.report().fallbacks for f in found)


@needs_cloudpickle
def test_modules_that_go_by_value() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    cloudpickle.register_pickle_by_value(functions)
    try:
        data = cloudpickle.dumps(functions.total)
    finally:
        cloudpickle.unregister_pickle_by_value(functions)
    again = cloudpickle.loads(data)
    assert again is not functions.total and again(X) == functions.total(X)

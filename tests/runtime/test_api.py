"""A compiled function as a Python object: binding, state, eager mode, report, threads."""

from __future__ import annotations

import copy
import gc
import inspect
import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import pieces
from tests.support.compare import assert_parity, assert_same
from tracejit.errors import CODES, FallbackError

X = np.arange(3.0)


# The decorator -----------------------------------------------------------------------------------


def test_identity_of_the_function_is_kept() -> None:
    f = pieces.scaled_sum
    assert f.__name__ == "scaled_sum"
    assert f.__qualname__ == "scaled_sum"
    assert f.__module__ == "tests.programs.pieces"
    assert f.__doc__ == "Sum of `x`, scaled and moved."
    assert str(inspect.signature(f)).startswith("(x: numpy.ndarray, scale: float = 2.0, *, offset")
    assert inspect.unwrap(f) is f.__wrapped__
    assert f.__wrapped__.__name__ == "scaled_sum"
    assert callable(f)
    assert "scaled_sum" in repr(f)


def test_forms_of_the_decorator() -> None:
    assert_same(pieces.with_parentheses(X), X + 1)
    assert_same(pieces.strict_add(X, 1), X + 1)
    assert_same(tracejit.jit(strict=True)(pieces.add)(X, X), X + X)
    assert_same(tracejit.jit(lambda x: x * 3)(X), X * 3)
    with pytest.raises(TypeError):
        tracejit.jit(3)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        tracejit.jit(pieces.add, no_such_option=True)  # type: ignore[call-overload]


def test_arguments_bind_as_in_python() -> None:
    f, plain = pieces.scaled_sum, pieces.scaled_sum.__wrapped__
    for args, kwargs in (
        ((X,), {}),
        ((X, 3.0), {}),
        ((X,), {"scale": 3.0}),
        ((), {"x": X, "offset": 1.0}),
        ((X, 3), {"offset": np.float32(1)}),
        ((X,), {"offset": 1.0, "scale": 2.0}),
        ((), {}),
        ((X, 1.0, 2.0), {}),
        ((X,), {"x": X}),
        ((X,), {"unknown": 1}),
        ((), {"scale": 1.0}),
    ):
        assert_parity(plain, *args, jitted=f, kwargs=kwargs)
    assert_parity(pieces.collected, X, X + 1, kwargs={"a": 2.0, "b": X})
    assert_parity(pieces.collected, X, X + 1, kwargs={"b": X, "a": 2.0})
    assert_parity(pieces.collected)
    assert_parity(pieces.with_default_array, X, also=[(X, 2.0), (X, X)])


def test_decorating_costs_no_compiler() -> None:
    code = (
        "import sys, tracejit\n"
        "@tracejit.jit\ndef f(x): return x + 1\n"
        "assert not {'llvmlite', 'numba', 'scipy.linalg'} & set(sys.modules), 'imported'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_attributes_weak_references_and_collection() -> None:
    f = tracejit.jit(lambda x: x + 1)
    f.note = "mine"
    assert f.note == "mine"
    assert_same(f(X), X + 1)
    reference = weakref.ref(f)
    assert hash(f) == hash(f)
    assert f == f
    assert f != tracejit.jit(f.__wrapped__)
    del f
    gc.collect()
    assert reference() is None


def test_pickling_and_copying() -> None:
    f = pieces.scaled_sum
    assert pickle.loads(pickle.dumps(f)) is f
    assert copy.copy(f) is f
    assert copy.deepcopy(f) is f
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(tracejit.jit(lambda x: x))


def test_a_compiled_function_survives_a_process_pool() -> None:
    code = (
        "import numpy as np, concurrent.futures as c, multiprocessing as m\n"
        "from tests.programs.pieces import scaled_sum\n"
        "if __name__ == '__main__':\n"
        "    with c.ProcessPoolExecutor(1, m.get_context('spawn')) as pool:\n"
        "        assert pool.submit(scaled_sum, np.arange(4.0)).result() == 12.0\n"
    )
    root = Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root)


def test_methods() -> None:
    for weight in (2.0, np.arange(3.0), np.float32(1.5)):
        model = pieces.Model(weight)
        assert_same(model.predict(X), X * weight)
        assert_same(pieces.Model.predict(model, x=X), X * weight)
        bound = model.predict
        assert_same(bound(X), X * weight)
    first, second = pieces.Model(2.0), pieces.Model(5.0)
    assert_same([first.predict(X), second.predict(X)], [X * 2, X * 5])
    first.weight = 7.0
    assert_same([first.predict(X), second.predict(X)], [X * 7, X * 5])
    first.weight = np.ones(3, np.float32)
    assert_same(first.predict(X), X * first.weight)
    assert pieces.Model.predict.__doc__ == "Weighted input."
    assert first.predict.__self__ is first
    assert_same(pieces.Model.doubled(X), X * 2)
    assert_same(first.doubled(X), X * 2)
    assert_same(pieces.Model.with_shared(X[:2]), X[:2] + 1)
    assert_same(second.twice, 10.0)


def test_methods_that_change_their_object() -> None:
    model = pieces.Model(1.0)
    for call in range(1, 5):
        assert_same(model.count(X), X + call)
        assert model.calls == call


# State outside the arguments ---------------------------------------------------------------------


def test_globals_are_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tracejit.jit(pieces.uses_globals)
    monkeypatch.setattr(pieces, "WEIGHTS", pieces.WEIGHTS.copy())

    def same() -> None:
        assert_same(f(X), pieces.uses_globals(X))
        assert_same(f(X), pieces.uses_globals(X))

    same()
    monkeypatch.setattr(pieces, "OFFSET", 5.0)
    same()
    monkeypatch.setattr(pieces, "OFFSET", 5)
    same()
    pieces.WEIGHTS[1] = 100.0
    same()
    monkeypatch.setattr(pieces, "WEIGHTS", np.ones(1, np.float32))
    same()
    monkeypatch.setattr(pieces, "OFFSET", X)
    same()


def test_containers_outside_are_read_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tracejit.jit(pieces.uses_dictionary)
    for gain in (2.0, 3.0, 3, np.float32(1), X):
        monkeypatch.setitem(pieces.SETTINGS, "gain", gain)
        assert_same(f(X), pieces.uses_dictionary(X))


def test_helpers_may_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tracejit.jit(pieces.uses_helper)
    assert_same(f(X), (X + 1) * 2)
    monkeypatch.setattr(pieces, "helper", lambda x: x - 1)
    assert_same(f(X), (X - 1) * 2)


def test_closures_are_read_at_each_call() -> None:
    scaled, change = pieces.make_closure()
    f = tracejit.jit(scaled)
    for value in (None, 10.0, 7, np.float32(2)):
        if value is not None:
            change(value)
        assert_same(f(X[:2]), scaled(X[:2]))
        assert_same(f(X[:2]), scaled(X[:2]))


def test_effects_happen_once_a_call(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    f, g = tracejit.jit(pieces.notes_types), tracejit.jit(pieces.prints_sum)
    monkeypatch.setattr(pieces, "SEEN", [])
    for call in range(3):
        assert_same(f(X), X + 1)
        assert pieces.SEEN == ["ndarray"] * (call + 1)
        assert_same(g(X + call), (X + call) * 2)
        assert capsys.readouterr().out == f"sum {(X + call).sum()}\n"


def test_arguments_are_mutated_as_plain_code_would() -> None:
    assert_parity(pieces.stores, X, calls=3, also=[(np.arange(5.0)[::2],), (np.arange(4),)])
    locked = X.copy()
    locked.flags.writeable = False
    assert_parity(pieces.stores, locked)


def test_compiled_functions_call_each_other() -> None:
    assert_same(tracejit.jit(pieces.calls_compiled)(X), pieces.calls_compiled(X))
    with tracejit.eager():
        expected = pieces.calls_compiled(X)
    assert_same(tracejit.jit(tracejit.jit(pieces.calls_compiled))(X), expected)


def test_error_state_of_numpy_is_honoured() -> None:
    f = tracejit.jit(pieces.divided)
    zeros = np.zeros(3)
    with np.errstate(divide="ignore"):
        assert_same(f(zeros), np.full(3, np.inf))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        f(zeros)
    assert_parity(pieces.with_numpy_error_state, X + 1, also=[(X,)])


# Eager mode --------------------------------------------------------------------------------------


def test_eager_runs_the_function_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "SEEN", [])
    f = tracejit.jit(pieces.notes_types)
    g = tracejit.jit(pieces.chain)
    frames: list[str] = []

    def profile(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is pieces.chain.__code__:
            frames.append(type(frame.f_locals["x"]).__name__)

    with tracejit.eager():
        assert_same(f(X), X + 1)
        with tracejit.eager():
            f(X)
        f(X)
        sys.setprofile(profile)
        try:
            g(X, X)
        finally:
            sys.setprofile(None)
        assert g.report().compiles == []
    assert pieces.SEEN == ["ndarray"] * 3
    assert frames == ["ndarray"]
    g(X, X)
    assert len(g.report().compiles) == 1


@pytest.mark.compiles
def test_eager_ends_with_its_block_and_its_thread() -> None:
    f = tracejit.jit(pieces.chain)
    with pytest.raises(ZeroDivisionError), tracejit.eager():
        raise ZeroDivisionError
    f(X, X)
    assert len(f.report().compiles) == 1
    g = tracejit.jit(pieces.chain)
    with tracejit.eager():
        thread = threading.Thread(target=g, args=(X, X))
        thread.start()
        thread.join()
    assert len(g.report().compiles) == 1


def test_eager_after_compiling() -> None:
    f = tracejit.jit(pieces.divided)
    f(X + 1)
    with tracejit.eager(), np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        f(X)
    assert_same(f(X + 1), 1 / (X + 1))


def test_eager_by_environment() -> None:
    code = (
        "import sys, numpy as np, tracejit\n"
        "from tests.programs import pieces\n"
        "f = tracejit.jit(pieces.notes_types)\n"
        "f(np.ones(2)); f(np.ones(2))\n"
        "assert pieces.SEEN == ['ndarray', 'ndarray'], pieces.SEEN\n"
        "assert 'llvmlite' not in sys.modules\n"
    )
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "TRACEJIT_EAGER": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root, env=environment)


# Strict, report, stages --------------------------------------------------------------------------

FALLING_BACK = [pieces.tries, pieces.unknown_call]


@pytest.mark.parametrize("f", FALLING_BACK, ids=lambda f: f.__name__)
def test_strict_raises_with_code_and_line(f: Callable[..., Any]) -> None:
    jitted = tracejit.jit(f, strict=True)
    start = inspect.getsourcelines(f)[1]
    for _ in range(2):
        with pytest.raises(FallbackError) as caught:
            jitted(X + 1)
        assert caught.value.code in CODES
        assert caught.value.code in str(caught.value)
        assert "pieces.py" in str(caught.value)
        lines = [f"line {start + i}" for i in range(1, 4)]
        assert any(line in str(caught.value) for line in lines), str(caught.value)
    with tracejit.eager():
        assert_same(jitted(X + 1), f(X + 1))


@pytest.mark.parametrize("f", FALLING_BACK, ids=lambda f: f.__name__)
def test_a_fallback_is_right_and_reported_once(f: Callable[..., Any]) -> None:
    jitted = assert_parity(f, X + 1, calls=4)
    fallbacks = jitted.report().fallbacks
    assert len(fallbacks) == 1
    start, count = inspect.getsourcelines(f)[1], len(inspect.getsourcelines(f)[0])
    assert fallbacks[0].code in CODES
    assert start < fallbacks[0].line < start + count
    assert fallbacks[0].reason
    text = str(jitted.report())
    assert fallbacks[0].code in text
    assert f.__name__ in text


def test_strict_lets_exceptions_of_numpy_pass() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        pieces.strict_add(X, np.ones(4))
    assert_same(pieces.strict_add(X, X), X + X)


def test_report_counts_compiles() -> None:
    f = tracejit.jit(pieces.chain)
    assert f.report().compiles == []
    sizes_seen = []
    for size in (3, 3, 5, 7, 9, 1000, 33):
        f(np.ones(size), np.ones(size))
        sizes_seen.append(len(f.report().compiles))
    assert sizes_seen == [1, 1, 2, 2, 2, 2, 2]
    f(np.ones(1), np.ones(1))
    f(np.ones(0), np.ones(0))
    f(np.ones(6), np.ones(1))
    f(np.ones(6, np.float32), np.ones(6))
    count = len(f.report().compiles)
    assert count > 2
    for reason, signature in f.report().compiles:
        assert reason
        assert "f64" in signature or "f32" in signature
        assert reason in str(f.report())
    f(np.ones(1), np.ones(1))
    f(np.ones(0), np.ones(0))
    f(np.ones(16), np.ones(1))
    f(np.ones(16, np.float32), np.ones(16))
    assert len(f.report().compiles) == count


def test_stages_can_be_read() -> None:
    f = tracejit.jit(pieces.chain)
    graph = f.trace(X, X)
    assert "sin" in str(graph)
    lowered = f.lower(X, X)
    assert "sin" in lowered.text("trace")
    assert "pieces.py" in lowered.text("trace")
    assert "define" in lowered.text("llvm")
    assert lowered.text("kernel")
    assert lowered.text("asm")
    with pytest.raises((KeyError, ValueError), match="no such stage"):
        lowered.text("no such stage")
    assert_same(f(X, X), pieces.chain(X, X), "ulp", ulp=4)

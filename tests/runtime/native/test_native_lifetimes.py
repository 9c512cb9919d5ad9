"""What compiled functions keep alive, and what other threads change while they are called."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import publishing as p
from tests.runtime.native.test_native_publish import agree, fresh
from tracejit.link.watch import watch
from tracejit.ops.control import templates
from tracejit.ops.control.templates import refer, referred
from tracejit.runtime import native

pytestmark = [
    pytest.mark.llvm_anew,
    pytest.mark.skipif(not native.available(), reason=native.why_not()),
]

X = np.linspace(-1.0, 2.0, 4)


def test_nothing_outside_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(p, "WEIGHTS", np.arange(4.0))
    monkeypatch.setattr(p, "quarter", fresh(p.quarter))
    f, g = tracejit.jit(p.global_array), tracejit.jit(p.calls_helper)
    model = p.Model(np.arange(4.0))
    for _ in range(3):
        f(X), g(X), model.weighted(X), model.doubled(X)
    outside = [weakref.ref(o) for o in (p.WEIGHTS, p.quarter, model, model.weight)]
    p.WEIGHTS, p.quarter = 1.0, p.half
    del model
    gc.collect()
    assert [r() for r in outside] == [None] * 4
    agree(f, X)
    agree(g, X)


def test_functions_with_entries_are_collected() -> None:
    def build() -> list[Any]:
        w = np.arange(4.0)

        @tracejit.jit
        def f(x: Any, k: Any = w) -> Any:
            return x * w + k

        @tracejit.jit
        def g(x: Any) -> Any:
            return f(x) if x.ndim else g(x)

        for _ in range(3):
            f(X), f(x=X), g(X)
        return [weakref.ref(o) for o in (f, g, w, f.__wrapped__)]

    references = build()
    gc.collect()
    assert [r() for r in references] == [None] * 4


def test_no_references_are_lost_or_gained(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.arange(4.0)
    monkeypatch.setattr(p, "WEIGHTS", weights)
    model = p.Model(weights)
    f, g, h = tracejit.jit(p.global_array), tracejit.jit(p.keyword_default), p.Model.weighted
    calls = [(f, (X,), {}), (g, (X,), {"w": weights}), (h, (model, X), {})]
    other = np.ones(5)
    counted = (weights, other, model, X, g.__wrapped__.__kwdefaults__, p.quarter)
    for function, args, kwargs in calls * 2:
        function(*args, **kwargs)
    gc.collect()
    before = list(map(sys.getrefcount, counted))
    for _ in range(200):
        for function, args, kwargs in calls:
            function(*args, **kwargs)
            function(*args, **kwargs)
    gc.collect()
    assert list(map(sys.getrefcount, counted)) == before
    # A miss after the values were read gives them up, too.
    model.weight = other
    for _ in range(50):
        with pytest.raises(ValueError, match="broadcast"):
            model.weighted(X)
    model.weight = weights
    gc.collect()
    assert list(map(sys.getrefcount, counted))[:2] == before[:2]


def test_an_object_at_the_address_of_a_dead_one_is_another() -> None:
    class Key:
        __slots__ = ("__weakref__",)

    # Where the next objects go is for the allocator to say.
    for _ in range(50):
        first = Key()
        address, seen = id(first), watch(first)
        assert watch(first) is seen
        assert (seen.word.value, seen.get()) == (address, first)
        del first
        assert (seen.word.value, seen.get()) == (0, None)
        others = [Key() for _ in range(5000)]
        second = next((key for key in others if id(key) == address), None)
        if second is not None:
            break
    assert second is not None
    assert watch(second) is not seen
    assert watch(second).word.value == address
    with pytest.raises(TypeError):
        watch(1.5)


def test_a_constant_argument_is_not_kept_alive() -> None:
    f = tracejit.jit(p.first_twice)
    model = p.Model(1.0)
    for _ in range(3):
        f(X, model)
    reference = weakref.ref(model)
    del model
    gc.collect()
    assert reference() is None


# Threads -----------------------------------------------------------------------------------------


def test_names_that_are_rebound_while_other_threads_call(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = np.ones(4), np.full((60_000, 4), 2.0)
    monkeypatch.setattr(p, "WEIGHTS", small)
    f = tracejit.jit(p.global_array)
    model = p.Model(small)
    expected = {small.shape: X * small, large.shape: X * large}
    stop = threading.Event()
    wrong: list[Any] = []

    def call() -> None:
        while not stop.is_set():
            for result in (f(X), model.weighted(X)):
                if not np.array_equal(result, expected[result.shape]):
                    wrong.append(result)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for k in range(150):
        value = (small, large)[k % 2].copy()
        p.WEIGHTS = model.weight = value
        del value
        f(X)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("kind", ["watched", "numbered"])
def test_an_interrupt_while_an_object_dies(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first Python that runs then is interrupted: no later object is taken for the dead one."""
    obj, later = p.Model(np.arange(4.0)), p.Model(np.arange(4.0))
    record = watch(obj) if kind == "watched" else None
    number = refer(obj) if kind == "numbered" else 0

    def interrupt(frame: Any, event: str, argument: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "unraisablehook", lambda found: None)
    before = sys.gettrace()
    sys.settrace(interrupt)
    try:
        # No frame begins here but that of a callback.
        del obj
    finally:
        sys.settrace(before)
    if record is not None:
        assert record.get() is None and record.word.value == 0
    else:
        # A later object has the address of the dead one.
        templates._NUMBERS[id(later)] = number
        assert refer(later) != number and referred(refer(later)) is later

"""Methods that change their objects: compiled, every object is afterwards as Python leaves it."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import object_programs as programs
from tests.programs.object_programs import SCENARIOS, Scenario

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def picture(x: Any, seen: dict[int, int] | None = None) -> Any:
    """All that an object holds, with which parts of it are one object."""
    seen = {} if seen is None else seen
    if type(x) in _PLAIN or isinstance(x, np.generic):
        return type(x), x
    if id(x) in seen:
        return "again", seen[id(x)]
    seen[id(x)] = len(seen)
    if isinstance(x, np.ndarray):
        return x.dtype, x.shape, x.tolist()
    if isinstance(x, dict):
        return "dict", [(k, picture(v, seen)) for k, v in x.items()]
    if isinstance(x, (list, tuple)):
        return type(x), [picture(v, seen) for v in x]
    names = [*getattr(x, "__dict__", ())]
    names += [n for n in getattr(type(x), "__slots__", ()) if hasattr(x, n)]
    return type(x), [(n, picture(getattr(x, n), seen)) for n in names]


def close(a: Any, b: Any) -> bool:
    """Whether two pictures differ at most by rounding."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, (float, np.floating)) and isinstance(b, (float, np.floating)):
        return bool(np.isclose(a, b, rtol=1e-12, atol=1e-13, equal_nan=True))
    return bool(a == b)


def outcome(f: Any, *args: Any) -> Any:
    try:
        return f(*args)
    except Exception as e:
        return type(e), str(e)


def play(scenario: Scenario, methods: dict[str, Any]) -> None:
    """Make the calls on two objects, plain and compiled; hold all against each other."""
    plain, compiled = scenario.make(), scenario.make()
    cls = type(plain)
    for name, args in scenario.calls:
        one, two = copy.deepcopy(args), copy.deepcopy(args)
        f = methods.setdefault(name, tracejit.jit(vars(cls)[name]))
        results = outcome(getattr(cls, name), plain, *one), outcome(f, compiled, *two)
        first, second = (
            picture(x) for x in ((plain, one, results[0]), (compiled, two, results[1]))
        )
        assert close(first, second), f"{name}: {first}\n{second}"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", SCENARIOS)
def test_objects_are_changed_as_python_does(name: str) -> None:
    methods: dict[str, Any] = {}
    play(SCENARIOS[name], methods)
    compiles = {}
    for method, f in methods.items():
        assert f.report().fallbacks == [], str(f.report())
        compiles[method] = len(f.report().compiles)
    # Another object with the same past needs nothing new.
    play(SCENARIOS[name], methods)
    assert compiles == {m: len(f.report().compiles) for m, f in methods.items()}


def test_one_compile_serves_all_instances() -> None:
    forward = tracejit.jit(programs.Dense.forward)
    x = np.ones((2, 4))
    for k in range(50):
        layer = programs.Dense(4, 3, k)
        assert np.allclose(forward(layer, x), x @ layer.w + layer.b)
        assert layer.x is x
    assert len(forward.report().compiles) == 1


@pytest.mark.compiles
def test_one_compile_serves_the_methods_that_objects_hold() -> None:
    fit, x = tracejit.jit(programs.Perceptron.fit), np.arange(4.0)
    for _ in range(9):
        owner = programs.Perceptron()
        assert fit(owner, x) == programs.Perceptron().fit(x) and owner.calls == 4
    assert len(fit.report().compiles) == 1
    other = programs.Perceptron()
    owner.activation = other.step
    assert fit(owner, x) == 16.0 and (owner.calls, other.calls) == (4, 4)
    owner.activation = owner.twice
    assert fit(owner, x) == 28.0 and (owner.calls, other.calls) == (4, 4)


def test_numbers_that_differ_between_objects_become_inputs() -> None:
    move = tracejit.jit(programs.Scaled.move)
    for k in range(30):
        scaled = programs.Scaled()
        scaled.changes = k
        scaled._value = k / 7
        assert move(scaled, 0.5 * k) == 0.5 * k + 2
        assert scaled.changes == k + 2
    assert len(move.report().compiles) <= 3, str(move.report())


def test_objects_that_were_two_and_are_one() -> None:
    """Code for two objects does not serve one that is given twice."""
    f = tracejit.jit(programs.transfer)
    for first, second in ((1.0, 2.0), (3.0, 4.0)):
        a, b = programs.Scaled(), programs.Scaled()
        a._value, b._value = first, second
        f(a, b, 0.5)
        assert (a._value, b._value) == (first - 0.5, second + 0.5)
    a._value = 5.0
    f(a, a, 0.5)
    assert a._value == 5.0
    inside = tracejit.jit(programs.transfer_inside)
    pair = programs.Shared()
    pair.b = copy.copy(pair.a)
    inside(pair)
    assert (pair.a.n, pair.b.n) == (0, 2)
    pair.b = pair.a
    inside(pair)
    assert pair.a.n == 0


def test_what_a_class_does_with_stores_is_respected() -> None:
    noted = programs.Noted()
    with pytest.warns(tracejit.errors.FallbackWarning):
        tracejit.jit(programs.set_x)(noted, 3.0)
    assert noted.log == ["x"] and noted.x == 3.0
    f = tracejit.jit(programs.set_x)
    plain = programs.Scaled()
    f(plain, 1.0)
    f(plain, 2.0)
    assert plain.x == 2.0
    changed = type("Changed", (programs.Scaled,), {})
    later = changed()
    f(later, 1.0)
    changed.x = property(lambda self: 5.0, lambda self, v: self.__dict__.update(kept=v))  # type: ignore[attr-defined]
    f(later, 2.0)
    assert later.kept == 2.0 and later.__dict__["x"] == 1.0


def test_copies_pickles_and_finalizers() -> None:
    add = tracejit.jit(programs.Average.add)
    average = programs.Average()
    add(average, 1.0)
    twin = copy.deepcopy(average)
    add(twin, 3.0)
    assert (average.total, twin.total) == (1.0, 4.0)
    walk = tracejit.jit(programs.Walker.walk)
    walker = programs.Walker()
    walk(walker, np.ones((2, 2)))
    again = pickle.loads(pickle.dumps(walker))
    walk(again, np.ones((2, 2)))
    assert again.visits > walker.visits
    gone = weakref.ref(walker)
    del walker
    gc.collect()
    assert gone() is None


def test_threads_that_share_an_object() -> None:
    add = tracejit.jit(programs.Average.add)
    average = programs.Average()
    add(average, 1.0)
    add(average, 1.0)

    def work() -> None:
        for _ in range(500):
            add(average, 1.0)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert 502 <= average.count <= 1002 and average.total == int(average.total)


def test_names_of_the_module_and_of_functions_around() -> None:
    x = np.ones(3)
    names = vars(programs)
    before = {n: names[n] for n in programs.NAMES_BOUND if n in names}

    def runs(f: Any) -> list[Any]:
        for n in programs.NAMES_BOUND:
            names.pop(n, None)
        names.update(before)
        found = []
        for k in range(4):
            result = f(x * k)
            found.append((result, {n: names[n] for n in programs.NAMES_BOUND if n in names}))
        return found

    f = tracejit.jit(programs.counts_globally)
    assert close(picture(runs(programs.counts_globally)), picture(runs(f)))
    assert f.report().fallbacks == [], str(f.report())
    (plain, told), (inner, seen) = programs.counter(), programs.counter()
    compiled = tracejit.jit(inner)
    for k in range(5):
        assert plain(k * 1.0) == compiled(k * 1.0)
        assert told() == seen()
    assert compiled.report().fallbacks == [], str(compiled.report())


def test_attributes_of_classes_that_change() -> None:
    counted = programs.Counted

    def runs(f: Any) -> list[Any]:
        counted.made, counted.total = 0, 0.0
        owner = counted()
        values = (1.0, 2.0, 3.0, 1.0, 1.0)
        return [(f(owner, v), counted.made, counted.total, vars(owner)) for v in values]

    f = tracejit.jit(counted.add)
    assert runs(counted.add) == runs(f)
    assert f.report().fallbacks == [] and len(f.report().compiles) <= 2, str(f.report())


def test_changes_of_classes_are_seen_by_machine_code() -> None:
    base = type("Base", (), {"shift": 1.0, "go": lambda self: self.x + self.shift})
    cls = type("Derived", (base,), {})
    f = tracejit.jit(programs.call_go)
    owner = cls()
    owner.x = 2.0

    def values() -> list[Any]:
        return [f(owner) for _ in range(3)]

    assert values() == [3.0] * 3
    base.shift = 5.0  # type: ignore[attr-defined]
    assert values() == [7.0] * 3
    cls.shift = 6.0  # type: ignore[attr-defined]
    assert values() == [8.0] * 3
    del cls.shift  # type: ignore[attr-defined]
    assert values() == [7.0] * 3
    base.go = lambda self: self.x * self.shift  # type: ignore[attr-defined]
    assert values() == [10.0] * 3
    cls.__bases__ = (type("Other", (), {"go": lambda self: self.x}),)
    assert values() == [2.0] * 3
    base.unrelated = 1  # type: ignore[attr-defined]
    assert values() == [2.0] * 3
    owner.go = lambda: 11.0
    assert values() == [11.0] * 3


LOG: list[Any] = []
OTHER: list[Any] = LOG


def test_lists_of_a_module_that_are_only_appended_to_are_not_read() -> None:
    seen: list[Any] = []

    def noted(x: Any) -> Any:
        LOG.append(x + 1)
        seen.extend((x, 2.0))
        return x * 2

    LOG.clear()
    f = tracejit.jit(noted)
    for k in range(5):
        assert f(float(k)) == 2.0 * k
    assert LOG == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert seen == [0.0, 2.0, 1.0, 2.0, 2.0, 2.0, 3.0, 2.0, 4.0, 2.0]
    assert len(f.report().compiles) <= 2 and not f.report().fallbacks

    def read(x: Any) -> Any:
        LOG.append(x)
        return LOG[-2] + len(LOG)

    g = tracejit.jit(read)
    for k in range(3):
        expected = LOG[-1] + len(LOG) + 1
        assert g(float(k)) == expected

    def twice(x: Any) -> Any:
        LOG.append(x)
        OTHER.append(x + 1)

    h = tracejit.jit(twice)
    for k in range(3):
        h(float(k))
        assert LOG[-2:] == [k, k + 1.0]
        h.__globals__["OTHER"] = [] if k else LOG
        h(float(k))
        assert h.__globals__["OTHER"][-1] == k + 1.0 and LOG[-1] == (k if k else k + 1.0)
        h.__globals__["OTHER"] = LOG

    def bound(x: Any) -> Any:
        nonlocal seen
        seen = []
        seen.append(x)
        return seen

    assert tracejit.jit(bound)(1.0) == [1.0] == seen

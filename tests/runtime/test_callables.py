"""`jit` of callables of every kind: calls, attributes and tools see what the plain one shows."""

import abc
import asyncio
import copy
import dataclasses
import doctest
import functools
import gc
import inspect
import multiprocessing
import operator
import pickle
import pydoc
import types
import typing
import weakref

import numpy as np
import pytest

import tracejit
from tests.runtime import callable_samples as samples

TOOLS = (
    inspect.signature,
    inspect.getsource,
    inspect.getsourcelines,
    inspect.getfullargspec,
    inspect.getdoc,
    inspect.getmodule,
    inspect.iscoroutinefunction,
    inspect.isgeneratorfunction,
    inspect.isroutine,
    inspect.unwrap,
    asyncio.iscoroutinefunction,
    typing.get_type_hints,
    callable,
)
OWN = ("__code__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__", "__builtins__")
SHOWN = functools.WRAPPER_ASSIGNMENTS


def same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        assert np.allclose(found, expected, rtol=1e-15, atol=0) or found.dtype == object
    else:
        assert found == expected


@pytest.mark.compiles
@pytest.mark.parametrize("name", samples.CALLABLES)
def test_a_compiled_callable_answers_as_the_callable(name):
    f, args = samples.CALLABLES[name]
    compiled = tracejit.jit(f)
    for _ in range(3):
        same(compiled(*args), f(*args))
    report = compiled.report()
    assert len(report.variants) + len(report.fallbacks) == 1
    assert compiled.__wrapped__ is f and tracejit.jit(compiled) is compiled
    with tracejit.eager():
        same(compiled(*args), f(*args))
    strict = tracejit.jit(compiled, strict=True)
    assert strict is not compiled and strict.__wrapped__ is f
    if report.fallbacks:
        with pytest.raises(tracejit.errors.FallbackError):
            strict(*args)


@pytest.mark.parametrize("name", samples.CALLABLES)
def test_in_a_class_it_is_bound_as_the_callable(name):
    f, args = samples.CALLABLES[name]
    plain = type("Holder", (), {"f": f})
    compiled = type("Holder", (), {"f": tracejit.jit(f)})
    for find in (lambda cls: cls.f, lambda cls: cls().f):
        for _ in range(3):
            outcomes = []
            for cls in (plain, compiled):
                try:
                    outcomes.append(find(cls)(*args))
                except TypeError as e:
                    outcomes.append(type(e))
            same(*outcomes[::-1])


@pytest.mark.parametrize("f", [samples.scaled, samples.make(2.0), samples.generate, samples.wait])
def test_tools_see_the_function(f):
    compiled = tracejit.jit(f)
    for name in OWN:
        assert getattr(compiled, name) is getattr(f, name), name
    for name in SHOWN:
        assert getattr(compiled, name) == getattr(f, name), name
    for tool in TOOLS:
        assert tool(compiled) == tool(f), tool
    assert not inspect.isfunction(compiled) and inspect.isfunction(inspect.unwrap(compiled))
    assert inspect.getfile(inspect.unwrap(compiled)) == samples.__file__
    found, expected = (pydoc.render_doc(x, renderer=pydoc.plaintext) for x in (compiled, f))
    assert found.partition("\n\n")[2] == expected.partition("\n\n")[2]


def test_doctests_are_found_and_run():
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    (found,) = [t for t in finder.find(samples) if t.name.endswith("documented")]
    assert runner.run(found) == (0, 1)
    assert "documented(x, k: float = 2.0" in pydoc.render_doc(samples, renderer=pydoc.plaintext)


def test_what_a_function_consists_of_may_be_replaced():
    for place in ("function", "compiled"):
        f = types.FunctionType(samples.scaled.__code__, vars(samples), "f", (2.0,))
        f.__kwdefaults__ = {"shift": 1.0}
        compiled = tracejit.jit(f)
        changed = f if place == "function" else compiled
        assert compiled(1.5) == compiled(1.5) == 4.0
        changed.__defaults__ = (4.0,)
        assert compiled(1.5) == compiled(1.5) == f(1.5) == 7.0
        changed.__kwdefaults__ = {"shift": 0.0}
        assert compiled(1.5) == compiled(1.5) == f(1.5) == 6.0
        changed.__kwdefaults__["shift"] = 3.0
        assert compiled(1.5) == compiled(1.5) == f(1.5) == 9.0
        changed.__code__ = samples.other.__code__
        assert compiled(1.5) == compiled(1.5) == f(1.5) == -2.5
        changed.__defaults__ = None
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            compiled(1.5)
        assert compiled.lower(1.5, 2.0).stages and str(inspect.signature(compiled)).startswith(
            "(x, k,"
        )


def test_functions_of_changed_contents_from_outside():
    inner = samples.make(2.0)
    compiled = tracejit.jit(inner)
    assert compiled(1.5) == 3.0
    compiled.__closure__[0].cell_contents = 4.0
    assert compiled(1.5) == 6.0


def test_attributes_of_a_compiled_function():
    for value in (1.0, 2.5, np.ones(2), 7):
        samples.offset.by = value
        for _ in range(2):
            same(samples.offset(1.5), 1.5 + value)
    assert not samples.offset.report().fallbacks
    samples.counted.calls = 0
    assert [samples.counted(1.5) for _ in range(3)] == [3.0] * 3
    assert samples.counted.calls == 3
    del samples.offset.by
    with pytest.raises(AttributeError, match="by"):
        samples.offset(1.5)


def test_wrappers_of_a_compiled_function_hold_nothing_of_the_compiler():
    compiled = tracejit.jit(samples.scaled)
    compiled(1.5)
    compiled.tag = "mine"
    own = {*SHOWN, "__wrapped__", "tag"}
    assert set(vars(compiled)) == own
    wrapper = samples.twice(compiled)
    assert wrapper.__wrapped__ is compiled and wrapper.tag == "mine"
    assert not hasattr(wrapper, "__tracejit__") and not hasattr(wrapper, "report")
    assert tracejit.grad(wrapper)(1.5) == 4.0
    with tracejit.eager():
        assert tracejit.grad(wrapper)(1.5) == 4.0
    assert tracejit.jit(wrapper)(1.5) == wrapper(1.5) == 8.0


def test_a_cache_stays_a_cache():
    calls = []

    @functools.lru_cache(maxsize=2)
    def cached(n):
        calls.append(n)
        return [n]

    compiled = tracejit.jit(cached)
    assert compiled(1) is compiled(1) is cached(1) and calls == [1]
    assert compiled.cache_info().hits == 2 and compiled.cache_parameters()["maxsize"] == 2
    compiled.cache_clear()
    assert compiled(1) is not None and calls == [1, 1]
    assert [f.code for f in compiled.report().fallbacks] == ["TJ002"]
    with pytest.raises(TypeError, match="unhashable"):
        compiled(np.ones(3))

    outer = tracejit.jit(lambda x, n: x * cached(n)[0])
    assert outer(2.0, 7) == outer(2.0, 7) == 14.0 and calls.count(7) == 1
    compiled_inside = functools.lru_cache(tracejit.jit(lambda x: x * 2))
    assert compiled_inside(1.5) == 3.0 and compiled_inside.cache_info().misses == 1


def test_attributes_of_callables_that_are_no_functions():
    layer = samples.Layer(2.0)
    compiled = tracejit.jit(layer)
    assert compiled(1.5) == 3.0 and compiled.w == 2.0 and compiled.method(1.0) == -1.0
    layer.w = 4.0
    assert compiled(1.5) == 6.0 and compiled.w == 4.0
    compiled.w = 8.0
    assert compiled(1.5) == 12.0 and layer.w == 8.0
    compiled.tag = "mine"
    assert compiled.tag == "mine" and not hasattr(layer, "tag")
    del compiled.tag
    assert not hasattr(compiled, "tag") and compiled.__doc__ == "A layer."
    del compiled.w
    with pytest.raises(AttributeError, match="w"):
        compiled(1.5)

    partial = tracejit.jit(functools.partial(samples.scaled, k=3.0))
    assert partial.func is samples.scaled and partial.keywords == {"k": 3.0}
    assert list(inspect.signature(partial).parameters) == ["x", "k", "shift"]
    assert tracejit.jit(np.add).nin == 2
    assert tracejit.jit(layer.method).__self__ is layer

    @tracejit.jit
    @tracejit.custom_vjp
    def tripled(x):
        return x * 3

    tripled.defvjp(lambda x: (x * 3, ()), lambda _, g: (10 * g,))
    assert tripled(1.5) == 4.5 and tracejit.grad(tripled)(1.5) == 10.0


def test_attributes_that_a_class_declares():
    layer = samples.Declared()
    compiled = tracejit.jit(layer)
    compiled.w = 2.0
    assert compiled(1.5) == 3.0 and layer.w == compiled.w == 2.0
    del compiled.w
    assert not hasattr(layer, "w")
    compiled.half = 2.0
    assert compiled(1.5) == 6.0 and layer.w == 4.0


def test_names_that_an_object_shares_with_compiled_functions():
    class Reporter(samples.Layer):
        def report(self):
            return "own"

    layer = Reporter(2.0)
    layer._strict, layer._lock, layer._slow, layer.trace = "a", "b", "c", "d"
    compiled = tracejit.jit(layer)
    assert compiled(1.5) == compiled(1.5) == 3.0
    assert len(compiled.report().variants) == 1 and compiled.__wrapped__.report() == "own"
    assert compiled.trace(1.5).outputs


def test_the_derivative_of_a_callable_is_its_own():
    def slope(f):
        with_dict = set(getattr(f, "__dict__", ())) - {"__tracejit_jvp__"}
        for _ in range(2):
            assert tracejit.jvp(f, (1.5,), (1.0,))[1] == (found := f(2.5) - f(1.5))
        assert set(getattr(f, "__dict__", ())) - {"__tracejit_jvp__"} == with_dict
        return found

    assert [slope(samples.Layer(w)) for w in (2.0, 5.0)] == [2.0, 5.0]
    assert [slope(functools.partial(samples.scaled, k=k)) for k in (2.0, 5.0)] == [2.0, 5.0]
    assert [slope(samples.Model(w).method) for w in (2.0, 5.0)] == [2.0, 5.0]
    assert [slope(tracejit.jit(samples.Layer(w))) for w in (2.0, 5.0)] == [2.0, 5.0]
    for f in (samples.scaled, tracejit.jit(samples.scaled)):
        assert slope(f) == 2.0 and slope(samples.twice(f)) == 4.0 and slope(f) == 2.0
        again = samples.twice(samples.twice(f))
        assert slope(again) == 8.0
    layer = samples.Layer(2.0)
    slope(layer)
    other = copy.copy(layer)
    other.w = 5.0
    assert (
        slope(other) == 5.0 and pickle.loads(pickle.dumps(layer)).w == 2.0 and slope(layer) == 2.0
    )
    data = samples.Unhashable(3.0)
    assert slope(data) == 3.0
    assert tracejit.grad(lambda d: d.w**2)(data) == samples.Unhashable(6.0)
    gone = weakref.ref(layer)
    del layer
    gc.collect()
    assert gone() is None


def test_methods_of_every_kind():
    for cls, factor, more in ((samples.Model, 3.0, 0.0), (samples.Wider, 7.0, 1.0)):
        model = cls(2.0)
        for _ in range(3):
            assert model.method(1.5) == cls.method(model, 1.5) == 3.0 + more
            assert model.class_inside(1.5) == cls.class_inside(1.5) == 1.5 * factor
            assert model.class_outside(1.5) == cls.class_outside(1.5) == 1.5 * factor + more
            assert model.static_inside(1.5) == cls.static_inside(1.5) == 7.5
            assert model.static_outside(1.5) == cls.static_outside(1.5) == 7.5
            assert model.double == 4.0 and model.kept == 8.0
            assert model.half() == 1.0 and model.third() == 6.0
            assert abs(model.activation(1.5) - np.tanh(1.5)) < 1e-15
            assert cls.scaling(1.5) == model.scaling(1.5) == 5.5
            expected = np.tanh(5.5) * 2.0 + more + 7.5
            assert abs(model.all(1.5) - expected) < 1e-14
        model.w = 5.0
        assert model.method(1.5) == 7.5 + more and model.double == 10.0 and model.kept == 8.0
    for f in (samples.Wider.__dict__["method"], samples.Model.__dict__["all"]):
        assert f.report().variants and not f.report().fallbacks


def test_a_compiled_function_is_pickled_by_its_name():
    f, method = samples.documented, samples.Model.method
    assert pickle.loads(pickle.dumps(f)) is f and pickle.loads(pickle.dumps(method)) is method
    bound = pickle.loads(pickle.dumps(samples.Model(2.0).method))
    assert bound(1.5) == 3.0
    # Without a name of its own it is the plain function that goes, where that can.
    for plain in (samples.scaled, np.sin):
        other = tracejit.jit(plain, strict=True)
        again = pickle.loads(pickle.dumps(other))
        assert again is not other and again._options.strict and again.__tracejit__ is plain
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(tracejit.jit(lambda x: x))
    assert copy.copy(f) is f and copy.deepcopy({"f": f})["f"] is f
    assert {f: 1}[f] == 1 and f == f and f != tracejit.jit(f.__wrapped__)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(samples.documented, [1.5, 2.5]) == [4.0, 6.0]


@pytest.mark.parametrize("make", [lambda: lambda x: x + 1, lambda: samples.Layer(2.0)])
def test_a_compiled_callable_is_collected(make):
    plain = make()
    compiled = tracejit.jit(plain)
    compiled(1.5)
    compiled(np.ones(3))
    gone = weakref.ref(compiled), weakref.ref(plain)
    del compiled, plain
    gc.collect()
    assert [r() for r in gone] == [None, None]


def test_tools_that_take_functions_take_compiled_ones():
    compiled = tracejit.jit(samples.scaled)
    generic = functools.singledispatch(compiled)

    @generic.register
    @tracejit.jit
    def _(x: int):
        return x - 1

    assert generic(1.5) == 4.0 and generic(3) == 2

    class Base(abc.ABC):
        @abc.abstractmethod
        @tracejit.jit
        def outside(self):
            return 1

        @tracejit.jit
        @abc.abstractmethod
        def inside(self):
            return 1

    assert Base.__abstractmethods__ == {"outside", "inside"}

    @dataclasses.dataclass
    class Options:
        f: typing.Any = compiled
        g: typing.Any = tracejit.jit(operator.neg)

    assert Options().f(1.5) == 4.0 and Options().g(1.5) == -1.5
    assert functools.reduce(tracejit.jit(operator.add), [1.0, 2.0, 3.0]) == 6.0
    assert list(map(compiled, [1.0, 2.0])) == [3.0, 5.0]


def test_what_is_not_called_is_refused():
    with pytest.raises(TypeError, match="not the class Layer: put it above the methods"):
        tracejit.jit(samples.Layer)
    with pytest.raises(TypeError, match="not property: put it below @property"):
        tracejit.jit(property(samples.scaled))
    with pytest.raises(TypeError, match="below @cached_property"):
        tracejit.jit(functools.cached_property(samples.scaled))
    for x in (3, "f", [samples.scaled], np.ones(3)):
        with pytest.raises(TypeError, match="jit takes a function, not "):
            tracejit.jit(x)

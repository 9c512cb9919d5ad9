"""An argument that is stored into, and read by another way too: no gradient is a wrong one."""

import collections
import functools
import types
import weakref

import numpy as np
import pytest

import tracejit

MODULE = types.ModuleType("outer")
MODULE.inner = types.ModuleType("outer.inner")
GIVEN = None


class Holder:
    kept = None

    def __init__(self, w):
        self.w = w

    def get(self):
        return self.w

    @property
    def shown(self):
        return self.w


class Slotted:
    __slots__ = ("w",)

    def __init__(self, w):
        self.w = w


class Reader:
    def get(self):
        return GIVEN


class Floats(list):
    pass


def put(owner, name, x, given=None):
    setattr(owner, name, x) if not isinstance(owner, dict) else owner.__setitem__(name, x)
    return given


#: What makes another way to an array, and how a function goes it.
WAYS = {
    "namespace": (lambda x: types.SimpleNamespace(w=x), lambda o: o.w),
    "slots": (Slotted, lambda o: o.w),
    "method": (Holder, lambda o: o.get()),
    "property": (Holder, lambda o: o.shown),
    "bound method": (lambda x: Holder(x).get, lambda o: o()),
    "class": (lambda x: put(Holder, "kept", x), lambda o: Holder.kept),
    "class given": (lambda x: put(Holder, "kept", x, Holder), lambda o: o.kept),
    "module": (lambda x: put(MODULE, "w", x), lambda o: MODULE.w),
    "module in a module": (lambda x: put(MODULE.inner, "w", x), lambda o: MODULE.inner.w),
    "global": (lambda x: put(globals(), "GIVEN", x), lambda o: GIVEN),
    "global of a method": (lambda x: put(globals(), "GIVEN", x, Reader()), lambda o: o.get()),
    "deque": (lambda x: collections.deque([x]), lambda o: o[0]),
    "ordered dict": (lambda x: collections.OrderedDict(a=x), lambda o: o["a"]),
    "proxy": (lambda x: types.MappingProxyType({"a": x}), lambda o: o["a"]),
    "own list": (lambda x: Floats([x]), lambda o: o[0]),
    "lambda": (lambda x: lambda: x, lambda o: o()),
    "lambda in an object": (lambda x: Holder(lambda: x), lambda o: o.w()),
    "deep": (lambda x: Holder({"a": [Holder((x,))]}), lambda o: o.w["a"][0].w[0]),
    "object in a list": (lambda x: [Holder(x)], lambda o: o[0].w),
    "view": (lambda x: Holder(x[::-1]), lambda o: o.w),
    "view of integers": (lambda x: x.view(np.int64), lambda o: o.view(np.float64)),
    "array of objects": (lambda x: np.array([x, None], dtype=object), lambda o: o[0]),
    "iterator": (lambda x: iter([x, x]), lambda o: next(o)),
    "generator": (lambda x: (v for v in [x]), lambda o: next(o)),
    "weak reference": (weakref.ref, lambda o: o()),
    "memoryview": (memoryview, lambda o: np.asarray(o)),
    "partial": (lambda x: functools.partial(lambda a: a, x), lambda o: o()),
    "compiled function": (lambda x: tracejit.jit(lambda: x), lambda o: o()),
    "compiled method": (lambda x: tracejit.jit(Holder(x).get), lambda o: o()),
}


def call(read):
    def f(x, o):
        x[0] = x[1] * 3
        return (read(o) * x).sum()

    return f


def eagerly(run):
    with tracejit.eager():
        return run()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("way", WAYS)
def test_another_way_to_an_argument_that_is_stored_into(way):
    make, read = WAYS[way]
    f = call(read)
    for run in (
        lambda x, o: tracejit.value_and_grad(f)(x, o),
        lambda x, o: eagerly(lambda: tracejit.value_and_grad(f)(x, o)),
        lambda x, o: eagerly(
            lambda: tracejit.grad(lambda s: tracejit.grad(f)(x, o).sum() * s)(1.0)
        ),
        lambda x, o: tracejit.vjp(lambda v: f(v, o), x),
    ):
        x = np.array([1.0, 2.0])
        with pytest.raises(TypeError, match="another name in the function|shares memory"):
            run(x, make(x))
        assert np.array_equal(x, [1.0, 2.0])


def test_what_is_apart_is_differentiated():
    for make, read in WAYS.values():
        x, other = np.array([1.0, 2.0]), np.array([5.0, 7.0])
        value, slope = tracejit.value_and_grad(call(read))(x, make(other))
        a, b = read(make(other))
        assert value == a * 6.0 + b * 2.0 and np.array_equal(slope, [0.0, a * 3 + b])

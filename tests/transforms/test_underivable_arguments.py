"""A TypeError names what has no derivative; nothing that is given comes back as its derivative."""

import dataclasses
import itertools
import math
import re
import types
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import tracejit

pytestmark = pytest.mark.sampled(9)

X = np.array([1.0, 2.0, 3.0])
Pair = namedtuple("Pair", "w rest")


class Weights:
    def __init__(self):
        self.w = X.copy()


class Bare:
    pass


class Numbers:
    def __init__(self):
        self.w = 1.0


class Degrees(float):
    pass


@dataclasses.dataclass
class Layer:
    w: object
    rest: object = None


@dataclasses.dataclass
class Grown:
    w: float = 1.0

    def __post_init__(self):
        self.more = 2.0


class Table(metaclass=type("Opaque", (type,), {})):
    """An array of another library."""

    def __array__(self, dtype=None, copy=None):
        return X


#: Floats that no graph holds, and what converts to them.
FOREIGN = {
    "array subclass": X.view(type("Sub", (np.ndarray,), {})),
    "record array": X.view(np.recarray),
    "matrix": X.view(type("Rows", (np.matrix,), {})),
    "masked": np.ma.array(X),
    "memory map": X.view(np.memmap),
    "other byte order": X.astype(X.dtype.newbyteorder()),
    "half of other byte order": X.astype(np.dtype("f2").newbyteorder()),
    "longdoubles": X.astype(np.longdouble),
    "complex longdoubles": X.astype(np.clongdouble),
    "longdouble": np.longdouble(2),
    "complex longdouble": np.clongdouble(2),
    "library": Table(),
    "objects": np.array([1.0, 2.0], dtype=object),
}
#: What has no derivative, however it is wrapped.
LEAVES = {
    **FOREIGN,
    "masked ints": np.ma.array([1, 2]),
    "object": Bare(),
    "namespace": types.SimpleNamespace(n=3),
    "grown dataclass": Grown(),
    "str": "w",
    "bytes": b"w",
    "int": 3,
    "bool": True,
    "numpy int": np.int64(3),
    "ints": np.arange(3),
    "bools": np.array([True, False]),
    "texts": np.array(["a"]),
    "float subclass": Degrees(1.0),
    "list subclass": type("Floats", (list,), {})([1.0]),
    "ordered dict": OrderedDict(w=X),
    "function": math.sin,
    "lambda": lambda x: x,
    "module": math,
    "class": Weights,
    "range": range(3),
    "set": {1.0, 2.0},
    "frozenset": frozenset({1.0}),
    "generator": (x for x in (1.0, 2.0)),
    "slice": slice(1, 2),
    "dtype": np.dtype("f8"),
    "ellipsis": ...,
    "random": np.random.default_rng(0),
}
#: Those that may hold floats which cannot be seen: refused in containers, too.
HIDING = {
    *FOREIGN,
    *("float subclass", "list subclass", "ordered dict", "set", "frozenset"),
    "generator",
}
#: A leaf inside a container, and where it is there.
CONTAINERS = {
    "alone": (lambda v: v, ""),
    "list": (lambda v: [X, v], "[1]"),
    "tuple": (lambda v: (v, X), "[0]"),
    "dict": (lambda v: {"a": X, "b": v}, "['b']"),
    "namedtuple": (lambda v: Pair(X, v), ".rest"),
    "dataclass": (lambda v: Layer(X, v), ".rest"),
    "nested": (lambda v: {"a": [X, Layer(X, (v,))]}, "['a'][1].rest[0]"),
}


def loss(p, x):
    return (x * x).sum()


def turned(x, p):
    return (x * x).sum()


def of_rows(p, x):
    return x * x


TRANSFORMS = {
    "grad": lambda p: tracejit.grad(loss)(p, X),
    "grad by all": lambda p: tracejit.grad(loss, argnums=(0, 1))(p, X),
    "grad from the end": lambda p: tracejit.grad(turned, argnums=-1)(X, p),
    "grad by name": lambda p: tracejit.grad(loss, argnames="p")(p, X),
    "grad by keyword": lambda p: tracejit.grad(loss, argnames=["p"])(x=X, p=p),
    "grad of rows": lambda p: tracejit.grad(loss, sparse_rows=True)(p, X),
    "grad of a gradient": lambda p: tracejit.grad(lambda p, x: tracejit.grad(loss, 1)(p, x).sum())(
        p, X
    ),
    "value_and_grad": lambda p: tracejit.value_and_grad(loss)(p, X),
    "jacobian": lambda p: tracejit.jacobian(of_rows)(p, X),
    "forward jacobian": lambda p: tracejit.jacobian(of_rows, mode="forward")(p, X),
    "hessian": lambda p: tracejit.hessian(loss)(p, X),
    "hvp": lambda p: tracejit.hvp(loss)(p, X, p),
    "remat": lambda p: tracejit.grad(tracejit.remat(loss))(p, X),
    "jvp": lambda p: tracejit.jvp(loss, (p, X), (None, X)),
    "vjp": lambda p: tracejit.vjp(loss, p, X)[1](1.0),
}
#: Those that take arguments without any float, as constants.
PRODUCTS = ("jvp", "vjp")


def eagerly(call, p):
    with tracejit.eager():
        return call(p)


MODES = {
    "compiled": lambda call, p: call(p),
    "eager": eagerly,
    "jitted": lambda call, p: tracejit.jit(lambda p: call(p))(p),
}


def refused(mode, call, p, name):
    with pytest.raises(TypeError, match="take") as caught:
        MODES[mode](call, p)
    text = str(caught.value)
    assert re.search(rf"(and|of) {re.escape(name)} is \w|tangent of p,", text), text
    assert "containers and objects" in text or "tangent" in text


@pytest.mark.sampled(12)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("container", CONTAINERS)
def test_each_kind_of_object_in_each_container(container, mode):
    wrap, place = CONTAINERS[container]
    for name, leaf in LEAVES.items():
        if container == "alone" or name in HIDING:
            refused(mode, TRANSFORMS["grad"], wrap(leaf), f"p{place}")
            continue
        given = wrap(leaf)
        found = MODES[mode](TRANSFORMS["grad"], given)
        assert type(found) is type(given) and found is not given
        carried = eval(f"p{place}", {"p": found})
        assert carried is leaf or type(carried) is type(leaf) and np.all(carried == leaf), name


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_each_transform_by_floats_that_no_graph_holds(transform, mode):
    for leaf in FOREIGN.values():
        for container in ("alone", "dict", "object"):
            wrap, place = CONTAINERS.get(
                container, (lambda v: types.SimpleNamespace(w=X, v=v), ".v")
            )
            refused(mode, TRANSFORMS[transform], wrap(leaf), f"p{place}")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_each_transform(transform, mode):
    call = TRANSFORMS[transform]
    for leaf in (LEAVES[name] for name in ("object", "str", "int")):
        if transform in PRODUCTS:
            found = MODES[mode](call, leaf)
            assert found[0] is None if transform == "vjp" else found[1] == 28.0
        else:
            refused(mode, call, leaf, "p")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transform", ["jacobian", "forward jacobian", "hessian", "hvp"])
def test_what_has_no_derivative_is_carried_along(transform, mode):
    for container, leaf in itertools.product(("list", "nested"), ("object", "str", "int")):
        wrap, place = CONTAINERS[container]
        found = MODES[mode](TRANSFORMS[transform], wrap(LEAVES[leaf]))
        assert eval(f"p{place}", {"p": found}) == LEAVES[leaf], (container, leaf)


def test_the_error_says_what_to_pass_instead():
    with pytest.raises(TypeError, match=r"p\[1\] is a Numbers.*such as p\[1\]\.w; or choose other"):
        tracejit.grad(loss)([None, Numbers()], X)
    with pytest.raises(TypeError, match=r"hessian takes .* argument 0 is an object"):
        tracejit.hessian(lambda *p: 1.0)(object())


@pytest.mark.parametrize("mode", MODES)
def test_none_in_a_container_has_no_derivative(mode):
    def f(p, x):
        return (p["w"] ** 2).sum() + (0.0 if p["b"] is None else p["b"])

    given = {"w": X, "b": None, "none": {}}
    found = MODES[mode](lambda p: tracejit.grad(f)(p, X), given)
    assert found is not given and found["b"] is None
    assert np.array_equal(found["w"], 2 * X) and found["none"] == {}
    for transform in ("jacobian", "hessian"):
        whole = getattr(tracejit, transform)(f)
        assert MODES[mode](lambda p, whole=whole: whole(p, X), given)["b"] is None
    for transform in ("grad", "jacobian", "forward jacobian", "hessian", "hvp"):
        assert MODES[mode](TRANSFORMS[transform], []) == []
        with pytest.raises(TypeError, match="p is None"):
            MODES[mode](TRANSFORMS[transform], None)


UNDERIVABLE = (3, np.arange(3), "w", Bare(), [3, "w"])


def along(t):
    return lambda p: tracejit.jvp(lambda p, x: (x * x).sum(), (p, X), (t, X))[1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("zero", [None, 0, 0.0, np.zeros(3), [0, None]])
def test_tangents_of_what_has_no_derivative_are_zero(zero, mode):
    for p in UNDERIVABLE:
        assert MODES[mode](along(zero), p) == 28.0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tangent", [1.0, X, 2, np.arange(3), "w", Weights(), [0.0, 1.0]])
def test_other_tangents_of_what_has_no_derivative_are_refused(tangent, mode):
    for p in UNDERIVABLE:
        with pytest.raises(TypeError, match="which has no derivative, is None or zero"):
            MODES[mode](along(tangent), p)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("other", [Bare(), "text", math.sin, np.dtype("f8"), {1.0}])
def test_results_of_products_are_numbers(other, mode):
    def f(x):
        return x * 2, {"other": other}

    for call in (
        lambda x: tracejit.jvp(f, (x,), (x,)),
        lambda x: tracejit.vjp(f, x)[0],
        lambda x: tracejit.jacobian(f)(x),
        lambda x: tracejit.jacobian(f, mode="forward")(x),
    ):
        with pytest.raises(TypeError, match=r"result\[1\]\['other'\] is a.* has_aux=True"):
            MODES[mode](call, X)
    for mapping in ("forward", "reverse"):
        whole = tracejit.jacobian(f, mode=mapping, has_aux=True)
        slopes, aux = MODES[mode](lambda x, whole=whole: whole(x), X)
        assert np.array_equal(slopes, 2 * np.eye(3)) and aux["other"] is other


@pytest.mark.parametrize("mode", MODES)
def test_rules_are_given_zeros_for_what_is_no_float(mode):
    seen = []

    @tracejit.custom_jvp
    def forward(x, kind, parts):
        return x * parts["w"]

    @forward.defjvp
    def rule(primals, tangents):
        seen.append((tangents[1], tangents[2]["n"], tangents[2]["none"], tangents[2]["object"]))
        x, _, parts = primals
        return x * parts["w"], tangents[0] * parts["w"] + x * tangents[2]["w"]

    @tracejit.custom_vjp
    def reverse(x, kind):
        return {"y": x * 3, "none": None, "n": 2}

    reverse.defvjp(
        lambda x, kind: (reverse(x, kind), ()),
        lambda _, g: seen.append((g["n"], g["none"], 0, 0)) or (g["y"] * 3, None),
    )
    weights = Weights()

    def f(x):
        parts = {"w": x, "n": 3, "none": None, "object": weights}
        return forward(x, "times", parts).sum() + reverse(x, "times")["y"].sum()

    found = MODES[mode](lambda x: tracejit.grad(f)(x), X)
    assert np.array_equal(found, 2 * X + 3)
    assert seen and all(x == (0, 0, 0, 0) for x in seen)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("leaf", ["object", "namespace", "str", "range", "set", "generator"])
def test_batches_of_objects(leaf, mode):
    given = LEAVES[leaf]
    for p in (given, [X, given]):
        with pytest.raises(TypeError, match="vmap: a.* has no axis 0 to map over; give in_axes"):
            MODES[mode](lambda p: tracejit.vmap(of_rows)(p, X), p)
    found = MODES[mode](lambda p: tracejit.vmap(of_rows, (None, 0))(p, X), given)
    assert np.array_equal(found, X * X)
    with pytest.raises(TypeError, match="vmap: a.* has no axis 0 to stack results along"):
        MODES[mode](lambda p: tracejit.vmap(lambda x: (x, p))(X), given)
    found = MODES[mode](lambda p: tracejit.vmap(lambda x: (x, p), out_axes=(0, None))(X), given)
    assert found[1] is given
    found = MODES[mode](lambda p: tracejit.vmap(lambda x, how: how(x))(X, how=p), np.sin)
    assert np.allclose(found, np.sin(X))


@pytest.mark.parametrize("mode", MODES)
def test_results_of_a_batch_that_are_not_alike(mode):
    for f in (
        lambda x: types.SimpleNamespace(w=x),
        lambda x: {"a": x} if x > 1 else [x],
        lambda x: "low" if x < 2 else "high",
    ):
        with pytest.raises(TypeError, match="vmap"):
            MODES[mode](lambda x, f=f: tracejit.vmap(f, out_axes=None)(x), X)


@pytest.mark.parametrize("mode", MODES)
def test_what_stop_gradient_cannot_see_through(mode):
    def f(x, wrap):
        return (tracejit.stop_gradient(wrap(x)).w * x).sum()

    with pytest.raises(TypeError, match=r"stop_gradient takes .* x is a SimpleNamespace"):
        MODES[mode](
            lambda x: tracejit.grad(lambda x: f(x, lambda x: types.SimpleNamespace(w=x)))(x), X
        )
    found = MODES[mode](lambda x: tracejit.grad(lambda x: f(x, Layer))(x), X)
    assert np.array_equal(found, X)

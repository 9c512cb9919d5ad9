"""Modules: what their arrays are called, what is a parameter and what is state, and two modes."""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit
from tracejit import nn


class Scale(nn.Module):
    __buffers__ = ("mean", "count")

    def __init__(self, n: int) -> None:
        self.weight, self.mean = np.ones(n), np.zeros(n)
        self.count, self.momentum, self.name = np.array(0), 0.5, "scale"

    def __call__(self, x: Any) -> Any:
        if self.training:
            self.mean += self.momentum * (x.mean(0) - self.mean)
            self.count += 1
        return (x - self.mean) * self.weight


class Net(nn.Module):
    def __init__(self) -> None:
        self.layers = [Scale(3), Scale(3)]
        self.tied = self.layers[0].weight
        self.heads = {"a": np.full((3, 2), 0.5)}

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x @ self.heads["a"] * self.tied.sum()


def loss(net: Net, x: Any) -> Any:
    return (net(x) ** 2).sum()


def test_parameters_and_buffers_have_paths() -> None:
    net = Net()
    assert list(net.parameters()) == ["layers.0.weight", "layers.1.weight", "heads.a"]
    assert net.parameters()["layers.0.weight"] is net.tied
    assert sorted(set(net.state_dict()) - set(net.parameters())) == [
        "layers.0.count",
        "layers.0.mean",
        "layers.1.count",
        "layers.1.mean",
        "tied",
    ]
    assert [path for path, _ in nn.submodules(net)] == ["", "layers.0", "layers.1"]
    assert [path for path, _ in tracejit.tree.paths(net)][:2] == [
        ".layers[0].weight",
        ".layers[1].weight",
    ]


def test_a_state_is_copied_to_where_the_arrays_lie() -> None:
    net, other = Net(), Net()
    for k, array in enumerate(other.state_dict().values()):
        array += k + 1
    tied = net.tied
    assert net.load_state_dict(other.state_dict()) is net
    assert net.tied is tied is net.layers[0].weight
    for a, b in zip(net.state_dict().values(), other.state_dict().values(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_another_state_is_refused_whole() -> None:
    net = Net()
    state = {k: array + 1 for k, array in net.state_dict().items()}
    with pytest.raises(KeyError, match=r"heads\.a is missing; no extra here"):
        net.load_state_dict({**{k: v for k, v in state.items() if k != "heads.a"}, "extra": 1})
    with pytest.raises(ValueError, match=r"heads\.a has the shape \(3, 2\), not \(2,\)"):
        net.load_state_dict({**state, "heads.a": np.zeros(2)})
    with pytest.raises(TypeError, match=r"layers\.0\.count has the dtype int64, not float64"):
        net.load_state_dict({**state, "layers.0.count": np.array(0.5)})
    assert net.tied[0] == 1
    net.load_state_dict({"heads.a": np.zeros((3, 2), np.float32)}, strict=False)
    assert not net.heads["a"].any()


def test_modes_are_those_of_all_modules_in_it() -> None:
    net = Net()
    assert net.eval() is net
    assert not (net.training or net.layers[0].training or net.layers[1].training)
    assert net.train().layers[1].training


def test_each_mode_is_compiled_once() -> None:
    net, x = Net(), np.ones((4, 3))
    forward = tracejit.jit(Net.__call__, strict=True)
    for _ in range(3):
        forward(net.train(), x)
        forward(net.eval(), x)
    assert len(forward.report().compiles) == 2


@pytest.mark.parametrize("compiled", [True, False])
def test_buffers_change_and_have_no_gradient(compiled: bool) -> None:
    net, x = Net(), np.arange(12.0).reshape(4, 3)
    mean = net.layers[0].mean

    def step(net: Net, x: Any) -> Any:
        value, slopes = tracejit.value_and_grad(loss)(net, x)
        for p, g in zip(tracejit.tree.leaves(net), tracejit.tree.leaves(slopes), strict=True):
            p -= 1e-3 * g
        return value, slopes

    _, slopes = (tracejit.jit(step, strict=True) if compiled else step)(net, x)
    assert len(tracejit.tree.leaves(slopes)) == len(net.parameters()) == 3
    assert net.layers[0].mean is mean is slopes.layers[0].mean
    np.testing.assert_array_equal(mean, x.mean(0) / 2)
    assert net.layers[1].count == 1
    assert (net.heads["a"] != 0.5).all()


def test_a_gradient_by_an_object_with_buffers_is_the_slope() -> None:
    net, x = Net().eval(), np.linspace(0, 1, 6).reshape(2, 3)
    slope = tracejit.grad(loss)(net, x).heads["a"][1, 0]
    values = []
    for h in (1e-6, -1e-6):
        other = Net().eval()
        other.heads["a"][1, 0] += h
        values.append(loss(other, x))
    np.testing.assert_allclose(slope, (values[0] - values[1]) / 2e-6, rtol=1e-6)


class Plain:
    """No Module, with modules in it."""

    def __init__(self) -> None:
        self.norm, self.training = Scale(3), True


class Slotted:
    __slots__ = ("norm", "scale")

    def __init__(self) -> None:
        self.norm, self.scale = Scale(3), np.ones(3)


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass
class Record(nn.Module):
    weight: Any
    mean: Any
    rate: float = 0.5
    __buffers__ = ("mean",)


def test_modes_reach_modules_in_objects_of_any_class() -> None:
    net = Net()
    net.heads["b"], net.heads["c"] = Plain(), Pair(Slotted(), [Record(np.ones(2), np.zeros(2))])
    first, second = net.heads["c"]
    parts = [net.heads["b"], net.heads["b"].norm, first.norm, second[0]]
    assert not any(x.training for x in (net.eval(), *parts) if x is not net)
    assert all(x.training for x in parts if net.train())
    assert not hasattr(first, "training")
    found = [path for path, _ in nn.submodules(net)]
    assert found[-3:] == ["heads.b.norm", "heads.c.first.norm", "heads.c.second.0"]
    nn.set_training(first, False)
    assert not first.norm.training


def test_a_dataclass_that_is_a_module_is_one_object() -> None:
    net = Record(np.ones(2), np.zeros(2))
    assert list(net.parameters()) == ["weight"] and list(net.state_dict()) == ["weight", "mean"]
    assert len(tracejit.tree.leaves(net)) == len(tracejit.tree.leaves(net.eval())) == 1


def test_what_is_loaded_may_be_the_own_arrays() -> None:
    pair = [Scale(3), Scale(3)]
    pair[1].weight *= 2
    state = nn.state_dict(pair)
    crossed = {**state, "0.weight": state["1.weight"], "1.weight": state["0.weight"]}
    nn.load_state_dict(pair, crossed)
    assert pair[0].weight[0] == 2 and pair[1].weight[0] == 1
    state = {name: array + 1 for name, array in nn.state_dict(pair).items()}
    pair[1].weight.flags.writeable = False
    with pytest.raises(ValueError, match=r"1\.weight is read-only"):
        nn.load_state_dict(pair, state)
    assert pair[0].weight[0] == 2
    net = Net()
    state = {name: array + 1 for name, array in net.state_dict().items()}
    state["tied"] = state["tied"] + 1
    with pytest.raises(ValueError, match=r"layers\.0\.weight and tied are one array here"):
        net.load_state_dict(state)


def test_arrays_that_would_be_left_out_are_refused() -> None:
    class Hiding(nn.Module):
        def __init__(self, part: Any) -> None:
            self.parts = part

    with pytest.raises(ValueError, match=r"two arrays have the path parts\.1"):
        Hiding({1: np.ones(2), "1": np.ones(2)}).parameters()
    for part in (OrderedDict(a=Scale(2)), deque([np.ones(2)]), np.ones(2).view(np.matrix)):
        with pytest.raises(TypeError, match=rf"\.parts is a {type(part).__name__}"):
            Hiding(part).state_dict()
    assert not Hiding(deque([0.5])).parameters() and not Hiding({1.5}).parameters()


def test_settings_beside_arrays_hide_no_floats() -> None:
    net = Net()
    net.names, net.kinds = np.array(["a"]), frozenset({1, "b"})  # type: ignore[attr-defined]
    assert tracejit.grad(loss)(net, np.ones((2, 3))).tied.shape == (3,)

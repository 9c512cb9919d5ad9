"""PyTorch: compiled functions in its graphs of derivatives, networks as its modules."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.interop import networks
from tracejit import nn

torch = pytest.importorskip("torch")
interop = tracejit.interop.torch


def leaf(*shape: int, dtype: Any = torch.float64) -> Any:
    return torch.rand(*shape, dtype=dtype).requires_grad_()


def test_several_inputs_and_outputs_to_second_order() -> None:
    @interop.function
    def f(x: Any, d: Any, k: Any = 2.0) -> Any:
        return {"a": np.tanh(x @ d["w"]) * k, "n": 3, "i": d["i"] + 1, "b": (x * x).sum(0)}

    x, w, i = leaf(2, 3), leaf(3, 2), torch.arange(3)
    y = f(x, {"w": w, "i": i, "t": "text", "none": None})
    assert y["n"] == 3 and y["i"].tolist() == [1, 2, 3] and not y["i"].requires_grad
    assert torch.allclose(y["a"], torch.tanh(x @ w) * 2)

    def floats(x: Any, w: Any) -> Any:
        y = f(x, {"w": w, "i": i})
        return y["a"], y["b"]

    assert torch.autograd.gradcheck(floats, (x, w))
    assert torch.autograd.gradgradcheck(floats, (x, w))
    fixed = f(x.detach(), {"w": w, "i": i})["a"].sum()
    fixed.backward()
    assert torch.allclose(w.grad, torch.autograd.grad(torch.tanh(x @ w).sum() * 2, w)[0])
    assert not f(x.detach(), {"w": w.detach(), "i": i})["a"].requires_grad
    with torch.no_grad():
        assert torch.equal(f(x, {"w": w, "i": i})["a"], y["a"])


def test_the_gradients_of_a_number_are_computed_with_it() -> None:
    @interop.function
    def loss(x: Any, w: Any, y: Any) -> Any:
        return ((np.tanh(x @ w) - y) ** 2).mean()

    x, w, y = leaf(2, 3, dtype=torch.float32), leaf(3, 2, dtype=torch.float32), torch.zeros(2, 2)
    for _ in range(2):
        value = loss(x, w, y)
        (3 * value).backward()
    ours, (x.grad, w.grad) = (x.grad, w.grad), (None, None)
    (6 * ((torch.tanh(x @ w) - y) ** 2).mean()).backward()
    assert all(torch.allclose(a, b) for a, b in zip(ours, (x.grad, w.grad), strict=True))
    assert [len(r.variants) for r in loss.report()] == [0, 1]  # forward and backward in one
    assert torch.autograd.gradgradcheck(loss, (leaf(2, 3), leaf(3, 1), leaf(2, 1)))


def test_numbers_of_python_are_no_tensors() -> None:
    f = interop.function(lambda x: (x * 2, math.sin(x[0]), 1.5, x.sum()))
    x = leaf(3)
    y, sine, constant, total = f(x)
    assert type(sine) is float and constant == 1.5
    (y.sum() + total).backward()
    assert x.grad.tolist() == [3, 3, 3]


def test_complex_numbers_have_the_gradients_that_pytorch_has() -> None:
    f = interop.function(lambda z: (np.exp(z) * z, (abs(z) ** 2).sum()))
    assert torch.autograd.gradcheck(f, (leaf(3, dtype=torch.complex128),))


def test_what_may_not_happen() -> None:
    rng = np.random.default_rng(0)
    draws = interop.function(lambda x: x * rng.random(x.shape))
    with pytest.raises(RuntimeError, match="gave another result when it was run again"):
        draws(leaf(3)).sum().backward()
    stores = interop.function(lambda x: x.fill(1.0))
    with pytest.raises(ValueError, match="read-only"):
        stores(leaf(3))
    x, y = leaf(3), torch.ones(3, dtype=torch.float64)
    z = interop.function(lambda x, y: x * y)(x, y)
    y += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()
    # An array of NumPy may be used again: the backward pass has a copy of it.
    y = np.ones(3)
    z = interop.function(lambda x, y: x * y)(x, y)
    y += 1
    z.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_a_network_is_a_module() -> None:
    net = networks.Noisy(np.random.default_rng(0))
    model = interop.Module(net)
    assert set(model.state_dict()) == set(nn.state_dict(net))
    assert [name for name, _ in model.named_parameters()] == ["w", "b", "layers.0.v"]
    x = torch.rand(16, 3, dtype=torch.float64)
    y, optimiser = x.sum(1, keepdim=True), torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for k in range(40):
        optimiser.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        assert net.steps == k + 1  # what a call changes in the net is changed once
    assert losses[-1] < 0.5 * losses[0]
    assert model.w.data_ptr() == net.w.ctypes.data and np.array_equal(model.mean, net.mean)
    assert all(r.variants and not r.fallbacks for r in model.report()[1:])
    assert model.eval() is model and not net.training
    assert torch.autograd.gradcheck(lambda *_: model(x[:2]), list(model.parameters()))
    with torch.no_grad():
        assert torch.allclose(model(x), torch.from_numpy(net(x.numpy())))
        assert torch.is_tensor(model(x.numpy()))
    again, other = pickle.loads(pickle.dumps(model)), copy.deepcopy(model)
    for made in (again, other):
        assert made.net is not net and torch.equal(made.w, model.w) and made.tied is made.b
        assert made.w.data_ptr() == made.net.w.ctypes.data
    model.double().cpu()
    with pytest.raises(TypeError, match="make the network with another dtype"):
        model.float()
    with pytest.raises(TypeError, match="share the memory of w"):
        net.w = net.w[::-1]
        interop.Module(net)


def test_memory_stays_shared() -> None:
    net = networks.Rebinding()
    model, x = interop.Module(net), torch.ones(4, 3, dtype=torch.float64)
    for k in range(2):
        model(x).sum().backward()
        assert model.mean.tolist() == net.mean.tolist() == [1 + 0.5 * k] * 3
        assert model.mean.data_ptr() == net.mean.ctypes.data
    before = model(x)
    torch.nn.utils.vector_to_parameters(2 * model.w.detach().ravel(), [model.w])
    net.mean[:] = 0
    assert torch.allclose(model(x), 4 * torch.ones(4, 2, dtype=torch.float64) * 3)
    assert (net.w == 2).all() and model.w.data_ptr() == net.w.ctypes.data and before.shape == (4, 2)
    model.load_state_dict({"w": torch.eye(3, 2, dtype=torch.float64), "mean": x[0]}, assign=True)
    out = model(x)
    out.sum().backward()
    assert (net.w == np.eye(3, 2)).all() and model.w.grad is not None
    model.w.data = model.w.data.float()
    with pytest.raises(TypeError, match="another dtype"):
        model(x)


class Layer:
    def __init__(self) -> None:
        self.scale = 3.0

    @interop.function
    def call(self, x: Any) -> Any:
        return self.scale * x


class State:
    __buffers__ = ("mean",)

    def __init__(self, h: Any, mean: Any) -> None:
        self.h, self.mean, self.calls = h, mean, 0


def test_nothing_is_detached_silently() -> None:
    @interop.function
    def advance(state: Any, x: Any, store: Any) -> Any:
        state.calls += 1
        h = state.h * x
        if store:
            state.h = h
        return h

    state, x = State(leaf(2), torch.ones(2)), leaf(2)
    advance(state, x, False).sum().backward()
    assert torch.equal(state.h.grad, x) and state.calls == 1
    with pytest.raises(TypeError, match="stores an array into an object"):
        advance(state, x, True)
    with pytest.raises(TypeError, match="where no derivative is taken by"):
        advance(State(leaf(2), leaf(2)), x, False)


def test_a_method() -> None:
    x = leaf(2)
    Layer().call(x).sum().backward()
    assert x.grad.tolist() == [3, 3]
    made = torch.from_dlpack(tracejit.jit(lambda x: x + 1)(np.ones(3)))
    assert made.tolist() == [2, 2, 2]


def test_a_network_of_layers_trains_as_pytorchs_own() -> None:
    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.Flatten(),
        torch.nn.Linear(64, 5),
    )  # fmt: skip
    net = networks.Convolutional(np.random.default_rng(0))
    ours = interop.Module(interop.load(net, theirs))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    x, y = torch.rand(6, 3, 4, 4), torch.arange(6) % 5
    for model in (ours, theirs):
        optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for _ in range(3):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimiser.step()
        model.eval()
    assert torch.allclose(ours(x), theirs(x), atol=1e-5)
    for name, value in theirs.state_dict().items():
        assert torch.allclose(ours.state_dict()[name], value, atol=1e-5), name
    assert (
        ours.state_dict()["1.running_var"].data_ptr() == getattr(net, "1").running_var.ctypes.data
    )


def test_state_goes_both_ways() -> None:
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    ours = networks.linear_and_norm()
    assert interop.load(ours, theirs.bfloat16()) is ours and ours[1].running_var[0] == 1
    assert np.array_equal(ours[0].weight, theirs[0].weight.detach().float().numpy())
    ours[0].weight[:] = 3
    theirs.load_state_dict(interop.state_dict(ours), strict=False)
    assert (theirs[0].weight == 3).all()
    with pytest.raises(KeyError, match="0.bias is missing"):
        interop.load(ours, {"0.weight": torch.zeros(4, 3)})

"""Warm training steps: what of them runs as Python, and what they notice of changes."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.dist.test_launch import ended
from tests.support.python_calls import calls_of
from tracejit import dist, nn, optim, runtime
from tracejit.dist.replicas.mean_gradients import with_mean_gradients
from tracejit.ops.host import exchange

PACKAGE = str(Path(tracejit.__file__).parent)
assert runtime


class Net(nn.Module):
    def __init__(self, seed: int = 0, hidden: int = 8) -> None:
        rng = np.random.default_rng(seed)
        self.a, self.b = nn.Linear(6, hidden, rng), nn.Linear(hidden, 3, rng)

    def __call__(self, x: Any) -> Any:
        return self.b(nn.relu(self.a(x)))


def of_net(net: Any, x: Any, y: Any) -> Any:
    return nn.cross_entropy(net(x), y)


def of_dict(p: Any, x: Any, y: Any) -> Any:
    return nn.cross_entropy(np.tanh(x @ p["w"] + p["b"]), y)


def step_of(loss: Callable[..., Any]) -> Callable[..., Any]:
    def step(model: Any, opt: Any, x: Any, y: Any) -> Any:
        found, grads = tracejit.value_and_grad(loss)(model, x, y)
        opt.update(model, grads)
        return found

    return step


def batch(seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((16, 6)).astype("f4"), rng.integers(0, 3, 16)


@pytest.mark.parametrize(
    ("make", "loss"), [(optim.SGD, of_dict), (optim.Adam, of_net), (optim.AdamW, of_dict)]
)
def test_a_step_alone_calls_no_python(make: Any, loss: Any) -> None:
    model: Any = Net()
    if loss is of_dict:
        model = {"w": np.ones((6, 3), "f4"), "b": np.zeros(3, "f4")}
    opt = make(model, lr=1e-2)
    train = dist.data_parallel(tracejit.jit(step_of(loss), strict=True))
    for _ in range(3):
        train(model, opt, *batch())
    assert calls_of(train, model, opt, *batch()) == []
    assert opt.count == 4


def test_a_step_with_exchanges_is_guarded_by_machine_code() -> None:
    net = Net()
    opt = with_mean_gradients(optim.Adam(net))
    step = tracejit.jit(step_of(of_net), strict=True)
    for _ in range(3):
        step(net, opt, *batch())
    files = calls_of(step, net, opt, *batch())
    found = {f[len(PACKAGE) + 1 :].split("/")[0] for f in files if f.startswith(PACKAGE)}
    assert "dist" in found and not found & {"frontend", "runtime"}
    assert exchange._LOG.got == [] and opt.count == 4


def test_a_step_of_several_processes_is_guarded_by_machine_code() -> None:
    code, out, err = ended("warm")
    assert code == 0, err
    assert sorted(out.splitlines()) == ["[0] warm 0", "[1] warm 1"]


def _dtype(net: Any, opt: Any) -> None:
    net.a.weight = net.a.weight.astype("f8")


def _shape(net: Any, opt: Any) -> None:
    other = Net(1, hidden=5)
    net.a, net.b = other.a, other.b


def _layout(net: Any, opt: Any) -> None:
    net.a.weight = np.asfortranarray(net.a.weight)


def _part(net: Any, opt: Any) -> None:
    net.b = nn.Linear(8, 3, np.random.default_rng(5), bias=False)


def _rate(net: Any, opt: Any) -> None:
    opt.lr = 0.5


def _schedule(net: Any, opt: Any) -> None:
    opt.lr = lambda count: 0.25 / (count + 1)


def _count(net: Any, opt: Any) -> None:
    opt.count += 1000


def _state(net: Any, opt: Any) -> None:
    opt.m = [np.full_like(m, 0.5) for m in opt.m] if hasattr(opt, "m") else []


def _no_rate(net: Any, opt: Any) -> None:
    del opt.lr


def _no_part(net: Any, opt: Any) -> None:
    del net.b


def _tied(net: Any, opt: Any) -> None:
    net.b.bias = net.b.weight[:, 0]


def _method(net: Any, opt: Any) -> None:
    opt.update = lambda params, grads: None


CHANGES = [_dtype, _shape, _layout, _part, _rate, _schedule, _count, _state, _no_rate, _no_part]
CHANGES += [_tied, _method]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", [optim.SGD, optim.Adam])
def test_what_a_step_notices(change: Any, make: Any) -> None:
    """Compiled and with exchanges, or plain and without, steps are the same after a change."""
    step, ends = step_of(of_net), []
    for run in (step, tracejit.jit(step)):
        net = Net()
        opt = make(net, lr=0.1)
        opt = opt if run is step else with_mean_gradients(opt)
        found: list[Any] = [run(net, opt, *batch(k)) for k in range(4)]
        change(net, opt)
        for k in range(3):
            try:
                found.append(run(net, opt, *batch(k)))
            except Exception as e:
                found.append(type(e).__name__)
        # Other objects of the same classes, and the first ones again.
        other = Net(3)
        found.append(run(other, make(other, lr=0.2), *batch()))
        state = [*tracejit.tree.leaves(net), *tracejit.tree.leaves(other)]
        ends.append((found, state, opt.count))
    (plain, wanted, count), (values, state, compiled_count) = ends
    assert count == compiled_count
    for x, y in zip([*values, *state], [*plain, *wanted], strict=True):
        if isinstance(x, str) or isinstance(y, str):
            assert x == y
        else:
            np.testing.assert_allclose(x, y, rtol=2e-4, atol=1e-5)
            assert np.asarray(x).dtype == np.asarray(y).dtype


def test_a_run_that_is_left_makes_no_exchange_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    reduce = exchange.KINDS["all_reduce"]

    def counted(*args: Any) -> Any:
        made.append("all_reduce")
        return reduce(*args)

    monkeypatch.setitem(exchange.KINDS, "all_reduce", counted)

    @tracejit.jit
    def f(x: Any, steps: Any) -> Any:
        total = dist.all_reduce(x)
        for k in range(1000):
            x = x * 0.5 + total[steps[k % len(steps)]]
        return x + dist.all_reduce(x)

    x, good = np.arange(6.0), np.array([1, 2, 3])
    first = f(x, good)
    for _ in range(3):
        made.clear()
        with pytest.raises(IndexError):
            f(x, np.array([1, 2, 99]))
        assert len(made) == 1
        made.clear()
        # Nothing of the run that was left is given to the next.
        assert np.array_equal(f(x + 1, good), f.__wrapped__(x + 1, good))
        assert len(made) == 4
    assert np.array_equal(f(x, good), first)
    assert exchange._LOG.got == []


def test_a_step_shows_its_signature_and_can_be_copied() -> None:
    def step(model: Any, opt: Any, x: Any) -> Any:
        return model, opt, x

    train = dist.data_parallel(step)
    assert inspect.signature(train) == inspect.signature(step)
    assert train(1, opt=2, x=3) == (1, 2, 3) and callable(train)
    assert copy.copy(train)(1, 2, 3) == (1, 2, 3)

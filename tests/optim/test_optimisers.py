"""Optimisers against their formulas and their peers, compiled whole and in place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.optim.formulas import FORMULAS, gradients, start
from tracejit import optim

#: How far two programs may drift apart in 100 steps.
DRIFT = {np.float32: 1e-6, np.float64: 1e-12}


def update(opt: Any, params: Any, grads: Any) -> None:
    opt.update(params, grads)


@pytest.fixture(scope="module")
def compiled() -> Any:
    return tracejit.jit(update, strict=True)


def taken(make: Callable[[Any], Any], dtype: Any, run: Callable[..., None] = update) -> list[Any]:
    """Parameters after 100 steps."""
    params = start(dtype)
    opt = make(params)
    for grads in gradients(dtype):
        run(opt, params, grads)
    assert opt.count == 100
    assert all(p.dtype == dtype for p in params)
    return params


@pytest.mark.parametrize("name", FORMULAS)
def test_as_the_paper_says(name: str) -> None:
    make, step = FORMULAS[name]
    wanted = start(np.float64)
    states = [[defaultdict[str, float](float) for _ in p.flat] for p in wanted]
    for t, grads in enumerate(gradients(np.float64), 1):
        for p, g, state in zip(wanted, grads, states, strict=True):
            for k in range(p.size):
                p.flat[k] = step(p.flat[k], g.flat[k], state[k], t)
    for p, q in zip(taken(make, np.float64), wanted, strict=True):
        np.testing.assert_allclose(p, q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["SGD", "RMSProp", "AMSGrad", "AdamW", "Lion"])
def test_compiled_once_and_in_place(name: str, compiled: Any) -> None:
    """One compile serves all steps, and it has one kernel for each parameter, without copies."""
    make, _ = FORMULAS[name]
    before = len(compiled.report().compiles)
    for p, q in zip(taken(make, np.float32, compiled), taken(make, np.float32), strict=True):
        np.testing.assert_allclose(p, q, rtol=0, atol=1e-6)
    report = compiled.report()
    assert len(report.compiles) == before + 1 and not report.fallbacks
    assert "copies" not in str(report)
    params = start(np.float32)
    given = make(params), params, next(gradients(np.float32))
    assert compiled.lower(*given).text("fuse").count("fusion(") == len(params)


def torch_optimisers(torch: Any) -> dict[str, Any]:
    o = torch.optim
    return {
        "SGD": lambda p: o.SGD(p, lr=0.1, weight_decay=0.01),
        "Momentum": lambda p: o.SGD(p, lr=0.002, momentum=0.9),
        "Nesterov": lambda p: o.SGD(p, lr=0.002, momentum=0.9, nesterov=True),
        "AdaGrad": lambda p: o.Adagrad(p, lr=0.05),
        "AdaDelta": lambda p: o.Adadelta(p, lr=1.0),
        "RMSProp": lambda p: o.RMSprop(p, lr=0.001, centered=True, momentum=0.9),
        "Adam": lambda p: o.Adam(p, lr=0.01, weight_decay=0.01),
        "AMSGrad": lambda p: o.Adam(p, lr=0.01, amsgrad=True),
        "AdamW": lambda p: o.AdamW(p, lr=0.01, weight_decay=0.1),
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_torch(dtype: Any) -> None:
    torch = pytest.importorskip("torch")
    for name, make in torch_optimisers(torch).items():
        params = [torch.tensor(p, requires_grad=True) for p in start(dtype)]
        opt = make(params)
        for grads in gradients(dtype):
            for p, g in zip(params, grads, strict=True):
                p.grad = torch.tensor(g)
            opt.step()
        for p, q in zip(taken(FORMULAS[name][0], dtype), params, strict=True):
            np.testing.assert_allclose(p, q.detach(), rtol=0, atol=DRIFT[dtype], err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_optax(dtype: Any) -> None:
    jax, optax = pytest.importorskip("jax"), pytest.importorskip("optax")
    with jax.enable_x64():
        params = list(map(jax.numpy.array, start(dtype)))
        opt = optax.lion(0.001, weight_decay=0.1)
        state = opt.init(params)
        for grads in gradients(dtype):
            change, state = opt.update(list(map(jax.numpy.array, grads)), state, params)
            params = optax.apply_updates(params, change)
        for p, q in zip(taken(FORMULAS["Lion"][0], dtype), params, strict=True):
            np.testing.assert_allclose(p, q, rtol=0, atol=DRIFT[dtype])


def test_masks_leave_biases_out() -> None:
    params = {"weight": np.ones((2, 2)), "bias": np.ones(2)}
    opt = optim.AdamW(params, 0.1, weight_decay=0.5, mask=lambda path, p: "bias" not in path)
    assert opt.decays == (0.5, 0.0)
    opt.update(params, {"weight": np.zeros((2, 2)), "bias": np.zeros(2)})
    assert (params["weight"] == 0.95).all() and (params["bias"] == 1).all()
    assert optim.decays(params, 0.1, lambda _, p: p.ndim > 1) == (0.1, 0.0)


def test_what_no_step_could_change_is_refused() -> None:
    w = np.zeros(2)
    for params, what in (
        ({"w": w, "n": 3}, r"params\['n'\] is int"),
        ([w, np.arange(2)], r"params\[1\] is an array of int64"),
        ([w + 0j], "complex128"),
    ):
        with pytest.raises(TypeError, match=what):
            optim.SGD(params)


class Model:
    def __init__(self) -> None:
        self.w, self.b = np.zeros(3, np.float32), np.zeros((), np.float32)


def loss(model: Model, x: Any, y: Any) -> Any:
    return ((x @ model.w + model.b - y) ** 2).mean()


def test_a_whole_step() -> None:
    """Gradients, clipping, an optimiser with a schedule and an average: one strict compile."""

    @tracejit.jit(strict=True)
    def step(model: Any, opt: Any, average: Any, x: Any, y: Any) -> Any:
        value, grads = tracejit.value_and_grad(loss)(model, x, y)
        norm = optim.clip_by_global_norm(grads, 1.0)
        opt.update(model, grads)
        average.update(model)
        return value, norm

    rng = np.random.default_rng(0)
    x = rng.standard_normal((20, 3)).astype(np.float32)
    y = x @ np.array([1, -2, 0.5], np.float32) + np.float32(0.3)

    def run(f: Any) -> tuple[Any, ...]:
        model = Model()
        rate = optim.schedules.WarmUp(5, optim.schedules.Cosine(0.1, 100))
        opt, average = optim.Adam(model, rate), optim.Average(model, 0.9)
        for _ in range(100):
            value, norm = f(model, opt, average, x, y)
        return value, norm, model.w, model.b, *average.means

    ours = run(step)
    with tracejit.eager():
        plain = run(step)
    assert ours[0] < 0.01
    for a, b in zip(ours, plain, strict=True):
        assert a.dtype == b.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
    report = step.report()
    assert len(report.compiles) == 1 and "undone" not in str(report)


def test_many_leaves_are_one_function() -> None:
    """Leaves of one shape share the code of their kernel, and the loops stay apart."""
    params = [np.ones(8, np.float32) for _ in range(20)]
    grads = [np.full(8, k + 1, np.float32) for k in range(20)]
    opt = optim.Adam(params, mask=lambda path, p: path != "[3]", weight_decay=0.1)
    compiled = tracejit.jit(update, strict=True)
    lowered = compiled.lower(opt, params, grads)
    assert lowered.text("fuse").count("fusion(") == 20
    assert lowered.text("kernel").count("def ") == 2
    compiled(opt, params, grads)
    np.testing.assert_allclose(params, np.full((20, 8), 1 - 1e-3), rtol=1e-6)

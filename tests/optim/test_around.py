"""What stands around optimisers: schedules, clipping, batches in parts, averages, halves, rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.optim.formulas import gradients, start
from tracejit import RowGradient, optim
from tracejit.optim import schedules as s


def test_schedules() -> None:
    assert [s.Step(1.0, 2)(k) for k in (0, 1, 2, 5)] == pytest.approx([1, 1, 0.1, 0.01])
    assert [s.MultiStep(1.0, (2, 3))(k) for k in (1, 2, 3)] == pytest.approx([1, 0.1, 0.01])
    assert s.Exponential(2.0, 0.5)(3) == 0.25
    assert [s.Cosine(1.0, 4, 0.2)(k) for k in (0, 2, 4, 9)] == pytest.approx([1, 0.6, 0.2, 0.2])
    assert [s.Polynomial(1.0, 4, 2, 0.5)(k) for k in (0, 2, 8)] == pytest.approx([1, 0.625, 0.5])
    warm = s.WarmUp(4, s.Exponential(1.0, 0.5))
    assert [warm(k) for k in (0, 1, 4, 5)] == pytest.approx([0, 0.25, 1, 0.5])
    joined = s.Joined((s.Exponential(1.0, 0.5), 3.0), (2,))
    assert [joined(k) for k in (0, 1, 2, 7)] == [1, 0.5, 3, 3]
    cycle = s.OneCycle(1.0, 100)
    assert [cycle(k) for k in (0, 29, 99, 500)] == pytest.approx([0.04, 1, 4e-6, 4e-6])


def test_schedules_as_torch() -> None:
    torch = pytest.importorskip("torch")
    of = torch.optim.lr_scheduler
    opt = torch.optim.SGD([torch.zeros(1)], lr=0.5)
    for ours, make in (
        (s.Step(0.5, 7, 0.3), lambda o: of.StepLR(o, 7, 0.3)),
        (s.MultiStep(0.5, (3, 20), 0.3), lambda o: of.MultiStepLR(o, [3, 20], 0.3)),
        (s.Exponential(0.5, 0.9), lambda o: of.ExponentialLR(o, 0.9)),
        (s.Cosine(0.5, 50, 0.1), lambda o: of.CosineAnnealingLR(o, 50, 0.1)),
        (s.Polynomial(0.5, 50, 2.0), lambda o: of.PolynomialLR(o, 50, 2.0)),
        (s.OneCycle(0.5, 50), lambda o: of.OneCycleLR(o, 0.5, total_steps=50)),
    ):
        opt.param_groups[0]["lr"] = 0.5
        opt.param_groups[0].pop("initial_lr", None)
        theirs = make(opt)
        for k in range(49):
            assert ours(k) == pytest.approx(opt.param_groups[0]["lr"], rel=1e-9), (ours, k)
            opt.step()
            theirs.step()


def test_schedules_compile_once() -> None:
    """A rate that a schedule computes is a number of the run."""

    @tracejit.jit(strict=True)
    def step(opt: Any, params: Any, grads: Any) -> None:
        opt.update(params, grads)

    decay = s.Joined((s.Step(1.0, 3), s.OneCycle(1.0, 9), s.Polynomial(1.0, 4)), (3, 12))
    rate = s.Joined((s.WarmUp(3, s.Cosine(1.0, 5)), s.MultiStep(1.0, (2,)), decay), (5, 9))
    p = [np.zeros(2, np.float32)]
    opt = optim.SGD(p, rate)
    for k in range(25):
        before = p[0].copy()
        step(opt, p, [np.ones(2, np.float32)])
        np.testing.assert_allclose(before - p[0], rate(k), atol=1e-6)
    assert len(step.report().compiles) == 1


def test_clipping() -> None:
    def grads() -> Any:
        return {"a": np.array([3.0, -4.0]), "b": [np.array([[12.0]])], "h": np.zeros(2, np.float16)}

    g = grads()
    assert tracejit.jit(optim.clip_by_global_norm, strict=True)(g, 1.3) == 13
    np.testing.assert_allclose(g["a"], [0.3, -0.4], rtol=1e-6)
    assert optim.global_norm(g) == pytest.approx(1.3)
    assert optim.clip_by_global_norm(g, 2.0) == pytest.approx(1.3)
    assert optim.global_norm(g) == pytest.approx(1.3)
    g = grads()
    optim.clip_by_norm(g, 10.0)
    np.testing.assert_allclose(np.concatenate([g["a"], g["b"][0][0]]), [3, -4, 10], rtol=1e-6)
    g = grads()
    tracejit.jit(optim.clip_by_value, strict=True)(g, 3.5)
    np.testing.assert_array_equal(np.concatenate([g["a"], g["b"][0][0]]), [3, -3.5, 3.5])
    assert optim.global_norm([np.full(4, 300, np.float16)]) == 600
    rows = RowGradient(np.array([1, 1]), np.array([[3.0], [1.0]]), (3, 1))
    assert optim.clip_by_global_norm([rows], 2.0) == 4
    np.testing.assert_allclose(rows.dense(), [[0], [2], [0]], rtol=1e-6)
    with pytest.raises(TypeError, match="by rows"):
        optim.clip_by_value([rows], 1.0)


def test_batches_in_parts_are_one() -> None:
    @tracejit.jit(strict=True)
    def step(opt: Any, params: Any, grads: Any) -> None:
        opt.update(params, grads)

    whole, parts = start(np.float64), start(np.float64)
    a, b = optim.Adam(whole, 0.1), optim.Accumulated(optim.Adam(parts, 0.1), parts, 4)
    given = list(gradients(np.float64, 12))
    for k, grads in enumerate(given):
        before = parts[0].copy()
        step(b, parts, grads)
        assert (parts[0] == before).all() == (k % 4 < 3)
    for k in range(0, 12, 4):
        a.update(whole, [np.mean(g, 0) for g in zip(*given[k : k + 4], strict=True)])
    for p, q in zip(whole, parts, strict=True):
        np.testing.assert_allclose(p, q, rtol=1e-12)
    report = step.report()
    assert len(report.compiles) == 1 and b.opt.count == 3 and "copies" not in str(report)


def test_averages() -> None:
    params = [np.zeros(2), np.zeros(())]
    average = optim.Average(params, 0.75)
    params[0] += 4
    average.update(params)
    with average.swapped(params):
        assert (params[0] == 1).all() and (average.means[0] == 4).all()
    assert (params[0] == 4).all() and (average.means[0] == 1).all()


def test_scaled_losses() -> None:
    """A step that overflows is left out, and the scale follows."""

    def loss(params: Any, x: Any, scale: Any) -> Any:
        half = params["w"].astype(np.float16)
        return (half * x).sum().astype(np.float32) * scale

    @tracejit.jit(strict=True)
    def step(scaling: Any, opt: Any, params: Any, x: Any) -> Any:
        grads = tracejit.grad(loss)(params, x, scaling.scale)
        return scaling.update(opt, params, grads)

    params = {"w": np.zeros(3, np.float32)}
    opt, scaling = optim.SGD(params, 1.0), optim.LossScale(2.0**14, every=2)
    x = np.full(3, 1e-4, np.float16)
    scales = []
    for k in range(5):
        large = np.full(3, 10, np.float16) if k == 2 else x
        assert step(scaling, opt, params, large) == (k != 2)
        scales.append(scaling.scale)
    assert scales == [2.0**14, 2.0**15, 2.0**14, 2.0**14, 2.0**15]
    assert opt.count == 4 and len(step.report().compiles) == 1
    np.testing.assert_allclose(params["w"], -4 * x.astype(np.float32), rtol=1e-3)


@pytest.mark.parametrize("make", [optim.SGD, optim.Momentum, optim.AdaGrad, optim.Adam])
def test_gradients_by_rows(make: Any) -> None:
    """Rows that are read are updated as alone, with their duplicates summed; others stay."""

    def picked(params: Any, idx: Any) -> Any:
        return (params[0][idx] ** 2).sum()

    def step(opt: Any, params: Any, idx: Any) -> None:
        opt.update(params, tracejit.grad(picked, sparse_rows=True)(params, idx))

    compiled = tracejit.jit(step, strict=True)
    table = np.random.default_rng(0).standard_normal((6, 2))
    ours, plain = [table.copy()], [table.copy()]
    rows = [table[[1, 4]].copy()]
    a, b, c = make(ours, 0.1), make(plain, 0.1), make(rows, 0.1)
    for _ in range(3):
        idx = np.array([4, 1, 4])
        compiled(a, ours, idx)
        step(b, plain, idx)
        c.update(rows, [rows[0] * np.array([[2.0], [4.0]])])
    np.testing.assert_allclose(ours[0], plain[0], rtol=1e-12)
    np.testing.assert_allclose(ours[0][[1, 4]], rows[0], rtol=1e-12)
    np.testing.assert_array_equal(ours[0][[0, 2, 3, 5]], table[[0, 2, 3, 5]])
    for state in (getattr(a, name)[0] for name in ("m", "v") if hasattr(a, name)):
        assert (state[[0, 2, 3, 5]] == 0).all() and (state[[1, 4]] != 0).all()


def test_sparse_adam_as_torch() -> None:
    torch = pytest.importorskip("torch")
    table = np.random.default_rng(0).standard_normal((6, 2))
    ours, theirs = [table.copy()], torch.tensor(table, requires_grad=True)
    opt, other = (
        optim.Adam(ours, 0.1, eps=1e-14),
        torch.optim.SparseAdam([theirs], lr=0.1, eps=1e-14),
    )
    rng = np.random.default_rng(1)
    for _ in range(20):
        rows, values = rng.integers(0, 6, 4), rng.standard_normal((4, 2))
        opt.update(ours, [RowGradient(rows, values, (6, 2))])
        theirs.grad = torch.sparse_coo_tensor(rows[None], values, (6, 2), check_invariants=True)
        other.step()
    np.testing.assert_allclose(ours[0], theirs.detach(), rtol=1e-9)


def rosenbrock(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def test_lbfgs() -> None:
    x = np.array([-1.2, 1.0] * 5)
    found = optim.lbfgs(rosenbrock, x)
    assert found.converged and found.slope <= 1e-5
    np.testing.assert_allclose(found.x, 1, atol=1e-5)
    assert found.steps < found.evaluations < 200
    assert (x == [-1.2, 1.0] * 5).all()
    from scipy.optimize import minimize

    peer = minimize(
        tracejit.value_and_grad(rosenbrock), x, jac=True, method="L-BFGS-B", options={"gtol": 1e-5}
    )
    assert found.evaluations < 1.3 * peer.nfev


def test_lbfgs_as_torch() -> None:
    """The same minimum, in about as many evaluations."""
    torch = pytest.importorskip("torch")
    x = torch.tensor([-1.2, 1.0] * 5, dtype=torch.float64, requires_grad=True)
    opt = torch.optim.LBFGS(
        [x], 1, 1000, 1000, 1e-5, 0.0, history_size=10, line_search_fn="strong_wolfe"
    )
    evaluations = 0

    def closure() -> Any:
        nonlocal evaluations
        evaluations += 1
        opt.zero_grad()
        value = rosenbrock(x)
        value.backward()
        return value

    opt.step(closure)
    found = optim.lbfgs(rosenbrock, np.array([-1.2, 1.0] * 5))
    np.testing.assert_allclose(found.x, x.detach(), atol=1e-5)
    assert found.evaluations < 1.3 * evaluations


def test_lbfgs_of_trees() -> None:
    """A fit of parameters in a dict, in float32; where it begins at the minimum it stays."""
    x = np.linspace(-1, 1, 50, dtype=np.float32)
    y = np.float32(2) * x - np.float32(0.5)

    def loss(p: Any) -> Any:
        return ((p["w"][0] * x + p["b"] - y) ** 2).mean()

    found = optim.lbfgs(loss, {"w": np.zeros(1, np.float32), "b": np.zeros((), np.float32)})
    assert found.converged and found.x["w"].dtype == np.float32
    assert math.isclose(found.x["w"][0], 2, rel_tol=1e-4)
    assert math.isclose(found.x["b"], -0.5, rel_tol=1e-4)
    again = optim.lbfgs(loss, found.x)
    assert again.converged and again.steps == 0 and again.evaluations == 1
    with tracejit.eager():
        assert optim.lbfgs(loss, found.x).value == pytest.approx(found.value)

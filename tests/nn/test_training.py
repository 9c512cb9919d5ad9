"""A whole step of training: a network, a loss, an optimiser, one compiled function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import nn, optim


class Net(nn.Module):
    def __init__(self, rng: Any) -> None:
        self.a, self.norm = nn.Linear(6, 16, rng, bias=False), nn.BatchNorm(16)
        self.drop, self.b = nn.Dropout(0.1, rng), nn.Linear(16, 3, rng)

    def __call__(self, x: Any) -> Any:
        return self.b(nn.relu(self.norm(self.a(self.drop(x)))))


def loss_of(net: Any, x: Any, y: Any) -> Any:
    return nn.cross_entropy(net(x), y)


def step(net: Any, opt: Any, x: Any, y: Any) -> Any:
    loss, grads = tracejit.value_and_grad(loss_of)(net, x, y)
    optim.clip_by_global_norm(grads, 1.0)
    opt.update(net, grads)
    return loss


def trained(step: Any, count: int) -> tuple[Any, Any, list[float]]:
    rng = np.random.default_rng(0)
    net = Net(rng)
    opt = optim.Adam(net, lr=1e-2)
    x = rng.standard_normal((60, 6)).astype(np.float32)
    y = (x[:, :3] + x[:, 3:]).argmax(axis=1)
    losses = []
    for k in range(count):
        part = slice(k % 3 * 20, k % 3 * 20 + 20)
        losses.append(float(step(net, opt, x[part], y[part])))
    return net, opt, losses


@pytest.fixture(scope="module")
def compiled() -> Any:
    return tracejit.jit(step, strict=True)


def test_the_loss_falls(compiled: Any) -> None:
    net, opt, losses = trained(compiled, 60)
    assert np.mean(losses[-6:]) < 0.6 * np.mean(losses[:6])
    assert opt.count == net.norm.num_batches_tracked == 60
    assert all(p.dtype == np.float32 for p in net.state_dict().values() if p.ndim)


def test_a_step_copies_nothing_and_is_compiled_once(compiled: Any) -> None:
    trained(compiled, 4)
    report = compiled.report()
    assert len(report.variants) == 1 and "undone" not in str(report)
    assert not report.fallbacks


def test_compiled_and_plain_steps_are_alike(compiled: Any) -> None:
    """The gradient differs in its last places, by the order of sums."""
    found, _, losses = trained(compiled, 5)
    with tracejit.eager():
        expected, _, wanted = trained(step, 5)
    np.testing.assert_allclose(losses, wanted, rtol=1e-4)
    for (name, a), b in zip(
        found.state_dict().items(), expected.state_dict().values(), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-4, err_msg=name)


def test_bad_labels_change_nothing(compiled: Any) -> None:
    """But for what Python had done before it met them: the running statistics of the batch."""
    net, opt, _ = trained(compiled, 1)
    before = {k: p.copy() for k, p in net.parameters().items()}
    x = np.ones((20, 6), np.float32)
    with pytest.raises(IndexError):
        compiled(net, opt, x, np.full(20, 3))
    assert opt.count == 1 and net.norm.num_batches_tracked == 2
    for k, p in net.parameters().items():
        np.testing.assert_array_equal(p, before[k])
    with pytest.raises(ValueError, match=r"Linear\(6, 16\) takes 6 features"):
        compiled(net, opt, x[:, :5], np.zeros(20, int))
    assert np.isfinite(compiled(net, opt, x, np.zeros(20, int)))

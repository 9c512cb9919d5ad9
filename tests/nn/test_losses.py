"""Losses: written-out formulas, finite differences, PyTorch; all in one compiled program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import nn

BATCH = 6


def batch(n: int, dtype: type = np.float64) -> dict[str, Any]:
    """Arguments of all losses, for n examples."""
    rng = np.random.default_rng(n)
    found = {
        "x": rng.normal(size=(n, 5)),
        "y": rng.normal(size=(n, 5)),
        "deep": rng.normal(size=(n, 5, 2, 3)),
        "p": rng.uniform(0.02, 0.98, (n, 5)),
        "soft": rng.uniform(size=(n, 5)),
        "w": rng.uniform(0.5, 2, 5),
    }
    found = {k: v.astype(dtype) for k, v in found.items()}
    found |= {"t": rng.integers(0, 5, n), "deep_t": rng.integers(0, 5, (n, 2, 3))}
    found["t"][1] = found["deep_t"][0, 1, 2] = 3
    found["sign"] = np.where(rng.uniform(size=(n, 5)) < 0.5, -1, 1).astype(dtype)
    return found


#: Each loss by its first argument and all others.
LOSSES: dict[str, tuple[str, Any]] = {
    "mse": ("x", lambda x, a: nn.mse_loss(x, a["y"])),
    "l1": ("x", lambda x, a: nn.l1_loss(x, a["y"], "sum")),
    "huber": ("x", lambda x, a: nn.huber_loss(x, a["y"], 0.5)),
    "smooth_l1": ("x", lambda x, a: nn.smooth_l1_loss(x, a["y"], 0.5)),
    "classes": ("x", lambda x, a: nn.cross_entropy(x, a["t"])),
    "classes_weighted": (
        "deep",
        lambda x, a: nn.cross_entropy(x, a["deep_t"], a["w"], 3, "mean", 0.1),
    ),
    "classes_smooth": ("x", lambda x, a: nn.cross_entropy(x, a["t"], label_smoothing=0.2)),
    "soft_classes": (
        "x",
        lambda x, a: nn.cross_entropy(x, a["soft"], a["w"], label_smoothing=0.1),
    ),
    "nll": ("deep", lambda x, a: nn.nll_loss(x, a["deep_t"], a["w"], 3)),
    "bce": ("p", lambda x, a: nn.binary_cross_entropy(x, a["soft"], a["w"])),
    "bce_logits": (
        "x",
        lambda x, a: nn.binary_cross_entropy_with_logits(x, a["soft"], pos_weight=a["w"]),
    ),
    "kl": ("x", lambda x, a: nn.kl_div(x, a["soft"], "batchmean")),
    "kl_logs": ("x", lambda x, a: nn.kl_div(x, a["y"], "sum", log_target=True)),
    "hinge": ("x", lambda x, a: nn.hinge_loss(x, a["sign"])),
    "multi_margin": ("x", lambda x, a: nn.multi_margin_loss(x, a["t"])),
    "cosine": ("x", lambda x, a: nn.cosine_similarity(x, a["y"]).sum()),
    "cosine_embedding": (
        "x",
        lambda x, a: nn.cosine_embedding_loss(x, a["y"], a["sign"][:, 0], 0.1),
    ),
}


def formulas(a: dict[str, Any]) -> dict[str, Any]:
    """The same, by definition."""
    x, y, soft, w, t, s, p = (a[k] for k in ("x", "y", "soft", "w", "t", "sign", "p"))
    n, d = len(x), abs(x - y)
    huber = [e * e / 2 if e <= 0.5 else 0.5 * (e - 0.25) for e in d.flat]
    logs = x - np.log(np.exp(x).sum(1))[:, None]
    deep = np.moveaxis(a["deep"], 1, 3).reshape(-1, 5)
    deep_logs = deep - np.log(np.exp(deep).sum(1))[:, None]
    rows = [(k, c) for k, c in enumerate(a["deep_t"].flat) if c != 3]
    total = sum(w[c] for _, c in rows)
    picked = -sum(w[c] * deep_logs[k, c] for k, c in rows)
    spread = -sum((w * deep_logs[k]).sum() for k, _ in rows) / 5
    shares = 0.9 * soft + 0.1 / 5
    sigmoid = 1 / (1 + np.exp(-x))
    others = [max(0, 1 - x[k, t[k]] + x[k, c]) for k in range(n) for c in range(5) if c != t[k]]
    cosine = (x * y).sum(1) / np.sqrt((x**2).sum(1) * (y**2).sum(1))
    apart = [1 - c if v == 1 else max(0, c - 0.1) for c, v in zip(cosine, s[:, 0], strict=True)]
    one = [-logs[k, t[k]] for k in range(n)]
    return {
        "mse": np.mean(d**2),
        "l1": d.sum(),
        "huber": np.mean(huber),
        "smooth_l1": np.mean(huber) / 0.5,
        "classes": np.mean(one),
        "classes_weighted": (0.9 * picked + 0.1 * spread) / total,
        "classes_smooth": np.mean(0.8 * np.array(one) - 0.2 * logs.mean(1)),
        "soft_classes": -(shares * w * logs).sum() / n,
        "nll": -sum(w[c] * deep[k, c] for k, c in rows) / total,
        "bce": -np.mean(w * (soft * np.log(p) + (1 - soft) * np.log(1 - p))),
        "bce_logits": -np.mean(w * soft * np.log(sigmoid) + (1 - soft) * np.log(1 - sigmoid)),
        "kl": (soft * (np.log(soft) - x)).sum() / n,
        "kl_logs": (np.exp(y) * (y - x)).sum(),
        "hinge": np.mean(np.maximum(0, 1 - s * x)),
        "multi_margin": sum(others) / 5 / n,
        "cosine": cosine.sum(),
        "cosine_embedding": np.mean(apart),
    }


def values_and_slopes(names: tuple[str, ...], a: dict[str, Any]) -> list[Any]:
    return [tracejit.value_and_grad(LOSSES[k][1])(a[LOSSES[k][0]], a) for k in names]


compiled = tracejit.jit(values_and_slopes, strict=True)


def test_formulas_and_finite_differences() -> None:
    a = batch(BATCH)
    wanted = formulas(a)
    assert wanted.keys() == LOSSES.keys()
    for name, (value, slope) in zip(LOSSES, compiled(tuple(LOSSES), a), strict=True):
        first, loss = LOSSES[name]
        assert np.isclose(value, wanted[name], rtol=1e-12), name
        assert np.isclose(value, loss(a[first], a), rtol=1e-13), name
        step = 1e-6 * np.random.default_rng(0).normal(size=a[first].shape)
        change = loss(a[first] + step, a) - loss(a[first] - step, a)
        assert np.isclose((slope * step).sum() * 2, change, rtol=1e-6, atol=1e-11), name


def test_single_precision_stays_for_all_sizes() -> None:
    some = ("classes_weighted", "bce_logits", "cosine_embedding")
    before = len(compiled.report().compiles)
    for n in (BATCH, 9, 13):
        a, wanted = batch(n, np.float32), formulas(batch(n))
        for name, (first, loss) in LOSSES.items():
            plain = loss(a[first], a)
            assert plain.dtype == np.float32 and np.isclose(plain, wanted[name], rtol=1e-5), name
        for name, (value, slope) in zip(some, compiled(some, a), strict=True):
            assert value.dtype == slope.dtype == np.float32
            assert np.isclose(value, wanted[name], rtol=1e-5), name
    assert len(compiled.report().compiles) == before + 2


def test_pytorch_gives_the_same() -> None:
    torch = pytest.importorskip("torch")
    of = torch.nn.functional
    a = {k: torch.from_numpy(v) for k, v in batch(BATCH).items()}
    w, soft, t = a["w"], a["soft"], a["t"]
    losses = {
        "mse": lambda x: of.mse_loss(x, a["y"]),
        "l1": lambda x: of.l1_loss(x, a["y"], reduction="sum"),
        "huber": lambda x: of.huber_loss(x, a["y"], delta=0.5),
        "smooth_l1": lambda x: of.smooth_l1_loss(x, a["y"], beta=0.5),
        "classes": lambda x: of.cross_entropy(x, t),
        "classes_weighted": lambda x: of.cross_entropy(
            x, a["deep_t"], w, ignore_index=3, label_smoothing=0.1
        ),
        "classes_smooth": lambda x: of.cross_entropy(x, t, label_smoothing=0.2),
        "soft_classes": lambda x: of.cross_entropy(x, soft, w, label_smoothing=0.1),
        "nll": lambda x: of.nll_loss(x, a["deep_t"], w, ignore_index=3),
        "bce": lambda x: of.binary_cross_entropy(x, soft, w),
        "bce_logits": lambda x: of.binary_cross_entropy_with_logits(x, soft, pos_weight=w),
        "kl": lambda x: of.kl_div(x, soft, reduction="batchmean"),
        "kl_logs": lambda x: of.kl_div(x, a["y"], reduction="sum", log_target=True),
        "hinge": lambda x: (1 - a["sign"] * x).clamp(min=0).mean(),
        "multi_margin": lambda x: of.multi_margin_loss(x, t),
        "cosine": lambda x: of.cosine_similarity(x, a["y"]).sum(),
        "cosine_embedding": lambda x: of.cosine_embedding_loss(
            x, a["y"], a["sign"][:, 0], margin=0.1
        ),
    }
    assert losses.keys() == LOSSES.keys()
    for name, (value, slope) in zip(LOSSES, compiled(tuple(LOSSES), batch(BATCH)), strict=True):
        x = a[LOSSES[name][0]].clone().requires_grad_()
        wanted = losses[name](x)
        wanted.backward()
        assert np.isclose(value, wanted.item(), rtol=1e-10), name
        assert np.allclose(slope, x.grad.numpy(), rtol=1e-9, atol=1e-12), name


def test_where_numbers_are_extreme() -> None:
    big = np.float32([[1e4, -1e4, 0], [-np.inf, 2, 1]])
    value, slope = tracejit.value_and_grad(nn.cross_entropy)(big, np.array([0, 1]))
    assert np.isclose(value, np.log1p(np.exp(-1)) / 2, rtol=1e-6)
    assert np.isfinite(slope).all() and slope[1, 0] == 0
    value, slope = tracejit.value_and_grad(nn.binary_cross_entropy_with_logits)(
        np.float32([1e4, -1e4, 0]), np.float32([1, 0, 0])
    )
    assert np.isclose(value, np.log(2) / 3) and np.allclose(slope, [0, 0, 0.5 / 3])
    zero = np.float32([0, 0, 1, 1])
    losses = nn.binary_cross_entropy(zero, zero[[0, 2, 0, 2]], reduction="none")
    assert losses.tolist() == [0, 100, 100, 0]
    slope = tracejit.grad(nn.kl_div)(np.zeros(2), np.array([0.0, 1]))
    assert slope.tolist() == [0, -0.5]


def test_what_is_ignored_counts_nothing_whatever_it_is() -> None:
    x = np.array([[1.0, 2, 3], [np.inf, np.nan, 0], [0, 0, 1]])
    labels = np.array([0, -100, 2])
    with np.errstate(invalid="ignore"):
        value, slope = tracejit.value_and_grad(nn.cross_entropy)(x, labels)
    assert np.isclose(value, nn.cross_entropy(x[::2], labels[::2]))
    assert np.isfinite(slope).all() and not slope[1].any()


def test_mistakes_are_named() -> None:
    x = np.zeros((4, 3))
    for f in (nn.cross_entropy, tracejit.jit(lambda x, t: nn.cross_entropy(x, t))):
        for bad in ([0, 1, 2, 3], [0, -1, 1, 1]):
            with pytest.raises(IndexError, match=r"not in 0 \.\.\. 2"):
                f(x, np.array(bad))
    with pytest.raises(ValueError, match=r"not \(4, 3\) and \(3,\)"):
        nn.cross_entropy(x, np.zeros(3, int))
    with pytest.raises(ValueError, match="mse_loss takes .* one shape"):
        nn.mse_loss(x, x[:, :1])
    with pytest.raises(ValueError, match="'none', not 'all'"):
        nn.l1_loss(x, x, "all")
    with pytest.raises(IndexError, match="multi_margin_loss"):
        nn.multi_margin_loss(x, np.array([0, 1, 2, 3]))

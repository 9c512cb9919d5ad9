"""The benchmarks of networks and rows: what they time is right and compiled."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tracejit
from benchmarks import networks, rows
from benchmarks.__main__ import names
from benchmarks.harness import check
from benchmarks.networks.convolutions import CONVOLUTIONS
from benchmarks.networks.model import Model


def in_double(tree: Any) -> Any:
    """The arrays in double precision, where a step of Adam does not magnify rounding."""
    if isinstance(tree, dict):
        return {k: in_double(x) for k, x in tree.items()}
    if isinstance(tree, list):
        return [in_double(x) for x in tree]
    return tree.astype(np.float64) if tree.dtype == np.float32 else tree


def windows(x: Any, size: tuple[int, int], axis: tuple[int, int]) -> Any:
    """sliding_window_view over the last two axes, as a new array."""
    (kh, kw), (h, w) = size, x.shape[2:]
    columns = [x[..., j : j + w - kw + 1] for j in range(kw)]
    rows = [[c[:, :, i : i + h - kh + 1] for c in columns] for i in range(kh)]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def test_they_are_benchmarks() -> None:
    assert {"networks", "rows"} <= set(names())


@pytest.mark.sampled(9)
@pytest.mark.parametrize("model", networks.MODELS, ids=lambda m: m.name)
def test_a_compiled_step_is_the_plain_one(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    p, inputs, target = in_double(list(model.make(np.random.default_rng(3), True)))
    state = in_double(model.state(p))
    plain_p, plain_state = copy.deepcopy((p, state))
    step = tracejit.jit(model.step)
    value = step(p, state, *inputs, target)
    # A gradient that is taken eagerly does not pass through sliding_window_view.
    for module in (networks.vgg, networks.resnet):
        monkeypatch.setattr(module, "sliding_window_view", windows)
    with tracejit.eager():
        want = model.step(plain_p, plain_state, *inputs, target)
    assert len(step.report().compiles) == 1
    np.testing.assert_allclose(value, want, rtol=1e-9)
    for k, x in p.items():
        np.testing.assert_allclose(x, plain_p[k], rtol=1e-7, atol=1e-9, err_msg=k)


def test_a_wrong_step_is_found() -> None:
    p = {"w": np.ones(3, np.float32)}
    want = (np.ones(2), [1.0, 0.9, 0.8], {"w": np.full(3, 0.9, np.float32)})
    networks.agree(copy.deepcopy(want), want, p)
    for k, wrong in ((0, np.full(2, 1.01)), (1, [1.0, 0.9, 0.7]), (2, {"w": 0.91 + p["w"] * 0})):
        with pytest.raises(AssertionError, match="off by"):
            networks.agree((*want[:k], wrong, *want[k + 1 :]), want, p)


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_the_spellings_are_one_convolution(name: str) -> None:
    rng = np.random.default_rng(4)
    x, w = rng.standard_normal((2, 3, 6, 5)), rng.standard_normal((4, 3, 3, 3))
    want = sum(
        np.einsum("nchw,oc->nohw", x[:, :, i : i + 4, j : j + 3], w[:, :, i, j])
        for i in range(3)
        for j in range(3)
    )
    np.testing.assert_allclose(CONVOLUTIONS[name](x, w), want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", rows.CASES)
def test_rows_are_right_and_compiled(name: str) -> None:
    found, jitted = rows.contenders(name, rows.CASES[name].make(np.random.default_rng(4), 7, 12))
    check(found, 1e-9, 1e-12)
    assert not jitted.report().fallbacks

"""Layers: what they compute by its definition, gradients by differences, and both as PyTorch's."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest
from scipy import special

import tracejit
from tracejit import nn

pytestmark = pytest.mark.sampled(9)

RNG = np.random.default_rng(0)


def drawn(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def weighted(net: Any, x: Any) -> Any:
    """A loss with another weight for each result, and the results."""
    out = net(x)
    return (out * np.cos(np.arange(out.size).reshape(out.shape))).sum(), out


@tracejit.jit(strict=True)
def with_gradients(net: Any, x: Any) -> Any:
    return tracejit.value_and_grad(weighted, argnums=(0, 1), has_aux=True)(net, x)


@tracejit.jit(strict=True)
def by_input(net: Any, x: Any) -> Any:
    return tracejit.value_and_grad(weighted, argnums=1, has_aux=True)(net, x)


def convolved(layer: Any, x: Any, padding: Any = 0) -> Any:
    """By the definition: a sum over the window for each output."""
    w, b, g = layer.weight, layer.bias, layer.groups
    before, after = layer.padding
    x = np.pad(x, ((0, 0), (0, 0), *zip(before, after, strict=True)))
    s, d = layer.stride, layer.dilation
    sizes = [
        (n - e * (k - 1) - 1) // t + 1
        for n, k, t, e in zip(x.shape[2:], w.shape[2:], s, d, strict=True)
    ]
    out = np.zeros((len(x), len(w), *sizes))
    for n, o, *at in itertools.product(*map(range, out.shape)):
        first = o // (len(w) // g) * w.shape[1]
        where = tuple(
            slice(p * t, p * t + e * (k - 1) + 1, e)
            for p, t, e, k in zip(at, s, d, w.shape[2:], strict=True)
        )
        part = x[(n, slice(first, first + w.shape[1]), *where)]
        out[(n, o, *at)] = (part * w[o]).sum() + (0 if b is None else b[o])
    return out


def pooled(reduce: Any, size: int, stride: int, padding: int, fill: float) -> Any:
    def run(layer: Any, x: Any) -> Any:
        x = np.pad(x, ((0, 0), (0, 0), *[(padding, padding)] * 2), constant_values=fill)
        h, w = ((n - size) // stride + 1 for n in x.shape[2:])
        out = np.empty((*x.shape[:2], h, w))
        for p, q in np.ndindex(h, w):
            rows, columns = (slice(k * stride, k * stride + size) for k in (p, q))
            out[:, :, p, q] = reduce(x[:, :, rows, columns], axis=(2, 3))
        return out

    return run


def parted(reduce: Any, parts: tuple[int, int]) -> Any:
    def run(layer: Any, x: Any) -> Any:
        out = np.empty((*x.shape[:2], *parts))
        for at in np.ndindex(parts):
            rows, columns = (
                slice(int(np.floor(k * n / m)), int(np.ceil((k + 1) * n / m)))
                for k, n, m in zip(at, x.shape[2:], parts, strict=True)
            )
            out[:, :, *at] = reduce(x[:, :, rows, columns], axis=(2, 3))
        return out

    return run


def normal_over(axes: Any, affine: Any) -> Any:
    def run(layer: Any, x: Any) -> Any:
        mean, var = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
        shape = affine(layer.weight.shape)
        y = (x - mean) / np.sqrt(var + 1e-5)
        return y * layer.weight.reshape(shape) + layer.bias.reshape(shape)

    return run


def grouped(layer: Any, x: Any) -> Any:
    parts = np.split(x, layer.groups, axis=1)
    mean = [p.mean(axis=(1, 2, 3), keepdims=True) for p in parts]
    var = [p.var(axis=(1, 2, 3), keepdims=True) for p in parts]
    y = np.concatenate(
        [(p - m) / np.sqrt(v + 1e-5) for p, m, v in zip(parts, mean, var, strict=True)], 1
    )
    return y * layer.weight[:, None, None] + layer.bias[:, None, None]


D = np.float64
PICTURES = drawn(2, 4, 9, 8)
#: The layer, what it computes, an input, and its name and arguments in PyTorch.
LAYERS: dict[str, tuple[Any, Any, Any, str, tuple[Any, ...], dict[str, Any]]] = {
    "linear": (
        nn.Linear(5, 3, RNG, dtype=D),
        lambda f, x: np.einsum("...i,oi->...o", x, f.weight) + f.bias,
        drawn(2, 4, 5),
        *("Linear", (5, 3), {}),
    ),
    "conv1d": (
        nn.Conv1d(4, 6, 3, RNG, stride=2, padding=2, groups=2, dtype=D),
        convolved,
        drawn(2, 4, 9),
        *("Conv1d", (4, 6, 3), {"stride": 2, "padding": 2, "groups": 2}),
    ),
    "conv2d": (
        nn.Conv2d(4, 5, (3, 2), RNG, stride=(2, 1), padding=1, dtype=D),
        convolved,
        PICTURES,
        *("Conv2d", (4, 5, (3, 2)), {"stride": (2, 1), "padding": 1}),
    ),
    "same": (
        nn.Conv2d(4, 2, (3, 2), RNG, padding="same", dilation=2, bias=False, dtype=D),
        convolved,
        PICTURES,
        *("Conv2d", (4, 2, (3, 2)), {"padding": "same", "dilation": 2, "bias": False}),
    ),
    "depthwise": (
        nn.Conv2d(4, 4, 3, RNG, groups=4, padding=(1, 0), dtype=D),
        convolved,
        PICTURES,
        *("Conv2d", (4, 4, 3), {"groups": 4, "padding": (1, 0)}),
    ),
    "max pool": (
        nn.MaxPool2d(3, 2, 1),
        pooled(np.max, 3, 2, 1, -np.inf),
        PICTURES,
        *("MaxPool2d", (3, 2, 1), {}),
    ),
    "mean pool": (
        nn.AvgPool2d(3, 2, 1),
        pooled(np.mean, 3, 2, 1, 0),
        PICTURES,
        *("AvgPool2d", (3, 2, 1), {}),
    ),
    "adaptive": (
        nn.AdaptiveAvgPool2d((3, 5)),
        parted(np.mean, (3, 5)),
        PICTURES,
        *("AdaptiveAvgPool2d", ((3, 5),), {}),
    ),
    "adaptive max": (
        nn.AdaptiveMaxPool2d(4),
        parted(np.max, (4, 4)),
        PICTURES,
        *("AdaptiveMaxPool2d", (4,), {}),
    ),
    "batch norm": (
        nn.BatchNorm(4, dtype=D),
        normal_over((0, 2, 3), lambda shape: (*shape, 1, 1)),
        PICTURES,
        *("BatchNorm2d", (4,), {}),
    ),
    "layer norm": (
        nn.LayerNorm((9, 8), dtype=D),
        normal_over((2, 3), lambda shape: shape),
        PICTURES,
        *("LayerNorm", ((9, 8),), {}),
    ),
    "group norm": (nn.GroupNorm(2, 4, dtype=D), grouped, PICTURES, "GroupNorm", (2, 4), {}),
}


@pytest.mark.parametrize("name", LAYERS)
def test_values_and_gradients(name: str) -> None:
    """Against the definition, and against differences along one direction of all that it has."""
    layer, definition, x, *_ = LAYERS[name]
    layer = copy.deepcopy(layer)
    own = nn.parameters(layer)
    (_, out), found = (with_gradients if own else by_input)(layer, x)
    np.testing.assert_allclose(out, definition(layer, x), rtol=1e-12, atol=1e-12)
    by, by_x = found if own else (None, found)
    moves = {k: drawn(*p.shape) for k, p in own.items()}, drawn(*x.shape)
    slope = (by_x * moves[1]).sum()
    slope += sum((nn.parameters(by)[k] * d).sum() for k, d in moves[0].items())
    values = []
    for h in (1e-6, -1e-6):
        other = copy.deepcopy(layer)
        for k, p in nn.parameters(other).items():
            p += h * moves[0][k]
        values.append(weighted(other, x + h * moves[1])[0])
    np.testing.assert_allclose(slope, (values[0] - values[1]) / 2e-6, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    layer, _, x, kind, args, options = LAYERS[name]
    layer = copy.deepcopy(layer)
    twin = getattr(torch.nn, kind)(*args, **options).double()
    twin.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in layer.state_dict().items()})
    given = torch.from_numpy(x.copy()).requires_grad_()
    theirs = twin(given)
    (
        theirs * torch.cos(torch.arange(theirs.numel()).double().reshape(theirs.shape))
    ).sum().backward()
    own = nn.parameters(layer)
    (_, out), found = (with_gradients if own else by_input)(layer, x)
    np.testing.assert_allclose(out, theirs.detach().numpy(), rtol=1e-9, atol=1e-12)
    by, by_x = found if own else (None, found)
    np.testing.assert_allclose(by_x, given.grad.numpy(), rtol=1e-9, atol=1e-12)
    for k, p in twin.named_parameters():
        np.testing.assert_allclose(nn.parameters(by)[k], p.grad.numpy(), rtol=1e-9, atol=1e-12)
    for k, b in twin.state_dict().items():
        np.testing.assert_allclose(layer.state_dict()[k], b.numpy(), rtol=1e-12)


def test_batch_norms_use_what_they_have_learnt() -> None:
    norm, x = nn.BatchNorm(4, dtype=D), PICTURES
    norm(x)
    mean, var = x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3), ddof=1)
    np.testing.assert_allclose(norm.running_mean, 0.1 * mean)
    np.testing.assert_allclose(norm.running_var, 0.9 + 0.1 * var)
    learnt = norm.running_mean.copy()
    out = norm.eval()(x[:1])
    expected = (x[:1] - learnt[:, None, None]) / np.sqrt(norm.running_var + 1e-5)[:, None, None]
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    assert norm.num_batches_tracked == 1 and (norm.running_mean == learnt).all()


def test_dropout_is_what_its_generator_draws() -> None:
    layer, x = nn.Dropout(0.25, np.random.default_rng(3)), np.ones((40, 50), np.float32)
    run = tracejit.jit(nn.Dropout.__call__, strict=True)
    first, second = run(layer, x), run(layer, x)
    plain = nn.Dropout(0.25, np.random.default_rng(3))
    np.testing.assert_array_equal(first, plain(x))
    np.testing.assert_array_equal(second, plain(x))
    assert set(np.unique(first)) == {0, np.float32(1 / 0.75)} and first.dtype == np.float32
    assert abs((first == 0).mean() - 0.25) < 0.04 and (first != second).any()
    assert run(layer.eval(), x) is x or (run(layer, x) == x).all()
    with pytest.raises(ValueError, match="below 1, not 1"):
        nn.Dropout(1, RNG)


def test_embeddings_have_gradients_by_rows() -> None:
    table, ids = nn.Embedding(50, 3, RNG, dtype=D), np.array([[4, 7], [4, 49]])

    def loss(table: Any, ids: Any) -> Any:
        return (table(ids) ** 2).sum() / 2

    by = tracejit.jit(tracejit.grad(loss, sparse_rows=True), strict=True)(table, ids).weight
    assert isinstance(by, tracejit.RowGradient) and len(by.rows) == 4
    expected = np.zeros((50, 3))
    np.add.at(expected, ids, table.weight[ids])
    np.testing.assert_allclose(by.dense(), expected)
    with pytest.raises(IndexError):
        table(np.array([50]))


ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "elu": lambda x: np.where(x > 0, x, np.exp(np.minimum(x, 0)) - 1),
    "selu": lambda x: (
        1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * (np.exp(np.minimum(x, 0)) - 1))
    ),
    "sigmoid": special.expit,
    "silu": lambda x: x * special.expit(x),
    "softplus": lambda x: np.logaddexp(0, x),
    "mish": lambda x: x * np.tanh(np.logaddexp(0, x)),
    "gelu": lambda x: x * special.ndtr(x),
    "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "softmax": lambda x: special.softmax(x, axis=-1),
    "log_softmax": lambda x: special.log_softmax(x, axis=-1),
    "tanh": np.tanh,
}


@tracejit.jit(strict=True)
def all_of_them(x: Any) -> Any:
    return {name: getattr(nn, name)(x) for name in ACTIVATIONS}


def test_activations() -> None:
    x = drawn(20, 30) * 4
    x[0, :4] = np.nan, 0, 6, -3
    found, single = all_of_them(x), all_of_them(x.astype(np.float32))
    for name, expected in ACTIVATIONS.items():
        # SciPy's own formulas warn of the NaN.
        with np.errstate(all="ignore"):
            wanted = expected(x)
        np.testing.assert_allclose(found[name], wanted, rtol=1e-12, atol=1e-14)
        assert single[name].dtype == np.float32
    approximate = nn.gelu(x, approximate=True)
    np.testing.assert_allclose(approximate, found["gelu"], atol=2e-3)
    slopes = tracejit.grad(lambda x: (nn.relu(x) + nn.relu6(x) + nn.leaky_relu(x)).sum())
    np.testing.assert_array_equal(slopes(np.array([0.0, 6.0, 2.0, -1.0])), [0.01, 2, 3, 0.01])


@pytest.mark.parametrize(
    ("layer", "shape", "told"),
    [
        (nn.Linear(64, 128, RNG), (8, 32), r"Linear\(64, 128\) takes 64 features .* not 32"),
        (nn.Conv2d(3, 4, 3, RNG), (2, 5, 9, 9), r"Conv2d\(3, 4\) takes \[n, 3, size, size\]"),
        (nn.BatchNorm(3), (2, 4), r"BatchNorm\(3\) takes \[n, 3, ...\], not \(2, 4\)"),
        (nn.BatchNorm(3), (1, 3, 1), r"BatchNorm\(3\) learns from two .* not from \(1, 3, 1\)"),
        (nn.LayerNorm(3), (2, 4), r"LayerNorm\(\(3,\)\) takes last axes of that shape"),
        (nn.GroupNorm(1, 3), (2, 4), r"GroupNorm of 3 takes \[n, 3, ...\]"),
        (nn.MaxPool2d(2), (4,), "MaxPool2d takes 2 axes or more"),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, nn.Module) else "",
)
def test_wrong_shapes_name_the_layer(layer: Any, shape: tuple[int, ...], told: str) -> None:
    x = np.zeros(shape, np.float32)
    for call in (layer, lambda x: tracejit.jit(type(layer).__call__)(layer, x)):
        with pytest.raises(ValueError, match=told):
            call(x)


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(ValueError, match="3 groups do not divide 4 inputs"):
        nn.Conv2d(4, 6, 3, RNG, groups=3)
    with pytest.raises(ValueError, match="'same', not 'same'"):
        nn.Conv2d(4, 6, 3, RNG, stride=2, padding="same")
    with pytest.raises(ValueError, match="one for each of 2 axes"):
        nn.MaxPool2d((2, 2, 2))
    with pytest.raises(ValueError, match="2 groups do not divide 3"):
        nn.GroupNorm(2, 3)


def test_initial_values_have_their_variances() -> None:
    rng, shape = np.random.default_rng(1), (200, 30, 3)
    for name, variance in (
        ("glorot_uniform", 2 / (90 + 600)),
        ("glorot_normal", 2 / (90 + 600)),
        ("he_uniform", 2 / 90),
        ("he_normal", 2 / 90),
    ):
        x = getattr(nn.init, name)(shape, rng)
        assert x.dtype == np.float32 and x.shape == shape
        assert abs(x.var() / variance - 1) < 0.05 and abs(x.mean()) < 0.02
    assert np.abs(nn.init.truncated_normal(shape, rng, 0.5)).max() <= 1
    q = nn.init.orthogonal((4, 2, 3), rng, dtype=np.float64).reshape(4, 6)
    np.testing.assert_allclose(q @ q.T, np.eye(4), atol=1e-12)
    with pytest.raises(ValueError, match="at least two axes"):
        nn.init.he_normal((3,), rng)

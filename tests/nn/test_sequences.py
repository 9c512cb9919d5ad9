"""Recurrent networks and attention: by their definitions, by differences, and as PyTorch's."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, softmax

import tracejit
from tracejit import nn

RNG = np.random.default_rng(0)
D = np.float64
X, CONTEXT = RNG.standard_normal((2, 5, 8)), RNG.standard_normal((2, 7, 8))
LENGTHS = np.array([5, 3])
PADDING = np.array([[0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 1, 1, 1]], bool)
MASK = np.tri(5, 7, 1, bool)


def flat(out: Any) -> list[Any]:
    return [x for part in out for x in flat(part)] if isinstance(out, tuple) else [out]


def loss(net: Any, call: Callable[..., Any], *xs: Any) -> Any:
    out = flat(call(net, *xs))
    total = 0.0
    for x in out:
        total = total + (x * np.cos(np.arange(x.size).reshape(x.shape))).sum()
    return total, out


def gradients(net: Any, call: Callable[..., Any], *xs: Any) -> Any:
    """(loss, results), and the gradients by the network and by each argument."""

    def run(net: Any, *xs: Any) -> Any:
        def inner(net: Any, *xs: Any) -> Any:
            return loss(net, call, *xs)

        by = tuple(range(len(xs) + 1))
        return tracejit.value_and_grad(inner, argnums=by, has_aux=True)(net, *xs)

    return tracejit.jit(run, strict=True)(net, *xs)


def rnn(net: Any, x: Any) -> Any:
    return net(x)


def rnn_with_lengths(net: Any, x: Any, h: Any) -> Any:
    return net(x, h, LENGTHS)


def masked(net: Any, x: Any, context: Any) -> Any:
    return net(x, context, mask=MASK, padding=PADDING)


def biased(net: Any, x: Any, context: Any, mask: Any) -> Any:
    return net(x, context, mask=mask, padding=PADDING)


def causal(net: Any, x: Any) -> Any:
    return net(x, causal=True)


def decoded(net: Any, x: Any, context: Any) -> Any:
    return net(x, context, memory_padding=PADDING)


def packed(twin: Any, x: Any, h: Any) -> Any:
    import torch
    from torch.nn.utils import rnn as sequences

    lengths = torch.from_numpy(LENGTHS)
    given = sequences.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    out, state = twin(given, h)
    return sequences.pad_packed_sequence(out, batch_first=True)[0], state


def masked_twin(twin: Any, x: Any, context: Any) -> Any:
    import torch

    mask, padding = torch.from_numpy(~MASK), torch.from_numpy(PADDING)
    return twin(x, context, context, padding, attn_mask=mask, need_weights=False)[0]


def biased_twin(twin: Any, x: Any, context: Any, mask: Any) -> Any:
    import torch

    padding = torch.zeros(2, 7).double().masked_fill(torch.from_numpy(PADDING), -torch.inf)
    return twin(x, context, context, padding, attn_mask=mask, need_weights=False)[0]


def ahead(torch: Any) -> Any:
    return torch.triu(torch.full((5, 5), -torch.inf, dtype=torch.float64), 1)


def causal_twin(twin: Any, x: Any) -> Any:
    import torch

    return twin(x, x, x, attn_mask=ahead(torch), need_weights=False)[0]


def encoded_twin(twin: Any, x: Any) -> Any:
    import torch

    return twin(x, src_mask=ahead(torch))


def decoded_twin(twin: Any, x: Any, context: Any) -> Any:
    import torch

    padding = torch.from_numpy(PADDING)
    return twin(x, context, tgt_mask=ahead(torch), memory_key_padding_mask=padding)


TWO = {"bidirectional": True, "batch_first": True}
#: The network, how it is called, with what; its class in PyTorch, arguments, how that is called.
CASES: dict[str, tuple[Any, Any, tuple[Any, ...], str, tuple[Any, ...], dict[str, Any], Any]] = {
    "rnn": (nn.RNN(8, 3, RNG, dtype=D), rnn, (X,), "RNN", (8, 3), {}, rnn),
    "gru": (
        nn.GRU(8, 3, RNG, layers=2, dtype=D),
        *(rnn, (X,), "GRU", (8, 3), {"num_layers": 2}, rnn),
    ),
    "lstm": (
        nn.LSTM(8, 3, RNG, layers=2, **TWO, dtype=D),
        *(rnn, (X,), "LSTM", (8, 3), {"num_layers": 2, **TWO}, rnn),
    ),
    "lengths": (
        nn.GRU(8, 3, RNG, **TWO, dtype=D),
        *(rnn_with_lengths, (X, RNG.standard_normal((2, 2, 3))), "GRU", (8, 3), TWO, packed),
    ),
    "attention": (
        nn.MultiHeadAttention(8, 2, RNG, dtype=D),
        *(masked, (X, CONTEXT), "MultiheadAttention", (8, 2), {"batch_first": True}, masked_twin),
    ),
    "bias": (
        nn.MultiHeadAttention(8, 2, RNG, bias=False, dtype=D),
        *(biased, (X, CONTEXT, RNG.standard_normal((5, 7))), "MultiheadAttention", (8, 2)),
        {"batch_first": True, "bias": False},
        biased_twin,
    ),
    "causal": (
        nn.MultiHeadAttention(8, 2, RNG, dtype=D),
        *(causal, (X,), "MultiheadAttention", (8, 2), {"batch_first": True}, causal_twin),
    ),
    "encoder": (
        nn.TransformerEncoderLayer(8, 2, 16, RNG, dropout=0.0, activation=nn.gelu, dtype=D),
        causal,
        (X,),
        *("TransformerEncoderLayer", (8, 2, 16, 0.0, "gelu"), {"batch_first": True}, encoded_twin),
    ),
    "decoder": (
        nn.TransformerDecoderLayer(8, 2, 16, RNG, dropout=0.0, norm_first=True, dtype=D),
        decoded,
        (X, CONTEXT),
        "TransformerDecoderLayer",
        (8, 2, 16, 0.0),
        {"batch_first": True, "norm_first": True},
        decoded_twin,
    ),
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_slopes(name: str) -> None:
    """Along one direction of all parameters and arguments."""
    net, call, xs, *_ = CASES[name]
    (value, out), (by, *by_xs) = gradients(net, call, *xs)
    plain, results = loss(net, call, *xs)
    np.testing.assert_allclose(value, plain, rtol=1e-12)
    for a, b in zip(out, results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    moves = {k: RNG.standard_normal(p.shape) for k, p in nn.parameters(net).items()}
    shifts = [RNG.standard_normal(x.shape) for x in xs]
    slope = sum((nn.parameters(by)[k] * d).sum() for k, d in moves.items())
    slope += sum((g * d).sum() for g, d in zip(by_xs, shifts, strict=True))
    values = []
    for h in (1e-6, -1e-6):
        other = copy.deepcopy(net)
        for k, p in nn.parameters(other).items():
            p += h * moves[k]
        moved = [x + h * d for x, d in zip(xs, shifts, strict=True)]
        values.append(loss(other, call, *moved)[0])
    np.testing.assert_allclose(slope, (values[0] - values[1]) / 2e-6, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_as_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    net, call, xs, kind, args, options, twin_call = CASES[name]
    twin = getattr(torch.nn, kind)(*args, **options).double()
    twin.load_state_dict({k: torch.from_numpy(np.array(v)) for k, v in net.state_dict().items()})
    given = [torch.from_numpy(x.copy()).requires_grad_() for x in xs]
    theirs = flat(twin_call(twin, *given))
    weights = [torch.cos(torch.arange(x.numel()).double().reshape(x.shape)) for x in theirs]
    sum((x * w).sum() for x, w in zip(theirs, weights, strict=True)).backward()
    (_, out), (by, *by_xs) = gradients(net, call, *xs)
    for a, b in zip(out, theirs, strict=True):
        np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-9, atol=1e-12)
    for a, x in zip(by_xs, given, strict=True):
        np.testing.assert_allclose(a, x.grad.numpy(), rtol=1e-9, atol=1e-12)
    for k, p in twin.named_parameters():
        np.testing.assert_allclose(nn.parameters(by)[k], p.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_cells_are_what_the_papers_say() -> None:
    x, h, c = RNG.standard_normal((2, 4)), *RNG.standard_normal((2, 2, 3))

    def linear(cell: Any) -> tuple[Any, Any]:
        return x @ cell.weight_ih.T + cell.bias_ih, h @ cell.weight_hh.T + cell.bias_hh

    simple = nn.RNNCell(4, 3, RNG, dtype=D)
    np.testing.assert_allclose(simple(x, h), np.tanh(sum(linear(simple))))
    lstm = nn.LSTMCell(4, 3, RNG, dtype=D)
    i, f, g, o = np.split(sum(linear(lstm)), 4, axis=1)
    cell = expit(f) * c + expit(i) * np.tanh(g)
    for a, b in zip(lstm(x, (h, c)), (expit(o) * np.tanh(cell), cell), strict=True):
        np.testing.assert_allclose(a, b)
    gru = nn.GRUCell(4, 3, RNG, dtype=D)
    a, b = (np.split(y, 3, axis=1) for y in linear(gru))
    r, z = expit(a[0] + b[0]), expit(a[1] + b[1])
    np.testing.assert_allclose(gru(x, h), (1 - z) * np.tanh(a[2] + r * b[2]) + z * h)
    np.testing.assert_array_equal(gru(x), gru(x, np.zeros((2, 3))))


def test_networks_are_loops_of_cells() -> None:
    net, cell = nn.LSTM(4, 3, RNG, dtype=D), nn.LSTMCell(4, 3, RNG, dtype=D)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in net.state_dict().items()})
    x, state = RNG.standard_normal((6, 2, 4)), None
    y, (h, c) = net(x)
    for t in range(6):
        state = cell(x[t], state)
        np.testing.assert_allclose(y[t], state[0])
    np.testing.assert_allclose((h[0], c[0]), state)


def test_long_sequences_take_no_longer_to_compile() -> None:
    """Time is a loop: as many nodes for any number of steps."""
    net = nn.LSTM(4, 3, RNG)
    step = tracejit.jit(tracejit.grad(lambda net, x: net(x)[0].sum()))
    counts = {
        len(step.lower(net, np.ones((t, 2, 4), np.float32)).graphs["fuse"].nodes) for t in (9, 200)
    }
    assert len(counts) == 1


def test_attention_is_a_mean_of_values() -> None:
    q, k, v = RNG.standard_normal((3, 2, 4, 6))
    weights = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(6), axis=-1)
    np.testing.assert_allclose(nn.scaled_dot_product_attention(q, k, v), weights @ v)
    only_itself = nn.scaled_dot_product_attention(q, k, v, mask=np.eye(4, dtype=bool))
    np.testing.assert_allclose(only_itself, v)
    single = nn.scaled_dot_product_attention(
        *(x.astype(np.float32) for x in (q, k, v)), causal=True
    )
    assert single.dtype == np.float32
    np.testing.assert_allclose(single[:, 0], v[:, 0], rtol=1e-5)


def test_who_may_look_at_nothing_gets_zeros() -> None:
    """Also where gradients pass: what it would have looked at has none."""
    q, k, v = RNG.standard_normal((3, 1, 3, 4))
    mask = np.array([[True, False, True], [False] * 3, [True] * 3])

    def total(q: Any, k: Any, v: Any, mask: Any) -> Any:
        return nn.scaled_dot_product_attention(q, k, v, mask).sum()

    y = nn.scaled_dot_product_attention(q, k, v, mask)
    assert not y[0, 1].any() and y[0, [0, 2]].all()
    slopes = tracejit.jit(tracejit.grad(total, argnums=(0, 1, 2)), strict=True)
    for by_bools, by_floats in zip(
        slopes(q, k, v, mask), slopes(q, k, v, np.where(mask, 0.0, -np.inf)), strict=True
    ):
        assert np.isfinite(by_bools).all()
        np.testing.assert_allclose(by_bools, by_floats)
    assert not slopes(q, k, v, mask)[0][0, 1].any()


def test_a_cache_gives_what_the_whole_sequence_does() -> None:
    """Of a decoder; the code for one more position is compiled once for all lengths."""
    x = RNG.standard_normal((2, 12, 8))
    net = nn.TransformerDecoderLayer(8, 2, 16, RNG, rotary=True, dropout=0.0, dtype=D)
    cache = net.self_attn.cache(2, 12)

    @tracejit.jit(strict=True)
    def step(net: Any, x: Any, context: Any, cache: Any) -> Any:
        return net(x, context, cache=cache)

    parts = [step(net, x[:, :4], CONTEXT, cache)]
    for t in range(4, 12):
        parts.append(step(net, x[:, t : t + 1], CONTEXT, cache))
    whole = net(x, CONTEXT)
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, rtol=1e-10, atol=1e-12)
    assert cache.length == 12 and len(step.report().compiles) <= 3
    assert "undone" not in str(step.report())  # no copy of the whole cache
    with pytest.raises(ValueError, match="a Cache for 12 positions has no room for 13"):
        step(net, x[:, :1], CONTEXT, cache)
    assert cache.length == 12


def test_dropout_is_between_layers_and_in_attention() -> None:
    """And goes away in the mode of evaluation."""
    x = RNG.standard_normal((2, 5, 8))
    for net in (
        nn.LSTM(8, 8, RNG, layers=2, dropout=0.5, dtype=D),
        nn.MultiHeadAttention(8, 2, RNG, dropout=0.5, dtype=D),
        nn.TransformerEncoderLayer(8, 2, 16, RNG, dropout=0.5, dtype=D),
    ):
        one, other = (flat(net(x))[0] for _ in range(2))
        assert np.abs(one - other).max() > 1e-3
        net.eval()
        np.testing.assert_array_equal(*(flat(net(x))[0] for _ in range(2)))


def test_positions() -> None:
    waves = nn.sinusoids(7, 6)
    assert waves.shape == (7, 6) and waves.dtype == np.float32
    np.testing.assert_allclose(waves[3, :2], [np.sin(3), np.cos(3)], rtol=1e-6)
    q, k = RNG.standard_normal((2, 1, 9, 6))
    scores = nn.rotary(q) @ nn.rotary(k).swapaxes(1, 2)
    later = nn.rotary(q, 4) @ nn.rotary(k, 4).swapaxes(1, 2)
    np.testing.assert_allclose(scores, later, atol=1e-12)  # only distances count
    np.testing.assert_allclose((nn.rotary(q) ** 2).sum(-1), (q**2).sum(-1))


def test_bad_input_names_the_layer() -> None:
    wrong: list[tuple[Any, str]] = [
        (lambda: nn.LSTM(4, 3, RNG)(X), r"LSTM\(4, 3\) takes 4 features in the last axis, not 8"),
        (lambda: nn.GRU(8, 3, RNG)(X[0]), r"GRU\(8, 3\) takes three axes, not \(5, 8\)"),
        (lambda: nn.GRU(8, 3, RNG)(X, np.zeros((1, 3))), r"states of the shapes \[\(1, 5, 3\)\]"),
        (lambda: nn.LSTM(8, 3, RNG)(X, (np.zeros((1, 5, 3)),)), r"LSTM\(8, 3\) takes states"),
        (lambda: nn.RNN(8, 3, RNG)(X, lengths=LENGTHS), r"lengths of 5 sequences"),
        (lambda: nn.MultiHeadAttention(8, 3, RNG), "3 heads do not divide a size of 8"),
        (
            lambda: nn.MultiHeadAttention(4, 2, RNG)(X),
            r"MultiHeadAttention\(4, 2\) takes \[n",
        ),
        (lambda: nn.rotary(X[..., :5]), "even number of features, not 5"),
    ]
    for call, told in wrong:
        with pytest.raises(ValueError, match=told):
            call()

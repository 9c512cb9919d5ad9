"""Recurrent networks: a cell for one step, and loops over time.

Parameters have PyTorch's names and order of gates: `weight_ih` [gates * size, inputs], `weight_hh`
[gates * size, size], `bias_ih`, `bias_hh`; of a whole network with `_l0`, `_l1`, ... for its layers
and `_reverse` for those that read backwards.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracejit.nn import init
from tracejit.nn.activations import sigmoid
from tracejit.nn.module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]


def _rnn(x: Any, u: Any, c: Any, state: Any) -> Any:
    """A step from the products of input and state with their weights, biases added."""
    return (np.tanh(x + u),)


def _lstm(x: Any, u: Any, c: Any, state: Any) -> Any:
    """(Hochreiter and Schmidhuber, 1997; Gers et al., 2000): input, forget, cell, output gate."""
    i, f, g, o = np.split(x + u, 4, axis=-1)
    cell = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(cell), cell


def _gru(x: Any, u: Any, c: Any, state: Any) -> Any:
    """(Cho et al., 2014), the reset gate behind the product: reset, update, new."""
    (r, z, n), (s, t, m) = np.split(x, 3, axis=-1), np.split(u, 3, axis=-1)
    update = sigmoid(z + t)
    return (np.tanh(n + sigmoid(r + s) * m) * (1 - update) + update * state[0],)


class _Kind(Module):
    """What the three kinds differ in."""

    gates: ClassVar[int]
    states: ClassVar[int] = 1
    step: ClassVar[Any]
    size: int

    def _weights(self, inputs: int, rng: Any, bias: bool, dtype: Any, name: str = "") -> None:
        """Parameters of one cell, uniform within 1 / sqrt(size)."""
        bound, rows = self.size**-0.5, self.gates * self.size
        for kind, columns in (("ih", inputs), ("hh", self.size)):
            drawn = init.uniform((rows, columns), rng, -bound, bound, dtype)
            setattr(self, f"weight_{kind}{name}", drawn)
        for kind in ("ih", "hh"):
            drawn = init.uniform((rows,), rng, -bound, bound, dtype) if bias else None
            setattr(self, f"bias_{kind}{name}", drawn)

    def _given(self, x: Any, inputs: int, state: Any, shape: tuple[int, ...]) -> Any:
        """The state as a tuple, zeros where none is given."""
        name = f"{type(self).__name__}({inputs}, {self.size})"
        if x.shape[-1] != inputs:
            raise ValueError(f"{name} takes {inputs} features in the last axis, not {x.shape[-1]}")
        if state is None:
            return tuple(np.zeros(shape, x.dtype) for _ in range(self.states))
        state = tuple(state) if self.states > 1 else (state,)
        if any(s.shape != shape for s in state):
            raise ValueError(f"{name} takes a state of the shape {shape}, not {state[0].shape}")
        return state


class _Cell(_Kind):
    """One step: x [n, inputs] and a state [n, size] give the next state."""

    def __init__(
        self, inputs: int, size: int, rng: Any, *, bias: bool = True, dtype: Any = np.float32
    ) -> None:
        self.size = size
        self._weights(inputs, rng, bias, dtype)

    def __call__(self, x: Any, state: Any = None) -> Any:
        state = self._given(x, self.weight_ih.shape[1], state, (*x.shape[:-1], self.size))
        gates, recurrent = x @ self.weight_ih.T, state[0] @ self.weight_hh.T
        if self.bias_ih is not None:
            gates, recurrent = gates + self.bias_ih, recurrent + self.bias_hh
        new = type(self).step(gates, recurrent, self.size, state)
        return new if self.states > 1 else new[0]

    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any


class _Network(_Kind):
    """Cells along time, in layers: x [t, n, inputs] gives (outputs, last state)."""

    def __init__(
        self,
        inputs: int,
        size: int,
        rng: Any,
        *,
        layers: int = 1,
        bidirectional: bool = False,
        batch_first: bool = False,
        bias: bool = True,
        dtype: Any = np.float32,
    ) -> None:
        self.inputs, self.size, self.layers = inputs, size, layers
        self.ends = ("", "_reverse") if bidirectional else ("",)
        self.batch_first = batch_first
        for layer in range(layers):
            for end in self.ends:
                before = inputs if layer == 0 else len(self.ends) * size
                self._weights(before, rng, bias, dtype, f"_l{layer}{end}")

    def __call__(self, x: Any, state: Any = None, lengths: Any = None) -> Any:
        if self.batch_first:
            x = x.transpose(1, 0, 2)
        count = self.layers * len(self.ends)
        state = self._given(x, self.inputs, state, (count, x.shape[1], self.size))
        last = []
        for layer in range(self.layers):
            outputs = []
            for k, end in enumerate(self.ends):
                number = layer * len(self.ends) + k
                begin = tuple(s[number] for s in state)
                y, end_state = self._along(x, begin, lengths, f"_l{layer}{end}", k == 1)
                outputs.append(y)
                last.append(end_state)
            x = outputs[0] if len(outputs) == 1 else np.concatenate(outputs, axis=-1)
        ends = tuple(np.stack(s) for s in zip(*last, strict=True))
        y = x.transpose(1, 0, 2) if self.batch_first else x
        return y, ends if self.states > 1 else ends[0]

    def _along(self, x: Any, state: Any, lengths: Any, name: str, backwards: bool) -> Any:
        """One layer in one direction. Behind a sequence's end its state stays, outputs are 0."""
        turned = getattr(self, f"weight_hh{name}").T
        gates = x @ getattr(self, f"weight_ih{name}").T
        bias = getattr(self, f"bias_hh{name}")
        if bias is not None:
            gates = gates + getattr(self, f"bias_ih{name}")
        out = np.empty((*x.shape[:-1], self.size), x.dtype)
        for k in range(len(x)):
            t = len(x) - 1 - k if backwards else k
            recurrent = state[0] @ turned
            if bias is not None:
                recurrent = recurrent + bias
            new = type(self).step(gates[t], recurrent, self.size, state)
            if lengths is None:
                state = new
                out[t] = new[0]
            else:
                inside = (t < lengths)[:, None]
                state = tuple(np.where(inside, a, b) for a, b in zip(new, state, strict=True))
                out[t] = np.where(inside, new[0], 0)
        return out, state


class RNNCell(_Cell):
    """tanh(W x + b + U h + c): x [n, inputs], h [n, size] (default: zeros) -> h [n, size]."""

    gates, step = 1, staticmethod(_rnn)


class LSTMCell(_Cell):
    """x [n, inputs], state (h, c) of [n, size] each (default: zeros) -> (h, c)."""

    gates, states, step = 4, 2, staticmethod(_lstm)


class GRUCell(_Cell):
    """x [n, inputs], h [n, size] (default: zeros) -> h [n, size]."""

    gates, step = 3, staticmethod(_gru)


class RNN(_Network):
    """Elman's network along time: x [t, n, inputs] -> (outputs [t, n, size], h [layers, n, size]).

    With `batch_first` x and outputs are [n, t, ...]; `bidirectional` doubles the last axis of the
    outputs and the first one of the state. `lengths` i64[n] are those of padded sequences. Raises
    ValueError for other numbers of features, and for a state of another shape.
    """

    gates, step = 1, staticmethod(_rnn)


class LSTM(_Network):
    """Long short-term memory along time: as `RNN`, the state being (h, c)."""

    gates, states, step = 4, 2, staticmethod(_lstm)


class GRU(_Network):
    """Gated recurrent units along time: as `RNN`."""

    gates, step = 3, staticmethod(_gru)

"""Recurrent networks: a cell for one step, and loops over time.

Parameters have PyTorch's names and order of gates: `weight_ih` [gates * size, inputs], `weight_hh`
[gates * size, size], `bias_ih` and `bias_hh` [gates * size]; of a network with `_l0`, `_l1`, ...
for its layers, and `_reverse` for those that read backwards. They are drawn as there: uniform
within 1 / sqrt(size).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracejit.nn import init
from tracejit.nn.activations import sigmoid
from tracejit.nn.dropout import Dropout
from tracejit.nn.module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNCell"]


class _Recurrent(Module):
    """What cells and networks share: parameters, and a step of the state."""

    gates: ClassVar[int] = 1
    #: How many arrays a state has; a state of one is that array.
    states: ClassVar[int] = 1
    inputs: int
    size: int

    def _draw(self, inputs: int, rng: Any, bias: bool, dtype: Any, name: str = "") -> None:
        bound, rows = self.size**-0.5, self.gates * self.size
        for kind, columns in (("ih", inputs), ("hh", self.size)):
            drawn = init.uniform((rows, columns), rng, -bound, bound, dtype)
            setattr(self, f"weight_{kind}{name}", drawn)
        for kind in ("ih", "hh"):
            drawn = init.uniform((rows,), rng, -bound, bound, dtype) if bias else None
            setattr(self, f"bias_{kind}{name}", drawn)

    def _begin(self, x: Any, state: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """The given state as a tuple, zeros where none is given."""
        name = f"{type(self).__name__}({self.inputs}, {self.size})"
        if x.shape[-1] != self.inputs:
            raise ValueError(
                f"{name} takes {self.inputs} features in the last axis, not {x.shape[-1]}"
            )
        if state is None:
            return tuple(np.zeros(shape, dtype) for _ in range(self.states))
        state = tuple(state) if self.states > 1 else (state,)
        if [s.shape for s in state] != [shape] * self.states:
            raise ValueError(
                f"{name} takes states of the shapes {[shape] * self.states}, "
                f"not {[s.shape for s in state]}"
            )
        return state

    def _step(self, x: Any, h: Any, state: Any) -> Any:
        """The next state, from the products of input and `state[0]` with their weights."""
        raise NotImplementedError


class _Rnn(_Recurrent):
    """Elman (1990)."""

    def _step(self, x: Any, h: Any, state: Any) -> Any:
        return (np.tanh(x + h),)


class _Lstm(_Recurrent):
    """Hochreiter and Schmidhuber (1997), Gers et al. (2000): input, forget, cell, output."""

    gates, states = 4, 2

    def _step(self, x: Any, h: Any, state: Any) -> Any:
        i, f, g, o = np.split(x + h, 4, axis=-1)
        cell = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(cell), cell


class _Gru(_Recurrent):
    """Cho et al. (2014), resetting what the product gives, as cuDNN does: reset, update, new."""

    gates = 3

    def _step(self, x: Any, h: Any, state: Any) -> Any:
        (xr, xz, xn), (hr, hz, hn) = np.split(x, 3, axis=-1), np.split(h, 3, axis=-1)
        new = np.tanh(xn + sigmoid(xr + hr) * hn)
        return (new + sigmoid(xz + hz) * (state[0] - new),)


class _Cell(_Recurrent):
    """One step: x [..., inputs] and a state [..., size] give the next state."""

    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any

    def __init__(
        self, inputs: int, size: int, rng: Any, *, bias: bool = True, dtype: Any = np.float32
    ) -> None:
        self.inputs, self.size = inputs, size
        self._draw(inputs, rng, bias, dtype)

    def __call__(self, x: Any, state: Any = None) -> Any:
        gates = x @ self.weight_ih.T
        state = self._begin(x, state, (*x.shape[:-1], self.size), gates.dtype)
        product = state[0] @ self.weight_hh.T
        if self.bias_ih is not None:
            gates, product = gates + self.bias_ih, product + self.bias_hh
        state = self._step(gates, product, state)
        return state if self.states > 1 else state[0]


class _Network(_Recurrent):
    """Cells along time, in layers."""

    weight_hh_l0: Any

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
        dropout: float = 0.0,
        dtype: Any = np.float32,
    ) -> None:
        self.inputs, self.size, self.layers = inputs, size, layers
        self.ends = ("", "_reverse") if bidirectional else ("",)
        self.batch_first, self.dropout = batch_first, Dropout(dropout, rng)
        for layer in range(layers):
            for end in self.ends:
                before = inputs if layer == 0 else len(self.ends) * size
                self._draw(before, rng, bias, dtype, f"_l{layer}{end}")

    def __call__(self, x: Any, state: Any = None, lengths: Any = None) -> Any:
        if x.ndim != 3:
            raise ValueError(
                f"{type(self).__name__}({self.inputs}, {self.size}) takes three axes, not {x.shape}"
            )
        if self.batch_first:
            x = x.transpose(1, 0, 2)
        n, dtype = x.shape[1], np.result_type(x, self.weight_hh_l0)
        if lengths is not None and lengths.shape != (n,):
            raise ValueError(f"lengths of {n} sequences have the shape {(n,)}, not {lengths.shape}")
        state = self._begin(x, state, (self.layers * len(self.ends), n, self.size), dtype)
        last: list[Any] = []
        for layer in range(self.layers):
            if layer > 0:
                x = self.dropout(x)
            outputs = []
            for end in self.ends:
                first = tuple(s[len(last)] for s in state)
                y, final = self._along(x, first, lengths, f"_l{layer}{end}", end != "")
                outputs.append(y)
                last.append(final)
            x = outputs[0] if len(outputs) == 1 else np.concatenate(outputs, axis=-1)
        state = tuple(np.stack(s) for s in zip(*last, strict=True))
        y = x.transpose(1, 0, 2) if self.batch_first else x
        return y, state if self.states > 1 else state[0]

    def _along(self, x: Any, state: Any, lengths: Any, name: str, backwards: bool) -> Any:
        """One layer in one direction: outputs and the last state.

        Behind the end of a sequence its state stays as it is, and outputs are 0.
        """
        # In C order: products with few rows are up to three times as fast as by a transposed view.
        turned = np.ascontiguousarray(getattr(self, f"weight_hh{name}").T)
        bias = getattr(self, f"bias_hh{name}")
        gates = x @ getattr(self, f"weight_ih{name}").T
        if bias is not None:
            gates = gates + getattr(self, f"bias_ih{name}")
        out = np.empty((*gates.shape[:-1], self.size), gates.dtype)
        for k in range(len(x)):
            t = len(x) - 1 - k if backwards else k
            product = state[0] @ turned
            new = self._step(gates[t], product if bias is None else product + bias, state)
            if lengths is None:
                state, out[t] = new, new[0]
            else:
                inside = (t < lengths)[:, None]
                state = tuple(np.where(inside, a, b) for a, b in zip(new, state, strict=True))
                out[t] = np.where(inside, new[0], 0)
        return out, state


class RNNCell(_Rnn, _Cell):
    """tanh(W x + b + U h + c): x [n, inputs], h [n, size] (default: zeros) -> h [n, size]."""


class LSTMCell(_Lstm, _Cell):
    """x [n, inputs], state (h, c) of [n, size] each (default: zeros) -> (h, c)."""


class GRUCell(_Gru, _Cell):
    """x [n, inputs], h [n, size] (default: zeros) -> h [n, size]."""


class RNN(_Rnn, _Network):
    """`RNNCell` along time: x [t, n, inputs] -> (outputs [t, n, size], h [layers, n, size]).

    With `batch_first` x and outputs are [n, t, ...]; `bidirectional` doubles the last axis of the
    outputs and the first one of h, for which zeros are the default at the beginning. `lengths`
    i64[n] are those of padded sequences: outputs behind the end are 0, and h is that at the end.
    `dropout` is the rate between layers. Raises ValueError for other numbers of features, and for
    a state or lengths of another shape.
    """


class LSTM(_Lstm, _Network):
    """`LSTMCell` along time: as `RNN`, with (h, c) as the state."""


class GRU(_Gru, _Network):
    """`GRUCell` along time: as `RNN`."""

"""Convolutions (cross-correlations, as networks call them): sums over windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.nn import init
from tracejit.nn.module import Module
from tracejit.nn.windows import padded, per_axis, windows

__all__ = ["Conv1d", "Conv2d"]

Sizes = int | Sequence[int]


class _Convolution(Module):
    """Over the last `ndim` axes of [n, inputs, ...]."""

    ndim: int

    def __init__(
        self,
        inputs: int,
        outputs: int,
        size: Sizes,
        rng: Any,
        *,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: Any = np.float32,
    ) -> None:
        if inputs % groups or outputs % groups:
            raise ValueError(f"{groups} groups do not divide {inputs} inputs, {outputs} outputs")
        n = self.ndim
        size = per_axis(size, n, "size")
        self.stride, self.dilation = (
            per_axis(stride, n, "stride"),
            per_axis(dilation, n, "dilation"),
        )
        self.groups, self.padding = groups, _frame(padding, size, self.stride, self.dilation)
        bound = (inputs // groups * int(np.prod(size))) ** -0.5
        self.weight = init.uniform((outputs, inputs // groups, *size), rng, -bound, bound, dtype)
        self.bias = init.uniform((outputs,), rng, -bound, bound, dtype) if bias else None

    def __call__(self, x: Any) -> Any:
        outputs, inside, *size = self.weight.shape
        inputs, g, n = inside * self.groups, self.groups, self.ndim
        if x.ndim != n + 2 or x.shape[1] != inputs:
            raise ValueError(
                f"{type(self).__name__}({inputs}, {outputs}) takes [n, {inputs}"
                f"{', size' * n}], not the shape {x.shape}"
            )
        x = padded(x, self.padding[0], self.padding[1], 0)
        seen = windows(x, size, self.stride, self.dilation)
        if g == 1:
            y = np.einsum(_WHOLE[n], seen, self.weight)
        elif inside == 1 and outputs == inputs:
            y = np.einsum(_DEPTHWISE[n], seen, self.weight[:, 0])
        else:
            parts = seen.reshape(len(x), g, inside, *seen.shape[2:])
            y = np.einsum(_GROUPED[n], parts, self.weight.reshape(g, outputs // g, inside, *size))
            y = y.reshape(len(x), outputs, *y.shape[3:])
        return y if self.bias is None else y + self.bias.reshape(-1, *(1,) * n)


#: Windows [n, channel, h, w, i, j] times weights [output, channel, i, j].
_WHOLE = {1: "nchi,oci->noh", 2: "nchwij,ocij->nohw"}
_DEPTHWISE = {1: "nchi,ci->nch", 2: "nchwij,cij->nchw"}
_GROUPED = {1: "ngchi,goci->ngoh", 2: "ngchwij,gocij->ngohw"}


def _frame(
    padding: Sizes | str, size: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How much is added before and after each axis. Raises ValueError for an unknown word."""
    if not isinstance(padding, str):
        both = per_axis(padding, len(size), "padding")
        return both, both
    if padding == "valid":
        return (0,) * len(size), (0,) * len(size)
    if padding != "same" or any(s != 1 for s in stride):
        raise ValueError(f"padding is a number, 'valid' or, for stride 1, 'same', not {padding!r}")
    whole = [d * (k - 1) for k, d in zip(size, dilation, strict=True)]
    return tuple(n // 2 for n in whole), tuple(n - n // 2 for n in whole)


class Conv1d(_Convolution):
    """x [n, inputs, l] -> [n, outputs, m]; `weight` is [outputs, inputs / groups, size].

    `stride`, `padding` (a number, "same" or "valid"), `dilation` and `groups` are as PyTorch has
    them. Weights and bias are uniform within 1 / sqrt(fan-in). Raises ValueError for another shape.
    """

    ndim = 1


class Conv2d(_Convolution):
    """x [n, inputs, h, w] -> [n, outputs, p, q]; `weight` is [outputs, inputs / groups, *size].

    As `Conv1d`, with one number for both axes or one for each; `groups=inputs` is depthwise.
    """

    ndim = 2

"""Norms: means of zero and variances of one, over batches, features or groups of channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.nn.module import Module

__all__ = ["BatchNorm", "GroupNorm", "LayerNorm"]


class BatchNorm(Module):
    """Each channel over the batch (Ioffe and Szegedy, 2015): x [n, channels, ...] -> the same.

    While training, statistics are the batch's, and the running ones move by `momentum` towards them
    (the variance without bias); afterwards the running ones are used. Raises ValueError for
    another number of channels, and while training for channels of one element, which have no
    variance.
    """

    __buffers__ = ("running_mean", "running_var", "num_batches_tracked")

    def __init__(
        self, channels: int, *, momentum: float = 0.1, eps: float = 1e-5, dtype: Any = np.float32
    ) -> None:
        self.weight, self.bias = np.ones(channels, dtype), np.zeros(channels, dtype)
        self.running_mean, self.running_var = np.zeros(channels, dtype), np.ones(channels, dtype)
        self.num_batches_tracked = np.array(0)
        self.momentum, self.eps = momentum, eps

    def __call__(self, x: Any) -> Any:
        channels = len(self.weight)
        if x.ndim < 2 or x.shape[1] != channels:
            raise ValueError(f"BatchNorm({channels}) takes [n, {channels}, ...], not {x.shape}")
        axes, one = (0, *range(2, x.ndim)), (channels, *(1,) * (x.ndim - 2))
        if self.training:
            n = x.size // channels
            if n < 2:
                raise ValueError(
                    f"BatchNorm({channels}) learns from two elements of a channel or more, "
                    f"not from {x.shape}"
                )
            mean, var = x.mean(axis=axes), x.var(axis=axes)
            self.running_mean += self.momentum * (mean - self.running_mean)
            self.running_var += self.momentum * (var * (n / (n - 1)) - self.running_var)
            self.num_batches_tracked += 1
        else:
            mean, var = self.running_mean, self.running_var
        scale = self.weight / np.sqrt(var + self.eps)
        return (x - mean.reshape(one)) * scale.reshape(one) + self.bias.reshape(one)


class LayerNorm(Module):
    """Each element of the batch over its last axes, those of `shape` (Ba et al., 2016).

    Raises ValueError where these have other sizes.
    """

    def __init__(
        self, shape: int | Sequence[int], *, eps: float = 1e-5, dtype: Any = np.float32
    ) -> None:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.weight, self.bias, self.eps = np.ones(shape, dtype), np.zeros(shape, dtype), eps

    def __call__(self, x: Any) -> Any:
        shape = self.weight.shape
        if x.shape[x.ndim - len(shape) :] != shape:
            raise ValueError(f"LayerNorm({shape}) takes last axes of that shape, not {x.shape}")
        axes = tuple(range(-len(shape), 0))
        centred = x - x.mean(axis=axes, keepdims=True)
        var = (centred * centred).mean(axis=axes, keepdims=True)
        return centred / np.sqrt(var + self.eps) * self.weight + self.bias


class GroupNorm(Module):
    """Groups of channels of each element of the batch (Wu and He, 2018): [n, channels, ...].

    Raises ValueError for another number of channels, and for groups that do not divide it.
    """

    def __init__(
        self, groups: int, channels: int, *, eps: float = 1e-5, dtype: Any = np.float32
    ) -> None:
        if channels % groups:
            raise ValueError(f"{groups} groups do not divide {channels} channels")
        self.weight, self.bias = np.ones(channels, dtype), np.zeros(channels, dtype)
        self.groups, self.eps = groups, eps

    def __call__(self, x: Any) -> Any:
        channels = len(self.weight)
        if x.ndim < 2 or x.shape[1] != channels:
            raise ValueError(f"GroupNorm of {channels} takes [n, {channels}, ...], not {x.shape}")
        grouped = x.reshape(len(x), self.groups, -1)
        centred = grouped - grouped.mean(axis=2, keepdims=True)
        var = (centred * centred).mean(axis=2, keepdims=True)
        one = (channels, *(1,) * (x.ndim - 2))
        normal = (centred / np.sqrt(var + self.eps)).reshape(x.shape)
        return normal * self.weight.reshape(one) + self.bias.reshape(one)

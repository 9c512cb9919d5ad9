"""Gradients in fewer bits between processes: what rounding leaves out goes into the next ones.

    v = gradient + left;  q = round(v / s);  left = v - s q;  mean = sum of all s q / processes

This is error feedback (Seide, Fu, Droppo, Li and Yu, 1-Bit Stochastic Gradient Descent and its
Application to Data-Parallel Distributed Training of Speech DNNs, 2014; Karimireddy, Rebjock, Stich
and Jaggi, Error Feedback Fixes SignSGD and other Gradient Compression Schemes, 2019): over all
steps nothing is left out but what is left in the end. Each array has a scale s of its own. "int8"
rounds to whole numbers, s = max |v| / 127; "float16" to halves, s the power of 2 with which max |v|
is between 2**14 and 2**15, so that nothing overflows.

All processes send all others what they have rounded, and all add the same numbers in the same
order: their sums are equal to the bit. An array with an infinity or a NaN on any process is NaN in
the mean, on all; what was left of it before is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from tracejit.dist.transport.group import Group, described
from tracejit.dist.transport.worker import Pending

__all__ = ["COMPRESSORS", "KINDS", "Compressor", "decoded", "encoded"]

KINDS = {"float16": np.dtype(np.float16), "int8": np.dtype(np.int8)}
#: By number, which programs hold as a constant.
COMPRESSORS: WeakValueDictionary[int, Compressor] = WeakValueDictionary()
_NUMBERS = itertools.count(1)


class Compressor:
    """One process's side of the exchanges of an optimiser's gradients."""

    def __init__(self, kind: str) -> None:
        """Raises ValueError for a kind that there is not."""
        if kind not in KINDS:
            raise ValueError(f"compression is {' or '.join(KINDS)}, not {kind!r}")
        self.kind, self.number = kind, next(_NUMBERS)
        #: By bucket: what was left out of its arrays, and the exchange that says so.
        self.left: dict[Any, list[Any]] = {}
        self._pending: dict[Any, Pending] = {}
        COMPRESSORS[self.number] = self

    def takes(self, dtype: np.dtype[Any]) -> bool:
        """Whether arrays of a dtype become smaller."""
        return dtype in (np.float32, np.float64)

    def residuals(self) -> dict[Any, list[Any]]:
        """What is left out now, when all that was started has been done."""
        for pending in self._pending.values():
            pending.wait()
        return self.left

    def restore(self, bucket: int, arrays: list[Any]) -> None:
        """Let what was left out of the arrays of a bucket be these."""
        self.left[bucket, arrays[0].dtype, tuple(x.shape for x in arrays)] = arrays

    def start(self, group: Group, bucket: int, arrays: Sequence[Any]) -> Pending:
        """Exchange arrays of one dtype, which may change at once: a list of their means."""
        key = bucket, arrays[0].dtype, tuple(x.shape for x in arrays)
        if key in self._pending:
            # What an exchange that nobody waits for leaves belongs to this one, too.
            self._pending[key].wait()
        left = self.left.setdefault(key, [np.zeros(x.shape, x.dtype) for x in arrays])
        with np.errstate(all="ignore"):
            whole = [np.asarray(x + e) for x, e in zip(arrays, left, strict=True)]
        name = group.key()
        self._pending[key] = pending = group.start(self._mean, group, name, whole, left)
        return pending

    def _mean(self, group: Group, key: str, whole: list[Any], left: list[Any]) -> list[Any]:
        with np.errstate(all="ignore"):
            pairs = [encoded(v, self.kind) for v in whole]
            sent = np.concatenate([q.reshape(-1) for q, _ in pairs])
            scales = np.array([s for _, s in pairs], whole[0].dtype)
            for k, (v, (q, s)) in enumerate(zip(whole, pairs, strict=True)):
                if np.isfinite(s):
                    left[k] = v - decoded(q, s)
            head = f"mean in {self.kind} of {described(whole)}"
            out = [np.zeros(v.shape, v.dtype) for v in whole]
            for theirs, steps in group.gather(key, head, [sent, scales], sent.nbytes):
                at = 0
                for k, y in enumerate(out):
                    y += decoded(theirs[at : at + y.size].reshape(y.shape), steps[k])
                    at += y.size
            for y in out:
                y /= group.size
        return out


def encoded(v: Any, kind: str) -> tuple[Any, Any]:
    """An array in fewer bits, and its scale: NaN where it is not finite."""
    dtype, tiny = KINDS[kind], np.finfo(v.dtype).tiny
    most = np.abs(v).max(initial=0)
    if not np.isfinite(most):
        return np.zeros(v.shape, dtype), v.dtype.type(np.nan)
    if kind == "int8":
        scale = max(v.dtype.type(most / 127), tiny)
        return np.clip(np.rint(v / scale), -127, 127).astype(dtype), scale
    scale = max(np.ldexp(v.dtype.type(1), int(np.frexp(most)[1]) - 15), tiny)
    return (v / scale).astype(dtype), scale


def decoded(q: Any, scale: Any) -> Any:
    """What was encoded, but for the rounding, in the dtype of the scale."""
    return q.astype(scale.dtype) * scale

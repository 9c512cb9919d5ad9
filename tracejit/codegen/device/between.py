"""What a library does between the launches of one kernel, by Python."""

from __future__ import annotations

from tracejit.codegen.device.target import Device
from tracejit.codegen.support.python_calls import DONE
from tracejit.ir.types import DTYPES

__all__ = ["Accumulation", "Sort"]


class Sort:
    """Sorts keys of the device, between launches."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def __call__(self, keys: int, positions: int, count: int) -> int:
        if count:
            order, steps = self._device, (8,)
            with order.working() as xp:
                given = order.array(keys, (count,), steps, DTYPES["i64"])
                order.array(positions, (count,), steps, DTYPES["i64"])[...] = xp.argsort(
                    given, kind="stable"
                )
        return DONE


class Accumulation:
    """Running sums or products of elements of the device, in place, between launches."""

    def __init__(self, device: Device, function: str, dtype: str) -> None:
        self._device, self._dtype = device, DTYPES[dtype]
        self._name = {"add": "cumsum", "multiply": "cumprod"}[function]

    def __call__(self, elements: int, _: int, count: int) -> int:
        if count:
            step = (self._dtype.itemsize,)
            with self._device.working() as xp:
                x = self._device.array(elements, (count,), step, self._dtype)
                x[...] = getattr(xp, self._name)(x, dtype=self._dtype)
        return DONE

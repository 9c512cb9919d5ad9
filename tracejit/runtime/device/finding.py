"""Which calls have arrays on a device, or are moved there, and what answers them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tracejit.codegen.device.cuda import cuda_device
from tracejit.codegen.device.simulated import simulated_device
from tracejit.codegen.device.target import entered
from tracejit.runtime.device.calls import DeviceCalls, OnHost
from tracejit.runtime.device.detect import find_array
from tracejit.runtime.device.given import Given
from tracejit.runtime.device.library import Library, Moved
from tracejit.runtime.device.simulated import SimulatedArray, SimulatedLibrary

__all__ = ["call_on_device"]


def call_on_device(jitted: Any, array: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a call with an array of a device, or None and it is moved to one.

    Raises DeviceError where there is no such device, or the arrays are of several.
    """
    library: Library
    device: Any
    values = (*args, *kwargs.values()) if kwargs else args
    if type(array) is SimulatedArray:
        library, device = SimulatedLibrary(), simulated_device()
    elif array is not None:
        library = given = Given([array, *(x for x in _leaves(values) if find_array(x) is x)])
        device = cuda_device(given.ordinal)
    else:
        device = simulated_device() if jitted._options.moves == "cuda-sim" else cuda_device()
        library = moved = Moved(device)
        arrays = {id(x): x for x in _leaves(values) if type(x) is np.ndarray}
        with entered(device):
            moved.move(list(arrays.values()))
    return _calls(jitted, device)(library, args, kwargs)


def _calls(jitted: Any, device: Any) -> DeviceCalls:
    known: dict[Any, DeviceCalls] = jitted._devices
    if device not in known:
        function, options = jitted.__tracejit__, jitted._options

        def make(calls: DeviceCalls, part: OnHost) -> Any:
            return type(jitted)(function, options, part=part, device=calls, report=jitted._report)

        # What is said of a run there is said by the function for the device.
        host = type(jitted)(function, options.of_part(), report=jitted._report)
        host._fallbacks.silence()
        # Threads whose first calls meet agree on one.
        known.setdefault(device, DeviceCalls(device.for_calls(), make, host))
    return known[device]


def _leaves(values: Iterable[Any]) -> Iterator[Any]:
    """What containers hold."""
    for x in values:
        if type(x) is dict:
            yield from _leaves(x.values())
        elif isinstance(x, (list, tuple)):
            yield from _leaves(x)
        elif is_dataclass(x) and not isinstance(x, type):
            yield from _leaves([getattr(x, f.name, None) for f in fields(x)])
        else:
            yield x

"""Where parts of a compiled function run: `with tracejit.device("worker:1"):`.

The name is kept with each operation that is recorded in the block, as is its line.
"""

from __future__ import annotations

import re
import threading

__all__ = ["HOST", "current_device", "device", "device_name"]

#: The process that calls the function.
HOST = "host"


class _Current(threading.local):
    name = ""


_CURRENT = _Current()


def current_device() -> str:
    """The device of the blocks around, or ''."""
    return _CURRENT.name


def device_name(name: str) -> str:
    """A name of a device. Raises ValueError for one that is none."""
    if name != HOST and not re.fullmatch(r"worker:(0|[1-9]\d{0,3})", str(name)):
        raise ValueError(f"a device is 'host' or 'worker:0', 'worker:1' and so on, not {name!r}")
    return name


class device:
    """In compiled functions, what the block computes is computed on the device `name`.

    "worker:0", "worker:1" and so on are processes that `tracejit.dist.workers` starts, on this
    machine; they are started when they are first needed. "host" is the process that calls. What is
    not in such a block lies where it costs least, with what it needs. In plain Python the block
    does nothing. Raises ValueError for another name.
    """

    def __init__(self, name: str) -> None:
        self.name = device_name(name)
        self._before: list[str] = []

    def __enter__(self) -> device:
        self._before.append(_CURRENT.name)
        _CURRENT.name = self.name
        return self

    def __exit__(self, *_: object) -> None:
        _CURRENT.name = self._before.pop()

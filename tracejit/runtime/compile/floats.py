"""Floats that functions made of one code are around: the second one to differ makes them inputs."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from tracejit.frontend.capture.captured import Floats
from tracejit.locks import short_lock
from tracejit.runtime.cache.recall import cached, floats_seen

__all__ = ["floats_of"]

#: How many codes are remembered.
_CODES = 1024
_KNOWN: OrderedDict[tuple[str, str], Floats] = OrderedDict()
_LOCK = short_lock()


def floats_of(jitted: Any) -> Floats:
    """What all functions with the code of this one have in common, with those of earlier runs."""
    key = cached(jitted).key
    if key is None:
        return Floats()
    name = key.folder, key.prefix
    if name not in _KNOWN:
        found = Floats()
        for label, value in floats_seen(jitted):
            found.values.setdefault(label, value)
        with _LOCK:
            _KNOWN.setdefault(name, found)
            while len(_KNOWN) > _CODES:
                _KNOWN.popitem(last=False)
    return _KNOWN.get(name) or Floats()

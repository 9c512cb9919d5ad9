"""Floats that functions made of one code are around: the second one to differ makes them inputs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from tracejit.base.locks import short_lock
from tracejit.frontend.capture.captured import Floats
from tracejit.ir.graph import Graph, Value
from tracejit.runtime.cache.recall import cached, floats_seen

__all__ = ["decides", "floats_of"]

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


def decides(graph: Graph, floats: Iterable[Value]) -> bool:
    """Whether some branch is taken by these inputs of a graph and constants alone.

    A function that is made for one of several numbers, to do one of several things, is to be
    compiled for each.
    """
    known, constant = set(floats), set[Value]()
    for node in graph.nodes:
        if not node.inputs and not node.regions:
            constant.update(node.outputs)
        if not any(v in known for v in node.inputs):
            continue
        if node.regions:
            if node.inputs[0] in known:
                return True
        elif all(v in known or v in constant for v in node.inputs):
            known.update(node.outputs)
    return False

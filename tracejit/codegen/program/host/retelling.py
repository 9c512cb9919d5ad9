"""Sites of nodes that call Python, told to other processes: the node itself, as bytes.

What a node says of objects of this process, by their numbers, has no meaning in another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit.base.late import imported
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Node
from tracejit.link.constants import is_versioned
from tracejit.link.later import Retold
from tracejit.link.portable import loaded, portable

__all__ = ["retold", "site_method"]

_Strides = Sequence[tuple[Dim, ...] | None]


class _OfThisProcess(Exception):
    """A node means an object of this process."""


def retold(cls: type, method: str, node: Node, strides: _Strides) -> Retold | None:
    """How a method of a site of a class is found elsewhere; None where the node means something
    that is not there."""
    path = node.attrs.get("function")
    if "file" in node.attrs or isinstance(path, str) and not is_versioned(path.partition(":")[0]):
        return None
    try:
        attrs = {name: _unnumbered(x) for name, x in node.attrs.items()}
        told = Node(node.op, node.inputs, attrs, node.outputs, node.regions, node.binds, node.where)
        data, files, _ = portable((told, tuple(strides)))
        # A program that was loaded has no other way to find what it calls.
        loaded(data, files)
    except Exception:
        return None
    return __name__, "site_method", ((cls.__module__, cls.__name__), method, data), files


def _unnumbered(x: Any) -> Any:
    """An attribute in which classes are known by their names alone. Raises _OfThisProcess."""
    if type(x) is not tuple:
        return x
    match x:
        case ("object", int()):
            raise _OfThisProcess
        case ("call", str(path), int(), made, named):
            return ("call", path, 0, _unnumbered(made), _unnumbered(named))
    return tuple([_unnumbered(item) for item in x])


def site_method(
    cls: tuple[str, str], method: str, data: bytes, files: tuple[str, ...]
) -> Callable[..., Any]:
    """A method of a site that is made anew."""
    module, name = cls
    node, strides = loaded(data, files)
    site = getattr(imported(module), name)(node, strides)
    found: Callable[..., Any] = getattr(site, method)
    return found

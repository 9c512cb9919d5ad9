"""Walks of syntax trees. They pass by contexts and operators, which have no parts and no place."""

from __future__ import annotations

import ast
from typing import Any

__all__ = ["all_nodes", "kinds_in", "parts_of"]

#: Fields that hold contexts, operators, numbers and texts.
_PLAIN = frozenset("attr conversion ctx id is_async level op ops simple type_comment".split())
#: Class of nodes -> its fields that may hold nodes.
_FIELDS: dict[type[ast.AST], tuple[str, ...]] = {ast.Constant: ()}


def parts_of(node: Any) -> list[Any]:
    """The nodes that a node directly consists of, in the order of its fields."""
    cls = type(node)
    fields = _FIELDS.get(cls)
    if fields is None:
        fields = _FIELDS[cls] = tuple(name for name in cls._fields if name not in _PLAIN)
    parts: list[Any] = []
    for name in fields:
        part = getattr(node, name, None)
        if type(part) is list:
            parts += [x for x in part if isinstance(x, ast.AST)]
        elif isinstance(part, ast.AST):
            parts.append(part)
    return parts


def all_nodes(*roots: Any) -> list[Any]:
    """The nodes of syntax trees, each before its parts."""
    nodes = list(roots)
    for node in nodes:
        nodes += parts_of(node)
    return nodes


def kinds_in(*roots: Any) -> set[type[ast.AST]]:
    """The classes of the nodes of syntax trees."""
    return {type(node) for node in all_nodes(*roots)}

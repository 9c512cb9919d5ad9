"""Names declared `global` or `nonlocal` become attributes of one object, which finds them.

global n                 outer.n = outer.n + 1
n = n + 1           ->
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from tracejit.frontend.rewrite.nodes import parts_of

__all__ = ["OUTER", "with_outer_names"]

#: The name of the object; what is rewritten loads it from the interpreter.
OUTER = "__tracejit_outer__"


def with_outer_names(function: Any, free: Iterable[str]) -> Any:
    """`function`, a copy, without the declarations of names outside it; `free` are its free ones.

    A nonlocal name of a function around an inner one stays declared.
    """
    return _Transformer(frozenset(free)).function(function)


class _Transformer(ast.NodeTransformer):
    def __init__(self, free: frozenset[str]) -> None:
        self.free = free
        self.declared: frozenset[str] = frozenset()

    def function(self, node: Any) -> Any:
        outside, self.declared = self.declared, self._declared(node)
        self.generic_visit(node)
        self.declared = outside
        return node

    visit_FunctionDef = function

    def _declared(self, node: Any) -> frozenset[str]:
        """The names that statements of a function itself declare, and it does not share."""
        names: set[str] = set()
        pending = list(node.body)
        while pending:
            n = pending.pop()
            if isinstance(n, ast.Global):
                names.update(n.names)
            elif isinstance(n, ast.Nonlocal):
                names.update(self.free.intersection(n.names))
            if not isinstance(n, (ast.FunctionDef, ast.Lambda)):
                pending.extend(parts_of(n))
        return frozenset(names)

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id not in self.declared:
            return node
        owner = ast.copy_location(ast.Name(OUTER, ast.Load()), node)
        return ast.copy_location(ast.Attribute(owner, node.id, node.ctx), node)

    def _declaration(self, node: Any) -> Any:
        left = [name for name in node.names if name not in self.declared]
        if left:
            node.names = left
            return node
        return ast.copy_location(ast.Pass(), node)

    visit_Global = _declaration
    visit_Nonlocal = _declaration

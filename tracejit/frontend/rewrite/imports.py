"""Import statements become assignments of what a hook finds.

import a.b, c as d    ->    a = imported("a", 0, None); d = imported("c", 0, None)
from a import b       ->    b = imported("a", 0, "b")
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from tracejit.frontend.rewrite.constructs import HookCall
from tracejit.frontend.rewrite.nodes import all_nodes

__all__ = ["without_imports"]


def without_imports(function: Any) -> Any:
    """A copy of `function` without import statements."""
    return _Transformer().visit(copy.deepcopy(function))


class _Transformer(ast.NodeTransformer):
    def visit_Import(self, node: ast.Import) -> Any:
        out: list[Any] = []
        for alias in node.names:
            if alias.asname is None and "." in alias.name:
                # The submodule is to be there, too; what is bound is the package.
                out.append(ast.Expr(_found(alias.name, 0, None)))
            whole = alias.name if alias.asname else alias.name.partition(".")[0]
            out.append(_bound(alias.asname or whole, _found(whole, 0, None)))
        return [_placed(new, node) for new in out]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        out = [
            _bound(a.asname or a.name, _found(node.module or "", node.level, a.name))
            for a in node.names
        ]
        return [_placed(new, node) for new in out]


def _found(module: str, level: int, name: str | None) -> HookCall:
    return HookCall("imported", [ast.Constant(module), ast.Constant(level), ast.Constant(name)])


def _bound(name: str, value: HookCall) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _placed(new: Any, node: ast.AST) -> Any:
    for part in all_nodes(new):
        ast.copy_location(part, node)
    return new

"""Names that inner functions declare `nonlocal` become attributes of an object that they share.

n = 0                               box = hooks.box(); box.n = 0
def count():                        def count():
    nonlocal n               ->         box.n += 1
    n += 1

Where a statement that takes no attribute binds the name (`def`, `except ... as`, `:=`), the
declaration stays, and is refused as a construct.
"""

from __future__ import annotations

import ast
from typing import Any

from tracejit.frontend.rewrite.constructs import (
    COMPREHENSIONS,
    HookCall,
    bound_names,
    parameters,
    stored_names,
)
from tracejit.frontend.rewrite.nodes import all_nodes, parts_of

__all__ = ["with_boxes"]

_BOX = "__tracejit_box{}__"


def with_boxes(function: Any) -> Any:
    """`function`, a copy of which this is, without nonlocal names of functions inside it."""
    return _Transformer().function(function)


def _own_statements(function: Any) -> list[Any]:
    """The nodes of a function that are in no other function inside it."""
    found: list[Any] = []
    pending = list(function.body) if isinstance(function.body, list) else [function.body]
    while pending:
        node = pending.pop()
        found.append(node)
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            pending.extend(parts_of(node))
    return found


def _declared(function: Any) -> set[str]:
    statements = [n for n in _own_statements(function) if isinstance(n, (ast.Nonlocal, ast.Global))]
    return {name for n in statements for name in n.names}


def _bound(function: Any) -> set[str]:
    """The names that are a function's own."""
    body = function.body if isinstance(function.body, list) else [function.body]
    return (set(parameters(function.args)) | bound_names(body)) - _declared(function)


def _shared(function: Any, names: set[str]) -> set[str]:
    """Those of `names`, which are a function's own, that functions inside it declare."""
    found: set[str] = set()
    for node in _own_statements(function):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            declared = _declared(node)
            found |= declared & names
            found |= _shared(node, names - _bound(node))
    return found


def _bound_otherwise(function: Any) -> set[str]:
    """The names that statements bind which take no attribute in place of a name."""
    names: set[str] = set()
    for node in _own_statements(function):
        if isinstance(node, (ast.FunctionDef, ast.ExceptHandler)) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.NamedExpr):
            names.add(node.target.id)
    return names


class _Transformer(ast.NodeTransformer):
    def __init__(self) -> None:
        #: The names that are attributes here, and of which object.
        self.boxes: dict[str, str] = {}
        self._count = 0

    def function(self, node: Any) -> Any:
        own = _bound(node)
        shared = _shared(node, own)
        inside = [n for n in all_nodes(node) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
        shared -= set().union(*map(_bound_otherwise, inside))
        outside, box = self.boxes, _BOX.format(self._count)
        self.boxes = {name: b for name, b in outside.items() if name not in own}
        if shared:
            self._count += 1
            self.boxes |= dict.fromkeys(shared, box)
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
        else:
            body = [self.visit(s) for s in node.body]
            node.body = [*self._made(node, box, shared), *body]
        self.boxes = outside
        return node

    def _made(self, node: Any, box: str, shared: set[str]) -> list[Any]:
        """The statements that make an object, with the parameters among the names in it."""
        if not shared:
            return []
        first = ast.Assign([ast.Name(box, ast.Store())], HookCall("box", []))
        out: list[Any] = [first]
        for name in parameters(node.args):
            if name in shared:
                target = ast.Attribute(ast.Name(box, ast.Load()), name, ast.Store())
                out.append(ast.Assign([target], ast.Name(name, ast.Load())))
        for statement in out:
            ast.copy_location(statement, node.body[0])
            ast.fix_missing_locations(statement)
        return out

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        self._defaults(node)
        return self.function(node)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        self._defaults(node)
        return self.function(node)

    def _defaults(self, node: ast.FunctionDef | ast.Lambda) -> None:
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, COMPREHENSIONS):
            return super().generic_visit(node)
        # The first iterable, evaluated outside, might read a name that the items have too.
        outside = self.boxes
        targets = {name for g in node.generators for name in stored_names(g.target)}
        node.generators[0].iter = self.visit(node.generators[0].iter)
        first = node.generators[0].iter
        self.boxes = {name: b for name, b in outside.items() if name not in targets}
        super().generic_visit(node)
        node.generators[0].iter = first
        self.boxes = outside
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id not in self.boxes:
            return node
        owner = ast.copy_location(ast.Name(self.boxes[node.id], ast.Load()), node)
        return ast.copy_location(ast.Attribute(owner, node.id, node.ctx), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        node.names = [name for name in node.names if name not in self.boxes]
        return node if node.names else ast.copy_location(ast.Pass(), node)

"""The closed table of a traced function's constructs, and which names a function binds."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

__all__ = ["HOOKS", "OPERATORS", "bound_names", "spell", "stored_names"]

#: What becomes of each construct: "plain" (only its parts change), or the method that does it.
HOOKS: dict[type[ast.AST], str] = {
    **dict.fromkeys(
        (
            ast.Break,
            ast.Constant,
            ast.Continue,
            ast.Expr,
            ast.JoinedStr,
            ast.NamedExpr,
            ast.Pass,
            ast.Raise,
            ast.Return,
            ast.Tuple,
        ),
        "plain",
    ),
    ast.AnnAssign: "annotated",
    ast.Assert: "tested",
    ast.Assign: "assign",
    ast.Attribute: "attribute",
    ast.AugAssign: "augmented",
    ast.BinOp: "binary",
    ast.BoolOp: "bool_op",
    ast.Call: "call",
    ast.Compare: "compare",
    ast.Delete: "delete",
    ast.Dict: "dict_display",
    ast.DictComp: "comprehension",
    ast.For: "for_loop",
    ast.FormattedValue: "formatted",
    ast.FunctionDef: "function",
    ast.GeneratorExp: "comprehension",
    ast.If: "tested",
    ast.IfExp: "tested",
    ast.Lambda: "function",
    ast.List: "list_display",
    ast.ListComp: "comprehension",
    ast.Name: "name",
    ast.Set: "set_display",
    ast.SetComp: "comprehension",
    ast.Slice: "slice",
    ast.Starred: "starred",
    ast.Subscript: "subscript",
    ast.UnaryOp: "unary",
    ast.While: "tested",
}

#: The function of the module operator (or a hook's own name) for each operator.
OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Invert: "invert",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Is: "is_",
    ast.IsNot: "is_not",
    ast.In: "contains",
    ast.NotIn: "lacks",
}


def stored_names(target: ast.AST) -> list[str]:
    """The names that a target binds."""
    names = [n for n in ast.walk(target) if isinstance(n, ast.Name)]
    return [n.id for n in names if isinstance(n.ctx, ast.Store)]


def spell(node: ast.AST) -> str:
    """A construct by the word that starts it in a program."""
    words = {"AsyncFunctionDef": "async def", "ClassDef": "class", "ImportFrom": "import"}
    name = type(node).__name__
    return words.get(name, name.lower())


_INNER: dict[type, Callable[[Any], list[Any]]] = {
    ast.FunctionDef: lambda n: [*n.decorator_list, *n.args.defaults, *n.args.kw_defaults],
    ast.Lambda: lambda n: [*n.args.defaults, *n.args.kw_defaults],
}
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound_names(body: list[Any]) -> set[str]:
    """The names that a function's own statements bind."""
    names: set[str] = set()
    pending: list[tuple[Any, bool]] = [(node, False) for node in body]
    while pending:
        node, inside = pending.pop()
        if node is None:
            continue
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        if isinstance(node, ast.NamedExpr):
            names.add(node.target.id)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and not inside:
            names.add(node.id)
        inside = inside or isinstance(node, _COMPREHENSIONS)
        inner = _INNER.get(type(node), ast.iter_child_nodes)
        pending.extend((child, inside) for child in inner(node))
    return names

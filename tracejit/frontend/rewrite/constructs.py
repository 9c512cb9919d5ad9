"""The closed table of a traced function's constructs, and which names a function binds."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from tracejit.frontend.rewrite.nodes import all_nodes, parts_of

__all__ = [
    "CODES_OF",
    "COMPREHENSIONS",
    "HookCall",
    "HOOKS",
    "OPERATORS",
    "bound_names",
    "is_generator",
    "outer_parts",
    "parameters",
    "spell",
    "stored_names",
]


class HookCall(ast.expr):
    """A call of the hook `name` with the values of `args`, in place of a construct."""

    _fields = ("name", "args")

    def __init__(self, name: str | None = "", args: Sequence[Any] | None = ()) -> None:
        super().__init__()
        # Copies begin without either, from Python 3.13 on with None.
        self.name, self.args = name or "", list(args or ())


#: What becomes of each construct: "plain" (only its parts change), or the method that does it.
HOOKS: dict[type[ast.AST], str] = {
    **dict.fromkeys(
        (
            ast.Constant,
            ast.NamedExpr,
            ast.Pass,
            ast.Tuple,
        ),
        "plain",
    ),
    ast.AnnAssign: "annotated",
    ast.Assert: "assertion",
    ast.Assign: "assign",
    ast.Attribute: "attribute",
    ast.AugAssign: "augmented",
    ast.BinOp: "binary",
    ast.BoolOp: "bool_op",
    ast.Break: "jump",
    ast.Call: "call",
    ast.Compare: "compare",
    ast.Continue: "jump",
    ast.Delete: "delete",
    ast.Dict: "dict_display",
    ast.DictComp: "comprehension",
    ast.For: "for_loop",
    ast.Expr: "expression",
    ast.FormattedValue: "formatted",
    ast.FunctionDef: "function",
    ast.GeneratorExp: "comprehension",
    HookCall: "hook_call",
    ast.If: "branch",
    ast.IfExp: "ternary",
    ast.JoinedStr: "joined",
    ast.Lambda: "function",
    ast.List: "list_display",
    ast.ListComp: "comprehension",
    ast.Name: "name",
    ast.Raise: "raised",
    ast.Return: "returned",
    ast.Set: "set_display",
    ast.SetComp: "comprehension",
    ast.Slice: "slice",
    ast.Starred: "starred",
    ast.Subscript: "subscript",
    ast.Try: "try_statement",
    ast.UnaryOp: "unary",
    ast.While: "while_loop",
    ast.With: "with_statement",
}

#: The codes of constructs that are not traced; TJ008 for all others.
CODES_OF: dict[type[ast.AST], str] = {
    ast.AsyncFor: "TJ026",
    ast.AsyncFunctionDef: "TJ026",
    ast.AsyncWith: "TJ026",
    ast.Await: "TJ026",
    ast.TryStar: "TJ024",
    ast.Yield: "TJ023",
    ast.YieldFrom: "TJ023",
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
    names = [n for n in all_nodes(target) if isinstance(n, ast.Name)]
    return [n.id for n in names if isinstance(n.ctx, ast.Store)]


def spell(node: ast.AST) -> str:
    """A construct by the word that starts it in a program."""
    words = {"AsyncFunctionDef": "async def", "ClassDef": "class", "ImportFrom": "import"}
    name = type(node).__name__
    return words.get(name, name.lower())


COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def parameters(arguments: ast.arguments) -> list[str]:
    """The names of a function's parameters; those given by position come first."""
    a = arguments
    named = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(arg for arg in (a.vararg, a.kwarg) if arg)]
    return [arg.arg for arg in named]


def outer_parts(function: ast.FunctionDef | ast.Lambda) -> list[Any]:
    """The parts of a function, or None, that the scope around it evaluates."""
    decorators = function.decorator_list if isinstance(function, ast.FunctionDef) else []
    return [*decorators, *function.args.defaults, *function.args.kw_defaults]


def is_generator(function: ast.FunctionDef | ast.Lambda) -> bool:
    """Whether a function's own code yields."""
    pending: list[Any] = list(function.body) if isinstance(function.body, list) else [function.body]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            pending.extend(parts_of(node))
    return False


def bound_names(body: list[Any]) -> set[str]:
    """The names that a function's own statements bind or delete."""
    names: set[str] = set()
    pending: list[tuple[Any, bool]] = [(node, False) for node in body]
    while pending:
        node, inside = pending.pop()
        cls = type(node)
        if cls is ast.Name:
            if not inside and type(node.ctx) is not ast.Load:
                names.add(node.id)
            continue
        if cls is ast.Constant or node is None:
            continue
        if cls is ast.NamedExpr:
            names.add(node.target.id)
        elif cls is ast.FunctionDef or cls is ast.ExceptHandler and node.name:
            names.add(node.name)
        inside = inside or cls in COMPREHENSIONS
        is_function = cls is ast.FunctionDef or cls is ast.Lambda
        for part in outer_parts(node) if is_function else parts_of(node):
            pending.append((part, inside))
    return names

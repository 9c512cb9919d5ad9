"""From a function's code to code that asks, before each call, how the callee is to be called.

    y = np.zeros(n) + f(x)    ->    y = h.made(h.callee(np.zeros)(n) + h.callee(f)(x))

All statements stay as they are, and every call is made from the program's own line: control flow,
exceptions, generators and debuggers are Python's.
"""

from __future__ import annotations

import ast
import weakref
from types import CellType, CodeType, FunctionType
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.rewrite.expressions import HOOK_NAME
from tracejit.frontend.rewrite.source import compile_definition, find_definition, plain

__all__ = ["is_rewritten", "over_interpreter"]

#: id of a code object -> (the object, weakly; its rewritten form, None where it has no source).
_REWRITTEN: dict[int, tuple[weakref.ref[CodeType], CodeType | None]] = {}


def is_rewritten(f: FunctionType) -> bool:
    """Whether a function's code asks an interpreter."""
    return HOOK_NAME in f.__code__.co_freevars


def over_interpreter(f: FunctionType, interpreter: Any) -> FunctionType:
    """`f` over hooks; `f` itself where its source is not available."""
    code = _rewritten_code(f)
    if code is None or HOOK_NAME not in code.co_freevars:
        return f
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    cells[HOOK_NAME] = CellType(interpreter)
    closure = tuple(cells[name] for name in code.co_freevars)
    new = FunctionType(code, f.__globals__, f.__name__, f.__defaults__, closure)
    new.__kwdefaults__ = f.__kwdefaults__
    new.__dict__.update(f.__dict__)
    new.__module__, new.__doc__ = f.__module__, f.__doc__
    return new


def _rewritten_code(f: FunctionType) -> CodeType | None:
    code = f.__code__
    known = _REWRITTEN.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    new: CodeType | None = None
    try:
        definition = find_definition(f)
        node = _Rewriter().visit(plain(definition.node))
        free = (*code.co_freevars, HOOK_NAME)
        new = compile_definition(definition, node, free)
        new = new.replace(co_qualname=code.co_qualname)
    except (TraceError, SyntaxError, ValueError, RecursionError):
        pass
    key, table = id(code), _REWRITTEN
    _REWRITTEN[key] = weakref.ref(code, lambda _: table.pop(key, None)), new
    return new


class _Rewriter(ast.NodeTransformer):
    """Rewrites calls, and operators that make arrays. It makes new nodes; the tree is shared."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        fields: dict[str, Any] = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                fields[name] = [self.visit(v) if isinstance(v, ast.AST) else v for v in value]
            else:
                fields[name] = self.visit(value) if isinstance(value, ast.AST) else value
        return ast.copy_location(type(node)(**fields), node)

    def hook(self, name: str, node: Any, value: Any) -> Any:
        """A call of a hook with `value`, placed where `node` is."""
        found = ast.Attribute(ast.Name(HOOK_NAME, ast.Load()), name, ast.Load())
        new = ast.Call(found, [value], [])
        for part in (found, found.value, new):
            ast.copy_location(part, node)
        return new

    def visit_Call(self, node: ast.Call) -> Any:
        new: Any = self.generic_visit(node)
        new.func = self.hook("callee", node.func, new.func)
        return new

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        new: Any = self.generic_visit(node)
        if isinstance(node.op, ast.Mod):
            new.left = self.hook("formatted", node.left, new.left)
        return self.hook("made", node, new)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        new = self.generic_visit(node)
        if isinstance(node.op, ast.Not) or isinstance(node.operand, ast.Constant):
            return new
        return self.hook("made", node, new)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                shown = ast.FormattedValue(self.visit(part.value), part.conversion)
                if part.format_spec is not None:
                    shown.format_spec = self.generic_visit(part.format_spec)  # type: ignore[assignment]
                ast.copy_location(shown, part)
                part = ast.copy_location(ast.JoinedStr([shown]), part)
            parts.append(part)
        if len(parts) == 1:
            return parts[0]
        return self.hook("joined", node, ast.copy_location(ast.Tuple(parts, ast.Load()), node))

    def visit_Compare(self, node: ast.Compare) -> Any:
        new: Any = self.generic_visit(node)
        sides = [node.left, *node.comparators]
        hook = None
        if all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            hook = "original"
        elif any(isinstance(s, ast.Constant) and s.value is None for s in sides):
            # NumPy compares the elements of an array with None.
            hook = "shown"
        if hook is not None:
            new.left = self.hook(hook, node.left, new.left)
            pairs = zip(node.comparators, new.comparators, strict=True)
            new.comparators = [self.hook(hook, old, x) for old, x in pairs]
        return new

    def visit_Assert(self, node: ast.Assert) -> Any:
        new: Any = self.generic_visit(node)
        if node.msg is not None:
            new.msg = self.hook("shown", node.msg, new.msg)
        return new

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        new: Any = self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            new.value = self.hook("indexed", node.value, new.value)
        return new

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        new: Any = self.generic_visit(node)
        new.annotation = node.annotation
        return new

    def visit_match_case(self, node: Any) -> Any:
        new: Any = self.generic_visit(node)
        new.pattern = node.pattern
        return new

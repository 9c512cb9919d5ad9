"""From a function's syntax tree to one where each step that depends on values calls a hook.

Evaluation order and the number of evaluations stay those of Python. `constructs.HOOKS` is the
closed table: a construct that it does not name makes the function eager.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from tracejit.errors import TraceError, Where
from tracejit.frontend.constructs import HOOKS, OPERATORS, bound_names, spell, stored_names
from tracejit.frontend.source import Definition, FunctionNode, no_arguments, plain

__all__ = ["HOOK_NAME", "rewrite_definition"]

#: The one free variable of a rewritten function; it holds the hooks.
HOOK_NAME = "__tracejit__"
_TEMPORARY = "__tracejit_{}__"


def rewrite_definition(definition: Definition, free: tuple[str, ...]) -> FunctionNode:
    """The function of `definition` over hooks; `free` are its free variables.

    Raises TraceError TJ008 at a construct that is not traced.
    """
    return _Rewriter(definition, free).outermost()


class _Scope:
    """The names bound in a function or a comprehension."""

    def __init__(self, names: set[str], first: str | None, is_function: bool) -> None:
        self.names, self.first, self.is_function = names, first, is_function


class _Rewriter:
    def __init__(self, definition: Definition, free: tuple[str, ...]) -> None:
        self.definition = definition
        self.free = free
        self.scopes: list[_Scope] = []
        self.here: Any = definition.node
        self.temporaries = 0

    def outermost(self) -> FunctionNode:
        node = plain(self.definition.node)
        return self._body_of(node, node.args)

    # Building ------------------------------------------------------------------------------------

    def at(self, node: Any) -> Any:
        """`node` at the place in the file that is being rewritten."""
        return ast.copy_location(node, self.here)

    def hook(self, name: str, *args: Any, keywords: Any = ()) -> Any:
        function = self.at(ast.Attribute(self.load(HOOK_NAME), name, ast.Load()))
        return self.at(ast.Call(function, list(args), list(keywords)))

    def load(self, name: str) -> Any:
        return self.at(ast.Name(name, ast.Load()))

    def constant(self, value: Any) -> Any:
        return self.at(ast.Constant(value))

    def statement(self, value: Any) -> Any:
        return self.at(ast.Expr(value))

    def temporary(self) -> str:
        self.temporaries += 1
        return _TEMPORARY.format(self.temporaries)

    def set_name(self, name: str, value: Any) -> Any:
        return self.at(ast.Assign([self.at(ast.Name(name, ast.Store()))], value))

    def refuse(self, node: ast.AST, what: str) -> TraceError:
        line = getattr(node, "lineno", self.here.lineno)
        name = getattr(self.definition.node, "name", "<lambda>")
        return TraceError("TJ008", what, Where(self.definition.file, line, name))

    def mangled(self, name: str) -> str:
        """A private name of a class as Python spells it outside."""
        owner = (self.definition.class_name or "").lstrip("_")
        if not owner or not name.startswith("__") or name.endswith("__"):
            return name
        return f"_{owner}{name}"

    # Walking -------------------------------------------------------------------------------------

    def visit(self, node: Any) -> Any:
        rule = HOOKS.get(type(node))
        if rule is None:
            raise self.refuse(node, spell(node))
        outside, self.here = self.here, node
        try:
            return getattr(self, rule)(node)
        finally:
            self.here = outside

    def visit_all(self, nodes: Iterable[Any]) -> list[Any]:
        return [self.visit(n) for n in nodes]

    def block(self, statements: list[Any]) -> list[Any]:
        out: list[Any] = []
        for s in statements:
            new = self.visit(s)
            out.extend(new if isinstance(new, list) else [new])
        return out

    def plain(self, node: Any) -> Any:
        fields: dict[str, Any] = {}
        for name, old in ast.iter_fields(node):
            if isinstance(old, list):
                fields[name] = self.visit_all(old)
            elif isinstance(old, ast.expr_context) or not isinstance(old, ast.AST):
                fields[name] = old
            elif isinstance(node, ast.NamedExpr) and name == "target":
                fields[name] = old
            else:
                fields[name] = self.visit(old)
        return self.at(type(node)(**fields))

    # Names ---------------------------------------------------------------------------------------

    def name(self, node: ast.Name) -> Any:
        if not isinstance(node.ctx, ast.Load) or node.id == "__debug__":
            return self.at(ast.Name(node.id, node.ctx))
        if any(node.id in scope.names for scope in self.scopes):
            return self.load(node.id)
        name = self.mangled(node.id)
        return self.hook("free" if name in self.free else "global_", self.constant(name))

    def attribute(self, node: ast.Attribute) -> Any:
        return self.hook(
            "attribute", self.visit(node.value), self.constant(self.mangled(node.attr))
        )

    def subscript(self, node: ast.Subscript) -> Any:
        return self.hook("item", self.visit(node.value), self.visit(node.slice))

    def slice(self, node: ast.Slice) -> Any:
        parts = [node.lower, node.upper, node.step]
        return self.hook(
            "slice", *(self.constant(None) if p is None else self.visit(p) for p in parts)
        )

    # Expressions ---------------------------------------------------------------------------------

    def truth(self, node: Any) -> Any:
        """A condition: what is tested is first looked at."""
        return self.hook("truth", self.visit(node))

    def tested(self, node: Any) -> Any:
        test = self.truth(node.test)
        if isinstance(node, ast.IfExp):
            return self.at(ast.IfExp(test, self.visit(node.body), self.visit(node.orelse)))
        if isinstance(node, ast.Assert):
            return self.at(ast.Assert(test, node.msg and self.visit(node.msg)))
        return self.at(type(node)(test, self.block(node.body), self.block(node.orelse)))

    def bool_op(self, node: ast.BoolOp) -> Any:
        *first, last = node.values
        return self.at(ast.BoolOp(node.op, [*map(self.truth, first), self.visit(last)]))

    def unary(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self.at(ast.UnaryOp(node.op, self.truth(node.operand)))
        if isinstance(node.operand, ast.Constant):
            return self.at(ast.UnaryOp(node.op, node.operand))
        return self.hook("unary", self.constant(OPERATORS[type(node.op)]), self.visit(node.operand))

    def binary(self, node: ast.BinOp) -> Any:
        op = self.constant(OPERATORS[type(node.op)])
        return self.hook("binary", op, self.visit(node.left), self.visit(node.right))

    def compare(self, node: ast.Compare) -> Any:
        ops = [self.constant(OPERATORS[type(op)]) for op in node.ops]
        left, right = self.visit(node.left), self.visit(node.comparators[0])
        if len(ops) == 1:
            return self.hook("compare", ops[0], left, right)
        later: list[Any] = []
        for op, operand in zip(ops[1:], node.comparators[1:], strict=True):
            if any(isinstance(n, ast.NamedExpr) for n in ast.walk(operand)):
                raise self.refuse(operand, "an assignment inside a chain of comparisons")
            later += [op, self.delayed(self.visit(operand))]
        return self.hook("compare_chain", ops[0], left, right, *later)

    def delayed(self, expression: Any) -> Any:
        """An expression that is evaluated only if the hook gets that far."""
        return self.at(ast.Lambda(no_arguments(), expression))

    def formatted(self, node: ast.FormattedValue) -> Any:
        value = self.hook("text", self.visit(node.value))
        spec = node.format_spec and self.visit(node.format_spec)
        return self.at(ast.FormattedValue(value, node.conversion, spec))

    def starred(self, node: ast.Starred) -> Any:
        return self.at(ast.Starred(self.hook("iterate", self.visit(node.value)), ast.Load()))

    def call(self, node: ast.Call) -> Any:
        function = self.visit(node.func)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return self.hook("call", function, *self.super_arguments(node))
        keywords = []
        args = self.visit_all(node.args)
        for k in node.keywords:
            value = self.visit(k.value)
            if k.arg is None:
                value = self.hook("mapping", value)
            keywords.append(self.at(ast.keyword(k.arg and self.mangled(k.arg), value)))
        return self.hook("call", function, *args, keywords=keywords)

    def super_arguments(self, node: ast.Call) -> list[Any]:
        scope = self.scopes[-1]
        if "__class__" not in self.free or len(self.scopes) > 1 or scope.first is None:
            raise self.refuse(node, "super() outside a method")
        return [self.hook("free", self.constant("__class__")), self.load(scope.first)]

    def list_display(self, node: ast.List) -> Any:
        return self.hook("new", self.at(ast.List(self.visit_all(node.elts), ast.Load())))

    def set_display(self, node: ast.Set) -> Any:
        return self.hook("new", self.at(ast.Set([self.key(e) for e in node.elts])))

    def dict_display(self, node: ast.Dict) -> Any:
        keys: list[Any] = []
        values: list[Any] = []
        for k, v in zip(node.keys, node.values, strict=True):
            keys.append(None if k is None else self.key(k))
            values.append(self.hook("mapping", self.visit(v)) if k is None else self.visit(v))
        return self.hook("new", self.at(ast.Dict(keys, values)))

    def key(self, node: Any) -> Any:
        """What becomes a key of a dict or an element of a set."""
        if isinstance(node, ast.Starred):
            return self.hook_starred_keys(node)
        return node if isinstance(node, ast.Constant) else self.hook("key", self.visit(node))

    def hook_starred_keys(self, node: ast.Starred) -> Any:
        return self.at(ast.Starred(self.hook("iterate_keys", self.visit(node.value)), ast.Load()))

    def comprehension(self, node: Any) -> Any:
        generators = []
        targets = {name for g in node.generators for name in stored_names(g.target)}
        scope = _Scope(targets, None, False)
        for k, g in enumerate(node.generators):
            if g.is_async:
                raise self.refuse(node, "async")
            iterable = self.visit(g.iter)
            if k == 0:
                self.scopes.append(scope)
            pattern = self.pattern(g.target)
            hooked = (
                self.hook("iterate", iterable)
                if pattern is None
                else self.hook("iterate_unpacked", iterable, self.constant(pattern))
            )
            conditions = [self.truth(test) for test in g.ifs]
            generators.append(ast.comprehension(g.target, hooked, conditions, 0))
        if isinstance(node, ast.DictComp):
            parts = [self.key(node.key), self.visit(node.value)]
        elif isinstance(node, ast.SetComp):
            parts = [self.key(node.elt)]
        else:
            parts = [self.visit(node.elt)]
        self.scopes.pop()
        return self.hook("new", self.at(type(node)(*parts, generators)))

    def pattern(self, target: Any) -> Any:
        """Which parts of an item are unpacked: None for a name, a tuple of patterns for a tuple."""
        if isinstance(target, ast.Name):
            return None
        if isinstance(target, (ast.Tuple, ast.List)):
            return tuple(map(self.pattern, target.elts))
        raise self.refuse(target, "this target in a comprehension")

    # Functions -----------------------------------------------------------------------------------

    def function(self, node: Any) -> Any:
        decorators = [
            (self.temporary(), self.visit(d)) for d in getattr(node, "decorator_list", ())
        ]
        arguments = plain(node).args
        arguments.defaults = self.visit_all(node.args.defaults)
        arguments.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        new = self._body_of(plain(node), arguments)
        if isinstance(new, ast.Lambda):
            return self.hook("new", new)
        out = [self.set_name(name, d) for name, d in decorators]
        out += [new, self.statement(self.hook("new", self.load(new.name)))]
        for name, _ in reversed(decorators):
            out.append(
                self.set_name(new.name, self.hook("call", self.load(name), self.load(new.name)))
            )
        return out

    def _body_of(self, node: FunctionNode, arguments: ast.arguments) -> FunctionNode:
        a = arguments
        named = [*a.posonlyargs, *a.args]
        names = {arg.arg for arg in (*named, *a.kwonlyargs)}
        names |= {arg.arg for arg in (a.vararg, a.kwarg) if arg}
        body = node.body if isinstance(node.body, list) else [node.body]
        scope = _Scope(names | bound_names(body), named[0].arg if named else None, True)
        self.scopes.append(scope)
        new: FunctionNode
        if isinstance(node, ast.Lambda):
            if a.kwarg:
                raise self.refuse(node, "a lambda with **")
            new = ast.Lambda(arguments, self.visit(node.body))
        else:
            statements = list(node.body)
            head = [statements.pop(0)] if ast.get_docstring(node, clean=False) is not None else []
            if a.kwarg:
                head.append(self.statement(self.hook("new", self.load(a.kwarg.arg))))
            new = ast.FunctionDef(node.name, arguments, [*head, *self.block(statements)], [])
            new.body = new.body or [self.at(ast.Pass())]
            new.type_params = []  # type: ignore[attr-defined, unused-ignore]
        self.scopes.pop()
        return ast.copy_location(new, node)

    # Statements ----------------------------------------------------------------------------------

    def assign(self, node: ast.Assign) -> list[Any]:
        value = self.visit(node.value)
        if len(node.targets) == 1:
            return self.store(node.targets[0], value)
        kept = self.temporary()
        out = [self.set_name(kept, value)]
        for target in node.targets:
            out += self.store(target, self.load(kept))
        return out

    def store(self, target: Any, value: Any) -> list[Any]:
        """The statements that assign the expression `value`, evaluated first, to `target`."""
        if isinstance(target, ast.Name):
            return [self.set_name(target.id, value)]
        if isinstance(target, ast.Attribute):
            name = self.constant(self.mangled(target.attr))
            return [
                self.statement(self.hook("store_attribute", value, self.visit(target.value), name))
            ]
        if isinstance(target, ast.Subscript):
            place = self.visit(target.value), self.visit(target.slice)
            return [self.statement(self.hook("store_item", value, *place))]
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise self.refuse(target, spell(target))
        unpacked = self.hook("unpack", value)
        if all(isinstance(_unstarred(e), ast.Name) for e in target.elts):
            names = [_unstarred(e).id for e in target.elts]
            return self.unpacked(target.elts, names, unpacked)
        names = [self.temporary() for _ in target.elts]
        out = self.unpacked(target.elts, names, unpacked)
        for element, name in zip(target.elts, names, strict=True):
            out += self.store(_unstarred(element), self.load(name))
        return out

    def unpacked(self, targets: list[Any], names: list[str], value: Any) -> list[Any]:
        """The assignment of a sequence's elements to names; a starred one gets a new list."""
        elements, out = [], []
        for target, name in zip(targets, names, strict=True):
            new = self.at(ast.Name(name, ast.Store()))
            if isinstance(target, ast.Starred):
                new = self.at(ast.Starred(new, ast.Store()))
                out.append(self.statement(self.hook("new", self.load(name))))
            elements.append(new)
        return [self.at(ast.Assign([self.at(ast.Tuple(elements, ast.Store()))], value)), *out]

    def annotated(self, node: ast.AnnAssign) -> Any:
        if node.value is not None:
            return self.store(node.target, self.visit(node.value))
        if isinstance(node.target, ast.Name):
            return self.at(ast.AnnAssign(node.target, self.constant(None), None, node.simple))
        raise self.refuse(node, "an annotation without a value")

    def augmented(self, node: ast.AugAssign) -> list[Any]:
        op = self.constant("i" + OPERATORS[type(node.op)].rstrip("_"))
        target = node.target
        if isinstance(target, ast.Name):
            value = self.hook("in_place", op, self.load(target.id), self.visit(node.value))
            return [self.set_name(target.id, value)]
        owner, current = self.temporary(), self.temporary()
        out = [self.set_name(owner, self.visit(target.value))]
        if isinstance(target, ast.Attribute):
            place = [self.load(owner), self.constant(self.mangled(target.attr))]
            read, write = "attribute", "store_attribute"
        else:
            key = self.temporary()
            out.append(self.set_name(key, self.visit(target.slice)))
            place = [self.load(owner), self.load(key)]
            read, write = "item", "store_item"
        out.append(self.set_name(current, self.hook(read, *place)))
        new = self.hook("in_place", op, self.load(current), self.visit(node.value))
        out.append(self.set_name(current, new))
        out.append(self.statement(self.hook(write, self.load(current), *place)))
        return out

    def delete(self, node: ast.Delete) -> list[Any]:
        out = []
        for target in node.targets:
            if isinstance(target, ast.Name):
                out.append(self.at(ast.Delete([self.at(ast.Name(target.id, ast.Del()))])))
            elif isinstance(target, ast.Subscript):
                place = self.visit(target.value), self.visit(target.slice)
                out.append(self.statement(self.hook("delete_item", *place)))
            elif isinstance(target, ast.Attribute):
                name = self.constant(self.mangled(target.attr))
                hook = self.hook("delete_attribute", self.visit(target.value), name)
                out.append(self.statement(hook))
            else:
                raise self.refuse(target, "del of a tuple")
        return out

    def for_loop(self, node: ast.For) -> Any:
        iterable = self.hook("iterate", self.visit(node.iter))
        if isinstance(node.target, ast.Name):
            target, head = node.target.id, []
        else:
            target = self.temporary()
            head = self.store(node.target, self.load(target))
        name = self.at(ast.Name(target, ast.Store()))
        return self.at(
            ast.For(name, iterable, [*head, *self.block(node.body)], self.block(node.orelse))
        )


def _unstarred(target: Any) -> Any:
    return target.value if isinstance(target, ast.Starred) else target

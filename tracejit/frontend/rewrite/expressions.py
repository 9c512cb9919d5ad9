"""From expressions to expressions over hooks: the part of the rewriting that has no statements.

What is evaluated only under a condition becomes a function of its own, for the hook to call.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tracejit.errors import TraceError, Where
from tracejit.frontend.rewrite.constructs import (
    CODES_OF,
    HOOKS,
    OPERATORS,
    HookCall,
    bound_names,
    spell,
    stored_names,
)
from tracejit.frontend.rewrite.nodes import all_nodes, parts_of
from tracejit.frontend.rewrite.outer_names import OUTER
from tracejit.frontend.rewrite.source import Definition, no_arguments

__all__ = ["BLOCK", "HOOK_NAME", "OPERAND", "Expressions", "Scope"]

#: The one free variable of a rewritten function; it holds the interpreter.
HOOK_NAME = "__tracejit__"
#: The names of the functions that stand for a part of the user's function.
BLOCK = "__tracejit_{}_{}__"
#: The mark of a lambda that stands for a part of the user's function: it takes nothing.
OPERAND = "__tracejit_operand__"
_TEMPORARY = "__tracejit_{}__"
#: Methods of lists that need not look at what is there.
_GROWS = ("append", "extend")
#: Functions that are done with a function or generator when they return.
_AT_ONCE = frozenset({"all", "any", "list", "max", "min", "set", "sorted", "sum", "tuple"})


class Scope:
    """The names bound in a function or a comprehension; `first` is a function's first parameter."""

    def __init__(self, names: set[str], first: str | None) -> None:
        self.names, self.first = names, first


class Expressions:
    """Rewrites the expressions of one function; `free` are its free variables."""

    def __init__(self, definition: Definition, free: tuple[str, ...]) -> None:
        self.definition = definition
        self.free = free
        self.scopes: list[Scope] = []
        self.here: Any = definition.node
        self.temporaries = 0
        #: What goes before the statement, or None inside a lambda or comprehension.
        self.before: list[Any] | None = None

    # Building ------------------------------------------------------------------------------------

    def at(self, node: Any) -> Any:
        """`node` at the place in the file that is being rewritten."""
        here = self.here
        node.lineno, node.col_offset = here.lineno, here.col_offset
        node.end_lineno, node.end_col_offset = here.end_lineno, here.end_col_offset
        return node

    def hook(self, name: str, *args: Any, keywords: Any = ()) -> Any:
        function = self.at(ast.Attribute(self.load(HOOK_NAME), name, ast.Load()))
        # Python places the call of a method on the line where the method's name ends.
        function.end_lineno, function.end_col_offset = function.lineno, function.col_offset
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
        column, end = getattr(node, "col_offset", None), None
        if getattr(node, "end_lineno", None) == line:
            end = getattr(node, "end_col_offset", None)
        where = Where(self.definition.file, line, name, column, end)
        return TraceError(CODES_OF.get(type(node), "TJ008"), what, where)

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

    @contextmanager
    def standing_at(self, node: Any) -> Iterator[None]:
        """Inside, what is made stands at the place of `node`."""
        outside, self.here = self.here, node
        try:
            yield
        finally:
            self.here = outside

    def visit_all(self, nodes: Iterable[Any]) -> list[Any]:
        return [self.visit(n) for n in nodes]

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
        if node.id == OUTER:
            return self.at(ast.Attribute(self.load(HOOK_NAME), "outer", ast.Load()))
        if any(node.id in scope.names for scope in self.scopes):
            return self.hook("local", self.load(node.id))
        name = self.mangled(node.id)
        return self.hook("free" if name in self.free else "global_", self.constant(name))

    def attribute(self, node: ast.Attribute, hook: str = "attribute") -> Any:
        return self.hook(hook, self.visit(node.value), self.constant(self.mangled(node.attr)))

    def subscript(self, node: ast.Subscript) -> Any:
        return self.hook("item", self.visit(node.value), self.visit(node.slice))

    def slice(self, node: ast.Slice) -> Any:
        parts = [node.lower, node.upper, node.step]
        return self.hook(
            "slice", *(self.constant(None) if p is None else self.visit(p) for p in parts)
        )

    # Expressions ---------------------------------------------------------------------------------

    def hook_call(self, node: HookCall) -> Any:
        return self.hook(node.name, *self.visit_all(node.args))

    def ternary(self, node: ast.IfExp) -> Any:
        test = self.visit(node.test)
        return self.hook("ternary", test, self.delayed(node.body), self.delayed(node.orelse))

    def bool_op(self, node: ast.BoolOp) -> Any:
        first, *later = node.values
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return self.hook(name, self.visit(first), *map(self.delayed, later))

    def unary(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self.hook("not_", self.visit(node.operand))
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
            later += [op, self.delayed(operand)]
        return self.hook("compare_chain", ops[0], left, right, *later)

    def delayed(self, node: Any) -> Any:
        """A function without parameters that evaluates `node`, for a hook to call or not.

        One that binds names is defined before the statement, where it can share them.
        """
        names = bound_names([node])
        if not names:
            arguments = no_arguments()
            arguments.vararg = self.at(ast.arg(OPERAND))
            return self.at(ast.Lambda(arguments, self.visit(node)))
        if self.before is None:
            raise self.refuse(node, "an assignment in a part that may not be evaluated")
        return self.define("operand", self.result_of(node), names, self.before)

    def result_of(self, node: Any) -> list[Any]:
        """The body of a function that evaluates `node`."""
        with self.sharing([]) as before:
            value = self.visit(node)
        return [*before, self.at(ast.Return(value))]

    @contextmanager
    def sharing(self, before: list[Any] | None) -> Iterator[Any]:
        """Inside, functions that bind names go to `before`; there are none where it is None."""
        outside, self.before = self.before, before
        try:
            yield before
        finally:
            self.before = outside

    def define(
        self, role: str, body: list[Any], names: Iterable[str], out: list[Any], parameter: str = ""
    ) -> Any:
        """Define, in `out`, a function that binds `names` of the user's function; its name."""
        self.temporaries += 1
        arguments = no_arguments()
        if parameter:
            arguments.args.append(self.at(ast.arg(parameter)))
        head = [self.at(ast.Nonlocal(sorted(names)))] if names else []
        statements = [*head, *body] or [self.at(ast.Pass())]
        new = ast.FunctionDef(BLOCK.format(role, self.temporaries), arguments, statements, [])
        new.type_params = []  # type: ignore[attr-defined, unused-ignore]
        out.append(self.at(new))
        return self.load(new.name)

    def joined(self, node: ast.JoinedStr) -> Any:
        """An f-string: its constant texts, and its values as they are formatted."""
        return self.hook("joined", *self.visit_all(node.values))

    def formatted(self, node: ast.FormattedValue) -> Any:
        parts = [self.visit(node.value)]
        if node.conversion != -1 or node.format_spec is not None:
            parts.append(self.constant("" if node.conversion == -1 else chr(node.conversion)))
        if node.format_spec is not None:
            parts.append(self.visit(node.format_spec))
        return self.hook("formatted", *parts)

    def starred(self, node: ast.Starred) -> Any:
        return self.at(ast.Starred(self.hook("iterate", self.visit(node.value)), ast.Load()))

    def call(self, node: ast.Call) -> Any:
        function = self.function_called(node.func)
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return self.hook("call", function, *self.super_arguments(node))
        name, first, args = "call", [], node.args
        generator = args[0] if args and isinstance(node.func, ast.Name) else None
        if (
            isinstance(generator, ast.GeneratorExp)
            and len(generator.generators) == 1
            and _binds_names_once(generator.generators[0], [generator.elt])
        ):
            name, first, args = "over_items", self.generator_parts(generator), args[1:]
        keywords = []
        args = self.visit_all(args)
        for k in node.keywords:
            value = self.visit(k.value)
            if k.arg is None:
                value = self.hook("mapping", value)
            keywords.append(self.at(ast.keyword(k.arg and self.mangled(k.arg), value)))
        return self.hook(name, function, *first, *args, keywords=keywords)

    def function_called(self, node: Any) -> Any:
        """What is called; the list in `x.list.append` or `LIST.append` need not be looked at."""
        if isinstance(node, ast.Attribute) and node.attr in _GROWS:
            with self.standing_at(node):
                owner = self.growing(node.value)
                if owner is not None:
                    return self.hook("attribute", owner, self.constant(node.attr))
        return self.visit(node)

    def growing(self, node: Any) -> Any:
        """What is appended to, an attribute or a name outside the function; None for any other."""
        if isinstance(node, ast.Attribute):
            return self.attribute(node, "growing")
        if not isinstance(node, ast.Name) or node.id == OUTER:
            return None
        if any(node.id in scope.names for scope in self.scopes):
            return None
        return self.hook("growing_name", self.constant(self.mangled(node.id)))

    def generator_parts(self, node: ast.GeneratorExp) -> list[Any]:
        """What it runs over, the pattern of an item, and functions of its names.

        These are the value and the conditions; a function that folds need not make the generator.
        """
        (g,) = node.generators
        iterable, names = self.iterated(g.iter), _names_in_order(g.target)
        self.scopes.append(Scope(set(names), None))
        with self.sharing(None):
            value, *tests = (self.function_of(names, part) for part in (node.elt, *g.ifs))
        self.scopes.pop()
        pattern = self.constant(self.pattern(g.target))
        return [iterable, pattern, value, self.at(ast.Tuple(tests, ast.Load()))]

    def function_of(self, names: list[str], node: Any) -> Any:
        """A function of `names` that evaluates `node`."""
        return self.lambda_of(names, self.visit(node))

    def lambda_of(self, names: list[str], body: Any) -> Any:
        """A function of `names` with a rewritten body."""
        arguments = no_arguments()
        arguments.args = [self.at(ast.arg(name)) for name in names]
        arguments.vararg = self.at(ast.arg(OPERAND))
        return self.at(ast.Lambda(arguments, body))

    def super_arguments(self, node: ast.Call) -> list[Any]:
        scope = self.scopes[-1]
        if "__class__" not in self.free or len(self.scopes) > 1 or scope.first is None:
            raise self.refuse(node, "super() outside a method")
        return [self.hook("free", self.constant("__class__")), self.load(scope.first)]

    def list_display(self, node: ast.List) -> Any:
        return self.hook("allocate", self.at(ast.List(self.visit_all(node.elts), ast.Load())))

    def iterated(self, node: Any) -> Any:
        """What a loop or a comprehension goes over: CPython makes no set there of constants."""
        frozen = _frozen_set(node) if isinstance(node, ast.Set) else None
        return self.visit(node) if frozen is None else self.at(ast.Constant(frozen))

    def set_display(self, node: ast.Set) -> Any:
        if _is_constant_set(node):
            return self.hook("allocate", node)
        return self.hook("allocate", self.at(ast.Set([self.key(e) for e in node.elts])))

    def dict_display(self, node: ast.Dict) -> Any:
        keys: list[Any] = []
        values: list[Any] = []
        for k, v in zip(node.keys, node.values, strict=True):
            keys.append(None if k is None else self.key(k))
            values.append(self.hook("mapping", self.visit(v)) if k is None else self.visit(v))
        return self.hook("allocate", self.at(ast.Dict(keys, values)))

    def key(self, node: Any) -> Any:
        """What becomes a key of a dict or an element of a set."""
        if isinstance(node, ast.Starred):
            return self.hook_starred_keys(node)
        return node if isinstance(node, ast.Constant) else self.hook("key", self.visit(node))

    def hook_starred_keys(self, node: ast.Starred) -> Any:
        return self.at(ast.Starred(self.hook("keys", self.visit(node.value)), ast.Load()))

    def comprehension(self, node: Any) -> Any:
        if isinstance(node, ast.ListComp) and all(
            _binds_names_once(g, [node.elt, *(g.iter for g in node.generators[1:])])
            for g in node.generators
        ):
            return self.hook("comprehended", *self.loop_parts(node.generators, node.elt))
        first = self.iterated(node.generators[0].iter)
        with self.sharing(None):
            return self.items(node, first)

    def loop_parts(self, generators: list[Any], value: Any) -> list[Any]:
        """As `generator_parts`, and whether the value is the parts of the next `for`."""
        g, *more = generators
        iterable, names = self.iterated(g.iter), _names_in_order(g.target)
        self.scopes.append(Scope(set(names), None))
        with self.sharing(None):
            tests = [self.function_of(names, test) for test in g.ifs]
            if more:
                parts = self.at(ast.Tuple(self.loop_parts(more, value), ast.Load()))
                made = self.lambda_of(names, parts)
            else:
                made = self.function_of(names, value)
        self.scopes.pop()
        pattern = self.constant(self.pattern(g.target))
        tuple_of_tests = self.at(ast.Tuple(tests, ast.Load()))
        return [iterable, pattern, made, tuple_of_tests, self.constant(bool(more))]

    def items(self, node: Any, first: Any) -> Any:
        """A comprehension over `first`, in its own scope."""
        generators = []
        targets = {name for g in node.generators for name in stored_names(g.target)}
        self.scopes.append(Scope(targets, None))
        for k, g in enumerate(node.generators):
            if g.is_async:
                raise self.refuse(node, "async")
            iterable = self.iterated(g.iter) if k else first
            pattern = self.pattern(g.target)
            hooked = (
                self.hook("iterate", iterable)
                if pattern is None
                else self.hook("iterate_unpacked", iterable, self.constant(pattern))
            )
            conditions = [self.hook("truth", self.visit(test)) for test in g.ifs]
            generators.append(ast.comprehension(g.target, hooked, conditions, 0))
        if isinstance(node, ast.DictComp):
            parts = [self.key(node.key), self.visit(node.value)]
        elif isinstance(node, ast.SetComp):
            parts = [self.key(node.elt)]
        else:
            parts = [self.visit(node.elt)]
        self.scopes.pop()
        return self.hook("allocate", self.at(type(node)(*parts, generators)))

    def pattern(self, target: Any) -> Any:
        """Which parts of an item are unpacked: None for a name, a tuple of patterns for a tuple."""
        if isinstance(target, ast.Name):
            return None
        if isinstance(target, (ast.Tuple, ast.List)):
            return tuple(map(self.pattern, target.elts))
        raise self.refuse(target, "this target in a comprehension")


def _binds_names_once(g: ast.comprehension, inside: list[Any]) -> bool:
    """Whether a `for` binds each name once, and nothing `inside` binds any."""
    names = _names_in_order(g.target)
    if any(_keeps(part, set(names)) for part in (*inside, *g.ifs)):
        return False
    unlike = any(isinstance(n, ast.Starred) for n in all_nodes(g.target))
    return (
        not (g.is_async or unlike or bound_names([*inside, *g.ifs]))
        and len(names) == len(set(names))
        and names != []
    )


def _keeps(node: ast.AST, names: set[str]) -> bool:
    """Whether a function that is made in an expression may see what `names` are bound to later."""
    parts = parts_of(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _AT_ONCE:
        given = [*node.args, *(k.value for k in node.keywords)]
        parts = [part for x in given for part in parts_of(x)]
    elif isinstance(node, (ast.Lambda, ast.GeneratorExp)):
        return any(isinstance(n, ast.Name) and n.id in names for n in all_nodes(node))
    return any(_keeps(part, names) for part in parts)


def _names_in_order(target: Any) -> list[str]:
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for part in target.elts for name in _names_in_order(part)]
    return []


def _frozen_set(node: ast.Set) -> Any:
    """The frozenset that a loop over a display goes over, in its own order; None for a set."""
    loop = ast.For(ast.Name("_", ast.Store()), node, [ast.Pass()], [])
    code = compile(ast.fix_missing_locations(ast.Module([loop], [])), "", "exec")
    if any(i.opname == "BUILD_SET" for i in dis.get_instructions(code)):
        return None
    return next((c for c in code.co_consts if isinstance(c, frozenset)), None)


def _is_constant_set(node: ast.Set) -> bool:
    """Whether CPython makes a display from constants: the set's order comes from how it does."""
    code = compile(ast.Expression(node), "", "eval")
    makes = {"RESUME", "BUILD_SET", "LOAD_CONST", "SET_UPDATE", "SET_ADD", "RETURN_VALUE"}
    return all(i.opname in makes for i in dis.get_instructions(code))

"""From compound statements to hooks that get their blocks as functions.

    if test: A           def then(): nonlocal a; A
    else: B         ->   def else(): nonlocal a; B
    C                    def rest(): nonlocal c; C
                         return hooks.if_(test, then, else, rest, ("a",), info)

A block's function returns None where control runs off its end; `break`, `continue` and `return`
return what tells the hooks around it so. `info` holds the statement's line, the names that may be
read after it, and for a loop those that its next iteration or what follows it may read. The names
that blocks bind are variables of the user's function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.frontend.rewrite.constructs import bound_names
from tracejit.frontend.rewrite.expressions import HOOK_NAME
from tracejit.frontend.rewrite.live_names import LiveNames
from tracejit.frontend.rewrite.nodes import parts_of
from tracejit.frontend.rewrite.source import Definition
from tracejit.frontend.rewrite.statements import Statements

__all__ = ["Blocks"]

_COMPOUND = (ast.If, ast.While, ast.For, ast.Try, ast.With)
_JUMPS = (ast.Break, ast.Continue, ast.Raise, ast.Return)
_ITEM = "__tracejit_item__"


@dataclass
class _Compound:
    """A compound statement's hook: what is defined for it, and all its arguments but `rest`."""

    functions: list[Any]
    hook: str
    args: list[Any]
    constants: list[Any]
    place: ast.stmt


@dataclass
class _Segment:
    """Statements of a block up to its end, or to a compound one."""

    in_block: bool
    statements: list[Any] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    compound: _Compound | None = None


class Blocks(Statements):
    """Rewrites the statements of one function."""

    def __init__(self, definition: Definition, free: tuple[str, ...]) -> None:
        super().__init__(definition, free)
        #: What is live in each of the functions around the place that is being rewritten.
        self.live: list[LiveNames] = []
        #: Whether a statement stands in a block's function, not directly in the user's.
        self.in_block = False
        #: Whether the function is a generator: it gives its outcome.
        self.yields = False
        self.bound: dict[ast.AST, frozenset[str]] = {}

    def block(self, statements: list[Any]) -> list[Any]:
        """The statements of a block; those after a compound one go to a function of their own."""
        out: list[Any] = []
        names: set[str] = set()
        # Neither loop calls itself for what follows: a function may hold many compound statements.
        for segment in reversed(self.segments(statements)):
            if segment.compound is not None:
                out = self.called(segment.compound, segment.in_block, out, names)
            out = [*segment.statements, *out]
            names |= segment.names
        return out

    def segments(self, statements: list[Any]) -> list[_Segment]:
        """What is executed of a block, in parts that end with its compound statements."""
        outside = self.in_block
        segments = [_Segment(outside)]
        is_reached = True
        for s in statements:
            with self.sharing([]) as before:
                new = self.visit(s)
            if not is_reached:
                continue
            current = segments[-1]
            current.names |= self.names(s)
            current.statements += before
            if isinstance(new, _Compound):
                current.compound = new
                segments.append(_Segment(True))
                self.in_block = True
            else:
                current.statements += new if isinstance(new, list) else [new]
            is_reached = not isinstance(s, _JUMPS)
        self.in_block = outside
        return segments

    def names(self, *nodes: ast.AST) -> frozenset[str]:
        """The names that `nodes` bind or delete. Each node is looked at once."""
        found: list[frozenset[str]] = []
        for node in nodes:
            if node not in self.bound:
                if isinstance(node, _COMPOUND):
                    names = self.names(*parts_of(node))
                else:
                    names = frozenset(bound_names([node]))
                self.bound[node] = names
            found.append(self.bound[node])
        return frozenset().union(*found)

    def called(
        self, compound: _Compound, in_block: bool, rest: list[Any], names: Iterable[str]
    ) -> list[Any]:
        """The call of a compound statement's hook, where `rest` follows and binds `names`."""
        outside, self.here = self.here, compound.place
        out = list(compound.functions)
        function = self.define("rest", rest, names, out) if rest else self.constant(None)
        result = self.hook(compound.hook, *compound.args, function, *compound.constants)
        if not in_block and not self.yields:
            result = self.hook("function_result", result)
        out.append(self.at(ast.Return(result)))
        self.here = outside
        return out

    # Compound statements -------------------------------------------------------------------------

    def branch(self, node: ast.If) -> _Compound:
        self.here = _header(node, node.test)
        functions: list[Any] = []
        args = [
            self.visit(node.test),
            self.part("then", node.body, self.names(*node.body), functions),
            self.part("else", node.orelse, self.names(*node.orelse), functions),
        ]
        names = self.names(*node.body, *node.orelse)
        return self.compound(node, functions, "if_", args, names, ())

    def while_loop(self, node: ast.While) -> _Compound:
        self.here = _header(node, node.test)
        functions: list[Any] = []
        names = self.names(node)
        test = self.result_of(node.test)
        args = [
            self.define("test", test, self.names(node.test), functions),
            self.part("body", node.body, names, functions),
            self.part("else", node.orelse, self.names(*node.orelse), functions),
        ]
        return self.compound(node, functions, "while_", args, names, self.live[-1].at_head(node))

    def for_loop(self, node: ast.For) -> _Compound:
        self.here = _header(node, node.iter)
        functions: list[Any] = []
        names = self.names(node.target, *node.body, *node.orelse)
        iterable = self.iterated(node.iter)
        with self.sharing([]) as assignment:
            assignment += self.store(node.target, self.load(_ITEM))
        args = [
            iterable,
            self.define("assign", assignment, self.names(node.target), functions, _ITEM),
            self.part("body", node.body, names, functions),
            self.part("else", node.orelse, self.names(*node.orelse), functions),
        ]
        return self.compound(node, functions, "for_", args, names, self.live[-1].at_head(node))

    def try_statement(self, node: ast.Try) -> _Compound:
        self.here = _header(node)
        functions: list[Any] = []
        body = self.part("try", node.body, self.names(*node.body), functions)
        handlers = [self.handler(h, functions) for h in node.handlers]
        args = [
            body,
            self.at(ast.Tuple(handlers, ast.Load())),
            self.part("else", node.orelse, self.names(*node.orelse), functions),
            self.part("finally", node.finalbody, self.names(*node.finalbody), functions),
        ]
        return self.compound(node, functions, "try_", args, self.names(node), ())

    def handler(self, node: ast.ExceptHandler, out: list[Any]) -> Any:
        """The function of a handler's classes, its name, and the function of its block."""
        with self.standing_at(node), self.sharing(None):
            classes = self.constant(None) if node.type is None else self.delayed(node.type)
            name = node.name and self.mangled(node.name)
            names = self.names(*node.body) | ({node.name} if node.name else set())
            begin = [self.set_name(node.name, self.load(_ITEM))] if node.name else []
            parameter = _ITEM if node.name else ""
            block = self.part("except", node.body, names, out, begin, parameter)
            return self.at(ast.Tuple([classes, self.constant(name), block], ast.Load()))

    def with_statement(self, node: ast.With) -> _Compound:
        self.here = _header(node, node.items[-1].context_expr)
        functions: list[Any] = []
        items = []
        for item in node.items:
            manager, target = self.delayed(item.context_expr), item.optional_vars
            assign = self.constant(None)
            if target is not None:
                with self.sharing([]) as assignment:
                    assignment += self.store(target, self.load(_ITEM))
                names = self.names(target)
                assign = self.define("assign", assignment, names, functions, _ITEM)
            items.append(self.at(ast.Tuple([manager, assign], ast.Load())))
        args = [
            self.at(ast.Tuple(items, ast.Load())),
            self.part("with", node.body, self.names(*node.body), functions),
        ]
        return self.compound(node, functions, "with_", args, self.names(node), ())

    def compound(
        self,
        node: ast.stmt,
        functions: list[Any],
        hook: str,
        args: list[Any],
        names: Iterable[str],
        live_head: Iterable[str],
    ) -> _Compound:
        info = (node.lineno, self.spelled(self.live[-1].after(node)), self.spelled(live_head))
        constants = [self.constant(self.spelled(names)), self.constant(info)]
        return _Compound(functions, hook, args, constants, self.here)

    def spelled(self, names: Iterable[str]) -> tuple[str, ...]:
        """Names as the compiler spells them."""
        return tuple(sorted(map(self.mangled, names)))

    def part(
        self,
        role: str,
        statements: list[Any],
        names: Iterable[str],
        out: list[Any],
        begin: Sequence[Any] = (),
        parameter: str = "",
    ) -> Any:
        """The function of a block that binds `names`, or None where there is no block."""
        if not statements:
            return self.constant(None)
        outside, self.in_block = self.in_block, True
        body = self.block(statements)
        self.in_block = outside
        return self.define(role, [*begin, *body], names, out, parameter)

    def expression(self, node: ast.Expr) -> Any:
        value = node.value
        if not isinstance(value, (ast.Yield, ast.YieldFrom)):
            return self.plain(node)
        hook = "yield_" if isinstance(value, ast.Yield) else "yield_from"
        given = self.constant(None) if value.value is None else self.visit(value.value)
        constants = [self.constant(()), self.constant((node.lineno, (), ()))]
        return _Compound([], hook, [given], constants, self.here)

    # Jumps ---------------------------------------------------------------------------------------

    def jump(self, node: ast.Break | ast.Continue) -> Any:
        name = "BREAK" if isinstance(node, ast.Break) else "CONTINUE"
        return self.at(ast.Return(self.at(ast.Attribute(self.load(HOOK_NAME), name, ast.Load()))))

    def returned(self, node: ast.Return) -> Any:
        value = self.constant(None) if node.value is None else self.visit(node.value)
        is_outcome = self.in_block or self.yields
        return self.at(ast.Return(self.hook("returned", value) if is_outcome else value))


def _header(node: ast.stmt, last: ast.expr | None = None) -> Any:
    """A place for what stands for a compound statement: its first line, without its blocks."""
    place = ast.copy_location(ast.Pass(), node)
    place.end_lineno, place.end_col_offset = node.lineno, node.col_offset + len("try:")
    if last is not None:
        place.end_lineno, place.end_col_offset = last.end_lineno, last.end_col_offset
    return place

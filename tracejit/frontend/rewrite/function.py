"""From a function's code to code where each step that depends on values calls a hook.

Evaluation order and the number of evaluations stay those of Python. `constructs.HOOKS` is the
closed table: a construct that it does not name makes the function eager.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType
from typing import Any

from tracejit.frontend.rewrite.blocks import Blocks
from tracejit.frontend.rewrite.constructs import bound_names, is_generator, parameters
from tracejit.frontend.rewrite.expressions import BLOCK, HOOK_NAME, OPERAND, Scope
from tracejit.frontend.rewrite.kept_dicts import with_kept_dicts
from tracejit.frontend.rewrite.live_names import LiveNames
from tracejit.frontend.rewrite.nodes import kinds_in
from tracejit.frontend.rewrite.source import (
    Definition,
    FunctionNode,
    compile_definition,
    plain,
    too_deep,
)

__all__ = ["HOOK_NAME", "rewrite_code"]

_BLOCK_PREFIX = BLOCK.partition("{")[0]


def rewrite_code(definition: Definition, code: CodeType) -> CodeType:
    """`code`, that of `definition`, over hooks; its free variable HOOK_NAME holds the interpreter.

    Raises TraceError TJ008 at a construct that is not traced, and where statements are nested too
    deeply.
    """
    try:
        node = _Rewriter(definition, code.co_freevars).outermost()
        new = compile_definition(definition, node, (HOOK_NAME,))
        new = _with_sets(new, {_set_key(c): c for c in _sets_in(code)})
        return _named(new, code.co_name, code.co_qualname)
    except RecursionError:
        raise too_deep(code) from None


def _sets_in(code: CodeType) -> Iterator[frozenset[Any]]:
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield from _sets_in(c)
        elif isinstance(c, frozenset):
            yield c


def _set_key(x: frozenset[Any]) -> frozenset[Any]:
    return frozenset((type(v), repr(v)) for v in x)


def _with_sets(code: CodeType, known: dict[frozenset[Any], frozenset[Any]]) -> CodeType:
    """`code` with the constant sets that the function itself has: those of a compiled file that was
    read back may have another order than those of its source."""
    constants = []
    for c in code.co_consts:
        if isinstance(c, CodeType):
            c = _with_sets(c, known)
        elif isinstance(c, frozenset):
            c = known.get(_set_key(c), c)
        constants.append(c)
    return code.replace(co_consts=tuple(constants))


def _named(code: CodeType, name: str, qualname: str) -> CodeType:
    """`code` with a name; the functions made of its parts get the same one."""
    constants = []
    for c in code.co_consts:
        if isinstance(c, CodeType):
            if c.co_name.startswith(_BLOCK_PREFIX) or OPERAND in c.co_varnames:
                c = _named(c, name, qualname)
            else:
                c = _named(c, c.co_name, f"{qualname}.<locals>.{c.co_name}")
        constants.append(c)
    return code.replace(co_consts=tuple(constants), co_name=name, co_qualname=qualname)


class _Rewriter(Blocks):
    """Rewrites a function and those inside it."""

    def outermost(self) -> FunctionNode:
        node: Any = plain(self.definition.node)
        kinds = kinds_in(node)
        if ast.Match in kinds:
            from tracejit.frontend.rewrite.patterns import without_patterns

            node = without_patterns(node)
        if ast.Import in kinds or ast.ImportFrom in kinds:
            from tracejit.frontend.rewrite.imports import without_imports

            node = without_imports(node)
        if ast.Global in kinds or ast.Nonlocal in kinds:
            from tracejit.frontend.rewrite.outer_names import with_outer_names
            from tracejit.frontend.rewrite.shared_names import with_boxes

            node = with_boxes(with_outer_names(node, self.free))
        node = with_kept_dicts(node)
        return self.body_of(node, node.args)

    def function(self, node: Any) -> Any:
        decorators = [
            (self.temporary(), self.visit(d)) for d in getattr(node, "decorator_list", ())
        ]
        arguments = plain(node).args
        arguments.defaults = self.visit_all(node.args.defaults)
        arguments.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        new = self.body_of(plain(node), arguments)
        if isinstance(new, ast.Lambda):
            return self.hook("allocate", new)
        out = [self.set_name(name, d) for name, d in decorators]
        made = "generator" if is_generator(node) else "allocate"
        out += [new, self.statement(self.hook(made, self.load(new.name)))]
        for name, _ in reversed(decorators):
            out.append(
                self.set_name(new.name, self.hook("call", self.load(name), self.load(new.name)))
            )
        return out

    def body_of(self, node: FunctionNode, arguments: ast.arguments) -> FunctionNode:
        by_position = [*arguments.posonlyargs, *arguments.args]
        given = set(parameters(arguments))
        bound = bound_names(node.body if isinstance(node.body, list) else [node.body])
        self.scopes.append(Scope(given | bound, by_position[0].arg if by_position else None))
        new: FunctionNode
        if isinstance(node, ast.Lambda):
            if arguments.kwarg:
                raise self.refuse(node, "a lambda with **")
            with self.sharing(None):
                new = ast.Lambda(arguments, self.visit(node.body))
        else:
            body = [*self.head(node), *map(self.local, sorted(bound - given)), *self.body(node)]
            new = ast.FunctionDef(node.name, arguments, body or [self.at(ast.Pass())], [])
            new.type_params = []  # type: ignore[attr-defined, unused-ignore]
        self.scopes.pop()
        return ast.copy_location(new, node)

    def head(self, node: ast.FunctionDef) -> list[Any]:
        """The docstring, and what notes that ** makes a new dict."""
        head: list[Any] = node.body[:1] if _has_docstring(node) else []
        if node.args.kwarg:
            head = [*head, self.statement(self.hook("allocate", self.load(node.args.kwarg.arg)))]
        return head

    def local(self, name: str) -> Any:
        """A declaration: blocks may bind a name that no statement of the function itself binds."""
        target = self.at(ast.Name(name, ast.Store()))
        return self.at(ast.AnnAssign(target, self.constant(None), None, 1))

    def body(self, node: ast.FunctionDef) -> list[Any]:
        outside = self.in_block, self.yields
        self.in_block, self.yields = False, is_generator(node)
        self.live.append(LiveNames(node))
        out = self.block(node.body[_has_docstring(node) :])
        self.live.pop()
        self.in_block, self.yields = outside
        return out


def _has_docstring(node: ast.FunctionDef) -> bool:
    return ast.get_docstring(node, clean=False) is not None

"""From a function's syntax tree to the names that surely have values where each loop begins."""

from __future__ import annotations

import ast
from typing import Any

from tracejit.frontend.rewrite.constructs import parameters, stored_names
from tracejit.frontend.rewrite.nodes import all_nodes

__all__ = ["certain_names"]


def certain_names(function: ast.FunctionDef) -> dict[ast.stmt, frozenset[str]]:
    """For each loop of a function, names that have values where it begins: not all there are."""
    found: dict[ast.stmt, frozenset[str]] = {}
    deleted = {
        n.id for n in all_nodes(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)
    }
    # `except ... as e` deletes its name in the end.
    deleted |= {n.name for n in all_nodes(function) if isinstance(n, ast.ExceptHandler) and n.name}
    _block(function.body, frozenset(parameters(function.args)) - deleted, found, deleted)
    return found


def _block(
    statements: list[Any],
    known: frozenset[str],
    found: dict[ast.stmt, frozenset[str]],
    deleted: set[str],
) -> frozenset[str]:
    """What is known at the end of a block, where control gets there."""
    for s in statements:
        known = _statement(s, known, found, deleted)
    return known


def _statement(
    s: Any, known: frozenset[str], found: dict[ast.stmt, frozenset[str]], deleted: set[str]
) -> frozenset[str]:
    def block(statements: list[Any], before: frozenset[str]) -> frozenset[str]:
        return _block(statements, before, found, deleted)

    if isinstance(s, ast.If):
        then, other = block(s.body, known), block(s.orelse, known)
        if _leaves(s.body):
            return other
        return then if s.orelse and _leaves(s.orelse) else then & other
    if isinstance(s, (ast.For, ast.While)):
        found[s] = known
        target = stored_names(s.target) if isinstance(s, ast.For) else ()
        block(s.body, known.union(target) - deleted)
        block(s.orelse, known)
        return known
    if isinstance(s, ast.With):
        targets = [item.optional_vars for item in s.items if item.optional_vars is not None]
        known = known.union(name for t in targets for name in stored_names(t)) - deleted
        block(s.body, known)
        return known
    if isinstance(s, ast.Try):
        body = block(s.body, known)
        block(s.orelse, body)
        for handler in s.handlers:
            block(handler.body, known)
        return block(s.finalbody, known)
    targets = []
    if isinstance(s, ast.Assign):
        targets = s.targets
    elif isinstance(s, ast.AugAssign) or isinstance(s, ast.AnnAssign) and s.value is not None:
        targets = [s.target]
    elif isinstance(s, ast.FunctionDef):
        return known.union({s.name} - deleted)
    return known.union(name for t in targets for name in stored_names(t)) - deleted


def _leaves(statements: list[Any]) -> bool:
    """Whether control does not get past the end of a block."""
    return bool(statements) and isinstance(
        statements[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break)
    )

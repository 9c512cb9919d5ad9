"""Dicts that a branch or loop replaces become dicts whose entries it replaces.

best = {"loss": inf, "step": 0}          best = {"loss": inf, "step": 0}
for k in range(n):                       for k in range(n):
    if f(k) < best["loss"]:      ->          if f(k) < best["loss"]:
        best = {"loss": f(k), "step": k}         new = f(k), k; best["loss"], best["step"] = new
return best                              return best

Nobody can tell where nothing but the one name leads to such a dict: it is only ever bound to
displays with the same keys, and only subscripted, stored into under these, asked for a key, and
returned.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import Any

from tracejit.frontend.rewrite.constructs import is_generator
from tracejit.frontend.rewrite.nodes import all_nodes

__all__ = ["with_kept_dicts"]

_PART = "__tracejit_entry{}__"
#: What shows the names of a function to somebody else, and a try statement that goes on after one.
_SEEING = frozenset(("locals", "vars", "eval", "exec", "dir"))


def with_kept_dicts(function: Any) -> Any:
    """`function`, a copy of which this may be, with such dicts."""
    names = _names(function)
    if not names:
        return function
    function = copy.deepcopy(function)
    keeper = _Keeper(names)
    function.body = [s if _binds(s) in names else keeper.visit(s) for s in function.body]
    return function


def _names(function: Any) -> set[str]:
    """The names in a function that lead to dicts nothing else leads to."""
    if not isinstance(function.body, list):
        return set()
    first = {_binds(s): s for s in reversed(function.body) if _binds(s)}
    if not first or is_generator(function):
        return set()
    nodes = all_nodes(function)
    if any(isinstance(n, ast.Try) and n.finalbody or _is_seeing(n) for n in nodes):
        return set()
    inside = {id(n) for f in nodes if f is not function and _is_scope(f) for n in all_nodes(f)}
    allowed = {id(n) for node in nodes for n in _uses(node)}
    found = set()
    for name, statement in first.items():
        stores = [n for n in nodes if isinstance(n, ast.Assign) and _binds(n) == name]
        here = [n for n in nodes if isinstance(n, ast.Name) and n.id == name]
        own = all(id(n) in allowed and id(n) not in inside for n in here)
        begun = all(_place(n) >= _place(statement) for n in here)
        same = len({_keys(s.value) for s in stores}) == 1 < len(stores)
        same = same and all(_stores_into(n, name, _keys(statement.value)) for n in nodes)
        if own and begun and same and not any(name in _bound_otherwise(n) for n in nodes):
            found.add(name)
    return found


def _stores_into(node: ast.AST, name: str, keys: Sequence[str]) -> bool:
    """False for a store into the dict of a name that may be under another key than its own."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Store):
        return True
    owner, key = node.value, node.slice
    is_other = not isinstance(owner, ast.Name) or owner.id != name
    return is_other or isinstance(key, ast.Constant) and key.value in keys


def _bound_otherwise(node: ast.AST) -> Sequence[str]:
    """The names that a node binds, or says something of, without being one."""
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return node.names
    if isinstance(node, ast.alias):
        return ((node.asname or node.name).partition(".")[0],)
    found = (getattr(node, part, None) for part in ("name", "rest"))
    return [name for name in found if isinstance(name, str)]


def _place(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _is_seeing(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in _SEEING


def _is_scope(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef))


def _binds(statement: Any) -> str:
    """The name that a statement binds to a display of a dict with constant keys, or nothing."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) and _keys(statement.value) else ""


def _keys(display: ast.expr) -> tuple[str, ...]:
    """The keys of a display of a dict if all are constant texts, each there once."""
    if not isinstance(display, ast.Dict):
        return ()
    keys = [k.value for k in display.keys if isinstance(k, ast.Constant)]
    texts = tuple(k for k in keys if isinstance(k, str))
    return texts if len(texts) == len(display.keys) == len({*texts}) else ()


def _uses(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node that stand where no other name for their value is made."""
    if isinstance(node, ast.Assign) and _binds(node):
        yield node.targets[0]
    elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Del):
        yield node.value
    elif isinstance(node, ast.Compare):
        others = zip(node.ops, node.comparators, strict=True)
        yield from (c for op, c in others if isinstance(op, (ast.In, ast.NotIn)))
    elif isinstance(node, ast.Return) and node.value is not None:
        yield from node.value.elts if isinstance(node.value, ast.Tuple) else (node.value,)


class _Keeper(ast.NodeTransformer):
    """Stores into the dicts of some names what displays would hold that replace them."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Assign(self, node: ast.Assign) -> Any:
        name = _binds(node)
        if name not in self.names:
            return node
        assert isinstance(node.value, ast.Dict)
        parts = [_PART.format(k) for k in range(len(node.value.values))]
        targets: list[ast.expr] = [ast.Name(p, ast.Store()) for p in parts]
        out: list[ast.stmt] = [
            ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(node.value.values, ast.Load()))
        ]
        for key, part in zip(node.value.keys, parts, strict=True):
            assert key is not None
            place = ast.Subscript(ast.Name(name, ast.Load()), key, ast.Store())
            out.append(ast.Assign([place], ast.Name(part, ast.Load())))
        return [ast.fix_missing_locations(ast.copy_location(s, node)) for s in out]

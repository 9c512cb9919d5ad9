"""Reduces a failing program: statements and parts of expressions are left out while it fails."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator
from typing import Any

#: Fields of nodes and what they become, all at once.
Edit = list[tuple[Any, str, Any]]


def reduce(text: str, fails: Callable[[str], bool], seconds: float) -> str:
    """The smallest text found in that time; `fails` is asked of texts with valid syntax."""
    end = time.monotonic() + seconds
    tree = ast.parse(text)
    best = ast.unparse(tree)
    if not fails(best):
        return text
    changed = True
    while changed:
        changed = False
        position = 0
        while time.monotonic() < end:
            edit = _nth(tree, position)
            if edit is None:
                break
            before = [(node, field, getattr(node, field)) for node, field, _ in edit]
            _apply(edit)
            smaller = _unparsed(tree)
            if smaller is not None and len(smaller) < len(best) and fails(smaller):
                best, changed = smaller, True
                continue
            _apply(before)
            position += 1
    return best + "\n"


def _nth(tree: ast.Module, position: int) -> Edit | None:
    for number, edit in enumerate(_edits(tree)):
        if number == position:
            return edit
    return None


def _apply(edit: Edit) -> None:
    for node, field, value in edit:
        setattr(node, field, value)


def _unparsed(tree: ast.Module) -> str | None:
    try:
        text = ast.unparse(tree)
        compile(text, "program", "exec")
    except (SyntaxError, ValueError, AttributeError, IndexError):
        return None
    return text


def _edits(tree: ast.Module) -> Iterator[Edit]:
    """All edits of one step, those that leave out most first."""
    yield from _fewer_calls(tree)
    nodes = list(ast.walk(tree))
    for node in nodes:
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                for body in _fewer_statements(value, isinstance(node, ast.Module)):
                    yield [(node, field, body)]
            elif field in ("handlers", "cases", "elts", "keywords", "decorator_list", "values"):
                if isinstance(value, list) and not isinstance(node, ast.Dict):
                    for k in range(len(value)):
                        yield [(node, field, value[:k] + value[k + 1 :])]
        if isinstance(node, ast.Dict):
            for k in range(len(node.keys)):
                keys, values = (x[:k] + x[k + 1 :] for x in (node.keys, node.values))
                yield [(node, "keys", keys), (node, "values", values)]
    yield from _fewer_parameters(tree)
    for node in nodes:
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                for smaller in _smaller(value):
                    yield [(node, field, smaller)]
            elif isinstance(value, list):
                for k, inner in enumerate(value):
                    if isinstance(inner, ast.expr):
                        for smaller in _smaller(inner):
                            yield [(node, field, [*value[:k], smaller, *value[k + 1 :]])]


def _fewer_statements(body: list[ast.stmt], is_module: bool) -> Iterator[list[ast.stmt]]:
    size = len(body)
    while size:
        for start in range(0, len(body), size):
            less = body[:start] + body[start + size :]
            if less or is_module:
                yield less
            elif not isinstance(body[0], ast.Pass):
                yield [ast.Pass()]
        size //= 2
    for k, statement in enumerate(body):
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            continue
        inner = [getattr(statement, field, []) for field in ("body", "orelse", "finalbody")]
        for block in inner:
            if block:
                yield [*body[:k], *block, *body[k + 1 :]]


def _fewer_calls(tree: ast.Module) -> Iterator[Edit]:
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "CALLS":
            calls = statement.value
            assert isinstance(calls, ast.List)
            for call in calls.elts:
                if len(calls.elts) > 1:
                    yield [(calls, "elts", [call])]
            for k in range(len(calls.elts)):
                if len(calls.elts) > 2:
                    yield [(calls, "elts", calls.elts[:k] + calls.elts[k + 1 :])]


def _fewer_parameters(tree: ast.Module) -> Iterator[Edit]:
    """A parameter of `f` goes together with the argument in each of the calls."""
    functions = {x.name: x for x in tree.body if isinstance(x, ast.FunctionDef)}
    if "f" not in functions:
        return
    parameters = functions["f"].args
    made = [
        x.value
        for name, function in functions.items()
        if name in ("some", "others", "sizes", "edges")
        for x in function.body
        if isinstance(x, ast.Return) and isinstance(x.value, ast.List)
    ]
    for k in range(len(parameters.args)):
        edit: Edit = [(parameters, "args", parameters.args[:k] + parameters.args[k + 1 :])]
        edit += [(x, "elts", x.elts[:k] + x.elts[k + 1 :]) for x in made]
        yield edit


def _smaller(x: ast.expr) -> Iterator[ast.expr]:
    """Expressions in place of `x`: parts of it, and constants."""
    if isinstance(x, (ast.Constant, ast.Name)) and not isinstance(
        getattr(x, "ctx", None), ast.Store
    ):
        if isinstance(x, ast.Constant) and isinstance(x.value, str) and len(x.value) > 1:
            yield ast.Constant(x.value[:1])
        if not (isinstance(x, ast.Constant) and x.value in (0, 1, "")):
            yield ast.Constant(0)
            yield ast.Constant(1)
        return
    if isinstance(getattr(x, "ctx", None), ast.Store):
        if isinstance(x, ast.Tuple) and x.elts:
            yield x.elts[0]
        return
    yield ast.Constant(1)
    yield ast.Constant(0)
    for child in ast.iter_child_nodes(x):
        if isinstance(child, ast.expr):
            yield child
    if isinstance(x, ast.Call):
        yield from (k.value for k in x.keywords)

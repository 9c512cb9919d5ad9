"""Reduces a failing program: statements and parts of expressions are left out while it fails."""

from __future__ import annotations

import ast
import re
import time
import warnings
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
        for edit in _edits(tree):
            if time.monotonic() > end:
                return best + "\n"
            before = [(node, field, getattr(node, field)) for node, field, _ in edit]
            _apply(edit)
            smaller = _unparsed(tree)
            if smaller is not None and len(smaller) < len(best) and fails(smaller):
                best, changed = smaller, True
            else:
                _apply(before)
    return best + "\n"


def _apply(edit: Edit) -> None:
    for node, field, value in edit:
        setattr(node, field, value)


def _unparsed(tree: ast.Module) -> str | None:
    try:
        text = ast.unparse(tree)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "program", "exec")
    except (SyntaxError, ValueError, AttributeError, IndexError):
        return None
    return text


def _edits(tree: ast.Module) -> Iterator[Edit]:
    """Edits of the tree as it is when each is asked for, those that leave out most first."""
    yield from _fewer_calls(tree)
    yield [(tree, "body", _used(tree))]
    nodes = list(ast.walk(tree))
    for node in nodes:
        for field in ("body", "orelse", "finalbody"):
            if isinstance(getattr(node, field, None), list):
                yield from _fewer_statements(node, field)
    yield from _fewer_parameters(tree)
    yield [(tree, "body", _used(tree))]
    for node in nodes:
        for field in ("handlers", "cases", "elts", "keywords", "decorator_list", "values"):
            if not isinstance(node, ast.Dict) and isinstance(getattr(node, field, None), list):
                yield from _fewer_items(node, field)
        if isinstance(node, ast.Dict):
            for k in reversed(range(len(node.keys))):
                keys = node.keys[:k] + node.keys[k + 1 :]
                yield [
                    (node, "keys", keys),
                    (node, "values", node.values[:k] + node.values[k + 1 :]),
                ]
    for node in nodes:
        if isinstance(node, ast.Return) and isinstance(node.value, ast.List):
            # The arguments of a call.
            continue
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                for smaller in _smaller(value):
                    yield [(node, field, smaller)]
            elif isinstance(value, list):
                for k, inner in enumerate(value):
                    if not isinstance(inner, ast.expr):
                        continue
                    for smaller in _smaller(inner):
                        now = getattr(node, field)
                        yield [(node, field, [*now[:k], smaller, *now[k + 1 :]])]


def _used(tree: ast.Module) -> list[ast.stmt]:
    """The statements of a module without what nothing else in it names."""
    texts = [ast.unparse(x) for x in tree.body]
    kept = []
    for k, statement in enumerate(tree.body):
        names = [getattr(statement, "name", "")]
        if isinstance(statement, ast.Assign):
            names = [ast.unparse(x) for x in statement.targets]
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            names = [x.asname or x.name for x in statement.names]
        others = "\n".join(texts[:k] + texts[k + 1 :])
        if any(re.search(rf"\b{name}\b", others) or name in ("f", "CALLS") for name in names):
            kept.append(statement)
    return kept


def _fewer_items(node: Any, field: str) -> Iterator[Edit]:
    k = 0
    while k < len(items := getattr(node, field)):
        yield [(node, field, items[:k] + items[k + 1 :])]
        k += getattr(node, field) is items


def _fewer_statements(node: Any, field: str) -> Iterator[Edit]:
    """Parts of a block go, or blocks of its statements stand in place of these."""
    size = len(getattr(node, field))
    while size:
        start = 0
        while start < len(body := getattr(node, field)):
            less = body[:start] + body[start + size :]
            if less or not isinstance(body[0], ast.Pass):
                empty = [] if field != "body" or isinstance(node, ast.Module) else [ast.Pass()]
                yield [(node, field, less or empty)]
            start += size if getattr(node, field) is body else 0
        size //= 2
    k = 0
    while k < len(body := getattr(node, field)):
        if not isinstance(body[k], (ast.FunctionDef, ast.ClassDef)):
            for part in ("body", "orelse", "finalbody"):
                now = getattr(node, field)
                if now is body and (block := getattr(body[k], part, [])):
                    yield [(node, field, [*body[:k], *block, *body[k + 1 :]])]
        k += getattr(node, field) is body


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
    for k in reversed(range(len(parameters.args))):
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

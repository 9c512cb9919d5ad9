"""`match` statements become chains of `if` over hooks that take a subject apart.

match point:                       s = point
    case (x, 0) if x > 1: A   ->   if is_sequence(s, 2) and bound(t := s[0]) and s[1] == 0
                                      and bound(x := t) and x > 1: A
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any

from tracejit.frontend.rewrite.constructs import HookCall

__all__ = ["without_patterns"]

_NAME = "__tracejit_match_{}__"


def without_patterns(function: Any) -> Any:
    """A copy of `function` without `match` statements."""
    return _Transformer().visit(copy.deepcopy(function))


class _Transformer(ast.NodeTransformer):
    def __init__(self) -> None:
        self.count = 0
        self.here: ast.AST = ast.Pass()

    def visit_Match(self, node: ast.Match) -> Any:
        self.generic_visit(node)
        self.here = node
        subject = self.new_name()
        store = self.at(ast.Name(subject, ast.Store()))
        first = self.at(ast.Assign([store], node.subject))
        chain: list[Any] = []
        for case in reversed(node.cases):
            self.here = case.pattern
            captured: dict[str, str] = {}
            tests = list(self.tests(case.pattern, subject, captured))
            tests += [self.bind(name, self.load(held)) for name, held in captured.items()]
            tests += [] if case.guard is None else [case.guard]
            branch = ast.If(self.all_of(tests), case.body, chain)
            chain = [self.at(branch)]
        return [first, *chain]

    def at(self, node: Any) -> Any:
        return ast.copy_location(node, self.here)

    def new_name(self) -> str:
        self.count += 1
        return _NAME.format(self.count)

    def load(self, name: str) -> Any:
        return self.at(ast.Name(name, ast.Load()))

    def constant(self, value: Any) -> Any:
        return self.at(ast.Constant(value))

    def hook(self, name: str, *args: Any) -> Any:
        return self.at(HookCall(name, list(args)))

    def bind(self, name: str, value: Any) -> Any:
        """A test that binds a name and holds."""
        target = self.at(ast.Name(name, ast.Store()))
        return self.hook("bound", self.at(ast.NamedExpr(target, value)))

    def all_of(self, tests: list[Any]) -> Any:
        if len(tests) < 2:
            return tests[0] if tests else self.constant(True)
        return self.at(ast.BoolOp(ast.And(), tests))

    # Tests, in Python's order; captured names are bound when all have passed ---------------------

    def tests(self, p: Any, subject: str, captured: dict[str, str]) -> Iterator[Any]:
        """The tests of a pattern on what a name holds."""
        self.here = p
        yield from getattr(self, f"of_{type(p).__name__}")(p, subject, captured)

    def part(self, p: Any, value: Any, captured: dict[str, str]) -> Iterator[Any]:
        """The tests of a pattern on a part of the subject."""
        if isinstance(p, ast.MatchAs) and p.name is None and p.pattern is None:
            return
        name = self.new_name()
        yield self.bind(name, value)
        yield from self.tests(p, name, captured)

    def of_MatchValue(self, p: Any, subject: str, captured: dict[str, str]) -> Iterator[Any]:
        yield self.at(ast.Compare(self.load(subject), [ast.Eq()], [p.value]))

    def of_MatchSingleton(self, p: Any, subject: str, captured: dict[str, str]) -> Iterator[Any]:
        yield self.at(ast.Compare(self.load(subject), [ast.Is()], [self.constant(p.value)]))

    def of_MatchAs(self, p: Any, subject: str, captured: dict[str, str]) -> Iterator[Any]:
        if p.pattern is not None:
            yield from self.tests(p.pattern, subject, captured)
        if p.name is not None:
            held = captured.setdefault(p.name, self.new_name())
            yield self.bind(held, self.load(subject))

    def of_MatchOr(self, p: Any, subject: str, captured: dict[str, str]) -> Iterator[Any]:
        sides = [self.all_of(list(self.tests(q, subject, captured))) for q in p.patterns]
        yield self.at(ast.BoolOp(ast.Or(), sides))

    def of_MatchSequence(self, p: Any, subject: str, captured: dict[str, str]) -> Iterator[Any]:
        count = len(p.patterns)
        stars = [k for k, q in enumerate(p.patterns) if isinstance(q, ast.MatchStar)]
        least = count - len(stars)
        yield self.hook(
            "is_sequence", self.load(subject), self.constant(least), self.constant(bool(stars))
        )
        for k, q in enumerate(p.patterns):
            self.here = q
            if isinstance(q, ast.MatchStar):
                if q.name is not None:
                    held = captured.setdefault(q.name, self.new_name())
                    after = self.constant(count - k - 1)
                    value = self.hook("middle", self.load(subject), self.constant(k), after)
                    yield self.bind(held, value)
                continue
            index = self.constant(k if not stars or k < stars[0] else k - count)
            yield from self.part(q, self.hook("item", self.load(subject), index), captured)

    def of_MatchMapping(self, p: Any, subject: str, captured: dict[str, str]) -> Iterator[Any]:
        yield self.hook("is_mapping", self.load(subject))
        for key, q in zip(p.keys, p.patterns, strict=True):
            yield self.hook("has_key", self.load(subject), key)
            yield from self.part(q, self.hook("item", self.load(subject), key), captured)
        if p.rest is not None:
            self.here = p
            held = captured.setdefault(p.rest, self.new_name())
            yield self.bind(held, self.hook("other_items", self.load(subject), *p.keys))

    def of_MatchClass(self, p: Any, subject: str, captured: dict[str, str]) -> Iterator[Any]:
        cls = self.new_name()
        yield self.bind(cls, p.cls)
        count = self.constant(len(p.patterns))
        yield self.hook("is_instance", self.load(subject), self.load(cls), count)
        for k, q in enumerate(p.patterns):
            self.here = q
            place = self.load(subject), self.load(cls), self.constant(k)
            yield self.hook("has_positional", *place)
            yield from self.part(q, self.hook("positional", *place), captured)
        for name, q in zip(p.kwd_attrs, p.kwd_patterns, strict=True):
            self.here = q
            found = self.hook("attribute", self.load(subject), self.constant(name))
            yield self.hook("has_attribute", self.load(subject), self.constant(name))
            yield from self.part(q, found, captured)

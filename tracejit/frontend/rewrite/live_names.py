"""From a function's syntax tree to the local names that may still be read after each statement.

The classical backward analysis: each statement, test and loop head is a point of the flow graph
that reads some names and then binds others; what is live before a point is what it reads, and what
is live after it and not bound by it. Whatever is not known to be bound stays live.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from dataclasses import field
from typing import Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.frontend.rewrite.constructs import (
    COMPREHENSIONS,
    bound_names,
    outer_parts,
    parameters,
    stored_names,
)
from tracejit.frontend.rewrite.nodes import all_nodes, parts_of

__all__ = ["LiveNames", "read_later"]

_NOTHING: frozenset[str] = frozenset()
#: What may read names after the statement in which it stands.
_LATER = frozenset((ast.FunctionDef, ast.Lambda, ast.GeneratorExp))
#: Expressions whose parts are evaluated in the order of their fields, each of them exactly once.
_IN_ORDER = (
    ast.Attribute,
    ast.BinOp,
    ast.Call,
    ast.FormattedValue,
    ast.JoinedStr,
    ast.List,
    ast.Set,
    ast.Slice,
    ast.Starred,
    ast.Subscript,
    ast.Tuple,
    ast.UnaryOp,
    ast.keyword,
)


@dataclass(eq=False)
class _Point:
    """A place in the flow graph: first `reads`, then `binds`, then one of `successors`.

    Where an exception leaves it, before or after it binds, one of `handlers` follows.
    """

    reads: frozenset[str]
    binds: frozenset[str]
    successors: list[_Point]
    handlers: tuple[_Point, ...] = ()
    predecessors: list[_Point] = field(default_factory=list)
    live: frozenset[str] = _NOTHING

    def __post_init__(self) -> None:
        for s in (*self.successors, *self.handlers):
            s.predecessors.append(self)

    def lead_to(self, successor: _Point) -> None:
        self.successors.append(successor)
        successor.predecessors.append(self)


class LiveNames:
    """What is live in `function`, which must hold no nonlocal or global statement.

    A name that a function or generator made inside reads is live everywhere: it may be called at
    any time.
    """

    def __init__(self, function: ast.FunctionDef | ast.Lambda) -> None:
        body: list[Any] = function.body if isinstance(function.body, list) else [function.body]
        first = parameters(function.args)
        self.names = frozenset(first) | bound_names(body)
        nodes = all_nodes(*body)
        self.always = _NOTHING
        if not _LATER.isdisjoint(map(type, nodes)):
            self.always = read_later(body) & self.names
        if any(type(n) is ast.Name and n.id == "super" for n in nodes):
            self.always |= frozenset(first[:1])
        self.points: list[_Point] = []
        self.exits: dict[ast.stmt, list[_Point]] = {}
        self.heads: dict[ast.stmt, _Point] = {}
        self.caught: dict[ast.stmt, list[_Point]] = {}
        self.jumps: list[list[_Point]] = [[]]
        self.loops: list[tuple[_Point, _Point]] = []
        #: Where exceptions lead to.
        self.handlers: list[_Point] = []
        self.entry = self._point(_NOTHING, _NOTHING, [])
        if isinstance(function, ast.FunctionDef):
            self.entry = self._block(function.body, self.entry)
        self._solve()

    def after(self, statement: ast.stmt) -> frozenset[str]:
        """The names that may be read after a compound statement before they are bound again.

        The places that a break or continue inside it leads to count as after it.
        """
        return self._named(name for point in self.exits[statement] for name in point.live)

    def at_head(self, loop: ast.stmt) -> frozenset[str]:
        """The names that a loop's next iteration, or what follows it, may read before binding."""
        return self._named(self.heads[loop].live)

    def if_raised(self, statement: ast.stmt) -> frozenset[str]:
        """The names that may be read where an exception leaves a loop or branch, in the function.

        Other names than those that it binds may be among them.
        """
        return _NOTHING.union(*(point.live for point in self.caught[statement]))

    def at_entry(self) -> frozenset[str]:
        """All names, outer ones too, that the function may read before it binds them."""
        return self.entry.live

    def _named(self, live: Iterable[str]) -> frozenset[str]:
        return self.always | self.names.intersection(live)

    def _solve(self) -> None:
        pending = self.points[::-1]
        while pending:
            point = pending.pop()
            after = _NOTHING.union(*(s.live for s in point.successors))
            live = point.reads.union(after - point.binds, *(h.live for h in point.handlers))
            if live != point.live:
                point.live = live
                pending.extend(point.predecessors)

    # The flow graph, made backwards --------------------------------------------------------------

    def _point(
        self, reads: frozenset[str], binds: frozenset[str], successors: list[_Point]
    ) -> _Point:
        point = _Point(reads, binds, successors, tuple(self.handlers))
        self.points.append(point)
        return point

    def _evaluate(self, node: Any, binds: Iterable[str], *successors: _Point) -> _Point:
        """The point that evaluates `node` and then binds names."""
        reads, bound = _effect(node)
        return self._point(reads, bound.union(binds), list(successors))

    def _block(self, statements: list[ast.stmt], following: _Point) -> _Point:
        for s in reversed(statements):
            following = self._statement(s, following)
        return following

    def _statement(self, s: Any, following: _Point) -> _Point:
        if isinstance(s, (ast.If, ast.While, ast.For)):
            return self._compound(s, following)
        if isinstance(s, ast.Try):
            return self._try(s, following)
        if isinstance(s, ast.With):
            return self._with(s, following)
        if isinstance(s, (ast.Break, ast.Continue)):
            head, end = self.loops[-1]
            target = end if isinstance(s, ast.Break) else head
            self.jumps[-1].append(target)
            return self._point(_NOTHING, _NOTHING, [target])
        if isinstance(s, (ast.Return, ast.Raise)):
            return self._point(_reads(s), _NOTHING, [])
        if isinstance(s, ast.Assert):
            test, bound = _effect(s.test)
            return self._point(test | _reads(s.msg), bound, [following])
        if isinstance(s, ast.Expr):
            return self._evaluate(s.value, (), following)
        if isinstance(s, ast.Assign):
            reads, bound = _effect(s.value)
            targets = frozenset(name for t in s.targets for name in _reads(t))
            stored = [name for t in s.targets for name in _stored(t)]
            return self._point(reads | (targets - bound), bound.union(stored), [following])
        if isinstance(s, ast.AugAssign):
            names = _NOTHING.union(_stored(s.target))
            return self._point(names | _reads(s), names, [following])
        if isinstance(s, ast.AnnAssign):
            if s.value is None:
                return following
            reads = _reads(s.value) | _reads(s.target)
            return self._point(reads, _NOTHING.union(_stored(s.target)), [following])
        if isinstance(s, ast.Delete):
            deleted = _NOTHING.union(t.id for t in s.targets if isinstance(t, ast.Name))
            return self._point(deleted | _reads(s), deleted, [following])
        if isinstance(s, ast.FunctionDef):
            return self._point(_reads(s), frozenset({s.name}), [following])
        return self._point(_reads(s), _NOTHING, [following])

    def _compound(self, s: ast.If | ast.While | ast.For, following: _Point) -> _Point:
        self.jumps.append([])
        if isinstance(s, ast.If):
            own: list[_Point] = []
            then, other = self._block(s.body, following), self._block(s.orelse, following)
            entry = self._evaluate(s.test, (), then, other)
        else:
            other = self._block(s.orelse, following)
            head = self._evaluate(s.test if isinstance(s, ast.While) else None, (), other)
            own = [head, following]
            self.loops.append((head, following))
            body = self._block(s.body, head)
            self.loops.pop()
            if isinstance(s, ast.For):
                body = self._point(_reads(s.target), _NOTHING.union(_stored(s.target)), [body])
            head.lead_to(body)
            self.heads[s] = head
            entry = self._evaluate(s.iter, (), head) if isinstance(s, ast.For) else head
        jumps = [point for point in self.jumps.pop() if point not in own]
        self.jumps[-1] += jumps
        self.exits[s] = [following, *jumps, *self.handlers]
        self.caught[s] = list(self.handlers)
        return entry

    def _try(self, s: ast.Try, following: _Point) -> _Point:
        """A `try` statement: every point of its body may lead to each handler, all to `finally`."""
        outside, self.jumps = list(self.handlers), [*self.jumps, []]
        if s.finalbody:
            # What runs after it: what follows, or what an exit that passes it leads to.
            targets = [point for loop in self.loops for point in loop]
            end = self._point(_NOTHING, _NOTHING, [following, *targets])
            following = self._block(s.finalbody, end)
            self.handlers.append(following)
        entries = []
        for handler in s.handlers:
            block = self._block(handler.body, following)
            bound = _NOTHING if handler.name is None else frozenset({handler.name})
            entries.append(self._point(_reads(handler.type), bound, [block]))
        other = self._block(s.orelse, following)
        self.handlers += entries
        entry = self._block(s.body, other)
        self.handlers = outside
        jumps = self.jumps.pop()
        self.jumps[-1] += jumps
        self.exits[s] = [following, *jumps, *self.handlers]
        return entry

    def _with(self, s: ast.With, following: _Point) -> _Point:
        """A `with` statement: an exception in its body may lead to what follows, too."""
        self.jumps.append([])
        self.handlers.append(following)
        entry = self._block(s.body, following)
        for item in reversed(s.items):
            target = item.optional_vars
            if target is not None:
                entry = self._point(_reads(target), _NOTHING.union(_stored(target)), [entry])
            entry = self._evaluate(item.context_expr, (), entry)
        self.handlers.pop()
        jumps = self.jumps.pop()
        self.jumps[-1] += jumps
        self.exits[s] = [following, *jumps, *self.handlers]
        return entry


def _stored(target: Any) -> list[str]:
    """The names that an assignment to `target` binds."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Starred):
        return _stored(target.value)
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for element in target.elts for name in _stored(element)]
    return []


def _effect(node: Any) -> tuple[frozenset[str], frozenset[str]]:
    """The names that an expression may read before it binds them, and those that it must bind."""
    if isinstance(node, ast.NamedExpr):
        reads, bound = _effect(node.value)
        return reads, bound | {node.target.id}
    certain: list[Any]
    possible: list[Any] = []
    if isinstance(node, ast.BoolOp):
        certain, possible = node.values[:1], node.values[1:]
    elif isinstance(node, ast.IfExp):
        certain, possible = [node.test], [node.body, node.orelse]
    elif isinstance(node, ast.Compare):
        certain, possible = [node.left, *node.comparators[:1]], node.comparators[1:]
    elif isinstance(node, _IN_ORDER):
        certain = parts_of(node)
    else:
        return _reads(node), _NOTHING
    reads, bound = _NOTHING, _NOTHING
    for part in certain:
        inner, binds = _effect(part)
        reads |= inner - bound
        bound |= binds
    return reads.union(*(_reads(part) - bound for part in possible)), bound


def _reads(root: Any) -> frozenset[str]:
    """Every name of the scope around `root` that it, or a function it makes, may read."""
    names: set[str] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.Lambda)):
            names |= _taken(node)
            pending += outer_parts(node)
        elif isinstance(node, COMPREHENSIONS):
            names |= _read_by_items(node)
            pending.append(node.generators[0].iter)
        elif node is not None:
            pending.extend(parts_of(node))
    return frozenset(names)


def _taken(function: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """The names that a function's body takes from around it."""
    body: list[Any] = function.body if isinstance(function.body, list) else [function.body]
    reads = _NOTHING.union(*map(_reads, body))
    return reads - bound_names(body) - set(parameters(function.args))


def _read_by_items(node: Any) -> frozenset[str]:
    """The names that a comprehension takes from around it for its items."""
    parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    parts += [part for g in node.generators for part in (g.target, *g.ifs)]
    parts += [g.iter for g in node.generators[1:]]
    targets = {name for g in node.generators for name in stored_names(g.target)}
    return _NOTHING.union(*map(_reads, parts)) - targets


def read_later(body: list[Any], without: Collection[int] = ()) -> frozenset[str]:
    """The names that functions and generators made in `body` take from around themselves.

    Nodes whose ids are among `without` are not looked into.
    """
    names: set[str] = set()
    pending = list(body)
    while pending:
        node = pending.pop()
        if id(node) in without:
            continue
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            names |= _taken(node)
        elif isinstance(node, ast.GeneratorExp):
            names |= _read_by_items(node)
        pending.extend(parts_of(node))
    return frozenset(names)

"""From the loops of a function to functions of their own, of the names that they take and give.

    for x in xs:              def f(xs, s):
        if x < 0: return s        for x in xs:
        s += x            ->          if x < 0: return (True, s, None)
    return s                          s += x
                                  return (False, None, s)

Only loops of which it is certain that the function around them cannot tell the difference. A call
that leaves a name without a value that the function may read raises UnboundLocalError.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.frontend.rewrite.assigned_names import certain_names
from tracejit.frontend.rewrite.constructs import bound_names, parameters
from tracejit.frontend.rewrite.live_names import LiveNames, read_later
from tracejit.frontend.rewrite.nodes import all_nodes, parts_of
from tracejit.frontend.rewrite.source import (
    Definition,
    compile_definition,
    no_arguments,
    note_definition,
)

__all__ = ["LiftedLoop", "Loop", "lifted_loops", "own_nodes"]

Loop = ast.For | ast.While

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
#: What no function may hold whose names are followed here.
_UNKNOWN = (ast.Match, ast.TryStar, ast.AsyncFor, ast.AsyncWith, ast.AsyncFunctionDef, ast.ClassDef)
#: What a loop that becomes a function may not hold.
_PLAIN = (
    *(ast.Yield, ast.YieldFrom, ast.Await, ast.Delete, ast.Import, ast.ImportFrom),
    *(ast.FunctionDef, ast.Global, ast.Nonlocal),
)
#: What consumes a generator at once.
_CONSUMERS = frozenset("all any dict frozenset list max min set sorted sum tuple".split())


@dataclass(frozen=True)
class LiftedLoop:
    """A loop as a function: its parameters, the names that its result binds, and its code.

    `certain` says that all parameters have values where the loop begins, `returns` that the result
    begins with whether the function returns, and what. `inside` are the numbers of the loops around
    it that are lifted, too.
    """

    node: Loop
    taken: tuple[str, ...]
    given: tuple[str, ...]
    certain: bool
    returns: bool
    inside: tuple[int, ...]
    code: CodeType


def own_nodes(root: Any) -> Iterator[Any]:
    """`root` and what is inside it, without the functions and classes that it makes."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _FUNCTIONS):
            pending.extend(parts_of(node))


def lifted_loops(
    definition: Definition, code: CodeType, names: Mapping[str, Any]
) -> list[LiftedLoop]:
    """The loops of a function that can be lifted, outer ones first; `names` are its globals.

    Raises SyntaxError and ValueError as compile() does.
    """
    node = definition.node
    if not isinstance(node, ast.FunctionDef):
        return []
    inner = all_nodes(node)
    if any(isinstance(n, _UNKNOWN) for n in inner) or _is_mangled(definition, inner):
        return []
    return _Lifting(definition, node, code, names).loops()


def _is_mangled(definition: Definition, inner: list[ast.AST]) -> bool:
    """Whether some names are not those that the code has."""
    if definition.class_name is None:
        return False
    names = (n.id if isinstance(n, ast.Name) else getattr(n, "arg", None) for n in inner)
    return any(s.startswith("__") and not s.endswith("__") for s in names if isinstance(s, str))


class _Lifting:
    """The names of one function, and its loops."""

    def __init__(
        self,
        definition: Definition,
        node: ast.FunctionDef,
        code: CodeType,
        names: Mapping[str, Any],
    ) -> None:
        self.definition, self.node = definition, node
        self.free = frozenset(code.co_freevars)
        self.local = frozenset(code.co_varnames + code.co_cellvars)
        self.live = LiveNames(node)
        self.certain = certain_names(node)
        self.first = frozenset(parameters(node.args))
        own = [n for s in node.body for n in own_nodes(s)]
        declared = [n for n in own if isinstance(n, (ast.Global, ast.Nonlocal))]
        self.outer = frozenset(name for n in declared for name in n.names)
        #: Names that functions inside this one bind.
        self.shared = frozenset(
            name for n in all_nodes(node) if isinstance(n, ast.Nonlocal) for name in n.names
        )
        #: The lines on which names are bound.
        self.stores = [(n.lineno, name) for n in own for name in _stored(n)]
        consumers = _CONSUMERS - self.local - self.free - names.keys()
        #: Generators that the call around them runs to their end.
        self.consumed = {id(g) for n in own for g in _consumed(n, consumers)}

    def loops(self) -> list[LiftedLoop]:
        found: list[LiftedLoop] = []
        pending: list[tuple[Any, tuple[Loop, ...], tuple[int, ...]]] = [(self.node, (), ())]
        while pending:
            node, around, inside = pending.pop(0)
            if isinstance(node, (ast.For, ast.While)):
                lifted = self._lifted(node, around, inside)
                around = (*around, node)
                if lifted is not None:
                    inside = (*inside, len(found))
                    found.append(lifted)
            for child in parts_of(node):
                if not isinstance(child, (ast.expr, *_FUNCTIONS)):
                    pending.append((child, around, inside))
        return found

    def _lifted(
        self, loop: Loop, around: tuple[Loop, ...], inside: tuple[int, ...]
    ) -> LiftedLoop | None:
        if _jumps_out(loop):
            return None
        bound = frozenset(bound_names([loop]))
        alone = LiveNames(_function("f", no_arguments(), [loop], loop))
        read = alone.at_entry()
        if self._is_plain(loop, around, bound, read):
            return None
        given = bound & self.live.after(loop)
        if given & self.live.if_raised(loop):
            return None
        # What the loop may leave as it was; without a value before, the call itself says so.
        lines = range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)
        before = self.first.union(name for line, name in self.stores if line not in lines)
        taken = (read & self.local) | (given & self.live.at_head(loop) & before)
        returns = any(isinstance(n, ast.Return) for n in own_nodes(loop))
        first, last = tuple(sorted(taken)), tuple(sorted(given))
        code = self._code(loop, first, last, read, returns)
        return LiftedLoop(loop, first, last, taken <= self.certain[loop], returns, inside, code)

    def _is_plain(
        self,
        loop: Loop,
        around: tuple[Loop, ...],
        bound: frozenset[str],
        read: frozenset[str],
    ) -> bool:
        """Whether a loop must stay where it is."""
        nodes = list(own_nodes(loop))
        if any(isinstance(n, _PLAIN) or getattr(n, "is_async", 0) for n in nodes):
            return True
        if any(isinstance(n, ast.Name) and n.id in ("super", "__class__") for n in nodes):
            return True
        if bound & self.outer or (bound | read) & self.shared:
            return True
        if not bound <= self.local:
            return True
        if bound & read_later(self.node.body, self.consumed | {id(loop)}):
            return True
        return bool(read_later([loop], self.consumed) & self._bound_later(loop, around))

    def _bound_later(self, loop: Loop, around: tuple[Loop, ...]) -> frozenset[str]:
        """The names that may be bound after a loop has begun, other than by its one execution."""
        end = loop.end_lineno or loop.lineno
        names = {name for line, name in self.stores if line > end}
        return frozenset(names | (bound_names([around[0]]) if around else set()))

    def _code(
        self,
        loop: Loop,
        taken: tuple[str, ...],
        given: tuple[str, ...],
        read: frozenset[str],
        returns: bool,
    ) -> CodeType:
        arguments = no_arguments()
        arguments.args = [ast.copy_location(ast.arg(name), loop) for name in taken]
        body: Any = _Returns(len(given)).visit(copy.deepcopy(loop)) if returns else loop
        end = ast.copy_location(ast.Pass(), loop)
        end.lineno = end.end_lineno = loop.end_lineno or loop.lineno
        values = [_placed(ast.Name(name, ast.Load()), end) for name in given]
        if returns:
            values = [_placed(ast.Constant(False), end), _placed(ast.Constant(None), end), *values]
        result = _placed(ast.Return(_placed(ast.Tuple(values, ast.Load()), end)), end)
        made = _function(self.node.name, arguments, [body, result], loop)
        d = self.definition
        definition = Definition(made, d.class_name, d.flags, d.file, d.imported)
        free = tuple(sorted((read & self.free) - set(taken)))
        code = compile_definition(definition, made, free)
        note_definition(code, definition)
        return code


def _function(name: str, arguments: ast.arguments, body: list[Any], place: Any) -> ast.FunctionDef:
    new = ast.FunctionDef(name, arguments, body, [])
    new.type_params = []  # type: ignore[attr-defined, unused-ignore]
    return ast.copy_location(new, place)


def _placed(new: Any, place: Any) -> Any:
    return ast.copy_location(new, place)


def _jumps_out(loop: Loop) -> bool:
    """Whether a `break` or `continue` of a loop's `else` is one of the loop around it."""
    pending: list[Any] = list(loop.orelse)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Break, ast.Continue)):
            return True
        if isinstance(node, (ast.For, ast.While)):
            pending.extend(node.orelse)
        elif not isinstance(node, _FUNCTIONS):
            pending.extend(parts_of(node))
    return False


def _consumed(node: ast.AST, consumers: frozenset[str]) -> Iterator[ast.GeneratorExp]:
    """The generator that a call runs to its end."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        if node.func.id in consumers and isinstance(node.args[0], ast.GeneratorExp):
            yield node.args[0]


def _stored(node: Any) -> Iterator[str]:
    """The names that a node itself binds."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, (ast.FunctionDef, ast.ExceptHandler)) and node.name:
        yield node.name
    elif isinstance(node, ast.alias):
        yield node.asname or node.name.partition(".")[0]


class _Returns(ast.NodeTransformer):
    """Lets a loop's returns say that they are some, in results of one length."""

    def __init__(self, count: int) -> None:
        self.count = count

    def visit_Return(self, node: ast.Return) -> Any:
        value = node.value or _placed(ast.Constant(None), node)
        rest = [_placed(ast.Constant(None), node) for _ in range(self.count)]
        parts = [_placed(ast.Constant(True), node), value, *rest]
        return _placed(ast.Return(_placed(ast.Tuple(parts, ast.Load()), node)), node)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node

"""Every reason for which a function would run eagerly, in one pass.

A trace ends at the first thing that it does not know. Here it goes on: the statement is put aside,
what it assigns takes the values that it had in a plain run on copies of the arguments, and the
function is traced again, until a trace ends well.
"""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import itertools
import linecache
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from tracejit import config
from tracejit.api import jit
from tracejit.errors import CODES, TraceError, Where, cause

__all__ = ["Reason", "all_reasons"]

#: After so many it is clear enough.
_MOST = 50
_COUNT = itertools.count()
#: What a trace can hold of what a statement has assigned.
_TRACED = (np.ndarray, np.generic, int, float, complex, bool, str, list, tuple, dict, type(None))


@dataclass(frozen=True)
class Reason:
    """Why a line cannot be compiled, with what to do; `blocks` counts the statements after it that
    need what it assigns.
    """

    code: str
    detail: str
    where: Where
    advice: str
    blocks: int = 0

    def __str__(self) -> str:
        return f"{self.where}: {cause(self.code, self.detail, self.where)}"


def all_reasons(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
) -> list[Reason]:
    """The reasons for which a call with such arguments runs eagerly, those first that block most.

    The function is run once, as plain Python, on copies of the arguments and of the object that it
    is a method of; what it raises ends that run alone. Empty where the call is compiled whole. Of
    what has no statements of its own, such as a lambda, a gradient or a coroutine, it is the first
    reason. Raises what the function raises for such arguments before it is known where it ends.
    """
    plain, given, named = _called(function, tuple(args), dict(kwargs or {}))
    try:
        jit(plain).lower(*given, **named)
        return []
    except TraceError as error:
        first = _reason(error, error.where or Where("<unknown>", 0))
    found: dict[tuple[Where, str], Reason] = {}
    # What a decorator calls with the same arguments has its own statements.
    while plain is not None:
        try:
            text = _Text(plain)
            text.record(given, named)
            found = {(r.where, r.code): r for r in _found(text, given, named)} | found
        except (OSError, TypeError, SyntaxError):
            pass
        plain = getattr(plain, "__wrapped__", None)
    return sorted(found.values(), key=lambda r: -r.blocks) or [first]


def _called(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The function of Python that a call comes to, and what that is given."""
    while True:
        if hasattr(function, "__tracejit__"):
            function = function.__tracejit__
        elif isinstance(function, MethodType):
            function, args = function.__func__, (function.__self__, *args)
        elif isinstance(function, functools.partial):
            args, kwargs = (*function.args, *args), {**function.keywords, **kwargs}
            function = function.func
        elif isinstance(type(function).__dict__.get("__call__"), FunctionType):
            function, args = type(function).__call__, (function, *args)
        else:
            return function, args, kwargs


def _found(text: _Text, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[Reason]:
    tries: Counter[ast.stmt] = Counter()
    for _ in range(_MOST):
        try:
            jit(text.function()).lower(*args, **kwargs)
            return
        except Exception as error:
            line = text.line_of(error)
            unit = text.unit(line)
            if not unit or tries[unit[0]] > 1:
                return
            # What the function raises for stand-ins says nothing of it.
            is_new = not tries[unit[0]] and not text.follows(unit)
            if isinstance(error, TraceError) and is_new:
                where = error.where or Where(text.file, line)
                yield replace(_reason(error, text.of_user(where)), blocks=text.blocked(unit))
            text.put_aside(unit, known=not tries[unit[0]])
            tries[unit[0]] += 1


def _reason(error: TraceError, where: Where) -> Reason:
    return Reason(error.code, error.detail, where, CODES[error.code][1])


class _Text:
    """The source of a function, with statements put aside."""

    def __init__(self, f: Any) -> None:
        if not isinstance(f, FunctionType):
            raise TypeError(f)
        self.f, self.file = f, f.__code__.co_filename
        lines, self.first = inspect.getsourcelines(f.__code__)
        self.lines = textwrap.dedent("".join(lines)).splitlines()
        tree = ast.parse("\n".join(self.lines))
        ast.increment_lineno(tree, self.first - 1)
        node = tree.body[0]
        if not isinstance(node, ast.FunctionDef):
            raise TypeError(f)
        self.node = node
        self.source = list(self.lines)
        self.moved = 4 - (len(lines[0]) - len(lines[0].lstrip()))
        for k in range(self.node.lineno - self.first):
            self.lines[k] = ""  # decorators
        self.name = f"<check {next(_COUNT)} {self.file}>"
        self.values: dict[str, Any] = {}
        #: Names whose stand-ins a trace cannot hold.
        self.opaque: set[str] = set()
        #: What was assigned by statements in the plain run, by their first lines.
        self.seen: dict[int, dict[str, Any]] = {}

    def function(self) -> FunctionType:
        """The function as it is now."""
        free = self.f.__code__.co_freevars
        body = ["\n" * (self.first - 2) if self.first > 1 else ""]
        head = f"def __factory__({', '.join(free)}):"
        inner = [f"    {line}" for line in self.lines]
        text = "\n".join([body[0] + head, *inner, f"    return {self.node.name}"])
        linecache.cache[self.name] = len(text), None, text.splitlines(True), self.name
        names = {**self.f.__globals__, **self.values}
        exec(compile(text, self.name, "exec"), names)
        cells = [c.cell_contents for c in self.f.__closure__ or ()]
        made: FunctionType = names["__factory__"](*cells)
        made.__defaults__, made.__kwdefaults__ = self.f.__defaults__, self.f.__kwdefaults__
        return made

    def of_user(self, where: Where) -> Where:
        """A place of the text as it is now in the user's file."""
        if where.file != self.name:
            return where
        columns = (None if c is None else c - self.moved for c in (where.column, where.end_column))
        column, end_column = columns
        return replace(where, file=self.file, column=column, end_column=end_column)

    def record(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Run the function on copies, and keep what its statements assign."""
        code: CodeType = self.f.__code__
        last: list[int] = []

        def local(frame: Any, event: str, _: Any) -> Any:
            if last:
                self._keep(last[0], frame.f_locals)
            last[:] = [frame.f_lineno]
            return local

        def enter(frame: Any, event: str, _: Any) -> Any:
            return local if frame.f_code is code else None

        before = sys.gettrace()
        with config.eager():
            try:
                given = copy.deepcopy((tuple(args), dict(kwargs)))
                sys.settrace(enter)
                self.f(*given[0], **given[1])
            except (Exception, SystemExit):
                pass
            finally:
                sys.settrace(before)

    def _keep(self, line: int, names: Mapping[str, Any]) -> None:
        kept = self.seen.setdefault(line, {})
        for name, value in names.items():
            kept[name] = value.copy() if type(value) is np.ndarray else value

    def line_of(self, error: Exception) -> int:
        """The line of this function that an error comes from."""
        where = error.where if isinstance(error, TraceError) else None
        if where is not None and where.file == self.name:
            return where.line
        frame, line = error.__traceback__, 0
        while frame is not None:
            if frame.tb_frame.f_code.co_filename == self.name:
                line = frame.tb_lineno
            frame = frame.tb_next
        return line

    def unit(self, line: int) -> list[ast.stmt]:
        """The fewest statements that hold a line and share their lines with no others; none where
        they are the whole function.
        """
        found: list[ast.stmt] = []
        for n in ast.walk(self.node):
            for body in _bodies(n):
                held = [s for s in body if _first(s) <= line <= _last(s)]
                if held and self._are_alone(held):
                    found = held
        return found

    def _are_alone(self, unit: Sequence[ast.stmt]) -> bool:
        before = self.source[unit[0].lineno - self.first].encode()[: unit[0].col_offset]
        after = self.source[_last(unit[-1]) - self.first].encode()[unit[-1].end_col_offset :]
        return not before.strip() and not after.partition(b"#")[0].strip(b"; ")

    def follows(self, unit: Sequence[ast.stmt]) -> bool:
        """Whether it reads a stand-in that no trace can hold: no reason of its own."""
        return any(_read(statement) & self.opaque for statement in unit)

    def put_aside(self, unit: Sequence[ast.stmt], known: bool = True) -> None:
        """Have stand-ins for what statements assign, 0.0 where they are not `known`."""
        first, last = _first(unit[0]), _last(unit[-1])
        parts = []
        for name in sorted(set().union(*map(_assigned, unit))):
            kept = [self.seen.get(k, {}) for k in range(unit[0].lineno, last + 1)]
            value = next((k[name] for k in reversed(kept) if name in k), 0.0)
            if not known:
                value = 0.0
            if known and isinstance(value, _TRACED):
                self.opaque.discard(name)
            else:
                self.opaque.add(name)
            stand_in = f"__stand_in_{len(self.values)}__"
            self.values[stand_in] = value
            parts.append(f"{name} = {stand_in}")
        if isinstance(unit[-1], ast.Return):
            parts = ["return None"]
        indent = " " * unit[0].col_offset
        self.lines[first - self.first] = indent + ("; ".join(parts) or "pass")
        for k in range(first + 1, last + 1):
            self.lines[k - self.first] = ""

    def blocked(self, unit: Sequence[ast.stmt]) -> int:
        """How many later statements need what these assign, directly or not."""
        tainted, count = set().union(*map(_assigned, unit)), 0
        statements = [n for n in ast.walk(self.node) if isinstance(n, ast.stmt)]
        for n in sorted(statements, key=lambda n: n.lineno):
            later = n.lineno > _last(unit[-1])
            if later and not hasattr(n, "body") and _read(n) & tainted:
                tainted |= _assigned(n)
                count += 1
        return count


def _bodies(n: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        body = getattr(n, name, None)
        if isinstance(body, list) and body:
            yield body


def _first(n: ast.stmt) -> int:
    """The line of a statement, or of its first decorator."""
    decorators: list[ast.expr] = getattr(n, "decorator_list", [])
    return min([n.lineno, *(d.lineno for d in decorators)])


def _last(n: ast.stmt) -> int:
    return n.end_lineno or n.lineno


def _assigned(statement: ast.AST) -> set[str]:
    found = {
        n.id
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    if isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return {statement.name}
    for n in ast.walk(statement):
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            found |= {(a.asname or a.name).partition(".")[0] for a in n.names}
    return found


def _read(statement: ast.AST) -> set[str]:
    return {
        n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }

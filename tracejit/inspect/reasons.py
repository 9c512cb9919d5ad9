"""Every reason for which a function would run eagerly, in one pass.

A trace ends at the first thing that it does not know. Here it goes on: the statement is put aside,
what it assigns takes the values that it had in a plain run on copies of the arguments, and the
function is traced again, until a trace ends well.
"""

from __future__ import annotations

import ast
import copy
import inspect
import itertools
import linecache
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from tracejit import config
from tracejit.api import jit
from tracejit.errors import CODES, TraceError, Where

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
        meaning = CODES[self.code][0] + (f": {self.detail}" if self.detail else "")
        return f"{self.where}: {self.code}: {meaning}"


def all_reasons(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
) -> list[Reason]:
    """The reasons for which a call with such arguments runs eagerly, those first that block most.

    The function is run once, as plain Python, on copies of the arguments; what it raises ends that
    run alone. Empty where the call is compiled whole. Of a function without a source it is the
    first reason.
    """
    named = dict(kwargs or {})
    plain = inspect.unwrap(getattr(function, "__tracejit__", function))
    try:
        jit(plain).lower(*args, **named)
        return []
    except TraceError as error:
        first = error
    try:
        text = _Text(plain)
    except (OSError, TypeError, SyntaxError):
        return [_reason(first, first.where or Where("<unknown>", 0))]
    text.record(args, named)
    found = list(_found(text, args, named))
    return sorted(found, key=lambda r: -r.blocks)


def _found(text: _Text, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[Reason]:
    tries: Counter[ast.stmt] = Counter()
    for _ in range(_MOST):
        try:
            jit(text.function()).lower(*args, **kwargs)
            return
        except Exception as error:
            line = text.line_of(error)
            statement = text.statement(line)
            if statement is None or tries[statement] > 1:
                return
            # What the function raises for stand-ins says nothing of it.
            is_new = not tries[statement] and not text.follows(statement)
            if isinstance(error, TraceError) and is_new:
                where = error.where or Where(text.file, line)
                if where.file == text.name:
                    where = replace(where, file=text.file)
                yield replace(_reason(error, where), blocks=text.blocked(statement))
            text.put_aside(statement, known=not tries[statement])
            tries[statement] += 1


def _reason(error: TraceError, where: Where) -> Reason:
    return Reason(error.code, error.detail, where, CODES[error.code][1])


class _Text:
    """The source of a function, with statements put aside."""

    def __init__(self, f: FunctionType) -> None:
        self.f, self.file = f, f.__code__.co_filename
        lines, self.first = inspect.getsourcelines(f)
        self.lines = textwrap.dedent("".join(lines)).splitlines()
        tree = ast.parse("\n".join(self.lines))
        ast.increment_lineno(tree, self.first - 1)
        (self.node,) = (n for n in tree.body if isinstance(n, ast.FunctionDef))
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
            except Exception:
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

    def statement(self, line: int) -> ast.stmt | None:
        """The smallest statement of the function that holds a line."""
        found: ast.stmt | None = None
        for n in ast.walk(self.node):
            if isinstance(n, ast.stmt) and n is not self.node:
                if n.lineno <= line <= (n.end_lineno or n.lineno):
                    if found is None or n.lineno >= found.lineno:
                        found = n
        return found

    def follows(self, statement: ast.stmt) -> bool:
        """Whether it reads a stand-in that no trace can hold: no reason of its own."""
        return bool(_read(statement) & self.opaque)

    def put_aside(self, statement: ast.stmt, known: bool = True) -> None:
        """Have stand-ins for what a statement assigns, 0.0 where they are not `known`."""
        start, end = statement.lineno - self.first, (statement.end_lineno or statement.lineno)
        column = statement.col_offset
        parts = []
        for name in sorted(_assigned(statement)):
            kept = [self.seen.get(k, {}) for k in range(statement.lineno, end + 1)]
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
        if isinstance(statement, ast.Return):
            parts = ["return None"]
        indent = " " * column
        self.lines[start] = indent + ("; ".join(parts) or "pass")
        for k in range(start + 1, end - self.first + 1):
            self.lines[k] = ""

    def blocked(self, statement: ast.stmt) -> int:
        """How many later statements need what one assigns, directly or not."""
        tainted, count = _assigned(statement), 0
        statements = [n for n in ast.walk(self.node) if isinstance(n, ast.stmt)]
        for n in sorted(statements, key=lambda n: n.lineno):
            later = n.lineno > (statement.end_lineno or statement.lineno)
            if later and not hasattr(n, "body") and _read(n) & tainted:
                tainted |= _assigned(n)
                count += 1
        return count


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

"""A function that runs eagerly, and what of it is compiled: loops, and functions that it calls"""

from __future__ import annotations

import dis
import inspect
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from tracejit.errors import TraceError
from tracejit.frontend.rewrite.source import find_definition
from tracejit.runtime.nesting import room
from tracejit.runtime.parts.effort import compiled_for
from tracejit.runtime.parts.root import Root
from tracejit.runtime.parts.tiered import Tiered
from tracejit.runtime.report.report import Fallback, Part

if TYPE_CHECKING:
    from tracejit.frontend.rewrite.eager_parts import InParts
    from tracejit.runtime.parts.callees import CallSite
    from tracejit.runtime.parts.loops import LoopPart

__all__ = ["FunctionParts"]

#: Calls of a function without loops before its code is looked at.
_FEW = 16
_BACKWARD = frozenset(n for name, n in dis.opmap.items() if name.startswith("JUMP_BACKWARD"))


class FunctionParts(Tiered):
    """The parts of one function; a callee is a part itself, which may be compiled as a whole."""

    def __init__(self, function: Any, root: Root, site: CallSite | None = None) -> None:
        super().__init__(function, root)
        #: Where a callee was first called.
        self._site = site
        self._code: CodeType | None = None
        #: The function in parts; None where it has none.
        self._made: Any = None
        self._calls = 0
        self._loops: list[LoopPart] = []
        self._sites: list[CallSite] = []

    @property
    def plain(self) -> Any:
        return self.function

    def depth(self, inside: tuple[int, ...]) -> int:
        """How many parts around some loops of the function may be compiled, with these loops."""
        return sum(self._loops[k].is_hopeful for k in inside) + self.around() + self.is_hopeful

    def around(self) -> int:
        return 0 if self._site is None else self._site.owner.depth(self._site.inside)

    # What to call ---------------------------------------------------------------------------------

    def usual(self, args: Any) -> Any:
        if self._code is None:
            self._prepare(args[0] if args else None)
        return self.current()

    def callee(self, function: FunctionType, site: CallSite) -> FunctionParts:
        """The parts of a function that is called somewhere in this one."""
        known = self.root.callees
        if id(function) not in known:
            known[id(function)] = FunctionParts(function, self.root, site)
        return known[id(function)]  # type: ignore[no-any-return]

    def chosen(self, first: Any) -> Any:
        """What to call in place of a callee, whose first argument may be `first`."""
        compiled = self.compiled.cell_contents
        if compiled is not None:
            return compiled
        if self._code is None:
            self._calls += 1
            if self._calls < _FEW and _is_simple(self.function, first, self.root.home):
                return self.function
            self._prepare(first)
        return self.current()

    def current(self) -> Any:
        """The function, or what is called in its place now."""
        made, function = self._made, self.function
        if made is None or sys.gettrace() is not None:
            return function
        if (
            function.__code__ is not self._code
            or made.__defaults__ is not function.__defaults__
            or made.__kwdefaults__ is not function.__kwdefaults__
        ):
            # The program has given it other code, or other defaults.
            self._made = None
            return function
        return made

    @room
    def _prepare(self, first: Any) -> None:
        """Make the function in parts, where there may be some."""

        from tracejit.frontend.rewrite.eager_parts import in_parts, introspects
        from tracejit.runtime.parts.callees import LATER, asked_callees

        function = self.function
        self._code = getattr(function, "__code__", None)
        if type(function) is not FunctionType:
            return
        code = function.__code__
        if code.co_flags & LATER or self._site is None and not _may_have_parts(code):
            return
        try:
            definition = find_definition(function)
            if definition.has_rewritten_asserts or introspects(definition):
                return
            is_asked = asked_callees(function, first, self.root.home)
            found = in_parts(
                definition, code, function.__globals__, is_asked, self._site is not None
            )
        except (TraceError, SyntaxError, ValueError, RecursionError):
            return
        last = definition.node.end_lineno
        guilty = self.root.is_guilty(code.co_filename, code.co_firstlineno, last)
        if self._site is not None and not guilty and "warn" not in code.co_names:
            self.measure.cell_contents = self
        self._made = self._over_cells(function, found)
        self.settle()

    def _over_cells(self, function: FunctionType, found: InParts) -> FunctionType:
        from tracejit.frontend.rewrite.eager_parts import CALL, COMPILED, FUNCTION, MEASURE
        from tracejit.runtime.parts.callees import CallSite
        from tracejit.runtime.parts.loops import LoopPart

        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        given = dict(cells)
        given[FUNCTION] = self.measure
        for k, lifted in enumerate(found.loops):
            closure = tuple(cells[name] for name in lifted.code.co_freevars)
            loop = FunctionType(lifted.code, function.__globals__, function.__name__, None, closure)
            loop.__module__, loop.__qualname__ = function.__module__, function.__qualname__
            part = LoopPart(self, lifted, loop)
            self._loops.append(part)
            given[COMPILED.format(k)], given[MEASURE.format(k)] = part.compiled, part.measure
        for k, (_, _, inside) in enumerate(found.calls):
            site = CallSite(self, inside)
            self._sites.append(site)
            given[CALL.format(k)] = site.cell
        closure = tuple(given[name] for name in found.code.co_freevars)
        new = FunctionType(
            found.code, function.__globals__, function.__name__, function.__defaults__, closure
        )
        new.__kwdefaults__ = function.__kwdefaults__
        new.__dict__.update(function.__dict__)
        new.__qualname__, new.__doc__ = function.__qualname__, function.__doc__
        new.__module__ = function.__module__
        return new

    def settle(self) -> None:
        # Nothing of it is compiled, or may be: it runs as it is.
        is_open = any(loop.is_open for loop in self._loops) or self.is_open
        if not is_open and all(site.cell.cell_contents is None for site in self._sites):
            self._made = None

    def described(self, report: Any) -> Part:
        code = self.function.__code__
        return Part(self.function.__qualname__, code.co_filename, code.co_firstlineno, report)

    # Of a decorated function, which is no part itself ---------------------------------------------

    @property
    def most_variants(self) -> int:  # type: ignore[override]
        """Variants for arguments of one kind."""
        return sys.maxsize if self._site is None else Tiered.most_variants

    def missed(self) -> None:
        if self._site is not None:
            super().missed()

    def is_ready(self) -> bool:
        return self._site is None or super().is_ready()

    @contextmanager
    def compiling(self) -> Iterator[None]:
        if self._site is not None:
            with super().compiling():
                yield
            return
        start = time.thread_time()
        try:
            yield
        finally:
            compiled_for(time.thread_time() - start)

    def failed(self, fallback: Fallback, error: Exception) -> None:
        if self._site is None:
            self.root.note(error, fallback)
        else:
            super().failed(fallback, error)


def _is_simple(f: FunctionType, first: Any, home: str) -> bool:
    """Whether a function has no loops, and does not seem to call functions of the program."""

    from tracejit.runtime.parts.callees import is_own

    code = f.__code__
    if _may_loop(code):
        return False
    for name in code.co_names:
        if is_own(f.__globals__.get(name), home):
            return False
        if is_own(inspect.getattr_static(type(first), name, None), home):
            return False
    return True


def _may_have_parts(code: CodeType) -> bool:
    """Whether a function has loops or calls."""
    return bool(code.co_names or code.co_freevars or _may_loop(code))


def _may_loop(code: CodeType) -> bool:
    """Whether code jumps backwards, or holds code that may."""
    if any(op in _BACKWARD for op in code.co_code[::2]):
        return True
    return any(_may_loop(c) for c in code.co_consts if isinstance(c, CodeType))

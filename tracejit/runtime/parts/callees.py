"""Which calls of a function that runs eagerly may be of compiled functions, and what they call"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections import deque
from collections.abc import Callable
from functools import cache
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from tracejit.base.methods import METHODS
from tracejit.frontend.rewrite.source import is_library_file

__all__ = ["LATER", "CallSite", "asked_callees", "is_own"]

#: Functions that the code cannot stand for: what a call of them makes runs later.
LATER = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_LOST = object()
#: Calls of what is no part, in a row, before a place stops asking.
_IDLE = 16


@cache
def _usual() -> frozenset[str]:
    """Names of methods that are hardly the program's own."""
    classes = (list, dict, set, str, bytes, deque, float, np.ndarray, np.random.Generator)
    return frozenset(name for cls in classes for name in dir(cls))


def is_own(f: Any, home: str) -> bool:
    """Whether `f` is a function of the program, which belongs to the package `home`."""
    if type(f) is not FunctionType or f.__code__.co_flags & LATER:
        return False
    own = (f.__module__ or "").partition(".")[0] == home
    return "<locals>" not in f.__qualname__ and (own or not is_library_file(f.__code__.co_filename))


def asked_callees(f: FunctionType, first: Any, home: str) -> Callable[[ast.expr], bool]:
    """Tells of which callees it is asked what to call: those that may be the program's own.

    `first` is the first argument of a call of `f`.
    """
    code = f.__code__
    local = set(code.co_varnames + code.co_cellvars)
    cells = dict(zip(code.co_freevars, f.__closure__ or (), strict=True))
    parameter = code.co_varnames[0] if code.co_argcount else ""

    def found(node: ast.expr) -> Any:
        if isinstance(node, ast.Attribute):
            owner = found(node.value)
            if isinstance(owner, (ModuleType, type)):
                return _static(owner, node.attr)
            if isinstance(node.value, ast.Name) and node.value.id == parameter:
                value = _static(type(first), node.attr)
                if value is _LOST:
                    value = getattr(first, "__dict__", {}).get(node.attr, _LOST)
                return value
            return _LOST
        assert isinstance(node, ast.Name)
        if node.id in local:
            return _LOST
        if node.id in cells:
            return _content(cells[node.id])
        return f.__globals__.get(node.id, getattr(builtins, node.id, _LOST))

    def is_asked(node: ast.expr) -> bool:
        value = found(node)
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if type(value) in METHODS:
            value = value.__func__
        if value is _LOST:
            return not isinstance(node, ast.Attribute) or node.attr not in _usual()
        return is_own(value, home)

    return is_asked


def _static(owner: Any, name: str) -> Any:
    return inspect.getattr_static(owner, name, _LOST)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _LOST


class CallSite:
    """One call in a function in parts: gives what to call in place of a callee.

    `owner` is the FunctionParts of that function, `inside` the numbers of the loops around.
    """

    def __init__(self, owner: Any, inside: tuple[int, ...]) -> None:
        self.owner, self.inside = owner, inside
        self.cell = CellType(self)
        self._function: Any = None
        self._parts: Any = None
        self._idle = 0

    def __call__(self, f: Any) -> Any:
        cls = type(f)
        is_method = cls in METHODS
        function = f.__func__ if is_method else f
        parts = self._parts if function is self._function else self._look(function)
        if parts is None:
            return f
        target = parts.chosen(f.__self__ if is_method else None)
        if target is function:
            self._count()
            return f
        return MethodType(target, f.__self__) if is_method else target

    def _look(self, function: Any) -> Any:
        root = self.owner.root
        if not is_own(function, root.home):
            self._count()
            return None
        self._function = function
        self._parts = self.owner.callee(function, self)
        return self._parts

    def _count(self) -> None:
        """One more call of what is no part."""
        self._idle += 1
        if self._idle >= _IDLE:
            self.cell.cell_contents = None
            self.owner.settle()

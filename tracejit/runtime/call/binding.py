"""The form of a call: from how its arguments were given to the parameters that they belong to."""

from __future__ import annotations

import dis
from types import CodeType, FunctionType
from typing import Any, NamedTuple, TypeAlias

from tracejit.frontend.tracing.pytree import UNREAD, is_free_leaf

#: How many arguments are given by position, and the names of the others in their order.
Form: TypeAlias = tuple[int, tuple[str, ...]]

__all__ = ["Binder", "Form", "Positions"]


class Positions(NamedTuple):
    """Numbers of a call's arguments: those that come to stand by position, then those by name."""

    positional: tuple[int, ...]
    named: tuple[tuple[str, int], ...]


class Binder:
    """Gives a call's keyword arguments a position where they have one, by the function's code.

    What comes out means the same call, with the same errors: arguments that fill no parameter, or
    one that is filled already, stay as they are.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._known: tuple[CodeType | None, dict[Form, Positions]] = (None, {})
        #: The code, and the parameters that it does not read.
        self._names: tuple[CodeType | None, frozenset[str]] = (None, frozenset())

    def places(self, form: Form) -> Positions:
        """Where the arguments of a call of this form go."""
        given, keywords = form
        if not keywords or type(self._function) is not FunctionType:
            numbers = range(given, given + len(keywords))
            return Positions(tuple(range(given)), tuple(zip(keywords, numbers, strict=True)))
        code, known = self._known
        if code is not self._function.__code__:
            # A function whose code is replaced may have other parameters.
            code, known = self._known = self._function.__code__, {}
        found = known.get(form)
        if found is None:
            found = known[form] = _places(code, given, keywords)
        return found

    def bind(self, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Arguments and keyword arguments as `places` says."""
        positional, named = self.places(form)
        values = (*args, *kwargs.values())
        return tuple([values[k] for k in positional]), {name: values[k] for name, k in named}

    def without_unread(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The same with `UNREAD` for what the function never reads.

        Arrays and numbers stay, which are inputs whatever they are.
        """
        function = self._function
        if type(function) is not FunctionType:
            return args, kwargs
        code, names = self._names
        if code is not function.__code__:
            code, names = self._names = function.__code__, _unread(function.__code__)
        if not names:
            return args, kwargs
        parameters = function.__code__.co_varnames[: function.__code__.co_argcount]
        given = [*zip(parameters, args, strict=False)]
        known = tuple([UNREAD if n in names and not is_free_leaf(x) else x for n, x in given])
        return (*known, *args[len(known) :]), {
            n: UNREAD if n in names and not is_free_leaf(x) else x for n, x in kwargs.items()
        }


def _unread(code: CodeType) -> frozenset[str]:
    """The parameters that no operation of a function reads, nor one of a function inside."""
    if not {"locals", "vars", "dir", "eval", "exec", "super"}.isdisjoint(code.co_names):
        return frozenset()
    used = {*code.co_cellvars}
    for operation in dis.get_instructions(code):
        # One operation of later versions reads two names.
        found = operation.argval if type(operation.argval) is tuple else (operation.argval,)
        used.update(name for name in found if type(name) is str)
    return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - used


def _places(code: CodeType, given: int, keywords: tuple[str, ...]) -> Positions:
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    remaining = {name: given + k for k, name in enumerate(keywords)}
    positional = list(range(given))
    for name in code.co_varnames[max(given, code.co_posonlyargcount) : code.co_argcount]:
        # Behind a gap, which a default fills, or a parameter without a name, names must stay.
        if name not in remaining or code.co_varnames[len(positional)] != name:
            break
        positional.append(remaining.pop(name))
    # The order of named parameters means nothing; that of `**kwargs` can be seen.
    known = [name for name in parameters if name in remaining]
    order = known + [name for name in remaining if name not in known]
    return Positions(tuple(positional), tuple((name, remaining[name]) for name in order))

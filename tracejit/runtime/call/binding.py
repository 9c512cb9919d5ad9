"""The form of a call: from how its arguments were given to the parameters that they belong to."""

from __future__ import annotations

import dis
from collections.abc import Sequence
from types import CodeType, FunctionType
from typing import Any, NamedTuple, TypeAlias

from tracejit.frontend.tracing.pytree import UNREAD, Part, Reads, is_free_leaf

#: How many arguments are given by position, and the names of the others in their order.
Form: TypeAlias = tuple[int, tuple[str, ...]]
#: Operations that do nothing, and those whose arguments are no variables of the function.
_BETWEEN = ("EXTENDED_ARG", "CACHE", "NOP")
_NO_NAMES = (
    *("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "LOAD_GLOBAL", "LOAD_NAME"),
    *("LOAD_CONST", "IMPORT_NAME", "IMPORT_FROM", "STORE_GLOBAL", "DELETE_GLOBAL", "KW_NAMES"),
)

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
        #: The code, the parameters that it does not read, and those of which it reads parts.
        self._names: tuple[CodeType | None, frozenset[str], Reads] = (None, frozenset(), {})

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
        code, names, _ = self._read()
        if code is None or not names:
            return args, kwargs
        given = [*zip(code.co_varnames[: code.co_argcount], args, strict=False)]
        known = tuple([UNREAD if n in names and not is_free_leaf(x) else x for n, x in given])
        # A name that is for positions alone is one of `**kwargs` here.
        names = names.difference(code.co_varnames[: code.co_posonlyargcount])
        return (*known, *args[len(known) :]), {
            n: UNREAD if n in names and not is_free_leaf(x) else x for n, x in kwargs.items()
        }

    def parts_read(self, count: int) -> Reads:
        """By the positions of `count` arguments and the names of others, which attributes and
        items are all that the function reads of them; nothing is said of those read as a whole."""
        code, _, parts = self._read()
        if code is None or not parts:
            return {}
        places: dict[int | str, int] = {n: k for k, n in enumerate(code.co_varnames[:count])}
        hidden = code.co_varnames[: code.co_posonlyargcount]
        return {
            places.get(name, name): found
            for name, found in parts.items()
            if name in places or name not in hidden
        }

    def _read(self) -> tuple[CodeType | None, frozenset[str], Reads]:
        function = self._function
        if type(function) is not FunctionType:
            return None, frozenset(), {}
        code = function.__code__
        if self._names[0] is not code:
            self._names = code, _unread(code), _parts_read(code)
        return self._names


def _sees_names(code: CodeType) -> bool:
    """Whether a function may look at its arguments otherwise than by their names."""
    return not {"locals", "vars", "dir", "eval", "exec", "super"}.isdisjoint(code.co_names)


def _unread(code: CodeType) -> frozenset[str]:
    """The parameters that no operation of a function reads, nor one of a function inside."""
    if _sees_names(code):
        return frozenset()
    used = {*code.co_cellvars}
    for operation in dis.get_instructions(code):
        # One operation of later versions reads two names.
        found = operation.argval if type(operation.argval) is tuple else (operation.argval,)
        used.update(name for name in found if type(name) is str)
    return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - used


def _parts_read(code: CodeType) -> Reads:
    """The attributes and the items by constant keys that are all that is read of a parameter."""
    parameters = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
    found: dict[int | str, set[Part]] = {name: set() for name in parameters - {*code.co_cellvars}}
    if _sees_names(code):
        return {}
    operations = [o for o in dis.get_instructions(code) if o.opname not in _BETWEEN]
    for k, operation in enumerate(operations):
        names = operation.argval if type(operation.argval) is tuple else (operation.argval,)
        for at, name in enumerate(names):
            if type(name) is not str or name not in found or operation.opname in _NO_NAMES:
                continue
            is_last = operation.opname.startswith("LOAD_FAST") and at == len(names) - 1
            part = _part(operations[k + 1 : k + 3]) if is_last else None
            if part is None:
                del found[name]
            else:
                found[name].add(part)
    return {name: frozenset(parts) for name, parts in found.items() if parts}


def _part(after: Sequence[dis.Instruction]) -> Part | None:
    """What the operations after a load read of it: (is an attribute, its name or key)."""
    if after and after[0].opname in ("LOAD_ATTR", "LOAD_METHOD"):
        return True, after[0].argval
    if [o.opname for o in after] == ["LOAD_CONST", "BINARY_SUBSCR"]:
        key = after[0].argval
        return (False, key) if type(key) in (str, int) else None
    return None


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

"""Methods of Python's own containers, strings and numbers, called in a traced program."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.python.formatting import format_text, has_text, join
from tracejit.frontend.tracing.checks import require_index, require_plain
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import is_constant
from tracejit.frontend.tracing.trace import here
from tracejit.frontend.tracing.tracer import user_line

__all__ = ["call_method"]

_BUILTIN_CLASSES = (bool, bytes, complex, dict, float, int, str)


def call_method(hooks: Interpreter, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`f(*args, **kwargs)` for a method of a builtin object made inside or rebuilt.

    Raises TraceError TJ027 where it would change something from outside, TJ002 for unknown methods.
    """
    owner, name = f.__self__, f.__name__
    if isinstance(owner, type):
        return _class_method(hooks, f, args, kwargs)
    run = _METHODS.get((type(owner), name))
    if run is not None:
        return run(hooks, owner, *args, **kwargs)
    if (type(owner), name) in _PLAIN_METHODS:
        require_plain(owner, f"{name}()", sizes=True)
        require_plain([*args, *kwargs.values()], f"{name}()", sizes=True)
        return hooks.fresh(f(*args, **kwargs))
    if is_constant(owner) or isinstance(owner, np.generic):
        require_plain([*args, *kwargs.values()], f"{name}()")
        return hooks.fresh(f(*args, **kwargs))
    raise TraceError("TJ002", f"{type(owner).__name__}.{name}", user_line())


def _class_method(hooks: Interpreter, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if f.__self__ is itertools.chain and f.__name__ == "from_iterable" and not kwargs:
        return hooks.new(itertools.chain.from_iterable(map(hooks.iterate, hooks.iterate(*args))))
    if f.__self__ not in _BUILTIN_CLASSES or f.__name__.startswith("__"):
        raise TraceError("TJ002", f"{f.__self__.__name__}.{f.__name__}", user_line())
    require_plain([*args, *kwargs.values()], f"{f.__name__}()")
    return hooks.fresh(f(*args, **kwargs))


# Lists -------------------------------------------------------------------------------------------


def _append(hooks: Interpreter, x: list[Any], value: Any) -> None:
    hooks.may_change(x)
    x.append(value)


def _extend(hooks: Interpreter, x: list[Any], values: Any) -> None:
    hooks.may_change(x)
    x.extend(list(hooks.iterate(values)))  # all items first: they may be its own


def _insert(hooks: Interpreter, x: list[Any], k: Any, value: Any) -> None:
    hooks.may_change(x)
    require_index(k)
    x.insert(k, value)


def _list_pop(hooks: Interpreter, x: list[Any], k: Any = -1) -> Any:
    hooks.may_change(x)
    require_index(k)
    return x.pop(k)


def _remove(hooks: Interpreter, x: list[Any], value: Any) -> None:
    hooks.may_change(x)
    require_plain([x, value], "remove()", sizes=True)
    x.remove(value)


def _clear(hooks: Interpreter, x: Any) -> None:
    hooks.may_change(x)
    x.clear()


def _reverse(hooks: Interpreter, x: list[Any]) -> None:
    hooks.may_change(x)
    x.reverse()


def _sort(hooks: Interpreter, x: list[Any], *, key: Any = None, reverse: Any = False) -> None:
    hooks.may_change(x)
    x[:] = hooks.call(sorted, x, key=key, reverse=reverse)


def _copy(hooks: Interpreter, x: Any) -> Any:
    hooks.ordered(x)
    return hooks.new(x.copy())


# Dicts -------------------------------------------------------------------------------------------


def _get(hooks: Interpreter, x: dict[Any, Any], k: Any, default: Any = None) -> Any:
    return x.get(hooks.key(k), default)


def _dict_pop(hooks: Interpreter, x: dict[Any, Any], k: Any, *default: Any) -> Any:
    hooks.may_change(x)
    return x.pop(hooks.key(k), *default)


def _popitem(hooks: Interpreter, x: dict[Any, Any]) -> Any:
    hooks.may_change(x)
    return x.popitem()


def _setdefault(hooks: Interpreter, x: dict[Any, Any], k: Any, default: Any = None) -> Any:
    if hooks.key(k) in x:
        return x[k]
    hooks.may_change(x)
    return x.setdefault(k, default)


def _update(hooks: Interpreter, x: dict[Any, Any], /, *given: Any, **named: Any) -> None:
    hooks.may_change(x)
    for other in given:
        x.update(pairs(hooks, other))
    x.update(named)


def pairs(hooks: Interpreter, x: Any) -> dict[Any, Any]:
    """What `dict(x)` takes its items from."""
    if type(x) is dict:
        return x
    return {hooks.key(k): v for k, v in hooks.iterate_unpacked(x, (None, None))}


def _view(name: str) -> Callable[..., Any]:
    return lambda hooks, x: getattr(x, name)()


# Sets, tuples and strings ------------------------------------------------------------------------


def _set_change(name: str, each: bool) -> Callable[..., Any]:
    def run(hooks: Interpreter, x: set[Any], *others: Any) -> Any:
        hooks.may_change(x)
        if name == "pop":
            hooks.ordered(x)
            here().popped[id(x)] = x
        taken = [hooks.keys(o) if each else hooks.key(o) for o in others]
        return getattr(x, name)(*taken)

    return run


def _set_result(name: str) -> Callable[..., Any]:
    def run(hooks: Interpreter, x: Any, *others: Any) -> Any:
        hooks.ordered(x)
        return hooks.fresh(getattr(x, name)(*map(hooks.keys, others)))

    return run


def _join(hooks: Interpreter, x: Any, parts: Any) -> Any:
    parts = list(hooks.iterate(parts))
    if type(x) is str and has_text(parts):
        return join(x, parts)
    require_plain(parts, "join()")
    return x.join(parts)


def _format(hooks: Interpreter, x: str, /, *args: Any, **kwargs: Any) -> Any:
    return format_text(hooks, x, args, kwargs)


_METHODS: dict[tuple[type, str], Callable[..., Any]] = {
    (list, "append"): _append,
    (list, "extend"): _extend,
    (list, "insert"): _insert,
    (list, "pop"): _list_pop,
    (list, "remove"): _remove,
    (list, "clear"): _clear,
    (list, "reverse"): _reverse,
    (list, "sort"): _sort,
    (list, "copy"): _copy,
    (dict, "get"): _get,
    (dict, "pop"): _dict_pop,
    (dict, "popitem"): _popitem,
    (dict, "setdefault"): _setdefault,
    (dict, "update"): _update,
    (dict, "clear"): _clear,
    (dict, "copy"): _copy,
    **{(dict, name): _view(name) for name in ("keys", "values", "items")},
    (set, "copy"): _copy,
    (set, "clear"): _clear,
    **{(set, name): _set_change(name, False) for name in ("add", "discard", "remove", "pop")},
    **{
        (set, name): _set_change(name, True)
        for name in (
            "update",
            "difference_update",
            "intersection_update",
            "symmetric_difference_update",
        )
    },
    **{
        (cls, name): _set_result(name)
        for cls in (set, frozenset)
        for name in (
            "union",
            "difference",
            "intersection",
            "symmetric_difference",
            "isdisjoint",
            "issubset",
            "issuperset",
        )
    },
    (str, "format"): _format,
    (str, "join"): _join,
    (bytes, "join"): _join,
}
_PLAIN_METHODS = frozenset((cls, name) for cls in (list, tuple) for name in ("index", "count"))

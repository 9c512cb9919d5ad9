"""Functions made of functions: what all transforms have in common, and where they take a call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import MethodType
from typing import TYPE_CHECKING, Any

from tracejit.errors import Underivable
from tracejit.frontend.tracing.concrete_trace import LostGradient
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.traceable import Traceable, part_of
from tracejit.transforms.api.arguments import has_floats, require_floats, require_results
from tracejit.transforms.api.primal import as_error

if TYPE_CHECKING:
    from tracejit.frontend.python.trees import Structure

__all__ = [
    "Decorated",
    "Transformed",
    "argument_name",
    "argument_places",
    "chosen_places",
    "float_places",
    "require_tree",
]


class Transformed(Traceable):
    """A function made of `function`. A plain call runs it operation by operation on real values."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            kind = type(function).__name__
            raise TypeError(f"{self.transform} takes a function, not {kind}")
        self.function = function
        self.__name__ = f"{self.transform}_{getattr(function, '__name__', 'function')}"
        self.__qualname__ = f"{self.transform}({getattr(function, '__qualname__', function)})"
        self.__module__ = getattr(function, "__module__", __name__)
        self.__doc__ = getattr(function, "__doc__", None)

    #: The name of the transform.
    transform: str = "transform"

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.function)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        from tracejit.transforms.api.eager import run_eagerly

        return run_eagerly(self.__name__, self, self.function, self.record, args, kwargs)

    def __repr__(self) -> str:
        return f"<{self.__qualname__}>"

    def traced_call(
        self, interpreter: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        try:
            return self.record(interpreter, part_of(interpreter, self, "function"), args, kwargs)
        except LostGradient:
            raise
        except Underivable as e:
            raise as_error(e) from None

    def record(
        self,
        interpreter: Interpreter,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The result of a call on tracers; `function` is the one to be called."""
        raise NotImplementedError


class Decorated(Transformed):
    """A function that stands in the place of `function`: in a class, it is a method."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)


def _positions(function: Callable[..., Any]) -> dict[str, int]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    kinds = inspect.Parameter
    by_place = (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    return {x.name: k for k, x in enumerate(parameters) if x.kind in by_place}


def argument_name(function: Callable[..., Any], place: int | str) -> str:
    """What a message calls an argument: its name where it has one."""
    names = {k: name for name, k in _positions(function).items()}
    return place if isinstance(place, str) else names.get(place, f"argument {place}")


def chosen_places(
    transform: str,
    function: Callable[..., Any],
    argnums: int | Sequence[int],
    argnames: Sequence[str],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    carries: bool = False,
) -> list[int | str]:
    """As `argument_places`, of arguments that are floats in containers.

    Raises TypeError for a part of one that is neither a float nor None; but see `require_floats`.
    """
    places = argument_places(function, argnums, argnames, args, kwargs)
    for p in places:
        x = kwargs[p] if isinstance(p, str) else args[p]
        name = argument_name(function, p)
        require_floats(x, transform, name, "choose other arguments by argnums", carries)
    return places


def float_places(transform: str, function: Callable[..., Any], args: Sequence[Any]) -> list[int]:
    """The numbers of the arguments that are floats in containers.

    Raises TypeError for one with both floats and what has no derivative.
    """
    places = [k for k, x in enumerate(args) if has_floats(x)]
    for k in places:
        name = argument_name(function, k)
        require_floats(args[k], transform, name, "pass it as an argument of its own", carries=True)
    return places


def argument_places(
    function: Callable[..., Any],
    argnums: int | Sequence[int],
    argnames: Sequence[str],
    args: Sequence[Any],
    kwargs: dict[str, Any],
) -> list[int | str]:
    """Where the chosen arguments are in this call: numbers of positional ones, names of others.

    Raises TypeError for one that was not given, and for one that is chosen twice.
    """
    names = {k: name for name, k in _positions(function).items()}
    out: list[int | str] = []
    for k in (argnums,) if isinstance(argnums, int) else argnums:
        place = k + len(args) if k < 0 else k
        if place < len(args) and place >= 0:
            out.append(place)
        elif names.get(place) in kwargs:
            out.append(names[place])
        else:
            raise TypeError(f"argument {k} was not given: there are {len(args)} by position")
    for name in argnames:
        if name in kwargs:
            out.append(name)
        elif _positions(function).get(name, len(args)) < len(args):
            out.append(_positions(function)[name])
        else:
            raise TypeError(f"the argument {name!r} was not given")
    for k, found in enumerate(out):
        if found in out[:k]:
            raise TypeError(f"argument {found!r} is named twice among those to be derived by")
    return out


def require_tree(
    function: Callable[..., Any], result: Any, structure: Structure, transform: str
) -> set[int]:
    """As `require_results`; gives the numbers of the leaves that are carried if they are no floats.

    A transform's result carries along what its argument does.
    """
    if isinstance(getattr(function, "__tracejit__", function), Transformed):
        return set(range(structure.count))
    require_results(result, transform)
    return structure.attributes()

"""Addresses that machine code is linked with, each with how another process finds its own.

An address is a number here and another one there. An `Address` says besides what it is the address
of: by a function of this package and its arguments, which gives the same thing's address in any
process (a `Recipe`), or as something of this process, which only its user can describe (`This`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, overload

from tracejit.base.late import imported

__all__ = [
    "Address",
    "Recipe",
    "This",
    "address_of",
    "described",
    "resolve",
]

_P = ParamSpec("_P")


class Recipe(NamedTuple):
    """A function by its module and name, and arguments that `marshal` can write.

    It gives the address, or an object that keeps what has it alive and has an attribute `address`.
    """

    module: str
    function: str
    arguments: tuple[Any, ...]


class This(NamedTuple):
    """Something of this process: an object of Python that lies there ("object"), one that is
    watched and whose word lies there ("word"), memory that lies there ("bytes"), or memory with a
    place of the program ("place": of the place and the memory).
    """

    kind: str
    what: Any


class Address(int):
    """A number with its description."""

    of: Recipe | This

    def __new__(cls, value: int, of: Recipe | This) -> Address:
        made = int.__new__(cls, value)
        made.of = of
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("an address means nothing in another process: pickle what it is of")


def address_of(obj: Any) -> Address:
    """Where an object of Python lies. Whoever uses the address keeps the object alive."""
    return Address(id(obj), This("object", obj))


@overload
def described(find: Callable[_P, int]) -> Callable[_P, Address]: ...
@overload
def described(find: Callable[_P, int | None]) -> Callable[_P, Address | None]: ...
def described(find: Any) -> Any:
    """Decorator: a function of this package whose result another process finds by calling it."""

    @wraps(find)
    def call(*args: Any) -> Address | None:
        found = find(*args)
        if found is None:
            return None
        return Address(found, Recipe(find.__module__, find.__qualname__, args))

    return call


def resolve(recipe: Recipe) -> tuple[int, Any]:
    """The address in this process, and what must be kept alive for it.

    Raises LookupError where there is none.
    """
    module, function, arguments = recipe
    found = getattr(imported(module), function)(*arguments)
    if isinstance(found, int) and found:
        return found, None
    address = getattr(found, "address", None)
    if not isinstance(address, int):
        raise LookupError(f"{function}{arguments} finds nothing")
    return address, found

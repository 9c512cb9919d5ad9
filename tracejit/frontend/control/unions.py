"""Unions narrowed to what they may be: by known facts, by checks, by what is asked of them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tracejit.frontend.numpy.number_operators import binary_operator
from tracejit.frontend.tracing.pytree import is_constant
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.trace import here
from tracejit.frontend.tracing.tracer import TracedScalar, lift, wrap
from tracejit.frontend.tracing.union import UNBOUND, Signal, Union

__all__ = [
    "BREAK",
    "CONTINUE",
    "Returned",
    "choose",
    "either",
    "is_absent",
    "is_number",
    "leaves_of",
    "narrow",
    "narrow_bound",
    "negation",
    "renamed",
    "require",
    "without",
]


BREAK, CONTINUE = Signal("break"), Signal("continue")


class Returned(NamedTuple):
    """The outcome of a block that returns."""

    value: Any


def is_absent(x: Any) -> bool:
    """Whether `x` is a constant that no graph can hold: None, an unbound name, a text."""
    return x is UNBOUND or isinstance(x, Signal) or (is_constant(x) and not is_number(x))


def is_number(x: Any) -> bool:
    """Whether `x` is a number, a size or a traced number."""
    return isinstance(x, (bool, int, float, complex, np.generic, SymInt, TracedScalar))


def leaves_of(x: Any) -> Iterator[Any]:
    """The alternatives of a union that may hold here."""
    x = x.known() if isinstance(x, Union) else x
    if isinstance(x, Union):
        yield from leaves_of(x.first)
        yield from leaves_of(x.second)
    else:
        yield x


def negation(p: TracedScalar) -> TracedScalar:
    """`not p` for a traced Python bool."""
    out = lift(binary_operator(operator.eq, p, False))
    assert isinstance(out, TracedScalar)
    trace = here()
    for truth in (False, True):
        trace.follows(out.own, truth, p.own, not truth)
        trace.follows(p.own, truth, out.own, not truth)
    return out


def choose(x: Any, test: Callable[[Any], bool]) -> bool | TracedScalar:
    """Whether `test` holds of the alternative of a union that is taken."""
    if isinstance(x, Union):
        x = x.known()
    if not isinstance(x, Union):
        return test(x)
    first, second = choose(x.first, test), choose(x.second, test)
    if first is second and isinstance(first, bool):
        return first
    if first is True and second is False:
        return x.predicate
    if first is False and second is True:
        return negation(x.predicate)
    return either(_both(x.predicate, first), _both(negation(x.predicate), second))


def _both(p: TracedScalar, x: bool | TracedScalar) -> bool | TracedScalar:
    if isinstance(x, bool):
        return p if x else False
    return _logical("py_and", p, x)


def either(a: bool | TracedScalar, b: bool | TracedScalar) -> bool | TracedScalar:
    """`a or b`."""
    if isinstance(a, bool) or isinstance(b, bool):
        return b if a is False else a if b is False else True
    return _logical("py_or", a, b)


def _logical(op: str, a: TracedScalar, b: TracedScalar) -> TracedScalar:
    out = wrap(here(), here().emit(op, (a.value(), b.value())))
    assert isinstance(out, TracedScalar)
    return out


def without(x: Any, test: Callable[[Any], bool]) -> Any:
    """An outcome without the alternatives that pass `test`: they are known not to hold."""
    if not isinstance(x, Union):
        return x
    first, second = without(x.first, test), without(x.second, test)
    if not isinstance(first, Union) and test(first):
        return second
    if not isinstance(second, Union) and test(second):
        return first
    return Union(x.predicate, first, second, x.merged)


def renamed(x: Any, old: Any, new: Any) -> Any:
    """An outcome with `new` in place of the alternative `old`."""
    if not isinstance(x, Union):
        return new if x is old else x
    first, second = renamed(x.first, old, new), renamed(x.second, old, new)
    if first is x.first and second is x.second:
        return x
    return first if first is second else Union(x.predicate, first, second)


def narrow(x: Any) -> Any:
    """What an operand is, for an operation that None and unbound names do not allow.

    Arrays of which nobody knows which one it is are one by value. A union between others stays
    one.
    """
    x = _narrowed(x, lambda leaf: is_absent(leaf) and not isinstance(leaf, (str, bytes)))
    return x.merged if isinstance(x, Union) and x.merged is not None else x


def narrow_bound(x: Any) -> Any:
    """As `narrow`, for an operation that takes None: only an unbound name is an error."""
    return _narrowed(x, lambda leaf: leaf is UNBOUND)


def _narrowed(x: Any, excluded: Callable[[Any], bool]) -> Any:
    """`x` without the alternatives that are an error here: a run that takes one bails out."""
    if not isinstance(x, Union):
        return x
    x = x.known()
    found = [excluded(leaf) for leaf in leaves_of(x)]
    if not any(found) or all(found):
        return x
    if isinstance(x, Union) and isinstance(x.first, Union) is isinstance(x.second, Union) is False:
        require(x.predicate, not excluded(x.first))
        return x.known()
    fails = choose(x, excluded)
    assert isinstance(fails, TracedScalar)
    require(fails, False)
    return without(x, excluded)


def require(p: TracedScalar, truth: bool) -> None:
    """Bail out where a predicate is not `truth`: only eager execution can go on."""
    trace = here()
    holds = p if truth else negation(p)
    trace.emit_all("check", (holds.value(),), {})
    trace.assume(p.own, truth)

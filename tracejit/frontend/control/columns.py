"""Elements of lists that grow with data, as values for the arrays of these lists.

form float | None,  x if p else None    ->    0 if p else 1,  x if p else 0.0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.control.kinds import MISSING
from tracejit.frontend.numpy.creation import filled
from tracejit.frontend.tracing.grown import (
    Choice,
    Constant,
    Element,
    Form,
    Pooled,
    Record,
    fits,
    form_of,
    is_grown,
    leaves_in,
    size_of,
)
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.tracer import lift
from tracejit.frontend.tracing.union import Union

__all__ = ["columns_of", "recast"]

_ZEROS = {"bool": False, "int": 0, "float": 0.0, "complex": 0j}


def columns_of(interpreter: Interpreter, form: Form, x: Any) -> Iterator[Any]:
    """The values of an element of a form, one for each array."""
    if isinstance(x, Union):
        x = x.known()
    if isinstance(form, Constant):
        return
    if isinstance(form, Choice):
        yield _tag(interpreter, form, x)
        for kind in form.kinds:
            value = _of_form(interpreter, kind, x)
            if value is MISSING:
                yield from map(_zero, leaves_in(kind))
            else:
                yield from columns_of(interpreter, kind, value)
    elif isinstance(form, Pooled):
        raise TraceError("TJ005", "a list of lists from outside that gets another", user_line())
    elif isinstance(form, Element):
        yield _stacked(interpreter, form, x) if form.kind == "list" else x
    else:
        for k, part in enumerate(form.parts):
            yield from columns_of(interpreter, part, interpreter.item(x, k))


def _zero(leaf: Element) -> Any:
    """What stands where an element is of another kind."""
    if leaf.kind in _ZEROS:
        return _ZEROS[leaf.kind]
    zero = np.zeros((), leaf.dtype)[()]
    return filled(leaf.shape, zero, leaf.dtype) if leaf.shape else zero


def _tag(interpreter: Interpreter, form: Choice, x: Any) -> Any:
    """Which of the kinds an element is of."""
    if isinstance(x, Union):
        first, second = (_tag(interpreter, form, v) for v in (x.first, x.second))
        if isinstance(first, np.generic) and isinstance(second, np.generic) and first == second:
            return first
        return interpreter.ternary(x.predicate, lambda: first, lambda: second)
    return np.int8(next(k for k, kind in enumerate(form.kinds) if _is_of(kind, x)))


def _is_of(kind: Form, x: Any) -> bool:
    form = form_of(x)
    if isinstance(form, Choice):
        (form,) = form.kinds
    return fits(kind, form)


def _of_form(interpreter: Interpreter, kind: Form, x: Any) -> Any:
    """An element as far as it is of a kind; MISSING where it never is."""
    if not isinstance(x, Union):
        return x if _is_of(kind, x) else MISSING
    first, second = (_of_form(interpreter, kind, v) for v in (x.first, x.second))
    if first is MISSING or second is MISSING:
        return second if first is MISSING else first
    if isinstance(kind, Constant):
        return first
    return interpreter.ternary(x.predicate, lambda: first, lambda: second)


def _stacked(interpreter: Interpreter, form: Element, x: Any) -> Any:
    """A list as an array. Raises TraceError for one from outside, which must stay that list."""
    assert form.inner is not None
    if isinstance(x, Union):
        first, second = (_stacked(interpreter, form, v) for v in (x.first, x.second))
        chosen = interpreter.ternary(x.predicate, lambda: first, lambda: second)
        if not isinstance(chosen, Union):
            return chosen
        if chosen.merged is None:
            raise TraceError("TJ017", "a list of one of two lists grows", user_line())
        return chosen.merged
    if id(x) in interpreter.capture.rebuilt:
        raise TraceError("TJ005", "a list from outside in one that grows", user_line())
    if is_grown(x):
        (array,) = x[0].arrays
        return array if array.type.shape[0] == form.shape[0] else array[: size_of(x)]
    return lift([next(columns_of(interpreter, form.inner, v)) for v in x])


def recast(old: Form, new: Form, arrays: Sequence[Any]) -> Iterator[Any]:
    """The arrays of elements of a form, for another one that these fit; None where nothing is."""
    if old == new:
        yield from arrays
    elif isinstance(new, Choice):
        yield from _retagged(old, new, arrays)
    else:
        assert isinstance(old, Record) and isinstance(new, Record)
        rest = iter(arrays)
        for part, other in zip(old.parts, new.parts, strict=True):
            yield from recast(part, other, _next(part, rest))


def _retagged(old: Form, new: Choice, arrays: Sequence[Any]) -> Iterator[Any]:
    rest = iter(arrays)
    kinds = old.kinds if isinstance(old, Choice) else (old,)
    numbers = [next(k for k, kind in enumerate(new.kinds) if fits(kind, o)) for o in kinds]
    if isinstance(old, Choice):
        table: Any = lift([np.int8(number) for number in numbers])
        yield table[next(rest)]
    else:
        yield filled(arrays[0].type.shape[:1], np.int8(numbers[0]), np.dtype(np.int8))
    found = {
        n: list(recast(k, new.kinds[n], _next(k, rest)))
        for n, k in zip(numbers, kinds, strict=True)
    }
    for k, kind in enumerate(new.kinds):
        yield from found.get(k) or [None for _ in leaves_in(kind)]


def _next(form: Form, arrays: Iterator[Any]) -> list[Any]:
    """The next arrays of as many as there are, those of a form."""
    return [next(arrays) for _ in leaves_in(form)]

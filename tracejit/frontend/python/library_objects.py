"""Objects of classes of NumPy whose methods the prelude has, as stand-ins for these."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, ClassVar

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.capture.captured import Source
from tracejit.frontend.capture.guards import Equal
from tracejit.frontend.capture.paths import Attribute
from tracejit.frontend.capture.values import class_lookup
from tracejit.frontend.containers.traced import direct
from tracejit.frontend.numpy.registry import NOT_GIVEN, PRELUDE
from tracejit.frontend.prelude.polynomials import coefficients
from tracejit.frontend.tracing.checks import has_traced, require_plain
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.trace import user_line

__all__ = ["CLASS_CALLS", "FROM_OUTSIDE"]


class LibraryObject(StandIn):
    """An object of a class of NumPy: its attributes, and methods of the prelude."""

    #: The attributes that say all about it.
    names: ClassVar[tuple[str, ...]]

    def __init__(self, interpreter: Interpreter, *values: Any) -> None:
        interpreter.capture.library_methods(self.stands_for)
        vars(self)["home"] = lambda: interpreter
        vars(self).update(zip(self.names, values, strict=True))

    def attribute(self, name: str) -> Any:
        if name in self.names:
            return getattr(self, name)
        held = class_lookup(self.stands_for, name)
        is_property = isinstance(held, property)
        found = PRELUDE.get(held.fget if is_property else held) if _is_method(held) else None
        if found is None:
            # An object from outside may have other attributes than its class.
            raise TraceError("TJ002", f"{self.stands_for.__name__}.{name}", user_line())
        return self.interpreter.call(found, self) if is_property else MethodType(found, self)

    def __setattr__(self, name: str, value: Any) -> None:
        """NumPy's own class decides: what a program stores, it stores while Python runs it."""
        raise TraceError("TJ008", f"an assignment to .{name}", user_line())

    def __delattr__(self, name: str) -> None:
        raise TraceError("TJ008", f"del of .{name}", user_line())

    def result(self) -> Any:
        raise TraceError("TJ003", f"a result of type {self.stands_for.__name__}", user_line())


def _is_method(x: Any) -> bool:
    return type(x) in (FunctionType, property)


class Vectorized(LibraryObject):
    """What `np.vectorize` makes."""

    stands_for = np.vectorize
    names = ("pyfunc", "otypes", "excluded", "cache", "signature")

    def attribute(self, name: str) -> Any:
        if name == "__call__" and vars(self)["pyfunc"] is NOT_GIVEN:
            return self._decorate
        return super().attribute(name)

    @direct
    def _decorate(self, pyfunc: Any) -> Any:
        self.interpreter.require_mutable(self)
        vars(self)["pyfunc"] = pyfunc
        return self


def make_vectorized(
    interpreter: Interpreter,
    pyfunc: Any = NOT_GIVEN,
    otypes: Any = None,
    doc: Any = None,
    excluded: Any = None,
    cache: Any = False,
    signature: Any = None,
) -> Any:
    """`np.vectorize(...)`: NumPy says what its options mean."""
    if type(otypes) in (list, tuple):
        otypes = [np.dtype(t) if isinstance(t, type) else t for t in otypes]
    options = {"otypes": otypes, "excluded": excluded, "cache": cache, "signature": signature}
    for name, x in options.items():
        require_plain(x, f"{name}= of np.vectorize")
    known = np.vectorize(len, **options)
    excluded = _names_excluded(known.excluded)
    values = pyfunc, known.otypes, excluded, known.cache, known.signature
    return interpreter.allocate(Vectorized(interpreter, *values))


def _names_excluded(names: Any) -> frozenset[Any]:
    if type(names) is not set or any(type(name) not in (int, str) for name in names):
        raise TraceError("TJ004", "np.vectorize with excluded= of other things", user_line())
    return frozenset(names)


def _vectorized_from_outside(interpreter: Interpreter, source: Source, x: Any) -> Vectorized:
    capture = interpreter.capture
    excluded = _names_excluded(x.excluded)
    # No trace looks into a set: this one is known by what it holds.
    path = Attribute(source.path, "excluded")
    held = capture.step(source, ("set", "excluded"), path, ".excluded", None)
    held.check = Equal(set(excluded))
    values = {name: getattr(x, name) for name in Vectorized.names if name != "excluded"}
    read = {name: capture.attribute(source, name, v) for name, v in values.items()}
    read["excluded"] = excluded
    return Vectorized(interpreter, *(read[name] for name in Vectorized.names))


class Polynomial(LibraryObject):
    """What `np.poly1d` makes."""

    stands_for = np.poly1d
    names = ("coeffs", "variable")

    def iterated(self) -> Any:
        return vars(self)["coeffs"]


def make_polynomial(
    interpreter: Interpreter, c_or_r: Any, r: Any = False, variable: Any = None
) -> Any:
    """`np.poly1d(...)`: NumPy makes it of what is no data."""
    require_plain([r, variable], "an option of np.poly1d")
    if isinstance(c_or_r, Polynomial):
        known = vars(c_or_r)
        coeffs, variable = known["coeffs"], known["variable"] if variable is None else variable
    elif has_traced(c_or_r):
        coeffs = interpreter.call(coefficients, c_or_r, r)
    else:
        require_plain(c_or_r, "coefficients")
        coeffs = interpreter.fresh(np.poly1d(c_or_r, r).coeffs)
    variable = "x" if variable is None else variable
    return interpreter.allocate(Polynomial(interpreter, coeffs, variable))


def _polynomial_from_outside(interpreter: Interpreter, source: Source, x: Any) -> Polynomial:
    read = [interpreter.capture.attribute(source, k, getattr(x, k)) for k in Polynomial.names]
    return Polynomial(interpreter, *read)


#: Class -> what a call of it does.
CLASS_CALLS: dict[Any, Callable[..., Any]] = {
    np.poly1d: make_polynomial,
    np.vectorize: make_vectorized,
}
#: Class -> the stand-in for an object of it from outside, which a source holds.
FROM_OUTSIDE: dict[type, Callable[[Interpreter, Source, Any], StandIn]] = {
    np.poly1d: _polynomial_from_outside,
    np.vectorize: _vectorized_from_outside,
}

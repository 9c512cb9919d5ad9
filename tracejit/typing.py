"""The types of compiled functions, for type checkers: the arguments and results of the functions
that they were made of.

    from tracejit.typing import Compiled

    step: Compiled[[Array, Array], Array]

Where a checker cannot know what comes out, as of a gradient by arguments that are named, it is Any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from tracejit.ir.graph import Graph
    from tracejit.runtime.dataflow.executor import Run
    from tracejit.runtime.report.report import Report

__all__ = ["Compiled", "Decorator", "First", "Gradient", "Method", "ValueAndGradient"]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
#: The first argument.
A = TypeVar("A")
A_contra = TypeVar("A_contra", contravariant=True)
S = TypeVar("S")


class _Inspected(Protocol):
    """What is asked of a compiled function, whatever its arguments."""

    __name__: str
    __qualname__: str
    __module__: str
    __doc__: str | None

    def report(self) -> Report:
        """What was compiled and why, and what runs eagerly and why."""

    def view(self, /, *args: Any, **kwargs: Any) -> Any:
        """One page with source, stages, machine code and memory."""


class _Lowers(_Inspected, Protocol[P]):
    """What is asked of a compiled function for some arguments."""

    def trace(self, *args: P.args, **kwargs: P.kwargs) -> Graph:
        """The graph of a call with such arguments."""

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Every stage of a compile for such arguments."""

    def partial(self, /, *args: Any, **kwargs: Any) -> Run:
        """Some results of a call with these arguments."""

    def all_reasons(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Every reason for which a call with such arguments runs eagerly."""

    def profile(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Where the time of calls with copies of these arguments goes."""


class Method(_Lowers[P], Protocol[P, R_co]):
    """A compiled function that is bound to an object."""

    @property
    def __self__(self) -> Any: ...

    @property
    def __func__(self) -> Any: ...

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class Compiled(_Lowers[P], Protocol[P, R_co]):
    """A compiled function: what `tracejit.jit` gives."""

    @property
    def __wrapped__(self) -> Callable[P, R_co]: ...

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __get__(self, instance: None, owner: type, /) -> Compiled[P, R_co]: ...

    @overload
    def __get__(
        self: Compiled[Concatenate[S, Q], R], instance: S, owner: type | None = None, /
    ) -> Method[Q, R]: ...


class Decorator(Protocol):
    """What `tracejit.jit(...)` without a function gives."""

    @overload  # A staticmethod is called, too.
    def __call__(  # type: ignore[overload-overlap]
        self, function: staticmethod[P, R], /
    ) -> staticmethod[P, R]: ...

    @overload
    def __call__(self, function: classmethod[S, P, R], /) -> classmethod[S, P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> Compiled[P, R]: ...


class First(Protocol[P, A_contra, Q, R_co]):
    """A function of P, which is its first argument and Q."""

    @overload
    def __call__(self, first: A_contra, /, *args: Q.args, **kwargs: Q.kwargs) -> R_co: ...

    @overload
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class Gradient(_Lowers[P], Protocol[P, A, Q]):
    """The gradient by the first argument, which has its type."""

    @overload
    def __call__(self, first: A, /, *args: Q.args, **kwargs: Q.kwargs) -> A: ...

    @overload
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Any: ...


class ValueAndGradient(_Lowers[P], Protocol[P, A, Q, R_co]):
    """The value of a function and its gradient by the first argument."""

    @overload
    def __call__(self, first: A, /, *args: Q.args, **kwargs: Q.kwargs) -> tuple[R_co, A]: ...

    @overload
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> tuple[R_co, Any]: ...

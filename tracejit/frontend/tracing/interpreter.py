"""What the parts of the front end ask of the interpreter that runs rewritten code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any, Protocol

from tracejit.frontend.tracing.trace import Trace

__all__ = ["Interpreter"]


class Interpreter(Protocol):
    """The interpreter of one trace: each step that depends on a value, as Python does it.

    All steps raise what Python raises, and TraceError for what is not known.
    """

    #: What the trace has read from outside, a `capture.values.Capture`.
    capture: Any
    #: What it changes there, a `capture.state.OutsideState`.
    state: Any
    #: What a body gives for `break`.
    BREAK: Any
    #: The top-level package of the function that is compiled.
    home: str
    #: What handles exceptions around the present place, and those that are being handled.
    tries: list[Any]
    handling: list[Any]
    #: id -> generator functions that the program itself has made.
    local_generators: dict[int, Any]
    #: id -> lists that others hold by value.
    shared: dict[int, Any]
    #: id -> how often something may have been taken out of a dict or set.
    removals: dict[int, int]
    #: id -> what holds names that functions share.
    boxes: dict[int, Any]
    #: How many calls of functions have begun.
    entered: int
    #: The frames that Python would have for the calls that are being traced, at most.
    frames: int
    #: How many iterators are being asked for an item, each by the one before.
    drawing: int
    #: Which objects of the trace may be one, a `tracing.aliases.Aliases`.
    aliases: Any
    #: The loops that are being rolled, the innermost last.
    rolling: list[Any]
    #: The functions that call themselves and are being traced, the innermost last.
    recursions: list[Any]
    #: The blocks around the present place that exceptions may leave, and who takes items.
    blocks: list[Any]
    consumers: list[Any]
    suspended: int
    #: The calls that are being traced: for each function, how deep in regions each stands.
    active: dict[CodeType, list[int]]
    #: Whether it runs code of NumPy's own.
    #: id -> the rewritten form of each function that has been called.
    functions: dict[int, FunctionType]

    @property
    def is_outermost(self) -> bool:
        """Whether just one function of the program is being traced, the compiled one."""

    def allocate(self, x: Any) -> Any:
        """`x`, which the traced program has just made: it may be changed where it was made."""

    def is_local(self, x: Any) -> bool:
        """Whether `x` was made inside the trace."""

    def owner_of(self, x: Any) -> Trace | None:
        """The trace in which `x` was made; None for what comes from outside."""

    def adopt(self, x: Any) -> Any:
        """`x`, a result of the compiler's, with its containers noted as made inside."""

    def require_mutable(self, x: Any) -> None:
        """Note that `x` changes next. Raises TraceError TJ027 unless it was made inside."""

    def will_remove(self, x: Any) -> None:
        """As `require_mutable`, for a change that may take something out of `x`."""

    def will_mutate(self, x: Any) -> None:
        """Note that `x`, made inside, changes next."""

    def share(self, x: Any) -> Any:
        """`x`, a list that another one holds by value: it must not be changed any more."""

    def fresh(self, x: Any) -> Any:
        """A result of NumPy or Python on concrete values, as one of the trace."""

    def truth(self, x: Any) -> Any:
        """`x`, which Python is about to test."""

    def truth_of(self, x: Any) -> Any:
        """The truth of `x`: a bool, or a traced one."""

    def known(self, x: Any) -> None:
        """Raise TraceError unless the contents of a set or iterator can be relied on."""

    def ordered(self, x: Any) -> None:
        """Raise TraceError unless a set or iterator gives its contents in Python's order."""

    def key(self, k: Any) -> Any:
        """`k`, which Python is about to hash and compare."""

    def keys(self, x: Any) -> Any:
        """The elements of `x` for a method of sets."""

    def iterate(self, x: Any) -> Iterator[Any]:
        """An iterator over `x`."""

    def iterable(self, x: Any) -> Any:
        """What a loop over `x` takes its items from."""

    def iterate_unpacked(self, x: Any, pattern: tuple[Any, ...]) -> Iterator[Any]:
        """As `iterate`, for items that are unpacked by `pattern`."""

    def unary(self, op: str, x: Any) -> Any:
        """`-x`, `+x` or `~x`."""

    def binary(self, op: str, a: Any, b: Any) -> Any:
        """An arithmetic operator."""

    def compare(self, op: str, a: Any, b: Any) -> Any:
        """One comparison."""

    def and_(self, x: Any, *later: Callable[[], Any]) -> Any:
        """`x and y and ...`, which gives an operand."""

    def or_(self, x: Any, *later: Callable[[], Any]) -> Any:
        """`x or y or ...`, which gives an operand."""

    def not_(self, x: Any) -> Any:
        """`not x`."""

    def ternary(self, test: Any, then: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
        """`then() if test else orelse()`."""

    def on_unions(self, f: Callable[..., Any], *args: Any) -> Any:
        """An operation that None does not allow, on operands that may be unions."""

    def attribute(self, x: Any, name: str) -> Any:
        """`x.name`."""

    def store_attribute(self, value: Any, x: Any, name: str) -> None:
        """`x.name = value`."""

    def delete_attribute(self, x: Any, name: str) -> None:
        """`del x.name`."""

    def item(self, x: Any, key: Any) -> Any:
        """`x[key]`."""

    def store_item(self, value: Any, x: Any, key: Any) -> None:
        """`x[key] = value`."""

    def delete_item(self, x: Any, key: Any) -> None:
        """`del x[key]`."""

    def call(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """`f(*args, **kwargs)`."""

    def listed(self, source: Any) -> Any:
        """The list of what a generator expression gives."""

    def callback(self, f: Any) -> Any:
        """`f` as Python's own code, or the compiler's, may call it."""

    def raise_(self, error: Any, *cause: Any) -> None:
        """`raise error` or `raise error from cause`."""

    def print_(self, *args: Any, **options: Any) -> None:
        """`print(*args, **options)`."""

    def bounded(self, run: Callable[[], Any], names: Any) -> Any:
        """The outcome of a block that binds `names`, an exception that is handled included."""

    def settled(self, outcome: Any) -> Any:
        """An outcome without exceptions: where there is one, the block around is left by it."""

    def may_raise(self, p: Any, cls: type[BaseException], *args: Any) -> None:
        """Raise `cls(*args)` where `p` holds, if that is handled in the program."""

    def raise_error(self, raised: Any) -> None:
        """Leave the block around by an outcome that is an exception; nothing follows."""

    def collected(self, g: Any) -> list[Any]:
        """All items of a generator."""

    def step(self) -> None:
        """Count one step. Raises TraceError where tracing takes too long."""

    def copied(self, count: int) -> None:
        """Count the steps that so many elements of a container stand for, as `step` does."""

    def enter(self, code: CodeType) -> None:
        """A call of a function begins."""

    def leave(self, code: CodeType) -> None:
        """A call of a function ends."""

    def if_(
        self,
        test: Any,
        then: Callable[[], Any],
        orelse: Callable[[], Any] | None,
        rest: Callable[[], Any] | None,
        stored: Sequence[str],
        info: Any,
    ) -> Any:
        """An `if` and the statements after it; gives the outcome of both."""

    def yield_(
        self, value: Any, rest: Callable[[], Any] | None, stored: Sequence[str], info: Any
    ) -> Any:
        """`yield value` and the statements after it; gives the outcome of both."""

    def for_(
        self,
        iterable: Any,
        assign: Callable[[Any], None],
        body: Callable[[], Any],
        orelse: Callable[[], Any] | None,
        rest: Callable[[], Any] | None,
        stored: Sequence[str],
        info: Any,
    ) -> Any:
        """A `for` loop and the statements after it; gives the outcome of both."""

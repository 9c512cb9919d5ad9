"""The hooks of `try`, `with` and `raise`: an exception that is handled is the outcome of a block.

Where a condition decides whether an exception leaves an expression, what follows it up to the end
of the block is traced into a region of its own, the other side of a branch: `Block.leave`.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tracejit.errors import PACKAGE, TraceError
from tracejit.frontend.control.branches import (
    branch,
    merge_sides,
    names_in,
    then_rest,
)
from tracejit.frontend.control.regions import Names, Side, entered, fail, run_side
from tracejit.frontend.control.unions import choose, leaves_of, narrow_bound, renamed, without
from tracejit.frontend.rewrite.source import is_library_file
from tracejit.frontend.tracing.raised import Raised, Raising, TracedError
from tracejit.frontend.tracing.trace import Trace, here, user_line
from tracejit.frontend.tracing.tracer import TracedScalar
from tracejit.frontend.tracing.union import UNBOUND, Signal, Union, Unreachable

__all__ = ["Exceptions", "Handlers", "errors_of", "has_raised", "is_raised"]

_ENDED, _DONE = Signal("ended"), Signal("done")
#: Files of the compiler where Python's own operations act on the user's values.
_OF_PYTHON = tuple(
    PACKAGE + "frontend/" + name
    for name in (
        "interpreter/interpreter.py",
        "python/operators.py",
        "python/builtins.py",
        "python/numbers.py",
        "python/container_methods.py",
        "python/objects.py",
        "capture/values.py",
    )
)
#: How many conditions of one block, and of regions in each other, may stand for errors.
_EXITS, _DEPTH = 8, 40


class Handlers:
    """What is around a `try` body: the handlers of classes, or something that runs in any case."""

    def __init__(
        self, handlers: Sequence[Any], holds_all: bool = False, asks: bool = False
    ) -> None:
        self.handlers, self.holds_all = handlers, holds_all
        #: Whether the body is a `__next__`, which ends by StopIteration.
        self.asks = asks
        self._classes: dict[int, Any] = {}

    def classes(self, k: int) -> Any:
        """The classes of a handler, evaluated when they are needed first."""
        if k not in self._classes:
            given = self.handlers[k][0]
            found = BaseException if given is None else given()
            each = found if isinstance(found, tuple) else (found,)
            if not all(isinstance(c, type) and issubclass(c, BaseException) for c in each):
                raise TraceError("TJ024", "what a handler is for", user_line())
            self._classes[k] = found
        return self._classes[k]

    def takes(self, k: int, error: TracedError) -> bool:
        """Whether a handler is for an error."""
        return issubclass(error.cls, self.classes(k))

    def handle(self, error: TracedError) -> bool:
        """Whether there is a handler for an error."""
        return any(self.takes(k, error) for k in range(len(self.handlers)))


class Block:
    """A block that is being traced and that exceptions may leave."""

    def __init__(self, interpreter: Any, names: Names) -> None:
        self.interpreter, self.names = interpreter, names
        #: The region that the block has come to.
        self.region = here()
        self.exits: list[tuple[TracedScalar, Any, Any, Side]] = []

    def leave(self, p: TracedScalar, outcome: Any) -> None:
        """Leave the block by `outcome` where `p` holds; what follows is traced for where not."""
        here().note("branch")
        self.region = Trace("orelse", here().env, here())
        self.region.assume(p.own, False)
        manager = entered(self.region, self.names)
        self.exits.append((p, outcome, manager, manager.__enter__()))

    def end(self, outcome: Any, dead: bool) -> Any:
        """Join what follows each exit with the exit; gives the outcome of the block."""
        try:
            while self.exits:
                p, left, manager, side = self.exits.pop()
                side.outcome, side.dead = outcome, dead
                manager.__exit__(None, None, None)
                run = lambda: left  # noqa: B023, E731
                facts = [(p.own, True)]
                first = run_side(self.interpreter, here(), "then", run, self.names, facts)
                outcome, dead = merge_sides(self.interpreter, p, first, side, self.names), False
        except BaseException as e:
            self.abandon(e)
            raise
        return outcome

    def abandon(self, e: BaseException) -> None:
        """Leave all regions of the block."""
        while self.exits:
            *_, manager, _ = self.exits.pop()
            try:
                manager.__exit__(type(e), e, e.__traceback__)
            except BaseException as again:
                if again is not e:
                    raise


class Exceptions:
    """The hooks of exceptions; part of the interpreter."""

    #: What is around the present place, outermost first.
    tries: list[Handlers]
    #: The blocks around the present place that exceptions may leave.
    blocks: list[Block]
    #: The errors that are being handled.
    handling: list[Any]
    #: How many contexts around take back filters of warnings.
    filters: int

    def bounded(self: Any, run: Callable[[], Any], names: Names) -> Any:
        """The outcome of a block that binds `names`, an exception that is handled included."""
        if not self.tries:
            return run()
        block, dead = Block(self, names), False
        self.blocks.append(block)
        try:
            outcome = self._outcome(run)
        except Unreachable:
            if not block.exits:
                raise
            outcome, dead = None, True
        except BaseException as e:
            block.abandon(e)
            raise
        finally:
            self.blocks.pop()
        return block.end(outcome, dead)

    def _outcome(self: Any, run: Callable[[], Any]) -> Any:
        try:
            return run()
        except Raising as e:
            return e.outcome
        except Exception as e:
            error = python_error(e)
            if _is_unbound(e) and any(
                self.catches(TracedError(cls, ())) for cls in (NameError, UnboundLocalError)
            ):
                # Blocks are functions here: Python may say that it is no free variable.
                raise TraceError("TJ024", "an unbound name, which is handled", user_line()) from e
            if error is None or not self.catches(error):
                raise
            if not is_reliable(e):
                what = f"{type(e).__name__} of an operation on arrays, which is handled"
                raise TraceError("TJ024", what, user_line()) from e
            return Raised(error)

    @contextmanager
    def trying(self: Any, handlers: Handlers) -> Iterator[None]:
        """Inside, exceptions are given to `handlers`."""
        self.tries.append(handlers)
        try:
            yield
        finally:
            self.tries.pop()

    @contextmanager
    def while_handling(self: Any, *errors: Any) -> Iterator[None]:
        """Inside, the last of `errors` is the one that `raise` alone raises."""
        self.handling += errors
        try:
            yield
        finally:
            del self.handling[len(self.handling) - len(errors) :]

    def catches(self: Any, error: TracedError) -> bool:
        """Whether something around the present place is to be given an error."""
        return self.handles(error) or any(h.holds_all for h in self.tries)

    def handles(self: Any, error: TracedError) -> bool:
        """Whether a handler around the present place is for an error."""
        return any(h.handle(error) for h in reversed(self.tries))

    # try -----------------------------------------------------------------------------------------

    def try_(
        self: Any,
        body: Callable[[], Any],
        handlers: Sequence[Any],
        orelse: Callable[[], Any] | None,
        final: Callable[[], Any] | None,
        rest: Callable[[], Any] | None,
        stored: Sequence[str],
        info: Any,
    ) -> Any:
        """A `try` statement and the statements after it; gives the outcome of both.

        A handler is the function of its classes (None for all), its name, and its block.
        """
        self.step()
        names = Names(stored, (body, orelse, final, *(block for *_, block in handlers)))

        def guarded() -> Any:
            outcome = self.guarded(lambda: renamed(body(), None, _ENDED), Handlers(handlers), names)
            outcome = renamed(renamed(outcome, None, _DONE), _ENDED, None)
            return renamed(then_rest(self, outcome, orelse, names_in(orelse)), _DONE, None)

        outcome = guarded() if final is None else self.ensured(guarded, final, names)
        return then_rest(self, outcome, rest, names_in(rest))

    def guarded(self: Any, run: Callable[[], Any], around: Handlers, names: Names) -> Any:
        """The outcome of `run()`, which binds `names`, or that of a handler of what it raises."""
        with self.trying(around):
            outcome = self.bounded(run, names)
        return self._handled(outcome, around, 0, names)

    def ensured(self: Any, run: Callable[[], Any], final: Callable[[], Any], names: Names) -> Any:
        """The outcome of `run()`, with `final()` after it however it ends."""
        with self.trying(Handlers((), True)):
            outcome = self.bounded(run, names)
        with self.while_handling(*(o.error for o in leaves_of(outcome) if is_raised(o))):
            ended = final()
        return then_rest(self, ended, lambda: outcome, names)

    def _handled(self: Any, outcome: Any, around: Handlers, k: int, names: Names) -> Any:
        """An outcome with the handlers from number `k` on instead of the errors they are for."""
        if k == len(around.handlers):
            return outcome

        def is_taken(o: Any) -> bool:
            return isinstance(o, Raised) and around.takes(k, o.error)

        def others(o: Any) -> Any:
            return self._handled(o, around, k + 1, names)

        taken = choose(outcome, is_taken) if has_raised(outcome) else False
        if taken is False:
            return others(outcome)
        _, name, block = around.handlers[k]
        error = errors_of(without(outcome, lambda o: not is_taken(o)))
        for e in leaves_of(error):
            if e.is_made_by_code:
                what = f"a {e.cls.__name__}, which code of its class makes, is handled"
                raise TraceError("TJ024", what, user_line())

        def handle() -> Any:
            with self.while_handling(error):
                ended = block(error) if name else block()
            if name:
                names.set(name, UNBOUND)
            return ended

        if taken is True:
            return handle()
        left = without(outcome, is_taken)
        return branch(self, taken, handle, lambda: others(left), names)

    def with_(
        self: Any,
        items: Sequence[Any],
        body: Callable[[], Any],
        rest: Callable[[], Any] | None,
        stored: Sequence[str],
        info: Any,
    ) -> Any:
        """A `with` statement and the statements after it; gives the outcome of both.

        An item is a function that gives the context, and one that assigns what it is entered as.
        """
        self.step()
        names = Names(stored, (body, *(f for item in items for f in item)))

        def inside(k: int) -> Any:
            if k == len(items):
                return body()
            manager, assign = items[k]

            def run(value: Any) -> Any:
                if assign is not None:
                    assign(value)
                return inside(k + 1)

            return self.within(narrow_bound(manager()), run, names)

        return then_rest(self, inside(0), rest, names_in(rest))

    def reraise(self: Any) -> None:
        """`raise` alone."""
        if not self.handling:
            raise TraceError("TJ024", "raise without an exception", user_line())
        self.raise_error(_raised(self.handling[-1]))

    # Leaving -------------------------------------------------------------------------------------

    def settled(self: Any, outcome: Any) -> Any:
        """An outcome without exceptions: where there is one, the block around is left by it."""
        if not has_raised(outcome):
            return outcome
        raises = choose(outcome, is_raised)
        if raises is not False:
            self.leave_where(raises, without(outcome, lambda o: not is_raised(o)))
        return without(outcome, is_raised)

    def leave_where(self: Any, p: bool | TracedScalar, raised: Any) -> None:
        """Leave the block around by `Raised`, or a union of such, where `p` holds."""
        if isinstance(p, bool):
            self.raise_error(raised)
            return
        if not any(self.catches(o.error) for o in leaves_of(raised)):
            branch(self, p, lambda: self.raise_error(raised), lambda: None)
            return
        block = self.blocks[-1]
        if block.region is here():
            block.leave(p, raised)
            return
        # No block of statements: only eager execution can go on.
        branch(self, p, _bail, lambda: None)

    def raise_error(self: Any, raised: Any) -> None:
        """Leave the block around by `Raised`, or a union of such; nothing follows."""
        if any(self.catches(o.error) for o in leaves_of(raised)):
            raise Raising(raised)
        raised = narrow_bound(raised)
        if isinstance(raised, Union):
            first, second = raised.first, raised.second
            branch(
                self,
                raised.predicate,
                lambda: self.raise_error(first),
                lambda: self.raise_error(second),
            )
        self.emit_error(raised.error)

    def may_raise(self: Any, p: Any, cls: type[BaseException], *args: Any) -> None:
        """Raise `cls(*args)` where `p` holds, if that is handled in the program.

        Otherwise, and where too much would follow of it, the operation itself bails out.
        """
        error = TracedError(cls, args, is_exact=bool(args), is_linked=True)
        if not self.tries or not self.handles(error):
            return
        block = self.blocks[-1]
        if p is True:
            raise Raising(Raised(error))
        if p is False or block.region is not here():
            return
        if len(block.exits) < _EXITS and here().depth < _DEPTH:
            block.leave(p, Raised(error))


def _bail() -> None:
    fail(here())
    raise Unreachable


def is_raised(outcome: Any) -> bool:
    """Whether an outcome is an exception."""
    return isinstance(outcome, Raised)


def has_raised(outcome: Any) -> bool:
    """Whether an outcome may be an exception."""
    if isinstance(outcome, Union):
        return any(map(is_raised, leaves_of(outcome)))
    return isinstance(outcome, Raised)


def errors_of(outcome: Any) -> Any:
    """The errors of `Raised`, or a union of such."""
    if isinstance(outcome, Union):
        return Union(outcome.predicate, errors_of(outcome.first), errors_of(outcome.second))
    return outcome.error


def _raised(error: Any) -> Any:
    """An error, or a union of such, as outcomes."""
    if isinstance(error, Union):
        return Union(error.predicate, _raised(error.first), _raised(error.second))
    return Raised(error)


# Python's own errors ------------------------------------------------------------------------------


def python_error(e: Exception) -> TracedError | None:
    """An exception of a step that Python's own operations made; None for the compiler's."""
    if type(e).__module__.partition(".")[0] == "tracejit":
        return None
    if isinstance(e, (RecursionError, MemoryError, AssertionError, NotImplementedError)):
        return None
    file, instruction = _origin(e)
    # Where the compiler raises what NumPy would, the text may be another one.
    explicit = file.startswith(PACKAGE) and instruction == "RAISE_VARARGS"
    exact = not (explicit or isinstance(e, NameError))
    return TracedError(type(e), e.args if exact else (), is_exact=exact, is_linked=True)


def _is_unbound(e: Exception) -> bool:
    """Whether a local name, or one of a function around, is not bound."""
    return type(e) is NameError and "free variable" in str(e)


def is_reliable(e: Exception) -> bool:
    """Whether Python would raise an exception of this class there, for all that is known."""
    file, instruction = _origin(e)
    if file.startswith(PACKAGE):
        return file in _OF_PYTHON or instruction == "RAISE_VARARGS"
    return not is_library_file(file)


def _origin(e: BaseException) -> tuple[str, str]:
    """The file of the frame that raised an exception, and the instruction that did."""
    tb = e.__traceback__
    assert tb is not None
    while tb.tb_next is not None:
        tb = tb.tb_next
    code = tb.tb_frame.f_code
    found = [i.opname for i in dis.get_instructions(code) if i.offset == tb.tb_lasti]
    return code.co_filename, found[0] if found else ""

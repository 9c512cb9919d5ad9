"""Runs a plain Python function on tracers, its code rewritten so that nothing is frozen by mistake.

How a dispatcher uses it, for one call of `f` that no compiled code fits yet:

    leaves, tree = flatten(args, kwargs)                  # pytree.py; part of the signature
    trace = Trace(f.__name__, ShapeEnv())
    with trace.active():
        traced = trace_function(f, leaves, tree, trace, make_leaf)
        outputs = [lift(x).value() for x in traced.leaves]

`make_leaf(value, name)` makes the tracer of an array or number in `trace` (or gives a number back
to keep it static). It is called for each of `leaves` in order, then for each array or NumPy scalar
that the function reaches outside its arguments, in the order of `traced.capture.inputs`. The
graph's outputs are `traced.leaves` (tracers and SymInts); `unflatten(traced.tree, values)` makes
the result of a call.

Before each later call of the compiled code, `traced.capture.reread(call)` gives the present values
of the captured inputs, to be checked and passed like arguments, or a text that says what has
changed: then the function must be traced anew. It may be skipped where `traced.capture.trivial` is
set. When the compiled code returns, what it gives for `traced.stores` is stored.

Whatever cannot be followed raises TraceError; any other exception is what the user's code raised on
the way. Both mean that the call is to be run eagerly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import CodeType
from typing import Any, NamedTuple

from tracejit.base.lazy_dataclass import dataclass
from tracejit.base.originals import import_compiler
from tracejit.errors import TraceError, Where
from tracejit.frontend.capture.captured import Learned, Source, is_number_by_value
from tracejit.frontend.capture.guards import Equal
from tracejit.frontend.capture.state import Change
from tracejit.frontend.capture.values import Capture
from tracejit.frontend.control.iteration import ranged
from tracejit.frontend.control.unions import narrow_bound
from tracejit.frontend.interpreter.functions import place_of
from tracejit.frontend.interpreter.interpreter import TraceInterpreter
from tracejit.frontend.interpreter.results import flatten_result
from tracejit.frontend.rewrite.source import is_library_file
from tracejit.frontend.tracing.aliases import objects_in
from tracejit.frontend.tracing.checks import plain_key
from tracejit.frontend.tracing.grown import grown_list, is_grown
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import TreeDef, leaf_names, tuples_in, unflatten
from tracejit.frontend.tracing.trace import Trace, user_line
from tracejit.frontend.tracing.tracer import TracedArray, Tracer
from tracejit.frontend.tracing.union import Unreachable
from tracejit.ir.types import PyScalar

__all__ = ["Store", "TracedResult", "trace_function"]


class Store(NamedTuple):
    """A store of the kind that a `Change` is, into leaf number `place` of the call or an owner."""

    place: int | None
    kind: str
    key: Any
    owner: Any = None


@dataclass(frozen=True)
class TracedResult:
    """What a trace gives: the traced leaves of the result, their tree, what was read outside.

    Where there are `stores`, the tree is of a tuple: the result, then the value of each.
    `operations` is about how many operations of Python the trace stands for, loops counted once.
    """

    leaves: list[Any]
    tree: TreeDef
    capture: Capture
    stores: tuple[Store, ...] = ()
    operations: int = 0


def trace_function(
    f: Callable[..., Any],
    leaves: Sequence[Any],
    tree: TreeDef,
    trace: Trace,
    make_leaf: Callable[[Any, str], Any],
    learned: Learned | None = None,
) -> TracedResult:
    """Run `f` on tracers in `trace`, the active one; see the module's docstring.

    Raises TraceError, ListIsRead where what was learned from earlier traces does not hold, and
    whatever `f` raises.
    """
    import_compiler()
    capture = Capture(trace, make_leaf, learned)
    capture.learned.capture = capture
    interpreter = TraceInterpreter(capture, (getattr(f, "__module__", "") or "").partition(".")[0])
    code = getattr(f, "__code__", None)
    parameters = code.co_varnames[: code.co_argcount] if code else ()
    try:
        names = leaf_names(tree, parameters)
        tracers = list(map(make_leaf, leaves, names))
        capture.add_leaves(leaves, names, tracers)
        capture.grown_list = partial(grown_list, interpreter)
        args, kwargs = unflatten(
            *(tree, tracers, capture.add_rebuilt, capture.add_argument, capture.packed_list),
            partial(ranged, interpreter),
        )
        capture.add_containers((args, kwargs))
        capture.add_argument(f)
        try:
            result = interpreter.call(f, *args, **kwargs)
            changes = list(interpreter.state.changes())
            changes += _written_pools(capture)
            capture.counters = _counters(capture, changes)
            changes = [_with_key(interpreter, change, result) for change in changes]
        except Unreachable:
            result, changes = None, []
        if changes:
            result = (narrow_bound(result), *(change.value for change in changes))
        out, out_tree = _flattened(result, changes, interpreter, code)
        _require_arrays_stay(capture, out)
        stores = tuple(_store(capture, change) for change in changes)
        if capture.holds_rows and any(s.kind in ("element", "tail", "contents") for s in stores):
            # It may be one of those that are read as an array.
            raise TraceError("TJ005", "lists in a list, and a list that changes", user_line())
    except TraceError as e:
        e.where = e.where or _innermost_place(e)
        raise
    except RecursionError as e:
        # A list in itself, blocks of thousands of statements: nothing of the compiler's own.
        what = "something that is nested in itself, or too deeply"
        raise TraceError("TJ008", what, _innermost_place(e)) from None
    finally:
        capture.close()
    return TracedResult(out, out_tree, capture, stores, interpreter.operations)


def _counters(capture: Capture, changes: Sequence[Change]) -> set[str]:
    """The labels of numbers that were read as constants, and that others take the place of."""
    found: set[str] = set()
    for owner, kind, key, value in changes:
        if kind in ("attribute", "item", "element", "cell"):
            source = capture.place_read(owner, kind, key)
            if source is not None and _is_other_number(source.check, value):
                found.add(source.label)
    return found


def _is_other_number(check: Any, value: Any) -> bool:
    """Whether a value is a number of the run, or one that is not what a guard asks for."""
    if not isinstance(check, Equal) or not is_number_by_value(check.value):
        return False
    if isinstance(value, Tracer):
        return isinstance(value.type, PyScalar) and value.type.kind == type(check.value).__name__
    return type(value) is type(check.value) and value != check.value


def _written_pools(capture: Capture) -> list[Change]:
    """Those copies of what is in lists of arrays that are written to, as changes. Raises TraceError
    where an exception may keep them from being made."""
    pools = [pool for pool in capture.pools if pool.storage.written]
    if pools and capture.raises:
        what = "a list of arrays that is met behind a `raise`, and written to"
        raise TraceError("TJ005", what, user_line())
    return [Change(None, "arrays", None, pool) for pool in pools]


def _require_arrays_stay(capture: Capture, out: Sequence[Any]) -> None:
    """Raise TraceError for a result that is an array of a list whose arrays are copied into one."""
    pools = {pool.storage for pool in capture.pools}
    for x in out:
        if not isinstance(x, TracedArray) or any(x is pool for pool in capture.pools):
            continue
        if not pools.isdisjoint(x.storage.roots()):
            raise TraceError("TJ005", "an array of a list from outside as a result", user_line())


def _with_key(interpreter: TraceInterpreter, change: Change, result: Any) -> Change:
    """A store by a key that has a tuple from outside, or one of the result, as one of a pair: each
    call has these anew."""
    parts = list(tuples_in(change.key)) if change.kind == "item" else []
    if not parts:
        return change
    shown = {id(x) for x in objects_in(result, interpreter.is_local, tuples=True)}
    if any(id(x) in shown or interpreter.capture.place_of(x) is not None for x in parts):
        return Change(change.owner, "pair", None, (change.key, change.value))
    return change


def _store(capture: Capture, change: Change) -> Store:
    if change.kind == "arrays":
        return Store(None, change.kind, change.key)
    if isinstance(change.owner, Source):
        return Store(capture.leaf_of(change.owner), change.kind, change.key)
    place = capture.place_of(change.owner)
    owner = change.owner if place is None else None
    key = plain_key(change.key) if change.kind == "item" else change.key
    return Store(place, change.kind, key, owner)


def _flattened(
    result: Any, changes: Sequence[Change], interpreter: Interpreter, code: CodeType | None
) -> tuple[list[Any], TreeDef]:
    try:
        result = narrow_bound(result)
        capture = interpreter.capture
        places = capture.is_outside, capture.place_of
        is_local, shared = interpreter.is_local, interpreter.shared
        owners = [change.owner for change in changes if not is_grown(change.owner)]
        interpreter.aliases.require_apart(
            result,
            owners,
            outside=lambda x: (
                capture.is_given(x)
                if isinstance(x, tuple)
                else interpreter.owner_of(x) is None or id(x) in capture.rebuilt
            ),
        )
        rows_stay, keys = capture.holds_rows, capture.keys
        stored = [c.key for c in changes if c.kind == "item" and id(c.key) not in keys]
        return flatten_result(result, is_local, *places, shared, rows_stay, keys, stored)
    except TraceError as e:
        e.where = place_of(code) if code else e.where
        raise


def _innermost_place(error: BaseException) -> Where | None:
    """The innermost line outside the compiler that an exception has passed."""
    place, tb = None, error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if not is_library_file(code.co_filename):
            place = Where(code.co_filename, tb.tb_lineno, code.co_name)
        tb = tb.tb_next
    return place

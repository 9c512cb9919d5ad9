"""Branches on traced values: both sides become regions of a `cond`, and what they leave is joined.

A block of statements ends in an outcome: None where it runs to its end, BREAK, CONTINUE, or the
`Returned` value; after a branch it may be a `Union` of these, until it is known.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tracejit.errors import TraceError
from tracejit.frontend.control.growth import joined_lists
from tracejit.frontend.control.kinds import parts_of
from tracejit.frontend.control.merges import PhiBuilder, Recipe, in_one_order
from tracejit.frontend.control.regions import (
    Names,
    Side,
    close_region,
    run_on,
    run_side,
)
from tracejit.frontend.control.unions import (
    Returned,
    choose,
    is_number,
    leaves_of,
    narrow_bound,
    without,
)
from tracejit.frontend.numpy.number_operators import binary_operator
from tracejit.frontend.rewrite.expressions import OPERAND
from tracejit.frontend.tracing.contents import contents_of, put_contents
from tracejit.frontend.tracing.grown import is_grown, size_of
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.items import is_range_or_view
from tracejit.frontend.tracing.pytree import is_one_key, tuples_in
from tracejit.frontend.tracing.raised import Raised
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar, Tracer, lift, wrap
from tracejit.frontend.tracing.union import UNBOUND, Signal, Union, Unreachable
from tracejit.ir.graph import Value, symbols
from tracejit.ir.types import DTYPES, PYBOOL, NpScalar
from tracejit.ops.array.creation import Constant

__all__ = [
    "Operand",
    "branch",
    "branch_and_rest",
    "falls",
    "lifted",
    "names_in",
    "names_of_operands",
    "outcomes",
    "predicate",
    "then_rest",
    "with_known_bounds",
]

_NO_NAMES = Names((), ())


class Operand(NamedTuple):
    """The outcome of a part of an expression."""

    value: Any


# Predicates --------------------------------------------------------------------------------------


def predicate(interpreter: Interpreter, x: Any) -> bool | TracedScalar:
    """The truth of `x`: a bool where it is known while tracing, else a traced Python bool.

    Raises what Python raises for values without a truth.
    """
    if isinstance(x, Union):
        return lifted(interpreter, lambda v: predicate(interpreter, v), x)  # type: ignore[no-any-return]
    if isinstance(x, Tracer):
        return _known(_traced_truth(x))
    if isinstance(x, SymInt):
        return predicate(interpreter, x != 0) if isinstance(x != 0, Tracer) else bool(x != 0)
    if is_grown(x):
        return predicate(interpreter, interpreter.compare("gt", size_of(x), 0))
    if isinstance(x, StandIn) or is_range_or_view(x):
        return predicate(interpreter, interpreter.compare("gt", interpreter.call(len, x), 0))
    return bool(interpreter.truth(x))


def _traced_truth(x: Tracer) -> TracedScalar:
    if isinstance(x, TracedArray):
        env = here().env
        if any(not env.expect(d, "==", 1) for d in x.type.shape):
            size = x.size
            if not isinstance(size, int) or size > 1:
                raise ValueError(
                    "The truth value of an array with more than one element is ambiguous. "
                    "Use a.any() or a.all()"
                )
            raise TraceError("TJ008", "the truth of an empty array", user_line())
        x = x.reshape(())[()]
    assert isinstance(x, TracedScalar)
    if x.type == PYBOOL:
        return x
    if x.type != NpScalar(DTYPES["b1"]):
        x = lift(binary_operator(operator.ne, x, 0))
    if x.type != PYBOOL:
        v = x.value()
        x = wrap(here(), here().emit("py_scalar", (v,), kind="bool"))
    assert isinstance(x, TracedScalar)
    return x


def _known(p: TracedScalar) -> bool | TracedScalar:
    fact = here().known(p.own)
    if fact is not None:
        return fact
    if p.trace is here():
        for node in reversed(here().builder.nodes):
            if p.own in node.outputs:
                return bool(node.attrs["value"]) if isinstance(node.op, Constant) else p
    return p


# Two sides ---------------------------------------------------------------------------------------


def branch(
    interpreter: Interpreter,
    p: TracedScalar,
    then: Callable[[], Any],
    orelse: Callable[[], Any],
    names: Names = _NO_NAMES,
) -> Any:
    """`then()` where the predicate holds, else `orelse()`; outcomes and changes are joined.

    Raises TraceError where the sides cannot be joined.
    """
    here().note("branch")
    first = _run(interpreter, p, True, then, names)
    second = _run(interpreter, p, False, orelse, names)
    return merge_sides(interpreter, p, first, second, names)


def branch_and_rest(
    interpreter: Interpreter,
    p: TracedScalar,
    then: Callable[[], Any],
    orelse: Callable[[], Any],
    names: Names,
    rest: Callable[[], Any],
) -> tuple[Any, bool]:
    """As `branch`; where just one side runs to its end, `rest` runs in it, too.

    The second result says whether it does.
    """
    here().note("branch")

    def with_rest(f: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: then_rest(interpreter, f(), rest, names_in(rest))

    first = _run(interpreter, p, True, then, names)
    if not first.dead and not falls(first.outcome):
        second = _run(interpreter, p, False, with_rest(orelse), names)
        return merge_sides(interpreter, p, first, second, names), True
    second = _run(interpreter, p, False, orelse, names)
    if first.dead or second.dead or falls(second.outcome):
        return merge_sides(interpreter, p, first, second, names), False
    if any(type(x) is set for x, _ in first.changed.values()):
        # The order of a set that is put back is not Python's.
        first = _run(interpreter, p, True, with_rest(then), names)
    else:
        outcome = first.outcome
        follow = lambda: then_rest(interpreter, outcome, rest, names_in(rest))  # noqa: E731
        run_on(interpreter, first, follow, names)
    return merge_sides(interpreter, p, first, second, names), True


def _run(
    interpreter: Interpreter, p: TracedScalar, truth: bool, f: Callable[[], Any], names: Names
) -> Side:
    name = "then" if truth else "orelse"
    return run_side(interpreter, here(), name, f, names, [(p.own, truth)])


def names_in(f: Callable[[], Any] | None) -> Names:
    """All names of the function around a block that the block mentions."""
    if f is None:
        return _NO_NAMES
    free = f.__code__.co_freevars
    return Names([name for name in free if not name.startswith("__tracejit_")], (f,))


def names_of_operands(operands: Sequence[Callable[[], Any] | None]) -> Names:
    """The names of the function that parts of an expression may bind. Lambdas bind none."""
    binding = [f for f in operands if f is not None and OPERAND not in f.__code__.co_varnames]
    return Names([name for f in binding for name in names_in(f)], binding)


def merge_sides(
    interpreter: Interpreter, p: TracedScalar, first: Side, second: Side, names: Names
) -> Any:
    """Record the `cond` of two traced sides; gives the joined outcome."""
    parent = here()
    phis = PhiBuilder(interpreter, parent, p, (first, second))
    outcome = phis.merge(first.outcome, second.outcome)
    bound = {name: _bound(phis, name, first, second, names) for name in names}
    contents = _changed(phis, first, second, interpreter)
    storages = {}
    for storage in dict.fromkeys((*first.stored, *second.stored)):
        values: list[Value | None] = []
        for side in (first, second):
            values.append(
                None
                if side.dead
                else side.stored[storage]
                if storage in side.stored
                else storage.read(side.region)
            )
        if any(v is not None for v in values):
            storages[storage] = phis.operand(*in_one_order(values, (first, second)))
    results = phis.complete()
    captures = list(dict.fromkeys(v for s in (first, second) for v in s.region.captures))
    graphs = [
        close_region(side.region, (), (), captures, outputs, tuple(d[k] for d in phis.sizes))
        for k, (side, outputs) in enumerate(zip((first, second), results, strict=True))
    ]
    outs = parent.emit_all(
        "cond",
        (p.value(), *captures),
        {"sizes": tuple(symbols(g.sizes) for g in graphs)},
        regions=tuple(graphs),
        binds=tuple(phis.sizes.values()),
    )
    for storage, k in storages.items():
        storage.store(parent, outs[k])
    for storage in (
        storage for side in (first, second) if not side.dead for storage in side.clobbered
    ):
        storage.lose(parent)
    for name, recipe in bound.items():
        names.set(name, recipe(outs))
    for x, recipe in contents:
        interpreter.will_mutate(x)
        put_contents(x, recipe(outs))
    if first.dead and second.dead:
        raise Unreachable
    if first.dead or second.dead:
        # What follows runs only where the other side was taken.
        parent.assume(p.own, second.dead)
    return outcome(outs)


def _bound(phis: PhiBuilder, name: str, first: Side, second: Side, names: Names) -> Recipe:
    a, b = first.names.get(name, UNBOUND), second.names.get(name, UNBOUND)
    if first.dead and second.dead:
        before = names.get(name)
        return lambda outs: before
    return phis.merge(a, b)


def _changed(
    phis: PhiBuilder, first: Side, second: Side, interpreter: Interpreter
) -> list[tuple[Any, Recipe]]:
    """How the containers that a side has changed are put together again."""
    out: list[tuple[Any, Recipe]] = []
    # Where both sides end the whole program, only what they return is left.
    ends = (
        not interpreter.state.is_used
        and interpreter.is_outermost
        and not interpreter.tries
        and outcomes(first.outcome) | outcomes(second.outcome) == {"return"}
    )
    left = _reachable((first.outcome, second.outcome)) if ends else {}
    for key in dict.fromkeys((*first.changed, *second.changed)):
        x = (first.changed.get(key) or second.changed[key])[0]
        if ends and not first.dead and not second.dead and id(x) not in left:
            continue
        a = first.changed[key][1] if key in first.changed else contents_of(x)
        b = second.changed[key][1] if key in second.changed else contents_of(x)
        ends_one = first.dead or second.dead
        if ends_one:
            a, b = (b, b) if first.dead else (a, a)
        if type(x) is dict:
            a = interpreter.state.completed(x, a, b)
            b = interpreter.state.completed(x, b, a)
            if interpreter.state.is_overlay(x):
                b = interpreter.state.in_order(x, a, b)
        out.append((x, _contents(phis, x, a, b, ends_one)))
    return out


def _reachable(x: Any) -> dict[int, Any]:
    """A value and everything in it, by id."""
    seen: dict[int, Any] = {}
    todo = [x]
    while todo:
        x = todo.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        parts = parts_of(x)
        if isinstance(x, Union):
            todo += [x.first, x.second]
        elif parts is not None:
            todo += parts[2]
        elif not isinstance(x, (Tracer, SymInt)) and not callable(x):
            todo += getattr(x, "__dict__", {}).values()
    return seen


def _contents(phis: PhiBuilder, x: Any, a: Any, b: Any, one_side: bool) -> Recipe:
    """How a container is put together that is `a` after one side and `b` after the other.

    `one_side`: both are what it is after the side that does not end the program.
    """
    grown = is_grown(a) != is_grown(b) or is_grown(a) and a[0] is not b[0]
    if type(x) is list and (grown or len(a) != len(b)):
        joined: Recipe | None = joined_lists(phis, x, a, b)
        if joined is not None:
            return joined
    if type(x) is set:
        if a != b or not all(map(is_one_key, sorted(a, key=hash), sorted(b, key=hash))):
            raise TraceError("TJ022", "a set that only one side of a branch changes", user_line())
        return lambda outs: a
    keys = range(len(a)) if type(x) is list else list(a)
    other = range(len(b)) if type(x) is list else list(b)
    if list(keys) != list(other) or grown or not all(map(is_one_key, keys, other)):
        what = f"a {type(x).__name__} has other entries after one side of a branch"
        raise TraceError("TJ022", what, user_line())
    if type(x) is dict:
        # The keys are those of one side, whichever is taken.
        for one, other in zip(a, b, strict=True):
            if one is not other:
                known = phis.interpreter.capture.keys
                known |= {id(part): part for k in (one, other) for part in tuples_in(k)}
    # What neither side has changed is left alone, however much of it there is.
    recipes = {k: phis.merge(a[k], b[k]) for k in keys if one_side or a[k] is not b[k]}

    def made(outs: Sequence[Value]) -> Any:
        contents = a.copy()
        for k, make in recipes.items():
            contents[k] = make(outs)
        return contents

    return made


# Outcomes ----------------------------------------------------------------------------------------


def outcomes(x: Any) -> set[str]:
    """What an outcome may be: falls, break, continue, return, or the value of an expression."""
    if isinstance(x, Union):
        x = x.known()
    if isinstance(x, Union):
        return outcomes(x.first) | outcomes(x.second)
    if x is None:
        return {"falls"}
    if isinstance(x, Returned):
        return {"return"}
    if isinstance(x, Raised):
        return {"raise"}
    return {x.name} if isinstance(x, Signal) else {"value"}


def falls(x: Any) -> bool:
    """Whether a block with this outcome may run to its end."""
    return "falls" in outcomes(x)


def then_rest(
    interpreter: Interpreter,
    outcome: Any,
    rest: Callable[[], Any] | None,
    names: Names | None = None,
) -> Any:
    """What a block ends in whose statement had `outcome`, and is followed by `rest`."""
    if rest is None or not falls(outcome):
        return outcome
    runs = choose(outcome, lambda o: o is None)
    if runs is True:
        return rest()
    assert isinstance(runs, TracedScalar)
    others = without(outcome, lambda o: o is None)
    return branch(interpreter, runs, rest, lambda: others, names or _NO_NAMES)


# Operations on unions ---------------------------------------------------------------------------


def lifted(interpreter: Interpreter, f: Callable[..., Any], *args: Any) -> Any:
    """`f(*args)`, where an argument may be a union: a branch with `f` on both sides."""
    given = tuple(map(narrow_bound, args))
    at = next((k for k, x in enumerate(given) if isinstance(x, Union)), None)
    if at is None:
        return f(*given)
    union: Union = given[at]

    def on(x: Any) -> Any:
        return lifted(interpreter, f, *given[:at], x, *given[at + 1 :])

    sides = (lambda: on(union.first), lambda: on(union.second))
    return interpreter.settled(branch(interpreter, union.predicate, *sides))


def with_known_bounds(interpreter: Interpreter, key: Any) -> Any:
    """An index with one number in the place of each union of numbers that is a part of it."""
    if type(key) is tuple:
        found = tuple(with_known_bounds(interpreter, part) for part in key)
        if all(a is b for a, b in zip(found, key, strict=True)):
            return key
        interpreter.aliases.follow_one(found, key, "key")
        return found
    if type(key) is slice:
        parts = (with_known_bounds(interpreter, x) for x in (key.start, key.stop, key.step))
        return slice(*parts)
    if isinstance(key, Union) and all(is_number(x) for x in leaves_of(key)):
        return lifted(interpreter, lambda x: x, key)
    return key

"""Chooses what a new variant assumes, and drives its compile: retry with constants, why, dump."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tracejit import config
from tracejit.codegen.analysis.memory_use import memory_use
from tracejit.errors import GivenTwice, GraphError, TraceError
from tracejit.frontend.capture.captured import Call, Learned, ListIsRead
from tracejit.frontend.tracing.notes import Note
from tracejit.frontend.tracing.pytree import flatten
from tracejit.frontend.tracing.restarts import Recursive, Refused, Tabled
from tracejit.frontend.tracing.trace import user_line
from tracejit.passes.partition.pins import is_placed
from tracejit.runtime.cache.recall import seen
from tracejit.runtime.call.binding import Form, Positions
from tracejit.runtime.call.entry_spec import ArrayLeaf
from tracejit.runtime.call.reasons import reason_for
from tracejit.runtime.call.signature import History, Specialization, leaf_key, rank_key, specialize
from tracejit.runtime.compile.floats import decides, floats_of
from tracejit.runtime.compile.publish import compile_and_publish
from tracejit.runtime.compile.spinner import Spinner
from tracejit.runtime.compile.stages import Lowered, Traced, trace_call
from tracejit.runtime.compile.variant import Variant
from tracejit.runtime.compile.worth import has_loops, is_worth_its_dispatch
from tracejit.runtime.nesting import room
from tracejit.runtime.report.lines import compiled_lines, host_lines
from tracejit.runtime.report.report import Compile

__all__ = ["Choose", "lower_call", "lower_chosen", "specialize_call"]

#: Codes of what lists of arrays cannot do, and lists of Python's own elements may.
_SHARED = ("TJ001", "TJ002", "TJ004", "TJ005", "TJ015", "TJ017", "TJ022", "TJ029")

#: Codes of what needs a number's value, or one in how many steps are taken.
_VALUE = ("TJ001", "TJ015")
_STEPS = ("TJ011", "TJ017", "TJ018", "TJ022", "TJ029")


#: As many variants of decisions on ints are compiled before ints are numbers of the run.
_WAYS = 4
#: What a trace assumes of the leaves of its arguments.
Choose: TypeAlias = Callable[[Sequence[Any]], Specialization]


def _trace(
    self: Any,
    structure: Any,
    history: History,
    call: Call,
    tree: Any,
    choose: Choose | None = None,
) -> tuple[Traced, Specialization]:
    """Trace with numbers traced; where the trace needs their values, once more with constants.

    With `choose` it assumes what that says, each time anew, and nothing else.
    """

    leaves, learned = call.leaves, self._learned
    learned.floats = learned.floats or floats_of(self)
    samples = leaves if self._device is None else self._device.samples(leaves)
    plain = False
    ints_traced = False
    #: What dicts and sets have been tables of, by where they are made.
    tabled: set[Any] = set()

    def attempt(scalars_static: bool) -> tuple[Traced, Specialization]:
        nonlocal plain
        if choose is None:
            chosen = specialize(
                leaves, history, scalars_static=scalars_static, ints_traced=ints_traced
            )
        else:
            chosen = choose(leaves)
        function = self.__tracejit__
        # An attempt that fails has read lists of arrays otherwise: what it saw says nothing.
        captured = {name: list(shapes) for name, shapes in self._captured.items()}
        captured = {} if structure.sizes_static else captured
        known = learned
        if scalars_static:
            known = Learned(
                read_lists=learned.read_lists,
                recursive=learned.recursive,
                inlined=learned.inlined,
                apart=learned.apart,
                joined=learned.joined,
                tables=learned.tables,
                like_of_device=learned.like_of_device,
            )
        known.plain_lists, known.grew, known.packed = plain, False, False
        try:
            with learned.attempt(known, chosen):
                traced = trace_call(
                    *(function, chosen, samples, tree, captured, self._options.bounds_check, known),
                    structure.spent,
                )
            known.capture = None
            _require_joined_are_read(traced, chosen)
        except ListIsRead as e:
            if e.label in learned.read_lists:
                raise
            learned.read_lists.add(e.label)
            return attempt(scalars_static)
        except Recursive as e:
            learned.recursive.add(e.callee)
            return attempt(scalars_static)
        except Tabled as e:
            from tracejit.frontend.containers.tables import fits_table

            if (e.site, e.forms) in tabled or not fits_table(
                e.forms, set if e.forms[1] is None else dict
            ):
                raise TraceError("TJ017", e.detail, e.where) from None
            tabled.add((e.site, e.forms))
            learned.tables[e.site] = e.forms
            return attempt(scalars_static)
        except Refused:
            return attempt(scalars_static)
        except GivenTwice:
            raise
        except Exception as e:
            if known.joinable and not learned.joined:
                return _joined(learned, e, lambda: attempt(scalars_static))
            if known.packed and not learned.apart:
                return _taken_apart(learned, e, lambda: attempt(scalars_static))
            if not isinstance(e, TraceError):
                capture, known.capture = known.capture, None
                if capture is not None and capture.is_given_twice(call):
                    # It took one object for two: what it met says nothing.
                    raise GivenTwice from None
                raise
            if learned.recursive:
                return _inlined(learned, e, lambda: attempt(scalars_static))
            if not known.grew or plain or e.code not in _SHARED:
                raise
            plain = True
            return _plainly(e, bool(known.tables), lambda: attempt(scalars_static))
        if traced.capture is not None and traced.capture.is_given_twice(call):
            raise GivenTwice
        if not structure.sizes_static:
            self._captured.update(captured)
        return traced, chosen

    for variant in structure.variants:
        if variant.traced.capture is not None:
            learned.varying.update(variant.traced.capture.moved(call))
    if structure.scalars_static:
        return attempt(True)
    if choose is None and _decides_much(structure, leaves):
        ints_traced = True
        try:
            return attempt(False)
        except GivenTwice:
            raise
        except TraceError:
            structure.ints_symbolic = True
        finally:
            ints_traced = False
    try:
        found = attempt(False)
        structure.spent[:] = [0, 0]  # What has ended well has not made the next attempt longer.
        if learned.elsewhere and decides(found[0].graph, learned.elsewhere.values()):
            return _with_constants(self, structure, history, call, tree, choose)
        return _counted(learned, found, lambda: attempt(False))
    except GivenTwice:
        raise
    except TraceError as e:
        if learned.elsewhere:
            return _with_constants(self, structure, history, call, tree, choose)
        kinds = (int, float, complex, np.generic) if e.code in _VALUE else (int,)
        numbers = learned.varying or any(isinstance(x, kinds) for x in leaves)
        if choose is not None or e.code not in (*_VALUE, *_STEPS) or not numbers:
            raise
        error = e
    try:
        result = attempt(True)
    except TraceError as e:
        raise e if error.code in _VALUE else error from None
    structure.scalars_static = True
    return result


def _with_constants(
    self: Any,
    structure: Any,
    history: History,
    call: Call,
    tree: Any,
    choose: Choose | None,
) -> tuple[Traced, Specialization]:
    """Another trace, with floats that vary from function to function as constants of each."""
    learned = self._learned
    learned.varying -= learned.elsewhere.keys()
    learned.floats.constant |= learned.elsewhere.keys()
    learned.elsewhere.clear()
    return _trace(self, structure, history, call, tree, choose)


def _decides_much(structure: Any, leaves: Sequence[Any]) -> bool:
    """Whether ints, taken like sizes, have led several ways through the function already."""
    if structure.ints_symbolic or not any(type(x) is int for x in leaves):
        return False
    ways: int = sum(structure.sizes_static or bool(v.traced.guards) for v in structure.variants)
    return ways >= _WAYS


def _require_joined_are_read(traced: Traced, chosen: Specialization) -> None:
    """Raise TraceError where a list of arrays is copied for a program without a loop."""
    joined = any(isinstance(leaf, ArrayLeaf) and leaf.joined for leaf in chosen.leaves)
    if joined and not has_loops(traced.graph):
        raise TraceError("TJ005", "an array of a list from outside")


def _counted(
    learned: Learned,
    found: tuple[Traced, Specialization],
    attempt: Callable[[], tuple[Traced, Specialization]],
) -> tuple[Traced, Specialization]:
    """What is found with numbers that the program itself changes as inputs: the next call would
    need it. What was `found` before where that fails.
    """
    while (capture := found[0].capture) is not None and (new := capture.counters - learned.varying):
        learned.varying |= new
        try:
            found = attempt()
        except TraceError:
            learned.varying -= new
            break
    return found


def _taken_apart(
    learned: Learned, error: Exception, attempt: Callable[[], tuple[Traced, Specialization]]
) -> tuple[Traced, Specialization]:
    """Another attempt, in which lists from outside are no arrays. Raises `error` if it fails."""
    learned.apart = True
    try:
        return attempt()
    except Exception:
        learned.apart = False
        raise error from None


def _joined(
    learned: Learned, error: Exception, attempt: Callable[[], tuple[Traced, Specialization]]
) -> tuple[Traced, Specialization]:
    """Another attempt, in which lists of arrays from outside are arrays. Raises `error` if it
    fails."""
    learned.joined = True
    try:
        return attempt()
    except Exception:
        learned.joined = False
        raise error from None


def _plainly(
    error: TraceError, tables: bool, attempt: Callable[[], tuple[Traced, Specialization]]
) -> tuple[Traced, Specialization]:
    """An attempt without lists of arrays. Where tables are lacking, it says nothing new."""
    try:
        return attempt()
    except TraceError as e:
        raise error if tables else e from None


def _inlined(
    learned: Learned, error: TraceError, attempt: Callable[[], tuple[Traced, Specialization]]
) -> tuple[Traced, Specialization]:
    """Another attempt, in which functions that call themselves are inlined: few calls may do.

    Raises TraceError, and forgets that, where this one fails, too.
    """
    found = set(learned.recursive)
    learned.inlined |= found
    learned.recursive.clear()
    try:
        return attempt()
    except TraceError as e:
        learned.inlined -= found
        learned.recursive |= found
        raise error if error.code == "TJ020" else e from None


def _decided(traced: Traced) -> set[str]:
    """The sizes of which each has one value in all calls that a trace is for."""
    return {str(a) for a, relation, b in traced.guards if relation == "==" and isinstance(b, int)}


@room
def specialize_call(
    self: Any, structure: Any, call: Call, tree: Any, form: Form, places: Positions
) -> tuple[Variant, Compile]:
    """A variant for this call, and what the report says of it.

    Calls of this form are answered natively from now on, if they can be. Where a call fails with
    sizes that vary, this one and those after it are compiled for their own sizes.
    Raises TraceError where the call must run eagerly, GraphError where the compiler cannot go on.
    """
    ranks = rank_key(call.leaves)
    if ranks not in self._histories:
        earlier = [vector for known, vector in seen(self) if known == ranks]
        self._histories[ranks] = History(list(dict.fromkeys(earlier)))
    history = self._histories[ranks]
    if structure.sizes_static and not _decides_much(structure, call.leaves):
        return _compile(self, structure, History(), call, tree, form, places)
    try:
        return _compile(self, structure, history, call, tree, form, places)
    except (TraceError, GraphError) as e:
        varies = history.varies or any(len(shapes) > 1 for shapes in self._captured.values())
        if not varies or isinstance(e, GivenTwice):
            raise
        error = e
    structure.sizes_static = True
    try:
        found = _compile(self, structure, History(), call, tree, form, places, error)
    except (TraceError, GraphError):
        structure.sizes_static = False
        raise error from None
    return found


def _compile(
    self: Any,
    structure: Any,
    history: History,
    call: Call,
    tree: Any,
    form: Form,
    places: Positions,
    error: TraceError | GraphError | None = None,
) -> tuple[Variant, Compile]:
    """As `specialize_call`. With sizes that vary in `history`, there would be `error`."""
    with Spinner(self._report.function) as spinner:
        return _compile_watched(self, structure, history, call, tree, form, places, error, spinner)


def _compile_watched(
    self: Any,
    structure: Any,
    history: History,
    call: Call,
    tree: Any,
    form: Form,
    places: Positions,
    error: TraceError | GraphError | None,
    spinner: Spinner,
) -> tuple[Variant, Compile]:
    start = time.perf_counter()
    traced, chosen = _trace(self, structure, history, call, tree)
    if chosen.sizes and chosen.sizes.keys() <= _decided(traced):
        raise TraceError("TJ015", "each size as a Python value")
    if error is not None:
        where = error.where if isinstance(error, TraceError) else None
        why = f"{error.code}: {error.detail}" if isinstance(error, TraceError) else str(error)
        what = f"sizes, since with other ones there is {why}"
        traced.notes.append(Note("static", where, what))
    reason = reason_for(self._structures, self._signature(), call, tree)
    seconds = {"trace": time.perf_counter() - start}
    spinner.stage = "passes"
    if is_placed(traced.graph, self._options.devices):
        return _placed(self, traced, tree, reason, chosen.text, start)
    profiled = self._options.timers
    timers = None if profiled is None else profiled.new()
    lowered = Lowered(traced, self._device, self._options.threads, timers)
    middle = time.perf_counter()
    spinner.stage = "program"
    host = lowered.program.host_nodes
    # What is exchanged with other processes is as compiled as it can be.
    by_numpy = [node for node in host if not node.op.exchanges]
    if self._options.strict and by_numpy:
        where, why = host_lines(by_numpy, traced.notes)[0]
        raise TraceError("TJ002" if "function" in by_numpy[0].attrs else "TJ004", why, where)
    spinner.stage = "machine code"
    variant = compile_and_publish(self, lowered, tree, form, places)
    if not self._options.strict and self._device is None:
        function = self.__tracejit__
        variant.is_worthwhile = is_worth_its_dispatch(function, lowered, variant.call_spec)
    end = time.perf_counter()
    seconds |= {name: lowered.seconds[name] for name in ("passes", "program")}
    seconds["machine code"] = end - middle - seconds["program"]
    directory = config.dump_dir()
    if directory is not None:
        from tracejit.runtime.compile.dump import dump_compile

        dump_compile(directory, lowered, reason, chosen.text)
    copies = lowered.program.plan.copies
    lines = compiled_lines(traced.graph, traced.notes, host, copies, user_line())
    return variant, Compile(
        reason,
        chosen.text,
        end - start,
        seconds,
        lines,
        tuple(map(str, copies)),
        self._options.bounds_check,
        memory_use(lowered.dataflow, lowered.program.plan, {**chosen.sizes, **chosen.strides}),
        variant.is_worthwhile,
        getattr(lowered.program, "trips", None),
    )


def _placed(
    self: Any, traced: Traced, tree: Any, reason: str, text: str, start: float
) -> tuple[Variant, Compile]:
    """A variant whose program runs on several devices."""

    from tracejit.runtime.compile.placed import placed_variant

    variant = placed_variant(traced, tree, self._options.devices)
    end = time.perf_counter()
    lines = compiled_lines(traced.graph, traced.notes, (), (), user_line())
    return variant, Compile(reason, text, end - start, {"trace": end - start}, lines)


@room
def lower_call(self: Any, args: Any, kwargs: Any, device: str | None = None) -> Lowered:
    """The stages of a compile for these arguments, as a first call would make it.

    For a device it is what would run there, whether there is one or not.

    Raises TraceError where the call cannot be traced, TypeError where the arguments do not bind.
    """
    traced = _traced(self, args, kwargs)
    if device is None:
        return Lowered(traced, threads=self._options.threads, devices=self._options.devices)
    from tracejit.runtime.device.inspection import Inspection

    return Lowered(traced, Inspection())


@room
def lower_chosen(self: Any, args: Any, kwargs: Any, choose: Choose) -> Lowered:
    """The stages of a compile for these arguments that assumes of their leaves what `choose` says.

    Raises as `lower_call` does, also where the program needs the value of a number.
    """
    return Lowered(_traced(self, args, kwargs, choose), threads=self._options.threads)


def _traced(self: Any, args: Any, kwargs: Any, choose: Choose | None = None) -> Traced:
    bound = self._signature(follow_wrapped=False).bind(*args, **kwargs)
    leaves, tree = flatten(bound.args, bound.kwargs)
    for x in leaves:
        leaf_key(x)

    class _Fresh:
        scalars_static = ints_symbolic = False
        # What is chosen says nothing of arrays from outside: they are as they are now.
        sizes_static = choose is not None
        variants = ()
        spent: ClassVar[list[int]] = [0, 0]

    call = Call(leaves, (bound.args, bound.kwargs))
    self._learned.begin()
    traced, _ = _trace(self, _Fresh(), History(), call, tree, choose)
    return traced

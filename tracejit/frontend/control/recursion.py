"""Functions that call themselves as often as data says: `recursive_call`, and `recurse` in it.

The function is traced as a region until all that its calls pass, give and store fits: first with
the calls in it left out, as what the others give is known then. What it stores into from outside
is passed on and given back by each call, as a loop carries it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.control.kinds import parts_of
from tracejit.frontend.control.loop_aliases import note_left
from tracejit.frontend.control.loop_carried import MISSING, SAME, LoopCarried, Unlike
from tracejit.frontend.control.loop_parts import keys_in, parts_in, with_parts
from tracejit.frontend.control.recursion_arguments import Arguments, leaves_in
from tracejit.frontend.control.regions import Names, Side, close_region, entered, fail
from tracejit.frontend.control.widening import union_carry, widened
from tracejit.frontend.tracing.carried_sizes import CarriedSizes
from tracejit.frontend.tracing.contents import contents_of, put_contents
from tracejit.frontend.tracing.fixpoints import Fixpoints
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.memory.storage import Storage
from tracejit.frontend.tracing.trace import Trace, here, is_several_axes, user_line
from tracejit.frontend.tracing.tracer import TracedArray, lift, wrap
from tracejit.frontend.tracing.union import Union, Unreachable
from tracejit.ir.dims import symbol
from tracejit.ir.graph import Graph, Value
from tracejit.ir.types import PYBOOL, TOKEN, Type, type_substitute
from tracejit.ops.control.recursion import described

__all__ = ["Recursion", "call_recursive"]

_ROUNDS = 16
#: Calls of one function for unlike types that are inside each other.
_UNLIKE = 4
#: Codes of the errors of a function that stores into what its calls pass by value.
_STORES = ("TJ005", "TJ020")


def call_recursive(
    interpreter: Interpreter,
    callee: tuple[CodeType, Hashable],
    run: Callable[[Sequence[Any]], Any],
    names: Names,
    values: Sequence[Any],
) -> Any:
    """`run(values)`, a call of the function with this code, which may be inside another one.

    The second part of `callee` says which arguments the values are.

    Raises TraceError where what its calls pass, give or store has no common form.
    """
    code = callee[0]
    around = [r for r in interpreter.recursions if r.callee == callee]
    for recursion in reversed(around):
        if recursion.arguments.fits(values):
            return recursion.again([leaf for x in values for leaf in leaves_in(x)])
    if len(around) >= _UNLIKE:
        raise _refused(code, "arguments of too many types")
    try:
        return Recursion(interpreter, callee, run, names, values).call()
    except TraceError as e:
        arrays = [x for x in values for x in leaves_in(x) if isinstance(x, TracedArray)]
        if e.code not in _STORES or not arrays:
            raise
    return Recursion(interpreter, callee, run, names, values, windows=True).call()


def _refused(code: CodeType, why: str) -> TraceError:
    return TraceError("TJ020", f"{code.co_name}: {why}", user_line())


class Recursion:
    """One function that calls itself, for arguments of certain types."""

    def __init__(
        self,
        interpreter: Interpreter,
        callee: tuple[CodeType, Hashable],
        run: Callable[[Sequence[Any]], Any],
        names: Names,
        values: Sequence[Any],
        windows: bool = False,
    ) -> None:
        self.interpreter, self.run, self.names = interpreter, run, names
        self.callee, self.code = callee, callee[0]
        #: The frames of Python around the call.
        self.outside = interpreter.frames
        self.parent = here()
        self.arguments = Arguments(self.parent, values, windows)
        #: Tells it from others in the text of a graph.
        self.name = f"{self.code.co_name.strip('<>')}_{self.parent.fresh_size()}"
        self.result: LoopCarried | None = None
        self.sizes = CarriedSizes(self.parent, 1)
        #: What it stores into: memory, and parts of containers and objects that are no arrays.
        self.storages: list[Storage] = []
        self.objects: dict[int, Any] = {}
        #: What a call's stores may change under another name.
        self.stale: dict[int, Any] = {}
        self.parts: dict[int, list[LoopCarried]] = {}
        #: What it reads of the traces around it, and their sizes.
        self.captures: list[Value] = []
        self.free: tuple[str, ...] = ()
        #: Whether a result may be memory that the caller has; then the calls tell.
        self.is_shared = False
        #: Memory that calls pass by value.
        self.passed: set[Storage] = set()
        self.changed = False

    # A call inside ------------------------------------------------------------------------------

    def again(self, leaves: Sequence[Any]) -> Any:
        """The function calls itself. Raises Unreachable where it is not known yet what it gives."""
        trace = here()
        site, is_new = self.arguments.take(leaves)
        self.changed |= is_new
        if self.result is None or self.changed:
            fail(trace)
            raise Unreachable
        for x in self.arguments.arrays(leaves):
            self.passed |= x.storage.roots()
        operands = [*self.arguments.passed(leaves), *self._state(trace)]
        operands += [trace.capture(v, self.parent) for v in self.captures]
        sizes = [site[s] for s in self.arguments.sizes] + list(map(symbol, self.free))
        outs = self._emit("recurse", operands, tuple(sizes), ())
        return self._take(outs, leaves)

    def _state(self, trace: Trace) -> list[Value]:
        """What memory and containers hold now."""
        out = [storage.read(trace) for storage in self.storages]
        for key, x in self.objects.items():
            for carry, part in zip(self.parts[key], parts_in(contents_of(x)), strict=True):
                out += carry.begin(trace, part)
        return out

    def _emit(
        self, op: str, operands: Sequence[Value], sizes: tuple[Any, ...], regions: tuple[Graph, ...]
    ) -> tuple[Value, ...]:
        trace = here()
        binds = tuple(trace.fresh_size() for _ in self.sizes.names)
        named = dict(zip(self.sizes.names, map(symbol, binds), strict=True))
        types = [type_substitute(t, named) for t in self._result_types()]
        first = len(types) - len(self._state_types())
        given = len(self.arguments.types)
        written = tuple((first + k, given + k) for k in range(len(self.storages)))
        around = self.interpreter.recursions
        entered = around[-1].outside if around else 0
        attrs: dict[str, Any] = {
            "name": self.name,
            "frames": self.interpreter.frames - entered,
            "sizes": (sizes,) if regions else sizes,
            "types": tuple(described(t, binds) for t in types),
            "written": written,
        }
        return trace.emit_all(op, operands, attrs, regions=regions, binds=binds)

    def _result_types(self) -> list[Type]:
        assert self.result is not None
        flag = [PYBOOL] if self.is_shared else []
        return [*self.result.types, *flag, *self._state_types()]

    def _state_types(self) -> list[Type]:
        out = [storage.value.type for storage in self.storages]
        return out + [t for carries in self.parts.values() for c in carries for t in c.types]

    def _take(self, outs: Sequence[Value], leaves: Sequence[Any]) -> Any:
        """What a call with these leaves has given; what it has stored is stored."""
        trace, values = here(), iter(outs)
        assert self.result is not None
        # NumPy's layouts may follow from sizes that are known at run time.
        trace.unordered.update(v for v in outs if is_several_axes(v.type))
        results = [next(values) for _ in self.result.types]
        flag = wrap(trace, next(values)) if self.is_shared else None
        for storage in self.storages:
            storage.store(trace, next(values))
        for key, x in self.objects.items():
            self._put(trace, x, self.parts[key], values)
        result = self.result.inside(self.interpreter, trace, iter(results), MISSING, True)
        if flag is not None:
            # It may be what was passed, which therefore must not change while it is read.
            given = {x.storage: None for x in self.arguments.arrays(leaves)}
            for x in self.result.arrays(result):
                x.storage.input, x.storage.is_shared = -2, flag
                x.storage.may_alias = tuple((c, c.version) for c in given)
        return result

    def _put(
        self, trace: Trace, x: Any, carries: Sequence[LoopCarried], values: Iterator[Value]
    ) -> None:
        contents = contents_of(x)
        pairs = zip(carries, parts_in(contents), strict=True)
        parts = [c.inside(self.interpreter, trace, values, part, True) for c, part in pairs]
        self.interpreter.will_mutate(x)
        put_contents(x, with_parts(contents, parts))

    # The call from outside ----------------------------------------------------------------------

    def call(self) -> Any:
        """The call that is inside no other one."""
        side = self._settled()
        graph = self._graph(side)
        operands = [*self.arguments.first(), *self._state(self.parent), *self.captures]
        sizes = tuple(s.start for s in self.arguments.sizes) + tuple(map(symbol, self.free))
        self.parent.note("recursion", self.code.co_name)
        outs = self._emit("recursive_call", operands, sizes, (graph,))
        return self._take(outs, self.arguments.start)

    def _settled(self) -> Side:
        """The last trace of the function, in which nothing is new."""
        for _ in range(_ROUNDS):
            self.changed = False
            side = self._trace()
            if side.dead:
                if not self.changed:
                    raise _refused(self.code, "it always calls itself")
                continue
            self._look_at(side)
            if not self.changed:
                self._check(side)
                return side
        raise _refused(self.code, "what its calls pass or give does not settle")

    def _trace(self) -> Side:
        region = Trace(self.name, self.parent.env, self.parent)
        region.loops, region.carried_sizes = Fixpoints(), self.sizes
        region.stale |= self.stale
        symbols = tuple(str(s.inside) for s in self.arguments.sizes)
        self.sizes.counters = symbols
        types = [*self.arguments.types, *self._state_types()]
        self.inputs = [region.builder.input(t, f"p{k}") for k, t in enumerate(types)]
        self.passed = set()
        for x in self.arguments.arrays(self.arguments.start):
            self.passed |= x.storage.roots()
        before = self.names.all()
        with self._alone(), entered(region, self.names) as side:
            side.own_sizes = symbols
            values = iter(self.inputs)
            given = [next(values) for _ in self.arguments.types]
            for storage in self.storages:
                region.stored[storage] = storage.value, storage.holder, storage.version
                storage.put(region, next(values))
            arguments = self.arguments.inside(region, given)
            for key, x in self.objects.items():
                region.changed[key] = x, contents_of(x)
                self._put(region, x, self.parts[key], values)
            try:
                side.outcome = self.run(arguments)
            except Unreachable:
                side.dead = True
            except TraceError:
                raise
            except Exception as e:
                raise _refused(self.code, f"it raises {type(e).__name__}") from e
        if any(side.names[name] is not x for name, x in before.items()):
            raise _refused(self.code, "it binds names of the function around it")
        return side

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Inside, nothing around takes exceptions or items: the calls end as eager ones then."""
        i, root = self.interpreter, self.parent.root
        kept = i.tries, i.blocks, i.handling, i.consumers
        takers = root.takers
        i.tries, i.blocks, i.handling, i.consumers, root.takers = [], [], [], [], []
        i.recursions.append(self)
        try:
            yield
        finally:
            i.recursions.pop()
            i.tries, i.blocks, i.handling, i.consumers = kept
            root.takers = takers

    # What is new --------------------------------------------------------------------------------

    def _look_at(self, side: Side) -> None:
        """Widen what the last trace gives, stores and reads."""
        note_left(self.interpreter, side, id(self), {"result": side.outcome})
        owner = self.interpreter.owner_of
        for key, x in side.region.stale.items():
            made = owner(x)
            if key not in self.stale and (made is None or not side.region.encloses(made)):
                self.stale[key] = x
                self.changed = True
        for storage in side.stored:
            if storage.value.type == TOKEN:
                raise _refused(self.code, "it prints, or draws random numbers")
            if storage not in self.storages:
                self.storages.append(storage)
                self.changed = True
        if side.clobbered:
            raise _refused(self.code, "it stores into one of several arrays")
        for key, (x, contents) in side.changed.items():
            self._look_at_object(side, key, x, contents)
        self.sizes.begin()
        self.sizes.at("result")
        before = self.result
        try:
            new = widened(self.interpreter, side, before or LoopCarried(), MISSING, side.outcome)
        except Unlike:
            raise _refused(self.code, f"it gives a {type(side.outcome).__name__}") from None
        self.result = new
        shared = self.is_shared or any(map(self._is_shared_in(side), new.arrays(side.outcome)))
        self.changed |= new is not before or shared is not self.is_shared
        self.is_shared = shared
        self._graph(side)
        captures = list(side.region.captures)
        if self.changed or set(captures) - set(self.captures):
            # What was read only for another form of the calls is left out next time.
            self.captures, self.changed = [] if self.changed else captures, True
        else:
            free = self._graph(side).sizes[len(self.arguments.sizes) :]
            self.changed, self.free = free != self.free, free

    def _look_at_object(self, side: Side, key: int, x: Any, contents: Any) -> None:
        now = contents_of(x)
        if isinstance(contents, set) or keys_in(now) != keys_in(contents):
            raise _refused(self.code, f"a {type(x).__name__} grows or shrinks in it")
        known = self.parts.get(key, [SAME] * len(keys_in(now)))
        carries = []
        for carry, a, b in zip(known, parts_in(now), parts_in(contents), strict=True):
            try:
                new: LoopCarried | None = widened(self.interpreter, side, carry, a, b)
            except Unlike:
                new = union_carry(self.interpreter, side, a, b)
            if new is None:
                raise _refused(self.code, f"a part of a {type(x).__name__} differs")
            carries.append(carry if new.like(carry) else new)
            if carries[-1].arrays(a) or carries[-1].arrays(b):
                raise _refused(self.code, f"it binds arrays to parts of a {type(x).__name__}")
        self.changed |= any(map(operator.is_not, known, carries))
        self.objects[key], self.parts[key] = x, carries

    def _is_shared_in(self, side: Side) -> Callable[[TracedArray], bool]:
        def is_shared(x: TracedArray) -> bool:
            storages = (x.storage, *x.storage.roots())
            return any(
                not side.region.encloses(c.trace) or c.input is not None or c.source is not None
                for c in storages
            )

        return is_shared

    def _check(self, side: Side) -> None:
        """Raise TraceError where arrays may be the same memory and the calls do not show it."""
        assert self.result is not None
        roots = set().union(*(storage.roots() for storage in self.storages))
        if roots & self.passed:
            raise _refused(self.code, "it stores into memory that its calls pass by value")
        found = [c for memory in self.result.memory(side.outcome) for c in memory]
        if len(found) != len(set(found)) or any(c in self.storages for c in found):
            raise _refused(self.code, "two of its results may be one array")

    # The region ---------------------------------------------------------------------------------

    def _graph(self, side: Side) -> Graph:
        region = side.region
        assert self.result is not None
        mark = region.mark()
        with side.reopened():
            outputs = self.result.end(region, side.outcome)
            if self.is_shared:
                outputs.append(lift(self._aliased(side, side.outcome)).value())
            for storage in self.storages:
                outputs.append(side.stored[storage])
            for key in self.objects:
                ends = parts_in(side.changed[key][1])
                for carry, part in zip(self.parts[key], ends, strict=True):
                    outputs += carry.end(region, part)
            outputs += [region.size_value(d) for d in self.sizes.ends.values()]
        symbols = [str(s.inside) for s in self.arguments.sizes]
        graph = close_region(region, self.inputs, symbols, self.captures, outputs)
        region.rollback(mark)
        return graph

    def _aliased(self, side: Side, x: Any) -> Any:
        """Whether an array in a result is memory that the caller has."""
        i = self.interpreter
        if isinstance(x, Union):
            return i.ternary(
                x.predicate,
                lambda: self._aliased(side, x.first),
                lambda: self._aliased(side, x.second),
            )
        if isinstance(x, TracedArray):
            flag = x.storage.is_shared
            return self._is_shared_in(side)(x) if flag is None else flag
        parts = parts_of(x)
        for part in parts[2] if parts is not None else ():
            found = self._aliased(side, part)
            if found is not False:
                rest = [p for p in parts[2] if p is not part] if parts is not None else []
                others = [self._aliased(side, p) for p in rest]
                return i.or_(found, *[lambda f=f: f for f in others])
        return False

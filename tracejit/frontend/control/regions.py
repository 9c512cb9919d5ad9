"""Runs a part of the user's program as a region of its own, and takes back what it has changed.

Names, memory and containers are as before afterwards; what the region left in them is kept in a
`Side`, to be joined with another one or carried by a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from types import CellType
from typing import TYPE_CHECKING, Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import TraceError
from tracejit.frontend.tracing.contents import contents_of, put_contents
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.memory.storage import Storage
from tracejit.frontend.tracing.raised import Raising
from tracejit.frontend.tracing.trace import Trace, current_trace, user_line
from tracejit.frontend.tracing.union import UNBOUND, Unreachable
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Graph, Value, sizes_read
from tracejit.ir.types import PYBOOL

if TYPE_CHECKING:
    from collections.abc import Iterator


__all__ = ["Names", "Side", "Undo", "close_region", "run_on", "run_side"]


#: The beginning of what names of another function are called.
FOREIGN = "^"


class Names:
    """Some names of a function that is being traced, through the cells that hold them.

    Those that are bound by what takes the items of a generator are among the generator's.
    """

    def __init__(self, names: Sequence[str], functions: Sequence[Any]) -> None:
        cells: dict[str, CellType] = {}
        for f in functions:
            if f is not None:
                cells.update(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        self.cells = {name: cells[name] for name in names if name in cells}
        self._others = [cell for name, cell in cells.items() if name not in self.cells]
        #: Tells apart the statements whose names these are.
        self.statement = next((f.__code__ for f in functions if f is not None), None)
        trace = current_trace()
        foreign = [] if trace is None else trace.root.takers
        if foreign:
            self.cells |= {FOREIGN + name: cell for name, cell in foreign[-1].cells.items()}
            self._others += foreign[-1]._others

    @property
    def foreign(self) -> set[str]:
        """Those of another function, which takes the items of this generator."""
        return {name for name in self.cells if name.startswith(FOREIGN)}

    def __iter__(self) -> Iterator[str]:
        return iter(self.cells)

    def read(self) -> Iterator[Any]:
        """What other names of the functions hold."""
        for cell in self._others:
            with suppress(ValueError):
                yield cell.cell_contents

    def get(self, name: str) -> Any:
        """What a name holds, or UNBOUND."""
        try:
            return self.cells[name].cell_contents
        except ValueError:
            return UNBOUND

    def set(self, name: str, value: Any) -> None:
        """Bind a name, or unbind it."""
        if value is not UNBOUND:
            self.cells[name].cell_contents = value
        elif self.get(name) is not UNBOUND:
            del self.cells[name].cell_contents

    def all(self) -> dict[str, Any]:
        """What the names hold."""
        return {name: self.get(name) for name in self.cells}

    def put(self, values: Mapping[str, Any]) -> None:
        """Bind all names."""
        for name, value in values.items():
            self.set(name, value)


@dataclass
class Side:
    """What a region left behind: its outcome, names, memory and containers."""

    region: Trace
    outcome: Any = None
    #: It never ends: it raises, or fails in a way that only eager execution reports.
    dead: bool = False
    #: Of a loop's body: whether there may be another iteration (a bool, or a traced one).
    goes_on: Any = True
    names: dict[str, Any] = field(default_factory=dict)
    stored: dict[Storage, Value] = field(default_factory=dict)
    #: What the storages in `stored` were at its end.
    states: dict[Storage, tuple[Value, Trace, int]] = field(default_factory=dict)
    changed: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    #: Of a loop's body, by the id of an object at its end: labels that hold in each iteration.
    labels: dict[int, tuple[set[Any], set[Any]]] = field(default_factory=dict)
    #: Tuples that a loop's body has from outside, by id.
    tuples: dict[int, Any] = field(default_factory=dict)
    #: Sizes that only exist inside it.
    own_sizes: tuple[str, ...] = ()

    @property
    def clobbered(self) -> list[Storage]:
        """Memory from outside that it stores into under other names."""
        return [
            storage for storage in self.region.clobbered if not self.region.encloses(storage.trace)
        ]

    def collect(self) -> None:
        """Note what memory and containers hold at the region's end, which is now."""
        region = self.region
        self.stored = {storage: storage.read(region) for storage in region.stored}
        self.states = {c: (c.value, c.holder, c.version) for c in region.stored}
        self.changed = {k: (x, contents_of(x)) for k, (x, _) in region.changed.items()}

    @contextmanager
    def reopened(self, containers: bool = True) -> Iterator[None]:
        """Record more in the region; memory and `containers` hold what it left there."""
        outside = {
            storage: (storage.value, storage.holder, storage.version) for storage in self.states
        }
        changed = list(self.changed.values()) if containers else []
        contents = [(x, contents_of(x)) for x, _ in changed]
        for storage, state in self.states.items():
            storage.restore(state)
        for x, left in changed:
            put_contents(x, left)
        try:
            with self.region.reopened():
                yield
        finally:
            for storage, state in outside.items():
                storage.restore(state)
            for x, before in contents:
                put_contents(x, before)


class Undo:
    """The state of names, memory and containers before a region, to go back to."""

    def __init__(self, names: Names) -> None:
        self.names, self.before = names, names.all()

    def back(self, region: Trace) -> None:
        """Take back what `region` has changed."""
        self.names.put(self.before)
        for storage, state in region.stored.items():
            storage.restore(state)
        for storage in region.clobbered:
            storage.clobbered = False
        for x, contents in region.changed.values():
            put_contents(x, contents)


@contextmanager
def entered(region: Trace, names: Names) -> Iterator[Side]:
    """Trace a region; afterwards all is as before, and the side holds what it left."""
    undo, side = Undo(names), Side(region)
    try:
        with region.active():
            yield side
            side.names = names.all()
        side.collect()
    except Raising:
        # Nobody knows whether the region is reached.
        raise TraceError("TJ024", "one that a condition raises", user_line()) from None
    finally:
        undo.back(region)


@contextmanager
def resumed(side: Side, names: Names) -> Iterator[None]:
    """Go on where a traced region has ended, with what it left there; as `entered` otherwise."""
    region, undo = side.region, Undo(names)
    names.put(side.names)
    for storage, state in side.states.items():
        storage.restore(state)
    for storage in region.clobbered:
        storage.clobbered = True
    for x, contents in side.changed.values():
        put_contents(x, contents)
    try:
        with region.reopened():
            yield
            side.names = names.all()
        side.collect()
    finally:
        undo.back(region)


def run_side(
    interpreter: Interpreter,
    parent: Trace,
    name: str,
    run: Callable[[], Any],
    names: Names,
    facts: Sequence[tuple[Value, bool]] = (),
) -> Side:
    """Run one side of a branch. Raises TraceError where it cannot be traced."""
    region = Trace(name, parent.env, parent)
    for value, truth in facts:
        region.assume(value, truth)
    with entered(region, names) as side:
        _run_in(interpreter, side, run, names)
    return side


def run_on(interpreter: Interpreter, side: Side, run: Callable[[], Any], names: Names) -> None:
    """Run more in a side of a branch that has run to its end. Raises as `run_side`."""
    with resumed(side, names):
        _run_in(interpreter, side, run, names)


def _run_in(interpreter: Interpreter, side: Side, run: Callable[[], Any], names: Names) -> None:
    try:
        side.outcome = interpreter.bounded(run, names)
    except Unreachable:
        side.dead = True
    except TraceError:
        raise
    except Exception as e:
        # Wherever this side runs, Python raises: the call is then repeated eagerly.
        fail(side.region)
        side.region.note("eager", f"this side of a branch raises {type(e).__name__}", user_line())
        side.dead = True


def fail(region: Trace) -> None:
    """Bail out where the region gets here."""
    region.emit_all("check", (region.constant(False, PYBOOL),), {})


def close_region(
    region: Trace,
    carried: Sequence[Value],
    carried_sizes: Sequence[str],
    captures: Sequence[Value],
    outputs: Sequence[Value],
    size_outputs: tuple[Dim, ...] = (),
) -> Graph:
    """The region as a closed graph: inputs are the carried values, then the node's captures."""
    builder = region.builder
    if region.parent is not None:
        region.parent.stale.update(region.stale)
    inputs = [
        region.captures[c] if c in region.captures else Value(c.type, c.name) for c in captures
    ]
    raw = Graph(
        builder.name,
        (),
        (*carried, *inputs),
        tuple(builder.nodes),
        tuple(outputs),
        (),
        size_outputs,
    )
    bound = {s for n in builder.nodes for s in n.binds}
    free = sorted(sizes_read(raw) - set(carried_sizes) - bound)
    return Graph(
        raw.name, (*carried_sizes, *free), raw.inputs, raw.nodes, raw.outputs, (), size_outputs
    )

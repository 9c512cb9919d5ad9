"""What a traced function returns as leaves and a tree, with unions where it differs in kind."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any, NamedTuple

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.grown import (
    Choice,
    Constant,
    Form,
    Pooled,
    Record,
    holds_rows,
    is_grown,
    leaves_in,
    prefixes,
)
from tracejit.frontend.tracing.instances import is_instance
from tracejit.frontend.tracing.pytree import (
    LEAF,
    MOST_NESTED,
    Alternative,
    Boxed,
    Flattener,
    Identity,
    Made,
    Rendered,
    Shared,
    Static,
    TreeDef,
    tuples_in,
)
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.text import TracedText, never_raises
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, here, user_line, wrap
from tracejit.frontend.tracing.union import UNBOUND, Union

__all__ = ["Given", "flatten_result"]


class Given(NamedTuple):
    """A leaf of a result that is a leaf of the call, an instance or container from outside."""

    number: int


def flatten_result(
    result: Any,
    made: Callable[[Any], bool],
    outside: Callable[[Any], bool],
    place_of: Callable[[Any], int | None],
    shared: Container[int] = (),
    rows_stay: bool = False,
    keys: Iterable[int] = (),
    stored: Iterable[Any] = (),
) -> tuple[list[Any], TreeDef]:
    """The traced leaves of a result (tracers, sizes, `Given`), and the tree with what is static.

    `made` says whether a container was made inside the trace, `outside` whether an object is one
    from outside that may be handed back, `place_of` which leaf of the call it is, if it is known by
    that, `shared` has the ids of lists that grown ones hold, `rows_stay` says that lists which
    are elements of others must not come out, `keys` has the ids of tuples in keys of dicts from
    outside, and `stored` are new keys of these.
    Raises TraceError for any other list, dict, dataclass or object.
    """
    flattener = _ResultFlattener(made, outside, place_of, rows_stay)
    flattener.keys.update(keys)
    for key in stored:
        flattener.note_key(key)
    flattener.count(result)
    if not flattener.keys.isdisjoint(flattener.occurs):
        raise TraceError("TJ034", "a tuple that is a key, and is elsewhere", user_line())
    root = flattener.node(result)
    arrays = [x for x in flattener.leaves if isinstance(x, TracedArray)]
    if flattener.holds and (
        any(x.storage.listed for x in arrays) or any(key in shared for key in flattener.occurs)
    ):
        raise TraceError("TJ005", "a list of arrays, and one of them, as results", user_line())
    return flattener.leaves, TreeDef(root, len(flattener.leaves))


def _boxed_form(form: Form) -> Any:
    """A form as `boxed` takes it."""
    assert not isinstance(form, Pooled)
    if isinstance(form, Constant):
        return "constant", form.value
    if isinstance(form, (Choice, Record)):
        parts = form.kinds if isinstance(form, Choice) else form.parts
        kind = "choice" if isinstance(form, Choice) else "tuple"
        return kind, tuple((_boxed_form(p), len(list(leaves_in(p)))) for p in parts)
    if form.kind != "list":
        return form.kind if form.kind in ("scalar", "array") else "python"
    assert form.inner is not None
    inner = _boxed_form(form.inner)
    return inner if inner == "python" else ("list", inner)


class _ResultFlattener(Flattener):
    def __init__(
        self,
        made: Callable[[Any], bool],
        outside: Callable[[Any], bool],
        place_of: Callable[[Any], int | None],
        rows_stay: bool,
    ) -> None:
        super().__init__()
        self.made, self.outside, self.place_of = made, outside, place_of
        self.rows_stay = rows_stay
        self._given: dict[int, Given] = {}
        #: Whether there is a list made of arrays whose elements are no numbers.
        self.holds = False
        #: How often each container occurs (by its id), and what those are called that do several
        #: times.
        self.occurs: dict[int, int] = {}
        #: The ids of the keys of dicts.
        self.keys: set[int] = set()
        self._numbers: dict[int, int] = {}

    def count(self, x: Any) -> None:
        """Look at all containers of a result, to know which occur several times."""
        if isinstance(x, Union):
            self.count(x.first)
            self.count(x.second)
            return
        parts = self._parts(x)
        if parts is None:
            return
        self.occurs[id(x)] = self.occurs.get(id(x), 0) + 1
        if self.occurs[id(x)] == 1:
            for part in parts:
                self.count(part)

    def note_key(self, key: Any) -> None:
        """Look at a key of a dict, which each call makes anew."""
        for part in tuples_in(key):
            self.keys.add(id(part))
            if self.place_of(part) is not None:
                raise TraceError("TJ034", "a tuple from outside that is a key", user_line())

    def _parts(self, x: Any) -> Any:
        """What a container holds that is made anew; None for anything else."""
        if isinstance(x, (Tracer, SymInt)):
            return None
        if isinstance(x, tuple):
            return x or None
        if not self.made(x):
            return None
        if type(x) is list:
            return x
        if type(x) is dict:
            for key in x:
                self.note_key(key)
            return x.values()
        if isinstance(x, StandIn):
            return x.result()[1]
        return contents_of(x).values() if is_instance(x) else None

    def node(self, x: Any) -> Any:
        if self.occurs.get(id(x), 0) < 2:
            return self._node(x)
        start = len(self.leaves)
        inner = self._node(x)
        number = self._numbers.setdefault(id(x), len(self._numbers))
        return Shared(number, inner, len(self.leaves) - start)

    def _node(self, x: Any) -> Any:
        if isinstance(x, (Tracer, SymInt)):
            self.leaves.append(x)
            return LEAF
        if type(x) in (bool, int, float, complex) or isinstance(x, np.generic):
            return Static(x)
        if isinstance(x, np.ndarray):
            raise TraceError("TJ006", "an array in the result", user_line())
        if isinstance(x, TracedText):
            x = x.settled()
        if isinstance(x, TracedText):
            return self.text(x)
        if isinstance(x, Union):
            return self.choice(x)
        if x is UNBOUND:
            return Static(x)
        if isinstance(x, GeneratorCall):
            raise TraceError("TJ023", "a generator in the result", user_line())
        if not self.made(x):
            number = self.place_of(x)
            if number is not None:
                self.leaves.append(self._given.setdefault(number, Given(number)))
                return LEAF
        if is_grown(x):
            return self.grown(x)
        return super().node(x)

    def grown(self, x: list[Any]) -> Boxed:
        """A list that grows with data: as arrays, of which each call makes a new one."""
        self.once(x)
        if self.rows_stay and holds_rows(x):
            raise TraceError("TJ005", "a list that is in a list from outside", user_line())
        if isinstance(x[0].form, Pooled):
            what = "a list of lists or arrays from outside that changes, or is a result"
            raise TraceError("TJ005", what, user_line())
        if not x[0].owned and any(leaf.shape for leaf in leaves_in(x[0].form)):
            raise TraceError("TJ005", "a list of arrays that others may hold, too", user_line())
        self.holds |= any(leaf.shape for leaf in leaves_in(x[0].form))
        held = [wrap(here(), array.copy().value()) for array in prefixes(x)]
        self.leaves += held
        return Boxed(_boxed_form(x[0].form), len(held))

    def text(self, x: TracedText) -> Rendered:
        """A text: made when the run is over, so making it must not raise."""
        template, operands = x.parts()
        if not never_raises(template, operands):
            x.refuse("a result")
        self.leaves += operands
        return Rendered(template, len(operands))

    def choice(self, x: Union) -> Alternative:
        """One of the two sides comes out of a call."""
        self.leaves.append(x.predicate)
        start = len(self.leaves)
        first = self.node(x.first)
        middle = len(self.leaves)
        second = self.node(x.second)
        return Alternative(first, second, (middle - start, len(self.leaves) - middle))

    def other(self, x: Any) -> Any:
        if isinstance(x, StandIn):
            self.once(x)
            make, parts = x.result()
            return Made, (make,), tuple([self.node(v) for v in parts])
        if is_instance(x) and self.made(x):
            self.once(x)
            held = contents_of(x)
            self.depth += 1
            if self.depth > MOST_NESTED:
                raise TraceError("TJ003", "objects that hold themselves, as a result", user_line())
            parts = tuple([self.node(v) for v in held.values()])
            self.depth -= 1
            return type(x), tuple(held), parts
        # What the program has read elsewhere is guarded there.
        stateless = isinstance(x, (np.ufunc, type)) and not self.made(x)
        if not (self.outside(x) or stateless):
            raise TraceError("TJ003", f"a result of type {type(x).__name__}", user_line())
        return Identity(x)

    def once(self, x: Any) -> None:
        if not self.made(x):
            what = f"a {type(x).__name__} from outside as a result"
            raise TraceError("TJ003", what, user_line())

"""What rewritten code calls instead of acting itself: every step whose meaning depends on a value.

A hook does what Python does where the value is traced or made inside the trace, goes through
`Capture` where it comes from outside, and raises TraceError wherever it cannot know: nothing is
ever frozen.
"""

from __future__ import annotations

import enum
import itertools
import operator
from collections.abc import Callable, Iterator
from types import BuiltinMethodType, CodeType, FunctionType, GeneratorType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.base.late import imported
from tracejit.base.methods import METHODS
from tracejit.errors import TraceError
from tracejit.frontend.capture.state import OutsideState
from tracejit.frontend.capture.values import MISSING, Capture, class_lookup
from tracejit.frontend.control.unions import choose, leaves_of, narrow, narrow_bound
from tracejit.frontend.interpreter import calls
from tracejit.frontend.interpreter.calls_on_unions import call_on_unions, has_union
from tracejit.frontend.interpreter.frames import frames_of
from tracejit.frontend.interpreter.known import Known, is_plain_key
from tracejit.frontend.numpy.registry import SUBSCRIPTS
from tracejit.frontend.python import failures, objects, operators
from tracejit.frontend.tracing import checks
from tracejit.frontend.tracing.aliases import Aliases
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.generator import GeneratorCall
from tracejit.frontend.tracing.grown import is_grown, size_of
from tracejit.frontend.tracing.instances import is_instance, is_stream
from tracejit.frontend.tracing.items import Items
from tracejit.frontend.tracing.positions import Position
from tracejit.frontend.tracing.pytree import (
    VIEWS,
    dataclass_fields,
    is_constant,
    is_namedtuple,
    is_plain_dataclass,
)
from tracejit.frontend.tracing.raised import TracedError
from tracejit.frontend.tracing.restarts import Recursive
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.text import TracedText, concatenate
from tracejit.frontend.tracing.trace import Trace, here, user_line
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar, Tracer
from tracejit.frontend.tracing.union import UNBOUND, Union, Unreachable

__all__ = ["ChosenAttribute", "TraceInterpreter"]


class ChosenAttribute:
    """An attribute of one of two objects: what it is follows from what is done with it."""

    def __init__(self, owner: Union, name: str) -> None:
        self.owner, self.name = owner, name


_STEPS = 40_000
#: How many items a comprehension goes over without a thought of a loop.
_AT_ONCE = 8
#: How many elements of a container are copied in a step.
_ELEMENTS_OF_A_STEP = 64
#: Calls of a function within each other, each in a region of its own; and all of its calls.
_RECURSIONS, _CALLS = 24, 400
#: Such calls until a function is known to call itself as often as data says; the square of all.
_FOLLOWED = 5
#: Calls inside each other that are followed: each takes some ten frames of Python.
_NESTED = 400
_NO_ITEMS: dict[Any, Any] = {}
_EMPTY: tuple[Any, ...] = (
    *([], (), _NO_ITEMS, _NO_ITEMS.values(), _NO_ITEMS.items(), "", b"", range(0), set()),
)
_ITERATORS: tuple[type, ...] = (
    zip,
    map,
    filter,
    enumerate,
    reversed,
    *(type(iter(x)) for x in _EMPTY),
    *(type(reversed(x)) for x in _EMPTY if hasattr(x, "__reversed__")),
)
_WITHOUT_ITEMS = (type(None), bool, int, float, complex)
_SEQUENCES = (list, tuple, dict, str, bytes, range, *VIEWS)


#: Classes whose methods become the interpreter's when the first of them is called.
_LATER = (
    ("control.statements", "Flow"),
    ("control.exceptions", "Exceptions"),
    ("python.matching", "Matching"),
    ("control.generators", "Generators"),
)

if TYPE_CHECKING:
    from tracejit.frontend.control.exceptions import Exceptions
    from tracejit.frontend.control.generators import Generators
    from tracejit.frontend.control.regions import Names
    from tracejit.frontend.control.statements import Flow
    from tracejit.frontend.python.matching import Matching

    class _Control(Flow, Exceptions, Matching, Generators):
        pass

else:

    class _Control:
        def __getattr__(self, name: str) -> Any:
            for module, of in _LATER:
                methods = vars(getattr(imported(f"tracejit.frontend.{module}"), of))
                for method, function in methods.items():
                    if not method.startswith("__") and method not in vars(_Control):
                        setattr(_Control, method, function)
            if name in vars(_Control):
                return getattr(self, name)
            raise AttributeError(name)


class TraceInterpreter(Known, _Control):
    """The interpreter of one trace. `home` is the top-level package of the compiled function."""

    slice = slice

    def __init__(self, capture: Capture, home: str) -> None:
        self.capture = capture
        capture.trace.interpreter = self
        self.state = OutsideState(capture)
        self.home = home
        self.functions: dict[int, FunctionType] = {}
        self.rolling: list[Any] = []
        self.recursions: list[Any] = []
        self.shared: dict[int, Any] = {}
        self.aliases = Aliases(self.is_local)
        self.removals: dict[int, int] = {}
        #: How many iterators are being asked for an item, each by the one before.
        self.drawing = 0
        self.steps = 0
        #: Operations of Python that the trace stands for, about one for each 15 ns.
        self.operations = 0
        #: The calls that are being traced: for each function, how deep in regions each stands.
        self.active: dict[CodeType, list[int]] = {}
        self.calls: dict[CodeType, int] = {}
        self.nested = 0
        self.frames = self.entered = 0
        self.boxes: dict[int, Any] = {}
        self.consumers = []
        self.local_generators: dict[int, Any] = {}
        self.tries, self.blocks, self.handling = [], [], []
        self.filters = self.suspended = 0

    # Made inside ---------------------------------------------------------------------------------

    def allocate(self, x: Any) -> Any:
        """Note what the traced program has just made: it may be changed, where it was made."""
        if type(x) in _ITERATORS or type(x).__module__ == "itertools" or type(x) is GeneratorType:
            from tracejit.frontend.python.positions import Foreign

            x = Foreign(self, x)
        self.capture.created[id(x)] = (x, here())
        if type(x) is list:
            self.copied(len(x))
        return x

    def box(self) -> Any:
        """A new object for names that functions made inside share."""
        made = self.allocate(SimpleNamespace())
        self.boxes[id(made)] = made
        return made

    def is_local(self, x: Any) -> bool:
        """Whether `x` was made inside the trace."""
        return id(x) in self.capture.created

    def adopt(self, x: Any) -> Any:
        """Note the containers of a result that a function of the compiler has built."""
        if id(x) in self.capture.rebuilt or isinstance(x, Tracer):
            return x
        if type(x) is dict:
            parts = list(x.values())
        elif type(x) in (list, tuple) or is_namedtuple(type(x)):
            parts = list(x)
        elif is_plain_dataclass(x):
            parts = [getattr(x, name) for name in dataclass_fields(x) or ()]
        else:
            return x
        for part in parts:
            self.adopt(part)
        return x if isinstance(x, tuple) else self.allocate(x)

    def owner_of(self, x: Any) -> Trace | None:
        """The trace in which `x` was made; None for an object from outside.

        Stand-ins of containers belong to the trace of the function itself.
        """
        if id(x) in self.capture.rebuilt:
            return here().root
        _, trace = self.capture.created.get(id(x), (None, None))
        return trace

    def require_mutable(self, x: Any) -> None:
        """Note that `x` changes next. Raises TraceError TJ027 unless it was made inside."""
        if self.owner_of(x) is None:
            raise TraceError("TJ027", f"a {type(x).__name__} from outside", user_line())
        if id(x) in self.shared:
            raise TraceError("TJ005", "a change of a list that another list holds", user_line())
        self.aliases.require_current(x)
        self.aliases.stored(x, here())
        if id(x) in self.capture.rebuilt:
            self.state.touch(x)
        self.will_mutate(x)

    def will_remove(self, x: Any) -> None:
        """As `require_mutable`, for a change that may take something out of `x`."""
        self.require_mutable(x)
        self.removals[id(x)] = self.removals.get(id(x), 0) + 1

    def will_mutate(self, x: Any) -> None:
        """Note that `x` changes next: a region takes back what it has changed."""
        made, trace = self.owner_of(x), here()
        if made is trace or id(x) in trace.changed:
            return
        if made is None or not made.encloses(trace):
            what = f"a {type(x).__name__} made in a branch or loop is changed outside"
            raise TraceError("TJ022", what, user_line())
        trace.changed[id(x)] = x, (contents := contents_of(x))
        self.copied(len(contents))

    def share(self, x: Any) -> Any:
        """`x`, a list that another one holds by value: it must not be changed any more."""
        self.shared[id(x)] = x
        return x

    def fresh(self, x: Any, memories: dict[int, TracedArray] | None = None) -> Any:
        """A result of NumPy or Python on concrete values: arrays become constants of the graph.

        Those that share `memories`, of one result, share them there.
        """
        if isinstance(x, np.ndarray):
            return checks.constant_array(x, memories)
        if type(x) in (list, dict, set):
            return self.allocate(x)
        if type(x) is tuple and any(isinstance(v, np.ndarray) for v in x):
            memories = {} if memories is None else memories
            return tuple([self.fresh(v, memories) for v in x])
        return x

    # Conditions and iteration --------------------------------------------------------------------

    def truth(self, x: Any) -> Any:
        """`x`, which Python is about to test."""
        if isinstance(x, (Tracer, SymInt, np.generic)) or is_constant(x):
            return x
        self.aliases.require_current(x)
        if is_grown(x):
            return self.compare("gt", size_of(x), 0)
        if isinstance(x, StandIn):
            return self.compare("gt", self.call(len, x), 0)
        cls = type(x)
        if cls in (*_SEQUENCES, set, frozenset) or is_namedtuple(cls):
            self.known(x)
            return x
        if isinstance(x, type) and type(x) is not type:
            cls = type(x)
        for name in ("__bool__", "__len__"):
            if class_lookup(cls, name) is not MISSING and not isinstance(x, enum.EnumMeta):
                raise TraceError("TJ008", f"a condition on a {cls.__name__}", user_line())
            owner = self.capture.source_of(x)
            if not isinstance(x, type):
                self.capture.guard_methods(x, name)
            elif owner is not None:
                self.capture.guard_type(owner, type(x))
                self.capture.guard_absent(owner, name)
        return x

    def known(self, x: Any) -> None:
        """Raise TraceError unless the contents of a set or iterator can be relied on."""
        if self.capture.is_outside(x):
            raise TraceError("TJ006", f"a {type(x).__name__} from outside", user_line())

    def ordered(self, x: Any) -> None:
        """Raise TraceError unless a set, or an iterator, gives its contents in Python's order.

        That follows from all that a set has been through. What a branch or loop does to one is
        done again, to a set that only holds the same.
        """
        self.known(x)
        if id(x) in here().shuffled:
            raise TraceError("TJ022", "the order of a set that it changes", user_line())
        if type(x) in (set, frozenset):
            here().note_order(x)

    def keys(self, x: Any) -> Any:
        """The elements of `x` for a method of sets: those of Python look at what has them."""
        keys = list(self.iterate_keys(x))
        if type(x) in (set, frozenset, dict) and all(map(operator.is_, keys, x)):
            return x
        return keys

    def iterate(self, x: Any) -> Iterator[Any]:
        """An iterator over `x`. Raises TypeError as Python does, TraceError for unknown classes."""

        from tracejit.frontend.control.iteration import items_of
        from tracejit.frontend.python import positions

        self.step()
        x = narrow(x)
        self.aliases.require_current(x)
        if isinstance(x, TracedText):
            x = x.known("iteration over a text")
        cls = type(x)
        if isinstance(x, Items):
            return iter(x)
        if isinstance(x, GeneratorCall):
            raise TraceError("TJ023", "a generator whose items are taken one by one", user_line())
        if isinstance(x, StandIn):
            return self.iterate(x.iterated())
        if is_grown(x):
            return iter(items_of(x) or ())
        if isinstance(x, Position):
            return x
        if cls in _ITERATORS:
            raise TraceError("TJ029", f"a {cls.__name__} made elsewhere", user_line())
        if cls in _SEQUENCES or cls in (set, frozenset) or is_namedtuple(cls):
            self.ordered(x)
            return positions.walk(self, x)
        if isinstance(x, TracedArray):
            return positions.walk(self, x)
        if isinstance(x, enum.EnumMeta):
            checks.require_plain_enum(self.capture, x, "__iter__")
            members: list[Any] = list(x)
            return iter([self.capture.object_source(m, str(m)).value for m in members])
        if isinstance(x, (Tracer, SymInt, np.generic)) or is_constant(x):
            raise TypeError(f"'{checks.class_of(x).__name__}' object is not iterable")
        method = objects.special(self, x, "__iter__")
        if method is None:
            what = "one of two values" if isinstance(x, Union) else f"a {cls.__name__}"
            raise TraceError("TJ029", what, user_line())
        return self.iterate(positions.given_by_iter(self, self.call(method)))

    def iterable(self, x: Any) -> Any:
        """What gives the items of `x`: what `__iter__` gives of an object of the program's own."""
        x = narrow(x)
        self.aliases.require_current(x)
        method = objects.special(self, x, "__iter__") if is_instance(x) else None
        if method is None:
            return x
        from tracejit.frontend.python.positions import given_by_iter

        return given_by_iter(self, self.call(method))

    def iterate_keys(self, x: Any) -> Iterator[Any]:
        """As `iterate`, for the elements of a set."""
        return map(self.key, self.iterate(x))

    def iterate_unpacked(self, x: Any, pattern: tuple[Any, ...]) -> Iterator[Any]:
        """As `iterate`, for items that are unpacked by `pattern`."""
        return (self._matched(item, pattern) for item in self.iterate(x))

    def _matched(self, item: Any, pattern: Any) -> Any:
        if pattern is None:
            return item
        # Python asks for one item more than it wants.
        parts = list(itertools.islice(self.iterate(item), len(pattern) + 1))
        if len(parts) < len(pattern):
            found = f"expected {len(pattern)}, got {len(parts)}"
            raise ValueError(f"not enough values to unpack ({found})")
        if len(parts) > len(pattern):
            raise ValueError(f"too many values to unpack (expected {len(pattern)})")
        return [self._matched(v, p) for v, p in zip(parts, pattern, strict=True)]

    def unpack(self, x: Any, wanted: int | None) -> Any:
        """`x`, which Python is about to unpack: as `wanted` items, or as any number of them."""
        self.aliases.require_current(x)
        if isinstance(x, GeneratorCall):
            items = self.collected(x)
            if wanted is not None and len(items) > wanted:
                raise TraceError("TJ023", "a generator with more items than names", user_line())
            return items
        return x if type(x) in (tuple, list) and not is_grown(x) else self.iterate(x)

    def mapping(self, x: Any) -> dict[Any, Any]:
        """`x`, whose items Python is about to take."""
        self.aliases.require_current(x)
        if type(x) is not dict:
            raise TraceError("TJ008", f"** of a {type(x).__name__}", user_line())
        return x

    def key(self, k: Any) -> Any:
        """`k`, which Python is about to hash and compare."""
        if isinstance(k, TracedText):
            k = k.known("a key")
        checks.require_key(self.capture, k)
        given, k = k, checks.plain_key(k)
        if k is not given and isinstance(k, tuple):
            self.aliases.follow_one(k, given, "plain")
        self.capture.tell_apart(k)
        if type(k) is FunctionType:
            self.capture.require_identity(k)
        return k

    def joined(self, *parts: Any) -> Any:
        """An f-string, from its parts."""
        return concatenate(parts)

    def formatted(self, x: Any, conversion: str = "", spec: Any = "") -> Any:
        """`{x!conversion:spec}` in an f-string."""
        self.aliases.require_current(x)

        from tracejit.frontend.python.text import formatting

        return formatting.formatted(self, x, conversion, spec)

    def print_(self, *args: Any, **options: Any) -> None:
        """`print(*args, **options)`."""
        self.aliases.require_current(args)

        from tracejit.frontend.python import effects

        effects.print_(self, *args, **options)

    def raise_(self, error: Any, *cause: Any) -> None:
        """`raise error` or `raise error from cause`."""

        from tracejit.frontend.python import effects

        effects.raise_error(self, error, *cause)

    def within(self, manager: Any, run: Callable[[Any], Any], names: Names) -> Any:
        """The outcome of `run(value)`, a block that binds `names`, inside a context."""

        from tracejit.frontend.python import contexts

        return contexts.within(self, manager, run, names)

    def emit_error(self, error: TracedError) -> None:
        """Leave the program by an exception."""

        from tracejit.frontend.python import effects

        effects.emit_error(self, error)

    def assert_(self, test: Any, message: Callable[[], Any] | None, is_exact: bool = True) -> None:
        """`assert test, message()`."""

        from tracejit.frontend.python import effects

        effects.assert_(self, test, message, is_exact)

    # Operators -----------------------------------------------------------------------------------

    def unary(self, op: str, x: Any) -> Any:
        """`-x`, `+x` or `~x`."""
        self.operations += 1
        if isinstance(x, Union):
            return self.on_unions(lambda v: operators.unary(self, op, v), x)
        return operators.unary(self, op, x)

    def binary(self, op: str, a: Any, b: Any) -> Any:
        """An arithmetic operator."""
        self.operations += 1
        self.aliases.require_current(a, b)
        if isinstance(a, Union) or isinstance(b, Union):
            return self.on_unions(lambda x, y: operators.binary(self, op, x, y), a, b)
        return operators.binary(self, op, a, b)

    def in_place(self, op: str, a: Any, b: Any) -> Any:
        """What `a += b` and its kind give to the name."""
        self.operations += 1
        self.aliases.require_current(a, b)
        if isinstance(a, Union) or isinstance(b, Union):
            return self._in_place_on_unions(op, a, b)
        return operators.in_place(self, op, a, b)

    def _in_place_on_unions(self, op: str, a: Any, b: Any) -> Any:
        from tracejit.frontend.control.branches import lifted

        a, b = narrow_bound(a), narrow(b)
        if isinstance(a, Union) and a.merged is None:
            a = narrow(a)
        return lifted(self, lambda x, y: operators.in_place(self, op, x, y), a, b)

    def compare(self, op: str, a: Any, b: Any) -> Any:
        """One comparison."""
        self.operations += 1
        self.aliases.require_current(a, b)
        if isinstance(a, Union) or isinstance(b, Union):
            return self._compare_unions(op, a, b)
        return operators.compare(self, op, a, b)

    def _compare_unions(self, op: str, a: Any, b: Any) -> Any:
        from tracejit.frontend.control.branches import lifted

        if op in ("lt", "le", "gt", "ge"):
            return self.on_unions(lambda x, y: self.compare(op, x, y), a, b)
        a, b = narrow_bound(a), narrow_bound(b)
        if op in ("is_", "is_not"):
            if isinstance(a, Union) and not isinstance(b, Union):
                return choose(a, lambda x: operators.compare(self, op, x, b))
            if isinstance(b, Union) and not isinstance(a, Union):
                return choose(b, lambda x: operators.compare(self, op, a, x))
        return lifted(self, lambda x, y: self.compare(op, x, y), a, b)

    def on_unions(self, f: Callable[..., Any], *args: Any) -> Any:
        """An operation that None does not allow, on operands that may be unions."""

        from tracejit.frontend.control.branches import lifted

        settled = [narrow(x) for x in args]
        if any(isinstance(x, Union) for x in settled):
            return lifted(self, f, *settled)
        return f(*settled)

    def truth_of(self, x: Any) -> Any:
        """The truth of `x`: a bool, or a traced one."""

        from tracejit.frontend.control.branches import predicate

        return predicate(self, x)

    def compare_chain(self, op: str, a: Any, b: Any, *later: Any) -> Any:
        """`a op b op ...`; a later operand comes as its operator and a function that gives it."""

        result = self.compare(op, a, b)
        if not later or result is False:
            return result
        from tracejit.frontend.control.branches import names_of_operands

        names = names_of_operands(later[1::2])
        following = lambda: self.compare_chain(later[0], b, later[1](), *later[2:])  # noqa: E731
        return self.chain(result, following, names)

    def local(self, x: Any) -> Any:
        """A name of the function: a branch or loop may have left it without a value."""
        found = narrow_bound(x) if isinstance(x, Union) else x
        if found is UNBOUND:
            # As Python says it of a cell without a value.
            raise NameError("cannot access free variable where it is not associated with a value")
        return found

    # Attributes and items ------------------------------------------------------------------------

    def attribute(self, x: Any, name: str) -> Any:
        """`x.name`."""
        self.step()
        self.aliases.require_current(x)
        if isinstance(x, Union):
            x = narrow(x)
            if isinstance(x, Union):
                return self._chosen_attribute(x, name)
        return objects.attribute(self, x, name)

    def growing(self, x: Any, name: str) -> Any:
        """`x.name`, of which a method is called next that appends."""

        from tracejit.frontend.python.unread_lists import unread_list

        found = unread_list(self, x, name)
        return self.attribute(x, name) if found is None else found

    def _chosen_attribute(self, x: Union, name: str) -> Any:
        """An attribute of one of several objects; that of a method waits for the call."""

        from tracejit.frontend.control.branches import lifted

        methods = any(callable(getattr(checks.class_of(leaf), name, None)) for leaf in leaves_of(x))
        if methods:
            return ChosenAttribute(x, name)
        return lifted(self, lambda v: self.attribute(v, name), x)

    def store_attribute(self, value: Any, x: Any, name: str) -> None:
        """`x.name = value`."""
        self.operations += 1
        if isinstance(x, Union):
            self.on_unions(lambda v: self.store_attribute(value, v, name), x)
            return
        objects.store_attribute(self, value, x, name)

    def delete_attribute(self, x: Any, name: str) -> None:
        """`del x.name`."""
        self.operations += 1
        objects.delete_attribute(self, x, name)

    def item(self, x: Any, key: Any) -> Any:
        """`x[key]`."""
        if type(x) is TracedArray and is_plain_key(key) or type(x) is tuple and type(key) is int:
            self.step()
            self.aliases.require_current(x)
            failures.index(self, x, key)
            return x[key]
        from tracejit.frontend.containers import grown_lists
        from tracejit.frontend.containers.chosen_keys import chosen_parts, key_of_parts
        from tracejit.frontend.containers.dicts import meets_key
        from tracejit.frontend.control.branches import lifted, with_known_bounds

        self.step()
        self.aliases.require_current(x)
        if isinstance(x, Union) or isinstance(key, Union):
            return self.on_unions(self.item, x, key)
        if type(key) in (slice, tuple):
            key = with_known_bounds(self, key)
        parts = chosen_parts(key)
        if parts is not None:
            return lifted(self, lambda *of: self.item(x, key_of_parts(key, of)), *parts)
        cls = type(x)
        if cls is dict:
            if x:
                meets_key(self, x, key)
            return x[self.key(key)]
        if is_grown(x):
            return grown_lists.item(self, x, key)
        if isinstance(x, Tracer) or cls in (list, tuple, str, bytes, range) or is_namedtuple(cls):
            checks.require_index(key)
            if cls in (list, tuple) and isinstance(key, (TracedScalar, SymInt)):
                return grown_lists.chosen(self, x, key)
            failures.index(self, x, key)
            out = x[key]
            return self.allocate(out) if cls is list and type(key) is slice else out
        if x is np.s_ or x is np.index_exp:
            return x[key]
        if cls in SUBSCRIPTS:
            checks.require_index(key)
            return self.fresh(SUBSCRIPTS[cls](x, key))
        if isinstance(x, enum.EnumMeta):
            checks.require_plain_enum(self.capture, x, "__getitem__")
            return self.capture.object_source(x[key], str(key)).value
        method = objects.special(self, x, "__getitem__")
        if method is None:
            if cls in _WITHOUT_ITEMS:
                return operator.getitem(x, key)  # which raises TypeError
            raise TraceError("TJ002", f"an item of a {cls.__name__}", user_line())
        return self.call(method, key)

    def store_item(self, value: Any, x: Any, key: Any) -> None:
        """`x[key] = value`."""

        from tracejit.frontend.containers import grown_lists, list_edits
        from tracejit.frontend.containers.chosen_keys import chosen_parts, key_of_parts
        from tracejit.frontend.containers.dicts import meets_key
        from tracejit.frontend.control.branches import lifted, with_known_bounds
        from tracejit.frontend.numpy.stores import TracedFlat

        self.operations += 1
        if isinstance(x, Union):
            # Which array is stored into matters, not only what it holds.
            lifted(self, lambda v: self.store_item(value, v, key), x)
            return
        if type(key) in (slice, tuple):
            key = with_known_bounds(self, key)
        parts = chosen_parts(key)
        if parts is not None:
            lifted(self, lambda *of: self.store_item(value, x, key_of_parts(key, of)), *parts)
            return
        if isinstance(x, TracedArray):
            value = narrow(value)
            if isinstance(value, Union) or isinstance(key, Union):
                self.on_unions(lambda k, v: self.store_item(v, x, k), key, value)
                return
        cls = type(x)
        if isinstance(x, (TracedArray, TracedFlat)):
            checks.require_index(key)
            checks.require_known(value, "a value to store")
            failures.index(self, x, key)
            x[key] = value
        elif cls in (list, dict):
            if isinstance(value, TracedArray) and operators.holds_item(x, key, value):
                return  # `x[key] += 1` stores an array once more that has changed in place.
            if is_grown(x):
                store = list_edits.store_slice if type(key) is slice else grown_lists.store_item
                store(self, x, key, value)
                return
            if cls is list and isinstance(key, (TracedScalar, SymInt)):
                if grown_lists.store_chosen(self, x, key, value):
                    return
            self.require_mutable(x)
            if cls is list:
                checks.require_index(key)
                x[key] = list(self.iterate(value)) if type(key) is slice else value
            else:
                meets_key(self, x, key, value)
                x[self.key(key)] = value
        else:
            self._special_item(x, "__setitem__", key, value)

    def delete_item(self, x: Any, key: Any) -> None:
        """`del x[key]`."""

        from tracejit.frontend.containers import grown_lists, list_edits
        from tracejit.frontend.containers.dicts import meets_key

        if type(x) in (list, dict):
            if is_grown(x):
                list_edits.delete(self, x, key)
                return
            if type(x) is list and grown_lists.delete_chosen(self, x, key):
                return
            self.will_remove(x)
            if type(x) is list:
                checks.require_index(key)
            if type(x) is dict:
                meets_key(self, x, key)
            del x[self.key(key) if type(x) is dict else key]
        else:
            self._special_item(x, "__delitem__", key)

    def _special_item(self, x: Any, name: str, *args: Any) -> None:
        method = objects.special(self, x, name)
        if method is None:
            if type(x) in _WITHOUT_ITEMS:
                getattr(operator, name)(x, *args)  # which raises TypeError
            raise TraceError("TJ027", f"an item of a {type(x).__name__}", user_line())
        self.call(method, *args)

    @property
    def is_outermost(self) -> bool:
        """Whether just one function of the program is being traced, the compiled one."""
        return self.nested == 1

    def enter(self, code: CodeType) -> None:
        """A call of a function begins. Recursion that traced values decide is followed so far only.

        Raises Recursive where it should be traced as a function that calls itself, TraceError TJ020
        where it branches, and where so many calls are inside each other that the compiler cannot
        follow; Unreachable where it goes too deep.
        """
        if self.nested >= _NESTED:
            raise TraceError("TJ020", f"{_NESTED} calls within each other", user_line())
        outer = self.active.setdefault(code, [])
        depth = here().depth
        self.calls[code] = self.calls.get(code, 0) + 1
        nested = len(set(outer)) if depth else 0
        if nested >= _FOLLOWED or (len(outer) > 1 and self.calls[code] > _FOLLOWED**2):
            if code not in self.capture.learned.inlined | self.capture.learned.recursive:
                raise Recursive(code)
        if nested > 1 and self.calls[code] > _CALLS:
            raise TraceError("TJ020", code.co_name, user_line())
        if nested >= _RECURSIONS:
            # Deeper calls are left to eager execution.
            here().note("bails", f"TJ020: {nested} calls of {code.co_name} within each other")
            from tracejit.frontend.control.regions import fail

            fail(here())
            raise Unreachable
        outer.append(depth)
        self.nested += 1
        self.entered += 1
        self.frames += frames_of(code)

    def leave(self, code: CodeType) -> None:
        """A call of a function ends."""
        self.active[code].pop()
        self.nested -= 1
        self.frames -= frames_of(code)

    # Calls ---------------------------------------------------------------------------------------

    def step(self) -> None:
        """Count one step. Raises TraceError where tracing takes too long."""
        self.steps += 1
        self.operations += 1
        if self.steps > _STEPS:
            what = f"more than {_STEPS} steps of Python while tracing"
            raise TraceError("TJ008", what, user_line())
        if self.steps % 64 == 0:
            here().require_time()

    def copied(self, count: int) -> None:
        """Count the steps that so many elements of a container stand for, as `step` does."""
        if count >= _ELEMENTS_OF_A_STEP:
            self.steps += count // _ELEMENTS_OF_A_STEP
            here().require_time()

    def call(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """`f(*args, **kwargs)`."""
        self.step()
        self.operations += calls.operations_of(f, args)
        if self.aliases.any_stale:
            owner = getattr(f, "__self__", None) if isinstance(f, BuiltinMethodType) else None
            self.aliases.require_current(owner, args, tuple(kwargs.values()))
        if isinstance(f, Union):
            return self.on_unions(lambda g: self.call(g, *args, **kwargs), f)
        if has_union(args) or has_union(tuple(kwargs.values())):
            if not calls.takes_unions(self, f, args):
                return call_on_unions(self, f, args, kwargs)
        if isinstance(f, ChosenAttribute):
            on = f.name
            return self.on_unions(
                lambda x: self.call(self.attribute(x, on), *args, **kwargs), f.owner
            )
        if type(f) in METHODS and not is_stream(f.__self__):
            source = self.capture.source_of(f)
            if source is None:
                return self.call(f.__func__, f.__self__, *args, **kwargs)
            owner = self.capture.attribute(source, "__self__", f.__self__)
            function = self.capture.attribute(source, "__func__", f.__func__)
            return self.call(function, owner, *args, **kwargs)
        return calls.call(self, f, args, kwargs)

    def over_items(self, f: Any, /, *parts: Any, **kwargs: Any) -> Any:
        """`f(value for item in iterable if test, *args)`, given by its parts (see folds)."""

        from tracejit.frontend.python import reductions as folds

        return folds.call_over_items(self, f, *parts, **kwargs)

    def comprehended(
        self, iterable: Any, pattern: Any, value: Any, tests: Any, nested: bool
    ) -> Any:
        """A list comprehension, given by its parts (see comprehensions)."""
        if type(iterable) in (tuple, list, range) and not (nested or tests or pattern):
            if len(iterable) <= _AT_ONCE and not is_grown(iterable):
                return self.allocate([value(x) for x in self.iterate(iterable)])
        from tracejit.frontend.python import comprehensions

        return comprehensions.comprehended(self, iterable, pattern, value, tests, nested)

    def listed(self, source: Any) -> Any:
        """The list of what a generator expression gives."""

        from tracejit.frontend.python import comprehensions

        return comprehensions.list_of(self, source)

    def callback(self, f: Any) -> Any:
        """`f` as Python's own code, or the compiler's, may call it."""
        if f is None:
            return None
        return lambda *args, **kwargs: self.call(f, *args, **kwargs)

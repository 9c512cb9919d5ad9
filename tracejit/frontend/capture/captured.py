"""What a trace has read from outside, as later calls need it: how to read it again, and whether the
trace holds for what is there then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from types import CodeType
from typing import Any, NamedTuple

from tracejit.base.deadlines import OverBudget
from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import TraceError
from tracejit.frontend.capture.guards import Absent, Distinct, Equal, Fields, Guard, Size
from tracejit.frontend.capture.paths import MISSING, Argument, InClass, Leaf, Path
from tracejit.frontend.tracing.trace import user_line

__all__ = [
    "Attempt",
    "Call",
    "Captured",
    "Learned",
    "ListIsRead",
    "Source",
    "Step",
    "is_lasting",
    "is_number_by_value",
]


class Floats:
    """Python floats that traces of the same code have found, by the labels of sources.

    Functions that are made of one code again and again, around other numbers, have it in common.
    """

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        #: Those that code can only take as constants.
        self.constant: set[str] = set()

    def varies(self, label: str, value: Any) -> bool:
        """Whether another value than this one has been found. Notes it."""
        if type(value) not in (float, complex) or label in self.constant:
            return False
        return repr(self.values.setdefault(label, value)) != repr(value)


class Attempt(NamedTuple):
    """One trace of a call: what it has read, what it has assumed of the leaves, and whether it ends
    in the same way wherever it reads the same."""

    capture: Any
    specialization: Any
    is_lasting: bool


#: What a trace ends in that depends on more than what it has read: source files, earlier calls, the
#: context of the call, devices.
_PASSING = ("TJ007", "TJ012", "TJ013", "TJ014", "TJ019", "TJ033", "TJ035", "TJ036")


def is_lasting(e: BaseException | None) -> bool:
    """Returns True if a trace that reads the same ends in this error again, in any process."""
    if e is not None and (not isinstance(e, TraceError) or e.code in _PASSING):
        return False
    while e is not None:
        if isinstance(e, (OverBudget, RecursionError, MemoryError, OSError)):
            return False
        e = e.__context__
    return True


@dataclass
class Learned:
    """What the traces of one function tell later ones, by the labels of sources."""

    #: Python numbers that have had several values.
    varying: set[str] = field(default_factory=set)
    #: Those of functions with the same code; which of them vary for that alone, as graph inputs.
    floats: Floats | None = None
    elsewhere: dict[str, Any] = field(default_factory=dict)
    #: Lists that are not only appended to.
    read_lists: set[str] = field(default_factory=set)
    #: Whether lists that a loop makes larger keep Python's own elements: they are shared.
    plain_lists: bool = False
    #: Whether a trace has made lists of arrays.
    grew: bool = False
    #: Whether a trace has taken lists from outside as arrays, and whether none is to.
    packed: bool = False
    apart: bool = False
    #: Whether a trace has met a list of arrays that one can hold, and whether one is to.
    joinable: bool = False
    joined: bool = False
    #: Functions that call themselves as often as data says: calls of them are nodes, or inlined.
    recursive: set[CodeType] = field(default_factory=set)
    inlined: set[CodeType] = field(default_factory=set)
    #: Dicts and sets that are tables, by where they are made: the forms of keys and values.
    tables: dict[Any, Any] = field(default_factory=dict)
    #: What the trace that has ended last has read, whether it has ended well or not.
    capture: Any = None
    #: Gives an array of the host like one of a device; None for anything else.
    like_of_device: Callable[[Any], Any] | None = None
    #: The traces of the compile that goes on or has ended last; whether it has begun with nothing
    #: learned.
    attempts: list[Attempt] = field(default_factory=list)
    was_new: bool = False

    def begin(self) -> None:
        """Begin a compile."""
        self.attempts = []
        known = self.varying, self.elsewhere, self.read_lists, self.recursive, self.inlined
        self.was_new = not (any(known) or self.tables or self.apart or self.joined)

    @contextmanager
    def attempt(self, known: Learned, specialization: Any) -> Iterator[None]:
        """Note a trace with what is `known`."""
        known.capture, error = None, None
        try:
            yield
        except BaseException as e:
            error = e
            raise
        finally:
            self.attempts.append(Attempt(known.capture, specialization, is_lasting(error)))


class ListIsRead(TraceError):
    """A list is read that was taken for one that is only appended to: `label` says which."""

    def __init__(self, label: str) -> None:
        super().__init__("TJ006", label, user_line())
        self.label = label


class Call(NamedTuple):
    """A call's arguments: their leaves, and (args, kwargs) themselves."""

    leaves: Sequence[Any]
    arguments: tuple[Any, Any]


class Source:
    """One place outside the function: the path to it, and what it held."""

    __slots__ = ("check", "index", "label", "more", "path", "placeholder", "value")

    def __init__(self, index: int, path: Path, label: str, value: Any) -> None:
        self.index, self.path, self.label = index, path, label
        self.value, self.placeholder = value, MISSING
        #: The guard that says what it is, and others.
        self.check: Guard | None = None
        self.more: list[Guard] = []


class Step(NamedTuple):
    """A source after the trace."""

    path: Path
    guards: tuple[Guard, ...]
    label: str


class Captured:
    """The part of a capture that outlives the trace."""

    def __init__(self) -> None:
        #: How to read everything, parents first.
        self.steps: list[Step] = []
        #: Those of arrays and numbers that are inputs of the graph.
        self.inputs: list[Source] = []
        #: (namespace, name, value or MISSING) of exempt names.
        self.bindings: list[tuple[dict[str, Any], str, Any]] = []
        #: The same of names in libraries, which machine code need not look up at each call.
        self.names: list[tuple[dict[str, Any], str, Any]] = []
        #: (reference to a function, the code that it must have).
        self.codes: list[tuple[Callable[[], Any], CodeType]] = []
        #: The labels of numbers that the trace took as they were, and stores others over.
        self.counters: set[str] = set()

    @property
    def reads_leaves(self) -> bool:
        """Whether what is read begins at an argument."""
        return any(isinstance(step.path, (Leaf, Argument)) for step in self.steps)

    @property
    def trivial(self) -> bool:
        """Whether nothing but exempt names was read."""
        return not self.steps and not self.codes and not self.names

    def reread(self, call: Call) -> list[Any] | str:
        """The present values of `inputs`, or what has changed so that the trace does not hold."""
        for namespace, name, expected in (*self.bindings, *self.names):
            if namespace.get(name, MISSING) is not expected:
                return f"{name} is bound to something else"
        for get, code in self.codes:
            if getattr(get(), "__code__", None) is not code:
                return f"{code.co_qualname} has other code"
        values, failed = self.found(call)
        if failed is not None:
            what = "is gone" if values[failed.path] is MISSING else "has changed"
            return f"{failed.label} {what}"
        return [values[s.path] for s in self.inputs]

    def found(self, call: Call, guarded: bool = True) -> tuple[dict[Any, Any], Step | None]:
        """What is at the paths, `MISSING` where nothing is, up to the first where a guard fails.

        That step is given, too. Not `guarded`: up to the first where nothing is, or where a class
        has changed so that further reads may run other code of it.
        """
        values: dict[Any, Any] = {None: call}
        for step in self.steps:
            path = step.path
            can_be_absent = any(isinstance(guard, Absent) for guard in step.guards)
            try:
                value = path.read(values[path.parent])
            except path.absence:
                value = MISSING
            except Exception:
                value, can_be_absent = MISSING, False
            values[path] = value
            guards = [g for g in step.guards if guarded or _is_of_code(path, g)]
            holds = all(guard.holds(value, values) for guard in guards)
            if not holds or value is MISSING and not can_be_absent:
                return values, step
        return values, None

    def is_given_twice(self, call: Call) -> bool:
        """Whether the call holds one object in two places that the trace takes for two."""
        checks = [g for step in self.steps for g in step.guards if isinstance(g, Distinct)]
        values, failed = self.found(call, guarded=False)
        return failed is None and not all(guard.holds(None, values) for guard in checks)

    def floats(self) -> dict[str, Any]:
        """The floats that the trace took as they were, by label."""
        return {
            step.label: guard.value
            for step in self.steps
            for guard in step.guards
            if isinstance(guard, Equal) and type(guard.value) in (float, complex)
        }

    def moved(self, call: Call) -> Iterator[str]:
        """The labels of numbers that the trace took as they were, and that are others now.

        Those of lists, too, that are longer or shorter.
        """
        values, _ = self.found(call, guarded=False)
        for path, guards, label in self.steps:
            value = values.get(path, MISSING)
            for guard in guards:
                if isinstance(guard, Size) and type(value) is list and len(value) != guard.size:
                    yield label
                elif isinstance(guard, Equal) and not guard.holds(value, values):
                    if type(value) is type(guard.value) and is_number_by_value(value):
                        yield label


def _is_of_code(path: Path, guard: Guard) -> bool:
    """Whether a guard says that reads run no other code of a class than they did."""
    return isinstance(guard, Fields) or isinstance(path, InClass) and not isinstance(guard, Equal)


def is_number_by_value(value: Any) -> bool:
    """Whether a Python number can be an input of a graph."""
    return type(value) in (float, complex) or type(value) is int and -(2**63) <= value < 2**63

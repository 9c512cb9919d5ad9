"""What a trace has read from outside, as later calls need it: how to read it again, and whether the
trace holds for what is there then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from types import CodeType
from typing import Any, NamedTuple

from tracejit.errors import TraceError
from tracejit.frontend.capture.reads import (
    MISSING,
    ArgumentRead,
    Distinct,
    EqualTo,
    HasSize,
    LeafRead,
)
from tracejit.frontend.tracing.trace import user_line
from tracejit.lazy_dataclass import dataclass

__all__ = [
    "Call",
    "Captured",
    "Check",
    "Learned",
    "ListIsRead",
    "Read",
    "Source",
    "Step",
    "is_number_by_value",
]

Read = Callable[[Any], Any]
#: (value, all values read before it) -> whether it still is what it was.
Check = Callable[[Any, Sequence[Any]], bool]


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
    """One place outside the function: how to read it from its parent, and what it held."""

    __slots__ = ("check", "index", "label", "parent", "read", "placeholder", "value")

    def __init__(self, index: int, parent: int, read: Read, label: str, value: Any) -> None:
        self.index, self.parent, self.read, self.label = index, parent, read, label
        self.value, self.placeholder = value, MISSING
        self.check: Check | None = None


class Step(NamedTuple):
    """A source after the trace; `parent` is the number of a step counted from 1, or 0."""

    parent: int
    read: Read
    check: Check | None
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
        return any(isinstance(step.read, (LeafRead, ArgumentRead)) for step in self.steps)

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
        values: list[Any] = [call]
        for parent, read, check, label in self.steps:
            try:
                value = read(values[parent])
            except Exception:
                return f"{label} is gone"
            try:
                holds = check is None or check(value, values)
            except Exception:  # which code of the program may raise
                holds = False
            if not holds:
                return f"{label} has changed"
            values.append(value)
        return [values[s.index] for s in self.inputs]

    def is_given_twice(self, call: Call) -> bool:
        """Whether the call holds one object in two places that the trace takes for two."""
        checks = [step.check for step in self.steps if isinstance(step.check, Distinct)]
        if not checks:
            return False
        values: list[Any] = [call]
        for parent, read, _, _ in self.steps:
            try:
                values.append(read(values[parent]))
            except Exception:
                return False
        return not all(check(None, values) for check in checks)

    def floats(self) -> dict[str, Any]:
        """The floats that the trace took as they were, by label."""
        return {
            step.label: step.check.value
            for step in self.steps
            if isinstance(step.check, EqualTo) and type(step.check.value) in (float, complex)
        }

    def moved(self, call: Call) -> Iterator[str]:
        """The labels of numbers that the trace took as they were, and that are others now.

        Those of lists, too, that are longer or shorter.
        """
        values: list[Any] = [call]
        for parent, read, check, label in self.steps:
            try:
                value = read(values[parent])
            except Exception:
                return
            values.append(value)
            if isinstance(check, HasSize) and type(value) is list and len(value) != check.size:
                yield label
            if not isinstance(check, EqualTo) or check(value, values):
                continue
            if type(value) is type(check.value) and is_number_by_value(value):
                yield label


def is_number_by_value(value: Any) -> bool:
    """Whether a Python number can be an input of a graph."""
    return type(value) in (float, complex) or type(value) is int and -(2**63) <= value < 2**63

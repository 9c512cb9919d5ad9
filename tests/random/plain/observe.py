"""What a call leaves, as text: values with their classes, and which objects are one object.

A walk over the result, the arguments and the module's state numbers objects in order. Those that
were there before the call keep their numbers of then, so that a copy in place of one shows.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import gc
import inspect
import io
import itertools
import re
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

#: A difference: a tuple that was one object is several, or the other way about.
TUPLES = "which tuples are one"
_MOST_DRAWN = 10  # items of a generator that are shown
_DEEPEST = 60
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_TUPLE = re.compile(r"\btuple\d+:")
_ITERATORS = tuple(
    map(
        type,
        (
            *(iter([]), reversed([]), iter(()), iter({}), iter({}.values()), iter({}.items())),
            *(iter(set()), iter(range(0)), iter(""), enumerate([]), zip(), iter(deque())),
            *(map(str, []), filter(None, []), iter(int, 0), reversed(range(0)), reversed({})),
        ),
    )
)
_SEQUENCES = (list, set, frozenset, deque, bytearray)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """A call: `values` are texts without sharing by part, `shared` the same with numbers."""

    raised: str
    values: dict[str, str]
    shared: str
    foreign: str

    @property
    def is_error(self) -> bool:
        return self.raised != ""


class Walk:
    """Numbers objects and tells what is in them."""

    def __init__(self, constants: frozenset[str] = frozenset()) -> None:
        self.constants = constants
        self.numbers: dict[int, str] = {}
        self.kept: list[Any] = []
        self.counts = [0, 0]
        self.path: list[int] = []
        self.foreign: list[str] = []
        self.told: set[str] = set()
        self.before = True
        self.sharing = True

    def text(self, x: Any) -> str:
        """The text of an object; a number alone where it came before."""
        cls = type(x)
        if cls.__module__.partition(".")[0] == "tracejit":
            self.foreign.append(cls.__qualname__)
            return f"<compiler's {cls.__qualname__}>"
        if x is None or cls in (int, bool, str, bytes, complex, range, type(...)):
            return _ADDRESS.sub("0x", repr(x))
        if cls is float:
            return str(x.hex())
        if isinstance(x, enum.Enum):
            return f"{cls.__qualname__}.{x.name}"
        if isinstance(x, np.generic):
            return f"{cls.__name__}({'nan' if x != x else x.tobytes().hex()})"
        if isinstance(x, (type, types.ModuleType, types.BuiltinFunctionType)):
            return f"<{getattr(x, '__qualname__', x)}>"
        number = ""
        if self.sharing:
            known = self.numbers.get(id(x))
            if isinstance(x, tuple):
                # Equal constants of a file are one object, or not, as its compiler pleases.
                told = x and repr(x) not in self.constants
                number = known or (self.remember(x) if told else "")
            else:
                number = known or self.remember(x)
                if number in self.told:
                    return number
                self.told.add(number)
        elif id(x) in self.path or len(self.path) > _DEEPEST:
            return "..."
        self.path.append(id(x))
        inner = self.inner(x)
        self.path.pop()
        return f"{number}{inner}"

    def remember(self, x: Any) -> str:
        kind = "tuple" if isinstance(x, tuple) else "old" if self.before else "new"
        # Copies of tuples do not change the numbers of other objects.
        self.counts[kind == "tuple"] += 1
        number = f"{kind}{self.counts[kind == 'tuple']}:"
        self.kept.append(x)
        self.numbers[id(x)] = number
        return number

    def start(self, sharing: bool) -> None:
        """Begin a walk, with numbers for what is shared or with the contents each time."""
        self.told, self.sharing, self.path = set(), sharing, []

    def inner(self, x: Any) -> str:
        """The class and the contents of an object."""
        cls = type(x)
        name = cls.__qualname__
        if isinstance(x, np.ndarray):
            if x.dtype == object:
                return f"array({self.items(x.tolist())})"
            data = (
                np.where(np.isnan(x), np.nan, x).tobytes() if x.dtype.kind == "f" else x.tobytes()
            )
            return f"array({x.dtype}, {x.shape}, {data.hex()})"
        if isinstance(x, dict):
            pairs = (f"{self.text(k)}: {self.text(v)}" for k, v in x.items())
            return f"{name}{{{', '.join(pairs)}}}{self.attributes(x)}"
        if isinstance(x, (tuple, *_SEQUENCES)):
            return f"{name}[{self.items(x)}]{self.attributes(x)}"
        if isinstance(x, _ITERATORS):
            return f"{name}({self.items(x.__reduce__()[1:])})"
        if isinstance(x, types.GeneratorType):
            if self.before or not self.sharing:
                return f"generator {x.__name__}"
            return f"generator {x.__name__}({self.drained(x)})"
        if isinstance(x, types.FunctionType):
            cells = [c.cell_contents for c in x.__closure__ or () if c != types.CellType()]
            return f"function {x.__name__}({self.items(cells)}, {self.items(x.__defaults__ or ())})"
        if isinstance(x, types.MethodType):
            return f"method {x.__name__} of {self.text(x.__self__)}"
        if isinstance(x, BaseException):
            return f"{name}({self.items(x.args)}){self.attributes(x)}"
        if isinstance(x, (type({}.keys()), type({}.values()), type({}.items()))):
            return f"{name}[{self.items(x)}]"
        return f"{name}{self.attributes(x)}"

    def items(self, items: Any) -> str:
        return ", ".join(map(self.text, items))

    def attributes(self, x: Any) -> str:
        found = dict(getattr(x, "__dict__", {}))
        slots = getattr(type(x), "__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if type(x).__module__ != "builtins" and hasattr(x, name):
                found.setdefault(name, getattr(x, name))
        text = ", ".join(f"{k}={self.text(v)}" for k, v in found.items())
        return f"({text})" if text else ""

    def drained(self, generator: Any) -> str:
        found = []
        try:
            found = [self.text(v) for v in itertools.islice(generator, _MOST_DRAWN)]
        except Exception as error:
            found.append(self.text(error))
        return ", ".join(found)


def state(module: types.ModuleType) -> dict[str, Any]:
    """Globals of a module, defaults of its functions and attributes of its classes."""
    found: dict[str, Any] = {}
    for name, value in vars(module).items():
        if name.startswith("_") or isinstance(value, types.ModuleType) or name == "CALLS":
            continue
        if isinstance(value, types.FunctionType):
            if value.__module__ == module.__name__ and value.__defaults__:
                # The tuple itself may be a constant of some code.
                found[name] = list(value.__defaults__)
        elif isinstance(value, type):
            if value.__module__ == module.__name__ and not issubclass(value, (enum.Enum, tuple)):
                for key, inner in vars(value).items():
                    if not key.startswith("_") and isinstance(inner, (int, list)):
                        found[f"{name}.{key}"] = inner
        elif getattr(value, "__module__", "") != "functools":
            found[name] = value
    return found


def _constants(values: Iterable[Any]) -> Iterator[str]:
    """The texts of all tuples that are constants of code among values, or in functions there."""
    for x in values:
        if isinstance(x, tuple):
            yield repr(x)
            yield from _constants(x)
        elif isinstance(x, types.CodeType):
            yield from _constants(x.co_consts)
        elif isinstance(x, types.FunctionType):
            yield from _constants(x.__code__.co_consts)
        elif isinstance(x, type):
            yield from _constants(v for v in vars(x).values() if isinstance(v, types.FunctionType))


def observe(f: Callable[..., Any], arguments: list[Any], module: types.ModuleType) -> Outcome:
    """Call `f` and tell what there is afterwards."""
    walk = Walk(frozenset(_constants(vars(module).values())))
    walk.start(sharing=True)
    walk.text([arguments, *state(module).values()])
    walk.before = False
    printed = io.StringIO()
    result: Any = None
    error: BaseException | None = None
    with contextlib.redirect_stdout(printed):
        try:
            result = f(*arguments)
        except Exception as caught:
            error = caught.with_traceback(None)
        if any(map(inspect.isgeneratorfunction, vars(module).values())):
            # What a generator does at its end, it does when it is collected; it is young.
            gc.collect(1)
        text = _ADDRESS.sub("0x", printed.getvalue())
        parts = {"result": result, "arguments": arguments, "state": state(module)}
        walk.start(sharing=False)
        values = {name: walk.text(x) for name, x in parts.items()}
        values["exception"] = _told(error, walk)
        values["printed"] = text
        walk.start(sharing=True)
        shared = "; ".join(f"{name} {walk.text(x)}" for name, x in parts.items())
        # What generators print when they are drained.
        shared += "; " + _ADDRESS.sub("0x", printed.getvalue())
    raised = "" if error is None else type(error).__qualname__
    return Outcome(raised, values, shared, " ".join(sorted(set(walk.foreign))))


def _told(error: BaseException | None, walk: Walk) -> str:
    if error is None:
        return ""
    text = [walk.text(error), repr(getattr(error, "filename", None))]
    text.append(f"notes {getattr(error, '__notes__', [])}")
    text.append(f"cause {type(error.__cause__).__qualname__}")
    text.append(f"context {type(error.__context__).__qualname__}")
    return _ADDRESS.sub("0x", ", ".join(text))


def difference(expected: Outcome, actual: Outcome) -> str:
    """What differs first, in short; "" for nothing."""
    if actual.foreign:
        return f"compiler's {actual.foreign} is left"
    if expected.raised != actual.raised:
        return f"raises {expected.raised or 'nothing'}, got {actual.raised or 'nothing'}"
    for name in ("exception", "result", "arguments", "printed", "state"):
        if expected.values[name] != actual.values[name]:
            message, context = (o.values[name].split(", context")[0] for o in (expected, actual))
            is_context = name == "exception" and message == context
            return "context of an exception" if is_context else name
    if expected.shared != actual.shared:
        texts = [_TUPLE.sub("", o.shared) for o in (expected, actual)]
        return TUPLES if texts[0] == texts[1] else "which objects are one"
    return ""

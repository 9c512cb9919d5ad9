"""A student's program with its inputs, and a picture of all that one of its calls leaves behind."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import io
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

#: Two of these with equal values cannot be told apart.
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range)
_NAMED = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)
#: How much of an iterator that is returned is looked at.
_ITEMS_OF_AN_ITERATOR = 100
#: Characters of a picture in a message.
_SHOWN = 80


@dataclasses.dataclass(frozen=True)
class Program:
    """A function and the four argument tuples it is called on, in this order."""

    f: Callable[..., Any]
    inputs: tuple[tuple[Any, ...], ...]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.f.__name__


class Family(list[Program]):
    """The programs of one file."""

    def add(self, f: Callable[..., Any], *inputs: tuple[Any, ...]) -> None:
        """Adds `f` with its inputs, which are copied at every call."""
        assert len(inputs) == 4, f"{f.__name__} has {len(inputs)} inputs"
        self.append(Program(f, inputs))


def numbers(count: int, seed: int = 1, below: int = 100) -> list[int]:
    """`count` ints from 0 to `below - 1`, in no order."""
    found = []
    for _ in range(count):
        seed = (1103515245 * seed + 12345) % 2**31
        found.append(seed // 2**16 % below)
    return found


def decimals(count: int, seed: int = 1) -> list[float]:
    """`count` floats of both signs, multiples of 1/4 between -5 and 5."""
    return [v / 4 - 5 for v in numbers(count, seed, 41)]


def table(rows: int, columns: int) -> list[list[int]]:
    """`numbers` in rows and columns."""
    found = numbers(rows * columns)
    return [found[k * columns : (k + 1) * columns] for k in range(rows)]


def observe(f: Callable[..., Any], given: tuple[Any, ...]) -> dict[str, Any]:
    """Calls `f` on copies of its arguments; returns what it leaves, in parts that are named.

    The result and the arguments are one picture, so that it shows what of one is held by the other.
    """
    args = copy.deepcopy(given)
    raised: BaseException | None = None
    result = None
    with contextlib.redirect_stdout(io.StringIO()) as text:
        try:
            result = f(*args)
        except Exception as e:
            raised = e
    what = picture([args, result])
    return {
        "exception": exception_picture(raised),
        "printed": text.getvalue(),
        "arguments": what[1][0],
        "result": what[1][1],
    }


def exception_picture(e: BaseException | None) -> Any:
    """The class, the arguments, the attributes and the cause of an exception."""
    if e is None:
        return None
    return type(e), picture([e.args, vars(e)]), str(e), exception_picture(e.__cause__)


def picture(x: Any, seen: dict[int, Any] | None = None) -> Any:
    """Classes and contents of an object, with which parts of it are one object."""
    seen = {} if seen is None else seen
    if type(x) in _PLAIN:
        return type(x), repr(x)  # repr tells -0.0 from 0.0, and NaN is NaN
    if isinstance(x, _NAMED):
        return type(x), x.__qualname__
    if type(x) is tuple and not x:
        return tuple, []
    if id(x) in seen:
        return "again", seen[id(x)][0]
    seen[id(x)] = len(seen), x
    return type(x), _contents(x, seen)


def _contents(x: Any, seen: dict[int, Any]) -> Any:
    if isinstance(x, dict):
        return [(picture(k, seen), picture(v, seen)) for k, v in x.items()]
    if isinstance(x, (set, frozenset)):
        return [picture(v, seen) for v in sorted(x, key=repr)]
    if isinstance(x, (list, tuple, deque)):
        return [picture(v, seen) for v in x]
    if isinstance(x, Iterator) and type(x).__module__ == "builtins":
        return [picture(v, seen) for v, _ in zip(x, range(_ITEMS_OF_AN_ITERATOR), strict=False)]
    if not hasattr(x, "__dict__"):
        return repr(x)
    return [(name, picture(v, seen)) for name, v in vars(x).items()]


def difference(expected: dict[str, Any], actual: dict[str, Any]) -> str:
    """The first place in which two observations differ, or nothing."""
    for part, wanted in expected.items():
        got = actual[part]
        if got == wanted:
            continue
        inner, wanted, got = _innermost(wanted, got)
        return f"{part}{inner}: expected {_short(wanted)}, got {_short(got)}"
    return ""


def _innermost(wanted: Any, got: Any) -> tuple[str, Any, Any]:
    """The place inside two different pictures where they begin to differ, and what is there."""
    place = ""
    while _is_container(wanted) and _is_container(got) and wanted[0] is got[0]:
        if len(wanted[1]) != len(got[1]):
            break
        pairs = enumerate(zip(wanted[1], got[1], strict=True))
        k, (w, g) = next((k, pair) for k, pair in pairs if pair[0] != pair[1])
        if _is_pair(w) and _is_pair(g):
            if w[0] != g[0]:
                break
            k, w, g = w[0] if isinstance(w[0], str) else _text(w[0]), w[1], g[1]
        place, wanted, got = f"{place}[{k}]", w, g
    return place, wanted, got


def _is_container(what: Any) -> bool:
    return isinstance(what, tuple) and len(what) == 2 and isinstance(what[1], list)


def _short(what: Any) -> str:
    text = _text(what)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _text(what: Any) -> str:
    """A picture as one would write it."""
    if isinstance(what, tuple) and len(what) == 2 and isinstance(what[0], type):
        kind, contents = what
        if isinstance(contents, str):
            return contents if kind in _PLAIN else f"{kind.__name__} {contents}"
        items = ", ".join(
            ": ".join(map(_text, item)) if _is_pair(item) else _text(item) for item in contents
        )
        return f"{kind.__name__}({items})"
    if isinstance(what, tuple) and len(what) == 2 and what[0] == "again":
        return f"<object {what[1]} again>"
    return repr(what)


def _is_pair(item: Any) -> bool:
    return len(item) == 2 and not isinstance(item[0], type) and item[0] != "again"


@dataclasses.dataclass
class Verdict:
    """What became of a program: the first difference, if any, and how it was run."""

    difference: str
    codes: tuple[str, ...]
    reasons: tuple[str, ...]
    compiles: int

    @property
    def is_whole(self) -> bool:
        """True if all of it is compiled code."""
        return not self.codes and self.compiles > 0


def check(program: Program, jit: Callable[[Any], Any]) -> Verdict:
    """Calls a program on all inputs twice, then, jitted anew, once more; stops where it is wrong.

    With a cache the second function finds the code of the first.
    """
    found = ""
    jitted: Any = None
    reports = []
    for rounds in (2, 1):
        jitted = jit(program.f)
        for number, given in [*enumerate(program.inputs, 1)] * rounds:
            found = difference(observe(program.f, given), observe(jitted, given))
            if found:
                found = f"input {number}, {found}"
                break
        reports.append(jitted.report())
        if found:
            break
    fallbacks = [x for report in reports for x in report.fallbacks]
    return Verdict(
        found,
        tuple(sorted({x.code for x in fallbacks})),
        tuple(dict.fromkeys(f"{x.code} {x.reason}" for x in fallbacks)),
        sum(len(report.compiles) for report in reports),
    )

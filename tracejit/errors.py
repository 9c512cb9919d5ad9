"""Errors and fallbacks: each has a stable code, the user's line, why, and what to do."""

from __future__ import annotations

import itertools
import linecache
import os
import re
import sys
import warnings
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

__all__ = [
    "CODES",
    "PACKAGE",
    "Bailout",
    "FallbackError",
    "FallbackWarning",
    "GivenTwice",
    "GraphError",
    "TraceError",
    "Unbatchable",
    "Underivable",
    "Where",
    "explain",
]

#: The folder of the compiler, with a separator at its end: the lines of its files are none of the
#: user's.
PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
#: Why a function, or a part of it, could not be compiled: code -> (what happened, what to do).
CODES: dict[str, tuple[str, str]] = {
    "TJ001": (
        "the value of a traced array or scalar was needed while tracing",
        "use it in arithmetic, indices, branches and loops, or compute it outside the function",
    ),
    "TJ002": (
        "a function was called that the compiler does not know",
        "use a NumPy function that `tracejit ops` lists, or leave the call outside",
    ),
    "TJ003": (
        "an argument or a result has a type that a graph cannot hold",
        "pass arrays, numbers, lists, tuples, dicts and dataclasses of them",
    ),
    "TJ004": (
        "a NumPy function was called in a form that the compiler does not know",
        "see `tracejit ops` for what each function supports",
    ),
    "TJ005": (
        "an argument of the function, or an array from outside it, is written to",
        "return the new array instead, or leave the function eager",
    ),
    "TJ006": (
        "a value from outside the function could not be followed to its origin",
        "pass it as an argument",
    ),
    "TJ007": (
        "the function's source is not available, or differs from its code",
        "define the function in a file",
    ),
    "TJ008": (
        "a Python construct is used that is not traced yet",
        "write it with assignments, branches and loops, or leave the function eager",
    ),
    "TJ009": (
        "NumPy is asked to do more with floating-point errors than to warn",
        "give np.errstate and np.seterr only 'ignore' and 'warn' around compiled calls",
    ),
    "TJ010": (
        "a compiled run met a case that Python or NumPy reports as an error",
        "the call was repeated eagerly to give the exact answer",
    ),
    "TJ011": (
        "the values joined by a branch or carried by a loop have different types",
        "give both sides one type, for instance by starting from 0.0 instead of 0",
    ),
    "TJ012": (
        "too many variants of the function were compiled",
        "pass sizes and flags that change at every call as arrays or floats",
    ),
    "TJ013": (
        "the compiler itself failed",
        "please report it with the dump that TRACEJIT_DUMP writes; the call was run eagerly",
    ),
    "TJ014": (
        "a traced value was used after its trace had ended",
        "do not keep arrays in globals or attributes inside a compiled function",
    ),
    "TJ015": (
        "a size depends on data in a way the compiler cannot follow",
        "keep the size and mark elements, as np.where does, or leave the function eager",
    ),
    "TJ016": (
        "a name is used that may have no value there",
        "give the name a value before the branch or loop that assigns it",
    ),
    "TJ017": (
        "a list or dict changes its length in a loop that is not unrolled",
        "let all elements of a list be of one kind, or fill an array made before the loop",
    ),
    "TJ018": (
        "a loop is too long to unroll, and its body needs each index as a Python value",
        "use the index only in arithmetic and array indices, so that the loop can be rolled",
    ),
    "TJ019": (
        "an argument that is written shares memory with another argument",
        "pass arrays that do not overlap, or a copy of one of them",
    ),
    "TJ020": (
        "a function that calls itself cannot become a native function",
        "pass and give numbers and arrays alone, or write the recursion as a loop",
    ),
    "TJ021": (
        "the characters of a traced value's text are needed while tracing",
        "only print, keep or return the text, or make it outside",
    ),
    "TJ022": (
        "an object or container is changed differently by the two sides of a branch",
        "make the same change on both sides, and choose only the values",
    ),
    "TJ023": (
        "a generator is used otherwise than by one loop over all that it gives",
        "loop over it, or build a list or an array",
    ),
    "TJ024": (
        "an exception is handled in a way that compiled code does not know",
        "handle it by its class alone, or test for the case before it raises",
    ),
    "TJ025": (
        "a context is entered that compiled code does not know",
        "move the with statement outside the function",
    ),
    "TJ026": (
        "a coroutine is made or run",
        "keep async and await outside the function",
    ),
    "TJ027": (
        "something from outside is changed that is no array, list, dict or plain object",
        "keep it in an object's attribute, a list or a dict, or return the new value",
    ),
    "TJ028": (
        "an exception is raised at run time in a form that the compiler cannot make",
        "raise a built-in exception with constants, numbers and texts of numbers",
    ),
    "TJ029": (
        "a loop runs over something whose steps are only known at run time",
        "loop over a range, an array, or a list of known length",
    ),
    "TJ030": (
        "an argument that is written cannot be written in place",
        "pass a writeable array whose elements do not overlap, or return a new array",
    ),
    "TJ031": (
        "a derivative is needed through an operation that has none here",
        "stop it with tracejit.stop_gradient where it is not wanted, or see `tracejit ops`",
    ),
    "TJ032": (
        "a program is too long to be compiled as a whole",
        "write what repeats as a loop, or leave the outer function eager and compile its parts",
    ),
    "TJ033": (
        "operations are to run on a device where they cannot",
        "move them out of the block of tracejit.device, or name the same device for all of them",
    ),
    "TJ034": (
        "a list, dict or object has several names, and which ones is only known at run time",
        "store into it under one name, or make a copy for the other",
    ),
    "TJ035": (
        "the thread or process of the call cannot compile",
        "call it from a thread with a larger stack, or before the process forks",
    ),
    "TJ036": (
        "compiled code copies arrays in a loop and has taken longer than plain Python",
        "store by `x[i, j] = v` at the line that the report names, or leave such calls as they are",
    ),
}


@dataclass(frozen=True)
class Where:
    """A place in the user's program. Columns are as in `ast`: from 0, in bytes of UTF-8."""

    file: str
    line: int
    function: str = ""
    column: int | None = field(default=None, compare=False)
    end_column: int | None = field(default=None, compare=False)
    #: Where it is to run, if the program says so (`tracejit.device`).
    device: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"

    @classmethod
    def of(cls, code: CodeType, line: int, instruction: int) -> Where:
        """The place of an instruction (`f_lasti`, `tb_lasti`) on a line of some code."""
        found = next(itertools.islice(code.co_positions(), instruction // 2, None), None)
        start, end, column, end_column = found or (None, None, None, None)
        if start != line:
            column = end_column = None
        elif end != line:
            end_column = None
        return cls(code.co_filename, line, code.co_name, column, end_column)

    def source(self) -> str:
        """The line itself, or '' where it cannot be read."""
        return linecache.getline(self.file, self.line).strip()

    def callee(self) -> str:
        """The function that a call at this place is written for, as it is spelled there, or ''."""
        raw = linecache.getline(self.file, self.line).encode()
        if self.column is None or self.end_column is None or not raw:
            return ""
        meant = raw[self.column : self.end_column].decode(errors="replace")
        found = re.match(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*)\(", meant)
        return found[1] if found else ""

    def excerpt(self) -> str:
        """The line with carets under what is meant, or '' where it cannot be read.

        Where the columns are not known, the caret stands under the first character.
        """
        text = self.source()
        if not text:
            return ""
        raw = linecache.getline(self.file, self.line).rstrip().encode()
        indent = len(raw) - len(text.encode())
        start, end = 0, 1
        if self.column is not None and indent <= self.column < len(raw):
            start = len(raw[indent : self.column].decode(errors="replace"))
            meant = raw[self.column : self.end_column].decode(errors="replace")
            end = start + max(1, len(meant))
        margin = "".join("\t" if c == "\t" else " " for c in text[:start])
        return f"{text}\n{margin}{'^' * (end - start)}"


def _with_columns(where: Where) -> Where:
    """The place with its columns, if a frame on the stack is there now."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if (
            frame.f_lineno == where.line
            and code.co_filename == where.file
            and code.co_name == where.function
        ):
            return Where.of(code, where.line, frame.f_lasti)
        frame = frame.f_back  # type: ignore[assignment]
    return where


def cause(code: str, detail: str, where: Where | None) -> str:
    """A code and its reason; of a call, with what is called as the program names it."""
    called = where.callee() if where is not None and code == "TJ002" else ""
    # `sin` may be meant by "math.sin".
    whole, meant = (re.sub(r"^numpy\.", "np.", name) for name in (detail, called))
    if detail and called and not f".{whole}".endswith(f".{meant}"):
        detail = f"{called} ({detail})"
    return f"{code}: {CODES[code][0]}" + (f": {detail}" if detail else "")


def describe(code: str, detail: str, where: Where | None) -> str:
    """The full message of an error: code and reason, place, line with carets, advice."""
    advice = CODES[code][1]
    parts = [cause(code, detail, where)]
    if where is not None:
        parts.append(f'  File "{where.file}", line {where.line}, in {where.function or "?"}')
        parts += ["    " + line for line in where.excerpt().splitlines()]
    parts.append(f"  What to do: {advice} (`tracejit explain {code}` says more)")
    return "\n".join(parts)


def explain(code: str) -> str:
    """What a code means, in short. Raises KeyError for an unknown code."""
    what, advice = CODES[code]
    return f"{code}: {what}.\nWhat to do: {advice}."


class TraceError(Exception):
    """Tracing cannot go on; the function falls back to eager execution.

    `where` gains its columns from the stack that the error is made on.
    """

    def __init__(self, code: str, detail: str = "", where: Where | None = None) -> None:
        super().__init__(code, detail, where)
        if where is not None and where.column is None:
            where = _with_columns(where)
        self.code, self.detail, self.where = code, detail, where

    def __str__(self) -> str:
        return describe(self.code, self.detail, self.where)


class GivenTwice(TraceError):
    """A call that holds an object in two places, and changes such objects."""

    def __init__(self) -> None:
        super().__init__("TJ003", "an object that is given twice")


class FallbackError(TypeError):
    """A fallback under `strict=True`, or where `config.fallback` makes errors of all."""

    def __init__(self, code: str, detail: str = "", where: Where | None = None) -> None:
        super().__init__(describe(code, detail, where))
        self.code, self.detail, self.where = code, detail, where


class FallbackWarning(UserWarning):
    """A function runs eagerly: its code, reason and line. Issued once for each line."""

    def __init__(
        self, text: str, code: str = "", detail: str = "", where: Where | None = None
    ) -> None:
        super().__init__(text)
        self.code, self.detail, self.where = code, detail, where


def _read_options() -> None:
    """Filters by FallbackWarning from -W and PYTHONWARNINGS: when Python reads them, at its start,
    it cannot import packages yet, and leaves them out.
    """
    names = ("tracejit.FallbackWarning", "tracejit.errors.FallbackWarning")
    for option in sys.warnoptions:
        action, message, category, module, line, *_ = (
            x.strip() for x in f"{option}::::".split(":")
        )
        found = [a for a in _ACTIONS if a.startswith(action)]
        if category in names and found and (line or "0").isdecimal():
            module = re.escape(module) + r"\Z" * bool(module)
            kind = FallbackWarning
            warnings.filterwarnings(found[0], re.escape(message), kind, module, int(line or 0))


_ACTIONS: tuple[Any, ...] = ("default", "always", "ignore", "module", "once", "error")
_read_options()


class DeviceError(RuntimeError):
    """A device is not there, lacks what a program needs, or cannot take its arguments."""


class GraphError(ValueError):
    """A graph, its text or a kernel is not well formed."""


class Underivable(Exception):
    """A derivative is needed through an operation that has none; `where` is the user's line."""

    where: Where | None = None


class Unbatchable(Exception):
    """The lanes of a batch give or do what no batch can hold: arrays of unlike sizes, stores."""


class Bailout(Exception):
    """A compiled or evaluated graph met a case that only eager execution can report exactly."""

"""Errors and fallbacks: each has a stable code, the user's line, why, and what to do."""

from __future__ import annotations

import linecache
from dataclasses import dataclass

__all__ = ["CODES", "Bailout", "FallbackError", "GraphError", "TraceError", "Where", "explain"]

#: Why a function, or a part of it, could not be compiled: code -> (what happened, what to do).
CODES: dict[str, tuple[str, str]] = {
    "TJ001": (
        "the value of a traced array or scalar was needed while tracing",
        "use np.where, tracejit.cond or tracejit.while_loop, or leave the function eager",
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
        "use the explicit forms, or leave the function eager",
    ),
    "TJ009": (
        "NumPy's floating-point error handling is not the default",
        "leave np.errstate and np.seterr at their defaults around compiled calls",
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
        "leave the function eager",
    ),
}


@dataclass(frozen=True)
class Where:
    """A place in the user's program."""

    file: str
    line: int
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file.rsplit('/', 1)[-1]}:{self.line}"

    def excerpt(self) -> str:
        """The line itself with a caret under its first character, or '' where it cannot be read."""
        text = linecache.getline(self.file, self.line).rstrip()
        if not text:
            return ""
        indent = len(text) - len(text.lstrip())
        return f"{text}\n{' ' * indent}^"


def describe(code: str, detail: str, where: Where | None) -> str:
    """The full message of an error: place, line with a caret, reason, advice, code."""
    what, advice = CODES[code]
    parts = []
    if where is not None:
        parts.append(f'File "{where.file}", line {where.line}, in {where.function or "?"}')
        if where.excerpt():
            parts.append("    " + where.excerpt().replace("\n", "\n    "))
    parts.append(f"{code}: {what}" + (f": {detail}" if detail else ""))
    parts.append(f"    {advice}")
    return "\n".join(parts)


def explain(code: str) -> str:
    """What a code means. Raises KeyError for an unknown code."""
    what, advice = CODES[code]
    return f"{code}: {what}.\nWhat to do: {advice}."


class TraceError(Exception):
    """Tracing cannot go on; the function falls back to eager execution."""

    def __init__(self, code: str, detail: str = "", where: Where | None = None) -> None:
        super().__init__(code, detail, where)
        self.code, self.detail, self.where = code, detail, where

    def __str__(self) -> str:
        return describe(self.code, self.detail, self.where)


class FallbackError(TypeError):
    """A fallback under `strict=True`."""

    def __init__(self, code: str, detail: str = "", where: Where | None = None) -> None:
        super().__init__(describe(code, detail, where))
        self.code, self.detail, self.where = code, detail, where


class GraphError(ValueError):
    """A graph, its text or a kernel is not well formed."""


class Bailout(Exception):
    """A compiled or evaluated graph met a case that only eager execution can report exactly."""

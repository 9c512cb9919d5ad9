"""What the front end did with the user's program, place by place, for the report."""

from __future__ import annotations

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import Where

__all__ = ["KINDS", "Note"]

#: Kinds of notes and what they say of a line; `detail` says why, or how often.
KINDS: dict[str, str] = {
    "compiled": "native code",
    "branch": "both sides are in the code, one of them runs",
    "rolled": "a loop in the code, whatever the number of its iterations",
    "recursion": "a call of a native function that calls itself",
    "unrolled": "a copy of the body for each iteration; the detail says how many and why",
    "peeled": "the first iterations stand before the loop; the detail says how many and why",
    "duplicated": "the statements that follow are in the code once for each side of a branch",
    "static": "decided or computed while compiling, from what the variant is made for",
    "effect": "prints or raises at run time",
    "bails": "the call is repeated eagerly where this is reached; the detail says what happens",
    "copied": "a whole array is copied at run time; the detail says why",
    "kept": "a backward pass keeps the values of a function under `remat`; the detail says why",
    "host": "calls NumPy or Python at run time",
    "eager": "runs in Python; the detail begins with the code of the reason",
}


@dataclass(frozen=True)
class Note:
    """`kind` is a key of `KINDS`; `where` is None for what belongs to the function as a whole."""

    kind: str
    where: Where | None
    detail: str = ""

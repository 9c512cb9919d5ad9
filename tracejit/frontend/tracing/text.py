"""Texts whose parts are known only at run time: f-strings, `str(x)`, `%` and sums of them.

A `TracedText` holds a template of `ops/control/templates.py` with tracers in the places of
operands. It can be formatted further, joined, printed, passed to exceptions and be a result;
whatever else needs its characters raises TraceError TJ021.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import Tracer, here, lift, user_line, wrap
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, PyScalar
from tracejit.ops.control.templates import Text, render

__all__ = [
    "NodeOperands",
    "Operand",
    "TextLike",
    "TracedText",
    "concatenate",
    "never_raises",
    "pieces_of",
]


class Operand:
    """A traced value as it was when the text was made; `size` is the size that it was, if any."""

    __slots__ = ("size", "tracer")

    def __init__(self, x: Tracer | SymInt) -> None:
        self.size = x if isinstance(x, SymInt) else None
        # Stores that follow do not change the text.
        self.tracer = wrap(here(), lift(x).value())


#: Pieces of a text as in a template, with `Operand`s for the numbers of operands.
Pieces: TypeAlias = tuple[Any, ...]


class TracedText:
    """Stands for a str."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces

    def settled(self) -> Any:
        """The text itself where it depends on sizes alone, which are then guarded."""
        values: list[int] = []

        def value(operand: Operand) -> int:
            values.append(int(operand.size))  # type: ignore[arg-type]
            return len(values) - 1

        if any(o.size is None for o in _operands(self.pieces)):
            return self
        return render(_numbered(self.pieces, value), values)

    def known(self, what: str) -> str:
        """The text as a str. Raises TraceError TJ021 where it is not known while tracing."""
        text = self.settled()
        if not isinstance(text, str):
            self.refuse(what)
        return text

    def parts(self) -> tuple[Text, list[Any]]:
        """The text as a template, and its operands."""
        found = list(_operands(self.pieces))
        numbers = iter(range(len(found)))
        template = _numbered(self.pieces, lambda _: next(numbers))
        return template, [o.tracer if o.size is None else o.size for o in found]

    @classmethod
    def of_parts(cls, template: Text, operands: Sequence[Any]) -> TracedText:
        """The text of a template. Raises TraceError TJ021 where an operand is of two kinds."""

        def part(p: Any) -> Any:
            if type(p) is int:
                return Operand(operands[p])
            return tuple(map(part, p)) if type(p) is tuple else p

        if not all(isinstance(x, (Tracer, SymInt)) for x in operands):
            raise TraceError("TJ021", "values of two kinds in a text", user_line())
        return cls(part(template))

    def refuse(self, what: str) -> NoReturn:
        """Raise TraceError TJ021."""
        raise TraceError("TJ021", what, user_line())

    def __bool__(self) -> bool:
        self.refuse("a condition")

    def __len__(self) -> int:
        self.refuse("len()")

    def __iter__(self) -> Any:
        self.refuse("iteration over a text")

    def __getitem__(self, key: Any) -> Any:
        self.refuse("an index into a text")

    def __contains__(self, x: Any) -> bool:
        self.refuse("a test by `in`")

    def __hash__(self) -> int:
        self.refuse("a key")

    def __eq__(self, other: object) -> bool:
        self.refuse("a comparison")

    def __str__(self) -> str:
        self.refuse("str()")

    def __format__(self, spec: str) -> str:
        self.refuse("formatting")

    def __repr__(self) -> str:
        return f"TracedText({self.pieces!r})"

    def __reduce__(self) -> Any:
        self.refuse("pickling")


TextLike: TypeAlias = "str | TracedText"


def pieces_of(text: TextLike) -> Pieces:
    """The pieces of a text, traced or not."""
    if isinstance(text, TracedText):
        return text.pieces
    return (text,) if text else ()


def concatenate(texts: Iterable[TextLike]) -> TextLike:
    """The texts one after the other."""
    pieces: list[Any] = []
    for text in texts:
        for piece in pieces_of(text):
            if type(piece) is str and pieces and type(pieces[-1]) is str:
                pieces[-1] += piece
            else:
                pieces.append(piece)
    if all(type(p) is str for p in pieces):
        return "".join(pieces)
    return TracedText(tuple(pieces))


class NodeOperands:
    """The operands of one node, each value once."""

    def __init__(self) -> None:
        self.values: list[Value] = []

    def number(self, operand: Operand) -> int:
        """The number of an operand; its value is one of the innermost trace."""
        value = operand.tracer.value()
        if value not in self.values:
            self.values.append(value)
        return self.values.index(value)

    def text(self, text: TextLike) -> Text:
        """A text as a template over these operands."""
        return _numbered(pieces_of(text), self.number)


def never_raises(text: Text, operands: Sequence[Any]) -> bool:
    """Whether a text can be made of any values that operands (tracers, sizes) may have."""
    samples = [_sample(x) for x in operands]
    integers = {k for k, x in enumerate(samples) if isinstance(x, (int, np.integer))}
    other = [type(x)(0) if isinstance(x, (bool, np.bool_)) else x for x in samples]
    try:
        render(text, samples)
        render(text, other)
    except Exception:
        return False
    return all(_is_safe(piece, integers) for piece in text)


def _sample(x: Any) -> Any:
    if isinstance(x, SymInt):
        return 1
    t = lift(x).type
    if isinstance(t, ArrayType):
        return np.ones([2] * t.ndim, t.dtype)
    one = t.dtype.type(1)  # type: ignore[union-attr]
    return one.item() if isinstance(t, PyScalar) else one


def _is_safe(piece: Any, integers: set[int]) -> bool:
    """Whether a piece that can be made of samples can be made of other values."""
    match piece:
        case str():
            return True
        case ("value", _, _, spec):
            # A character has no number below 0.
            return all(type(p) is str and not p.endswith("c") for p in spec)
        case ("text", inner, _, spec):
            known = all(type(p) is str for p in spec)
            return known and all(_is_safe(p, integers) for p in inner)
        case ("percent", form, *items):
            whole = all(type(k) is tuple or k in integers for k in items)
            fits = form[-1] in "eEfFgGs" or form[-1] in "dioxXu" and whole
            inside = [p for item in items if type(item) is tuple for p in item]
            return fits and "*" not in form and all(_is_safe(p, integers) for p in inside)
        case ("method", _, inner, _):
            return all(_is_safe(p, integers) for p in inner)
        case ("choice", _, first, second):
            return all(_is_safe(p, integers) for p in (*first, *second))
    return False


def _numbered(pieces: Pieces, number: Callable[[Operand], int]) -> Text:
    """`pieces` with numbers for operands."""

    def part(p: Any) -> Any:
        if isinstance(p, Operand):
            return number(p)
        return _numbered(p, number) if type(p) is tuple else p

    return tuple(map(part, pieces))


def _operands(part: Any) -> Sequence[Operand]:
    if isinstance(part, Operand):
        return [part]
    if type(part) is tuple:
        return [o for p in part for o in _operands(p)]
    return []

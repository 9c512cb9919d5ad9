"""Recipes become calls: for each operand that a recipe names, arrays and numbers of many kinds."""

from __future__ import annotations

import ast
import linecache
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.support import layouts

#: Layouts of arrays with axes, by name; C order is `plain`.
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "plain": np.array,
    "fortran": layouts.fortran,
    "strided": layouts.strided,
    "reversed": layouts.reversed_rows,
    "transposed": layouts.transposed,
    "block": layouts.inner_block,
    "read_only": layouts.read_only,
    "swapped_axes": layouts.swapped_axes,
    "repeated_rows": layouts.repeated_rows,
    "repeated_columns": layouts.repeated_columns,
    "overlapping": layouts.overlapping,
}
#: Operands in several layouts, by the place of their names in the alphabet; and no arrays.
MIXED, LISTS = "mixed", "lists"
#: Forms of the values: dtypes other than float64, and shapes and elements at the edge.
FORMS = ("int64", "bool", "complex128", "float32", "uint8", "special")
FORMS_OF_SHAPE = ("zero_d", "empty", "row", "scalar", "number")
#: What a parameter may be given that is commonly a small int or a float.
EDGES: tuple[Any, ...] = (
    *(0, -1, 3, 2.5, -0.0, float("nan"), True, 1j, None),
    *(np.int64(1), np.float64(-0.0), np.float32(1.5), np.bool(True), np.array(1), np.array([1])),
)


def _values(shape: tuple[int, ...], start: float, step: float = 0.75) -> np.ndarray:
    """Quarters, of which sums and products of a few are exact."""
    n = int(np.prod(shape))
    return (np.remainder(np.arange(n) * 7, n + 1) * step + start).reshape(shape)


def _a() -> np.ndarray:
    return _values((3, 4), -3.0)


#: Operand -> its value in C order, of float64 unless it is of another kind by meaning.
ARRAYS: dict[str, Callable[[], np.ndarray]] = {
    "a": _a,
    "b": lambda: _values((3, 4), 0.5, 0.5)[::-1].copy(),
    "t": lambda: _values((2, 3, 4), -2.0),
    "v": lambda: np.array([2.5, -1.0, 4.0, 2.5, 0.0]),
    "w": lambda: np.array([1.0, 0.5, 2.0, 3.0, 0.25]),
    "x": lambda: np.array([-2.0, -0.5, 1.0, 3.0, 4.5]),
    "m": lambda: np.array([[4.0, 1.0, 0.5], [1.0, 5.0, 1.5], [0.5, 1.5, 6.0]]),
    "h": lambda: np.array([[[4.0, 1.0], [1.0, 3.0]], [[5.0, 2.0], [2.0, 4.0]]]),
    "g": lambda: np.arange(1, 7).reshape(2, 3, 1, 1) * np.array([[4.0, 1.0], [1.0, 3.0]]),
}
#: Operands whose dtype is part of their meaning.
TYPED: dict[str, Callable[[], np.ndarray]] = {
    "i": lambda: np.array([2, 0, 1, 1]),
    "j": lambda: np.array([[1, 0, 2, 1], [2, 2, 0, 1], [0, 1, 1, 0]]),
    "p": lambda: np.array([[True, False, True, True], [False] * 4, [True, True, False, False]]),
    "u": lambda: np.array([3, 1, 200, 7, 0], np.uint8),
}
#: Calls that end the process in NumPy itself, or give what was in memory before.
CRASHES = {
    ("np.fft.hfft(v, n)", "empty"),
    ("np.cumsum(a, axis=0, out=b)", "zero_d"),
    ("np.cumulative_sum(a, axis=0, out=b)", "zero_d"),
    ("np.nancumsum(a, axis=0, out=b)", "zero_d"),
    ('np.einsum("iij->ij", h)', "empty"),
    ('np.einsum("ii->i", m)', "empty"),
    ('np.pad(a, 1, mode="empty")[1:-1, 1:-1]', "empty"),
}
#: Numbers: the value that suits most functions, in place of which edges are tried.
NUMBERS: dict[str, Any] = {"k": 1, "s": 1.5, "n": 2}


@dataclass(frozen=True)
class Case:
    """One call of a recipe: the function's text, its operands' forms, and a number at the edge."""

    text: str
    form: str
    edge: tuple[str, int] | None = None

    def __str__(self) -> str:
        edge = "" if self.edge is None else f", {self.edge[0]} = {EDGES[self.edge[1]]!r}"
        return f"{self.text}  [{self.form}{edge}]"

    def arguments(self) -> tuple[Any, ...]:
        """New operands, in the order of `parameters`."""
        return tuple(self._argument(name) for name in parameters(self.text))

    def _argument(self, name: str) -> Any:
        if name in NUMBERS:
            return EDGES[self.edge[1]] if self.edge and self.edge[0] == name else NUMBERS[name]
        form = self.form
        if form == MIXED:
            form = (*LAYOUTS,)[ord(name) % len(LAYOUTS)]
        return _shaped((TYPED.get(name) or ARRAYS[name])(), form)

    def function(self, numpy: Any = np) -> Callable[..., Any]:
        """The recipe as a new function whose source can be found, where `np` is a namespace."""
        text = f"def recipe({', '.join(parameters(self.text))}):\n"
        body = "".join(f"    {line}\n" for line in self.text.split("; "))
        if "return" not in self.text:
            body = f"    return {self.text}\n"
        file = f"<surface {zlib.crc32(text.encode() + body.encode()):08x}>"
        lines = (text + body).splitlines(keepends=True)
        linecache.cache[file] = (len(text + body), None, lines, file)
        space: dict[str, Any] = {"np": numpy}
        exec(compile(text + body, file, "exec"), space)
        made: Callable[..., Any] = space["recipe"]
        return made


def _shaped(x: np.ndarray, form: str) -> Any:
    """The operand in one of the forms."""
    typed = x.dtype.kind != "f"
    if form in LAYOUTS:
        return LAYOUTS[form](x)
    if form == LISTS:
        return x.tolist()
    if form == "zero_d":
        return np.array(x.reshape(-1)[0])
    if form in ("scalar", "number"):
        first = x.dtype.type(0) if typed else np.float64(-0.0)
        return first.item() if form == "number" else first
    if form == "empty":
        return x[:0].copy()
    if form == "row":
        return x[:1].copy()
    if form == "special":
        return x if typed else _special(x)
    if typed:
        return x
    if form == "complex128":
        return x + 1j * x[::-1] if x.ndim < 2 or x.shape[0] != x.shape[-1] else x + 0j
    if form == "bool":
        return x > 0.6
    return np.abs(x).astype(form) if form == "uint8" else x.astype(form)


def _special(x: np.ndarray) -> np.ndarray:
    out = x.copy()
    flat = out.reshape(-1)
    flat[: len(SPECIAL)] = SPECIAL[: flat.size]
    return out


SPECIAL = (-0.0, float("nan"), float("inf"), 0.0, float("-inf"))


def parameters(text: str) -> list[str]:
    """The operands that a recipe names, in order of the alphabet."""
    names = {x.id for x in ast.walk(ast.parse(text.replace("return ", ""))) if _is_name(x)}
    return sorted(names & {*ARRAYS, *TYPED, *NUMBERS})


def _is_name(x: ast.AST) -> bool:
    return isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)


def cases_of(text: str) -> Iterator[Case]:
    """All calls of one recipe."""
    given = parameters(text)
    if any(p in ARRAYS for p in given):
        forms = (*LAYOUTS, MIXED, LISTS, *FORMS, *FORMS_OF_SHAPE)
    elif any(p in TYPED for p in given):
        forms = (*LAYOUTS, MIXED, LISTS, *FORMS_OF_SHAPE)
    else:
        forms = ("plain",)
    for form in forms:
        if (text, form) not in CRASHES:
            yield Case(text, form)
    for number in given:
        if number in NUMBERS:
            for k in range(len(EDGES)):
                yield Case(text, "plain", (number, k))

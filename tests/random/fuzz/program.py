"""What a generated program is, and its source text."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import itertools
import linecache
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import erf

from tests.random.fuzz.inputs import Input, Sizes

NAMES = {"np": np, "erf": erf}
_numbers = itertools.count()


@functools.cache
def names_read(expression: str) -> tuple[str, ...]:
    """The variables an expression reads, in order of first use."""
    found = {
        node.id: None
        for node in ast.walk(ast.parse(expression, mode="eval"))
        if isinstance(node, ast.Name) and node.id not in NAMES and not hasattr(builtins, node.id)
    }
    return tuple(found)


@functools.cache
def compiled(expression: str) -> Any:
    """An expression ready for `eval`."""
    return compile(expression, "<expression>", "eval")


@dataclasses.dataclass(frozen=True)
class Statement:
    """``target = expression``, with how far rounding may move its value (see `noise`)."""

    target: str
    expression: str
    parity: str = "exact"
    magnitude: str | None = None

    @property
    def reads(self) -> tuple[str, ...]:
        """The variables it reads."""
        return names_read(self.expression)

    def evaluate(self, values: dict[str, Any], expression: str | None = None) -> Any:
        """Its value where its variables are bound so."""
        return eval(compiled(expression or self.expression), NAMES, values)


@dataclasses.dataclass(frozen=True)
class Program:
    """Parameters, statements and the names returned.

    `boxed` parameters arrive together in one container of type `box`; results leave in one of type
    `packing` (``single``, ``tuple``, ``list``, ``dict``).
    """

    inputs: tuple[Input, ...]
    statements: tuple[Statement, ...]
    returns: tuple[str, ...]
    box: str = "tuple"
    boxed: int = 0
    packing: str = "tuple"

    def source(self, name: str = "f") -> str:
        """The function's text."""
        names = [x.name for x in self.inputs]
        inside, outside = names[: self.boxed], names[self.boxed :]
        lines = [f"def {name}({', '.join((['box'] if inside else []) + outside)}):"]
        for i, variable in enumerate(inside):
            key = repr(variable) if self.box == "dict" else str(i)
            lines.append(f"    {variable} = box[{key}]")
        lines += [f"    {s.target} = {s.expression}" for s in self.statements]
        lines.append(f"    return {self.packed_text()}")
        return "\n".join(lines) + "\n"

    def packed_text(self) -> str:
        """The returned expression."""
        if self.packing == "single":
            return self.returns[0]
        if self.packing == "dict":
            return "{" + ", ".join(f"{r!r}: {r}" for r in self.returns) + "}"
        inner = ", ".join(self.returns)
        return f"[{inner}]" if self.packing == "list" else f"({inner},)"

    def unpack(self, result: Any) -> list[Any]:
        """The returned values, in the order of `returns`."""
        if self.packing == "single":
            return [result]
        return list(result.values()) if self.packing == "dict" else list(result)

    def arguments(self, sizes: Sizes, layout: str | None = None) -> tuple[Any, ...]:
        """The positional arguments of one call."""
        values = [x.value(sizes, layout) for x in self.inputs]
        inside: Any = values[: self.boxed]
        if self.box == "tuple":
            inside = tuple(inside)
        elif self.box == "dict":
            inside = {x.name: v for x, v in zip(self.inputs, inside, strict=False)}
        return ((inside,) if self.boxed else ()) + tuple(values[self.boxed :])

    def function(self) -> Callable[..., Any]:
        """The function itself, its source readable by `inspect`."""
        filename = f"<fuzz {next(_numbers)}>"
        text = self.source()
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
        namespace: dict[str, Any] = {**NAMES, "__name__": "tests.random.fuzz.generated"}
        exec(compile(text, filename, "exec"), namespace)
        function: Callable[..., Any] = namespace["f"]
        return function

    def trimmed(self) -> Program:
        """Without statements and parameters that the results do not depend on."""
        needed = set(self.returns)
        kept: list[Statement] = []
        for statement in reversed(self.statements):
            if statement.target in needed:
                kept.append(statement)
                needed.update(statement.reads)
        inputs = tuple(x for x in self.inputs if x.name in needed)
        boxed = sum(x.name in needed for x in self.inputs[: self.boxed])
        return dataclasses.replace(
            self, inputs=inputs, statements=tuple(reversed(kept)), boxed=boxed
        )


def quietly(call: Callable[[], Any]) -> Any:
    """The value of a call, without NumPy's numeric warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        return call()


def start(program: Program, sizes: Sizes) -> dict[str, Any]:
    """The variables before the first statement."""
    return {x.name: x.value(sizes) for x in program.inputs}


def bind(statements: Sequence[Statement], values: dict[str, Any]) -> dict[str, Any]:
    """Run statements in order on top of `values`, which are updated and returned."""
    for statement in statements:
        values[statement.target] = statement.evaluate(values)
    return values

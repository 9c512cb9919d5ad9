"""Draws random programs: each statement is run as it is drawn, and kept if it works."""

from __future__ import annotations

import dataclasses
import functools
import random
from typing import Any

import numpy as np

from tests.random.fuzz.draw import ANY, Draw, NoCandidateError, kind
from tests.random.fuzz.inputs import Sizes, random_input, weighted
from tests.random.fuzz.productions import PRODUCTIONS
from tests.random.fuzz.program import Program, Statement, quietly, start
from tests.support.layouts import LAYOUTS

LARGEST = 4000
RAISING = 0.15
#: What a kept last statement may raise; other exceptions mean that the production misfired.
EXCEPTIONS = (ArithmeticError, IndexError, TypeError, ValueError)


@dataclasses.dataclass(frozen=True)
class Call:
    """The sizes of one call, and the layout of all its arrays if not each input's own."""

    sizes: tuple[tuple[str, int], ...]
    layout: str | None = None

    def arguments(self, program: Program) -> tuple[Any, ...]:
        """The arguments it passes."""
        return program.arguments(dict(self.sizes), self.layout)


@dataclasses.dataclass(frozen=True)
class Case:
    """A program and the calls made to one compiled form of it, in order."""

    program: Program
    calls: tuple[Call, ...]


def generate(seed: int) -> Case:
    """The random case of this seed."""
    rng = random.Random(seed)
    first = {"n": rng.randint(3, 9), "m": rng.choice((2, 3, 4, 5, 17))}
    second = {"n": rng.choice((4, 6, 11, 33)), "m": rng.randint(3, 7)}
    third = {"n": rng.choice((0, 1, 2, 70)), "m": rng.choice((0, 1, 2, 3, 8))}
    program = draw_program(rng, first, second)
    layout = rng.choice(list(LAYOUTS))
    calls = [(first, None), (first, None), (second, None), (second, layout), (third, None)]
    return Case(program, tuple(Call(tuple(s.items()), name) for s, name in calls))


def draw_program(rng: random.Random, first: Sizes, second: Sizes) -> Program:
    """A random program that runs at both sizes, or raises in its last statement."""
    inputs = tuple(random_input(rng, f"x{i}") for i in range(rng.randint(1, 4)))
    program = Program(inputs, (), ())
    draw = Draw(rng, start(program, first), start(program, second))
    statements: list[Statement] = []
    length = rng.randint(1, 12)
    for _ in range(length * 4):
        if len(statements) == length:
            break
        statement = draw_statement(draw, f"v{len(statements)}")
        if statement is None:
            continue
        outcome = extend(draw, statement)
        raises = isinstance(outcome, EXCEPTIONS) and rng.random() < RAISING
        if outcome is None or raises:
            statements.append(statement)
        if raises:
            draw.unused.add(statement.target)
            break
    returns = sorted(draw.unused - {x.name for x in inputs}, key=lambda name: int(name[1:]))
    if not returns or rng.random() < 0.1:
        returns.append(rng.choice([x.name for x in inputs] + [s.target for s in statements]))
    packing = rng.choice(("tuple", "tuple", "list", "dict"))
    if len(returns) == 1 and rng.random() < 0.7:
        packing = "single"
    if packing == "dict":
        returns = list(dict.fromkeys(returns))
    boxed = rng.randint(1, len(inputs)) if rng.random() < 0.2 else 0
    box = rng.choice(("tuple", "list", "dict"))
    return Program(inputs, tuple(statements), tuple(returns), box, boxed, packing).trimmed()


def draw_statement(draw: Draw, target: str) -> Statement | None:
    """One random statement, or None where the production drawn has nothing to work on."""
    production = weighted(draw.rng, PRODUCTIONS)
    try:
        text, parity, magnitude = production(draw)
    except (NoCandidateError, IndexError):
        return None
    return Statement(target, text, parity, magnitude)


def extend(draw: Draw, statement: Statement) -> Exception | None:
    """Run a statement at both sizes and add its variable; else say why it was not added."""
    results = []
    for values in (draw.values, draw.others):
        try:
            result = quietly(functools.partial(statement.evaluate, values))
        except Exception as error:
            return error
        results.append(result)
    if any(not acceptable(result) for result in results):
        return RuntimeError("too large, or not a number")
    draw.values[statement.target], draw.others[statement.target] = results
    draw.unused.difference_update(statement.reads)
    draw.unused.add(statement.target)
    return None


def acceptable(value: Any) -> bool:
    """Whether later statements can go on with a value."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**70:
        return False
    known = isinstance(value, np.ndarray | np.generic | int | float | complex)
    return known and np.size(value) <= LARGEST and (isinstance(value, int) or kind(value) in ANY)

"""Makes a failing case smaller while it keeps failing: calls, statements, results, inputs."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.random.fuzz.generate import Call, Case
from tests.random.fuzz.inputs import Input
from tests.random.fuzz.program import Program, Statement

SIMPLER: dict[str, tuple[Any, ...]] = {
    "layout": ("c",),
    "kind": ("array",),
    "dims": ((), ("n",), ("n", "m")),
    "dtype": ("float64", "int64"),
    "fill": ("small", "normal"),
}


def shrink(case: Case, fails: Callable[[Case], bool], tries: int = 300) -> Case:
    """The smallest failing case that greedy simplification finds in at most `tries` checks."""
    seen = {case}
    progress = True
    while progress:
        progress = False
        for smaller in simpler(case):
            if smaller in seen:
                continue
            seen.add(smaller)
            if tries == 0:
                return case
            tries -= 1
            if fails(smaller):
                case, progress = smaller, True
                break
    return case


def simpler(case: Case) -> Iterator[Case]:
    """Cases one step simpler, the largest steps first."""
    for i in range(len(case.calls)):
        if len(case.calls) > 1:
            yield dataclasses.replace(case, calls=case.calls[:i] + case.calls[i + 1 :])
    for program in simpler_programs(case.program):
        yield dataclasses.replace(case, program=program)
    for i, call in enumerate(case.calls):
        for other in simpler_calls(call):
            yield dataclasses.replace(case, calls=(*case.calls[:i], other, *case.calls[i + 1 :]))


def simpler_calls(call: Call) -> Iterator[Call]:
    """Without a forced layout; with smaller sizes."""
    if call.layout is not None:
        yield dataclasses.replace(call, layout=None)
    for name, size in call.sizes:
        for smaller in (2, 3, size // 2, size - 1):
            if 0 <= smaller < size:
                sizes = tuple((k, smaller if k == name else v) for k, v in call.sizes)
                yield dataclasses.replace(call, sizes=sizes)


def simpler_programs(program: Program) -> Iterator[Program]:
    """With fewer results, fewer statements, plainer containers, plainer inputs."""
    if len(program.returns) > 1:
        for name in program.returns:
            yield dataclasses.replace(program, returns=(name,), packing="single").trimmed()
    for i in reversed(range(len(program.statements))):
        yield from without(program, i)
    if program.boxed:
        yield dataclasses.replace(program, boxed=0)
    if program.packing != "single" and len(program.returns) == 1:
        yield dataclasses.replace(program, packing="single")
    for i, one in enumerate(program.inputs):
        for plainer in simpler_inputs(one):
            inputs = (*program.inputs[:i], plainer, *program.inputs[i + 1 :])
            yield dataclasses.replace(program, inputs=inputs)


def without(program: Program, i: int) -> Iterator[Program]:
    """Each way of leaving statement `i` out: what reads it reads one of its operands instead."""
    gone = program.statements[i]
    rest = program.statements[:i] + program.statements[i + 1 :]
    earlier = [x.name for x in program.inputs]
    for name in dict.fromkeys((*gone.reads, *earlier)):
        statements = tuple(renamed(s, gone.target, name) for s in rest)
        returns = [name if r == gone.target else r for r in program.returns]
        if program.packing == "dict":
            returns = list(dict.fromkeys(returns))
        changed = dataclasses.replace(program, statements=statements, returns=tuple(returns))
        yield changed.trimmed()


def renamed(statement: Statement, old: str, new: str) -> Statement:
    """The statement reading `new` where it read `old`."""

    def text(expression: str) -> str:
        return re.sub(rf"\b{old}\b", new, expression)

    magnitude = None if statement.magnitude is None else text(statement.magnitude)
    return dataclasses.replace(
        statement, expression=text(statement.expression), magnitude=magnitude
    )


def simpler_inputs(one: Input) -> Iterator[Input]:
    """With one property replaced by a plainer one."""
    for field, options in SIMPLER.items():
        current = getattr(one, field)
        end = options.index(current) if current in options else len(options)
        for option in options[:end]:
            yield dataclasses.replace(one, **{field: option})

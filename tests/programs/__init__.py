"""Whole NumPy programs, kept in modules that pytest does not rewrite.

pytest compiles test modules from a rewritten syntax tree, so that a function defined there does not
match its own source; the functions to be compiled live here instead.
"""

from tests.programs import (
    beyond,
    geometry,
    images,
    integers,
    learning,
    linear,
    physics,
    signals,
    statistics,
)
from tests.programs.program import Program

PROGRAMS: list[Program] = [
    program
    for module in (
        images,
        learning,
        statistics,
        physics,
        signals,
        geometry,
        linear,
        integers,
        beyond,
    )
    for program in module.PROGRAMS
]

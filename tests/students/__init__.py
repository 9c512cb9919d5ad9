"""Programs as students write them, in plain Python, unaware of any compiler.

They are the yardstick of plain Python: each does compiled what it does in Python, with the settings
that a user has who sets none. They are written from descriptions, and are never adapted to what the
compiler can do.

python -m tests.students            # a table of what is right and what is compiled
"""

import importlib

from tests.students.program import Family, Program

#: The files, each a family of programs.
FAMILIES: dict[str, Family] = {
    name: importlib.import_module(f"{__name__}.{name}").PROGRAMS
    for name in (
        "sieves",
        "sorting",
        "searching",
        "linked_lists",
        "trees",
        "stacks",
        "queues",
        "graphs",
        "dynamic_programming",
        "parsers",
        "state_machines",
        "simulations",
        "texts",
        "number_theory",
        "matrices",
        "iterators",
        "closures",
        "backtracking",
    )
}

PROGRAMS: list[Program] = [program for family in FAMILIES.values() for program in family]

"""Programs of public style: functions and methods as they are found on the web, unchanged.

Written from descriptions, by the habits of NumPy users, not by what the compiler can do.
"""

import importlib

from .program import Family, Program

#: The files, each a family of programs.
FAMILIES: dict[str, Family] = {
    name: importlib.import_module(f"{__name__}.{name}").PROGRAMS
    for name in (
        "machine_learning",
        "networks",
        "probabilistic",
        "filters",
        "simulators",
        "optimisers",
        "dynamic_programming",
        "statistics",
        "signals",
        "geometry",
        "graphs",
        "number_theory",
        "numerical",
        "finance",
        "parsers",
        "recursion",
        "games",
        "data_structures",
        "bookkeeping",
    )
}

PROGRAMS: list[Program] = [program for family in FAMILIES.values() for program in family]

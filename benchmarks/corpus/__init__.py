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
        "preparation",
        "networks",
        "layers",
        "probabilistic",
        "filters",
        "simulators",
        "optimisers",
        "populations",
        "dynamic_programming",
        "statistics",
        "signals",
        "geometry",
        "graphs",
        "graph_search",
        "number_theory",
        "numerical",
        "linear_systems",
        "finance",
        "parsers",
        "records",
        "recursion",
        "games",
        "agents",
        "data_structures",
        "containers",
        "bookkeeping",
    )
}

PROGRAMS: list[Program] = [program for family in FAMILIES.values() for program in family]

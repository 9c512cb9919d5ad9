"""Control flow as NumPy users write it, in modules that pytest does not rewrite.

pytest compiles test modules from a rewritten syntax tree, so that a function defined there does not
match its own source; the functions to be compiled live here instead.
"""

from tests.control_programs import (
    algorithms,
    boolean_operators,
    branches,
    breaks,
    changing_loop_types,
    closures,
    comprehensions,
    containers_in_branches,
    contexts,
    early_returns,
    exceptions,
    generators,
    helpers,
    integers,
    iteration,
    linear_algebra,
    loop_else,
    loops,
    matching,
    missing_names,
    newcomer,
    prints,
    raised_by_operations,
    raises_asserts,
    ranges,
    recursion,
    recursion_on_data,
    scalars,
    simulations,
    stores,
    stores_into_arguments,
    unlike_types,
    while_loops,
    zero_trip,
)
from tests.control_programs.program import Program

PROGRAMS: list[Program] = [
    program
    for module in (
        branches,
        early_returns,
        loops,
        while_loops,
        breaks,
        loop_else,
        boolean_operators,
        containers_in_branches,
        helpers,
        recursion,
        recursion_on_data,
        closures,
        missing_names,
        unlike_types,
        changing_loop_types,
        zero_trip,
        ranges,
        iteration,
        comprehensions,
        stores,
        stores_into_arguments,
        prints,
        raises_asserts,
        exceptions,
        raised_by_operations,
        contexts,
        matching,
        generators,
        scalars,
        integers,
        linear_algebra,
        simulations,
        algorithms,
        newcomer,
    )
    for program in module.programs.all
]

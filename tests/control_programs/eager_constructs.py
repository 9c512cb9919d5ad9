"""Generators, which may run eagerly but never wrongly."""

from tests.control_programs.program import Programs, mixed, ramp

programs = Programs("eager_constructs")


def squares(x):
    for v in x:
        if v > 0:
            yield v * v


def from_generator(x):
    s = 0.0
    for v in squares(x):
        s += v
    return s


programs.add(from_generator, (ramp(4),), (mixed(9),), eager="a generator function")

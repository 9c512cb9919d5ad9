"""Generators and `match`, which may run eagerly but never wrongly."""

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


def matched(x, command):
    match command:
        case ("scale", k):
            return x * k
        case ("shift", k) if k > 0:
            return x + k
        case _:
            return -x


programs.add(
    matched,
    (ramp(4), ("scale", 2.0)),
    (ramp(4), ("shift", 1.5)),
    (ramp(4), ("shift", -1.5)),
    (mixed(9), ("other",)),
    eager="`match` on what arguments hold",
)

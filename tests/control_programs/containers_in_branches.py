"""Lists, dicts, named tuples, dataclasses and attributes that branches and loops change."""

# ruff: noqa: B007

import dataclasses
from collections import namedtuple

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table

programs = Programs("containers_in_branches")

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Particle:
    position: np.ndarray
    velocity: np.ndarray
    bounces: int = 0


@dataclasses.dataclass(frozen=True)
class Settings:
    rate: float
    limit: float


def dict_entry_in_branch(x):
    state = {"value": x, "count": 0}
    if x > 0:
        state["value"] = x * 2
    else:
        state["count"] = 5
    return state


programs.add(dict_entry_in_branch, (1.5,), (-1.5,), (np.float64(2.0),), (np.float64(-2.0),))


def dict_in_loop(x, n):
    s = {"a": x, "b": x + 1}
    for i in range(n):
        if i % 2:
            s["a"] = s["a"] + s["b"]
        else:
            s["b"] = s["b"] * 0.5
    return s["a"], s["b"]


programs.add(dict_in_loop, (ramp(3), 4), (ramp(3), 1), (ramp(10), 0), (ramp(10), 9))


def dict_argument_read(parameters, x):
    if parameters["rate"] > 1:
        return x * parameters["rate"]
    return x + parameters["offset"]


programs.add(
    dict_argument_read,
    ({"rate": 2.0, "offset": 1.0}, ramp(4)),
    ({"rate": 0.5, "offset": 1.0}, ramp(4)),
    ({"rate": 0.5, "offset": ramp(9)}, ramp(9)),
)


def named_tuple_choice(p, q):
    far = p if p.x * p.x + p.y * p.y > q.x * q.x + q.y * q.y else q
    return far, Point(far.x + 1, far.y)


programs.add(
    named_tuple_choice,
    (Point(3.0, 4.0), Point(1.0, 1.0)),
    (Point(0.0, 1.0), Point(1.0, 1.0)),
    (Point(ramp(4)[0], 1.0), Point(ramp(4)[1], 1.0)),
)


def named_tuple_replaced(p, n):
    for i in range(n):
        if p.x > p.y:
            p = p._replace(x=p.x - p.y)
        else:
            p = Point(p.x, p.y - p.x * 0.5)
    return p


programs.add(
    named_tuple_replaced, (Point(5.0, 2.0), 3), (Point(5.0, 2.0), 10), (Point(1.0, 9.0), 4)
)


def bounce(particle, dt):
    """A dataclass made anew in a branch."""
    position = particle.position + dt * particle.velocity
    if position.min() < 0:
        return Particle(np.abs(position), -particle.velocity, particle.bounces + 1)
    return Particle(position, particle.velocity, particle.bounces)


programs.add(
    bounce,
    (Particle(ramp(3, 1, 2), ramp(3)), 0.5),
    (Particle(ramp(3, 1, 2), -ramp(3, 8, 9)), 0.5),
    (Particle(ramp(8), ramp(8), 3), 0.25),
)


def dataclass_fields_in_loop(x, n):
    p = Particle(x, x * 0 + 1)
    for _ in range(n):
        p.position = p.position + 0.5 * p.velocity
        if p.position.max() > 4:
            p.velocity = -p.velocity
            p.bounces += 1
    return p


programs.add(dataclass_fields_in_loop, (ramp(3), 2), (ramp(3), 12), (ramp(11), 40), (ramp(11), 0))


def settings_choose(settings, x):
    if x.max() > settings.limit:
        settings = dataclasses.replace(settings, rate=settings.rate / 2)
    return x * settings.rate, settings


programs.add(
    settings_choose,
    (Settings(2.0, 1.0), ramp(4)),
    (Settings(2.0, 9.0), ramp(4)),
    (Settings(3.0, 1.5), ramp(9)),
    eager="an argument that is a dataclass is the result",
)


def list_element_in_branch(x):
    values = [x[0], x[1], 0.0]
    if x[0] > x[1]:
        values[2] = x[0] - x[1]
    else:
        values[0], values[1] = values[1], values[0]
    return values


programs.add(list_element_in_branch, (ramp(3),), (-ramp(3),), (mixed(8),))


def list_as_loop_state(x, n):
    state = [x, 0.0, 1.0]
    for i in range(n):
        state[1] += state[0][i % len(x)]
        state[2] = -state[2]
    return state


programs.add(list_as_loop_state, (ramp(4), 3), (ramp(4), 8), (mixed(9), 0), (mixed(9), 30))


def append_in_short_loop(x):
    parts = []
    for i in range(4):
        parts.append(x * i)
    return np.stack(parts)


programs.add(append_in_short_loop, (ramp(3),), (mixed(12),))


def append_on_one_side(x):
    """Lists of two lengths meet after the branch."""
    parts = [x, x + 1]
    if x[0] > 0:
        parts.append(x * 2)
    return np.concatenate(parts)


programs.add(append_on_one_side, (ramp(3),), (ramp(3, 1, 2),), (mixed(9),), (-mixed(9),))


def append_in_loop_over_array(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(v * v)
    return kept


programs.add(
    append_in_loop_over_array,
    (ramp(5),),
    (mixed(14),),
    (-ramp(5, 1, 2),),
    eager="a list that grows by a traced decision in a loop has no length in the graph",
)


def history_of_while(x):
    history = [x]
    while x > 1:
        x = x / 3
        history.append(x)
    return np.array(history)


programs.add(
    history_of_while,
    (20.0,),
    (0.5,),
    (1000.0,),
    eager="a list that grows until a traced condition ends the loop",
)


def stack_machine(x):
    """A list used as a stack by a short straight loop."""
    stack = [1.0]
    for i in range(3):
        top = stack.pop()
        stack.append(top * x[i])
        if len(stack) < 2:
            stack.append(top + x[i])
    return stack


programs.add(stack_machine, (ramp(3),), (mixed(8),))


def counts_in_dict(m):
    counts = {"rows": 0, "large": 0}
    for row in m:
        counts["rows"] += 1
        if row.max() > 2:
            counts["large"] += 1
    return counts


programs.add(counts_in_dict, (table(3, 4),), (table(8, 2),), (table(3, 4) - 9,))


def new_key_on_one_side(x):
    d = {"x": x}
    if x > 0:
        d["root"] = np.sqrt(x)
    return len(d), d.get("root", -1.0)


programs.add(new_key_on_one_side, (4.0,), (-4.0,), (np.float64(9.0),), (0.0,))


class Counter:
    """An object with attributes that methods change."""

    def __init__(self, start):
        self.value = start
        self.steps = 0

    def advance(self, by):
        if by > 0:
            self.value = self.value + by
        self.steps += 1


def local_object(x, n):
    counter = Counter(x)
    for i in range(n):
        counter.advance(x - i)
    return counter.value, counter.steps


programs.add(local_object, (2.0, 3), (2.0, 8), (-1.0, 4), (5.5, 0))


def nested_containers(x):
    state = {"pair": (x, [0.0, 1.0])}
    for i in range(3):
        a, rest = state["pair"]
        if a.max() > 1:
            rest = [rest[1], rest[0] + i]
        state["pair"] = (a * 0.75, rest)
    return state


programs.add(nested_containers, (ramp(4),), (ramp(4, 0, 1),), (ramp(13, 0, 1.5),))


def unpacking(x):
    (a, b), *rest = (x[0], x[1]), x[2], x[3]
    if a > b:
        a, *rest = rest
    else:
        rest = [*rest[1:], a, b]
    return a, b, len(rest), rest[0]


programs.add(unpacking, (ramp(4),), (-ramp(4),), (mixed(9),), (-mixed(9),))

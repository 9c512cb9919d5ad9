"""Lists that change where a condition, an operand or a function inside the program does it."""

import numpy as np

from tests.control_programs.program import Programs

programs = Programs("effects_of_operands")
POSITIVE, NEGATIVE = np.array([1.5, -1.0, 2.0]), np.array([-1.5, 1.0, 0.5])
BOTH = (POSITIVE,), (NEGATIVE,)


def appended_in_a_ternary(x):
    out = [1.0]
    for k in range(12):
        out.append(k / 2) if x[k % 3] > 0 else None
    return len(out), out


programs.add(appended_in_a_ternary, *BOTH)


def stored_in_operands(x):
    calls = [0.0, 0.0]

    def note(v):
        calls[0] += 1.0
        calls[1] = v
        return v > 0

    first = note(x[0]) and note(x[1])
    second = note(x[1]) or note(x[2])
    third = 0 < x[2] < 1 and note(x[0])
    return first, second, third, calls


programs.add(stored_in_operands, *BOTH)


def entries_of_a_dict(x):
    found = {"n": 0.0}
    y = found.setdefault("n", 2.0) if x[0] > 0 else found.update(n=x[1])
    return found, y


programs.add(entries_of_a_dict, *BOTH)


def attribute_of_a_new_object(x):
    class_of = Count()
    step = [class_of.add() if v > 0 else class_of.add() * 2 for v in x]
    return step, class_of.n


class Count:
    def __init__(self):
        self.n = 0.0

    def add(self):
        self.n += 1.0
        return self.n


programs.add(attribute_of_a_new_object, *BOTH)


def function_inside_that_returns_on_both_sides(x):
    total = [0.0]

    def add(v):
        if v > 0:
            total[0] += v
            return 1
        else:
            total[0] -= 2 * v
            return 2

    return sum(add(v) for v in x[:2]), add(x[2]), total


programs.add(function_inside_that_returns_on_both_sides, *BOTH)


def generator_inside_that_ends_on_both_sides(x):
    total = [0.0]

    def numbers():
        if x[0] > 0:
            total[0] += 2.0
            yield 1
            return
        else:
            total[0] = 5.0
            return

    return sum(numbers()), total


programs.add(generator_inside_that_ends_on_both_sides, *BOTH)


def read_after_both_sides_return(x):
    seen = [0.0]
    try:
        if x[0] > 0:
            seen[0] = 2.0
            seen.append(1.0)
            return 1
        else:
            seen[0] = 5.0
            return 2
    finally:
        x[1] = seen[0] + len(seen)


programs.add(read_after_both_sides_return, *BOTH)


def test_of_a_loop_appends(x):
    out = [1.0]
    while (out.append(2.0) or len(out) < 9) if x[0] > 0 else (out.append(1.0) or len(out) < 5):
        pass
    return out


programs.add(test_of_a_loop_appends, *BOTH)


def test_of_a_loop_is_made_once_an_iteration(x):
    out = [1.0]

    def goes_on():
        out.append(1.0)
        return len(out) < (5 if x[0] > 0 else 30)

    while goes_on():
        pass
    return out


programs.add(test_of_a_loop_is_made_once_an_iteration, *BOTH)


def keys_are_asked_for_once(x):
    asked = [0.0]

    def key(v):
        asked[0] += 1.0
        return -v if x[0] > 0 else v

    first, numbers = max([x[0], x[1], x[2]], key=key), [0.5]
    for v in np.concatenate((x, x, x)):
        if v > 0:
            numbers.append(float(v))
    return (
        first,
        min(numbers, key=key),
        max(np.repeat(x, 4), key=key),
        min(x[0], 1.0, key=key),
        asked,
    )


programs.add(keys_are_asked_for_once, *BOTH)


def items_after_the_one_that_decides_are_not_made(x):
    made = [0.0]

    def positive(v):
        made[0] += 1.0
        return v > 0

    first = any(positive(v) for v in x), all(positive(v) for v in (x[0], x[1]))
    second = any(map(positive, [x[0], x[2]])), all(map(positive, np.repeat(x, 4)))
    return first, second, made


programs.add(items_after_the_one_that_decides_are_not_made, *BOTH)

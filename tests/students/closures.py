"""Memory between calls: dictionaries of answers, counters in closures."""

from tests.students.program import Family, numbers

PROGRAMS = Family()


def paths_in_grid(rows, columns):
    memo = {}

    def paths(r, c):
        if r == 1 or c == 1:
            return 1
        if (r, c) not in memo:
            memo[(r, c)] = paths(r - 1, c) + paths(r, c - 1)
        return memo[(r, c)]

    return paths(rows, columns), len(memo)


PROGRAMS.add(paths_in_grid, (6, 6), (1, 5), (7, 3), (12, 12))


def make_counter(start):
    count = start

    def increment(step=1):
        nonlocal count
        count += step
        return count

    return increment


def count_votes(votes):
    yes = make_counter(0)
    no = make_counter(0)
    for vote in votes:
        if vote:
            yes()
        else:
            no()
    return yes(0), no(0), yes(10)


PROGRAMS.add(count_votes, ([True, False, True] * 10,), ([],), ([False],), ([1, 0, 0, 0, 1],))


def powers(values):
    functions = []
    for exponent in range(4):
        functions.append(lambda x: x**exponent)
    squares = [function(3) for function in functions]
    table = [[function(v) for function in functions] for v in values]
    return squares, table


PROGRAMS.add(powers, (numbers(6),), ([],), ([2.5],), ([-1, 0, 1],))


def compose(functions):
    def composed(x):
        for function in functions:
            x = function(x)
        return x

    return composed


def pipeline(value, names):
    calls = []
    known = {
        "double": lambda x: 2 * x,
        "increment": lambda x: x + 1,
        "log": lambda x: calls.append(x) or x,
    }
    function = compose([known[name] for name in names])
    return function(value), function(value + 1), calls


PROGRAMS.add(
    pipeline,
    (3, ["double", "log", "increment", "log"]),
    (0.5, []),
    (1, ["square"]),
    (-7, ["log", "log"]),
)

"""Programs that give back tuples, and iterators beside generators: which tuple it is shows."""

from __future__ import annotations

from typing import Any

from tests.frontend.control.identity_samples import calls

PAIRS = [(1, 2), (3, 4)], [(3, 4), (1, 2), (2, 9), (5, 5)], [(1, 2), (1, 2)]
TUPLES = tuple((ts, x) for ts in PAIRS for x in ([1.0, 2.0], [3.0, 2.0], [0.0, 2.0] * 10))
LISTS: Any = ([],), ([1.0],), ([1.0, 2.0, 3.0],), ([0.0] * 20,)


@calls(*TUPLES)
def one_of_two(ts: Any, x: Any) -> Any:
    return ts[0] if x[0] > 1 else ts[1]


@calls(*TUPLES)
def one_of_two_made(ts: Any, x: Any) -> Any:
    a, b = (x[0], 1), (x[1], 2)
    return (a if x[0] > x[1] else b), a


@calls(*TUPLES)
def largest(ts: Any, x: Any) -> Any:
    best = ts[0]
    for t in ts:
        if t[0] > best[0]:
            best = t
    return best


@calls(*TUPLES)
def largest_among_those_made(ts: Any, x: Any) -> Any:
    best: Any = (x[0], 0)
    out = []
    for i in range(len(x)):
        t = (x[i], i)
        out.append(t)
        if t > best:
            best = t
    return best, out


@calls(*TUPLES)
def at_a_place_of_the_run(ts: Any, x: Any) -> Any:
    return ts[int(x[0]) % len(ts)]


@calls(*TUPLES)
def stored_anew(ts: Any, x: Any) -> Any:
    ts[0] = ts[1] if x[0] > 1 else ts[0]
    return ts


@calls(*TUPLES)
def after_a_loop(ts: Any, x: Any) -> Any:
    a, n = ts[0], 0
    while n < x[0]:
        a, n = ts[1], n + 1
    return a


@calls(*TUPLES)
def after_a_loop_beside_the_first(ts: Any, x: Any) -> Any:
    a = (x[0], 2)
    b, n = a, 0
    while n < x[0]:
        a, n = (x[1], 3), n + 1
    return a, b


@calls(*TUPLES)
def twice_in_a_list(ts: Any, x: Any) -> Any:
    a = (x[0], 2)
    q = [a]
    if x[0] > 1:
        q.append(a)
    else:
        q.append((x[0], 2))
    return q


@calls(*TUPLES)
def given_by_a_helper(ts: Any, x: Any) -> Any:
    def pick(a: Any, b: Any) -> Any:
        return a if a[0] > b[0] else b

    return pick(ts[0], ts[1])


@calls((0.5, [1.0, 2.0]), (-30.0, [1.0, 2.0]), (7.0, [1.0]))
def lists_that_calls_pick(n: float, path: Any) -> Any:
    """Each level joins the lists of those below it: LLVM must not fold them all together."""
    if n > 5:
        return path
    a = lists_that_calls_pick(n + 1, [*path])
    a[0] += 1
    return a


# Iterators beside generators ---------------------------------------------------------------------


def walked(items: Any) -> Any:
    yield from items


@calls(*LISTS)
def list_that_grows_behind_zip(xs: Any) -> Any:
    pairs, more = zip(walked(xs), xs, strict=False), zip(xs, walked(xs), strict=False)
    xs += [0]
    return list(pairs), list(more)


@calls(*LISTS)
def list_that_grows_behind_map(xs: Any) -> Any:
    sums = map(lambda a, b: a + b, walked(xs), xs)
    xs += [5]
    return list(sums)


@calls(*LISTS)
def list_that_the_loop_makes_longer(xs: Any) -> Any:
    out = []
    for a, b in zip(walked(list(xs)), xs, strict=False):
        if len(xs) < 9:
            xs.append(a)
        out.append((a, b))
    return out


@calls(*LISTS)
def list_that_the_generator_changes(xs: Any) -> Any:
    def counted() -> Any:
        for k in range(3):
            yield k
            xs.append(k)

    return list(zip(counted(), xs, strict=False)), xs


@calls(*LISTS)
def list_that_the_generator_empties(xs: Any) -> Any:
    def counted() -> Any:
        for k in range(3):
            yield k
            if xs:
                xs.pop()

    return list(zip(xs, counted(), strict=False)), xs


def numbers(n: Any) -> Any:
    for k in range(n):
        yield n - k


def numbers_of_another(n: Any) -> Any:
    for k in numbers(n):
        yield k + 1


COUNTS = (2,), (1,), (5,), (0,)


@calls(*COUNTS)
def bound_beside_a_generator(n: Any) -> Any:
    a, b = (0, n), (n, 4)
    for _ in numbers(n):
        a = b
    return [a, b]


@calls(*COUNTS)
def stored_beside_a_generator(n: Any) -> Any:
    pairs = [(0, n), (n, 4)]
    for _ in numbers(n):
        pairs[0] = max(pairs)
    return pairs


@calls(*COUNTS)
def beside_a_generator_of_a_generator(n: Any) -> Any:
    a, b = (0, n), (n, 4)
    for _ in numbers_of_another(n):
        a = max(a, b)
    return [a, b]


@calls(*COUNTS)
def beside_two_generators(n: Any) -> Any:
    a, b, c = (0, n), (n, 4), (n, 5)
    for _ in numbers(n):
        for k in numbers_of_another(n):
            b = c if k > 2 else b
        a = b
    return [a, b, c]


@calls(*COUNTS)
def dict_beside_a_generator(n: Any) -> Any:
    d = {0: (0, n), 1: (n, 4)}
    for _ in numbers(n):
        d[0] = d[1]
    return d

"""Programs in which it matters when items are taken, and what a container is meanwhile."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.frontend.control.identity_samples import calls

#: Few elements and many, so that loops are unrolled and rolled.
COUNTS = tuple((np.arange(n),) for n in (3, 45, 3, 60))
LISTS: Any = (([1, 2, 5],), ([1, 2],), ([4, 1, 9, 2] * 12,))
KEYS: Any = (({1: 0}, 2), ({1: 0, 2: 5}, 3), ({True: 0}, 1))


@calls(*COUNTS)
def raised_in_a_comprehension(a: Any) -> Any:
    try:
        return [10 // (int(v) - 2) for v in a]
    except ZeroDivisionError:
        return None


def quotient(v: Any) -> Any:
    try:
        return 7 // (int(v) - 20)
    finally:
        pass


@calls(*COUNTS)
def raised_in_a_helper(a: Any) -> Any:
    out: list[Any] = []
    try:
        out.extend([quotient(v) for v in a if v > 1])
    except ZeroDivisionError:
        out.append("raised")
    return out, sum(x for x in out if x != "raised")


@calls(*LISTS)
def extended_by_what_looks_at_it(xs: Any) -> Any:
    out = [1]
    out.extend(out[-1] + v for v in xs)
    out += (len(out) for v in xs)
    d = {0: 1}
    d.update((v, len(d)) for v in xs)
    s = {1}
    s.update(len(s) + v for v in xs)
    return out, d, sorted(s)


def small(v: Any) -> Any:
    if v > 3:
        raise KeyError(v)
    return v


@calls(*((xs, [0]) for (xs,) in LISTS))
def extended_as_far_as_it_goes(xs: Any, out: Any) -> Any:
    out.extend(map(small, xs))
    return out


@calls(({}, 1), ({5: 1}, 2))
def updated_as_far_as_it_goes(d: Any, x: Any) -> Any:
    try:
        d.update([(1, x), (2,)])
    except ValueError as e:
        return d, str(e)
    return d


@calls(*LISTS)
def sorted_by_a_key_that_looks(xs: Any) -> Any:
    seen = []

    def key(v: Any) -> Any:
        seen.append(len(xs))
        return -v

    xs.sort(key=key)
    return xs, seen


@calls((5,), (7,))
def sort_that_fails_half_way(n: Any) -> Any:
    h = [3, 1, 2, "x", n, 0]
    try:
        h.sort()
    except TypeError:
        pass
    return h


@calls(*KEYS)
def key_of_another_type(d: Any, a: Any) -> Any:
    v = d.pop(1)
    d[True] = v + a
    return list(map(str, d))


@calls(*COUNTS)
def keys_of_other_types_on_two_sides(a: Any) -> Any:
    d: dict[Any, int] = {}
    e = {(1, 2): 1}
    if a.sum() > 5:
        d[1] = 1
        e[(1.0, 2)] = e.pop((1, 2))
    else:
        d[True] = 1
    return d, e


TURNS = [0]


def counted() -> int:
    TURNS[0] += 1
    return TURNS[0]


def turned(v: Any) -> int:
    return counted() + v


@calls((3,), (2,), (30,))
def made_once(n: Any) -> Any:
    TURNS[0] = 0
    found = set(map(turned, range(n)))
    return sorted(found), TURNS[0]


@calls((5,), (7,))
def largest_of_what_is_left(n: Any) -> Any:
    items = iter([1, 2, "x", n])
    try:
        found = max(items)
    except TypeError:
        found = None
    return found, list(items)


@calls((1.0,), (2.0,))
def pairs_of_wrong_lengths(x: Any) -> Any:
    said = []
    for pairs in [(x, 1), (x,)], [(x, 1), (x, 2, 3)]:
        try:
            for a, b in pairs:
                said.append(a + b)
        except ValueError as e:
            said.append(str(e))
    return said


# What is drawn, and no more -----------------------------------------------------------------------


def one_by_one(a: Any, log: Any) -> Any:
    for v in a:
        log.append(int(v))
        yield v
    log.append("end")


@calls(*((np.arange(n), []) for n in (5, 2, 1, 3, 40)))
def unpacked_generator(a: Any, log: Any) -> Any:
    try:
        x, y = one_by_one(a, log)
    except ValueError as e:
        return str(e)
    return x + y


@calls((5.0, []), (2.0, []))
def one_item_more(x: Any, log: Any) -> Any:
    try:
        a, b = one_by_one([x, 2, 3], log)
    except ValueError as e:
        return str(e)
    return a + b


@calls(([3, 1, 2, 3, 5],), ([3, 1, 2, 3, 1],), ([7],), ([1],))
def key_that_raises(a: Any) -> Any:
    def key(v: Any) -> Any:
        if v > 3:
            raise KeyError(v)
        return -v

    values = [int(v) for v in np.array(a)]
    found: Any = None
    try:
        found = sorted(values, key=key)
        values.sort(key=key)
    except KeyError as e:
        found = e.args
    return found, values


def changing(q: Any, change: Any) -> Any:
    seen = []
    try:
        for v in q:
            seen.append(v)
            change(q)
    except RuntimeError as e:
        return str(e), seen, list(q)
    return None, seen, list(q)


@calls((5,), (6,))
def deque_changed_and_changed_back(n: Any) -> Any:
    return (
        changing(deque([n, 2]), lambda q: (q.append(1), q.pop())),
        changing(deque([n, 2]), lambda q: (q.appendleft(1), q.popleft())),
        changing(deque([n, 2]), lambda q: q.rotate(2)),
        changing(deque([n]), lambda q: q.rotate(1)),
    )


@calls((5,), (6,))
def deque_that_only_looks_changed(n: Any) -> Any:
    return (
        changing(deque([n, 2]), lambda q: q.extend([])),
        changing(deque([n, 2]), lambda q: q.__setitem__(0, 7)),
    )


# Names that are not bound, and handled -----------------------------------------------------------


@calls((1.0,), (7.0,), (2.0,))
def name_of_an_exception_that_is_over(x: Any) -> Any:
    try:
        x // 0
    except ArithmeticError as e:  # noqa: F841
        pass
    try:
        return e  # noqa: F821
    except UnboundLocalError:
        return x


@calls((1.0,), (7.0,), (2.0,))
def name_that_is_bound_later(x: Any) -> Any:
    found = []
    try:
        found.append(w)  # noqa: F821
    except UnboundLocalError:
        found.append(-1)
    w = x
    return found, (lambda: w)()


@calls((1.0,), (7.0,), (2.0,))
def shared_name_that_is_bound_later(x: Any) -> Any:
    def bind() -> None:
        nonlocal v
        v = x

    try:
        r = v  # noqa: F821
    except AttributeError:
        r = -1
    except UnboundLocalError:
        r = -2
    v = 3.0
    bind()
    return r, v


@calls((1.0,), (7.0,), (2.0,))
def name_of_another_python(x: Any) -> Any:
    try:
        text = unicode
    except NameError:
        text = str
    return text.__name__, x


@calls(([2, 1],), ([1, 2],))
def sorted_after_the_least(xs: Any) -> Any:
    found = [1]
    found.append(2)
    found[0] = min((v for v in one_by_one(np.array(xs), [])), default=3)
    found.sort()
    return found


@calls((np.ones(3),), (np.ones(2),), (np.ones(40),))
def size_in_a_key_and_a_row(a: Any) -> Any:
    rows: Any = []
    d = {}
    t = (len(a),)
    rows.append(t)
    d[t] = 0
    return d, rows


@calls((np.arange(3.0),), (np.arange(5.0),))
def classes_of_iterators(a: Any) -> Any:
    return (
        isinstance(zip(a, a, strict=False), zip),
        isinstance(enumerate(a), (list, dict, float)),
        type(map(abs, a)).__name__,
        type(a.flat).__name__,
        hasattr(zip(a, a, strict=False), "__next__"),
    )


# Lists of unlike lengths on the sides of a branch ------------------------------------------------


@calls((5.5, [1, 1, 1]), (0.0, [2, 4, 0]), (1.0, [2, 4, 0]), (0.0, [2, 4, 0, 7]))
def sorted_on_both_sides(x: Any, xs: Any) -> Any:
    if x:
        xs = [xs[1]]
    found = sorted(xs)
    made: Any = []
    return made + found, found + [1], found * 2, len(found), found[::-1]


@calls((5.5, [1, 1, 1]), (0.0, [2, 4, 0]), (1.0, [2, 4, 0]), (0.0, [2, 4, 0, 7]))
def made_on_both_sides(x: Any, xs: Any) -> Any:
    found = sorted(xs) if x else sorted(xs[1:])
    kept = found
    found += [3]
    found.append(int(x))
    return found, kept is found, [v + 1 for v in found], sum(found), max(found)


# Texts of one of several objects -----------------------------------------------------------------


class Told:
    def __init__(self, log: Any) -> None:
        self.log = log

    def __str__(self) -> str:
        self.log.append("asked")
        return "told"


@calls(([-1.0], []), ([2.0], []), ([-2.0], []))
def text_of_one_of_two(a: Any, log: Any) -> Any:
    x: Any = 1
    if a[0] > 0:
        x = Told(log)
    return f"{x}", len(log)


@dataclass
class Link:
    """A node that holds a number or another node."""

    next: Any = 1


@calls((4, Link()), (0, Link()), (3, Link()), (0, Link()))
def name_that_a_loop_by_its_first_iteration_leaves_unbound(n: Any, node: Any) -> Any:
    for v in range(n):
        if not v:
            break
        node.next = node
    else:
        v = v
    return 1


@calls((4, Link()), (0, Link()), (3, Link()), (0, Link()))
def name_in_a_list_that_nobody_reads(n: Any, node: Any) -> Any:
    for v in range(n):
        if not v:
            break
        node.next = node
    else:
        [v, 1].append(2)
    return 1


CHANGES: Any = ((0,), (4,), (1,), (5,))


@calls(*CHANGES)
def enumerated_deque_that_grows(n: Any) -> Any:
    q = deque([0])
    numbered = enumerate(q, 1)
    if n > 3:
        return 1
    q.append(n)
    return list(numbered)


@calls(*CHANGES)
def deque_asked_after_a_change(n: Any) -> Any:
    q = deque([n, 1, 2])
    items = iter(q)
    next(items)
    if n > 3:
        q.append(n)
    return list(items)


@calls(*CHANGES)
def empty_deque_that_grows(n: Any) -> Any:
    q = deque[int]()
    items = iter(q)
    q.append(n)
    return list(items)


@calls(*CHANGES)
def deque_that_grows_when_all_is_asked(n: Any) -> Any:
    q = deque([n])
    items = iter(q)
    first = list(items)
    q.append(n)
    return first, list(items)


@calls(*CHANGES)
def filtered_deque_that_turns(n: Any) -> Any:
    q = deque([n, 2])
    items = filter(None, q)
    q.rotate(1)
    return list(items)


@calls(*CHANGES)
def changed_deque_in_an_expression(n: Any) -> Any:
    q = deque([n, 2])
    items = (x + 1 for x in q)
    q.pop()
    return sum(items)


@calls(*CHANGES)
def deque_as_it_was(n: Any) -> Any:
    q = deque([n, 2, 3])
    items = iter(q)
    q.append(4)
    q.pop()
    try:
        return list(items)
    except RuntimeError as e:
        return str(e)


@calls(([0.5, 0, 1],), ([0.5, 0.0],))
def list_whose_end_a_loop_may_replace(a: Any) -> Any:
    p = q = [0]
    for _ in a:
        while a[0] > 1:
            p = list(p)
            q[1:] = [1]
    return q[0], p

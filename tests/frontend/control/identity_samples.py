"""Programs in which it matters which list, dict, object or iterator a name stands for."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

DATA = np.array([0.0, 2.0, -1.0, 1.5, 3.0])
LONG = np.array([1.0, -2.0, 0.5] * 12)
STEP = [1]

#: Each with the argument tuples of its calls, one after the other on one jitted function.
SAMPLES: list[tuple[Callable[..., Any], tuple[tuple[Any, ...], ...]]] = []


def calls(*given: tuple[Any, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        SAMPLES.append((f, given))
        return f

    return add


@dataclass
class Node:
    value: Any
    next: Any = None


class Holder:
    def __init__(self) -> None:
        self.rows: Any = None


# Two names of what a loop or a branch makes ------------------------------------------------------


@calls((DATA,), (LONG,), (DATA,))
def two_names(a: Any) -> Any:
    for v in a:
        p = [v]
        q = p
    q.append(9)
    return p


@calls((DATA,), (LONG,))
def one_row_three_times(a: Any) -> Any:
    for v in a:
        rows = [[v, 1]] * 3
    rows[0].append(5)
    return rows


@calls((LONG,))
def results_of_a_loop_that_are_one(a: Any) -> Any:
    p = q = [0.0]
    for v in a:
        p = q = [v + q[0]]
    return p, q


@calls((DATA,), (LONG,), (-LONG,))
def kept_by_a_union(a: Any) -> Any:
    for v in a:
        row = [v]
        keep = row if v > 0 else None
    if keep is not None:
        keep.append(1)
    return row


@calls((LONG,))
def kept_by_an_attribute(a: Any) -> Any:
    holder = Holder()
    for v in a:
        row = [v]
        holder.rows = row
    row.append(7)
    return holder.rows


@calls((1.0,), (-1.0,))
def one_on_one_side(x: float) -> Any:
    if x > 0:
        p = q = [1]
    else:
        p, q = [1], [2]
    p.append(4)
    return p, q


@calls((1.0,), (-1.0,))
def identity_after_a_branch(x: float) -> Any:
    if x > 0:
        p = q = [1]
    else:
        p, q = [1], [1]
    return p is q


@calls((1.0,), (-1.0,))
def nested_on_one_side(x: float) -> Any:
    inner = [0]
    if x > 0:
        a = {"k": inner, "m": [1]}
    else:
        m = [2]
        a = {"k": m, "m": m}
    a["m"].append(x)
    return a, inner


@calls((30, 2.0), (50, -1.0))
def argument_bound_anew(n: int, x: float) -> Any:
    xs = [1.0, 2.0]
    b = xs
    for _ in range(n):
        b[0] = x
        b = [x, 1.0]
        x = x / 2
    return xs, b


@calls(([0.0, 5.0], 100.0), ([0.0, 5.0], 0.5))
def stored_then_bound_anew(a: list[float], x: float) -> None:
    b = a
    while x > 1:
        b[0] = x
        b = [x, 1.0]
        x = x / 2


@calls((3,), (30,), (31,), (0,))
def linked(n: int) -> Any:
    head = tail = Node(0)
    for k in range(n):
        tail.next = Node(k)
        tail = tail.next
    return head


@calls((100.0,), (0.5,))
def linked_while(x: float) -> Any:
    head = tail = [0.0, None]
    while x > 1:
        tail[1] = [x, None]
        tail = tail[1]
        x = x / 2
    return head


@calls((3,), (40,))
def two_buffers(n: int) -> Any:
    old, new = [1, 0, 0], [0, 0, 0]
    first = old
    for k in range(n):
        new[0] = old[0] + k
        old, new = new, old
    return old, new, first is old, first


@calls((30,), (31,))
def argument_or_new(n: int) -> Any:
    start = [1.0]
    xs = start
    for k in range(n - 30):
        xs = [xs[0] + k]
    xs[0] = 7.0
    return start, xs


# Rows of lists that grow -------------------------------------------------------------------------


@calls((3,), (12,), (40,))
def row_with_a_name(n: int) -> Any:
    row = [1, 2]
    rows = [row]
    for i in range(n):
        rows.append([i, i])
    row[0] = 9
    return rows


@calls((LONG,), (-LONG,))
def row_with_a_name_by_data(a: Any) -> Any:
    row = [1, 2]
    rows = [row]
    for v in a:
        if v > 0:
            rows.append([0, 0])
    row[0] = 9
    return rows


@calls((30,), (31,))
def changed_after_it_was_appended(n: int) -> Any:
    rows: list[list[int]] = []
    row = [0, 0]
    for k in range(n):
        row[1] = k
        row = [k, 0]
        rows.append(row)
    return rows


@calls((1.0,), (-1.0,))
def one_row_twice(x: float) -> Any:
    rows = [[i, i + 1] for i in range(4)]
    if x > 0:
        rows.append(rows[0])
    return rows


@calls((30,), (31,))
def row_beside_its_list(n: int) -> Any:
    rows = []
    for k in range(n):
        row = [k, k + 1]
        rows.append(row)
    return row, rows


@calls((LONG, 4), (101 + LONG, 4))
def appended_behind_a_return(a: Any, n: int) -> Any:
    row = [n]
    rows = [row]
    if a[0] > 100:
        return 0
    rows.append(row)
    row[0] = 5
    return rows


# Dicts -------------------------------------------------------------------------------------------


@calls((1.0,), (-1.0,))
def stored_in_two_orders(x: float) -> Any:
    d = {}
    if x > 0:
        d["x"] = 1
        d["y"] = 2
    else:
        d["y"] = 2
        d["x"] = 1
    return list(d.items())


@calls((DATA,), (LONG,), (-LONG,))
def moved_to_the_end(a: Any) -> Any:
    d = {1: 0, 2: 0, 3: 0}
    for v in a:
        if v > 0:
            d[1] = d.pop(1) + 1
    return d


@calls(({}, 7), ({}, 8), ({}, 19), ({}, 7))
def key_of_the_run(d: dict[Any, Any], v: int) -> None:
    d[v % 10] = v
    d.setdefault((v + 1, "k"), v)


@calls((DATA, {}), (LONG, {}))
def size_as_a_key(a: Any, d: dict[Any, Any]) -> None:
    d[len(a) % 5] = 1


@calls(({0: 0, 1: 4, 2: 2},), ({},))
def taken_out_and_put_back(d: dict[int, int]) -> None:
    for _ in d:
        d[0] = d.pop(0, 0)


# Tuples ------------------------------------------------------------------------------------------


@calls(((1, 2.0), 1.0), ((1, 2.0), -1.0))
def tuple_as_it_came(t: Any, x: float) -> Any:
    if x > 0:
        return 0
    return t, [t]


@calls(([(1, 2), (3, 4)], (5, 6)), ([(1, 2), (3, 4)], (7, 8)))
def tuple_put_in(xs: Any, x: Any) -> Any:
    xs[0] = x
    return xs[0] is x


# Iterators ---------------------------------------------------------------------------------------


@calls((DATA,), (LONG,), (-DATA,))
def rest_of_an_array(a: Any) -> Any:
    it = iter(a)
    for v in it:
        if v > 0:
            break
    return list(it)


@calls((DATA,), (-DATA,))
def rest_of_a_range(a: Any) -> Any:
    it = iter(range(5))
    for i in it:
        if a[i] > 0:
            break
    return list(it)


@calls((DATA,), (LONG,))
def rest_of_a_generator(a: Any) -> Any:
    it = (v * 2 for v in a)
    for v in it:
        if v > 0:
            break
    return sum(it)


@calls((DATA,), (LONG,), (-abs(LONG),))
def rest_behind_any(a: Any) -> Any:
    it = iter(a)
    return any(v > 0 for v in it), sum(it)


@calls((DATA,), (LONG,))
def rest_behind_next(a: Any) -> Any:
    it = iter(a)
    return next((v for v in it if v > 0), None), list(it)


@calls((DATA,), (-DATA,))
def asked_twice_by_a_helper(a: Any) -> Any:
    def first(it: Any) -> Any:
        for v in it:
            if a[v] > 0:
                return v
        return None

    it = iter(range(5))
    return first(it), first(it)


@calls((1.0,), (-1.0,))
def asked_on_one_side(x: float) -> Any:
    g = (k for k in [1, 2, 3])
    if x > 0:
        next(g)
    return list(g)


@calls((DATA,), (LONG,))
def pairs_of_one_iterator(a: Any) -> Any:
    it = iter(a)
    return list(zip(it, it, strict=False))


@calls((DATA,), (LONG,))
def stored_before_it_is_asked(a: Any) -> Any:
    it, g = iter(a), (v for v in a)
    a[0] = 100
    return list(it), list(g)


@calls((DATA,), (LONG,))
def store_at_an_index_of_data(a: Any) -> Any:
    xs, out = [1, 2, 3, 4], []
    for v in xs:
        xs[int(a[v % 5]) % 4] = 9
        out.append(v)
    it = reversed(xs)
    xs[int(abs(a[0]))] = 8
    return out, list(it)


@calls((4,), (6,), (30,))
def reversed_then_popped(n: int) -> Any:
    xs = list(range(n))
    it = reversed(xs)
    xs.pop()
    return list(it)


@calls((np.ones(3),), (np.zeros(3),))
def changed_while_it_is_walked(a: Any) -> Any:
    xs, ys, s = [1, 2, 3, 4, 5, 6], [1, 2, 3], 0
    for v in xs:
        if v % 2 == 0 and a[0] != 0:
            xs.remove(v)
    for v in ys:
        s += v
        if a[0] > 0 and len(ys) < 6:
            ys.append(v + 1)
    return xs, ys, s


@calls((100,), (30,))
def sieve(n: int) -> Any:
    flags = [True] * n
    flags[0] = flags[1] = False
    primes = []
    for i, flag in enumerate(flags):
        if flag:
            primes.append(i)
            for k in range(i * i, n, i):
                flags[k] = False
    return primes


@calls((1.0,), (-1.0,))
def called_until(x: float) -> Any:
    count = [0]

    def more() -> int:
        count[0] += 1
        return count[0]

    return list(iter(more, 4)), x


# Special methods ---------------------------------------------------------------------------------


class Count:
    def __init__(self, stop: int) -> None:
        self.k, self.stop = 0, stop

    def __iter__(self) -> Count:
        print("iter")
        return self

    def __next__(self) -> int:
        if self.k >= self.stop:
            raise StopIteration
        self.k += STEP[0]
        return self.k


@calls((1.0,), (-1.0,))
def own_next_on_one_side(x: float) -> Any:
    it = Count(3)
    if x > 0:
        next(it)
    return next(it), next(it, "end")


@calls((DATA,), (LONG,))
def own_next_in_a_loop(a: Any) -> Any:
    it, out = Count(3), []
    for v in a:
        if v > 0:
            out.append(next(it, "end"))
    return out


@calls((5.0,), (20.0,), (0.5,))
def own_next_in_a_while(x: float) -> Any:
    it, out = Count(9), []
    while x > 1:
        out.append(next(it))
        x = x / 2
    return out, sum(Count(4)), list(enumerate(Count(2)))


class Task(NamedTuple):
    name: float
    due: float

    def __lt__(self, other: Any) -> bool:
        return bool(self.due < other.due)

    def __gt__(self, other: Any) -> bool:
        return bool(self.due > other.due)


@calls((np.array([3.0, 1.0, 2.0, -1.0]),), (np.array([1.0, 3.0, -2.0, 5.0]),))
def own_order(a: Any) -> Any:
    return bool(Task(a[0], a[1]) < Task(a[2], a[3])), min([Task(a[0], a[1]), Task(a[2], a[3])])


class Colour(enum.Enum):
    RED = 1
    BLUE = 2

    @classmethod
    def _missing_(cls, value: object) -> Any:
        print("missing", value)
        return cls.RED


@calls((1.0,), (2.0,))
def missing_member(x: float) -> Any:
    return Colour(7).name, Colour(2), x


@dataclass
class Late:
    v: float
    total: float = field(init=False)
    held: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.total = self.v * 2


@calls((1.0,), (2.0,))
def order_of_attributes(x: float) -> Any:
    return Late(x)


# Loops whose first turns are known, exceptions ----------------------------------------------------

SPIKE = np.array([0, 0, 0, 0, 0, 0, 100.0, 0, 0, 0])


@calls((SPIKE,), (SPIKE[::-1].copy(),))
def exit_behind_known_turns(a: Any) -> Any:
    k = 0
    while True:
        if k >= 2 and a[k] > 0:
            return k
        k += 1


@calls((SPIKE,), (0 * SPIKE,))
def break_behind_known_turns(a: Any) -> Any:
    k = 0
    while k < 8:
        if k >= 2 and a[k] > 0:
            break
        k += 1
    else:
        return "none"
    return k


@calls((np.zeros(5), -2), (DATA, -2))
def states(a: Any, n: int) -> Any:
    state, k = 0, 0
    while True:
        if state == 0:
            if k >= 2:
                state = 1
        elif state == 1:
            if a[k % len(a)] > 0:
                state = 2
            if k > 12:
                return "none"
        else:
            return k
        k += 1


@calls((1.0,), (-1.0,))
def names_of_files(x: float) -> Any:
    if x > 0:
        raise OSError(2, "no such thing", "data.txt")
    raise ImportError("nothing", name="module", path="/somewhere")


@calls(([1],), ([],))
def left_in_finally(xs: Any) -> Any:
    for _ in xs:
        try:
            return missing_name  # type: ignore[name-defined]  # noqa: F821
        finally:
            break  # noqa: B012


# StopIteration, and what changes while it is walked ----------------------------------------------


@calls(([4, 4, 1],), ([4, 4, 1, 2, 3],))
def ended_in_a_generator(xs: Any) -> Any:
    it = iter(xs)
    return tuple(next(it) for _ in range(4))


@calls(([4, 4, 1],), ([4, 4, 1, 2, 3],))
def ended_in_a_sum(xs: Any) -> Any:
    it = iter(xs)
    return sum(next(it) * k for k in range(4))


@calls((DATA, 2.5), (DATA, 100.0))
def raised_in_a_generator(a: Any, t: float) -> Any:
    def gen() -> Any:
        for v in a:
            if v > t:
                raise StopIteration
            yield v

    try:
        for _ in gen():
            pass
    except StopIteration:
        return "stop"
    except RuntimeError:
        return "error"
    return "end"


@calls((DATA, 0.5), (DATA, 5.0))
def raised_for_map(a: Any, t: float) -> Any:
    def first(w: Any) -> Any:
        for v in a:
            if v > w:
                return v
        raise StopIteration

    def beyond(w: Any) -> Any:
        return first(w + t)

    return list(map(beyond, a)), next(map(beyond, a), -1.0)


@calls(([1, 2],), ([1, 2, 3] * 4,))
def map_that_runs_dry(xs: Any) -> Any:
    it = iter(xs)

    def more(k: int) -> Any:
        return next(it) + k

    return [a * b for a, b in zip(range(9), map(more, range(9)), strict=False)]


@calls(([7, -1, 3, 0, 2],), ([1, 2],))
def key_replaced(xs: Any) -> Any:
    d, n = {v: v for v in xs}, 0
    for k in d:
        n += k
        if k == 3:
            del d[3]
            d[300] = 1
    return n


@calls(([3, 1],), ([3],))
def changed_before_a_generator_is_asked(xs: Any) -> Any:
    d = dict.fromkeys(xs, 1)
    g = (k for k in d)
    d[777] = 1
    return list(g)


class Refusing:
    def __init__(self, v: float) -> None:
        self.v = v

    @property
    def p(self) -> float:
        if self.v > 0:
            raise AttributeError("no")
        return self.v


@calls((0.5,), (-0.5,))
def property_that_raises(x: float) -> Any:
    return getattr(Refusing(x), "p", None), hasattr(Refusing(x), "p")


# Read before it is stored into under another name -------------------------------------------------


@calls((0.5,), (-2.0,))
def read_first_in_a_loop(x: float) -> Any:
    if x > 0:
        p = q = [x]
    else:
        p, q = [x], [0.0]
    s = 0.0
    for _ in range(30):
        s += q[0]
        p[0] += 1.0
    return s


@calls((0.5,), (-2.0,))
def read_by_a_test(x: float) -> Any:
    if x > 0:
        p = q = [x]
    else:
        p, q = [x], [0.0]
    i = 0
    while q[0] < 10 and i < 50:
        p[0] += 1.0
        i += 1
    return i


@calls((0.5,), (-2.0,))
def row_of_a_list_read_first(x: float) -> Any:
    rows = []
    q, k, s = [0.0], x, 0.0
    while k < 40:
        q = [k]
        rows.append(q)
        k += 1
    for _ in range(30):
        s += rows[-1][0]
        q[0] += 1.0
    return s


@calls((0.5,), (-2.0,))
def views_made_before(x: float) -> Any:
    if x > 0:
        p = q = {"a": x}
    else:
        p, q = {"a": x}, {"a": 2.0}
    values, keys, items = q.values(), q.keys(), q.items()
    p["a"] += 1
    p["b"] = 1.0
    return list(values), len(keys), "b" in keys, list(items)


@calls((0.5,), (-2.0,))
def results_of_a_recursion(x: float) -> Any:
    def go(n: float) -> Any:
        if n > 5:
            z = [n]
            return z, z
        a, b = go(n + 1)
        a[0] += 1
        return a, b

    a, b = go(x)
    return a[0], b[0], a is b


@calls((0.5,), (-2.0,))
def kept_by_a_recursion(x: float) -> Any:
    box = [[0.0]]

    def go(n: float) -> Any:
        if n > 5:
            z = [n]
            box[0] = z
            return z
        r = go(n + 1)
        r[0] += 1
        return r

    r = go(x)
    return r[0], box[0][0]

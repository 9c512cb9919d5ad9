"""Programs that keep tuples in dicts, sets and deques: which tuple it is shows in the results."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from tests.frontend.control.identity_samples import calls

#: Few elements and many, so that loops are unrolled and rolled.
ARRAYS = tuple((np.array(x),) for x in ([3, 1, 2, 3, 5], [7, 7], [4, 9, 4, 2, 1], [*range(40)]))
DICTS = ({(1, 2): 3.0, (2, 3): 4.0},), ({(1.0, 2): 3.0, (2, 3): 4.0},), ({(5,): 1.0},)
D = {(0, 1): 2.0, (1, 2): 3.0}


@calls(*ARRAYS)
def dict_get(a: Any) -> Any:
    d = {}
    for i in range(len(a)):
        d[int(a[i])] = (i, int(a[i]))
    return d, d[int(a[0])]


@calls(*ARRAYS)
def deque_get(a: Any) -> Any:
    q = deque()
    for i in range(len(a)):
        q.append((i, int(a[i])))
    return q, q[1]


@calls(*ARRAYS)
def deque_pop(a: Any) -> Any:
    q = deque()
    out = []
    for i in range(len(a)):
        t = (i, int(a[i]))
        q.append(t)
        out.append(t)
    return q, out


@calls(*ARRAYS)
def deque_last(a: Any) -> Any:
    q = deque()
    for i in range(len(a)):
        t = (i, int(a[i]))
        q.append(t)
    return q, t


@calls(*ARRAYS)
def dict_last(a: Any) -> Any:
    q = {}
    for i in range(len(a)):
        t = (i, int(a[i]))
        q[i] = t
    return q, t


@calls(*ARRAYS)
def dict_two(a: Any) -> Any:
    q = {}
    p = {}
    for i in range(len(a)):
        t = (i, int(a[i]))
        q[int(a[i])] = t
        p[i] = t
    return q, p


@calls(*ARRAYS)
def dict_list(a: Any) -> Any:
    q = {}
    p = []
    for i in range(len(a)):
        t = (i, int(a[i]))
        q[int(a[i])] = t
        p.append(t)
    return q, p


@calls(*ARRAYS)
def key_last(a: Any) -> Any:
    q = {}
    for i in range(len(a)):
        t = (i, int(a[i]))
        q[t] = i
    return q, t


@calls(*ARRAYS)
def key_list(a: Any) -> Any:
    q = {}
    out = []
    for i in range(len(a)):
        t = (i, int(a[i]))
        q[t] = i
        out.append(t)
    return q, out


@calls(*ARRAYS)
def set_last(a: Any) -> Any:
    q = set()
    for i in range(len(a)):
        t = (i, int(a[i]))
        q.add(t)
    return q, t


@calls(*ARRAYS)
def set_list(a: Any) -> Any:
    q = set()
    out = []
    for i in range(len(a)):
        t = (i, int(a[i]))
        if t not in q:
            q.add(t)
            out.append(t)
    return q, out


@calls(*ARRAYS)
def values_list(a: Any) -> Any:
    q = {}
    for i in range(len(a)):
        q[int(a[i])] = (i, i + 1)
    return q, list(q.values())


@calls(*ARRAYS)
def keys_list(a: Any) -> Any:
    q = {}
    for i in range(len(a)):
        q[(i, int(a[i]))] = i
    return q, list(q.keys())


@calls(*ARRAYS)
def items_best(a: Any) -> Any:
    q = {}
    for i in range(len(a)):
        q[int(a[i])] = (i, i + 1)
    best = None
    for k, v in q.items():
        if best is None or k > best[0]:
            best = v
    return q, best


@calls(*ARRAYS)
def deque_iter(a: Any) -> Any:
    q = deque()
    for i in range(len(a)):
        q.append((i, int(a[i])))
    best = (0, 0)
    for v in q:
        if v[1] > best[1]:
            best = v
    return q, best


@calls(*ARRAYS)
def dict_copy(a: Any) -> Any:
    q = {}
    for i in range(len(a)):
        q[int(a[i])] = (i, i + 1)
    return q, dict(q)


@calls(*ARRAYS)
def deque_copy(a: Any) -> Any:
    q = deque()
    for i in range(len(a)):
        q.append((i, int(a[i])))
    return q, list(q)


@calls(*ARRAYS)
def dict_same_key(a: Any) -> Any:
    t = (int(a[0]), 1)
    q = {}
    for i in range(len(a)):
        q[int(a[i])] = t
    return q


@calls(*ARRAYS)
def dict_is(a: Any) -> Any:
    q = {}
    n = 0
    for i in range(len(a)):
        t = (i, int(a[i]))
        q[i] = t
        if q[i] is t:
            n += 1
    return n


@calls(*ARRAYS)
def deque_is(a: Any) -> Any:
    q = deque()
    n = 0
    for i in range(len(a)):
        t = (i, int(a[i]))
        q.append(t)
        if q[-1] is t:
            n += 1
    return n


@calls(*ARRAYS)
def deque_bfs(a: Any) -> Any:
    q = deque([(0, 0)])
    seen = {0: (0, 0)}
    t = (0, 0)
    while q:
        t = q.popleft()
        i, dd = t
        for j in (2 * i + 1, 2 * i + 2):
            if j < len(a) and a[j] > 1 and j not in seen:
                u = (j, dd + 1)
                seen[j] = u
                q.append(u)
    return seen, t


@calls(*ARRAYS)
def deque_rot(a: Any) -> Any:
    q = deque()
    for i in range(len(a)):
        if a[i] > 1:
            q.append((int(a[i]), i))
    q.rotate(1)
    q.append(q[0])
    return q


@calls(*ARRAYS)
def deque_out(a: Any) -> Any:
    q = deque()
    out = []
    for i in range(len(a)):
        if a[i] > 1:
            q.append((int(a[i]), i))
    while q:
        out.append(q.popleft())
    return out


@calls(*ARRAYS)
def deque_union_key(a: Any) -> Any:
    d = {}
    for i in range(len(a)):
        k = (i, 1 if a[i] > 2 else 2)
        d[k] = k
    return d


@calls(*ARRAYS)
def key_union2(a: Any) -> Any:
    d = {}
    j = 0
    k = (0, 0)
    for i in range(len(a)):
        j = 1 if a[i] > 2 else 2.5
        k = (i, j)
        d[k] = i
    return d, k


@calls(*ARRAYS)
def list_key(a: Any) -> Any:
    d = {}
    ks = []
    for i in range(3):
        k = (i, "x")
        d[k] = int(a[i % len(a)])
        ks.append(k)
    return d, ks


@calls(*ARRAYS)
def list_key2(a: Any) -> Any:
    d = {}
    k = (1, "x")
    d[k] = int(a[0])
    d[(1, "x")] = 5
    return d, k


@calls(*ARRAYS)
def popped(a: Any) -> Any:
    d = {}
    for i in range(len(a)):
        d[int(a[i])] = (i, int(a[i]))
    t = d.pop(int(a[0]))
    d[int(a[0]) + 100] = t
    return d


@calls(*ARRAYS)
def popped2(a: Any) -> Any:
    d = {}
    for i in range(len(a)):
        d[int(a[i])] = (i, int(a[i]))
    t = d.pop(int(a[0]))
    return d, t


@calls(*ARRAYS)
def swapped(a: Any) -> Any:
    d = {}
    for i in range(len(a)):
        d[int(a[i])] = (i, int(a[i]))
    x, y = int(a[0]), int(a[-1])
    d[x], d[y] = d[y], d[x]
    return d


@calls(*ARRAYS)
def setd(a: Any) -> Any:
    d = {}
    out = []
    for i in range(len(a)):
        out.append(d.setdefault(int(a[i]), (i, 1)))
    return out


@calls(*ARRAYS)
def setd2(a: Any) -> Any:
    d = {}
    t = (0, 0)
    for i in range(len(a)):
        t = d.setdefault(int(a[i]), (i, 1))
    return d, t


@calls(*ARRAYS)
def got(a: Any) -> Any:
    d = {}
    t = (0, 0)
    for i in range(len(a)):
        t = d.get(int(a[i]), (i, 1))
        d[int(a[i])] = t
    return d


@calls(*ARRAYS)
def updated(a: Any) -> Any:
    d = {}
    e = {}
    for i in range(len(a)):
        d[int(a[i])] = (i, 1)
    e.update(d)
    return d, e


@calls(*ARRAYS)
def sorted_items(a: Any) -> Any:
    d = {}
    for i in range(len(a)):
        d[int(a[i])] = (i, 1)
    return sorted(d.items()), d


@calls(*ARRAYS)
def sorted_vals(a: Any) -> Any:
    d = {}
    for i in range(len(a)):
        d[int(a[i])] = (i, 1)
    return sorted(d.values())


@calls(*ARRAYS)
def two_sorted(a: Any) -> Any:
    d = {}
    for i in range(len(a)):
        d[int(a[i])] = (i, 1)
    return sorted(d.values()), sorted(d.values(), key=lambda t: -t[0])


@calls(*ARRAYS)
def minval(a: Any) -> Any:
    d = {}
    for i in range(len(a)):
        d[int(a[i])] = (i, 1)
    return min(d.values()), max(d.values()), min(d.values())


@calls(*ARRAYS)
def nested(a: Any) -> Any:
    d = {}
    for i in range(len(a)):
        t = (i, 1)
        d[int(a[i])] = (t, t)
    return d


@calls(*ARRAYS)
def nested2(a: Any) -> Any:
    d = {}
    t = (int(a[0]), 1)
    for i in range(len(a)):
        d[int(a[i])] = (t, i)
    return d


@calls(*ARRAYS)
def set_ops(a: Any) -> Any:
    s = set()
    r = set()
    for i in range(len(a)):
        t = (i, int(a[i]))
        s.add(t)
        if a[i] > 2:
            r.add(t)
    return s, r


@calls(*ARRAYS)
def comp_dict(a: Any) -> Any:
    d = {int(v): (int(v), 1) for v in a}
    return d, d[int(a[0])]


@calls(*ARRAYS)
def comp_set(a: Any) -> Any:
    ts = [(int(v), i) for i, v in enumerate(a)]
    return ts, set(ts)


@calls(*ARRAYS)
def comp_deque(a: Any) -> Any:
    ts = [(int(v), i) for i, v in enumerate(a) if v > 1]
    return ts, deque(ts)


@calls(*ARRAYS)
def deque_of_deque(a: Any) -> Any:
    ts = [(int(v), i) for i, v in enumerate(a) if v > 1]
    q = deque(ts)
    return q.copy(), q


@calls(*ARRAYS)
def deque_only(a: Any) -> Any:
    ts = [(int(v), i) for i, v in enumerate(a) if v > 1]
    return deque(ts)


@calls(*ARRAYS)
def dict_only(a: Any) -> Any:
    d = {}
    for i in range(len(a)):
        t = (i, int(a[i]))
        d[t] = (i, 2)
    return d


@calls(*ARRAYS)
def dict_count(a: Any) -> Any:
    d = {}
    for i in range(len(a)):
        t = (int(a[i]), int(a[i]) % 2)
        d[t] = d.get(t, 0) + 1
    return d


@calls(*ARRAYS)
def prims(a: Any) -> Any:
    best = {}
    for i in range(len(a)):
        k = int(a[i])
        if k not in best or best[k][0] < i:
            best[k] = (i, k)
    return best


@calls(*ARRAYS)
def grid2(a: Any) -> Any:
    seen = set()
    q = deque([(0, 0)])
    seen.add((0, 0))
    prev = {}
    while q:
        c = q.popleft()
        x, y = c
        for dx, dy in ((0, 1), (1, 0)):
            p = (x + dx, y + dy)
            if p[0] < 4 and p[1] < 4 and a[p[0] % len(a)] > 1 and p not in seen:
                seen.add(p)
                prev[p] = c
                q.append(p)
    return prev


@calls(*ARRAYS)
def two_dicts(a: Any) -> Any:
    k = (1, "x")
    return {k: a[0]}, {k: a[1]}


@calls(*ARRAYS)
def set_key(a: Any) -> Any:
    k = (1, len(a))
    return {k}, k


@calls(*ARRAYS)
def glob(a: Any) -> Any:
    return list(D), a[0]


@calls(*ARRAYS)
def glob2(a: Any) -> Any:
    return dict.fromkeys(D, a[0])


@calls(*DICTS)
def keys_of_a_dict_given(d: Any) -> Any:
    return list(d), d


@calls(*DICTS)
def first_key_of_a_dict_given(d: Any) -> Any:
    for k in d:
        return k


@calls(*DICTS)
def a_dict_with_the_keys_of_one_given(d: Any) -> Any:
    return {k: v + 1 for k, v in d.items()}


@calls(*((t, [1.0]) for t in ((1, 2), (2, 1), (1, 2))))
def a_tuple_given_as_a_key(t: Any, x: Any) -> Any:
    return {t: x[0]}, {(1, t): 1}


# The order of sets shows where hashes collide --------------------------------------------------

SETS = tuple((np.array(x),) for x in ([-1, -2, 8, 16], [*range(70, 0, -3)], [8, 0, -2, -1, 40, 5]))


@calls(*SETS)
def copy_of_a_set(a: Any) -> Any:
    s = set()
    for v in a:
        s.add(int(v))
    return set(s), s


@calls(*SETS)
def set_that_begins_with_few(a: Any) -> Any:
    s = {-1, -2, 33, 1}
    for v in a:
        s.add(int(v))
    return s


@calls((-1.0, [5]), (4, [-2, 2, -1, 3, 1]))
def set_of_a_list_that_has_grown(x: Any, xs: Any) -> Any:
    if x > x:
        pass
    else:
        xs.extend([*xs])
    return (set(xs),)


# Generators that wait when an exception leaves ---------------------------------------------------


def walked(xs: Any, log: Any) -> Any:
    try:
        yield from xs
    finally:
        log.append(len(xs))


@calls(([1, 2], 1.0, []), ([1, 2], -1.0, []), ([1, 2], 1.0, []))
def raise_beside_a_generator(xs: Any, x: Any, log: Any) -> Any:
    for v in walked(xs, log):
        if x > 0:
            raise KeyError(v)
    return x


# Tuples from outside of a loop, rows of several kinds, and parts of rows and keys -----------------


@calls(*ARRAYS)
def bound_in_a_loop(a: Any) -> Any:
    u = (int(a[0]), 0)
    t = None
    for _ in a:
        t = u
    return u, t


@calls(*ARRAYS)
def bound_in_a_loop_now_and_then(a: Any) -> Any:
    u = (int(a[0]), 0)
    held = [u, 2]
    t = (0, 0)
    for v in a:
        if v > 2:
            t = held[0]
    return u, t


@calls(*ARRAYS)
def part_of_a_row_and_of_its_part(a: Any) -> Any:
    out = []
    for v in a:
        p = (int(v), 2)
        out.append((p, (p, 1)))
    return out


@calls(*ARRAYS)
def part_of_two_keys(a: Any) -> Any:
    d = {}
    for v in a:
        p = (int(v), 2)
        d[(p, 1)] = 0
        d[(p, 2)] = 0
    return d


@calls(*ARRAYS)
def part_of_a_key_twice(a: Any) -> Any:
    s = set()
    for v in a:
        p = (int(v), 2)
        s.add((p, p))
    return s


@calls((5, 2.0), (5, 0.0), (6, 1.0))
def row_of_a_list_of_two_kinds(n: Any, x: Any) -> Any:
    rows = [(n,)]
    if not x:
        rows.insert(0, (1, 2))
    return max(rows), rows


@calls(([2.5],), ([0.0],), ([1.5],))
def key_that_is_a_row(a: Any) -> Any:
    n = int(a[0])
    rows = [(n,)]
    d = {rows[0]: 0}
    if a[0]:
        rows.append(1)
    return rows, d


# Keys that calls store into dicts from outside ----------------------------------------------------


def keys_of_one(k: Any) -> Any:
    return {(*k, 0): 1.0}, k


KEYED = tuple((*keys_of_one(k), v) for k, v in (((1, 2), 3.0), ((1, 2), -4.0), ((1, 2.5), 5.0)))


@calls(*KEYED)
def stored_key(d: Any, k: Any, v: Any) -> Any:
    d[k] = v


@calls(*KEYED)
def stored_key_within_keys(d: Any, k: Any, v: Any) -> Any:
    d[k, 1] = v
    d[k, k] = 2 * v
    return [k]


@calls(*KEYED)
def stored_or_taken_key(d: Any, k: Any, v: Any) -> Any:
    if v > 0:
        d[k] = v
    else:
        d.pop(k, None)
    return d.get(k)


@calls(*KEYED)
def made_key(d: Any, k: Any, v: Any) -> Any:
    made = (k[0], k[1] + 1)
    d[made] = v
    return made, d


@calls((2, 1, 2), (2, 0, 5), (2, 4, 1), (-1, 1, 2), (3, 5, 6), (5, 7, 8), (2, 3, 9), (1, 9, 3))
def stored_into_its_own_list(n: Any, a: Any, b: Any) -> Any:
    rows = [(a,), (b,)]
    rows[n % len(rows)] = max(rows)
    return rows


# Values of another kind than the others -----------------------------------------------------------


@calls(([2, 1], 1), ([2, 1], ()), ([2, 1], (2, 3)), ([0, 2], 2.5))
def popped_at_a_number_of_the_run(s: Any, t: Any) -> Any:
    d = {1: t}
    s[1] = s[1] + 1
    t = d.pop(s[1], t)
    return d


@calls(*ARRAYS)
def values_that_become_tuples(a: Any) -> Any:
    d = {int(v): 1 for v in a}
    for v in a:
        if v > 2:
            d[int(v)] = ()
    return d


@calls(*ARRAYS)
def values_that_become_longer(a: Any) -> Any:
    d = {int(v): () for v in a}
    for v in a:
        d[int(v)] = (*d[int(v)], 1)
    return d

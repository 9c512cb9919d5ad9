"""Programs whose lists grow with data, each a function of an array; most of any length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Programs that roll their loops, whatever the length: name -> function of an array.
PROGRAMS: dict[str, Callable[[Any], Any]] = {}
#: Those of them that have an array of an empty list, of which nothing but Python knows the dtype.
FAILS_ON_EMPTY: set[str] = set()
#: Programs whose lists hold arrays or lists that something else holds, too, or changes.
SHARING: dict[str, Callable[[Any], Any]] = {}


def _program(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[f.__name__] = f
    return f


def _unless_empty(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    FAILS_ON_EMPTY.add(f.__name__)
    return _program(f)


def _sharing(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    SHARING[f.__name__] = f
    return f


# Elements ----------------------------------------------------------------------------------------


@_program
def numpy_scalars(x):
    out = []
    for i in range(len(x)):
        out.append(x[i] * 2.0)
    return out


@_program
def as_many_as_the_run_says(x):
    total = 0
    for k in range(2):
        for v in np.unique(x)[:9]:
            few = x[x <= v]
            total += len([w for w in few if w > k])
    return total


@_program
def python_floats(x):
    out = []
    for i in range(len(x)):
        out.append(float(x[i]) + 0.5)
    return out


@_program
def python_ints(x):
    out = []
    for i in range(len(x)):
        out.append(int(abs(x[i]) * 10))
    return out


@_program
def python_bools(x):
    out = []
    for v in x:
        out.append(bool(v > 0))
    return out


@_program
def python_complexes(x):
    out = []
    for v in x:
        out.append(complex(0.0, float(v)))
    return out


@_program
def numbers_of_iterations(x):
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(i)
    return out, x[np.array(out, dtype=np.int64)] if len(out) else x[:0]


@_program
def as_many_as_a_remainder(x):
    out = []
    for i in range(len(x)):
        for j in range(i % 3):
            out.append(i + j)
        out.append(-i)
    return out


@_program
def behind_an_inner_loop(x):
    out = []
    for v in x:
        for k in range(int(abs(v) * 2)):
            out.append(k)
        out.append(-1)
        out.append(-2)
    return out


@_program
def numpy_bools(x):
    out = []
    for v in x:
        out.append(v > 0)
    return out


@_program
def small_floats(x):
    out = []
    for v in x.astype(np.float32):
        out.append(v * v)
    return out


@_program
def tuples(x):
    out = []
    for i, v in enumerate(x):
        out.append((i, v, float(v) > 0.0))
    return out


@_program
def nested_tuples(x):
    out = []
    for i, v in enumerate(x):
        out.append(((i, 2 * i), float(v)))
    return out


@_unless_empty
def rows_of_arrays(x):
    out = []
    for v in x:
        out.append(np.array([v, v * v, 1.0]))
    return out, np.array(out)


@_unless_empty
def rows_of_lists(x):
    out = []
    for v in x:
        out.append([v, v * v])
    return out, np.array(out)


@_unless_empty
def rows_of_tuples(x):
    out = []
    for i, v in enumerate(x):
        out.append((i, v))
    return np.array(out)


@_unless_empty
def matrix_of_lists(x):
    rows = []
    for i in range(len(x)):
        row = []
        for j in range(len(x)):
            row.append(x[i] - x[j])
        rows.append(row)
    return np.array(rows).sum(axis=0), len(rows)


@_program
def padded_with_zeros(x):
    kept = []
    for v in x:
        if v > 0:
            kept.append(float(v))
    few = int(np.sum(x > 1.0)) - 2
    return kept + [0.0] * (len(x) - len(kept)), [7] * few, [True] * len(kept)


# How they grow -----------------------------------------------------------------------------------


@_program
def two_lists(x):
    even, odd = [], []
    for i in range(len(x)):
        if i % 2 == 0:
            even.append(x[i])
        else:
            odd.append(x[i])
    return np.array(even), np.array(odd)


@_program
def two_appends(x):
    out = []
    for v in x:
        out.append(v)
        out.append(-v)
    return np.array(out)


@_program
def appends_and_returns(x):
    out = []
    for v in x:
        if v > 1.5:
            return out
        out.append(v)
    return out


@_program
def appends_and_breaks(x):
    out = []
    for v in x:
        out.append(v)
        if v > 1.0:
            break
    return out, len(out)


@_program
def appends_and_continues(x):
    out = []
    for v in x:
        if v < 0:
            continue
        out.append(np.sqrt(v))
    return np.array(out)


@_program
def nested_loops(x):
    out = []
    for i in range(len(x)):
        for k in range(3):
            out.append(x[i] + k)
    return np.array(out)


@_program
def triangular_loops(x):
    out = []
    for i in range(len(x)):
        for j in range(i):
            if x[i] > x[j]:
                out.append(x[j])
    return np.array(out)


@_program
def begins_with_elements(x):
    out = [1.0, 2.0]
    for v in x:
        out.append(out[-1] * 0.5 + float(v))
    return out


@_program
def grows_twice(x):
    out = []
    for v in x:
        out.append(v)
    for v in x:
        out.append(v + 1.0)
    return np.array(out)


@_program
def grows_after_the_loop(x):
    out = []
    for v in x:
        out.append(float(v))
    out.append(7.0)
    out.extend([8.0, 9.0])
    return out


@_program
def extended(x):
    out = []
    for v in x:
        out.extend([v, 2 * v])
    out += [x.sum()]
    return out


@_program
def pops_again(x):
    out = []
    for v in x:
        if v > 0 or len(out) == 0:
            out.append(float(v))
        else:
            out.pop()
    return out


@_program
def appended_by_a_function(x):
    out = []

    def add(v):
        out.append(v * 2.0)

    for v in x:
        add(v)
    return np.array(out)


@_program
def filled_by_a_function(x):
    out = []
    _collect(x, out)
    _collect(x + 1.0, out)
    return np.array(out)


def _collect(x, out):
    for v in x:
        if v > 0:
            out.append(v)


@_program
def chosen_list(x):
    out = []
    for v in x:
        target = out
        target.append(v)
    return out


# What is done with them --------------------------------------------------------------------------


@_program
def last_elements(x):
    out = [0.0]
    for v in x:
        out.append(out[-1] + float(v))
    return out[-1], out[0], len(out)


@_program
def earlier_elements(x):
    out = [1, 1]
    for i in range(len(x)):
        out.append((out[i] + out[i + 1]) % 1000)
    return out


@_program
def iterated(x):
    out = []
    for v in x:
        out.append(v)
    total = 0.0
    for k, v in enumerate(out):
        total += v * k
    for v in reversed(out):
        total = total * 0.5 + v
    for a, b in zip(out, x, strict=True):
        total += a * b
    return total


@_program
def iterated_after_conditions(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    total = 0.0
    for v in out:
        total += v
    return total, len(out), sum(out)


@_program
def sliced(x):
    out = []
    for v in x:
        out.append(float(v))
    return out[1:3], out[:-1], out[::-1], out[:]


@_program
def stored_into(x):
    out = []
    for v in x:
        out.append(float(v))
    for i in range(len(out)):
        out[i] = out[i] * 2.0
    return out


@_program
def reductions(x):
    out = [0.5]
    for v in x:
        out.append(float(v))
    return sum(out), min(out), max(out), np.mean(out), np.std(np.array(out))


@_program
def any_and_all(x):
    out = []
    for v in x:
        out.append(v > 0)
    return any(out), all(out)


@_program
def membership(x):
    out = []
    for i in range(len(x)):
        out.append(i * i)
    return 16 in out, 17 in out, 3 not in out


@_program
def truth(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    if out:
        return out[0]
    return 0.0


@_program
def compared_with_empty(x):
    out = []
    for v in x:
        out.append(v)
    return out == [], out != [], not out


@_program
def joined(x):
    out = []
    for v in x:
        out.append(float(v))
    return out + [1.0], [2.0] + out, out + out, out * 2


@_unless_empty
def stacked(x):
    out = []
    for v in x:
        out.append(x[:2] * v if len(x) > 1 else np.ones(2) * v)
    return np.stack(out), np.vstack(out), np.concatenate(out), np.hstack(out), np.column_stack(out)


@_program
def mathematics(x):
    out = []
    for v in x:
        out.append(v)
    return np.array(out) * x + 1.0, np.dot(out, x), np.cumsum(out), np.asarray(out)[::2]


@_program
def dicts_of_lists(x):
    log = {"a": [], "b": []}
    for v in x:
        log["a"].append(v)
        log["b"].append(v * 2.0)
    return log


@_program
def in_a_class(x):
    log = Log()
    for v in x:
        log.note(v)
    return np.array(log.values), log.count


class Log:
    def __init__(self):
        self.values = []
        self.count = 0

    def note(self, v):
        self.values.append(float(v))
        self.count += 1


@_unless_empty
def path(x):
    out = []
    state = np.array([1.0, 2.0])
    for v in x:
        out.append(state)
        state = state * 0.5 + v
    return np.array(out), state


@_program
def sorted_list(x):
    out = []
    for v in x:
        out.append(float(v))
    return sorted(out), sorted(out, reverse=True)


@_program
def sorted_in_place(x):
    out = []
    for v in x:
        out.append(float(v))
    out.sort()
    return out


# Comprehensions ----------------------------------------------------------------------------------


@_program
def comprehension(x):
    return np.array([v * 2.0 for v in x])


@_program
def comprehension_of_numbers(x):
    return [float(v) + i for i, v in enumerate(x)]


@_program
def comprehension_with_a_condition(x):
    return [v for v in x if v > 0 if v < 2.0]


@_program
def comprehension_of_reductions(x):
    return sum([np.sum(x[: i + 1]) for i in range(len(x))])


@_unless_empty
def comprehension_of_arrays(x):
    return np.array([x * v for v in x]).sum(axis=0)


@_unless_empty
def comprehension_in_a_comprehension(x):
    return np.array([[a * b for a in x] for b in x])


@_program
def comprehension_of_two_loops(x):
    return [a * b for a in x for b in x if a > b]


@_program
def comprehension_over_a_list(x):
    first = [v * 2.0 for v in x]
    return [v + 1.0 for v in first]


@_program
def comprehension_over_a_zip(x):
    return np.array([a - b for a, b in zip(x[1:], x[:-1], strict=True)])


@_program
def generator_of_a_list(x):
    return list(v * 2.0 for v in x), tuple(float(v) for v in x[:3])  # noqa: C400


@_program
def generators(x):
    total = sum(v * v for v in x)
    return total, max((v for v in x), default=0.0), any(v > 1 for v in x)


@_program
def comprehension_of_calls(x):
    return np.array([_smooth(x, i) for i in range(len(x))])


def _smooth(x, i):
    return x[max(i - 1, 0) : i + 2].mean()


@_program
def mapped(x):
    return list(map(float, x))


# Loops that count no further than data say --------------------------------------------------------


@_program
def while_loop(x):
    out = []
    k = 0
    while k < len(x) and x[k] < 1.5:
        out.append(x[k])
        k += 1
    return np.array(out)


@_program
def halvings(x):
    out = []
    v = float(np.abs(x).sum()) + 1.0
    while v > 1e-3:
        out.append(v)
        v = v * 0.5
    return out


@_program
def stack_of_work(x):
    todo = [int(np.abs(x).sum() * 10)]
    seen = 0
    while todo:
        n = todo.pop()
        seen += n
        if n > 1:
            todo.append(n // 2)
            todo.append(n - n // 2 - 1)
    return seen


@_program
def as_often_as_data_say(x):
    out = []
    for v in x:
        for k in range(int(abs(v) * 3)):
            out.append(v + k)
    return np.array(out)


@_program
def grows_in_a_branch_of_a_while_loop(x):
    out = []
    k = 0
    while k < 3 * len(x):
        if k % 3 == 0:
            out.append((k, float(x[k // 3])))
        elif k % 3 == 1:
            out.append((k, -1.0))
            out.append((-k, 0.0))
        k += 1
    return out


@_unless_empty
def rows_of_a_while_loop(x):
    out = []
    state = np.ones(3)
    k = 0
    while k < len(x):
        state = state * 0.5 + x[k]
        out.append(state)
        k += 1
    return np.array(out), state


@_program
def list_of_a_while_loop_that_breaks(x):
    out = [0.0]
    while True:
        out.append(out[-1] + 1.0)
        if out[-1] > np.abs(x).sum():
            break
    return out


@_program
def queue(x):
    todo = [0]
    order = []
    while len(todo) > 0:
        k = todo.pop(0)
        order.append(k)
        for child in (2 * k + 1, 2 * k + 2):
            if child < int(np.abs(x).sum()):
                todo.append(child)
    return order


@_program
def two_lists_of_a_while_loop(x):
    ts, vs = [0.0], [1.0]
    step = 1.0 / (1.0 + float(np.abs(x).sum()))
    while ts[-1] < 1.0:
        ts.append(ts[-1] + step)
        vs.append(vs[-1] * (1.0 - step))
    return np.array(ts), vs


@_program
def primes(x):
    found = []
    for n in range(2, 5 * len(x)):
        is_prime = True
        for p in found:
            if p * p > n:
                break
            if n % p == 0:
                is_prime = False
                break
        if is_prime:
            found.append(n)
    return found


@_program
def on_one_side_of_a_branch(x):
    out = [1.0]
    if x.sum() > 0:
        k = 0.5
        while k < len(x) / 2:
            k += 1
            out.append(k)
    out.append(5.0)
    return out


@_program
def on_both_sides_of_a_branch(x):
    out = []
    if x.sum() > 0:
        k = 0.5
        while k < len(x) / 2:
            k += 1
            out.append((k, 2))
    else:
        k = len(x) / 4
        while k > 0.5:
            k -= 1
            out.append((k, 3))
        if len(out) > 2:
            out.pop()
    return out, len(out)


# Elements that others hold ------------------------------------------------------------------------


@_sharing
def rows_of_products(x):
    out = []
    for i in range(len(x)):
        out.append((np.ones((2, 3)) * x[i])[1])
    return out


@_sharing
def rows_of_arrays_that_change(x):
    out = []
    for i in range(len(x)):
        table = np.ones((2, 3)) * x[i]
        out.append(table[1])
        table[1] = 7.0
    return out


@_sharing
def rows_twice(x):
    out = []
    for i in range(len(x)):
        table = np.ones((2, 3)) * x[i]
        out.append(table[1])
        out.append(table[1])
    return out


@_sharing
def columns_of_products(x):
    out = []
    for i in range(len(x)):
        out.append((np.ones((2, 3)) * x[i])[:, 1])
    return out


@_sharing
def path_of_names(x):
    n = 12
    path = []
    for _t in range(n):
        path.append(x)
        x = x * 0.5
    return np.array(path)


@_sharing
def one_array(x):
    n = 12
    path = []
    for _t in range(n):
        x += 1
        path.append(x)
    return np.array(path)


@_sharing
def one_array_appended_first(x):
    n = 12
    path = []
    for _t in range(n):
        path.append(x)
        x += 1
    return np.array(path)


@_sharing
def changed_after(x):
    n = 12
    path = []
    y = x.copy()
    for _t in range(n):
        y = y * 2
        path.append(y)
        y += 1
    return np.array(path)


@_sharing
def changed_before(x):
    n = 12
    path = []
    y = x.copy()
    for _t in range(n):
        y += 1
        y = y * 2
        path.append(y)
    return np.array(path)


@_sharing
def changed_after_the_loop(x):
    n = 12
    path = []
    y = x.copy()
    for _t in range(n):
        y = y * 2
        path.append(y)
    y += 1
    return np.array(path)


@_sharing
def last_of_it_returned(x):
    n = 12
    path = []
    y = x.copy()
    for _t in range(n):
        y = y * 2
        path.append(y)
    return y, path


@_sharing
def one_buffer(x):
    n = 12
    path = []
    buf = np.zeros(3)
    for t in range(n):
        buf[0] = t
        path.append(buf)
    return np.array(path)


@_sharing
def views(x):
    n = 12
    path = []
    for t in range(n):
        path.append(x[t : t + 3])
    return np.array(path)


@_sharing
def one_list(x):
    n = 12
    path = []
    row = [0.0] * 3
    for t in range(n):
        row[1] = x[t]
        path.append(row)
    return np.array(path)


@_sharing
def an_element_changed(x):
    n = 12
    path = []
    for t in range(n):
        path.append(x.copy() * t)
    path[1][0] = 100.0
    return path


@_sharing
def changed_on_some_paths(x):
    n = 12
    path = []
    for t in range(n):
        y = x * t
        if x[t] > 0:
            path.append(y)
        y[0] = 9
    return np.array(path)


@_sharing
def maybe_the_same(x):
    n = 12
    path = []
    y = x * 1
    for t in range(n):
        if x[t] > 0:
            y = y + 1
        path.append(y)
    return path


@_sharing
def maybe_changed(x):
    n = 12
    path = []
    y = x * 1
    for t in range(n):
        if x[t] > 0:
            y = y + 1
        path.append(y)
        y[0] = t
    return np.array(path)


@_sharing
def row_and_rows(x):
    rows = []
    for i in range(12):
        row = []
        for j in range(12):
            row.append(x[i] * x[j])
        rows.append(row)
    return row, rows


@_sharing
def row_changed_after(x):
    rows = []
    for i in range(12):
        row = [x[i], 0.0 * x[i]]
        rows.append(row)
        row[1] = x[i] * 2.0
    return np.array(rows)


@_sharing
def same_array_each_time(x):
    rows = []
    for _ in range(12):
        rows.append(x)
    return rows


@_sharing
def late_binding(x):
    functions = [lambda v: v * i for i in range(12)]  # noqa: B023
    return [f(x) for f in functions]


@_sharing
def list_of_zeros(x):
    counts = [0.0] * 12
    for i in range(12):
        counts[i] += x[i]
    return counts


# Errors and state --------------------------------------------------------------------------------


def pops_too_often(x):
    out = []
    for v in x:
        out.append(v)
    for _ in x:
        out.pop()
    return out.pop()


def reads_too_far(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return out[len(x)]


def appends_to_a_list(x, log):
    values = log.values
    for v in x:
        values.append(float(v))
    return len(values)


def notes(x, log):
    for v in x:
        log.note(v)
    return log.count


# Long lists from outside -------------------------------------------------------------------------


def adds_up(xs):
    total = 0.0
    for v in xs:
        total += v * v
    return total, [v * 2.0 for v in xs], np.array(xs).sum()


def changes_while_it_runs(xs):
    total = 0.0
    for v in xs:
        total += v
        xs[-1] = total
    return total

"""Lists of lists of any length, and lists of arrays, from outside: what is in them as one array."""

from __future__ import annotations

import copy
import heapq
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tracejit.frontend.tracing.packed import JoinedArrays

pytestmark = pytest.mark.sampled(9)

# Lists of lists ----------------------------------------------------------------------------------


def edges(n: int) -> list[list[int]]:
    rng = np.random.default_rng(n)
    return [[int(x) for x in rng.integers(n, size=rng.integers(0, 5))] for _ in range(n)]


def weighted(n: int) -> list[list[tuple[int, float]]]:
    rng = np.random.default_rng(n)
    return [[(v, float(rng.random())) for v in row] for row in edges(n)]


def breadth_first(graph: Any, start: int) -> Any:
    distance = np.full(len(graph), -1)
    distance[start] = 0
    queue = [start]
    head = 0
    while head < len(queue):
        u = queue[head]
        head += 1
        for v in graph[u]:
            if distance[v] < 0:
                distance[v] = distance[u] + 1
                queue.append(v)
    return distance


def shortest_paths(graph: Any, start: int) -> Any:
    distance = [float("inf")] * len(graph)
    distance[start] = 0.0
    heap = [(0.0, start)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > distance[u]:
            continue
        for v, w in graph[u]:
            if d + w < distance[v]:
                distance[v] = d + w
                heapq.heappush(heap, (d + w, v))
    return distance


def degrees(graph: Any, start: int) -> Any:
    return [len(row) for row in graph[start:]], len(graph)


def in_degrees(graph: Any, start: int) -> Any:
    out = np.zeros(len(graph), int)
    for row in graph:
        for v in row:
            out[v] += 1
    return out


def last_of_rows(graph: Any, start: int) -> Any:
    total = 0
    for u in range(start, len(graph)):
        if graph[u]:
            total += graph[u][-1] * (graph[u][0] + 1)
    return total


def changes_a_row(graph: Any, start: int) -> Any:
    graph[start].append(7)
    return sum(graph[start])


def stores_into_rows(graph: Any, start: int) -> Any:
    for u in range(len(graph)):
        if len(graph[u]) > 1:
            graph[u][0] = graph[u][1]
    return len(graph)


def gives_a_row(graph: Any, start: int) -> Any:
    best = graph[start]
    for row in graph:
        if len(row) > len(best):
            best = row
    return best


def puts_a_row(graph: Any, start: int) -> Any:
    graph[start] = graph[start + 1]
    return len(graph[start])


class Graph:
    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.order: list[int] = []

    def breadth_first(self, start: int) -> Any:
        return breadth_first(self.rows, start)

    def visit(self, start: int) -> Any:
        for v in self.rows[start]:
            self.order.append(v)
        return len(self.order)


READ = [breadth_first, degrees, in_degrees, last_of_rows]
CHANGED = [changes_a_row, stores_into_rows, gives_a_row, puts_a_row]


def check(f: Callable[..., Any], jitted: Any, make: Callable[[], tuple[Any, ...]]) -> None:
    plain, given = make(), make()
    expected, got = outcome(f, plain), outcome(jitted, given)
    assert_same(expected[0], got[0], parity="ulp", ulp=64)
    assert_same([state(x) for x in plain], [state(x) for x in given], parity="ulp", ulp=64)
    assert places(expected[0], plain) == places(got[0], given)


def outcome(f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    try:
        return f(*args), None
    except Exception as e:
        return type(e), str(e)


def state(x: Any) -> Any:
    return vars(x) if hasattr(x, "__dict__") and not callable(x) else x


def places(result: Any, args: tuple[Any, ...]) -> list[Any]:
    """Which elements of lists among the arguments are results."""
    found = result if isinstance(result, tuple) else (result,)
    rows = [row for x in args if isinstance(x, list) for row in x]
    return [[k for k, row in enumerate(rows) if row is x] for x in found]


@pytest.mark.parametrize("f", [*READ, shortest_paths], ids=lambda f: f.__name__)
def test_one_compile_for_all_graphs(f: Any) -> None:
    make = weighted if f is shortest_paths else edges
    jitted = tracejit.jit(f)
    for n in (40, 41, 90, 25, 200):
        check(f, jitted, lambda n=n: (make(n), 0))  # type: ignore[misc]
    report = jitted.report()
    assert report.fallbacks == [], str(report)
    assert len(report.variants) <= 2, str(report)


@pytest.mark.parametrize("f", CHANGED, ids=lambda f: f.__name__)
def test_rows_that_change_or_come_out_are_those_rows(f: Any) -> None:
    jitted = tracejit.jit(f)
    for n in (40, 25, 40, 41):
        check(f, jitted, lambda n=n: (edges(n), 3))  # type: ignore[misc]


def test_rows_of_several_forms() -> None:
    jitted = tracejit.jit(in_degrees)
    odd: list[Any] = [[], [0, 1, 2]] * 20
    for rows in (
        edges(40),
        odd,
        [*edges(30), [1.5]],
        [*edges(30), (1, 2)],
        [[] for _ in range(30)],
    ):
        check(in_degrees, jitted, lambda rows=rows: (copy.deepcopy(rows), 0))  # type: ignore[misc]


def test_rows_that_an_object_has() -> None:
    for method in (Graph.breadth_first, Graph.visit):
        jitted = tracejit.jit(method)
        for n in (40, 30, 77):
            check(method, jitted, lambda n=n: (Graph(edges(n)), 2))  # type: ignore[misc]
    assert tracejit.jit(Graph.breadth_first).report().fallbacks == []


def test_a_list_that_changes_may_be_a_row() -> None:
    jitted = tracejit.jit(Graph.visit)

    def make() -> tuple[Any, ...]:
        graph = Graph(edges(40))
        graph.order = graph.rows[5]
        return graph, 5

    check(Graph.visit, jitted, lambda: (Graph(edges(40)), 5))
    for _ in range(2):
        graph, start = make()
        before = list(graph.rows[start])
        # Python's iterator sees what is appended: each of the first so many elements, and on.
        graph.order = list(graph.rows[start])
        assert jitted(graph, start) == 2 * len(before)


# Lists of arrays ---------------------------------------------------------------------------------


def documents(n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    return [rng.random(rng.integers(3, 20)) for _ in range(n)]


def blocks(n: int) -> list[Any]:
    rng = np.random.default_rng(n)
    return [rng.random((rng.integers(1, 5), 3)) for _ in range(n)]


WHICH = np.random.default_rng(0).integers(25, size=40)


def picked(xs: Any, which: Any) -> Any:
    total = 0.0
    for k in which:
        total += xs[k][0].max() * len(xs[k])
    return total


def stored(xs: Any, which: Any) -> Any:
    for k in which:
        for i in range(len(xs[k])):
            xs[k][i] += i
    return len(xs)


def augmented(xs: Any, which: Any) -> Any:
    for k in which:
        xs[k] *= 0.5
        xs[k][1:] = xs[k][:-1].copy()
    return xs[0].max()


def given_out(xs: Any, which: Any) -> Any:
    total = 0.0
    for k in which:
        total += xs[k][0]
    return xs[3], total


def put_in(xs: Any, which: Any) -> Any:
    for k in which:
        xs[k] = xs[k] + 1.0
    return len(xs)


def told_apart(xs: Any, which: Any) -> Any:
    count = 0
    for k in which:
        if xs[k] is xs[0]:
            count += 1
    return count


def too_far(xs: Any, which: Any) -> Any:
    for k in which:
        xs[k][0] = 5.0
        xs[k][len(xs[k]) // 2 + (k > 20) * 100] = 7.0
    return len(xs)


@pytest.mark.parametrize(
    ("f", "make"),
    [(picked, documents), (picked, blocks), (stored, documents), (augmented, documents)],
    ids=lambda x: x.__name__,
)
def test_one_compile_for_all_lists_of_arrays(f: Any, make: Any) -> None:
    jitted = tracejit.jit(f)
    for n in (30, 31, 80, 25):
        check(f, jitted, lambda n=n: (make(n), WHICH))  # type: ignore[misc]
    report = jitted.report()
    assert report.fallbacks == [], str(report)
    assert len(report.variants) <= 3, str(report)


@pytest.mark.parametrize("f", [given_out, put_in, told_apart, too_far], ids=lambda f: f.__name__)
def test_what_needs_the_arrays_themselves(f: Any) -> None:
    jitted = tracejit.jit(f)
    for n in (30, 31, 80):
        check(f, jitted, lambda n=n: (documents(n), WHICH))  # type: ignore[misc]


def into(xs: Any, out: Any, which: Any) -> Any:
    for k in which:
        out[k % 3] += 1.0
        out[0] += xs[k][0]
    return out[0]


def test_arrays_that_share_memory() -> None:
    """An array twice in the list, as another argument, or in the memory of one that is written."""

    def twice(n: int) -> Any:
        xs = documents(n)
        xs[7] = xs[3]
        return xs, np.r_[WHICH, 3, 7]

    def overlapping(n: int) -> Any:
        xs, whole = documents(n), np.arange(20.0)
        xs[3], xs[7] = whole[:12], whole[5:]
        return xs, np.r_[WHICH, 3, 7]

    def read_only(n: int) -> Any:
        xs = documents(n)
        xs[3].flags.writeable = False
        return xs, np.r_[WHICH, 3]

    jitted = tracejit.jit(stored)
    for make in (lambda n: (documents(n), WHICH), twice, overlapping, read_only):
        for n in (30, 40):
            check(stored, jitted, lambda make=make, n=n: make(n))  # type: ignore[misc]

    def apart(n: int) -> Any:
        return documents(n), np.zeros(5), WHICH

    def one_of_them(n: int) -> Any:
        xs = documents(n)
        xs[int(WHICH[0])] = out = np.arange(6.0)
        return xs, out, WHICH

    def a_view(n: int) -> Any:
        xs, out = documents(n), np.arange(6.0)
        xs[int(WHICH[0])] = np.frombuffer(memoryview(out))  # type: ignore[arg-type]
        return xs, out, WHICH

    def rows_of_one(n: int) -> Any:
        whole = np.arange(4.0 * n).reshape(n, 4)
        return list(whole), whole[2], WHICH

    jitted = tracejit.jit(into)
    for make in (apart, one_of_them, a_view, rows_of_one, apart):
        for n in (30, 40):
            check(into, jitted, lambda make=make, n=n: make(n))  # type: ignore[misc]
    assert 1 <= len(jitted.report().variants) <= 2


def test_other_orders_and_dtypes() -> None:
    jitted = tracejit.jit(picked)

    def strided(n: int) -> Any:
        return [x[::2] for x in documents(n)]

    def swapped(n: int) -> Any:
        return [x.astype(">f8") for x in documents(n)]

    def mixed(n: int) -> Any:
        return [*documents(n), np.arange(3)]

    def float32(n: int) -> Any:
        return [x.astype(np.float32) for x in documents(n)]

    def subclass(n: int) -> Any:
        return [*documents(n), np.ma.arange(3.0)]

    for make in (documents, strided, swapped, mixed, float32, subclass):
        for n in (30, 40):
            check(picked, jitted, lambda make=make, n=n: (make(n), WHICH))  # type: ignore[misc]


class Topics:
    def __init__(self, n: int) -> None:
        self.z = documents(n)
        self.counts = np.zeros(5)

    def step(self, which: Any) -> Any:
        for k in which:
            self.z[k][0] += 1.0
            self.counts[k % 5] += self.z[k].max()
        return self.counts.sum()


def test_arrays_that_an_object_has() -> None:
    jitted = tracejit.jit(Topics.step)
    for n in (30, 33, 60):
        check(Topics.step, jitted, lambda n=n: (Topics(n), WHICH))  # type: ignore[misc]
    assert jitted.report().fallbacks == [], str(jitted.report())
    topics = Topics(30)
    arrays = list(topics.z)
    jitted(topics, WHICH)
    assert all(a is b for a, b in zip(arrays, topics.z, strict=True))


# What ends in the middle --------------------------------------------------------------------------


def raises_then(xs: Any, which: Any) -> Any:
    for k in which:
        xs[k][0] = 9.0
        if k == WHICH[5]:
            raise ValueError(k)
    return len(xs)


def raises_before(xs: Any, which: Any) -> Any:
    for k in which:
        assert k != WHICH[5]
        xs[k][0] = 9.0
    return len(xs)


class Meets:
    def __init__(self, n: int) -> None:
        self.z = documents(n)

    def late(self, which: Any) -> Any:
        for k in which:
            if k == WHICH[5]:
                raise ValueError(k)
            self.z[k][0] = 9.0
        return len(self.z)


@pytest.mark.parametrize("f", [raises_then, raises_before, Meets.late], ids=lambda f: f.__name__)
def test_stores_before_an_exception_are_there(f: Any) -> None:
    jitted = tracejit.jit(f)
    make = Meets if f is Meets.late else documents
    for n in (30, 31, 30):
        check(f, jitted, lambda n=n: (make(n), WHICH))  # type: ignore[misc]


def turned_round(xs: Any, which: Any) -> Any:
    a = xs[3]
    xs.reverse()
    xs[3] = a
    return sum(xs[k][0] for k in which)


def shortened(xs: Any, which: Any) -> Any:
    total = sum(xs[k][0] for k in which)
    del xs[3]
    return total


@pytest.mark.parametrize("f", [turned_round, shortened], ids=lambda f: f.__name__)
def test_lists_that_change_their_elements(f: Any) -> None:
    jitted = tracejit.jit(f)
    for n in (30, 31):
        check(f, jitted, lambda n=n: (documents(n), WHICH))  # type: ignore[misc]
    assert all(e.code != "TJ013" for e in jitted.report().fallbacks), str(jitted.report())


def runs_over(xs: Any, which: Any) -> Any:
    for k in which:
        xs[k + 100][0] = 9.0
    return len(xs)


def test_runs_that_end_early_keep_nothing() -> None:
    for f in (raises_then, runs_over):
        jitted, xs = tracejit.jit(f), documents(30)
        counts = []
        for _ in range(2):
            for _ in range(20):
                with pytest.raises((ValueError, IndexError)):
                    jitted(xs, WHICH)
            counts.append([sys.getrefcount(x) for x in xs])
        assert counts[0] == counts[1]


# Gradients ----------------------------------------------------------------------------------------


class Layers:
    def __init__(self, n: int) -> None:
        self.z, self.rates, self.w = documents(n), [0.5] * n, np.ones(3)


def squares(model: Any, which: Any) -> Any:
    total = 0.0
    for k in which:
        total = total + (model.z[k] ** 2).sum() * model.rates[k]
    return total + model.w.sum()


def test_gradients_by_lists_of_many_arrays() -> None:
    for gradient in (tracejit.grad(squares), tracejit.jit(tracejit.grad(squares))):
        for n in (30, 31):
            model = Layers(n)
            found = gradient(model, WHICH)
            for k, x in enumerate(model.z):
                np.testing.assert_allclose(found.z[k], x * np.sum(k == WHICH))
            assert found.rates is model.rates
            np.testing.assert_array_equal(found.w, np.ones(3))


# Rows that loops pick -----------------------------------------------------------------------------


def largest(xs: Any, which: Any) -> Any:
    best = xs[0]
    for k in which:
        if xs[k][0] > best[0]:
            best = xs[k]
    return best


def stored_into_the_largest(xs: Any, which: Any) -> Any:
    largest(xs, which)[0] = 9.0
    return sum(x[0] for x in xs)


def stored_beside_the_largest(xs: Any, which: Any) -> Any:
    best = largest(xs, which)
    for x in xs:
        x *= 0.5
    return best.sum()


def stored_through_names(xs: Any, which: Any) -> Any:
    total = 0.0
    for k in range(len(which) - 1):
        a, b = xs[which[k]], xs[which[k + 1]]
        a[0] += b[0]
        b[-1] -= a[0]
        total += a[0] + xs[which[k]][-1]
    return total


@pytest.mark.parametrize(
    "f", [stored_into_the_largest, stored_beside_the_largest, stored_through_names]
)
def test_arrays_under_other_names(f: Any) -> None:
    jitted = tracejit.jit(f)
    for n in (30, 31, 30):
        check(f, jitted, lambda n=n: (documents(n), np.r_[WHICH, WHICH[-1]]))  # type: ignore[misc]


# Copies -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["b1", "i2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("rest", [(), (2,)])
def test_only_what_is_stored_is_written_back(dtype: str, rest: tuple[int, ...]) -> None:
    """Another thread may store into other elements, or other arrays, at the same time."""
    arrays = [np.zeros((n, *rest), dtype) for n in (2, 0, 3, 1)]
    joined = JoinedArrays(arrays)
    joined.array[3] = 1
    joined.array[5] = np.array(-0.0).astype(dtype)
    arrays[0][:] = arrays[2][0] = 1
    joined.write_back()
    expected = [[1, 1], [], [1, 1, 0], [0]]
    for x, firsts in zip(arrays, expected, strict=True):
        assert [row.flat[0] for row in x[:, None]] == firsts
    assert np.signbit(arrays[3].real.astype(float)).any() == (dtype[0] in "fc")


def doubled(xs: Any, which: Any) -> Any:
    total = 0.0
    for k in which:
        total += xs[k][0, 0]
    return xs[which[0]] * 2.0, total


def test_results_are_laid_out_as_the_arrays_are() -> None:
    rng = np.random.default_rng(0)
    jitted = tracejit.jit(doubled)
    for orders in ("C", "CF", "F"):
        xs = [
            np.asarray(rng.random((2 + k % 3, 4)), order=orders[k % len(orders)]) for k in range(25)
        ]
        for k in (3, 4):
            which = np.array([k, 5])
            assert jitted(xs, which)[0].strides == doubled(xs, which)[0].strides


class Pair:
    def __init__(self, n: int) -> None:
        self.z, self.y = documents(n), documents(n)

    def last(self, which: Any) -> Any:
        p, q = self.z[-2], self.z[12]
        if self.z[which[3]][0] > q[0]:
            if self.z[which[0]][0] > q[0]:
                self.z[which[3]][-1] += 0.25
            else:
                self.z[-2][-1] += 1.5
            self.z[which[3]][0] *= q[0]
        q = self.y[which[0]]
        for _ in self.y:
            p = self.z[-2]
            q = p
        return q[-1]


def test_a_row_of_another_length_after_a_loop() -> None:
    jitted = tracejit.jit(Pair.last)
    for n in (30, 31):
        check(Pair.last, jitted, lambda n=n: (Pair(n), WHICH))  # type: ignore[misc]
    assert jitted.report().fallbacks == [], str(jitted.report())

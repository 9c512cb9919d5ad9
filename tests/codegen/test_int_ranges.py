"""What ints of a program can be: intervals hold, and checks are left where 64 bits may be left."""

from __future__ import annotations

from typing import Any

import pytest

import tracejit
from tracejit.codegen.analysis.int_ranges import INT_MAX, INT_MIN, IntRanges
from tracejit.codegen.analysis.size_ranges import bound_sizes, size_ranges
from tracejit.ir.text.syntax import parse_graph
from tracejit.passes.control.lower import lower_control_flow
from tracejit.runtime.compile.graph_call import lower_graph

LOOP = """
def f(LIMIT, x: int, y: u8):
    start: int = constant(value=7, type="int")
    zero: int = constant(value=0, type="int")
    def more(h: int, count: int, big: int, limit: int, x: int, y: u8):
        go: bool = py_less(count, limit)
        return go
    def body(h: int, count: int, big: int, limit: int, x: int, y: u8):
        byte: int = py_scalar(y, kind="int")
        mixed: int = py_bit_xor(h, byte)
        prime: int = constant(value=16777619, type="int")
        product: int = py_multiply(mixed, prime)
        mask: int = constant(value=4294967295, type="int")
        low: int = py_bit_and(product, mask)
        one: int = constant(value=1, type="int")
        odd: int = py_bit_and(byte, one)
        p: bool = py_less(odd, one)
        def then(c: int):
            one: int = constant(value=1, type="int")
            d: int = py_add(c, one)
            return d
        def orelse(c: int):
            return c
        counted: int = cond(p, count, sizes=((), ()), regions=(then, orelse))
        three: int = constant(value=3, type="int")
        scaled: int = py_multiply(big, three)
        next: int = py_add(scaled, one)
        return low, counted, next
    h, count, big = typed(while_loop(start, zero, x, limit, x, y, sizes=((), ()), carried=3, \
regions=(more, body)), int, int, int)
    return h, count, big
""".replace("LIMIT", "limit: int")


def intervals(text: str) -> dict[str, tuple[int, int]]:
    graph = lower_control_flow(parse_graph(text))
    ranges = IntRanges(graph, size_ranges(graph, ()))
    return {v.name: ranges.of(v) for _, n in graph.nodes() for v in n.outputs}


def test_intervals_of_a_loop() -> None:
    found = intervals(LOOP)
    assert found["byte"] == (0, 255)
    assert found["mixed"] == found["low"] == (0, 2**32 - 1)
    assert found["product"] == (0, 16777619 * (2**32 - 1))
    assert found["count"][0] == 0 and found["d"][1] <= INT_MAX
    assert found["big"] == (INT_MIN, INT_MAX)
    assert 3 * INT_MIN < found["scaled"][0] < found["scaled"][1] < INT_MAX


def test_checks_that_cannot_fail_are_not_written() -> None:
    text = lower_graph(parse_graph(LOOP), "llvm")
    assert "with.overflow" not in text
    # The factor of the one product that may leave 64 bits.
    assert text.count("icmp ugt i64") == 1
    both = LOOP.replace("py_multiply(big, three)", "py_multiply(big, x)")
    assert lower_graph(parse_graph(both), "llvm").count("call { i64, i1 } @llvm.smul") == 1


def triples(n: int, count: int) -> int:
    for _ in range(count):
        n = 3 * n + 1
    return n


def collatz_step(n: int, count: int) -> int:
    for _ in range(count):
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
    return n


def counts_down(n: int, count: int) -> int:
    for _ in range(count):
        n -= 4096
    return n


def scaled(n: int, count: int) -> int:
    total = 0
    for _ in range(count):
        total = total * -7 + n
    return total


EDGES = [
    sign * (INT_MAX // divisor) + offset
    for divisor in (1, 2, 3, 7)
    for sign in (1, -1)
    for offset in (-2, -1, 0, 1)
    if INT_MIN <= sign * (INT_MAX // divisor) + offset <= INT_MAX
]


@pytest.mark.parametrize("f", [triples, collatz_step, counts_down, scaled])
def test_ints_at_the_ends_of_64_bits(f: Any) -> None:
    """Where 64 bits are left, Python takes over; nothing wraps."""
    jitted = tracejit.jit(f)
    for n in (0, 1, -1, 27, *EDGES):
        for count in (0, 1, 2, 50):
            assert jitted(n, count) == f(n, count), (n, count)


def test_nothing_is_known_of_one_of_several_results() -> None:
    graph = parse_graph("""
def f(p: bool, k: int):
    t: token = stack_new(stack="s")
    t1: token = stack_push(t, p, k, stack="s")
    t2, q, m = typed(stack_pop(t1, stack="s", types=(("python", "bool"), ("python", "int"))), token, bool, int)
    return q, m
""")  # noqa: E501
    flat = lower_control_flow(graph)
    ranges = IntRanges(flat, size_ranges(flat, ()))
    assert [ranges.of(v) for v in flat.outputs] == [(0, 1), (INT_MIN, INT_MAX)]


CLAMPED = """
def f(n: size, k: int, x: f32[n, 8]):
    low: i64 = constant(value=0, type="i64")
    length: int = dim_value(dim=n)
    high: i64 = np_scalar(length, dtype="i64")
    given: i64 = np_scalar(k, dtype="i64")
    up: i64 = maximum(given, low)
    clamped: i64 = minimum(up, high)
    bind_size(clamped, binds=(m,))
    zero: f32 = constant(value=0.0, type="f32")
    out: f32[m, 16] = broadcast_to(zero, shape=(m, 16))
    return out
"""


def test_sizes_that_numbers_become_lie_where_these_lie() -> None:
    """What is clamped to a stored axis is no longer: neither it nor its bytes are checked."""
    flat = lower_control_flow(parse_graph(CLAMPED))
    found = IntRanges(flat, size_ranges(flat, ()))
    assert bound_sizes(flat, found) == {"m": (0, 2**57 // 32)}
    assert "with.overflow" not in lower_graph(parse_graph(CLAMPED), "llvm")

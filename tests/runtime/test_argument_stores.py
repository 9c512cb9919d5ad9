"""Stores into arguments and into arrays from outside happen in compiled code, as NumPy's do."""

from __future__ import annotations

import copy
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import storing as s
from tests.random.stores import colliding_arguments, random_arguments, random_store
from tests.runtime.native.test_native_publish import counting
from tests.support.compare import Mismatch, assert_parity, assert_same, leaves
from tests.support.layouts import LAYOUTS, lay_out
from tracejit.errors import FallbackError, TraceError
from tracejit.ir.evaluate import evaluate
from tracejit.runtime import native

REFUSED = {"TJ019", "TJ030"}
V, A = np.arange(1.0, 7.0), np.arange(1.0, 21.0).reshape(4, 5)


#: Of reversed arrays of complex64 NumPy rounds products differently from size to size.
UNKNOWN_ROUNDING = "of complex numbers, whose rounding is not known here"


def codes(jitted: Any) -> set[str]:
    found = jitted.report().fallbacks
    return {fallback.code for fallback in found if UNKNOWN_ROUNDING not in fallback.reason}


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    ("depth", "first"), [*((0, k) for k in range(0, 25, 5)), *((2, k) for k in range(0, 12, 3))]
)
def test_random_functions(depth: int, first: int) -> None:
    for seed in range(first, first + (3 if depth else 5)):
        f, count = random_store(seed, depth)
        rng = np.random.default_rng(seed)
        jitted = tracejit.jit(f)
        try:
            for size in (4, 5) if depth else (4, 5, 7):
                for draw in (random_arguments, colliding_arguments):
                    # NumPy may refuse to store into integers in a loop that goes round for others.
                    args = draw(rng, count, size, integers=not depth)
                    assert_parity(f, *args, jitted=jitted)
        except Mismatch as mismatch:
            mismatch.add_note("".join(linecache.getlines(f.__code__.co_filename)))
            mismatch.add_note(str(jitted.report()))
            raise
        assert codes(jitted) <= REFUSED, jitted.report()


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (s.step, (A, A * 2)),
    (s.smooth, (V,)),
    (s.eliminate, (A,)),
    (s.swap_rows, (A,)),
    (s.swap_views, (A,)),
    (s.exchange, (A, A * 2)),
    (s.exchange, (A, A.astype("f4"))),
    (s.through_views, (A,)),
    (s.parts, (V * (1 + 2j),)),
    (s.fill, (A, 3.5)),
    (s.fill, (A, A[:1] + 1)),
    (s.fill, (A, V[0])),
    (s.fresh_and_old, (A,)),
    (s.fresh_and_old, (A.astype(int),)),
    (s.out_argument, (V, V * 3)),
    (s.number, (V, np.array(2.0))),
    (s.nothing_new, (V,)),
    (s.narrowed, (np.arange(6), V)),
    (s.narrowed, (np.arange(6, dtype="i1"), V)),
    (s.unread, (V, A)),
    (s.constants, (V,)),
    (s.update, ({"w": V[:4], "layers": [V * 2, A]}, V[:4] + 1)),
    (s.train, (s.Model(V, A), V * 2)),
    (s.descend, ([V, A], [V * 2, A * 3])),
    (s.add_to, (A, A[0] * 2)),
    (s.add_to, (A, 2.5)),
]


@pytest.mark.sampled(18)
@pytest.mark.parametrize("k", range(len(CASES)))
def test_cases_in_every_layout(k: int) -> None:
    f, args = CASES[k]
    jitted = assert_parity(f, *args)
    larger = lay_out(args, lambda x: np.concatenate([x, x[-1:]], axis=-1 if x.ndim == 1 else 0))
    try:
        f(*copy.deepcopy(larger))
    except ValueError:
        larger = args  # Sizes that no longer fit each other.
    for layout in LAYOUTS.values():
        assert_parity(f, *lay_out(args, layout), jitted=jitted)
        assert_parity(f, *lay_out(larger, layout), jitted=jitted, calls=1)
    assert codes(jitted) <= REFUSED | {"TJ003"}, jitted.report()


@pytest.mark.parametrize("k", range(len(CASES)))
def test_cases_run_no_python(k: int) -> None:
    f, args = CASES[k]
    jitted = tracejit.jit(f)
    jitted(*copy.deepcopy(args))
    if not native.available():
        return
    with counting(jitted) as calls:
        assert_parity(f, *args, jitted=jitted)
        assert_parity(f, *lay_out(args, np.copy), jitted=jitted)
    assert not calls, jitted.report()


def test_shared_memory_is_seen_at_each_call() -> None:
    memory = np.arange(10.0)
    pairs = [
        (memory[:5], memory[5:]),
        (memory[:5], memory[:5]),
        (memory[:5], memory[4:9]),
        (memory[4::-1], memory[5:]),
        (memory[5:], memory[:5]),
        (memory[:5], memory[::-2]),
    ]
    jitted = tracejit.jit(s.add_to)
    for _ in range(2):
        for pair in pairs:
            assert_parity(s.add_to, *pair, jitted=jitted)
    (fallback,) = jitted.report().fallbacks
    assert (fallback.code, fallback.reason) == ("TJ019", "x may share memory with y")
    assert fallback.where is not None and fallback.where.source() == "x += y"
    if native.available():
        with counting(jitted) as calls:
            jitted(*pairs[0])
            assert not calls
            jitted(*pairs[1])
            assert len(calls) == 1


def test_an_argument_passed_twice() -> None:
    jitted = tracejit.jit(s.add_to)
    for x in (V, A, np.array(2.0), np.zeros(0)):
        for _ in range(2):
            mine, theirs = x.copy(), x.copy()
            assert_same(s.add_to(mine, mine), jitted(theirs, theirs))
            assert_same(mine, theirs)
    assert codes(jitted) == {"TJ019"}


def test_empty_arrays_share_nothing() -> None:
    memory = np.arange(6.0)
    jitted = tracejit.jit(s.unread, strict=True)
    for pair in ((memory[:0], memory), (memory[2:2], memory[2:2]), (memory[3:], memory[3:3])):
        assert jitted(*pair) is pair[1]
    assert_same(memory, np.array([0.0, 1.0, 2.0, 5.0, 5.0, 5.0]))


@pytest.mark.compiles
def test_read_only_arrays_raise_as_numpy_does() -> None:
    locked = V.copy()
    locked.flags.writeable = False
    for first in (True, False):
        jitted = tracejit.jit(s.smooth)
        if first:
            jitted(V.copy())
        for _ in range(2):
            with pytest.raises(ValueError, match="read-only"):
                jitted(locked)
        assert_same(locked, V)
        assert_parity(s.smooth, V, jitted=jitted)
        assert not jitted.report().fallbacks
        assert len(jitted.report().compiles) == 1
    strict = tracejit.jit(s.smooth, strict=True)
    with pytest.raises(ValueError, match="read-only"):
        strict(locked)


def test_strict_refuses_shared_memory() -> None:
    jitted = tracejit.jit(s.add_to, strict=True)
    x = V.copy()
    for _ in range(2):
        with pytest.raises(FallbackError, match="TJ019"):
            jitted(x, x)
        assert_same(x, V)
        assert_same(jitted(x.copy(), V), V + V)


def test_elements_at_indices_known_at_run_time() -> None:
    jitted = tracejit.jit(s.at)
    for k in (0, 3, -1, 5, -6, 6, -7, 4, np.int64(2)):
        assert_parity(s.at, V, k, 2.5, jitted=jitted)
    assert not jitted.report().fallbacks


def _outside() -> list[Any]:
    return [s.TABLE, s.STATE, s.NUMBER]


def test_arrays_from_outside() -> None:
    jitted = tracejit.jit(s.outside)
    start = copy.deepcopy(_outside())

    def run(f: Callable[..., Any], x: Any) -> Any:
        for now, before in zip(leaves(_outside()), leaves(start), strict=True):
            now[...] = before
        return copy.deepcopy((f(x), _outside()))

    for x in (V, V[1:], V[::-1], V * 2):
        for _ in range(2):
            assert_same(run(s.outside, x), run(jitted, x))
    result = jitted(V)
    assert np.shares_memory(result, s.TABLE)
    assert not jitted.report().fallbacks
    # One of the arrays itself as the argument.
    assert_same(run(s.outside, s.TABLE), run(jitted, s.TABLE))
    assert codes(jitted) == {"TJ019"}


def test_names_that_are_bound_to_shared_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    jitted = tracejit.jit(s.outside)
    jitted(V)
    for patched in (np.arange(10.0)[4:], np.arange(10.0)[:6]):
        outcomes = []
        for f in (s.outside, jitted):
            memory = patched.copy()
            monkeypatch.setattr(s, "TABLE", memory[:6])
            monkeypatch.setitem(s.STATE, "w", memory[2:6])
            outcomes.append((f(V).copy(), memory))
        assert_same(*outcomes)
    assert codes(jitted) == {"TJ019"}


def test_attributes_and_cells() -> None:
    walkers = s.Walker(), s.Walker()
    walk = tracejit.jit(s.Walker.walk)
    for x in (V, V + 1, V[::-1]):
        results = s.Walker.walk(walkers[0], x), walk(walkers[1], x)
        assert_same(results[0], results[1])
        assert_same(walkers[0].at, walkers[1].at)
        assert np.shares_memory(results[1], walkers[1].at)
    walkers[1].at.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        walk(walkers[1], V)
    assert not walk.report().fallbacks
    keep, kept = s.closure()
    jitted = tracejit.jit(keep)
    for x in (V, V + 1):
        assert jitted(x) is kept
        assert_same(kept, np.array([0.0, *x[:3]]))
    assert not jitted.report().fallbacks


def test_the_graph_says_what_is_written() -> None:
    graph = tracejit.jit(s.through_views).trace(A)
    assert graph.results == ("write 0",)
    assert graph.outputs[0].type == graph.inputs[0].type
    text = tracejit.jit(s.exchange).lower(A, A.astype("f4")).text("fuse")
    assert '@results("write 0", "write 1")' in text


@pytest.mark.sampled(4)
@pytest.mark.parametrize("first", range(0, 80, 20))
def test_graphs_of_random_functions_hold_the_final_values(first: int) -> None:
    for seed in range(first, first + 20):
        f, count = random_store(seed)
        args = random_arguments(np.random.default_rng(seed), count, integers=False)
        try:
            graph = tracejit.jit(f).trace(*args)
        except TraceError as e:
            assert UNKNOWN_ROUNDING in e.detail and any(x.dtype == np.complex64 for x in args)
            continue
        with np.errstate(all="ignore"):
            values = evaluate(graph, copy.deepcopy(args))
            f(*args)
        final = {
            int(r.split()[1]): v for r, v in zip(graph.results, values, strict=True) if " " in r
        }
        for k, array in enumerate(args):
            if k in final:
                assert_same(array, final[k], where=f"argument {k} of function {seed}")


@pytest.mark.parametrize("k", range(0, len(CASES), 2))
def test_cases_without_native_entries(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "available", lambda: False)
    f, args = CASES[k]
    jitted = assert_parity(f, *args, also=[lay_out(args, LAYOUTS["reversed_rows"])])
    assert codes(jitted) <= REFUSED, jitted.report()


@pytest.mark.compiles
def test_a_first_call_with_shared_memory_compiles_for_the_next() -> None:
    x = V.copy()
    jitted = tracejit.jit(s.add_to)
    assert jitted(x, x) is x
    assert_same(x, V + V)
    assert_parity(s.add_to, V, V * 2, jitted=jitted)
    assert len(jitted.report().compiles) == 1
    if native.available():
        with counting(jitted) as calls:
            jitted(x, V)
        assert not calls

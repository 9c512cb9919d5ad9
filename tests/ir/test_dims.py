"""Sizes: one form for each polynomial, and bounds that hold."""

from __future__ import annotations

import ast
import itertools
import pickle
import random
from collections.abc import Callable

import pytest

from tracejit.ir import dims, polynomials
from tracejit.ir.dims import (
    Dim,
    Poly,
    bounds,
    evaluate,
    floordiv,
    magnitude,
    maximum,
    minimum,
    mod,
    substitute,
    symbol,
)

N, M, K = symbol("n"), symbol("m"), symbol("k")
VALUES = [{"n": n, "m": m, "k": k} for n, m, k in itertools.product((0, 1, 2, 5, 12), repeat=3)]


def random_dim(rng: random.Random, depth: int = 3) -> tuple[Dim, Callable[[dict[str, int]], int]]:
    """A dimension and the plain computation that it stands for; divisors are positive."""
    if depth == 0 or rng.random() < 0.2:
        if rng.random() < 0.4:
            c = rng.randint(-3, 6)
            return c, lambda _: c
        name = rng.choice("nmk")
        return symbol(name), lambda v: v[name]
    a, f = random_dim(rng, depth - 1)
    b, g = random_dim(rng, depth - 1)
    match rng.randrange(7):
        case 0:
            return a + b, lambda v: f(v) + g(v)
        case 1:
            return a - b, lambda v: f(v) - g(v)
        case 2:
            return a * b, lambda v: f(v) * g(v)
        case 3:
            return minimum(a, b), lambda v: min(f(v), g(v))
        case 4:
            return maximum(a, b), lambda v: max(f(v), g(v))
        case 5:
            c = rng.randint(1, 7)
            return floordiv(a, c), lambda v: f(v) // c
        case _:
            c = rng.randint(1, 7)
            return mod(a, c), lambda v: f(v) % c


def parsed(text: str) -> Dim:
    return dims.dim_from_ast(ast.parse(text, mode="eval").body)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(300))
def test_a_dimension_has_the_value_text_and_bounds_of_what_it_stands_for(seed: int) -> None:
    dim, plain = random_dim(random.Random(seed))
    low, high = bounds(dim, {})
    for values in VALUES:
        value = plain(values)
        assert evaluate(dim, values) == value
        assert (low is None or low <= value) and (high is None or value <= high)
    assert parsed(str(dim)) == dim
    assert hash(parsed(str(dim))) == hash(dim)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(100))
def test_substitution_is_evaluation_in_steps(seed: int) -> None:
    rng = random.Random(seed)
    dim, plain = random_dim(rng)
    inner, inner_plain = random_dim(rng, 2)
    replaced = dims.substitute(dim, {"n": inner, "m": 3})
    for values in VALUES:
        new = {"n": inner_plain(values), "m": 3, "k": values["k"]}
        if new["n"] >= 0:  # a size
            assert evaluate(replaced, values) == plain(new)
    assert dims.free_symbols(replaced) <= {"n", "m", "k"}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(100))
def test_bounds_hold_in_narrower_ranges(seed: int) -> None:
    dim, plain = random_dim(random.Random(seed))
    low, high = bounds(dim, {"n": (1, 5), "m": (2, 2), "k": (0, 12)})
    for n, k in itertools.product((1, 2, 5), (0, 3, 12)):
        value = plain({"n": n, "m": 2, "k": k})
        assert (low is None or low <= value) and (high is None or value <= high)


def test_equal_polynomials_are_equal() -> None:
    assert (N + 1) * (N - 1) == N * N - 1
    assert N - N == 0 and type(N - N) is int
    assert 2 * N + M == M + N + N
    assert (N + 1) - 1 == N
    assert {N * M, M * N} == {M * N}
    assert N != M and N != 1 and N + 1 != N


def test_division_is_exact_where_it_can_be() -> None:
    assert floordiv(6 * N * M, 2 * N) == 3 * M
    assert floordiv(4 * N + 2, 4) == N
    assert floordiv(4 * N + 5, 4) == N + 1
    assert floordiv(7, 2) == 3 and floordiv(-7, 2) == -4
    assert mod(N * M, N) == 0
    assert mod(4 * N + 3, 4) == 3
    assert isinstance(floordiv(N, 2), Poly)
    for divide in (floordiv, mod):
        with pytest.raises(ZeroDivisionError):
            divide(N, 0)


def test_minimum_and_maximum_are_decided_by_bounds() -> None:
    assert minimum(N, N + 1) == N
    assert maximum(N, 0) == N
    assert minimum(N, 3, {"n": (5, None)}) == 3
    assert str(minimum(M, N)) == str(minimum(N, M)) == "min(m, n)"


def test_a_product_of_no_sizes_is_one() -> None:
    assert dims.prod(()) == 1
    assert dims.prod((2, N, M)) == 2 * N * M


@pytest.mark.parametrize("text", ["n / 2", "n ** 2", "abs(n)", "min(n)", "'n'", "n if m else k"])
def test_other_syntax_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a dimension"):
        parsed(text)


def test_every_symbol_needs_a_value() -> None:
    with pytest.raises(KeyError):
        evaluate(N + 1, {"m": 1})


def halves(depth: int) -> list[Dim]:
    """What is left of a length of which each time a half is cut off: its text doubles each time."""
    out: list[Dim] = [N]
    for _ in range(depth):
        out.append(out[-1] - floordiv(out[-1], 2))
    return out


def test_shared_parts_are_visited_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a tree, the last of these sizes has more parts than a computer could count."""
    sizes = halves(60)
    visits = []
    original = polynomials._bounds

    def counted(*args: object) -> object:
        visits.append(args[0])
        return original(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(polynomials, "_bounds", counted)
    last = sizes[-1]
    assert bounds(last, {"n": (0, 2**70)})[1] is not None
    assert len(visits) == 60
    assert evaluate(last, {"n": 2**60 + 1}) == 2
    assert dims.free_symbols(last) == {"n"}
    assert substitute(last, {"n": M}) == substitute(sizes[-2] - floordiv(sizes[-2], 2), {"n": M})
    assert magnitude(last, {"n": 5})[0] > 0
    assert len(polynomials.key_of(last)) < 1000


def test_equal_polynomials_are_one_object() -> None:
    a, b = halves(30), halves(30)
    assert all(x is y for x, y in zip(a, b, strict=True))
    assert (N + M) * K is N * K + K * M
    assert pickle.loads(pickle.dumps(a[5])) is a[5]

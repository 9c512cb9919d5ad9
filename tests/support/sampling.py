"""Turns the cases of a large generic test into this run's slice of them; `pytest --all` runs all.

Cases are dealt into slices by a hash of their names, and the seed of a run names its slice. The
seed is in the header of the run, and `pytest --seed N` repeats it. As many runs with seeds one
after the other as there are slices run every case.

A case that once found a bug is named in `always`, or stands in a test of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

Case = TypeVar("Case")

#: The seed of the run; with None every case runs, as wherever no pytest has set it.
seed: int | None = None


def full() -> bool:
    """Whether every case runs."""
    return seed is None


def _order(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def in_slice(name: str, parts: int) -> bool:
    """Whether this run takes the case of that name, where each run takes one of `parts` slices."""
    return seed is None or (_order(name) - seed) % parts == 0


def is_drawn(name: str, parts: int, seed: int) -> bool:
    """Returns True for one name in `parts`, others with each seed, whatever slices a seed takes:
    a run that takes a share of its slice would else leave out the same cases each time.
    """
    return _order(f"{seed} {name}") % parts == 0


def dealt(names: Collection[str], parts: int, kind: str = "") -> set[str]:
    """This run's names: one in `parts`, so that slices differ in size by one at most.

    Where there are fewer names than slices, those that would be empty take one of them, too.
    """
    ranked = sorted(set(names), key=lambda name: (_order(name), name))
    if seed is None:
        return set(ranked)
    # Small kinds are not all large in the same slice.
    k = (seed + (_order(kind) if kind else 0)) % parts
    return set(ranked[k % len(ranked) :: parts])


def sampled(
    cases: Iterable[Case],
    parts: int,
    *,
    name: Callable[[Case], str] = str,
    kind: Callable[[Case], str] = lambda case: "",
    always: Collection[str] = (),
) -> list[Case]:
    """This run's cases, in their order: one in `parts`, and those whose name is in `always`.

    `name` gives a case the same name in each run: neither an address nor a set's order is in it.
    Cases of each `kind` are dealt by themselves: of each kind there is one at least in each run.
    Raises ValueError for a name in `always` that no case has: it would protect nothing.
    """
    named = [(name(case), case) for case in cases]
    unknown = set(always) - {n for n, _ in named}
    if unknown:
        raise ValueError(f"no cases of these names: {sorted(unknown)}")
    kinds: dict[str, list[str]] = {}
    for n, case in named:
        kinds.setdefault(kind(case), []).append(n)
    taken = set(always).union(*(dealt(names, parts, of) for of, names in kinds.items()))
    return [case for n, case in named if n in taken]

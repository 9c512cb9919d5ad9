"""Streams of random numbers: the states of NumPy's and Python's, exact to the bit."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

__all__ = ["get_state", "kind_of", "new_stream", "set_state"]

_BIT_GENERATORS = {
    cls.__name__: cls
    for cls in (
        np.random.PCG64,
        np.random.PCG64DXSM,
        np.random.MT19937,
        np.random.Philox,
        np.random.SFC64,
    )
}


def kind_of(x: Any) -> str | None:
    """What kind of stream `x` is, as "Generator(PCG64)"; None where it is none."""
    if type(x) is random.Random:
        return "Random"
    if isinstance(x, np.random.BitGenerator):
        return type(x).__name__
    if type(x) in (np.random.Generator, np.random.RandomState):
        return f"{type(x).__name__}({type(_bits(x)).__name__})"
    return None


def _bits(x: Any) -> Any:
    return x._bit_generator if type(x) is np.random.RandomState else x.bit_generator


def get_state(x: Any) -> Any:
    """The state of a stream, a tree of numbers and arrays; how many were spawned of it, too."""
    if type(x) is random.Random:
        version, words, gauss = x.getstate()
        return {"version": version, "words": np.array(words, np.uint64), "gauss": gauss}
    if type(x) is np.random.RandomState:
        return {"state": x.get_state(legacy=False)}
    bits = x if isinstance(x, np.random.BitGenerator) else x.bit_generator
    seeds: Any = getattr(bits, "seed_seq", None)
    found = {"state": bits.state}
    if type(seeds) is np.random.SeedSequence:
        found["seeds"] = {**seeds.state, "n_children_spawned": seeds.n_children_spawned}
    return found


def set_state(x: Any, state: Any) -> None:
    """Let a stream go on from a state, where it lies.

    What it spawns goes on, too, where it comes from the same seed: NumPy has no way to change that.
    """
    if type(x) is random.Random:
        words = tuple(int(word) for word in state["words"])
        x.setstate((state["version"], words, state["gauss"]))
        return
    if type(x) is np.random.RandomState:
        x.set_state(state["state"])
        return
    bits = x if isinstance(x, np.random.BitGenerator) else x.bit_generator
    bits.state = state["state"]
    wanted, seeds = state.get("seeds"), bits.seed_seq
    if wanted is not None and type(seeds) is np.random.SeedSequence:
        ahead = wanted["n_children_spawned"] - seeds.n_children_spawned
        same = all(seeds.state[k] == wanted[k] for k in ("entropy", "spawn_key", "pool_size"))
        if same and ahead > 0:
            seeds.spawn(ahead)


def new_stream(kind: str) -> Any:
    """A stream of a kind, in any state. Raises KeyError for a kind that is not NumPy's own."""
    if kind == "Random":
        return random.Random()
    name, _, inner = kind.rstrip(")").partition("(")
    if not inner:
        return _BIT_GENERATORS[name](0)
    return {"Generator": np.random.Generator, "RandomState": np.random.RandomState}[name](
        _BIT_GENERATORS[inner](0)
    )

"""Random numbers: the streams of NumPy and Python, drawn from while the program runs.

Draws from streams that the program has not made are effects, ordered by a token: `host_draw` is a
`host_call` with a token before the operands and the results. Its first operand is the address of
the stream, which its caller keeps alive, unless it is that of a module. A Generator made by
`np.random.default_rng` inside the program is a value: six words that hold its state. `draw` gives
the state after the draw.

    token1, x = typed(host_draw(token, address, function="tracejit.ops.host.random:drawn", ...
    w = host_call(seed, function="tracejit.ops.host.random:start", ...)
    w1, x = typed(host_call(w, function="tracejit.ops.host.random:draw", ...), u64[6], f64[3])
"""

from __future__ import annotations

import ctypes
import functools
import random
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from tracejit.ir.graph import Attrs, Node
from tracejit.ir.op import register, require
from tracejit.ops.host.effect import HostEffect
from tracejit.ops.host.registered import registered

__all__ = [
    "DRAW",
    "DRAWN",
    "MODULES",
    "START",
    "HostDraw",
    "draw",
    "draws_in_python",
    "drawn",
    "drawn_from",
    "lock_of",
    "module_stream",
    "restorer",
    "start",
    "stream_at",
]

START, DRAW, DRAWN = f"{__name__}:start", f"{__name__}:draw", f"{__name__}:drawn"
#: The modules that have a stream of their own.
MODULES = ("np.random", "random")
_WORD = 2**64
#: Generators that nobody draws from at present: making one takes longer than a draw.
_SPARE: list[np.random.Generator] = []


@register
class HostDraw(HostEffect):
    """A draw from a stream of random numbers, which changes its state."""

    name: ClassVar[str] = "host_draw"

    def check_read(self, attrs: Attrs) -> None:
        super().check_read(attrs)
        require(attrs["function"] in (DRAWN, DRAW, START), "host_draw draws random numbers")
        constants = [a[1] for a in attrs["arguments"] if a[:1] == ("constant",)]
        if attrs["function"] == DRAWN:
            kind, *constants = constants
            # Elsewhere an address is any number.
            require(kind in MODULES, f"host_draw: the address of a {kind} is known to one process")
        is_public = all(type(c) is not str or c[:1] != "_" for c in constants)
        require(is_public, f"host_draw: there is no method {constants[:1]}")


def module_stream(kind: str) -> Any:
    """The stream of one of `MODULES`."""
    return np.random.mtrand._rand if kind == "np.random" else random._inst


def stream_at(address: Any) -> Any:
    """The stream at an address."""
    return ctypes.cast(int(address), ctypes.py_object).value


def lock_of(stream: Any) -> Any:
    """The lock that NumPy holds while it draws from a stream; None where there is none."""
    if isinstance(stream, np.random.RandomState):
        return stream._bit_generator.lock
    return getattr(getattr(stream, "bit_generator", None), "lock", None)


def restorer(stream: Any) -> Callable[[], None]:
    """What gives a stream the state that it has now."""
    if isinstance(stream, np.random.Generator):
        bits = stream.bit_generator
        state = bits.state
        return lambda: setattr(bits, "state", state)
    if isinstance(stream, np.random.RandomState):
        held = stream.get_state(legacy=False)
        return lambda: stream.set_state(held)
    return functools.partial(stream.setstate, stream.getstate())


def draws_in_python(node: Node) -> bool:
    """Whether a node draws from a stream of Python's module `random`."""
    if not isinstance(node.op, HostDraw) or node.attrs["function"] != DRAWN:
        return False
    return node.attrs["arguments"][0][1] in ("Random", "random")


@registered
def drawn(
    kind: str, method: str, address: Any, args: Sequence[Any], keywords: dict[str, Any]
) -> Any:
    """What `stream.method(*args, **keywords)` gives; what `shuffle` leaves.

    `kind` is the name of the stream's class, or one of `MODULES`.
    """
    stream = module_stream(kind) if kind in MODULES else stream_at(address)
    return drawn_from(stream, method, args, keywords)


def drawn_from(stream: Any, method: str, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """The same for a stream itself."""
    if method != "shuffle":
        return getattr(stream, method)(*args, **keywords)
    x = args[0].copy()
    stream.shuffle(x, *args[1:], **keywords)
    return x


@registered
def start(seed: Any) -> np.ndarray[Any, Any]:
    """The state of `np.random.default_rng(seed)`, u64[6]. Raises what that raises."""
    return _words(np.random.default_rng(seed))


@registered
def draw(
    method: str, words: np.ndarray[Any, Any], args: Sequence[Any], keywords: dict[str, Any]
) -> tuple[np.ndarray[Any, Any], Any]:
    """The state after `generator.method(*args, **keywords)`, and what that gives."""
    generator = _SPARE.pop() if _SPARE else np.random.default_rng(0)
    high, low, inc_high, inc_low, has_uint32, uinteger = words.tolist()
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": high * _WORD + low, "inc": inc_high * _WORD + inc_low},
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }
    result = drawn_from(generator, method, args, keywords)
    after = _words(generator)
    _SPARE.append(generator)
    return after, result


def _words(generator: np.random.Generator) -> np.ndarray[Any, Any]:
    state = generator.bit_generator.state
    words = [w for x in (state["state"]["state"], state["state"]["inc"]) for w in divmod(x, _WORD)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], np.uint64)

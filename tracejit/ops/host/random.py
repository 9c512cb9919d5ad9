"""Random numbers: NumPy's own streams, drawn from while the program runs.

The global functions of `np.random` are effects, ordered by a token: `host_draw` is a `host_call`
with a token before the operands and the results. A Generator made by `np.random.default_rng` inside
the program is a value: six words that hold its state. `draw` gives the state after the draw.

    w = host_call(seed, function="tracejit.ops.host.random:start", ...)
    w1, x = typed(host_call(w, function="tracejit.ops.host.random:draw", ...), u64[6], f64[3])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tracejit.ir.graph import Attrs, Graph
from tracejit.ir.op import register, require
from tracejit.ir.types import TOKEN, Type
from tracejit.ops.host.call import HostCall

__all__ = ["DRAW", "START", "HostDraw", "draw", "start"]

START, DRAW = f"{__name__}:start", f"{__name__}:draw"
_WORD = 2**64
#: Generators that nobody draws from at present: making one takes longer than a draw.
_SPARE: list[np.random.Generator] = []


@register
class HostDraw(HostCall):
    """A call of a function of `np.random`, which changes the state of its random numbers."""

    name: ClassVar[str] = "host_draw"
    kind: ClassVar[str] = "effect"
    pure: ClassVar[bool] = False

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        require(inputs and inputs[0] == TOKEN, f"{self.name} takes a token first")
        return (TOKEN, *super().infer(inputs[1:], attrs, regions, binds))

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        return (inputs[0], *super().evaluate(inputs[1:], attrs))

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return ()


def start(seed: Any) -> np.ndarray[Any, Any]:
    """The state of `np.random.default_rng(seed)`, u64[6]. Raises what that raises."""
    return _words(np.random.default_rng(seed))


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
    result = getattr(generator, method)(*args, **keywords)
    after = _words(generator)
    _SPARE.append(generator)
    return after, result


def _words(generator: np.random.Generator) -> np.ndarray[Any, Any]:
    state = generator.bit_generator.state
    words = [w for x in (state["state"]["state"], state["state"]["inc"]) for w in divmod(x, _WORD)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], np.uint64)

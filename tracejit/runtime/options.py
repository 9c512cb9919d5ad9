"""What a user asks of one compiled function, beside what the whole process is set to."""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

from tracejit.base.lazy_dataclass import dataclass

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """The options of `tracejit.jit`.

    `strict`: what cannot be compiled is an error; `bounds_check`: indices are checked; `threads`:
    how many share a long kernel, None for what the process is set to; `moves`: the device that
    NumPy's arrays are moved to for a call, if they are.
    """

    strict: bool = False
    bounds_check: bool = True
    threads: int | None = None
    moves: str | None = None
    #: The devices that nodes are placed on, beside those that the program names.
    devices: tuple[str, ...] = ()
    #: Where the programs of a function that is being profiled have their clocks.
    timers: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise ValueError(f"there is at least one thread, not {self.threads}")

    def again(self, given: Options, moves: bool) -> Options:
        """These for a function that is decorated once more; `moves`: with a device."""
        return Options(
            self.strict or given.strict,
            self.bounds_check and given.bounds_check,
            given.threads or self.threads,
            given.moves if moves else self.moves,
            given.devices or self.devices,
        )

    def of_part(self) -> Options:
        """Those of what is compiled for itself where the whole function runs eagerly."""
        return replace(self, strict=False, moves=None, devices=())

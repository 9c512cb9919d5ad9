"""A call of a generator function, of which nothing has run yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["GeneratorCall"]


class GeneratorCall:
    """Stands for a generator; `run()` runs its code and gives the outcome."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self.run, self.is_started = run, False

"""What an entry gives besides results: `MISS`, it does not fit the call; `BAIL`, it gave up."""

from __future__ import annotations

__all__ = ["BAIL", "MISS"]


class _Sentinel:
    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


MISS = _Sentinel("MISS")
BAIL = _Sentinel("BAIL")

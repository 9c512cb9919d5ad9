"""How replicas work together, as text: "sync", "async", "async:4", "backup:2"."""

from __future__ import annotations

from dataclasses import dataclass

from tracejit.dist.replicas.policy import Async, Backup, Policy

__all__ = ["Mode"]


@dataclass(frozen=True)
class Mode:
    """`kind` is "sync", "async" or "backup"; `number` the bound of staleness, or the workers that
    are more than a step needs.
    """

    kind: str
    number: int | None = None

    @classmethod
    def of(cls, text: str) -> Mode:
        """The mode that a text says. Raises ValueError."""
        kind, given, number = text.partition(":")
        valid = kind in ("sync", "async", "backup") and bool(given) == bool(number)
        if (
            valid
            and (number.isdigit() if number else kind != "backup")
            and (not number or kind != "sync")
        ):
            return cls(kind, int(number) if number else None)
        raise ValueError(f"a mode is sync, async, async:BOUND or backup:WORKERS, not {text!r}")

    def policy(self, size: int) -> Policy:
        """The policy of a server for `size` workers. Raises ValueError where they are too few."""
        if self.kind == "async":
            return Async(bound=self.number)
        assert self.kind == "backup" and self.number is not None
        if self.number >= size:
            raise ValueError(f"of {size} workers {self.number} cannot be more than a step needs")
        return Backup(needed=size - self.number)

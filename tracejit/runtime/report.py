"""What happened to a function: its compiles and their reasons, its fallbacks and their lines."""

from __future__ import annotations

from dataclasses import dataclass, field

from tracejit.errors import CODES, Where

__all__ = ["Fallback", "Report"]


@dataclass(frozen=True)
class Fallback:
    """Why the function, called in some form, runs eagerly."""

    code: str
    reason: str
    where: Where | None
    signature: str

    @property
    def line(self) -> int:
        """The user's line, 0 where it is not known."""
        return self.where.line if self.where else 0

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.code}: {CODES[self.code][0]}" + (
            f": {self.reason}" if self.reason else ""
        )


@dataclass
class Report:
    """`compiles` are (reason, signature) pairs in order; `fallbacks` the forms that run eagerly."""

    function: str
    compiles: list[tuple[str, str]] = field(default_factory=list)
    fallbacks: list[Fallback] = field(default_factory=list)
    bailouts: int = 0
    seconds: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{self.function}: {len(self.compiles)} compiled, {len(self.fallbacks)} eager"]
        for (reason, signature), seconds in zip(self.compiles, self.seconds, strict=True):
            lines.append(f"  compiled  {signature}  ({reason}, {seconds * 1e3:.0f} ms)")
        for f in self.fallbacks:
            lines.append(f"  eager     {f.signature}")
            lines.append(f"            {f}")
            lines.append(f"            {CODES[f.code][1]}")
        if self.bailouts:
            lines.append(f"  {self.bailouts} calls were repeated eagerly (TJ010)")
        return "\n".join(lines)

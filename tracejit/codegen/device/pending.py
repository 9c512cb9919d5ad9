"""A kernel that waits to be launched: what follows it may join it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tracejit.codegen.cuda.join import join, renamed
from tracejit.ir.kernel import Expr, Kernel

__all__ = ["PendingCall"]


@dataclass
class PendingCall:
    """A kernel with its arguments, whose sizes are those of the program.

    `lies` has for each buffer that is an array of the program what is equal for the same elements,
    and what is equal wherever memory may be shared.
    """

    kernel: Kernel
    buffers: dict[str, str]
    scalars: dict[str, Expr]
    lies: dict[str, tuple[object, object]] = field(default_factory=dict)

    def joined(self, following: PendingCall) -> PendingCall | None:
        """One call that does this and then the other; None where that is not known to be right."""
        names = self._names_of(following)
        if names is None:
            return None
        second = renamed(following.kernel, names)
        # A scalar of the same name is another one.
        taken = {*self.scalars, *self.buffers}
        if any(v.name in taken for v in second.scalars):
            return None
        found = join(self.kernel, second)
        if found is None:
            return None
        buffers = {names.get(k, k): r for k, r in following.buffers.items()}
        lies = {names.get(k, k): x for k, x in following.lies.items()}
        return replace(
            self,
            kernel=found,
            buffers={**buffers, **self.buffers},
            scalars={**self.scalars, **following.scalars},
            lies={**lies, **self.lies},
        )

    def _names_of(self, following: PendingCall) -> Mapping[str, str] | None:
        """What the buffers of the other are called here; None where memory may be shared."""
        written = {p.name for p in self.kernel.params if p.output}
        stored = {p.name for p in following.kernel.params if p.output}
        known = {lies[0]: name for name, lies in self.lies.items()}
        table: dict[str, str] = {}
        for name in following.buffers:
            own = following.lies.get(name)
            same = None if own is None else known.get(own[0])
            if same is not None:
                table[name] = same
                continue
            fresh = name
            while fresh in self.buffers or fresh in table.values():
                fresh += "_"
            table[name] = fresh
            if own is None:
                continue
            for other, (_, memory) in self.lies.items():
                if memory == own[1] and (other in written or name in stored):
                    return None
        return table

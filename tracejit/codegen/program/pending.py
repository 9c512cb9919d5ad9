"""A kernel that waits to be called: what follows it may join it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.analysis.liveness import Liveness
from tracejit.codegen.llvm.lanes import bits
from tracejit.codegen.lowering.collapse import map_dims
from tracejit.codegen.lowering.join import Stage, join, renamed
from tracejit.ir.dims import Dim, free_symbols, substitute, symbol
from tracejit.ir.graph import Node, Value
from tracejit.ir.kernel import Expr, Kernel

__all__ = ["PendingCall", "sized"]


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
    #: The kernels that have been joined in this one, if there are several.
    stages: tuple[Stage, ...] = ()
    #: What computes the kernel's results, and the values that these buffers have held.
    nodes: tuple[Node, ...] = ()
    values: dict[str, tuple[Value, ...]] = field(default_factory=dict)

    def joined(self, following: PendingCall, *, several: bool = False) -> PendingCall | None:
        """One call that does this and then the other; None where that is not known to be right.

        With `several` one loop may become several, as those of the other.
        """
        names = self._names_of(following)
        if names is None:
            return None
        second = renamed(following.kernel, names)
        # A scalar of the same name is another one.
        taken = {*self.scalars, *self.buffers}
        if any(v.name in taken for v in second.scalars):
            return None
        found = join(self.kernel, second, several=several)
        if found is None:
            return None
        buffers = {names.get(k, k): r for k, r in following.buffers.items()}
        lies = {names.get(k, k): x for k, x in following.lies.items()}
        kernel, *stages = found
        values = dict(self.values)
        for name, held in following.values.items():
            values[names[name]] = (*values.get(names[name], ()), *held)
        return replace(
            self,
            kernel=kernel,
            buffers={**buffers, **self.buffers},
            scalars={**self.scalars, **following.scalars},
            lies={**lies, **self.lies},
            stages=(*self.stages, *stages[bool(self.stages) :]),
            nodes=(*self.nodes, *following.nodes),
            values=values,
        )

    def shares(self, following: PendingCall) -> bool:
        """Whether both access an array."""
        own = {elements for elements, _ in self.lies.values()}
        return any(elements in own for elements, _ in following.lies.values())

    def keep_numbers(self, live: Liveness, room: Callable[[int], str | None]) -> None:
        """Let numbers of rows that nothing else reads lie in memory of their own, for one block.

        `room` gives so many bytes or none. Who lies where they would have lain may join then.
        """
        from tracejit.codegen.lowering.row_blocks import MOST_ROWS, numbers_of_rows

        dtypes = {p.name: p.dtype for p in self.kernel.params}
        private = self._private(live)
        for name, count in numbers_of_rows(self.kernel).items():
            if name in self.lies and name in private:
                place = room(MOST_ROWS * count * bits(dtypes[name]) // 8)
                if place is None:
                    return
                self.buffers[name] = place
                del self.lies[name]

    def in_blocks(
        self, live: Liveness, rows_of_block: Callable[[Dim], str]
    ) -> tuple[Kernel, dict[str, Dim]]:
        """The kernel, block by block if several have been joined in it.

        Beside it the bytes of a block in the buffers that belong to one. `rows_of_block` gives the
        name of a size, from the bytes of a row.
        """
        if not self.stages:
            return self.kernel, {}
        from tracejit.codegen.lowering.row_blocks import in_blocks

        return in_blocks(self.kernel, self.stages, self._private(live), rows_of_block)

    def _private(self, live: Liveness) -> set[str]:
        """The buffers of which nothing is read outside of the call, before or after it."""
        return {
            p.name
            for p in self.kernel.params
            if p.output and live.within(self.nodes, self.values[p.name])
        }

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


def sized(kernel: Kernel, sizes: Mapping[str, Dim]) -> Kernel:
    """A kernel whose sizes are those of the program around it."""
    table = {s: d for s, d in sizes.items() if s in kernel.sizes and d != symbol(s)}
    if not table:
        return kernel
    names = set[str]().union(*(free_symbols(sizes.get(s, symbol(s))) for s in kernel.sizes))
    params = tuple(
        replace(p, shape=tuple(substitute(d, table) for d in p.shape)) for p in kernel.params
    )
    body = tuple(map_dims(s, lambda d: substitute(d, table)) for s in kernel.body)
    return replace(kernel, params=params, sizes=tuple(sorted(names)), body=body)

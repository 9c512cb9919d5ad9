"""Where a backward pass is recorded, and how it has there what the forward pass knew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracejit.ir.derivatives import DerivativeBuilder, Into, Zeroed, differentiable, tangent_type
from tracejit.ir.dims import Dim, bounds, free_symbols, substitute, symbol, total
from tracejit.ir.graph import Attr, Graph, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.regions import Region
from tracejit.ir.types import (
    PYINT,
    TOKEN,
    ArrayType,
    NpScalar,
    Type,
    dtype_of,
    type_substitute,
)
from tracejit.ops.control.stack import StackPop, StackPush, record_types
from tracejit.transforms.autodiff.array_states import states_of
from tracejit.transforms.autodiff.cotangents import Cotangents
from tracejit.transforms.autodiff.residuals import Block, Saved, is_single, reader_of
from tracejit.transforms.autodiff.sparse_rows import RowReads
from tracejit.transforms.autodiff.stacks import stack_of

__all__ = ["BackwardPass", "RegionBackwardPass", "Restart"]


class BackwardPass:
    """The backward pass of a block beside it, in the same graph: all its values are at hand."""

    def __init__(self, c: DerivativeBuilder, block: Block, stack: str) -> None:
        self.c, self.block, self.stack = c, block, stack
        #: The cotangents of values of the block, as far as they have been added up.
        self.cotangents = Cotangents(c)
        #: Stands for the stack as it is here.
        self.token = Value(TOKEN)
        #: Arrays of which only rows are read, whose cotangents are kept as such.
        self.rows: RowReads | None = None

    # What the forward pass knew -------------------------------------------------------------------

    def primal(self, v: Value) -> Value:
        """A value of the forward pass, as one of the graph that is recorded."""
        return v

    def dim(self, d: Dim) -> Dim:
        """A size of the forward pass in terms of the graph that is recorded."""
        return d

    def attrs(self, attrs: Mapping[str, Attr]) -> dict[str, Attr]:
        """Attributes of the forward pass, in these terms."""
        return {k: self._attr(a) for k, a in attrs.items()}

    def _attr(self, attr: Attr) -> Attr:
        return attr

    def type(self, t: Type) -> Type:
        """A type of the forward pass, in these terms."""
        return t

    # Arrays that are restored ---------------------------------------------------------------------

    def holds(self, v: Value) -> bool:
        """Whether `v` is the state that an array has been restored to."""
        return False

    def undo(self, node: Node) -> None:
        """Restore the array that a node has stored into to what it was before."""
        raise AssertionError("nothing is restored here")

    def held(self, v: Value) -> Value:
        """The array that is in the state `v`."""
        raise AssertionError("nothing is restored here")

    def hold(self, old: Value, new: Value, array: Value) -> None:
        """Note that the array in the state `old` has been restored to the state `new`."""
        raise AssertionError("nothing is restored here")

    # Attempts -------------------------------------------------------------------------------------

    def mark(self) -> Any:
        """What is recorded and saved so far, here and outside, for `rollback`."""
        return len(self.c.builder.nodes)

    def rollback(self, mark: Any) -> None:
        """Forget what an attempt at an inner region has recorded and saved since the mark."""
        del self.c.builder.nodes[mark:]

    # Cotangents -----------------------------------------------------------------------------------

    def add(self, v: Value, g: Value | Into | Zeroed) -> None:
        """Add to the cotangent of a value of the block, if it is of any use."""
        if v not in self.block.active:
            return
        if v.type == TOKEN:
            assert isinstance(g, Value) and not self.cotangents.has(v), "a stack is used twice"
            self.cotangents[v] = g
            return
        if isinstance(g, Into):
            v, g = self._behind_views(v, g)
        into = isinstance(g, Into) and not self.cotangents.has(v)
        self.cotangents.add(v, g, self.c.zeros(self.type(v.type)) if into else None)

    def _behind_views(self, v: Value, g: Into) -> tuple[Value, Into]:
        """The value that `v` is a view of, and what is added there."""

        from tracejit.transforms.autodiff.cotangent_views import through_view

        while (node := self.block.producers.get(v)) is not None and node.op.view:
            source = node.inputs[0]
            if source not in self.block.active:
                break
            if self.rows is not None and source in self.rows.tables:
                break
            attrs, types = self.attrs(node.attrs), (self.type(source.type), self.type(v.type))
            v, g = source, through_view(self.c, node.op.name, attrs, *types, g)
        return v, g

    def zero(self, v: Value) -> Value:
        """The cotangent zero of a value; an empty stack of cotangents for a stack."""
        if v.type == TOKEN:
            return self.c.op("stack_new", stack=self.cotangent_stack(v))
        return self.c.zeros(self.type(v.type))

    def laid_out(self, g: Value | None, v: Value) -> Value:
        """A cotangent of `v` with its exact type; zero for None."""
        if g is None:
            return self.zero(v)
        return g if g.type == TOKEN else self.c.laid_out(g, tangent_type(self.type(v.type)))

    # Stacks of an inner backward pass -------------------------------------------------------------

    def cotangent_stack(self, v: Value) -> str:
        """The name of the stack of the cotangents of what is popped from another."""
        return f"{self.stack}_{stack_of(self.block, v)}"

    def pull_stack(self, node: Node, found: Sequence[Value | None]) -> None:
        """Pull back through a stack: what was popped is pushed, and the other way round.

        Records below the first with an active value have no cotangents that are of any use.
        """
        g = found[0]
        if isinstance(node.op, StackPush):
            if g is None or node.outputs[0] not in self.block.active:
                return
            values = [v for v in node.inputs[1:] if differentiable(v.type)]
            if not values:
                self.cotangents[node.inputs[0]] = g
                return
            types = record_types([tangent_type(self.type(v.type)) for v in values])
            name = self.cotangent_stack(node.outputs[0])
            token, *popped = self.c.ops("stack_pop", (g,), stack=name, types=types)
            self.cotangents[node.inputs[0]] = token
            for v, ct in zip(values, popped, strict=True):
                self.add(v, ct)
        elif isinstance(node.op, StackPop) and node.inputs[0] in self.block.active:
            pairs = [
                (v, ct)
                for v, ct in zip(node.outputs[1:], found[1:], strict=True)
                if differentiable(v.type)
            ]
            token = self.zero(node.outputs[0]) if g is None else g
            if pairs:
                values = [self.laid_out(ct, v) for v, ct in pairs]
                name = self.cotangent_stack(node.outputs[0])
                token = self.c.op("stack_push", token, *values, stack=name)
            self.cotangents[node.inputs[0]] = token


class Restart(Exception):
    """The backward pass of a loop is to be recorded again, with more arrays restored."""

    def __init__(self, backward_pass: RegionBackwardPass, place: int) -> None:
        super().__init__(place)
        self.backward_pass, self.place = backward_pass, place


#: The work, in additions, from which on a result is saved rather than computed again.
_DEAR = 10.0
#: The most steps in a row that are done again; those that take no work of their own count less.
_DEPTH = 24


class RegionBackwardPass(BackwardPass):
    """The backward pass of a region, in a region of its own.

    `operands` are what the region's inputs are outside (None: what a loop carries), `sizes` its
    size symbols in terms of the region that is recorded. `chains` are the inputs that are
    arrays whose state at the end the region leaves, stored into, in an output; those in `restored`
    are given in that state and restored to that at the beginning.
    """

    def __init__(
        self,
        outer: BackwardPass,
        region: Region,
        graph: Graph,
        block: Block,
        operands: Sequence[Value | None],
        sizes: Mapping[str, Dim],
        chains: Mapping[int, int],
        restored: Mapping[int, Value],
    ) -> None:
        super().__init__(region.c, block, outer.stack)
        self.outer, self.region, self.graph = outer, region, graph
        self.operands = dict(zip(graph.inputs, operands, strict=True))
        self.sizes = dict(sizes)
        self._memo: dict[Value, Value] = {}
        #: The states that restored arrays are in: number of the input -> (state, array).
        self._held = {k: (graph.outputs[chains[k]], v) for k, v in restored.items()}
        #: The values that are states of such an array: value -> number of its input.
        self._states: dict[Value, int] = {}
        for k, j in chains.items():
            self._states |= dict.fromkeys(states_of(block, graph.outputs[j]), k)
        self._popped: list[Value] = []

    # What the forward pass knew -------------------------------------------------------------------

    def primal(self, v: Value) -> Value:
        found = self._at_hand(v)
        if found is not None:
            return found
        node = self.block.producers.get(v)
        if node is None or not self._is_recomputed(v, node):
            return self._save(v)
        inputs = [self.primal(x) for x in node.inputs]
        attrs = self.attrs(node.attrs)
        if node.op.checks_index and not node.op.updates:
            # The forward pass has checked it.
            attrs["checked"] = False
        (self._memo[v],) = self.c.ops(node.op.name, inputs, **attrs)
        return self._memo[v]

    def _at_hand(self, v: Value) -> Value | None:
        if v in self._memo:
            return self._memo[v]
        if self.holds(v):
            return self.held(v)
        operand = self.operands.get(v)
        if operand is None:
            return None
        self._memo[v] = self.region.capture(self.outer.primal(operand))
        return self._memo[v]

    def _is_recomputed(self, v: Value, node: Node) -> bool:
        if not _is_cheap(node):
            return False
        missing: dict[Value, None] = {}
        known: dict[Value, list[Value]] = {}
        for x in node.inputs:
            missing |= dict.fromkeys(self._missing(x, 1, known))
        return _are_smaller(list(missing), v)

    def _missing(self, v: Value, depth: float, known: dict[Value, list[Value]]) -> list[Value]:
        """What would have to be saved for `v` to be there: itself or, if that is no more, what it
        is computed of. `known` has the answers that have been found.
        """
        if v in known:
            return known[v]
        if v in self._memo or self.holds(v) or self.operands.get(v) is not None:
            return []
        if v in self._states and self._states[v] not in self._held:
            raise Restart(self, self._states[v])
        node = self.block.producers.get(v)
        if node is None or depth > _DEPTH or not _is_cheap(node):
            return [v]
        out: dict[Value, None] = {}
        further = depth + (0.25 if node.op.moves else 1.0)
        for x in node.inputs:
            out |= dict.fromkeys(self._missing(x, further, known))
        known[v] = list(out) if _are_smaller(list(out), v) else [v]
        return known[v]

    def _save(self, v: Value) -> Value:
        if v in self._states and self._states[v] not in self._held:
            raise Restart(self, self._states[v])
        self.block.saved.append(Saved(value=v))
        self._memo[v] = popped = Value(self.type(v.type), v.name)
        self._popped.append(popped)
        return popped

    def dim(self, d: Dim) -> Dim:
        for s in sorted(free_symbols(d) - self.sizes.keys()):
            self.block.saved.append(Saved(size=s))
            self._popped.append(Value(PYINT))
            self.sizes[s] = symbol(self.c.fresh())
        return substitute(d, self.sizes)

    def _attr(self, attr: Attr) -> Attr:
        if isinstance(attr, tuple):
            return tuple(map(self._attr, attr))
        return attr if not hasattr(attr, "terms") else self.dim(attr)

    def type(self, t: Type) -> Type:
        if isinstance(t, ArrayType):
            for d in t.shape:
                self.dim(d)
        return type_substitute(t, self.sizes)

    # Arrays that are restored ---------------------------------------------------------------------

    def holds(self, v: Value) -> bool:
        return any(state is v for state, _ in self._held.values())

    def held(self, v: Value) -> Value:
        return next(array for state, array in self._held.values() if state is v)

    def hold(self, old: Value, new: Value, array: Value) -> None:
        place = next(k for k, (state, _) in self._held.items() if state is old)
        self._held[place] = new, array

    def undo(self, node: Node) -> None:
        name, operands, attrs = reader_of(node)
        (read,) = OPS[name].infer([v.type for v in operands], attrs, (), ())
        out = self.type(read)
        single = is_single(out)
        types = record_types([NpScalar(dtype_of(out)) if single else out])
        self.token, old = self.c.ops("stack_pop", (self.token,), stack=self.stack, types=types)
        if single:
            old = self.c.shaped(old, out)
        array, indices = self.held(node.outputs[0]), [self.primal(v) for v in operands[1:]]
        writer = {"slice": "update_slice", "read_item": "write_item", "gather": "scatter"}[name]
        attrs = self.attrs(attrs)
        if OPS[name].checks_index:
            attrs["checked"] = False
        self.block.undone.add(node)
        restored = self.c.op(writer, array, old, *indices, **attrs)
        self.hold(node.outputs[0], node.inputs[0], restored)

    # Attempts -------------------------------------------------------------------------------------

    def mark(self) -> Any:
        counts = len(self.block.saved), len(self._popped)
        tables = dict(self._memo), dict(self.sizes), dict(self.region.captures)
        return super().mark(), counts, tables, self.outer.mark()

    def rollback(self, mark: Any) -> None:
        nodes, (saved, popped), (self._memo, self.sizes, captures), outer = mark
        super().rollback(nodes)
        del self.block.saved[saved:]
        del self._popped[popped:]
        self.region.captures.clear()
        self.region.captures.update(captures)
        self.outer.rollback(outer)

    # The end --------------------------------------------------------------------------------------

    def open(self) -> Value:
        """Record the pop of what is saved, in front; the token that the region begins with."""
        first = self.first = Value(TOKEN)
        self.token = self._after_pop = Value(TOKEN)
        return first

    def finish(self) -> Value:
        """The token that the region is to begin with, once all that is saved is known."""
        saved = list(zip(self.block.saved, self._popped, strict=True))
        values = [v for s, v in saved if s.size is None]
        sizes = [v for s, v in saved if s.size is not None]
        front = self._pops([sizes, values])
        if not front:
            return self._after_pop
        binds = []
        for s, v in saved:
            if s.size is not None:
                (name,) = free_symbols(self.sizes[s.size])
                binds.append(Node(OPS["bind_size"], (v,), {}, (), (), (name,)))
        self.c.builder.nodes[:0] = [front[0], *binds, *front[1:]]
        return self.first

    def _pops(self, records: Sequence[Sequence[Value]]) -> list[Node]:
        """The nodes that pop these records, empty ones left out, in this order."""
        out = []
        token, left = self.first, [record for record in records if record]
        for k, record in enumerate(left):
            types = record_types([v.type for v in record])
            rest = self._after_pop if k == len(left) - 1 else Value(TOKEN)
            attrs = {"stack": self.stack, "types": types}
            out.append(Node(OPS["stack_pop"], (token,), attrs, (rest, *record)))
            token = rest
        return out


def _is_cheap(node: Node) -> bool:
    """Whether to compute a result again costs about what reading it from memory does."""
    if node.regions or len(node.outputs) != 1 or not node.op.pure:
        return False
    if node.op.kind not in ("index", "elementwise", "scalar"):
        return False
    return node.op.cost([v.type for v in node.inputs], node.attrs) < _DEAR


def _are_smaller(values: Sequence[Value], v: Value) -> bool:
    """Whether saving all `values` takes no more memory than saving `v`, as far as can be told.

    A number that is no array is nothing beside another value.
    """
    arrays = [x.type.size for x in values if isinstance(x.type, ArrayType)]
    if len(values) < 2 and not arrays:
        return True
    if not isinstance(v.type, ArrayType):
        return False
    low, _ = bounds(v.type.size - total([*arrays, len(values) - len(arrays)]), {})
    return low is not None and low >= 0

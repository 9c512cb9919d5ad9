"""Loads and stores of a kernel: the linear offset's dependence on the vector variable decides.

offset = coefficient * variable + rest
coefficient 0       a scalar load, splat where lanes are wanted
coefficient 1, -1   a vector load or store, reversed for -1
coefficient 2       two vector loads and a shuffle (the parts of complex numbers)
anything else       lane by lane: see `strided.py`, or a gather or scatter
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tracejit.codegen.affine import Offsets, split_linear
from tracejit.codegen.kernel.expressions import KernelValue, Values
from tracejit.codegen.kernel.strided import (
    even_step,
    load_apart,
    load_spread,
    moved,
    step_in_rows,
    store_apart,
)
from tracejit.codegen.llvm.lanes import (
    Lanes,
    bits,
    from_memory,
    load_element,
    memory_type,
    store_element,
    to_memory,
)
from tracejit.codegen.llvm.text import register
from tracejit.ir.dims import Dim, Poly, symbol
from tracejit.ir.kernel import Kernel, Load, Store

__all__ = ["Memory"]

#: Bytes of a cache line, and how far ahead of its loads a loop asks for them.
_LINE, _AHEAD = 64, 2048


class Memory:
    """Loads and stores against a kernel's buffers, through `values`."""

    def __init__(
        self, kernel: Kernel, stored: frozenset[str], known: Mapping[str, Dim] | None = None
    ) -> None:
        self.offsets = Offsets(kernel, known)
        self._stored = stored

    @contextmanager
    def storing(self, buffers: frozenset[str]) -> Iterator[None]:
        """Around a loop that stores into no other buffers: the others stay as they are in it."""
        outer, self._stored = self._stored, buffers
        yield
        self._stored = outer

    def load(self, values: Values, load: Load) -> KernelValue:
        """The value of a load. One from a buffer that the kernel writes stays where it is."""
        offset = self.offsets(load)
        stable = load.buffer not in self._stored
        key = ("load", load.buffer, offset)
        known = values.recall(key) if stable else None
        if known is None:
            floor = values.depth - 1 if stable else values.depth
            if values.varies(offset):
                known = self._load_lanes(values, load.buffer, load.dtype, offset, floor)
            else:
                address = self._address(values, load.buffer, load.dtype, offset)
                level = max(address.level, floor)
                with values.at_level(level):
                    name = load_element(values.fb, values.scalar(address), load.dtype)
                known = KernelValue(load.dtype, level, (name,))
            known.stable = stable
            values.remember(key, known)
        return known

    def _address(self, values: Values, buffer: str, dtype: str, offset: Dim) -> KernelValue:
        """The address of an element, the vector variable standing at its first lane.

        What does not depend on the innermost loop involved becomes a pointer outside of it, and a
        constant is left to the addressing mode of the access.
        """
        key = ("address", buffer, offset)
        known = values.recall(key)
        if known is not None:
            return known
        constant = 0
        if isinstance(offset, int):
            constant, offset = offset, 0
        elif offset.terms[-1][0] == ():
            constant = offset.terms[-1][1]
            offset = offset - constant
        address = self._pointer(values, buffer, dtype, offset)
        if constant:
            address = moved(values, address, dtype, values.constant(constant, "i64"))
        return values.remember(key, address)

    def _pointer(self, values: Values, buffer: str, dtype: str, offset: Dim) -> KernelValue:
        pointer = KernelValue("ptr", 0, (register(buffer),))
        if isinstance(offset, int):
            return pointer
        key = ("pointer", buffer, offset)
        known = values.recall(key)
        if known is not None:
            return known
        # Terms by level; all but the deepest ones are added outside of the loop.
        terms = [Poly((term,)) if term[0] else term[1] for term in offset.terms]
        levels = [values.scalar_dim(term).level for term in terms]
        deepest = max(levels)
        for group in (
            [t for t, level in zip(terms, levels, strict=True) if level < deepest],
            [t for t, level in zip(terms, levels, strict=True) if level == deepest],
        ):
            total: Dim = 0
            for term in group:
                total = total + term
            if total != 0:
                pointer = moved(values, pointer, dtype, values.scalar_dim(total))
        return values.remember(key, pointer)

    def _lane_addresses(
        self, values: Values, buffer: str, dtype: str, offset: Dim
    ) -> tuple[list[str], int]:
        """A vector of addresses for each stream, and the level that they belong to."""
        assert values.vector is not None
        lanes, width = values.lanes, values.width
        split = split_linear(offset, values.vector)
        kind = memory_type(dtype)
        if split is None or any(values.varies(part) for part in split):
            index = values.dim(offset)
            whole = f"getelementptr {kind}, ptr {register(buffer)}, {lanes.of('i64')}"
            with values.at_level(index.level):
                return [values.fb.emit(f"{whole} {n}") for n in index.names], index.level
        stride = split[0]
        base = self._address(values, buffer, dtype, offset)
        step = values.dim(stride)
        if isinstance(stride, int):
            spread = lanes.counting("i64", 0, stride)
        else:
            vector = values.operand(step, 0)
            with values.at_level(step.level):
                spread = lanes.op("mul", "i64", vector, lanes.counting("i64"))
        level = max(base.level, step.level)
        names = []
        for s in range(values.streams):
            ahead = values.integer("mul", step, values.constant(s * width, "i64"))
            first = moved(values, base, dtype, ahead)
            with values.at_level(level):
                names.append(
                    values.fb.emit(
                        f"getelementptr {kind}, ptr {first.names[0]}, {lanes.of('i64')} {spread}"
                    )
                )
        return names, level

    def _load_lanes(
        self, values: Values, buffer: str, dtype: str, offset: Dim, floor: int
    ) -> KernelValue:
        in_rows = step_in_rows(values, offset)
        if in_rows is not None:
            return self._load_in_rows(values, buffer, dtype, offset, in_rows, floor)
        stride = _unit_stride(values, offset)
        names = []
        if stride is None or (stride > 1 and (values.masks is not None or stride > values.width)):
            step = even_step(values, dtype, offset, loaded=True)
            if step is not None:
                first = self._address(values, buffer, dtype, offset)
                return load_apart(values, [first], step, dtype, floor)
            addresses, level = self._lane_addresses(values, buffer, dtype, offset)
            level = max(level, floor)
            for s, pointers in enumerate(addresses):
                with values.at_level(level):
                    names.append(_gather(values, dtype, pointers, s))
            return KernelValue(dtype, level, tuple(names), varying=True)
        base = self._address(values, buffer, dtype, offset)
        level = max(base.level, floor)
        if values.fetch_ahead and stride == 1 and base.level == values.depth:
            self._fetch_ahead(values, buffer, dtype, offset)
        for s in range(values.streams):
            with values.at_level(level):
                raw = _load_run(values, dtype, base.names[0], stride, s)
                names.append(from_memory(values.lanes, raw, dtype))
        return KernelValue(dtype, level, tuple(names), varying=True)

    def _load_in_rows(
        self, values: Values, buffer: str, dtype: str, offset: Dim, step: Dim, floor: int
    ) -> KernelValue:
        """Lanes `step` apart, of which each stream has those of one row."""
        pointer = KernelValue("ptr", 0, (register(buffer),))
        firsts = [
            moved(values, pointer, dtype, values.place(offset, s)) for s in range(values.streams)
        ]
        if step == 2 and values.masks is None:
            level = max(*(first.level for first in firsts), floor)
            with values.at_level(level):
                raws = [load_spread(values, dtype, first.names[0], 2) for first in firsts]
                spread_names = tuple(from_memory(values.lanes, raw, dtype) for raw in raws)
            return KernelValue(dtype, level, spread_names, varying=True)
        if step != 1 and even_step(values, dtype, step * symbol(str(values.vector)), loaded=True):
            return load_apart(values, firsts, step, dtype, floor)
        lanes, names = values.lanes, []
        spread = values.operand(values.dim(step), 0)
        level = max(*(first.level for first in firsts), values.dim(step).level, floor)
        with values.at_level(level):
            for s, first in enumerate(firsts):
                if step == 1:
                    raw = _load_run(values, dtype, first.names[0], 1, 0)
                    names.append(from_memory(lanes, raw, dtype))
                    continue
                places = lanes.op("mul", "i64", spread, lanes.counting("i64"))
                whole = f"getelementptr {memory_type(dtype)}, ptr {first.names[0]}"
                pointers = values.fb.emit(f"{whole}, {lanes.of('i64')} {places}")
                names.append(_gather(values, dtype, pointers, s))
        return KernelValue(dtype, level, tuple(names), varying=True)

    def _fetch_ahead(self, values: Values, buffer: str, dtype: str, offset: Dim) -> None:
        """Ask for the lines that the loop will load some iterations later, once for neighbours."""
        if isinstance(offset, Poly) and offset.terms[-1][0] == ():
            offset = offset - offset.terms[-1][1]
        key = ("fetched", buffer, offset)
        if values.recall(key) is not None:
            return
        pointer = values.remember(key, self._address(values, buffer, dtype, offset)).names[0]
        fb = values.fb
        prefetch = fb.module.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
        length = values.streams * values.width * bits(dtype) // 8
        for line in range(0, length, _LINE):
            ahead = fb.emit(f"getelementptr i8, ptr {pointer}, i64 {_AHEAD + line}")
            # Arguments: for reading, to be kept in all caches, as data.
            fb.line(f"call void {prefetch}(ptr {ahead}, i32 0, i32 3, i32 1)")

    def are_parts(self, values: Values, first: Store, second: Store) -> bool:
        """Whether two stores fill pairs of elements, as the parts of complex numbers do."""
        if first.buffer != second.buffer or values.width == 1 or values.masks is not None:
            return False
        offset = self.offsets(first)
        return (
            self.offsets(second) - offset == 1
            and values.varies(offset)
            and _unit_stride(values, offset) == 2
        )

    def store_parts(self, values: Values, first: Store, second: Store, dtype: str) -> None:
        """Write two stores that `are_parts` as runs of interleaved elements."""
        pair = values.evaluate_all((first.expr, second.expr))
        base = self._address(values, first.buffer, dtype, self.offsets(first)).names[0]
        lanes, kind, width = values.lanes, memory_type(dtype), values.width
        vector = lanes.of(kind)
        for s in range(values.streams):
            a, b = (to_memory(lanes, values.operand(v, s), dtype) for v in pair)
            for half in (0, 1):
                picks = [
                    k + half * width // 2 + part * width
                    for k in range(width // 2)
                    for part in (0, 1)
                ]
                order = ", ".join(f"i32 {k}" for k in picks)
                mixed = values.fb.emit(
                    f"shufflevector {vector} {a}, {vector} {b}, <{width} x i32> <{order}>"
                )
                _store_run(values, dtype, base, 1, 2 * s + half, mixed)

    def store(self, values: Values, store: Store, dtype: str) -> None:
        """Write the value of `store.expr`, of the buffer's dtype."""
        value = values.evaluate(store.expr)
        offset = self.offsets(store)
        if not values.varies(offset):
            if values.width > 1:
                raise ValueError(f"all lanes of {values.vector} store to one element")
            address = self._address(values, store.buffer, dtype, offset)
            store_element(values.fb, values.scalar(address), dtype, values.scalar(value))
            return
        stride = _unit_stride(values, offset)
        if stride in (1, -1):
            base = self._address(values, store.buffer, dtype, offset)
            for s in range(values.streams):
                raw = to_memory(values.lanes, values.operand(value, s), dtype)
                _store_run(values, dtype, base.names[0], stride, s, raw)
            return
        step = None if values.masks is not None else even_step(values, dtype, offset)
        if step is not None:
            first = self._address(values, store.buffer, dtype, offset)
            store_apart(values, first, step, dtype, value)
            return
        addresses, _ = self._lane_addresses(values, store.buffer, dtype, offset)
        for s, pointers in enumerate(addresses):
            _scatter(values, dtype, pointers, s, values.operand(value, s))


def _unit_stride(values: Values, offset: Dim) -> int | None:
    """-1 or 1 to 4 if the lanes of an offset are that far apart, else None."""
    assert values.vector is not None
    split = split_linear(offset, values.vector)
    if split is None or values.varies(split[1]):
        return None
    return split[0] if isinstance(split[0], int) and split[0] in (-1, 1, 2, 3, 4) else None


def _reversed(lanes: Lanes, element: str, value: str) -> str:
    order = ", ".join(f"i32 {k}" for k in reversed(range(lanes.width)))
    kind = lanes.of(element)
    return lanes.fb.emit(
        f"shufflevector {kind} {value}, {kind} poison, <{lanes.width} x i32> <{order}>"
    )


def _run_address(values: Values, dtype: str, base: str, stride: int, stream: int) -> str:
    """The lowest address of a stream's run of elements."""
    width = values.width
    ahead = stream * width * stride - (width - 1 if stride == -1 else 0)
    if not ahead:
        return base
    return values.fb.emit(f"getelementptr {memory_type(dtype)}, ptr {base}, i64 {ahead}")


def _load_run(values: Values, dtype: str, base: str, stride: int, stream: int) -> str:
    lanes, kind = values.lanes, memory_type(dtype)
    vector, size = lanes.of(kind), bits(dtype) // 8
    address = _run_address(values, dtype, base, stride, stream)
    if stride > 1:
        return load_spread(values, dtype, address, stride)
    if values.masks is None:
        raw = values.fb.emit(f"load {vector}, ptr {address}, align {size}")
    else:
        mask = values.masks[stream]
        if stride == -1:
            mask = _reversed(lanes, "i1", mask)
        flags = lanes.of("i1")
        symbol = values.fb.module.declare(
            f"llvm.masked.load.{_suffix(kind, lanes.width)}.p0", vector, ["ptr", flags, vector]
        )
        raw = values.fb.emit(
            f"call {vector} {symbol}(ptr align {size} {address}, {flags} {mask}, "
            f"{vector} zeroinitializer)"
        )
    return _reversed(lanes, kind, raw) if stride == -1 else raw


def _store_run(values: Values, dtype: str, base: str, stride: int, stream: int, raw: str) -> None:
    lanes, kind = values.lanes, memory_type(dtype)
    vector, size = lanes.of(kind), bits(dtype) // 8
    if values.masks is not None and values.masks[stream].count("true") == 1:
        # Of a masked store of one lane LLVM 22 makes a store that is too wide where the
        # value is a narrowed one.
        ahead = values.fb.emit(
            f"getelementptr {kind}, ptr {base}, i64 {stream * lanes.width * stride}"
        )
        element = values.fb.emit(f"extractelement {vector} {raw}, i64 0")
        values.fb.line(f"store {kind} {element}, ptr {ahead}, align {size}")
        return
    address = _run_address(values, dtype, base, stride, stream)
    if stride == -1:
        raw = _reversed(lanes, kind, raw)
    if values.masks is None:
        values.fb.line(f"store {vector} {raw}, ptr {address}, align {size}")
        return
    mask = values.masks[stream]
    if stride == -1:
        mask = _reversed(lanes, "i1", mask)
    flags = lanes.of("i1")
    symbol = values.fb.module.declare(
        f"llvm.masked.store.{_suffix(kind, lanes.width)}.p0", "void", [vector, "ptr", flags]
    )
    values.fb.line(
        f"call void {symbol}({vector} {raw}, ptr align {size} {address}, {flags} {mask})"
    )


def _mask(values: Values, stream: int) -> str:
    return "splat (i1 true)" if values.masks is None else values.masks[stream]


def _gather(values: Values, dtype: str, pointers: str, stream: int) -> str:
    lanes, kind = values.lanes, memory_type(dtype)
    vector, flags, addresses = lanes.of(kind), lanes.of("i1"), lanes.of("ptr")
    symbol = values.fb.module.declare(
        f"llvm.masked.gather.{_suffix(kind, lanes.width)}.v{lanes.width}p0",
        vector,
        [addresses, flags, vector],
    )
    raw = values.fb.emit(
        f"call {vector} {symbol}({addresses} align {bits(dtype) // 8} {pointers}, "
        f"{flags} {_mask(values, stream)}, {vector} zeroinitializer)"
    )
    return from_memory(lanes, raw, dtype)


def _scatter(values: Values, dtype: str, pointers: str, stream: int, value: str) -> None:
    lanes, kind = values.lanes, memory_type(dtype)
    vector, flags, addresses = lanes.of(kind), lanes.of("i1"), lanes.of("ptr")
    symbol = values.fb.module.declare(
        f"llvm.masked.scatter.{_suffix(kind, lanes.width)}.v{lanes.width}p0",
        "void",
        [vector, addresses, flags],
    )
    values.fb.line(
        f"call void {symbol}({vector} {to_memory(lanes, value, dtype)}, "
        f"{addresses} align {bits(dtype) // 8} {pointers}, {flags} {_mask(values, stream)})"
    )


def _suffix(kind: str, width: int) -> str:
    element = {"float": "f32", "double": "f64", "half": "f16"}.get(kind, kind)
    return f"v{width}{element}"

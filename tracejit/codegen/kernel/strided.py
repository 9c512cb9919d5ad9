"""Elements in even steps that lie apart: a load or store for each lane of a vector.

A gather of eight numbers takes longer than eight loads, on many machines four times as long; those
that have fast ones gather. Where the lanes that are left over are masked, the others read a zero
that is no part of the array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tracejit.codegen.affine import Offsets, split_linear
from tracejit.codegen.kernel.early_exits import expressions
from tracejit.codegen.kernel.expressions import KernelValue, Values
from tracejit.codegen.llvm.lanes import bits, from_memory, memory_type, to_memory
from tracejit.ir.dims import Atom, Dim, Poly, symbol
from tracejit.ir.kernel import For, Kernel, Load, Reduce, ScanLoop, Stmt

__all__ = [
    "even_step",
    "load_apart",
    "load_spread",
    "moved",
    "open_steps",
    "step_in_rows",
    "store_apart",
]

#: The multiples of a step that only the run knows: so many addresses have one base.
_GROUP = 4


def open_steps(kernel: Kernel) -> list[str]:
    """The sizes that are the steps of what loops in lanes load: 2 is frequent among them.

    Such are the parts of complex numbers and every second element; a vector holds half of either.
    """
    offsets, found = Offsets(kernel), set[str]()
    for loop in _lane_loops(kernel.body):
        for e in expressions((loop,)):
            offset = offsets(e) if isinstance(e, Load) else 0
            for monomial, factor in offset.terms if isinstance(offset, Poly) else ():
                if len(monomial) == 2 and loop.var in monomial and factor == 1:
                    found.update(str(a) for a in monomial if a != loop.var)
    return [name for name in kernel.sizes if name in found]


def _lane_loops(body: Sequence[Stmt]) -> Iterator[For | Reduce]:
    for s in body:
        if isinstance(s, (For, Reduce)) and s.vector:
            yield s
        elif isinstance(s, (For, Reduce, ScanLoop)):
            yield from _lane_loops(s.body)


def moved(values: Values, pointer: KernelValue, dtype: str, elements: KernelValue) -> KernelValue:
    """A pointer moved by a uniform number of elements."""
    if elements.const == 0:
        return pointer
    kind = memory_type(dtype)
    return values.instruction(
        lambda s, p, n: s.fb.emit(f"getelementptr {kind}, ptr {p}, i64 {n}"),
        (pointer, elements),
        "ptr",
    )


def even_step(values: Values, dtype: str, offset: Dim, loaded: bool = False) -> Dim | None:
    """How far lanes are apart that are better accessed one by one; None if together is as good."""
    assert values.vector is not None
    target = values.fb.module.target
    if not target.is_x86 or loaded and bits(dtype) >= 32 and target.gathers:
        return None
    split = split_linear(offset, values.vector)
    if split is None or any(values.varies(part) for part in split):
        return None
    return split[0]


def step_in_rows(values: Values, offset: Dim) -> Dim | None:
    """How far lanes are apart in rows whose lengths they divide: none has lanes of two rows.

    None where the offset is linear, or depends on the position otherwise.
    """
    if isinstance(offset, int) or values.vector is None:
        return None
    position, found = symbol(values.vector), False
    linear: Dim = 0
    for monomial, coefficient in offset.terms:
        rows = [a for a in monomial if isinstance(a, Atom) and values.vector in a.symbols]
        for a in rows:
            length = a.args[1]
            whole = isinstance(length, int) and length % values.width == 0
            if a.fn != "floordiv" or a.args[0] != position or not whole:
                return None
        if rows and values.vector in monomial:
            return None
        if rows and values.varies(Poly(((tuple(a for a in monomial if a not in rows), 1),))):
            return None
        if rows:
            found = True
        else:
            linear = linear + Poly(((monomial, coefficient),)) if monomial else linear
    split = split_linear(linear, values.vector)
    if not found or split is None or any(values.varies(part) for part in split):
        return None
    return split[0]


def _places(
    values: Values, first: KernelValue, stride: Dim, dtype: str, count: int
) -> Iterator[KernelValue]:
    """The addresses of lanes; `first` is that of the first one."""
    step = values.dim(stride)
    group = count if step.const is not None else _GROUP
    ahead = [values.integer("mul", step, values.constant(k, "i64")) for k in range(group + 1)]
    for n in range(count):
        if n and n % group == 0:
            first = moved(values, first, dtype, ahead[group])
        yield moved(values, first, dtype, ahead[n % group])


def load_apart(
    values: Values, firsts: Sequence[KernelValue], stride: Dim, dtype: str, floor: int
) -> KernelValue:
    """Elements `stride` apart, at the level `floor` or a deeper one.

    `firsts` are the addresses of the first lane of each stream, or of the first stream where the
    others follow. Lanes that are masked are zero.
    """
    lanes, width, fb = values.lanes, values.width, values.fb
    kind, size = memory_type(dtype), bits(dtype) // 8
    level = max(*(first.level for first in firsts), values.dim(stride).level, floor)
    count = values.streams * width // len(firsts)
    places = [p for first in firsts for p in _places(values, first, stride, dtype, count)]
    maps: list[str] = []
    with values.at_level(level):
        for mask in values.masks or ():
            maps.append(fb.emit(f"bitcast {lanes.of('i1')} {mask} to i{width}"))
    names, raw = [], "poison"
    for n, place in enumerate(places):
        lane, address = n % width, place.names[0]
        with values.at_level(level):
            if maps:
                bit = fb.emit(f"and i{width} {maps[n // width]}, {1 << lane}")
                within = fb.emit(f"icmp ne i{width} {bit}, 0")
                zero = fb.module.add_global(
                    f"zero_{kind}", f"internal constant {kind} zeroinitializer"
                )
                address = fb.emit(f"select i1 {within}, ptr {address}, ptr {zero}")
            element = fb.emit(f"load {kind}, ptr {address}, align {size}")
            raw = fb.emit(
                f"insertelement {lanes.of(kind)} {raw if lane else 'poison'}, "
                f"{kind} {element}, i64 {lane}"
            )
            if lane == width - 1:
                names.append(from_memory(lanes, raw, dtype))
    return KernelValue(dtype, level, tuple(names), varying=True)


def store_apart(
    values: Values, first: KernelValue, stride: Dim, dtype: str, value: KernelValue
) -> None:
    """Store a value's lanes, none of which is masked, `stride` apart from `first` on."""
    lanes, width, fb = values.lanes, values.width, values.fb
    kind, size = memory_type(dtype), bits(dtype) // 8
    raw = ""
    for n, place in enumerate(_places(values, first, stride, dtype, values.streams * width)):
        if n % width == 0:
            raw = to_memory(lanes, values.operand(value, n // width), dtype)
        element = fb.emit(f"extractelement {lanes.of(kind)} {raw}, i64 {n % width}")
        fb.line(f"store {kind} {element}, ptr {place.names[0]}, align {size}")


def load_spread(values: Values, dtype: str, address: str, stride: int) -> str:
    """Elements 0, stride, 2 * stride, ... by vector loads, the last of which ends with the last."""
    lanes, kind = values.lanes, memory_type(dtype)
    vector, size, width = lanes.of(kind), bits(dtype) // 8, lanes.width
    places = [stride * k for k in range(width)]
    starts = [*range(0, (stride - 1) * width, width), places[-1] - width + 1]
    result = "poison"
    for start in starts:
        at = (
            values.fb.emit(f"getelementptr {kind}, ptr {address}, i64 {start}")
            if start
            else address
        )
        run = values.fb.emit(f"load {vector}, ptr {at}, align {size}")
        # A later run takes over the places that it covers.
        picks = [
            width + place - start if start <= place < start + width else lane
            for lane, place in enumerate(places)
        ]
        order = ", ".join(f"i32 {k}" for k in picks)
        result = values.fb.emit(
            f"shufflevector {vector} {result}, {vector} {run}, <{width} x i32> <{order}>"
        )
    return result

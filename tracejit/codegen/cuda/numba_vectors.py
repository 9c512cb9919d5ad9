"""Loads and stores of several elements by one instruction, as intrinsics of Numba-CUDA.

LLVM has them as loads and stores of vectors that lie at a multiple of their own size. Elements of
fewer than 32 bits go in words, from which shifts take them: not every version of NVIDIA's compiler
makes one instruction of a vector of bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit.codegen.cuda.device_functions import MANY, VECTORS

__all__ = ["vector_functions"]


def vector_functions(numba: Any) -> dict[str, Any]:
    """The functions by their names: fn_load4(pointer, place), fn_store4(pointer, place, values).

    fn_loads4x8(pointer, place, step, aligned): eight vectors, each `step` behind the one before,
    and fn_put4(pointer, place, aligned, values): one by one where they are not aligned.
    """
    made = {"aligned": numba.intrinsic(3, lambda *kinds: numba.types.boolean, _aligned(numba.ir))}
    for n in VECTORS:
        made[f"load{n}"] = numba.intrinsic(2, _elements(numba.types, n), _load(numba.ir, n))
        made[f"store{n}"] = numba.intrinsic(3, lambda *kinds: numba.types.void, _store(numba.ir, n))
        made[f"put{n}"] = numba.intrinsic(4, lambda *kinds: numba.types.void, _put(numba.ir, n))
    for n, count in MANY:
        elements = _elements(numba.types, n * count)
        made[f"loads{n}x{count}"] = numba.intrinsic(4, elements, _loads(numba.ir, n, count))
    return made


def _elements(types: Any, n: int) -> Callable[..., Any]:
    return lambda pointer, *places: types.UniTuple(pointer.dtype, n)


def _aligned(ir: Any) -> Callable[..., Any]:
    def codegen(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        pointer, place, size = args
        wide = ir.IntType(64)
        address = builder.ptrtoint(builder.gep(pointer, [place]), wide)
        rest = builder.and_(address, builder.sub(size, ir.Constant(wide, 1)))
        return builder.icmp_unsigned("==", rest, ir.Constant(wide, 0))

    return codegen


class _Layout:
    """`n` elements of an LLVM type as a vector of `kind`, each word with so many elements."""

    def __init__(self, ir: Any, n: int, element: Any) -> None:
        size = {"float": 32, "double": 64}.get(str(element)) or element.width
        self.bytes = n * size // 8
        self.element, self.size = element, size
        self.each = 1 if size >= 32 else min(n, 32 // size)
        self.word = element if self.each == 1 else ir.IntType(self.each * size)
        self.kind = ir.VectorType(self.word, n // self.each)
        self.index = ir.IntType(32)


def _place(builder: Any, layout: _Layout, args: Sequence[Any]) -> Any:
    return builder.bitcast(builder.gep(args[0], [args[1]]), layout.kind.as_pointer())


def _load(ir: Any, n: int) -> Callable[..., Any]:
    def codegen(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        layout = _Layout(ir, n, context.get_data_type(sig.return_type.dtype))
        return context.make_tuple(builder, sig.return_type, _loaded(ir, builder, layout, n, args))

    return codegen


def _loaded(ir: Any, builder: Any, layout: _Layout, n: int, args: Sequence[Any]) -> list[Any]:
    found = builder.load(_place(builder, layout, args), align=layout.bytes)
    values = []
    for k in range(n):
        word, part = divmod(k, layout.each)
        value = builder.extract_element(found, ir.Constant(layout.index, word))
        if layout.each > 1:
            shift = ir.Constant(layout.word, part * layout.size)
            value = builder.trunc(builder.lshr(value, shift), layout.element)
        values.append(value)
    return values


def _loads(ir: Any, n: int, count: int) -> Callable[..., Any]:
    def codegen(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        pointer, place, step, aligned = args
        layout = _Layout(ir, n, context.get_data_type(sig.return_type.dtype))
        kind = place.type
        firsts = [place]
        for _ in range(1, count):
            firsts.append(builder.add(firsts[-1], step))

        def one_by_one() -> list[Any]:
            places = [builder.add(p, ir.Constant(kind, k)) for p in firsts for k in range(n)]
            return [builder.load(builder.gep(pointer, [p])) for p in places]

        if n == 1:
            return context.make_tuple(builder, sig.return_type, one_by_one())
        with builder.if_else(aligned) as (then, otherwise):
            with then:
                near = [_loaded(ir, builder, layout, n, (pointer, p)) for p in firsts]
                after_near = builder.block
            with otherwise:
                single, after_single = one_by_one(), builder.block
        values = []
        for a, b in zip((v for vector in near for v in vector), single, strict=True):
            phi = builder.phi(a.type)
            phi.add_incoming(a, after_near)
            phi.add_incoming(b, after_single)
            values.append(phi)
        return context.make_tuple(builder, sig.return_type, values)

    return codegen


def _store(ir: Any, n: int) -> Callable[..., Any]:
    def codegen(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        layout = _Layout(ir, n, context.get_data_type(sig.args[0].dtype))
        _stored(ir, builder, layout, args, _values(context, builder, sig, args, n))
        return context.get_dummy_value()

    return codegen


def _values(context: Any, builder: Any, sig: Any, args: Sequence[Any], n: int) -> list[Any]:
    """The elements of a tuple, the last argument, as those behind the pointer."""
    given, kind = sig.args[-1], sig.args[0].dtype
    found = [builder.extract_value(args[-1], k) for k in range(n)]
    return [context.cast(builder, v, given[k], kind) for k, v in enumerate(found)]


def _stored(
    ir: Any, builder: Any, layout: _Layout, args: Sequence[Any], values: Sequence[Any]
) -> None:
    vector = ir.Constant(layout.kind, ir.Undefined)
    for word in range(len(values) // layout.each):
        whole = None
        for part in range(layout.each):
            value = values[word * layout.each + part]
            if layout.each > 1:
                shift = ir.Constant(layout.word, part * layout.size)
                value = builder.shl(builder.zext(value, layout.word), shift)
            whole = value if whole is None else builder.or_(whole, value)
        vector = builder.insert_element(vector, whole, ir.Constant(layout.index, word))
    builder.store(vector, _place(builder, layout, args), align=layout.bytes)


def _put(ir: Any, n: int) -> Callable[..., Any]:
    def codegen(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        pointer, place, aligned, _ = args
        layout = _Layout(ir, n, context.get_data_type(sig.args[0].dtype))
        values = _values(context, builder, sig, args, n)
        with builder.if_else(aligned) as (then, otherwise):
            with then:
                _stored(ir, builder, layout, args, values)
            with otherwise:
                for k, value in enumerate(values):
                    at = builder.add(place, ir.Constant(place.type, k))
                    builder.store(value, builder.gep(pointer, [at]))
        return context.get_dummy_value()

    return codegen

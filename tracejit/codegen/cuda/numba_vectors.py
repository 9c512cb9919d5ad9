"""Loads and stores of several elements by one instruction, as intrinsics of Numba-CUDA.

LLVM has them as loads and stores of vectors that lie at a multiple of their own size. Elements of
fewer than 32 bits go in words, from which shifts take them: not every version of NVIDIA's compiler
makes one instruction of a vector of bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit.codegen.cuda.device_functions import VECTORS

__all__ = ["vector_functions"]


def vector_functions(numba: Any) -> dict[str, Any]:
    """The functions by their names: fn_load4(pointer, place), fn_store4(pointer, place, values)."""
    made = {"aligned": numba.intrinsic(3, lambda *kinds: numba.types.boolean, _aligned(numba.ir))}
    for n in VECTORS:
        made[f"load{n}"] = numba.intrinsic(2, _elements(numba.types, n), _load(numba.ir, n))
        made[f"store{n}"] = numba.intrinsic(3, lambda *kinds: numba.types.void, _store(numba.ir, n))
    return made


def _elements(types: Any, n: int) -> Callable[..., Any]:
    return lambda pointer, place: types.UniTuple(pointer.dtype, n)


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
        found = builder.load(_place(builder, layout, args), align=layout.bytes)
        values = []
        for k in range(n):
            word, part = divmod(k, layout.each)
            value = builder.extract_element(found, ir.Constant(layout.index, word))
            if layout.each > 1:
                shift = ir.Constant(layout.word, part * layout.size)
                value = builder.trunc(builder.lshr(value, shift), layout.element)
            values.append(value)
        return context.make_tuple(builder, sig.return_type, values)

    return codegen


def _store(ir: Any, n: int) -> Callable[..., Any]:
    def codegen(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        kind = sig.args[0].dtype
        layout = _Layout(ir, n, context.get_data_type(kind))
        given = sig.args[2]
        vector = ir.Constant(layout.kind, ir.Undefined)
        for word in range(n // layout.each):
            whole = None
            for part in range(layout.each):
                k = word * layout.each + part
                value = builder.extract_value(args[2], k)
                value = context.cast(builder, value, given[k], kind)
                if layout.each > 1:
                    shift = ir.Constant(layout.word, part * layout.size)
                    value = builder.shl(builder.zext(value, layout.word), shift)
                whole = value if whole is None else builder.or_(whole, value)
            vector = builder.insert_element(vector, whole, ir.Constant(layout.index, word))
        builder.store(vector, _place(builder, layout, args), align=layout.bytes)
        return context.get_dummy_value()

    return codegen

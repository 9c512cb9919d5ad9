"""Exchanges of registers between the threads of a warp, as intrinsics of Numba-CUDA.

All threads of the warp that have not ended take part: `0xffffffff` names them, and those that have
ended do not count. A value goes in words of 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["lane_functions"]

_WORD, _ALL, _LAST = 32, 0xFFFFFFFF, 31


def lane_functions(numba: Any) -> dict[str, Any]:
    """fn_lane_down(x, k): x of the thread k lanes further; fn_lane_first(x): of the first lane.

    Beyond the last lane it is the thread's own.
    """
    return {
        "lane_down": numba.intrinsic(2, lambda kind, _: kind, _exchange(numba, "down")),
        "lane_first": numba.intrinsic(1, lambda kind: kind, _exchange(numba, "idx")),
    }


def _exchange(numba: Any, mode: str) -> Callable[..., Any]:
    ir = numba.ir
    word = ir.IntType(_WORD)

    def codegen(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        value = args[0]
        size = context.get_abi_sizeof(value.type) * 8
        is_float = isinstance(value.type, (ir.FloatType, ir.DoubleType))
        number = ir.IntType(size if is_float else value.type.width)
        raw = builder.bitcast(value, number) if is_float else value
        wide = ir.IntType(max(size, _WORD))
        raw = builder.zext(raw, wide) if number.width < wide.width else raw
        lane = builder.trunc(args[1], word) if len(args) > 1 else ir.Constant(word, 0)
        kind = ir.FunctionType(word, [word] * 4)
        name = f"llvm.nvvm.shfl.sync.{mode}.i32"
        function = numba.cgutils.get_or_insert_function(builder.module, kind, name)
        whole = None
        for at in range(0, wide.width, _WORD):
            shift = ir.Constant(wide, at)
            part = builder.trunc(builder.lshr(raw, shift), word) if wide.width > _WORD else raw
            given = [ir.Constant(word, _ALL), part, lane, ir.Constant(word, _LAST)]
            found = builder.call(function, given)
            if wide.width > _WORD:
                found = builder.shl(builder.zext(found, wide), shift)
            whole = found if whole is None else builder.or_(whole, found)
        back = builder.trunc(whole, number) if number.width < wide.width else whole
        return builder.bitcast(back, value.type) if is_float else back

    return codegen

"""Printed source compiled by Numba-CUDA: the one place that knows it.

    compile_ptx(source, "k0", ("f32*", "i64"), (9, 0), numba_namespace())

What it has no operator for is an intrinsic, for any types of arguments: an LLVM instruction, a call
of libdevice, or a function in source, which is compiled where it is first called with such types.
Nothing is contracted: the results of exact operations are those of the native code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tracejit.base.late import imported
from tracejit.base.locks import once
from tracejit.codegen.cuda.atomics import ATOMICS
from tracejit.codegen.cuda.conditions import CONDITIONS
from tracejit.codegen.cuda.device_functions import (
    INSTRUCTIONS,
    LIBRARY,
    SOURCES,
    SOURCES_OF_DOUBLES,
    TYPES,
    result_dtype,
    source,
)
from tracejit.codegen.cuda.numba_import import import_numba
from tracejit.codegen.cuda.numba_lanes import lane_functions
from tracejit.codegen.cuda.numba_vectors import vector_functions
from tracejit.codegen.vector_math.define import ARITY, PARTS

__all__ = ["numba_namespace", "numba_parts"]

#: (Numba's context, an IRBuilder, the signature, LLVM values) -> the LLVM value of the result.
_Codegen = Callable[[Any, Any, Any, Sequence[Any]], Any]


#: How many arguments functions have that are neither of `vector_math` nor have one.
_ARITY: dict[str, int] = {
    **dict.fromkeys("copysign fmod gcd integer_power power_exceeds".split(), 2),
    **dict.fromkeys("libm_atan2 libm_hypot libm_pow".split(), 2),
    "fma": 3,
}


class _Numba:
    """Numba's modules, loaded where they are first needed, and what is made with them."""

    def __init__(self) -> None:
        self.cuda = import_numba()
        self.types = types = imported("numba.cuda.types")
        self.cgutils = imported("numba.cuda.cgutils")
        self.compiler = imported("numba.cuda.compiler")
        self.ir = imported("llvmlite.ir")
        self._intrinsic = imported("numba.cuda.extending").intrinsic
        self._signature = imported("numba.cuda.typing").signature
        self.type_of = {dtype: getattr(types, name) for name, dtype in TYPES.items()}
        self.type_of["b1"] = types.boolean
        self.dtype_of = {kind: dtype for dtype, kind in self.type_of.items()}
        self.space = self._namespace()

    def intrinsic(self, count: int, result: Callable[..., Any], codegen: _Codegen) -> Any:
        """A function of `count` arguments; `result` gives its type by theirs."""

        def typing(*args: Any) -> tuple[Any, _Codegen]:
            kinds = [self.types.unliteral(a) for a in args]
            return self._signature(result(*kinds), *kinds), codegen

        # Numba asks for a function with that many named parameters.
        forms: dict[int, Callable[..., Any]] = {
            1: lambda typingctx, a: typing(a),
            2: lambda typingctx, a, b: typing(a, b),
            3: lambda typingctx, a, b, c: typing(a, b, c),
            4: lambda typingctx, a, b, c, d: typing(a, b, c, d),
        }
        return self._intrinsic(forms[count])

    # Instructions -------------------------------------------------------------------------------

    def _same(self, *kinds: Any) -> Any:
        return kinds[0]

    def _last(self, *kinds: Any) -> Any:
        return kinds[-1]

    def _truth(self, *kinds: Any) -> Any:
        return self.types.boolean

    def _encoding(self, kind: Any) -> Any:
        return self.type_of[f"i{kind.bitwidth}"]

    def _decoded(self, kind: Any) -> Any:
        return self.type_of[{16: "half", 32: "f32", 64: "f64"}[kind.bitwidth]]

    @staticmethod
    def _bitcast(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        kind = context.get_value_type(sig.return_type)
        return args[0] if args[0].type == kind else builder.bitcast(args[0], kind)

    @staticmethod
    def _quotient(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        return (builder.sdiv if sig.return_type.signed else builder.udiv)(*args)

    @staticmethod
    def _rest(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        return (builder.srem if sig.return_type.signed else builder.urem)(*args)

    def _multiply_high(self, context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        """The upper half of a product of numbers without a sign."""
        size = sig.args[0].bitwidth
        wide = self.ir.IntType(2 * size)
        exact = builder.mul(*(builder.zext(a, wide) for a in args))
        return builder.trunc(builder.lshr(exact, self.ir.Constant(wide, size)), args[0].type)

    def _trailing_zeros(self, context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        return builder.cttz(args[0], self.ir.Constant(self.ir.IntType(1), 1))

    def _overflows(self, operation: str) -> Any:
        """In twice the bits the result is exact."""

        def codegen(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
            kind = sig.args[0]
            wide = self.ir.IntType(2 * kind.bitwidth)
            extend = builder.sext if kind.signed else builder.zext
            exact = getattr(builder, operation)(*(extend(a, wide) for a in args))
            back = extend(builder.trunc(exact, args[0].type), wide)
            return builder.icmp_unsigned("!=", exact, back)

        return self.intrinsic(2, self._truth, codegen)

    def _atomic(self, operation: str) -> Any:
        """An update of the element at a place behind a pointer; nothing is told of the old one."""

        def codegen(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
            pointer, place, value = args
            extreme = operation in ("min", "max") and not sig.args[2].signed
            name = f"u{operation}" if extreme else operation
            # No other access is ordered by it: a launch sees all that those before it did.
            builder.atomic_rmw(name, builder.gep(pointer, [place]), value, "monotonic")
            return context.get_dummy_value()

        return self.intrinsic(3, lambda *kinds: self.types.void, codegen)

    # Functions ----------------------------------------------------------------------------------

    def _library(self, name: str, stem: str, count: int) -> Any:
        """A function of libdevice; SciPy's sign of zero, and float64 from source where it is so."""
        written = SOURCES_OF_DOUBLES.get(name)
        of_doubles = None if written is None else self._from_source(written)

        def codegen(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
            single = sig.return_type == self.types.float32
            if of_doubles is not None and not single:
                return of_doubles(context, builder, sig, args)
            kind = context.get_value_type(sig.return_type)
            function = self.cgutils.get_or_insert_function(
                builder.module,
                self.ir.FunctionType(kind, [kind] * count),
                f"__nv_{stem}{'f' * single}",
            )
            result = builder.call(function, args)
            if name == "erfinv":
                return builder.fadd(result, self.ir.Constant(kind, 0.0))
            if name == "erfcinv":
                at_one = builder.fcmp_ordered("==", args[0], self.ir.Constant(kind, 1.0))
                return builder.select(at_one, self.ir.Constant(kind, -0.0), result)
            return result

        return self.intrinsic(count, self._same, codegen)

    def _set_condition(self, context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
        handle, holds = args
        i32 = self.ir.IntType(32)
        kind = self.ir.FunctionType(self.ir.VoidType(), [handle.type, i32])
        function = self.cgutils.get_or_insert_function(builder.module, kind, CONDITIONS)
        builder.call(function, [handle, builder.zext(holds, i32)])
        return context.get_dummy_value()

    def _dtypes(self, kinds: Sequence[Any]) -> tuple[str, ...]:
        return tuple(self.dtype_of[kind] for kind in kinds)

    def _in_source(self, name: str, count: int) -> Any:
        def result(*kinds: Any) -> Any:
            return self.type_of[result_dtype(name, self._dtypes(kinds))]

        return self.intrinsic(count, result, self._from_source(name))

    def _from_source(self, name: str) -> _Codegen:
        """Calls of a function in source, compiled once for each types of arguments."""
        made: dict[tuple[str, ...], Any] = {}

        def codegen(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
            key = self._dtypes(sig.args)
            if key not in made:
                definition = source(name, key)
                space = dict(self.space)
                for (entries, size), table in definition.tables.items():
                    space[table] = self._table(entries, size)
                exec(compile(definition.source, f"<{name}>", "exec"), space)
                made[key] = space["function"]
            return context.compile_internal(builder, made[key], sig, args)

        return codegen

    def _table(self, entries: tuple[int, ...], size: int) -> Any:
        """A function of an index: the entry, from constant memory."""
        ir = self.ir
        element = ir.IntType(size)
        kind = ir.ArrayType(element, len(entries))
        constant = ir.Constant(kind, [ir.Constant(element, entry) for entry in entries])

        def codegen(context: Any, builder: Any, sig: Any, args: Sequence[Any]) -> Any:
            table = self.cgutils.add_global_variable(builder.module, kind, "table", 4)
            table.linkage = "internal"
            table.global_constant = True
            table.initializer = constant
            pointer_type = kind.as_pointer(0)
            generic = builder.addrspacecast(table, pointer_type)
            place = [ir.Constant(ir.IntType(64), 0), builder.zext(args[0], ir.IntType(64))]
            if args[0].type.width == 64:
                place[1] = args[0]
            return builder.load(builder.gep(generic, place))

        unsigned = self.type_of[f"u{size}"]
        return self.intrinsic(1, lambda kind: unsigned, codegen)

    # Names --------------------------------------------------------------------------------------

    def _namespace(self) -> dict[str, Any]:
        functions = {
            "select": self.intrinsic(3, self._last, lambda c, builder, s, a: builder.select(*a)),
            "bits": self.intrinsic(1, self._encoding, self._bitcast),
            "from_bits": self.intrinsic(1, self._decoded, self._bitcast),
            "quotient": self.intrinsic(2, self._same, self._quotient),
            "rest": self.intrinsic(2, self._same, self._rest),
            "multiply_high": self.intrinsic(2, self._same, self._multiply_high),
            "bit_count": self.intrinsic(1, self._same, lambda c, builder, s, a: builder.ctpop(*a)),
            "trailing_zeros": self.intrinsic(1, self._same, self._trailing_zeros),
            "add_overflows": self._overflows("add"),
            "subtract_overflows": self._overflows("sub"),
            "multiply_overflows": self._overflows("mul"),
            "set_condition": self.intrinsic(2, lambda *_: self.types.none, self._set_condition),
        }
        for name in ATOMICS:
            functions[name] = self._atomic(name.removeprefix("atomic_"))
        functions |= vector_functions(self) | lane_functions(self)
        for name, stem in {**INSTRUCTIONS, **LIBRARY}.items():
            functions[name] = self._library(name, stem, _arity(name))
        for name in SOURCES:
            functions[name] = self._in_source(name, _arity(name))
        return {
            **{name: self.type_of[dtype] for name, dtype in TYPES.items()},
            "bool_": self.types.boolean,
            "cuda": self.cuda,
            **{f"fn_{name}": function for name, function in functions.items()},
            "fn_inf": math.inf,
            "fn_nan": math.nan,
        }


def _arity(name: str) -> int:
    return {**ARITY, **PARTS, **_ARITY}.get(name, 1)


@once
def _numba() -> _Numba:
    return _Numba()


def numba_parts() -> Any:
    """Numba's modules as they are used here. Raises ImportError where numba-cuda is missing."""
    return _numba()


def numba_namespace() -> dict[str, Any]:
    """The global names of printed source, for Numba to compile it.

    Raises ImportError where numba-cuda is not installed.
    """
    return dict(_numba().space)

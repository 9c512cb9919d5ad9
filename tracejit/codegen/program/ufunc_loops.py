"""Host calls that are a loop of NumPy's: decompositions and Fourier transforms without Python.

LAPACK's loops say by the flag of invalid floating-point operations that they have failed: the
program bails out, and NumPy raises.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.lowering.index_maps import dense_strides
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.views import copied, strides_of
from tracejit.codegen.support.routines import array_of
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType
from tracejit.link.finding import c_address
from tracejit.link.ufunc_loops import Loop, loop_of
from tracejit.ops.host.loops import LoopCall, core_names, loop_call

__all__ = ["emit_loops"]

#: FE_INVALID on all machines that NumPy has wheels for.
_INVALID = 1


@dataclass(frozen=True)
class _Operand:
    """An array of a loop: its pointer; sizes and steps in bytes, of the stack and of the core."""

    pointer: str
    stack: Sequence[str]
    stack_steps: Sequence[str]
    core: Sequence[str]
    core_steps: Sequence[str]


def emit_loops(e: ProgramContext, node: Node) -> bool:
    """The code of a host call that is a loop; False where it is none."""
    call = loop_call(node)
    if call is None or any(v in e.strides for v in node.outputs):
        return False
    loops = [loop for u in call.ufuncs if (loop := loop_of(u, call.types)) is not None]
    if len(loops) < len(call.ufuncs):
        return False
    operands = (call.a, *call.others)
    pairs = zip(operands, call.axes, strict=False)
    if any(array_of(v).shape[k] == 0 for v, axes in pairs for k in axes):
        # NumPy has its own ways with matrices without elements.
        return False
    with ExitStack() as copies:
        given = [
            copies.enter_context(_given(e, v, axes))
            for v, axes in zip(operands, call.axes, strict=False)
        ]
        results = [
            _operand(e, v, e.pointer[v], dense_strides(array_of(v)), axes)
            for v, axes in zip(node.outputs, call.axes[len(given) :], strict=True)
        ]
        _LoopWriter(e, call, loops, given, results).write()
    return True


@contextmanager
def _given(e: ProgramContext, v: Value, axes: Sequence[int]) -> Iterator[_Operand]:
    """The operand where it lies; a copy of a view that no strides describe."""
    strides = strides_of(e, v)
    if strides is not None:
        yield _operand(e, v, e.pointer[v], strides, axes)
        return
    with copied(e, v) as block:
        t = array_of(v)
        yield _operand(e, v, block, dense_strides(ArrayType(t.dtype, t.shape)), axes)


def _operand(
    e: ProgramContext, v: Value, pointer: str, strides: Sequence[Dim], axes: Sequence[int]
) -> _Operand:
    t = array_of(v)
    shape = [e.dim(d) for d in t.shape]
    # An axis of one element may be repeated: it is not moved along.
    both = zip(t.shape, strides, strict=True)
    steps = ["0" if n == 1 else e.dim(s * t.dtype.itemsize) for n, s in both]
    stack = [k for k in range(t.ndim) if k not in axes]
    return _Operand(
        pointer,
        [shape[k] for k in stack],
        [steps[k] for k in stack],
        [shape[k] for k in axes],
        [steps[k] for k in axes],
    )


class _LoopWriter:
    def __init__(
        self,
        e: ProgramContext,
        call: LoopCall,
        loops: Sequence[Loop],
        given: Sequence[_Operand],
        results: Sequence[_Operand],
    ) -> None:
        self.e, self.fb, self.call, self.loops = e, e.fb, call, loops
        self.given, self.results = given, results
        self.names = core_names(call.ufuncs[0])

    def write(self) -> None:
        """The checks, and the loop for each line of the stack."""
        fb = self.fb
        for operand in self.given:
            for n in operand.core:
                self._check_less(n, "1")
        factor: list[_Operand] = []
        index = "0"
        if self.call.factor is None:
            sizes = self._decomposition_sizes()
        else:
            points = self._points()
            self._check_less(points, "1")
            (n_out,) = self.results[0].core
            self._check_same(n_out, self._transform_size(points))
            sizes = [self.given[0].core[0], n_out]
            factor = [_Operand(self._factor(points), *([],) * 4)]
            index = fb.integer("and", points, "1")
        for operand in (*self.given, *self.results[1:]):
            stack = self.results[0].stack
            for n, expected in zip(
                operand.stack, stack[len(stack) - len(operand.stack) :], strict=True
            ):
                if n != "1":
                    self._check_same(n, expected)
        self._each(self._function(index), [*self.given, *factor, *self.results], sizes)

    # Sizes ---------------------------------------------------------------------------------------

    def _decomposition_sizes(self) -> list[str]:
        """The core sizes as the signature names them; those of the results must be these."""
        fb = self.fb
        sizes: dict[str, str] = {}
        for names, operand in zip(self.names, self.given, strict=False):
            for name, n in zip(names, operand.core, strict=True):
                if name in sizes:
                    self._check_same(n, sizes[name])
                sizes[name] = n
        if any("p" in names for names in self.names):
            m, n = sizes["m"], sizes["n"]
            less = fb.less(m, n)
            known = {"true": m, "false": n}
            sizes["p"] = known.get(less) or fb.emit(f"select i1 {less}, i64 {m}, i64 {n}")
        for names, result in zip(self.names[len(self.given) :], self.results, strict=True):
            for name, n in zip(names, result.core, strict=True):
                self._check_same(n, sizes[name])
        return list(sizes.values())

    def _points(self) -> str:
        """Of how many points a transform is."""
        points = self.call.points
        if isinstance(points, int):
            return str(points)
        if points is not None:
            return self.e.registers(self.e.scalars[points])[0]
        (n,) = self.given[0].core
        if self.call.ufuncs[0].__name__ != "irfft":
            return n
        return self.fb.integer("mul", self.fb.integer("add", n, "-1"), "2")

    def _transform_size(self, points: str) -> str:
        if len(self.loops) == 1:
            return points
        if points[0] != "%":
            return str(int(points) // 2 + 1)
        return self.fb.integer("add", self.fb.emit(f"ashr i64 {points}, 1"), "1")

    def _check_same(self, a: str, b: str) -> None:
        if a != b:
            self.fb.check(self.fb.emit(f"icmp ne i64 {a}, {b}"))

    def _check_less(self, a: str, b: str) -> None:
        if (less := self.fb.less(a, b)) != "false":
            self.fb.check(less)

    # The call ------------------------------------------------------------------------------------

    def _factor(self, points: str) -> str:
        """The pointer to what a transform is multiplied by, computed as NumPy does."""
        fb = self.fb
        kind = "float" if self.call.types[1] == "f" else "double"
        value = fb.emit(f"sitofp i64 {points} to {kind}")
        if self.call.factor == "root":
            root = self.e.module.declare(
                f"llvm.sqrt.f{32 if kind == 'float' else 64}", kind, [kind]
            )
            value = fb.emit(f"call {kind} {root}({kind} {value})")
        if self.call.factor == "one":
            value = "1.0"
        else:
            value = fb.emit(f"fdiv {kind} 1.0, {value}")
        place = fb.alloca(kind, 8)
        fb.line(f"store {kind} {value}, ptr {place}")
        return place

    def _function(self, index: str) -> tuple[str, str]:
        """The loop and what it is given besides, as registers."""
        names: list[tuple[str, str]] = []
        for loop in self.loops:
            name = self.e.fresh("loop")
            self.e.module.add_global(name, "external global i8")
            self.e.symbols[name] = loop.address
            names.append((f"@{name}", self._data(loop)))
        if len(names) == 1:
            return names[0]
        odd = self.fb.emit(f"icmp ne i64 {index}, 0")
        (even, even_data), (other, other_data) = names
        return (
            self.fb.emit(f"select i1 {odd}, ptr {other}, ptr {even}"),
            self.fb.emit(f"select i1 {odd}, ptr {other_data}, ptr {even_data}"),
        )

    def _data(self, loop: Loop) -> str:
        """What a loop is given besides its operands."""
        if not loop.data:
            return "null"
        name = self.e.fresh("loop_data")
        self.e.module.add_global(name, "external global i8")
        self.e.symbols[name] = loop.data
        return f"@{name}"

    def _each(
        self, function: tuple[str, str], operands: Sequence[_Operand], sizes: Sequence[str]
    ) -> None:
        """Call the loop for the last axis of the stack, in loops over those before."""
        fb, stack = self.fb, self.results[0].stack
        turns = stack[-1] if stack else "1"
        places = self._words([turns, *sizes])
        steps = [o.stack_steps[-1] if o.stack_steps else "0" for o in operands]
        steps_at = self._words([*steps, *(s for o in operands for s in o.core_steps)])
        pointers = fb.alloca(f"[{len(operands)} x ptr]", 8)

        def call(addresses: Sequence[str]) -> None:
            self._store(pointers, "ptr", addresses)
            loop, data = function
            fb.line(f"call void {loop}(ptr {pointers}, ptr {places}, ptr {steps_at}, ptr {data})")

        def walk(axis: int, addresses: Sequence[str]) -> None:
            if axis >= len(stack) - 1:
                call(addresses)
                return

            def body(index: str, _: list[str]) -> list[str]:
                moved = []
                for o, address in zip(operands, addresses, strict=True):
                    # Operands of fewer axes are repeated along the first.
                    own = axis - (len(stack) - len(o.stack_steps))
                    step = o.stack_steps[own] if own >= 0 else "0"
                    offset = fb.integer("mul", index, step)
                    moved.append(
                        address
                        if offset == "0"
                        else fb.emit(f"getelementptr i8, ptr {address}, i64 {offset}")
                    )
                walk(axis + 1, moved)
                return []

            def loop() -> list[str]:
                fb.do_while("0", stack[axis], "1", [], body)
                return []

            fb.if_then(fb.less("0", stack[axis]), [], loop)

        if self.call.factor is not None:
            walk(0, [o.pointer for o in operands])
            return
        self._flag("feclearexcept", "i32")
        walk(0, [o.pointer for o in operands])
        self.fb.check(fb.emit(f"icmp ne i32 {self._flag('fetestexcept', 'i32')}, 0"))

    def _flag(self, name: str, result: str) -> str:
        self.e.module.declare(name, result, ["i32"])
        self.e.symbols[name] = c_address(name)
        return self.fb.emit(f"call {result} @{name}(i32 {_INVALID})")

    def _words(self, values: Sequence[str]) -> str:
        place = self.fb.alloca(f"[{len(values)} x i64]", 8)
        self._store(place, "i64", values)
        return place

    def _store(self, place: str, kind: str, values: Sequence[str]) -> None:
        for k, value in enumerate(values):
            at = self.fb.emit(f"getelementptr {kind}, ptr {place}, i64 {k}")
            self.fb.line(f"store {kind} {value}, ptr {at}")

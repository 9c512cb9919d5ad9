"""Draws of random numbers by NumPy's own C functions: no Python runs for a number.

A draw that has no such code, for its arguments or for its types, is a host call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.llvm.engine import host_target
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.copies import copy_array
from tracejit.codegen.program.random.distributions import DISTRIBUTIONS, fill_text
from tracejit.codegen.program.random.draw import BAD, Distribution, Draw, Parameter
from tracejit.codegen.program.random.own_streams import end_words
from tracejit.codegen.program.random.python_draws import emit_python_draw
from tracejit.codegen.program.sorting import emit_places
from tracejit.codegen.support.mersenne_twister import PYTHON_API
from tracejit.codegen.support.random_functions import (
    TEXTS,
    bits_offset,
    gauss_offset,
    seeding_origin,
    stream_parts,
)
from tracejit.ir.dims import prod
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType, c_order
from tracejit.link.addresses import address_of
from tracejit.link.finding import c_address, python_address
from tracejit.link.random_functions import bits_function
from tracejit.ops.host.random import DRAW, DRAWN, MODULES, module_stream

__all__ = ["emit_draw"]


#: Rows of `items` elements change places, the last one with any before it or itself first.
_SHUFFLE = """
define internal void @{name}(ptr %bits, ptr %data, i64 %n, i64 %items) {{
entry:
  %last = sub i64 %n, 1
  br label %head
head:
  %i = phi i64 [ %last, %entry ], [ %before, %swapped ]
  %more = icmp sgt i64 %i, 0
  br i1 %more, label %draw, label %done
draw:
  %j = call i64 @random_interval(ptr %bits, i64 %i)
  %a = mul i64 %i, %items
  %b = mul i64 %j, %items
  %same = icmp eq i64 %i, %j
  br i1 %same, label %swapped, label %loop
loop:
  %k = phi i64 [ 0, %draw ], [ %k.next, %again ]
  %k.more = icmp slt i64 %k, %items
  br i1 %k.more, label %again, label %swapped
again:
  %ak = add i64 %a, %k
  %bk = add i64 %b, %k
  %p = getelementptr [{size} x i8], ptr %data, i64 %ak
  %q = getelementptr [{size} x i8], ptr %data, i64 %bk
  %x = load i{bits}, ptr %p, align {size}
  %y = load i{bits}, ptr %q, align {size}
  store i{bits} %y, ptr %p, align {size}
  store i{bits} %x, ptr %q, align {size}
  %k.next = add i64 %k, 1
  br label %loop
swapped:
  %before = sub i64 %i, 1
  br label %head
done:
  ret void
}}
"""


def emit_draw(e: ProgramContext, node: Node) -> bool:
    """The code of a draw; False where Python has to make it."""
    function = node.attrs["function"]
    if function not in (DRAW, DRAWN):
        return False
    if function == DRAWN and node.attrs["arguments"][0][1] in ("random", "Random"):
        return emit_python_draw(e, node)
    if function == DRAWN and node.attrs["arguments"][1][1] == "seed":
        return _emit_seed(e, node)
    draw = _NumPyDraw.of(e, node)
    if draw is None or draw.cls not in DISTRIBUTIONS:
        return False
    emit = {"uniform": draw.uniform, "integers": draw.integers, "randint": draw.integers}
    emit |= {"shuffle": draw.shuffle, "permutation": draw.shuffle}
    if not emit.get(draw.method, draw.distribution)():
        return False
    if draw.words is not None:
        after = node.outputs[0]
        e.pointer.require(after)
        end_words(e, e.pointer[after])
        e.pointer.stores(after)
    return True


def _emit_seed(e: ProgramContext, node: Node) -> bool:
    """The code of a RandomState's `seed` of an int."""
    (_, kind), _, _, (_, *args), (_, *items) = node.attrs["arguments"]
    cls = type(module_stream(kind)).__name__ if kind in MODULES else kind
    parts, origin, gauss = stream_parts(cls), seeding_origin(), gauss_offset()
    if (
        cls != "RandomState"
        or len(args) != 1
        or items
        or not (parts and origin is not None and gauss)
    ):
        return False
    draw = _NumPyDraw(e, node, cls, "seed", args, {}, node.outputs[0], None, node.inputs[1:])
    seed, fb = draw._integer(args[0]), e.fb
    if seed is None:
        return False
    draw._check(f"icmp ugt i64 {seed}, 4294967295")
    bits, owner = draw._stream(parts[0]), draw._stream(parts[1])
    # Of another bit generator the seed is NumPy's.
    function = fb.emit(f"load i64, ptr {fb.emit(f'getelementptr i8, ptr {bits}, i64 8')}")
    e.module.add_global("tj_mt19937", "external global i8")
    e.symbols["tj_mt19937"] = bits_function("MT19937", 0)
    draw._check(f"icmp ne i64 {function}, ptrtoint (ptr @tj_mt19937 to i64)")
    words, made = fb.emit(f"load ptr, ptr {bits}"), fb.emit(f"load ptr, ptr {owner}")
    place = fb.emit(f"getelementptr i8, ptr {made}, i64 {origin}")
    for name, (result, parameters) in PYTHON_API.items():
        if name in ("PyGILState_Ensure", "PyGILState_Release", "Py_DecRef"):
            e.module.declare(name, result, parameters)
            e.symbols[name] = python_address(name)
    e.module.declare("Py_IncRef", "void", ["ptr"])
    e.symbols["Py_IncRef"] = python_address("Py_IncRef")
    e.module.add_global("_Py_NoneStruct", "external global i8")
    e.symbols["_Py_NoneStruct"] = address_of(None)
    draw._helper("tj_legacy_seed", lambda: TEXTS["tj_legacy_seed"])
    given = f"ptr {draw._stream(gauss)}, ptr {place}, ptr {words}, i64 {seed}"
    fb.line(f"call void @tj_legacy_seed({given})")
    return True


@dataclass
class _NumPyDraw(Draw):
    """One from a Generator or RandomState."""

    def distribution(self) -> bool:
        """Numbers of a distribution whose parameters are numbers."""
        found = DISTRIBUTIONS[self.cls].get(self.method)
        if found is None or not self._returns("i64" if found.discrete else "f64"):
            return False
        if self.method in ("rand", "randn"):
            self.args = (("tuple", *self.args),) if self.args else ()
        bound = self.bound([*(p.name for p in found.parameters), "size"])
        if bound is None:
            return False
        values = [self._value(p, bound) for p in found.parameters]
        if None in values or not self._declared(found):
            return False
        given = [v for v in values if v is not None]
        arrays = [v for v in given if isinstance(v, Value)]
        if bound.get("size", ("constant", None)) == ("constant", None) and arrays:
            # The parameters have the result's shape.
            if found.together:
                return False
        elif not self._sized(bound.get("size")):
            return False
        for p, value in zip(found.parameters, given, strict=True):
            if not isinstance(value, Value):
                self._require(p.condition, value) if p.kind == "double" else self._count(value)
        if found.together and not arrays:
            self._together(found, given)
        legacy = found.function in ("tj_legacy_gauss", "tj_legacy_normal")
        at = self._stream(gauss_offset() if legacy else bits_offset(self.cls))
        self._draw(found, at, given)
        return True

    def _value(self, p: Parameter, bound: Mapping[str, Any]) -> str | Value | None:
        """A parameter as a register, or an array of doubles of the result's shape."""
        template = bound.get(p.name, ("constant", p.default))
        if p.kind == "i64":
            return self._integer(template)
        if template[0] == "operand":
            v = self.operands[template[1]]
            if isinstance(v.type, ArrayType):
                dense = v not in self.e.strides and v not in self.e.scattered
                alike = v.type.is_c and v.type.dtype.char == "d" and v.type.shape == self.shape
                return v if dense and alike else None
        return self._double(template)

    def _count(self, value: str) -> None:
        """Numbers of things are 0 or more; a billion of them are NumPy's."""
        self._check(f"icmp ugt i64 {value}, 999999999")

    def _together(self, found: Distribution, values: Sequence[str | Value]) -> None:
        name = f"{found.function}_together"
        self._helper(name, lambda: found.together.format(name=name))
        given = self._typed(found, values)
        self._check(f"call i1 @{name}({', '.join(given)})")

    def _typed(self, found: Distribution, values: Sequence[str | Value]) -> list[str]:
        """Arguments with their types."""
        out = []
        for p, v in zip(found.parameters, values, strict=True):
            out.append(f"ptr {self.e.pointer[v]}" if isinstance(v, Value) else f"{p.kind} {v}")
        return out

    def uniform(self) -> bool:
        """Numbers between two others."""
        bound = self.bound(["low", "high", "size"])
        if bound is None or not self._returns("f64"):
            return False
        found = Distribution("random_uniform", (Parameter("low"), Parameter("range")))
        interval = self._interval(bound) if self._declared(found) else None
        if interval is None:
            return False
        self._draw(found, self._bits(), interval)
        return True

    def integers(self) -> bool:
        """Integers of 64 bits between two others."""
        endpoint: Any = ("constant", False)
        names = ["low", "high", "size", "dtype", "endpoint"]
        bound = self.bound(names if self.method == "integers" else names[:-1])
        if bound is None or "low" not in bound or not self._returns("i64"):
            return False
        endpoint = bound.get("endpoint", endpoint)
        if endpoint[0] != "constant" or type(endpoint[1]) is not bool:
            return False
        if bound.get("dtype", ("class", "builtins:int"))[0] != "class":
            return False
        low, high = bound["low"], bound.get("high", ("constant", None))
        if high == ("constant", None):
            low, high = ("constant", 0), low
        begin, end = self._integer(low), self._integer(high)
        function = "random_bounded_uint64_fill"
        if begin is None or end is None:
            return False
        if not self._declare(function, "void", ["ptr", "i64", "i64", "i64", "i8", "ptr"]):
            return False
        if not self._sized(bound.get("size")):
            return False
        fb = self.e.fb
        self._check(f"icmp s{'gt' if endpoint[1] else 'ge'} i64 {begin}, {end}")
        width = fb.emit(f"sub i64 {end}, {begin}")
        if not endpoint[1]:
            width = fb.emit(f"sub i64 {width}, 1")
        bits = self._bits()
        if self.shape is None:
            place, count = fb.alloca("i64", 8), "1"
        else:
            place, count = self._memory()
        masked = int(self.cls == "RandomState")
        given = f"ptr {bits}, i64 {begin}, i64 {width}, i64 {count}, i8 {masked}, ptr {place}"
        fb.line(f"call void @{function}({given})")
        if self.shape is None:
            self._give(fb.emit(f"load i64, ptr {place}"), "i64")
        else:
            self.e.pointer.stores(self.out)
        return True

    def shuffle(self) -> bool:
        """A copy of an array with its rows in another order, or places in any order."""
        bound = self.bound(["x"])
        if bound is None or self.shape is None or "x" not in bound:
            return False
        template, t = bound["x"], self.out.type
        assert isinstance(t, ArrayType)
        x = self.operands[template[1]] if template[0] == "operand" else None
        given: Value | None = None
        if x is not None and isinstance(x.type, ArrayType):
            given = x
            if x in self.e.scattered or (x.type.shape, x.type.dtype) != (self.shape, t.dtype):
                return False
        elif self.method == "shuffle" or template[0] not in ("constant", "operand"):
            return False
        elif not self._returns("i64") or not self._sized(template):
            return False
        size = t.dtype.itemsize
        if size > 8 or not self._declare("random_interval", "i64", ["ptr", "i64"]):
            return False
        name = f"tj_shuffle{size}"
        self._helper(name, lambda: _SHUFFLE.format(name=name, bits=8 * size, size=size))
        bits = self._bits()
        memory, _ = self._memory()
        rows, items = self.e.dim(self.shape[0]), self.e.dim(prod(self.shape[1:]))
        if given is None:
            emit_places(self.e, memory, rows)
        else:
            copy_array(self.e, given, memory, c_order(len(self.shape)))
        self.e.fb.line(f"call void @{name}(ptr {bits}, ptr {memory}, i64 {rows}, i64 {items})")
        self.e.pointer.stores(self.out)
        return True

    def _declared(self, found: Distribution) -> bool:
        """Declare the C function; False where it is not to be had."""
        kind = "i64" if found.discrete else "double"
        taken = [p.kind for p in found.parameters]
        if found.text:
            if not all(self._declare(*function) for function in found.calls):
                return False
            self._helper(found.function, lambda: found.text)
            return True
        if found.function not in TEXTS:
            return self._declare(found.function, kind, ["ptr", *taken])
        if not host_target().is_x86 or gauss_offset() is None:
            # Elsewhere NumPy's compiler may have contracted products and sums.
            return False
        if not self._declare("random_standard_uniform", "double", ["ptr"]):
            return False
        self.e.module.declare("log", "double", ["double"])
        self.e.symbols["log"] = c_address("log")
        self.e.module.declare("llvm.sqrt.f64", "double", ["double"])
        for name in dict.fromkeys(("tj_legacy_gauss", found.function)):
            self._helper(name, lambda name=name: TEXTS[name])  # type: ignore[misc]
        return True

    def _draw(self, found: Distribution, at: str, values: Sequence[str | Value]) -> None:
        """Call the function once, or for each element."""
        kind, dtype = ("i64", "i64") if found.discrete else ("double", "f64")
        fb = self.e.fb
        given = self._typed(found, values)
        if found.state:
            place = fb.alloca(f"[{found.state} x i8]", 8, "zeroinitializer")
            given.append(f"ptr {place}")
        arguments = "".join(f", {x}" for x in given)
        if self.shape is None:
            self._give(fb.emit(f"call {kind} @{found.function}(ptr {at}{arguments})"), dtype)
            return
        arrays = [isinstance(v, Value) for v in values]
        name = f"tj_fill_{found.function}" + "".join("_a" if a else "_s" for a in arrays)
        conditions = [p.condition for p in found.parameters]
        for condition, is_array in zip(conditions, arrays, strict=True):
            if is_array and BAD[condition]:
                self._bad(condition)
        self._helper(name, lambda: fill_text(name, found, arrays))
        memory, count = self._memory()
        bad = fb.emit(f"call i1 @{name}(ptr {at}, ptr {memory}, i64 {count}{arguments})")
        if any(arrays):
            fb.check(bad)
        self.e.pointer.stores(self.out)

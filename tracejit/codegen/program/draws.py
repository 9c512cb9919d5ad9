"""Draws of random numbers by NumPy's own C functions: no Python runs for a number.

A draw that has no such code, for its arguments or for its types, is a host call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tracejit.codegen.llvm.engine import host_target, libm_address
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.copies import copy_array
from tracejit.codegen.program.draw import Distribution, Draw, Parameter
from tracejit.codegen.program.own_streams import end_words
from tracejit.codegen.program.python_draws import emit_python_draw
from tracejit.codegen.program.sorting import emit_places
from tracejit.codegen.support.random_functions import (
    TEXTS,
    bits_offset,
    gauss_offset,
)
from tracejit.ir.dims import prod
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType, c_order
from tracejit.ops.host.random import DRAW, DRAWN

__all__ = ["emit_draw"]


_P = Parameter
_LOC, _SCALE = _P("loc", 0.0), _P("scale", 1.0, "+")
_BOTH: dict[str, Distribution] = {
    "random": Distribution("random_standard_uniform"),
    "laplace": Distribution("random_laplace", (_LOC, _SCALE)),
    "logistic": Distribution("random_logistic", (_LOC, _SCALE)),
    "gumbel": Distribution("random_gumbel", (_LOC, _SCALE)),
}
_GENERATOR: dict[str, Distribution] = {
    **_BOTH,
    "standard_normal": Distribution("random_standard_normal"),
    "standard_exponential": Distribution("random_standard_exponential"),
    "normal": Distribution("random_normal", (_LOC, _SCALE)),
    "exponential": Distribution("random_exponential", (_SCALE,)),
    "lognormal": Distribution("random_lognormal", (_P("mean", 0.0), _P("sigma", 1.0, "+"))),
    "rayleigh": Distribution("random_rayleigh", (_SCALE,)),
    "standard_gamma": Distribution("random_standard_gamma", (_P("shape", None, "+"),)),
    "gamma": Distribution("random_gamma", (_P("shape", None, "+"), _SCALE)),
    "beta": Distribution("random_beta", (_P("a", None, "0"), _P("b", None, "0"))),
    "chisquare": Distribution("random_chisquare", (_P("df", None, "0"),)),
    "standard_t": Distribution("random_standard_t", (_P("df", None, "0"),)),
    "weibull": Distribution("random_weibull", (_P("a", None, "+"),)),
    "pareto": Distribution("random_pareto", (_P("a", None, "0"),)),
    "poisson": Distribution("random_poisson", (_P("lam", 1.0, "+"),), discrete=True),
}
_STATE: dict[str, Distribution] = {
    **_BOTH,
    "random_sample": _BOTH["random"],
    "rand": _BOTH["random"],
    "standard_normal": Distribution("tj_legacy_gauss"),
    "randn": Distribution("tj_legacy_gauss"),
    "normal": Distribution("tj_legacy_normal", (_LOC, _SCALE)),
    "exponential": Distribution("tj_legacy_exponential", (_SCALE,)),
}
_DISTRIBUTIONS = {"Generator": _GENERATOR, "RandomState": _STATE}
#: Above this, a Poisson distribution has numbers that are no i64.
_LARGEST_RATE = 9e18

#: `n` numbers one after the other.
_FILL = """
define internal void @{name}(ptr %bits, ptr %out, i64 %n{parameters}) {{
entry:
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %x = call {kind} @{function}(ptr %bits{given})
  %place = getelementptr {kind}, ptr %out, i64 %i
  store {kind} %x, ptr %place
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
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
    if function not in (DRAW, DRAWN) or node.binds:
        return False
    if function == DRAWN and node.attrs["arguments"][0][1] in ("random", "Random"):
        return emit_python_draw(e, node)
    draw = _NumPyDraw.of(e, node)
    if draw is None or draw.cls not in _DISTRIBUTIONS:
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


@dataclass
class _NumPyDraw(Draw):
    """One from a Generator or RandomState."""

    def distribution(self) -> bool:
        """Numbers of a distribution whose parameters are numbers."""
        found = _DISTRIBUTIONS[self.cls].get(self.method)
        if found is None or not self._returns("i64" if found.discrete else "f64"):
            return False
        if self.method in ("rand", "randn"):
            self.args = (("tuple", *self.args),) if self.args else ()
        bound = self.bound([*(p.name for p in found.parameters), "size"])
        if bound is None:
            return False
        values = [
            self._double(bound.get(p.name, ("constant", p.default))) for p in found.parameters
        ]
        if None in values or not self._declared(found):
            return False
        if not self._sized(bound.get("size")):
            return False
        given = [v for v in values if v is not None]
        for p, value in zip(found.parameters, given, strict=True):
            self._require(p.condition, value)
        if found.discrete:
            self._check(f"fcmp ugt double {given[0]}, {_LARGEST_RATE:.1f}")
        legacy = found.function in ("tj_legacy_gauss", "tj_legacy_normal")
        at = self._stream(gauss_offset() if legacy else bits_offset(self.cls))
        self._draw(found, at, given)
        return True

    def uniform(self) -> bool:
        """Numbers between two others."""
        bound = self.bound(["low", "high", "size"])
        if bound is None or not self._returns("f64"):
            return False
        low = self._double(bound.get("low", ("constant", 0.0)))
        high = self._double(bound.get("high", ("constant", 1.0)))
        found = Distribution("random_uniform", (_P("low"), _P("range")))
        if low is None or high is None or not self._declared(found):
            return False
        if not self._sized(bound.get("size")):
            return False
        width = self.e.fb.emit(f"fsub double {high}, {low}")
        self._require("+" if self.cls == "Generator" else "", width)
        magnitude = self.e.module.declare("llvm.fabs.f64", "double", ["double"])
        size = self.e.fb.emit(f"call double {magnitude}(double {width})")
        self._check(f"fcmp uge double {size}, 0x7FF0000000000000")
        self._draw(found, self._bits(), [low, width])
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
        if found.function not in TEXTS:
            kind = "i64" if found.discrete else "double"
            return self._declare(
                found.function, kind, ["ptr", *("double" for _ in found.parameters)]
            )
        if not host_target().is_x86 or gauss_offset() is None:
            # Elsewhere NumPy's compiler may have contracted products and sums.
            return False
        if not self._declare("random_standard_uniform", "double", ["ptr"]):
            return False
        self.e.module.declare("log", "double", ["double"])
        self.e.symbols["log"] = libm_address("log")
        self.e.module.declare("llvm.sqrt.f64", "double", ["double"])
        for name in dict.fromkeys(("tj_legacy_gauss", found.function)):
            self._helper(name, lambda name=name: TEXTS[name])  # type: ignore[misc]
        return True

    def _draw(self, found: Distribution, at: str, values: Sequence[str]) -> None:
        """Call the function once, or for each element."""
        kind, dtype = ("i64", "i64") if found.discrete else ("double", "f64")
        fb = self.e.fb
        arguments = "".join(f", double {v}" for v in values)
        if self.shape is None:
            self._give(fb.emit(f"call {kind} @{found.function}(ptr {at}{arguments})"), dtype)
            return
        names = "".join(f", double %p{k}" for k in range(len(values)))
        name = f"tj_fill_{found.function}"
        values_of = {"kind": kind, "function": found.function}
        self._helper(
            name, lambda: _FILL.format(name=name, parameters=names, given=names, **values_of)
        )
        memory, count = self._memory()
        fb.line(f"call void @{name}(ptr {at}, ptr {memory}, i64 {count}{arguments})")
        self.e.pointer.stores(self.out)

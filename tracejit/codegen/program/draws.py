"""Draws of random numbers by NumPy's own C functions: no Python runs for a number.

A draw that has no such code, for its arguments or for its types, is a host call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tracejit.codegen.llvm.engine import host_target, libm_address
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.copies import copy_array
from tracejit.codegen.program.stream_claims import emit_begin, stream_of
from tracejit.codegen.support.mersenne_twister import PYTHON_API, TWISTER_TEXTS, twister_offset
from tracejit.codegen.support.python_calls import python_address
from tracejit.codegen.support.random_functions import (
    TEXTS,
    bits_offset,
    gauss_offset,
    random_address,
)
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Node, Value
from tracejit.ir.kernel import Const
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, c_order, dtype_name, dtype_of
from tracejit.ops.host.random import DRAWN, MODULES, module_stream

__all__ = ["emit_draw"]


class _Parameter(NamedTuple):
    """A parameter, its default (None: there is none), and the condition on it.

    Anything else bails out, and NumPy decides. "+" is not negative, "0" above zero.
    """

    name: str
    default: float | None = None
    condition: str = ""


class _Distribution(NamedTuple):
    """A C function of doubles, with its parameters. It gives i64 where it is `discrete`."""

    function: str
    parameters: tuple[_Parameter, ...] = ()
    discrete: bool = False


_P = _Parameter
_LOC, _SCALE = _P("loc", 0.0), _P("scale", 1.0, "+")
_BOTH: dict[str, _Distribution] = {
    "random": _Distribution("random_standard_uniform"),
    "laplace": _Distribution("random_laplace", (_LOC, _SCALE)),
    "logistic": _Distribution("random_logistic", (_LOC, _SCALE)),
    "gumbel": _Distribution("random_gumbel", (_LOC, _SCALE)),
}
_GENERATOR: dict[str, _Distribution] = {
    **_BOTH,
    "standard_normal": _Distribution("random_standard_normal"),
    "standard_exponential": _Distribution("random_standard_exponential"),
    "normal": _Distribution("random_normal", (_LOC, _SCALE)),
    "exponential": _Distribution("random_exponential", (_SCALE,)),
    "lognormal": _Distribution("random_lognormal", (_P("mean", 0.0), _P("sigma", 1.0, "+"))),
    "rayleigh": _Distribution("random_rayleigh", (_SCALE,)),
    "standard_gamma": _Distribution("random_standard_gamma", (_P("shape", None, "+"),)),
    "gamma": _Distribution("random_gamma", (_P("shape", None, "+"), _SCALE)),
    "beta": _Distribution("random_beta", (_P("a", None, "0"), _P("b", None, "0"))),
    "chisquare": _Distribution("random_chisquare", (_P("df", None, "0"),)),
    "standard_t": _Distribution("random_standard_t", (_P("df", None, "0"),)),
    "weibull": _Distribution("random_weibull", (_P("a", None, "+"),)),
    "pareto": _Distribution("random_pareto", (_P("a", None, "0"),)),
    "poisson": _Distribution("random_poisson", (_P("lam", 1.0, "+"),), discrete=True),
}
_STATE: dict[str, _Distribution] = {
    **_BOTH,
    "random_sample": _BOTH["random"],
    "rand": _BOTH["random"],
    "standard_normal": _Distribution("tj_legacy_gauss"),
    "randn": _Distribution("tj_legacy_gauss"),
    "normal": _Distribution("tj_legacy_normal", (_LOC, _SCALE)),
    "exponential": _Distribution("tj_legacy_exponential", (_SCALE,)),
}
_PYTHON: dict[str, _Distribution] = {
    "random": _Distribution("tj_twister_random"),
    "uniform": _Distribution("tj_twister_uniform", (_P("a"), _P("b"))),
    "gauss": _Distribution("tj_twister_gauss", (_P("mu", 0.0), _P("sigma", 1.0))),
}
_DISTRIBUTIONS = {"Generator": _GENERATOR, "RandomState": _STATE, "Random": _PYTHON}
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
_COUNT = """
define internal void @tj_count_places(ptr %out, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %loop, label %done
loop:
  %place = getelementptr i64, ptr %out, i64 %i
  store i64 %i, ptr %place
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}
"""


def emit_draw(e: ProgramContext, node: Node) -> bool:
    """The code of a draw; False where Python has to make it."""
    if node.attrs["function"] != DRAWN or node.binds:
        return False
    draw = _Draw.of(e, node)
    if draw is None:
        return False
    if draw.cls == "Random":
        return draw.of_python()
    emit = {"uniform": draw.uniform, "integers": draw.integers, "randint": draw.integers}
    emit |= {"shuffle": draw.shuffle, "permutation": draw.shuffle}
    return emit.get(draw.method, draw.distribution)()


def _offset(cls: str) -> int | None:
    """Where a stream keeps what numbers are drawn by."""
    return twister_offset() if cls == "Random" else bits_offset(cls)


@dataclass
class _Draw:
    """One draw: its stream's class, the method, the arguments' templates, the result."""

    e: ProgramContext
    node: Node
    cls: str
    method: str
    args: Sequence[Any]
    keywords: Mapping[str, Any]
    out: Value
    shape: tuple[Dim, ...] | None

    @classmethod
    def of(cls, e: ProgramContext, node: Node) -> _Draw | None:
        """A draw with one result that is dense in C order."""
        (_, kind), (_, method), _, (_, *args), (_, *items) = node.attrs["arguments"]
        kind = type(module_stream(kind)).__name__ if kind in MODULES else kind
        if kind not in _DISTRIBUTIONS or _offset(kind) is None:
            return None
        if node.attrs["result"] not in (("operand", 0), ("list", ("operand", 0))):
            return None
        out = node.outputs[1]
        shape = None
        if isinstance(out.type, ArrayType):
            shape = out.type.shape
            if out.type.order != c_order(len(shape)) or not shape:
                return None
        keywords = {name: value for (_, name), value in items}
        return cls(e, node, kind, method, args, keywords, out, shape)

    # Arguments -----------------------------------------------------------------------------------

    def bound(self, names: Sequence[str]) -> dict[str, Any] | None:
        """The arguments by the names of parameters; None where there are others."""
        if len(self.args) > len(names):
            return None
        found = dict(zip(names, self.args, strict=False))
        if not self.keywords.keys() <= set(names) or found.keys() & self.keywords.keys():
            return None
        return {**found, **self.keywords}

    def _operand(self, template: Any) -> Value | None:
        if template[0] != "operand":
            return None
        v: Value = self.node.inputs[1 + template[1]]
        return v if isinstance(v.type, (NpScalar, PyScalar)) else None

    def _integer(self, template: Any) -> str | None:
        """An argument as an i64; None for what is not known to be an int."""
        if template[0] == "constant" and type(template[1]) is int:
            return str(template[1]) if -(2**63) <= template[1] < 2**63 else None
        v = self._operand(template)
        if v is None or dtype_name(dtype_of(v.type)) != "i64":
            return None
        return self.e.registers(self.e.scalars[v])[0]

    def _double(self, template: Any) -> str | None:
        """An argument as a double; None for what is not known to be a real number."""
        if template[0] == "constant":
            if type(template[1]) not in (int, float):
                return None
            try:
                constant = float(template[1])
            except OverflowError:
                return None
            return self.e.registers(Const(constant, "f64"))[0]
        v = self._operand(template)
        dtype = None if v is None else dtype_name(dtype_of(v.type))
        if v is None or dtype not in ("f64", "i64"):
            return None
        (register,) = self.e.registers(self.e.scalars[v])
        return register if dtype == "f64" else self.e.fb.emit(f"sitofp i64 {register} to double")

    def _sized(self, size: Any) -> bool:
        """Require that the argument `size` is the shape of the result; False if it cannot be."""
        if self.shape is None:
            return size is None or size == ("constant", None)
        if size is None:
            return False
        parts = size[1:] if size[0] in ("tuple", "list") else (size,)
        if len(parts) != len(self.shape):
            return False
        sizes = [self._integer(part) for part in parts]
        if None in sizes:
            return False
        for given, d in zip(sizes, self.shape, strict=True):
            declared = self.e.dim(d)
            if given != declared:
                self.e.fb.check(self.e.fb.emit(f"icmp ne i64 {given}, {declared}"))
        return True

    def _returns(self, dtype: str) -> bool:
        return dtype_name(dtype_of(self.out.type)) == dtype

    # The stream ----------------------------------------------------------------------------------

    def _stream(self, offset: int | None) -> str:
        """The pointer to a part of the stream, which belongs to this run from here on."""
        fb = self.e.fb
        key, address, cls = stream_of(self.e, self.node)
        emit_begin(self.e, key, address, cls)
        place = fb.emit(f"add i64 {address}, {offset}")
        return fb.emit(f"inttoptr i64 {place} to ptr")

    def _bits(self) -> str:
        return self._stream(_offset(self.cls))

    def _declare(self, name: str, result: str, parameters: Sequence[str]) -> bool:
        address = random_address(name)
        if address is None:
            return False
        self.e.module.declare(name, result, parameters)
        self.e.symbols[name] = address
        return True

    def _helper(self, name: str, text: Callable[[], str]) -> str:
        module = self.e.module
        return module.helper(name, lambda: module.add_function(name, text()))

    # Results -------------------------------------------------------------------------------------

    def _memory(self) -> tuple[str, str]:
        """Room for the result, and the number of its elements."""
        self.e.pointer.require(self.out)
        assert self.shape is not None
        return self.e.pointer[self.out], self.e.dim(prod(self.shape))

    def _give(self, register: str, dtype: str) -> None:
        self.e.scalars[self.out] = self.e.bind(register, dtype)

    # Methods -------------------------------------------------------------------------------------

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

    def of_python(self) -> bool:
        """Numbers of Python's own `Random`."""
        if self.shape is not None:
            return False
        if self.method in ("randint", "randrange"):
            return self.python_integers()
        found = _PYTHON.get(self.method)
        if found is None or not self._returns("f64"):
            return False
        bound = self.bound([p.name for p in found.parameters])
        if bound is None:
            return False
        given = [bound.get(p.name, ("constant", p.default)) for p in found.parameters]
        if not all(map(self._is_exact, given)):
            return False
        values = [v for v in map(self._double, given) if v is not None]
        if len(values) < len(given):
            return False
        bits = self._bits()
        if self.method == "gauss":
            bits = f"{self._stream(0)}, ptr {bits}"
        name = self._python_function(found.function)
        arguments = "".join(f", double {v}" for v in values)
        self._give(self.e.fb.emit(f"call double {name}(ptr {bits}{arguments})"), "f64")
        return True

    def python_integers(self) -> bool:
        """`randint` and `randrange` without a step."""
        names = ["a", "b"] if self.method == "randint" else ["start", "stop"]
        bound = self.bound(names)
        if bound is None or names[0] not in bound or not self._returns("i64"):
            return False
        low, high = bound[names[0]], bound.get(names[1])
        if high is None:
            if self.method == "randint":
                return False
            low, high = ("constant", 0), low
        begin, end = self._integer(low), self._integer(high)
        if begin is None or end is None:
            return False
        last = "sle" if self.method == "randint" else "slt"
        self._check(f"xor i1 {self.e.fb.emit(f'icmp {last} i64 {begin}, {end}')}, true")
        width = self.e.fb.emit(f"sub i64 {end}, {begin}")
        if self.method == "randint":
            width = self.e.fb.emit(f"add i64 {width}, 1")
        # One that leaves 64 bits is drawn by Python.
        self._check(f"icmp sle i64 {width}, 0")
        name = self._python_function("tj_twister_below")
        found = self.e.fb.emit(f"call i64 {name}(ptr {self._bits()}, i64 {width})")
        self._give(self.e.fb.emit(f"add i64 {begin}, {found}"), "i64")
        return True

    def _is_exact(self, template: Any) -> bool:
        """Whether Python computes with this argument as with a float."""
        if template[0] == "constant":
            return type(template[1]) is float or (
                type(template[1]) is int and abs(template[1]) <= 2**52
            )
        v = self._operand(template)
        return v is not None and dtype_name(dtype_of(v.type)) == "f64"

    def _python_function(self, name: str) -> str:
        module = self.e.module
        module.declare("llvm.ctlz.i64", "i64", ["i64", "i1"])
        module.declare("llvm.sqrt.f64", "double", ["double"])
        needed = ["tj_twister", "tj_twister_random", name]
        if name == "tj_twister_gauss":
            for function in ("log", "cos", "sin"):
                module.declare(function, "double", ["double"])
                self.e.symbols[function] = libm_address(function)
            for function, (result, parameters) in PYTHON_API.items():
                module.declare(function, result, parameters)
                self.e.symbols[function] = python_address(function)
            module.add_global("_Py_NoneStruct", "external global i8")
            self.e.symbols["_Py_NoneStruct"] = id(None)
        for text in dict.fromkeys(needed):
            self._helper(text, lambda text=text: TWISTER_TEXTS[text])  # type: ignore[misc]
        return f"@{name}"

    def uniform(self) -> bool:
        """Numbers between two others."""
        bound = self.bound(["low", "high", "size"])
        if bound is None or not self._returns("f64"):
            return False
        low = self._double(bound.get("low", ("constant", 0.0)))
        high = self._double(bound.get("high", ("constant", 1.0)))
        found = _Distribution("random_uniform", (_P("low"), _P("range")))
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
        x = self.node.inputs[1 + template[1]] if template[0] == "operand" else None
        given: Value | None = None
        if x is not None and isinstance(x.type, ArrayType):
            given = x
            if x in self.e.scattered or (x.type.shape, x.type.dtype) != (self.shape, t.dtype):
                return False
        elif self.method == "shuffle" or not self._returns("i64") or not self._sized(template):
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
            count = self._helper("tj_count_places", lambda: _COUNT)
            self.e.fb.line(f"call void {count}(ptr {memory}, i64 {rows})")
        else:
            copy_array(self.e, given, memory, c_order(len(self.shape)))
        self.e.fb.line(f"call void @{name}(ptr {bits}, ptr {memory}, i64 {rows}, i64 {items})")
        self.e.pointer.stores(self.out)
        return True

    def _check(self, failed: str) -> None:
        self.e.fb.check(self.e.fb.emit(failed))

    def _require(self, condition: str, value: str) -> None:
        """Bail out where a parameter is not as NumPy wants it."""
        if condition == "0":
            self._check(f"fcmp ule double {value}, 0.0")
        elif condition == "+":
            self._check(f"fcmp ult double {value}, 0.0")
            pattern = self.e.fb.emit(f"bitcast double {value} to i64")
            self._check(f"icmp slt i64 {pattern}, 0")

    def _declared(self, found: _Distribution) -> bool:
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

    def _draw(self, found: _Distribution, at: str, values: Sequence[str]) -> None:
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

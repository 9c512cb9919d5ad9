"""A draw of random numbers under emission: its arguments, its stream, and room for its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.random.own_streams import begin_words
from tracejit.codegen.program.random.stream_claims import emit_begin, stream_of
from tracejit.codegen.support.bit_generators import pcg64_functions
from tracejit.codegen.support.mersenne_twister import twister_offset
from tracejit.codegen.support.random_functions import (
    bits_offset,
)
from tracejit.ir.dims import Dim, prod, symbol
from tracejit.ir.graph import Node, Value
from tracejit.ir.kernel import Const
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, c_order, dtype_name, dtype_of
from tracejit.link.random_functions import random_address
from tracejit.ops.host.random import DRAW, MODULES, module_stream

__all__ = ["BAD", "Distribution", "Draw", "Parameter"]


class Parameter(NamedTuple):
    """A parameter, its default (None: there is none), and the condition on it.

    Anything else bails out, and NumPy decides: see `BAD`. `kind` is how C takes it.
    """

    name: str
    default: float | None = None
    condition: str = ""
    kind: str = "double"


class Distribution(NamedTuple):
    """A C function of numbers, with its parameters. It gives i64 where it is `discrete`.

    With a `text` it is that, which calls what `calls` says. It takes `state` bytes of zeros besides
    that it keeps numbers in. `together` are i1 functions of all parameters that must not hold.
    """

    function: str
    parameters: tuple[Parameter, ...] = ()
    discrete: bool = False
    text: str = ""
    calls: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    state: int = 0
    together: str = ""


#: A condition -> when a double does not fulfil it: an i1 of predicates and bounds.
BAD: dict[str, tuple[tuple[str, str], ...]] = {
    "": (),
    "+": (("ult", "0.0"), ("sign", "")),
    "0": (("ule", "0.0"),),
    "0 to 1": (("ult", "0.0"), ("ugt", "1.0")),
    "above 0 to 1": (("ule", "0.0"), ("ugt", "1.0")),
    "0 to below 1": (("ult", "0.0"), ("uge", "1.0")),
    "above 1": (("ule", "1.0"),),
    # Above this, a Poisson distribution has numbers that are no i64.
    "rate": (("ult", "0.0"), ("sign", ""), ("ugt", "9000000000000000000.0")),
}


def bad_text(condition: str) -> tuple[str, str]:
    """The name and the text of a function that tells whether a double is not as it must be."""
    name = f"tj_bad_{list(BAD).index(condition)}"
    lines, found = [], "false"
    for k, (predicate, bound) in enumerate(BAD[condition]):
        if predicate == "sign":
            lines.append(f"%bits{k} = bitcast double %x to i64")
            lines.append(f"%c{k} = icmp slt i64 %bits{k}, 0")
        else:
            lines.append(f"%c{k} = fcmp {predicate} double %x, {bound}")
        lines.append(f"%o{k} = or i1 {found}, %c{k}")
        found = f"%o{k}"
    body = "".join(f"  {line}\n" for line in lines)
    return name, f"\ndefine internal i1 @{name}(double %x) {{\n{body}  ret i1 {found}\n}}\n"


def _offset(cls: str) -> int | None:
    """Where a stream keeps what numbers are drawn by."""
    return twister_offset() if cls == "Random" else bits_offset(cls)


@dataclass
class Draw:
    """One draw: its stream's class, the method, the arguments' templates, the result."""

    e: ProgramContext
    node: Node
    cls: str
    method: str
    args: Sequence[Any]
    keywords: Mapping[str, Any]
    out: Value
    shape: tuple[Dim, ...] | None
    #: What templates call operands.
    operands: Sequence[Value]
    #: The words of a stream that is a value.
    words: Value | None = None

    @classmethod
    def of(cls, e: ProgramContext, node: Node) -> Self | None:
        """A draw with one result that is dense in C order."""
        words, operands = None, node.inputs
        if node.attrs["function"] == DRAW:
            (_, method), (_, place), (_, *args), (_, *items) = node.attrs["arguments"]
            kind, words = "Generator", operands[place]
            known = pcg64_functions() is not None and words not in e.strides
            if not known or node.attrs["result"] != ("tuple", ("operand", 0), ("operand", 1)):
                return None
        else:
            (_, kind), (_, method), _, (_, *args), (_, *items) = node.attrs["arguments"]
            operands = operands[1:]
            kind = type(module_stream(kind)).__name__ if kind in MODULES else kind
            if _offset(kind) is None:
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
        return cls(e, node, kind, method, args, keywords, out, shape, operands, words)

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
        v: Value = self.operands[template[1]]
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
        bound = set[str]()
        for given, d in zip(sizes, self.shape, strict=True):
            new = next((s for s in self.node.binds if d == symbol(s) and s not in bound), None)
            if new is not None:
                bound.add(new)
                self._bind(new, given)
                continue
            declared = self.e.dim(d)
            if given != declared:
                self.e.fb.check(self.e.fb.emit(f"icmp ne i64 {given}, {declared}"))
        return True

    def _bind(self, size: str, given: str | None) -> None:
        """Let a size that the draw binds be an argument."""
        assert given is not None
        self._check(f"icmp slt i64 {given}, 0")
        self.e.env[size] = given
        place = self.node.binds.index(size) - len(self.node.binds)
        self.e.scalars[self.node.outputs[place]] = self.e.bind(given, "i64")

    def _returns(self, dtype: str) -> bool:
        return dtype_name(dtype_of(self.out.type)) == dtype

    def _interval(self, bound: Mapping[str, Any]) -> tuple[str, str] | None:
        """The low end of a uniform draw and the width above it, both checked."""
        low = self._double(bound.get("low", ("constant", 0.0)))
        high = self._double(bound.get("high", ("constant", 1.0)))
        if low is None or high is None or not self._sized(bound.get("size")):
            return None
        width = self.e.fb.emit(f"fsub double {high}, {low}")
        self._require("+" if self.cls == "Generator" else "", width)
        magnitude = self.e.module.declare("llvm.fabs.f64", "double", ["double"])
        size = self.e.fb.emit(f"call double {magnitude}(double {width})")
        self._check(f"fcmp uge double {size}, 0x7FF0000000000000")
        return low, width

    # The stream ----------------------------------------------------------------------------------

    def _stream(self, offset: int | None) -> str:
        """The pointer to a part of the stream, which belongs to this run from here on."""
        if self.words is not None:
            return begin_words(self.e, self.e.pointer[self.words])
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

    def _check(self, failed: str) -> None:
        self.e.fb.check(self.e.fb.emit(failed))

    def _require(self, condition: str, value: str) -> None:
        """Bail out where a parameter is not as NumPy wants it."""
        if BAD[condition]:
            self._check(f"call i1 {self._bad(condition)}(double {value})")

    def _bad(self, condition: str) -> str:
        name, text = bad_text(condition)
        return self._helper(name, lambda: text)

"""The LLVM text of one function under construction, and the size arithmetic written into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracejit.ir.dims import Atom, Dim, Poly
from tracejit.link.addresses import address_of
from tracejit.link.cpython.capi import PROTOTYPES

__all__ = ["FunctionText", "SizeEmitter"]


class FunctionText:
    """Lines of one function, what it declares, and the addresses it must be linked with.

    Symbols start with the function's name, so that several such functions share one module.
    """

    def __init__(self, name: str, functions: Mapping[str, int]) -> None:
        self.name = name
        self.symbols: dict[str, int] = {}
        self.lines: list[str] = []
        self._functions = functions
        self._declarations: dict[str, str] = {}
        self._objects: dict[int, str] = {}
        self._count = 0

    def fresh(self, hint: str = "v") -> str:
        """A new name, without its sigil."""
        self._count += 1
        return f"{hint}{self._count}"

    def op(self, text: str) -> str:
        """Append an instruction with a result; return the result's name."""
        name = f"%{self.fresh()}"
        self.lines.append(f"  {name} = {text}")
        return name

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Start a block."""
        self.lines.append(f"{name}:")

    def require(self, condition: str, otherwise: str) -> None:
        """Go on only if an i1 holds; else branch to the block `otherwise`."""
        go_on = self.fresh("ok")
        self.do(f"br i1 {condition}, label %{go_on}, label %{otherwise}")
        self.label(go_on)

    def field(self, pointer: str, offset: int, llvm_type: str) -> str:
        """Load a field of an object."""
        return self.op(f"load {llvm_type}, ptr {self.at(pointer, offset)}")

    def at(self, pointer: str, offset: int) -> str:
        """The pointer `offset` bytes behind `pointer`."""
        return self.op(f"getelementptr i8, ptr {pointer}, i64 {offset}") if offset else pointer

    def object(self, obj: Any) -> str:
        """The symbol that is bound to the address of a Python object."""
        symbol = self._objects.get(id(obj))
        if symbol is None:
            symbol = f"{self.name}.object{len(self._objects)}"
            self._objects[id(obj)] = symbol
            self._declarations[symbol] = f'@"{symbol}" = external global i8'
            self.symbols[symbol] = address_of(obj)
        return f'@"{symbol}"'

    def callee(self, function: str) -> str:
        """The result and the symbol of a function of the C APIs, for an instruction of its own."""
        result, parameters = PROTOTYPES[function]
        symbol = f"{self.name}.{function}"
        self._declarations[symbol] = f'declare {result} @"{symbol}"({parameters})'
        self.symbols[symbol] = self._functions[function]
        return f'{result} @"{symbol}"'

    def address(self, name: str, address: int) -> str:
        """The symbol `name` of this function, bound to an address."""
        symbol = f"{self.name}.{name}"
        self._declarations[symbol] = f'@"{symbol}" = external global i8'
        self.symbols[symbol] = address
        return f'@"{symbol}"'

    def word(self, value: int) -> str:
        """A new word of memory that is the function's own, with a value at first."""
        symbol = f"{self.name}.{self.fresh('version')}"
        self._declarations[symbol] = f'@"{symbol}" = internal global i64 {value}'
        return f'@"{symbol}"'

    def call(self, function: str, *arguments: str) -> str:
        """Call a function of the C APIs with typed arguments; return its result's name."""
        callee = self.callee(function)
        text = f"call {callee}({', '.join(arguments)})"
        if callee.startswith("void"):
            self.do(text)
            return ""
        return self.op(text)

    def hand_over(self, offsets: Mapping[str, int]) -> None:
        """Blocks that call, with the arguments of this call, what %callable keeps at an offset."""
        self.label("cleared")
        self.call("PyErr_BadInternalCall")
        self.do("ret ptr null")
        for label, offset in offsets.items():
            self.label(label)
            target = self.field("%callable", offset, "ptr")
            # Only a callable that the collector has already cleared has none.
            self.require(self.op(f"icmp ne ptr {target}, null"), "cleared")
            arguments = ("ptr %args", "i64 %nargsf", "ptr %kwnames")
            result = self.call("PyObject_Vectorcall", f"ptr {target}", *arguments)
            self.do(f"ret ptr {result}")

    def intrinsic(self, name: str, prototype: str) -> None:
        """Declare an LLVM intrinsic that `op` is about to call."""
        self._declarations[name] = prototype

    def declarations(self) -> list[str]:
        """Everything the function refers to, one line each."""
        return list(self._declarations.values())


_CHECKED = {"add": "sadd", "sub": "ssub", "mul": "smul"}


class SizeEmitter:
    """Writes polynomials over sizes as i64 arithmetic.

    Each checked operation leaves an i1 in `faults` that is set where the value does not fit or a
    divisor is not positive; a value is right only if none of them is set.
    """

    def __init__(self, text: FunctionText, sizes: Mapping[str, str]) -> None:
        self.text = text
        self.sizes = sizes
        self.faults: list[str] = []
        # Blocks follow one another, so that every earlier value is still defined.
        self._known: dict[Poly, str] = {}

    def _binary(self, op: str, a: str, b: str) -> str:
        name = f"llvm.{_CHECKED[op]}.with.overflow.i64"
        self.text.intrinsic(name, f"declare {{i64, i1}} @{name}(i64, i64)")
        pair = self.text.op(f"call {{i64, i1}} @{name}(i64 {a}, i64 {b})")
        self.faults.append(self.text.op(f"extractvalue {{i64, i1}} {pair}, 1"))
        return self.text.op(f"extractvalue {{i64, i1}} {pair}, 0")

    def emit(self, dim: Dim) -> str:
        """An i64: a literal or a name."""
        if isinstance(dim, int):
            return str(dim)
        if dim not in self._known:
            self._known[dim] = self._polynomial(dim)
        return self._known[dim]

    def emit_shape(self, shape: Sequence[Dim]) -> list[str]:
        """Lengths of axes; one that is negative is a fault, too."""
        known = set(self.sizes.values())
        out = [self.emit(dim) for dim in shape]
        for dim, value in zip(shape, out, strict=True):
            if isinstance(dim, Poly) and value not in known:
                self.faults.append(self.text.op(f"icmp slt i64 {value}, 0"))
        return out

    def _polynomial(self, dim: Poly) -> str:
        total: str | None = None
        for monomial, coefficient in dim.terms:
            product = "" if coefficient == 1 and monomial else str(coefficient)
            for atom in monomial:
                factor = self.sizes[atom] if isinstance(atom, str) else self._atom(atom)
                product = self._binary("mul", product, factor) if product else factor
            total = product if total is None else self._binary("add", total, product)
        assert total is not None
        return total

    def _atom(self, atom: Atom) -> str:
        text = self.text
        a, divisor = self.emit(atom.args[0]), atom.args[1]
        if atom.fn in ("min", "max"):
            b = self.emit(divisor)
            smaller = text.op(f"icmp slt i64 {a}, {b}")
            first, second = (a, b) if atom.fn == "min" else (b, a)
            return text.op(f"select i1 {smaller}, i64 {first}, i64 {second}")
        b = self.emit(divisor)
        if isinstance(divisor, Poly) or divisor <= 0:
            # A trapping division must not run even where its value is never used.
            bad = text.op(f"icmp sle i64 {b}, 0")
            self.faults.append(bad)
            b = text.op(f"select i1 {bad}, i64 1, i64 {b}")
        remainder = text.op(f"srem i64 {a}, {b}")
        negative = text.op(f"icmp slt i64 {remainder}, 0")
        if atom.fn == "mod":
            wrapped = text.op(f"add i64 {remainder}, {b}")
            return text.op(f"select i1 {negative}, i64 {wrapped}, i64 {remainder}")
        quotient = text.op(f"sdiv i64 {a}, {b}")
        lower = text.op(f"sub i64 {quotient}, 1")
        return text.op(f"select i1 {negative}, i64 {lower}, i64 {quotient}")

    def require_exact(self, otherwise: str) -> None:
        """Go on only if every value emitted so far is exact; forget the faults."""
        if not self.faults:
            return
        any_fault = self.faults[0]
        for fault in self.faults[1:]:
            any_fault = self.text.op(f"or i1 {any_fault}, {fault}")
        sound = self.text.op(f"xor i1 {any_fault}, true")
        self.text.require(sound, otherwise)
        self.faults.clear()

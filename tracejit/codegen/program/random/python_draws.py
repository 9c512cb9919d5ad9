"""Draws from Python's `random.Random` where it lies."""

from __future__ import annotations

from typing import Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.random.draw import Distribution, Draw, Parameter
from tracejit.codegen.support.mersenne_twister import PYTHON_API, TWISTER_TEXTS, twister_offset
from tracejit.ir.graph import Node
from tracejit.ir.types import dtype_name, dtype_of
from tracejit.link.addresses import address_of
from tracejit.link.finding import c_address, python_address

__all__ = ["emit_python_draw"]

_PYTHON: dict[str, Distribution] = {
    "random": Distribution("tj_twister_random"),
    "uniform": Distribution("tj_twister_uniform", (Parameter("a"), Parameter("b"))),
    "gauss": Distribution("tj_twister_gauss", (Parameter("mu", 0.0), Parameter("sigma", 1.0))),
}


def emit_python_draw(e: ProgramContext, node: Node) -> bool:
    """The code of a draw; False where Python has to make it."""
    if node.attrs["arguments"][1][1] == "seed":
        return _emit_seed(e, node)
    draw = _PythonDraw.of(e, node)
    if draw is None or draw.shape is not None:
        return False
    return draw.integers() if draw.method in ("randint", "randrange") else draw.number()


def _emit_seed(e: ProgramContext, node: Node) -> bool:
    """The code of `seed` of an int."""
    _, _, _, (_, *args), (_, *items) = node.attrs["arguments"]
    if len(args) != 1 or items or twister_offset() is None:
        return False
    operands = node.inputs[1:]
    draw = _PythonDraw(e, node, "Random", "seed", args, {}, node.outputs[0], None, operands)
    seed = draw._integer(args[0])
    if seed is None:
        return False
    name = draw._function("tj_twister_seed")
    e.fb.line(f"call void {name}(ptr {draw._stream(0)}, ptr {draw._bits()}, i64 {seed})")
    return True


@dataclass
class _PythonDraw(Draw):
    """One number."""

    def number(self) -> bool:
        """Floats."""
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
        name = self._function(found.function)
        arguments = "".join(f", double {v}" for v in values)
        self._give(self.e.fb.emit(f"call double {name}(ptr {bits}{arguments})"), "f64")
        return True

    def integers(self) -> bool:
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
        name = self._function("tj_twister_below")
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

    def _function(self, name: str) -> str:
        module = self.e.module
        module.declare("llvm.ctlz.i64", "i64", ["i64", "i1"])
        module.declare("llvm.sqrt.f64", "double", ["double"])
        needed = ["tj_twister", "tj_twister_random", name]
        if name in ("tj_twister_gauss", "tj_twister_seed"):
            needed.insert(0, "tj_gauss_name")
            for function in ("log", "cos", "sin"):
                module.declare(function, "double", ["double"])
                self.e.symbols[function] = c_address(function)
            for function, (result, parameters) in PYTHON_API.items():
                module.declare(function, result, parameters)
                self.e.symbols[function] = python_address(function)
            module.add_global("_Py_NoneStruct", "external global i8")
            self.e.symbols["_Py_NoneStruct"] = address_of(None)
        for text in dict.fromkeys(needed):
            self._helper(text, lambda text=text: TWISTER_TEXTS[text])  # type: ignore[misc]
        return f"@{name}"

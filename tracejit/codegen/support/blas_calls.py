"""The LLVM text of a function that calls routines of BLAS or LAPACK, whatever their convention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from tracejit.link.blas import PREFIXES

__all__ = ["Find", "RoutineCaller"]


class RoutineForm(Protocol):
    """The width of a routine's integers, and "cblas" or "fortran"."""

    @property
    def int_bits(self) -> int: ...
    @property
    def convention(self) -> str: ...


Find = Callable[[str], "RoutineForm | None"]


class RoutineCaller:
    """Text of one helper and of the routines it calls."""

    def __init__(self, name: str, find: Find) -> None:
        self.name = name
        self.dtype = name.rsplit("_", 1)[1]
        self.prefix = PREFIXES[self.dtype]
        self.parts = 2 if self.dtype.startswith("c") else 1
        self.scalar = "float" if self.dtype in ("f32", "c64") else "double"
        self.find = find
        self.lines: list[str] = []
        self.declarations: dict[str, str] = {}
        self._count = 0

    def routine(self, name: str) -> RoutineForm | None:
        return self.find(self.prefix + name)

    def do(self, *lines: str) -> None:
        self.lines += [line if line.endswith(":") else f"  {line}" for line in lines]

    def op(self, text: str) -> str:
        self._count += 1
        name = f"%t{self._count}"
        self.do(f"{name} = {text}")
        return name

    def begin(self, result: str, name: str, parameters: str, linkage: str = "") -> None:
        self.lines.append(f"define {linkage}{result} @{name}({parameters}) nounwind {{")
        self.lines.append("entry:")

    def end(self) -> None:
        self.lines.append("}")

    def at(self, base: str, index: str) -> str:
        """The address of element `index`."""
        scaled = index if self.parts == 1 else self.op(f"shl i64 {index}, 1")
        return self.op(f"getelementptr {self.scalar}, ptr {base}, i64 {scaled}")

    def load(self, address: str) -> list[str]:
        second = [] if self.parts == 1 else [self._second(address)]
        return [self.op(f"load {self.scalar}, ptr {p}") for p in (address, *second)]

    def store(self, values: Sequence[str], address: str) -> None:
        for k, value in enumerate(values):
            place = address if k == 0 else self._second(address)
            self.do(f"store {self.scalar} {value}, ptr {place}")

    def _second(self, address: str) -> str:
        return self.op(f"getelementptr {self.scalar}, ptr {address}, i64 1")

    def call(self, name: str, *arguments: str, result: str = "void") -> str:
        """Call a routine. Arguments are typed: `int v`, `enum v`, `char v`, `ptr v`, `constant v`.

        Integers and constants go by value to CBLAS and by address to Fortran.
        """
        routine = self.routine(name)
        assert routine is not None
        by_address = routine.convention == "fortran"
        llvm_int = f"i{routine.int_bits}"
        typed = []
        for argument in arguments:
            kind, value = argument.split(" ", 1)
            if kind == "ptr":
                typed.append(f"ptr {value}")
            elif kind == "enum":
                typed.append(f"i32 {value}")
            elif kind == "int":
                narrow = value
                if llvm_int != "i64" and value.startswith("%"):
                    narrow = self.op(f"trunc i64 {value} to {llvm_int}")
                typed.append(self._pass(llvm_int, narrow, by_address))
            elif kind == "char":
                typed.append(self._pass("i8", value, True))
            else:
                typed.append(self._constant(value, by_address))
        symbol = f"{self.name}.{self.prefix}{name}"
        types = ", ".join(argument.split()[0] for argument in typed)
        self.declarations[symbol] = f'declare {result} @"{symbol}"({types})'
        text = f'call {result} @"{symbol}"({", ".join(typed)})'
        if result == "void":
            self.do(text)
            return ""
        return self.op(text)

    def _pass(self, llvm_type: str, value: str, by_address: bool) -> str:
        if not by_address:
            return f"{llvm_type} {value}"
        place = self.op("alloca i64")
        self.do(f"store {llvm_type} {value}, ptr {place}")
        return f"ptr {place}"

    def _constant(self, value: str, by_address: bool) -> str:
        if self.parts == 1 and not by_address:
            return f"{self.scalar} {value}"
        place = self.op(f"alloca [2 x {self.scalar}]")
        self.do(f"store [2 x {self.scalar}] zeroinitializer, ptr {place}")
        self.do(f"store {self.scalar} {value}, ptr {place}")
        return f"ptr {place}"

    def offset(self, *terms: tuple[str, str]) -> str:
        """The sum of index times stride over two axes."""
        first, second = (self.op(f"mul i64 {index}, {stride}") for index, stride in terms)
        return self.op(f"add i64 {first}, {second}")

    def mirror(self, base: str, strides: tuple[str, str], size: str, *, copy: bool) -> None:
        """For every i < j: element (j, i) := element (i, j), or 0; `strides` of j, then of i."""
        self._count += 1
        tag = f"mirror{self._count}"
        i, j = f"%{tag}_i", f"%{tag}_j"
        self.do(f"br label %{tag}", f"{tag}:", f"br label %{tag}_outer", f"{tag}_outer:")
        self.do(f"{i} = phi i64 [ 0, %{tag} ], [ {i}n, %{tag}_next ]", f"{i}n = add i64 {i}, 1")
        more = self.op(f"icmp slt i64 {i}n, {size}")
        self.do(f"br i1 {more}, label %{tag}_inner, label %{tag}_end", f"{tag}_inner:")
        self.do(f"{j} = phi i64 [ {i}n, %{tag}_outer ], [ {j}n, %{tag}_inner ]")
        outer, inner = strides
        values = ["0.0"] * self.parts
        if copy:
            values = self.load(self.at(base, self.offset((i, outer), (j, inner))))
        self.store(values, self.at(base, self.offset((j, outer), (i, inner))))
        self.do(f"{j}n = add i64 {j}, 1")
        again = self.op(f"icmp slt i64 {j}n, {size}")
        self.do(f"br i1 {again}, label %{tag}_inner, label %{tag}_next", f"{tag}_next:")
        self.do(f"br label %{tag}_outer", f"{tag}_end:")

    def text(self) -> str:
        """Everything written so far, with what it declares."""
        return "\n".join([*self.declarations.values(), *self.lines, ""])

"""LLVM IR as text: modules, functions, blocks and loops become one string.

    module = Module()
    fb = FunctionBuilder(module, "f", [("i64", "%n")], result="i64")
    doubled = fb.emit("add i64 %n, %n")
    fb.ret("i64", doubled)
    fb.finish()
    module.text()

A function is a tree of chunks: runs of lines that keep growing after what surrounds them has moved
on. That is how a value goes in front of the loop that it does not depend on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tracejit.codegen.llvm.engine import PARTS, HostTarget, host_target
from tracejit.errors import Where
from tracejit.ir.text.print import TextLine

if TYPE_CHECKING:
    from tracejit.codegen.llvm.debug_info import DebugInfo

__all__ = ["Chunk", "FunctionBuilder", "Module", "register"]

#: What every function here promises. Without the width, the back end would split 512-bit vectors.
ATTRIBUTES = 'attributes #0 = { nounwind "prefer-vector-width"="512" }'

#: What a module promises whose loops LLVM's passes are to optimise. Calls mean what the process
#: links them to, and stay as they are.
LOOPS = 'attributes #0 = { nounwind "no-builtins" "prefer-vector-width"="512" "tracejit-loops" }'
#: The head of a function that another module can declare.
_HEAD = re.compile(
    r"define (?:internal )? *([^@]* @[\w.$-]+\(.*\)) (?:#0|nounwind) (?:!dbg !\d+ )?\{"
)

#: Of branches whose first, or second, side is unlikely: such a branch is not made a select.
WEIGHTS = (
    '!0 = !{!"branch_weights", i32 1, i32 4000}',
    '!1 = !{!"branch_weights", i32 4000, i32 1}',
)


def register(name: str) -> str:
    """The register of a name from outside, which LLVM wants quoted if it is not plain ASCII."""
    return f"%{name}" if name.isascii() and name.isidentifier() else f'%"{name}"'


def _exported(text: str) -> str:
    return text.replace("define internal ", "define ", 1)


class Chunk:
    """A run of lines that can grow at any time; `label` is the block that it ends in."""

    __slots__ = ("label", "lines")

    def __init__(self, label: str) -> None:
        self.label = label
        self.lines: list[str | Chunk] = []

    def write(self, out: list[str]) -> None:
        """Append this chunk's lines, and those of the chunks in it, to `out`."""
        for line in self.lines:
            if isinstance(line, str):
                out.append(line)
            else:
                line.write(out)


class Module:
    """Declarations, globals and functions of one module, each written once."""

    def __init__(self, target: HostTarget | None = None) -> None:
        self.target = target or host_target()
        self._declarations: dict[str, str] = {}
        self._globals: dict[str, str] = {}
        self._functions: dict[str, str] = {}
        self._helpers: set[str] = set()
        #: Functions of which a call was taken back; without any other they are left out.
        self.replaced: set[str] = set()
        #: Whether there are branches with an unlikely side.
        self.weighted = False
        #: Functions with loops over single elements, which are left to LLVM's passes.
        self.loops: set[str] = set()
        #: Where instructions come from, in code that is to be looked at.
        self.debug: DebugInfo | None = None

    def declare(self, name: str, result: str, args: Sequence[str]) -> str:
        """Declare an external function or intrinsic; its name with the sigil.

        Raises ValueError if it was declared with another type.
        """
        return self.declare_line(f"declare {result} @{name}({', '.join(args)})")

    def declare_line(self, line: str) -> str:
        """Add a line of the form `declare type @name(types)`; the name with the sigil.

        Raises ValueError if the function was declared with another type.
        """
        found = re.search(r"@([\w.$-]+)\(", line)
        if found is None:
            raise ValueError(f"not a declaration: {line}")
        name = found[1]
        if self._declarations.setdefault(name, line) != line:
            raise ValueError(f"@{name} has two types: {self._declarations[name]}; {line}")
        return f"@{name}"

    def add_global(self, name: str, definition: str) -> str:
        """Add `@name = definition`; its name with the sigil. The same twice is one."""
        if self._globals.setdefault(name, definition) != definition:
            raise ValueError(f"@{name} has two definitions")
        return f"@{name}"

    def add_function(self, name: str, text: str) -> None:
        """Add a function's whole text. Raises ValueError if the name is taken."""
        if name in self._functions:
            raise ValueError(f"@{name} is defined twice")
        self._functions[name] = text

    def may_fail(self, name: str) -> bool:
        """Whether the kernel `name` ever returns anything but 0."""
        return "label %.failed" in self._functions[name]

    def helper(self, name: str, build: Callable[[], None]) -> str:
        """The function `name`, which `build` adds to this module on the first request."""
        if name not in self._helpers:
            self._helpers.add(name)
            build()
        return f"@{name}"

    def text(self) -> str:
        """The module as LLVM IR: `PARTS` of it where only some functions are to be optimised."""
        functions = {k: t for k, t in self._functions.items() if self._is_called(k)}
        loops = {k: t for k, t in functions.items() if k in self.loops}
        rest = {k: t for k, t in functions.items() if k not in self.loops}
        if not loops or not rest:
            return self._part(functions, {}, LOOPS if loops else ATTRIBUTES)
        heads = {k: _HEAD.fullmatch(t.lstrip().partition("\n")[0]) for k, t in functions.items()}
        # What a module writes to has one place.
        writable = any(not re.search(r"\b(constant|external)\b", g) for g in self._globals.values())
        if (
            writable
            or not all(heads.values())
            or any(t.count("define ") > 1 for t in rest.values())
        ):
            return self._part(functions, {}, ATTRIBUTES)
        # Kernels are explicit already, and may be given one array as several parameters.
        known = {k: f"declare {h[1].replace('noalias ', '')}" for k, h in heads.items() if h}
        return PARTS.join(
            self._part({k: _exported(t) for k, t in own.items()}, known, attributes)
            for own, attributes in ((loops, LOOPS), (rest, ATTRIBUTES))
        )

    def _part(
        self, functions: Mapping[str, str], beside: Mapping[str, str], attributes: str
    ) -> str:
        """The text of some functions, and declarations of those that lie `beside` them."""
        declared = [d for k, d in self._declarations.items() if k not in self._functions]
        declared += [d for k, d in beside.items() if k not in functions]
        parts = [f"@{name} = {definition}" for name, definition in self._globals.items()]
        ends = [*(WEIGHTS if self.weighted else ()), *(self.debug.text() if self.debug else ())]
        return "\n".join([*declared, *parts, *functions.values(), attributes, *ends, ""])

    def _is_called(self, name: str) -> bool:
        if name not in self.replaced:
            return True
        return any(f"@{name}(" in t for other, t in self._functions.items() if other != name)


class FunctionBuilder:
    """One function under construction; instructions go to the end of the current chunk.

    `params` are (type, name with the sigil). Attributes such as noalias belong to the type. A
    function that may fail names the block that reports it by `fail_label`.
    """

    def __init__(
        self,
        module: Module,
        name: str,
        params: Sequence[tuple[str, str]],
        result: str = "void",
        linkage: str = "internal",
    ) -> None:
        self.module = module
        self.name = name
        self.fail_label: str | None = None
        #: What the next instructions are written for, where the module keeps it.
        self.where: Where | None = None
        self._failures: list[str] | None = None
        self._head = (
            f"define {linkage} {result} @{name}({', '.join(f'{t} {n}' for t, n in params)}) #0 {{"
        )
        self._count = 0
        self._entry = Chunk(".entry")
        self._body = Chunk(".entry")
        self.chunk = self._body

    def fresh(self, hint: str = "v") -> str:
        """A new register name; the dot keeps it apart from the names of parameters."""
        self._count += 1
        return f"%.{hint}{self._count}"

    def fresh_label(self, hint: str) -> str:
        """A new block label, without a sigil."""
        self._count += 1
        return f".{hint}{self._count}"

    def emit(self, right_hand_side: str) -> str:
        """Write an instruction with a result; the result's register."""
        self._count += 1
        name = f"%.{self._count}"
        self.line(f"{name} = {right_hand_side}")
        return name

    def line(self, instruction: str) -> None:
        """Write an instruction without a result."""
        line = f"  {instruction}"
        self.chunk.lines.append(line if self.module.debug is None else TextLine(line, self.where))

    def alloca(self, kind: str, align: int | None = None, initial: str | None = None) -> str:
        """Stack memory of type `kind` that lives as long as the call; its address.

        It holds `initial` when the function begins.
        """
        name = self.fresh("stack")
        tail = f", align {align}" if align else ""
        self._entry.lines.append(f"  {name} = alloca {kind}{tail}")
        if initial is not None:
            self._entry.lines.append(f"  store {kind} {initial}, ptr {name}")
        return name

    def clear_at_entry(self, address: str) -> None:
        """Let the first word of stack memory be zero when the function begins."""
        self._entry.lines.append(f"  store i64 0, ptr {address}")

    @property
    def label(self) -> str:
        """The label of the block that the next instruction goes to."""
        return self.chunk.label

    def block(self, label: str) -> None:
        """Begin a block; the one before must have ended in a terminator."""
        self.chunk.lines.append(f"{label}:")
        self.chunk.label = label

    def br(self, label: str) -> None:
        """Jump."""
        self.line(f"br label %{label}")

    def cond_br(
        self, condition: str, then: str, otherwise: str, unlikely: int | None = None
    ) -> None:
        """Branch on an i1. `unlikely` is 0 or 1: the number of the label hardly ever taken."""
        weights = "" if unlikely is None else f", !prof !{unlikely}"
        self.module.weighted |= unlikely is not None
        self.line(f"br i1 {condition}, label %{then}, label %{otherwise}{weights}")

    def ret(self, kind: str = "void", value: str = "") -> None:
        """Return."""
        self.line(f"ret {kind} {value}".rstrip())

    def phi(self, kind: str, incoming: Sequence[tuple[str, str]]) -> str:
        """A phi at the beginning of the current block; `incoming` are (value, label)."""
        return self.emit(f"phi {kind} " + ", ".join(f"[ {v}, %{b} ]" for v, b in incoming))

    def insertion_point(self) -> Chunk:
        """A chunk at this place, to be filled now or later by `at`."""
        chunk = Chunk(self.chunk.label)
        self.chunk.lines.append(chunk)
        return chunk

    @contextmanager
    def at(self, chunk: Chunk) -> Iterator[None]:
        """Write to `chunk` for the length of a `with` block."""
        outer, self.chunk = self.chunk, chunk
        try:
            yield
        finally:
            self.chunk = outer

    @contextmanager
    def collected(self) -> Iterator[list[str]]:
        """The conditions of the checks in a `with` block, which do not leave the function."""
        outer, self._failures = self._failures, []
        try:
            yield self._failures
        finally:
            self._failures = outer

    def check_at_once(self, failed: str) -> None:
        """A check that leaves the function here even where checks are collected."""
        outer, self._failures = self._failures, None
        self.check(failed)
        self._failures = outer

    def check(self, failed: str) -> None:
        """Leave for the function's failure block if the i1 `failed` holds."""
        if self._failures is not None:
            if failed != "false":
                self._failures.append(failed)
            return
        if self.fail_label is None:
            raise ValueError(f"function {self.name} has no failure block")
        if failed == "false":
            return
        passed = self.fresh_label("checked")
        self.cond_br(failed, self.fail_label, passed)
        self.block(passed)

    def integer(self, op: str, a: str, b: str) -> str:
        """i64 add, sub, mul or and of registers or literals, folded where both are literals."""
        if a[0] != "%" and b[0] != "%":
            x, y = int(a), int(b)
            value = {"add": x + y, "sub": x - y, "mul": x * y, "and": x & y}[op]
            return str(value)
        if (op in ("add", "sub") and b == "0") or (op == "mul" and b == "1"):
            return a
        if (op == "add" and a == "0") or (op == "mul" and a == "1"):
            return b
        return self.emit(f"{op} i64 {a}, {b}")

    def less(self, a: str, b: str) -> str:
        """Whether a < b as signed i64: a register, or the literal true or false."""
        if a[0] != "%" and b[0] != "%":
            return "true" if int(a) < int(b) else "false"
        return self.emit(f"icmp slt i64 {a}, {b}")

    def if_then(
        self,
        condition: str,
        carried: Sequence[tuple[str, str]],
        then: Callable[[], Sequence[str]],
        *,
        unlikely: bool = False,
    ) -> list[str]:
        """Run `then` if the i1 holds; the values that it returns, else those of `carried`.

        `carried` are (type, value otherwise). A literal condition leaves no branch.
        """
        if condition == "true":
            return list(then())
        if condition == "false":
            return [value for _, value in carried]
        inside, after = self.fresh_label("then"), self.fresh_label("after")
        before = self.label
        self.cond_br(condition, inside, after, 0 if unlikely else None)
        self.block(inside)
        results = then()
        end = self.label
        self.br(after)
        self.block(after)
        return [
            self.phi(kind, [(result, end), (default, before)])
            for (kind, default), result in zip(carried, results, strict=True)
        ]

    def do_while(
        self,
        begin: str,
        end: str,
        step: str,
        carried: Sequence[tuple[str, str]],
        body: Callable[[str, list[str]], Sequence[str]],
        until: Callable[[list[str]], str] | None = None,
    ) -> list[str]:
        """Run `body(index, values)` for index = begin, begin + step, ... while below end.

        The body runs at least once. `carried` are (type, initial value); the body returns the next
        values, and the last ones are the result. The loop ends early where `until` of the body's
        values, an i1, holds.
        """
        before, head = self.label, self.fresh_label("loop")
        after = self.fresh_label("after")
        self.br(head)
        self.block(head)
        phis = self.insertion_point()
        index = self.fresh("i")
        names = [self.fresh("c") for _ in carried]
        results = list(body(index, names))
        stop = until(results) if until else "false"
        following = self.emit(f"add i64 {index}, {step}")
        last = self.label
        phis.lines.append(f"  {index} = phi i64 [ {begin}, %{before} ], [ {following}, %{last} ]")
        for name, (kind, initial), result in zip(names, carried, results, strict=True):
            phis.lines.append(
                f"  {name} = phi {kind} [ {initial}, %{before} ], [ {result}, %{last} ]"
            )
        more = self.emit(f"icmp slt i64 {following}, {end}")
        if stop != "false":
            more = self.emit(f"select i1 {stop}, i1 false, i1 {more}")
        self.cond_br(more, head, after)
        self.block(after)
        return results

    def finish(self) -> str:
        """Add the function to its module; its name with the sigil."""
        out = [self._head, ".entry:"]
        self._entry.write(out)
        self._body.write(out)
        if self.module.debug is not None:
            out = list(self.module.debug.described(self.name, out[0], out[1:]))
        out.append("}")
        self.module.add_function(self.name, "\n".join(out))
        return f"@{self.name}"

"""Random functions that store into their arguments, and arguments that lie in memory in all ways.

Arguments are square matrices of at least four rows. Every function stores into some of them,
through views too, reads them before and after, and returns values, views of arguments and arguments
themselves.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np

SIZE = 4
_BLOCKS = (":-1", "1:", "-2::-1", ":0:-1")
_UPDATES = ("=", "=", "=", "+=", "-=", "*=")


class _Writer:
    def __init__(self, rng: np.random.Generator, arguments: list[str]) -> None:
        self.rng, self.arguments = rng, arguments
        self.lines: list[str] = []
        #: Matrices, and views of whole arguments.
        self.matrices = list(arguments)
        self.count = 0
        self.indent = ""
        #: Loop counters in scope.
        self.counters: list[str] = []

    def pick(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def index(self) -> str:
        index = str(self.pick(self.rng.integers(-SIZE, SIZE), *self.counters))
        # Past the end in the last iterations: NumPy raises in the middle of the stores.
        return index + " + 1" if index in self.counters and not self.rng.integers(5) else index

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def matrix(self) -> str:
        x = self.pick(*self.matrices)
        return str(self.pick(x, x, f"{x}.T", f"{x}[::-1]", f"{x}[:, ::-1]"))

    def part(self, rank: int) -> tuple[str, str]:
        """A part of a matrix that can be stored into: the matrix and the index."""
        x = self.pick(*self.matrices)
        x = self.pick(x, x, f"{x}.T")
        if rank == 0:
            return x, f"{self.index()}, {self.index()}"
        if rank == 1:
            i = self.index()
            return x, str(self.pick(f"{i}", f":, {i}", f"::-1, {i}", f"{i}, ::-1"))
        if rank == 3:
            return x, f"{self.pick(*_BLOCKS)}, {self.pick(*_BLOCKS)}"
        return x, str(self.pick("...", ":", "::-1", ":, ::-1"))

    def value(self, rank: int) -> str:
        """An expression for a number (0), a row (1), a matrix (2) or a block of one (3)."""
        kind = self.rng.integers(5)
        if kind == 0:
            return str(self.pick("2", "-1.5", "0", "1", "True"))
        if kind == 1:
            left, right = self.value(rank), self.value(rank)
            return f"({left} {self.pick('+', '-', '*')} {right})"
        if kind == 2 and rank:
            return f"np.maximum({self.value(rank)}, {self.value(0)})"
        if rank == 2:
            return self.matrix()
        return "{}[{}]".format(*self.part(rank))

    def statement(self) -> None:
        rank = int(self.rng.integers(4))
        x, index = self.part(rank)
        match self.rng.integers(8):
            case 0:
                name = self.name()
                self.line(f"{name} = {self.matrix()}")
                self.matrices.append(name)
            case 1:
                name = self.name()
                self.line(f"{name} = {self.matrix()} * {self.value(0)}")
                self.matrices.append(name)
            case 2:
                name = self.pick(*self.matrices)
                self.line(f"{name} {self.pick('+=', '*=')} {self.value(2)}")
            case 3:
                out = self.pick(*self.matrices)
                self.line(f"np.add({self.matrix()}, {self.value(2)}, out={out})")
            case _:
                value = self.value(rank)
                if rank == 1 and value[-1] == "]":
                    # NumPy reads what it has just stored where a row and a column cross.
                    value += ".copy()"
                line = f"{x}[{index}] {self.pick(*_UPDATES)} {value}"
                self.line(line)

    def block(self, header: str, depth: int) -> None:
        self.line(header)
        outer, known = self.indent, len(self.matrices)
        self.indent += "    "
        for _ in range(self.rng.integers(1, 4)):
            self.flow(depth - 1)
        self.indent = outer
        del self.matrices[known:]

    def flow(self, depth: int) -> None:
        """A statement, a loop or a branch that is known at run time only."""
        kind = self.rng.integers(6) if depth else 0
        if kind in (1, 2):
            k = f"k{len(self.counters)}"
            self.counters.append(k)
            header = self.pick("range(len(a))", f"range({SIZE - 1}, -1, -1)", f"range(1, {SIZE})")
            self.block(f"for {k} in {header}:", depth)
            self.counters.pop()
        elif kind == 3:
            self.block(f"if {self.value(0)} {self.pick('<', '==')} {self.value(0)}:", depth)
            if self.rng.integers(2):
                self.block("else:", depth)
        elif kind == 4 and self.counters:
            self.line(f"if {self.value(0)} > {self.value(0)}:")
            self.line("    " + str(self.pick("break", "continue", f"return {self.matrix()}")))
        else:
            self.statement()

    def result(self) -> str:
        what = self.pick(
            self.matrix(), "{}[{}]".format(*self.part(1)), self.value(2), self.value(0)
        )
        return str(what)


def random_store(seed: int, depth: int = 0) -> tuple[Callable[..., Any], int]:
    """A function of one to three matrices, and how many it takes.

    Its loops and branches are nested up to `depth` times.
    """
    rng = np.random.default_rng(seed)
    arguments = ["a", "b", "c"][: rng.integers(1, 4)]
    writer = _Writer(rng, arguments)
    for _ in range(rng.integers(1, 7)):
        writer.flow(depth)
    results = [writer.result() for _ in range(rng.integers(0, 4))]
    body = [*writer.lines, f"return {', '.join(results) or None}"]
    text = "\n    ".join([f"def f({', '.join(arguments)}):", *body]) + "\n"
    filename = f"<random store {seed} {depth}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace = {"np": np}
    exec(compile(text, filename, "exec"), namespace)
    return namespace["f"], len(arguments)  # type: ignore[return-value]


def _fresh(rng: np.random.Generator, dtype: Any, size: int) -> Any:
    values = rng.integers(-9, 10, (size, size))
    return (values / 2).astype(dtype) if np.dtype(dtype).kind in "fc" else values.astype(dtype)


def random_layout(rng: np.random.Generator, dtype: Any, size: int) -> Any:
    """A writeable matrix with its elements apart."""
    x = _fresh(rng, dtype, size)
    match rng.integers(8):
        case 0:
            return np.asfortranarray(x)
        case 1:
            return np.repeat(x, 2, axis=1)[:, ::2]
        case 2:
            return x[::-1]
        case 3:
            return x[:, ::-1].T
        case 4:
            return np.pad(x, 1)[1:-1, 1:-1]
        case 5:
            return np.asfortranarray(np.pad(x, 2))[2:-2, 2:-2]
        case _:
            return x


def random_arguments(
    rng: np.random.Generator, count: int, size: int = SIZE, integers: bool = True
) -> list[Any]:
    """Matrices that share no memory; all of them complex, or none."""
    kinds = ["f8", "f8", "f4", "i8" if integers else "f4"] if rng.integers(5) else ["c16", "c8"]
    dtypes = [rng.choice(kinds) for _ in range(count)]
    return [random_layout(rng, dtype, size) for dtype in dtypes]


def colliding_arguments(
    rng: np.random.Generator, count: int, size: int = SIZE, integers: bool = True
) -> list[Any]:
    """Matrices of which two share memory, or one is read-only, broadcast or overlaps itself."""
    arrays = random_arguments(rng, count, size, integers)
    dtype = arrays[0].dtype
    k = int(rng.integers(count))
    kind = int(rng.integers(3 if count == 1 else 7))
    if kind == 0:
        arrays[k].flags.writeable = False
    elif kind == 1:
        arrays[k] = np.broadcast_to(_fresh(rng, dtype, size)[0], (size, size))
    elif kind == 2:
        memory = _fresh(rng, dtype, size).ravel()
        arrays[k] = np.lib.stride_tricks.as_strided(
            memory, (size, size), (2 * dtype.itemsize, dtype.itemsize)
        )
    else:
        other = (k + 1) % count
        memory = np.arange(3 * size * size).astype(dtype)
        arrays[k] = memory[: size * size].reshape(size, size)
        arrays[other] = [
            arrays[k],
            arrays[k].T,
            memory[3 : size * size + 3].reshape(size, size)[::-1],
            memory[size * size - 1 : 2 * size * size - 1].reshape(size, size),
        ][kind - 3]
    return arrays

"""Random well-formed graphs over every op of the registry, with operands, from a seed.

Half of the steps build on earlier values by productions that give the passes something to find
(neutral constants, casts of casts, slices of slices, nodes repeated); the other half take a random
sample of a random op. Each node is evaluated as it is added, and left out where it bails out, so
every graph that comes out has a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

import tracejit.ops  # noqa: F401 - fills the registry
from tracejit.errors import Bailout, GraphError, Where
from tracejit.ir import dims
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.evaluate import concrete_attrs, type_of
from tracejit.ir.graph import Attr, ConstArray, Graph, GraphBuilder, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES, ArrayType, NpScalar, PyScalar, dtype_name, dtype_of

SIZES = {"n": 4, "m": 3}
N, M = symbol("n"), symbol("m")
SHAPES: tuple[tuple[Dim, ...], ...] = (
    (N,),
    (N, M),
    (M, N),
    (1, M),
    (2, 3),
    (),
    (0, M),
    (N + M, 2),
)
NUMBERS = (0.0, 1.0, -1.0, 2.0, -0.0, 0.5, 4.0, 3.0, np.nan, np.inf)
#: What they give for a NaN is its sign, which rewrites need not keep.
SEE_NAN_SIGNS = frozenset(("signbit", "copysign"))


@lru_cache(maxsize=1)
def pure_samples() -> dict[str, list[tuple[Sequence[Any], dict[str, Any]]]]:
    """The samples of every op without effects; stacks have no value that could be an input.

    Sorted by name: graphs of a seed are the same, whichever module of ops was imported first.
    """
    with np.errstate(all="ignore"):
        plain = {name: op for name, op in sorted(OPS.items()) if op.pure and op.kind != "stack"}
        return {name: list(op.samples()) for name, op in plain.items()}


def random_graph(seed: int, steps: int = 25) -> tuple[Graph, list[Any]]:
    """A graph of about `steps` nodes, over the sizes n and m, and concrete inputs for it."""
    return _Maker(seed).make(steps)


class _Maker:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.builder = GraphBuilder("f", SIZES)
        self.inputs: list[Any] = []
        self.concrete: dict[Value, Any] = {}
        self.samples = pure_samples()
        self.productions: list[Callable[[], None]] = [
            self.elementwise,
            self.elementwise,
            self.elementwise,
            self.cast,
            self.fill,
            self.fill,
            self.move,
            self.move,
            self.slice,
            self.slice,
            self.update,
            self.reduce,
            self.again,
            self.chain,
            self.chain,
            self.choose,
            self.size,
            *[self.sample] * 9,
        ]

    def make(self, steps: int) -> tuple[Graph, list[Any]]:
        for shape in ((N, M), (N,), (M, N)):
            self.input(self.random_array(self.pick(tuple(DTYPES)), shape), shape)
        self.input(self.random_array("f64", (N, M)), (N, M))
        self.input(2.5, ())
        for step in range(steps):
            before = len(self.builder.nodes)
            self.pick(self.productions)()
            if self.rng.random() < 0.3:
                for node in self.builder.nodes[before:]:
                    node.where = Where("program.py", step + 1)
        values = list(self.concrete)
        outputs = [values[-1], *(self.pick(values) for _ in range(self.rng.integers(1, 5)))]
        return self.builder.build(outputs), self.inputs

    def pick(self, items: Sequence[Any]) -> Any:
        return items[self.rng.integers(len(items))]

    def input(self, value: Any, shape: tuple[Dim, ...]) -> Value:
        kind = type_of(value)
        if isinstance(kind, ArrayType):
            order = tuple(sorted(range(value.ndim), key=lambda a: -value.strides[a]))
            kind = ArrayType(kind.dtype, shape, order)
        out = self.builder.input(kind, f"x{len(self.inputs)}")
        self.inputs.append(value)
        self.concrete[out] = value
        return out

    def random_array(self, dtype: str, shape: tuple[Dim, ...]) -> Any:
        sizes = tuple(dims.evaluate(d, SIZES) for d in shape)
        numbers = self.rng.choice([*NUMBERS, 7.0, -3.5, 1e-310, 0.1], sizes)
        kind = DTYPES[dtype].kind
        if kind in "iu":
            numbers = np.abs(np.nan_to_num(numbers, posinf=100)) - (1 if kind == "i" else 0)
        elif kind == "c":
            with np.errstate(all="ignore"):
                numbers = numbers + 1j * self.rng.choice(NUMBERS, sizes)
        with np.errstate(all="ignore"):
            return np.array(numbers, order=self.pick("CF")).astype(DTYPES[dtype])

    def arrays(self) -> list[Value]:
        return [v for v in self.concrete if isinstance(v.type, ArrayType)]

    def emit(self, op: str, inputs: Sequence[Value], **attrs: Attr) -> Value | None:
        """Add a node if its type rule takes it and it has a value; its (first) result."""
        operands = [self.concrete[v] for v in inputs]
        if op in SEE_NAN_SIGNS and any(np.isnan(x).any() for x in operands):
            return None
        mark = len(self.builder.nodes)
        try:
            outputs = self.builder.emit(OPS[op], inputs, attrs)
            node = self.builder.nodes[-1]
            with np.errstate(all="ignore"):
                results = OPS[op].evaluate(operands, concrete_attrs(node, SIZES))
        except (GraphError, Bailout, ValueError):
            del self.builder.nodes[mark:]
            return None
        self.concrete.update(zip(outputs, results, strict=True))
        return outputs[0] if outputs else None

    def constant(self, value: Any) -> Value | None:
        kind = type_of(value)
        if isinstance(kind, ArrayType):
            return self.emit("constant", (), value=ConstArray(value), type=str(kind))
        plain = value.item() if isinstance(value, np.generic) else value
        return self.emit("constant", (), value=plain, type=str(kind))

    def filled(self, like: Value) -> Value | None:
        """A special number in the dtype and shape of `like`."""
        assert isinstance(like.type, (ArrayType, NpScalar))
        dtype = like.type.dtype
        number = self.pick(NUMBERS)
        if dtype.kind in "iub":
            number = int(np.nan_to_num(number, posinf=5))
            number = -number % 256 if dtype.kind == "u" else number
        constant = self.constant(dtype.type(number))
        if constant is None or not isinstance(like.type, ArrayType):
            return constant
        return self.emit("broadcast_to", (constant,), shape=like.type.shape)

    def converted(self, value: Value, dtype: np.dtype[Any]) -> Value | None:
        if dtype_of(value.type) == dtype:
            return value
        operand = self.concrete[value]
        if dtype.kind in "iu" and operand.dtype.kind in "fc":
            # Out of range, NumPy gives what the machine gives.
            if not np.all(np.isfinite(operand)) or np.any(np.abs(operand) > 100):
                return None
            if dtype.kind == "u" and np.any(operand.real < 0):
                return None
        return self.emit("cast", (value,), dtype=dtype_name(dtype))

    def recent(self, *kinds: type) -> Value:
        """A value of one of these kinds of type, of the last few as a rule."""
        values = [v for v in self.concrete if isinstance(v.type, kinds)]
        return self.pick(values[-5:] if self.rng.random() < 0.6 else values)

    def chain(self) -> None:
        """Two or three ops in a row that often cancel."""
        value: Value | None = self.recent(ArrayType, NpScalar)
        signs = (
            "negative",
            "absolute",
            "conjugate",
            "invert",
            "floor",
            "ceil",
            "rint",
            "logical_not",
        )
        groups = (
            signs,
            ("equal", "less", "greater_equal", "logical_not"),
            ("negative", "subtract"),
        )
        group = (*self.pick(groups), "add", "multiply", "cast", "py_scalar", "np_scalar")
        for _ in range(3):
            if value is None:
                return
            name = self.pick(group)
            if name == "cast" and not isinstance(value.type, PyScalar):
                value = self.converted(value, DTYPES[self.pick(tuple(DTYPES))]) or value
            elif name == "py_scalar":
                kind = self.pick(("float", "int", "complex", "bool"))
                value = self.emit(name, (value,), kind=kind) or value
            elif name == "np_scalar":
                value = self.emit(name, (value,), dtype=self.pick(tuple(DTYPES))) or value
            elif getattr(OPS[name], "arity", 1) == 1:
                value = self.emit(name, (value,)) or value
            elif not isinstance(value.type, PyScalar):
                other = self.filled(value)
                if other is not None:
                    value = self.emit(name, (value, other)) or value

    def choose(self) -> None:
        """np.where of a condition, perhaps negated, perhaps inside another one of the same."""
        x = self.recent(ArrayType, NpScalar)
        cond = self.emit(self.pick(("isnan", "logical_not")), (x,))
        if cond is None:
            return
        if self.rng.random() < 0.5:
            cond = self.emit("logical_not", (cond,)) or cond
        fellows = [v for v in self.concrete if _alike(v, x) and v.type == x.type]
        a, b = self.pick(fellows), self.pick(fellows)
        if self.rng.random() < 0.4:
            yes, no = self.filled(cond), self.filled(cond)
            self.emit("select", [v for v in (cond, yes, no) if v is not None])
        first = self.emit("select", (cond, a, b))
        if first is not None:
            self.emit("select", (cond, first, a) if self.rng.random() < 0.5 else (cond, b, first))

    def elementwise(self) -> None:
        names = [n for n, op in sorted(OPS.items()) if op.kind == "elementwise" and n != "cast"]
        op: Any = OPS[self.pick(names)]
        first = self.recent(ArrayType, NpScalar)
        operands: list[Value | None] = [first]
        fellows = [v for v in self.concrete if _alike(v, first)]
        while len(operands) < getattr(op, "arity", 1):
            if self.rng.random() < 0.4:
                operands.append(self.filled(first))
            else:
                operands.append(self.converted(self.pick(fellows), dtype_of(first.type)))
        if op.name == "select" and operands[0] is not None:
            zero = self.emit("not_equal", (first, first))
            operands[0] = zero if self.rng.random() < 0.5 else self.emit("isnan", (first,))
        if op.name == "ldexp" and operands[1] is not None:
            operands[1] = self.converted(operands[1], DTYPES["i32"])
        if self.rng.random() < 0.5:
            operands.reverse()
        chosen = [v for v in operands if v is not None]
        if len(chosen) == len(operands):
            self.emit(op.name, chosen)

    def cast(self) -> None:
        value = self.recent(ArrayType, NpScalar)
        self.converted(value, DTYPES[self.pick(tuple(DTYPES))])

    def fill(self) -> None:
        value = self.recent(ArrayType, NpScalar)
        constant = self.filled(value)
        if constant is not None:
            names = ("add", "multiply", "subtract", "divide", "power", "bitwise_and", "bitwise_or")
            names += ("maximum", "minimum", "logical_or", "logical_and", "equal", "floor_divide")
            pair = (value, constant) if self.rng.random() < 0.7 else (constant, value)
            self.emit(self.pick(names), pair)

    def move(self) -> None:
        value = self.recent(ArrayType)
        shape = value.type.shape
        match self.rng.integers(5):
            case 0:
                axes = tuple(int(a) for a in self.rng.permutation(len(shape)))
                self.emit("transpose", (value,), axes=axes)
            case 1:
                flat = dims.prod(shape)
                self.emit("reshape", (value,), shape=self.pick([(flat,), shape, (1, *shape)]))
            case 2:
                known = [v.type.shape for v in self.arrays()]
                self.emit("broadcast_to", (value,), shape=self.pick([*known, (2, *shape)]))
            case 3:
                parts = [v for v in self.arrays() if v.type.dtype == value.type.dtype]
                chosen = [value, *(self.pick(parts) for _ in range(self.rng.integers(0, 3)))]
                self.emit("concatenate", chosen, axis=int(self.rng.integers(2)))
            case 4:
                self.emit("element", (value,))

    def slices(self, shape: tuple[Dim, ...]) -> dict[str, Attr]:
        parts: list[tuple[Dim, Dim, int]] = []
        for d in shape:
            n = dims.evaluate(d, SIZES)
            match self.rng.integers(4) if n else 0:
                case 0:
                    parts.append((0, d, 1))
                case 1:
                    parts.append((d - 1, d, -1))
                case 2:
                    start = int(self.rng.integers(n))
                    parts.append((start, int(self.rng.integers(n - start + 1)), 1))
                case _:
                    parts.append((int(self.rng.integers(n)), 1, int(self.pick((2, -2)))))
        start, size, step = zip(*parts, strict=True) if parts else ((), (), ())
        return {"start": start, "size": size, "step": step}

    def slice(self) -> None:
        value = self.recent(ArrayType)
        self.emit("slice", (value,), **self.slices(value.type.shape))

    def update(self) -> None:
        value = self.recent(ArrayType)
        attrs = self.slices(value.type.shape)
        part = self.emit("slice", (value,), **attrs)
        other = self.emit("negative", (part,)) if part is not None else None
        if other is not None:
            updated = self.emit("update_slice", (value, other), **attrs)
            if updated is not None:
                self.emit("slice", (updated,), **attrs)

    def reduce(self) -> None:
        value = self.recent(ArrayType)
        names = [n for n, op in sorted(OPS.items()) if op.kind in ("reduction", "scan", "host")]
        axes = tuple(a for a in range(value.type.ndim) if self.rng.random() < 0.5)
        op = OPS[self.pick(names)]
        keys = {key for _, attrs in self.samples[op.name] for key in attrs}
        attrs: dict[str, Attr] = {}
        if "axes" in keys:
            attrs["axes"] = axes
        if "axis" in keys:
            attrs["axis"] = int(self.rng.integers(2))
        if "stable" in keys:
            attrs["stable"] = True
        self.emit(op.name, (value,), **attrs)

    def again(self) -> None:
        if self.builder.nodes:
            node = self.pick(self.builder.nodes)
            inputs = node.inputs[::-1] if self.rng.random() < 0.3 else node.inputs
            self.emit(node.op.name, inputs, **node.attrs)

    def size(self) -> None:
        dim = self.pick((N, N + M, N * M - 1, 3, dims.floordiv(N, 2)))
        value = self.emit("dim_value", (), dim=dim)
        if value is not None:
            self.emit("np_scalar", (value,), dtype="i64")
        self.emit("iota", (), size=dim, dtype="f64")

    def sample(self) -> None:
        """A random sample; where it fits, an operand is an earlier value of the same type."""
        name = self.pick([n for n, found in self.samples.items() if found])
        inputs, attrs = self.pick(self.samples[name])
        if OPS[name].kind == "elementwise" and len(inputs[0]) > 64:
            start = int(self.rng.integers(len(inputs[0]) - 12))
            inputs = [x[start : start + 12] for x in inputs]
        if any(isinstance(x, np.ndarray) and x.size > 64 for x in inputs):
            return
        operands = []
        for x in inputs:
            kind = type_of(x)
            same = [v for v in self.concrete if v.type == kind]
            python = isinstance(kind, PyScalar)
            if same and self.rng.random() < 0.5:
                operands.append(self.pick(same))
            elif self.rng.random() < (0.8 if python else 0.4):
                operands.append(self.constant(x))
            else:
                operands.append(self.input(x, np.shape(x)))
        if name == "cast":
            self.converted(operands[0], DTYPES[attrs["dtype"]])
        else:
            self.emit(name, operands, **attrs)


def _alike(a: Value, b: Value) -> bool:
    if isinstance(b.type, ArrayType):
        return isinstance(a.type, ArrayType) and a.type.shape == b.type.shape
    return isinstance(a.type, NpScalar)

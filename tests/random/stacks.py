"""Random programs that push in a forward part and pop in its mirror image, as texts of graphs.

The forward part nests branches and loops and pushes scalars and arrays on two stacks; what decides
the way (predicates, counts) is pushed too. The backward part pops everything in reverse order.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["random_program"]

#: What every region is given, and what forward and backward parts hand on.
GIVEN = (
    *(("t", "token"), ("u", "token"), ("a", "f64"), ("x", "f64[n]")),
    *(("d", "f64"), ("e", "f64[n]"), ("limit", "int")),
)
FORWARD, BACKWARD = ("t", "u", "a", "x"), ("t", "u", "d", "e")
TYPES = dict(GIVEN)
DESCRIBED = {
    "f64": '("numpy", "f64")',
    "f32": '("numpy", "f32")',
    "i8": '("numpy", "i8")',
    "b1": '("numpy", "b1")',
    "c128": '("numpy", "c128")',
    "int": '("python", "int")',
    "f64[n]": '("array", "f64", (n,), (0,))',
    "f32[n]": '("array", "f32", (n,), (0,))',
    "f64[()]": '("array", "f64", (), ())',
}

#: ("push", stack, kind) | ("cond", stack, threshold, steps, steps) | ("loop", stack, more, steps)
Step = tuple[Any, ...]


def random_program(seed: int) -> tuple[str, list[Any]]:
    """The text of a graph, and inputs for it."""
    rng = np.random.default_rng(seed)
    steps = _steps(rng, depth=3)
    writer = _Writer()
    lines = [f"def f(n: size, {', '.join(f'{v}: {k}' for v, k in GIVEN[2:])}, repeats: int):"]
    if rng.random() < 0.5:
        lines += _indented([*_started(), *writer.both(steps)])
    else:
        lines += _indented(_repeated(writer.both(steps)))
    lines.append("    return a, x, d, e")
    n = int(rng.choice([0, 1, 3, 17]))
    x = rng.normal(size=n)
    inputs = [np.float64(rng.normal()), x, np.float64(0.5), np.ones(n), int(rng.integers(0, 3)), 2]
    return _named_once("\n".join(lines)), inputs


def _named_once(text: str) -> str:
    """The text with a new name for each assignment: graphs assign every name once."""
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    _rename(function)
    return ast.unparse(function) + "\n"


def _rename(function: ast.FunctionDef) -> None:
    now = {arg.arg: arg.arg for arg in function.args.args}
    taken = set(now)

    def read(node: ast.expr | None) -> None:
        for inner in ast.walk(node) if node is not None else ():
            if isinstance(inner, ast.Name):
                inner.id = now.get(inner.id, inner.id)

    def define(name: str) -> str:
        found, number = name, 0
        while found in taken:
            number += 1
            found = f"{name}_{number}"
        taken.add(found)
        now[name] = found
        return found

    for statement in function.body:
        match statement:
            case ast.FunctionDef():
                _rename(statement)
                statement.name = define(statement.name)
            case ast.AnnAssign(target=ast.Name() as target):
                read(statement.value)
                target.id = define(target.id)
            case ast.Assign(targets=[ast.Tuple(elts=targets)]):
                read(statement.value)
                for name in targets:
                    assert isinstance(name, ast.Name)
                    name.id = define(name.id)
            case ast.Return():
                read(statement.value)


def _steps(rng: np.random.Generator, depth: int) -> list[Step]:
    out: list[Step] = []
    for _ in range(rng.integers(1, 5)):
        stack = "tu"[rng.integers(2)]
        choice = rng.random() if depth else 0.0
        if choice < 0.5:
            out.append(("push", stack, int(rng.integers(5))))
        elif choice < 0.75:
            sides = _steps(rng, depth - 1), _steps(rng, depth - 1) if rng.random() < 0.6 else []
            out.append(("cond", stack, float(rng.normal()), *sides))
        else:
            out.append(("loop", stack, int(rng.integers(0, 3)), _steps(rng, depth - 1)))
    return out


def _indented(lines: Sequence[str]) -> list[str]:
    return ["    " + line for line in lines]


def _started() -> list[str]:
    return [
        't: token = stack_new(stack="t")',
        'u: token = stack_new(stack="u", reserve=(n + 10,))',
    ]


def _repeated(inside: list[str]) -> list[str]:
    """Forward and backward parts in a loop, with new stacks in every iteration."""
    carried = ["r", "a", "x", "d", "e"]
    order = ", ".join(["zero", *carried[1:], "limit", "repeats"])
    signature = ", ".join(
        ["n: size", "r: int", *(f"{v}: {TYPES[v]}" for v in carried[1:]), "limit: int"]
        + ["repeats: int"]
    )
    types = ", ".join(["int", *(TYPES[v] for v in carried[1:])])
    return [
        'zero: int = constant(value=0, type="int")',
        f"def again({signature}):",
        "    go: bool = py_less(r, repeats)",
        "    return go",
        f"def whole({signature}):",
        *_indented([*_started(), *inside]),
        '    one: int = constant(value=1, type="int")',
        "    r1: int = py_add(r, one)",
        "    return r1, a, x, d, e",
        f"r, a, x, d, e = typed(while_loop({order}, carried=5, sizes=((n,), (n,)), "
        f"regions=(again, whole)), {types})",
    ]


class _Writer:
    """Writes steps; names are assigned again and again."""

    def __init__(self) -> None:
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"w{self.count}"

    def both(self, steps: Sequence[Step]) -> list[str]:
        return [*self.forward(steps), *self.backward(steps)]

    def forward(self, steps: Sequence[Step]) -> list[str]:
        return [line for step in steps for line in self._forward(step)]

    def backward(self, steps: Sequence[Step]) -> list[str]:
        return [line for step in reversed(steps) for line in self._backward(step)]

    def _regions(self, sides: Sequence[Sequence[str]], results: Sequence[str]) -> list[str]:
        signature = ", ".join(["n: size", *(f"{v}: {k}" for v, k in GIVEN)])
        out: list[str] = []
        for name, lines in zip(("then", "orelse"), sides, strict=True):
            out += [f"def {name}({signature}):", *_indented(lines)]
            out.append(f"    return {', '.join(results)}")
        return out

    def _cond(self, p: str, sides: Sequence[Sequence[str]], results: Sequence[str]) -> list[str]:
        names = ", ".join(v for v, _ in GIVEN)
        types = ", ".join(TYPES[v] for v in results)
        return [
            *self._regions(sides, results),
            f"{', '.join(results)} = typed(cond({p}, {names}, sizes=((n,), (n,)), "
            f"regions=(then, orelse)), {types})",
        ]

    def _loop(
        self, j: str, test: str, step: str, lines: list[str], kept: Sequence[str]
    ) -> list[str]:
        """`j` counts by `step` while `test` holds."""
        rest = [v for v, _ in GIVEN if v not in kept]
        order = [*kept, *rest, "most"]
        types = {**TYPES, "most": "int"}
        own = self.fresh()
        test = test.replace("j", own)
        signature = ", ".join(["n: size", f"{own}: int", *(f"{v}: {types[v]}" for v in order)])
        results = ", ".join(types[v] for v in kept)
        return [
            f"def test({signature}):",
            '    none: int = constant(value=0, type="int")',
            f"    go: bool = py_less({test})",
            "    return go",
            f"def body({signature}):",
            *_indented(lines),
            '    one: int = constant(value=1, type="int")',
            f"    k: int = {step}({own}, one)",
            f"    return k, {', '.join(kept)}",
            f"j, {', '.join(kept)} = typed(while_loop({j}, {', '.join(order)}, "
            f"carried={1 + len(kept)}, sizes=((n,), (n,)), regions=(test, body)), int, {results})",
        ]

    def _push(self, stack: str, *values: str) -> list[str]:
        return [f'{stack}: token = stack_push({stack}, {", ".join(values)}, stack="{stack}")']

    def _pop(self, stack: str, **values: str) -> list[str]:
        described = ", ".join(DESCRIBED[k] for k in values.values())
        return [
            f'{stack}, {", ".join(values)} = typed(stack_pop({stack}, stack="{stack}", '
            f"types=({described},)), token, {', '.join(values.values())})"
        ]

    def _forward(self, step: Step) -> list[str]:
        match step:
            case ("push", stack, kind):
                return [*self._save(stack, kind), *_MOVED]
            case ("cond", stack, threshold, then, orelse):
                p = self.fresh()
                return [
                    f'{p}c: f64 = constant(value={threshold!r}, type="f64")',
                    f"{p}: b1 = less(a, {p}c)",
                    *self._cond(p, [self.forward(then), self.forward(orelse)], FORWARD),
                    *self._push(stack, p),
                ]
            case ("loop", stack, more, inside):
                w = self.fresh()
                return [
                    f'{w}: int = constant(value={more}, type="int")',
                    "most: int = py_add(limit, " + w + ")",
                    f'{w}z: int = constant(value=0, type="int")',
                    *self._loop(f"{w}z", "j, most", "py_add", self.forward(inside), FORWARD),
                    *self._push(stack, "j"),
                ]
        raise AssertionError

    def _save(self, stack: str, kind: int) -> list[str]:
        if kind == 0:
            return self._push(stack, "a")
        if kind == 1:
            return [
                'b: f32 = cast(a, dtype="f32")',
                "q: b1 = isnan(a)",
                "z: c128 = make_complex(a, a)",
                *self._push(stack, "q", "b", "limit", "z"),
            ]
        if kind == 2:
            return ["y: f64[n] = multiply(x, x)", *self._push(stack, "y", "a", "x")]
        if kind == 4:
            return self._push(stack, "x")
        return [
            'y: f32[n] = cast(x, dtype="f32")',
            "s: f64[()] = broadcast_to(a, shape=())",
            *self._push(stack, "s", "y"),
        ]

    def _backward(self, step: Step) -> list[str]:
        match step:
            case ("push", stack, kind):
                return self._restore(stack, kind)
            case ("cond", stack, _, then, orelse):
                sides = [self.backward(then), self.backward(orelse)]
                return [*self._pop(stack, p="b1"), *self._cond("p", sides, BACKWARD)]
            case ("loop", stack, _, inside):
                lines = self._loop("j", "none, j", "py_subtract", self.backward(inside), BACKWARD)
                return [
                    *self._pop(stack, j="int"),
                    'most: int = constant(value=0, type="int")',
                    *lines,
                ]
        raise AssertionError

    def _restore(self, stack: str, kind: int) -> list[str]:
        if kind == 0:
            return [*self._pop(stack, v="f64"), "d: f64 = subtract(v, d)"]
        if kind == 1:
            return [
                *self._pop(stack, q="b1", b="f32", m="int", z="c128"),
                'b8: f64 = cast(b, dtype="f64")',
                'q8: f64 = cast(q, dtype="f64")',
                'm1: i64 = np_scalar(m, dtype="i64")',
                'm8: f64 = cast(m1, dtype="f64")',
                "z8: f64 = imag(z)",
                *[f"d: f64 = subtract({v}, d)" for v in ("b8", "q8", "m8", "z8")],
            ]
        if kind == 2:
            return [
                *self._pop(stack, y="f64[n]", v="f64", x1="f64[n]"),
                "d: f64 = subtract(v, d)",
                "e: f64[n] = subtract(y, e)",
                "e: f64[n] = maximum(x1, e)",
            ]
        if kind == 4:
            # The popped array itself is handed on.
            return [*self._pop(stack, y="f64[n]"), "e: f64[n] = transpose(y, axes=(0,))"]
        return [
            *self._pop(stack, s="f64[()]", y="f32[n]"),
            "v: f64 = element(s)",
            "d: f64 = subtract(v, d)",
            'y8: f64[n] = cast(y, dtype="f64")',
            "e: f64[n] = subtract(y8, e)",
        ]


#: The state of the forward part moves on.
_MOVED = (
    'h: f64 = constant(value=-0.75, type="f64")',
    "a: f64 = multiply(a, h)",
    "hs: f64[n] = broadcast_to(h, shape=(n,))",
    "x: f64[n] = multiply(x, hs)",
)

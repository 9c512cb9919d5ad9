"""Sets in compiled functions: elements come in the order in which CPython gives them."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.python import set_samples

X = np.array([1.0, 2.0, 3.0])
SAMPLES = [f for name, f in vars(set_samples).items() if name.startswith("set_")]
ARGUMENTS = (
    ([1, 33, 8, 64, 5], [5, 32, 16, 200, 1]),
    ([9, 17, 1], [1, 9]),
    ([3.0, 1.5, 3], [2, 2.0, 1.5]),
    ([True, 1, 0], [0.0, False, 1]),
)


def exactly(x: Any) -> Any:
    """A result with the types of its parts, to be compared."""
    if isinstance(x, np.ndarray):
        return x.dtype, x.tolist()
    if isinstance(x, (list, tuple, set, frozenset)):
        return type(x), [exactly(v) for v in x]
    if isinstance(x, dict):
        return dict, exactly(list(x.items()))
    return type(x), repr(x)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("f", SAMPLES, ids=lambda f: f.__name__)
def test_sets_are_python_s(f: Any) -> None:
    compiled = tracejit.jit(f)
    for a, b in ARGUMENTS:
        for x in (X, -X, X):
            assert exactly(compiled(x, list(a), list(b))) == exactly(f(x, list(a), list(b)))


LINES = (
    "s = set({a})",
    "s.add({k})",
    "s.discard({k})",
    "s.update({a})",
    "s.update({o})",
    "s |= {o}",
    "s &= {o}",
    "s ^= {o}",
    "s -= {o}",
    "s = s.union({o})",
    "s = s.union({a}, {o})",
    "s = s.union(dict.fromkeys({a}))",
    "s = set(dict.fromkeys({a}))",
    "s = s | {o}",
    "s = s & {o}",
    "s = set({o} - s)",
    "s = s.difference({o})",
    "s = s.difference({a})",
    "s = s.intersection({a})",
    "s = s.symmetric_difference({o})",
    "s = s.symmetric_difference({a})",
    "s.difference_update({o})",
    "s.intersection_update({o})",
    "s.symmetric_difference_update({a})",
    "s = s.copy()",
    "s = set(s)",
    "s = set(frozenset(s))",
    "t = s.copy()",
    "t = set({a})",
    "t.update(s)",
    "out += [s.pop()] if s else []",
    "if s: out.append(s.pop())",
    "s = {*s, {k}}",
    "s = {{k}, *t, *{a}}",
    "s = {x.ndim, {k}, {k}}",
    "s.clear()",
    "out += list(s)",
    "out += [*t]",
    "out += sorted(s, key=str) + [len(s), min(s, key=str, default=0), 3 in s]",
    "out.append(tuple(frozenset(s)))",
    "out.append(repr(s))",
    "out += [k for k in s if k != 5]",
    "for k in {a}: s.add(k)",
    "for k in {o}: out.append(k)",
    "out += [k for k in {o}]",
    "if x[0] > 0: t.add({k})",
)


def program(choices: random.Random, name: str) -> str:
    """A function of one array that changes sets and says what they give."""

    def number() -> Any:
        return choices.choice([choices.randrange(80), -1, -2, 1.0, 0.5, True, "a", (1, 2)])

    lines = [f"def {name}(x):", "    s, t, out = {1, 40, 8}, {3, 9}, []"]
    for _ in range(choices.randrange(4, 12)):
        values = [number() for _ in range(choices.randrange(1, 9))]
        other = choices.choice(
            ["t", "{" + ", ".join(map(repr, values)) + "}", f"frozenset({values})"]
        )
        line = choices.choice(LINES).replace("{a}", repr(values)).replace("{o}", other)
        lines.append("    " + line.replace("{k}", repr(number())))
    return "\n".join([*lines, "    return x * 2, out, list(s), list(t)", ""])


def test_random_programs_with_sets(tmp_path: Path) -> None:
    choices, count = random.Random(11), 120
    path = tmp_path / "set_programs.py"
    path.write_text("\n\n".join(program(choices, f"f{k}") for k in range(count)))
    spec = importlib.util.spec_from_file_location("set_programs", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    whole = 0
    for k in range(count):
        f = getattr(module, f"f{k}")
        compiled = tracejit.jit(f)
        expected = exactly(f(X))
        assert exactly(compiled(X)) == expected
        assert exactly(compiled(X)) == expected
        codes = {e.code for e in compiled.report().fallbacks}
        assert "TJ013" not in codes
        whole += not codes
    assert whole > count // 3

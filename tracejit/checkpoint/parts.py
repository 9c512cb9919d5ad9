"""The description of a tree that is saved, and its form as JSON.

    {"a": np.zeros(3), "n": 1}  ->  {"kind": "dict", "parts": [["a", {"kind": "array",
                                      "data": ["a", "<f8", [3]]}], ["n", 1]]}

Numbers, texts and None stand for themselves where JSON has them; all floats are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

import numpy as np

__all__ = ["PLAIN", "Part", "from_json", "part_step", "to_json"]

#: Values that are no state by themselves: they are replaced, not changed.
PLAIN = (type(None), bool, int, float, complex, str, bytes)


class Part:
    """A value: what it is, what is known of it, and its parts by the steps of their paths.

    - plain: `data` is the value.
    - array: `data` is its name in the file, its dtype and its shape.
    - code: `data` is the name of a function, class or other thing that the program itself has.
    - list, tuple, set, dict: `data` is the class; `keys` are the real keys of a dict's parts.
    - object: `data` is the class; the parts are its attributes.
    - state: `data` is the class; the one part is its state dict.
    - random: `data` is the kind of stream; the one part is its state.
    """

    __slots__ = ("data", "keys", "kind", "parts")

    def __init__(self, kind: str, data: Any = None) -> None:
        self.kind, self.data = kind, data
        self.parts: dict[str, Part] = {}
        self.keys: dict[str, Any] = {}

    @property
    def holds_state(self) -> bool:
        """Whether an array, an object or a stream of random numbers is in it."""
        return any(p.kind not in ("plain", "list", "tuple", "set", "dict") for p in self.walk())

    def walk(self) -> Iterator[Part]:
        """It and all that is in it, each once."""
        seen: set[int] = set()
        left = [self]
        while left:
            part = left.pop()
            if id(part) not in seen:
                seen.add(id(part))
                yield part
                left += part.parts.values()


def to_json(root: Part) -> Any:
    """A description as what JSON has. A part that is met again is `{"same": number}`."""
    numbers: dict[int, int] = {}

    def form(part: Part) -> Any:
        if part.kind == "plain":
            return _plain_form(part.data)
        if id(part) in numbers:
            return {"same": numbers[id(part)]}
        numbers[id(part)] = len(numbers)
        out: dict[str, Any] = {"kind": part.kind, "data": part.data}
        if part.kind in ("list", "tuple", "set"):
            out["parts"] = [form(p) for p in part.parts.values()]
        elif part.kind == "dict":
            out["parts"] = [[_plain_form(part.keys[k]), form(p)] for k, p in part.parts.items()]
        elif part.parts:
            out["parts"] = {name: form(p) for name, p in part.parts.items()}
        return out

    return form(root)


def from_json(root: Any) -> Part:
    """The description that has a form."""
    known: list[Part] = []

    def parse(x: Any) -> Part:
        if not isinstance(x, dict) or "plain" in x:
            return Part("plain", _plain(x))
        if "same" in x:
            return known[x["same"]]
        part = Part(x["kind"], x["data"])
        known.append(part)
        parts = x.get("parts", {})
        if part.kind == "dict":
            for form, value in parts:
                key = _plain(form)
                step = part_step(part, key)
                part.keys[step], part.parts[step] = key, parse(value)
        else:
            named = parts if isinstance(parts, dict) else {str(k): v for k, v in enumerate(parts)}
            for step, value in named.items():
                part.parts[step] = parse(value)
        return part

    return parse(root)


def part_step(part: Part, key: Any) -> str:
    """The step of a path for a key of a dict: its text, unless another key has the same."""
    step = str(key)
    return repr(key) if step in part.parts else step


def _plain_form(x: Any) -> Any:
    if x is None or type(x) in (bool, str):
        return x
    if type(x) is int:
        return x if x.bit_length() < 64 else {"plain": "int", "value": hex(x)}
    if type(x) is float:
        return x if math.isfinite(x) else {"plain": "float", "value": repr(x)}
    if type(x) is complex:
        return {"plain": "complex", "value": [_plain_form(x.real), _plain_form(x.imag)]}
    if type(x) is bytes:
        return {"plain": "bytes", "value": x.hex()}
    if type(x) is tuple:
        return {"plain": "tuple", "value": [_plain_form(v) for v in x]}
    if isinstance(x, PurePath):
        return {"plain": "path", "value": str(x)}
    return {"plain": "numpy", "value": [x.dtype.str, x.tobytes().hex()]}


def _plain(form: Any) -> Any:
    if not isinstance(form, dict):
        return form
    kind, value = form["plain"], form["value"]
    match kind:
        case "int":
            return int(value, 16)
        case "float":
            return float(value)
        case "complex":
            return complex(_plain(value[0]), _plain(value[1]))
        case "bytes":
            return bytes.fromhex(value)
        case "tuple":
            return tuple(_plain(v) for v in value)
        case "path":
            return Path(value)
        case _:
            return np.frombuffer(bytes.fromhex(value[1]), np.dtype(value[0]))[0]

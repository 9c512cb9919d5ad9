"""A description is matched with the objects that it is to be restored into: what is to be done.

Nothing is changed while matching: `Match.actions` does it afterwards, if there are no problems.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.base.tensor_files import Renaming, TensorFile, renamed
from tracejit.checkpoint import random_state
from tracejit.checkpoint.describe import (
    ARRAYS,
    LISTS,
    MAPPINGS,
    attributes,
    by_state_dict,
    class_name,
    code_name,
    is_plain,
    key_of,
)
from tracejit.checkpoint.errors import MismatchError
from tracejit.checkpoint.parts import Part

__all__ = ["Match", "rename_parts"]

#: There is no such thing.
_ABSENT: Any = object()


class Match:
    """What is to be done to restore a tree. `wanted` says of a path whether it is restored."""

    def __init__(
        self,
        file: TensorFile,
        wanted: Callable[[str], bool],
        strict: bool,
        cast: bool,
        reshape: Callable[[str], bool],
    ) -> None:
        self.file, self.wanted, self.strict = file, wanted, strict
        self.cast, self.reshape = cast, reshape
        self.actions: list[Callable[[], Any]] = []
        self.problems: list[str] = []
        #: Paths that only the objects have, and those that only the checkpoint has.
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self._made: dict[int | str, Any] = {}
        self._met: dict[tuple[Any, int], Any] = {}
        self._targets: dict[int, tuple[Any, str]] = {}
        self._parts: dict[Any, tuple[int, str]] = {}
        #: Identities are those of objects that are alive.
        self._kept: list[Any] = []

    def restored(self, part: Part, target: Any, path: str) -> Any:
        """What is to be in the place of `target`: itself, where it is changed in place."""
        if part.kind == "plain":
            if not self.wanted(path):
                return target
            fits = is_plain(target) or target is _ABSENT
            return part.data if fits else self._unlike(part, target, path)
        if is_plain(target) or target is _ABSENT:
            return self.created(part, target, path)
        self._kept.append(target)
        key = key_of(target) if type(target) in ARRAYS else id(target)
        if (key, id(part)) not in self._met:
            fixed = part.kind == "code" or isinstance(target, (tuple, frozenset))
            if not fixed and self.wanted(path):
                self._check_sharing(key, part, path)
            # What holds itself is met again while it is matched.
            self._met[key, id(part)] = target
            # What a renaming has put together is of no kind of its own.
            kinds: dict[type, str] = {
                **dict.fromkeys(LISTS, "list"),
                **dict.fromkeys(MAPPINGS, "dict"),
            }
            kind = part.kind if part.data else kinds.get(type(target), "object")
            run = getattr(self, f"_{kind}")
            self._met[key, id(part)] = run(part, target, path)
        return self._met[key, id(part)]

    def _check_sharing(self, key: Any, part: Part, path: str) -> None:
        other, where = self._parts.setdefault(key, (id(part), path))
        if other != id(part):
            self.problems.append(f"{where} and {path} are one here, and two in the checkpoint")
        known, where = self._targets.setdefault(id(part), (key, path))
        if known != key and self.strict:
            self.problems.append(f"{where} and {path} are one in the checkpoint, and two here")

    def _unlike(self, part: Part, target: Any, path: str) -> Any:
        if self.wanted(path):
            here = code_name(target) or type(target).__qualname__
            self.problems.append(f"{path} is {_what(part)} in the checkpoint, and {here} here")
        return target

    # What is changed in place --------------------------------------------------------------------

    def _array(self, part: Part, target: Any, path: str) -> Any:
        if not self.wanted(path):
            return target
        if type(target) not in ARRAYS:
            return self._unlike(part, target, path)
        name, dtype, shape = part.data[0], _dtype(part.data[1]), tuple(part.data[2])
        same_size = math.prod(shape) == target.size and self.reshape(path)
        if shape != target.shape and not same_size:
            self.problems.append(f"{path}: {shape} in the checkpoint, {target.shape} here")
        elif not _casts(dtype, target.dtype, self.cast):
            self.problems.append(f"{path}: {dtype} in the checkpoint, {target.dtype} here")
        elif not target.flags.writeable:
            self.problems.append(f"{path} is read-only")
        else:

            def copy() -> None:
                new = self.file.read_as(name, dtype, shape).reshape(target.shape)
                np.copyto(target, new, casting="unsafe")

            self.actions.append(copy)
        return target

    def _code(self, part: Part, target: Any, path: str) -> Any:
        return target if code_name(target) == part.data else self._unlike(part, target, path)

    def _random(self, part: Part, target: Any, path: str) -> Any:
        if not self.wanted(path):
            return target
        if random_state.kind_of(target) != part.data:
            return self._unlike(part, target, path)
        state = self.created(part.parts["state"], _ABSENT, path)
        self.actions.append(lambda: random_state.set_state(target, state))
        return target

    def _state(self, part: Part, target: Any, path: str) -> Any:
        if not self.wanted(path):
            return target
        if class_name(type(target)) != part.data or not by_state_dict(target):
            return self._unlike(part, target, path)
        state = self.created(part.parts["state"], _ABSENT, path)
        self.actions.append(lambda: target.load_state_dict(state))
        return target

    def _object(self, part: Part, target: Any, path: str) -> Any:
        own = attributes(target)
        named = part.data is None or class_name(type(target)) == part.data
        if own is None or not named or by_state_dict(target):
            return self._unlike(part, target, path)
        for name, new in self._entries(part, own, path, type(target)).items():
            if new is _ABSENT:
                self.actions.append(_setter(object.__delattr__, target, name))
            elif new is not own.get(name, _ABSENT):
                self.actions.append(_setter(object.__setattr__, target, name, new))
        return target

    def _list(self, part: Part, target: Any, path: str) -> Any:
        if type(target) not in LISTS:
            return self._unlike(part, target, path)
        own = {str(k): v for k, v in enumerate(target)}
        found = self._entries(part, own, path)
        new = [found[step] for step in sorted(found, key=int) if found[step] is not _ABSENT]

        def put() -> None:
            target.clear()
            target.extend(new)

        if len(new) != len(target) or any(a is not b for a, b in zip(new, target, strict=True)):
            self.actions.append(put)
        return target

    def _tuple(self, part: Part, target: Any, path: str) -> Any:
        if not isinstance(target, tuple):
            return self._unlike(part, target, path)
        own = {str(k): v for k, v in enumerate(target)}
        found = self._entries(part, own, path)
        new = [found[step] for step in sorted(found, key=int) if found[step] is not _ABSENT]
        if len(new) == len(target) and all(a is b for a, b in zip(new, target, strict=True)):
            return target
        return tuple.__new__(type(target), new)

    def _dict(self, part: Part, target: Any, path: str) -> Any:
        if type(target) not in MAPPINGS:
            return self._unlike(part, target, path)
        keys = {**part.keys, **{_step(key, part): key for key in target}}
        own = {_step(key, part): value for key, value in target.items()}
        found = self._entries(part, own, path)
        new = {keys[step]: value for step, value in found.items() if value is not _ABSENT}

        def put() -> None:
            target.clear()
            target.update(new)

        if list(map(id, new.values())) != list(map(id, target.values())) or [*new] != [*target]:
            self.actions.append(put)
        return target

    def _set(self, part: Part, target: Any, path: str) -> Any:
        values = [p.data for p in part.parts.values()]
        if type(target) is frozenset:
            return frozenset(values) if self.wanted(path) else target
        if type(target) is not set:
            return self._unlike(part, target, path)
        if self.wanted(path):
            self.actions += [target.clear, lambda: target.update(values)]
        return target

    def _entries(
        self, part: Part, own: dict[str, Any], path: str, cls: type | None = None
    ) -> dict[str, Any]:
        """What comes in the places of the parts; `_ABSENT` for those that are to go.

        Values without arrays and objects come and go as they have in the checkpoint. Others do so
        only in a list or dict that has nothing here: whoever has some must have the same.
        """
        out = {}
        lazy = not own and cls is None
        for step, child in part.parts.items():
            where = f"{path}.{step}" if path else step
            if step in own or lazy or not child.holds_state:
                value = self.restored(child, own.get(step, _ABSENT), where)
                if value is not _ABSENT:
                    out[step] = value
            elif self.wanted(where):
                self.unexpected.append(where)
        for step, value in own.items():
            if step not in part.parts:
                where = f"{path}.{step}" if path else step
                out[step] = self._without(value, where, cls)
        return out

    def _without(self, value: Any, path: str, cls: type | None) -> Any:
        """What comes in the place of what the checkpoint does not have."""
        if not self.wanted(path) or code_name(value) is not None:
            return value
        if is_plain(value) and self.strict:
            # The attribute was still that of the class; a list or dict has what it had.
            if cls is None or hasattr(cls, path.rpartition(".")[2]):
                return _ABSENT
        if cls is not None or not is_plain(value):
            self.missing.append(path)
        return value

    # What is made anew ---------------------------------------------------------------------------

    def created(self, part: Part, target: Any, path: str) -> Any:
        """A new value; `target` where there is none."""
        if not self.wanted(path):
            return target
        if part.kind == "plain":
            return part.data
        key = part.data[0] if part.kind == "array" else id(part)
        if key in self._made:
            return self._made[key]
        if part.kind == "array":
            name, dtype, shape = part.data
            made = self._made[key] = self.file.read_as(name, _dtype(dtype), tuple(shape))
            return made
        parts = part.parts
        if part.kind == "list" and part.data == "list":
            out: Any = []
            self._made[key] = out
            out += [self.created(p, None, f"{path}.{k}") for k, p in parts.items()]
        elif part.kind == "dict" and part.data == "dict":
            out = self._made[key] = {}
            for k, p in parts.items():
                out[part.keys[k]] = self.created(p, None, f"{path}.{k}")
        elif part.kind == "tuple" and part.data == "tuple":
            out = tuple(self.created(p, None, f"{path}.{k}") for k, p in parts.items())
        elif part.kind == "set":
            out = (set if part.data == "set" else frozenset)(p.data for p in parts.values())
        elif part.kind == "random":
            out = random_state.new_stream(part.data)
            random_state.set_state(out, self.created(parts["state"], None, path))
        else:
            here = "nothing of the kind is" if target is _ABSENT else f"{target!r}"
            self.problems.append(f"{path} is {_what(part)} in the checkpoint, and {here} here")
            return target
        self._made[key] = out
        return out


def rename_parts(root: Part, rename: Renaming) -> None:
    """Put the leaves of a description to where they belong by their new paths.

    Raises MismatchError where two would have one path.
    """
    found: list[tuple[Part, str, str, str, Part]] = []
    seen: set[int] = set()

    def walk(part: Part, path: str) -> None:
        for step, child in part.parts.items():
            where = f"{path}.{step}" if path else step
            if child.kind in ("list", "tuple", "dict", "object") and child.parts:
                if id(child) not in seen:
                    seen.add(id(child))
                    walk(child, where)
            elif (new := renamed(where, rename)) != where:
                found.append((part, path, step, new, child))

    walk(root, "")
    for part, _, step, _, _ in found:
        del part.parts[step]
        part.keys.pop(step, None)
    _drop_emptied(root, {id(part) for part, *_ in found}, set())
    for part, path, _, new, leaf in found:
        inside = part.kind == "dict" and part is not root and new.startswith(f"{path}.")
        place, steps = (part, [new[len(path) + 1 :]]) if inside else (root, new.split("."))
        for step in steps[:-1]:
            if step not in place.parts:
                place.parts[step], place.keys[step] = Part("object"), step
            place = place.parts[step]
        if steps[-1] in place.parts:
            raise MismatchError(f"two parts of the checkpoint would be {new}")
        place.parts[steps[-1]], place.keys[steps[-1]] = leaf, steps[-1]


def _drop_emptied(part: Part, emptied: set[int], seen: set[int]) -> None:
    """Take out the parts of which renaming leaves nothing; `emptied` have lost something."""
    seen.add(id(part))
    for step, child in list(part.parts.items()):
        if id(child) not in seen:
            _drop_emptied(child, emptied, seen)
        if id(child) in emptied and not child.parts:
            del part.parts[step]
            part.keys.pop(step, None)
            emptied.add(id(part))


def _what(part: Part) -> str:
    if part.kind == "array":
        return f"an array of the shape {tuple(part.data[2])} and dtype {part.data[1]}"
    return repr(part.data)


def _dtype(text: str) -> Any:
    return np.dtype(ast.literal_eval(text) if text.startswith("[") else text)


def _casts(old: Any, new: Any, cast: bool) -> bool:
    if not cast:
        return np.can_cast(old, new, "safe")
    return np.can_cast(old, new, "same_kind") or (old.kind in "biuf" and new.kind in "biufc")


def _step(key: Any, part: Part) -> str:
    """The step of a path that a key of a dict has in a description."""
    for step in (repr(key), str(key)):
        if step in part.keys and part.keys[step] == key:
            return step
    return str(key)


def _setter(do: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return lambda: do(*args)

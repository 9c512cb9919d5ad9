"""Text such as "f64[n, n], f64[n], axis=0" becomes what a library's function is called with.

Types are parameters, literals are constants of the library, and a size by itself is the int that is
that size. `Signature.samples` are arrays like those that it will be called with, for the trace.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit.base.spelling import no_such
from tracejit.frontend.capture.guards import Equal
from tracejit.frontend.tracing.pytree import flatten
from tracejit.ir.dims import Dim, Poly
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, Type, type_from_ast, type_sizes
from tracejit.runtime.call.entry_spec import ArrayLeaf, Leaf, NpScalarLeaf, ScalarLeaf
from tracejit.runtime.call.signature import Specialization

__all__ = ["Argument", "Signature", "SignatureError", "read_signature"]

#: What the first size is in samples whose arrays have so many axes at most; the next ones follow.
_SAMPLES = {3: 100, 4: 30, 6: 10}


class SignatureError(ValueError):
    """A signature that cannot be read, or that a library cannot have."""


@dataclass(frozen=True)
class Argument:
    """An argument: of a type; or the int that is a size; or a constant."""

    name: str
    type: Type | None = None
    size: str | None = None
    value: Any = None

    @property
    def is_constant(self) -> bool:
        """Whether it is the same in all calls."""
        return self.type is None and self.size is None


@dataclass(frozen=True)
class Signature:
    """The arguments of a function, in the order of its parameters; sizes with those of samples."""

    text: str
    arguments: tuple[Argument, ...]
    sizes: Mapping[str, int]
    positional: int

    def samples(self) -> tuple[list[Any], dict[str, Any]]:
        """Arguments to trace with: arrays of zeros, numbers that are 1."""
        values = [self._sample(a) for a in self.arguments]
        names = [a.name for a in self.arguments]
        named = dict(zip(names[self.positional :], values[self.positional :], strict=True))
        return values[: self.positional], named

    def _sample(self, a: Argument) -> Any:
        if isinstance(a.type, ArrayType):
            shape = [self._number(a.type.shape[axis]) for axis in a.type.order]
            return np.zeros(shape, a.type.dtype).transpose(np.argsort(a.type.order))
        if isinstance(a.type, NpScalar):
            return a.type.dtype.type(1)
        if isinstance(a.type, PyScalar):
            return a.type.dtype.type(1).item()
        return a.value if a.size is None else self.sizes[a.size]

    def _number(self, d: Dim) -> int:
        return d if isinstance(d, int) else self.sizes[str(d)]

    def specialization(self) -> Specialization:
        """What a trace assumes of the leaves of the arguments."""
        leaves: list[Leaf] = []
        types: list[Type | None] = []
        for a in self.arguments:
            leaf = _leaf(a)
            if leaf is not None:
                leaves.append(leaf)
                types.append(a.type)
                continue
            for x in flatten((a.value,), {})[0]:
                leaves.append(Equal(x))
                types.append(None)
        return Specialization(leaves, types, dict(self.sizes), {}, self.text)

    def places(self) -> list[int | None]:
        """For each argument the number of its leaf; None for a constant."""
        out: list[int | None] = []
        count = 0
        for a in self.arguments:
            out.append(None if a.is_constant else count)
            count += len(flatten((a.value,), {})[0]) if a.is_constant else 1
        return out


def _leaf(a: Argument) -> Leaf | None:
    if isinstance(a.type, ArrayType):
        dims = tuple(d if isinstance(d, int) else str(d) for d in a.type.shape)
        return ArrayLeaf(a.type.dtype, dims, "C" if a.type.is_c else "F")
    if isinstance(a.type, NpScalar):
        return NpScalarLeaf(a.type.dtype)
    if isinstance(a.type, PyScalar):
        return ScalarLeaf(a.type.kind)  # type: ignore[arg-type]
    return None if a.size is None else ScalarLeaf("int", a.size)


def read_signature(
    text: str, parameters: inspect.Signature, sizes: Mapping[str, int] | None = None
) -> Signature:
    """The signature that a text says, of a function with these parameters.

    `sizes` are those of samples, by name; what is not among them gets one of its own. Raises
    SignatureError.
    """
    call = _call(text)
    items = [*call.args, *(k.value for k in call.keywords)]
    types = [_type(item) for item in items]
    names = set().union(*(type_sizes(t) for t in types if isinstance(t, ArrayType)))
    read = [_argument(item, t, names) for item, t in zip(items, types, strict=True)]
    keywords = {str(k.arg): a for k, a in zip(call.keywords, read[len(call.args) :], strict=True)}
    try:
        bound = parameters.bind(*read[: len(call.args)], **keywords)
    except TypeError as error:
        raise SignatureError(f"{text!r}: {error}") from None
    for name in bound.arguments:
        if parameters.parameters[name].kind in (
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.VAR_KEYWORD,
        ):
            raise SignatureError(f"{text!r}: *{name} takes any number of arguments")
    arguments = tuple(
        Argument(name, a.type, a.size, a.value) for name, a in bound.arguments.items()
    )
    ordered = [n for t in types if isinstance(t, ArrayType) for d in t.shape for n in _name(d)]
    known = _samples(list(dict.fromkeys(ordered)), types, {} if sizes is None else sizes)
    return Signature(text, arguments, known, len(bound.args))


def _call(text: str) -> ast.Call:
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    except (SyntaxError, ValueError, AssertionError):
        raise SignatureError(f"not a signature: {text!r}") from None
    starred = any(isinstance(x, ast.Starred) for x in call.args)
    if starred or any(k.arg is None for k in call.keywords):
        raise SignatureError(f"a signature has no stars: {text!r}")
    return call


def _type(item: ast.expr) -> Type | None:
    if isinstance(item, ast.Constant):
        return None
    try:
        t = type_from_ast(item)
    except ValueError:
        return None
    if isinstance(t, PyScalar) and t.kind == "bool":
        raise SignatureError("a bool decides what is compiled: give True or False instead")
    if isinstance(t, ArrayType):
        _require_plain(t)
    return t


def _require_plain(t: ArrayType) -> None:
    """Raise SignatureError for an array that no caller could describe."""
    for d in t.shape:
        if isinstance(d, Poly) and str(d) not in d.symbols:
            raise SignatureError(f"{t}: sizes are numbers or names, not {d}")
        if isinstance(d, int) and d < 0:
            raise SignatureError(f"{t} has a negative size")
    if not t.is_c and t.order != tuple(reversed(range(t.ndim))):
        raise SignatureError(f"{t}: arrays lie in C order or in Fortran order")


def _name(d: Dim) -> list[str]:
    return [] if isinstance(d, int) else [str(d)]


def _argument(item: ast.expr, t: Type | None, sizes: set[str]) -> Argument:
    if t is not None:
        return Argument("", t)
    if isinstance(item, ast.Name):
        if item.id not in sizes:
            raise SignatureError(no_such("type or size", item.id, sorted(sizes)))
        return Argument("", size=item.id)
    try:
        value = ast.literal_eval(item)
    except ValueError:
        text = ast.unparse(item)
        raise SignatureError(f"{text} is neither a type nor a literal") from None
    if not _is_constant(value):
        raise SignatureError(f"{ast.unparse(item)} is no constant: numbers, texts and tuples are")
    return Argument("", value=value)


def _is_constant(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_constant, value))
    # What is infinite has no literal.
    finite = type(value) not in (float, complex) or bool(np.isfinite(value))
    return finite and type(value) in (int, float, complex, bool, str, bytes, type(None))


def _samples(
    names: Sequence[str], types: Sequence[Type | None], given: Mapping[str, int]
) -> dict[str, int]:
    """Sizes of samples: different ones, so that no two of them are taken for one."""
    for name in given:
        if given[name] < 2:
            raise SignatureError(f"{name} stands for sizes from 2 on; write {given[name]} itself")
    axes = max((t.ndim for t in types if isinstance(t, ArrayType)), default=0)
    first = next((n for most, n in _SAMPLES.items() if axes <= most), 4)
    return {name: given.get(name, first + k) for k, name in enumerate(names)}

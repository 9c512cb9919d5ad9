"""A function and a signature become an entry: a native program, and what its callers give and get.

Raises TraceError for a function that cannot be compiled, and `NotExported` for one whose program
needs Python while it runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tracejit.codegen.llvm.engine import HostTarget
from tracejit.codegen.program.emit import InputSlot, Program, emit_program
from tracejit.export.library.names import Names
from tracejit.export.library.refusals import NotExported, require_no_python
from tracejit.export.library.results import result_text
from tracejit.export.library.signatures import Argument, Signature
from tracejit.frontend.capture.captured import Call
from tracejit.frontend.tracing.pytree import flatten
from tracejit.ir.dims import Dim
from tracejit.ir.types import ArrayType, Type, dtype_name
from tracejit.passes.partition.pins import is_placed
from tracejit.runtime.call.entry_spec import (
    ArrayLeaf,
    EntrySpec,
    NpScalarLeaf,
    OutArray,
    OutMade,
    OutNpScalar,
    Output,
    OutPyScalar,
    ScalarLeaf,
)
from tracejit.runtime.compile.specialize import lower_chosen
from tracejit.runtime.compile.stages import Lowered, spec_of

__all__ = ["Captured", "Entry", "Parameter", "Result", "make_entry"]

#: The address of what makes new arrays, which a library has itself.
_MAKER = 1


@dataclass(frozen=True)
class Parameter:
    """What a caller gives: `dims` and `order` of an array, the kind of Python's number, or none of
    these for a NumPy scalar. `slot` is its place among what the program is given.
    """

    name: str
    c_name: str
    dtype: np.dtype[Any]
    slot: int
    dims: tuple[int | str, ...] | None = None
    order: Literal["C", "F"] = "C"
    is_stored: bool = False
    kind: str = ""

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return self.dims is not None


@dataclass(frozen=True)
class Result:
    """What a caller gets: an array of known shape, into memory of the caller; one whose `shape` is
    None, which the library makes; or a number, of Python where it has a kind. `order` lists the
    axes from the outermost in memory.
    """

    c_name: str
    dtype: np.dtype[Any]
    slot: int
    form: Literal["array", "made", "scalar"]
    shape: tuple[Dim, ...] | None = None
    ndim: int = 0
    order: tuple[int, ...] = ()
    kind: str = ""


@dataclass(frozen=True)
class Captured:
    """An array or a number from outside the function, as it is when the library is made."""

    value: Any
    slot: int

    @property
    def is_array(self) -> bool:
        """Whether the program is given its address."""
        return isinstance(self.value, np.ndarray)

    @property
    def bytes(self) -> bytes:
        """What lies at its slot, or where the slot points to."""
        return np.asarray(self.value).tobytes("A")


@dataclass(frozen=True)
class Entry:
    """One function of a library. `symbol` is its name in C, `program` that of its native code."""

    symbol: str
    program: str
    signature: Signature
    spec: EntrySpec
    parameters: tuple[Parameter, ...]
    results: tuple[Result, ...]
    captured: tuple[Captured, ...]
    #: A Python expression for the result, of the results `r` and the arguments `a`.
    result_form: str
    code: Program

    @property
    def sizes(self) -> tuple[str, ...]:
        """The sizes that callers give, in order."""
        return self.spec.sizes

    @property
    def text(self) -> str:
        """What it takes and gives, for people."""
        given = ", ".join(_argument_text(a) for a in self.signature.arguments)
        return f"({given}) -> {', '.join(map(_result_text, self.results)) or 'None'}"

    @property
    def given_back(self) -> str:
        """The result of the function by the names of C, where it is not the results in order."""
        text = re.sub(r"\br\[(\d+)\]", lambda m: self.results[int(m[1])].c_name, self.result_form)
        names = [r.c_name for r in self.results]
        return "" if text.strip("()") == ", ".join(names) else re.sub(r"a\['(\w+)'\]", r"\1", text)

    @property
    def rules(self) -> list[str]:
        """What holds of the sizes, for people."""
        guards = [f"{g.left} {g.relation} {g.right}" for g in self.spec.guards]
        return [f"{s} >= 2" for s in self.sizes] + guards

    @property
    def whole_text(self) -> str:
        """The text, with the rules."""
        return f"{self.text}{', where ' * bool(self.rules)}{', '.join(self.rules)}"


def make_entry(
    function: Any, signature: Signature, symbol: str, program: str, target: HostTarget
) -> Entry:
    """The entry of a function (decorated) for a signature."""
    args, kwargs = signature.samples()
    lowered = lower_chosen(function, args, kwargs, lambda _: signature.specialization())
    traced = lowered.traced
    _require_open_sizes(lowered)
    if traced.stores:
        raise NotExported("it stores into an object from outside", traced.place_of_store)
    if is_placed(traced.graph, ()):
        raise NotExported("it says on which devices it runs, and a library is on one")
    spec = spec_of(traced, traced.outputs)
    names = Names([*spec.sizes])
    parameters = _parameters(signature, spec, names)
    form = result_text(traced, [a.name for a in signature.arguments], signature.places())
    results = _results(lowered, spec, names)
    captured = _captured(lowered, args, kwargs, spec)
    assert spec.sizes == tuple(signature.sizes)
    code = _emitted(lowered, spec, program, target)
    require_no_python(code, lambda: _emitted(lowered, spec, program, target, debug=True).text)
    return Entry(symbol, program, signature, spec, parameters, results, captured, form, code)


def _require_open_sizes(lowered: Lowered) -> None:
    """Raise NotExported where a size by name has one value in all calls."""
    for left, relation, right in lowered.traced.guards:
        if relation == "==" and str(left) in lowered.traced.specialization.sizes:
            if isinstance(right, int):
                raise NotExported(
                    f"the program depends on the size {left}: write the number itself, such as "
                    f"{right}, in place of {left}"
                )


def _emitted(
    lowered: Lowered, spec: EntrySpec, program: str, target: HostTarget, debug: bool = False
) -> Program:
    types = lowered.traced.specialization.types
    slots = [slot for slot, t in zip(spec.leaf_slots, types, strict=False) if t is not None]
    sizes = {s: spec.size_slot + k for k, s in enumerate(spec.sizes)}
    outs = spec.out_slots[: len(spec.outputs)]
    given = (lowered.dataflow, [InputSlot(slot) for slot in slots], outs, sizes, program, target)
    return emit_program(*given, maker=_MAKER, threads=lowered.threads, debug=debug)


def _parameters(signature: Signature, spec: EntrySpec, names: Names) -> tuple[Parameter, ...]:
    out = []
    for a, place in zip(signature.arguments, signature.places(), strict=True):
        if a.type is None or place is None:
            continue
        leaf, slot = spec.leaves[place][1], spec.leaf_slots[place]
        c_name = names.new(a.name)
        if isinstance(leaf, ArrayLeaf):
            assert leaf.layout != "A"
            fixed = (a.name, c_name, leaf.dtype, slot, leaf.dims, leaf.layout, leaf.writeable)
            out.append(Parameter(*fixed))
        elif isinstance(leaf, ScalarLeaf):
            dtype = np.dtype({"int": "i8", "float": "f8", "complex": "c16"}[leaf.kind])
            out.append(Parameter(a.name, c_name, dtype, slot, kind=leaf.kind))
        else:
            assert isinstance(leaf, NpScalarLeaf)
            out.append(Parameter(a.name, c_name, leaf.dtype, slot))
    return tuple(out)


def _results(lowered: Lowered, spec: EntrySpec, names: Names) -> tuple[Result, ...]:
    single = len(spec.outputs) == 1
    given = zip(spec.outputs, spec.out_slots, lowered.traced.graph.outputs, strict=False)
    return tuple(
        _result(output, names.new("out" if single else f"out{k}", "_shape"), slot, v.type)
        for k, (output, slot, v) in enumerate(given)
    )


def _result(output: Output, c_name: str, slot: int, t: Type) -> Result:
    match output:
        case OutArray(dtype, shape, order):
            return Result(c_name, dtype, slot, "array", shape, len(shape), order)
        case OutMade(dtype, ndim):
            assert isinstance(t, ArrayType)
            return Result(c_name, dtype, slot, "made", ndim=ndim, order=t.order)
        case OutNpScalar(dtype):
            return Result(c_name, dtype, slot, "scalar")
        case OutPyScalar(kind):
            dtype = np.dtype({"int": "i8", "float": "f8", "complex": "c16", "bool": "?"}[kind])
            return Result(c_name, dtype, slot, "scalar", kind=kind)
    raise NotExported(f"a result is {type(output).__name__}")


def _captured(lowered: Lowered, args: Any, kwargs: Any, spec: EntrySpec) -> tuple[Captured, ...]:
    """The values of what the function reads from outside."""
    traced = lowered.traced
    if traced.capture is None:
        return ()
    found = traced.capture.reread(Call(flatten(args, kwargs)[0], (tuple(args), kwargs)))
    if isinstance(found, str):
        raise NotExported(f"what it reads from outside does not stay: {found}")
    out = []
    for k, value in enumerate(found, traced.given):
        leaf = spec.leaves[k][1]
        if isinstance(leaf, ArrayLeaf) and leaf.writeable:
            where = traced.place_of_store
            raise NotExported("it stores into an array from outside the function", where)
        if isinstance(leaf, ArrayLeaf) and leaf.layout == "A":
            name = traced.names[k]
            raise NotExported(f"an array from outside the function is not contiguous: {name}")
        if traced.specialization.types[k] is None:
            raise NotExported("it changes an object from outside the function")
        out.append(Captured(value, spec.leaf_slots[k]))
    return tuple(out)


def _argument_text(a: Argument) -> str:
    return f"{a.name}: {a.type}" if a.type is not None else f"{a.name} = {a.size or repr(a.value)}"


def _result_text(r: Result) -> str:
    if r.form == "scalar":
        return r.kind or dtype_name(r.dtype)
    shape = ("?",) * r.ndim if r.shape is None else r.shape
    return f"{dtype_name(r.dtype)}[{', '.join(map(str, shape)) or '()'}]"

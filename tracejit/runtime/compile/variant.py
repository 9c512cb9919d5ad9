"""A lowered trace becomes machine code that answers calls: program, entry, results around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.analysis.buffer_plan import copies_word
from tracejit.codegen.llvm.engine import compile_module
from tracejit.errors import GivenTwice, TraceError, Where
from tracejit.frontend.capture.captured import Call
from tracejit.frontend.tracing.pytree import TreeDef
from tracejit.ir.kernel import Stmt, inner_bodies, place_of
from tracejit.runtime import native
from tracejit.runtime.call.binding import Form
from tracejit.runtime.call.entry_spec import ArrayLeaf, EntrySpec
from tracejit.runtime.compile.results import Results, make_results
from tracejit.runtime.compile.stages import Lowered, Traced
from tracejit.runtime.native import BAIL, MISS

__all__ = ["Variant", "compile_variant"]


@dataclass
class Variant:
    """A compiled specialisation of one structure of arguments."""

    traced: Traced
    #: What the program takes and gives: flat leaves and outputs.
    spec: EntrySpec
    #: The arguments around the leaves.
    arguments: TreeDef
    #: The symbol of the program in `library`, which is None where processes run it.
    name: str
    library: Any
    #: Makes the user's result; None where the outputs are it already.
    results: Results | None
    #: Forms of call that are answered natively, or never will be.
    forms: set[Form] = field(default_factory=set)
    #: Its published entry, for the call that it was compiled for; MISS and BAIL as for leaves.
    first: Callable[..., Any] | None = None
    #: The checks of that entry; None where only Python calls it.
    call_spec: EntrySpec | None = None
    #: Whether it saves more than the dispatch costs.
    is_worthwhile: bool = True
    #: What outside the arguments has changed since the trace.
    stale: str = ""
    #: What captured arrays are for a device.
    dress: Callable[[Sequence[Any]], list[Any]] | None = None
    _entry: Callable[..., Any] | None = None

    def __call__(self, call: Call) -> Any:
        """The user's result; MISS or BAIL."""
        leaves = call.leaves
        capture = self.traced.capture
        if capture is not None:
            captured = capture.reread(call)
            if isinstance(captured, str):
                self.stale = captured
                return MISS
            self.stale = ""
            leaves = [*leaves, *(captured if self.dress is None else self.dress(captured))]
        entry = self._entry
        if entry is None:
            entry = self._entry = self._flat_entry()
        outputs = entry(*leaves)
        if outputs is MISS or outputs is BAIL or self.results is None:
            return outputs
        return self.results(outputs, leaves)

    def refusal(self, call: Call) -> TraceError | None:
        """Why it must not write to some of these leaves; None where it may or does not.

        Raises GivenTwice.
        """
        leaves = call.leaves
        if self.traced.capture is not None and self.traced.capture.is_given_twice(call):
            raise GivenTwice
        known = self.traced.specialization.leaves
        if not any(isinstance(leaf, ArrayLeaf) and leaf.writeable for leaf in known):
            return None
        capture = self.traced.capture
        if capture is not None:
            captured = capture.reread(call)
            if isinstance(captured, str):
                return None
            leaves = [*leaves, *captured]
        from tracejit.runtime.call.aliasing import why_not_written

        found = why_not_written(known, leaves, self.traced.names)
        return None if found is None else TraceError(*found, self.traced.place_of_store)

    def _flat_entry(self) -> Callable[..., Any]:
        if not native.available():
            from tracejit.runtime.native.python_entry import PythonEntry

            return PythonEntry(self.spec, self.library.address(self.name))
        name = f"{self.name}_flat"
        return native.flat_callable(self.link(self.spec, name), name, self.spec)

    def link(self, spec: EntrySpec, name: str) -> Any:
        """A library with one more entry for the program."""
        glue, symbols = native.entry_ir(spec, self.name, name)
        symbols[self.name] = self.library.address(self.name)
        if spec.tells_copies:
            symbols[copies_word(self.name)] = self.library.address(copies_word(self.name))
        exports = native.entry_exports(name)
        return compile_module("", symbols, exports, glue=glue, keep=(self.library, spec))


def _shown(symbol: str, lowered: Lowered) -> str:
    """What profilers call a function of a program: kernels by their lines."""
    name, kernels = lowered.traced.graph.name, {k.name: k for k in lowered.program.kernels}
    symbol = symbol.removesuffix(".part")  # of a kernel that threads share
    if symbol not in kernels:
        kind = "the call" if symbol.endswith("_entry") else "between kernels"
        own = symbol.startswith(lowered.name)
        return f"{name} ({kind})" if own else f"{name} ({symbol})"
    places = sorted({(where.file, where.line) for where in _places(kernels[symbol].body)})
    found = [str(Where(*place)) for place in places]
    return f"{name} (kernel of {', '.join(found) or symbol})"


def _places(body: Sequence[Stmt]) -> Iterator[Where]:
    for stmt in body:
        if (where := place_of(stmt)) is not None:
            yield where
        for inner in inner_bodies(stmt):
            yield from _places(inner)


def compile_variant(
    lowered: Lowered, arguments: TreeDef, call: EntrySpec | None, entry_name: str
) -> Variant:
    """Compile a program, and with it the entry `call` under the name `entry_name` if there is one.

    Without one the program's library has an entry for flat leaves, where native entries work.
    Raises TraceError for what has no native code.
    """
    flat, program = lowered.spec, lowered.program
    glue, symbols, exports = "", dict[str, int](), [lowered.name]
    exports += [copies_word(lowered.name)] if program.tells_copies else []
    if native.available():
        glue, symbols = native.entry_ir(call or flat, lowered.name, entry_name)
        exports += native.entry_exports(entry_name)
    library = compile_module(
        program.text,
        {**program.symbols, **symbols},
        exports,
        glue=glue,
        keep=(program.keep, call or flat),
        shown=lambda symbol: _shown(symbol, lowered),
    )
    results = make_results(lowered.traced)
    variant = Variant(lowered.traced, flat, arguments, lowered.name, library, results)
    if lowered.captures_arrays:
        variant.dress = lowered.device.captured
    if call is None and native.available():
        variant._entry = native.flat_callable(library, entry_name, flat)
    return variant

"""LLVM IR text becomes machine code in this process: parse, verify, emit, link.

One target machine and one ORC JIT serve the whole process; what is compiled for another processor
has target machines of its own. LLVM is loaded by the first use of
anything here, never by the import. No optimisation pipeline runs: the text is explicit already,
and compile time is the size of the text (half a millisecond for each function at least). The
exception are modules with an attribute "tracejit-loops": loops over single elements, as the user
wrote them, are vectorised and unrolled by LLVM, which keeps the order of all operations on floats.
Glue, code that runs once a call, goes through LLVM's fast instruction selection: a sixth of the
time.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tracejit import config
from tracejit.base.deadlines import require_lines
from tracejit.base.locks import once, once_computed
from tracejit.codegen.llvm import api
from tracejit.codegen.llvm.targets import HostTarget, host_target
from tracejit.link.elf import lay_out
from tracejit.link.finding import c_address
from tracejit.link.handles import Handle, handle
from tracejit.link.image import Image, LinkError
from tracejit.link.loader import Loaded, load, supported

__all__ = [
    "CompileError",
    "HostTarget",
    "Library",
    "PARTS",
    "assembly",
    "compile_module",
    "host_target",
    "load_object",
    "located_assembly",
    "object_code",
    "object_files",
    "optimized_text",
]

_T = TypeVar("_T")

#: Numbers of libraries.
_NAMES = itertools.count()
#: Between the modules of one text, which see each other's functions.
PARTS = "\n; ---- module ----\n"
#: LLVM's level for modules with loops over single elements.
_LOOP_LEVEL = 2


class CompileError(RuntimeError):
    """LLVM refused a module or could not link it; a defect of the generator, not of the user."""


# JITLink keeps a library's sections in one slab, so that position independent code of the
# small model always reaches them; what lies farther away goes through its own GOT.
_JIT_LINK = sys.platform != "win32"
#: Joined truth values of a module that simplifycfg copes with: it folds branches on those that are
#: joined from each other into their successors, which doubles its time again and again.
_MOST_JOINED = 64


class _Compiler:
    """The target machines of one processor, and the passes for it.

    All of them the process keeps for good: code that a library has linked may need it.
    """

    def __init__(self, cpu: str, features: str) -> None:
        self._cpu, self._features = cpu, features
        self.machine = self._machine(2)
        self.triple = api.machine_triple(self.machine)
        self.layout = api.data_layout(self.machine)

    def _machine(self, level: int) -> int:
        models = ("pic", "small") if _JIT_LINK else ("default", "jitdefault")
        return api.create_machine(self._cpu, self._features, level, *models)

    @once_computed
    def glue_machine(self) -> int:
        """The machine of fast instruction selection."""
        return self._machine(0)

    @once_computed
    def jit(self) -> int:
        """The JIT that links what this package's own linker does not."""
        return api.create_jit(self._machine(2), _JIT_LINK)

    @once_computed
    def builder(self) -> int:
        """The builder for `cleaner`."""
        return api.create_pass_builder(self.machine)

    @once_computed
    def cleaner(self) -> int:
        """The passes that every kernel goes through."""
        return api.create_simplifier()

    @once_computed
    def loop_builder(self) -> int:
        """The builder for modules with loops over single elements."""
        return api.create_pass_builder(self.machine, loops=True)

    def with_module(self, ir_text: str, simplifycfg: bool, use: Callable[[int], _T]) -> _T:
        """What `use` makes of the verified module of a text. Raises CompileError for a bad one."""

        def simplified(module: int) -> _T:
            if simplifycfg and ir_text.count("= phi i1 ") <= _MOST_JOINED:
                api.simplify(module, self.cleaner, self.builder)
                if '"tracejit-loops"' in ir_text:
                    api.optimize(module, self.loop_builder, _LOOP_LEVEL)
            return use(module)

        try:
            return api.with_module(ir_text, self.triple, self.layout, simplified)
        except RuntimeError as error:
            raise CompileError(f"invalid LLVM IR: {error}") from error


@once
def _compiler(target: HostTarget | None = None) -> _Compiler:
    """That of the host, or of all processors with the name of a target."""
    level = target or host_target()
    if not level.own_bits:
        return _Compiler(level.cpu, "")
    _, cpu, present = api.host()
    flags = (f"{'-+'[on]}{name}" for name, on in sorted(present.items()))
    return _Compiler(cpu, ",".join(flags))


class Library:
    """Linked machine code. It is unloaded when the last reference to this object dies."""

    __slots__ = ("__weakref__", "_addresses", "_code", "_keep", "made_of", "name", "size")

    #: The image and the addresses of its imports, for whoever writes it into a file and then
    #: clears this; no image where LLVM has linked it.
    made_of: tuple[Image | None, dict[str, int]] | None

    def __init__(
        self, name: str, code: Handle, addresses: Mapping[str, int], keep: Any, size: int
    ) -> None:
        self.name = name
        self.size = size
        self._code = code
        self._addresses = dict(addresses)
        self._keep = keep
        self.made_of = None

    def address(self, symbol: str) -> int:
        """The address of an exported symbol. Raises KeyError if it was not exported."""
        return self._addresses[symbol]

    def __repr__(self) -> str:
        return f"<Library {self.name}: {', '.join(sorted(self._addresses))}>"


def _emit(
    ir_text: str, simplifycfg: bool, glue: bool = False, target: HostTarget | None = None
) -> bytes:
    """Object code, for the host where there is no other target."""
    require_lines(ir_text.count("\n"), glue)
    # The host may lack what its processor's name stands for.
    compiler = _compiler() if target in (None, host_target()) else _compiler(target)
    machine = compiler.glue_machine if glue else compiler.machine

    def machine_code(module: int) -> bytes:
        made: bytes = api.machine_code(machine, module)
        return made

    return compiler.with_module(ir_text, simplifycfg and not glue, machine_code)


def _parts(ir_text: str) -> list[str]:
    """The modules of a text."""
    return ir_text.split(PARTS)


def compile_module(
    ir_text: str,
    symbols: Mapping[str, int],
    exports: Sequence[str],
    *,
    simplifycfg: bool = True,
    glue: str = "",
    keep: Any = None,
    shown: Callable[[str], str] = str,
) -> Library:
    """Compile LLVM text and link it with `symbols` (name -> address).

    Functions that the text declares and `symbols` lacks are looked up in libm and the process.
    `glue` is the text of a second module of the same library, such as a native entry, which is
    compiled fast rather than well; each module sees what the other defines with external linkage.
    Either text may be empty.
    `keep` is held for as long as the library lives: what its symbols point to. `shown` is what
    profilers are to call a function of the text.
    Raises CompileError if LLVM refuses the text or a symbol has no address.
    """
    modules = [_emit(part, simplifycfg) for part in _parts(ir_text)] if ir_text else []
    if glue:
        modules.append(_emit(glue, simplifycfg, glue=True))
    return load_object(modules, symbols, exports, keep=keep, shown=shown)


def load_object(
    code: bytes | Sequence[bytes],
    symbols: Mapping[str, int],
    exports: Iterable[str],
    *,
    keep: Any = None,
    shown: Callable[[str], str] = str,
) -> Library:
    """Link object code that `object_code` made, in this process or an earlier one.

    Raises CompileError if a symbol has no address.
    """
    objects = [code] if isinstance(code, bytes) else list(code)
    for symbol, address in symbols.items():
        if not address:
            raise CompileError(f"symbol {symbol} has no address")
    number = next(_NAMES)
    name = f"tracejit.{number}"
    if supported():
        image, bound, code_in_memory = _laid_out(objects, symbols, exports)
        addresses = {symbol: code_in_memory.address(symbol) for symbol in image.exports}
        linked: Any = code_in_memory
    else:
        image, bound = None, {}
        linked, addresses = _linked(name, objects, symbols, exports)
    if how := config.perf():
        from tracejit.codegen.llvm.perf import note_code

        note_code(how, objects, addresses, shown)
    library = Library(name, linked, addresses, keep, sum(map(len, objects)))
    library.made_of = image, bound
    return library


def _laid_out(
    objects: Sequence[bytes], symbols: Mapping[str, int], exports: Iterable[str]
) -> tuple[Image, dict[str, int], Loaded]:
    """The image of object files, the addresses of its imports, and the image in memory."""
    try:
        image = lay_out(objects, list(exports))
        bound = {name: symbols.get(name) or c_address(name) for name in image.imports}
        return image, bound, load(image, list(bound.values()))
    except KeyError as error:
        raise CompileError(f"cannot link: symbol {error.args[0]} is nowhere") from error
    except LinkError as error:
        raise CompileError(f"cannot link: {error}") from error


def _linked(
    name: str, objects: Sequence[bytes], symbols: Mapping[str, int], exports: Iterable[str]
) -> tuple[Handle, dict[str, int]]:
    """What keeps object code in memory that LLVM has linked, and the addresses of its exports."""
    compiler = _compiler()
    c_address("exp")  # What else there is of the kind becomes visible to the JIT's search.
    try:
        tracker, addresses = api.link(compiler.jit, name, objects, symbols, list(exports))
    except RuntimeError as error:
        raise CompileError(f"cannot link: {error}") from error
    return handle(lambda: api.unload(tracker)), addresses


def object_code(ir_text: str, *, simplifycfg: bool = True, glue: bool = False) -> bytes:
    """The relocatable object file of LLVM text, compiled fast rather than well if it is glue.

    Raises CompileError if LLVM refuses it.
    """
    return _emit(ir_text, simplifycfg, glue)


def object_files(ir_text: str, target: HostTarget | None = None) -> list[bytes]:
    """The position independent object files of the modules of a text, for any processor of the
    target, or for the host. Raises CompileError if LLVM refuses it.
    """
    return [_emit(part, True, target=target) for part in _parts(ir_text)]


def assembly(ir_text: str, *, simplifycfg: bool = True) -> str:
    """The host's assembly of LLVM text. Raises CompileError if LLVM refuses it."""
    return "\n".join(line for line, _ in located_assembly(ir_text, simplifycfg=simplifycfg))


def located_assembly(
    ir_text: str, *, simplifycfg: bool = True
) -> list[tuple[str, tuple[str, int] | None]]:
    """The lines of the host's assembly, each with its (file, line) where the text has debug
    metadata. Raises CompileError if LLVM refuses the text.
    """

    from tracejit.codegen.llvm.debug_info import assembly_places

    compiler = _compiler()

    def emit(module: int) -> str:
        code: bytes = api.machine_code(compiler.machine, module, assembly=True)
        return code.decode()

    return [
        located
        for part in _parts(ir_text)
        for located in assembly_places(compiler.with_module(part, simplifycfg, emit))
    ]


def optimized_text(ir_text: str) -> str:
    """LLVM text after the passes that `compile_module` runs: what the machine code is made from."""
    compiler = _compiler()
    parts = _parts(ir_text)
    return "\n".join(compiler.with_module(p, True, api.print_module) for p in parts)

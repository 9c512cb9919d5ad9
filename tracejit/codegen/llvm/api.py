"""LLVM by its C functions: what is created here is freed here, in order.

An object of LLVM is the number of its address. llvmlite's own objects free what they stand for when
they are finalized: in any order where a cycle of garbage holds them, and twice where an interrupt
strikes while they are closed. What is used here has no finalizers: a frame that someone keeps and
an interrupt at any point may leak an object of LLVM, no more. One thread is in LLVM at a time.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tracejit.base.locks import once, short_lock
from tracejit.codegen.llvm.library import LinkElement, SymbolAddress, functions

__all__ = [
    "alone",
    "create_jit",
    "create_machine",
    "create_pass_builder",
    "create_simplifier",
    "data_layout",
    "host",
    "link",
    "machine_code",
    "machine_triple",
    "optimize",
    "print_module",
    "simplify",
    "unload",
    "with_module",
]

_T = TypeVar("_T")

#: A fork waits for whoever is in LLVM.
_LOCK = short_lock()
#: llvmlite's own lock, when another package has imported its classes.
_OTHERS: list[Any] = []


def _others_lock() -> Any:
    if not _OTHERS:
        library = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
        lock = getattr(getattr(library, "_lock", None), "_lock", None)
        if lock is None:
            return _LOCK
        _OTHERS.append(short_lock(lock))
    return _OTHERS[0]


def alone(work: Callable[[], _T]) -> _T:
    """What `work` gives while no other thread is in LLVM."""
    with _LOCK, _others_lock():
        return work()


def _call(function: Any, *arguments: Any) -> tuple[Any, str]:
    """The result of a function whose last parameter is for a text, and that text."""
    text = ctypes.c_char_p()
    result = function(*arguments, ctypes.byref(text))
    said = text.value
    if said is not None:
        functions().DisposeString(text)
    return result, (said or b"").decode("utf-8", "replace")


@once
def host() -> tuple[str, str, Mapping[str, bool]]:
    """The triple of the process, the name of the CPU, and whether it has each of the features."""

    def work() -> tuple[str, str, Mapping[str, bool]]:
        lib = functions()
        known, found = _call(lib.GetHostCPUFeatures)
        features = {x[1:]: x[0] == "+" for x in found.split(",") if x} if known else {}
        return _call(lib.GetProcessTriple)[1], _call(lib.GetHostCPUName)[1], features

    return alone(work)


@once
def _target() -> int:
    """The target of the host's triple."""
    lib = functions()
    lib.InitializeNativeTarget()
    lib.InitializeNativeAsmPrinter()
    lib.InitializeNativeAsmParser()
    target, refused = _call(lib.GetTargetFromTriple, host()[0].encode())
    if not target:
        raise RuntimeError(refused)
    return int(target)


def create_machine(cpu: str, features: str, level: int, relocation: str, code_model: str) -> int:
    """A new target machine for a processor of the host's kind, for good. Raises RuntimeError."""

    def work() -> int:
        triple = host()[0]
        # Object files are ELF on Windows too, where LLVM chooses the code model.
        if sys.platform == "win32" and code_model == "jitdefault":
            triple += "-elf"
        texts = (triple.encode(), cpu.encode(), features.encode())
        models = (relocation.encode(), code_model.encode())
        create = functions().CreateTargetMachine
        machine = create(_target(), *texts, level, *models, 0, 1, b"")
        if not machine:
            raise RuntimeError("LLVM has no target machine for this host")
        return int(machine)

    return alone(work)


def machine_triple(machine: int) -> str:
    """The triple of a target machine."""
    return alone(lambda: _call(functions().GetTargetMachineTriple, machine)[1])


def data_layout(machine: int) -> str:
    """The data layout of a target machine."""

    def work() -> str:
        lib = functions()
        data = lib.CreateTargetMachineData(machine)
        try:
            return _call(lib.CopyStringRepOfTargetData, data)[1]
        finally:
            lib.DisposeTargetData(data)

    return alone(work)


def create_jit(machine: int, jit_link: bool) -> int:
    """A new ORC JIT, for good, which takes possession of the machine. Raises RuntimeError."""

    def work() -> int:
        jit, refused = _call(functions().CreateLLJITCompiler, machine, True, jit_link)
        if not jit:
            raise RuntimeError(refused)
        return int(jit)

    return alone(work)


def create_pass_builder(machine: int, loops: bool = False) -> int:
    """A new pass builder, for good; its pipelines vectorise and unroll loops if `loops`."""

    def work() -> int:
        lib = functions()
        options = lib.CreatePipelineTuningOptions()
        if loops:
            lib.PTOSetLoopVectorization(options, True)
            lib.PTOSetLoopInterleaving(options, True)
            lib.PTOSetLoopUnrolling(options, True)
        try:
            return int(lib.CreatePassBuilder(machine, options))
        finally:
            lib.DisposePipelineTuningOptions(options)

    return alone(work)


def create_simplifier() -> int:
    """A new pass manager of the pass simplifycfg, for good."""

    def work() -> int:
        passes = functions().CreateNewFunctionPassManager()
        functions().function_AddSimplifyCFGPass(passes)
        return int(passes)

    return alone(work)


def _definitions(module: int) -> Iterator[int]:
    """The functions that a module defines."""
    lib = functions()
    iterator = lib.ModuleFunctionsIter(module)
    try:
        while function := lib.FunctionsIterNext(iterator):
            if not lib.IsDeclaration(function):
                yield function
    finally:
        lib.DisposeFunctionsIter(iterator)


def simplify(module: int, simplifier: int, builder: int) -> None:
    """Run the passes of `create_simplifier` over each function of a module."""
    for function in list(_definitions(module)):
        functions().RunNewFunctionPassManager(simplifier, function, builder)


def with_module(ir_text: str, triple: str, layout: str, use: Callable[[Any], _T]) -> _T:
    """What `use` makes of the verified module of a text. The module is gone when this returns.

    Raises RuntimeError if LLVM refuses the text.
    """

    def work() -> _T:
        lib = functions()
        # A context of its own frees its types and constants, and its modules, with itself.
        context = lib.ContextCreate()
        try:
            text = ctypes.c_char_p(ir_text.encode())
            module, refused = _call(lib.ParseAssembly, context, text)
            if refused or not module:
                raise RuntimeError(f"LLVM IR parsing error\n{refused}")
            lib.SetTarget(module, triple.encode())
            lib.SetDataLayout(module, layout.encode())
            wrong, why = _call(lib.VerifyModule, module)
            if wrong:
                raise RuntimeError(why)
            return use(module)
        finally:
            lib.ContextDispose(context)

    return alone(work)


def print_module(module: int) -> str:
    """A module as LLVM text."""
    return _call(functions().PrintModuleToString, module)[1]


def optimize(module: int, builder: int, level: int) -> None:
    """Run the pipeline of a level over a module. A pipeline serves once."""
    lib = functions()
    passes = lib.buildPerModuleDefaultPipeline(builder, level)
    try:
        lib.RunNewModulePassManager(passes, module, builder)
    finally:
        lib.DisposeNewModulePassManger(passes)


def machine_code(machine: int, module: int, assembly: bool = False) -> bytes:
    """The object file of a module, or its assembly."""
    lib = functions()
    emit = lib.TargetMachineEmitToMemory
    buffer, refused = _call(emit, machine, module, int(not assembly))
    if not buffer:
        raise RuntimeError(refused)
    try:
        size = lib.GetBufferSize(buffer)
        return ctypes.string_at(lib.GetBufferStart(buffer), size)
    finally:
        lib.DisposeMemoryBuffer(buffer)


def link(
    jit: int,
    name: str,
    objects: Sequence[bytes],
    symbols: Mapping[str, int],
    exports: Sequence[str],
) -> tuple[Any, dict[str, int]]:
    """What `unload` takes, and the addresses of the exports. A name serves once.

    Raises RuntimeError if LLVM cannot link the object files.
    """
    elements = (LinkElement * (len(objects) + 1))()
    for element, image in zip(elements, objects, strict=False):
        element.element_kind, element.value, element.value_len = 2, image, len(image)
    # The last one is the process.
    elements[-1].element_kind, elements[-1].value = 3, b""
    imported = (SymbolAddress * len(symbols))()
    for place, (symbol, address) in zip(imported, symbols.items(), strict=True):
        place.name, place.address = symbol.encode(), address
    exported = (SymbolAddress * len(exports))()
    for place, symbol in zip(exported, exports, strict=True):
        place.name = symbol.encode()
    tables = (elements, len(elements), imported, len(imported), exported, len(exported))
    function = functions().LLJIT_Link
    tracker, refused = alone(lambda: _call(function, jit, name.encode(), *tables))
    if not tracker:
        raise RuntimeError(refused)
    return tracker, {symbol: p.address for symbol, p in zip(exports, exported, strict=True)}


def unload(tracker: Any) -> None:
    """Take linked code out of memory."""
    alone(lambda: _call(functions().LLJIT_Dylib_Tracker_Dispose, tracker))

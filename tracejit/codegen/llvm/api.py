"""LLVM by the C functions of llvmlite: what is created here is freed here, in order.

llvmlite's own objects free what they stand for when they are finalized: in any order where a cycle
of garbage holds them, and twice where an interrupt strikes while they are closed. What is used here
has no finalizers: a frame that someone keeps and an interrupt at any point may leak an object of
LLVM, no more. One thread is in LLVM at a time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import llvmlite.binding as llvm
from llvmlite.binding import ffi, orcjit

from tracejit.locks import short_lock

__all__ = [
    "alone",
    "link",
    "machine_code",
    "optimize",
    "print_module",
    "unload",
    "with_module",
]

_T = TypeVar("_T")

#: llvmlite's own lock, so that a fork waits for whoever is in LLVM.
_LOCK = short_lock(getattr(getattr(ffi.lib, "_lock", None), "_lock", None))


def alone(work: Callable[[], _T]) -> _T:
    """What `work` gives while no other thread is in LLVM."""
    outermost = not _LOCK._is_owned()
    try:
        with _LOCK:
            return work()
    finally:
        # An interrupt inside llvmlite may have left its lock taken once more.
        while outermost and _LOCK._is_owned():
            _LOCK.release()


def _call(function: Any, *arguments: Any) -> tuple[Any, str]:
    """The result of a function whose last parameter is for a text, and that text."""
    text = ctypes.c_char_p()
    result = function(*arguments, ctypes.byref(text))
    said = text.value
    if said is not None:
        ffi.lib.LLVMPY_DisposeString(text)
    return result, (said or b"").decode("utf-8", "replace")


class _Module(llvm.ModuleRef):  # type: ignore[misc]
    """A module, which its context owns."""

    _owned = True


def with_module(ir_text: str, triple: str, layout: str, use: Callable[[Any], _T]) -> _T:
    """What `use` makes of the verified module of a text. The module is gone when this returns.

    Raises RuntimeError if LLVM refuses the text.
    """

    def work() -> _T:
        # A context of its own frees its types and constants, and its modules, with itself.
        context = ffi.lib.LLVMPY_ContextCreate()
        try:
            text = ctypes.c_char_p(ir_text.encode())
            pointer, refused = _call(ffi.lib.LLVMPY_ParseAssembly, context, text)
            if refused or not pointer:
                raise RuntimeError(f"LLVM IR parsing error\n{refused}")
            module = _Module(pointer, None)
            module.triple = triple
            module.data_layout = layout
            wrong, why = _call(ffi.lib.LLVMPY_VerifyModule, module)
            if wrong:
                raise RuntimeError(why)
            return use(module)
        finally:
            ffi.lib.LLVMPY_ContextDispose(context)

    return alone(work)


def print_module(module: Any) -> str:
    """A module as LLVM text."""
    return _call(ffi.lib.LLVMPY_PrintModuleToString, module)[1]


def optimize(module: Any, builder: Any, level: int) -> None:
    """Run the pipeline of a level over a module. A pipeline serves once."""
    passes = ffi.lib.LLVMPY_buildPerModuleDefaultPipeline(builder, level)
    try:
        ffi.lib.LLVMPY_RunNewModulePassManager(passes, module, builder)
    finally:
        ffi.lib.LLVMPY_DisposeNewModulePassManger(passes)


def machine_code(machine: Any, module: Any, assembly: bool = False) -> bytes:
    """The object file of a module, or its assembly."""
    emit = ffi.lib.LLVMPY_TargetMachineEmitToMemory
    buffer, refused = _call(emit, machine, module, int(not assembly))
    if not buffer:
        raise RuntimeError(refused)
    try:
        size = ffi.lib.LLVMPY_GetBufferSize(buffer)
        return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), size)
    finally:
        ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


def link(
    jit: Any,
    name: str,
    objects: Sequence[bytes],
    symbols: Mapping[str, int],
    exports: Sequence[str],
) -> tuple[Any, dict[str, int]]:
    """What `unload` takes, and the addresses of the exports. A name serves once.

    Raises RuntimeError if LLVM cannot link the object files.
    """
    elements = (orcjit._LinkElement * (len(objects) + 1))()
    for element, image in zip(elements, objects, strict=False):
        element.element_kind, element.value, element.value_len = 2, image, len(image)
    # The last one is the process.
    elements[-1].element_kind, elements[-1].value = 3, b""
    imported = (orcjit._SymbolAddress * len(symbols))()
    for place, (symbol, address) in zip(imported, symbols.items(), strict=True):
        place.name, place.address = symbol.encode(), address
    exported = (orcjit._SymbolAddress * len(exports))()
    for place, symbol in zip(exported, exports, strict=True):
        place.name = symbol.encode()
    tables = (elements, len(elements), imported, len(imported), exported, len(exported))
    function = ffi.lib.LLVMPY_LLJIT_Link
    tracker, refused = alone(lambda: _call(function, jit, name.encode(), *tables))
    if not tracker:
        raise RuntimeError(refused)
    return tracker, {symbol: p.address for symbol, p in zip(exports, exported, strict=True)}


def unload(tracker: Any) -> None:
    """Take linked code out of memory."""
    alone(lambda: _call(ffi.lib.LLVMPY_LLJIT_Dylib_Tracker_Dispose, tracker))

"""LLVM's C functions in llvmlite's shared library, with their types, without its Python classes.

Importing those classes takes three times as long as loading the library.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

from tracejit.base.locks import once

__all__ = ["LinkElement", "SymbolAddress", "functions"]


class LinkElement(ctypes.Structure):
    """What a library is linked of: an object file (kind 2), the process (kind 3)."""

    _fields_ = [
        ("element_kind", ctypes.c_uint8),
        ("value", ctypes.c_char_p),
        ("value_len", ctypes.c_size_t),
    ]


class SymbolAddress(ctypes.Structure):
    """A symbol and its address."""

    _fields_ = [("name", ctypes.c_char_p), ("address", ctypes.c_uint64)]


#: Letters for types. A handle of an object of LLVM is a pointer.
_TYPES: dict[str, Any] = {
    "-": None,
    "b": ctypes.c_bool,
    "i": ctypes.c_int,
    "n": ctypes.c_size_t,
    "p": ctypes.c_void_p,
    "s": ctypes.c_char_p,
    "t": ctypes.POINTER(ctypes.c_char_p),  # where a text is written
    "A": ctypes.POINTER(SymbolAddress),
    "E": ctypes.POINTER(LinkElement),
}
#: The type of the result of each function that is used, and those of the parameters.
_SIGNATURES = {
    "ContextCreate": "p",
    "ContextDispose": "-p",
    "CopyStringRepOfTargetData": "-pt",
    "CreateLLJITCompiler": "ppbbt",
    "CreateNewFunctionPassManager": "p",
    "CreatePassBuilder": "ppp",
    "CreatePipelineTuningOptions": "p",
    "CreateTargetMachine": "ppsssissiis",
    "CreateTargetMachineData": "pp",
    "DisposeFunctionsIter": "-p",
    "DisposeMemoryBuffer": "-p",
    "DisposeNewModulePassManger": "-p",
    "DisposePipelineTuningOptions": "-p",
    "DisposeString": "-s",
    "DisposeTargetData": "-p",
    "FunctionsIterNext": "pp",
    "GetBufferSize": "np",
    "GetBufferStart": "pp",
    "GetHostCPUFeatures": "it",
    "GetHostCPUName": "-t",
    "GetProcessTriple": "-t",
    "GetTargetFromTriple": "pst",
    "GetTargetMachineTriple": "-pt",
    "InitializeNativeAsmParser": "-",
    "InitializeNativeAsmPrinter": "-",
    "InitializeNativeTarget": "-",
    "IsDeclaration": "ip",
    "LLJIT_Dylib_Tracker_Dispose": "bpt",
    "LLJIT_Link": "ppsEnAnAnt",
    "ModuleFunctionsIter": "pp",
    "PTOSetLoopInterleaving": "-pb",
    "PTOSetLoopUnrolling": "-pb",
    "PTOSetLoopVectorization": "-pb",
    "ParseAssembly": "ppst",
    "PrintModuleToString": "-pt",
    "RunNewFunctionPassManager": "-ppp",
    "RunNewModulePassManager": "-ppp",
    "SetDataLayout": "-ps",
    "SetTarget": "-ps",
    "TargetMachineEmitToMemory": "pppit",
    "VerifyModule": "bpt",
    "buildPerModuleDefaultPipeline": "ppi",
    "function_AddSimplifyCFGPass": "-p",
}


class _Functions:
    """The functions by their names without prefix. Reading one gives it its types."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        result, *parameters = [_TYPES[letter] for letter in _SIGNATURES[name]]
        found = getattr(self._library, f"LLVMPY_{name}")
        found.restype, found.argtypes = result, parameters
        setattr(self, name, found)
        return found


@once
def functions() -> _Functions:
    """LLVM's functions; the first call loads the library. Raises OSError where that fails."""
    import llvmlite

    name = {"win32": "llvmlite.dll", "darwin": "libllvmlite.dylib"}.get(
        sys.platform, "libllvmlite.so"
    )
    folder = os.path.dirname(os.path.abspath(llvmlite.__file__))
    return _Functions(ctypes.CDLL(os.path.join(folder, "binding", name)))

"""A kernel's printed source becomes PTX by Numba-CUDA, and PTX machine code, a cubin.

Both need no device and no driver: Numba-CUDA types the function and libNVVM compiles it for a named
capability, and nvJitLink, which comes with Numba-CUDA, assembles PTX for that one. `cuda.core` has
it as `Linker` (some 10 ms; its `Program` of PTX does the same), unless `Linker.which_backend()` is
the driver: that one would need a device. A cubin runs with older drivers of the same major version
of CUDA; those compile no PTX that is newer than they are. PTX is therefore left to the driver only
where nvJitLink is missing, or does not know the device. Numba's own way to a cubin
(`CUDACodeLibrary.get_cubin`) ends in the same `Linker`.

Products and sums are not contracted: libNVVM is told so, and then writes `mul.rn` and `add.rn`,
which no assembler may contract. `cuda.compile_ptx` cannot tell it; what it calls can. What a kernel
calls is an intrinsic: functions of `cuda.jit` and `register_jitable` ask the driver for a device.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import linecache
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tracejit.base.locks import once
from tracejit.codegen.cuda.conditions import CONDITIONS
from tracejit.codegen.cuda.kernel_cache import KernelCache, kernel_cache
from tracejit.codegen.cuda.numba_import import import_numba
from tracejit.errors import DeviceError

__all__ = ["compile_cubin", "compile_kernel", "compile_ptx"]

#: dtypes in memory, and by value: halves are computed with in single precision.
_IN_MEMORY = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u64": "uint64",
    "u32": "uint32",
    "u16": "uint16",
    "u8": "uint8",
    "b1": "uint8",
}
_BY_VALUE = {**_IN_MEMORY, "f16": "float32", "b1": "boolean"}
_ENTRY = re.compile(r"^\s*\.visible\s+\.entry\s+([\w$]+)", re.MULTILINE)
_INSTALL = "pip install 'tracejit[cuda]' installs it"


@once
def _numba() -> SimpleNamespace:
    """What is used of Numba-CUDA. Raises DeviceError where it is missing."""
    _version()
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        raise DeviceError("Numba-CUDA compiles nothing under NUMBA_ENABLE_CUDASIM")
    try:
        cuda = import_numba()
        from cuda.pathfinder import DynamicLibNotFoundError
        from numba.cuda import compiler, types
        from numba.cuda.core.compiler_lock import global_compiler_lock
    except ImportError as e:
        raise DeviceError(f"Numba-CUDA cannot be imported ({e}); {_INSTALL}") from e
    return SimpleNamespace(
        cuda=cuda,
        compiler=compiler,
        types=types,
        lock=global_compiler_lock,
        NoLibrary=DynamicLibNotFoundError,
    )


def _version() -> str:
    """The version of Numba-CUDA. Raises DeviceError where it is missing."""
    try:
        return importlib.metadata.version("numba-cuda")
    except importlib.metadata.PackageNotFoundError:
        raise DeviceError(
            f"kernels for CUDA are compiled by Numba-CUDA, which is missing; {_INSTALL}"
        ) from None


def compile_ptx(
    source: str,
    name: str,
    signature: Sequence[str],
    cc: tuple[int, int],
    namespace: Mapping[str, Any],
) -> str:
    """PTX for a capability of the function `name` that a source defines; its entry is that name.

    A signature has "f32*" for a pointer to elements as they lie in memory, "f32" for a number by
    value, where "f16" is in single precision and "b1" a byte. `namespace` holds what the source
    uses besides `cuda`. Raises DeviceError without Numba-CUDA, ValueError for a signature that is
    none, and what Numba raises for a source that it cannot compile.
    """
    numba = _numba()
    args = tuple(_parameter(numba.types, kind) for kind in signature)
    file = f"<tracejit kernel {name} {hashlib.sha256(source.encode()).hexdigest()[:16]}>"
    names = {"cuda": numba.cuda, **namespace, "__name__": "tracejit_kernels"}
    exec(compile(source, file, "exec"), names)
    with numba.lock:
        # Numba and tracebacks find lines of the source there; threads may compile the same source.
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        try:
            ptx = _compiled(numba, names[name], args, cc)
        except numba.NoLibrary as e:
            raise DeviceError(f"a library of CUDA's compiler is missing: {e}; {_INSTALL}") from e
        except Exception as e:
            lines = [f"{n} {line}" for n, line in enumerate(source.splitlines(), 1)]
            e.add_note("\n".join([f"kernel {name}:", *lines]))
            raise
        del linecache.cache[file]
    (mangled,) = _ENTRY.findall(ptx)
    return re.sub(rf"\b{re.escape(mangled)}(?=\b|_param_)", name, ptx)


def _parameter(types: Any, kind: str) -> Any:
    known = _IN_MEMORY if kind.endswith("*") else _BY_VALUE
    dtype = known.get(kind.removesuffix("*"))
    if dtype is None:
        raise ValueError(f"{kind!r} is no parameter of a kernel")
    found = getattr(types, dtype)
    return types.CPointer(found) if kind.endswith("*") else found


def _compiled(numba: Any, f: Any, args: tuple[Any, ...], cc: tuple[int, int]) -> str:
    """What `cuda.compile_ptx` does, without contraction, under Numba's lock."""
    compiler = numba.compiler
    done = compiler.compile_cuda(
        f, numba.types.void, args, nvvm_options={"opt": 3, "fma": False}, cc=cc
    )
    library, entry = done.library, done.fndesc.llvm_func_name
    library._entry_name = entry
    compiler.kernel_fixup(library.get_function(entry), False)
    ptx: str = library.get_asm_str(cc=cc)
    return ptx


def compile_cubin(ptx: str, cc: tuple[int, int]) -> bytes | None:
    """Machine code for a capability; None where only a driver could make it.

    Raises DeviceError without `cuda.core`, which Numba-CUDA brings along.
    """
    try:
        from cuda.core import Linker, LinkerOptions, ObjectCode
    except ImportError as e:
        raise DeviceError(f"cuda-core cannot be imported ({e}); {_INSTALL}") from e
    try:
        if str(Linker.which_backend()) != "nvJitLink":
            return None
        options = LinkerOptions(arch=f"sm_{cc[0]}{cc[1]}", fma=False)
        objects = [ObjectCode.from_ptx(ptx.encode())]
        if CONDITIONS in ptx:
            from cuda.pathfinder import find_static_lib

            objects.append(ObjectCode.from_library(find_static_lib("cudadevrt")))
        linker = Linker(*objects, options=options)
        try:
            return bytes(linker.link("cubin").code)
        finally:
            linker.close()
    except Exception:
        # A driver that knows the device may still be able to, and says what it cannot.
        return None


def compile_kernel(
    source: str,
    name: str,
    signature: Sequence[str],
    cc: tuple[int, int],
    namespace: Callable[[], Mapping[str, Any]],
    cache: KernelCache | None = None,
) -> bytes:
    """A module with one kernel for the driver: a cubin, or PTX. It is kept for the next time.

    `namespace` is only called for a kernel that is not known; Numba-CUDA is imported only then.
    Raises as `compile_ptx` does.
    """
    cache = kernel_cache() if cache is None else cache
    key = _key(source, name, signature, cc)
    image = cache.get(key)
    if image is None:
        ptx = compile_ptx(source, name, signature, cc, namespace())
        image = compile_cubin(ptx, cc)
        if image is None and CONDITIONS in ptx:
            raise DeviceError(
                "loops as CUDA graphs need nvJitLink and libcudadevrt, which come with "
                "'tracejit[cuda]': unset TRACEJIT_CUDA_GRAPHS"
            )
        if image is None:
            image = ptx.encode()
        cache.put(key, image)
    return image


def _key(source: str, name: str, signature: Sequence[str], cc: tuple[int, int]) -> str:
    parts = (source, name, *signature, f"{cc[0]}.{cc[1]}", *_versions())
    text = b"".join(len(p.encode()).to_bytes(8, "little") + p.encode() for p in parts)
    return hashlib.sha256(text).hexdigest()


@functools.cache
def _versions() -> tuple[str, ...]:
    """What compiled code depends on besides its source: other packages, and this one's files."""
    found = [_version()]
    for package in ("numba", "cuda-core", "nvidia-nvvm", "nvidia-nvjitlink"):
        try:
            found.append(importlib.metadata.version(package))
        except importlib.metadata.PackageNotFoundError:
            found.append("")
    # A version stays the same while its files are worked on.
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    for file in files:
        status = file.stat()
        found.append(f"{file.name} {status.st_size} {status.st_mtime_ns}")
    return tuple(found)

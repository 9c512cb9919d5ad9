"""A function and signatures become a folder: a shared library, its header, a loader, an example."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracejit import __version__
from tracejit.api import jit
from tracejit.base.spelling import no_such
from tracejit.codegen.llvm.engine import HostTarget
from tracejit.codegen.llvm.targets import target_of
from tracejit.export.exported import Exported
from tracejit.export.library.c_source import c_source
from tracejit.export.library.data import write_data
from tracejit.export.library.entries import make_entry
from tracejit.export.library.example import example
from tracejit.export.library.loader import loader
from tracejit.export.library.names import is_c_name
from tracejit.export.library.native_code import NativeCode, native_code
from tracejit.export.library.prototypes import Description, header
from tracejit.export.library.signatures import Signature, SignatureError, read_signature
from tracejit.link.finding import c_address

__all__ = ["build"]

#: Where a compiler of C is looked for.
_COMPILERS = ("cc", "gcc", "clang")
_FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-ffp-contract=off")


def build(
    function: Any,
    *signatures: str,
    out: str | os.PathLike[str],
    name: str | None,
    target: str,
    sizes: Mapping[str, int] | None,
    cc: str | None,
) -> Exported:
    """What `tracejit.export.compile` gives, with the same arguments; it says what is raised."""
    if not signatures:
        raise SignatureError("a library needs a signature")
    found = _compiler(cc)
    plain = getattr(function, "__name__", "")
    name = plain if name is None else name
    _require_name(name)
    chosen = target_of(target)
    parameters = inspect.signature(getattr(function, "__tracejit__", function))
    read = [read_signature(text, parameters, sizes) for text in signatures]
    for size in sizes or ():
        if not any(size in s.sizes for s in read):
            raise SignatureError(no_such("size", size, [n for s in read for n in s.sizes]))
    entries = []
    for number, signature in enumerate(read, 1):
        symbol = name if number == 1 else f"{name}_{number}"
        program = f"tj_program_{symbol}"
        _require_c_names(signature)
        entries.append(make_entry(jit(function), signature, symbol, program, chosen))
    code = native_code(entries, chosen)
    described = f"{getattr(function, '__module__', '?')}.{plain or '?'}"
    kept = _fingerprint(code, [e.whole_text for e in entries])
    d = Description(
        name, described, chosen.cpu, tuple(entries), code.routines, code.has_threads, kept
    )
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    made = Exported(name, folder, {e.symbol: e.whole_text for e in entries})
    _link(found, d, chosen, code, made)
    texts = {made.header: header(d), made.loader: loader(d), made.example: example(d)}
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    # Python takes bytecode for that of a file by its size and the second in which it was written.
    Path(importlib.util.cache_from_source(str(made.loader))).unlink(missing_ok=True)
    return made


def _fingerprint(code: NativeCode, texts: list[str]) -> str:
    """What tells a library from any other: loaders must have the one that they were made for."""
    parts = [*code.objects, *code.data.values(), *(text.encode() for text in (__version__, *texts))]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


def _require_name(name: str) -> None:
    """Raise ValueError for a name that no function of a library can have, or no loader."""
    try:
        c_address(name)
    except KeyError:
        if is_c_name(name) and name not in {*sys.stdlib_module_names, "numpy"}:
            return
    raise ValueError(f"a library cannot be named {name!r}: give it another name")


def _require_c_names(signature: Signature) -> None:
    for size in signature.sizes:
        if not is_c_name(size):
            raise SignatureError(f"the size {size} cannot have this name in C")


def _compiler(cc: str | None) -> str:
    if sys.platform != "linux":
        raise OSError(f"libraries are made on Linux, not on {sys.platform}")
    for candidate in _COMPILERS if cc is None else (cc,):
        found = shutil.which(candidate)
        if found:
            return found
    looked = f"there is no {cc}" if cc else f"none of {', '.join(_COMPILERS)} is there"
    raise FileNotFoundError(f"a compiler of C links the library, and {looked}: install one")


def _link(cc: str, d: Description, target: HostTarget, code: NativeCode, made: Exported) -> None:
    """Write the shared library, which exports what the header declares."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "library.c").write_text(c_source(d, target), encoding="utf-8")
        (work / made.header.name).write_text(header(d), encoding="utf-8")
        (work / "exports").write_text(f"{{ global: {_exports(d)} local: *; }};\n")
        objects = []
        for k, image in enumerate(code.objects):
            objects.append(work / f"{k}.o")
            objects[-1].write_bytes(image)
        unfinished = made.folder / f".{made.name}.so.{os.getpid()}"
        sources = [work / "library.c", *([write_data(code.data, work)] if code.data else [])]
        command = [cc, *_FLAGS, *map(str, sources), *map(str, objects)]
        command += [
            "-shared",
            "-pthread",
            "-Wl,-z,defs,-z,nodelete",
            f"-Wl,--version-script={work / 'exports'}",
        ]
        command += ["-lm", "-o", str(unfinished)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            unfinished.unlink(missing_ok=True)
            raise OSError(f"{cc} failed:\n{done.stderr}")
        os.replace(unfinished, made.library)


def _exports(d: Description) -> str:
    names = [e.symbol for e in d.entries]
    names += [f"{e.symbol}_shapes" for e in d.entries]
    names += [f"{d.name}_{own}" for own in ("set_blas", "set_threads", "free", "build")]
    return " ".join(f"{name};" for name in names)

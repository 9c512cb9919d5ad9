"""What machine code depends on besides its program: versions, the processor, this package's files.

All of it is part of the name of the folder that code lies in: another environment has another one.
"""

from __future__ import annotations

import marshal
import os
import platform
import sys
from typing import Any

import numpy as np

from tracejit import config
from tracejit.base.locks import once
from tracejit.errors import PACKAGE
from tracejit.link.digests import digest
from tracejit.runtime.cache import files
from tracejit.runtime.cache.records import FORM

__all__ = ["description", "folder", "mark"]

#: What Linux says of a processor that does not change while it runs.
_LASTING = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")


def folder() -> str:
    """The name of the folder for code of this environment."""
    text = repr(sorted(description().items()))
    return f"{sys.implementation.cache_tag}-{digest(text.encode())[:16]}"


#: What levels of x86-64 need beside those before them, as Linux calls it.
_FLAGS = (
    "ssse3 sse4_1 sse4_2 popcnt cx16 lahf_lm",
    "avx avx2 bmi1 bmi2 f16c fma abm movbe",
    "avx512f avx512bw avx512cd avx512dq avx512vl",
)


@once
def _lasting() -> dict[str, Any]:
    return {
        "form": (FORM, marshal.version),
        "python": (sys.version, sys.abiflags, sys.maxsize),
        "system": (sys.platform, platform.machine()),
        "processor": _processor(),
        "numpy": _library(np._core._multiarray_umath.__file__),  # type: ignore[attr-defined]
        "tracejit": _sources(),
    }


def description() -> dict[str, Any]:
    """Everything that the folder is named after, by what it is."""
    return {**_lasting(), "numpy version": np.__version__}


def mark(layer: str) -> None:
    """Have this environment's folder say what it is for, which marks it as one of this package.

    Raises what `files.write` does.
    """
    path = os.path.join(layer, folder(), files.DESCRIPTION)
    if files.read(path) is None:
        files.write(path, description())


def _processor() -> tuple[Any, ...]:
    """What is known of the processor, or the level that code is for, which it must have. Raises
    ValueError where it has not."""
    level = config.target()
    if level == config.TARGETS[0]:
        return _described()
    flags = dict(_described()[1]).get("flags", "").split()
    known = config.TARGETS.index(level)
    lacking = [flag for needed in _FLAGS[:known] for flag in needed.split() if flag not in flags]
    if lacking:
        raise config.SettingError(f"TRACEJIT_TARGET={level}: this processor lacks {lacking[0]}")
    return (level,)


def _described() -> tuple[Any, Any]:
    features = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
    found = tuple(sorted(name for name, has in features.items() if has))
    # A processor's lines follow each other: those of the first are enough, and soon read.
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = file.read(8192).partition("\n\n")[0]
    except OSError:
        return (found, (("processor", platform.processor()),))
    pairs = [line.partition(":") for line in first.splitlines()]
    lasting = tuple((k.strip(), v.strip()) for k, _, v in pairs if k.strip() in _LASTING)
    return (found, lasting)


def _library(path: str | None) -> tuple[Any, ...]:
    """What tells a file of NumPy from that of another build, wherever it lies: its contents."""
    if path is None:
        return ()
    root = os.path.dirname(os.path.dirname(np.__file__))
    name = os.path.relpath(path, root).replace(os.sep, "/")
    noted = _installed(root, "numpy", path).partition(f"\n{name},".encode())[2]
    found, _, size = noted.partition(b"\n")[0].strip().partition(b",")
    if found.startswith(b"sha256=") and size.isdigit():
        return found.decode(), int(size)
    import base64
    from hashlib import sha256

    with open(path, "rb") as file:
        data = file.read()
    digest = base64.urlsafe_b64encode(sha256(data).digest()).decode().rstrip("=")
    return f"sha256={digest}", len(data)


def _installed(folder: str, package: str, path: str) -> bytes:
    """The list of files, with digests, that the installer of a package has left in a folder; none
    where it does not tell of a file as it is now."""
    try:
        start = f"{package}-"
        names = [x for x in os.listdir(folder) if x.startswith(start)]
        (name,) = [x for x in names if x.endswith(".dist-info")]
        record = os.path.join(folder, name, "RECORD")
        if os.stat(record).st_mtime_ns < os.stat(path).st_mtime_ns:
            return b""  # The file was written after it was installed.
        with open(record, "rb") as file:
            return b"\n" + file.read()
    except (OSError, ValueError):
        return b""


def _sources() -> tuple[Any, ...]:
    """What tells the files of this package from those of another version of it."""
    version = getattr(sys.modules["tracejit"], "__version__", None)
    root = PACKAGE.rstrip(os.sep)
    if os.path.basename(os.path.dirname(root)) in ("site-packages", "dist-packages"):
        # What an installer has put there is replaced as a whole.
        record = _installed(os.path.dirname(root), "tracejit", os.path.join(root, "__init__.py"))
        if b"\ntracejit/__init__.py," in record:
            return (version, digest(record))
    found: list[tuple[str, int, int]] = []
    pending = [root]
    while pending:
        for entry in os.scandir(pending.pop()):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    pending.append(entry.path)
            elif entry.name.endswith(".py"):
                stat = entry.stat()
                name = entry.path.removeprefix(root)
                found.append((name, stat.st_size, stat.st_mtime_ns))
    return (version, digest(repr(sorted(found)).encode()))

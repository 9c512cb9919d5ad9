"""The files of one checkpoint: written with their checksums, and read where these are right.

    arrays.safetensors   the arrays by their paths
    tree.json            what else the objects hold, and which array is where: `parts`
    manifest.json        step, time, metric, the files' bytes and CRC-32, and one of itself

complex128 is written as pairs of float64, and dtypes that safetensors files do not have as bytes:
`tree.json` has the true dtypes.
"""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracejit.base.tensor_files import NotSafetensors, TensorFile, checksum, stored_form, write
from tracejit.checkpoint.errors import CheckpointError
from tracejit.checkpoint.folder import write_file
from tracejit.checkpoint.parts import Part, from_json

__all__ = ["NotWhole", "manifest_of", "opened", "write_files"]

_ARRAYS, _TREE, _MANIFEST = "arrays.safetensors", "tree.json", "manifest.json"
_FORMAT = "tracejit checkpoint 1"


class NotWhole(CheckpointError):
    """A file of a checkpoint is missing, cut off, changed, or of another program."""


def write_files(
    path: Path, step: int, best: float | None, tree: bytes, arrays: Mapping[str, Any]
) -> None:
    """Write a checkpoint into a folder, and force it to the disk."""
    with open(path / _ARRAYS, "wb") as file:
        size, crc = write(file, {name: stored_form(x) for name, x in arrays.items()})
        file.flush()
        os.fsync(file.fileno())
    write_file(path / _TREE, tree)
    files = {
        _ARRAYS: {"bytes": size, "crc32": crc},
        _TREE: {"bytes": len(tree), "crc32": zlib.crc32(tree)},
    }
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    manifest = {"format": _FORMAT, "step": step, "time": when, "best": best, "files": files}
    manifest["crc32"] = _own_checksum(manifest)
    write_file(path / _MANIFEST, json.dumps(manifest, indent=1).encode())


def _own_checksum(manifest: Mapping[str, Any]) -> int:
    rest = {name: x for name, x in manifest.items() if name != "crc32"}
    return zlib.crc32(json.dumps(rest, sort_keys=True).encode())


def manifest_of(path: Path) -> dict[str, Any]:
    """The manifest of a checkpoint. Raises NotWhole."""
    file = path / _MANIFEST
    try:
        found = json.loads(file.read_bytes())
        right = found["crc32"] == _own_checksum(found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise NotWhole(f"{file} is no manifest of a checkpoint: {error}") from error
    if not right:
        raise NotWhole(f"{file} has been changed: its checksum is another one")
    if found["format"] != _FORMAT:
        raise NotWhole(f"{file} is of the format {found['format']!r}, not {_FORMAT!r}")
    return dict(found)


def opened(path: Path) -> tuple[dict[str, Any], Part, TensorFile]:
    """A checkpoint's manifest, its description and its arrays, after a look at every byte of them.

    Raises NotWhole, naming the file.
    """
    manifest = manifest_of(path)
    try:
        for name, expected in manifest["files"].items():
            size, crc = checksum(path / name)
            if size != expected["bytes"]:
                raise NotWhole(f"{path / name} has {size} bytes, not {expected['bytes']}")
            if crc != expected["crc32"]:
                raise NotWhole(f"{path / name} has been changed: its checksum is another one")
        root = from_json(json.loads((path / _TREE).read_bytes()))
        return manifest, root, TensorFile(path / _ARRAYS)
    except (OSError, NotSafetensors) as error:
        raise NotWhole(f"{path} is not whole: {error}") from error

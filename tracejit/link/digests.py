"""Bytes and code become digests: equal ones mean equal contents."""

from __future__ import annotations

import marshal
from types import CodeType

try:
    # Without the library for cryptography, which takes milliseconds to load.
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

__all__ = ["code_digest", "digest"]


def digest(data: bytes) -> str:
    """A digest of bytes, as 64 hexadecimal figures."""
    found: str = blake2b(data, digest_size=32).hexdigest()
    return found


def code_digest(code: CodeType) -> str:
    """A digest of all that code consists of, its lines and inner code included, but its file.

    A checkout may lie elsewhere, and a cell of a notebook has another name in each process.
    """
    # The second version knows no references: what is written depends on values alone.
    return digest(marshal.dumps(_of_no_file(code), 2))


def _of_no_file(code: CodeType) -> CodeType:
    inner = [_of_no_file(c) if isinstance(c, CodeType) else c for c in code.co_consts]
    return code.replace(co_filename="", co_consts=tuple(inner))

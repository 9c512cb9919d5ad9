"""Two processes prove to each other that they know the secret of the run.

Who connects says its number and a random one; who accepts answers with a random one and a proof,
and gets a proof. A proof is an HMAC-SHA256 of the other's random number, the two processes and who
of them it is, so that none can be sent back, or to others.

The secret lies in a file of the run's folder that the user alone can read: an environment would be
inherited by all that a process starts, and shown by some systems to everybody.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import socket
import struct
from pathlib import Path

from tracejit.dist.transport.link import DistError

__all__ = ["answer", "greet", "new_secret", "read_secret"]

_NONCE, _RANK = 32, struct.Struct("=I")


def new_secret(folder: str | Path) -> bytes:
    """The secret of a run, written to its folder. Raises OSError, as where there is one."""
    secret = secrets.token_hex(32).encode()
    file = os.open(Path(folder) / "secret", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(file, "wb") as out:
        out.write(secret)
    return secret


def read_secret(folder: str | Path) -> bytes:
    """The secret of the run that has a folder. Raises DistError where there is none."""
    try:
        return (Path(folder) / "secret").read_bytes()
    except OSError as e:
        raise DistError(f"there is no secret of the run: {e}") from None


def greet(connection: socket.socket, secret: bytes, rank: int, to: int) -> bool:
    """As `rank`, which has connected with `to`: whether that one knows the secret; where it does,
    prove it to it. Raises OSError, EOFError.
    """
    mine = secrets.token_bytes(_NONCE)
    connection.sendall(_RANK.pack(rank) + mine)
    theirs, proof = _read(connection, _NONCE), _read(connection, _NONCE)
    if not hmac.compare_digest(proof, _proof(secret, b"accepts", to, rank, mine)):
        return False
    connection.sendall(_proof(secret, b"connects", rank, to, theirs))
    return True


def answer(connection: socket.socket, secret: bytes, rank: int) -> tuple[int, bool]:
    """As `rank`, which has accepted a connection: whose it says it is, and whether that one knows
    the secret. Raises OSError, EOFError.
    """
    (other,) = _RANK.unpack(_read(connection, _RANK.size))
    theirs, mine = _read(connection, _NONCE), secrets.token_bytes(_NONCE)
    connection.sendall(mine + _proof(secret, b"accepts", rank, other, theirs))
    proof = _read(connection, _NONCE)
    return other, hmac.compare_digest(proof, _proof(secret, b"connects", other, rank, mine))


def _proof(secret: bytes, who: bytes, rank: int, to: int, number: bytes) -> bytes:
    text = who + _RANK.pack(rank) + _RANK.pack(to) + number
    return hmac.new(secret, text, hashlib.sha256).digest()


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError("it has hung up")
        data += part
    return data

"""Values that go from one device's part of a program to another's.

    token1 = send(token, x, function="...:send", arguments=(("constant", "e3"), ...
    token1, y = typed(recv(token, function="...:receive", arguments=(("constant", "e3"), ...

They are host calls whose first arguments are a key and the other device. A key names an edge of the
program that was cut. The messages of an edge arrive in the order in which they are sent, so that in
loops each iteration's value meets its iteration.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Protocol

import numpy as np

from tracejit.ir.graph import Attr, Attrs
from tracejit.ir.op import register
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, Type, dtype_name
from tracejit.ops.host.effect import HostEffect
from tracejit.ops.host.registered import registered

__all__ = [
    "Recv",
    "Rendezvous",
    "Send",
    "meeting",
    "receive",
    "recv_attrs",
    "send",
    "send_attrs",
    "transferable",
]


class Rendezvous(Protocol):
    """Where the parts of one run meet."""

    def send(self, key: str, to: str, value: Any) -> None:
        """Give a value to another device; on return it may change."""

    def receive(self, key: str, source: str) -> Any:
        """The next value of an edge. Raises where it cannot come any more."""


class _Meeting(threading.local):
    rendezvous: Rendezvous | None = None


_MEETING = _Meeting()


@contextmanager
def meeting(rendezvous: Rendezvous) -> Iterator[None]:
    """Parts that this thread runs meet the others there."""
    before, _MEETING.rendezvous = _MEETING.rendezvous, rendezvous
    try:
        yield
    finally:
        _MEETING.rendezvous = before


def _rendezvous() -> Rendezvous:
    found = _MEETING.rendezvous
    if found is None:
        raise RuntimeError("a part of a program runs without the others")
    return found


@registered
def send(key: str, to: str, order: tuple[int, ...], x: Any) -> None:
    """What `send` does: an array goes as its memory lies."""
    dense = np.ascontiguousarray(x.transpose(order)) if isinstance(x, np.ndarray) and order else x
    _rendezvous().send(key, to, dense)


@registered
def receive(key: str, source: str, order: tuple[int, ...]) -> Any:
    """What `recv` gives."""
    found = _rendezvous().receive(key, source)
    return found.transpose(np.argsort(order)) if order else found


@register
class Send(HostEffect):
    """A value to another device."""

    name: ClassVar[str] = "send"


@register
class Recv(HostEffect):
    """A value from another device."""

    name: ClassVar[str] = "recv"


def transferable(t: Type) -> bool:
    """Whether values of a type can be sent."""
    return isinstance(t, (ArrayType, NpScalar, PyScalar))


def _order(t: Type) -> tuple[int, ...]:
    return () if not isinstance(t, ArrayType) or t.is_c else t.order


def _call(function: str, result: Attr, types: Attr, *constants: Any, operands: int = 0) -> Attrs:
    given: Sequence[Any] = [("operand", k) for k in range(operands)]
    return {
        "function": f"{__name__}:{function}",
        "arguments": (*(("constant", c) for c in constants), *given),
        "keywords": (),
        "result": result,
        "types": types,
    }


def send_attrs(key: str, to: str, t: Type) -> Attrs:
    """The attributes of a `send` of a value of a type."""
    return _call("send", ("constant", None), (), key, to, _order(t), operands=1)


def recv_attrs(key: str, source: str, t: Type) -> Attrs:
    """The attributes of the `recv` that gets it."""
    described: Any
    if isinstance(t, ArrayType):
        described = "array", dtype_name(t.dtype), t.shape, t.order
    elif isinstance(t, NpScalar):
        described = "numpy", dtype_name(t.dtype)
    else:
        assert isinstance(t, PyScalar)
        described = "python", t.kind
    return _call("receive", ("operand", 0), (described,), key, source, _order(t))

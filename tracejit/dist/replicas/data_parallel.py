"""A training step on several processes, each with its own data, that keeps their models equal."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.dist.board import Board
from tracejit.dist.bucket_plan import BUCKET
from tracejit.dist.compression import KINDS
from tracejit.dist.replicas.mean_gradients import with_mean_gradients
from tracejit.dist.replicas.mode import Mode
from tracejit.dist.replicas.optimizer_parts import common, take_common
from tracejit.dist.replicas.pausing import all_residuals, servers_paused, take_residuals
from tracejit.dist.replicas.sending import with_sent_gradients
from tracejit.dist.replicas.server import ParameterServer, name_of, server_of
from tracejit.dist.transport.link import DistError, Elastic, TrainingOver
from tracejit.dist.world import MODE, SERVERS, VARIABLE, is_late, world

__all__ = ["DataParallel", "data_parallel"]

_SYNC = Mode("sync")


def data_parallel(
    step: Callable[..., Any],
    mode: str | None = None,
    *,
    bucket: int = BUCKET,
    compression: str | None = None,
    servers: int | None = None,
) -> DataParallel:
    """`step` on several processes, each of which calls it with data of its own.

    `step(model, optimizer, *data)` is a function, jitted or not, that gives gradients to an
    optimiser's `update(params, grads)`: one of `tracejit.optim`, or any object of a class of Python
    with such a method. At the first call with a model or an optimiser the arrays of process 0, and
    the numbers of an optimiser, are copied to all others. `mode` is what `tracejit launch --mode`
    says, or "sync":

    - "sync": each update takes the mean of all gradients; processes call the step equally often.
      One process alone calls the step as it is.
      Where the loss is a mean over as many samples on each, the step is that of one process on the
      data of all, but for the rounding of the sums.
    - "backup:2": a server makes each step from the mean of the gradients that come first, 2 fewer
      than there are processes; later ones are dropped.
    - "async": it makes a step of each gradient as it comes; "async:4" drops those computed on
      parameters that are more than 4 steps old.

    In the last two the first `servers` processes (what `tracejit launch --servers` says, or 1) have
    the parameters and the optimiser's state, each a part of about as many bytes: whole arrays, and
    the rows of large ones. Their `update` is called with lists of arrays. Several need an optimiser
    whose steps are element by element, as those of `tracejit.optim` are (see its `by_leaf`). The
    other processes may be lost and come back; one that has come late ends when process 0 has done
    its work. What else the step computes, such as the loss or the statistics of a `BatchNorm`, is
    of a process's own data.

    In the mode "sync" gradients are exchanged in buckets of about `bucket` bytes, from the last
    parameters to the first. In a compiled step each is exchanged from when its gradients are
    computed, while the backward pass goes on. With a `compression`, "float16" or "int8", processes
    send each other gradients of so many bits, and what rounding leaves out is added to the next
    ones (see `tracejit.dist.compression`).

    Raises ValueError for another mode, a bucket of no bytes, another compression, and one in
    another mode, for more servers than processes or several in the mode "sync"; DistError where the
    engine has none but "sync", calls do not fit or an optimiser cannot be divided, PeerLost where a
    process has ended that is needed.
    """
    found = Mode.of(mode or os.environ.get(MODE) or "sync")
    if bucket < 1:
        raise ValueError(f"a bucket holds bytes, not {bucket}")
    if compression not in (None, *KINDS):
        raise ValueError(f"compression is {' or '.join(KINDS)}, not {compression!r}")
    if compression is not None and found.kind != "sync":
        raise ValueError(f"there is no compression in the mode {found.kind!r}")
    given = os.environ.get(SERVERS) if found.kind != "sync" and world().size > 1 else None
    count = int(given or 1) if servers is None else servers
    if count != 1 and (found.kind == "sync" or not 1 <= count <= world().size):
        raise ValueError(
            f"{world().size} processes have no {count} servers in the mode {found.kind!r}"
        )
    return DataParallel(step, found, bucket, compression, count)


class DataParallel:
    """What `data_parallel` gives: called as the step is."""

    # CPython calls what an instance holds there, without a call of Python of its own.
    __slots__ = ("__call__", "__dict__", "__weakref__")

    def __init__(
        self,
        step: Callable[..., Any],
        mode: Mode = _SYNC,
        bucket: int = BUCKET,
        compression: str | None = None,
        servers: int = 1,
    ) -> None:
        self.step, self.mode, self.servers = step, mode, servers
        self.bucket, self.compression = bucket, compression
        self._known: dict[int, tuple[Any, Any]] = {}
        #: Of optimisers whose gradients are compressed, by their order: what compresses them, and
        #: what that has left out on all processes, as it is saved.
        self._compressors: dict[int, tuple[str, Any]] = {}
        self._left: dict[str, Any] = {}
        self._server: ParameterServer | None = None
        self._board = _board()
        group = world()
        self._by_server = mode.kind != "sync" and group.size > 1
        if self._by_server:
            mode.policy(group.size)
            if not isinstance(group.link, Elastic):
                raise DistError(f"the mode {mode.kind!r} needs the engine local or ray")
            if group.rank < servers:
                self._server = server_of(group.link, mode, servers)
        is_alone = group.size == 1 and self._board is None
        self.__call__ = step if is_alone else self._exchanging

    @property
    def __signature__(self) -> inspect.Signature:
        """That of the step."""
        return inspect.signature(self.step)

    @property
    def dropped(self) -> int:
        """How many gradients have come too late, of all processes; 0 but on process 0."""
        return 0 if self._server is None else self._server.dropped

    def _exchanging(self, /, *args: Any, **kwargs: Any) -> Any:
        """A step together with the other processes."""
        given = [self._shared(x) for x in args]
        named = {name: self._shared(x) for name, x in kwargs.items()}
        try:
            result = self.step(*given, **named)
        except TrainingOver:
            raise SystemExit(0) from None
        if self._board is not None:
            self._board.step(world().rank)
        return result

    @contextmanager
    def paused(self, params: Any, optimizer: Any) -> Iterator[None]:
        """Let process 0 save a whole: all processes call it, in the mode "sync" as often.

            with train.paused(net, opt):
                if dist.rank() == 0:
                    checkpoint.save(folder, step=k, net=net, opt=opt, train=train)

        `params` are what the optimiser's `update` is given. With servers process 0 gets their
        parameters and the optimiser's state of one step, and none is made until the end. With a
        compression it gets what that has left out on all processes, which is the state of this
        object in a checkpoint; it is restored before the first step. Raises DistError for an
        optimiser in parts on several servers, PeerLost.
        """
        if self._by_server:
            if self._server is None or world().rank:
                yield
                return
            with servers_paused(self._server, params, optimizer):
                yield
            return
        name, compressor = self._compressors.get(id(optimizer), ("", None))
        if compressor is not None:
            self._left[name] = all_residuals(world(), compressor)
        yield

    def state_dict(self) -> dict[str, Any]:
        """What compression had left out when `paused` was last called; nothing but on process 0."""
        return {"left": {k: v for k, v in self._left.items() if v is not None}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Begin with that, on process 0. Raises DistError where a step has been made."""
        if self._compressors:
            raise DistError("what compression has left out is restored before the first step")
        self._left = dict(state["left"])

    def _shared(self, x: Any) -> Any:
        """An argument: an object of the program's has the same arrays on all processes."""
        if type(x).__flags__ & _HEAP_TYPE == 0 or callable(getattr(x, "__array__", None)):
            return x
        known = self._known.get(id(x))
        if known is None:
            if not (self._by_server and is_late()) and not getattr(x, "is_sharded", False):
                _copy_from_first(x)
            known = self._known[id(x)] = x, self._optimizer(x) if _is_optimizer(x) else x
        return known[1]

    def _optimizer(self, x: Any) -> Any:
        """What stands for an optimiser in the step."""
        if not self._by_server:
            made = with_mean_gradients(x, self.bucket, self.compression)
            if made._compressor is not None:
                name = str(len(self._compressors))
                self._compressors[id(x)] = name, made._compressor
                take_residuals(world(), made._compressor, self._left.get(name))
            return made
        if getattr(x, "is_sharded", False) and x.parts != self.servers:
            raise DistError(
                f"an optimiser of {x.parts} parts needs as many servers, not {self.servers}: "
                "say the mode and the servers to tracejit launch"
            )
        return with_sent_gradients(x, name_of(x, self._server), self.servers)


_HEAP_TYPE = 1 << 9


def _is_optimizer(x: Any) -> bool:
    update = getattr(type(x), "update", None)
    if not isinstance(update, FunctionType):
        return False
    return [*inspect.signature(update).parameters][1:3] == ["params", "grads"]


def _copy_from_first(x: Any) -> None:
    """Store what process 0 has in an object into this one: arrays, and an optimiser's numbers."""
    group = world()
    if group.size == 1:
        return
    arrays = [v for _, v in tree.entries(x, buffers=True) if isinstance(v, np.ndarray)]
    found, numbers = group.broadcast((arrays, common(x) if _is_optimizer(x) else {}))
    for mine, theirs in zip(arrays, found, strict=True):
        mine[...] = theirs
    take_common(x, numbers)


def _board() -> Board | None:
    kind, _, rest = os.environ.get(VARIABLE, "").partition(":")
    if kind != "local":
        return None
    _, count, folder = rest.split(":", 2)
    return Board(Path(folder) / "board", int(count))

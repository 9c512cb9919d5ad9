"""Which calls of a decorated function go straight to the plain function, by their kinds.

A kind is what machine code sees at a glance: the types of the arguments. Calls of a kind are
answered plainly where those seen run eagerly anyway, where what is compiled for them saves less
than the dispatch costs, and where it is for objects that are new at each call. That is no promise
about calls to come: every so many calls the dispatcher sees one, half as often each time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracejit.base.locks import short_lock
from tracejit.frontend.tracing.pytree import Identity, TreeDef
from tracejit.runtime import native

__all__ = ["PlainCalls"]

#: Eager calls of a kind before further ones are answered plainly.
_EAGER = 4
#: Compiles for objects that have died since, before no more are made for calls of a kind.
_DEAD = 4
#: Kinds that are kept count of.
_KINDS = 32
#: Calls that are answered plainly before the dispatcher sees the first one again.
_PERIOD = 1024

_LOCK = short_lock()


class _Record:
    """What the dispatcher has done about calls of one kind."""

    def __init__(self) -> None:
        self.eager = 0
        #: Whether something is compiled that is worth its dispatch, and where only Python calls it.
        self.worthwhile = self.without_entry = False
        #: The arguments that it has been compiled for, and whether they are of no use any more.
        self.trees: list[TreeDef] = []
        self.given_up = False
        self.period = _PERIOD


class PlainCalls:
    """The kinds of calls of one decorated function."""

    def __init__(self, jitted: Any, function: Callable[[], Any], is_part: bool) -> None:
        self._jitted, self._function, self._is_part = jitted, function, is_part
        self._records: dict[native.Kind, _Record] = {}
        self._table: native.KindTable | None = None

    @property
    def is_off(self) -> bool:
        """Whether no call is answered plainly."""
        # An eager run may be an error; or of a part, what runs in its place is elsewhere.
        return self._jitted._fallbacks.is_strict or self._is_part

    @property
    def answers_some(self) -> bool:
        """Whether calls of some kind are answered plainly, or have been."""
        return self._table is not None

    def ran_eagerly(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """A call was known to run eagerly, and nothing is said of it any more."""
        if self.is_off:
            return
        found = self._find(args, kwargs)
        if found is None:
            return
        kind, record = found
        record.eager += 1
        if record.eager >= _EAGER and not record.without_entry:
            self._answer(kind, record, late=record.worthwhile)

    def compiled(self, args: Sequence[Any], kwargs: Mapping[str, Any], variant: Any) -> None:
        """A call was compiled."""
        if self.is_off:
            return
        found = self._find(args, kwargs)
        if found is None:
            return
        kind, record = found
        record.worthwhile |= variant.is_worthwhile
        record.without_entry |= variant.is_worthwhile and variant.call_spec is None
        record.trees.append(variant.arguments)
        record.given_up |= sum(map(_is_dead, record.trees)) >= _DEAD
        if record.given_up or not record.worthwhile:
            self._answer(kind, record)
        elif self._table is not None and self._table.left(kind) is not None:
            record.eager = 0
            self._publish(self._table.without(kind))

    def recalled(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """An earlier process has compiled calls of this kind, which was not worth their dispatch;
        whether they are answered plainly."""
        found = None if self.is_off else self._find(args, kwargs)
        if found is None or found[1].trees:
            return False
        self._answer(*found)
        return True

    def answered(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """A call was answered by what is compiled."""
        if self._table is None or self.is_off:
            return
        found = self._find(args, kwargs)
        if found is not None and self._table.left(found[0]) is not None:
            self._answer(*found, late=found[1].worthwhile and not found[1].given_up)

    def _find(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[native.Kind, _Record] | None:
        if not native.available() or not native.tables_work():
            return None
        kind = native.kind_of(args, kwargs)
        if kind is None:
            return None
        record = self._records.get(kind)
        if record is None:
            if len(self._records) >= _KINDS:
                return None
            record = self._records.setdefault(kind, _Record())
        return kind, record

    def _answer(self, kind: native.Kind, record: _Record, late: bool = False) -> None:
        """Let calls of a kind be answered plainly, from now on or again."""
        with _LOCK:
            table, function = self._table, self._function()
            if table is None or not table.is_current or table.function is not function:
                table = native.KindTable(function, self._jitted.__tracejit__)
            left = table.left(kind)
            if left is not None and left < 0:
                record.period *= 2
                table.renew(kind, record.period)
            elif left is None:
                self._publish(table.put(kind, late, record.period))

    def _publish(self, table: native.KindTable) -> None:
        self._table = table
        native.answer_plainly(self._jitted, table)


def _is_dead(tree: TreeDef) -> bool:
    """Whether no call can have such arguments: an object among them has died."""

    def dead(node: Any) -> bool:
        if isinstance(node, Identity):
            return node.get() is None
        return isinstance(node, tuple) and (any(map(dead, node[1])) or any(map(dead, node[2])))

    return dead(tree.root)

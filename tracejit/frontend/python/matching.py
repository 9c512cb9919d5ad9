"""The hooks of patterns: what a subject is, and its parts."""

from __future__ import annotations

import collections
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.tracing.pytree import is_namedtuple
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.tracer import Tracer
from tracejit.frontend.tracing.union import Union

__all__ = ["Matching"]

#: Classes of which one positional pattern is matched with the subject itself.
_WHOLE = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


class Matching:
    """The hooks of patterns; part of the interpreter."""

    @staticmethod
    def bound(x: Any) -> bool:
        """True: `x` has been bound to a name."""
        return True

    def is_sequence(self: Any, x: Any, least: int, is_open: bool) -> Any:
        """Whether `x` is a sequence of `least` elements, or of at least as many."""
        if isinstance(x, Union):
            return self.on_unions(lambda v: self.is_sequence(v, least, is_open), x)
        cls = type(x)
        if cls not in (list, tuple, range) and not is_namedtuple(cls):
            self._require_plain_class(x, collections.abc.Sequence)
            return False
        return self.compare("ge" if is_open else "eq", self.call(len, x), least)

    def middle(self: Any, x: Any, before: int, after: int) -> Any:
        """The elements of a sequence without the first and last ones, as a list."""
        items = list(self.iterate(x))
        return self.allocate(items[before : len(items) - after])

    def is_mapping(self: Any, x: Any) -> Any:
        """Whether `x` is a mapping."""
        if isinstance(x, Union):
            return self.on_unions(self.is_mapping, x)
        if type(x) is not dict:
            self._require_plain_class(x, collections.abc.Mapping)
        return type(x) is dict

    def _require_plain_class(self: Any, x: Any, kind: Any) -> None:
        """Note that `x` is none of a kind. Raises TraceError for one that is not known."""
        if not isinstance(x, Tracer) and self.call(isinstance, x, kind):
            if not isinstance(x, (str, bytes, bytearray)):
                raise TraceError("TJ008", f"a pattern on a {type(x).__name__}", user_line())

    def has_key(self: Any, x: Any, key: Any) -> Any:
        """Whether a mapping has a key."""
        return self.compare("contains", key, x)

    def other_items(self: Any, x: dict[Any, Any], *keys: Any) -> Any:
        """The items of a mapping with other keys."""
        return self.allocate({k: v for k, v in x.items() if k not in keys})

    def is_instance(self: Any, x: Any, cls: Any, positional: int) -> Any:
        """Whether `x` is an instance of the class of a pattern with `positional` parts."""
        if not isinstance(cls, type):
            raise TypeError("called match pattern must be a class")
        if positional > 1 and cls in _WHOLE:
            raise TypeError(f"{cls.__name__}() accepts 1 positional sub-pattern")
        return self.call(isinstance, x, cls)

    def has_positional(self: Any, x: Any, cls: Any, k: int) -> Any:
        """Whether `x` has a positional part."""
        return cls in _WHOLE or self.has_attribute(x, self._match_args(cls)[k])

    def positional(self: Any, x: Any, cls: Any, k: int) -> Any:
        """A positional part of `x`."""
        return x if cls in _WHOLE else self.attribute(x, self._match_args(cls)[k])

    def _match_args(self: Any, cls: Any) -> Any:
        return self.attribute(cls, "__match_args__")

    def has_attribute(self: Any, x: Any, name: str) -> Any:
        """Whether `x` has an attribute."""
        return self.call(hasattr, x, name)

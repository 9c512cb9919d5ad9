"""Sites of calls of Python in programs, as memory that native code reads: what it is to call.

What the words are, `codegen/support/host_call_text.py` says.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tracejit.link.addresses import Address, This
from tracejit.link.finding import Kept
from tracejit.link.later import Later, Retold

__all__ = ["LEFT", "MOST_CALLS", "HostSite", "host_site"]

#: How often a callee may have kept its arguments until nothing is prepared for it any more.
_MOST_KEPT = 4
#: After how many calls arrays whose shapes change are made anew; the place of what is left.
MOST_CALLS, LEFT = 1 << 14, 4


def host_site(targets: tuple[int, ...], retold: Retold) -> Kept:
    """A site of a program of another process."""
    # The general way makes the site's own words anew, and never looks at these.
    site, general = HostSite(targets), Later(retold)
    return Kept(site.begin(general, lambda: retold), (site, general))


class HostSite:
    """The two lists of a site, in memory that native code reads.

    What is prepared is replaced while threads call it: a list belongs to its function, which native
    code holds a reference to while it calls it.
    """

    def __init__(self, targets: Sequence[int]) -> None:
        self.targets = tuple(targets)
        self._words = (ctypes.c_int64 * (2 + len(targets)))(0, 0, *targets)
        # Without a GIL nothing keeps a thread from replacing what another one is about to call.
        self._chances = [0 if "free-threading" in sys.version else _MOST_KEPT]
        self._sizes: tuple[int, ...] | None = ()
        #: The last function that was prepared, and while it is replaced the one before.
        self._functions: list[Any] = []

    def begin(self, general: Any, retold: Callable[[], Retold | None]) -> Address:
        """The address of the site; `general`, which another process finds as `retold` says, must
        live as long as the program."""
        self._words[1] = id(general)
        return Address(ctypes.addressof(self._words), This("site", (self.targets, retold)))

    def serves(self, sizes: tuple[int, ...]) -> bool:
        """Whether nothing need be prepared for these sizes, or nothing can be."""
        if self._chances[0] <= 0:
            return True
        has_more = self._words[0] != 0 and self._functions[-1].prepared[LEFT] > 0
        return has_more and self._sizes in (None, sizes)

    def prepare(
        self,
        function: Any,
        sizes: tuple[int, ...] | None,
        pairs: Sequence[tuple[int, int]],
        places: Sequence[tuple[int, int, int]],
    ) -> None:
        """Have native code call `function` for these sizes, or for all where that is None.

        What is prepared lives with the function. One thread at a time may do this.
        """
        flat = [x for items in (pairs, places) for item in items for x in item]
        left = MOST_CALLS if sizes is None else 2**62
        words = [0, id(function), len(pairs), len(places), left, *flat]
        function.prepared = (ctypes.c_int64 * len(words))(*words)
        self._functions.append(function)
        self._words[0] = ctypes.addressof(function.prepared)
        self._sizes = sizes
        del self._functions[:-1]

    def give_up(self) -> None:
        """From here on `general` makes the calls."""
        self._chances[0] = 0

    def forgetter(self) -> Callable[[], None]:
        """A function that takes back what is prepared; it keeps no site alive.

        A callee that makes it necessary again and again is called the general way.
        """
        words, chances = self._words, self._chances

        def forget() -> None:
            words[0] = 0
            chances[0] -= 1

        return forget

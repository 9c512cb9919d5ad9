"""Parts of the runtime that are off in this process though nobody asked for it, and why."""

from __future__ import annotations

from tracejit.codegen.support.threads import no_pool
from tracejit.link.loader import UNSUPPORTED, supported
from tracejit.runtime import native
from tracejit.runtime.cache.settings import is_wanted, layers

__all__ = ["what_is_off"]


def what_is_off() -> tuple[tuple[str, str], ...]:
    """Returns (what, why) of native entries, threads and the cache on disk, where they are off."""
    found = {
        "native entries": native.why_not(),
        "threads": no_pool(),
        "cache on disk": _no_cache(),
    }
    return tuple((what, why) for what, why in found.items() if why)


def _no_cache() -> str:
    if not is_wanted():
        return ""
    return layers().why_not if supported() else UNSUPPORTED

"""Libraries that programs share, such as the allocator and products by BLAS, in files as well"""

from __future__ import annotations

import os
from typing import Any

from tracejit.base.locks import once
from tracejit.link.digests import digest
from tracejit.link.image import Image, LinkError
from tracejit.link.loader import load
from tracejit.link.shared import After, Linked, set_keeper
from tracejit.runtime.cache import environment, files
from tracejit.runtime.cache.describer import Describer, Undescribed
from tracejit.runtime.cache.finder import Finder
from tracejit.runtime.cache.guard import never_fails
from tracejit.runtime.cache.records import LIBRARY_SCHEMA
from tracejit.runtime.cache.settings import layers

__all__ = ["Keeper", "keep_libraries"]


class Keeper:
    """Finds the libraries of the process in the cache, and keeps there what is compiled."""

    @never_fails(lambda: None)
    def find(self, name: str) -> tuple[Linked, After | None] | None:
        """A library, and what is done once it is there; None where it has to be compiled."""
        for layer in layers().read:
            record = files.read(_path(layer, name), LIBRARY_SCHEMA)
            if record is None or record["name"] != name:
                continue
            finder = Finder(())
            try:
                found = load(Image(*record["image"]), finder.addresses(record["addresses"]))
            except (LinkError, LookupError, AttributeError, ImportError):
                continue
            found.keep = finder.keep
            after = record["after"]
            return found, None if after is None else After(*after)
        return None

    @never_fails(lambda: None)
    def keep(self, name: str, library: Any, after: After | None) -> None:
        """Write a library that was compiled."""
        image, bound = getattr(library, "made_of", None) or (None, {})
        directory = layers().write
        if image is None or directory is None:
            return
        library.made_of = None
        try:
            record = {
                "name": name,
                "image": tuple(image),
                "addresses": [Describer(()).address(n, bound[n]) for n in image.imports],
                "after": None if after is None else tuple(after),
            }
            environment.mark(directory)
            files.write(_path(directory, name), record)
        except (Undescribed, OSError, ValueError):
            return


def _path(layer: str, name: str) -> str:
    file = f"{digest(name.encode())[:20]}{files.LIBRARY}"
    return os.path.join(layer, environment.folder(), "libraries", file)


@once
def keep_libraries() -> None:
    """From now on libraries are looked for in the cache, and kept there."""
    set_keeper(Keeper())

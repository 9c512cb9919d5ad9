"""Records of earlier processes become entries of a function, at the first call of each kind.

Nothing here needs the compiler. What a record says of this process is checked once, when it is
loaded; what may change between calls its machine code checks itself, as that of a compile does.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from threading import get_ident
from typing import Any

from tracejit import config
from tracejit.base.late import imported
from tracejit.base.locks import holding, holds_lock, long_lock
from tracejit.link.cpython.own_attributes import place
from tracejit.link.image import Image
from tracejit.link.library_names import NOTHING, note_name, refresh, reopen
from tracejit.link.loader import Loaded, load, supported
from tracejit.runtime.cache import environment, files
from tracejit.runtime.cache.examples import example
from tracejit.runtime.cache.finder import Finder
from tracejit.runtime.cache.guard import never_fails
from tracejit.runtime.cache.keys import Key, NotCached, call_kind, key_of
from tracejit.runtime.cache.libraries import keep_libraries
from tracejit.runtime.cache.records import ENTRY_SCHEMA, VERDICT_SCHEMA, restored
from tracejit.runtime.cache.settings import is_wanted, layers
from tracejit.runtime.entries.chain import append_entry

__all__ = [
    "Cached",
    "cached",
    "floats_seen",
    "is_off",
    "is_plain",
    "recall",
    "recalled_compiles",
    "seen",
    "verdict_on",
]

_LOCK = long_lock()
_ABSENT = object()
#: Records of one kind of call that are looked at, the newest ones.
_MOST = 48
#: The same of verdicts.
_MOST_VERDICTS = 8


class Cached:
    """What the cache has of one compiled function."""

    def __init__(self, key: Key | None, why_not: str = "") -> None:
        self.key, self.why_not = key, why_not
        #: The code that the key tells of.
        self.codes = [] if key is None else [root.__code__ for root in key.roots]
        #: The kinds of calls that have been looked for.
        self.kinds: set[str] = set()
        #: Those that files answer: whether one of these is worth its dispatch.
        self.worthwhile: dict[str, bool] = {}
        #: The files of what answers calls here, and of those that were loaded the reports.
        self.files: set[str] = set()
        self.compiles: list[Any] = []
        #: What says of calls that they run eagerly, if there is any.
        self.verdicts: Any = None
        #: The threads that were told of so many files.
        self.told: set[tuple[int, int]] = set()
        #: Gives arguments like those of the newest kind of call that files answer.
        self.example: Callable[[], tuple[Any, Any]] | None = None
        #: Files that are not for this process as it is now, and why.
        self.refused: dict[str, str] = {}
        #: By what they are for, compiles that no file was written of, and why.
        self.unwritten: dict[str, str] = {}

    def is_current(self) -> bool:
        """Whether the functions still have the code that the key tells of."""
        roots = () if self.key is None else self.key.roots
        return all(f.__code__ is code for f, code in zip(roots, self.codes, strict=True))


def cached(jitted: Any) -> Cached:
    """What the cache has of a function. It never raises."""
    found: Cached | None = jitted._cached
    if found is None or not found.is_current():
        anew = _looked_up(jitted)
        anew.compiles = [] if found is None else found.compiles
        found = jitted._cached = anew
    return found


def _looked_up(jitted: Any) -> Cached:
    if jitted._part is not None or jitted._device is not None:
        return Cached(None, "a part of a function, or on a device")
    options = jitted._options
    if options.moves is not None or options.devices or options.timers is not None:
        return Cached(None, "it runs on devices, or is being profiled")
    try:
        key = key_of(jitted, (options.strict, options.bounds_check, options.threads))
    except NotCached as e:
        return Cached(None, str(e))
    except Exception as e:  # code of the program may run: attributes, for instance
        return Cached(None, f"{type(e).__name__}: {e}")
    return Cached(key)


def is_off() -> bool:
    """Whether nothing is looked for: what is to be seen is only seen at a compile."""
    return not (is_wanted() and supported()) or bool(config.dump_dir() or config.perf())


@never_fails(lambda: False)
def recall(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any], again: bool = False) -> bool:
    """Let what earlier processes have compiled for calls of this kind answer them; whether there
    is something that may: something new, what has refused calls since a dict of a library had
    changed, or whatever there is, `again`. Files are looked for once for each kind, or `again`.
    """
    # A finalizer that has interrupted what holds a lock must not wait for another thread's.
    if config.is_eager() or holds_lock() or is_off():
        return False
    with holding(_LOCK):
        known = cached(jitted)
        if known.key is None:
            return False
        kind, before = call_kind(args, kwargs), len(known.files)
        if kind in known.kinds and not again:
            # Another thread may have looked since this one was not answered.
            is_new = (get_ident(), before) not in known.told or reopen()
            known.told.add((get_ident(), before))
            return before > 0 and is_new
        known.kinds.add(kind)
        keep_libraries()
        for path in (
            *_records(known.key, kind)[-_MOST:],
            *_records(known.key, kind, files.VERDICT)[-_MOST_VERDICTS:],
        ):
            if os.path.basename(path) not in known.files:
                _recalled(jitted, known, kind, path, (args, kwargs))
        # What was imported meanwhile may have added names to modules.
        refresh()
        if len(known.files) == before:
            return again and before > 0
        known.example = example(args, kwargs)
        known.told.add((get_ident(), len(known.files)))
        return True


def _records(key: Key, kind: str = "", ending: str = files.ENTRY) -> list[str]:
    """The files for calls of a kind, or of all kinds, the oldest first."""
    found: list[tuple[float, str]] = []
    start = f"{key.prefix}-{kind}"
    for layer in layers().read:
        folder = os.path.join(layer, environment.folder(), key.folder)
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            if name.startswith(start) and name.endswith(ending):
                path = os.path.join(folder, name)
                try:
                    found.append((os.lstat(path).st_mtime, path))
                except OSError:
                    continue  # removed meanwhile
    newest = {os.path.basename(path): (when, path) for when, path in sorted(found)}
    return [path for _, path in sorted(newest.values())]


@never_fails(list[tuple[Any, Any]])
def seen(jitted: Any) -> list[tuple[Any, Any]]:
    """(ranks, sizes) of what earlier processes have compiled for."""
    known = cached(jitted)
    if known.key is None or is_off():
        return []
    return [(r["ranks"], vector) for r in _read(known.key) for vector in r["sizes"]]


@never_fails(list[tuple[str, Any]])
def floats_seen(jitted: Any) -> list[tuple[str, Any]]:
    """(label, value) of floats that earlier processes have taken for constants."""
    known = cached(jitted)
    if known.key is None or is_off():
        return []
    return [item for r in _read(known.key) for item in r["floats"].items()]


def _read(key: Key) -> Iterator[dict[str, Any]]:
    records = (files.read(path, ENTRY_SCHEMA) for path in _records(key)[-_MOST:])
    return (record for record in records if record is not None)


@never_fails(lambda: False)
def is_plain(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether files answer calls of this kind, but plain Python costs less than their checks."""
    known: Cached | None = jitted._cached
    return known is not None and known.worthwhile.get(call_kind(args, kwargs)) is False


def _recalled(
    jitted: Any,
    known: Cached,
    kind: str,
    path: str,
    given: tuple[tuple[Any, ...], dict[str, Any]],
) -> None:
    is_verdict = path.endswith(files.VERDICT)
    try:
        record = files.read(path, VERDICT_SCHEMA if is_verdict else ENTRY_SCHEMA)
        if record is None:
            known.refused[path] = "the file is damaged"
            return
        assert known.key is not None
        files_there = [file[:2] for file in record["files"]]
        finder = Finder(known.key.roots, jitted, files_there, given)
        names = {file[0]: finder.file(k) for k, file in enumerate(record["files"])}
        library = _linked(finder, record, names)
        if is_verdict:
            _add_verdict(jitted, known, library, record, names)
        else:
            append_entry(jitted, library, record["entry"], None)
    except Exception as e:
        known.refused[path] = str(e)
        return
    known.files.add(os.path.basename(path))
    known.refused.pop(path, None)
    if is_verdict:
        return
    known.worthwhile[kind] = known.worthwhile.get(kind, False) or record["worthwhile"]
    known.compiles.append((record["compile"], names))
    if jitted._state is not None:
        jitted._report.variants.extend(recalled_compiles(jitted))


def _add_verdict(
    jitted: Any, known: Cached, library: Loaded, record: dict[str, Any], names: dict[str, str]
) -> None:
    from tracejit.runtime.cache.verdicts import Verdicts

    known.verdicts = known.verdicts or Verdicts(jitted)
    known.verdicts.add(library, record, names)


@never_fails(lambda: None)
def verdict_on(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What files say of a call that runs eagerly, a `Verdict`; None where they say nothing."""
    known = cached(jitted)
    return None if known.verdicts is None else known.verdicts.find(args, kwargs)


def _linked(finder: Finder, record: dict[str, Any], names: dict[str, str]) -> Loaded:
    """Machine code in memory; `names` are those of files here, by those that they had. Raises
    LookupError where this process is another one than it is for, LinkError where it cannot be
    loaded."""
    for package, version in record["versions"]:
        if getattr(imported(package), "__version__", None) != version:
            raise LookupError(f"{package} has another version than {version}")
    for described, name, value in record["bindings"]:
        _check_bound(finder, described, name, value)
    for described, name, value in record["names"]:
        namespace = _check_bound(finder, described, name, value)
        held = NOTHING if value is None else namespace[name]
        if not note_name(namespace, name, held):
            raise LookupError(f"{name} cannot be watched")
    for file, _, is_text in record["files"]:
        if is_text and names[file] != file:
            raise LookupError(f"a text of the program has the name of its file, {file}")
    for kind, described, name, value in record["constants"]:
        _check_constant(finder.object(described), kind, name, finder.object(value))
    _check_places(finder, record["places"])
    for relation in record["relations"]:
        finder.relate(*relation)
    image = Image(*record["image"])
    library = load(image, finder.addresses(record["addresses"]))
    library.keep = finder.keep
    return library


def _check_places(finder: Finder, told: list[tuple[Any, ...]]) -> None:
    """Raises LookupError where objects do not keep attributes where code looks for them."""
    for described, names, places, asked in told:
        cls = finder.object(described)
        # A name that no object of a class has had is given the next place when it is asked for.
        for name in asked:
            place(cls, name)
        if [place(cls, name) for name in names] != list(places):
            raise LookupError(f"objects of {cls.__qualname__} keep attributes elsewhere")


def _check_bound(finder: Finder, described: Any, name: str, value: Any) -> dict[str, Any]:
    """The namespace in which a name is bound as it was. Raises LookupError where it is not."""
    namespace: dict[str, Any] = finder.object(described)
    held = namespace.get(name, _ABSENT)
    if not _is_same(held, _ABSENT if value is None else finder.object(value)):
        raise LookupError(f"{name} is bound to something else")
    return namespace


def _check_constant(place: Any, kind: str, name: str, value: Any) -> None:
    """Raises LookupError where a name of a namespace, or a cell, holds something else."""
    if kind == "name":
        held = place.get(name, _ABSENT)
    else:
        try:
            held = place.cell_contents
        except ValueError:
            held = _ABSENT
    if not _is_same(held, value):
        raise LookupError(f"{name or 'a variable'} holds something else than {value!r:.60}")


def _is_same(held: Any, wanted: Any) -> bool:
    return held is wanted or type(held) is type(wanted) and repr(held) == repr(wanted)


@never_fails(list[Any])
def recalled_compiles(jitted: Any) -> list[Any]:
    """The reports of what was loaded, each once."""
    known: Cached | None = jitted._cached
    if known is None:
        return []
    data, known.compiles = known.compiles, []
    told = [restored(x, files) for x, files in data if x is not None]
    return [dataclasses.replace(x, recalled=True) for x in told]

"""A compile becomes a record in a file, for the processes that come after.

What a record holds is described by content, see `finder.py`; a program that is linked with
anything else is not written, and `tracejit cache why` tells what that is.
"""

from __future__ import annotations

import dataclasses
import marshal
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tracejit.frontend.capture.guards import Equal, Fields, OwnNames, Same
from tracejit.frontend.capture.paths import MISSING, Cell, Global
from tracejit.link.cpython.own_attributes import asked_names
from tracejit.link.digests import digest
from tracejit.runtime.cache import environment, files
from tracejit.runtime.cache.describer import Describer, Undescribed
from tracejit.runtime.cache.finder import Description
from tracejit.runtime.cache.guard import never_fails
from tracejit.runtime.cache.keys import Key, call_kind
from tracejit.runtime.cache.recall import cached, is_off
from tracejit.runtime.cache.records import to_plain
from tracejit.runtime.cache.settings import layers
from tracejit.runtime.call.entry_spec import EntrySpec

__all__ = ["record", "record_verdict"]

#: Packages whose versions are no part of the environment: they are asked where they are used.
_PACKAGES = ("scipy",)


@never_fails(lambda: None)
def record(
    jitted: Any,
    variant: Any,
    compiled: Any,
    given: tuple[tuple[Any, ...], dict[str, Any]],
    ranks: Any,
    sizes: Sequence[Any],
) -> None:
    """Write what was compiled for a call with these arguments, if it can be told to others."""
    if variant.library is None:
        cached(jitted).unwritten[compiled.signature] = "a program for devices"
        return
    traced = variant.traced
    made_of, variant.library.made_of = variant.library.made_of, None

    def described(key: Key) -> dict[str, Any]:
        if variant.call_spec is None:
            raise Undescribed("such a call has no entry of machine code")
        describer = Describer(key.roots, jitted, given)
        return {
            **_linked(describer, made_of, variant.call_spec, traced.bindings, traced.library_names),
            "ranks": ranks,
            "sizes": list(sizes),
            "floats": {} if traced.capture is None else traced.capture.floats(),
            "worthwhile": compiled.worthwhile,
            "compile": _plain_report(compiled),
            "signature": compiled.signature,
        }

    _write(jitted, described, compiled.signature, call_kind(*given), files.ENTRY)


@never_fails(lambda: None)
def record_verdict(jitted: Any, verdict: Any, seconds: float) -> None:
    """Write why calls run eagerly that an entry without a program accepts, if that can be told to
    others. A plain run of such a call has taken so many seconds.
    """

    def described(key: Key) -> dict[str, Any]:
        describer = Describer(key.roots, jitted)
        # Machine code is only made where it can be written.
        for name, address in verdict.symbols.items():
            describer.address(name, address)
        made_of = verdict.compiled().made_of
        return {
            **_linked(describer, made_of, verdict.spec, verdict.bindings, verdict.names),
            "fallback": to_plain(verdict.fallback),
            "guilty": sorted(verdict.guilty),
            "seconds": seconds,
            "signature": verdict.signature,
        }

    _write(jitted, described, verdict.signature, verdict.kind, files.VERDICT)


def _write(
    jitted: Any,
    described: Callable[[Key], dict[str, Any]],
    signature: str,
    kind: str,
    ending: str,
) -> None:
    """Write what is described of a function into a file."""
    directory = layers().write
    known = cached(jitted)
    if is_off() or directory is None or known.key is None:
        return
    try:
        written = {**described(known.key), "label": known.key.label}
        path = _path(directory, known.key, kind, written, ending)
        environment.mark(directory)
        files.write(path, written)
    except Undescribed as e:
        known.unwritten[signature] = str(e)
        return
    except ValueError:
        known.unwritten[signature] = "a constant of a kind of its own"
        return
    except OSError as e:
        known.unwritten[signature] = f"the system: {e}"
        return
    known.files.add(os.path.basename(path))
    files.remove_least_used(directory)


def _path(directory: str, key: Key, kind: str, written: dict[str, Any], ending: str) -> str:
    # Names in the image are numbered by process; code alone tells what else is checked.
    code, data, *_ = written["image"]
    held = ("signature", "addresses", "bindings", "names", "constants")
    own = digest(marshal.dumps([*(written[name] for name in held), code, data], 2))
    name = f"{key.prefix}-{kind}-{own[:12]}{ending}"
    return os.path.join(directory, environment.folder(), key.folder, name)


def _linked(
    describer: Describer,
    made_of: tuple[Any, dict[str, int]] | None,
    spec: EntrySpec,
    bindings: Sequence[tuple[dict[str, Any], str, Any]],
    names: Sequence[tuple[dict[str, Any], str, Any]],
) -> dict[str, Any]:
    """An entry's machine code and what it is linked with. Raises Undescribed."""
    image, bound = made_of or (None, {})
    if image is None:
        raise Undescribed("machine code of LLVM's own linker")
    addresses = [describer.address(name, bound[name]) for name in image.imports]
    described = {
        "entry": next(n for n in image.exports if f"{n}.next" in image.exports),
        "image": tuple(image),
        "addresses": addresses,
        "bindings": [_binding(describer, *b) for b in bindings],
        "names": [_binding(describer, *b) for b in names],
        "places": [
            (describer.object(own.of.get()), own.names, own.places, asked_names(own.of.get()))
            for own in (_own_names(leaf) for _, leaf in spec.leaves)
            if own is not None and own.places is not None
        ],
        "constants": list(_constants(describer, spec)),
    }
    described["versions"] = _versions([*addresses, *described["bindings"], *described["names"]])
    described["relations"] = list(describer.relations())
    # A name in the text of the program is part of it: elsewhere it may be another one.
    data = marshal.dumps(described)
    described["files"] = [(*file, os.fsencode(file[0]) in data) for file in describer.files()]
    return described


def _binding(
    describer: Describer, namespace: dict[str, Any], name: str, value: Any
) -> tuple[Description, str, Description | None]:
    held = None if value is MISSING else describer.object(value)
    return describer.namespace(namespace), name, held


def _own_names(leaf: Any) -> OwnNames | None:
    own = leaf.own if isinstance(leaf, Fields) else leaf
    return own if isinstance(own, OwnNames) else None


def _constants(describer: Describer, spec: EntrySpec) -> Iterator[tuple[Any, ...]]:
    """What names and cells hold: code for other constants need not be loaded."""
    for path, leaf in spec.leaves:
        if isinstance(leaf, Equal):
            held = leaf.value
        elif isinstance(leaf, Same) and leaf.of.watched is None:
            held = leaf.of.get()
        else:
            continue
        if isinstance(path, Global):
            place: tuple[Any, ...] = ("name", describer.namespace(path.namespace), path.name)
        elif isinstance(path, Cell):
            place = ("contents", describer.object(path.cell), "")
        else:
            continue
        yield (*place, describer.object(held))


def _versions(described: Sequence[Description]) -> list[tuple[str, str]]:
    text = repr([d for d in described if d[0] != "bytes"])
    return [(p, sys.modules[p].__version__) for p in _PACKAGES if p in text and p in sys.modules]


def _plain_report(compiled: Any) -> Any:
    """The report of a compile, without where its arrays lie if that has no plain form."""
    for given in (compiled, dataclasses.replace(compiled, buffers=None)):
        try:
            return to_plain(given)
        except TypeError:
            continue
    return None

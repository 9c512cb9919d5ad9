"""Pickles of compiled functions: by their names where they have one, else of their parts.

Machine code, locks and reports stay where they are: a function is compiled where it arrives. One
that arrives again with equal contents is the one that came before, with values as they were
pickled, so that a process that is sent the same function with each task compiles it once. With code
goes its source, which it is compiled from.
"""

from __future__ import annotations

import functools
import io
import linecache
import pickle
import sys
import threading
from collections import ChainMap, OrderedDict
from hashlib import blake2b
from types import CellType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

from tracejit.base.locks import short_lock

__all__ = ["dumped", "loaded", "reduced"]

#: So many of the functions that have arrived last are kept.
_KEPT = 64
_arrived: OrderedDict[bytes, Any] = OrderedDict()
_arriving = short_lock()
#: What describes a function and is taken over anew.
_DESCRIBED = frozenset((*functools.WRAPPER_ASSIGNMENTS, "__wrapped__"))


class _Thread(threading.local):
    """The functions that this thread is taking apart, or putting together, the outermost first."""

    def __init__(self) -> None:
        self.out: list[Any] = []
        self.into: list[Any] = []
        #: What files are called here, by what they are called where a function comes from.
        self.files: dict[str, str] = {}


_THREAD = _Thread()


class _PlainOf:
    """Stands for the function inside a compiled one that has its name."""

    def __init__(self, compiled: Any) -> None:
        self.compiled = compiled


def reduced(compiled: Any, caller: FrameType) -> Any:
    """What `__reduce_ex__` of a compiled function gives to the pickler that `caller` runs.

    Raises what pickling its function does: PicklingError, AttributeError, TypeError.
    """
    name = str(getattr(compiled, "__qualname__", ""))
    pickler = _cloudpickle(caller)
    module = getattr(compiled, "__module__", None)
    if _found(module, name) is compiled and not _goes_by_value(pickler, module):
        return name
    for level, other in enumerate(_THREAD.out):
        if other is compiled:
            return _from_outside, (level,)
    function, described = compiled.__tracejit__, vars(compiled)
    shown = getattr(function, "__dict__", {})
    own = {
        key: value
        for key, value in described.items()
        if key not in _DESCRIBED and shown.get(key, _DESCRIBED) is not value
    }
    _THREAD.out.append(compiled)
    try:
        what = _named(function, pickler), compiled._options, own
        data, texts = dumped(what, pickler)
    finally:
        _THREAD.out.pop()
    return _put_together, (type(compiled), data, texts)


def dumped(what: Any, pickler: ModuleType | None) -> tuple[bytes, dict[str, str]]:
    """A pickle, and the texts of the files that code in it is from.

    `pickler` is cloudpickle, or a copy of it; None: no code is taken apart. Raises what they do.
    """
    if pickler is None:
        return pickle.dumps(what), {}
    base: Any = pickler.CloudPickler
    code_reduced = base.dispatch_table[CodeType]
    texts: dict[str, str] = {}

    def reduce_code(code: CodeType) -> Any:
        file = code.co_filename
        if file not in texts:
            linecache.checkcache(file)
            texts[file] = "".join(linecache.getlines(file))
        make, arguments = code_reduced(code)[:2]
        return _located, (make, arguments, "".join(file))

    class Pickler(base):  # type: ignore[misc]
        dispatch_table = ChainMap({CodeType: reduce_code}, base.dispatch_table)

    stream = io.BytesIO()
    Pickler(stream).dump(what)
    return stream.getvalue(), {file: text for file, text in sorted(texts.items()) if text}


def loaded(data: bytes, texts: dict[str, str]) -> Any:
    """What was dumped, whose code is of files with these texts. Raises what `pickle.loads` does."""
    outside = _THREAD.files
    _THREAD.files = {**outside, **{x: _known_here(x, text) for x, text in texts.items()}}
    try:
        return pickle.loads(data)
    finally:
        _THREAD.files = outside


def _located(make: Any, arguments: Any, file: str) -> CodeType:
    """Code that has the name of its file again, which its pickle does not."""
    code: CodeType = make(*arguments)
    return code.replace(co_filename=_THREAD.files.get(file, file))


def _known_here(file: str, text: str) -> str:
    """What a file with this text is called here; of those with other texts it has another name."""
    linecache.checkcache(file)
    found = "".join(linecache.getlines(file))
    if found and found != text:
        file = f"{file}[{blake2b(text.encode(), digest_size=4).hexdigest()}]"
        found = "".join(linecache.getlines(file))
    if not found:
        # Without a time of change it is never looked for.
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    return file


def _put_together(kind: type, data: bytes, texts: dict[str, str]) -> Any:
    # What is inside of others may refer to them.
    if _THREAD.into:
        return _new(kind, data, texts)
    digest = blake2b(repr((kind.__name__, texts)).encode())
    digest.update(data)
    key = digest.digest()
    made = _new(kind, data, texts)
    with _arriving:
        known = _arrived.setdefault(key, made)
        _arrived.move_to_end(key)
        if len(_arrived) > _KEPT:
            _arrived.popitem(last=False)
    if known is made or _begin_anew(known.__tracejit__, made.__tracejit__):
        return known
    return made


def _begin_anew(known: Any, fresh: Any) -> bool:
    """Give a callable what another one of the same pickle has: values that calls have changed are
    again what they were. False where that cannot be done.
    """
    if known is fresh or type(known) is not type(fresh):
        return known is fresh
    match known:
        case FunctionType():
            _take_values(known, fresh)
        case MethodType():
            return _begin_anew(known.__func__, fresh.__func__) and _begin_anew(
                known.__self__, fresh.__self__
            )
        case functools.partial():
            if not _begin_anew(known.func, fresh.func):
                return False
            state = known.func, fresh.args, fresh.keywords, vars(fresh)
            known.__setstate__(state)  # type: ignore[attr-defined]
        case _ if hasattr(known, "traced_call") and hasattr(known, "function"):
            return _begin_anew(known.function, fresh.function)
        case _ if hasattr(known, "__tracejit__"):
            return _begin_anew(known.__tracejit__, fresh.__tracejit__)
        case _ if hasattr(known, "__dict__"):
            vars(known).clear()
            vars(known).update(vars(fresh))
        case _:
            return False
    return True


def _take_values(known: FunctionType, fresh: FunctionType) -> None:
    """Have a function's globals and closure hold what another one's do, but for code."""
    if known.__globals__ is not fresh.__globals__:
        for name, value in fresh.__globals__.items():
            if _is_value(name, value):
                known.__globals__[name] = value
    for old, new in zip(known.__closure__ or (), fresh.__closure__ or (), strict=True):
        if old is not new and _has_value(new) and _is_value("", new.cell_contents):
            old.cell_contents = new.cell_contents


def _has_value(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _is_value(name: str, x: Any) -> bool:
    code = isinstance(x, (FunctionType, type, ModuleType)) or hasattr(x, "__tracejit__")
    return not code and not (name.startswith("__") and name.endswith("__"))


def _new(kind: Any, data: bytes, texts: dict[str, str]) -> Any:
    made = kind.__new__(kind)
    _THREAD.into.append(made)
    try:
        function, options, own = loaded(data, texts)
    finally:
        _THREAD.into.pop()
    if isinstance(function, _PlainOf):
        function = function.compiled.__tracejit__
    made.__init__(function, options)
    vars(made).update(own)
    return made


def _from_outside(level: int) -> Any:
    return _THREAD.into[level]


def _named(function: Any, pickler: ModuleType | None) -> Any:
    """A function, or what stands for it where its name is that of a compiled function of it."""
    module = getattr(function, "__module__", None)
    if _goes_by_value(pickler, module):
        return function
    found = _found(module, str(getattr(function, "__qualname__", "")))
    inside = found is not function and getattr(found, "__tracejit__", None) is function
    return _PlainOf(found) if inside else function


def _found(module: Any, name: str) -> Any:
    """What has this name in a module, or None."""
    value: Any = sys.modules.get(module) if isinstance(module, str) else None
    for part in name.split("."):
        value = getattr(value, part, None)
    return value


def _cloudpickle(caller: FrameType) -> ModuleType | None:
    """The module of a pickler that takes functions apart; there may be several copies of it."""
    name = caller.f_globals.get("__name__", "")
    module = sys.modules.get(name) if name.rpartition(".")[2] == "cloudpickle" else None
    return module if hasattr(module, "CloudPickler") and hasattr(module, "dumps") else None


def _goes_by_value(pickler: ModuleType | None, module: Any) -> bool:
    """Whether the functions of a module are taken apart: where they arrive is no such module."""
    if pickler is None:
        return False
    registered = getattr(pickler, "list_registry_pickle_by_value", set[str])()
    parents = str(module).split(".")
    names = {".".join(parents[: k + 1]) for k in range(len(parents))}
    return module == "__main__" or not registered.isdisjoint(names)

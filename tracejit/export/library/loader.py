"""The description of a library becomes a Python module that loads it, without tracejit."""

from __future__ import annotations

from pathlib import Path

from tracejit import __version__
from tracejit.export.library.entries import Entry
from tracejit.export.library.prototypes import Description
from tracejit.export.library.signatures import Argument
from tracejit.ir.types import ArrayType
from tracejit.link.blas import LAPACK, spellings

__all__ = ["loader"]


def loader(d: Description) -> str:
    """The text of the module."""
    code = Path(__file__).with_name("loader_code.py").read_text(encoding="utf-8")
    code = code.partition("\nfrom __future__ import annotations\n")[2]
    signatures = "".join(f"\n    {d.name}{_quoted(e.whole_text)}" for e in d.entries)
    return f'''\
"""{d.name}: {d.function}, made by tracejit {__version__} for {d.target} processors.

{signatures.lstrip(chr(10))}
"""

from __future__ import annotations
{code}

_ROUTINES = (
{"".join(_routine(name) for name in sorted(d.routines))})
_LIBRARY = Library(__file__, {d.name!r}, _ROUTINES, {d.makes_arrays!r}, {d.build!r})
_ENTRIES = (
{"".join(_entry(e) for e in d.entries)})


def {d.name}(*args: Any, **kwargs: Any) -> Any:
    """{d.function}, compiled for:
{signatures}

    Raises TypeError and ValueError for arguments that do not fit, RuntimeError where a check fails.
    """
    return _LIBRARY.call(_ENTRIES, args, kwargs)

{_set_threads(d) if d.has_threads else ""}

__all__ = {[d.name, "set_threads"] if d.has_threads else [d.name]!r}
'''


def _set_threads(d: Description) -> str:
    return f'''

def set_threads(n: int) -> None:
    """Have so many threads share long loops from now on, in all calls; at first it is one."""
    _LIBRARY.{d.name}_set_threads(ctypes.c_int64(n))
'''


def _quoted(text: str) -> str:
    """A text inside of a docstring."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _routine(name: str) -> str:
    return f"    ({name!r}, {name[1:] in LAPACK!r}, {spellings(name)!r}),\n"


def _entry(e: Entry) -> str:
    arguments = "".join(f"            {_argument(a, e)},\n" for a in e.signature.arguments)
    results = "".join(
        f"            Made({r.form!r}, {r.dtype.str!r}, {tuple(r.order)!r}, {r.kind!r}),\n"
        for r in e.results
    )
    return f"""\
    Entry(
        {e.symbol!r},
        {e.whole_text!r},
        (
{arguments}        ),
        {e.signature.positional},
        {tuple(e.sizes)!r},
        (
{results}        ),
        lambda r, a: {e.result_form},
    ),
"""


def _argument(a: Argument, e: Entry) -> str:
    if a.size is not None:
        return f"Size({a.name!r}, {a.size!r})"
    if a.type is None:
        return f"Constant({a.name!r}, {a.value!r})"
    p = next(p for p in e.parameters if p.name == a.name)
    if isinstance(a.type, ArrayType):
        return f"Array({a.name!r}, {p.dtype.str!r}, {p.dims!r}, {p.order!r}, {p.is_stored!r})"
    return f"Number({a.name!r}, {p.kind!r})" if p.kind else f"Scalar({a.name!r}, {p.dtype.str!r})"

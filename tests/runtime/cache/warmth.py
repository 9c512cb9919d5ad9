"""Counts what a second process answers from the cache: the corpus, NumPy's surface, the pages.

    python -m tests.runtime.cache.warmth                     # all of them
    python -m tests.runtime.cache.warmth surface --part 0/10
    python -m tests.runtime.cache.warmth docs --only report --python /usr/bin/python3.13

Groups of functions run in two processes, one after the other, on one cache. A function is warm
where the second compiles nothing for it, and gives what the first has given. What runs eagerly in
the first, or on devices, is counted apart. `--moved` runs the second process in another folder.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import io
import json
import os
import subprocess
import sys
import tempfile
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.runtime.cache.processes import ROOT, environment
from tracejit.link.digests import digest

#: Programs of the corpus, and recipes of the surface, that two processes run.
_PROGRAMS, _RECIPES = 6, 20
_SECONDS = 900
#: What the cache says of programs that it does not keep.
DEVICES = "a program for devices"
#: What rows of pages as a whole end in.
_PAGE = "its values"
#: Functions that a second process compiles anew, as docs/cache.md says, and why.
COLD = {
    "Trainer.train_epoch": "objects of a class have got their attributes in another order",
    "scale: step (1)": "it exchanges arrays with other processes",
    'np.require(a, requirements=["C"])': "NumPy goes over a set of texts",
}
#: What a page leaves that two processes can compare.
_VALUES = (np.ndarray, np.generic, float, int, complex, type(None))


@dataclasses.dataclass(frozen=True)
class Row:
    """One function in one process: what it has compiled and loaded, and why it is not kept."""

    name: str
    compiled: int
    loaded: int
    is_apart: bool
    reasons: tuple[str, ...]
    #: A digest of all that its calls have left behind.
    left: str


@dataclasses.dataclass(frozen=True)
class Found:
    """One function in both processes."""

    name: str
    is_apart: bool
    is_warm: bool
    is_same: bool
    #: What the cache says of a function that is compiled anew.
    reason: str


def row(name: str, f: Any, left: Any) -> Row:
    """What became of a compiled function's calls."""
    known, report = f._cached, f.report()
    reasons = [known.why_not, *known.unwritten.values(), *known.refused.values()] if known else []
    compiled = sum(not c.recalled for c in report.variants)
    is_apart = bool(report.fallbacks) or DEVICES in reasons
    return Row(
        name,
        compiled,
        len(known.files) if known else 0,
        is_apart,
        tuple(dict.fromkeys(filter(None, reasons))),
        digest(left.encode()),
    )


# Groups: names, and what a process runs of each.


def corpus_groups() -> list[str]:
    from benchmarks.corpus import FAMILIES

    counts = {name: -(-len(family) // _PROGRAMS) for name, family in FAMILIES.items()}
    return [f"{name}:{k}" for name, count in counts.items() for k in range(count)]


def corpus_rows(group: str, _: Path) -> Iterator[Row]:
    """As the corpus's test calls them."""
    import tracejit
    from benchmarks.corpus import FAMILIES
    from benchmarks.corpus.program import outcome

    family, _, k = group.partition(":")
    for program in FAMILIES[family][int(k) * _PROGRAMS :][:_PROGRAMS]:
        f = tracejit.jit(program.f)
        made = [make() for make in program.inputs]
        yield row(program.name, f, "".join(text(outcome(f, x)) for x in made for _ in range(2)))


def surface_groups() -> list[str]:
    from tests.frontend.numpy.surface.recipes import recipes

    return [str(k) for k in range(-(-len(recipes()) // _RECIPES))]


def surface_rows(group: str, _: Path) -> Iterator[Row]:
    """Each recipe on its plain operands."""
    import tracejit
    from benchmarks.corpus.program import outcome
    from tests.frontend.numpy.surface.cases import Case
    from tests.frontend.numpy.surface.recipes import recipes

    for recipe in recipes()[int(group) :: len(surface_groups())]:
        case = Case(recipe, "plain")
        f = tracejit.jit(case.function())
        yield row(recipe, f, "".join(text(outcome(f, case.arguments())) for _ in range(2)))


def docs_groups() -> list[str]:
    from tests.project.pages import PAGES

    return [page.stem for page in PAGES]


def docs_rows(group: str, folder: Path) -> Iterator[Row]:
    """Every function that a page's Python blocks compile; what else a page prints is not read."""
    from benchmarks.corpus.program import picture
    from tests.project.pages import PAGES, Run
    from tracejit.runtime.entries.jit_type import JitBase
    from tracejit.runtime.jitted import Jitted

    class OfBlocks(Run):
        """A page as a program of a user: its names are those of a module."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            module = types.ModuleType(self.names["__name__"])
            sys.modules[module.__name__], self.names = module, vars(module)

        def _console(self, block: Any) -> None:
            pass

        def _compare(self, block: Any, printed: str) -> None:
            pass

    made: list[Any] = []
    begin = JitBase.__init__

    def begin_noted(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        made.append(self)

    JitBase.__init__ = begin_noted  # type: ignore[method-assign]
    os.chdir(folder)
    sys.path.insert(0, "")
    run = OfBlocks(next(p for p in PAGES if p.stem == group), folder, plain=False)
    run.run()
    held = {id(x): name for name, x in run.names.items()}
    numbers: collections.Counter[str] = collections.Counter()
    jitted = [x for x in made if isinstance(x, Jitted)]
    of_devices = {id(x._given_report) for x in jitted if x._device is not None}
    for f in jitted:
        # Parts of eager functions, and what is moved to devices, have no file by their kind.
        if f._cached is None or f._cached.why_not.startswith(("a part", "it runs on devices")):
            continue
        name = held.get(id(f)) or getattr(f, "__qualname__", type(f).__name__)
        numbers[name] += 1
        found = row(f"{group}: {name} ({numbers[name]})", f, "")
        yield dataclasses.replace(found, is_apart=found.is_apart or id(f._report) in of_devices)
    # The page as a whole is no function: it is counted apart.
    values = {name: x for name, x in run.names.items() if _is_value(x)}
    yield Row(f"{group}: {_PAGE}", 0, 0, True, (), digest(text(picture(values)).encode()))


KINDS: dict[str, tuple[Callable[[], list[str]], Callable[[str, Path], Iterator[Row]]]] = {
    "corpus": (corpus_groups, corpus_rows),
    "surface": (surface_groups, surface_rows),
    "docs": (docs_groups, docs_rows),
}


def _is_value(x: Any) -> bool:
    if isinstance(x, (tuple, list)):
        return all(map(_is_value, x))
    return isinstance(x, _VALUES)


def text(x: Any) -> str:
    """A picture as text: equal ones hold the same to the bit."""
    if isinstance(x, (tuple, list)):
        return f"{type(x).__name__}({', '.join(map(text, x))})"
    if isinstance(x, np.ndarray) and not x.dtype.hasobject:
        return f"{x.dtype.str}{x.shape}{digest(x.tobytes())}"
    return repr(x)


def run_group(kind: str, group: str, folder: Path) -> None:
    """Print the rows of a group as JSON: a process of its own."""
    warnings.simplefilter("ignore")
    rows = []
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            rows += map(dataclasses.asdict, KINDS[kind][1](group, folder))
        except Exception:
            traceback.print_exc()
    print(json.dumps(rows))
    sys.stdout.flush()
    os._exit(0)


def compared(
    kind: str, group: str, python: str = sys.executable, moved: bool = False
) -> list[Found]:
    """The functions of a group, in two processes."""
    with tempfile.TemporaryDirectory() as name:
        processes = []
        for k in range(2):
            folder = Path(name, f"program{k * moved}")
            folder.mkdir(exist_ok=True)
            command = [python, "-m", __spec__.name, "--run", kind, group, str(folder)]
            done = subprocess.run(
                command,
                cwd=ROOT,
                # A page may look at the warnings of what runs eagerly.
                env=environment(Path(name, "cache"), TRACEJIT_FALLBACK="warn"),
                capture_output=True,
                text=True,
                timeout=_SECONDS,
            )
            if done.returncode or not done.stdout:
                raise RuntimeError(f"{kind} {group}: {done.stderr[-2000:]}")
            if "Traceback" in done.stderr:
                print(done.stderr[-1000:], file=sys.stderr)
            rows = [Row(**{**r, "reasons": tuple(r["reasons"])}) for r in json.loads(done.stdout)]
            processes.append({r.name: r for r in rows})
    first, second = processes
    return [_found(first[name], second[name]) for name in first if name in second]


def _found(a: Row, b: Row) -> Found:
    is_warm = b.compiled == 0 and (b.loaded > 0 or a.compiled == 0)
    reasons = dict.fromkeys((*a.reasons, *b.reasons))
    return Found(a.name, a.is_apart, is_warm, a.left == b.left, "; ".join(reasons) or "no reason")


def main() -> int:
    """Print counts, reasons and what is not warm; returns 1 if a second process gives another
    result than the first."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=__doc__)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}; all if none is named")
    parser.add_argument("--part", default="0/1", help="k/n: every n-th group from number k on")
    parser.add_argument("--only", default="", help="groups with this text in their names")
    parser.add_argument("--python", default=sys.executable, help="the Python that runs them")
    parser.add_argument("--moved", action="store_true", help="the second in another folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--run", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        kind, group, folder = options.run
        run_group(kind, group, Path(folder))
    k, n = map(int, options.part.split("/"))
    differ = 0
    for kind in options.kinds or KINDS:
        groups = [g for g in KINDS[kind][0]() if options.only in g][k::n]
        in_two = partial(compared, kind, python=options.python, moved=options.moved)
        with ThreadPoolExecutor(options.jobs) as pool:
            differ += report(kind, [x for found in pool.map(in_two, groups) for x in found])
    return 1 if differ else 0


def report(kind: str, found: list[Found]) -> int:
    """Print what was found of one kind; how many functions give another result."""
    told = [x for x in found if not x.is_apart]
    warm = sum(x.is_warm for x in told)
    reasons = collections.Counter(x.reason for x in told if not x.is_warm)
    for reason, count in reasons.most_common():
        print(f"{count:5}  {reason}")
        for x in told:
            if not x.is_warm and x.reason == reason:
                print(f"         {x.name}")
    other = [x.name for x in found if not x.is_same]
    for name in other:
        print(f"DIFFERS  {name}")
    share = 100 * warm / max(len(told), 1)
    apart = sum(x.is_apart and _PAGE not in x.name for x in found)
    print(f"{kind}: {warm} of {len(told)} warm, {share:.1f} %; {apart} run eagerly or on devices")
    sys.stdout.flush()
    return len(other)


if __name__ == "__main__":
    raise SystemExit(main())

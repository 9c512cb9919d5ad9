"""What was not there when a function was compiled is there later, or in another process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runtime.cache.processes import python

#: Functions that go another way where something is absent, and statements that bring it there.
CASES = {
    "a global, by its error": (
        "try: return x * rate\n    except NameError: return x - 1", "rate = 3.0"),
    "a global of a callee": (
        "try: return x * helper()\n    except NameError: return x - 1", "rate = 3.0"),
    "a global that is bound when it is first asked for": (
        "global table\n    try: table\n    except NameError: table = 2.0\n    return x * table",
        "table = 9.0"),
    "a global that hides a builtin": ("return x * len('abc')", "len = lambda text: 7"),
    "a builtin": (
        "try: return x * tj_rate\n    except NameError: return x - 1",
        "import builtins; builtins.tj_rate = 3.0"),
    "a global, asked for in globals": (
        "return x * 3 if 'rate' in globals() else x - 1", "rate = 3.0"),
    "a global, got from globals": ("return x * globals().get('rate', 5.0)", "rate = 3.0"),
    "an attribute of a module of the program": (
        "try: return x * settings.rate\n    except AttributeError: return x - 1",
        "settings.rate = 3.0"),
    "an attribute of a module of the program, asked for": (
        "return x * 3 if hasattr(settings, 'rate') else x - 1", "settings.rate = 3.0"),
    "an attribute of a module of NumPy": (
        "return x * getattr(np, 'tj_rate', 5.0)", "np.tj_rate = 3.0"),
    "an attribute of an object": ("return x * getattr(point, 'rate', 5.0)", "point.rate = 3.0"),
    "an attribute of a class": ("return x * getattr(Point, 'rate', 5.0)", "Point.rate = 3.0"),
    "an attribute of a base": ("return x * getattr(point, 'rate', 5.0)", "Base.rate = 3.0"),
    "an attribute of a function": ("return x * getattr(helper, 'rate', 5.0)", "helper.rate = 3.0"),
    "a key of a dict": ("return x * known.get('rate', 5.0)", "known['rate'] = 3.0"),
    "a key of a dict, by its error": (
        "try: return x * known['rate']\n    except KeyError: return x - 1", "known['rate'] = 3.0"),
    "a method": ("return x * point.made() if hasattr(point, 'made') else x - 1",
                 "Point.made = lambda self: 3.0"),
    "a special method": (
        "try: return x * len(point)\n    except TypeError: return x - 1",
        "Point.__len__ = lambda self: 3"),
}  # fmt: skip
HEAD = """
import json, sys
import numpy as np
import tracejit
import settings

class Base:
    pass

class Point(Base):
    def __init__(self): self.x = 1.0

point, known = Point(), {}

def helper(): return rate
"""


def program(*, bring: bool, later: bool) -> str:
    """Calls of all functions and of their plain forms; what is absent comes before, or later."""
    text = HEAD
    for k, (body, _) in enumerate(CASES.values()):
        text += f"\ndef f{k}(x):\n    {body}\n"
    text += "\nx, found, plain = np.array([2.0, 4.0]), {}, {}\n"
    for k, (name, (_, there)) in enumerate(CASES.items()):
        text += f"j = tracejit.jit(f{k})\n"
        for comes in [False, True] if later else [bring]:
            text += f"{there}\n" if comes else ""
            # A name that a call binds is taken away: both calls begin alike.
            for told, called in (("found", "j"), ("plain", f"f{k}")):
                text += "before = set(globals()) | {'before'}\n"
                text += f"{told}.setdefault({name!r}, []).append({called}(x).tolist())\n"
                text += "for new in set(globals()) - before - {'new'}: del globals()[new]\n"
        # Others ask for the same names.
        text += (
            "for n in ('rate', 'len', 'table'): globals().pop(n, None)\n"
            "vars(settings).pop('rate', None); vars(helper).pop('rate', None)\n"
            "import builtins; vars(builtins).pop('tj_rate', None); vars(np).pop('tj_rate', None)\n"
            "for c in (Point, Base):\n"
            "    for n in ('rate', 'made', '__len__'):\n"
            "        if n in vars(c): delattr(c, n)\n"
            "vars(point).pop('rate', None); known.clear()\n"
        )
    return text + "print(json.dumps([found, plain]))\n"


def differing(tmp_path: Path, *, bring: bool = False, later: bool = False) -> list[str]:
    (tmp_path / "settings.py").write_text("", encoding="utf-8")
    (tmp_path / "program.py").write_text(program(bring=bring, later=later), encoding="utf-8")
    text = python("program.py", cache=tmp_path / "cache", cwd=tmp_path)
    found, plain = json.loads(text)
    return [name for name in CASES if found[name] != plain[name]]


@pytest.mark.parametrize("first", [False, True], ids=["absent first", "there first"])
def test_it_is_there_in_another_process(tmp_path: Path, first: bool) -> None:
    assert differing(tmp_path, bring=first) == []
    assert differing(tmp_path, bring=not first) == []
    assert differing(tmp_path, bring=first) == []


def test_it_comes_in_one_process(tmp_path: Path) -> None:
    for _ in range(2):
        assert differing(tmp_path, later=True) == []

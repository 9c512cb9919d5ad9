"""Liveness of small functions, name by name: what may be read, and what is known not to be."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tracejit.frontend.rewrite.live_names import LiveNames

Expected = dict[int, tuple[str, str]]


def liveness(text: str) -> Expected:
    """For the line of each compound statement, what is live after it and at its head."""
    (function,) = ast.parse(textwrap.dedent(text)).body
    assert isinstance(function, ast.FunctionDef)
    live = LiveNames(function)
    found: Expected = {}
    for node in ast.walk(function):
        if isinstance(node, (ast.If, ast.While, ast.For)) and node in live.exits:
            head = live.at_head(node) if not isinstance(node, ast.If) else frozenset()
            found[node.lineno - 1] = " ".join(sorted(live.after(node))), " ".join(sorted(head))
    return found


CASES: dict[str, tuple[str, Expected]] = {
    "only what is read later": (
        """
        def f(a, b, c):
            if a:
                b = c = d = 1
            c = 2
            return b + c
        """,
        {2: ("b", "")},
    ),
    "either side of the next branch": (
        """
        def f(a, b, c):
            if a:
                b = c = d = 1
            if b:
                return c
            else:
                d = 1
            return d
        """,
        {2: ("b c", ""), 4: ("d", "")},
    ),
    "a loop reads again what it read": (
        """
        def f(a, b, c):
            while a:
                if b:
                    c = 1
                a = c
                d = a
            return b
        """,
        {2: ("b", "a b c"), 3: ("b c", "")},
    ),
    "what each iteration binds first is not carried": (
        """
        def f(a, n):
            for i in n:
                t = i * a
                u = t
                a = a + u
            return a
        """,
        {2: ("a", "a")},
    ),
    "a loop that runs no iteration binds nothing": (
        """
        def f(a, b):
            for i in a:
                b = i
            else:
                c = i
            return b, c, i
        """,
        {2: ("b c i", "b i")},
    ),
    "break skips what the rest of the loop binds": (
        """
        def f(a, b, c):
            for i in a:
                if i:
                    c = 1
                    break
                b = c = i
            else:
                c = b = 2
            return b, c
        """,
        {2: ("b c", "b"), 3: ("b c i", "")},
    ),
    "continue skips what the rest of the loop binds": (
        """
        def f(a, b, c):
            while b:
                if c:
                    continue
                b = c = a
            return 0
        """,
        {2: ("", "a b c"), 3: ("a b c", "")},
    ),
    "break from an inner else": (
        """
        def f(a, b, c):
            while a:
                for i in b:
                    c = i
                else:
                    break
                c = 2
            return c
        """,
        {2: ("c", "a b c"), 3: ("a b c", "c")},
    ),
    "a jump of an inner loop stays inside": (
        """
        def f(a, b, c):
            while a:
                c = 1
                while b:
                    if c:
                        break
                    b = 0
                a = b
            return 0
        """,
        {2: ("", "a b"), 4: ("b", "b c"), 5: ("b c", "")},
    ),
    "nothing is read after a return or raise": (
        """
        def f(a, b, c):
            if a:
                b = c = 1
                return c
            elif b:
                c = 1
                raise KeyError(b)
            return a
        """,
        {2: ("a", ""), 5: ("a", "")},
    ),
    "del and += read": (
        """
        def f(a, b, c, d):
            if a:
                b = c = d = 1
            del b
            c += 1
            d[0] = 1
        """,
        {2: ("b c d", "")},
    ),
    "stores to items and attributes read their parts": (
        """
        def f(a, b, c, d):
            if a:
                b = c = d = 1
            b.x, a[c] = 1, 2
            for d.x in a:
                pass
        """,
        {2: ("a b c d", ""), 5: ("", "d")},
    ),
    "operands that may be skipped bind nothing for sure": (
        """
        def f(a, b, c, d, e):
            if a:
                b = c = d = e = 1
            x = a and (b := 1)
            y = 1 if a else (c := 2)
            z = a < 1 < (d := 3)
            (e := 4) and a
            return b, c, d, e, x, y, z
        """,
        {2: ("a b c d", "")},
    ),
    "operands that may be skipped read": (
        """
        def f(a, b, c, d, e):
            if a:
                b = c = d = e = 1
            x = a and b
            x = c if a else x
            x = a < 1 < d
            return x
        """,
        {2: ("a b c d", "")},
    ),
    "a break counts for every statement that it leaves": (
        """
        def f(a, b, c):
            for i in a:
                if i:
                    if b:
                        c = 1
                        break
                b = c = i
            else:
                c = b = 2
            return b, c
        """,
        {2: ("b c", "b"), 3: ("b c i", ""), 4: ("b c i", "")},
    ),
    "a condition binds before it leads anywhere": (
        """
        def f(a, b):
            while (b := a) and (c := b):
                a = b
            return b
        """,
        {2: ("b", "a")},
    ),
    "comprehensions have variables of their own": (
        """
        def f(a, i, v, n):
            if a:
                i = v = n = 1
            b = [i + n for i in a for _ in v]
            i = {k: v for k in b if i}
            return {i for i in i}
        """,
        {2: ("a i n v", "")},
    ),
    "what closures read is live everywhere": (
        """
        def f(a, b, c, d, e):
            g = lambda v, w=d: v + b
            def h(c):
                e = c
                return e + a
            lazy = (b for _ in a if c)
            if a:
                a = b = c = d = e = 1
            return 0
        """,
        {7: ("a b c", "")},
    ),
    "super() reads the first parameter": (
        """
        def f(a, b, c):
            if b:
                a = b = c = 1
                return super().f(b)
        """,
        {2: ("a", "")},
    ),
    "assertions": (
        """
        def f(a, b, c, d):
            if a:
                b = c = d = 1
            assert (d := b), c
            return d
        """,
        {2: ("b c", "")},
    ),
    "annotations read and bind only with a value": (
        """
        def f(a, b, c):
            if a:
                b = c = 1
            b: d
            c: d = 1
            return b, c
        """,
        {2: ("b", "")},
    ),
    "decorators and defaults are read at the definition": (
        """
        def f(a, b, c, g):
            if a:
                b = c = g = 1
            @b
            def g(x=c): return x
            return g
        """,
        {2: ("b c", "")},
    ),
    "keys and values bind in no order that is counted on": (
        """
        def f(a, b, c):
            if a:
                b = c = 1
            return {(b := 1): b, c: (c := 2)}
        """,
        {2: ("b c", "")},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_live(name: str) -> None:
    text, expected = CASES[name]
    assert liveness(text) == expected

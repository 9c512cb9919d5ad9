"""Writes a program as a script that shows by itself what plain and jitted calls leave."""

from __future__ import annotations

from tests.random.plain.check import Verdict

_SHOW = '''

if __name__ == "__main__":
    import runpy
    import warnings

    import tracejit
    from tracejit.runtime.compile import worth

    def shown(x, known):
        """The text of `x`; objects that are one have one number."""
        if isinstance(x, tuple):
            return f"({', '.join(shown(v, known) for v in x)})"
        inner = x.items() if isinstance(x, dict) else x if hasattr(x, "append") else None
        if inner is None and not hasattr(x, "__dict__"):
            return repr(x)
        if id(x) in known:
            return f"#{known.index(id(x))}"
        known.append(id(x))
        inner = vars(x).items() if inner is None else inner
        return f"#{len(known) - 1} {type(x).__name__}[{', '.join(shown(v, known) for v in inner)}]"

    warnings.simplefilter("ignore")
    worth._OPERATION = float("inf")  # short functions are compiled, too
    plain, jitted = (runpy.run_path(__file__, run_name="program") for _ in range(2))
    functions = plain["f"], tracejit.jit(jitted["f"])
    for calls in zip(plain["CALLS"], jitted["CALLS"]):
        for title, function, call in zip(("plain ", "jitted"), functions, calls):
            arguments = call()
            known = [id(arguments)]
            shown(arguments, known)
            try:
                result = shown(function(*arguments), known)
            except Exception as error:
                result = repr(error)
            print(title, result, [shown(x, []) for x in arguments])
    print(functions[1].report())
'''


def script(text: str, title: str, verdict: Verdict) -> str:
    """The script of a program's text."""
    comments = [title, *verdict.reasons[:2]]
    comments += ["expected: " + verdict.expected, "got:      " + verdict.got]
    head = "".join(f"# {' '.join(line.split())[:200]}\n" for line in comments)
    return head + text.rstrip("\n") + "\n" + _SHOW

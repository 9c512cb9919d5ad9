"""`str`, `repr`, `format`, f-strings and `%` in a traced program: values to texts.

What is known while tracing is formatted at once; traced values become parts of a `TracedText`.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.capture.values import MISSING, class_lookup
from tracejit.frontend.control.unions import narrow_bound
from tracejit.frontend.python import objects
from tracejit.frontend.tracing.checks import class_of, require_plain
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import dataclass_fields, is_namedtuple, is_plain_dataclass
from tracejit.frontend.tracing.raised import TracedError
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.text import (
    Operand,
    TextLike,
    TracedText,
    concatenate,
    pieces_of,
)
from tracejit.frontend.tracing.tracer import Tracer, lift, user_line
from tracejit.frontend.tracing.union import Union

__all__ = [
    "format_text",
    "formatted",
    "has_text",
    "join",
    "percent",
    "text_operator",
    "to_text",
]

#: Classes of methods that no code of the program is.
_OF_PYTHON = (
    WrapperDescriptorType,
    MethodDescriptorType,
    ClassMethodDescriptorType,
    BuiltinFunctionType,
)
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"r": repr, "s": str, "a": ascii}


def has_text(x: Any) -> bool:
    """Whether the text of `x` is known only at run time."""
    if isinstance(x, (Tracer, SymInt, TracedText, Union)):
        return True
    if isinstance(x, TracedError):
        return has_text(x.args)
    if type(x) is dict:
        return any(map(has_text, x.values()))
    if type(x) in (list, tuple) or is_namedtuple(type(x)):
        return any(map(has_text, x))
    if is_plain_dataclass(x):
        return any(has_text(getattr(x, name)) for name in dataclass_fields(x) or ())
    return False


def formatted(
    interpreter: Interpreter, x: Any, conversion: str = "", spec: TextLike = ""
) -> TextLike:
    """`f"{x!conversion:spec}"`, where the conversion "" is none.

    Raises what formatting a known value raises, and TraceError for objects whose text is unknown.
    """
    if isinstance(x, Union):
        return _of_union(interpreter, x, conversion, spec)
    if isinstance(x, TracedText):
        if conversion in ("", "s") and spec == "":
            return x
        return TracedText((("text", x.pieces, conversion, pieces_of(spec)),))
    if isinstance(x, (Tracer, SymInt)):
        return TracedText((("value", Operand(x), conversion, pieces_of(spec)),))
    if conversion == "":
        method = objects.special(interpreter, x, "__format__")
        if method is not None:
            return _checked(interpreter.call(method, spec), "__format__")
    if conversion in ("s", "r") or (conversion == "" and spec == ""):
        whole = to_text(interpreter, x, conversion or "s")
        return whole if spec == "" else formatted(interpreter, whole, "", spec)
    if isinstance(spec, TracedText):
        return _spec_at_run_time(x, conversion, spec)
    if has_text(x):
        if conversion == "":
            raise TypeError(f"unsupported format string passed to {type(x).__name__}.__format__")
        raise TraceError("TJ021", f"ascii() of a {type(x).__name__}", user_line())
    require_plain(x, "text")
    return format(_CONVERSIONS[conversion](x) if conversion else x, spec)


def _of_union(interpreter: Interpreter, x: Union, conversion: str, spec: TextLike) -> TextLike:
    """The text of the alternative that the run chooses."""
    known = narrow_bound(x)
    if not isinstance(known, Union):
        return formatted(interpreter, known, conversion, spec)
    steps = interpreter.entered
    sides = [formatted(interpreter, v, conversion, spec) for v in (known.first, known.second)]
    if interpreter.entered != steps:
        # Code of the program would run for both.
        raise TraceError("TJ021", "a text that code of one of several objects makes", user_line())
    return TracedText((("choice", Operand(known.predicate), *map(pieces_of, sides)),))


def _spec_at_run_time(x: Any, conversion: str, spec: TracedText) -> TextLike:
    if type(x) is str:
        return TracedText((("text", pieces_of(x), conversion, spec.pieces),))
    if type(x) in (bool, int, float, complex) or isinstance(x, np.generic):
        return TracedText((("value", Operand(lift(x)), conversion, spec.pieces),))
    raise TraceError("TJ021", f"a format of a {type(x).__name__}", user_line())


def to_text(interpreter: Interpreter, x: Any, conversion: str = "s") -> TextLike:
    """`str(x)` for the conversion "s", `repr(x)` for "r". Raises TraceError."""
    if isinstance(x, (TracedText, Tracer, SymInt, Union)):
        return formatted(interpreter, x, conversion)
    if isinstance(x, TracedError):
        return _of_error(interpreter, x, conversion)
    names = ("__str__", "__repr__") if conversion == "s" else ("__repr__",)
    own = _own_text(interpreter, x, names)
    if own is not None:
        return own
    cls = type(x)
    parts = cls in (list, dict, tuple) or is_namedtuple(cls) or is_plain_dataclass(x)
    if not parts or not x:
        require_plain(x, "text")
        return str(_CONVERSIONS[conversion](x))
    if cls is list:
        return concatenate(["[", *_separated(_reprs(interpreter, x)), "]"])
    if cls is dict:
        items = [
            concatenate([to_text(interpreter, k, "r"), ": ", t]) for k, t in _items(interpreter, x)
        ]
        return concatenate(["{", *_separated(items), "}"])
    if cls is tuple:
        return concatenate(["(", *_separated(_reprs(interpreter, x)), ",)" if len(x) == 1 else ")"])
    if is_namedtuple(cls):
        named = dict(zip(cls._fields, x, strict=True))
        return _fields_text(interpreter, cls.__name__, named)
    return _fields_text(
        interpreter, cls.__qualname__, {n: getattr(x, n) for n in _shown_fields(cls)}
    )


def _of_error(interpreter: Interpreter, x: TracedError, conversion: str) -> TextLike:
    """The text of an exception that is made of its arguments alone."""
    interpreter.capture.guard_methods(x, "__str__", "__repr__")
    shows = {BaseException.__str__: "s", KeyError.__str__: "r"}.get(x.cls.__str__)
    if not x.is_plain or x.cls.__repr__ is not BaseException.__repr__ or shows is None:
        raise TraceError("TJ024", f"the text of a {x.cls.__name__}", user_line())
    if conversion == "s" and len(x.args) < 2:
        return to_text(interpreter, x.args[0], shows) if x.args else ""
    listed = concatenate(["(", *_separated(_reprs(interpreter, x.args)), ")"])
    return listed if conversion == "s" else concatenate([x.cls.__name__, listed])


def _items(interpreter: Interpreter, x: Mapping[Any, Any]) -> Iterable[tuple[Any, TextLike]]:
    return zip(x, _reprs(interpreter, x.values()), strict=True)


def _reprs(interpreter: Interpreter, items: Iterable[Any]) -> list[TextLike]:
    return [to_text(interpreter, x, "r") for x in items]


def _separated(texts: list[TextLike]) -> list[TextLike]:
    return [part for k, text in enumerate(texts) for part in ((", ", text) if k else (text,))]


def _fields_text(interpreter: Interpreter, name: str, fields: Mapping[str, Any]) -> TextLike:
    parts = [concatenate([f"{n}=", to_text(interpreter, x, "r")]) for n, x in fields.items()]
    return concatenate([f"{name}(", *_separated(parts), ")"])


def _shown_fields(cls: Any) -> list[str]:
    return [f.name for f in cls.__dataclass_fields__.values() if f.repr]


def _own_text(interpreter: Interpreter, x: Any, names: tuple[str, ...]) -> TextLike | None:
    """What a method of the program's own classes gives; None where they have none."""
    for name in names:
        interpreter.capture.guard_methods(x, name)
        method = class_lookup(type(x), name)
        if method is MISSING or isinstance(method, _OF_PYTHON):
            continue
        if isinstance(method, FunctionType) and _is_generated(type(x), method):
            continue
        bound = objects.special(interpreter, x, name)
        if bound is None:
            raise TraceError("TJ008", f"{type(x).__name__}.{name}", user_line())
        return _checked(interpreter.call(bound), name)
    return None


def _is_generated(cls: type, method: FunctionType) -> bool:
    """Whether a method is the one that a namedtuple or a dataclass gets by itself."""
    if is_namedtuple(cls):
        return method.__module__ in (None, "collections", f"namedtuple_{cls.__name__}")
    inner = getattr(method, "__wrapped__", method)
    return "__dataclass_fields__" in cls.__dict__ and inner.__code__.co_filename == "<string>"


def _checked(text: Any, name: str) -> TextLike:
    if not isinstance(text, (str, TracedText)):
        raise TypeError(f"{name} returned non-string (type {type(text).__name__})")
    return text


# str.format --------------------------------------------------------------------------------------

_STEP = re.compile(r"\.([^.\[]+)|\[([^\]]+)\]")


def format_text(
    interpreter: Interpreter, template: str, args: tuple[Any, ...], kwargs: Any
) -> TextLike:
    """`template.format(*args, **kwargs)`."""
    if not has_text(args) and not has_text(kwargs):
        require_plain([*args, kwargs], "format()")
        return template.format(*args, **kwargs)
    return _Format(interpreter, args, kwargs).run(template)


class _Format:
    def __init__(
        self, interpreter: Interpreter, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        self.interpreter, self.args, self.kwargs = interpreter, args, kwargs
        self.automatic: bool | None = None
        self.next = 0

    def run(self, template: str) -> TextLike:
        parts: list[TextLike] = []
        for literal, field, spec, conversion in string.Formatter().parse(template):
            parts.append(literal)
            if field is not None:
                x = self.field(field)
                parts.append(formatted(self.interpreter, x, conversion or "", self.run(spec or "")))
        return concatenate(parts)

    def field(self, name: str) -> Any:
        first = re.split(r"[.\[]", name, maxsplit=1)[0]
        if first == "" or first.isdecimal():
            if self.automatic is (first != ""):
                raise ValueError("cannot mix automatic and manual field numbering")
            self.automatic = first == ""
            x = self.args[self.next if first == "" else int(first)]
            self.next += 1
        else:
            x = self.kwargs[first]
        rest = name[len(first) :]
        steps = list(_STEP.finditer(rest))
        if "".join(s[0] for s in steps) != rest:
            raise ValueError("Invalid field name in format string")
        for step in steps:
            attribute, key = step.groups()
            if attribute:
                x = self.interpreter.attribute(x, attribute)
            else:
                x = self.interpreter.item(x, int(key) if key.isdecimal() else key)
        return x


# % -----------------------------------------------------------------------------------------------

_PERCENT = re.compile(
    r"%(?:\((?P<key>[^()]*)\))?(?P<flags>[#0\- +]*)(?P<width>\*|\d*)"
    r"(?:\.(?P<precision>\*|\d*))?[hlL]?(?P<kind>[diouxXeEfFgGcrsa%])"
)


def percent(interpreter: Interpreter, template: str, args: Any) -> TextLike:
    """`template % args`."""
    if not has_text(args):
        require_plain(args, "text")
        known: str = template % args
        return known
    parts: list[TextLike] = []
    rest = list(args) if isinstance(args, tuple) else [args]
    keyed = False
    end = 0
    for found in _PERCENT.finditer(template):
        literal = template[end : found.start()]
        if "%" in literal:
            break
        parts.append(literal)
        end = found.end()
        if found["kind"] == "%":
            parts.append("%")
            continue
        if found["key"] is not None:
            keyed = True
            parts.append(_one_percent(interpreter, found, [interpreter.item(args, found["key"])]))
            continue
        count = 1 + (found["width"] == "*") + (found["precision"] == "*")
        if len(rest) < count:
            raise TypeError("not enough arguments for format string")
        parts.append(_one_percent(interpreter, found, rest[:count]))
        del rest[:count]
    if "%" in template[end:]:
        raise TraceError("TJ021", f"the format {template!r}", user_line())
    # Python takes whatever has items, but for tuples and texts, as a mapping of named values.
    mapping = not isinstance(args, (tuple, str, TracedText)) and hasattr(
        class_of(args), "__getitem__"
    )
    if rest and not keyed and not mapping:
        raise TypeError("not all arguments converted during string formatting")
    return concatenate([*parts, template[end:]])


def _one_percent(interpreter: Interpreter, found: re.Match[str], items: list[Any]) -> TextLike:
    *stars, x = items
    point = "" if found["precision"] is None else f".{found['precision']}"
    head, kind = f"%{found['flags']}{found['width']}{point}", found["kind"]
    if kind in "rsa":
        text = formatted(interpreter, x, kind)
        if head == "%":
            return text
        if isinstance(text, str) and not has_text(stars):
            return f"{head}s" % (*stars, text)
        return TracedText((("percent", f"{head}s", *map(_operand, stars), pieces_of(text)),))
    if not has_text(items):
        require_plain(items, "text")
        return f"{head}{kind}" % tuple(items)
    return TracedText((("percent", f"{head}{kind}", *map(_operand, items)),))


def _operand(x: Any) -> Any:
    """An item of a `%` piece."""
    if isinstance(x, TracedText):
        return x.pieces
    if isinstance(x, (Tracer, SymInt, np.generic)) or type(x) in (bool, int, float, complex):
        return Operand(x if isinstance(x, SymInt) else lift(x))
    if type(x) is str:
        return pieces_of(x)
    raise TraceError("TJ021", f"a {type(x).__name__} beside a traced value", user_line())


# Operators ---------------------------------------------------------------------------------------


def text_operator(interpreter: Interpreter, op: str, a: Any, b: Any) -> Any:
    """`a op b` where one of them is a traced text, or `a % b` where `b` holds something traced."""
    if op == "mod" and type(a) is str:
        return percent(interpreter, a, b)
    if op == "add":
        for x in (a, b):
            if not isinstance(x, (str, TracedText)):
                raise TraceError("TJ021", f"a text and a {type(x).__name__} added", user_line())
        return concatenate((a, b))
    if op == "mul" and int in (type(a), type(b)):
        text, count = (b, a) if type(a) is int else (a, b)
        return concatenate([text] * count)
    raise TraceError("TJ021", f"the operator {op}", user_line())


def join(separator: str, parts: Iterable[TextLike]) -> TextLike:
    """`separator.join(parts)`."""
    out: list[TextLike] = []
    for k, part in enumerate(parts):
        if not isinstance(part, (str, TracedText)):
            kind = type(part).__name__
            raise TypeError(f"sequence item {k}: expected str instance, {kind} found")
        out += (separator, part) if k else (part,)
    return concatenate(out)

"""Texts and objects that are made while a program runs, as attributes: templates over operands.

    text   = (piece, ...)
    piece  = "literal"
           | ("value", k, conversion, text)       f"{operand k!conversion:text}"
           | ("text", text, conversion, text)     the same of a text
           | ("percent", "%5.2f", item, ...)      "%5.2f" % (item, ...); an item is k or a text
           | ("choice", k, text, text)            the first text where operand k holds
           | ("method", "ljust", text, "(9,)")    the text that a method of one gives
    object = ("operand", k) | ("text", text) | ("constant", c) | ("object", reference)
           | ("class", "module:qualname")
           | ("tuple", object, ...) | ("list", object, ...) | ("dict", (object, object), ...)
           | ("choice", k, object, object)
           | ("call", "module:qualname", reference, (object, ...), (("keyword", object), ...))

A conversion is "", "r", "s" or "a". A reference is the number of an object of this process; a class
that has none here is found by its name, among those that are imported.
"""

from __future__ import annotations

import ast
import itertools
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np

from tracejit.ir.op import require

__all__ = [
    "TEXT_METHODS",
    "Text",
    "check_object",
    "check_text",
    "class_path",
    "make_object",
    "refer",
    "referred",
    "render",
    "renderer",
]

Text: TypeAlias = tuple[Any, ...]

_CONVERSIONS = ("", "r", "s", "a")
#: Methods of texts that give a text, and raise nothing for arguments that they take once.
TEXT_METHODS = frozenset(
    "capitalize casefold center expandtabs ljust lower lstrip removeprefix removesuffix replace "
    "rjust rstrip strip swapcase title upper zfill".split()
)

#: The classes that objects may be made of, as a text may name any.
_VALUES = (bool, int, float, complex, slice, range)
_VALUES_OR_ERRORS = (np.generic, np.dtype, BaseException)

#: Number -> what gives the object; it is not kept alive where that can be avoided.
_OBJECTS: dict[int, Callable[[], Any]] = {}
_NUMBERS: dict[int, int] = {}
_COUNT = itertools.count(1)


def refer(x: Any) -> int:
    """The number of an object in this process."""
    key = id(x)
    known = _NUMBERS.get(key)
    # An interrupt may have kept the number of a dead object from being forgotten.
    if known is not None and _OBJECTS[known]() is x:
        return known
    number, numbers, objects = next(_COUNT), _NUMBERS, _OBJECTS

    # When the interpreter ends, objects outlive the names of modules.
    def forget(_: Any) -> None:
        if numbers.get(key) == number:
            del numbers[key]
        del objects[number]

    try:
        _OBJECTS[number] = weakref.ref(x, forget)
    except TypeError:
        _OBJECTS[number] = lambda: x
    _NUMBERS[key] = number
    return number


def referred(number: int) -> Any:
    """The object of a number. Raises LookupError where there is none, or no more."""
    return _OBJECTS[number]()


def class_path(cls: type) -> str:
    """`module:qualname`."""
    return f"{cls.__module__}:{cls.__qualname__}"


def _find_class(path: str, number: int) -> Any:
    """A class by its number, if that is the class meant, else by its name. Raises LookupError."""
    cls = _known_class(path, number)
    if cls is None:
        raise LookupError(f"there is no class {path} here")
    return cls


def _known_class(path: str, number: int) -> Any:
    """The class of a path; None where its module has not been imported. Raises LookupError."""
    cls = referred(number) if number in _OBJECTS else None
    if not isinstance(cls, type) or class_path(cls) != path:
        module, _, names = path.partition(":")
        cls = sys.modules.get(module)
        for name in names.split("."):
            cls = vars(cls).get(name) if isinstance(cls, (type, ModuleType)) else None
    if cls is not None and not _makes_values(cls):
        raise LookupError(f"{path} is no class of numbers, exceptions or named tuples")
    return cls


def _makes_values(cls: Any) -> bool:
    """True for classes whose instances are values, which take what they are made of."""
    if not isinstance(cls, type):
        return False
    is_named = issubclass(cls, tuple) and hasattr(cls, "_fields")
    return cls in _VALUES or is_named or issubclass(cls, _VALUES_OR_ERRORS)


# Making ------------------------------------------------------------------------------------------


def render(text: Text, operands: Sequence[Any]) -> str:
    """The text for concrete operands. Raises what formatting them raises."""
    return renderer(text)(operands)


@lru_cache(maxsize=4096)
def renderer(text: Text) -> Callable[[Sequence[Any]], str]:
    """A text as a function of its operands: `lambda v: f"..."`."""
    operands = ast.arguments([], [ast.arg("v")], None, [], [], None, [])
    function = ast.Expression(ast.Lambda(operands, _f_string(text)))
    made: Callable[[Sequence[Any]], str] = eval(
        compile(ast.fix_missing_locations(function), "<text>", "eval"), {}
    )
    return made


def _f_string(text: Text) -> ast.expr:
    return ast.JoinedStr([_piece(piece) for piece in text])


def _piece(piece: Any) -> ast.expr:
    value: ast.expr
    match piece:
        case str():
            return ast.Constant(piece)
        case ("value", k, conversion, spec):
            value = _operand(k)
        case ("text", text, conversion, spec):
            value = _f_string(text)
        case ("percent", form, *items):
            values = [_operand(i) if type(i) is int else _f_string(i) for i in items]
            value = ast.BinOp(ast.Constant(form), ast.Mod(), ast.Tuple(values, ast.Load()))
            conversion, spec = "", ()
        case ("choice", k, first, second):
            value = ast.IfExp(_operand(k), _f_string(first), _f_string(second))
            conversion, spec = "", ()
        case ("method", name, text, given):
            args = [ast.Constant(x) for x in ast.literal_eval(given)]
            method = ast.Attribute(_f_string(text), name, ast.Load())
            value = ast.Call(method, args, [])  # type: ignore[arg-type]
            conversion, spec = "", ()
        case _:
            raise ValueError(f"not a piece of text: {piece!r}")
    return ast.FormattedValue(
        value, ord(conversion) if conversion else -1, _f_string(spec) if spec else None
    )


def _operand(k: int) -> ast.expr:
    return ast.Subscript(ast.Name("v", ast.Load()), ast.Constant(k), ast.Load())


def make_object(expression: tuple[Any, ...], operands: Sequence[Any]) -> Any:
    """The object for concrete operands. Raises what making it raises."""
    match expression:
        case ("operand", k):
            return operands[k]
        case ("text", text):
            return render(text, operands)
        case ("constant", value):
            return value
        case ("object", number):
            return referred(number)
        case ("class", path):
            return _find_class(path, 0)
        case ("tuple", *items):
            return tuple([make_object(i, operands) for i in items])
        case ("list", *items):
            return [make_object(i, operands) for i in items]
        case ("dict", *items):
            return {make_object(k, operands): make_object(v, operands) for k, v in items}
        case ("choice", k, first, second):
            return make_object(first if operands[k] else second, operands)
        case ("call", path, number, args, keywords):
            cls = _find_class(path, number)
            given = [make_object(a, operands) for a in args]
            return cls(*given, **{name: make_object(v, operands) for name, v in keywords})
    raise ValueError(f"not an object: {expression!r}")


# Checking ----------------------------------------------------------------------------------------


def check_text(op: str, text: Any, count: int) -> None:
    """Raise GraphError unless `text` is one over `count` operands."""
    require(type(text) is tuple, f"{op}: {text!r} is not a text")
    for piece in text:
        if type(piece) is str:
            continue
        match piece:
            case ("value", k, str(conversion), spec):
                numbers, inner = [k], [spec]
            case ("text", inside, str(conversion), spec):
                numbers, inner = [], [inside, spec]
            case ("percent", str(), *items):
                conversion = ""
                numbers = [i for i in items if type(i) is not tuple]
                inner = [i for i in items if type(i) is tuple]
            case ("choice", k, first, second):
                conversion, numbers, inner = "", [k], [first, second]
            case ("method", name, inside, str()):
                require(name in TEXT_METHODS, f"{op}: there is no method {name!r}")
                conversion, numbers, inner = "", [], [inside]
            case _:
                require(False, f"{op}: {piece!r} is not a piece of text")
        require(conversion in _CONVERSIONS, f"{op}: there is no conversion {conversion!r}")
        _check_numbers(op, numbers, count)
        for part in inner:
            check_text(op, part, count)


def check_object(op: str, expression: Any, count: int) -> None:
    """Raise GraphError unless `expression` makes an object from `count` operands."""
    match expression:
        case ("operand", k):
            _check_numbers(op, [k], count)
        case ("text", text):
            check_text(op, text, count)
        case ("constant", _) | ("object", int()):
            pass
        case ("class", str(path)):
            _check_class(op, path, 0)
        case ("tuple" | "list", *items):
            _check_all(op, items, count)
        case ("dict", *items):
            _check_all(op, _pairs(op, items), count)
        case ("choice", k, first, second):
            _check_numbers(op, [k], count)
            _check_all(op, [first, second], count)
        case ("call", str(path), int(number), tuple(args), tuple(keywords)):
            _check_class(op, path, number)
            _check_all(op, args, count)
            for item in keywords:
                match item:
                    case (str(), value):
                        check_object(op, value, count)
                    case _:
                        require(False, f"{op}: {item!r} is not a keyword argument")
        case _:
            require(False, f"{op}: {expression!r} is not an object")


def _check_class(op: str, path: str, number: int) -> None:
    try:
        _known_class(path, number)
    except LookupError as e:
        require(False, f"{op}: {e.args[0]}")


def _check_all(op: str, items: Sequence[Any], count: int) -> None:
    for item in items:
        check_object(op, item, count)


def _pairs(op: str, items: Sequence[Any]) -> list[Any]:
    def parts() -> Iterator[Any]:
        for item in items:
            require(type(item) is tuple and len(item) == 2, f"{op}: {item!r} is not an item")
            yield from item

    return list(parts())


def _check_numbers(op: str, numbers: Sequence[Any], count: int) -> None:
    for k in numbers:
        require(type(k) is int and 0 <= k < count, f"{op}: there is no operand {k!r}")

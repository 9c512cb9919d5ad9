"""From a function to the syntax tree it was compiled from, proved by compiling that tree again.

A file may have changed since it was imported, a line may hold several lambdas, a test runner may
have rewritten the module: so a definition counts as the function's source only if its code is the
same.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import os
import site
import sys
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from importlib import machinery
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.base.locks import short_lock
from tracejit.errors import PACKAGE, TraceError, Where
from tracejit.frontend.rewrite.asserting import has_rewritten_asserts, rewritten_code_of
from tracejit.frontend.rewrite.nodes import all_nodes, parts_of
from tracejit.frontend.rewrite.quiet import without_warnings

__all__ = [
    "Definition",
    "FunctionNode",
    "compile_definition",
    "find_definition",
    "is_library_file",
    "is_library_module",
    "no_arguments",
    "note_definition",
    "same_code",
    "too_deep",
]

FunctionNode = ast.FunctionDef | ast.Lambda

_FUTURE_FLAGS = 0
for _name in __future__.all_feature_names:
    _FUTURE_FLAGS |= getattr(__future__, _name).compiler_flag
#: The flags by which code runs differently: CO_OPTIMIZED, CO_NEWLOCALS, CO_VARARGS, CO_VARKEYWORDS
#: and those of generators and coroutines. Others say where a definition stood (CO_NESTED, and
#: CO_METHOD since Python 3.14) or what was imported from `__future__`, which its operations show.
_RUN_FLAGS = 0x1 | 0x2 | 0x4 | 0x8 | 0x20 | 0x80 | 0x100 | 0x200
_OUTER = "__tracejit_outer__"
_FILES_KEPT = 16
#: Where this package holds programs: they are compiled as their callers are.
_PROGRAMS = tuple(
    str(Path(PACKAGE) / name)
    for name in (
        "dist/collectives.py",
        "dist/replicas/mean_gradients.py",
        "dist/replicas/sending.py",
        "dist/replicas/server.py",
        "dist/replicas/sharded.py",
        "interop/networks.py",
        "interop/programs.py",
        "nn",
        "optim",
    )
)


#: Packages written in Python alone that call others in C.
_LIBRARIES = frozenset({"cupy", "cupyx", "jax", "llvmlite", "numba", "numpy", "scipy", "torch"})


@lru_cache(maxsize=4096)
def is_library_file(name: str) -> bool:
    """Whether a file belongs to Python, to a library with code in C or to the compiler itself.

    What is installed and written in Python alone is followed as the program is.
    """
    if name.startswith("<frozen"):
        return True
    path = Path(name)
    if any(path.is_relative_to(root) for root in _PROGRAMS):
        return False
    if path.is_relative_to(PACKAGE):
        return True
    for top in _LIBRARIES:
        # Wherever a library is installed.
        file = getattr(sys.modules.get(top), "__file__", None)
        if file and path.is_relative_to(Path(file).parent):
            return True
    import sysconfig

    paths = sysconfig.get_paths()
    installed = {paths["purelib"], paths["platlib"], *site.getsitepackages()}
    for folder in map(Path, [*installed, site.getusersitepackages()]):
        if path.is_relative_to(folder):
            package = folder / path.relative_to(folder).parts[0]
            return package.name in _LIBRARIES or _has_extensions(package)
    return any(path.is_relative_to(paths[k]) for k in ("stdlib", "platstdlib"))


@lru_cache(maxsize=256)
def _has_extensions(package: Path) -> bool:
    """Whether there are modules in C in a folder."""
    suffixes = tuple(machinery.EXTENSION_SUFFIXES)
    return any(name.endswith(suffixes) for _, _, names in os.walk(package) for name in names)


def is_library_module(name: str) -> bool:
    """Whether a module with a file belongs to Python, to a library or to the compiler.

    A tool such as `python -m cProfile` is the file of `__main__` while it runs a program there.
    """
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return name != "__main__" and is_library_file(file)


@dataclass(frozen=True)
class Definition:
    """The syntax of one function, and what its code depends on around it.

    These are the class whose private names it may use, the flags of its future imports, and the
    names that its module imports: the compiler loads their attributes otherwise than a method's.
    """

    node: FunctionNode
    class_name: str | None
    flags: int
    file: str
    imported: tuple[str, ...]
    #: Whether what runs is this with assertions that say more.
    has_rewritten_asserts: bool = False


@dataclass(frozen=True)
class _File:
    lines: tuple[str, ...]
    #: First line of a definition -> the definitions there, each with its innermost class.
    definitions: dict[int, list[tuple[FunctionNode, str | None]]]
    imported: tuple[str, ...]


_FILES: OrderedDict[str, _File] = OrderedDict()
_LOCK = short_lock()

#: id of a code object that was made of a part of a function -> (the object, weakly; its syntax).
_MADE: dict[int, tuple[weakref.ref[CodeType], Definition]] = {}

#: A function's node, its innermost class, and the names that the module imports.
_Candidate = tuple[FunctionNode, str | None, tuple[str, ...]]


def find_definition(function: FunctionType) -> Definition:
    """The verified syntax of `function`.

    Raises TraceError TJ007 where there is none, TJ008 where it holds a class, whose code names the
    scopes around it, and where it is nested too deeply.
    """
    code = function.__code__
    made = _MADE.get(id(code))
    if made is not None and made[0]() is code:
        return made[1]
    where = Where(code.co_filename, code.co_firstlineno, code.co_name)
    with _LOCK:
        linecache.checkcache(code.co_filename)
        lines = tuple(linecache.getlines(code.co_filename, function.__globals__))
        if not lines:
            raise TraceError("TJ007", f"no source of {function.__qualname__}", where)
        for candidates in (_own_lines, _whole_file):
            for node, class_name, imported in candidates(code, lines):
                flags = code.co_flags & _FUTURE_FLAGS
                definition = Definition(node, class_name, flags, code.co_filename, imported)
                if _is_source(definition, code):
                    return definition
        if has_rewritten_asserts(code):
            for node, class_name, imported in _whole_file(code, lines):
                flags = code.co_flags & _FUTURE_FLAGS
                definition = Definition(
                    node, class_name, flags, code.co_filename, imported, has_rewritten_asserts=True
                )
                compiled = _compiled(definition, code)
                same = (same_code(x, code) for x in rewritten_code_of(function, lines))
                if compiled is not None and any(same):
                    return definition
    raise TraceError("TJ007", f"the source of {function.__qualname__} is not what runs", where)


def note_definition(code: CodeType, definition: Definition) -> None:
    """Let `find_definition` know code that stands in no file as it is."""
    key, table = id(code), _MADE
    table[key] = weakref.ref(code, lambda _: table.pop(key, None)), definition


def _is_source(definition: Definition, code: CodeType) -> bool:
    compiled = _compiled(definition, code)
    return compiled is not None and same_code(compiled, code)


def _compiled(definition: Definition, code: CodeType) -> CodeType | None:
    """What a definition compiles to where `code` stands; None where it cannot be that of `code`."""
    node = definition.node
    if (node.name if isinstance(node, ast.FunctionDef) else "<lambda>") != code.co_name:
        return None
    for inner in all_nodes(node):
        if isinstance(inner, ast.ClassDef):
            place = Where(code.co_filename, inner.lineno, code.co_name)
            raise TraceError("TJ008", "class", place)
    try:
        return compile_definition(definition, plain(node), code.co_freevars)
    except (SyntaxError, ValueError):
        return None
    except RecursionError:
        raise too_deep(code) from None


def too_deep(code: CodeType) -> TraceError:
    """What a function is refused with whose syntax Python's own compiler cannot take as a tree."""
    where = Where(code.co_filename, code.co_firstlineno, code.co_name)
    return TraceError("TJ008", "statements or expressions nested this deeply", where)


def _own_lines(code: CodeType, lines: tuple[str, ...]) -> Iterator[_Candidate]:
    """The definition parsed by itself, which is quick; a guess where its last line is not plain."""
    first = code.co_firstlineno - 1
    if code.co_name == "<lambda>" or not 0 <= first < len(lines):
        return
    indent = _indent(lines[first])
    end = max(_last_line(code), first + 1)
    while end < len(lines) and (_indent(lines[end]) > indent or not lines[end].strip()):
        end += 1
    text = "".join(lines[first:end])
    text = "\n" * (first - 1) + "if True:\n" + text if indent else "\n" * first + text
    tree = _parse(text, code.co_filename)
    imports = _parse(_import_lines(lines), code.co_filename)
    if tree is None or imports is None or not tree.body:
        return
    node: Any = tree.body[0]
    node = node.body[0] if indent else node
    if isinstance(node, ast.FunctionDef):
        yield node, _class_around(code), _imported(imports)


def _parse(text: str, name: str) -> ast.Module | None:
    try:
        with without_warnings(name):
            return ast.parse(text, name)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _last_line(code: CodeType) -> int:
    inner = [_last_line(c) for c in code.co_consts if isinstance(c, CodeType)]
    return max([line for _, _, line in code.co_lines() if line is not None] + inner, default=0)


def _import_lines(lines: tuple[str, ...]) -> str:
    """The import statements that start in the first column."""
    out: list[str] = []
    is_open = False
    for line in lines:
        if is_open or line.startswith(("import ", "from ")):
            out.append(line)
            code = line.partition("#")[0].rstrip()
            is_open = (is_open or "(" in code) and ")" not in code or code.endswith("\\")
    return "".join(out)


def _class_around(code: CodeType) -> str | None:
    """The innermost class around a function, by its qualified name."""
    parts = code.co_qualname.split(".")
    for name, after in zip(reversed(parts[:-1]), reversed(parts[1:]), strict=True):
        if name != "<locals>" and after != "<locals>":
            return name
    return None


def _whole_file(code: CodeType, lines: tuple[str, ...]) -> Iterator[_Candidate]:
    """Every definition that starts on the function's first line."""
    file = _parsed(code.co_filename, lines)
    if file is not None:
        for node, class_name in file.definitions.get(code.co_firstlineno, ()):
            yield node, class_name, file.imported


def _parsed(name: str, lines: tuple[str, ...]) -> _File | None:
    known = _FILES.get(name)
    if known is not None and known.lines == lines:
        _FILES.move_to_end(name)
        return known
    tree = _parse("".join(lines), name)
    if tree is None:
        return None
    definitions: dict[int, list[tuple[FunctionNode, str | None]]] = {}
    _collect(tree, definitions)
    file = _FILES[name] = _File(lines, definitions, _imported(tree))
    while len(_FILES) > _FILES_KEPT:
        _FILES.popitem(last=False)
    return file


def _collect(tree: ast.AST, definitions: dict[int, list[tuple[FunctionNode, str | None]]]) -> None:
    pending: list[tuple[ast.AST, str | None]] = [(tree, None)]
    while pending:
        node, class_name = pending.pop()
        if isinstance(node, ast.ClassDef):
            class_name = node.name
        elif isinstance(node, ast.FunctionDef):
            first = min((d.lineno for d in node.decorator_list), default=node.lineno)
            definitions.setdefault(first, []).append((node, class_name))
        elif isinstance(node, ast.Lambda):
            definitions.setdefault(node.lineno, []).append((node, class_name))
        pending.extend((child, class_name) for child in parts_of(node))


def _imported(tree: ast.Module) -> tuple[str, ...]:
    """The names that the module's own statements import."""
    names: dict[str, None] = {}
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((a.asname or a.name.partition(".")[0], None) for a in node.names)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
            pending.extend(parts_of(node))
    names.pop("*", None)
    return tuple(names)


def plain(node: FunctionNode) -> FunctionNode:
    """`node` without what belongs to the scope around it: decorators, defaults and annotations."""
    a = node.args

    def bare(arg: ast.arg) -> ast.arg:
        return ast.copy_location(ast.arg(arg.arg), arg)

    def blank(expression: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Constant(None), expression)

    arguments = ast.arguments(
        posonlyargs=[bare(arg) for arg in a.posonlyargs],
        args=[bare(arg) for arg in a.args],
        vararg=a.vararg and bare(a.vararg),
        kwonlyargs=[bare(arg) for arg in a.kwonlyargs],
        kw_defaults=[d and blank(d) for d in a.kw_defaults],
        kwarg=a.kwarg and bare(a.kwarg),
        defaults=[blank(d) for d in a.defaults],
    )
    new: FunctionNode
    if isinstance(node, ast.Lambda):
        new = ast.Lambda(arguments, node.body)
    else:
        new = ast.FunctionDef(node.name, arguments, node.body, [])
        if getattr(node, "type_params", None):
            raise ValueError("type parameters")
        new.type_params = []  # type: ignore[attr-defined, unused-ignore]
    return ast.copy_location(new, node)


def no_arguments() -> ast.arguments:
    """The parameters of a function that takes none."""
    return ast.arguments([], [], None, [], [], None, [])


def compile_definition(
    definition: Definition, node: FunctionNode, free: tuple[str, ...]
) -> CodeType:
    """The code of `node`, with the names `free` taken from an enclosing scope.

    Raises SyntaxError and ValueError as compile() does.
    """
    here = definition.node

    def at(new: Any) -> Any:
        return ast.copy_location(new, here)

    arguments = no_arguments()
    arguments.args = [at(ast.arg(name)) for name in free]
    body = node if isinstance(node, ast.FunctionDef) else at(ast.Return(node))
    name = node.name if isinstance(node, ast.FunctionDef) else "<lambda>"
    statements = [body]
    if isinstance(node, ast.FunctionDef) and name not in free:
        # The function finds its own name in the module, not in the scope added here.
        statements.insert(0, at(ast.Global([name])))
    outer = at(ast.FunctionDef(_OUTER, arguments, statements, []))
    outer.type_params = []
    top: Any = outer
    if definition.class_name is not None:
        top = at(ast.ClassDef(definition.class_name, [], [], [outer], []))
        top.type_params = []
    imports = [at(ast.Import([at(ast.alias(name))])) for name in definition.imported]
    tree = ast.Module([*imports, top], [])
    with without_warnings(definition.file):
        module = compile(tree, definition.file, "exec", definition.flags, dont_inherit=True)
    code = module if definition.class_name is None else _inner(module, definition.class_name)
    return _inner(_inner(code, _OUTER), name)


def _inner(code: CodeType, name: str) -> CodeType:
    (found,) = [c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name]
    return found


def same_code(a: CodeType, b: CodeType) -> bool:
    """Whether two code objects do the same: all but places in the file and qualified names."""
    return (
        a.co_code == b.co_code
        and a.co_name == b.co_name
        and a.co_names == b.co_names
        and a.co_varnames == b.co_varnames
        and a.co_cellvars == b.co_cellvars
        and a.co_freevars == b.co_freevars
        and a.co_argcount == b.co_argcount
        and a.co_posonlyargcount == b.co_posonlyargcount
        and a.co_kwonlyargcount == b.co_kwonlyargcount
        and not (a.co_flags ^ b.co_flags) & _RUN_FLAGS
        and getattr(a, "co_exceptiontable", b"") == getattr(b, "co_exceptiontable", b"")
        and len(a.co_consts) == len(b.co_consts)
        and all(map(_same_constant, a.co_consts, b.co_consts))
    )


def _same_constant(a: object, b: object) -> bool:
    if isinstance(a, CodeType) and isinstance(b, CodeType):
        return same_code(a, b)
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same_constant, a, b))
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)
    if isinstance(a, frozenset) and isinstance(b, frozenset):
        return sorted(map(repr, a)) == sorted(map(repr, b))
    return a == b
